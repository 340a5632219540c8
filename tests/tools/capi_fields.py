"""The structs of python/pt2onnx/_capi.py have the fields of include/pt2onnx.h, in their order; that of examples/rust has the first of
them. usage: capi_fields.py TOP"""
import ast
import os
import re
import sys

STRUCTS = {"Options": "pt2onnx_options", "Tensor": "pt2onnx_tensor", "Attr": "pt2onnx_attr", "Type": "pt2onnx_type", "Node": "pt2onnx_node",
           "Graph": "pt2onnx_graph", "Trace": "pt2onnx_trace"}
PYTHON_NAMES = {"inputs": "in", "outputs": "out"}               # `in` is a keyword


def of_header(text, struct):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (struct, struct), text, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    names = []
    for part in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)\s*\(", part)          # a callback
        names += [pointer.group(1)] if pointer else [re.search(r"(\w+)\s*$", p).group(1) for p in part.split(",") if p.strip()]
    return names


def of_python(path):
    found = {}
    for node in ast.walk(ast.parse(open(path).read())):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        name = None
        if isinstance(node, ast.ClassDef):
            fields = [n for n in node.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "_fields_"]
            name, value = (node.name, fields[0].value) if fields else (None, None)
        elif isinstance(target, ast.Attribute) and target.attr == "_fields_":
            name, value = target.value.id, node.value
        if name:
            found[name] = [item.elts[0].value for item in value.elts]
    return found


def of_rust(path):
    body = re.search(r"pub struct Options \{(.*?)\}", open(path).read().split("mod c {")[1], re.S).group(1)
    return re.findall(r"pub (\w+):", body)


def main(top):
    header = open(os.path.join(top, "include", "pt2onnx.h")).read()
    python = of_python(os.path.join(top, "python", "pt2onnx", "_capi.py"))
    for mine, theirs in STRUCTS.items():
        here, there = python[mine], of_header(header, theirs)
        renamed = [PYTHON_NAMES.get(n, n) if mine in ("Node", "Graph") else n for n in here]
        if renamed != there:
            wrong = next((i for i, (a, b) in enumerate(zip(renamed, there)) if a != b), min(len(here), len(there)))
            sys.exit("%s: field %d of %s in _capi.py is %s, in pt2onnx.h %s" % (theirs, wrong, mine, renamed[wrong:wrong + 1], there[wrong:wrong + 1]))
    rust = of_rust(os.path.join(top, "examples", "rust", "src", "pt2onnx.rs"))
    there = of_header(header, "pt2onnx_options")[:len(rust)]
    if not rust or rust != there:
        sys.exit("pt2onnx_options begins with %s, in examples/rust with %s" % (there, rust))
    print("%d structs agree" % (len(STRUCTS) + 1))


main(sys.argv[1])
