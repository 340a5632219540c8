#!/usr/bin/env python3
"""Train the example: a small CNN on scikit-learn's handwritten digits, saved as .pt and .pt2.

    python3 examples/train_digits.py        # needs torch 2.8 or later and scikit-learn; half a minute

Writes beside itself: digits_cnn.pt (torch.jit.script), digits_cnn.pt2 (torch.export, dynamic batch),
digits_test.npz (held-out images, labels, PyTorch's logits) and digits_cnn.json (what PyTorch scored).
"""
import json
import os
import re

import numpy
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = os.path.dirname(os.path.abspath(__file__))


class DigitsCnn(nn.Module):
    """8x8 grey images, values 0 to 1, to the logits of ten digits."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.max_pool2d(x, 2)
        return self.fc(self.drop(torch.flatten(x, 1)))


def digits():
    data = load_digits()
    images = data.images.astype(numpy.uint8)        # 0 to 16
    return train_test_split(images, data.target.astype(numpy.int64), test_size=360, random_state=0, stratify=data.target)


def pixels(images):
    return torch.from_numpy(images.astype(numpy.float32) / 16).unsqueeze(1)


def train(images, labels):
    torch.manual_seed(0)
    model = DigitsCnn()
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    x, y = pixels(images), torch.from_numpy(labels)
    for _ in range(30):
        order = torch.randperm(len(x))
        for batch in order.split(64):
            loss = F.cross_entropy(model(x[batch]), y[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.eval()


def short(path):
    """A file of torch from its package on, one of ours from examples/ on: paths of the training machine stay out of the archives."""
    return re.sub(r"^.*/(?=torch/|examples/)", "", os.path.abspath(path))


def save_scripted(model, path):
    read = torch._sources.get_source_lines_and_file

    def read_short(obj, error=None):
        lines, first, file = read(obj, error)
        return lines, first, short(file)

    torch._sources.get_source_lines_and_file = read_short
    torch.jit.save(torch.jit.script(model), path)
    torch._sources.get_source_lines_and_file = read


def save_exported(program, path):
    for node in program.graph.nodes:
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = re.sub(r'(?<=File ")[^"]*', lambda m: short(m.group()), node.meta["stack_trace"])
    program.example_inputs = None
    torch.export.save(program, path)


def main():
    train_images, test_images, train_labels, test_labels = digits()
    model = train(train_images, train_labels)
    x = pixels(test_images)
    with torch.no_grad():
        logits = model(x).numpy()
        program = torch.export.export(model, (x[:2].clone(),), dynamic_shapes=({0: torch.export.Dim("N", min=1, max=1024)},))
    save_scripted(model, os.path.join(HERE, "digits_cnn.pt"))
    save_exported(program, os.path.join(HERE, "digits_cnn.pt2"))
    numpy.savez_compressed(os.path.join(HERE, "digits_test.npz"), images=test_images, labels=test_labels.astype(numpy.uint8), logits=logits)
    right = int((logits.argmax(1) == test_labels).sum())
    with open(os.path.join(HERE, "digits_cnn.json"), "w") as f:
        json.dump({"torch": torch.__version__.split("+")[0], "trained_on": len(train_labels), "tested_on": len(test_labels),
                   "right": right, "accuracy": round(right / len(test_labels), 4)}, f, indent=1)
        f.write("\n")
    print("%d of %d held-out digits right" % (right, len(test_labels)))


if __name__ == "__main__":
    main()
