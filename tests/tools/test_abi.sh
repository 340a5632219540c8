# The C interface is the one that is stored, and tools/abi notices what would break programs. usage: test_abi.sh TOP LIBRARY; where Debian's
# abigail-tools are installed.
set -eu
cd "$1"
command -v abidiff >/dev/null || { echo "abigail-tools are missing: the interface is not compared"; exit 0; }
tools/abi --library "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# planted WORDS SCRIPT: with the header changed by sed's SCRIPT tools/abi fails, and says WORDS
planted() {
    sed "$2" include/pt2onnx.h > "$work/pt2onnx.h"
    ! cmp -s include/pt2onnx.h "$work/pt2onnx.h" || { echo "this changes nothing: $2"; exit 1; }
    if tools/abi --header "$work/pt2onnx.h" > "$work/said"; then echo "not noticed: $2"; exit 1; fi
    tail -1 "$work/said" | grep -q "$1" || { echo "$2: not $1 but:"; cat "$work/said"; exit 1; }
}
planted 'would break: pt2onnx_options$' 's/^    int dynamic;/    int planted; int dynamic;/'
planted 'would break: pt2onnx_options$' 's/^    int keep_weights;/    long keep_weights;/'
planted 'would break: pt2onnx_node$' 's/^} pt2onnx_node;/    int planted; } pt2onnx_node;/'
planted 'would break: pt2onnx_remove_temporaries$' '/^PT2ONNX_API void pt2onnx_remove_temporaries/d'
planted 'would break: pt2onnx_nearest$' 's/pt2onnx_nearest(/&int planted, /'
planted 'would break: pt2onnx_write$' 's/^typedef int (\*pt2onnx_write)(void \*user,/& int planted,/'
planted 'would break: pt2onnx_state$' 's/^    PT2ONNX_STATE_IO,/    PT2ONNX_STATE_PLANTED, &/'
planted 'tools/abi --accept$' 's/^} pt2onnx_options;/    int planted; &/'
planted 'tools/abi --accept$' 's/^    PT2ONNX_INFO$/&, PT2ONNX_PLANTED/'
planted 'tools/abi --accept$' 's/^PT2ONNX_API const char \*pt2onnx_version(void);/&\nPT2ONNX_API int pt2onnx_planted(void);/'

# a library that lacks a function of its header
echo 'int pt2onnx_convert(void) { return 0; }' > "$work/other.c"
${CC:-cc} -shared -fPIC -o "$work/other.so" "$work/other.c"
if tools/abi --library "$work/other.so" > "$work/said"; then echo "a library without functions is not noticed"; exit 1; fi
grep -q 'its header differ: .*pt2onnx_check' "$work/said" || { cat "$work/said"; exit 1; }

# a function that Debian's list of them lacks
grep -v pt2onnx_check@ packaging/debian/libpt2onnx1.symbols > "$work/symbols"
if tools/abi --symbols "$work/symbols" > "$work/said"; then echo "a function that the list lacks is not noticed"; exit 1; fi
grep -q 'brought the function: pt2onnx_check$' "$work/said" || { cat "$work/said"; exit 1; }
