"""Are src/op_nodes.txt and docs/operators.md what the operator cases and the program say now? `make operators` writes them."""
import os
import subprocess
import sys

import oracle


def test_nodes_and_list_are_up_to_date():
    ran = subprocess.run([sys.executable, os.path.join(oracle.TOP, "tools", "gen-operators"), "--check"], env={**os.environ, "BUILD": oracle.BUILD},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout
