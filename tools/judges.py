"""What judges a source: for each file of the repository the tests that would notice a mistake in it.

tools/mutate breaks sources and asks these; `make check CHANGED=1` runs them for the files that were changed. A test is named as its
runner names it: the cases of a family and the other tests of CTest by a pattern (`ops/reduce`, `unit/zip`), those in Python by a path.
"""
import glob
import os

# Families of sources that have no operator cases of their own name. Generated tables are left out.
WHOLE = ("binding", "tidy", "eval", "gradient")
BINDING = ["src/ops/%s.c" % n for n in ("args", "bind", "dispatch", "promote", "schema", "table")]
GENERATED = ("ort_kernels.c",)
# What a call alone cannot show, as results whose rank differs between runs: tests of programs that judge the family too.
PROGRAMS = {"view": ["tests/script/test_ranks.py", "tests/package/test_squeeze.py"], "embedding": ["tests/script/test_quantised.py"],
            "quantized": ["tests/script/test_quantised.py"], "quantized_layers": ["tests/script/test_quantised.py"], "quantized_dynamic": ["tests/script/test_quantised.py"],
            "search": ["tests/package/test_export.py::test_runs_along_a_dim_are_not_held_against_what_torch_export_records", "tests/script/test_records.py"],
            "create": ["tests/script/test_lists.py::test_tensors_of_empty_lists"],
            "normalization": ["tests/script/test_state.py::test_statistics_move_where_training_is_asked_for"]}
# What judges the interpreter before ctest does: tests of programs, by the beginning of a source's name. All of them would take too long.
LISTS, LANGUAGE = ["lists", "inner_lists", "columns"], ["language", "builtins", "objects", "script"]
SCRIPTS = {"walk": ["loops", "inner_lists", "objects"], "branch_run": ["optional", "places", "assumed"], "branch": ["script", "optional", "assumed", "regions"], "builtin": LANGUAGE + ["sort"],
           "condition": ["assumed", "open_dicts"], "carry": ["loops", "inside_loops", "optional"], "choice": ["choice"], "autograd": ["gradients"], "builtin_autograd": ["gradients"], "c10_dtype": ["language"], "heap": ["mutation", "objects"],
           "join": ["choice", "optional", "objects", "ranks", "assumed", "open_dicts"], "layout": ["layouts"], "liveness": ["optional", "places"],
           "loop": ["loops", "inside_loops", "places", "lists", "left_in_lists", "mutation"], "dynamic_dict": ["open_dicts"], "dynamic_parts": LISTS, "higher_order": ["regions"],
           "stacked": LISTS + ["sort", "state_grows"], "state": ["state", "state_grows"], "tensor": ["mutation", "ranks", "layouts"],
           "recorded": ["records", "exported_numbers"], "loop_known": ["loops", "inside_loops"], "loop_unroll": ["loops", "regions"], "value": ["language", "mutation"], "inputs": ["script", "bounds", "guessed_ranks"],
           "outputs": ["script", "ranks"], "facts": ["script", "guessed_ranks", "assumed"], "": LANGUAGE}
# And the passes.
FOUND = ["python/found"]
PASSES = {"find_col2im": ["columns"], "split_complex": ["ranks"], "drop": ["python/slices"], "find": FOUND, "legal": ["python/legalise"],
          "modules": ["package/functions"], "half": ["weights_types"], "blocks": ["weights_types"], "converted": ["weights_types"], "quantise": ["weights_types"],
          "legal_types": ["python/legalise", "ranks"], "": ["python/legalise", "python/slices"]}


def below(top, pattern):
    return sorted(os.path.relpath(f, top) for f in glob.glob(os.path.join(top, pattern), recursive=True))


def families(top):
    """Those of the operator cases, then those of WHOLE."""
    return [os.path.basename(f)[:-len(".txt")] for f in below(top, "tests/ops/*.txt")] + list(WHOLE)


def sources(top, family):
    """The files of a family."""
    if family == "eval":
        return below(top, "src/value/*.c") + below(top, "src/eval/**/*.c")
    if family == "tidy":
        return [f for f in below(top, "src/tidy/**/*.c") + below(top, "src/tidy/**/*.rules") if os.path.basename(f) not in GENERATED]
    if family == "gradient":
        return below(top, "src/onnx/gradient/*.c") + below(top, "src/onnx/gradient/*.rules")
    if family == "binding":
        return BINDING
    return below(top, "src/ops/**/%s.c" % family) + below(top, "src/ops/**/%s.rules" % family)


