"""test_found.py - what a program writes out in parts is one ONNX operator from the opset on that has it (src/tidy/find/find.rules): traced, as
torch.export writes it and in core ATen. What only looks like it stays as it is. ONNX Runtime agrees with torch in every form."""
import math

import numpy
import onnx
import pytest

import oracle

torch = pytest.importorskip("torch")
if not hasattr(getattr(torch, "export", None), "save"):
    pytest.skip("torch.export needs torch 2", allow_module_level=True)
F = torch.nn.functional


class Function(torch.nn.Module):
    def __init__(self, fn, *weights):
        super().__init__()
        self.fn = fn
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(w) for w in weights)

    def forward(self, *x):
        return self.fn(*x, *self.weights)


def numbers(*shape):
    return torch.linspace(-3, 3, math.prod(shape)).sin().mul(3).reshape(shape)


W, B = torch.linspace(0.5, 2, 8), torch.linspace(-1, 1, 8)


def rms_as_llama(x, w):
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return w * wide.to(x.dtype)


def rms_as_gemma(x, w):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + w.float())).type_as(x)


def rms_as_t5(x, w):
    x = x * torch.rsqrt(x.to(torch.float32).pow(2).mean(-1, keepdim=True) + 1e-6)
    return w * x.to(w.dtype)


def norm_by_hand(x, w, b):
    away = x - x.mean(-1, keepdim=True)
    return w * (away / torch.sqrt(away.pow(2).mean(-1, keepdim=True) + 1e-5)) + b


def norm_by_var(x, w, b):
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-12) * w + b


# operator: its first opset, and programs with their weights
FOUND = {
    "rms_as_llama": ("RMSNormalization", 23, rms_as_llama, W),
    "rms_as_gemma": ("RMSNormalization", 23, rms_as_gemma, W),
    "rms_as_t5": ("RMSNormalization", 23, rms_as_t5, W),
    "rms_without_weight": ("RMSNormalization", 23, lambda x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)),
    "rms_by_power": ("RMSNormalization", 23, lambda x, w: w * (x * (x.square().mean(-1, keepdim=True) + 1e-5) ** -0.5), W),
    "norm_by_hand": ("LayerNormalization", 17, norm_by_hand, W, B),
    "norm_by_var": ("LayerNormalization", 17, norm_by_var, W, B),
    "norm_without_bias": ("LayerNormalization", 17, lambda x, w: norm_by_var(x, w, 0 * w), W),
    "gelu": ("Gelu", 20, lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))),
    "gelu_at_the_end": ("Gelu", 20, lambda x: 0.5 * (x * (torch.erf(x * 0.7071067811865476) + 1))),
    "gelu_tanh": ("Gelu", 20, lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))),
    "gelu_fast": ("Gelu", 20, lambda x: 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))),
    "mish": ("Mish", 18, lambda x: x * torch.tanh(F.softplus(x))),
    "hardswish": ("HardSwish", 14, lambda x: x * F.relu6(x + 3) / 6),
    "hardswish_by_sixth": ("HardSwish", 14, lambda x: x * (F.relu6(x + 3) * (1 / 6))),
    "hardswish_by_clamp": ("HardSwish", 14, lambda x: x * torch.clamp(3 + x, 0, 6) / 6),
    "hardswish_by_minimum": ("HardSwish", 14, lambda x: x * torch.minimum(F.relu(x + 3), torch.tensor(6.)) / 6),
    "hardswish_by_extremes": ("HardSwish", 14, lambda x: x * torch.minimum(torch.maximum(x + 3, torch.tensor(0.)), torch.tensor(6.)) / 6),
    "hardswish_by_hardsigmoid": ("HardSwish", 14, lambda x: F.hardsigmoid(x) * x),
}

