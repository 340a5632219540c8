/* command_line.c - the rows of all options, and what they fill. */
#include "command_line.h"

#include <stdlib.h>
#include <string.h>

/* The words of the choices, in the order of the public enums. */
static const char *const mode_words[] = { "eval", "saved", NULL };
static const char *const weights_words[] = { "auto", "inline", "external", "link", NULL };
static const char *const state_words[] = { "io", "constant", "refuse", "defaults", NULL };
static const char *const loops_words[] = { "auto", "keep", "unroll", NULL };
static const char *const unknown_words[] = { "refuse", "custom", NULL };
static const char *const type_words[] = { "saved", "float16", "bfloat16", "int8", "int4", NULL };
static const char *const keep_words[] = { "yes", "no", NULL };
static const char *const target_words[] = { "ort", "onnx", NULL };

CommandLine command_line_defaults(void)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    return (CommandLine){
        .opset = o.opset, .mode = (int)o.mode, .weights = (int)o.weights, .target = (int)o.target
    };
}

/* The options as rows for options_parse and options_print: each row points at the member of l that
 * it fills. rows has room for N_OPTIONS. */
void command_line_rows(CommandLine *l, Option *rows)
{
    const Option all[N_OPTIONS] = {
        { "Output", 'o', "output", OPT_TEXT, &l->output, "FILE",
          "write the model to FILE, - is standard output; into FOLDER/ where several models are "
          "given (default: MODEL with .onnx for its suffix)",
          NULL, true },
        { NULL, 'j', "jobs", OPT_NUMBER, &l->jobs, "N",
          "convert N of several models beside each other; 0: as many as there are processors", NULL,
          false },
        { NULL, 0, "opset", OPT_NUMBER, &l->opset, "N", "the ONNX opset to write, 9 to 28", NULL,
          true },
        { NULL, 0, "output-names", OPT_COMMAS, &l->output_names, "A,B",
          "names of the outputs, in order", NULL, true },
        { NULL, 0, "target", OPT_CHOICE, &l->target, "NAME",
          "ort: add casts where ONNX Runtime lacks a kernel for a type; onnx: only what ONNX asks "
          "for",
          target_words, false },
        { NULL, 0, "fuse", OPT_FLAG, &l->fuse, NULL,
          "write operators of com.microsoft too, which only ONNX Runtime has", NULL, false },
        { "Input", 'i', "input", OPT_LIST, &l->inputs, "SPEC",
          "type and shape of an input, or the value of an argument; once for each: "
          "x:float32[N,3,224,224] x:int64[N=1..64,?] 1x3x224x224 sr=16000 mode=\"fast\" "
          "batch.image:float32[4]",
          NULL, true },
        { NULL, 0, "dynamic", OPT_FLAG, &l->dynamic, NULL,
          "make the sizes that a trace has recorded dynamic", NULL, true },
        { NULL, 0, "dim", OPT_LIST, &l->dims, "OLD=NEW",
          "another name for a size of a torch.export program: s77=batch", NULL, false },
        { NULL, 0, "model", OPT_TEXT, &l->model_name, "NAME",
          "which program, when a torch.export package holds several", NULL, false },
        { NULL, 0, "mode", OPT_CHOICE, &l->mode, "MODE",
          "eval: as after model.eval(); saved: as the file says", mode_words, true },
        { NULL, 0, "state", OPT_CHOICE, &l->state, "HOW",
          "buffers and attributes that the model writes; io: each is an input NAME and an output "
          "NAME.next; defaults: the input need not be fed, in ONNX Runtime; constant: they stay as "
          "saved; refuse",
          state_words, true },
        { NULL, 0, "loops", OPT_CHOICE, &l->loops, "HOW",
          "loops whose iterations are known; auto: unrolled unless that gets large; keep: a Loop "
          "where "
          "ONNX can say it; unroll: all, any other is an error",
          loops_words, false },
        { NULL, 0, "module", OPT_TEXT, &l->module, "PATH",
          "convert this part of the model: encoder.layers.0", NULL, false },
        { NULL, 0, "method", OPT_TEXT, &l->method, "NAME", "convert this method instead of forward",
          NULL, false },
        { NULL, 0, "rules", OPT_LIST, &l->rules, "FILE", "rules for operators of your own", NULL,
          true },
        { NULL, 0, "unknown", OPT_CHOICE, &l->unknown, "HOW",
          "unknown operators; refuse; custom: each is a node of the domain that is its "
          "namespace",
          unknown_words, false },
        { "Weights", 0, "weights", OPT_CHOICE, &l->weights, "WHERE",
          "inline: in the model; external: in FILE.data; link: in MODEL itself; auto: external "
          "over 2 GB",
          weights_words, true },
        { NULL, 0, "weights-type", OPT_CHOICE, &l->weights_type, "TYPE",
          "their type as written; float16, bfloat16: the model computes in it too; int8, int4: "
          "blocks with a scale each, dequantised as it runs",
          type_words, true },
        { NULL, 0, "keep-io-types", OPT_CHOICE, &l->change_io_types, "yes|no",
          "inputs and outputs stay float32, whatever the weights are", keep_words, false },
        { NULL, 0, "float32", OPT_LIST, &l->float32, "PATTERN",
          "operators (Gelu) or modules (encoder.*) that stay float32 beside float16 and bfloat16",
          NULL, false },
        { NULL, 0, "weights-block", OPT_NUMBER, &l->block, "N",
          "how many elements of int8 and int4 weights share a scale, 16 to 256; 0 is 32", NULL,
          false },
        { NULL, 0, "keep-weights", OPT_FLAG, &l->keep_weights, NULL,
          "fuse and transpose no weight: each stays as in the state_dict", NULL, false },
        { NULL, 0, "check-crc", OPT_FLAG, &l->check_crc, NULL,
          "verify the checksum of every record first", NULL, false },
        { "Messages", 'q', "quiet", OPT_FLAG, &l->quiet, NULL, "errors only", NULL, true },
        { NULL, 'v', "verbose", OPT_FLAG, &l->verbose, NULL, "say more", NULL, true },
        { NULL, 0, "json", OPT_FLAG, &l->json, NULL,
          "print a line of JSON for each model, with its notes or its error, instead of text", NULL,
          false },
        { NULL, 0, "dump-after", OPT_TEXT, &l->dump_after, "PASS",
          "print the graph as text after that pass", NULL, false },
        { "Other", 0, "limit", OPT_LIST, &l->limits, "NAME=VALUE",
          "raise a limit on what a file may ask for; `pt2onnx limits` lists them", NULL, false },
        { NULL, 0, "no-sandbox", OPT_FLAG, &l->no_sandbox, NULL,
          "keep the rights to open files, start processes and connect while the model is read",
          NULL, false },
        { NULL, 'h', "short-help", OPT_FLAG, &l->help, NULL, "the usual options on one screen",
          NULL, false },
        { NULL, 0, "help", OPT_FLAG, &l->help_all, NULL, "all options", NULL, true },
        { NULL, 0, "version", OPT_FLAG, &l->version, NULL, "the version", NULL, false },
    };
    memcpy(rows, all, sizeof all);
}

