/* optable_data.c - written by tools/gen-optable.py from onnx 1.23.2; do not edit.
 * 203 operators in 629 versions. */
#include "onnx/internal.h"

static const FormalArg args0[] = { { "X", "T", 0, true } };
static const FormalArg args1[] = { { "Y", "T", 0, true } };
static const FormalArg args2[] = { { "input", "T", 0, true } };
static const FormalArg args3[] = { { "output", "T", 0, true } };
static const FormalArg args4[] = { { "A", "T", 0, true }, { "B", "T", 0, true } };
static const FormalArg args5[] = { { "C", "T", 0, true } };
static const FormalArg args6[] = { { "theta", "T1", 0, true }, { "size", "T2", 0, true } };
static const FormalArg args7[] = { { "grid", "T1", 0, true } };
static const FormalArg args8[] = { { "C", "T1", 0, true } };
static const FormalArg args9[] = { { "data", "T", 0, true } };
static const FormalArg args10[] = { { "reduced", "tensor(int64)", 0, true } };
static const FormalArg args11[] = { { "Q", "T1", 0, true }, { "K", "T1", 0, true }, { "V", "T2", 0, true }, { "attn_mask", "U", 1, true }, { "past_key", "T1", 1, true }, { "past_value", "T2", 1, true } };
static const FormalArg args12[] = { { "Y", "T1", 0, true }, { "present_key", "T1", 1, true }, { "present_value", "T2", 1, true }, { "qk_matmul_output", "T1", 1, true } };
static const FormalArg args13[] = { { "Q", "T1", 0, true }, { "K", "T1", 0, true }, { "V", "T2", 0, true }, { "attn_mask", "U", 1, true }, { "past_key", "T1", 1, true }, { "past_value", "T2", 1, true }, { "nonpad_kv_seqlen", "tensor(int64)", 1, true } };
static const FormalArg args14[] = { { "X", "T", 0, true }, { "scale", "T", 0, true }, { "B", "T", 0, true }, { "mean", "T", 0, true }, { "var", "T", 0, true } };
static const FormalArg args15[] = { { "Y", "T", 0, true }, { "mean", "T", 1, true }, { "var", "T", 1, true }, { "saved_mean", "T", 1, true }, { "saved_var", "T", 1, true } };
static const FormalArg args16[] = { { "X", "T", 0, true }, { "scale", "T", 0, true }, { "B", "T", 0, true }, { "input_mean", "U", 0, true }, { "input_var", "U", 0, true } };
static const FormalArg args17[] = { { "Y", "T", 0, true }, { "running_mean", "U", 1, true }, { "running_var", "U", 1, true } };
static const FormalArg args18[] = { { "X", "T", 0, true }, { "scale", "T1", 0, true }, { "B", "T1", 0, true }, { "input_mean", "T2", 0, true }, { "input_var", "T2", 0, true } };
static const FormalArg args19[] = { { "Y", "T", 0, true }, { "running_mean", "T2", 1, true }, { "running_var", "T2", 1, true } };
static const FormalArg args20[] = { { "input", "T1", 0, true } };
static const FormalArg args21[] = { { "output", "T2", 0, true } };
static const FormalArg args22[] = { { "X", "T", 0, true }, { "Y", "T", 0, true } };
static const FormalArg args23[] = { { "Z", "T", 0, true } };
static const FormalArg args24[] = { { "size", "T1", 0, true } };
static const FormalArg args25[] = { { "input", "T1", 0, true }, { "target_type", "T2", 0, true } };
static const FormalArg args26[] = { { "input", "T", 0, true }, { "weight", "T", 0, true }, { "bias", "T", 1, true }, { "past_state", "T", 1, true } };
static const FormalArg args27[] = { { "output", "T", 0, true }, { "present_state", "T", 0, true } };
static const FormalArg args28[] = { { "input_data", "T", 0, true }, { "shape", "Tind", 0, true } };
static const FormalArg args29[] = { { "output_data", "T", 0, true } };
static const FormalArg args30[] = { { "input", "T", 0, true }, { "min", "T", 1, true }, { "max", "T", 1, true } };
static const FormalArg args31[] = { { "input", "T", 0, true }, { "image_shape", "tensor(int64)", 0, true }, { "block_shape", "tensor(int64)", 0, true } };
static const FormalArg args32[] = { { "input", "T", 0, true }, { "condition", "T1", 0, true } };
static const FormalArg args33[] = { { "inputs", "T", 2, true } };
static const FormalArg args34[] = { { "concat_result", "T", 0, true } };
static const FormalArg args35[] = { { "input_sequence", "S", 0, true } };
static const FormalArg args36[] = { { "X", "T", 0, true }, { "W", "T", 0, true }, { "B", "T", 1, true } };
static const FormalArg args37[] = { { "x", "T1", 0, true }, { "w", "T2", 0, true }, { "x_zero_point", "T1", 1, true }, { "w_zero_point", "T2", 1, true } };
static const FormalArg args38[] = { { "y", "T3", 0, true } };
static const FormalArg args39[] = { { "x", "T", 0, true }, { "axis", "T2", 0, true } };
static const FormalArg args40[] = { { "y", "T", 0, true } };
static const FormalArg args41[] = { { "input", "T1", 0, true }, { "dft_length", "T2", 1, true } };
static const FormalArg args42[] = { { "output", "T1", 0, true } };
static const FormalArg args43[] = { { "input", "T1", 0, true }, { "dft_length", "T2", 1, true }, { "axis", "tensor(int64)", 1, true } };
static const FormalArg args44[] = { { "X", "T", 0, true }, { "W", "T", 0, true }, { "offset", "T", 0, true }, { "B", "T", 1, true }, { "mask", "T", 1, true } };
static const FormalArg args45[] = { { "x", "T", 0, true }, { "x_scale", "tensor(float)", 0, true }, { "x_zero_point", "T", 1, true } };
static const FormalArg args46[] = { { "y", "tensor(float)", 0, true } };
static const FormalArg args47[] = { { "x", "T1", 0, true }, { "x_scale", "T2", 0, true }, { "x_zero_point", "T1", 1, true } };
static const FormalArg args48[] = { { "y", "T2", 0, true } };
static const FormalArg args49[] = { { "output", "T", 0, true }, { "mask", "T", 1, true } };
static const FormalArg args50[] = { { "output", "T", 0, true }, { "mask", "T1", 1, true } };
static const FormalArg args51[] = { { "data", "T", 0, true }, { "ratio", "T1", 1, true }, { "training_mode", "T2", 1, true } };
static const FormalArg args52[] = { { "output", "T", 0, true }, { "mask", "T2", 1, true } };
static const FormalArg args53[] = { { "x", "T1", 0, true } };
static const FormalArg args54[] = { { "y", "T2", 0, true }, { "y_scale", "tensor(float)", 0, true }, { "y_zero_point", "T2", 0, true } };
static const FormalArg args55[] = { { "Inputs", "T", 2, true } };
static const FormalArg args56[] = { { "Output", "T", 0, true } };
static const FormalArg args57[] = { { "input", "T", 0, true }, { "shape", "tensor(int64)", 0, true } };
static const FormalArg args58[] = { { "X", "T", 0, true }, { "W", "T", 0, true }, { "R", "T", 0, true }, { "B", "T", 1, true }, { "sequence_lens", "T1", 1, true }, { "initial_h", "T", 1, true } };
static const FormalArg args59[] = { { "Y", "T", 1, true }, { "Y_h", "T", 0, true } };
static const FormalArg args60[] = { { "Y", "T", 1, true }, { "Y_h", "T", 1, true } };
static const FormalArg args61[] = { { "data", "T", 0, true }, { "indices", "Tind", 0, true } };
static const FormalArg args62[] = { { "data", "T", 0, true }, { "indices", "tensor(int64)", 0, true } };
static const FormalArg args63[] = { { "A", "T", 0, true }, { "B", "T", 0, true }, { "C", "T", 0, true } };
static const FormalArg args64[] = { { "A", "T", 0, true }, { "B", "T", 0, true }, { "C", "T", 1, true } };
static const FormalArg args65[] = { { "X", "T1", 0, true }, { "grid", "T2", 0, true } };
static const FormalArg args66[] = { { "Y", "T1", 0, true } };
static const FormalArg args67[] = { { "X", "T", 0, true }, { "scale", "T", 0, true }, { "bias", "T", 0, true } };
static const FormalArg args68[] = { { "input", "V", 0, true } };
static const FormalArg args69[] = { { "output", "V", 0, true } };
static const FormalArg args70[] = { { "cond", "B", 0, true } };
static const FormalArg args71[] = { { "outputs", "V", 2, false } };
static const FormalArg args72[] = { { "encoded_stream", "T1", 0, true } };
static const FormalArg args73[] = { { "image", "T2", 0, true } };
static const FormalArg args74[] = { { "input", "T", 0, true }, { "scale", "T", 0, true }, { "B", "T", 0, true } };
static const FormalArg args75[] = { { "X", "T1", 0, true } };
static const FormalArg args76[] = { { "Y", "T2", 0, true } };
static const FormalArg args77[] = { { "X", "T", 0, true }, { "W", "T", 0, true }, { "R", "T", 0, true }, { "B", "T", 1, true }, { "sequence_lens", "T1", 1, true }, { "initial_h", "T", 1, true }, { "initial_c", "T", 1, true }, { "P", "T", 1, true } };
static const FormalArg args78[] = { { "Y", "T", 1, true }, { "Y_h", "T", 1, true }, { "Y_c", "T", 1, true } };
static const FormalArg args79[] = { { "X", "T", 0, true }, { "Scale", "T", 0, true }, { "B", "T", 1, true } };
static const FormalArg args80[] = { { "Y", "T", 0, true }, { "Mean", "U", 1, true }, { "InvStdDev", "U", 1, true } };
static const FormalArg args81[] = { { "query", "T", 0, true }, { "key", "T", 0, true }, { "value", "T", 0, true }, { "past_state", "S", 1, true }, { "decay", "T", 1, true }, { "beta", "T", 1, true } };
static const FormalArg args82[] = { { "output", "T", 0, true }, { "present_state", "S", 0, true } };
static const FormalArg args83[] = { { "M", "I", 1, true }, { "cond", "B", 1, true }, { "v_initial", "V", 2, false } };
static const FormalArg args84[] = { { "v_final_and_scan_outputs", "V", 2, false } };
static const FormalArg args85[] = { { "A", "T1", 0, true }, { "B", "T2", 0, true }, { "a_zero_point", "T1", 1, true }, { "b_zero_point", "T2", 1, true } };
static const FormalArg args86[] = { { "Y", "T3", 0, true } };
static const FormalArg args87[] = { { "data_0", "T", 2, true } };
static const FormalArg args88[] = { { "max", "T", 0, true } };
static const FormalArg args89[] = { { "Y", "T", 0, true }, { "Indices", "I", 1, true } };
static const FormalArg args90[] = { { "X", "T", 0, true }, { "rois", "T", 0, true } };
static const FormalArg args91[] = { { "X", "T1", 0, true }, { "I", "T2", 0, true }, { "output_shape", "T2", 1, true } };
static const FormalArg args92[] = { { "mean", "T", 0, true } };
static const FormalArg args93[] = { { "num_mel_bins", "T1", 0, true }, { "dft_length", "T1", 0, true }, { "sample_rate", "T1", 0, true }, { "lower_edge_hertz", "T2", 0, true }, { "upper_edge_hertz", "T2", 0, true } };
static const FormalArg args94[] = { { "output", "T3", 0, true } };
static const FormalArg args95[] = { { "min", "T", 0, true } };
static const FormalArg args96[] = { { "input", "T", 0, true }, { "target", "Tind", 0, true }, { "weight", "T", 1, true } };
static const FormalArg args97[] = { { "loss", "T", 0, true } };
static const FormalArg args98[] = { { "boxes", "tensor(float)", 0, true }, { "scores", "tensor(float)", 0, true }, { "max_output_boxes_per_class", "tensor(int64)", 1, true }, { "iou_threshold", "tensor(float)", 1, true }, { "score_threshold", "tensor(float)", 1, true } };
static const FormalArg args99[] = { { "selected_indices", "tensor(int64)", 0, true } };
static const FormalArg args100[] = { { "Y", "tensor(int64)", 0, true } };
static const FormalArg args101[] = { { "indices", "T1", 0, true }, { "depth", "T2", 0, true }, { "values", "T3", 0, true } };
static const FormalArg args102[] = { { "input", "V", 1, true } };
static const FormalArg args103[] = { { "output", "O", 0, true } };
static const FormalArg args104[] = { { "input", "O", 0, true } };
static const FormalArg args105[] = { { "output", "B", 0, true } };
static const FormalArg args106[] = { { "input", "O", 1, true } };
static const FormalArg args107[] = { { "X", "T", 0, true }, { "slope", "T", 0, true } };
static const FormalArg args108[] = { { "data", "T", 0, true }, { "pads", "tensor(int64)", 0, true }, { "constant_value", "T", 1, true } };
static const FormalArg args109[] = { { "data", "T", 0, true }, { "pads", "tensor(int64)", 0, true }, { "constant_value", "T", 1, true }, { "axes", "Tind", 1, true } };
static const FormalArg args110[] = { { "X", "T", 0, true }, { "Y", "T1", 0, true } };
static const FormalArg args111[] = { { "x", "T1", 0, true }, { "x_scale", "tensor(float)", 0, true }, { "x_zero_point", "T1", 0, true }, { "w", "T2", 0, true }, { "w_scale", "tensor(float)", 0, true }, { "w_zero_point", "T2", 0, true }, { "y_scale", "tensor(float)", 0, true }, { "y_zero_point", "T3", 0, true }, { "B", "T4", 1, true } };
static const FormalArg args112[] = { { "a", "T1", 0, true }, { "a_scale", "tensor(float)", 0, true }, { "a_zero_point", "T1", 0, true }, { "b", "T2", 0, true }, { "b_scale", "tensor(float)", 0, true }, { "b_zero_point", "T2", 0, true }, { "y_scale", "tensor(float)", 0, true }, { "y_zero_point", "T3", 0, true } };
static const FormalArg args113[] = { { "a", "T1", 0, true }, { "a_scale", "TS", 0, true }, { "a_zero_point", "T1", 0, true }, { "b", "T2", 0, true }, { "b_scale", "TS", 0, true }, { "b_zero_point", "T2", 0, true }, { "y_scale", "TS", 0, true }, { "y_zero_point", "T3", 0, true } };
static const FormalArg args114[] = { { "x", "T1", 0, true }, { "y_scale", "tensor(float)", 0, true }, { "y_zero_point", "T2", 1, true } };
static const FormalArg args115[] = { { "x", "T1", 0, true }, { "y_scale", "T1", 0, true }, { "y_zero_point", "T2", 1, true } };
static const FormalArg args116[] = { { "x", "T1", 0, true }, { "y_scale", "T2", 0, true }, { "y_zero_point", "T3", 1, true } };
static const FormalArg args117[] = { { "X", "T", 0, true }, { "scale", "V", 0, true } };
static const FormalArg args118[] = { { "Y", "V", 0, true } };
static const FormalArg args119[] = { { "start", "T", 0, true }, { "limit", "T", 0, true }, { "delta", "T", 0, true } };
static const FormalArg args120[] = { { "reduced", "T", 0, true } };
static const FormalArg args121[] = { { "data", "T", 0, true }, { "axes", "tensor(int64)", 1, true } };
static const FormalArg args122[] = { { "reshaped", "T", 0, true } };
static const FormalArg args123[] = { { "data", "T", 0, true }, { "shape", "tensor(int64)", 0, true } };
static const FormalArg args124[] = { { "X", "T", 0, true }, { "scales", "tensor(float)", 0, true } };
static const FormalArg args125[] = { { "X", "T1", 0, true }, { "roi", "T2", 0, true }, { "scales", "tensor(float)", 0, true }, { "sizes", "tensor(int64)", 1, true } };
static const FormalArg args126[] = { { "X", "T1", 0, true }, { "roi", "T2", 1, true }, { "scales", "tensor(float)", 1, true }, { "sizes", "tensor(int64)", 1, true } };
static const FormalArg args127[] = { { "input", "T", 0, true }, { "sequence_lens", "tensor(int64)", 0, true } };
static const FormalArg args128[] = { { "X", "T1", 0, true }, { "rois", "T1", 0, true }, { "batch_indices", "T2", 0, true } };
static const FormalArg args129[] = { { "X", "T", 0, true }, { "cos_cache", "T", 0, true }, { "sin_cache", "T", 0, true }, { "position_ids", "M", 1, true } };
static const FormalArg args130[] = { { "signal", "T1", 0, true }, { "frame_step", "T2", 0, true }, { "window", "T1", 1, true }, { "frame_length", "T2", 1, true } };
static const FormalArg args131[] = { { "sequence_lens", "I", 1, true }, { "initial_state_and_scan_inputs", "V", 2, false } };
static const FormalArg args132[] = { { "final_state_and_scan_outputs", "V", 2, false } };
static const FormalArg args133[] = { { "initial_state_and_scan_inputs", "V", 2, false } };
static const FormalArg args134[] = { { "data", "T", 0, true }, { "indices", "Tind", 0, true }, { "updates", "T", 0, true } };
static const FormalArg args135[] = { { "data", "T", 0, true }, { "indices", "tensor(int64)", 0, true }, { "updates", "T", 0, true } };
static const FormalArg args136[] = { { "input_sequence", "S", 0, true }, { "position", "I", 0, true } };
static const FormalArg args137[] = { { "tensor", "T", 0, true } };
static const FormalArg args138[] = { { "output_sequence", "S", 0, true } };
static const FormalArg args139[] = { { "output", "S", 0, true } };
static const FormalArg args140[] = { { "input_sequence", "S", 0, true }, { "position", "I", 1, true } };
static const FormalArg args141[] = { { "input_sequence", "S", 0, true }, { "tensor", "T", 0, true }, { "position", "I", 1, true } };
static const FormalArg args142[] = { { "length", "I", 0, true } };
static const FormalArg args143[] = { { "input_sequence", "S", 0, true }, { "additional_inputs", "V", 2, false } };
static const FormalArg args144[] = { { "out_sequence", "S", 2, false } };
static const FormalArg args145[] = { { "shape", "T1", 0, true } };
static const FormalArg args146[] = { { "data", "T", 0, true }, { "starts", "Tind", 0, true }, { "ends", "Tind", 0, true }, { "axes", "Tind", 1, true }, { "steps", "Tind", 1, true } };
static const FormalArg args147[] = { { "scores", "T", 0, true }, { "labels", "Tind", 0, true }, { "weights", "T", 1, true } };
static const FormalArg args148[] = { { "output", "T", 0, true }, { "log_prob", "T", 1, true } };
static const FormalArg args149[] = { { "input", "T", 0, true }, { "split", "T", 1, true } };
static const FormalArg args150[] = { { "outputs...", "T", 2, true } };
static const FormalArg args151[] = { { "outputs", "T", 2, true } };
static const FormalArg args152[] = { { "input", "T", 0, true }, { "split", "tensor(int64)", 1, true } };
static const FormalArg args153[] = { { "input", "T", 0, true }, { "split", "I", 1, true } };
static const FormalArg args154[] = { { "squeezed", "T", 0, true } };
static const FormalArg args155[] = { { "X", "tensor(string)", 0, true } };
static const FormalArg args156[] = { { "Y", "tensor(string)", 0, true } };
static const FormalArg args157[] = { { "Y", "T2", 0, true }, { "Z", "T3", 0, true } };
static const FormalArg args158[] = { { "sum", "T", 0, true } };
static const FormalArg args159[] = { { "past_cache", "T", 0, true }, { "update", "T", 0, true }, { "write_indices", "tensor(int64)", 1, true } };
static const FormalArg args160[] = { { "present_cache", "T", 0, true } };
static const FormalArg args161[] = { { "input", "T", 0, true }, { "tiles", "T", 0, true }, { "axis", "T", 0, true } };
static const FormalArg args162[] = { { "input", "T", 0, true }, { "repeats", "T1", 0, true } };
static const FormalArg args163[] = { { "Values", "T", 0, true }, { "Indices", "I", 0, true } };
static const FormalArg args164[] = { { "X", "T", 0, true }, { "K", "tensor(int64)", 0, true } };
static const FormalArg args165[] = { { "transposed", "T", 0, true } };
static const FormalArg args166[] = { { "input", "T", 0, true }, { "k", "tensor(int64)", 1, true } };
static const FormalArg args167[] = { { "Y", "T", 0, true }, { "indices", "tensor(int64)", 1, true }, { "inverse_indices", "tensor(int64)", 1, true }, { "counts", "tensor(int64)", 1, true } };
static const FormalArg args168[] = { { "expanded", "T", 0, true } };
static const FormalArg args169[] = { { "data", "T", 0, true }, { "axes", "tensor(int64)", 0, true } };
static const FormalArg args170[] = { { "condition", "B", 0, true }, { "X", "T", 0, true }, { "Y", "T", 0, true } };

