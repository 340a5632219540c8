#!/usr/bin/env python3
"""Other programs that read our files: each reads one, runs what it has made of it, and says how far that is from PyTorch's numbers.

    tools/readers.py READER FILE VALUES KIND        prints JSON: {"off": 1e-7}, or {"why": "it does not read the file"}

VALUES is an .npz with in0, in1, .. and PyTorch's `want`; KIND what onnxruntime.transformers.optimizer is told that the model is. Runs in the
environment of `tools/setup readers`; tools/runtimes.py --readers (`make runtimes READERS=1`) calls it for each model, each in a process of its own.
"""
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import logging
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OTHERS_OPSET = 21                   # to which onnx.version_converter is asked to go


def feeds(values):
    return [values["in%d" % i] for i in range(sum(name.startswith("in") for name in values))]


def in_ort(model, inputs, outputs=None):
    """model: a path or a ModelProto. Inputs by position; without optimisations, so that it is the reader that is looked at."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    s = onnxruntime.InferenceSession(model if isinstance(model, str) else model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return s.run(outputs, {i.name: x for i, x in zip(s.get_inputs(), inputs)})


def off(got, want):
    """Of the largest value."""
    got = numpy.asarray(got)
    if got.shape != want.shape:
        raise ValueError("shape %s, PyTorch's is %s" % (got.shape, want.shape))
    return float(numpy.abs(got - want).max() / max(1e-30, numpy.abs(want).max()))


# ---- readers: (path, values, kind, folder) -> how far off ----

def openvino(path, values, kind, folder):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    return off(compiled(feeds(values))[0], values["want"])


def several(path, values, n):
    """The example's inputs n times along the batch. Of a graph that many side by side: its `edges` name the ends by their numbers."""
    given = feeds(values)
    out = [numpy.concatenate([x] * n) for x in given]
    names = [i.name for i in onnx.load(path, load_external_data=False).graph.input]
    if "edges" in names:
        edges = names.index("edges")
        out[edges] = numpy.concatenate([given[edges] + k * len(given[0]) for k in range(n)], 1)
    return out


def openvino_batch(path, values, kind, folder):
    """A file whose sizes are dynamic, at the example's batch and at three times that."""
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    return max(off(compiled(several(path, values, n))[0], numpy.concatenate([values["want"]] * n)) for n in (1, 3))


def ort_web(path, values, kind, folder):
    """onnxruntime-web, the wasm backend, in Node."""
    told = {"model": os.path.abspath(path), "inputs": [], "output": os.path.join(folder, "out.bin")}
    for i, x in enumerate(feeds(values)):
        x.tofile(os.path.join(folder, "in%d.bin" % i))
        told["inputs"].append({"file": os.path.join(folder, "in%d.bin" % i), "type": x.dtype.name, "dims": list(x.shape)})
    done = subprocess.run(["node", os.path.join(TOP, "tools", "read_in_node.mjs"), json.dumps(told)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip()[-200:])
    return off(numpy.fromfile(told["output"], numpy.float32).reshape(json.loads(done.stdout)), values["want"])


def onnx2torch(path, values, kind, folder):
    import torch
    # torchvision from the package index belongs to a build of torch with CUDA: beside another it lacks the operators that its own import asks for.
    missing = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        missing.define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import onnx2torch
    with torch.no_grad():
        got = onnx2torch.convert(onnx.load(path)).eval()(*map(torch.from_numpy, feeds(values)))
    return off(got.numpy() if isinstance(got, torch.Tensor) else got[0].numpy(), values["want"])


def version_converter(path, values, kind, folder):
    import onnx.version_converter
    return off(in_ort(onnx.version_converter.convert_version(onnx.load(path), OTHERS_OPSET), feeds(values))[0], values["want"])


def compose(path, values, kind, folder):
    """A model of one node behind it, all names of ours with a prefix."""
    import onnx.compose
    ours = onnx.compose.add_prefix(onnx.load(path), "ours/")
    out = ours.graph.output[0]
    ends = [onnx.helper.make_value_info(name, out.type) for name in ("a", "b")]
    behind = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["a"], ["b"])], "behind", ends[:1], ends[1:])
    behind = onnx.helper.make_model(behind, opset_imports=ours.opset_import, ir_version=ours.ir_version)
    merged = onnx.compose.merge_models(ours, behind, io_map=[(out.name, "a")])
    onnx.checker.check_model(merged, full_check=True)
    return off(in_ort(merged, feeds(values), ["b"])[0], -values["want"])


