"""states.py - what a converted model with state is fed: initial_state before the first run, state_outputs from one run to the next."""
import json
import os


def metadata(model):
    """The metadata of a path, an onnx.ModelProto, or a session of ONNX Runtime; and the ModelProto, None of a session."""
    if hasattr(model, "get_modelmeta"):
        return dict(model.get_modelmeta().custom_metadata_map), None
    if not hasattr(model, "metadata_props"):
        import onnx
        model = onnx.load(os.fspath(model), load_external_data=False)
    return {p.key: p.value for p in model.metadata_props}, model


def state_outputs(model):
    """{"total": "total.next"}: each input that is state, and the output that is its value for the next run. `model` as initial_state takes it."""
    return json.loads(metadata(model)[0].get("pt2onnx.state", "{}"))


def initial_state(model):
    """{"total": array}: what the inputs of a converted model that are its state are fed in the first run.

    model: a path, an onnx.ModelProto, or an onnxruntime.InferenceSession. Empty for a model without state."""
    props, proto = metadata(model)
    told = json.loads(props.get("pt2onnx.state.initial", "{}"))
    folder = "" if model is proto or proto is None else os.path.dirname(os.fspath(model))
    return {name: _value(name, told.get(name, {"initializer": name}), proto, folder) for name in json.loads(props.get("pt2onnx.state", "{}"))}


def _value(name, told, proto, folder):
    """told: what the metadata has of this input. Without a word there the input has a default, as with --state=defaults."""
    if "initializer" in told:
        return _initializer(name, told["initializer"], proto, folder)
    import numpy
    dtype, shape = _dtype(told["type"]), told["shape"]
    if "value" in told:
        return numpy.full(shape, _number(told["value"]), dtype)
    return numpy.array([_number(v) for v in told["values"]], dtype).reshape(shape)


def _number(v):
    return float(v) if isinstance(v, str) else v        # "nan", "inf" and "-inf", for which JSON has no numbers


def _dtype(name):
    import numpy
    if name == "bfloat16":
        import ml_dtypes
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(name)


def _initializer(name, initializer, proto, folder):
    if proto is None:
        raise ValueError("the initial value of %s is an initializer of the file, which a session does not show: give initial_state the file's path" % name)
    from onnx import numpy_helper
    for tensor in proto.graph.initializer:
        if tensor.name == initializer:
            return numpy_helper.to_array(tensor, folder)
    raise ValueError("the file has no initializer %s, the initial value of %s: another tool has removed it since pt2onnx wrote the file" % (initializer, name))
