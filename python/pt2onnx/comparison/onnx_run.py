"""onnx_run.py - what ONNX Runtime computes: the print of each value of the main graph, the outputs at two levels of optimisation,
and how long nodes take.

The values come a part at a time, each part from a session that has them as outputs and ends behind them: never more than BUDGET
bytes of them are in memory. Optimisations are off there, so that each value exists."""
import json
import os
import tempfile

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime
import torch

from ..arrays import has_bfloat16, tensor_of_bfloat16
from ..states import state_outputs
from .prints import Print

BUDGET = 256 << 20
FIRST = 64                              # values of the first part


class Node:
    """A node of the main graph: `index` in it, `inputs` with those of its subgraphs, `module` and `line` as the file says them."""

    def __init__(self, index, proto):
        said = {p.key: p.value for p in getattr(proto, "metadata_props", ())}
        self.index, self.op, self.name = index, proto.op_type, proto.name
        self.inputs = [i for i in proto.input if i] + outer_names(proto)
        self.outputs = [o for o in proto.output if o]
        self.module, self.line = said.get("pt2onnx.module", ""), said.get("pt2onnx.source", "")


def outer_names(proto):
    """What the subgraphs of a node read from around it."""
    names = []
    for attribute in proto.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            inner = {i.name for i in graph.input} | {i.name for i in graph.initializer}
            for node in graph.node:
                names += [n for n in list(node.input) + outer_names(node) if n and n not in inner]
                inner.update(node.output)
            names += [o.name for o in graph.output if o.name not in inner]
    return names


def loaded(path):
    """The model without weights that lie beside it. Raises ValueError where the file is none."""
    try:
        return onnx.load(path, load_external_data=False)
    except OSError:
        raise
    except Exception as e:                              # of protobuf, whose classes of errors are in no common place
        raise ValueError("%s: this is no ONNX model (%s)" % (path, e)) from None


def numpy_type(elem_type):
    """numpy's type for one of ONNX, in every release of onnx."""
    return onnx.numpy_helper.to_array(onnx.TensorProto(data_type=elem_type, dims=[0])).dtype


def options(level, **more):
    o = onnxruntime.SessionOptions()
    o.log_severity_level = 4
    o.graph_optimization_level = level
    for name, value in more.items():
        setattr(o, name, value)
    return o


OFF = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
LEVELS = (("basic", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC), ("extended", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED),
          ("all", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL))


def session(path, level=OFF, **more):
    return onnxruntime.InferenceSession(path, options(level, **more), providers=["CPUExecutionProvider"])


def as_torch(value):
    """A result of ONNX Runtime as a tensor, or None: a sequence, an optional, text."""
    if not value.is_tensor() or "string" in value.data_type():
        return None
    if "bfloat16" in value.data_type():
        return tensor_of_bfloat16(value)
    array = value.numpy()
    if array.dtype == object or array.dtype.kind in "SU":
        return None
    unsigned = {numpy.dtype("uint16"): numpy.int32, numpy.dtype("uint32"): numpy.int64, numpy.dtype("uint64"): numpy.float64}
    return torch.from_numpy(numpy.array(array, dtype=unsigned.get(array.dtype, array.dtype)))


class Model:
    """A model in a file, with its nodes and the values that it is run on."""

    def __init__(self, path, feeds):
        """feeds: {input: OrtValue}"""
        self.path, self.feeds = os.path.abspath(path), feeds
        self.proto = loaded(self.path)
        self.nodes = [Node(i, n) for i, n in enumerate(self.proto.graph.node)]
        self.made_by = {o: n for n in self.nodes for o in n.outputs}
        self.external = any(t.data_location == onnx.TensorProto.EXTERNAL for t in self.proto.graph.initializer)

    @property
    def outputs(self):
        return [o.name for o in self.proto.graph.output]

    def run(self, level=OFF, **more):
        """{output: tensor} of the model as it is: of a sequence the items, as name[0], and nothing of an empty optional, of a text and of the state that
        the next run is fed."""
        s = session(self.path, level, **more)
        after = set(state_outputs(s).values())
        names = [o.name for o in s.get_outputs() if o.name not in after]
        found = {}
        for name, value in zip(names, s.run_with_ort_values(names, self.fed(s))):
            found.update(self.items(s, name) if value.is_tensor_sequence() else {name: as_torch(value)})
        return {name: tensor for name, tensor in found.items() if tensor is not None}

    def items(self, s, name):
        """{name[i]: tensor} of an output that is a sequence: an OrtValue does not give its items away, another run does."""
        if has_bfloat16(s):
            raise ValueError("%s: a sequence beside values of bfloat16 has no way out of ONNX Runtime" % name)
        values = s.run([name], {given: value.numpy() for given, value in self.fed(s).items()})[0]
        return {"%s[%d]" % (name, i): torch.from_numpy(v) for i, v in enumerate(values) if v.dtype.kind in "biufc"}

    def fed(self, s):
        return {i.name: self.feeds[i.name] for i in s.get_inputs() if i.name in self.feeds}

    def prints(self, progress=lambda done: None):
        """Gives (name, Print) of each tensor of the main graph, in order."""
        at, count = 0, FIRST
        while at < len(self.nodes):
            part = self.nodes[at:at + count]
            size = 0
            for name, tensor in self.values([o for n in part for o in n.outputs], part[-1].index):
                size += tensor.numel() * tensor.element_size()
                yield name, Print(tensor)
            at += len(part)
            progress(at)
            count = max(1, min(4 * count, int(len(part) * BUDGET / 2 / max(size, 1))))

    def values(self, names, last):
        """[(name, tensor)] of these values, from the nodes up to number `last`."""
        part = onnx.ModelProto()
        part.CopyFrom(self.proto)
        del part.graph.node[last + 1:]
        del part.graph.output[:]
        part.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
        used = {n for node in self.nodes[:last + 1] for n in node.inputs}
        kept = [t for t in part.graph.initializer if t.name in used]
        del part.graph.initializer[:]
        part.graph.initializer.extend(kept)
        # External weights are found beside the model.
        folder = os.path.dirname(self.path) if self.external else None
        with tempfile.NamedTemporaryFile(suffix=".onnx", dir=folder) as f:
            f.write(part.SerializeToString())
            f.flush()
            s = session(f.name)
            found = s.run_with_ort_values(names, self.fed(s))
        tensors = [(name, as_torch(value)) for name, value in zip(names, found)]
        return [(name, t) for name, t in tensors if t is not None]

    def seconds(self):
        """{name of a node: seconds} of the second run in a default session. A fused node has one of its parts' names, or none of them."""
        with tempfile.TemporaryDirectory() as folder:
            s = session(self.path, LEVELS[-1][1], enable_profiling=True, profile_file_prefix=os.path.join(folder, "p"))
            names = [o.name for o in s.get_outputs()]
            for _ in range(2):
                s.run_with_ort_values(names, self.fed(s))
            with open(s.end_profiling()) as f:
                events = json.load(f)
        taken = {}
        for e in events:
            if e.get("cat") == "Node" and e["name"].endswith("_kernel_time"):
                taken.setdefault(e["name"][:-len("_kernel_time")], []).append(e["dur"] / 1e6)
        return {name: times[-1] for name, times in taken.items()}
