"""Every operator case again with gradients: those of its tensors, in ONNX Runtime beside torch.autograd (tests/ops/gradients.py)."""
import glob
import os
import re
import subprocess
import sys

import oracle

OPS = os.path.join(oracle.TOP, "tests", "ops")


def test_gradients_of_cases():
    files = sorted(glob.glob(os.path.join(OPS, "*.txt")))
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(OPS, "gradients.py"), os.path.join(oracle.BUILD, "run_extremes"), *files],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) gradients were compared", done.stdout)[1]) > 2000
