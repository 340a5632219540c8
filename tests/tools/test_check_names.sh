#!/bin/sh
# tools/check-names must notice a name of an operator wherever it is planted, and nothing else.
# usage: test_check_names.sh SOURCE_DIR
set -u
check=$1/tools/check-names
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failed=0

# plant FILE TEXT: the tree with only that file; prints what check-names says of it
plant() {
    rm -rf "$tree/src"
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "$2" > "$tree/$1"
    "$check" "$tree" > "$tree/out"
}
must_fail() {
    if plant "$1" "$2"; then echo "not noticed in $1: $2"; failed=1; fi
    grep -q "$3" "$tree/out" || { echo "in $1 it does not say $3:"; cat "$tree/out"; failed=1; }
}
must_pass() {
    if ! plant "$1" "$2"; then echo "wrongly reported in $1: $2"; cat "$tree/out"; failed=1; fi
}

must_fail src/value/a.c    'bool f(Str s) { return str_is(s, "aten::fft_fft"); }' 'src/value/a.c:1: names an operator'
must_fail src/tidy/a.c     '/* a comment
 * of two lines */ const char *s = "quantized::conv2d";' 'src/tidy/a.c:2: names an operator'
must_fail src/eval/new.c   'const char *names[] = { "aten::relu", "prims::add" };' '1 places wrong'
must_fail src/pt2onnx.c    'const char *s = "higher_order::cond";' 'src/pt2onnx.c:1'
must_fail src/eval/expr.c  'const char *s[] = { "aten::a", "aten::b", "aten::c", "aten::d" };' '4 times, not 3, the last at src/eval/expr.c:1'
must_fail src/eval/expr.c  'const char *s = "aten::neg";' 'expr.c names operators 1 times, not 3: lower its number'
must_pass src/eval/expr.c  'const char *s[] = { "aten::a", "aten::b", "aten::c" };'
must_pass src/ops/shape/a.c 'const char *s = "aten::select";'
must_pass src/eval/builtin/a.c 'const char *s = "aten::len";'
must_pass src/front/torchscript/a.c 'const char *s = "aten::device";'
must_pass src/value/a.c    '/* what "aten::select" makes */ int x; // "aten::slice"'
must_pass src/eval/a.c     'Str f(Str name) { return str_fmt("aten::%s", name); } const char *s = "aten::";'
must_pass src/tidy/a.c     'const char *s = "onnx::Gelu";'
[ $failed = 0 ] && echo "every planted name was noticed"
exit $failed
