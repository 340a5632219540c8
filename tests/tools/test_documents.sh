#!/bin/sh
# What the documents name, quote and tell to run is so; and tests/tools/documents.py notices what is not: each line below is planted.
# usage: test_documents.sh SOURCE_DIR LIBRARY, which lies in the folder of the build
set -eu
top=$1
build=$(dirname "$2")
python3 "$top/tests/tools/documents.py" "$top" "$build"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
for part in Makefile src tests tools include cli python examples web; do ln -s "$top/$part" "$tree/$part"; done
cp -r "$top/docs" "$tree/docs"
chmod -R u+w "$tree/docs"
sed -e 's/=> Equal Greater Cast Where/=> Equal Where/' -e 's/the default 18 and 9, 11,/the default 18 and 9,/' "$top/docs/adding-an-operator.md" > "$tree/docs/adding-an-operator.md"
echo "gives 1	=>	Equal Greater Cast Where" > "$tree/wanted"
echo "a case is judged at other opsets than the guide says" >> "$tree/wanted"

# plant DOCUMENT LINE SAID: at the end of that document, with what must be said of it
plant() {
    printf '\n%s\n' "$2" >> "$tree/docs/$1"
    echo "$3" >> "$tree/wanted"
}
plant testing.md 'See `src/ops/no_such_file.c`.'                           'src/ops/no_such_file.c: no such file'
plant architecture.md '`no_such_c_function` of no_such_source.c'           'no_such_source.c: no file is called so'
plant architecture.md '`no_such_c_function` of `tidy.c`'                   'no_such_c_function: nothing in src is called so'
plant testing.md 'See [there](no-such-page.md).'                           '(no-such-page.md): the link leads nowhere'
plant testing.md '    make no-such-target'                                 'make no-such-target: no such target'
plant testing.md '    $ build/pt2onnx MODEL --no-such-option'              'pt2onnx has no option --no-such-option'
plant testing.md '    $ tools/opinfo.py --no-such-option'                  'tools/opinfo.py has no option --no-such-option'
plant testing.md '    $ tools/fusions.py --optimisers'                 'tools/fusions.py: cannot be executed'
plant adding-a-pass.md '    $ cmake --build build --target unit_no_such'   '--target unit_no_such: the build has none'
plant testing.md '    $ ctest --test-dir build-asan -R no_such'           'build-asan: make build does not make that folder'
plant adding-a-pass.md '`pt2onnx MODEL --dump-after no-such-pass`'         '--dump-after no-such-pass: no such pass'
plant adding-an-operator.md 'A row of `NO_SUCH_MACRO`.'                    'NO_SUCH_MACRO: nothing in src is called so'
plant adding-an-operator.md 'It calls `no_such_function`.'                 'no_such_function: nothing in src is called so'
plant adding-an-operator.md '    LOWER(lower_stack, NULL, PLAIN, "aten::stack(Tensor[] tensors) -> Tensor");' 'the sources have it otherwise: LOWER(lower_stack'
plant adding-a-builtin.md '    { .name = "aten::fabs", .kinds = "N" },'    'the sources have it otherwise: { .name = "aten::fabs"'
plant limits.md '## In English only'                                       'has a heading ## where here is the end'
plant zh-CN/python.md '    pt2onnx help inputs   # 只有中文页有'           'has the end where here is the code pt2onnx help inputs'
plant formats/zip.md 'See `src/archive/no_such_reader.c`.'                 'src/archive/no_such_reader.c: no such file'
plant tutorials/checking.md 'See [there](no-such-tutorial.md).'            '(no-such-tutorial.md): the link leads nowhere'
plant zh-CN/tutorials/page.md '    pt2onnx help inputs'                    'has the end where here is the code pt2onnx help inputs'
plant zh-CN/tutorials.md '- 见src/ops/no_chinese_file.c。'                 'has the end where here is an item, 0 deep'
plant zh-CN/tutorials.md '见src/ops/no_chinese_file.h。'                   'src/ops/no_chinese_file.h: no such file'

python3 "$top/tests/tools/documents.py" "$tree" "$build" --names > "$tree/said" && { echo "what is planted passes"; exit 1; }
failed=0
while IFS= read -r line; do
    grep -qF -e "$line" "$tree/said" || { echo "not noticed: $line"; failed=1; }
done < "$tree/wanted"
exit $failed
