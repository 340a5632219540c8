"""_capi.py - include/pt2onnx.h for ctypes: the structs, the functions, errors as exceptions. Knows nothing of torch."""
import ctypes
import os
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ATTR_INT, ATTR_FLOAT, ATTR_STRING, ATTR_INTS, ATTR_FLOATS, ATTR_TENSOR, ATTR_GRAPH, ATTR_STRINGS = range(8)
NOTE_WORDS = ("assumed", "added", "dropped", "changed", "info")


class Tensor(Structure):
    _fields_ = [("dtype", c_int), ("rank", c_int), ("dims", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("data", c_void_p), ("name", c_char_p)]


class Attr(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("i", c_int64), ("f", c_double), ("s", c_char_p), ("n", c_size_t),
                ("ints", POINTER(c_int64)), ("floats", POINTER(c_double)), ("t", POINTER(Tensor))]


class Type(Structure):
    _fields_ = [("dtype", c_int), ("rank", c_int), ("dims", POINTER(c_int64)), ("kind", c_char_p), ("dim_name", POINTER(c_char_p))]


class Graph(Structure):
    pass


class Node(Structure):
    _fields_ = [("kind", c_char_p), ("source", c_char_p), ("scope", c_char_p), ("inputs", POINTER(c_uint32)), ("n_in", c_size_t),
                ("outputs", POINTER(c_uint32)), ("n_out", c_size_t), ("attr", POINTER(Attr)), ("n_attr", c_size_t),
                ("block", POINTER(POINTER(Graph))), ("n_block", c_size_t), ("id", c_uint32),
                ("overload", c_char_p), ("in_name", POINTER(c_char_p)), ("names", c_char_p), ("calls", c_char_p)]


Graph._fields_ = [("node", POINTER(Node)), ("n_node", c_size_t), ("inputs", POINTER(c_uint32)), ("n_in", c_size_t),
                  ("outputs", POINTER(c_uint32)), ("n_out", c_size_t)]


class Trace(Structure):
    _fields_ = [("size", c_size_t), ("graph", Graph), ("n_value", c_size_t), ("type", POINTER(Type)), ("name", POINTER(c_char_p)),
                ("n_param", c_size_t), ("param", POINTER(c_uint32)), ("param_tensor", POINTER(Tensor))]


NoteFn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ProgressFn = CFUNCTYPE(None, c_void_p, c_char_p, c_double)
AmountFn = CFUNCTYPE(None, c_void_p, c_char_p, c_uint64)
DumpFn = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
WrittenFn = CFUNCTYPE(None, c_void_p, c_void_p)
SymbolicFn = CFUNCTYPE(c_int, c_void_p, c_void_p)
WriteFn = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
Texts = POINTER(c_char_p)


class Options(Structure):
    _fields_ = [("size", c_size_t), ("opset", c_int), ("mode", c_int), ("weights", c_int), ("target", c_int), ("keep_weights", c_int),
                ("dynamic", c_int), ("check_crc", c_int), ("inputs", Texts), ("n_inputs", c_size_t), ("output_names", Texts),
                ("n_output_names", c_size_t), ("rules", Texts), ("n_rules", c_size_t), ("limits", Texts), ("n_limits", c_size_t),
                ("dump_after", c_char_p), ("user", c_void_p), ("on_note", NoteFn), ("on_progress", ProgressFn), ("on_dump", DumpFn),
                ("symbolic_names", Texts), ("n_symbolic_names", c_size_t), ("symbolic", SymbolicFn), ("symbolic_opset", c_int),
                ("constant_nodes", c_int), ("initializers_as_inputs", c_int), ("drop_unused_inputs", c_int), ("torch_names", c_int), ("doc_strings", c_int),
                ("rename_inputs", Texts), ("n_rename_inputs", c_size_t), ("rename_outputs", Texts), ("n_rename_outputs", c_size_t),
                ("keep_loops", c_int), ("domains", Texts), ("n_domains", c_size_t), ("output_dims", Texts), ("n_output_dims", c_size_t),
                ("state", c_int), ("loops", c_int), ("module", c_char_p), ("method", c_char_p), ("model_name", c_char_p), ("dims", Texts), ("n_dims", c_size_t),
                ("keep_inputs", Texts), ("n_keep_inputs", c_size_t), ("soft_sizes", c_int), ("unknown", c_int), ("default_dtype", c_int), ("sequence_lists", c_int), ("sandbox", c_int),
                ("weights_type", c_int), ("change_io_types", c_int), ("float32", Texts), ("n_float32", c_size_t), ("weights_block", c_int), ("fuse", c_int),
                ("on_written", WrittenFn), ("on_source", c_void_p),
                ("show_json", c_int), ("on_amount", AmountFn)]

    def __init__(self, **fields):
        """Lists of texts by their name alone; callbacks as Python functions. Everything that C looks at is kept here."""
        super().__init__(ctypes.sizeof(Options))
        self.kept = []
        for name, value in fields.items():
            if name in TEXT_LISTS:
                value = list(value)
                setattr(self, "n_" + name, len(value))
                value = texts(value)
            elif name in CALLBACKS:
                value = CALLBACKS[name](value)
            elif isinstance(value, str):
                value = c_text(value)
            self.kept.append(value)
            setattr(self, name, value)


TEXT_LISTS = ("inputs", "output_names", "rules", "limits", "symbolic_names", "rename_inputs", "rename_outputs", "domains", "keep_inputs",
              "output_dims", "dims", "float32")
CALLBACKS = {"on_note": NoteFn, "on_progress": ProgressFn, "on_amount": AmountFn, "on_dump": DumpFn, "on_written": WrittenFn, "symbolic": SymbolicFn}


class ConversionError(RuntimeError):
    """What pt2onnx says; `status` is its exit code: 1 cannot convert, 2 usage, 3 unreadable, 4 a bug of pt2onnx. `inputs`:
    where only something about the inputs is missing, SPECs with which the model converts, beside those that were given."""

    def __init__(self, message, status, inputs=()):
        super().__init__(message)
        self.status, self.inputs = status, list(inputs)


LIBRARY = {"win32": "pt2onnx.dll", "darwin": "libpt2onnx.dylib"}.get(sys.platform, "libpt2onnx.so")


def _find():
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.environ.get("PT2ONNX_LIBRARY"), os.path.join(here, LIBRARY), os.path.join(here, "..", "..", "build", LIBRARY)):
        if path and os.path.exists(path):
            return path
    raise ImportError("%s is missing: build pt2onnx, or set PT2ONNX_LIBRARY to its path" % LIBRARY)