# what nearly is one: no operator of that name may stand for it
NEARLY = {
    "epsilon_outside": ("RMSNormalization", lambda x, w: w * (x / (torch.sqrt((x * x).mean(-1, keepdim=True)) + 1e-5)), W),
    "another_axis": ("RMSNormalization", lambda x: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-5)),
    "sum_for_mean": ("RMSNormalization", lambda x, w: w * (x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-5)), W),
    "cube_for_square": ("RMSNormalization", lambda x, w: w * (x * torch.rsqrt(x.pow(4).mean(-1, keepdim=True) + 1e-5)), W),
    "of_another": ("RMSNormalization", lambda x, w: w * ((x + 1) * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)), W),
    "root_for_its_inverse": ("RMSNormalization", lambda x, w: w * (x * torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)), W),
    "epsilon_of_each": ("RMSNormalization", lambda x, w: w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + w)), W),
    "root_is_wanted": ("RMSNormalization", lambda x, w: (lambda r: w * (x * r) + r)(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)), W),
    "one_weight_for_all": ("LayerNormalization", lambda x, w: norm_by_hand(x, w[:1], w[:1]), W),
    "weight_of_rows": ("LayerNormalization", lambda x, w: norm_by_hand(x, w[:4].reshape(4, 1), w[:4].reshape(4, 1)), W),
    "sample_variance": ("LayerNormalization", lambda x, w: (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5) * w, W),
    "gelu_of_another_factor": ("Gelu", lambda x: x * 0.5 * (1.0 + torch.erf(x / 1.4))),
    "gelu_of_another_half": ("Gelu", lambda x: x * 0.25 * (1.0 + torch.erf(x / math.sqrt(2.0)))),
    "gelu_tanh_of_another_cube": ("Gelu", lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.0447 * torch.pow(x, 3.0))))),
    "gelu_less_one": ("Gelu", lambda x: x * 0.5 * (torch.erf(x / math.sqrt(2.0)) - 1.0)),
    "mish_of_another": ("Mish", lambda x: (x + 1) * torch.tanh(F.softplus(x))),
    "mish_of_beta": ("Mish", lambda x: x * torch.tanh(F.softplus(x, beta=2))),
    "hardswish_to_five": ("HardSwish", lambda x: x * torch.clamp(x + 3, 0, 5) / 6),
    "hardswish_of_two": ("HardSwish", lambda x: x * F.relu6(x + 2) / 6),
}


def forms(program, inputs, folder):
    """Traced, as exported, and in core ATen."""
    torch.jit.save(torch.jit.trace(program, inputs), folder / "m.pt")
    exported = torch.export.export(program, inputs)
    torch.export.save(exported, folder / "m.pt2")
    torch.export.save(exported.run_decompositions(), folder / "core.pt2")
    return [folder / "m.pt", folder / "m.pt2", folder / "core.pt2"]


def found(model, folder, opset, inputs, want, tolerance=oracle.TOLERANCE):
    """The operators of the converted model, whose results have been compared."""
    oracle.converted(model, folder / "m.onnx", "-q", "--opset", str(opset))
    oracle.run(folder / "m.onnx", [([x.numpy() for x in inputs], [want.numpy()])], tolerance=tolerance)
    return [n.op_type for n in onnx.load(str(folder / "m.onnx")).graph.node]


@pytest.mark.parametrize("name", FOUND)
def test_found(tmp_path, name):
    operator, first, fn, *weights = FOUND[name]
    program, x = Function(fn, *weights).eval(), (numbers(2, 4, 8),)
    with torch.no_grad():
        want = program(*x)
    for form in forms(program, x, tmp_path):
        for opset in (9, first - 1, first, 26) if form.name == "m.pt" else (first - 1, first):
            got = found(form, tmp_path, opset, x, want)
            assert (operator in got) == (opset >= first), "%s at %d: %s" % (form.name, opset, got)
            assert opset < first or len(got) <= 2, got


@pytest.mark.parametrize("name", NEARLY)
def test_nearly(tmp_path, name):
    operator, fn, *weights = NEARLY[name]
    program, x = Function(fn, *weights).eval(), (numbers(2, 4, 8),)
    with torch.no_grad():
        want = program(*x)
    torch.jit.save(torch.jit.trace(program, x), tmp_path / "m.pt")
    got = found(tmp_path / "m.pt", tmp_path, 26, x, want)
    assert operator not in got, got


