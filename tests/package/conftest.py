"""Tests of the Python package. They run once under each torch: `PYTHON -m pytest tests/package` (tools/run_tests.py does both)."""
import os
import sys

import pytest
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
os.environ.setdefault("PT2ONNX_LIBRARY", os.path.join(os.environ.get("PT2ONNX_BUILD") or os.path.join(TOP, "build"), "libpt2onnx.so"))
sys.path[:0] = [os.path.join(TOP, "python"), HERE]


def pytest_configure(config):
    config.addinivalue_line("markers", "row(*ids): the rows of docs/tutorials.md that a test covers")


def pytest_collection_modifyitems(items):
    """Rows become properties in the JUnit file."""
    for item in items:
        for mark in item.iter_markers("row"):
            item.user_properties += [("row", name) for name in mark.args]


@pytest.fixture
def register():
    """register_custom_op_symbolic for the time of a test."""
    done = []

    def it(name, function, opset):
        torch.onnx.register_custom_op_symbolic(name, function, opset)
        done.append((name, opset))
    yield it
    for name, opset in done:
        torch.onnx.unregister_custom_op_symbolic(name, opset)
