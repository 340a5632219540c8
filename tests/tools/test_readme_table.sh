#!/bin/sh
# README's table, and the Chinese one, are what `make bench KEEP=1` has stored in docs/data/versus.json; a number that is changed by hand is
# noticed, and --table puts it right.
# usage: test_readme_table.sh SOURCE_DIR
set -eu
top=$1
python3 "$top/tools/versus.py" --check
python3 "$top/tools/runtimes.py" --check        # what this notices is in tests/python/test_runtimes.py

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs/data" "$tree/tools"
cp "$top/tools/versus.py" "$tree/tools"
cp "$top/docs/data/versus.json" "$tree/docs/data"
for page in README.md README.zh-CN.md; do
    for other in README.md README.zh-CN.md; do cat "$top/$other" > "$tree/$other"; done
    sed '/<!-- versus -->/,/<!-- .versus -->/s/[1-9] |/0 |/' "$top/$page" > "$tree/$page"
    ! cmp -s "$top/$page" "$tree/$page" || { echo "$page: nothing was changed"; exit 1; }
    if python3 "$tree/tools/versus.py" --check > "$tree/said"; then
        echo "$page: a changed number passes"; exit 1
    fi
    grep -q "^$page: its table is not that of docs/data/versus.json" "$tree/said"
    python3 "$tree/tools/versus.py" --table
    cmp "$top/$page" "$tree/$page"
done
grep -v -e '<!-- versus -->' "$top/README.md" > "$tree/README.md"
if python3 "$tree/tools/versus.py" --check > /dev/null; then
    echo "a README without a table passes"; exit 1
fi
