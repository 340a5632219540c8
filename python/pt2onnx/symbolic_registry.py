"""torch.onnx.symbolic_registry as torch 1.8 to 1.12 had it: registration for one opset, and look-ups.

install() puts this module under that name, on every torch. register_op holds for its opset alone; built-in rules are torch's own."""
import inspect

from . import registry
from .telling import warn
from .versions import error_of, registration

_symbolic_versions = {version: module for version in range(7, 21) for module in registry.opset_module(version)}


class _Registry(dict):
    """{(domain, opset): {name: function}} of what register_op was told; an unknown key is an empty dict."""

    def __missing__(self, key):
        return {}


_registry = _Registry()


def register_op(opname, op, domain, version):
    if domain is None or version is None:
        warn("ONNX export failed. The ONNX domain and/or version to register are None.")
    registry.exact[registry.qualified(opname, domain), version] = op
    _registry.setdefault((domain, version), {})[opname] = op


def unregister_op(opname, domain, version):
    if registry.exact.pop((registry.qualified(opname, domain), version), None) is None:
        warn("The opname %s is not registered." % opname)
    _registry.get((domain, version), {}).pop(opname, None)


def get_registered_op(opname, domain, version):
    """The function for this opset: what register_op was told, else torch's own."""
    name = registry.qualified(opname, domain)
    if (name, version) in registry.exact:
        return registry.exact[name, version]
    group = registration.registry.get_function_group(name)
    found = group.get(version) if group else None
    if found is None:
        raise error_of("UnsupportedOperatorError", "Exporting the operator '%s' to ONNX opset version %d is not supported." % (name, version))
    return found


def is_registered_op(opname, domain, version):
    name = registry.qualified(opname, domain)
    return (name, version) in registry.exact or registration.registry.is_registered_op(name, version)


def get_op_supported_version(opname, domain, version):
    """The lowest opset from this one on that has the operator, or None."""
    return next((v for v in range(version, 21) if is_registered_op(opname, domain, v)), None)


def is_registered_version(domain, version):
    return (domain, version) in _registry or domain == "" and version in _symbolic_versions


def register_version(domain, version):
    _registry.setdefault((domain, version), {})


def get_ops_in_version(version):
    """(name, function) pairs of torch's module for one opset."""
    names = {"_len": "len", "_list": "list", "_any": "any", "_all": "all"}
    module = _symbolic_versions[version]
    return [(names.get(name, name), f) for name, f in inspect.getmembers(module, inspect.isfunction)]


def register_ops_helper(domain, version, iter_version):
    for name, f in get_ops_in_version(iter_version):
        if not is_registered_op(name, domain, version):
            register_op(name, f, domain, version)


def register_ops_in_version(domain, version):
    register_version(domain, version)
    for older in range(version, 8, -1):
        register_ops_helper(domain, version, older)
