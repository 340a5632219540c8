#!/bin/sh
# The version is the same wherever it stands, and CHANGELOG.md has a section of it, with or without a date.
# usage: test_version.sh SOURCE_DIR LIBRARY, which lies in the folder of the build
set -eu
cd "$1"
version=$(sed -n 's/^#define PT2ONNX_VERSION "\([0-9.]*\)"$/\1/p' include/pt2onnx.h)
[ -n "$version" ] || { echo "include/pt2onnx.h has no version"; exit 1; }
failed=0

# begins FILE TEXT: a line of that file begins so
begins() {
    awk -v text="$2" 'index($0, text) == 1 { found = 1 } END { exit !found }' "$1" || { echo "$1: no line begins with: $2"; failed=1; }
}
begins CMakeLists.txt "project(pt2onnx VERSION $version "
begins pyproject.toml "version = \"$version\""
begins python/pt2onnx/__init__.py "__version__ = \"$version\""
begins web/npm/package.json "  \"version\": \"$version\""
begins packaging/debian/changelog "pt2onnx ($version-"
begins CHANGELOG.md "## Unreleased"
grep -qE "^## $(echo "$version" | sed 's/\./\\./g')( |\$)" CHANGELOG.md || { echo "CHANGELOG.md has no section $version"; failed=1; }
said=$("$(dirname "$2")/pt2onnx" --version)
[ "$said" = "pt2onnx $version" ] || { echo "the program says: $said"; failed=1; }
exit $failed
