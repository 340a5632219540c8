"""conftest.py - what all tests share: the same random numbers whatever ran before, and one thread for each model that is run."""
import sys

import pytest


@pytest.fixture(autouse=True)
def seeded():
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


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