def _load():
    lib = ctypes.CDLL(_find())
    for name, result, arguments in (
            ("pt2onnx_error_message", c_char_p, [c_void_p]), ("pt2onnx_error_free", None, [c_void_p]),
            ("pt2onnx_error_inputs", c_size_t, [c_void_p, POINTER(POINTER(c_char_p))]),
            ("pt2onnx_convert", c_int, [c_char_p, c_char_p, POINTER(Options), POINTER(c_void_p)]),
            ("pt2onnx_convert_trace", c_int, [POINTER(Trace), c_char_p, POINTER(Options), POINTER(c_void_p)]),
            ("pt2onnx_show", c_int, [c_char_p, WriteFn, c_void_p, POINTER(Options), POINTER(c_void_p)]),
            ("pt2onnx_call_name", c_char_p, [c_void_p]), ("pt2onnx_call_node", c_uint32, [c_void_p]),
            ("pt2onnx_call_emit", c_uint32, [c_void_p, c_char_p, POINTER(c_uint32), c_size_t, POINTER(Attr), c_size_t, c_size_t]),
            ("pt2onnx_call_n_in", c_size_t, [c_void_p]),
            ("pt2onnx_call_in", c_int, [c_void_p, c_size_t, POINTER(Type), POINTER(c_void_p)]),
            ("pt2onnx_call_items", c_int64, [c_void_p, c_size_t, POINTER(c_size_t)]),
            ("pt2onnx_call_block", c_uint32, [c_void_p, POINTER(Type), c_size_t]),
            ("pt2onnx_call_block_end", c_uint32, [c_void_p, POINTER(c_uint32), c_size_t]),
            ("pt2onnx_call_type", None, [c_void_p, c_uint32, POINTER(Type)]),
            ("pt2onnx_call_result", None, [c_void_p, POINTER(c_uint32), c_size_t]), ("pt2onnx_call_fail", None, [c_void_p, c_char_p])):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


lib = _load()


def array(ctype, items):
    """A C array; the caller keeps it alive. At least one item, so that its address is never null."""
    items = list(items)
    return (ctype * max(1, len(items)))(*items)


def c_text(text):
    """A text, or the bytes of a path, for C, which would take a null byte for its end."""
    found = text if isinstance(text, bytes) else text.encode()
    if b"\0" in found:
        raise ValueError("there is a null byte in %r" % (text,))
    return found


def c_path(path):
    return c_text(os.fsencode(path))


def texts(items):
    return array(c_char_p, map(c_text, items))


def _checked(function, *arguments):
    """Raises ConversionError. Exceptions of callbacks are the callbacks' to keep: ctypes would print and lose them."""
    error = c_void_p()
    status = function(*arguments, ctypes.byref(error))
    if status == 0:
        return
    message = lib.pt2onnx_error_message(error).decode("utf-8", "replace")
    specs = POINTER(c_char_p)()
    inputs = [specs[i].decode("utf-8", "replace") for i in range(lib.pt2onnx_error_inputs(error, ctypes.byref(specs)))]
    lib.pt2onnx_error_free(error)
    raise ConversionError(message, status, inputs)


def convert(model, out, options):
    _checked(lib.pt2onnx_convert, c_path(model), c_path(out), ctypes.byref(options))


def convert_trace(trace, out, options):
    _checked(lib.pt2onnx_convert_trace, ctypes.byref(trace), c_path(out), ctypes.byref(options))


def show(path):
    """What `pt2onnx show` prints of a saved program or an ONNX model, as text."""
    pieces = []
    write = WriteFn(lambda user, at, n: pieces.append(ctypes.string_at(at, n)) or 0)
    _checked(lib.pt2onnx_show, c_path(path), write, None, None)
    return b"".join(pieces).decode("utf-8", "replace")