def by_beginning(subjects, path):
    """Tests of programs of the longest beginning of the file's name."""
    name = os.path.basename(path)
    return [test_file(s) for s in subjects[max((p for p in subjects if name.startswith(p)), key=len)]]


def test_file(subject):
    folder, _, name = subject.rpartition("/")
    return "tests/%s/test_%s.py" % (folder or "script", name)


# ---- of any file: what `make check` runs ----

ALL = ""                                    # the pattern of every test


class Judges:
    """Tests of CTest by patterns of their names, families whose recorded numbers are run in ONNX Runtime, tests of programs by path."""

    def __init__(self, ctest=(), families=(), programs=()):
        self.ctest, self.families, self.programs = set(ctest), set(families), set(programs)

    def add(self, other):
        self.ctest |= other.ctest
        self.families |= other.families
        self.programs |= other.programs


def cases(top):
    return [f for f in families(top) if f not in WHOLE]


def everything(top):
    return Judges({ALL}, cases(top))


def of_all(top, paths):
    """Whatever was changed, the layers and the format are looked at."""
    whole = Judges({"^tools/check"})
    for path in paths:
        whole.add(of(top, path))
    return whole


def of(top, path):
    """What judges a file, or all files below a folder."""
    if os.path.isdir(os.path.join(top, path)):
        whole = Judges()
        for f in below(top, os.path.join(path, "**", "*.*")):
            whole.add(of(top, f))
        return whole
    name, folder = os.path.splitext(os.path.basename(path))[0], path.split("/")
    if folder[0] == "src":
        return of_source(top, path, name, folder)
    if folder[0] == "tests" and len(folder) > 2:
        return of_test(top, path, name, folder[1])
    if folder[0] in ("cli", "include"):
        return Judges({"^cli/", "^tools/"})
    if folder[0] == "python":
        return Judges({"^tools/capi_fields"}, programs={"tests/package"})
    if folder[0] == "examples":
        return Judges({"^tools/install$", "^tools/capi_fields"})
    if folder[0] == "tools":
        return Judges({"^tools/"})
    if path.endswith(".md"):
        return Judges({"^tools/documents$", "^tools/install$"})
    if path in ("CMakeLists.txt", "Makefile"):
        return everything(top)
    return Judges()


def of_source(top, path, name, folder):
    part = folder[1] if len(folder) > 2 else ""
    if path in BINDING or (part == "ops" and len(folder) == 3):
        return Judges({"^ops/", "^unit/(bind|promote|schema|view|builtin)$"}, cases(top))
    if part == "ops":
        own = [f for f in cases(top) if f == name] or [f for f in cases(top) for s in sources(top, f) if os.path.dirname(s) == os.path.dirname(path)]
        return Judges({"^ops/%s$" % f for f in own} | {"^unit/(bind|builtin)$"}, own, PROGRAMS.get(name, ()))
    if part == "tidy":
        return Judges({"^unit/(tidy|legalise|fold|infer)", "^ops/", "^cli/"}, cases(top), by_beginning(PASSES, path))
    if part in ("eval", "value"):
        return Judges({"^unit/", "^cli/", "^ops/"}, programs=by_beginning(SCRIPTS, path))
    if part == "front":
        return Judges({"^unit/(exported|torchscript|handed|sympy|builtin)", "^fuzz/", "^cli/"})
    if part == "onnx" and folder[2] == "gradient":
        return Judges({"^unit/rules$", "^cli/"}, programs={test_file("gradients")})
    if part == "onnx":
        return Judges({"^unit/", "^ops/", "^fuzz/onnx", "^cli/"}, cases(top))
    return Judges({"^unit/", "^fuzz/", "^cli/"})


def of_test(top, path, name, part):
    if part == "ops":
        return Judges({"^ops/%s$" % name}, {name}) if name in cases(top) else Judges({"^ops/"}, cases(top))
    if part == "unit":
        return Judges({"^unit/" if path.endswith(".h") else "^unit/%s$" % name})
    if part == "cli":
        return Judges({"^cli/%s$" % name if os.path.exists(os.path.join(top, "tests/cli", name + ".cmd")) else "^cli/"})
    if part == "fuzz":
        return Judges({"^fuzz/"})
    if part == "tools":
        return Judges({"^tools/%s$" % name[len("test_"):] if name.startswith("test_") else "^tools/"})
    if part in ("python", "script", "package") and path.endswith(".py"):
        return Judges(programs={path if name.startswith("test_") else "tests/" + part})
    return Judges()
