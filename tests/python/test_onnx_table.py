"""Is what `pt2onnx ops onnx::NAME` prints what ONNX says? Every version of every operator, against the onnx package's own schemas."""
import re
import subprocess

import numpy
import onnx
import pytest

import oracle

NUMPY = {"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2",
         "float8e5m2fnuz": "float8_e5m2fnuz", "float4e2m1": "float4_e2m1fn", "float8e8m0": "float8_e8m0fnu"}
UNNAMED = {"float6e2m3", "float6e3m2"}              # element types of opset 28 that pt2onnx has no name for: "and others"
MADE = {"": "", "seq(": "sequences of ", "optional(": "optionals of ", "optional(seq(": "optional sequences of "}


def schemas():
    out = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            out.setdefault(schema.name, {})[schema.since_version] = schema
    return out


SCHEMAS = schemas()


# ---- what is printed, read back ----

def sections(lines):
    """{title: [entry]} of one version."""
    out, title = {}, None
    for line in lines:
        title = line[4:15].strip() or title
        out.setdefault(title, []).append(line[15:])
    return out


def printed(name):
    """({version: (deprecated, sections)}, the versions that the head lists)"""
    text = subprocess.run([oracle.PROGRAM, "ops", "onnx::" + name], stdout=subprocess.PIPE, text=True, check=True).stdout
    head, *parts = text.split("\n\n")
    listed = re.match(r"onnx::%s changed in opset ([\d, ]+)\n" % name, head).group(1)
    out = {}
    for part in parts:
        first, *lines = part.splitlines()
        number, deprecated = re.fullmatch(r"opset (\d+)(: deprecated)?", first).groups()
        out[int(number)] = (deprecated is not None, sections(lines))
    return out, [int(v) for v in listed.split(", ")]


def types_of(line):
    """"T: float32; sequences of the same" as ("T", {"float32", "sequences of float32"})"""
    name, kinds = line.split(":")
    out, tensors = set(), []
    for kind in kinds.split("; "):
        made, words = re.fullmatch(r"((?:optional )?(?:sequences|optionals) of |)(.*)", kind.strip()).groups()
        words = tensors if words == "the same" else words.replace("and others", "others").split()
        tensors = tensors if made else words
        out.update(made + word for word in words)
    return name, out


# ---- the same of a schema ----

def formals(at, least):
    out = []
    for i, formal in enumerate(at):
        option = formal.option.name
        variadic = "%d or more" % (least - i) if least > i else "any number"
        more = {"Single": "", "Optional": " (optional)", "Variadic": " (%s%s)" % (variadic, "" if formal.is_homogeneous else ", each of its own type")}
        out.append("%s: %s%s" % (formal.name, formal.type_str, more[option]))
    return out


def constraint(allowed):
    out = set()
    for text in allowed:
        made, element = re.fullmatch(r"(.*?)tensor\((\w+)\)+", text).groups()
        out.add(MADE[made] + ("others" if element in UNNAMED else NUMPY.get(element, element)))
    return out


def same_attribute(line, name, about):
    kind = about.type.name.lower().replace("type_proto", "type").replace("sparse_tensor", "sparse tensor")
    text, required = line.removesuffix(" (required)"), line.endswith(" (required)")
    head, equals, value = text.partition(" = ")
    assert (head, required) == ("%s: %s" % (name, kind), about.required)
    default = about.default_value
    assert bool(equals) == bool(default.name or default.type), line
    if equals:
        default = onnx.helper.get_attribute_value(default)
        if kind == "string":
            assert value == '"%s"' % default.decode()
        elif kind == "float":
            assert numpy.float32(value) == numpy.float32(default)
        elif kind == "strings":
            assert value == ",".join(v.decode() for v in default)
        else:
            assert value == ",".join(map(str, default if isinstance(default, list) else [default]))


def test_the_table_has_every_operator():
    assert len(SCHEMAS) == 203


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_an_operator_is_printed_as_onnx_has_it(name):
    versions, listed = printed(name)
    assert listed == sorted(SCHEMAS[name]) == sorted(versions)
    for since, schema in SCHEMAS[name].items():
        deprecated, said = versions[since]
        assert deprecated == schema.deprecated
        assert said.get("inputs", []) == formals(schema.inputs, schema.min_input)
        assert said.get("outputs", []) == formals(schema.outputs, schema.min_output)
        attributes = said.get("attributes", [])
        assert len(attributes) == len(schema.attributes)
        for line, (key, about) in zip(attributes, sorted(schema.attributes.items())):
            same_attribute(line, key, about)
        assert dict(map(types_of, said.get("types", []))) == {t.type_param_str: constraint(t.allowed_type_strs) for t in schema.type_constraints}
