#!/usr/bin/env python3
"""Convert the digits CNN with pt2onnx and run it in ONNX Runtime on images it has never seen.

    python3 examples/run.py [--pt2onnx build/pt2onnx]

Needs numpy and onnxruntime, not PyTorch. Prints the accuracy that PyTorch had and the one the ONNX file has now,
and exits with 1 if they differ or a logit moved by more than 1e-4 of their scale.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = [
    ("digits_cnn.pt", ["-i", "x:float32[N,1,8,8]"]),    # a script names no sizes: the option does
    ("digits_cnn.pt2", []),                             # an exported program knows its inputs
]
PICTURE = " .:-=+*#%@"


def show(image, label, guess):
    for row in image:
        print("    " + "".join(2 * PICTURE[min(int(p) * len(PICTURE) // 17, len(PICTURE) - 1)] for p in row))
    print("    a %d, read as %d" % (label, guess))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(HERE, "..", "build", "pt2onnx"))
    o = p.parse_args()
    test = numpy.load(os.path.join(HERE, "digits_test.npz"))
    with open(os.path.join(HERE, "digits_cnn.json")) as f:
        recorded = json.load(f)
    x = test["images"].astype(numpy.float32)[:, None] / 16
    scale = float(numpy.abs(test["logits"]).max())
    print("%d held-out digits; PyTorch %s read %d of them right: accuracy %.4f"
          % (len(x), recorded["torch"], recorded["right"], recorded["accuracy"]))
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for model, options in MODELS:
            out = os.path.join(folder, model + ".onnx")
            done = subprocess.run([o.pt2onnx, os.path.join(HERE, model), "-o", out] + options)
            if done.returncode:
                print("%s: pt2onnx ended with %d" % (model, done.returncode))
                good = False
                continue
            session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
            logits = session.run(None, {session.get_inputs()[0].name: x})[0]
            guesses = logits.argmax(1)
            right = int((guesses == test["labels"]).sum())
            off = float(numpy.abs(logits - test["logits"]).max())
            print("%-15s -> ONNX, %6d bytes: %d right, accuracy %.4f; largest difference to PyTorch's logits %.1e (they reach %.1f)"
                  % (model, os.path.getsize(out), right, right / len(x), off, scale))
            good = good and right == recorded["right"] and off <= 1e-4 * scale
    if good:
        show(test["images"][0], test["labels"][0], guesses[0])
    print("same as PyTorch" if good else "NOT the same as PyTorch")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
