#!/bin/sh
# The program in docs/security.md compiles, and converts in a sandbox of its own.
# usage: test_security_example.sh SOURCE_DIR LIBRARY
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^```c$/,/^```$/p' "$1/docs/security.md" | grep -v '^```' > "$work/apart.c"
${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -I "$1/include" -o "$work/apart" "$work/apart.c" "$2" "-Wl,-rpath,$(dirname "$2")"
"$work/apart" "$1/tests/cli/files/scripted.pt" "$work/none/out.onnx" 2> "$work/err" && exit 1
grep -q 'No such file or directory' "$work/err"
"$work/apart" "$1/tests/cli/files/net.pt" "$work/out.onnx"
test -s "$work/out.onnx"
