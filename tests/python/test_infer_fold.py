"""test_infer_fold.py - our inference and folding against the onnx package.

The node test cases that the onnx package carries say what each operator gives; onnx.shape_inference says what it infers.
Each case is put to build/pt2onnx_tables in four forms: its inputs as they are declared, shape-like inputs as constants,
all sizes as symbols, and everything constant (folding). Element-wise folding is also compared, type by type, with
onnx.reference on numbers of every kind.
"""
import functools
import math
import os
import re
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

import oracle

PROGRAM = os.path.join(os.path.dirname(oracle.PROGRAM), "pt2onnx_tables")
NEWEST = 26
NAMES = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}


# ---- the program ----

def run_models(folder, models):
    """One run of the program over many models: a list of output lines, or of one "! message", per model."""
    paths = []
    for i, model in enumerate(models):
        paths.append(os.path.join(str(folder), "%d.onnx" % i))
        onnx.save(model, paths[-1])
    answers = []
    for at in range(0, len(paths), 500):
        done = subprocess.run([PROGRAM, "run", *paths[at:at + 500]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        for line in done.stdout.splitlines():
            if line.startswith("@ "):
                answers.append([])
            else:
                answers[-1].append(line)
    assert len(answers) == len(models)
    return answers


def read_line(line):
    """"float32[2,N] = 00ff" as (type, shape, bytes); shape None when the rank is unknown."""
    found = re.match(r"^(\w+)(\[(.*?)\])?(?: = ([0-9a-f]*)| ~ ?(.*))?$", line)
    if not found:
        return line, None, None, None
    dims = found.group(3)
    shape = None if dims in (None, "?") else [] if dims == "" else split_dims(dims)
    data = bytes.fromhex(found.group(4)) if found.group(4) is not None else None
    return found.group(1), shape, data, found.group(5)


def split_dims(text):
    out, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [d.strip() for d in out]


def value_of(dim, env):
    """A dim's number, or None when it has symbols of its own."""
    try:
        return int(dim)
    except ValueError:
        pass
    names = set(re.findall(r"[A-Za-z_]\w*", dim)) - {"min", "max"}
    return eval(dim, {"min": min, "max": max}, env) if names <= set(env) else None


# ---- the cases ----

def dtype_name(elem):
    return str(helper.tensor_dtype_to_np_dtype(elem)) if elem != TensorProto.STRING else "string"


def plain_tensors(values):
    return all(isinstance(v, np.ndarray) and v.dtype.kind in "fiubV" or isinstance(v, np.ndarray) and v.dtype.name == "bfloat16"
               for v in values)


def at_newest(model):
    """The model at our pinned opset, or None when some node means something else there."""
    if [o.domain for o in model.opset_import if o.domain != "ai.onnx"] != [""]:
        return None
    version = next(o.version for o in model.opset_import if o.domain == "")
    for node in model.graph.node:
        try:
            here = onnx.defs.get_schema(node.op_type, version)
            ours = onnx.defs.get_schema(node.op_type, NEWEST)
        except onnx.defs.SchemaError:
            return None
        # later versions only take more types, or an attribute more
        if here.since_version != ours.since_version and (version <= NEWEST or not {a.name for a in node.attribute} <= set(ours.attributes)):
            return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.opset_import[:]
    copy.opset_import.append(helper.make_opsetid("", NEWEST))
    try:
        onnx.shape_inference.infer_shapes(copy, check_type=True, strict_mode=True)
    except onnx.shape_inference.InferenceError:
        return None                                                 # a type that only the later opset takes
    return copy


@functools.lru_cache(maxsize=None)             # to collect them takes ten seconds: not where other tests are only looked for
def all_cases():
    seen = {}
    with np.errstate(all="ignore"):
        cases = collect_testcases(None)
    for case in cases:
        if case.model is None or not case.data_sets or "_expanded" in case.name or "training" in case.name or case.name in seen:
            continue
        model = at_newest(case.model)
        if model is None:
            continue
        if any(not i.type.HasField("tensor_type") for i in model.graph.input):
            continue
        inputs, outputs = ([np.asarray(v) if isinstance(v, np.generic) else v for v in side] for side in case.data_sets[0])
        if plain_tensors(inputs) and len(inputs) == len(model.graph.input):
            seen[case.name] = (case.name, model, list(inputs), list(outputs))
    return list(seen.values())


RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}


def with_inputs(model, inputs, constant, symbolic):
    """The model with some inputs as initializers, and sizes of the others as symbols; env gives their numbers."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    env = {}
    del copy.graph.input[:]
    for i, (info, value) in enumerate(zip(model.graph.input, inputs)):
        if constant(info, value):
            copy.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), info.name))
            continue
        dims = list(value.shape)
        if symbolic:
            env.update({"d%d_%d" % (i, k): d for k, d in enumerate(dims)})
            dims = ["d%d_%d" % (i, k) for k in range(len(dims))]
        copy.graph.input.append(helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, dims))
    return copy, env


def shape_like(info, value):
    return value.dtype.kind in "iu" and value.ndim <= 1 and value.size <= 64


FORMS = {
    "declared": (lambda info, value: False, False),
    "shapes constant": (shape_like, False),
    "symbolic": (shape_like, True),
    "constant": (lambda info, value: True, False),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    out = {}
    for form, (constant, symbolic) in FORMS.items():
        built = [with_inputs(model, inputs, constant, symbolic) for _, model, inputs, _ in all_cases()]
        lines = run_models(tmp_path_factory.mktemp(form.split()[0]), [m for m, _ in built])
        out[form] = [(answer, env) for answer, (_, env) in zip(lines, built)]
    return out


def in_table():
    missing = subprocess.run([PROGRAM, "missing"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return lambda model: not any(n.op_type in missing for n in model.graph.node)


def check_types(name, answer, env, outputs):
    """Complaints about types and sizes that cannot be those of the real outputs."""
    if answer and answer[0].startswith("!"):
        return ["%s: %s" % (name, answer[0])]
    bad = []
    for line, real in zip(answer, outputs):
        if not isinstance(real, np.ndarray):
            continue
        dtype, shape, _, _ = read_line(line)
        if dtype != ("string" if real.dtype.kind in "OUS" else str(real.dtype)):
            bad.append("%s: %s, but the output is %s" % (name, line, real.dtype))
        if shape is None:
            continue
        numbers = [value_of(d, env) for d in shape]
        if len(shape) != real.ndim or any(n is not None and n != r for n, r in zip(numbers, real.shape)):
            bad.append("%s: %s, but the output is %s" % (name, line, list(real.shape)))
    return bad


@pytest.mark.parametrize("form", list(FORMS))
def test_types(answers, form):
    known, bad, checked = in_table(), [], 0
    for (name, model, _, outputs), (answer, env) in zip(all_cases(), answers[form]):
        if known(model):
            checked += 1
            bad += check_types(name, answer, env, outputs)
    assert checked > 500
    assert not bad, "%d of %d:\n%s" % (len(bad), checked, "\n".join(bad))


def onnx_shapes(model):
    """What onnx.shape_inference says of each output: (type, dims or None)."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for o in bare.graph.output:
        o.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True)
    out = []
    for o in inferred.graph.output:
        t = o.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim] if t.HasField("shape") else None
        out.append((t.elem_type, dims))
    return out


