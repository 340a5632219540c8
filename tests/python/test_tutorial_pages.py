"""The commands of docs/tutorials print what the pages say, run by tools/tutorial_pages.py in one process; and a page that says otherwise
is noticed."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PT2ONNX = pathlib.Path(os.environ.get("PT2ONNX_BUILD") or ROOT / "build").absolute() / "pt2onnx"


def run(tool, *arguments):
    done = subprocess.run([sys.executable, tool, "--pt2onnx", PT2ONNX, *arguments], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_pages():
    status, said = run(ROOT / "tools" / "tutorial_pages.py")
    assert status == 0 and "6 pages, 0 print something else" in said, said


def test_notices(tmp_path):
    """A copy of one page with another result in it, and with a file of its reader's that fails."""
    for folder in ("tools", "docs/tutorials"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "python").symlink_to(ROOT / "python")
    tool = shutil.copy(ROOT / "tools" / "tutorial_pages.py", tmp_path / "tools")
    page = tmp_path / "docs" / "tutorials" / "first-model.md"
    text = (ROOT / "docs" / "tutorials" / "first-model.md").read_text()
    page.write_text(text.replace("shape (1, 3, 16, 16)", "shape (1, 3, 8, 8)").replace("nn.PixelShuffle(2)", "nn.PixelShuffle(2).gone", 1))
    status, said = run(tool)
    assert status == 1 and "-shape (1, 3, 8, 8)" in said and "has no attribute 'gone'" in said, said
