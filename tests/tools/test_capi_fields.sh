#!/bin/sh
# python/pt2onnx/_capi.py mirrors the structs of include/pt2onnx.h: a field added to one alone shifts all that follow.
# usage: test_capi_fields.sh SOURCE_DIR
exec python3 "$1/tests/tools/capi_fields.py" "$1"
