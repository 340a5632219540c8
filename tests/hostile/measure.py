"""Runs a command within limits and says on standard output, as JSON, how it ended and what it took:

    measure.py BYTES SECONDS COMMAND..          address space, and processor time

A process of its own, so that the peak of the memory is the command's and not that of the large process that asks."""
import json
import resource
import subprocess
import sys

FILE_BYTES = 64 << 20


def limit():
    address_space, seconds = int(sys.argv[1]), int(sys.argv[2])
    for what, most in ((resource.RLIMIT_AS, address_space), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, FILE_BYTES),
                       (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    done = subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"exit": done.returncode, "out": done.stdout.decode("latin-1"), "err": done.stderr.decode("latin-1"),
                      "bytes": used.ru_maxrss << 10, "seconds": used.ru_utime + used.ru_stime}))