static const FormalAttr attrs0[] = { { "consumed_inputs", ATTR_INTS, false, NULL } };
static const FormalAttr attrs1[] = { { "axis", ATTR_INT, false, NULL }, { "broadcast", ATTR_INT, false, "0" }, { "consumed_inputs", ATTR_INTS, false, NULL } };
static const FormalAttr attrs2[] = { { "axis", ATTR_INT, false, NULL }, { "broadcast", ATTR_INT, false, "0" } };
static const FormalAttr attrs3[] = { { "align_corners", ATTR_INT, false, "0" } };
static const FormalAttr attrs4[] = { { "axis", ATTR_INT, false, "0" }, { "keepdims", ATTR_INT, false, "1" } };
static const FormalAttr attrs5[] = { { "axis", ATTR_INT, false, "0" }, { "keepdims", ATTR_INT, false, "1" }, { "select_last_index", ATTR_INT, false, "0" } };
static const FormalAttr attrs6[] = { { "is_causal", ATTR_INT, false, "0" }, { "kv_num_heads", ATTR_INT, false, NULL }, { "q_num_heads", ATTR_INT, false, NULL }, { "qk_matmul_output_mode", ATTR_INT, false, "0" }, { "scale", ATTR_FLOAT, false, NULL }, { "softcap", ATTR_FLOAT, false, "0.0" }, { "softmax_precision", ATTR_INT, false, NULL } };
static const FormalAttr attrs7[] = { { "is_causal", ATTR_INT, false, "0" }, { "kv_num_heads", ATTR_INT, false, NULL }, { "left_window_size", ATTR_INT, false, "-1" }, { "q_num_heads", ATTR_INT, false, NULL }, { "qk_matmul_output_mode", ATTR_INT, false, "0" }, { "right_window_size", ATTR_INT, false, "-1" }, { "scale", ATTR_FLOAT, false, NULL }, { "softcap", ATTR_FLOAT, false, "0.0" }, { "softmax_precision", ATTR_INT, false, NULL } };
static const FormalAttr attrs8[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs9[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "count_include_pad", ATTR_INT, false, "0" }, { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs10[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "ceil_mode", ATTR_INT, false, "0" }, { "count_include_pad", ATTR_INT, false, "0" }, { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs11[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "ceil_mode", ATTR_INT, false, "0" }, { "count_include_pad", ATTR_INT, false, "0" }, { "dilations", ATTR_INTS, false, NULL }, { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs12[] = { { "consumed_inputs", ATTR_INTS, true, NULL }, { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "is_test", ATTR_INT, false, "0" }, { "momentum", ATTR_FLOAT, false, "0.899999976" }, { "spatial", ATTR_INT, false, "1" } };
static const FormalAttr attrs13[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "is_test", ATTR_INT, false, "0" }, { "momentum", ATTR_FLOAT, false, "0.899999976" }, { "spatial", ATTR_INT, false, "1" } };
static const FormalAttr attrs14[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "momentum", ATTR_FLOAT, false, "0.899999976" }, { "spatial", ATTR_INT, false, "1" } };
static const FormalAttr attrs15[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "momentum", ATTR_FLOAT, false, "0.899999976" } };
static const FormalAttr attrs16[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "momentum", ATTR_FLOAT, false, "0.899999976" }, { "training_mode", ATTR_INT, false, "0" } };
static const FormalAttr attrs17[] = { { "dtype", ATTR_INT, false, NULL }, { "seed", ATTR_FLOAT, false, NULL } };
static const FormalAttr attrs18[] = { { "to", ATTR_INT, true, NULL } };
static const FormalAttr attrs19[] = { { "direction", ATTR_STRING, true, NULL } };
static const FormalAttr attrs20[] = { { "output_datatype", ATTR_INT, false, "1" }, { "periodic", ATTR_INT, false, "1" } };
static const FormalAttr attrs21[] = { { "to", ATTR_STRING, true, NULL } };
static const FormalAttr attrs22[] = { { "saturate", ATTR_INT, false, "1" }, { "to", ATTR_INT, true, NULL } };
static const FormalAttr attrs23[] = { { "round_mode", ATTR_STRING, false, "up" }, { "saturate", ATTR_INT, false, "1" }, { "to", ATTR_INT, true, NULL } };
static const FormalAttr attrs24[] = { { "saturate", ATTR_INT, false, "1" } };
static const FormalAttr attrs25[] = { { "round_mode", ATTR_STRING, false, "up" }, { "saturate", ATTR_INT, false, "1" } };
static const FormalAttr attrs26[] = { { "activation", ATTR_STRING, false, "none" } };
static const FormalAttr attrs27[] = { { "alpha", ATTR_FLOAT, false, "1.0" } };
static const FormalAttr attrs28[] = { { "axes", ATTR_INTS, false, NULL } };
static const FormalAttr attrs29[] = { { "consumed_inputs", ATTR_INTS, false, NULL }, { "max", ATTR_FLOAT, false, NULL }, { "min", ATTR_FLOAT, false, NULL } };
static const FormalAttr attrs30[] = { { "max", ATTR_FLOAT, false, "3.40282347e+38" }, { "min", ATTR_FLOAT, false, "-3.40282347e+38" } };
static const FormalAttr attrs31[] = { { "dilations", ATTR_INTS, false, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs32[] = { { "axis", ATTR_INT, false, NULL } };
static const FormalAttr attrs33[] = { { "axis", ATTR_INT, true, NULL } };
static const FormalAttr attrs34[] = { { "axis", ATTR_INT, true, NULL }, { "new_axis", ATTR_INT, false, "0" } };
static const FormalAttr attrs35[] = { { "value", ATTR_TENSOR, true, NULL } };
static const FormalAttr attrs36[] = { { "sparse_value", ATTR_NONE, false, NULL }, { "value", ATTR_TENSOR, false, NULL } };
static const FormalAttr attrs37[] = { { "sparse_value", ATTR_NONE, false, NULL }, { "value", ATTR_TENSOR, false, NULL }, { "value_float", ATTR_FLOAT, false, NULL }, { "value_floats", ATTR_FLOATS, false, NULL }, { "value_int", ATTR_INT, false, NULL }, { "value_ints", ATTR_INTS, false, NULL }, { "value_string", ATTR_STRING, false, NULL }, { "value_strings", ATTR_STRINGS, false, NULL } };
static const FormalAttr attrs38[] = { { "value", ATTR_TENSOR, false, NULL } };
static const FormalAttr attrs39[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "dilations", ATTR_INTS, false, NULL }, { "group", ATTR_INT, false, "1" }, { "kernel_shape", ATTR_INTS, false, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs40[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "dilations", ATTR_INTS, false, NULL }, { "group", ATTR_INT, false, "1" }, { "kernel_shape", ATTR_INTS, false, NULL }, { "output_padding", ATTR_INTS, false, NULL }, { "output_shape", ATTR_INTS, false, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs41[] = { { "exclusive", ATTR_INT, false, "0" }, { "reverse", ATTR_INT, false, "0" } };
static const FormalAttr attrs42[] = { { "axis", ATTR_INT, false, "1" }, { "inverse", ATTR_INT, false, "0" }, { "onesided", ATTR_INT, false, "0" } };
static const FormalAttr attrs43[] = { { "inverse", ATTR_INT, false, "0" }, { "onesided", ATTR_INT, false, "0" } };
static const FormalAttr attrs44[] = { { "dilations", ATTR_INTS, false, NULL }, { "group", ATTR_INT, false, "1" }, { "kernel_shape", ATTR_INTS, false, NULL }, { "offset_group", ATTR_INT, false, "1" }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs45[] = { { "blocksize", ATTR_INT, true, NULL } };
static const FormalAttr attrs46[] = { { "blocksize", ATTR_INT, true, NULL }, { "mode", ATTR_STRING, false, "DCR" } };
static const FormalAttr attrs47[] = { { "axis", ATTR_INT, false, "1" } };
static const FormalAttr attrs48[] = { { "axis", ATTR_INT, false, "1" }, { "block_size", ATTR_INT, false, "0" } };
static const FormalAttr attrs49[] = { { "axis", ATTR_INT, false, "1" }, { "block_size", ATTR_INT, false, "0" }, { "output_dtype", ATTR_INT, false, "0" } };
static const FormalAttr attrs50[] = { { "consumed_inputs", ATTR_INTS, false, NULL }, { "is_test", ATTR_INT, false, "0" }, { "ratio", ATTR_FLOAT, false, "0.5" } };
static const FormalAttr attrs51[] = { { "is_test", ATTR_INT, false, "0" }, { "ratio", ATTR_FLOAT, false, "0.5" } };
static const FormalAttr attrs52[] = { { "ratio", ATTR_FLOAT, false, "0.5" } };
static const FormalAttr attrs53[] = { { "seed", ATTR_INT, false, NULL } };
static const FormalAttr attrs54[] = { { "equation", ATTR_STRING, true, NULL } };
static const FormalAttr attrs55[] = { { "alpha", ATTR_FLOAT, false, "1.0" }, { "consumed_inputs", ATTR_INTS, false, NULL } };
static const FormalAttr attrs56[] = { { "dtype", ATTR_INT, false, NULL }, { "k", ATTR_INT, false, "0" } };
static const FormalAttr attrs57[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "foward" }, { "hidden_size", ATTR_INT, false, NULL }, { "output_sequence", ATTR_INT, false, "0" } };
static const FormalAttr attrs58[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "linear_before_reset", ATTR_INT, false, "0" }, { "output_sequence", ATTR_INT, false, "0" } };
static const FormalAttr attrs59[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "linear_before_reset", ATTR_INT, false, "0" } };
static const FormalAttr attrs60[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "layout", ATTR_INT, false, "0" }, { "linear_before_reset", ATTR_INT, false, "0" } };
static const FormalAttr attrs61[] = { { "axis", ATTR_INT, false, "0" } };
static const FormalAttr attrs62[] = { { "batch_dims", ATTR_INT, false, "0" } };
static const FormalAttr attrs63[] = { { "approximate", ATTR_STRING, false, "none" } };
static const FormalAttr attrs64[] = { { "alpha", ATTR_FLOAT, false, "1.0" }, { "beta", ATTR_FLOAT, false, "1.0" }, { "broadcast", ATTR_INT, false, "0" }, { "transA", ATTR_INT, false, "0" }, { "transB", ATTR_INT, false, "0" } };
static const FormalAttr attrs65[] = { { "alpha", ATTR_FLOAT, false, "1.0" }, { "beta", ATTR_FLOAT, false, "1.0" }, { "transA", ATTR_INT, false, "0" }, { "transB", ATTR_INT, false, "0" } };
static const FormalAttr attrs66[] = { { "p", ATTR_FLOAT, false, "2.0" } };
static const FormalAttr attrs67[] = { { "p", ATTR_INT, false, "2" } };
static const FormalAttr attrs68[] = { { "align_corners", ATTR_INT, false, "0" }, { "mode", ATTR_STRING, false, "bilinear" }, { "padding_mode", ATTR_STRING, false, "zeros" } };
static const FormalAttr attrs69[] = { { "align_corners", ATTR_INT, false, "0" }, { "mode", ATTR_STRING, false, "linear" }, { "padding_mode", ATTR_STRING, false, "zeros" } };
static const FormalAttr attrs70[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "num_groups", ATTR_INT, true, NULL } };
static const FormalAttr attrs71[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "num_groups", ATTR_INT, true, NULL }, { "stash_type", ATTR_INT, false, "1" } };
static const FormalAttr attrs72[] = { { "alpha", ATTR_FLOAT, false, "0.200000003" }, { "beta", ATTR_FLOAT, false, "0.5" }, { "consumed_inputs", ATTR_INTS, false, NULL } };
static const FormalAttr attrs73[] = { { "alpha", ATTR_FLOAT, false, "0.200000003" }, { "beta", ATTR_FLOAT, false, "0.5" } };
static const FormalAttr attrs74[] = { { "axis", ATTR_INT, false, "-1" } };
static const FormalAttr attrs75[] = { { "else_branch", ATTR_GRAPH, true, NULL }, { "then_branch", ATTR_GRAPH, true, NULL } };
static const FormalAttr attrs76[] = { { "pixel_format", ATTR_STRING, false, "RGB" } };
static const FormalAttr attrs77[] = { { "consumed_inputs", ATTR_INTS, false, NULL }, { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" } };
static const FormalAttr attrs78[] = { { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" } };
static const FormalAttr attrs79[] = { { "detect_negative", ATTR_INT, false, "1" }, { "detect_positive", ATTR_INT, false, "1" } };
static const FormalAttr attrs80[] = { { "alpha", ATTR_FLOAT, false, "9.99999975e-05" }, { "beta", ATTR_FLOAT, false, "0.75" }, { "bias", ATTR_FLOAT, false, "1.0" }, { "size", ATTR_INT, true, NULL } };
static const FormalAttr attrs81[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "input_forget", ATTR_INT, false, "0" }, { "output_sequence", ATTR_INT, false, "0" } };
static const FormalAttr attrs82[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "input_forget", ATTR_INT, false, "0" } };
static const FormalAttr attrs83[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, NULL }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "input_forget", ATTR_INT, false, "0" }, { "layout", ATTR_INT, false, "0" } };
static const FormalAttr attrs84[] = { { "axis", ATTR_INT, false, "-1" }, { "epsilon", ATTR_FLOAT, false, "9.99999975e-06" }, { "stash_type", ATTR_INT, false, "1" } };
static const FormalAttr attrs85[] = { { "alpha", ATTR_FLOAT, false, "0.00999999978" }, { "consumed_inputs", ATTR_INTS, false, NULL } };
static const FormalAttr attrs86[] = { { "alpha", ATTR_FLOAT, false, "0.00999999978" } };
static const FormalAttr attrs87[] = { { "chunk_size", ATTR_INT, false, "64" }, { "kv_num_heads", ATTR_INT, true, NULL }, { "q_num_heads", ATTR_INT, true, NULL }, { "scale", ATTR_FLOAT, false, "0.0" }, { "update_rule", ATTR_STRING, false, "gated_delta" } };
static const FormalAttr attrs88[] = { { "body", ATTR_GRAPH, true, NULL } };
static const FormalAttr attrs89[] = { { "axis", ATTR_INT, false, "-1" }, { "p", ATTR_INT, false, "2" } };
static const FormalAttr attrs90[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "kernel_shape", ATTR_INTS, false, NULL }, { "p", ATTR_FLOAT, false, "2.0" }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs91[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "kernel_shape", ATTR_INTS, true, NULL }, { "p", ATTR_INT, false, "2" }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs92[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "ceil_mode", ATTR_INT, false, "0" }, { "dilations", ATTR_INTS, false, NULL }, { "kernel_shape", ATTR_INTS, true, NULL }, { "p", ATTR_INT, false, "2" }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs93[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "storage_order", ATTR_INT, false, "0" }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs94[] = { { "auto_pad", ATTR_STRING, false, "NOTSET" }, { "ceil_mode", ATTR_INT, false, "0" }, { "dilations", ATTR_INTS, false, NULL }, { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "storage_order", ATTR_INT, false, "0" }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs95[] = { { "pooled_shape", ATTR_INTS, true, NULL }, { "spatial_scale", ATTR_FLOAT, false, "1.0" } };
static const FormalAttr attrs96[] = { { "kernel_shape", ATTR_INTS, true, NULL }, { "pads", ATTR_INTS, false, NULL }, { "strides", ATTR_INTS, false, NULL } };
static const FormalAttr attrs97[] = { { "axes", ATTR_INTS, false, "0,2,3" } };
static const FormalAttr attrs98[] = { { "output_datatype", ATTR_INT, false, "1" } };
static const FormalAttr attrs99[] = { { "fmod", ATTR_INT, false, "0" } };
static const FormalAttr attrs100[] = { { "dtype", ATTR_INT, false, "6" }, { "sample_size", ATTR_INT, false, "1" }, { "seed", ATTR_FLOAT, false, NULL } };
static const FormalAttr attrs101[] = { { "ignore_index", ATTR_INT, false, NULL }, { "reduction", ATTR_STRING, false, "mean" } };
static const FormalAttr attrs102[] = { { "center_point_box", ATTR_INT, false, "0" } };
static const FormalAttr attrs103[] = { { "type", ATTR_TYPE, false, NULL } };
static const FormalAttr attrs104[] = { { "mode", ATTR_STRING, false, "constant" }, { "paddings", ATTR_INTS, true, NULL }, { "value", ATTR_FLOAT, false, "0.0" } };
static const FormalAttr attrs105[] = { { "mode", ATTR_STRING, false, "constant" }, { "pads", ATTR_INTS, true, NULL }, { "value", ATTR_FLOAT, false, "0.0" } };
static const FormalAttr attrs106[] = { { "mode", ATTR_STRING, false, "constant" } };
static const FormalAttr attrs107[] = { { "axis", ATTR_INT, false, "1" }, { "saturate", ATTR_INT, false, "1" } };
static const FormalAttr attrs108[] = { { "axis", ATTR_INT, false, "1" }, { "block_size", ATTR_INT, false, "0" }, { "output_dtype", ATTR_INT, false, "0" }, { "saturate", ATTR_INT, false, "1" } };
static const FormalAttr attrs109[] = { { "axis", ATTR_INT, false, "1" }, { "block_size", ATTR_INT, false, "0" }, { "output_dtype", ATTR_INT, false, "0" }, { "precision", ATTR_INT, false, "0" }, { "saturate", ATTR_INT, false, "1" } };
static const FormalAttr attrs110[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, "Tanh,Tanh" }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "output_sequence", ATTR_INT, false, "0" } };
static const FormalAttr attrs111[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, "Tanh,Tanh" }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL } };
static const FormalAttr attrs112[] = { { "activation_alpha", ATTR_FLOATS, false, NULL }, { "activation_beta", ATTR_FLOATS, false, NULL }, { "activations", ATTR_STRINGS, false, "Tanh,Tanh" }, { "clip", ATTR_FLOAT, false, NULL }, { "direction", ATTR_STRING, false, "forward" }, { "hidden_size", ATTR_INT, false, NULL }, { "layout", ATTR_INT, false, "0" } };
static const FormalAttr attrs113[] = { { "dtype", ATTR_INT, false, "1" }, { "mean", ATTR_FLOAT, false, "0.0" }, { "scale", ATTR_FLOAT, false, "1.0" }, { "seed", ATTR_FLOAT, false, NULL }, { "shape", ATTR_INTS, true, NULL } };
static const FormalAttr attrs114[] = { { "dtype", ATTR_INT, false, NULL }, { "mean", ATTR_FLOAT, false, "0.0" }, { "scale", ATTR_FLOAT, false, "1.0" }, { "seed", ATTR_FLOAT, false, NULL } };
static const FormalAttr attrs115[] = { { "dtype", ATTR_INT, false, "1" }, { "high", ATTR_FLOAT, false, "1.0" }, { "low", ATTR_FLOAT, false, "0.0" }, { "seed", ATTR_FLOAT, false, NULL }, { "shape", ATTR_INTS, true, NULL } };
static const FormalAttr attrs116[] = { { "dtype", ATTR_INT, false, NULL }, { "high", ATTR_FLOAT, false, "1.0" }, { "low", ATTR_FLOAT, false, "0.0" }, { "seed", ATTR_FLOAT, false, NULL } };
static const FormalAttr attrs117[] = { { "stash_type", ATTR_INT, false, "1" } };
static const FormalAttr attrs118[] = { { "axes", ATTR_INTS, false, NULL }, { "keepdims", ATTR_INT, false, "1" } };
static const FormalAttr attrs119[] = { { "keepdims", ATTR_INT, false, "1" }, { "noop_with_empty_axes", ATTR_INT, false, "0" } };
static const FormalAttr attrs120[] = { { "pattern", ATTR_STRING, false, NULL } };
static const FormalAttr attrs121[] = { { "consumed_inputs", ATTR_INTS, false, NULL }, { "shape", ATTR_INTS, false, NULL } };
static const FormalAttr attrs122[] = { { "allowzero", ATTR_INT, false, "0" } };
static const FormalAttr attrs123[] = { { "mode", ATTR_STRING, false, "nearest" } };
static const FormalAttr attrs124[] = { { "coordinate_transformation_mode", ATTR_STRING, false, "half_pixel" }, { "cubic_coeff_a", ATTR_FLOAT, false, "-0.75" }, { "exclude_outside", ATTR_INT, false, "0" }, { "extrapolation_value", ATTR_FLOAT, false, "0.0" }, { "mode", ATTR_STRING, false, "nearest" }, { "nearest_mode", ATTR_STRING, false, "round_prefer_floor" } };
static const FormalAttr attrs125[] = { { "antialias", ATTR_INT, false, "0" }, { "axes", ATTR_INTS, false, NULL }, { "coordinate_transformation_mode", ATTR_STRING, false, "half_pixel" }, { "cubic_coeff_a", ATTR_FLOAT, false, "-0.75" }, { "exclude_outside", ATTR_INT, false, "0" }, { "extrapolation_value", ATTR_FLOAT, false, "0.0" }, { "keep_aspect_ratio_policy", ATTR_STRING, false, "stretch" }, { "mode", ATTR_STRING, false, "nearest" }, { "nearest_mode", ATTR_STRING, false, "round_prefer_floor" } };
static const FormalAttr attrs126[] = { { "batch_axis", ATTR_INT, false, "1" }, { "time_axis", ATTR_INT, false, "0" } };
static const FormalAttr attrs127[] = { { "mode", ATTR_STRING, false, "avg" }, { "output_height", ATTR_INT, false, "1" }, { "output_width", ATTR_INT, false, "1" }, { "sampling_ratio", ATTR_INT, false, "0" }, { "spatial_scale", ATTR_FLOAT, false, "1.0" } };
static const FormalAttr attrs128[] = { { "coordinate_transformation_mode", ATTR_STRING, false, "half_pixel" }, { "mode", ATTR_STRING, false, "avg" }, { "output_height", ATTR_INT, false, "1" }, { "output_width", ATTR_INT, false, "1" }, { "sampling_ratio", ATTR_INT, false, "0" }, { "spatial_scale", ATTR_FLOAT, false, "1.0" } };
static const FormalAttr attrs129[] = { { "interleaved", ATTR_INT, false, "0" }, { "num_heads", ATTR_INT, false, NULL }, { "rotary_embedding_dim", ATTR_INT, false, "0" } };
static const FormalAttr attrs130[] = { { "onesided", ATTR_INT, false, "1" } };
static const FormalAttr attrs131[] = { { "body", ATTR_GRAPH, true, NULL }, { "directions", ATTR_INTS, false, NULL }, { "num_scan_inputs", ATTR_INT, true, NULL } };
static const FormalAttr attrs132[] = { { "body", ATTR_GRAPH, true, NULL }, { "num_scan_inputs", ATTR_INT, true, NULL }, { "scan_input_axes", ATTR_INTS, false, NULL }, { "scan_input_directions", ATTR_INTS, false, NULL }, { "scan_output_axes", ATTR_INTS, false, NULL }, { "scan_output_directions", ATTR_INTS, false, NULL } };
static const FormalAttr attrs133[] = { { "axis", ATTR_INT, false, "0" }, { "reduction", ATTR_STRING, false, "none" } };
static const FormalAttr attrs134[] = { { "reduction", ATTR_STRING, false, "none" } };
static const FormalAttr attrs135[] = { { "alpha", ATTR_FLOAT, false, "1.67320001" }, { "consumed_inputs", ATTR_INTS, false, NULL }, { "gamma", ATTR_FLOAT, false, "1.05069995" } };
static const FormalAttr attrs136[] = { { "alpha", ATTR_FLOAT, false, "1.67326319" }, { "gamma", ATTR_FLOAT, false, "1.05070102" } };
static const FormalAttr attrs137[] = { { "dtype", ATTR_INT, false, NULL } };
static const FormalAttr attrs138[] = { { "end", ATTR_INT, false, NULL }, { "start", ATTR_INT, false, "0" } };
static const FormalAttr attrs139[] = { { "bias", ATTR_FLOAT, false, "0.0" }, { "lambd", ATTR_FLOAT, false, "0.5" } };
static const FormalAttr attrs140[] = { { "axes", ATTR_INTS, false, NULL }, { "ends", ATTR_INTS, true, NULL }, { "starts", ATTR_INTS, true, NULL } };
static const FormalAttr attrs141[] = { { "axis", ATTR_INT, false, NULL }, { "split", ATTR_INTS, false, NULL } };
static const FormalAttr attrs142[] = { { "axis", ATTR_INT, false, "0" }, { "split", ATTR_INTS, false, NULL } };
static const FormalAttr attrs143[] = { { "axis", ATTR_INT, false, "0" }, { "num_outputs", ATTR_INT, false, NULL } };
static const FormalAttr attrs144[] = { { "case_change_action", ATTR_STRING, false, "NONE" }, { "is_case_sensitive", ATTR_INT, false, "0" }, { "locale", ATTR_STRING, false, NULL }, { "stopwords", ATTR_STRINGS, false, NULL } };
static const FormalAttr attrs145[] = { { "delimiter", ATTR_STRING, false, NULL }, { "maxsplit", ATTR_INT, false, NULL } };
static const FormalAttr attrs146[] = { { "axis", ATTR_INT, false, "-2" }, { "mode", ATTR_STRING, false, "linear" } };
static const FormalAttr attrs147[] = { { "max_gram_length", ATTR_INT, true, NULL }, { "max_skip_count", ATTR_INT, true, NULL }, { "min_gram_length", ATTR_INT, true, NULL }, { "mode", ATTR_STRING, true, NULL }, { "ngram_counts", ATTR_INTS, true, NULL }, { "ngram_indexes", ATTR_INTS, true, NULL }, { "pool_int64s", ATTR_INTS, false, NULL }, { "pool_strings", ATTR_STRINGS, false, NULL }, { "weights", ATTR_FLOATS, false, NULL } };
static const FormalAttr attrs148[] = { { "axis", ATTR_INT, false, "-1" }, { "k", ATTR_INT, true, NULL } };
static const FormalAttr attrs149[] = { { "axis", ATTR_INT, false, "-1" }, { "largest", ATTR_INT, false, "1" }, { "sorted", ATTR_INT, false, "1" } };
static const FormalAttr attrs150[] = { { "perm", ATTR_INTS, false, NULL } };
static const FormalAttr attrs151[] = { { "upper", ATTR_INT, false, "1" } };
static const FormalAttr attrs152[] = { { "axis", ATTR_INT, false, NULL }, { "sorted", ATTR_INT, false, "1" } };
static const FormalAttr attrs153[] = { { "axes", ATTR_INTS, true, NULL } };
static const FormalAttr attrs154[] = { { "height_scale", ATTR_FLOAT, true, NULL }, { "mode", ATTR_STRING, false, "nearest" }, { "width_scale", ATTR_FLOAT, true, NULL } };
static const FormalAttr attrs155[] = { { "mode", ATTR_STRING, false, "nearest" }, { "scales", ATTR_FLOATS, true, NULL } };

