"""feeds.py - which tensor of the example each input of the ONNX model is: by the caller's names, by those of forward, or by their order."""
import numpy

from ..arguments import leaves
from ..arrays import is_bfloat16, ort_value
from ..calls import of_signature
from ..states import initial_state
from ..verification import array_of, flat
from . import onnx_run


def named_leaves(signature, args, kwargs):
    """[(path, array)] of the arguments of forward: x, d.a, xs.0"""
    arguments = {**of_signature(signature, args, kwargs).by_place(args), **kwargs}
    return [(path, array) for name, value in arguments.items() for path, leaf in leaves(value, name) for array in flat(leaf, given=True)]


def fed(path, example, names, weights):
    """{input: OrtValue} of the model in the file. example: as named_leaves gives it; weights: {name: tensor} of the model in hand, for a file that takes
    them as inputs (export_params=False); state is as it was saved."""
    proto = onnx_run.loaded(path)
    state = initial_state(path)
    with_value = {t.name for t in proto.graph.initializer} | set(state)
    of_model = set(weights) - with_value - {path for path, _ in example} - set(names or ())
    given = {i.name: array_of(weights[i.name]) for i in proto.graph.input if i.name in of_model}
    takes = [i for i in proto.graph.input if i.name not in with_value and i.name not in given]
    arrays = [array for _, array in example]
    found = dict(zip(names, arrays)) if names else by_name(takes, example) or by_order(takes, arrays)
    missing = [i.name for i in takes if i.name not in found]
    if missing:
        raise ValueError("the example has no value for the model's input %s: it has %d tensors, the model takes %s" %
                         (missing[0], len(arrays), ", ".join(i.name for i in takes)))
    for i in takes:
        check_sizes(i, found[i.name].shape)
    values = {i.name: in_type(i, found[i.name]) for i in takes}
    return {name: ort_value(array) for name, array in {**values, **given, **state}.items()}


def check_sizes(wanted, shape):
    """Raises ValueError where the file takes no tensor of this shape: "x is [N, 3] in the file and [2, 4] in the example"."""
    if not wanted.type.tensor_type.HasField("shape"):
        return
    dims = wanted.type.tensor_type.shape.dim
    if len(dims) != len(shape) or any(d.HasField("dim_value") and d.dim_value != size for d, size in zip(dims, shape)):
        sizes = ", ".join(str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in dims)
        raise ValueError("the model's input %s is [%s] in the file and %s in the example" % (wanted.name, sizes, list(shape)))


def in_type(wanted, array):
    """The array in the type of the file's input, where nothing of it is lost but digits."""
    kind = onnx_run.numpy_type(wanted.type.tensor_type.elem_type)
    if not numpy.can_cast("float32" if is_bfloat16(array) else array.dtype, "float32" if kind.name == "bfloat16" else kind, "same_kind"):
        raise ValueError("the model's input %s is %s in the file and %s in the example" % (wanted.name, kind, array.dtype))
    return array.astype(kind, copy=False)


def by_name(takes, example):
    """{input: array} where every input has the name of an argument, with dots or, as torch.onnx writes them, underscores; else None."""
    found = {}
    for path, array in example:
        found[path] = found[path.replace(".", "_")] = array
    return found if len(found) >= len(example) and all(i.name in found for i in takes) else None


def by_order(takes, arrays):
    """{input: array}, one by one. Tensors that the model does not take are passed over by type and rank, as far as these decide."""
    if len(takes) == len(arrays):
        return {i.name: x for i, x in zip(takes, arrays)}
    first = matched(takes, arrays)
    last = matched(takes[::-1], arrays[::-1])
    if len(first) == len(takes) and any(first[name] is not last[name] for name in first):
        raise ValueError("which of the example's %d tensors are %s is not clear: names tells it" % (len(arrays), ", ".join(i.name for i in takes)))
    return first


def matched(takes, arrays):
    """{input: array} of the first arrays that can be the inputs, in this order."""
    found, rest = {}, iter(arrays)
    for i in takes:
        t = i.type.tensor_type
        of_its_kind = (x for x in rest if x.ndim == len(t.shape.dim) and x.dtype == onnx_run.numpy_type(t.elem_type))
        array = next(of_its_kind, None)
        if array is not None:
            found[i.name] = array
    return found
