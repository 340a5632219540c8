"""conftest.py - what all tests share: the same random numbers whatever ran before, one thread for each model that is run, and a garbage
collector that leaves alone what was imported."""
import gc
import random
import sys

import pytest


def pytest_collection_finish():
    """PyTorch and the tests themselves are a million objects that stay; torch.export makes so many of its own that the collector would
    look at all of them a few times in each test: a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def seeded():
    random.seed(0)
    for module, seed in (("numpy.random", "seed"), ("torch", "manual_seed"), ("onnxruntime", "set_seed")):
        if module in sys.modules:
            getattr(sys.modules[module], seed)(0)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """A session of ONNX Runtime starts a thread for each core, and threads without work spin. Tests run beside each other, a process a
    core, and their models are small: with one thread they take half of the processor's time."""
    runtime = sys.modules.get("onnxruntime")
    if runtime is None:
        return

    class Session(runtime.InferenceSession):
        def __init__(self, model, sess_options=None, *more, **named):
            options = sess_options or runtime.SessionOptions()
            options.intra_op_num_threads = options.intra_op_num_threads or 1
            options.inter_op_num_threads = options.inter_op_num_threads or 1
            super().__init__(model, options, *more, **named)
    runtime.InferenceSession = Session
