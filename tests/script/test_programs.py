"""The saved programs of tests/programs, as torch 1.13.1 wrote them. Needs no torch."""
import glob
import os
import sys

import numpy
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import oracle                                                       # noqa: E402

# those with recorded runs; others are for the readers' own tests
PROGRAMS = [p[:-4] + ".pt" for p in sorted(glob.glob(os.path.join(HERE, "..", "programs", "*.npz")))]


@pytest.mark.parametrize("opset", [13, 18, 25])
@pytest.mark.parametrize("path", PROGRAMS, ids=[os.path.basename(p)[:-3] for p in PROGRAMS])
def test_program(path, opset, tmp_path):
    runs = numpy.load(path[:-3] + ".npz")
    out = tmp_path / "model.onnx"
    done = oracle.converted(path, out, "--opset", str(opset), *runs["options"].tolist())
    oracle.check(out)

    def of(i, kind):
        return [runs[k] for k in runs.files if k.startswith("%d.%s" % (i, kind))]
    oracle.run(out, [(of(i, "in"), of(i, "out")) for i in range(len([k for k in runs.files if k.endswith(".in0")]))])
    if path.endswith("needs_rank.pt"):
        assert "assumed: x has rank 4" in done.stderr


def test_there_are_programs():
    assert len(PROGRAMS) >= 7
