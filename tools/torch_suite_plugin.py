"""A pytest plug-in for PyTorch 1.13's own exporter tests. tools/torch_suite.py loads it, with PT2ONNX_SUITE=1 for pt2onnx's turn."""
import os

import pytest
import torch


def pytest_configure(config):
    if os.environ.get("PT2ONNX_SUITE"):
        import pt2onnx
        pt2onnx.install()


@pytest.fixture(autouse=True)
def default_dtype():
    """A test that changes it and fails leaves it to those that follow."""
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)
