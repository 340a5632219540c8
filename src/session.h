/* session.h - one call of the library: its context, its options, the file it reads. Shared by
 * pt2onnx.c, settings.c, output_files.c, state_metadata.c, symbolic.c, show.c and describe.c, which
 * are the public functions. */
#ifndef PT2ONNX_SESSION_H
#define PT2ONNX_SESSION_H

#include "archive/archive.h"
#include "value/options.h"
#include "eval/program.h"
#include "onnx/wire/model_file.h"
#include "pt2onnx.h"

typedef struct Session {
    Ctx *cx;             /* NULL when there was no memory at all */
    const char *file;    /* the model, as the user named it; NULL for describe */
    const char *subject; /* the file that messages are about: the model, or a rule file */
    pt2onnx_options o;   /* the caller's, with defaults for what an older caller does not know */
    Options opt;         /* the same, parsed and checked; cx->opt */
    Source *src;
    Zip *zip;
    FileKind kind;
    Sink stream;           /* what the model goes to when it goes to no file: standard output */
    OutFile *model, *data; /* output_files.c: the files it goes to, open; NULL: none */
    Program *program;      /* once it is loaded, until its graph is finished */
    pt2onnx_written written;
} Session;

typedef VEC(Str) Strs;

/* missing_inputs.c: what -i would have to say for s->program to convert, when its evaluation has
 * failed for want of that (its error and notes are forgotten). False: nothing that was tried helps.
 */
MUST_USE bool missing_inputs(Session *s, Strs *specs);

/* settings.c: read the caller's options into s->o and s->opt; false after E_USAGE. */
MUST_USE bool settings_read(Session *s, const pt2onnx_options *o);

/* output_files.c: where the model goes. Opened before the work, so that what cannot be written is
 * refused at once; written behind it. */
MUST_USE bool outputs_check_link(Session *s, const char *out); /* NULL: no file */
MUST_USE bool outputs_check_stream(Session *s);
MUST_USE bool outputs_open(Session *s, const char *out); /* "-" is standard output */
MUST_USE bool outputs_write(Session *s, Graph *g, const ModelInfo *info);

/* state_metadata.c: the pairs of state, and what the first run is fed. The graph's inputs lose
 * their defaults, unless --state=defaults keeps them. */
MUST_USE bool state_metadata(Session *s, const Program *p, Graph *g, ModelInfo *info);

/* symbolic.c: the operators that the caller lowers itself */
void symbolics_register(Session *s);

/* show.c: as text, or as JSON when the caller asks for that (show.h) */
MUST_USE bool show_program(Session *s, Program *p, Buf *out);
MUST_USE bool show_onnx(Session *s, Buf *out);

/* view_page.c */
/* The page of a model, into s->model or the stream; g NULL: s->src is an ONNX file. */
MUST_USE bool view_write(Session *s, Graph *g, ModelInfo *info);
/* Each line of the user's program that nodes came from, once: "net.py:41" and its text. Lines whose
 * text the file does not hold are left out. */
void graph_lines(Ctx *cx, const Graph *g,
                 void (*tell)(void *user, const char *place, const char *text), void *user);

/* describe.c */
MUST_USE bool describe(Ctx *cx, const char *what, Buf *out);
/* describe_forms.c: names that are no operators on tensors; of one, false when it is none */
void describe_forms(Buf *out);
bool describe_form(const char *name, Buf *out);

#endif