def test_knows_what_onnx_knows(answers):
    """A size or rank that onnx.shape_inference finds, we find too."""
    known, bad, checked = in_table(), [], 0
    for (name, model, inputs, outputs), (answer, _) in zip(all_cases(), answers["shapes constant"]):
        if not known(model) or (answer and answer[0].startswith("!")):
            continue
        theirs = onnx_shapes(with_inputs(model, inputs, shape_like, False)[0])
        for line, (elem, dims), real in zip(answer, theirs, outputs):
            if dims is None or not isinstance(real, np.ndarray):
                continue
            checked += 1
            _, shape, _, _ = read_line(line)
            if shape is None or any(d is not None and not s.isdigit() for s, d in zip(shape, dims)):
                bad.append("%s: %s, but onnx knows %s" % (name, line, dims))
    assert checked > 400
    assert not bad, "\n".join(bad)


# ---- folding ----

TOLERANCE = {"float32": 2e-6, "float64": 1e-12, "float16": 2e-3, "bfloat16": 1.6e-2}


def numbers(data, dtype, shape):
    return np.frombuffer(data, dtype=np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)).reshape(shape)


def differs(got, want):
    if got.dtype.kind in "iub":
        return not np.array_equal(got, want)
    near = TOLERANCE[str(got.dtype)]
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0)
    return not np.allclose(got, want, rtol=near, atol=near * scale, equal_nan=True)


def check_values(name, answer, outputs):
    bad = []
    for line, real in zip(answer, outputs):
        dtype, shape, data, _ = read_line(line)
        if data is not None and isinstance(real, np.ndarray) and str(real.dtype) == dtype and dtype in TOLERANCE or \
                data is not None and isinstance(real, np.ndarray) and real.dtype.kind in "iub" and real.dtype.itemsize * real.size == len(data):
            got = numbers(data, dtype, [int(d) for d in shape])
            if differs(got, real):
                bad.append("%s: %s\n  got  %s\n  want %s" % (name, line[:60], got.ravel()[:8], real.ravel()[:8]))
    return bad


