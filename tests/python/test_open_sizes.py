"""Every operator case again with open sizes: what one model gives at sizes of 1, 3 and 7, beside PyTorch (tests/ops/open_sizes.py)."""
import glob
import os
import re
import subprocess
import sys

import pytest

import oracle

OPS = os.path.join(oracle.TOP, "tests", "ops")
GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_cases_with_open_sizes(group):
    files = sorted(glob.glob(os.path.join(OPS, "*.txt")))[group::GROUPS]
    done = subprocess.run([sys.executable, os.path.join(OPS, "open_sizes.py"), os.path.join(oracle.BUILD, "run_cases"), *files],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) calls of open sizes", done.stdout)[1]) > 300
