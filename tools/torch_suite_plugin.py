"""A pytest plug-in: PyTorch 1.13's own exporter tests against pt2onnx. tools/torch_suite.py loads it."""
import pt2onnx


def pytest_configure(config):
    pt2onnx.install()
