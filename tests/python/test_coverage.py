"""Every operator that torch.onnx, torchlib, and the saved programs of PyTorch 1.13 and 2.13 name: `pt2onnx ops` knows it.

tests/data/operators.txt has one a line, with who names it. What is refused, and nothing else, stands here."""
import os
import subprocess

import oracle

with open(os.path.join(oracle.TOP, "tests", "data", "operators.txt")) as f:
    NAMES = [line.split()[0] for line in f if not line.startswith("#")]

# No file holds these: they are functions and marks of an exporter.
NO_OPERATORS = {"aten::_floor_divide", "aten::get_pool_ceil_padding", "aten::getitem", "aten::scan", "onnx::Placeholder", "prim::ConstantChunk", "prim::ConstantSplit"}
REFUSED = NO_OPERATORS | {
    # tensors that ONNX has not: sparse, with memory of their own
    "aten::to_sparse", "prims::resize",
    # written for one kernel
    "aten::_convert_weight_to_int4pack_for_cpu",
    # no fixed number of corners
    "torchvision::box_iou_rotated",
}


def described(name):
    done = subprocess.run([oracle.PROGRAM, "ops", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else None


def is_refused(text):
    """Nothing is said of how it is lowered, only why not."""
    said = [line for line in text.splitlines() if line.startswith("    ")]
    return bool(said) and all(line.startswith("    refused: ") and len(line) > len("    refused: ") + 10 for line in said)


def test_every_name_is_known():
    assert len(NAMES) > 750
    texts = {name: described(name) for name in NAMES}
    assert [n for n in NAMES if texts[n] is None] == []
    assert sorted(n for n in NAMES if is_refused(texts[n])) == sorted(REFUSED & set(NAMES))
