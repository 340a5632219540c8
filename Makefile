# A thin front to CMake and the scripts in tools/. `make` builds; `make help` lists the rest.
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PT2ONNX_CACHE ?= .cache
export PT2ONNX_CACHE

# The Python that has torch 2.13, ONNX and ONNX Runtime, and one that at least has ONNX Runtime.
T213 = $(or $(PT2ONNX_PYTHON),.venv-t213/bin/python)
RUN = $(firstword $(PT2ONNX_PYTHON) $(wildcard .venv-run/bin/python) $(wildcard .venv-t213/bin/python))
CHECK = $(firstword $(PT2ONNX_PYTHON) $(wildcard .venv-t213/bin/python) $(wildcard .venv-run/bin/python))

.PHONY: build install run example check test abi npm corpus language fusions slim runtimes quantised weights torch-suite opinfo other-torch other-runtime mutate fuzz bench operators web web-test web-serve web-viewer docs docs-serve fleet-test dist clean help
build:                  ## build/pt2onnx and build/libpt2onnx.{a,so}: needs a C compiler, CMake and zlib
	cmake -S . -B $(BUILD)
	cmake --build $(BUILD) -j $(JOBS)

install: build          ## build, then install without debug information below PREFIX (/usr/local); DESTDIR for a package
	cmake --install $(BUILD) --strip $(if $(PREFIX),--prefix $(PREFIX))

run:                    ## install what is missing, build, convert the example and run it in ONNX Runtime
	tools/setup run
	$(MAKE) --no-print-directory build
	$(MAKE) --no-print-directory example

example:
	$(RUN) examples/run.py --pt2onnx $(BUILD)/pt2onnx

check:                  ## build and test without PyTorch, in half a minute once built; ONLY=reduce for a family or folder, CHANGED=1 for what was changed
	tools/setup check
	python3 tools/check.py --build '$(BUILD)' $(if $(CHECK),--python $(CHECK)) $(if $(ONLY),--only '$(ONLY)') $(if $(CHANGED),--changed)

test:                   ## install what the tests need and run all of them
	tools/setup test
	python3 tools/run_tests.py --python $(T213) --build '$(BUILD)'

corpus:                 ## convert and compare every model, language models too, resumable; ONLY=pattern for some, OPSETS=11,18,26
	tools/setup corpus
	$(MAKE) --no-print-directory build
	@failed=0; \
	$(T213) tools/corpus.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(OPSETS),--opsets $(OPSETS)) || failed=1; \
	$(T213) tools/language.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') || failed=1; \
	exit $$failed

language:               ## of make corpus the language models: 64 tokens of each, ONLY=llama OPSETS=18,23 FUSE=1 for --fuse
	tools/setup corpus
	$(MAKE) --no-print-directory build
	$(T213) tools/language.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(OPSETS),--opsets $(OPSETS)) $(if $(FUSE),--fuse)

fusions:                ## random programs in ONNX Runtime's default session, resumable: COUNT=20000 FIRST=20000 SIZES=known SEED=n for one
	tools/setup test
	$(MAKE) --no-print-directory build
	$(T213) tools/fusions.py --pt2onnx $(BUILD)/pt2onnx $(if $(COUNT),--count $(COUNT)) $(if $(FIRST),--first $(FIRST)) $(if $(SEED),--seed $(SEED)) $(if $(SIZES),--sizes $(SIZES)) --jobs $(JOBS)

slim:                   ## what onnxslim and onnxsim would remove from the cache's models; ONLY=pattern for some
	tools/setup slim
	$(MAKE) --no-print-directory build
	$(T213) tools/slim.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)')

runtimes:               ## nodes, tools and time of our files, and of torch.onnx's, resumable: ONLY=t5,bert OPSETS=18,20 THREADS=1,2; KEEP=1 fills README's table, AGAIN=NAME races anew; READERS=1 for what other programs read
	tools/setup runtimes
	$(if $(READERS),tools/setup readers)
	$(MAKE) --no-print-directory build
	$(T213) tools/runtimes.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(OPSETS),--opsets $(OPSETS)) $(if $(THREADS),--threads $(THREADS)) $(if $(RACES),--races $(RACES)) $(if $(AGAIN),--again '$(AGAIN)') $(if $(KEEP),--keep) $(if $(READERS),--readers $(patsubst 1,'',$(READERS)))

