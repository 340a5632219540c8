"""The quantised programs that PyTorch's own tests load (test/quantization/serialized, saved by PyTorch 1.3 to 1.7), with the inputs and the results that lie beside them:
in ONNX Runtime's default session and without its optimizations. Debian's source package of PyTorch has them; tools/torch-suite-source fetches it into the cache."""
import glob
import os
import subprocess

import numpy
import onnxruntime
import pytest
import torch

import oracle

NAMES = ["conv2d", "conv2d_graph", "conv2d_graph_v2", "conv2d_graph_v3", "conv2d_nobias", "conv2d_nobias_graph", "conv2d_nobias_graph_v2", "conv2d_nobias_graph_v3", "conv2d_relu",
         "conv3d", "conv3d_relu", "linear", "linear_dynamic_float16", "linear_dynamic_qint8", "linear_relu", "lstm"]
TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64, "tensor(uint8)": numpy.uint8}


@pytest.fixture(scope="session")
def folder():
    source = os.path.join(oracle.CACHE, "torch-suite", "source")
    done = subprocess.run(["sh", os.path.join(oracle.TOP, "tools", "torch-suite-source"), source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        pytest.skip("the source package of PyTorch cannot be fetched here: " + done.stdout[-200:])
    return os.path.join(source, "test", "quantization", "serialized", "TestSerialization.test_")


def flat(value):
    return [t for v in value for t in flat(v)] if isinstance(value, (tuple, list)) else [value]


def parts(t):
    """A quantised tensor is three values of the model: integers, scale, zero point."""
    return [t.int_repr().numpy(), numpy.array(t.q_scale()), numpy.array(t.q_zero_point())] if t.is_quantized else [t.numpy()]


def loaded(path):
    return torch.load(path, weights_only=False)


def saturated(a, b):
    """The product of uint8 and int8 matrices as processors with AVX2, but without VNNI, compute it: two products at a time are added in 16 bits."""
    odd = a.shape[-1] % 2
    a, b = numpy.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, odd)]), numpy.pad(b, [(0, odd), (0, 0)])
    pairs = (a[..., :, None] * b).reshape(*a.shape[:-1], -1, 2, b.shape[-1]).sum(-2)
    return numpy.clip(pairs, -2 ** 15, 2 ** 15 - 1).sum(-2)


@pytest.mark.parametrize("kind", ["scripted", "traced"])
@pytest.mark.parametrize("name", NAMES)
def test_fixture(name, kind, folder, tmp_path):
    x = loaded(folder + name + ".input.pt")
    want = flat(loaded(folder + name + ".expected.pt"))
    program = folder + "%s.%s.pt" % (name, kind)
    if name == "lstm":
        # Saved without reduce_range: expected are the numbers of a processor whose sums of two products saturate, as PyTorch's own test says, which it leaves out
        # where they do not. test_the_lstm_s_expected_numbers_saturate shows it. Ours are those of the engine that never saturates.
        before = torch.backends.quantized.engine
        torch.backends.quantized.engine = "qnnpack"
        want = flat(torch.jit.load(program)(x))
        torch.backends.quantized.engine = before
    inputs = ["-i", "%s:%s[%s]" % (first_input(program), "quint8" if x.is_quantized else "float32", ",".join(map(str, x.shape)))]
    out = tmp_path / "model.onnx"
    oracle.converted(program, out, *inputs)
    oracle.check(out)
    for level in (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
        got = session.run(None, {i.name: v.astype(TYPES[i.type]) for i, v in zip(session.get_inputs(), parts(x))})
        for a, b in zip(got, [p for t in want for p in parts(t)], strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def first_input(program):
    return [n for n in (i.debugName() for i in torch.jit.load(program).graph.inputs())][1].split(".")[0]


def test_every_program_of_the_folder_is_one_of_these(folder):
    found = {os.path.basename(p)[len("TestSerialization.test_"):].split(".")[0] for kind in ("scripted", "traced") for p in glob.glob(folder + "*." + kind + ".pt")}
    assert found == set(NAMES)


def steps_of(x, most=255):
    """PyTorch's uint8 steps of x by its own scale, and the scale and zero point."""
    low, high = min(x.min(), 0.0), max(x.max(), 0.0)
    scale = max((float(high) - float(low)) / most, 6.1e-5)
    zero = round(-float(low) / scale)
    return numpy.clip(numpy.rint(x / numpy.float32(scale)) + zero, 0, 255).astype(numpy.int64), scale, zero


def test_the_lstm_s_expected_numbers_saturate(folder):
    """Computed with sums that saturate the layer gives what the fixture expects; with others it does not."""
    x = loaded(folder + "lstm.input.pt").numpy()
    want = flat(loaded(folder + "lstm.expected.pt"))[0].numpy()
    cell = torch.jit.load(folder + "lstm.scripted.pt").lstm._all_weight_values
    packed = getattr(cell, "0").param.__getstate__()[0][4]
    (w_ih, b_ih), (w_hh, b_hh) = [(w, b.detach().numpy()) for w, b in (p.__getstate__()[0] for p in packed)]

    def layer(product):
        def linear(v, w, b):
            steps, scale, zero = steps_of(v)
            columns = w.int_repr().numpy().astype(numpy.int64).T
            sums = product(steps, columns) - zero * columns.sum(0) - w.q_zero_point() * (steps.sum(-1, keepdims=True) - zero * steps.shape[-1])
            return sums * numpy.float32(scale * w.q_scale()) + b
        sigmoid = lambda v: 1 / (1 + numpy.exp(-v))                      # noqa: E731
        h = c = numpy.zeros((x.shape[1], w_hh.shape[1]), numpy.float32)
        of_input, shown = linear(x, w_ih, b_ih), []
        for step in of_input:
            i, f, g, o = numpy.split(step + linear(h, w_hh, b_hh), 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
            h = sigmoid(o) * numpy.tanh(c)
            shown.append(h)
        return numpy.stack(shown)
    with numpy.errstate(over="ignore"):
        assert numpy.abs(layer(saturated) - want).max() < 1e-3
        assert numpy.abs(layer(numpy.matmul) - want).max() > 0.5
