#!/bin/sh
# The program holds the libraries that it needs, where they are there as archives, and lies at another address each time all the same.
# usage: test_static_program.sh SOURCE_DIR LIBRARY
set -u
built=$(dirname "$2")
command -v readelf > /dev/null || { echo "no readelf"; exit 0; }
grep -q '^PT2ONNX_STATIC_PROGRAM:BOOL=ON' "$built/CMakeCache.txt" || { echo "this build has a dynamic program"; exit 0; }
! readelf -dW "$built/pt2onnx" | grep NEEDED || { echo "it asks for libraries"; exit 1; }
readelf -hW "$built/pt2onnx" | grep -q 'Type: *DYN' || { echo "its address is fixed"; exit 1; }
