"""parameters.py - the parameters of torch.onnx.export in all its releases, as one Settings object.

Positional arguments are told apart by type: releases up to 1.9 have two booleans (aten, export_raw_ir) in front of
operator_export_type, 1.10 and 1.11 have _retain_param_name behind opset_version, 1.12 and later have neither. What pt2onnx cannot
honour is refused here, by name."""

from .axes import is_int
from .telling import warn
from .versions import DEFAULT_OPSET, OperatorExportTypes, TrainingMode, Warn

FIRST = ["model", "args", "f", "export_params", "verbose", "training", "input_names", "output_names"]
UNTIL_1_9 = FIRST + ["aten", "export_raw_ir", "operator_export_type", "opset_version", "_retain_param_name", "do_constant_folding",
                     "example_outputs", "strip_doc_string", "dynamic_axes", "keep_initializers_as_inputs", "custom_opsets",
                     "enable_onnx_checker", "use_external_data_format"]
IN_1_10 = FIRST + ["operator_export_type", "opset_version", "_retain_param_name", "do_constant_folding", "example_outputs",
                   "strip_doc_string", "dynamic_axes", "keep_initializers_as_inputs", "custom_opsets", "enable_onnx_checker",
                   "use_external_data_format"]
SINCE_1_12 = FIRST + ["operator_export_type", "opset_version", "do_constant_folding", "dynamic_axes", "keep_initializers_as_inputs",
                      "custom_opsets", "export_modules_as_functions", "autograd_inlining"]

DEFAULTS = dict(args=(), f=None, kwargs=None, export_params=True, verbose=None, training=TrainingMode.EVAL, input_names=None,
                output_names=None, aten=False, export_raw_ir=False, operator_export_type=None, opset_version=None,
                _retain_param_name=True, do_constant_folding=True, example_outputs=None, strip_doc_string=True, dynamic_axes=None,
                keep_initializers_as_inputs=None, custom_opsets=None, enable_onnx_checker=True, use_external_data_format=False,
                export_modules_as_functions=False, autograd_inlining=True, dynamo=False, fallback=False, external_data=None,
                dynamic_shapes=None, custom_translation_table=None, report=False, optimize=True, verify=False, profile=False,
                dump_exported_program=False, artifacts_dir=".", export_options=None,
                names="tutorials", rules=(), torch_symbolics=False, on_note=None, rtol=1e-3, atol=1e-5,
                weights_type=None, keep_io_types=True, float32=(), weights_block=None, fuse=False)
OF_UNDERSCORE_EXPORT = dict(export_type=None, fixed_batch_size=False, add_node_names=True, onnx_shape_inference=True, google_printer=False)


class Settings:
    """One attribute for each parameter, checked; `written`: the names of those that were given; `silent`: verbose keeps the text to itself."""


def _layout(positional):
    if len(positional) > 8 and isinstance(positional[8], bool):
        return UNTIL_1_9
    if len(positional) > 11 and isinstance(positional[11], bool):
        return IN_1_10
    return SINCE_1_12


def bind(positional, keywords, defaults=DEFAULTS):
    names = _layout(positional)
    if len(positional) > len(names):
        raise TypeError("export() takes at most %d positional arguments, %d were given" % (len(names), len(positional)))
    given = dict(zip(names, positional))
    for name, value in keywords.items():
        if name in given:
            raise TypeError("export() got multiple values for argument '%s'" % name)
        if name != "model" and name not in defaults:
            raise TypeError("export() got an unexpected keyword argument '%s'" % name)
        given[name] = value
    if "model" not in given:
        raise TypeError("export() missing 1 required positional argument: 'model'")
    s = Settings()
    vars(s).update(defaults)
    vars(s).update(given)
    s.written, s.silent = frozenset(given), False
    _check(s)
    return s