def test_folding(answers):
    bad, folded = [], set()
    for (name, model, _, outputs), (answer, _) in zip(all_cases(), answers["constant"]):
        if any(n.op_type in RANDOM for n in model.graph.node) or (answer and answer[0].startswith("!")):
            continue
        if any(" = " in line for line in answer):
            folded.update(n.op_type for n in model.graph.node)
        bad += check_values(name, answer, outputs)
    assert not bad, "%d:\n%s" % (len(bad), "\n".join(bad))
    table = set(subprocess.run([PROGRAM, "folds"], stdout=subprocess.PIPE, text=True, check=True).stdout.split())
    # each operator that folds is folded by a case of the package, or by the tests below
    assert table - folded <= {"Cast", "CastLike"} | set(ELEMENTWISE), sorted(table - folded)


# ---- element-wise operators, type by type ----

ELEMENTWISE = ("Abs Add And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Clip Cos Div Elu Equal Erf Exp Floor Gelu Greater "
               "GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu "
               "Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Sub Sum Swish Tanh Where Xor").split()
TYPES = {"tensor(float)": TensorProto.FLOAT, "tensor(double)": TensorProto.DOUBLE, "tensor(float16)": TensorProto.FLOAT16,
         "tensor(bfloat16)": TensorProto.BFLOAT16, "tensor(bool)": TensorProto.BOOL, "tensor(int8)": TensorProto.INT8,
         "tensor(int16)": TensorProto.INT16, "tensor(int32)": TensorProto.INT32, "tensor(int64)": TensorProto.INT64,
         "tensor(uint8)": TensorProto.UINT8, "tensor(uint16)": TensorProto.UINT16, "tensor(uint32)": TensorProto.UINT32,
         "tensor(uint64)": TensorProto.UINT64}


def some_numbers(rng, dtype, shape, op, second):
    size = int(np.prod(shape))
    if dtype.kind == "b":
        v = rng.integers(0, 2, size).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        v = rng.integers(max(info.min, -100), min(info.max, 100), size).astype(dtype)
        if op in ("Add", "Sub", "Mul", "Max", "Min", "Neg", "Equal", "Less", "BitwiseAnd") and size > 1:
            v[0], v[-1] = info.max, info.min                        # wraps
        if op in ("Div", "Mod") and second:
            v[v == 0] = 3
        if op == "Pow":
            v = np.abs(v % 5).astype(dtype)
    else:
        v = rng.standard_normal(size).astype(np.float32) * 3
        if size > 4 and op not in ("Pow", "Mod"):
            v[:4] = [np.nan, np.inf, -np.inf, -0.0]
        v = v.astype(dtype)
    return v.reshape(shape)


def in_numpy(op, x):
    """What the operator is, where onnx.reference approximates or lacks it; computed wide and rounded once."""
    wide = [v.astype(np.float64) for v in x]
    one = {"Erf": np.vectorize(math.erf), "Gelu": lambda a: 0.5 * a * np.vectorize(math.erfc)(-a * 0.5 ** 0.5), "Mish": lambda a: a * np.tanh(np.log1p(np.exp(-np.abs(a))) + np.maximum(a, 0)), "Softplus": lambda a: np.log1p(np.exp(-np.abs(a))) + np.maximum(a, 0),
           "HardSwish": lambda a: a * np.clip(a / 6 + 0.5, 0, 1), "Sigmoid": lambda a: 1 / (1 + np.exp(-a)), "Swish": lambda a: a / (1 + np.exp(-a)),
           "Softsign": lambda a: a / (1 + np.abs(a)), "Round": np.rint, "Relu": lambda a: np.where(np.isnan(a), a, np.maximum(a, 0)), "Sign": np.sign,
           "Reciprocal": lambda a: 1 / a, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log, "Tanh": np.tanh, "Sin": np.sin, "Cos": np.cos,
           "Ceil": np.ceil, "Floor": np.floor, "Abs": np.abs, "Neg": np.negative, "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
           "Max": np.maximum, "Min": np.minimum, "Sum": np.add, "Pow": np.power}
    return one[op](*wide).astype(x[0].dtype) if op in one and x[0].dtype.kind not in "iub" else None


def type_cases():
    rng = np.random.default_rng(7)
    for op in ELEMENTWISE:
        schema = onnx.defs.get_schema(op, NEWEST)
        constraint = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
        count = 2 if schema.inputs[0].option == onnx.defs.OpSchema.FormalParameterOption.Variadic else \
            3 if op == "Clip" else schema.min_input
        variable = schema.inputs[1].type_str if op == "Where" else schema.inputs[0].type_str
        for name in sorted(set(constraint[variable]) & set(TYPES)):
            dtype = helper.tensor_dtype_to_np_dtype(TYPES[name])
            shapes = [(2, 3, 5), (3, 1), (1, 5)][:count]
            if op == "Clip":
                shapes = [(2, 3, 5), (), ()]
            x = [some_numbers(rng, dtype, s, op, i) for i, s in enumerate(shapes)]
            if op == "Where":
                x[0] = rng.integers(0, 2, shapes[0]).astype(bool)
            if op == "Clip":
                x[1], x[2] = np.array(1).astype(dtype), np.array(4).astype(dtype)
            attrs = {"fmod": 1} if op == "Mod" and x[0].dtype.kind not in "iub" else {}
            yield op, name, x, attrs


