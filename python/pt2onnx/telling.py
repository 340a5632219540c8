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
    """One line on stderr, on a terminal only, once the work has taken half a second: stage, share and rate, as the program `pt2onnx` has it."""

    def __init__(self):
        self.start, self.said, self.open = time.perf_counter(), 0.0, False
        self.on_terminal = getattr(sys.stderr, "isatty", bool)()        # it may be None, or an object that only writes
        self.unit, self.done = "", 0                    # what of the stage is counted, and how many so far
        self.stage, self.stage_start, self.stage_done = b"", 0.0, 0

    @undisturbed
    def amount(self, user, unit, done):
        self.unit, self.done = unit.decode(), done

    @undisturbed
    def __call__(self, user, stage, share):
        now = time.perf_counter() - self.start
        if stage != self.stage:
            self.stage, self.stage_start, self.stage_done = stage, now, self.done
        if self.on_terminal and now >= 0.5 and now - self.said >= 0.1:
            self.said = now
            self.write("\r\033[Kpt2onnx: %s%s%s" % (stage.decode(), " %d%%" % (share * 100) if share >= 0 else "", self.rate(now - self.stage_start)))
            self.open = True

    def rate(self, took):
        """512 MB/s or 2.5 M steps/s, of the stage so far; nothing where nothing of it is counted."""
        done = self.done - self.stage_done
        if took < 0.3 or done <= 0:
            return ""
        rate, k = done / took, 0
        while rate >= 999.5 and k < 4:
            rate, k = rate / 1000, k + 1
        unit = ("bytes", "kB", "MB", "GB", "TB")[k] if self.unit == "bytes" else ("", "k ", "M ", "G ", "T ")[k] + self.unit
        return ", %.*f %s/s" % (1 if rate < 9.95 and k else 0, rate, unit)

    def clear(self):
        if self.open:
            self.write("\r\033[K")
            self.open = False

    def write(self, text):
        sys.stderr.write(text)
        sys.stderr.flush()
