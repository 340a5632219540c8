"""exporting.py - pt2onnx.export: which road a model takes, and what the caller gets back.

    nn.Module, callable          torch's trace graph, handed over in memory (trace.py)
    ScriptModule, ScriptFunction torch.jit.save to a temporary file, and the reader of .pt
    ExportedProgram, dynamo=True torch.export.save to a temporary file, and the reader of .pt2"""
import contextlib
import errno
import os
import re
import reprlib
import shutil
import sys
import time
import warnings

import torch

from . import _capi, axes, programs, registry, scripts, shapes
from .arguments import (Function, Keywords, Structured, arrange, as_tuple, copied, divided, forward_by_place, has_structure, leaves, named_tensors, plain,
                        prefix_of, signature_of, told_apart)
from .calls import Call, of_signature
from .files import WEIGHTS, in_a_file, texts_of, type_fields
from .parameters import DEFAULTS, OF_UNDERSCORE_EXPORT, bind
from .reporting import page_beside, render
from .results import Folder, Result, signature
from .scratch import Stopped
from .symbolic import FALLBACK, FALLTHROUGH, Symbolics
from .telling import Progress, warn
from .trace import CallsScript, Record, leave_uncompiled, results_seen, seen_through, trace
from .turns import Turn, as_before, deliver, tensors_kept, undisturbed
from .verification import NAMED_BY_USE, leaves_in, number_as_tensor
from .versions import GLOBALS, ONNX_DTYPES, OperatorExportTypes, TrainingMode, Warn, autocasts, error_of, has_export

MISSING = re.compile(r"Exporting the operator '([^']+)' to ONNX opset version \d+ is not supported")
UNRECOGNIZED = ("ONNX export failed on an operator with unrecognized namespace %s. If you are trying to export a custom operator, "
                "make sure you registered it with the right domain and version.\n%s")
NEEDS = re.compile(r"^ +(?:aten|prim|quantized)::(\w+): (.+) needs ONNX opset (\d+), the target is (\d+)$", re.M)
UNSUPPORTED = "Unsupported: ONNX export of %s in opset %s. %s. Please try opset version %s."
TORCH_WORDS = {"Pad whose pads are not known": ("Pad", "The sizes of the padding must be constant")}
OF_WHOLE_WEIGHTS = "\nweights of %s change what the model gives: rtol and atol say how much may be"
ASSUMED, ADDED, DROPPED, CHANGED = range(4)
CONSTANT_INPUTS = re.compile(r"the input .*, because nothing uses it$")
UPDATE = re.compile(r"the update of (.+): every run starts from the value in the file")


def export(*positional, **keywords):
    return Export(bind(positional, keywords)).run()


