# tools/mutants.known: each entry fits a change of the sources; an entry outlives another formatting, and one of other code is named.
set -eu
top=$1
python3 "$top/tools/mutate" --list

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/tests/ops" "$work/src/ops/reduce"
cp "$top/tools/mutate" "$top/tools/mutations.py" "$top/tools/judges.py" "$work/tools"
: > "$work/tests/ops/reduce.txt"
cat > "$work/tools/mutants.known" <<'EOF'
src/ops/reduce/reduce.c
- Ox low = ox(op, "Clip", x, number_like(op, 3, x), most);
+ Ox low = ox(op, "Clip", x, number_like(op, 4, x), most);
= why

src/ops/reduce/reduce.c
- n = 0;
+ n = 1;
= why
EOF
source=$work/src/ops/reduce/reduce.c
list() { "$work/tools/mutate" --list || true; }

cat > "$source" <<'EOF'
    Ox low = ox(op, "Clip", x,
                number_like(op, 3, x),      /* least */
                most);
    n = 0;
EOF
list | grep -q "2 entries of tools/mutants.known, 0 fit no change"

# Another number, and a declaration where the entry is an assignment.
sed -i -e 's/op, 3, x/op, 5, x/' -e 's/  n = 0/  int n = 0/' "$source"
list > "$work/said"
grep -q "no such change: Ox low" "$work/said"
grep -q "no such change: n = 1;" "$work/said"
grep -q "2 fit no change" "$work/said"
