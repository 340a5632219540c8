#!/bin/sh
# The files of tools/link_order.txt are there, and lie in front of all others in the library: of a program, the part that is read to start it.
# usage: test_link_order.sh SOURCE_DIR LIBRARY
set -u
failed=0
while read -r file; do
    [ -f "$1/$file" ] || { echo "tools/link_order.txt: there is no $file: run tools/gen-link-order"; failed=1; }
done < "$1/tools/link_order.txt"

# at SYMBOL: where it lies
at() { nm "$2" | awk -v name="$1" '$3 == name { print $1 }' ; }

# Of a file of the list, and of one that names sort before it.
listed=$(at val_walk "$2")
other=$(at einsum "$2")
[ -n "$listed" ] && [ -n "$other" ] || { echo "$2: no val_walk or einsum"; exit 1; }
first=$(printf '%s\n%s\n' "$listed" "$other" | sort | head -1)
[ "$first" = "$listed" ] || { echo "$2: einsum lies in front of val_walk"; failed=1; }
exit $failed
