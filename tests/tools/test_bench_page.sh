#!/bin/sh
# The table of docs/bench.md is what `make bench KEEP=1` has stored in docs/data/bench.json; a number that is changed by hand is noticed, and
# --table puts it right.
# usage: test_bench_page.sh SOURCE_DIR
set -eu
top=$1
python3 "$top/tools/bench_page.py" --check

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs/data"
mkdir "$tree/tools"
cp "$top"/tools/bench_page.py "$top"/tools/versus.py "$top"/tools/scaling.py "$top"/tools/write_chain.py "$tree/tools"
cp "$top/docs/data/bench.json" "$tree/docs/data"
sed '/<!-- bench -->/,/<!-- .bench -->/s/[1-9] |/0 |/' "$top/docs/bench.md" > "$tree/docs/bench.md"
! cmp -s "$top/docs/bench.md" "$tree/docs/bench.md" || { echo "nothing was changed"; exit 1; }
if python3 "$tree/tools/bench_page.py" --check > "$tree/said"; then
    echo "a changed number passes"; exit 1
fi
grep -q '^docs/bench.md: its table is not that of docs/data/bench.json' "$tree/said"
python3 "$tree/tools/bench_page.py" --table
cmp "$top/docs/bench.md" "$tree/docs/bench.md"
grep -v -e '<!-- bench -->' "$top/docs/bench.md" > "$tree/docs/bench.md"
if python3 "$tree/tools/bench_page.py" --check > /dev/null; then
    echo "a page without a table passes"; exit 1
fi
