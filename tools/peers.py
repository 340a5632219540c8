#!/usr/bin/env python3
"""One export in a process of its own, for tools/bench.py: its seconds, those of the processor and the process's peak as one line of JSON.

    tools/peers.py HOW MODEL OUT.onnx SIZES

HOW is pt2onnx or pt2onnx-export (this project's Python package, the second with dynamo=True), torchscript or dynamo (torch.onnx's two exporters),
trace or export (what the package begins with, torch.jit.trace or torch.export.export, and nothing else), or alone (the model is
made, nothing exported: what the peak has of PyTorch and the model). MODEL is a TorchScript archive, or the name of a module
below. The clock runs for export() only. An archive that the newer exporter cannot read is given to it as the module that it
was made of.
"""
import collections
import json
import logging
import os
import resource
import sys
import time
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import torch                                                        # noqa: E402
from torch import nn                                                # noqa: E402


class Layer(nn.Module):
    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, x):
        return torch.relu(nn.functional.linear(x, self.weight, self.bias))


class Residual(nn.Module):
    """Two convolutions beside a shortcut, which is a convolution of its own where sizes change."""

    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        same = stride == 1 and width == out
        self.downsample = None if same else nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet18():
    """The network of He et al. with 18 layers, seeded: no torchvision is needed that fits this torch."""
    parts = {"conv1": nn.Conv2d(3, 64, 7, 2, 3, bias=False), "bn1": nn.BatchNorm2d(64), "relu": nn.ReLU(), "maxpool": nn.MaxPool2d(3, 2, 1)}
    width = 64
    for i, out in enumerate((64, 128, 256, 512), 1):
        parts[f"layer{i}"] = nn.Sequential(Residual(width, out, 1 if out == 64 else 2), Residual(out, out, 1))
        width = out
    parts.update(avgpool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(), fc=nn.Linear(512, 1000))
    return nn.Sequential(collections.OrderedDict(parts))


class Words(nn.Module):
    """A language model called by name: a tracer passes all of forward's parameters by position, which transformers forbids."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, return_dict=False)[0]


class Standardised(nn.Conv2d):
    """A convolution whose weight has mean 0 and variance 1 for each output, as those of normalizer-free networks: computed anew in each run."""

    def forward(self, x):
        weight = nn.functional.batch_norm(self.weight.reshape(1, len(self.weight), -1), None, None, training=True, momentum=0.0)
        return nn.functional.conv2d(x, weight.reshape_as(self.weight), self.bias, self.stride, self.padding)


def standardised():
    return nn.Sequential(*(layer for _ in range(8) for layer in (Standardised(1024, 1024, 3, padding=1), nn.ReLU())))


def bert_base():
    import transformers
    return Words(transformers.BertModel(transformers.BertConfig(attn_implementation="eager")))


def chain(layers):
    return nn.Sequential(*(Layer(torch.randn(8, 8) / 3, torch.rand(8) / 10) for _ in range(layers)))


MODULES = {"resnet18": resnet18, "bert_base": bert_base, "standardised": standardised, "chain_1000": lambda: chain(1000)}


def of_archive(path):
    """The module in an archive of the benchmark."""
    if os.path.basename(path).startswith("chain_"):
        state = torch.jit.load(path).state_dict()
        return nn.Sequential(*(Layer(state["l%d.weight" % i], state["l%d.bias" % i]) for i in range(len(state) // 2)))
    if os.path.basename(path).startswith("resnet18"):
        return resnet18()
    import torchvision.models as models
    name = os.path.basename(path).split(".")[0]
    return getattr(models, name)(weights=None, **({"image_size": 64} if name.startswith("vit") else {}))


def model_of(how, name):
    torch.manual_seed(0)
    if name in MODULES:
        return MODULES[name]().eval()
    return (of_archive(name) if how == "dynamo" else torch.jit.load(name)).eval()


def export(how, model, x, out):
    if how.startswith("pt2onnx"):
        import pt2onnx
        start = now()
        pt2onnx.export(model, (x,), out, opset_version=18, dynamo=how == "pt2onnx-export")
    elif how in ("trace", "export"):
        start = now()
        (torch.jit.trace if how == "trace" else torch.export.export)(model, (x,))
    else:
        start = now()
        if how != "alone":
            torch.onnx.export(model, (x,), out, opset_version=18, dynamo=how == "dynamo", verbose=False)
    return [b - a for a, b in zip(start, now())]


def now():
    return time.perf_counter(), time.process_time()


def example(name, shape):
    return torch.ones(shape, dtype=torch.int64) if name == "bert_base" else torch.zeros(shape)


def main(how, name, out, sizes):
    shape = [int(n) for n in sizes.split(",")]
    x = example(name, shape)
    with torch.no_grad():
        seconds, cpu = export(how, model_of(how, name), x, out)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "code": 0}))


if __name__ == "__main__":
    main(*sys.argv[1:])
