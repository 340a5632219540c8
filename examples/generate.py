#!/usr/bin/env python3
"""Generate tokens with a language model that pt2onnx has converted, without copying its cache from step to step.

    examples/generate.py net.onnx --prompt 17,4,99 --tokens 64

Two kinds of models are understood, by their inputs and metadata:

- state: a static cache that the program keeps in its buffers (transformers' convert_and_export_with_cache). Each is an input NAME and an output
  NAME.next, which the metadata pairs. Both are bound to the same memory where nothing but the node that writes NAME.next reads NAME: ONNX Runtime
  then writes the new keys into the old cache, and copies nothing.
- tensors: keys and values go in and come out longer. What came out is bound as it is to the inputs of the next step.

Needs numpy, onnx and onnxruntime.
"""
import argparse
import json
import time

import numpy
import onnx
import onnxruntime

WRITERS = ("ScatterElements", "ScatterND")          # their kernels leave what they do not write, in place


def in_place(path, pairs):
    """The states that may share memory with their next value."""
    graph = onnx.load(path, load_external_data=False).graph
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for o in graph.output:
        readers.setdefault(o.name, []).append(o)
    return {name for name, after in pairs.items()
            if len(readers.get(name, [])) == 1 and isinstance(readers[name][0], onnx.NodeProto)
            and readers[name][0].op_type in WRITERS and readers[name][0].input[0] == name and list(readers[name][0].output) == [after]}


class Generator:
    """One text of one model: prompt() and then next() give logits of the last position."""

    def __init__(self, path, threads=0):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.shapes = {i.name: i.shape for i in self.session.get_inputs()}
        self.outputs = [o.name for o in self.session.get_outputs()]
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.pairs = json.loads(metadata.get("pt2onnx.state", "{}"))
        self.initial = json.loads(metadata.get("pt2onnx.state.initial", "{}"))
        self.shared = in_place(path, self.pairs)
        words = ("input_ids", "attention_mask", "cache_position", "position_ids")
        self.cache = [n for n in self.shapes if n not in words and n not in self.pairs]
        self.begin()

    def begin(self):
        """States as the file says, keys and values of no tokens yet."""
        first = {name: numpy.full(v["shape"], v["value"], v["type"]) for name, v in self.initial.items()}
        for name in self.cache:
            first[name] = numpy.zeros([1] + [n if isinstance(n, int) else 0 for n in self.shapes[name][1:]], numpy.float32)
        self.length = 0
        self.kept = {name: onnxruntime.OrtValue.ortvalue_from_numpy(v) for name, v in first.items()}

    def step(self, ids):
        """The logits behind tokens [1, n]."""
        n, binding = ids.shape[1], self.session.io_binding()
        given = {"input_ids": ids, "attention_mask": numpy.ones((1, self.length + n), numpy.int64),
                 "cache_position": numpy.arange(self.length, self.length + n)}
        given["position_ids"] = given["cache_position"][None]
        # An OrtValue made of an array on the CPU is that array's memory: both must live as long as the run.
        words = {name: onnxruntime.OrtValue.ortvalue_from_numpy(given[name]) for name in given.keys() & self.shapes.keys()}
        for name, value in {**words, **self.kept}.items():
            binding.bind_ortvalue_input(name, value)
        written = {after: name for name, after in self.pairs.items() if name in self.shared}
        for name in self.outputs:
            if name in written:
                binding.bind_ortvalue_output(name, self.kept[written[name]])
            else:
                binding.bind_output(name, "cpu")
        self.session.run_with_iobinding(binding)
        got = dict(zip(self.outputs, binding.get_outputs()))
        self.length += n
        after = {**self.pairs, **dict(zip(self.cache, self.outputs[1:]))}
        self.kept.update({name: got[after[name]] for name in self.kept if name not in self.shared})
        return got[self.outputs[0]].numpy()[:, -1]

    def prompt(self, ids):
        """All at once where the model takes any number of tokens."""
        at_once = not isinstance(self.shapes["input_ids"][1], int)
        for part in [ids] if at_once else numpy.split(ids, ids.shape[1], 1):
            logits = self.step(part)
        return logits


def generate(generator, ids, count):
    """Greedy: count tokens after ids [1, n]."""
    generator.begin()
    logits, tokens = generator.prompt(ids), []
    while True:
        tokens.append(int(logits.argmax()))
        if len(tokens) == count:
            return tokens
        logits = generator.step(numpy.array([[tokens[-1]]]))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("model")
    p.add_argument("--prompt", default="1", help="numbers of tokens")
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--threads", type=int, default=0)
    o = p.parse_args()
    generator = Generator(o.model, o.threads)
    ids = numpy.array([[int(n) for n in o.prompt.split(",")]])
    generate(generator, ids, 2)
    start = time.perf_counter()
    tokens = generate(generator, ids, o.tokens)
    seconds = time.perf_counter() - start
    print(*tokens)
    print("%.1f tokens/s; %d of %d states are written in place" % (o.tokens / seconds, len(generator.shared), len(generator.pairs)))


if __name__ == "__main__":
    main()
