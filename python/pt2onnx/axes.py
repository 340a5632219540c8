"""axes.py - dynamic_axes: {name: {axis: name of the size}}, or {name: [axes]}, for inputs and outputs."""
import numbers
import re

from .telling import warn


def names_of_axes(key, axes):
    """{axis: name}, with torch.onnx's names where the caller has none."""
    if isinstance(axes, dict):
        return {axis_of(key, axis, name): name or generated(key, i) for i, (axis, name) in enumerate(axes.items())}
    if isinstance(axes, tuple) or not hasattr(axes, "__iter__"):
        raise TypeError("dynamic_axes[%r] is a dict or a list of axes, not %r" % (key, axes))
    warn("No names were found for specified dynamic axes of provided input."
         "Automatically generated names will be applied to each dynamic axes of input %s" % key)
    found = {}
    for i, axis in enumerate(axes):
        if not is_int(axis):
            raise ValueError("The type of axis index is expected to be an integer")
        if axis in found:
            warn("Duplicate dynamic axis index %d was provided for input %s." % (axis, key))
        else:
            found[int(axis)] = generated(key, i)
    return found


def axis_of(key, axis, name):
    if not is_int(axis) or not isinstance(name, str):
        raise TypeError("dynamic_axes[%r]: an axis is an int and its name a text, not %r: %r" % (key, axis, name))
    return int(axis)


def is_int(value):
    """An int of Python's or of NumPy's."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def generated(key, i):
    return "%s_dynamic_axes_%d" % (key, i + 1)


def checked(dynamic_axes):
    """{name: {axis: name}}"""
    if not isinstance(dynamic_axes or {}, dict):
        raise TypeError("dynamic_axes is a dict of names of inputs and outputs, not %r" % (dynamic_axes,))
    return {key: names_of_axes(key, axes) for key, axes in (dynamic_axes or {}).items()}


def spelled(name):
    """A name as SPECs of inputs can say it, which is in ASCII: other letters are their numbers, so that 高 and 宽 stay two names."""
    name = re.sub(r"[^\x00-\x7f]", lambda letter: "_%x" % ord(letter.group()), name)
    name = re.sub(r"\W", "_", name)
    return "_" + name if name[:1].isdigit() else name


def normal_axis(name, axis, rank):
    """Counted from the front."""
    if not -rank <= axis < rank:
        raise RuntimeError("Dynamic shape axis should be no more than the shape dimension for %s" % name)
    return axis % rank


def names_by_axis(name, axes, rank):
    """[name or None] for each axis."""
    names = [None] * rank
    for axis, text in axes.items():
        axis = normal_axis(name, axis, rank)
        if names[axis] not in (None, text):
            raise ValueError("dynamic_axes: dimension %d of %s has two names: %s, %s" % (axis, name, names[axis], text))
        names[axis] = text
    return names


class SizeNames:
    """The caller's names of open sizes. One name for two sizes that the example tells apart would make one of them: the second gets another."""

    def __init__(self):
        self.known = {}                                 # name: (size in the example, the input that it is of)

    def of(self, wish, size, where):
        name, k = wish, 0
        while self.known.setdefault(name, (size, where))[0] != size:
            k += 1
            name = "%s_%d" % (wish, k)
        if name != wish and self.known[name][1] == where:
            first, of = self.known[wish]
            warn("%s is %d in %s and %d in %s: these are two sizes, the second is called %s" % (wish, first, of, size, where, name))
        return name
