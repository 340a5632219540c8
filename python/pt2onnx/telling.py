"""telling.py - what the caller sees beside the model: warnings at their own line, and how far a long export is."""
import os
import sys
import time
import warnings

from .turns import undisturbed

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(text, category=UserWarning):
    """A warning that names the innermost line outside this package: the caller's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


class Progress:
    """One line on stderr, on a terminal only, once the work has taken a second; as the program `pt2onnx` has it."""

    def __init__(self):
        self.start, self.said, self.open = time.perf_counter(), 0.0, False
        self.on_terminal = sys.stderr is not None and sys.stderr.isatty()

    @undisturbed
    def __call__(self, user, stage, share):
        now = time.perf_counter() - self.start
        if self.on_terminal and now >= 1 and now - self.said >= 0.1:
            self.said = now
            self.write("\r\033[Kpt2onnx: %s%s" % (stage.decode(), " %d%%" % (share * 100) if share >= 0 else ""))
            self.open = True

    def clear(self):
        if self.open:
            self.write("\r\033[K")
            self.open = False

    def write(self, text):
        sys.stderr.write(text)
        sys.stderr.flush()
