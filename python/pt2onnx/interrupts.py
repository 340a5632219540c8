"""interrupts.py - Ctrl-C while C runs: an exception in a callback that C has called would be printed and lost. Needs no torch; an export, which
has torch to put back, has its own way (turns.py)."""
import contextlib
import signal
import threading


@contextlib.contextmanager
def held():
    """Ctrl-C comes behind the block. Only the main thread gets it, and only a handler of Python's can be put off."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda *interrupt: came.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])
