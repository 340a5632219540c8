"""What a default session of ONNX Runtime leaves of a model."""
import collections

import onnx
import onnxruntime
import torch

import oracle


def converted(folder, net, *args, options=()):
    """The model of a trace of net."""
    saved, made = str(folder / "net.pt"), str(folder / "net.onnx")
    with torch.no_grad():
        torch.jit.trace(net.eval(), args, check_trace=False).save(saved)
    oracle.converted(saved, made, *options)
    return made


def nodes(model):
    return collections.Counter(n.op_type for g in oracle.graphs(model.graph) for n in g.node if n.op_type != "Constant")


def session_of(path, folder):
    """A default session, and where it writes what it has left."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "left.onnx")
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]), options.optimized_model_filepath


def nodes_left(path, folder):
    return nodes(onnx.load(session_of(path, folder)[1]))


def nodes_of_session(folder, made, net, *args):
    """The nodes that a default session has left of the model; its numbers are PyTorch's."""
    session, left = session_of(made, folder)
    with torch.no_grad():
        want = net.eval()(*args)
    feeds = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args)}
    oracle.compare(session.run(None, feeds), [t.numpy() for t in (want if isinstance(want, tuple) else (want,))])
    return nodes(onnx.load(left))