quantised:              ## quantised models in ONNX Runtime and OpenVINO: layers on integers, errors, times of dynamic ones: ONLY=cnn,x86 ROUNDS=0
	tools/setup quantised
	$(MAKE) --no-print-directory build
	$(T213) tools/quantised.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(ROUNDS),--rounds $(ROUNDS))

weights:                ## --weights-type beside three other converters, resumable: ONLY=gpt2,resnet18 LARGE=1 for 1.2 GB too, SEEDS=24
	tools/setup weights
	$(MAKE) --no-print-directory build
	$(T213) tools/weights_types.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(LARGE),--large) $(if $(SEEDS),--seeds $(SEEDS))

opinfo:                 ## PyTorch's own operator samples against ONNX Runtime: ONLY=pattern DTYPES=float64 SAMPLES=all PEERS=1
	tools/setup opinfo
	$(MAKE) --no-print-directory build
	$(T213) tools/opinfo.py --pt2onnx $(BUILD)/pt2onnx --jobs $(JOBS) $(if $(ONLY),--only '$(ONLY)') $(if $(DTYPES),--dtypes $(DTYPES)) \
		$(if $(SAMPLES),--samples $(SAMPLES)) $(if $(OPSET),--opset $(OPSET)) $(if $(PEERS),--peers)

other-torch:            ## models, package and operator samples with another torch, which it installs: TORCH=2.9.1
	tools/setup test
	$(MAKE) --no-print-directory build
	tools/other-torch $(or $(TORCH),2.9.1) $(T213)

other-runtime:          ## models and operator cases in another ONNX Runtime, which it installs: ORT=1.22.1
	tools/setup test
	cmake -S . -B $(BUILD) -DPT2ONNX_TESTS=ON
	cmake --build $(BUILD) -j $(JOBS)
	tools/other-runtime $(or $(ORT),1.22.1)

mutate:                 ## break lowerings at random: the operator cases must notice; ONLY=family COUNT=20 SEED=1 RESUME=1
	tools/setup test
	$(T213) tools/mutate $(if $(ONLY),--only '$(ONLY)') $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(RESUME),--resume)

torch-suite:            ## PyTorch 1.13's exporter tests against pt2onnx: OPSET=14 SCRIPT=1 TEST=pattern AGAIN=1 LOST=1
	tools/setup torch-suite
	$(MAKE) --no-print-directory build
	tools/torch_suite.py --python .venv-t113/bin/python --opset $(or $(OPSET),14) $(if $(SCRIPT),--script) $(if $(TEST),--test '$(TEST)') $(if $(AGAIN),--again) $(if $(LOST),--lost)

fuzz:                   ## fuzz readers and whole conversions with libFuzzer, resumable: SECONDS=3600 in total, ONLY=script,agree for some, KEEP=1 fills the table of docs/testing.md
	tools/setup fuzz
	tools/fuzz $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ONLY),--only '$(ONLY)') $(if $(KEEP),--keep)

bench:                  ## time and memory against cp, torch.onnx and pnnx; KEEP=1 fills README's table and docs/bench.md, ONLY=time|size|right|sizes|outputs|start|growth|weights|graphs|package for a part of it; COMPARE=COMMIT: what changed since
	tools/setup bench
	$(MAKE) --no-print-directory build
	$(if $(ONLY)$(COMPARE),,$(T213) tools/bench.py --pt2onnx $(BUILD)/pt2onnx)
	$(if $(filter sizes outputs growth start weights graphs package,$(ONLY))$(COMPARE),,$(T213) tools/versus.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(KEEP),--keep))
	$(if $(filter-out sizes outputs weights graphs package $(if $(KEEP),growth start),$(ONLY))$(COMPARE),,$(T213) tools/bench_page.py --pt2onnx $(BUILD)/pt2onnx $(if $(ONLY),--only '$(ONLY)') $(if $(KEEP),--keep))
	$(if $(filter growth start,$(if $(KEEP),,$(ONLY)))$(COMPARE),$(T213) tools/scaling.py --pt2onnx $(BUILD)/pt2onnx $(if $(filter start,$(ONLY)),--only start) $(if $(COMPARE),--compare '$(COMPARE)') --svg $(BUILD)/scaling.svg)