class Export:
    """One call of export."""

    def __init__(self, settings):
        self.s, self.notes, self.text, self.borrowed, self.program = settings, [], "", set(), None
        self.told = []                                  # notes of the trace, in front of those of C
        self.weights = {}                               # {name: tensor}: those that are inputs of the model

    # ---- the frame ----

    def run(self):
        with Turn(self.s.model) as self.turn, Folder() as folder:
            self.check_output()
            self.set_globals()
            self.folder = folder.name
            path = self.output_path() or os.path.join(folder.name, "model.onnx")
            start = time.perf_counter()
            self.convert(path)
            self.times = [("export", time.perf_counter() - start)]
            self.after(path)
            return self.give(path, folder)

    def output_path(self):
        """The caller's path, None for a file or nothing."""
        return in_a_file(os.fsdecode(self.s.f)) if isinstance(self.s.f, (str, bytes, os.PathLike)) else None

    def check_output(self):
        """What cannot be written to is told before the work."""
        path = self.output_path()
        if path is None:
            self.check_file(self.s.f)
            return
        if "\0" in path:
            raise ValueError("f has an embedded null byte: %r" % path)
        folder = os.path.dirname(path) or os.curdir
        missing = path if not path else folder if not os.path.isdir(folder) else None
        if missing is not None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)

    def check_file(self, f):
        if f is not None and not hasattr(f, "write"):
            raise TypeError("f is a path, a file or None, not %r" % (f,))
        try:
            if f is not None:
                f.write(b"")
        except TypeError:
            raise TypeError("f is a file of text: a model is bytes, which open(.., \"wb\") takes") from None

    def set_globals(self):
        """torch.onnx.is_in_onnx_export() and what else symbolic functions and models ask for; the turn puts them back."""
        GLOBALS.in_onnx_export = True
        GLOBALS.operator_export_type, GLOBALS.training_mode = self.s.operator_export_type, self.s.training

    def give(self, path, folder):
        """None, as torch.onnx.export gives, unless the caller has no file or has asked for the newer exporter."""
        s = self.s
        if s.f is not None and self.output_path() is None:
            self.write_into(s.f, path)
        if s.f is not None and not s.dynamo:
            return None
        return Result(path, folder, self.call_of, self.example_names, not s.keep_io_types, self.notes, self.verification, self.report, self.program)

    def write_into(self, f, path):
        if os.path.exists(path + ".data"):
            raise RuntimeError("weights in a file of their own need a path: f is a file" if self.external() else
                               "The serialized model is larger than the 2GiB limit: give a path, so that the weights can lie beside it")
        with open(path, "rb") as model:
            shutil.copyfileobj(model, f)

    # ---- the roads ----

    def convert(self, path):
        s = self.s
        model = s.model
        if isinstance(model, torch.nn.DataParallel):
            raise ValueError("torch.nn.DataParallel is not supported by ONNX exporter, please use 'attribute' module to unwrap model "
                             "from torch.nn.DataParallel. Try torch.onnx.export(model.module, ...)")
        check_weights(model)
        if self.wants_program():
            self.needs_trace()
            return self.from_program(path)
        self.needs_program()
        model = s.model = uncompiled(model)
        if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
            self.needs_trace()
            return self.from_script(path)
        if not isinstance(model, torch.nn.Module):
            if not callable(model) or isinstance(model, (type, torch._C.ScriptMethod)):
                raise TypeError("pt2onnx.export: model is of type %s: %s" % (type(model).__name__, instead_of(model)))
            s.model = Function(model)
        return self.from_trace(path)

    def needs_program(self):
        if self.s.dump_exported_program:
            raise RuntimeError("pt2onnx: dump_exported_program needs a program of torch.export: dynamo=True")

    def needs_trace(self):
        """What only a plain nn.Module has, without dynamo, dynamic_shapes and quantised weights."""
        s = self.s
        if s.functions:
            raise RuntimeError("pt2onnx: export_modules_as_functions needs a module that is traced: a plain nn.Module, without dynamo, dynamic_shapes and "
                               "quantised weights")
        if not s.export_params:
            warn("export_params=False is ignored, the model has its weights: only a plain nn.Module that is traced can go without")
        if s.operator_export_type in (OperatorExportTypes.ONNX_ATEN, FALLTHROUGH):
            warn("operator_export_type=%s is ignored: only of a plain nn.Module that is traced operators stay torch's" % s.operator_export_type.name)

    def wants_program(self):
        s = self.s
        is_program = has_export() and isinstance(s.model, torch.export.ExportedProgram)
        if not is_program and (s.dynamo or s.dynamic_shapes is not None) and not has_export():
            raise RuntimeError("dynamo and dynamic_shapes need torch.export, which torch %s does not have: dynamic_axes names sizes"
                               % torch.__version__)
        return is_program or s.dynamo or s.dynamic_shapes is not None or not hasattr(torch.jit, "_get_trace_graph")

    @contextlib.contextmanager
    def mode(self, model):
        """Training or evaluation mode for the time of the export; each module gets its own back. A frozen script has no mode left."""
        has_mode = isinstance(model, torch.nn.Module) and hasattr(model, "training")
        before = [(m, m.training) for m in model.modules() if hasattr(m, "training")] if has_mode else []
        if self.s.training != TrainingMode.PRESERVE and has_mode:
            self.set_mode(model, self.s.training == TrainingMode.TRAINING)
        GLOBALS.export_training = has_mode and model.training
        try:
            yield
        finally:
            for m, training in before:
                if m.training != training:
                    m.training = training

    def set_mode(self, model, training):
        """A program of torch.export as a module has the mode that it was exported in, and refuses another."""
        try:
            model.train(training)
        except NotImplementedError:
            for m in model.children():
                self.set_mode(m, training)

    def from_trace(self, path):
        s = self.s
        args, keywords = arrange(s.model, s.args, s.kwargs)
        if is_quantized(s.model, args):
            return self.from_saved_trace(path, args, keywords)
        model = Keywords(s.model, len(args), list(keywords)) if keywords else s.model
        everything = copied(args + tuple(keywords.values()))
        if has_structure(everything):
            model = Structured(model, everything)
            everything = model.leaves
        self.positional, self.named = args, keywords
        self.call_of = of_signature(signature_of(s.model), args, keywords)
        traced = self.traced(model, everything)
        if traced is None:
            return self.from_saved_trace(path, args, keywords)
        graph, weights, scopes, updates = traced
        self.told += [(DROPPED, "the update of %s: every run starts from the value in the file" % name) for name in updates]
        given_up = set()
        while not self.try_trace(path, graph, weights, scopes, given_up):
            pass
        inputs = signature(path)[0]
        self.call_of.fix_numbers(self.example_names, {*inputs, *(NAMED_BY_USE.sub("", name) for name in inputs)})

    def traced(self, model, args):
        """As trace gives it; None where forward calls a ScriptModule. Gradients are as the caller has it: some modules take other ways without."""
        s = self.s
        try:
            with self.mode(s.model), results_seen(model, self.check_result):
                return trace(model, args, counted=s.names == "1.13" or s.functions is not None)
        except CallsScript:
            return None

    def check_result(self, result):
        """A trace has tensors only. A number would be the example's in every run; a text is left out. Gives the parts of a result whose containers the
        tracer does not know, else None."""
        for path, leaf in leaves(result):
            which = "the output%s" % (path and " " + path)
            if isinstance(leaf, (bool, int, float)):
                raise RuntimeError("%s is the number %r, which a trace cannot tell from one that an input decides: return a tensor, torch.tensor(%r) for the "
                                   "same in every run" % (which, leaf, leaf))
            if isinstance(leaf, str):
                self.told.append((DROPPED, "%s, the text %s: a trace has tensors only" % (which, reprlib.repr(leaf))))
        return tuple(torch.utils._pytree.tree_flatten(result)[0]) if has_structure(result) else None

    def try_trace(self, path, graph, weights, scopes, given_up):
        """False: an operator has failed that the mode keeps, and is in given_up now."""
        s = self.s
        symbolics = Symbolics(s, given_up, self.borrowed)
        known = axes.checked(s.dynamic_axes)
        record = Record(graph, weights, s.input_names, known, symbolics.stays, not s.export_params, s.names == "1.13",
                        functions_of(s.model, s.functions), scopes)
        self.warn_of_keys(known, record.input_names + s.output_names)
        self.output_axes(known, s.output_names)
        self.example_names = record.input_names
        self.weights = {} if s.export_params else dict(zip(record.weight_names, weights.values()))
        fields = self.fields(symbolics, record)
        fields.update(rename_outputs=s.output_names, keep_inputs=record.kept_names)
        try:
            self.call(_capi.convert_trace, record.trace, path, fields, symbolics)
        except RuntimeError as e:
            if self.borrow(e):
                return False
            lost = {name for name in MISSING.findall(str(e)) if name not in given_up}
            if s.operator_export_type not in (FALLBACK, FALLTHROUGH) or not lost:
                raise
            given_up |= lost
            return False
        return True

    def borrow(self, e):
        """torch_symbolics=True: may torch's own functions convert what has failed? Said once for each operator."""
        lost = sorted(n for n in set(MISSING.findall(str(e))) - self.borrowed if registry.of_torch(n, self.s.opset_version)) if self.s.torch_symbolics else []
        for name in lost:
            print("pt2onnx: %s goes through torch.onnx's own symbolic function" % name, file=sys.stderr)
        self.borrowed.update(lost)
        return bool(lost)

    def from_saved_trace(self, path, args, keywords):
        """torch's own trace graph has no place for quantised tensors, packed weights and scripted modules; a saved trace has."""
        self.needs_trace()
        s, model = self.s, self.s.model
        forward, s.args = forward_by_place(model, *torch.utils._pytree.tree_map(number_as_tensor, (args, keywords)))
        s.kwargs = None
        with self.mode(model), tensors_kept(model), seen_through(), torch.no_grad():
            leave_uncompiled(model)
            model.forward = forward                     # until tensors_kept puts the model's own back
            s.model = torch.jit.trace(model, copied(s.args), check_trace=False, strict=False)
        self.from_script(path)
        s.model, self.positional, self.named = model, args, keywords
        self.call_of = of_signature(signature_of(model), args, keywords)

    def from_script(self, path):
        """Loops stay loops where ONNX can say them, as torch.onnx leaves them; a program that needs them unrolled has them unrolled."""
        s = self.s
        saved = os.path.join(self.folder, "model.pt")
        with self.mode(s.model):
            scripts.save(s.model, saved)
        self.positional, self.named = scripts.divided(s.model, as_tuple(s.args), s.kwargs)
        self.call_of = scripts.call_of(s.model, self.positional, self.named)
        given = scripts.Inputs(s.model, self.positional, self.named, axes.checked(s.dynamic_axes), s.input_names)
        known = self.axes_of_files()
        self.output_axes(known, s.output_names)
        self.example_names = given.names
        keep_loops = True
        while True:
            symbolics = Symbolics(s, borrowed=self.borrowed)
            fields = self.fields(symbolics, None)
            fields.update(inputs=given.specs, soft_sizes=True, sequence_lists=True, keep_loops=keep_loops, keep_inputs=given.kept,
                          rename_inputs=given.renamed, rename_outputs=s.output_names)
            try:
                return self.call(_capi.convert, saved, path, fields, symbolics)
            except RuntimeError as e:
                if not self.borrow(e):
                    if not keep_loops:
                        raise
                    keep_loops = False

    def from_program(self, path):
        s = self.s
        if isinstance(s.model, torch.export.ExportedProgram):
            self.positional, self.named = as_tuple(s.args), dict(s.kwargs or {})
            self.program, names = s.model, self.names_of_program()
        else:
            self.program, names = self.exported()
        saved = os.path.join(self.folder, "model.pt2")
        programs.save(self.program, saved, Symbolics(s).functions, with_example=s.dump_exported_program)
        if s.dump_exported_program:
            os.makedirs(s.artifacts_dir, exist_ok=True)
            shutil.copy(saved, os.path.join(s.artifacts_dir, "pt2onnx-program.pt2"))
        self.output_axes(self.axes_of_files(), s.output_names)
        self.example_names = None                       # this model has all inputs that are no constants, in this order
        while True:
            symbolics = Symbolics(s, borrowed=self.borrowed)
            fields = self.fields(symbolics, None)
            fields.update(dims=names, drop_unused_inputs=False, rename_inputs=s.input_names, rename_outputs=s.output_names)
            try:
                return self.call(_capi.convert, saved, path, fields, symbolics)
            except RuntimeError as e:
                if not self.borrow(e):
                    raise

    def exported(self):
        """The module as torch.export has it, and the caller's names of its dynamic sizes."""
        s = self.s
        model = s.model if isinstance(s.model, torch.nn.Module) else Function(s.model)
        self.positional, self.named = divided(signature_of(model), as_tuple(s.args), s.kwargs)
        self.call_of = of_signature(signature_of(model), self.positional, self.named)
        example = told_apart((self.positional, self.named), model)
        arguments = shapes.arguments_of(model, *example)
        if hasattr(s.dynamic_shapes, "dynamic_shapes"):                 # a ShapesCollection, or AdditionalInputs
            s.dynamic_shapes = s.dynamic_shapes.dynamic_shapes(model, *example)
        told = self.told_shapes(arguments, shapes.places_of(model, arguments))
        if autocasts():
            raise RuntimeError("torch.export records no casts of an autocast around it: enter autocast in forward")
        with self.mode(model), tensors_kept(model), torch.no_grad():
            program, seen = shapes.exported(model, example, arguments, told)
        self.call_of.constants = shapes.constants_of(program, arguments)
        warn_of_fixed(program, arguments, told, "torch.export has fixed it")
        names = shapes.names_of_sizes(program, arguments, told)
        questions = shapes.answers_of_one(program, arguments, told, seen)
        wrong = {size for size in {size for size, _, _ in questions}
                 if not self.agree(model, program, shapes.with_one(program, example, arguments, told, size))}
        self.tell_of_ones([question for question in questions if question[0] in wrong], dict(name.split("=") for name in names))
        return program, names

    def agree(self, model, program, example):
        """Does the program give for this example what the module gives? Both begin with the same random numbers and buffers. None is no example."""
        try:
            args, keywords = copied(example)
            with self.mode(model), torch.no_grad(), as_before(model):
                want = copied(leaves_in(model(*args, **keywords)))
            args, keywords = copied(example)
            with torch.no_grad(), as_before(model):
                torch.testing.assert_close(leaves_in(shapes.runs_as(program)(*args, **keywords)), want, rtol=self.s.rtol, atol=self.s.atol, equal_nan=True)
        except Exception:                               # another result, or one of the two takes no such size
            return False
        return True

    def tell_of_ones(self, questions, names):
        for size, question, where in questions:
            name = names.get(size, size)
            self.told.append((ASSUMED, "the size %s is not 1: %s asks for %s, and the program goes the way of larger sizes" % (
                name, where, re.sub(r"\b%s\b" % size, name, question))))

    def names_of_program(self):
        """The caller's names of the sizes that are dynamic in the ExportedProgram at hand."""
        arguments = shapes.arguments_of_program(self.s.model)
        self.call_of = Call(list(arguments), {}, tuple(arguments.values()), {})
        self.call_of.constants = shapes.constants_of(self.s.model, arguments)
        told = self.told_shapes(arguments, list(arguments))
        warn_of_fixed(self.s.model, arguments, told, "torch.export.export opens it, with dynamic_shapes")
        return shapes.names_of_sizes(self.s.model, arguments, told)

    def told_shapes(self, arguments, names):
        """{argument: its shapes}, of dynamic_shapes or of what dynamic_axes says in its terms. names: of the arguments, by place."""
        told = self.s.dynamic_shapes
        if not told:
            return self.shapes_of_axes(arguments)
        for name in axes.checked(self.s.dynamic_axes):
            if name not in self.s.output_names:
                warn("dynamic_axes of %s is ignored: dynamic_shapes tells which sizes stay open" % name)
        return shapes.checked(arguments, shapes.by_argument(names, told))

    def shapes_of_axes(self, arguments):
        s = self.s
        known = axes.checked(s.dynamic_axes)
        found, names = shapes.of_axes(arguments, known, s.input_names)
        self.warn_of_keys(known, names | set(s.output_names))
        return found if known else None

    def axes_of_files(self):
        """Of outputs, with the names spelled as those of inputs are."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")             # said once already
            known = axes.checked(self.s.dynamic_axes)
        return {name: {axis: axes.spelled(text) for axis, text in named.items()} for name, named in known.items()}

    # ---- what all roads share ----

    def warn_of_keys(self, known, names):
        for key in known:
            if key not in names:
                warn("Provided key %s for dynamic axes is not a valid input/output name" % key)

    def output_axes(self, known, names):
        self.output_dims = ["%s.%d=%s" % (name, axis, text) for name in names for axis, text in known.get(name, {}).items()]

    def fields(self, symbolics, record):
        """The options of C that all roads share."""
        s = self.s
        return dict(opset=s.opset_version,
                    mode=0 if s.training == TrainingMode.EVAL else 1,
                    default_dtype=ONNX_DTYPES[torch.get_default_dtype()],
                    state=1,                            # no inputs for it: told in a warning
                    drop_unused_inputs=True,
                    weights=self.place_of_weights(),
                    keep_weights=self.keeps_weights(),
                    initializers_as_inputs=s.keep_initializers_as_inputs,
                    constant_nodes=True,
                    output_dims=self.output_dims,
                    torch_names=s.names == "1.13",
                    doc_strings=s.doc_strings,
                    domains=["%s=%d" % (d, v) for d, v in s.custom_opsets.items()],
                    rules=texts_of("rules", s.rules),
                    symbolic=symbolics,
                    symbolic_names=symbolics.names(record),
                    symbolic_opset=symbolics.opset,
                    on_note=self.note,
                    **type_fields(s.weights_type, s.keep_io_types, s.float32, s.weights_block, s.fuse))

    def place_of_weights(self):
        """As _capi.Options.weights: where they fit, in the model, or beside it."""
        if self.external():
            return WEIGHTS["external"]
        return WEIGHTS["inline" if self.s.external_data is False else "auto"]

    def external(self):
        """Has the caller asked for weights in a file of their own?"""
        return bool(self.s.use_external_data_format or self.s.external_data is True and "external_data" in self.s.written)

    def keeps_weights(self):
        s = self.s
        return not s.do_constant_folding or not s.optimize or s.training != TrainingMode.EVAL

    @undisturbed
    def note(self, user, kind, text):
        self.notes.append((kind, text.decode("utf-8", "replace")))

    def call(self, function, source, path, fields, symbolics):
        self.notes, self.text, progress = list(self.told), "", Progress()
        if self.turn.abandoned:
            raise RuntimeError("pt2onnx: the process was forked while it exported, and this is the child: only the parent goes on")
        try:
            function(source, path, _capi.Options(on_progress=progress, on_amount=progress.amount, **fields))
        except _capi.ConversionError as e:
            if symbolics.error is not None and not isinstance(symbolics.error, Stopped):
                raise symbolics.error from None
            raise self.error(e) from None
        finally:
            progress.clear()
            deliver()
        if self.s.verbose or self.s.report:
            self.text = _capi.show(path).rpartition("\ngraph\n")[2]        # the last part of what is shown
        self.tell()

    def error(self, e):
        """The class that people catch, without the name of our temporary file."""
        text = re.sub("^%s/model\\.pt2?: " % re.escape(self.folder), "", str(e))
        names = MISSING.findall(text)
        if not names:
            return error_of("OnnxExporterError", text) if e.status in (1, 2) else _capi.ConversionError(text, e.status)
        text = "\n".join([text] + in_torchs_words(text))
        domain = names[0].rpartition("::")[0]
        if domain not in ("", "aten", "prim", "quantized"):
            text = UNRECOGNIZED % (names[0], text)
        return error_of("UnsupportedOperatorError", text)

    def tell(self):
        if self.s.verbose and not self.s.silent:
            print("Exported graph: " + self.text)
        if self.s.on_note:
            for kind, text in self.notes:
                self.s.on_note(kind, text)
            return
        updates = [UPDATE.match(text).group(1) for kind, text in self.notes if kind == DROPPED and UPDATE.match(text)]
        if updates:
            warn("dropped: the model changes %s as it runs; every run of the ONNX model starts from the values in the file" % some_of(updates), Warn)
        for kind, text in self.notes:
            if kind in (ASSUMED, DROPPED) and not CONSTANT_INPUTS.match(text) and not (kind == DROPPED and UPDATE.match(text)):
                warn("%s: %s" % (_capi.NOTE_WORDS[kind], text), Warn)

    # ---- afterwards ----

    def after(self, path):
        """verify and report. A model that does not agree is an error that says by how much; the file stays, to be looked at."""
        s = self.s
        self.verification = self.report = None
        if s.verify:
            start = time.perf_counter()
            self.verification = self.verified(path)
            self.times.append(("verification", time.perf_counter() - start))
        if s.report:
            self.report = render(type(s.model).__name__, s, os.path.getsize(path), self.text, self.notes, self.times, self.verification)
            where = self.place_of_report(path)
            os.makedirs(os.path.dirname(where) or os.curdir, exist_ok=True)
            with open(where, "w", encoding="utf-8") as f:
                f.write(self.report)
        if s.verify and not self.verification.ok:
            whole = s.weights_type in ("int8", "int4") and not {"rtol", "atol"} & s.written
            raise error_of("OnnxExporterError", "%s%s" % (self.verification, OF_WHOLE_WEIGHTS % s.weights_type if whole else ""))

    def place_of_report(self, path):
        """Beside the model, unless the caller has said where such things go."""
        s = self.s
        name = page_beside(path) if self.output_path() else "pt2onnx-report.md"
        beside = self.output_path() and "artifacts_dir" not in s.written
        return name if beside else os.path.join(s.artifacts_dir, os.path.basename(name))

    def verified(self, path):
        from .verification import array_of, verify
        if not self.positional and not self.named and has_export() and isinstance(self.s.model, torch.export.ExportedProgram):
            if not self.s.model.example_inputs:
                raise ValueError("verify=True needs example inputs: args")
            self.positional, self.named = self.s.model.example_inputs
        try:
            inputs, names = self.call_of.inputs(self.positional, self.named), self.example_names
            if self.weights:
                inputs, names = [*inputs, *map(array_of, self.weights.values())], [*names, *self.weights]
            narrow = None if {"rtol", "atol"} & self.s.written else self.s.weights_type or ""
            return verify(path, names, inputs, self.run_torch, self.s.rtol, self.s.atol, not self.s.keep_io_types, narrow)
        except ImportError as e:
            raise RuntimeError("verify=True needs onnxruntime and numpy: %s" % e) from e

    def run_torch(self, taken=leaves_in):
        """Copies of what the model in hand gives for the example, which it may write to: what a run writes to is put back, its results too."""
        model = self.s.model
        positional, keywords = copied((self.positional, self.named))
        if has_export() and isinstance(model, torch.export.ExportedProgram):
            model = model.module()
            with tensors_kept(model), torch.no_grad():
                return copied(taken(model(*positional, **keywords)))
        with self.mode(model), tensors_kept(model):
            return copied(taken(model(*positional, **keywords)))


def uncompiled(model):
    """What torch.compile has wrapped, which computes the same: the wrapper cannot be traced."""
    inner = "_orig_mod" if type(model).__name__ == "OptimizedModule" else "_torchdynamo_orig_callable"
    return getattr(model, inner, model)


def warn_of_fixed(program, arguments, told, why):
    """Of each size that is told to stay open, and is a number in the program."""
    for path, axis, size in shapes.fixed_sizes(program, arguments, told):
        warn("dimension %d of %s is %d in the program: %s" % (axis, path, size, why))


def check_weights(model):
    """A lazy module draws its weights in its first call, which a trace would record as a part of the program."""
    for name, t in named_tensors(model):
        if torch.nn.parameter.is_lazy(t):
            raise ValueError("%s has no sizes yet: it belongs to a lazy module; call the model once before it is exported" % name)


def instead_of(model):
    """What somebody may have meant who gives something that cannot be called."""
    if isinstance(model, dict):
        return "weights without a program; load them into their module, with load_state_dict, and export that"
    if isinstance(model, (str, bytes, os.PathLike)):
        return "pt2onnx.convert converts saved programs"
    if isinstance(model, torch._C.ScriptMethod):
        return "a method of a ScriptModule; call it in the forward of a module that holds the ScriptModule, and export that"
    if isinstance(model, type):
        return "%s is a class: give an object of it, %s(..)" % (model.__name__, model.__name__)
    return "it cannot be called"


def in_torchs_words(text):
    """What a later opset can say, as torch.onnx tells it and people search for it."""
    found = {}
    for name, why, later, target in NEEDS.findall(text):
        op, reason = TORCH_WORDS.get(why, (name, why[:1].upper() + why[1:]))
        found[UNSUPPORTED % (op, target, reason, later)] = None
    return list(found)


def some_of(names):
    """All of a few names; of many the first three."""
    return ", ".join(names) if len(names) <= 4 else "%s and %d more of its buffers" % (", ".join(names[:3]), len(names) - 3)


def functions_of(model, wanted):
    """{path of a module: "DOMAIN NAME" of its function}; wanted: as Settings.functions has it."""
    if not wanted:
        return {}
    prefix = prefix_of(model)
    return {plain(path, prefix): "%s %s" % (type(m).__module__, type(m).__name__) for path, m in model.named_modules()
            if not isinstance(m, Function) and (wanted is True or type(m) in wanted)}


def is_quantized(model, args):
    return any(hasattr(m, "_packed_params") for m in model.modules()) or any(getattr(leaf, "is_quantized", False) for _, leaf in leaves(args))


def underscore_export(model, args, f, *positional, **keywords):
    """torch.onnx.utils._export: as export, with a few more parameters; returns what the model gives for args."""
    s = bind((model, args, f) + positional, keywords, dict(DEFAULTS, **OF_UNDERSCORE_EXPORT))
    if s.export_type not in (None, 1, "Protobuf file"):
        raise RuntimeError("pt2onnx: export_type: only a protobuf file is written")
    if s.google_printer:
        raise RuntimeError("pt2onnx: google_printer is not supported: print(onnx.load(FILE)) shows the same")
    one = Export(s)
    one.run()
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)) or not hasattr(one, "positional"):
        return None
    with Turn(s.model):
        return one.run_torch(taken=lambda result: result)


def pretty_string(model, args, *positional, **keywords):
    """torch.onnx.export_to_pretty_string: the graph as text. It has no parameter f."""
    keywords.pop("google_printer", None)
    s = bind((model, args, None) + positional, keywords, dict(DEFAULTS, **OF_UNDERSCORE_EXPORT))
    s.verbose, s.silent = True, True
    one = Export(s)
    one.run()
    return one.text