@pytest.mark.parametrize("alpha", [1.0, 1.702])
def test_swish_is_written_where_nobody_asks_for_a_kernel(tmp_path, alpha):
    torch.jit.save(torch.jit.trace(Function(lambda x: x * torch.sigmoid(alpha * x)), numbers(2, 4)), tmp_path / "m.pt")
    for target, wanted in (("onnx", ["Swish"]), ("ort", ["Sigmoid", "Mul"] if alpha == 1 else ["Mul", "Sigmoid", "Mul"])):
        oracle.converted(tmp_path / "m.pt", tmp_path / "m.onnx", "--opset=24", "--target=" + target)
        nodes = onnx.load(str(tmp_path / "m.onnx")).graph.node
        assert [n.op_type for n in nodes] == wanted
        assert target == "ort" or [round(a.f, 6) for a in nodes[0].attribute] == ([] if alpha == 1 else [alpha])


@pytest.mark.parametrize("dtype, wanted", [(torch.float64, ["Swish"]), (torch.float16, ["Sigmoid", "Mul"])])
def test_swish_of_other_types(tmp_path, dtype, wanted):
    torch.jit.save(torch.jit.trace(Function(lambda x: x * torch.sigmoid(x)), numbers(2, 4).to(dtype)), tmp_path / "m.pt")
    oracle.converted(tmp_path / "m.pt", tmp_path / "m.onnx", "--opset=24", "--target=onnx")
    assert [n.op_type for n in onnx.load(str(tmp_path / "m.onnx")).graph.node] == wanted


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", ["rms_as_llama", "rms_as_gemma", "rms_as_t5", "gelu", "hardswish", "norm_by_hand"])
def test_other_types(tmp_path, name, dtype):
    """Half precision is computed in float32 where the program does so; what it computes in half precision itself stays."""
    operator, _, fn, *weights = FOUND[name]
    dtype = getattr(torch, dtype)
    program, x = Function(fn, *(w.to(dtype) for w in weights)).eval(), (numbers(2, 4, 8).to(dtype),)
    with torch.no_grad():
        want = program(*x)
    widened = name.startswith("rms")
    torch.jit.save(torch.jit.trace(program, x), tmp_path / "m.pt")
    tolerance = 2 ** -9 if dtype == torch.float16 else 1e-6 if widened else 1e-11           # ONNX Runtime fuses norms itself, with a float32 epsilon
    got = found(tmp_path / "m.pt", tmp_path, 26, x, want, tolerance)
    assert widened or dtype == torch.float64 or operator not in got, got


def test_bfloat16_is_rounded_where_torch_does(tmp_path):
    """ONNX Runtime would normalise and scale in float32 and round once: the scale stays apart."""
    def program(x, w):
        return rms_as_llama(x.bfloat16(), w.bfloat16()).float()
    x = (numbers(2, 4, 8),)
    torch.jit.save(torch.jit.trace(Function(program, W).eval(), x), tmp_path / "m.pt")
    got = found(tmp_path / "m.pt", tmp_path, 23, x, program(*x, W), tolerance=0)
    assert "RMSNormalization" in got and "Mul" in got, got


# ---- rotary positions ----

FREQUENCY = 100.0 ** -(torch.arange(0, 8, 2) / 8)
ROWS = torch.arange(7)[None]