def _check(s):
    _refuse(s)
    _check_mode(s)
    _check_training(s)
    s.opset_version = _opset(s.opset_version)
    s.custom_opsets = _custom_opsets(s.custom_opsets)
    if not s._retain_param_name:
        warn("_retain_param_name=False is ignored: parameters keep their names")
    if s.fallback:
        warn("fallback=True is ignored: what torch.export refuses is an error, and only dynamo=False has the model traced")
    if s.names not in ("tutorials", "1.13"):
        raise ValueError("names is 'tutorials' or '1.13', not %r" % (s.names,))
    s.input_names, s.output_names = _names(s.input_names, "input_names"), _names(s.output_names, "output_names")
    if s.keep_initializers_as_inputs is None:
        s.keep_initializers_as_inputs = s.operator_export_type != OperatorExportTypes.ONNX
    s.functions = _functions(s)
    s.doc_strings = bool(s.verbose) or not s.strip_doc_string
    s.dynamo = s.dynamo is True
    s.report = s.report or s.profile                    # the page has the times


def _opset(version):
    """None is the one of the torch that is installed."""
    version = DEFAULT_OPSET if version is None else version
    if not is_int(version) or not 9 <= version <= 28:
        raise ValueError("Unsupported ONNX opset version: %r; it is a number from 9 to 28" % (version,))
    return int(version)


def _custom_opsets(versions):
    if not isinstance(versions or {}, dict):
        raise TypeError("custom_opsets is a dict of domains and versions, not %r" % (versions,))
    for domain, version in (versions or {}).items():
        if not is_int(version):
            raise TypeError("custom_opsets: the version of %s is an int, not %r" % (domain, version))
    return {domain: int(version) for domain, version in (versions or {}).items()}


def _refuse(s):
    """Parameters that ask for something pt2onnx does not do."""
    if s.export_options:
        raise RuntimeError("pt2onnx: export_options is not supported: give the options themselves")


def _check_mode(s):
    if s.aten and s.operator_export_type is not None or s.export_raw_ir and s.operator_export_type is not None:
        raise ValueError("aten and export_raw_ir cannot be given together with operator_export_type")
    if s.export_raw_ir or getattr(s.operator_export_type, "name", s.operator_export_type) == "RAW":
        raise RuntimeError("pt2onnx: RAW is not supported: the graph of torch.jit.trace(..).graph is what it wrote; "
                           "OperatorExportTypes.ONNX_FALLTHROUGH keeps what ONNX does not have")
    if s.aten:
        warn("aten=True is operator_export_type=OperatorExportTypes.ONNX_ATEN")
        s.operator_export_type = OperatorExportTypes.ONNX_ATEN
    if s.operator_export_type is None:
        s.operator_export_type = OperatorExportTypes.ONNX
    if not isinstance(s.operator_export_type, OperatorExportTypes):
        raise TypeError("operator_export_type is a torch.onnx.OperatorExportTypes, not %r" % (s.operator_export_type,))


def _check_training(s):
    if s.training is None:
        s.training = TrainingMode.PRESERVE
    elif isinstance(s.training, bool):
        s.training = TrainingMode.TRAINING if s.training else TrainingMode.EVAL
        warn("training is a torch.onnx.TrainingMode")
    if not isinstance(s.training, TrainingMode):
        raise TypeError("training is a torch.onnx.TrainingMode, not %r" % (s.training,))
    if s.training != TrainingMode.EVAL and s.do_constant_folding and "do_constant_folding" in s.written:
        warn("constant folding changes weights: do_constant_folding=False keeps them for training", Warn)


def _functions(s):
    """Which modules become functions: None for none, True for all, or their classes."""
    asked = s.export_modules_as_functions
    if not asked:
        return None
    if s.opset_version < 15:
        raise ValueError("export_modules_as_functions needs opset_version 15 or later, where a model can hold functions; it is %d" % s.opset_version)
    if asked is True:
        return True
    if not isinstance(asked, (set, frozenset, list, tuple)):
        raise TypeError("export_modules_as_functions is True or a set of module classes, not %r" % (asked,))
    for cls in asked:
        if not isinstance(cls, type):
            raise RuntimeError("export_modules_as_functions: only classes of modules are expected in the set, not %r" % (cls,))
    return frozenset(asked)


def _names(names, what):
    """A list. An empty name is none."""
    if isinstance(names, str):
        raise TypeError("%s is a list of names, not one text" % what)
    names = list(names or ())
    for name in names:
        if not isinstance(name, str):
            raise TypeError("%s: a name is a text, not %r" % (what, name))
    twice = [n for i, n in enumerate(names) if n and n in names[:i]]
    if twice:
        raise ValueError("%s: %s is given twice" % (what, twice[0]))
    return names
