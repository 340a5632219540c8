#!/bin/sh
# Addresses in constant data, which the dynamic linker writes before main: a table of pointers costs every start its pages.
# usage: test_relocations.sh SOURCE_DIR LIBRARY
#
# Rows of operators are code that gives them (src/ops/ops.h). What more addresses are worth is a question to ask before this number grows.
set -u
most=4400
command -v readelf > /dev/null || { echo "no readelf"; exit 0; }
there=$(readelf -rW "$2" | grep -c RELATIV)
[ "$there" -le "$most" ] || { echo "$2: $there addresses are written before main, at most $most"; exit 1; }
