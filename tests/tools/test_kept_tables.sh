#!/bin/sh
# Each table of measured figures is what was stored in docs/data when they were measured (`make bench KEEP=1`, ..); a number that
# is changed by hand is noticed, --table puts it right, and a page without a place for the table is an error.
# usage: test_kept_tables.sh SOURCE_DIR
set -eu
top=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs"

# held TOOL MARK PAGE..
held() {
    tool=$1 mark=$2
    shift 2
    python3 "$top/tools/$tool" --check
    rm -rf "$tree/tools" "$tree/docs/data"
    cp -r "$top/tools" "$tree/tools"
    cp -r "$top/docs/data" "$tree/docs/data"
    chmod -R u+w "$tree"                            # the sources may be read-only
    for page; do
        for other; do cat "$top/$other" > "$tree/$other"; done
        sed "/<!-- $mark -->/,/<!-- .$mark -->/s/[1-9] |/0 |/" "$top/$page" > "$tree/$page"
        ! cmp -s "$top/$page" "$tree/$page" || { echo "$page: nothing was changed"; exit 1; }
        if python3 "$tree/tools/$tool" --check > "$tree/said"; then
            echo "$page: a changed number passes"; exit 1
        fi
        grep -q "^$page: its table is not that of docs/data/$mark.json" "$tree/said"
        python3 "$tree/tools/$tool" --table
        cmp "$top/$page" "$tree/$page"
    done
    grep -v -e "<!-- $mark -->" "$top/$1" > "$tree/$1"
    if python3 "$tree/tools/$tool" --check > /dev/null; then
        echo "$1 without a table passes"; exit 1
    fi
}

held versus.py versus README.md README.zh-CN.md
held runtimes.py runtimes README.md README.zh-CN.md
held bench_page.py bench docs/bench.md
held fuzz fuzz docs/testing.md