static const FormalType types0[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types1[] = { { "T", 0x3cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types2[] = { { "T", 0x13cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types3[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types4[] = { { "T", 0x3cc2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types5[] = { { "T", 0x13cc2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types6[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types7[] = { { "T", 0x200u, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types8[] = { { "T", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types9[] = { { "T", 0x13cfeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types10[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "U", 0x13efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types11[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "U", 0x13efeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types12[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "U", 0x10c02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types13[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x10c02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types14[] = { { "T1", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x13efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types15[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x13efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types16[] = { { "T1", 0x7fffefeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x7fffefeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types17[] = { { "T", 0x3014u, 0x0u, 0x0u, 0x0u } };
static const FormalType types18[] = { { "T", 0x30fcu, 0x0u, 0x0u, 0x0u } };
static const FormalType types19[] = { { "T1", 0xc0u, 0x0u, 0x0u, 0x0u }, { "T2", 0x13cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types20[] = { { "T1", 0x3efeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types21[] = { { "T1", 0x3ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x3ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types22[] = { { "T1", 0x13ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x13ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types23[] = { { "T1", 0x1f3ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x1f3ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types24[] = { { "T1", 0x7f3ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x7f3ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types25[] = { { "T1", 0xff3ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0xff3ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types26[] = { { "T1", 0x1ff3ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x1ff3ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types27[] = { { "T1", 0x7ff3ffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x7ff3ffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types28[] = { { "T1", 0x7ff3fffu, 0x0u, 0x0u, 0x0u }, { "T2", 0x7ff3fffu, 0x0u, 0x0u, 0x0u } };
static const FormalType types29[] = { { "T", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types30[] = { { "T", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types31[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types32[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types33[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types34[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types35[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types36[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types37[] = { { "S", 0x0u, 0xfffeu, 0x0u, 0x0u }, { "T", 0xfffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types38[] = { { "T", 0x1ffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types39[] = { { "T", 0x7ffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types40[] = { { "T", 0xfffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types41[] = { { "T", 0x1fffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types42[] = { { "T", 0x7fffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types43[] = { { "T1", 0x80u, 0x0u, 0x0u, 0x0u }, { "T2", 0x3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types44[] = { { "T1", 0x80u, 0x0u, 0x0u, 0x0u }, { "T2", 0x1f3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types45[] = { { "T1", 0x80u, 0x0u, 0x0u, 0x0u }, { "T2", 0x7f3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types46[] = { { "T1", 0x80u, 0x0u, 0x0u, 0x0u }, { "T2", 0xff3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types47[] = { { "T1", 0x80u, 0x0u, 0x0u, 0x0u }, { "T2", 0x1ff3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types48[] = { { "T1", 0x80u, 0x0u, 0x0u, 0x0u }, { "T2", 0x7ff3efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types49[] = { { "T1", 0xcu, 0x0u, 0x0u, 0x0u }, { "T2", 0xcu, 0x0u, 0x0u, 0x0u }, { "T3", 0x40u, 0x0u, 0x0u, 0x0u } };
static const FormalType types50[] = { { "T", 0x13cc2u, 0x0u, 0x0u, 0x0u }, { "T2", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types51[] = { { "T", 0x38c2u, 0x0u, 0x0u, 0x0u }, { "T2", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types52[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types53[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0xc0u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types54[] = { { "T", 0x4cu, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types55[] = { { "T1", 0x1e004cu, 0x0u, 0x0u, 0x0u }, { "T2", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types56[] = { { "T1", 0x7e007cu, 0x0u, 0x0u, 0x0u }, { "T2", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types57[] = { { "T1", 0xfe007cu, 0x0u, 0x0u, 0x0u }, { "T2", 0x10402u, 0x0u, 0x0u, 0x0u }, { "T3", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types58[] = { { "T1", 0xfe007cu, 0x0u, 0x0u, 0x0u }, { "T2", 0x1010402u, 0x0u, 0x0u, 0x0u }, { "T3", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types59[] = { { "T1", 0x6fe007cu, 0x0u, 0x0u, 0x0u }, { "T2", 0x1010402u, 0x0u, 0x0u, 0x0u }, { "T3", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types60[] = { { "T1", 0x6fe007du, 0x0u, 0x0u, 0x0u }, { "T2", 0x1010402u, 0x0u, 0x0u, 0x0u }, { "T3", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types61[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types62[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T1", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types63[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T1", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types64[] = { { "T", 0x1f0c02u, 0x0u, 0x0u, 0x0u }, { "T1", 0x1f0c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types65[] = { { "T1", 0x2u, 0x0u, 0x0u, 0x0u }, { "T2", 0x4u, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types66[] = { { "T", 0x2c0u, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types67[] = { { "T", 0x3efeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types68[] = { { "T", 0x13efeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types69[] = { { "T", 0x13ffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types70[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types71[] = { { "T1", 0x13efeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x13efeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types72[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T1", 0x40u, 0x0u, 0x0u, 0x0u } };
static const FormalType types73[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T1", 0x40u, 0x0u, 0x0u, 0x0u } };
static const FormalType types74[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types75[] = { { "T", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types76[] = { { "T", 0x13cfeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types77[] = { { "T1", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0xc02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types78[] = { { "T1", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x10c02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types79[] = { { "V", 0x1fffeu, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types80[] = { { "V", 0x1fffeu, 0xfffeu, 0xfffeu, 0xfffeu } };
static const FormalType types81[] = { { "V", 0x1ffffeu, 0xfffeu, 0xfffeu, 0xfffeu } };
static const FormalType types82[] = { { "V", 0x7ffffeu, 0xfffeu, 0xfffeu, 0xfffeu } };
static const FormalType types83[] = { { "V", 0xfffffeu, 0xfffeu, 0xfffeu, 0xfffeu } };
static const FormalType types84[] = { { "V", 0x1fffffeu, 0xfffeu, 0xfffeu, 0xfffeu } };
static const FormalType types85[] = { { "V", 0x7fffffeu, 0xfffeu, 0xfffeu, 0xfffeu } };
static const FormalType types86[] = { { "V", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types87[] = { { "V", 0xfffeu, 0xfffeu, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types88[] = { { "V", 0x1fffeu, 0x1fffeu, 0x1fffeu, 0x1fffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types89[] = { { "V", 0x1ffffeu, 0x1ffffeu, 0x1ffffeu, 0x1fffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types90[] = { { "V", 0x7ffffeu, 0x7ffffeu, 0x7ffffeu, 0x1fffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types91[] = { { "V", 0xfffffeu, 0xfffffeu, 0xfffffeu, 0x1fffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types92[] = { { "V", 0x1fffffeu, 0x1fffffeu, 0x1fffffeu, 0x1fffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types93[] = { { "V", 0x7fffffeu, 0x7fffffeu, 0x7fffffeu, 0x1fffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types94[] = { { "T1", 0x4u, 0x0u, 0x0u, 0x0u }, { "T2", 0x4u, 0x0u, 0x0u, 0x0u } };
static const FormalType types95[] = { { "T1", 0x802u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types96[] = { { "T1", 0x1f0c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types97[] = { { "T1", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types98[] = { { "T1", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types99[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "U", 0x10002u, 0x0u, 0x0u, 0x0u } };
static const FormalType types100[] = { { "T", 0x10402u, 0x0u, 0x0u, 0x0u }, { "S", 0x10402u, 0x0u, 0x0u, 0x0u } };
static const FormalType types101[] = { { "V", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types102[] = { { "V", 0xfffeu, 0xfffeu, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types103[] = { { "V", 0x1fffeu, 0x1fffeu, 0x1fffeu, 0x1fffeu }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types104[] = { { "V", 0x1ffffeu, 0x1ffffeu, 0x1ffffeu, 0x1fffeu }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types105[] = { { "V", 0x7ffffeu, 0x7ffffeu, 0x7ffffeu, 0x1fffeu }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types106[] = { { "V", 0xfffffeu, 0xfffffeu, 0xfffffeu, 0x1fffeu }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types107[] = { { "V", 0x1fffffeu, 0x1fffffeu, 0x1fffffeu, 0x1fffeu }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types108[] = { { "V", 0x7fffffeu, 0x7fffffeu, 0x7fffffeu, 0x1fffeu }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types109[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types110[] = { { "T", 0xc0eu, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types111[] = { { "T", 0x10c0eu, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types112[] = { { "T1", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T2", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types113[] = { { "T1", 0xc0u, 0x0u, 0x0u, 0x0u }, { "T2", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "T3", 0x13cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types114[] = { { "T1", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T2", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types115[] = { { "T", 0xceau, 0x0u, 0x0u, 0x0u } };
static const FormalType types116[] = { { "T", 0x10ceau, 0x0u, 0x0u, 0x0u } };
static const FormalType types117[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types118[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types119[] = { { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types120[] = { { "T", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types121[] = { { "T1", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "T3", 0xfffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types122[] = { { "T1", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "T2", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "T3", 0x1fffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types123[] = { { "V", 0xfffeu, 0xfffeu, 0x0u, 0x0u }, { "O", 0x0u, 0x0u, 0xfffeu, 0xfffeu } };
static const FormalType types124[] = { { "V", 0x7ffffffu, 0x7ffffffu, 0x0u, 0x0u }, { "O", 0x0u, 0x0u, 0x7ffffffu, 0x7ffffffu } };
static const FormalType types125[] = { { "O", 0x0u, 0x0u, 0xfffeu, 0xfffeu }, { "V", 0xfffeu, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types126[] = { { "O", 0xfffeu, 0xfffeu, 0xfffeu, 0xfffeu }, { "V", 0xfffeu, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types127[] = { { "O", 0x7ffffffu, 0x7ffffffu, 0x7ffffffu, 0x7ffffffu }, { "V", 0x7ffffffu, 0x7ffffffu, 0x0u, 0x0u } };
static const FormalType types128[] = { { "O", 0x0u, 0x0u, 0xfffeu, 0xfffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types129[] = { { "O", 0xfffeu, 0xfffeu, 0xfffeu, 0xfffeu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types130[] = { { "O", 0x7ffffffu, 0x7ffffffu, 0x7ffffffu, 0x7ffffffu }, { "B", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types131[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types132[] = { { "T", 0x7ffffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types133[] = { { "T", 0xfffffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types134[] = { { "T", 0x1fffffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types135[] = { { "T", 0x7fffffeu, 0x0u, 0x0u, 0x0u }, { "Tind", 0xc0u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types136[] = { { "T", 0xcc2u, 0x0u, 0x0u, 0x0u }, { "T1", 0x3cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types137[] = { { "T", 0x10cc2u, 0x0u, 0x0u, 0x0u }, { "T1", 0x3cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types138[] = { { "T", 0x10cc2u, 0x0u, 0x0u, 0x0u }, { "T1", 0x13cfeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types139[] = { { "T1", 0xcu, 0x0u, 0x0u, 0x0u }, { "T2", 0xcu, 0x0u, 0x0u, 0x0u }, { "T3", 0xcu, 0x0u, 0x0u, 0x0u }, { "T4", 0x40u, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types140[] = { { "T1", 0xcu, 0x0u, 0x0u, 0x0u }, { "T2", 0xcu, 0x0u, 0x0u, 0x0u }, { "T3", 0xcu, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types141[] = { { "TS", 0x10402u, 0x0u, 0x0u, 0x0u }, { "T1", 0x1e000cu, 0x0u, 0x0u, 0x0u }, { "T2", 0x1e000cu, 0x0u, 0x0u, 0x0u }, { "T3", 0x1e000cu, 0x0u, 0x0u, 0x0u } };
static const FormalType types142[] = { { "T1", 0x42u, 0x0u, 0x0u, 0x0u }, { "T2", 0xcu, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types143[] = { { "T1", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T2", 0x1e000cu, 0x0u, 0x0u, 0x0u } };
static const FormalType types144[] = { { "T1", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T2", 0x7e003cu, 0x0u, 0x0u, 0x0u } };
static const FormalType types145[] = { { "T1", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T2", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T3", 0xfe003cu, 0x0u, 0x0u, 0x0u } };
static const FormalType types146[] = { { "T1", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T2", 0x1010442u, 0x0u, 0x0u, 0x0u }, { "T3", 0xfe003cu, 0x0u, 0x0u, 0x0u } };
static const FormalType types147[] = { { "T1", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T2", 0x1010442u, 0x0u, 0x0u, 0x0u }, { "T3", 0x6fe003cu, 0x0u, 0x0u, 0x0u } };
static const FormalType types148[] = { { "T1", 0x10442u, 0x0u, 0x0u, 0x0u }, { "T2", 0x1010442u, 0x0u, 0x0u, 0x0u }, { "T3", 0x6fe003du, 0x0u, 0x0u, 0x0u } };
static const FormalType types149[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "V", 0x10c02u, 0x0u, 0x0u, 0x0u } };
static const FormalType types150[] = { { "T", 0x8e2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types151[] = { { "T", 0x10ce2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types152[] = { { "T", 0x13cc2u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types153[] = { { "T", 0x10c02u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types154[] = { { "T", 0x3cceu, 0x0u, 0x0u, 0x0u } };
static const FormalType types155[] = { { "T", 0x13cceu, 0x0u, 0x0u, 0x0u } };
static const FormalType types156[] = { { "T", 0x13cceu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types157[] = { { "T", 0x13eceu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types158[] = { { "T1", 0x100u, 0x0u, 0x0u, 0x0u }, { "T2", 0x200u, 0x0u, 0x0u, 0x0u } };
static const FormalType types159[] = { { "T", 0x1ffffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types160[] = { { "T", 0x7ffffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types161[] = { { "T", 0xfffffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types162[] = { { "T", 0x1fffffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types163[] = { { "T", 0x7fffffeu, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types164[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types165[] = { { "T1", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0xc02u, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types166[] = { { "T1", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "T2", 0xc02u, 0x0u, 0x0u, 0x0u }, { "tensor(float)", 0x2u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types167[] = { { "T", 0x10402u, 0x0u, 0x0u, 0x0u }, { "M", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types168[] = { { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "V", 0xfffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types169[] = { { "V", 0xfffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types170[] = { { "V", 0x1fffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types171[] = { { "V", 0x1ffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types172[] = { { "V", 0x7ffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types173[] = { { "V", 0xfffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types174[] = { { "V", 0x1fffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types175[] = { { "V", 0x7fffffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types176[] = { { "S", 0x0u, 0xfffeu, 0x0u, 0x0u }, { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "I", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types177[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "S", 0x0u, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types178[] = { { "S", 0x0u, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types179[] = { { "S", 0x0u, 0xfffeu, 0x0u, 0x0u }, { "I", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types180[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "S", 0x0u, 0xfffeu, 0x0u, 0x0u }, { "I", 0xc0u, 0x0u, 0x0u, 0x0u } };
static const FormalType types181[] = { { "S", 0x0u, 0xfffeu, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types182[] = { { "S", 0x0u, 0xfffeu, 0x0u, 0x0u }, { "V", 0xfffeu, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types183[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types184[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types185[] = { { "T", 0x1ffffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types186[] = { { "T", 0x7ffffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types187[] = { { "T", 0xfffffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types188[] = { { "T", 0x1fffffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types189[] = { { "T", 0x7fffffeu, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types190[] = { { "T", 0xfffeu, 0x0u, 0x0u, 0x0u }, { "I", 0xc0u, 0x0u, 0x0u, 0x0u }, { "S", 0x0u, 0xfffeu, 0x0u, 0x0u } };
static const FormalType types191[] = { { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u }, { "I", 0xc0u, 0x0u, 0x0u, 0x0u }, { "S", 0x0u, 0x1fffeu, 0x0u, 0x0u } };
static const FormalType types192[] = { { "T", 0x100u, 0x0u, 0x0u, 0x0u } };
static const FormalType types193[] = { { "tensor(string)", 0x100u, 0x0u, 0x0u, 0x0u } };
static const FormalType types194[] = { { "T1", 0x100u, 0x0u, 0x0u, 0x0u }, { "T2", 0x100u, 0x0u, 0x0u, 0x0u }, { "T3", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types195[] = { { "T", 0x1c0u, 0x0u, 0x0u, 0x0u }, { "T1", 0x2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types196[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "T1", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types197[] = { { "T", 0xc02u, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types198[] = { { "T", 0x3cfeu, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types199[] = { { "T", 0x13cfeu, 0x0u, 0x0u, 0x0u }, { "I", 0x80u, 0x0u, 0x0u, 0x0u }, { "tensor(int64)", 0x80u, 0x0u, 0x0u, 0x0u } };
static const FormalType types200[] = { { "T", 0xec2u, 0x0u, 0x0u, 0x0u } };
static const FormalType types201[] = { { "B", 0x200u, 0x0u, 0x0u, 0x0u }, { "T", 0xfffeu, 0x0u, 0x0u, 0x0u } };
static const FormalType types202[] = { { "B", 0x200u, 0x0u, 0x0u, 0x0u }, { "T", 0x1fffeu, 0x0u, 0x0u, 0x0u } };

static const OpVersion v_Abs[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types1 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types2 }
};
static const OpVersion v_Acos[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Acosh[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Add[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 3, 1, args4, args5, attrs1, types0 },
    { 6, false, 2, 2, 1, 1, 2, 1, 2, 1, args4, args5, attrs2, types4 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types4 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types5 },
    { 14, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types2 }
};
static const OpVersion v_AffineGrid[] = {
    { 20, false, 2, 2, 1, 1, 2, 1, 1, 2, args6, args7, attrs3, types6 }
};
static const OpVersion v_And[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 2, args4, args8, attrs2, types7 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types7 }
};
static const OpVersion v_ArgMax[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args10, attrs4, types8 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args10, attrs4, types8 },
    { 12, false, 1, 1, 1, 1, 1, 1, 3, 2, args9, args10, attrs5, types8 },
    { 13, false, 1, 1, 1, 1, 1, 1, 3, 2, args9, args10, attrs5, types9 }
};
static const OpVersion v_ArgMin[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args10, attrs4, types8 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args10, attrs4, types8 },
    { 12, false, 1, 1, 1, 1, 1, 1, 3, 2, args9, args10, attrs5, types8 },
    { 13, false, 1, 1, 1, 1, 1, 1, 3, 2, args9, args10, attrs5, types9 }
};
static const OpVersion v_Asin[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Asinh[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Atan[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Atanh[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Attention[] = {
    { 23, false, 3, 6, 1, 4, 6, 4, 7, 3, args11, args12, attrs6, types10 },
    { 24, false, 3, 7, 1, 4, 7, 4, 7, 4, args13, args12, attrs6, types11 },
    { 25, false, 3, 7, 1, 4, 7, 4, 9, 4, args13, args12, attrs7, types11 }
};
static const OpVersion v_AveragePool[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 4, 1, args0, args1, attrs8, types0 },
    { 7, false, 1, 1, 1, 1, 1, 1, 5, 1, args0, args1, attrs9, types0 },
    { 10, false, 1, 1, 1, 1, 1, 1, 6, 1, args0, args1, attrs10, types0 },
    { 11, false, 1, 1, 1, 1, 1, 1, 6, 1, args0, args1, attrs10, types0 },
    { 19, false, 1, 1, 1, 1, 1, 1, 7, 1, args0, args1, attrs11, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 7, 1, args0, args1, attrs11, types3 }
};
static const OpVersion v_BatchNormalization[] = {
    { 1, false, 5, 5, 1, 5, 5, 5, 5, 1, args14, args15, attrs12, types0 },
    { 6, false, 5, 5, 1, 5, 5, 5, 4, 1, args14, args15, attrs13, types0 },
    { 7, false, 5, 5, 1, 5, 5, 5, 3, 1, args14, args15, attrs14, types0 },
    { 9, false, 5, 5, 1, 5, 5, 5, 2, 1, args14, args15, attrs15, types0 },
    { 14, false, 5, 5, 1, 3, 5, 3, 3, 2, args16, args17, attrs16, types12 },
    { 15, false, 5, 5, 1, 3, 5, 3, 3, 3, args18, args19, attrs16, types13 }
};
static const OpVersion v_Bernoulli[] = {
    { 15, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs17, types14 },
    { 22, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs17, types15 }
};
static const OpVersion v_BitCast[] = {
    { 26, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs18, types16 }
};
static const OpVersion v_BitShift[] = {
    { 11, false, 2, 2, 1, 1, 2, 1, 1, 1, args22, args23, attrs19, types17 },
    { 28, false, 2, 2, 1, 1, 2, 1, 1, 1, args22, args23, attrs19, types18 }
};
static const OpVersion v_BitwiseAnd[] = {
    { 18, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types18 }
};
static const OpVersion v_BitwiseNot[] = {
    { 18, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types18 }
};
static const OpVersion v_BitwiseOr[] = {
    { 18, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types18 }
};
static const OpVersion v_BitwiseXor[] = {
    { 18, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types18 }
};
static const OpVersion v_BlackmanWindow[] = {
    { 17, false, 1, 1, 1, 1, 1, 1, 2, 2, args24, args21, attrs20, types19 }
};
static const OpVersion v_Cast[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs21, types20 },
    { 6, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs18, types20 },
    { 9, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs18, types21 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs18, types22 },
    { 19, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs22, types23 },
    { 21, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs22, types24 },
    { 23, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs22, types25 },
    { 24, false, 1, 1, 1, 1, 1, 1, 3, 2, args20, args21, attrs23, types26 },
    { 25, false, 1, 1, 1, 1, 1, 1, 3, 2, args20, args21, attrs23, types27 },
    { 28, false, 1, 1, 1, 1, 1, 1, 3, 2, args20, args21, attrs23, types28 }
};
static const OpVersion v_CastLike[] = {
    { 15, false, 2, 2, 1, 1, 2, 1, 0, 2, args25, args21, NULL, types22 },
    { 19, false, 2, 2, 1, 1, 2, 1, 1, 2, args25, args21, attrs24, types23 },
    { 21, false, 2, 2, 1, 1, 2, 1, 1, 2, args25, args21, attrs24, types24 },
    { 23, false, 2, 2, 1, 1, 2, 1, 1, 2, args25, args21, attrs24, types25 },
    { 24, false, 2, 2, 1, 1, 2, 1, 2, 2, args25, args21, attrs25, types26 },
    { 25, false, 2, 2, 1, 1, 2, 1, 2, 2, args25, args21, attrs25, types27 }
};
static const OpVersion v_CausalConvWithState[] = {
    { 27, false, 2, 4, 2, 2, 4, 2, 1, 1, args26, args27, attrs26, types29 }
};
static const OpVersion v_Ceil[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Celu[] = {
    { 12, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types30 },
    { 28, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types3 }
};
static const OpVersion v_CenterCropPad[] = {
    { 18, false, 2, 2, 1, 1, 2, 1, 1, 2, args28, args29, attrs28, types31 }
};
static const OpVersion v_Clip[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 3, 1, args2, args3, attrs29, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs30, types0 },
    { 11, false, 1, 3, 1, 1, 3, 1, 0, 1, args30, args3, NULL, types0 },
    { 12, false, 1, 3, 1, 1, 3, 1, 0, 1, args30, args3, NULL, types1 },
    { 13, false, 1, 3, 1, 1, 3, 1, 0, 1, args30, args3, NULL, types2 }
};
static const OpVersion v_Col2Im[] = {
    { 18, false, 3, 3, 1, 1, 3, 1, 3, 2, args31, args3, attrs31, types32 }
};
static const OpVersion v_Compress[] = {
    { 9, false, 2, 2, 1, 1, 2, 1, 1, 2, args32, args3, attrs32, types33 },
    { 11, false, 2, 2, 1, 1, 2, 1, 1, 2, args32, args3, attrs32, types33 },
    { 28, false, 2, 2, 1, 1, 2, 1, 1, 2, args32, args3, attrs32, types34 }
};
static const OpVersion v_Concat[] = {
    { 1, false, 1, 255, 1, 1, 1, 1, 1, 1, args33, args34, attrs32, types0 },
    { 4, false, 1, 255, 1, 1, 1, 1, 1, 1, args33, args34, attrs33, types35 },
    { 11, false, 1, 255, 1, 1, 1, 1, 1, 1, args33, args34, attrs33, types35 },
    { 13, false, 1, 255, 1, 1, 1, 1, 1, 1, args33, args34, attrs33, types36 }
};
static const OpVersion v_ConcatFromSequence[] = {
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 2, args35, args34, attrs34, types37 }
};
static const OpVersion v_Constant[] = {
    { 1, false, 0, 0, 1, 1, 0, 1, 1, 1, NULL, args3, attrs35, types0 },
    { 9, false, 0, 0, 1, 1, 0, 1, 1, 1, NULL, args3, attrs35, types35 },
    { 11, false, 0, 0, 1, 1, 0, 1, 2, 1, NULL, args3, attrs36, types35 },
    { 12, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types35 },
    { 13, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types36 },
    { 19, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types38 },
    { 21, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types39 },
    { 23, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types40 },
    { 24, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types41 },
    { 25, false, 0, 0, 1, 1, 0, 1, 8, 1, NULL, args3, attrs37, types42 }
};
static const OpVersion v_ConstantOfShape[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs38, types43 },
    { 20, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs38, types44 },
    { 21, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs38, types45 },
    { 23, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs38, types46 },
    { 24, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs38, types47 },
    { 25, false, 1, 1, 1, 1, 1, 1, 1, 2, args20, args21, attrs38, types48 }
};
static const OpVersion v_Conv[] = {
    { 1, false, 2, 3, 1, 1, 3, 1, 6, 1, args36, args1, attrs39, types0 },
    { 11, false, 2, 3, 1, 1, 3, 1, 6, 1, args36, args1, attrs39, types0 },
    { 22, false, 2, 3, 1, 1, 3, 1, 6, 1, args36, args1, attrs39, types3 }
};
static const OpVersion v_ConvInteger[] = {
    { 10, false, 2, 4, 1, 1, 4, 1, 6, 3, args37, args38, attrs39, types49 }
};
static const OpVersion v_ConvTranspose[] = {
    { 1, false, 2, 3, 1, 1, 3, 1, 8, 1, args36, args1, attrs40, types0 },
    { 11, false, 2, 3, 1, 1, 3, 1, 8, 1, args36, args1, attrs40, types0 },
    { 22, false, 2, 3, 1, 1, 3, 1, 8, 1, args36, args1, attrs40, types3 }
};
static const OpVersion v_Cos[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Cosh[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_CumProd[] = {
    { 26, false, 2, 2, 1, 1, 2, 1, 2, 2, args39, args40, attrs41, types50 }
};
static const OpVersion v_CumSum[] = {
    { 11, false, 2, 2, 1, 1, 2, 1, 2, 2, args39, args40, attrs41, types51 },
    { 14, false, 2, 2, 1, 1, 2, 1, 2, 2, args39, args40, attrs41, types50 }
};
static const OpVersion v_DFT[] = {
    { 17, false, 1, 2, 1, 1, 2, 1, 3, 2, args41, args42, attrs42, types52 },
    { 20, false, 1, 3, 1, 1, 3, 1, 2, 3, args43, args42, attrs43, types53 }
};
static const OpVersion v_DeformConv[] = {
    { 19, false, 3, 5, 1, 1, 5, 1, 6, 1, args44, args1, attrs44, types0 },
    { 22, false, 3, 5, 1, 1, 5, 1, 6, 1, args44, args1, attrs44, types3 }
};
static const OpVersion v_DepthToSpace[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs45, types35 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs46, types35 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs46, types36 },
    { 28, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs46, types36 }
};
static const OpVersion v_DequantizeLinear[] = {
    { 10, false, 2, 3, 1, 1, 3, 1, 0, 2, args45, args46, NULL, types54 },
    { 13, false, 2, 3, 1, 1, 3, 1, 1, 2, args45, args46, attrs47, types54 },
    { 19, false, 2, 3, 1, 1, 3, 1, 1, 2, args47, args48, attrs47, types55 },
    { 21, false, 2, 3, 1, 1, 3, 1, 2, 2, args47, args48, attrs48, types56 },
    { 23, false, 2, 3, 1, 1, 3, 1, 3, 3, args47, args38, attrs49, types57 },
    { 24, false, 2, 3, 1, 1, 3, 1, 3, 3, args47, args38, attrs49, types58 },
    { 25, false, 2, 3, 1, 1, 3, 1, 3, 3, args47, args38, attrs49, types59 },
    { 28, false, 2, 3, 1, 1, 3, 1, 3, 3, args47, args38, attrs49, types60 }
};
static const OpVersion v_Det[] = {
    { 11, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Div[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 3, 1, args4, args5, attrs1, types0 },
    { 6, false, 2, 2, 1, 1, 2, 1, 2, 1, args4, args5, attrs2, types4 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types4 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types5 },
    { 14, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types2 }
};
static const OpVersion v_Dropout[] = {
    { 1, false, 1, 1, 1, 2, 1, 2, 3, 1, args9, args49, attrs50, types0 },
    { 6, false, 1, 1, 1, 2, 1, 2, 2, 1, args9, args49, attrs51, types0 },
    { 7, false, 1, 1, 1, 2, 1, 2, 1, 1, args9, args49, attrs52, types0 },
    { 10, false, 1, 1, 1, 2, 1, 2, 1, 2, args9, args50, attrs52, types61 },
    { 12, false, 1, 3, 1, 2, 3, 2, 1, 3, args51, args52, attrs53, types62 },
    { 13, false, 1, 3, 1, 2, 3, 2, 1, 3, args51, args52, attrs53, types63 },
    { 22, false, 1, 3, 1, 2, 3, 2, 1, 3, args51, args52, attrs53, types64 }
};
static const OpVersion v_DynamicQuantizeLinear[] = {
    { 11, false, 1, 1, 3, 3, 1, 3, 0, 3, args53, args54, NULL, types65 }
};
static const OpVersion v_Einsum[] = {
    { 12, false, 1, 255, 1, 1, 1, 1, 1, 1, args55, args56, attrs54, types1 },
    { 28, false, 1, 255, 1, 1, 1, 1, 1, 1, args55, args56, attrs54, types2 }
};
static const OpVersion v_Elu[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs55, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types3 }
};
static const OpVersion v_Equal[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 2, args4, args8, attrs2, types66 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types66 },
    { 11, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types67 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types68 },
    { 19, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types69 }
};
static const OpVersion v_Erf[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types1 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Exp[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Expand[] = {
    { 8, false, 2, 2, 1, 1, 2, 1, 0, 2, args57, args3, NULL, types70 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args57, args3, NULL, types32 }
};
static const OpVersion v_EyeLike[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs56, types20 },
    { 22, false, 1, 1, 1, 1, 1, 1, 2, 2, args20, args21, attrs56, types71 }
};
static const OpVersion v_Flatten[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 9, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types35 },
    { 11, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types35 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types36 },
    { 21, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types39 },
    { 23, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types40 },
    { 24, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types41 },
    { 25, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types42 }
};
static const OpVersion v_Floor[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_GRU[] = {
    { 1, false, 3, 6, 2, 2, 6, 2, 7, 2, args58, args59, attrs57, types72 },
    { 3, false, 3, 6, 0, 2, 6, 2, 8, 2, args58, args60, attrs58, types72 },
    { 7, false, 3, 6, 0, 2, 6, 2, 7, 2, args58, args60, attrs59, types72 },
    { 14, false, 3, 6, 0, 2, 6, 2, 8, 2, args58, args60, attrs60, types72 },
    { 22, false, 3, 6, 0, 2, 6, 2, 8, 2, args58, args60, attrs60, types73 }
};
static const OpVersion v_Gather[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 1, 2, args61, args3, attrs61, types74 },
    { 11, false, 2, 2, 1, 1, 2, 1, 1, 2, args61, args3, attrs61, types74 },
    { 13, false, 2, 2, 1, 1, 2, 1, 1, 2, args61, args3, attrs61, types31 }
};
static const OpVersion v_GatherElements[] = {
    { 11, false, 2, 2, 1, 1, 2, 1, 1, 2, args61, args3, attrs61, types74 },
    { 13, false, 2, 2, 1, 1, 2, 1, 1, 2, args61, args3, attrs61, types31 }
};
static const OpVersion v_GatherND[] = {
    { 11, false, 2, 2, 1, 1, 2, 1, 0, 2, args62, args3, NULL, types70 },
    { 12, false, 2, 2, 1, 1, 2, 1, 1, 2, args62, args3, attrs62, types70 },
    { 13, false, 2, 2, 1, 1, 2, 1, 1, 2, args62, args3, attrs62, types32 }
};
static const OpVersion v_Gelu[] = {
    { 20, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs63, types3 }
};
static const OpVersion v_Gemm[] = {
    { 1, false, 3, 3, 1, 1, 3, 1, 5, 1, args63, args1, attrs64, types0 },
    { 6, false, 3, 3, 1, 1, 3, 1, 5, 1, args63, args1, attrs64, types0 },
    { 7, false, 3, 3, 1, 1, 3, 1, 4, 1, args63, args1, attrs65, types0 },
    { 9, false, 3, 3, 1, 1, 3, 1, 4, 1, args63, args1, attrs65, types4 },
    { 11, false, 2, 3, 1, 1, 3, 1, 4, 1, args64, args1, attrs65, types4 },
    { 13, false, 2, 3, 1, 1, 3, 1, 4, 1, args64, args1, attrs65, types5 }
};
static const OpVersion v_GlobalAveragePool[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_GlobalLpPool[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs66, types0 },
    { 2, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs67, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs67, types3 }
};
static const OpVersion v_GlobalMaxPool[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Greater[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 2, args4, args8, attrs2, types61 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types61 },
    { 9, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types75 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types76 }
};
static const OpVersion v_GreaterOrEqual[] = {
    { 12, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types75 },
    { 16, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types76 }
};
static const OpVersion v_GridSample[] = {
    { 16, false, 2, 2, 1, 1, 2, 1, 3, 2, args65, args66, attrs68, types77 },
    { 20, false, 2, 2, 1, 1, 2, 1, 3, 2, args65, args66, attrs69, types77 },
    { 22, false, 2, 2, 1, 1, 2, 1, 3, 2, args65, args66, attrs69, types78 }
};
static const OpVersion v_GroupNormalization[] = {
    { 18, true, 3, 3, 1, 1, 3, 1, 2, 1, args67, args1, attrs70, types3 },
    { 21, false, 3, 3, 1, 1, 3, 1, 3, 1, args67, args1, attrs71, types3 }
};
static const OpVersion v_HammingWindow[] = {
    { 17, false, 1, 1, 1, 1, 1, 1, 2, 2, args24, args21, attrs20, types19 }
};
static const OpVersion v_HannWindow[] = {
    { 17, false, 1, 1, 1, 1, 1, 1, 2, 2, args24, args21, attrs20, types19 }
};
static const OpVersion v_HardSigmoid[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 3, 1, args0, args1, attrs72, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs73, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs73, types3 }
};
static const OpVersion v_HardSwish[] = {
    { 14, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Hardmax[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 11, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs74, types3 }
};
static const OpVersion v_Identity[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types35 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types36 },
    { 14, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types79 },
    { 16, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types80 },
    { 19, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types81 },
    { 21, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types82 },
    { 23, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types83 },
    { 24, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types84 },
    { 25, false, 1, 1, 1, 1, 1, 1, 0, 1, args68, args69, NULL, types85 }
};
static const OpVersion v_If[] = {
    { 1, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types86 },
    { 11, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types86 },
    { 13, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types87 },
    { 16, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types88 },
    { 19, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types89 },
    { 21, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types90 },
    { 23, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types91 },
    { 24, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types92 },
    { 25, false, 1, 1, 1, 255, 1, 1, 2, 2, args70, args71, attrs75, types93 }
};
static const OpVersion v_ImageDecoder[] = {
    { 20, false, 1, 1, 1, 1, 1, 1, 1, 2, args72, args73, attrs76, types94 }
};
static const OpVersion v_InstanceNormalization[] = {
    { 1, false, 3, 3, 1, 1, 3, 1, 2, 1, args74, args3, attrs77, types0 },
    { 6, false, 3, 3, 1, 1, 3, 1, 1, 1, args74, args3, attrs78, types0 },
    { 22, false, 3, 3, 1, 1, 3, 1, 1, 1, args74, args3, attrs78, types3 }
};
static const OpVersion v_IsInf[] = {
    { 10, false, 1, 1, 1, 1, 1, 1, 2, 2, args75, args76, attrs79, types95 },
    { 20, false, 1, 1, 1, 1, 1, 1, 2, 2, args75, args76, attrs79, types96 }
};
static const OpVersion v_IsNaN[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 2, args75, args76, NULL, types97 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 2, args75, args76, NULL, types98 },
    { 20, false, 1, 1, 1, 1, 1, 1, 0, 2, args75, args76, NULL, types96 }
};
static const OpVersion v_LRN[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 4, 1, args0, args1, attrs80, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 4, 1, args0, args1, attrs80, types3 }
};
static const OpVersion v_LSTM[] = {
    { 1, false, 3, 8, 0, 3, 8, 3, 8, 2, args77, args78, attrs81, types72 },
    { 7, false, 3, 8, 0, 3, 8, 3, 7, 2, args77, args78, attrs82, types72 },
    { 14, false, 3, 8, 0, 3, 8, 3, 8, 2, args77, args78, attrs83, types72 },
    { 22, false, 3, 8, 0, 3, 8, 3, 8, 2, args77, args78, attrs83, types73 }
};
static const OpVersion v_LayerNormalization[] = {
    { 17, false, 2, 3, 1, 3, 3, 3, 3, 2, args79, args80, attrs84, types99 }
};
static const OpVersion v_LeakyRelu[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs85, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs86, types0 },
    { 16, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs86, types3 }
};
static const OpVersion v_Less[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 2, args4, args8, attrs2, types61 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types61 },
    { 9, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types75 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types76 }
};
static const OpVersion v_LessOrEqual[] = {
    { 12, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types75 },
    { 16, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types76 }
};
static const OpVersion v_LinearAttention[] = {
    { 27, false, 3, 6, 2, 2, 6, 2, 5, 2, args81, args82, attrs87, types100 }
};
static const OpVersion v_Log[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_LogSoftmax[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 11, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs74, types3 }
};
static const OpVersion v_Loop[] = {
    { 1, false, 3, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types101 },
    { 11, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types101 },
    { 13, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types102 },
    { 16, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types103 },
    { 19, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types104 },
    { 21, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types105 },
    { 23, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types106 },
    { 24, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types107 },
    { 25, false, 2, 255, 1, 255, 3, 1, 1, 3, args83, args84, attrs88, types108 }
};
static const OpVersion v_LpNormalization[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs89, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs89, types3 }
};
static const OpVersion v_LpPool[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 5, 1, args0, args1, attrs90, types0 },
    { 2, false, 1, 1, 1, 1, 1, 1, 5, 1, args0, args1, attrs91, types0 },
    { 11, false, 1, 1, 1, 1, 1, 1, 5, 1, args0, args1, attrs91, types0 },
    { 18, false, 1, 1, 1, 1, 1, 1, 7, 1, args0, args1, attrs92, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 7, 1, args0, args1, attrs92, types3 }
};
static const OpVersion v_MatMul[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args1, NULL, types0 },
    { 9, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args1, NULL, types4 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args1, NULL, types5 }
};
static const OpVersion v_MatMulInteger[] = {
    { 10, false, 2, 4, 1, 1, 4, 1, 0, 3, args85, args86, NULL, types49 }
};
static const OpVersion v_Max[] = {
    { 1, false, 1, 255, 1, 1, 1, 1, 1, 1, args87, args88, attrs0, types0 },
    { 6, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args88, NULL, types0 },
    { 8, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args88, NULL, types0 },
    { 12, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args88, NULL, types1 },
    { 13, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args88, NULL, types2 }
};
static const OpVersion v_MaxPool[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 4, 1, args0, args1, attrs8, types0 },
    { 8, false, 1, 1, 1, 2, 1, 2, 5, 2, args0, args89, attrs93, types109 },
    { 10, false, 1, 1, 1, 2, 1, 2, 7, 2, args0, args89, attrs94, types109 },
    { 11, false, 1, 1, 1, 2, 1, 2, 7, 2, args0, args89, attrs94, types109 },
    { 12, false, 1, 1, 1, 2, 1, 2, 7, 2, args0, args89, attrs94, types110 },
    { 22, false, 1, 1, 1, 2, 1, 2, 7, 2, args0, args89, attrs94, types111 }
};
static const OpVersion v_MaxRoiPool[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 1, args90, args1, attrs95, types0 },
    { 22, false, 2, 2, 1, 1, 2, 1, 2, 1, args90, args1, attrs95, types3 }
};
static const OpVersion v_MaxUnpool[] = {
    { 9, false, 2, 3, 1, 1, 3, 1, 3, 2, args91, args42, attrs96, types112 },
    { 11, false, 2, 3, 1, 1, 3, 1, 3, 2, args91, args42, attrs96, types112 },
    { 22, false, 2, 3, 1, 1, 3, 1, 3, 2, args91, args42, attrs96, types6 }
};
static const OpVersion v_Mean[] = {
    { 1, false, 1, 255, 1, 1, 1, 1, 1, 1, args87, args92, attrs0, types0 },
    { 6, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args92, NULL, types0 },
    { 8, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args92, NULL, types0 },
    { 13, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args92, NULL, types3 }
};
static const OpVersion v_MeanVarianceNormalization[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs97, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs97, types3 }
};
static const OpVersion v_MelWeightMatrix[] = {
    { 17, false, 5, 5, 1, 1, 5, 1, 1, 3, args93, args94, attrs98, types113 }
};
static const OpVersion v_Min[] = {
    { 1, false, 1, 255, 1, 1, 1, 1, 1, 1, args87, args95, attrs0, types0 },
    { 6, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args95, NULL, types0 },
    { 8, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args95, NULL, types0 },
    { 12, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args95, NULL, types1 },
    { 13, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args95, NULL, types2 }
};
static const OpVersion v_Mish[] = {
    { 18, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Mod[] = {
    { 10, false, 2, 2, 1, 1, 2, 1, 1, 1, args4, args5, attrs99, types1 },
    { 13, false, 2, 2, 1, 1, 2, 1, 1, 1, args4, args5, attrs99, types2 },
    { 28, false, 2, 2, 1, 1, 2, 1, 1, 1, args4, args5, attrs99, types2 }
};
static const OpVersion v_Mul[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 3, 1, args4, args5, attrs1, types0 },
    { 6, false, 2, 2, 1, 1, 2, 1, 2, 1, args4, args5, attrs2, types4 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types4 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types5 },
    { 14, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types2 }
};
static const OpVersion v_Multinomial[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 3, 2, args20, args21, attrs100, types114 },
    { 22, false, 1, 1, 1, 1, 1, 1, 3, 2, args20, args21, attrs100, types52 }
};
static const OpVersion v_Neg[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types115 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types116 }
};
static const OpVersion v_NegativeLogLikelihoodLoss[] = {
    { 12, false, 2, 3, 1, 1, 3, 1, 2, 2, args96, args97, attrs101, types117 },
    { 13, false, 2, 3, 1, 1, 3, 1, 2, 2, args96, args97, attrs101, types117 },
    { 22, false, 2, 3, 1, 1, 3, 1, 2, 2, args96, args97, attrs101, types118 }
};
static const OpVersion v_NonMaxSuppression[] = {
    { 10, false, 2, 5, 1, 1, 5, 1, 1, 2, args98, args99, attrs102, types119 },
    { 11, false, 2, 5, 1, 1, 5, 1, 1, 2, args98, args99, attrs102, types119 }
};
static const OpVersion v_NonZero[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 2, args0, args100, NULL, types70 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 2, args0, args100, NULL, types32 }
};
static const OpVersion v_Not[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types120 }
};
static const OpVersion v_OneHot[] = {
    { 9, false, 3, 3, 1, 1, 3, 1, 1, 3, args101, args94, attrs74, types121 },
    { 11, false, 3, 3, 1, 1, 3, 1, 1, 3, args101, args94, attrs74, types121 },
    { 28, false, 3, 3, 1, 1, 3, 1, 1, 3, args101, args94, attrs74, types122 }
};
static const OpVersion v_Optional[] = {
    { 15, false, 0, 1, 1, 1, 1, 1, 1, 2, args102, args103, attrs103, types123 },
    { 28, false, 0, 1, 1, 1, 1, 1, 1, 2, args102, args103, attrs103, types124 }
};
static const OpVersion v_OptionalGetElement[] = {
    { 15, false, 1, 1, 1, 1, 1, 1, 0, 2, args104, args69, NULL, types125 },
    { 18, false, 1, 1, 1, 1, 1, 1, 0, 2, args104, args69, NULL, types126 },
    { 28, false, 1, 1, 1, 1, 1, 1, 0, 2, args104, args69, NULL, types127 }
};
static const OpVersion v_OptionalHasElement[] = {
    { 15, false, 1, 1, 1, 1, 1, 1, 0, 2, args104, args105, NULL, types128 },
    { 18, false, 0, 1, 1, 1, 1, 1, 0, 2, args106, args105, NULL, types129 },
    { 28, false, 0, 1, 1, 1, 1, 1, 0, 2, args106, args105, NULL, types130 }
};
static const OpVersion v_Or[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 2, args4, args8, attrs2, types7 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types7 }
};
static const OpVersion v_PRelu[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 1, 1, args107, args1, attrs0, types0 },
    { 6, false, 2, 2, 1, 1, 2, 1, 0, 1, args107, args1, NULL, types0 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 1, args107, args1, NULL, types0 },
    { 9, false, 2, 2, 1, 1, 2, 1, 0, 1, args107, args1, NULL, types4 },
    { 16, false, 2, 2, 1, 1, 2, 1, 0, 1, args107, args1, NULL, types5 }
};
static const OpVersion v_Pad[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 3, 1, args9, args3, attrs104, types0 },
    { 2, false, 1, 1, 1, 1, 1, 1, 3, 1, args9, args3, attrs105, types0 },
    { 11, false, 2, 3, 1, 1, 3, 1, 1, 2, args108, args3, attrs106, types8 },
    { 13, false, 2, 3, 1, 1, 3, 1, 1, 2, args108, args3, attrs106, types32 },
    { 18, false, 2, 4, 1, 1, 4, 1, 1, 3, args109, args3, attrs106, types131 },
    { 19, false, 2, 4, 1, 1, 4, 1, 1, 3, args109, args3, attrs106, types131 },
    { 21, false, 2, 4, 1, 1, 4, 1, 1, 3, args109, args3, attrs106, types132 },
    { 23, false, 2, 4, 1, 1, 4, 1, 1, 3, args109, args3, attrs106, types133 },
    { 24, false, 2, 4, 1, 1, 4, 1, 1, 3, args109, args3, attrs106, types134 },
    { 25, false, 2, 4, 1, 1, 4, 1, 1, 3, args109, args3, attrs106, types135 }
};
static const OpVersion v_Pow[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 1, args22, args23, attrs2, types0 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 1, args22, args23, NULL, types0 },
    { 12, false, 2, 2, 1, 1, 2, 1, 0, 2, args110, args23, NULL, types136 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args110, args23, NULL, types137 },
    { 15, false, 2, 2, 1, 1, 2, 1, 0, 2, args110, args23, NULL, types138 }
};
static const OpVersion v_QLinearConv[] = {
    { 10, false, 8, 9, 1, 1, 9, 1, 6, 5, args111, args38, attrs39, types139 }
};
static const OpVersion v_QLinearMatMul[] = {
    { 10, false, 8, 8, 1, 1, 8, 1, 0, 4, args112, args38, NULL, types140 },
    { 21, false, 8, 8, 1, 1, 8, 1, 0, 4, args113, args38, NULL, types141 }
};
static const OpVersion v_QuantizeLinear[] = {
    { 10, false, 2, 3, 1, 1, 3, 1, 0, 3, args114, args48, NULL, types142 },
    { 13, false, 2, 3, 1, 1, 3, 1, 1, 3, args114, args48, attrs47, types142 },
    { 19, false, 2, 3, 1, 1, 3, 1, 2, 2, args115, args48, attrs107, types143 },
    { 21, false, 2, 3, 1, 1, 3, 1, 4, 2, args115, args48, attrs108, types144 },
    { 23, false, 2, 3, 1, 1, 3, 1, 5, 3, args116, args38, attrs109, types145 },
    { 24, false, 2, 3, 1, 1, 3, 1, 5, 3, args116, args38, attrs109, types146 },
    { 25, false, 2, 3, 1, 1, 3, 1, 5, 3, args116, args38, attrs109, types147 },
    { 28, false, 2, 3, 1, 1, 3, 1, 5, 3, args116, args38, attrs109, types148 }
};
static const OpVersion v_RMSNormalization[] = {
    { 23, false, 2, 2, 1, 1, 2, 1, 3, 2, args117, args118, attrs84, types149 }
};
static const OpVersion v_RNN[] = {
    { 1, false, 3, 6, 0, 2, 6, 2, 7, 2, args58, args60, attrs110, types72 },
    { 7, false, 3, 6, 0, 2, 6, 2, 6, 2, args58, args60, attrs111, types72 },
    { 14, false, 3, 6, 0, 2, 6, 2, 7, 2, args58, args60, attrs112, types72 },
    { 22, false, 3, 6, 0, 2, 6, 2, 7, 2, args58, args60, attrs112, types73 }
};
static const OpVersion v_RandomNormal[] = {
    { 1, false, 0, 0, 1, 1, 0, 1, 5, 1, NULL, args3, attrs113, types0 },
    { 22, false, 0, 0, 1, 1, 0, 1, 5, 1, NULL, args3, attrs113, types3 }
};
static const OpVersion v_RandomNormalLike[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 4, 2, args20, args21, attrs114, types77 },
    { 22, false, 1, 1, 1, 1, 1, 1, 4, 2, args20, args21, attrs114, types78 }
};
static const OpVersion v_RandomUniform[] = {
    { 1, false, 0, 0, 1, 1, 0, 1, 5, 1, NULL, args3, attrs115, types0 },
    { 22, false, 0, 0, 1, 1, 0, 1, 5, 1, NULL, args3, attrs115, types3 }
};
static const OpVersion v_RandomUniformLike[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 4, 2, args20, args21, attrs116, types77 },
    { 22, false, 1, 1, 1, 1, 1, 1, 4, 2, args20, args21, attrs116, types78 }
};
static const OpVersion v_Range[] = {
    { 11, false, 3, 3, 1, 1, 3, 1, 0, 1, args119, args3, NULL, types150 },
    { 27, false, 3, 3, 1, 1, 3, 1, 1, 1, args119, args3, attrs117, types151 }
};
static const OpVersion v_Reciprocal[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_ReduceL1[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 }
};
static const OpVersion v_ReduceL2[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 }
};
static const OpVersion v_ReduceLogSum[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 },
    { 28, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types153 }
};
static const OpVersion v_ReduceLogSumExp[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 },
    { 28, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types153 }
};
static const OpVersion v_ReduceMax[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 12, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types154 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types155 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types156 },
    { 20, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types157 }
};
static const OpVersion v_ReduceMean[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 }
};
static const OpVersion v_ReduceMin[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 12, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types154 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types155 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types156 },
    { 20, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types157 }
};
static const OpVersion v_ReduceProd[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 }
};
static const OpVersion v_ReduceSum[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 }
};
static const OpVersion v_ReduceSumSquare[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 11, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types4 },
    { 13, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args120, attrs118, types5 },
    { 18, false, 1, 2, 1, 1, 2, 1, 2, 2, args121, args120, attrs119, types152 }
};
static const OpVersion v_RegexFullMatch[] = {
    { 20, false, 1, 1, 1, 1, 1, 1, 1, 2, args75, args76, attrs120, types158 }
};
static const OpVersion v_Relu[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 },
    { 14, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types116 }
};
static const OpVersion v_Reshape[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 2, 1, args9, args122, attrs121, types0 },
    { 5, false, 2, 2, 1, 1, 2, 1, 0, 2, args123, args122, NULL, types70 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args123, args122, NULL, types32 },
    { 14, false, 2, 2, 1, 1, 2, 1, 1, 2, args123, args122, attrs122, types32 },
    { 19, false, 2, 2, 1, 1, 2, 1, 1, 2, args123, args122, attrs122, types159 },
    { 21, false, 2, 2, 1, 1, 2, 1, 1, 2, args123, args122, attrs122, types160 },
    { 23, false, 2, 2, 1, 1, 2, 1, 1, 2, args123, args122, attrs122, types161 },
    { 24, false, 2, 2, 1, 1, 2, 1, 1, 2, args123, args122, attrs122, types162 },
    { 25, false, 2, 2, 1, 1, 2, 1, 1, 2, args123, args122, attrs122, types163 }
};
static const OpVersion v_Resize[] = {
    { 10, false, 2, 2, 1, 1, 2, 1, 1, 2, args124, args1, attrs123, types164 },
    { 11, false, 3, 4, 1, 1, 4, 1, 6, 4, args125, args66, attrs124, types165 },
    { 13, false, 1, 4, 1, 1, 4, 1, 6, 4, args126, args66, attrs124, types166 },
    { 18, false, 1, 4, 1, 1, 4, 1, 9, 4, args126, args66, attrs125, types166 },
    { 19, false, 1, 4, 1, 1, 4, 1, 9, 4, args126, args66, attrs125, types166 }
};
static const OpVersion v_ReverseSequence[] = {
    { 10, false, 2, 2, 1, 1, 2, 1, 2, 2, args127, args1, attrs126, types70 },
    { 28, false, 2, 2, 1, 1, 2, 1, 2, 2, args127, args1, attrs126, types32 }
};
static const OpVersion v_RoiAlign[] = {
    { 10, false, 3, 3, 1, 1, 3, 1, 5, 2, args128, args66, attrs127, types112 },
    { 16, false, 3, 3, 1, 1, 3, 1, 6, 2, args128, args66, attrs128, types112 },
    { 22, false, 3, 3, 1, 1, 3, 1, 6, 2, args128, args66, attrs128, types6 }
};
static const OpVersion v_RotaryEmbedding[] = {
    { 23, false, 3, 4, 1, 1, 4, 1, 3, 2, args129, args1, attrs129, types167 }
};
static const OpVersion v_Round[] = {
    { 11, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_STFT[] = {
    { 17, false, 2, 4, 1, 1, 4, 1, 1, 2, args130, args42, attrs130, types52 }
};
static const OpVersion v_Scan[] = {
    { 8, false, 2, 255, 1, 255, 2, 1, 3, 2, args131, args132, attrs131, types168 },
    { 9, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types169 },
    { 11, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types169 },
    { 16, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types170 },
    { 19, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types171 },
    { 21, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types172 },
    { 23, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types173 },
    { 24, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types174 },
    { 25, false, 1, 255, 1, 255, 1, 1, 6, 1, args133, args132, attrs132, types175 }
};
static const OpVersion v_Scatter[] = {
    { 9, false, 3, 3, 1, 1, 3, 1, 1, 2, args134, args3, attrs61, types74 },
    { 11, true, 3, 3, 1, 1, 3, 1, 1, 2, args134, args3, attrs61, types74 }
};
static const OpVersion v_ScatterElements[] = {
    { 11, false, 3, 3, 1, 1, 3, 1, 1, 2, args134, args3, attrs61, types74 },
    { 13, false, 3, 3, 1, 1, 3, 1, 1, 2, args134, args3, attrs61, types31 },
    { 16, false, 3, 3, 1, 1, 3, 1, 2, 2, args134, args3, attrs133, types31 },
    { 18, false, 3, 3, 1, 1, 3, 1, 2, 2, args134, args3, attrs133, types31 }
};
static const OpVersion v_ScatterND[] = {
    { 11, false, 3, 3, 1, 1, 3, 1, 0, 2, args135, args3, NULL, types70 },
    { 13, false, 3, 3, 1, 1, 3, 1, 0, 2, args135, args3, NULL, types32 },
    { 16, false, 3, 3, 1, 1, 3, 1, 1, 2, args135, args3, attrs134, types32 },
    { 18, false, 3, 3, 1, 1, 3, 1, 1, 2, args135, args3, attrs134, types32 }
};
static const OpVersion v_Selu[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 3, 1, args0, args1, attrs135, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs136, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs136, types3 }
};
static const OpVersion v_SequenceAt[] = {
    { 11, false, 2, 2, 1, 1, 2, 1, 0, 3, args136, args137, NULL, types176 }
};
static const OpVersion v_SequenceConstruct[] = {
    { 11, false, 1, 255, 1, 1, 1, 1, 0, 2, args33, args138, NULL, types177 }
};
static const OpVersion v_SequenceEmpty[] = {
    { 11, false, 0, 0, 1, 1, 0, 1, 1, 1, NULL, args139, attrs137, types178 }
};
static const OpVersion v_SequenceErase[] = {
    { 11, false, 1, 2, 1, 1, 2, 1, 0, 2, args140, args138, NULL, types179 }
};
static const OpVersion v_SequenceInsert[] = {
    { 11, false, 2, 3, 1, 1, 3, 1, 0, 3, args141, args138, NULL, types180 }
};
static const OpVersion v_SequenceLength[] = {
    { 11, false, 1, 1, 1, 1, 1, 1, 0, 2, args35, args142, NULL, types181 }
};
static const OpVersion v_SequenceMap[] = {
    { 17, false, 1, 255, 1, 255, 2, 1, 1, 2, args143, args144, attrs88, types182 }
};
static const OpVersion v_Shape[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args145, NULL, types183 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args145, NULL, types184 },
    { 15, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args145, attrs138, types184 },
    { 19, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args145, attrs138, types185 },
    { 21, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args145, attrs138, types186 },
    { 23, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args145, attrs138, types187 },
    { 24, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args145, attrs138, types188 },
    { 25, false, 1, 1, 1, 1, 1, 1, 2, 2, args9, args145, attrs138, types189 }
};
static const OpVersion v_Shrink[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs139, types1 }
};
static const OpVersion v_Sigmoid[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Sign[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types1 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types2 }
};
static const OpVersion v_Sin[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Sinh[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Size[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types183 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types184 },
    { 19, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types185 },
    { 21, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types186 },
    { 23, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types187 },
    { 24, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types188 },
    { 25, false, 1, 1, 1, 1, 1, 1, 0, 2, args9, args24, NULL, types189 }
};
static const OpVersion v_Slice[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 3, 1, args9, args3, attrs140, types35 },
    { 10, false, 3, 5, 1, 1, 5, 1, 0, 2, args146, args3, NULL, types74 },
    { 11, false, 3, 5, 1, 1, 5, 1, 0, 2, args146, args3, NULL, types74 },
    { 13, false, 3, 5, 1, 1, 5, 1, 0, 2, args146, args3, NULL, types31 }
};
static const OpVersion v_Softmax[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 11, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs47, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs74, types3 }
};
static const OpVersion v_SoftmaxCrossEntropyLoss[] = {
    { 12, false, 2, 3, 1, 2, 3, 2, 2, 2, args147, args148, attrs101, types117 },
    { 13, false, 2, 3, 1, 2, 3, 2, 2, 2, args147, args148, attrs101, types118 }
};
static const OpVersion v_Softplus[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Softsign[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_SpaceToDepth[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs45, types35 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs45, types36 },
    { 28, false, 1, 1, 1, 1, 1, 1, 2, 1, args2, args3, attrs46, types36 }
};
static const OpVersion v_Split[] = {
    { 1, false, 1, 2, 1, 255, 2, 1, 2, 1, args149, args150, attrs141, types0 },
    { 2, false, 1, 1, 1, 255, 1, 1, 2, 1, args2, args151, attrs142, types35 },
    { 11, false, 1, 1, 1, 255, 1, 1, 2, 1, args2, args151, attrs142, types35 },
    { 13, false, 1, 2, 1, 255, 2, 1, 1, 2, args152, args151, attrs61, types32 },
    { 18, false, 1, 2, 1, 255, 2, 1, 2, 2, args152, args151, attrs143, types32 }
};
static const OpVersion v_SplitToSequence[] = {
    { 11, false, 1, 2, 1, 1, 2, 1, 2, 3, args153, args138, attrs4, types190 },
    { 24, false, 1, 2, 1, 1, 2, 1, 2, 3, args153, args138, attrs4, types191 }
};
static const OpVersion v_Sqrt[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args0, args1, NULL, types3 }
};
static const OpVersion v_Squeeze[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args154, attrs28, types35 },
    { 11, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args154, attrs28, types35 },
    { 13, false, 1, 2, 1, 1, 2, 1, 0, 2, args121, args154, NULL, types32 },
    { 21, false, 1, 2, 1, 1, 2, 1, 0, 2, args121, args154, NULL, types160 },
    { 23, false, 1, 2, 1, 1, 2, 1, 0, 2, args121, args154, NULL, types161 },
    { 24, false, 1, 2, 1, 1, 2, 1, 0, 2, args121, args154, NULL, types162 },
    { 25, false, 1, 2, 1, 1, 2, 1, 0, 2, args121, args154, NULL, types163 }
};
static const OpVersion v_StringConcat[] = {
    { 20, false, 2, 2, 1, 1, 2, 1, 0, 1, args22, args23, NULL, types192 }
};
static const OpVersion v_StringNormalizer[] = {
    { 10, false, 1, 1, 1, 1, 1, 1, 4, 1, args155, args156, attrs144, types193 }
};
static const OpVersion v_StringSplit[] = {
    { 20, false, 1, 1, 2, 2, 1, 2, 2, 3, args75, args157, attrs145, types194 }
};
static const OpVersion v_Sub[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 3, 1, args4, args5, attrs1, types0 },
    { 6, false, 2, 2, 1, 1, 2, 1, 2, 1, args4, args5, attrs2, types4 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types4 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types5 },
    { 14, false, 2, 2, 1, 1, 2, 1, 0, 1, args4, args5, NULL, types2 }
};
static const OpVersion v_Sum[] = {
    { 1, false, 1, 255, 1, 1, 1, 1, 1, 1, args87, args158, attrs0, types0 },
    { 6, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args158, NULL, types0 },
    { 8, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args158, NULL, types0 },
    { 13, false, 1, 255, 1, 1, 1, 1, 0, 1, args87, args158, NULL, types3 }
};
static const OpVersion v_SwiGLU[] = {
    { 28, false, 2, 2, 1, 1, 2, 1, 1, 1, args4, args1, attrs27, types3 }
};
static const OpVersion v_Swish[] = {
    { 24, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types3 }
};
static const OpVersion v_Tan[] = {
    { 7, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_Tanh[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args2, args3, attrs0, types0 },
    { 6, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types0 },
    { 13, false, 1, 1, 1, 1, 1, 1, 0, 1, args2, args3, NULL, types3 }
};
static const OpVersion v_TensorScatter[] = {
    { 24, false, 2, 3, 1, 1, 3, 1, 2, 2, args159, args160, attrs146, types162 }
};
static const OpVersion v_TfIdfVectorizer[] = {
    { 9, false, 1, 1, 1, 1, 1, 1, 9, 2, args0, args66, attrs147, types195 }
};
static const OpVersion v_ThresholdedRelu[] = {
    { 10, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types0 },
    { 22, false, 1, 1, 1, 1, 1, 1, 1, 1, args0, args1, attrs27, types3 }
};
static const OpVersion v_Tile[] = {
    { 1, false, 3, 3, 1, 1, 3, 1, 0, 2, args161, args3, NULL, types196 },
    { 6, false, 2, 2, 1, 1, 2, 1, 0, 2, args162, args3, NULL, types183 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args162, args3, NULL, types184 }
};
static const OpVersion v_TopK[] = {
    { 1, false, 1, 1, 2, 2, 1, 2, 2, 2, args0, args163, attrs148, types109 },
    { 10, false, 2, 2, 2, 2, 2, 2, 1, 3, args164, args163, attrs74, types197 },
    { 11, false, 2, 2, 2, 2, 2, 2, 3, 3, args164, args163, attrs149, types198 },
    { 24, false, 2, 2, 2, 2, 2, 2, 3, 3, args164, args163, attrs149, types199 }
};
static const OpVersion v_Transpose[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args165, attrs150, types35 },
    { 13, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args165, attrs150, types36 },
    { 21, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args165, attrs150, types39 },
    { 23, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args165, attrs150, types40 },
    { 24, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args165, attrs150, types41 },
    { 25, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args165, attrs150, types42 }
};
static const OpVersion v_Trilu[] = {
    { 14, false, 1, 2, 1, 1, 2, 1, 1, 2, args166, args3, attrs151, types32 }
};
static const OpVersion v_Unique[] = {
    { 11, false, 1, 1, 1, 4, 1, 4, 2, 2, args0, args167, attrs152, types70 },
    { 28, false, 1, 1, 1, 4, 1, 4, 2, 2, args0, args167, attrs152, types32 }
};
static const OpVersion v_Unsqueeze[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args168, attrs153, types35 },
    { 11, false, 1, 1, 1, 1, 1, 1, 1, 1, args9, args168, attrs153, types35 },
    { 13, false, 2, 2, 1, 1, 2, 1, 0, 2, args169, args168, NULL, types32 },
    { 21, false, 2, 2, 1, 1, 2, 1, 0, 2, args169, args168, NULL, types160 },
    { 23, false, 2, 2, 1, 1, 2, 1, 0, 2, args169, args168, NULL, types161 },
    { 24, false, 2, 2, 1, 1, 2, 1, 0, 2, args169, args168, NULL, types162 },
    { 25, false, 2, 2, 1, 1, 2, 1, 0, 2, args169, args168, NULL, types163 }
};
static const OpVersion v_Upsample[] = {
    { 1, false, 1, 1, 1, 1, 1, 1, 3, 1, args0, args1, attrs154, types200 },
    { 7, false, 1, 1, 1, 1, 1, 1, 2, 1, args0, args1, attrs155, types35 },
    { 9, false, 2, 2, 1, 1, 2, 1, 1, 2, args124, args1, attrs123, types164 },
    { 10, true, 2, 2, 1, 1, 2, 1, 1, 2, args124, args1, attrs123, types164 }
};
static const OpVersion v_Where[] = {
    { 9, false, 3, 3, 1, 1, 3, 1, 0, 2, args170, args3, NULL, types201 },
    { 16, false, 3, 3, 1, 1, 3, 1, 0, 2, args170, args3, NULL, types202 }
};
static const OpVersion v_Xor[] = {
    { 1, false, 2, 2, 1, 1, 2, 1, 2, 2, args4, args8, attrs2, types7 },
    { 7, false, 2, 2, 1, 1, 2, 1, 0, 2, args4, args8, NULL, types7 }
};

const OpFacts onnx_facts[] = {
    { "Abs", v_Abs, 3 },
    { "Acos", v_Acos, 2 },
    { "Acosh", v_Acosh, 2 },
    { "Add", v_Add, 5 },
    { "AffineGrid", v_AffineGrid, 1 },
    { "And", v_And, 2 },
    { "ArgMax", v_ArgMax, 4 },
    { "ArgMin", v_ArgMin, 4 },
    { "Asin", v_Asin, 2 },
    { "Asinh", v_Asinh, 2 },
    { "Atan", v_Atan, 2 },
    { "Atanh", v_Atanh, 2 },
    { "Attention", v_Attention, 3 },
    { "AveragePool", v_AveragePool, 6 },
    { "BatchNormalization", v_BatchNormalization, 6 },
    { "Bernoulli", v_Bernoulli, 2 },
    { "BitCast", v_BitCast, 1 },
    { "BitShift", v_BitShift, 2 },
    { "BitwiseAnd", v_BitwiseAnd, 1 },
    { "BitwiseNot", v_BitwiseNot, 1 },
    { "BitwiseOr", v_BitwiseOr, 1 },
    { "BitwiseXor", v_BitwiseXor, 1 },
    { "BlackmanWindow", v_BlackmanWindow, 1 },
    { "Cast", v_Cast, 10 },
    { "CastLike", v_CastLike, 6 },
    { "CausalConvWithState", v_CausalConvWithState, 1 },
    { "Ceil", v_Ceil, 3 },
    { "Celu", v_Celu, 2 },
    { "CenterCropPad", v_CenterCropPad, 1 },
    { "Clip", v_Clip, 5 },
    { "Col2Im", v_Col2Im, 1 },
    { "Compress", v_Compress, 3 },
    { "Concat", v_Concat, 4 },
    { "ConcatFromSequence", v_ConcatFromSequence, 1 },
    { "Constant", v_Constant, 10 },
    { "ConstantOfShape", v_ConstantOfShape, 6 },
    { "Conv", v_Conv, 3 },
    { "ConvInteger", v_ConvInteger, 1 },
    { "ConvTranspose", v_ConvTranspose, 3 },
    { "Cos", v_Cos, 2 },
    { "Cosh", v_Cosh, 2 },
    { "CumProd", v_CumProd, 1 },
    { "CumSum", v_CumSum, 2 },
    { "DFT", v_DFT, 2 },
    { "DeformConv", v_DeformConv, 2 },
    { "DepthToSpace", v_DepthToSpace, 4 },
    { "DequantizeLinear", v_DequantizeLinear, 8 },
    { "Det", v_Det, 2 },
    { "Div", v_Div, 5 },
    { "Dropout", v_Dropout, 7 },
    { "DynamicQuantizeLinear", v_DynamicQuantizeLinear, 1 },
    { "Einsum", v_Einsum, 2 },
    { "Elu", v_Elu, 3 },
    { "Equal", v_Equal, 5 },
    { "Erf", v_Erf, 2 },
    { "Exp", v_Exp, 3 },
    { "Expand", v_Expand, 2 },
    { "EyeLike", v_EyeLike, 2 },
    { "Flatten", v_Flatten, 8 },
    { "Floor", v_Floor, 3 },
    { "GRU", v_GRU, 5 },
    { "Gather", v_Gather, 3 },
    { "GatherElements", v_GatherElements, 2 },
    { "GatherND", v_GatherND, 3 },
    { "Gelu", v_Gelu, 1 },
    { "Gemm", v_Gemm, 6 },
    { "GlobalAveragePool", v_GlobalAveragePool, 2 },
    { "GlobalLpPool", v_GlobalLpPool, 3 },
    { "GlobalMaxPool", v_GlobalMaxPool, 2 },
    { "Greater", v_Greater, 4 },
    { "GreaterOrEqual", v_GreaterOrEqual, 2 },
    { "GridSample", v_GridSample, 3 },
    { "GroupNormalization", v_GroupNormalization, 2 },
    { "HammingWindow", v_HammingWindow, 1 },
    { "HannWindow", v_HannWindow, 1 },
    { "HardSigmoid", v_HardSigmoid, 3 },
    { "HardSwish", v_HardSwish, 2 },
    { "Hardmax", v_Hardmax, 3 },
    { "Identity", v_Identity, 9 },
    { "If", v_If, 9 },
    { "ImageDecoder", v_ImageDecoder, 1 },
    { "InstanceNormalization", v_InstanceNormalization, 3 },
    { "IsInf", v_IsInf, 2 },
    { "IsNaN", v_IsNaN, 3 },
    { "LRN", v_LRN, 2 },
    { "LSTM", v_LSTM, 4 },
    { "LayerNormalization", v_LayerNormalization, 1 },
    { "LeakyRelu", v_LeakyRelu, 3 },
    { "Less", v_Less, 4 },
    { "LessOrEqual", v_LessOrEqual, 2 },
    { "LinearAttention", v_LinearAttention, 1 },
    { "Log", v_Log, 3 },
    { "LogSoftmax", v_LogSoftmax, 3 },
    { "Loop", v_Loop, 9 },
    { "LpNormalization", v_LpNormalization, 2 },
    { "LpPool", v_LpPool, 5 },
    { "MatMul", v_MatMul, 3 },
    { "MatMulInteger", v_MatMulInteger, 1 },
    { "Max", v_Max, 5 },
    { "MaxPool", v_MaxPool, 6 },
    { "MaxRoiPool", v_MaxRoiPool, 2 },
    { "MaxUnpool", v_MaxUnpool, 3 },
    { "Mean", v_Mean, 4 },
    { "MeanVarianceNormalization", v_MeanVarianceNormalization, 2 },
    { "MelWeightMatrix", v_MelWeightMatrix, 1 },
    { "Min", v_Min, 5 },
    { "Mish", v_Mish, 2 },
    { "Mod", v_Mod, 3 },
    { "Mul", v_Mul, 5 },
    { "Multinomial", v_Multinomial, 2 },
    { "Neg", v_Neg, 3 },
    { "NegativeLogLikelihoodLoss", v_NegativeLogLikelihoodLoss, 3 },
    { "NonMaxSuppression", v_NonMaxSuppression, 2 },
    { "NonZero", v_NonZero, 2 },
    { "Not", v_Not, 1 },
    { "OneHot", v_OneHot, 3 },
    { "Optional", v_Optional, 2 },
    { "OptionalGetElement", v_OptionalGetElement, 3 },
    { "OptionalHasElement", v_OptionalHasElement, 3 },
    { "Or", v_Or, 2 },
    { "PRelu", v_PRelu, 5 },
    { "Pad", v_Pad, 10 },
    { "Pow", v_Pow, 5 },
    { "QLinearConv", v_QLinearConv, 1 },
    { "QLinearMatMul", v_QLinearMatMul, 2 },
    { "QuantizeLinear", v_QuantizeLinear, 8 },
    { "RMSNormalization", v_RMSNormalization, 1 },
    { "RNN", v_RNN, 4 },
    { "RandomNormal", v_RandomNormal, 2 },
    { "RandomNormalLike", v_RandomNormalLike, 2 },
    { "RandomUniform", v_RandomUniform, 2 },
    { "RandomUniformLike", v_RandomUniformLike, 2 },
    { "Range", v_Range, 2 },
    { "Reciprocal", v_Reciprocal, 3 },
    { "ReduceL1", v_ReduceL1, 4 },
    { "ReduceL2", v_ReduceL2, 4 },
    { "ReduceLogSum", v_ReduceLogSum, 5 },
    { "ReduceLogSumExp", v_ReduceLogSumExp, 5 },
    { "ReduceMax", v_ReduceMax, 6 },
    { "ReduceMean", v_ReduceMean, 4 },
    { "ReduceMin", v_ReduceMin, 6 },
    { "ReduceProd", v_ReduceProd, 4 },
    { "ReduceSum", v_ReduceSum, 3 },
    { "ReduceSumSquare", v_ReduceSumSquare, 4 },
    { "RegexFullMatch", v_RegexFullMatch, 1 },
    { "Relu", v_Relu, 4 },
    { "Reshape", v_Reshape, 9 },
    { "Resize", v_Resize, 5 },
    { "ReverseSequence", v_ReverseSequence, 2 },
    { "RoiAlign", v_RoiAlign, 3 },
    { "RotaryEmbedding", v_RotaryEmbedding, 1 },
    { "Round", v_Round, 2 },
    { "STFT", v_STFT, 1 },
    { "Scan", v_Scan, 9 },
    { "Scatter", v_Scatter, 2 },
    { "ScatterElements", v_ScatterElements, 4 },
    { "ScatterND", v_ScatterND, 4 },
    { "Selu", v_Selu, 3 },
    { "SequenceAt", v_SequenceAt, 1 },
    { "SequenceConstruct", v_SequenceConstruct, 1 },
    { "SequenceEmpty", v_SequenceEmpty, 1 },
    { "SequenceErase", v_SequenceErase, 1 },
    { "SequenceInsert", v_SequenceInsert, 1 },
    { "SequenceLength", v_SequenceLength, 1 },
    { "SequenceMap", v_SequenceMap, 1 },
    { "Shape", v_Shape, 8 },
    { "Shrink", v_Shrink, 1 },
    { "Sigmoid", v_Sigmoid, 3 },
    { "Sign", v_Sign, 2 },
    { "Sin", v_Sin, 2 },
    { "Sinh", v_Sinh, 2 },
    { "Size", v_Size, 7 },
    { "Slice", v_Slice, 4 },
    { "Softmax", v_Softmax, 3 },
    { "SoftmaxCrossEntropyLoss", v_SoftmaxCrossEntropyLoss, 2 },
    { "Softplus", v_Softplus, 2 },
    { "Softsign", v_Softsign, 2 },
    { "SpaceToDepth", v_SpaceToDepth, 3 },
    { "Split", v_Split, 5 },
    { "SplitToSequence", v_SplitToSequence, 2 },
    { "Sqrt", v_Sqrt, 3 },
    { "Squeeze", v_Squeeze, 7 },
    { "StringConcat", v_StringConcat, 1 },
    { "StringNormalizer", v_StringNormalizer, 1 },
    { "StringSplit", v_StringSplit, 1 },
    { "Sub", v_Sub, 5 },
    { "Sum", v_Sum, 4 },
    { "SwiGLU", v_SwiGLU, 1 },
    { "Swish", v_Swish, 1 },
    { "Tan", v_Tan, 2 },
    { "Tanh", v_Tanh, 3 },
    { "TensorScatter", v_TensorScatter, 1 },
    { "TfIdfVectorizer", v_TfIdfVectorizer, 1 },
    { "ThresholdedRelu", v_ThresholdedRelu, 2 },
    { "Tile", v_Tile, 3 },
    { "TopK", v_TopK, 4 },
    { "Transpose", v_Transpose, 6 },
    { "Trilu", v_Trilu, 1 },
    { "Unique", v_Unique, 2 },
    { "Unsqueeze", v_Unsqueeze, 7 },
    { "Upsample", v_Upsample, 4 },
    { "Where", v_Where, 2 },
    { "Xor", v_Xor, 2 },
};
const int onnx_facts_count = 203;
