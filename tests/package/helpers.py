"""What the tests of the package share: export into memory, look at the model, compare it with torch."""
import io
import warnings

import numpy
import onnx
import onnxruntime
import torch

import pt2onnx

TORCH_2 = not torch.__version__.startswith("1.")


def untranslated(x):
    """Calls an operator that is refused at every opset: quantized::embedding_bag_byte_prepack."""
    return torch.ops.quantized.embedding_bag_byte_prepack(x) / 2


def exported(model, args, **options):
    """The model as the onnx package has it, checked."""
    f = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        assert pt2onnx.export(model, args, f, **options) is None
    return onnx.load_model_from_string(f.getvalue())


def checked(model, args, **options):
    found = exported(model, args, **options)
    onnx.checker.check_model(found)
    return found


def ops(model):
    return [n.op_type for n in model.graph.node]


def names(values):
    return [v.name for v in values]


def dims(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def weights(model):
    return [t.name for t in model.graph.initializer]


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, *inputs):
    """The outputs in ONNX Runtime for inputs in the graph's order."""
    s = session(model)
    return s.run(None, {i.name: numpy.asarray(x) for i, x in zip(s.get_inputs(), inputs)})


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result.detach().numpy()]
    return [x for r in (result.values() if isinstance(result, dict) else result) for x in flat(r)]


def agrees(model, torch_model, *inputs, rtol=1e-4, atol=1e-5):
    """Does the ONNX model give what the torch model gives on these inputs?"""
    with torch.no_grad():
        want = flat(torch_model(*inputs))
    got = run(model, *[x.numpy() if isinstance(x, torch.Tensor) else x for x in inputs])
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.dtype == w.dtype and g.shape == w.shape
        numpy.testing.assert_allclose(g, w, rtol=rtol, atol=atol)