/* Room for every item that the command line can hold, its words and the commas in them, and for the
 * text of those that are parts of words. */
const char **command_line_lists(CommandLine *l, int argc, char **argv)
{
    size_t most = (size_t)argc + 1;
    size_t text = 0;
    for (int i = 1; i < argc; i++) {
        text += strlen(argv[i]) + 1;
        for (const char *s = argv[i]; *s; s++)
            most += *s == ',';
    }
    TextList *lists[] = { &l->inputs, &l->dims,    &l->output_names, &l->rules,
                          &l->limits, &l->float32, &l->rest };
    const size_t n = sizeof lists / sizeof *lists;
    const char **room = calloc(1, most * n * sizeof *room + text);
    if (!room)
        return NULL;
    l->output_names.text = (char *)(room + most * n);
    for (size_t i = 0; i < n; i++)
        lists[i]->at = room + i * most;
    l->words = argv;
    return room;
}

/* Member by member: what the command line has no option for keeps the library's default. */
pt2onnx_options command_line_request(const CommandLine *l)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.opset = l->opset;
    o.mode = (pt2onnx_mode)l->mode;
    o.state = (pt2onnx_state)l->state;
    o.loops = (pt2onnx_loops)l->loops;
    o.unknown = (pt2onnx_unknown)l->unknown;
    o.module = l->module;
    o.method = l->method;
    o.weights = (pt2onnx_weights)l->weights;
    o.target = (pt2onnx_target)l->target;
    o.weights_type = (pt2onnx_weights_type)l->weights_type;
    o.change_io_types = l->change_io_types;
    o.float32 = l->float32.at;
    o.n_float32 = l->float32.n;
    o.weights_block = l->block;
    o.fuse = l->fuse;
    o.keep_weights = l->keep_weights;
    o.dynamic = l->dynamic;
    o.check_crc = l->check_crc;
    o.inputs = l->inputs.at;
    o.n_inputs = l->inputs.n;
    o.dims = l->dims.at;
    o.n_dims = l->dims.n;
    o.model_name = l->model_name;
    o.output_names = l->output_names.at;
    o.n_output_names = l->output_names.n;
    o.rules = l->rules.at;
    o.n_rules = l->rules.n;
    o.limits = l->limits.at;
    o.n_limits = l->limits.n;
    o.dump_after = l->dump_after;
    o.sandbox = !l->no_sandbox;
    return o;
}
