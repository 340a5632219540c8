#!/bin/sh
# Addresses in constant data, which the dynamic linker writes before main: a table of pointers costs every start its pages.
# usage: test_relocations.sh SOURCE_DIR LIBRARY
#
# Rows of operators are code that gives them (src/ops/ops.h). What more addresses are worth is a question to ask before this number grows.
set -u
most=4400
command -v readelf > /dev/null || { echo "no readelf"; exit 0; }
there=$(readelf -rW "$2" | awk '/^Relocation section/ { packed = /relr/ } /RELATIV/ || (packed && /^[0-9a-f]+$/) { n++ } END { print n + 0 }')
[ "$there" -le "$most" ] || { echo "$2: $there addresses are written before main, at most $most"; exit 1; }
