#!/bin/sh
# tools/check-lines must notice what it guards: each text below is planted into an otherwise empty tree.
# usage: test_check_lines.sh SOURCE_DIR
set -u
check=$1/tools/check-lines
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failed=0

# plant TEXT: the tree with one file of this text; prints what check-lines says of it
plant() {
    rm -rf "$tree/src"
    mkdir -p "$tree/src"
    printf '%s\n' "$1" > "$tree/src/a.c"
    "$check" --where "$tree" > "$tree/out"
}
must_fail() {
    if plant "$2"; then echo "not noticed: $2"; failed=1; fi
    grep -q "^src/a.c:[0-9]*: $1" "$tree/out" || { echo "not called $1: $2"; cat "$tree/out"; failed=1; }
}
must_pass() {
    if ! plant "$1"; then echo "wrongly reported: $1"; cat "$tree/out"; failed=1; fi
}
long=$(printf '    a();\n%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)

must_fail over100 "int x; $(printf ' %.0s' $(seq 100)) int y;"
must_fail choices 'int f(int a) { return a > 0 ? 1 : a < 0 ? -1 : 0; }'
must_fail choices 'int f(int a) {
    return (a > 0 ? 1 : 2) +
        (a < 0 ? 1 : 2);
}'
must_fail several 'void f(void)
{
    int a = g(1), b = g(2);
}'
must_fail bare "static int f(int a)
{
$long
}"
must_pass "/* what a caller must know */
static int f(int a)
{
$long
}"
must_pass 'int f(int a) { return a > 0 ? 1 : 2; } const char *s = "? ? :"; /* a ? b ? c */'
must_pass 'void f(void)
{
    int a = g(1, 2 == 3), b;
    for (int i = 0, n = 3; i < n; i++)
        g(i);
}'
in_function() { printf 'void f(int n)\n{\n    %s\n}' "$1"; }
must_fail loops "$(in_function 'for (int i = 0; at && i < n; i++) g(at[i]);')"
must_fail loops "$(in_function 'for (int i = 0; i < n && !x->dead; i++) { g(x->in[i]); h(i); }')"
must_fail loops "$(in_function 'while (p != NULL && n > 0) n--;')"
must_fail loops "$(in_function 'while ((at = next(at)) != NULL) g(at);')"
must_pass "$(in_function 'for (int i = 0; same && i < n; i++) same = g(i);')"
must_pass "$(in_function 'for (const Node *x = first; x && x->up; x = x->up) g(x->name);')"
must_pass "$(in_function 'for (int i = 0; i < n && !w->failed; i++) put(w, i);')"
must_pass "$(in_function 'do { take(p, &more); } while (more && !at(p));')"
must_pass "$(in_function 'while (v.tag == LIST && n > 0) n--;')"
[ $failed = 0 ] && echo "every planted line was noticed"
exit $failed
