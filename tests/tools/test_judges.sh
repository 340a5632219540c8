# tools/judges.py: each source has a test that judges it, and what the map names exists.
set -eu
cd "$1"
python3 - <<'EOF'
import os
import re
import sys

sys.path.insert(0, "tools")
import judges

TESTS = ["unit/" + f[:-2] for f in os.listdir("tests/unit") if f.endswith(".c")] + ["ops/" + f for f in judges.cases(".")]
TESTS += ["cli/" + f[:-4] for f in os.listdir("tests/cli") if f.endswith(".cmd")] + ["fuzz/" + f for f in os.listdir("tests/fuzz/corpus")]
TESTS += ["tools/check-layers", "tools/check-format"] + ["tools/" + f[len("test_"):-len(".sh")] for f in os.listdir("tests/tools") if f.endswith(".sh")]

wrong = []
sources = [f for ending in ("c", "rules") for f in judges.below(".", "src/**/*." + ending)]
for path in sources + judges.below(".", "tests/**/*.*") + ["CMakeLists.txt", "python/pt2onnx/__init__.py", "cli/main.c"]:
    found = judges.of(".", path)
    if path.startswith("src/") and not found.ctest:
        wrong.append("%s: nothing judges it" % path)
    wrong += ["%s: no test is %s" % (path, p) for p in found.ctest if not any(re.search(p, t) for t in TESTS)]
    wrong += ["%s: no family %s" % (path, f) for f in found.families - set(judges.cases("."))]
    wrong += ["%s: no file %s" % (path, t) for t in found.programs if not os.path.exists(t.split("::")[0])]
for family in judges.families("."):
    if family in judges.WHOLE and not judges.sources(".", family):
        wrong.append("%s: no sources" % family)
print("\n".join(sorted(set(wrong))))
sys.exit(1 if wrong or len(sources) < 200 else 0)
EOF
