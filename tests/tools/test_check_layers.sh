#!/bin/sh
# tools/check-layers must notice what it guards: each line below is planted into an otherwise right tree.
# usage: test_check_layers.sh SOURCE_DIR
set -u
check=$1/tools/check-layers
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failed=0

# plant FILE TEXT: the tree with only that file; prints what check-layers says of it
plant() {
    rm -rf "$tree/src" "$tree/cli"
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "$2" > "$tree/$1"
    "$check" "$tree"
}
must_fail() {
    if plant "$1" "$2" > /dev/null; then echo "not noticed in $1: $2"; failed=1; fi
}
must_pass() {
    if ! plant "$1" "$2" > "$tree/out"; then echo "wrongly reported in $1: $2"; cat "$tree/out"; failed=1; fi
}

must_fail src/base/a.c    '#include "onnx/onnx.h"'
must_fail src/onnx/a.c    '#include "archive/archive.h"'
must_fail src/ops/a.c     '#include "eval/program.h"'
must_fail src/ops/a.c     '#include "onnx/internal.h"'
must_fail src/tidy/a.c    '#include "value/value.h"'
must_fail cli/a.c         '#include "base/base.h"'
must_fail src/onnx/a.c    'void *f(void) { return malloc(3); }'
must_fail src/front/a.c   'int f(void) { return open("x", 0); }'
must_fail src/eval/expr.c 'void f(Cell *c, Value v) { c->v = v; }'
must_fail src/eval/expr.c 'void f(List *l, Value v) { l->at[l->n - 1].v = v; }'
must_fail src/eval/expr.c 'void f(List *l) { l->n++; }'
must_fail src/front/a.c   'void f(Obj *self, Value v) { self->slot[3].v = v; }'
must_fail src/ops/a.c     'void f(Storage *st, Ox v) { st->now = v; }'
must_fail src/nowhere/a.c 'int x;'
must_fail src/base/out.c  '#include <unistd.h>'
must_fail src/archive/a.c '#  include  <sys/mman.h>'
must_fail src/onnx/a.c    '#include <windows.h>'
must_fail src/base/a.h    '#include <fcntl.h>'
must_fail cli/a.c         '#include <signal.h>'
must_fail cli/a.c         '#include <time.h>'
must_fail src/eval/a_posix.c '#include <poll.h>'
must_pass src/base/a_posix.c '#include <unistd.h>'
must_pass cli/a_windows.c '#include <windows.h>'
must_pass src/base/sandbox.c '#include <sys/prctl.h>'
must_pass src/base/a.c    '#include <stdatomic.h>'
must_pass cli/a.c         '#include "base/system.h"'
must_pass src/value/heap.c 'void f(Cell *c, Value v) { c->v = v; }'
must_pass src/eval/expr.c 'bool f(Cell *c, OpArg *a, Value v) { a->v = v; return c->v.tag == V_INT; }'
must_pass src/onnx/a.c    '/* malloc(3) */ const char *s = "open(x)";'
must_pass src/base/a.c    'void *f(void) { return malloc(3); }'
must_pass src/ops/a.c     '#include "value/value.h"'
# used TEXT: a function whose allocation is written or read before its test; tested TEXT: one that tests it first
n_used=0
used() { n_used=$((n_used + 1)); printf 'void used_%d(Ctx *cx, size_t n)\n{\n%s\n}\n' $n_used "$1" >> "$tree/used.c"; }
tested() { printf 'void tested(Ctx *cx, size_t n)\n{\n%s\n}\n' "$1" >> "$tree/used.c"; }
used   'int *a = new_array(cx, int, n); a[0] = 1;'
used   'int *a = mem_copy(cx, b, n * sizeof *a); a[0] = 1; if (!a) return;'
used   'Tuple *t = mem_alloc(cx, sizeof *t + n * sizeof *at); t->n = n;'
used   'int *a = mem_array(cx, n, sizeof *a); memcpy(a, b, n);'
used   'int *a = new_array(cx, int, n), *b = new_array(cx, int, n); if (!a) return; b[0] = a[0];'
used   'List l = { .at = new_array(cx, int, n), .n = n }; l.at[0] = 1;'
used   'List *l = new(cx, List); *l = (List){ .at = new_array(cx, int, n) }; l->at[0] = 1;'
used   '*out = new_array(cx, int, n);
        (*out)[0] = 1;'
tested 'int *a = new_array(cx, int, n); if (!a) return; a[0] = 1;'
tested 'int *a = new_array(cx, int, n), *b = new_array(cx, int, n); if (!a || !b) return; b[0] = a[0];'
tested 'int *a = new_array(cx, int, n); if (a && fits(a)) a[0] = 1;'
tested 'int *a = new_array(cx, int, n); for (size_t i = 0; a && i < n; i++) a[i] = 1;'
tested 'List l = { .at = new_array(cx, int, n), .n = other->at[0] }; if (l.at) l.at[0] = 1;'
tested 'Node *copy = mem_copy(cx, n, sizeof *n); copy->kind = 1;'
tested 'Node *one = new(cx, Node); one->kind = 1; int *a = new_array(cx, int, MAX_RANK); a[0] = 1;'
tested '*out = new_array(cx, int, n);
        if (!*out) return;
        (*out)[0] = 1;'
plant src/onnx/a.c "$(cat "$tree/used.c")" > "$tree/out"
for i in $(seq $n_used); do
    grep -q "used_$i uses .*, which may be NULL" "$tree/out" || { echo "not noticed: the allocation of used_$i"; failed=1; }
done
if grep -q "tested uses" "$tree/out"; then echo "wrongly reported:"; grep "tested uses" "$tree/out"; failed=1; fi
# linked FILE TEXT FILE TEXT: two objects, as a build leaves them
linked() {
    objects=$tree/build/CMakeFiles/pt2onnx_objects.dir/src
    rm -rf "$tree/src" "$tree/build"
    for i in 1 2; do
        mkdir -p "$objects/$(dirname "$1")" "$tree/src/$(dirname "$1")"
        printf '%s\n' "$2" > "$tree/src/$1"
        "${CC:-cc}" -c -o "$objects/$1.o" "$tree/src/$1" || failed=1
        shift 2
    done
    "$check" --objects "$tree/build" "$tree" > "$tree/out"
}
if linked onnx/a.c 'int b(void); int a(void) { return b(); }' value/b.c 'int a(void); int b(void) { return a(); }'; then
    echo "two folders that need each other were not noticed"; failed=1
fi
if linked tidy/a.c 'int b(void); int a(void) { return b(); }' tidy/b.c 'int a(void); int b(void) { return a(); }'; then
    echo "a new knot inside a folder was not noticed"; failed=1
fi
if ! linked onnx/a.c 'int a(void) { return 1; }' value/b.c 'int a(void); int b(void) { return a(); }'; then
    echo "an arrow that points down was reported"; cat "$tree/out"; failed=1
fi

rm -rf "$tree/src" && mkdir -p "$tree/src/onnx" "$tree/src/tidy"
echo 'int a;' | tee "$tree/src/onnx/internal.h" "$tree/src/tidy/internal.h" "$tree/src/onnx/drop.c" >"$tree/src/tidy/views.c"
"$check" "$tree" >"$tree/out" || { echo "names that differ were reported"; cat "$tree/out"; failed=1; }
mv "$tree/src/tidy/views.c" "$tree/src/tidy/drop.c"
if "$check" "$tree" >"$tree/out"; then echo "two files of one name were not noticed"; failed=1; fi
exit $failed
