#!/usr/bin/env python3
"""Quantised models in ONNX Runtime's default session and in OpenVINO: which of their layers run on integers, how far the results are from PyTorch's, and
how long dynamic ones take.

    tools/quantised.py --pt2onnx build/pt2onnx [--only cnn,x86] [--rounds 30]
    tools/quantised.py save cnn|encoder WAY OUT         one model, in this Python; OUT.npz has its input and PyTorch's result

A small residual network and a transformer encoder with seeded weights, quantised in each WAY: torchao's prepare_pt2e and prepare_qat_pt2e with its
quantizers of x86 and XNNPACK, static and dynamic, and torch.ao's FX graph mode. A layer is a convolution or product with a weight; that it runs on
integers is the runtime's own word: the nodes of ONNX Runtime's optimised model, the kernels of OpenVINO's compiled one. Exit code 1 where one runs on floats
and KNOWN does not say why, or results are further off than steps explain.

Times: the processor's, one thread, least of the rounds, all files in turn: ours; ours as other runtimes get it (--target=onnx), DequantizeLinear and MatMul, of
which ONNX Runtime's session makes MatMulNBits; and what onnxruntime.quantization.quantize_dynamic makes of the float model. Exit code 1 where ours is slower
than the second.
"""
import argparse
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
import runtimes                                                         # noqa: E402

# What stays on floats: (runtime, pattern of a model) -> why. docs/limits.md says the same.
KNOWN = {("ort", "cnn, x86.*"): "a Conv whose result PyTorch adds in floats: ONNX Runtime's kernel of integers gives integers only",
         ("openvino", ".* dynamic"): "OpenVINO multiplies floats where the running model finds the scale",
         ("openvino", ".* qnnpack qat"): "weights with one scale are uint8 for ONNX Runtime: --target=onnx leaves them int8"}
