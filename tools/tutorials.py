#!/usr/bin/env python3
"""Print docs/tutorials.md from what tests/package has given under each torch (JUnit files: tests marked with rows).

    tools/tutorials.py build/package-1.13.0a0.xml build/package-2.13.0.xml > docs/tutorials.md

Its twin docs/zh-CN/tutorials.md is written by hand. Fails when a row has no test, or a test names a row that is not here. Python's own library only."""
import sys
import xml.etree.ElementTree as xml

ROWS = {
    "A": ("Calling export", {
        "A01": "export(model, args, f) writes one file", "A02": "every parameter of torch 1.8, by name and by position",
        "A03": "a module is exported as its trace", "A04": "traced and scripted modules are taken as they are",
        "A05": "`example_outputs` is taken", "A06": "`export_params=False`: weights become inputs", "A07": "`verbose` prints the graph",
        "A08": "`training`: evaluation by default, modes are given back", "A09": "`input_names`, `output_names`, and names without them",
        "A10": "the names feed the runtime", "A11": "`aten`, `export_raw_ir`", "A12": "only ONNX's own operators by default",
        "A13": "`opset_version`", "A14": "weights keep their names", "A15": "`do_constant_folding`", "A16": "`strip_doc_string`",
        "A17": "`dynamic_axes`", "A18": "`keep_initializers_as_inputs`", "A19": "`custom_opsets`", "A20": "invalid models are refused",
        "A21": "`use_external_data_format`", "A22": "structure and weights in one file"}),
    "B": ("Tracing and scripting", {
        "B01": "the loop model, traced and scripted, twice and three times", "B02": "a trace unrolls and shares its weights",
        "B03": "a script keeps its Loop", "B04": "the form of the Loop, run for 0 to 3 iterations", "B05": "a trace freezes a branch, a script keeps it",
        "B06": "a module and its trace give the same nodes", "B07": "the files pass onnx.checker, as viewers need"}),
    "C": ("dynamic_axes", {
        "C01": "fixed sizes by default", "C02": "a list of axes: generated names, and a warning", "C03": "a list of two axes",
        "C04": "a dict of names, no warning", "C05": "the static and the two dynamic models", "C06": "the nine lines: which input runs on which model",
        "C07": "the runtime's words about a wrong size", "C08": "about two wrong sizes", "C09": "every dynamic size has a name"}),
    "D": ("Techniques", {
        "D01": "`is_in_onnx_export()`", "D02": "`item()` and lists are frozen, with warnings", "D03": "sizes made Python numbers are constants",
        "D04": "Python numbers as inputs", "D05": "functions patched during export"}),
    "E": ("Looking up operators", {
        "E01": "one operator, several, or an error", "E02": "the words of a missing translation", "E03": "an ONNX operator's versions",
        "E04": "its inputs and types", "E05": "the operators that are known", "E06": "from which opset on", "E07": "bicubic from opset 11 on",
        "E08": "the Resize that it becomes", "E09": "all that is unsupported, at once", "E10": "asinh", "E11": "BitShift for bytes",
        "E12": "which input of Resize is the scale"}),
    "F": ("A scale that is an input", {
        "F01": "the Function that makes a Resize", "F02": "its forward is not exported", "F03": "the network around it, run with other scales",
        "F04": "attributes by suffix"}),
    "G": ("Adding operators", {
        "G01": "every remedy works", "G02": "finding an operator's schema", "G03": "the shape of a symbolic function", "G04": "`g.op`",
        "G05": "`symbolic_registry.register_op`", "G06": "it holds for its opset alone", "G07": "the asinh script", "G08": "its test feeds `'0'`",
        "G09": "deformable convolution has fourteen arguments", "G10": "and becomes an operator of a domain of one's own",
        "G11": "`register_custom_op_symbolic` holds from its opset on", "G12": "namespaces in `g.op`", "G13": "`parse_args`",
        "G14": "the C++ extension, built", "G15": "the Function over it", "G16": "its inputs are `a` and `b`", "G17": "its numbers are right",
        "G18": "its nodes", "G19": "operators made with torch.library"}),
    "H": ("Registering, in detail", {
        "H01": "the words of a failed export", "H02": "functions are called in the order of the nodes", "H03": "a function that returns None",
        "H04": "functions set on symbolic_opsetN", "H05": "`_scalar`", "H06": "the graph of a saved ELU", "H07": "without a translation",
        "H08": "MyRelu is a Clip", "H09": "PythonOp is told the Function's name", "H10": "both names of PythonOp",
        "H11": "its three calling forms", "H12": "`requiresGrad()`, `outputs()`", "H13": "Clip with attributes below opset 11",
        "H14": "`_unimplemented`", "H15": "`setType`", "H16": "a type set for a custom operator", "H17": "mode ONNX", "H18": "mode ONNX_ATEN",
        "H19": "mode ONNX_ATEN_FALLBACK", "H20": "RAW is refused by name", "H21": "mode ONNX_FALLTHROUGH",
        "H22": "a custom operator with attributes and a version", "H23": "versions only above 1", "H24": "types that symbolic functions test for"}),
}


def read(path):
    """{row: "holds" or the names of tests that do not}"""
    found = {}
    for case in xml.parse(path).getroot().iter("testcase"):
        rows = [p.get("value") for p in case.iter("property") if p.get("name") == "row"]
        bad = next((kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None), None)
        for row in rows:
            found.setdefault(row, []).append("%s: %s" % (bad, case.get("name")) if bad else "")
    return {row: "; ".join(r for r in results if r) or "holds" for row, results in found.items()}


def main(paths):
    results = [read(path) for path in paths]
    known = {row for _, rows in ROWS.values() for row in rows}
    for path, result in zip(paths, results):
        if known != set(result):
            sys.exit("%s: no test of %s; unknown %s" % (path, sorted(known - set(result)), sorted(set(result) - known)))
    print("# What the tutorials show\n\n[中文](zh-CN/tutorials.md)\n\n"
          "What the well-known tutorials on exporting PyTorch models do, row by row, with `torch.onnx` replaced by pt2onnx. Printed by\n"
          "`tools/tutorials.py` from the tests of `tests/package`, which hold our own scripts for each row. Each row ran under both torches.\n")
    for title, rows in ROWS.values():
        print("## %s\n\n| row | | torch 1.13 | torch 2.13 |\n|---|---|---|---|" % title)
        for row, text in rows.items():
            print("| %s | %s | %s | %s |" % (row, text, results[0][row], results[1][row]))
        print()


main(sys.argv[1:])
