#!/bin/sh
# python/pt2onnx/_capi.py and examples/rust mirror the structs of include/pt2onnx.h: a field added to one alone shifts all that follow.
# usage: test_capi_fields.sh SOURCE_DIR
set -eu
python3 "$1/tests/tools/capi_fields.py" "$1"

# An example in Rust that lacks a member in the middle is noticed.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/examples/rust/src"
ln -s "$1/include" "$1/python" "$tree/"
sed '/pub n_rules: usize,/d' "$1/examples/rust/src/pt2onnx.rs" >"$tree/examples/rust/src/pt2onnx.rs"
if python3 "$1/tests/tools/capi_fields.py" "$tree" 2>/dev/null; then echo "a missing member is not noticed"; exit 1; fi