INTEGERS = {"QLinearConv", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat", "MatMulInteger", "DynamicQuantizeMatMul"}
FLOATS = {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul", "MatMulNBits"}
STEPS = {"cnn": 0.15, "encoder": 0.03}  # as a share of the largest result: one number in a thousand goes to the other of two steps, and layers add that up


# ---- the models, saved by a Python with torch ----

def networks():
    from torch import nn
    import torch

    class Block(nn.Module):
        def __init__(self, n, m, stride):
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU())
            self.b = nn.Sequential(nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m))
            self.aside = nn.Sequential(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m)) if n != m else nn.Identity()
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(self.b(self.a(x)) + self.aside(x))

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
            self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2))
            self.each = nn.Sequential(nn.Conv2d(32, 32, 3, 1, 1, groups=32, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 48, 1), nn.ReLU())
            self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(48, 10)

        def forward(self, x):
            return self.head(torch.flatten(self.pool(self.each(self.blocks(self.stem(x)))), 1))

    class Encoder(nn.Module):
        def __init__(self, width=256, heads=4):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
            self.norm, self.last, self.gelu = nn.LayerNorm(width), nn.LayerNorm(width), nn.GELU()
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def parted(self, y):
            return y.view(y.shape[0], y.shape[1], self.heads, y.shape[2] // self.heads).transpose(1, 2)

        def forward(self, x):
            q, k, v = self.parted(self.q(x)), self.parted(self.k(x)), self.parted(self.v(x))
            seen = torch.softmax(q @ k.transpose(2, 3) / 8, -1) @ v
            x = self.norm(x + self.out(seen.transpose(1, 2).reshape(x.shape)))
            return self.last(x + self.down(self.gelu(self.up(x))))

    return {"cnn": (Cnn, (2, 3, 64, 64)), "encoder": (Encoder, (1, 128, 256))}


def by_torchao(way):
    """Of a WAY: a quantizer, and does it train?"""
    from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer, get_default_x86_inductor_quantization_config
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    qat, dynamic = "qat" in way, "dynamic" in way
    if way.startswith("x86"):
        config = get_default_x86_inductor_quantization_config(is_qat=qat, is_dynamic=dynamic, reduce_range="7 bits" in way)
        return X86InductorQuantizer().set_global(config), qat
    config = get_symmetric_quantization_config(is_per_channel="channels" in way, is_qat=qat, is_dynamic=dynamic)
    return XNNPACKQuantizer().set_global(config), qat


PT2E = ("x86", "x86 7 bits", "x86 qat", "x86 dynamic", "xnnpack", "xnnpack channels", "xnnpack channels qat", "xnnpack dynamic", "xnnpack channels dynamic")
OLD = os.path.join(TOP, ".venv-t113", "bin", "python")              # PyTorch 1.13, where it is there; Debian's has no fbgemm
WAYS = PT2E + ("fx fbgemm", "fx fbgemm qat", "fx qnnpack qat", "eager dynamic") + (("1.13 fx qnnpack qat",) if os.path.exists(OLD) else ())


def quantised(network, way, draw):
    """The network quantised, and how it is saved."""
    import torch
    x = draw()
    if way in PT2E:
        from torchao.quantization.pt2e import move_exported_model_to_eval
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
        quantizer, qat = by_torchao(way)
        watched = (prepare_qat_pt2e if qat else prepare_pt2e)(torch.export.export(network.train(qat), (x,)).module(), quantizer)
        for _ in range(4):
            watched(draw())
        if qat:
            move_exported_model_to_eval(watched)
        made = convert_pt2e(watched)
        return made, lambda out: torch.export.save(torch.export.export(made, (x,)), out)
    if way == "eager dynamic":
        made = torch.ao.quantization.quantize_dynamic(network.eval(), {torch.nn.Linear})
    else:
        from torch.ao.quantization import get_default_qat_qconfig_mapping, get_default_qconfig_mapping
        from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx, prepare_qat_fx
        engine, qat = "fbgemm" if "fbgemm" in way else "qnnpack", "qat" in way
        torch.backends.quantized.engine = engine
        prepare, config = (prepare_qat_fx, get_default_qat_qconfig_mapping) if qat else (prepare_fx, get_default_qconfig_mapping)
        watched = prepare(network.train(qat), config(engine), (x,))
        for _ in range(4):
            watched(draw())
        made = convert_fx(watched.eval())
    return made, lambda out: torch.jit.trace(made, x).save(out)


def save(name, way, out):
    import numpy
    import torch
    torch.manual_seed(0)
    kind, shape = networks()[name]
    network = kind().train()
    for _ in range(3):                                              # statistics of the batch norms
        network(torch.randn(shape))
    made, saves = quantised(network, way, lambda: torch.randn(shape)) if way != "float" else (network.eval(), None)
    x = torch.randn(shape)
    with torch.no_grad():
        (saves or torch.jit.trace(made, x).save)(out)
        numpy.savez(out + ".npz", x=x.numpy(), want=made(x).numpy())


# ---- what runtimes make of a file ----

def session(path, level="ORT_ENABLE_ALL", optimised=None):
    import onnxruntime
    return runtimes.session(path, getattr(onnxruntime.GraphOptimizationLevel, level), left=optimised)


def in_ort(path, x):
    """([layers on integers, on floats], result of a default session, result without optimisations)"""
    import onnx
    optimised = path + ".optimised"
    got = session(path, optimised=optimised).run(None, {"x": x})[0]
    graph = onnx.load(optimised).graph
    weights = {i.name for i in graph.initializer}
    for n in graph.node:
        if n.op_type in ("DequantizeLinear", "Transpose", "Cast") and n.input[0] in weights:
            weights.update(n.output)
    layers = [n.op_type for n in graph.node if any(i in weights for i in n.input) and n.op_type in INTEGERS | FLOATS]
    off = session(path, "ORT_DISABLE_ALL").run(None, {"x": x})[0]
    return [sum(t in kinds for t in layers) for kinds in (INTEGERS, FLOATS)], got, off


def in_openvino(path, x):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    counted = [0, 0]
    for n in compiled.get_runtime_model().get_ops():
        about = {k: v.astype(str) for k, v in n.get_rt_info().items() if k in ("layerType", "primitiveType")}
        if about.get("layerType") in ("Convolution", "FullyConnected"):
            counted[not about["primitiveType"].lower().endswith("i8")] += 1
    return counted, compiled([x])[0]


def known(runtime, name, way):
    return any(where == runtime and re.fullmatch(pattern, "%s, %s" % (name, way)) for where, pattern in KNOWN)


def look(name, way, path, options=()):
    """Prints a row; is it as it should be?"""
    import numpy
    values = numpy.load(path + ".npz")
    made = path + ".onnx"
    # What 1.13 traces of an FX graph has no shapes in the file
    shape = [] if path.endswith(".pt2") else ["-i", "x:float32%s" % str(list(values["x"].shape)).replace(" ", "")]
    done = subprocess.run([PT2ONNX, path, "-o", made, "-q", *shape, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print("| %s, %s | %s" % (name, way, done.stdout.strip()))
        return False
    layers, got, off = in_ort(made, values["x"])
    in_ov, of_ov = in_openvino(made, values["x"])
    size = numpy.abs(values["want"]).max()
    errors = [float(numpy.abs(y - values["want"]).max() / size) for y in (off, got, of_ov)]
    print("| %s, %s | %d of %d | %d of %d | %.1e | %.1e | %.1e |" % (name, " ".join((way, *options)), layers[0], sum(layers), in_ov[0], sum(in_ov), *errors), flush=True)
    on_floats = {"ort": layers[1], "openvino": in_ov[1]}
    return all(not n or known(runtime, name, " ".join((way, *options))) for runtime, n in on_floats.items()) and max(errors) <= STEPS[name]


# ---- time ----

def race(sessions, x, rounds):
    """The least seconds of the processor of each, in turn."""
    least = {k: float("inf") for k in sessions}
    for _ in range(rounds):
        for k, s in sessions.items():
            start = time.process_time()
            s.run(None, {s.get_inputs()[0].name: x})
            least[k] = min(least[k], time.process_time() - start)
    return least


def times(folder, rounds):
    """Of the encoder, quantised dynamically."""
    import numpy
    from onnxruntime.quantization import QuantType, quantize_dynamic
    logging.disable(logging.WARNING)
    plain = saved("encoder", "float", folder)
    subprocess.run([PT2ONNX, plain, "-o", plain + ".onnx", "-q"], check=True)
    files = {"float32": plain + ".onnx"}
    for kind in (QuantType.QUInt8, QuantType.QInt8):
        files["quantize_dynamic " + kind.name] = plain + kind.name
        quantize_dynamic(plain + ".onnx", plain + kind.name, weight_type=kind, per_channel=True)
    for way in ("eager dynamic", "x86 dynamic", "xnnpack channels dynamic"):
        path = saved("encoder", way, folder)
        for target in ("ort", "onnx") if way in PT2E else ("ort",):
            files["%s, --target=%s" % (way, target)] = "%s.%s.onnx" % (path, target)
            subprocess.run([PT2ONNX, path, "-o", "%s.%s.onnx" % (path, target), "-q", "--target=" + target], check=True)
    least = race({k: session(path) for k, path in files.items()}, numpy.load(plain + ".npz")["x"], rounds)
    print("\n| encoder, dynamic | ms |\n|---|---|")
    for k, seconds in least.items():
        print("| %s | %.2f |" % (k, 1e3 * seconds))
    return all(seconds >= least[k.replace("=onnx", "=ort")] for k, seconds in least.items() if k.endswith("=onnx"))


def saved(name, way, folder):
    path = os.path.join(folder, ("%s %s" % (name, way)).replace(" ", "_") + (".pt2" if way in PT2E else ".pt"))
    if not os.path.exists(path):
        subprocess.run([OLD if way.startswith("1.13") else sys.executable, os.path.abspath(__file__), "save", name, way, path], check=True, stderr=subprocess.DEVNULL)
    return path


def main():
    global PT2ONNX
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["save"]:
        return save(*sys.argv[2:])
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(TOP, "build", "pt2onnx"))
    p.add_argument("--only", default="", help="parts of a model's name and WAY, all of which it must have")
    p.add_argument("--rounds", type=int, default=30, help="of the times; 0: none")
    o = p.parse_args()
    PT2ONNX = os.path.abspath(o.pt2onnx)
    good = True
    print("| model | layers on integers, ONNX Runtime | OpenVINO | off without optimisations | in a default session | in OpenVINO |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in networks():
            for way in WAYS:
                if name == "cnn" and "dynamic" in way or not all(part in "%s %s" % (name, way) for part in o.only.split(",")):
                    continue
                path = saved(name, way, folder)
                good &= look(name, way, path)
                if "qnnpack" in way:
                    good &= look(name, way, path, ["--target=onnx"])
        if o.rounds:
            good &= times(folder, o.rounds)
    return not good


if __name__ == "__main__":
    sys.exit(main())
