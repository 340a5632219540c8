/* script.h - random programs in TorchScript's grammar. */
#ifndef PT2ONNX_FUZZ_SCRIPT_H
#define PT2ONNX_FUZZ_SCRIPT_H

#include "fuzz/make/archives.h"

enum { SCRIPT_SPECS = 8, SPEC_ROOM = 48 };

typedef struct Script {
    Code code;
    char spec[SCRIPT_SPECS][SPEC_ROOM]; /* -i: what some of the inputs are */
    size_t n_spec;
} Script;

/* Nearly all that such a program holds is of the right type, so that it runs for a while; now and
 * then something is not. */
Script choose_script(Choices *c);

#endif
