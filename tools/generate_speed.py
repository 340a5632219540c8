#!/usr/bin/env python3
"""Tokens per second of a language model: our files, torch.onnx's, and PyTorch's eager mode, interleaved in one run, one thread.

    tools/generate_speed.py --pt2onnx build/pt2onnx [--model llama] [--rounds 5] [--tokens 64]

The model, a Llama or GPT-2 of 11 million seeded weights, is exported with its keys and values as tensors, and with transformers' static cache; ours at
opset 18 with --fuse too, also for one text at a time, where heads share keys by GroupQueryAttention. examples/generate.py runs the files; PyTorch
generates with a DynamicCache in a plain loop. Seconds are the processor's, so that other programs disturb little.
Exit code 1 if a file gives other tokens than PyTorch, or ours is not the fastest.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "examples"), HERE]
import generate                                                     # noqa: E402
import language_models as models                                    # noqa: E402
import numpy                                                        # noqa: E402
import runtime_models                                               # noqa: E402
import torch                                                        # noqa: E402
from torch.export import Dim                                        # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM  # noqa: E402
from transformers.cache_utils import DynamicCache                   # noqa: E402

LONGEST = 128


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=2000, hidden_size=384, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=6,
                                        num_key_value_heads=2, initializer_range=0.2, pad_token_id=0, bos_token_id=1, eos_token_id=None))


def gpt2():
    return GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_embd=384, n_inner=1152, n_layer=6, n_head=6, n_positions=1024, initializer_range=0.2,
                                      bos_token_id=1, eos_token_id=None))


def export_tensors(m):
    """(module, arguments, sizes): keys and values in and out."""
    ids, mask = torch.randint(2, 2000, (2, 3)), torch.ones(2, 7, dtype=torch.int64)
    heads = getattr(m.config, "num_key_value_heads", m.config.num_attention_heads)
    past = [torch.randn(2, heads, 4, 64) for _ in range(12)]
    batch, length, grown = Dim("batch", min=1, max=64), Dim("length", min=1, max=128), Dim("past", min=0, max=1024)
    return models.WithTensors(m), (ids, mask, past), ({0: batch, 1: length}, {0: batch, 1: Dim.AUTO}, [{0: batch, 2: grown}] * 12)


def export_state(m):
    m.generation_config = models.t.GenerationConfig(use_cache=True, cache_implementation="static", max_length=LONGEST,
                                                    cache_config={"batch_size": 1, "max_cache_len": LONGEST})
    length = Dim("length", min=1, max=LONGEST - 1)
    return models.executorch.TorchExportableModuleForDecoderOnlyLM(m, 1, LONGEST).export(
        torch.ones(1, 5, dtype=torch.int64), cache_position=torch.arange(5), strict=False,
        dynamic_shapes={"input_ids": {1: length}, "cache_position": {0: length}})


def files(m, program, folder):
    """{name: ONNX file}; ours come first."""
    module, args, sizes = export_tensors(m)
    exported = torch.export.export(module, args, dynamic_shapes=sizes, strict=False)
    torch.export.save(exported, os.path.join(folder, "tensors.pt2"))
    found = {}
    for opset in (18, 23):
        path = os.path.join(folder, "dynamo%d.onnx" % opset)
        torch.onnx.export(exported, (), path, dynamo=True, opset_version=opset, external_data=False, verbose=False)
        found["torch.onnx, tensors, opset %d" % opset] = path
    torch.export.save(export_state(m), os.path.join(folder, "state.pt2"))
    ours, heads = {}, args[2][0].shape[1]
    alone = ["input_ids:int64[1,length=1..128]", "attention_mask:int64[1,past+length]"] + ["past.%d:float32[1,%d,past,64]" % (i, heads) for i in range(12)]
    kinds = [(way, opset, ()) for way in ("state", "tensors") for opset in ("18", "18 --fuse", "23")]
    for way, opset, specs in kinds + [("tensors", "18 --fuse", alone)]:
        name = "%s, opset %s%s" % (way, opset, ", 1 text" * bool(specs))
        path = os.path.join(folder, name.replace(" ", "") + ".onnx")
        words = ["--opset", *opset.split(), *(w for s in specs for w in ("-i", s))]
        subprocess.run([program, os.path.join(folder, way + ".pt2"), "-o", path, *words], check=True, stderr=subprocess.DEVNULL)
        ours["pt2onnx, " + name] = path
    return {**ours, **found}


def eager(m, ids, count):
    cache, tokens, word = DynamicCache(config=m.config), [], torch.from_numpy(ids)
    with torch.no_grad():
        while len(tokens) < count:
            word = m(input_ids=word, past_key_values=cache, use_cache=True).logits[:, -1:].argmax(-1)
            tokens.append(int(word))
    return tokens


def timed(function, *args):
    start = time.process_time()
    tokens = function(*args)
    return tokens, time.process_time() - start


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(HERE, "..", "build", "pt2onnx"))
    p.add_argument("--model", choices=("llama", "gpt2"), default="llama")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--tokens", type=int, default=64)
    o = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    m, ids = runtime_models.trained({"llama": llama, "gpt2": gpt2}[o.model]().eval()), numpy.random.default_rng(0).integers(2, 2000, (1, 16))
    with tempfile.TemporaryDirectory() as folder:
        paths = files(m, os.path.abspath(o.pt2onnx), folder)
        print("files made", file=sys.stderr, flush=True)
        runs = {name: lambda g=generate.Generator(path, 1): generate.generate(g, ids, o.tokens) for name, path in paths.items()}
        runs["PyTorch, eager"] = lambda: eager(m, ids, o.tokens)
        seconds, want, fine = {name: [] for name in runs}, eager(m, ids, o.tokens), True
        for _ in range(o.rounds + 1):                               # the first warms up
            for name, run in runs.items():
                tokens, took = timed(run)
                seconds[name].append(took)
                fine &= tokens == want
    speed = {name: o.tokens / statistics.median(took[1:]) for name, took in seconds.items()}
    best = max(speed.values())
    for name, v in sorted(speed.items(), key=lambda item: -item[1]):
        print("%-44s %7.1f tokens/s   %.2f of the fastest" % (name, v, v / best))
    print("the same tokens" if fine else "NOT the same tokens")
    return 0 if fine and max(speed, key=speed.get).startswith("pt2onnx") else 1


if __name__ == "__main__":
    sys.exit(main())