def extract_model(path, values, kind, folder):
    """Up to the node in the middle, held against the same value of the whole model."""
    model = onnx.load(path)
    middle = next(n.output[0] for n in model.graph.node[len(model.graph.node) // 2:])
    part = os.path.join(folder, "part.onnx")
    onnx.utils.extract_model(path, part, [i.name for i in model.graph.input], [middle])
    model.graph.output.append(onnx.helper.make_empty_tensor_value_info(middle))
    want, = in_ort(model, feeds(values), [middle])
    needed = {i.name for i in onnx.load(part).graph.input}
    got, = in_ort(part, [x for i, x in zip(model.graph.input, feeds(values)) if i.name in needed])
    return off(got.astype(numpy.float64), want.astype(numpy.float64))


def converter_common(path, values, kind, folder):
    """onnxconverter_common's float16, with float32 inputs and outputs."""
    from onnxconverter_common import float16
    return off(in_ort(float16.convert_float_to_float16(onnx.load(path), keep_io_types=True), feeds(values))[0], values["want"])


def preprocessed(path, folder):
    from onnxruntime.quantization.shape_inference import quant_pre_process
    made = os.path.join(folder, "pre.onnx")
    quant_pre_process(path, made, auto_merge=True)
    return made


def pre_process(path, values, kind, folder):
    return off(in_ort(preprocessed(path, folder), feeds(values))[0], values["want"])


def quantize_dynamic(path, values, kind, folder):
    from onnxruntime.quantization import QuantType, quantize_dynamic as quantize
    made = os.path.join(folder, "dynamic.onnx")
    quantize(preprocessed(path, folder), made, weight_type=QuantType.QUInt8)
    return off(in_ort(made, feeds(values))[0], values["want"])


def quantize_static(path, values, kind, folder):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static as quantize
    made, pre = os.path.join(folder, "static.onnx"), preprocessed(path, folder)
    names = [i.name for i in onnx.load(pre).graph.input]

    class Once(CalibrationDataReader):
        left = [dict(zip(names, feeds(values)))]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantize(pre, made, Once(), quant_format=QuantFormat.QDQ, per_channel=True, reduce_range=True)
    return off(in_ort(made, feeds(values))[0], values["want"])


def onnxsim(path, values, kind, folder):
    import onnxsim
    return off(in_ort(onnxsim.simplify(onnx.load(path))[0], feeds(values))[0], values["want"])


def onnxslim(path, values, kind, folder):
    import onnxslim
    return off(in_ort(onnxslim.slim(onnx.load(path)), feeds(values))[0], values["want"])


def pnnx(path, values, kind, folder):
    """What pnnx makes of it, as the module that it writes for PyTorch."""
    import shutil
    import torch
    given = os.path.join(folder, "net.onnx")
    shutil.copy(path, given)
    kinds = {"float32": "f32", "int64": "i64"}
    shapes = ",".join("[%s]%s" % (",".join(map(str, x.shape)), kinds[x.dtype.name]) for x in feeds(values))
    program = os.path.join(os.path.dirname(sys.executable), "pnnx")
    done = subprocess.run([program, given, "inputshape=" + shapes, "fp16=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    module = os.path.join(folder, "net_pnnx.py")
    if done.returncode or not os.path.exists(module):
        raise ValueError("pnnx ends with %d: %s" % (done.returncode, done.stdout.strip()[-150:]))
    spec = importlib.util.spec_from_file_location("net_pnnx", module)
    made = importlib.util.module_from_spec(spec)
    there = os.getcwd()
    os.chdir(folder)                                                # the module reads its weights beside it
    try:
        spec.loader.exec_module(made)
        with torch.no_grad():
            got = made.Model().eval()(*map(torch.from_numpy, feeds(values)))
    finally:
        os.chdir(there)
    return off((got if isinstance(got, torch.Tensor) else got[0]).numpy(), values["want"])


def symbolic_shape_infer(path, values, kind, folder):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    made = SymbolicShapeInference.infer_shapes(onnx.load(path), auto_merge=True)
    if made is None:
        raise ValueError("incomplete")
    return off(in_ort(made, feeds(values))[0], values["want"])


def optimizer(path, values, kind, folder):
    from onnxruntime.transformers import optimizer as o
    return off(in_ort(o.optimize_model(path, kind or "bert", num_heads=0, hidden_size=0, opt_level=0).model, feeds(values))[0], values["want"])


READERS = (openvino, openvino_batch, ort_web, onnx2torch, version_converter, compose, extract_model, converter_common, pre_process, quantize_dynamic,
           quantize_static, onnxsim, onnxslim, pnnx, symbolic_shape_infer, optimizer)
BY_NAME = {r.__name__: r for r in READERS}
PACKAGES = {"ort_web": None, "openvino_batch": "openvino", "version_converter": "onnx", "compose": "onnx", "extract_model": "onnx",
            "converter_common": "onnxconverter-common"}


def look(name, path, values, kind):
    """{"off"} or {"why"}: what this reader makes of the file."""
    logging.disable(logging.CRITICAL)
    with numpy.load(values) as f:
        values = {k: f[k] for k in f.files}
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            return {"off": BY_NAME[name](path, values, kind, folder)}
    except Exception as e:                                          # noqa: BLE001: whatever a reader raises is what is looked for
        return {"why": "%s: %s" % (type(e).__name__, (str(e) or "no message").strip().split("\n")[0][:200])}


def version(name):
    """What stands in documents beside a finding."""
    package = PACKAGES.get(name, name if name in ("openvino", "onnx2torch", "onnxsim", "onnxslim", "pnnx") else "onnxruntime")
    return "%s %s" % (package, importlib.metadata.version(package)) if package else "onnxruntime-web"


if __name__ == "__main__":
    said = look(*sys.argv[1:])
    print(json.dumps({**said, "version": version(sys.argv[1])}), flush=True)
    os._exit(0)                                                     # threads of a reader may not let it end
