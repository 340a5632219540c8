#!/bin/sh
# Two builds of one commit in two folders are equal byte by byte, and what is built here does not name its folder.
# usage: test_same_build.sh SOURCE_DIR LIBRARY
#
# Only src/base and the rules are built twice, with debug information: where a path could stay is the same in every file. The tables of names are written a
# second time.
set -u
two=$(mktemp -d) || exit 1
trap 'rm -rf "$two"' EXIT
failed=0

for folder in one "another folder"; do
    tree="$two/$folder"
    mkdir -p "$tree/src" "$tree/tools" || exit 1
    cp -R "$1/src/base" "$1/src/ops/elementwise/prims.rules" "$tree/src/"
    cp -R "$1/cli" "$1/include" "$1/CMakeLists.txt" "$tree/"
    cp -R "$1/tools/embed.cmake" "$1/tools/install" "$tree/tools/"
    { cmake -S "$tree" -B "$tree/build" -DCMAKE_BUILD_TYPE=Debug && cmake --build "$tree/build" --target pt2onnx_static; } > "$two/log" 2>&1 ||
        { tail -20 "$two/log"; exit 1; }
done
cmp "$two/one/build/libpt2onnx.a" "$two/another folder/build/libpt2onnx.a" || failed=1
build=$(dirname "$2")
"$build/pt2onnx_compile_tables" "$two/tables.c" && cmp "$two/tables.c" "$build/name_tables.c" || failed=1
if grep -qF "$1/" "$2"; then echo "$2 names the folder of its sources"; failed=1; fi
exit $failed
