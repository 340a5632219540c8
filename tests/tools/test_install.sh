#!/bin/sh
# What `make install` installs is found and used as people do it: pkg-config, find_package, Go, Rust, Node; and docs/embedding.md
# shows what the examples have. What is not installed here is left out, with a line that says so.
# usage: test_install.sh SOURCE_DIR LIBRARY, which lies in the folder of the build
set -eu
top=$1
build=$(dirname "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH DESTDIR

have() { command -v "$1" >/dev/null 2>&1 || { echo "left out: $1 is not installed"; return 1; }; }
die() { echo "$*"; exit 1; }

# Installed to one folder, used from another: nothing may name the first.
cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/moved"
prefix=$work/moved
lib=$(dirname "$(find "$prefix" -name libpt2onnx.a)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
if grep -rlF -e "$work/first" -e "$top/" "$lib/pkgconfig" "$lib/cmake"; then die "names the folder it was made in"; fi

# ---- one version in all places ----

header_version() { sed -n 's/^#define PT2ONNX_VERSION "\(.*\)"/\1/p' "$1/include/pt2onnx.h"; }
package_version() { sed -n 's/^Version: //p' "$1/pkgconfig/pt2onnx.pc"; }
same_version() { # PREFIX LIB
    version=$(header_version "$1")
    [ -n "$version" ] && [ "$(package_version "$2")" = "$version" ] && [ "$("$1/bin/pt2onnx" --version)" = "pt2onnx $version" ] &&
        grep -q "set(PACKAGE_VERSION \"$version\")" "$2/cmake/pt2onnx/pt2onnxConfigVersion.cmake" &&
        grep -q "^version = \"$version\"" "$top/pyproject.toml" && [ -e "$2/libpt2onnx.so.$version" ]
}
same_version "$prefix" "$lib" || die "header, pkg-config, CMake, program, library and Python package are of different versions"
major=${version%%.*}
mkdir "$work/planted"
cp -R "$prefix/." "$work/planted"
sed -i 's/^#define PT2ONNX_VERSION .*/#define PT2ONNX_VERSION "9.8.7"/' "$work/planted/include/pt2onnx.h"
if same_version "$work/planted" "$work/planted${lib#"$prefix"}"; then die "a header of another version is not noticed"; fi

# ---- what every program must do ----

model=$top/examples/digits_cnn.pt
spec='x:float32[N,1,8,8]'
"$prefix/bin/pt2onnx" -q "$model" -o "$work/assumed.onnx"
"$prefix/bin/pt2onnx" -q "$model" -o "$work/wanted.onnx" -i "$spec"
echo "no model" >"$work/bad.pt"

converts() { # PROGRAM..: with notes; with an input; a damaged file gives its error and exit code and no file
    rm -f "$work/out.onnx"
    "$@" "$model" "$work/out.onnx" 2>"$work/err" >&2 || { cat "$work/err"; die "$* fails"; }
    cmp "$work/out.onnx" "$work/assumed.onnx"
    grep -q 'assumed: x has rank 4' "$work/err" || die "$* shows no notes"
    "$@" "$model" "$work/out.onnx" "$spec" 2>"$work/err" >&2 || { cat "$work/err"; die "$* fails with $spec"; }
    cmp "$work/out.onnx" "$work/wanted.onnx"
    rm "$work/out.onnx"
    status=0
    "$@" "$work/bad.pt" "$work/out.onnx" 2>"$work/err" >&2 || status=$?
    [ $status = 3 ] && grep -q 'no saved PyTorch program' "$work/err" || die "$* gives $status for a damaged file: $(cat "$work/err")"
    [ ! -e "$work/out.onnx" ] || die "$* leaves a file behind an error"
}

streams() { # PROGRAM..: bytes through a callback, progress; a sink that is full ends it
    "$@" "$model" - "$spec" >"$work/out.onnx" 2>"$work/err" || { cat "$work/err"; die "$* fails"; }
    cmp "$work/out.onnx" "$work/wanted.onnx"
    grep -q '[.][.] writing the model' "$work/err" || die "$* shows no progress"
    [ ! -e /dev/full ] || ! "$@" "$model" - "$spec" >/dev/full 2>"$work/err" || die "$* does not notice a full disk"
    rm "$work/out.onnx"
}

# ---- C: pkg-config ----

cc=${CC:-cc}
strict="-std=c11 -Wall -Wextra -Wconversion -Werror"
if have pkg-config; then
    # shellcheck disable=SC2046,SC2086     # flags are words
    $cc $strict "$top/examples/embed.c" -o "$work/embed" $(pkg-config --cflags --libs pt2onnx) "-Wl,-rpath,$lib"
    converts "$work/embed"
    streams "$work/embed"
    ldd "$work/embed" | grep -qF "libpt2onnx.so.$major " || die "the program does not ask for libpt2onnx.so.$major"
    mv "$lib/libpt2onnx.so" "$work/"             # -lpt2onnx is the static library then, which needs what Libs.private has
    $cc $strict "$top/examples/embed.c" -o "$work/embed_static" $(pkg-config --cflags --libs --static pt2onnx)
    mv "$work/libpt2onnx.so" "$lib/"
    converts "$work/embed_static"
    streams "$work/embed_static"
    ! ldd "$work/embed_static" | grep pt2onnx || die "the static program asks for the shared library"
fi

# ---- C++ ----

cat >"$work/options.cc" <<'END'
#include <pt2onnx.h>
int main()
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.check_crc = 1;
    return o.size == sizeof o && o.opset == 18 && !o.user && !o.show_json ? 0 : 1;
}
END
cxx=${CXX:-c++}
if have "$cxx"; then
    for standard in c++11 c++20; do
        $cxx -std=$standard -Wall -Wextra -pedantic -Werror "$work/options.cc" -o "$work/options" -I "$prefix/include"
        "$work/options" || die "PT2ONNX_OPTIONS is not the defaults in $standard"
    done
fi

# ---- C: find_package ----

cmake -S "$top/examples" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 && cmake --build "$work/cmake" >>"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
converts "$work/cmake/embed"
converts "$work/cmake/embed_static"
! ldd "$work/cmake/embed_static" | grep pt2onnx || die "pt2onnx::static is the shared library"
mkdir "$work/newer"
sed 's/find_package(pt2onnx 1.0/find_package(pt2onnx 99.1/' "$top/examples/CMakeLists.txt" >"$work/newer/CMakeLists.txt"
cp "$top/examples/embed.c" "$work/newer/"
if cmake -S "$work/newer" -B "$work/newer/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then die "version 99.1 is found"; fi

# ---- C: the sources as a part of another build ----

# Objects that lie in the build are taken from there, but for those of src/base and of the public functions: the others would take a minute.
cat >"$work/compiler" <<'END'
#!/bin/sh
for word; do case $last:$word in
-o:*/pt2onnx_objects.dir/src/base/*) ;;
-o:*/pt2onnx_objects.dir/src/*/*) made=$word ;;
esac; last=$word; done
made=${made:+$BUILT/CMakeFiles/${made#*CMakeFiles/}}
[ -f "$made" ] || exec "$@"
while [ "$1" != -o ]; do shift; done
cp "$made" "$2"
END
chmod +x "$work/compiler"
mkdir "$work/inside"
cp "$top/examples/embed.c" "$work/inside/"
sed "s|^find_package.*|include(FetchContent)\nFetchContent_Declare(pt2onnx SOURCE_DIR \"$top\")\nFetchContent_MakeAvailable(pt2onnx)|" \
    "$top/examples/CMakeLists.txt" >"$work/inside/CMakeLists.txt"
inside() { # COMMAND..: in the other build, with what it says in case of an error
    BUILT=$build CMAKE_C_COMPILER_LAUNCHER="$work/compiler" "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
inside cmake -S "$work/inside" -B "$work/inside/build"
inside cmake --build "$work/inside/build" -j 2
converts "$work/inside/build/embed"
converts "$work/inside/build/embed_static"
inside cmake --install "$work/inside/build" --prefix "$work/inside/installed"
[ ! -e "$work/inside/installed" ] || die "installs pt2onnx with a program that it is a part of"

# ---- other languages ----

if have cargo && have pkg-config; then
    RUSTFLAGS="-D warnings -C link-arg=-Wl,-rpath,$lib" CARGO_TARGET_DIR="$work/cargo" \
        cargo build -q --offline --locked -j 1 --manifest-path "$top/examples/rust/Cargo.toml"
    converts "$work/cargo/debug/embed"
    streams "$work/cargo/debug/embed"
fi
if have go && have pkg-config; then
    (cd "$top/examples/go" && CGO_LDFLAGS="-Wl,-rpath,$lib" GOTOOLCHAIN=local GOPROXY=off GOCACHE="${GOCACHE:-$work/gocache}" \
        go build -p 1 -o "$work/goembed" .)
    converts "$work/goembed"
    streams "$work/goembed"
fi
if have node; then
    PT2ONNX="$prefix/bin/pt2onnx"
    export PT2ONNX
    converts node "$top/examples/node/convert.mjs"
    node "$top/tests/tools/node_example.mjs" "$top/examples/node/pt2onnx.mjs" "$model" "$work"
fi

# ---- the document shows what the examples have ----

# Prints each line of code of a document that no example has.
not_in_examples() {
    sed -n '/^```[a-z]/,/^```$/p' "$1" | sed -e '/^```/d' -e 's/^[[:space:]]*//' -e '/^$/d' >"$work/shown"
    [ -s "$work/shown" ] || die "$1 shows no code"
    sed -e 's/^[[:space:]]*//' "$top/examples/embed.c" "$top/examples/CMakeLists.txt" "$top"/examples/go/*.go "$top"/examples/go/pt2onnx/*.go \
        "$top"/examples/rust/src/*.rs "$top"/examples/node/*.mjs >"$work/code"
    grep -vxF -f "$work/code" "$work/shown" || true
}
missing=$(not_in_examples "$top/docs/embedding.md")
[ -z "$missing" ] || die "docs/embedding.md shows what no example has: $missing"
{ cat "$top/docs/embedding.md"; printf '```c\n    pt2onnx_no_such_function(model);\n```\n'; } >"$work/planted.md"
[ "$(not_in_examples "$work/planted.md")" = 'pt2onnx_no_such_function(model);' ] || die "code that no example has is not noticed"