operators:              ## after adding one: src/op_nodes.txt and docs/operators.md from the operator cases
	cmake -S . -B $(BUILD) -DPT2ONNX_TESTS=ON
	cmake --build $(BUILD) -j $(JOBS) --target run_cases pt2onnx
	BUILD=$(BUILD) tools/gen-operators

abi:                    ## is the C interface the one that programs were compiled for? docs/releasing.md says what to do when it is not
	tools/setup abi
	$(MAKE) --no-print-directory build
	tools/abi --library $(BUILD)/libpt2onnx.so

web:                    ## the page, into the folder dist of web: the library as WebAssembly, with its picture; see docs/web.md
	tools/setup web
	emcmake cmake -S web/wasm -B build-wasm -DZLIB=$(CURDIR)/build-wasm/zlib >/dev/null
	cmake --build build-wasm -j $(JOBS)
	cd web && node build.mjs

npm:                    ## the npm package for Node and bundlers, into build-wasm/npm; see web/npm/README.md
	tools/setup web
	emcmake cmake -S web/wasm -B build-wasm -DZLIB=$(CURDIR)/build-wasm/zlib >/dev/null
	cmake --build build-wasm -j $(JOBS)
	cd web && node build.mjs --npm ../build-wasm/npm
	cd build-wasm/npm && npm pack --silent

web-test: web           ## the page in a real Chromium and Firefox: five models converted, run and compared with PyTorch, hostile files, 5 GB
	tools/setup test
	$(MAKE) --no-print-directory build
	$(T213) web/test/prepare.py $(PT2ONNX_CACHE)
	cd web && PT2ONNX_BUILD=$(abspath $(BUILD)) PT2ONNX_CACHE=$(abspath $(PT2ONNX_CACHE)) node --test --test-concurrency=1 test/

web-serve: web          ## the page on this machine: http://localhost:8000, PORT=N for another
	cd web && node serve.mjs $(PORT)

web-viewer:             ## web/viewer/view.html, the page of `pt2onnx view`, after a change of the viewer
	tools/setup web
	cd web && node build.mjs --viewer viewer/view.html

docs:                   ## the site, into the folder site of build-docs: all documents in two languages, and the page; its links are checked
	tools/setup docs
	$(MAKE) --no-print-directory web
	.venv-docs/bin/python tools/site.py

docs-serve: docs        ## the site on this machine: http://localhost:8001, PORT=N for another
	python3 -m http.server --bind 127.0.0.1 --directory build-docs/site $(or $(PORT),8001)

fleet-test:             ## examples/fleet.py on two workers of Ray, one of which is killed, and from bucket to bucket
	tools/setup fleet
	$(MAKE) --no-print-directory build
	.venv-fleet/bin/python tests/fleet/test_bucket.py --pt2onnx $(BUILD)/pt2onnx
	.venv-fleet/bin/python tests/fleet/test_fleet.py --pt2onnx $(BUILD)/pt2onnx

dist:                   ## packages into dist/: wheels, programs, Debian's, npm's, sources, an SBOM: ONLY=deb TWICE=1; see docs/platforms.md
	tools/setup dist
	.venv-dist/bin/python tools/dist.py $(if $(ONLY),--only '$(ONLY)') $(if $(TWICE),--twice) $(if $(TAG),--tag '$(TAG)')

clean:                  ## remove what was built; environments and models stay
	rm -rf $(BUILD) build-asan build-clang build-fuzz build-broken build-mutants build-wheel build-wasm build-dist build-docs web/dist dist

help:                   ## this list
	@sed -n 's/^\([a-z-]*\):  *## /  make \1\t/p' Makefile | expand -t 20
