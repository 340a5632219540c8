"""registry.py - which symbolic function lowers an operator at an opset: the user's, from all the places users put them.

- torch.onnx.register_custom_op_symbolic(name, f, opset): from that opset on (torch keeps these; they beat every built-in rule);
- torch.onnx.symbolic_registry.register_op(name, f, domain, opset): at that opset only (kept here, torch has dropped it);
- an attribute set on torch.onnx.symbolic_opsetN: from opset N on."""
import importlib
import inspect

from .versions import registration

exact = {}              # (name, opset) -> function: what register_op was told
originals = {}          # opset -> the attributes that torch.onnx.symbolic_opsetN had when this package was loaded


def qualified(opname, domain=""):
    """('asinh', '') -> 'aten::asinh'; ('prim_PythonOp', '') -> 'prim::PythonOp'"""
    domain = "aten" if domain in ("", "aten") else domain
    if domain == "aten" and opname.startswith("prim_"):
        return "prim::" + opname[len("prim_"):]
    return "%s::%s" % (domain, opname)


def opset_module(opset):
    """Two modules of one name in torch 2.x: the one of the exporter's, and torch.onnx's that lists it."""
    for place in ("torch.onnx", "torch.onnx._internal.torchscript_exporter"):
        try:
            yield importlib.import_module("%s.symbolic_opset%d" % (place, opset))
        except ImportError:
            pass


def is_users(value):
    """Set before this package was loaded: no function of torch, nor of what its modules import."""
    return inspect.isfunction(value) and (value.__module__ or "").split(".")[0] not in ("torch", "typing", "functools", "warnings")


def remember_modules():
    for opset in range(7, 21):
        originals[opset] = [(m, {name: value for name, value in vars(m).items() if not is_users(value)}) for m in opset_module(opset)]


def assigned(opset):
    """Functions that the user has set on the modules of opsets up to this one: {name: function}."""
    found = {}
    for number in sorted(originals):
        for module, before in originals[number] if number <= opset else ():
            for name, value in vars(module).items():
                if inspect.isfunction(value) and before.get(name) is not value:
                    found[qualified(name)] = value
    return found


def is_torchvisions(function):
    """torchvision registers its own functions when it is imported: nobody has asked for them, and pt2onnx has these operators."""
    return getattr(function, "__module__", "") == "torchvision.ops._register_onnx_ops"


def overrides(opset):
    """{operator: function} for all that the user has told, at this opset. The most particular wins."""
    found = assigned(opset)
    for name in registration.registry.all_functions():
        custom = registration.registry.get_function_group(name)._functions._overrides
        versions = [v for v, f in custom.items() if v <= opset and not is_torchvisions(f)]
        if versions:
            found[qualified(*reversed(name.split("::", 1)))] = custom[max(versions)]
    found.update({name: f for (name, version), f in exact.items() if version == opset})
    return found


def plain(name):
    """aten::add_ -> aten::add; aten::__and__ stays."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def torch_has(name, opset):
    """Does torch's own exporter have a rule? Decides what the fallback modes write as ATen nodes."""
    return registration.registry.is_registered_op(plain(name), min(opset, 20))


def of_torch(name, opset):
    """torch's own symbolic function for this operator; None when it has none."""
    group = registration.registry.get_function_group(plain(name))
    return group.get(min(opset, 20)) if group else None


remember_modules()