def test_elementwise_types(tmp_path):
    models, wanted, names = [], [], []
    with np.errstate(all="ignore"):
        for op, name, x, attrs in type_cases():
            inputs = ["x%d" % i for i in range(len(x))]
            out_type = helper.np_dtype_to_tensor_dtype(x[-1].dtype)
            if onnx.defs.get_schema(op, NEWEST).outputs[0].type_str != onnx.defs.get_schema(op, NEWEST).inputs[-1].type_str and op not in ("Pow", "PRelu"):
                out_type = TensorProto.BOOL
            graph = helper.make_graph([helper.make_node(op, inputs, ["y"], **attrs)], op,
                                      [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(inputs, x)],
                                      [helper.make_tensor_value_info("y", out_type, None)])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", NEWEST)])
            want = in_numpy(op, x)
            if want is None:
                try:
                    want = onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(inputs, x)))[0]
                except (TypeError, ValueError, RuntimeError, NotImplementedError):
                    continue                                        # the reference does not have this type
            models.append(with_inputs(model, x, lambda info, value: True, False)[0])
            wanted.append(want)
            names.append("%s %s" % (op, name))
    assert len(models) > 250
    bad = []
    for name, answer, want in zip(names, run_models(tmp_path, models), wanted):
        if answer[0].startswith("!") or " = " not in answer[0]:
            bad.append("%s: not folded: %s" % (name, answer[0]))
        else:
            bad += check_values(name, answer, [np.asarray(want)])
    assert not bad, "%d of %d:\n%s" % (len(bad), len(models), "\n".join(bad))


# ---- Cast: every pair of types ----

def cast_model(op, value, to):
    y = helper.make_tensor_value_info("y", to, None)
    tensors = [numpy_helper.from_array(value, "x")]
    if op == "CastLike":
        tensors.append(numpy_helper.from_array(np.zeros(1, helper.tensor_dtype_to_np_dtype(to)), "like"))
    node = helper.make_node(op, [t.name for t in tensors], ["y"], **({"to": to} if op == "Cast" else {}))
    return helper.make_model(helper.make_graph([node], "cast", [], [y], tensors), opset_imports=[helper.make_opsetid("", NEWEST)])


def cast_numbers(dtype, to):
    """Numbers of one type whose cast to the other ONNX defines."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 100, info.max, info.min, info.max - 1, info.max // 3], dtype)
    v = np.array([0.0, -0.0, 0.5, 1.5, 2.5, 99.99, 1e-7, 65519.9, 65520.0, 3e38, np.inf, -np.inf, np.nan, 1.00048828125, 1 + 2 ** -11 + 2 ** -26])
    if to.kind in "iu":
        v = np.array([0.0, -0.0, 0.5, 1.5, 2.5, 99.99, 1e-7])
    return v.astype(dtype)


def test_cast(tmp_path):
    models, wanted, names = [], [], []
    with np.errstate(all="ignore"):
        for from_name, from_type in TYPES.items():
            for to_name, to_type in TYPES.items():
                to = helper.tensor_dtype_to_np_dtype(to_type)
                value = cast_numbers(helper.tensor_dtype_to_np_dtype(from_type), to)
                for op in ("Cast", "CastLike"):
                    models.append(cast_model(op, value, to_type))
                    exact = value if value.dtype.kind in "iub" or to.itemsize > 4 else value.astype(np.float64)
                    wanted.append(exact.astype(to))
                    names.append("%s %s to %s" % (op, from_name, to_name))
    bad = []
    for name, answer, want in zip(names, run_models(tmp_path, models), wanted):
        dtype, shape, data, _ = read_line(answer[0])
        if data is None:
            bad.append("%s: not folded: %s" % (name, answer[0]))
            continue
        got = numbers(data, dtype, [int(d) for d in shape])
        same = np.array_equal(got, want) if got.dtype.kind in "iub" else np.array_equal(got.astype(np.float64), want.astype(np.float64), equal_nan=True)
        if not same:
            bad.append("%s: got %s, want %s" % (name, got, want))
    assert not bad, "\n".join(bad)


def test_cast_out_of_range_stays(tmp_path):
    """What ONNX leaves open is left to the runtime."""
    big = np.array([3e9, 1.0], np.float32)
    for answer in run_models(tmp_path, [cast_model("Cast", v, TensorProto.INT32) for v in (big, -big, big * np.float32("nan"))]):
        assert answer == ["int32[2]"]
