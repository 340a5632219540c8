"""Weights never pass through the heap: peak memory is that of the graph, and how much that is."""
import json
import os
import subprocess
import sys

import pytest

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import scaling                                                      # noqa: E402
import write_chain                                                  # noqa: E402

ALLOWED = 40 << 20


def peak(model, out, *options):
    done = subprocess.run([sys.executable, "-I", "-S", os.path.join(oracle.TOP, "tools", "measure.py"), oracle.PROGRAM, str(model), "-o", str(out), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    measured = json.loads(done.stdout)
    assert measured["code"] == 0, done.stderr
    return measured["peak"]


@pytest.mark.parametrize("width,options", [(2048, []), (2048, ["--weights=external"]), (2048, ["--keep-weights"])],
                         ids=["inline", "external", "keep-weights"])
def test_chain_500_mb(width, options, tmp_path, out):
    """31 layers of 2048x2048 against 31 of 8x8."""
    large, tiny = tmp_path / "large.pt", tmp_path / "tiny.pt"
    write_chain.write(str(large), 31, width)
    write_chain.write(str(tiny), 31, 8)
    assert large.stat().st_size > 500e6
    more = peak(large, out, "-i", "x:float32[3,%d]" % width, *options) - peak(tiny, tmp_path / "tiny.onnx", "-i", "x:float32[3,8]", *options)
    assert more <= ALLOWED, "%.0f MB more than with tiny weights" % (more / 1e6)


@pytest.mark.parametrize("name", ["resnet50.traced", "vit_b_16.scripted"])
def test_network(name, small, out):
    """Real weights against the memory that resnet18 needs: what must be computed (a transposed weight) is never large here."""
    case, tiny = small(name), small("linear.traced")
    more = peak(case.file, out, *case.options(False)) - peak(tiny.file, out, *tiny.options(False))
    assert more <= ALLOWED + (20 << 20), "%.0f MB more than a single Linear" % (more / 1e6)


@pytest.mark.parametrize("suffix", [".pt", ".pt2"])
def test_graph(suffix, tmp_path, out):
    """25,000 layers are 50,000 nodes; each layer takes less than 3.5 KB beyond what 1,000 of them do."""
    write = {".pt": scaling.chain, ".pt2": scaling.exported}[suffix]
    found = []
    for layers in (1_000, 25_000):
        model = tmp_path / ("model%d%s" % (layers, suffix))
        specs = write(str(model), layers)
        found.append(peak(model, out, *(word for spec in specs for word in ("-i", spec))))
    each = (found[1] - found[0]) / 24_000
    assert each <= 3_500, "%.0f bytes a layer" % each
