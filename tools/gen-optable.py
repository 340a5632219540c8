#!/usr/bin/env python3
"""Write src/onnx/optable_data.c: every operator of ONNX's default domain in every version, from the onnx package.

    python tools/gen-optable.py > src/onnx/optable_data.c        (onnx 1.23; the output depends on its version only)

The result is committed, so that a build needs neither Python nor onnx. It holds facts only: names, arities, type
constraints, attributes with defaults. Element types that DType does not name (the float6 kinds of opset 28) are one bit.
"""
import sys

import onnx
from onnx.defs import OpSchema

# DType of onnx.h by the name that schemas use
DTYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26,
}
ATTR_KINDS = {
    "INT": "ATTR_INT", "FLOAT": "ATTR_FLOAT", "STRING": "ATTR_STRING", "INTS": "ATTR_INTS", "FLOATS": "ATTR_FLOATS",
    "STRINGS": "ATTR_STRINGS", "TENSOR": "ATTR_TENSOR", "GRAPH": "ATTR_GRAPH", "TYPE_PROTO": "ATTR_TYPE",
    "SPARSE_TENSOR": "ATTR_NONE",       # no node of ours has one
}
OPTIONS = {OpSchema.FormalParameterOption.Single: 0, OpSchema.FormalParameterOption.Optional: 1,
           OpSchema.FormalParameterOption.Variadic: 2}
MANY = 255


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def count(n):
    return MANY if n > 254 else n


def default_text(attribute):
    """The default as text, or "": ints and floats as Python prints them, lists comma-separated."""
    value = attribute.default_value
    if not value.name and not value.type:
        return '""'
    value = onnx.helper.get_attribute_value(value)
    if isinstance(value, bytes):
        text = value.decode()
    elif isinstance(value, float):
        text = repr(float(f"{value:.9g}"))
    elif isinstance(value, int):
        text = str(value)
    else:
        text = ",".join(v.decode() if isinstance(v, bytes) else str(v) for v in value)
    assert text, attribute.name                     # "" is none
    return name_of(text, 20)


def type_bits(names):
    """The element types of tensors, of sequences, of optionals and of optional sequences. Bit 0: some that DType does not name."""
    bits = {"": 0, "seq(": 0, "optional(": 0, "optional(seq(": 0}
    for name in names:
        kind, tensor, dtype = name.rstrip(")").partition("tensor(")
        assert tensor, name
        bits[kind] |= 1 << DTYPES.get(dtype, 0)
    return list(bits.values())


class Pool:
    """Lists one behind the other in one array; equal ones stand there once."""

    def __init__(self, ctype, name):
        self.head, self.starts, self.lines, self.n = f"const {ctype} {name}[] = {{", {}, [], 0

    def add(self, rows):
        body = ", ".join(rows)
        if body not in self.starts:
            self.starts[body] = self.n
            self.n += len(rows)
            if rows:
                self.lines.append("    " + body + ",")
        return self.starts[body]

    def text(self):
        return [self.head] + self.lines + ["};"]


args, attrs, types = Pool("FormalArg", "onnx_args"), Pool("FormalAttr", "onnx_attrs"), Pool("FormalType", "onnx_types")


def name_of(text, most):
    """A name as the text of an array of so many characters."""
    assert len(text) < most, text
    return quote(text)


def arg_rows(formals):
    return [f"{{ {name_of(a.name, 32)}, {name_of(a.type_str, 16)}, {OPTIONS[a.option]}, {str(a.is_homogeneous).lower()} }}" for a in formals]


def type_rows(schema):
    """Type variables, and concrete types that arguments name directly."""
    rows = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
    for a in list(schema.inputs) + list(schema.outputs):
        if "(" in a.type_str:
            rows.setdefault(a.type_str, [a.type_str])
    out = []
    for name, allowed in rows.items():
        out.append("{ %s, %s }" % (name_of(name, 16), ", ".join(f"0x{bits:x}u" for bits in type_bits(allowed))))
    return out


def version_row(schema):
    inputs, outputs, ts = arg_rows(schema.inputs), arg_rows(schema.outputs), type_rows(schema)
    at = [f"{{ {name_of(name, 32)}, {ATTR_KINDS[a.type.name]}, {str(a.required).lower()}, {default_text(a)} }}"
          for name, a in sorted(schema.attributes.items())]
    return (f"{{ {schema.since_version}, {str(schema.deprecated).lower()}, "
            f"{count(schema.min_input)}, {count(schema.max_input)}, {count(schema.min_output)}, {count(schema.max_output)}, "
            f"{len(inputs)}, {len(outputs)}, {len(at)}, {len(ts)}, "
            f"{args.add(inputs)}, {args.add(outputs)}, {attrs.add(at)}, {types.add(ts)} }}")


def main():
    by_name = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            by_name.setdefault(schema.name, []).append(schema)
    names = sorted(by_name)
    versions, facts = [], []
    for name in names:
        facts.append(f"    {{ {name_of(name, 32)}, {len(versions)}, {len(by_name[name])} }},")
        versions += ["    " + version_row(s) + "," for s in sorted(by_name[name], key=lambda s: s.since_version)]
    out = ["/* optable_data.c - written by tools/gen-optable.py from onnx " + onnx.__version__ + "; do not edit.",
           " * " + f"{len(names)} operators in {sum(len(v) for v in by_name.values())} versions. */",
           '#include "onnx/internal.h"', ""]
    out += args.text() + [""] + attrs.text() + [""] + types.text() + [""]
    out += ["const VersionFacts onnx_versions[] = {"] + versions + ["};", "", "const OpFacts onnx_facts[] = {"] + facts
    out += ["};", f"const int onnx_facts_count = {len(names)};", ""]
    sys.stdout.write("\n".join(out))


if __name__ == "__main__":
    main()
