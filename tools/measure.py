"""measure.py - run a command; print its exit code, seconds, seconds of the processor and peak memory in bytes as one line of JSON on stdout.

Started as `python3 -I -S measure.py COMMAND..`: a child's peak includes what its parent had at the fork, so the
parent must be small. The command's own stdout goes to stderr.
"""
import json
import os
import sys
import time

start = time.perf_counter()
pid = os.fork()
if pid == 0:
    os.dup2(2, 1)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as e:
        sys.stderr.write("%s: %s\n" % (sys.argv[1], e))
        os._exit(127)
_, status, usage = os.wait4(pid, 0)
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "seconds": time.perf_counter() - start,
                  "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024}))
