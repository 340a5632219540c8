"""results.py - what export gives where no file was named, or dynamo=True was written: torch.onnx's ONNXProgram, as far as it is of use."""
import os
import shutil
import tempfile
import weakref

from .turns import undisturbed


class Result:
    """A finished model: `model_bytes`, `model_proto`, `save(path)`, `input_names`, `output_names`, `notes`, `path`; called, it runs in ONNX Runtime.
    `verification` and `report` are what verify=True and report=True have made, `exported_program` is what torch.export gave (None: it was not asked)."""

    def __init__(self, path, folder, call, example_names, as_written, notes, verification, report, exported_program):
        """path: the model; folder: the temporary one that it may lie in, which lives as long as this object; call: how it is called
        (calls.Call), with what the example's tensors are called in the model; as_written: as verification.run_onnx takes it."""
        folder.kept = True
        self.path = os.path.abspath(path)               # the caller may change folders
        self._folder, self._call, self.example_names, self._as_written = folder, call, example_names, as_written
        self.notes, self.verification, self.report, self.exported_program = notes, verification, report, exported_program
        self.input_names, self.output_names = signature(path)

    @property
    def model_bytes(self):
        """The model's file. Weights that lie beside it are not in it."""
        with open(self.path, "rb") as f:
            return f.read()

    @property
    def model_proto(self):
        """The model as the onnx package has it."""
        import onnx
        return onnx.load(self.path)

    @property
    def model(self):
        """The model as the onnx_ir package has it."""
        import onnx_ir
        return onnx_ir.load(self.path)

    def save(self, destination, *, include_initializers=True, keep_initializers_as_inputs=False, external_data=None):
        """Write the model to `destination`, which may be its own file. external_data: True puts the weights into a file beside it, False into the
        model, None leaves them where they are."""
        if not include_initializers or keep_initializers_as_inputs:
            raise RuntimeError("save: give export_params=False or keep_initializers_as_inputs=True to export itself")
        destination, beside = os.path.abspath(os.fsdecode(destination)), has_weights_beside(self.path)
        wanted = beside if external_data is None else bool(external_data)
        if wanted == beside and os.path.exists(destination) and os.path.samefile(destination, self.path):
            return
        if wanted or beside:
            return self.save_anew(destination, wanted)
        with open(destination, "wb") as f:
            f.write(self.model_bytes)

    def save_anew(self, destination, external):
        """The file of weights is named inside the model, so the onnx package writes both, in a folder of their own: it adds to a file that is there,
        and what is replaced may be this model."""
        import onnx
        from onnx.external_data_helper import set_external_data
        model = self.model_proto
        place, name = os.path.split(destination)
        for tensor in model.graph.initializer if external else ():
            if tensor.HasField("raw_data"):             # a text has none
                set_external_data(tensor, name + ".data")
        with tempfile.TemporaryDirectory(prefix="pt2onnx-", dir=place) as folder:
            onnx.save(model, os.path.join(folder, name))
            if external and os.path.exists(os.path.join(folder, name + ".data")):       # which onnx makes for this user alone
                shutil.copymode(os.path.join(folder, name), os.path.join(folder, name + ".data"))
            for made in sorted(os.listdir(folder), reverse=True):       # the weights first
                os.replace(os.path.join(folder, made), os.path.join(place, made))

    def optimize(self):
        """ONNXProgram has it; this model is as good as pt2onnx makes it."""

    def initialize_inference_session(self, initializer=None):
        """ONNXProgram has it; here each call makes a session of its own."""

    def release(self):
        """ONNXProgram has it; no session is kept."""

    def __call__(self, *args, **kwargs):
        """What the model gives for these arguments of forward, by place or by name: a tuple of tensors, with a list for a sequence, None for an
        empty optional, two floats for a complex number and a text for a text. Raises TypeError where they are not those of the export."""
        from .arrays import tensor_of_array
        from .verification import run_onnx
        outputs = run_onnx(self.path, self._call.inputs(args, kwargs), self.example_names, self._as_written)

        def as_torch(x):
            if isinstance(x, list):
                return [as_torch(item) for item in x]
            if x is None or x.dtype == object:
                return x if x is None else x.tolist()
            return tensor_of_array(x)
        return tuple(as_torch(x) for x in outputs.values())


def remove(folder, process):
    """Not from a forked child, whose parent still uses the folder."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class Folder:
    """A temporary folder for the time of a `with`, or as long as this object when it is kept."""

    @undisturbed
    def __enter__(self):
        self.name = tempfile.mkdtemp(prefix="pt2onnx-")
        self.remove, self.kept = weakref.finalize(self, remove, self.name, os.getpid()), False
        return self

    @undisturbed
    def __exit__(self, *_):
        if not self.kept:
            self.remove()


# ---- what a file says, without the onnx package: ModelProto.graph (7), GraphProto.initializer (5), .input (11) and .output (12), whose .name is 1,
# and TensorProto.external_data (13) ----

def number(f):
    value = shift = 0
    while True:
        byte = f.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def fields(f, end):
    """(field, start, end) of each message or text between here and `end`; numbers are passed over."""
    while f.tell() < end:
        key = number(f)
        if key & 7 == 0:
            number(f)
            continue
        size = {1: 8, 5: 4}.get(key & 7) or number(f)
        start = f.tell()
        yield key >> 3, start, start + size
        f.seek(start + size)


def names_of(f, message, field):
    """The names of all values in this field of the graph."""
    found = []
    for number_of_field, start, end in spans(f, message):
        if number_of_field == field:
            a, b = next((a, b) for n, a, b in spans(f, (start, end)) if n == 1)
            f.seek(a)
            found.append(f.read(b - a).decode())
    return found


def spans(f, message):
    f.seek(message[0])
    return list(fields(f, message[1]))


def graph_of(f):
    return next((a, b) for n, a, b in spans(f, (0, f.seek(0, os.SEEK_END))) if n == 7)


def signature(path):
    """The names of the inputs and of the outputs of a model."""
    with open(path, "rb") as f:
        graph = graph_of(f)
        return names_of(f, graph, 11), names_of(f, graph, 12)


def has_weights_beside(path):
    """A file of weights that nothing in the model names is another model's."""
    with open(path, "rb") as f:
        weights = [(a, b) for n, a, b in spans(f, graph_of(f)) if n == 5]
        return any(n == 13 for weight in weights for n, _, _ in spans(f, weight))