def turned(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


def turned_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def rotated(q, cos, sin):
    return q * cos + turned(q) * sin


def angles(rows):
    return rows[:, :, None].float() * FREQUENCY


def as_llama(q, rows, scale=1.0):
    both = torch.cat((angles(rows), angles(rows)), -1)
    return rotated(q, (both.cos() * scale).to(q.dtype).unsqueeze(1), (both.sin() * scale).to(q.dtype).unsqueeze(1))


def from_table(q, rows):
    table = torch.cat((angles(torch.arange(16)[None]),) * 2, -1)[0]
    return rotated(q, table.cos()[rows].unsqueeze(1), table.sin()[rows].unsqueeze(1))


def of_half(q, rows):
    first, second = q.chunk(2, -1)
    cos, sin = angles(rows).cos().unsqueeze(1), angles(rows).sin().unsqueeze(1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def of_part(q, rows):
    return torch.cat((as_llama(q[..., :8], rows), q[..., 8:]), -1)


def of_pairs(q, rows):
    both = angles(rows).repeat_interleave(2, -1).unsqueeze(1)
    return q * both.cos() + turned_pairs(q) * both.sin()


def before_heads(q, rows):
    """GPT-J: rows before heads, pairs, the first part."""
    q, both = q.transpose(1, 2), angles(rows)[:, :, None, :]
    part = q[..., :8]
    out = part * both.cos().repeat_interleave(2, 3) + turned_pairs(part) * both.sin().repeat_interleave(2, 3)
    return torch.cat((out, q[..., 8:]), -1).transpose(1, 2)


def unequal(q, rows):
    both = torch.cat((angles(rows), 2 * angles(rows)), -1).unsqueeze(1)
    return rotated(q, both.cos(), both.sin())


def other_sine(q, rows):
    both = torch.cat((angles(rows), angles(rows)), -1).unsqueeze(1)
    return rotated(q, both.cos(), torch.cat((angles(rows), -angles(rows)), -1).unsqueeze(1).sin())


def other_sign(q, rows):
    both = torch.cat((angles(rows), angles(rows)), -1).unsqueeze(1)
    return q * both.cos() + torch.cat((q[..., 4:], -q[..., :4]), -1) * both.sin()


def other_parts(q, rows):
    both = torch.cat((angles(rows), angles(rows)), -1).unsqueeze(1)
    return q * both.cos() + torch.cat((-q[..., 3:], q[..., :3]), -1) * both.sin()


def of_another(q, rows):
    both = torch.cat((angles(rows), angles(rows)), -1).unsqueeze(1)
    return q * both.cos() + turned(q + 1) * both.sin()


def one_row(q, rows):
    both = torch.cat((angles(rows[:, :1]), angles(rows[:, :1])), -1).unsqueeze(1) + 1
    return rotated(q, both.cos(), both.sin())


def of_each_head(q, rows):
    both = torch.cat((angles(rows), angles(rows)), -1).unsqueeze(1) * torch.arange(1.0, 4)[:, None, None]
    return rotated(q, both.cos(), both.sin())


def pairs_for_halves(q, rows):
    both = torch.cat((angles(rows), angles(rows)), -1).unsqueeze(1)
    return q * both.cos() + turned_pairs(q) * both.sin()


ROTARY = (as_llama, from_table, of_half, of_part, of_pairs, before_heads)
NEARLY_ROTARY = (unequal, other_sine, other_sign, other_parts, of_another, one_row, of_each_head, pairs_for_halves)


def traced(fn, inputs, folder):
    torch.jit.save(torch.jit.trace(Function(fn).eval(), inputs), folder / "m.pt")
    return folder / "m.pt"


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("fn", ROTARY, ids=lambda f: f.__name__)
def test_rotary(tmp_path, fn, batch):
    """Rows of each sample, and the same rows for all of them."""
    inputs = (numbers(2, 3, 7, 12 if fn in (of_part, before_heads) else 8), ROWS if batch == 1 else torch.cat((ROWS, ROWS + 5)))
    model, want = traced(fn, inputs, tmp_path), fn(*inputs)
    for opset in (11, 22, 23, 26):
        got = found(model, tmp_path, opset, inputs, want)
        assert (got.count("RotaryEmbedding") == 1) == (opset >= 23), "%d: %s" % (opset, got)
        assert opset < 23 or not {"Neg", "Slice", "Split"} & set(got), got


def test_rotary_of_open_sizes(tmp_path):
    """The cache of one sample is stretched to all, whatever their number is."""
    inputs = (numbers(2, 3, 7, 8), ROWS)
    model = traced(as_llama, inputs, tmp_path)
    oracle.converted(model, tmp_path / "m.onnx", "-q", "--opset", "23", "-i", "x:float32[N,3,S,8]", "-i", "rows:int64[1,S]")
    assert "RotaryEmbedding" in [n.op_type for n in onnx.load(str(tmp_path / "m.onnx")).graph.node]
    runs = [(numbers(n, 3, s, 8), torch.arange(s)[None]) for n, s in ((2, 7), (1, 1), (5, 3), (0, 2), (3, 0))]
    oracle.run(tmp_path / "m.onnx", [([q.numpy(), r.numpy()], [as_llama(q, r).numpy()]) for q, r in runs])


def test_rotary_of_half_precision(tmp_path):
    inputs = (numbers(2, 3, 7, 8).half(), ROWS)
    model = traced(as_llama, inputs, tmp_path)
    assert "RotaryEmbedding" in found(model, tmp_path, 23, inputs, as_llama(*inputs), tolerance=2 ** -10)
    wide = (inputs[0].double(), ROWS)
    assert "RotaryEmbedding" not in found(traced(as_llama, wide, tmp_path), tmp_path, 23, wide, as_llama(*wide), tolerance=1e-6)         # its angles are float32


@pytest.mark.parametrize("fn", NEARLY_ROTARY, ids=lambda f: f.__name__)
def test_nearly_rotary(tmp_path, fn):
    inputs = (numbers(2, 3, 7, 8), torch.cat((ROWS, ROWS + 5)))
    got = found(traced(fn, inputs, tmp_path), tmp_path, 23, inputs, fn(*inputs))
    assert "RotaryEmbedding" not in got, got


# ---- attention ----

Q, K, V = numbers(2, 4, 5, 8), numbers(2, 4, 6, 8).cos(), numbers(2, 4, 6, 8).sin()
UNSEEN = torch.ones(5, 6).tril(-1)                  # its first row sees nothing


def attend(**options):
    return lambda *x: F.scaled_dot_product_attention(*x, **options)


ATTENTION = {
    "plain": (attend(), Q, K, V),
    "half": (attend(), Q.half(), K.half(), V.half()),
    "mask": (attend(), Q, K, V, UNSEEN.bool()),
    "bias": (attend(), Q, K, V, UNSEEN.log()),
    "scale": (attend(scale=0.3), Q, K, V),
    "no_scale": (attend(scale=1.0), Q, K, V),
    "causal": (attend(is_causal=True), Q, K, V),
    "groups": (attend(enable_gqa=True), Q, K[:, :2], V[:, :2]),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_of_core_aten(tmp_path, name):
    fn, *inputs = ATTENTION[name]
    inputs, want = tuple(inputs), fn(*inputs)
    torch.export.save(torch.export.export(Function(fn).eval(), inputs).run_decompositions(), tmp_path / "core.pt2")
    for opset in (22, 23, 26):
        got = found(tmp_path / "core.pt2", tmp_path, opset, inputs, want, tolerance=2 ** -10 if name == "half" else oracle.TOLERANCE)
        assert ("Attention" in got) == (opset >= 23) and (opset < 23 or "Softmax" not in got), "%d: %s" % (opset, got)
        assert name in ("half", "groups") or opset < 23 or got == ["Attention"], got


def test_attention_of_open_sizes(tmp_path):
    n, rows = torch.export.Dim("n", min=1, max=64), torch.export.Dim("rows", min=3, max=64)
    inputs = tuple(numbers(2, 4, 5, 8) + i for i in range(3))
    program = torch.export.export(Function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)).eval(), inputs, dynamic_shapes={"x": ({0: n, 2: rows},) * 3})
    torch.export.save(program.run_decompositions(), tmp_path / "core.pt2")
    oracle.converted(tmp_path / "core.pt2", tmp_path / "m.onnx", "-q", "--opset", "23")
    assert [node.op_type for node in onnx.load(str(tmp_path / "m.onnx")).graph.node] == ["Attention"]
    runs = [tuple(numbers(n, 4, rows, 8) * i for i in (1, 2, 3)) for n, rows in ((2, 5), (1, 9), (3, 3))]
    oracle.run(tmp_path / "m.onnx", [([x.numpy() for x in r], [F.scaled_dot_product_attention(*r).numpy()]) for r in runs])


def apart(q, k, v, on_q=0.5, on_k=0.5, axis=-1, least=-math.inf):
    """As torch takes it apart."""
    scores = (q * on_q) @ (k.transpose(-2, -1) * on_k)
    weights = scores.softmax(axis)
    sees = (scores != least).to(torch.int32).amax(-1, keepdim=True) > 0
    return torch.where(sees, weights, torch.zeros(())) @ v


NEARLY_ATTENTION = {
    "two_scales": lambda q, k, v: apart(q, k, v, on_k=0.25),
    "over_rows": lambda q, k, v: apart(q, k, v, axis=-2),
    "of_another_least": lambda q, k, v: apart(q, k, v, least=0.0),
    "weights_are_wanted": lambda q, k, v: (lambda w: w @ v + w.sum())(((q * 0.5) @ (k.transpose(-2, -1) * 0.5)).softmax(-1)),
}


def test_attention_by_hand(tmp_path):
    assert "Attention" in found(traced(apart, (Q, K, V), tmp_path), tmp_path, 23, (Q, K, V), apart(Q, K, V))


@pytest.mark.parametrize("name", NEARLY_ATTENTION)
def test_nearly_attention(tmp_path, name):
    fn = NEARLY_ATTENTION[name]
    got = found(traced(fn, (Q, K, V), tmp_path), tmp_path, 23, (Q, K, V), fn(Q, K, V))
    assert "Attention" not in got, got


# ---- fold ----

FOLD = {
    "plain": (torch.nn.Fold((4, 5), (2, 2)), numbers(2, 12, 12)),
    "padded": (torch.nn.Fold((4, 5), (2, 2), padding=1, stride=2, dilation=(1, 2)), numbers(2, 12, 9)),
    "large": (torch.nn.Fold((32, 32), (3, 3), padding=1), numbers(2, 27, 1024)),
}


@pytest.mark.parametrize("name", FOLD)
def test_fold_of_core_aten(tmp_path, name):
    module, x = FOLD[name]
    torch.export.save(torch.export.export(module, (x,)).run_decompositions(), tmp_path / "core.pt2")
    for opset in (17, 18, 26):
        got = found(tmp_path / "core.pt2", tmp_path, opset, (x,), module(x))
        assert got == ["Col2Im"] if opset >= 18 else "Col2Im" not in got, "%d: %s" % (opset, got)


@pytest.mark.parametrize("rows", [[[0, 1, 2], [1, 2, 4]], [[0, 1, 3], [1, 2, 4]], [[1, 2, 3], [2, 3, 4]]])
def test_nearly_fold(tmp_path, rows):
    """Places that are on no line, or do not begin at 0."""
    columns = torch.arange(4)[None] + torch.arange(2)[:, None]

    def fn(x):
        image = torch.zeros(2, 3, 5, 5)
        return torch.ops.aten.index_put(image, [None, None, torch.tensor(rows)[:, :, None, None], columns], x.reshape(2, 3, 2, 2, 3, 4).permute(0, 1, 2, 4, 3, 5), accumulate=True)
    x = (numbers(2, 12, 12),)
    torch.export.save(torch.export.export(Function(fn).eval(), x).run_decompositions(), tmp_path / "core.pt2")
    got = found(tmp_path / "core.pt2", tmp_path, 26, x, fn(*x))
    assert "Col2Im" not in got and "ScatterND" in got, got
