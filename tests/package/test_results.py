"""Result.save: onto its own file, beside files that are there, with and without a file of weights."""
import os

import onnx
import pytest
import torch

import pt2onnx
from helpers import TORCH_2, agrees

of_a_path = pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no dynamo=True, which gives the result of a path")
ROWS = torch.randn(2, 3)
NET = torch.nn.Linear(3, 500)                             # weights of 1,024 bytes and more go into a file of their own


def agrees_in_file(path):
    agrees(onnx.load(str(path)), NET, ROWS)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@of_a_path
@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("again", [None, False, True])
@pytest.mark.parametrize("where", [os.path.basename, os.path.abspath, lambda path: "link.onnx"], ids=["relative", "absolute", "link"])
def test_a_result_is_saved_onto_its_own_file(here, external, again, where):
    result = pt2onnx.export(NET, (ROWS,), "a.onnx", dynamo=True, external_data=external)
    os.symlink("a.onnx", "link.onnx")
    result.save(where("a.onnx"), external_data=again)
    for path in ("a.onnx", "link.onnx"):
        agrees_in_file(path)
    assert result(ROWS)[0].shape == (2, 500)
    assert not [name for name in os.listdir() if not name.startswith(("a.onnx", "link.onnx"))]


@of_a_path
def test_a_save_that_fails_leaves_the_file(here, monkeypatch):
    result = pt2onnx.export(NET, (ROWS,), "a.onnx", dynamo=True, external_data=True)

    def fails(*_):
        raise OSError("no room")
    monkeypatch.setattr(onnx, "save", fails)
    with pytest.raises(OSError, match="no room"):
        result.save("a.onnx", external_data=False)
    assert sorted(os.listdir()) == ["a.onnx", "a.onnx.data"]
    agrees_in_file("a.onnx")


def test_weights_go_beside_whatever_the_current_folder_has(here):
    result = pt2onnx.export(NET, (ROWS,))
    os.mkdir("sub")
    (here / "c.onnx.data").write_bytes(b"of another model")
    result.save("sub/c.onnx", external_data=True)
    assert (here / "c.onnx.data").read_bytes() == b"of another model"
    assert sorted(os.listdir("sub")) == ["c.onnx", "c.onnx.data"]
    agrees_in_file("sub/c.onnx")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_whoever_may_read_the_model_may_read_its_weights(here):
    before = os.umask(0o022)
    try:
        pt2onnx.export(NET, (ROWS,)).save("a.onnx", external_data=True)
    finally:
        os.umask(before)
    assert [oct(os.stat(name).st_mode & 0o777) for name in ("a.onnx", "a.onnx.data")] == [oct(0o644)] * 2


@of_a_path
def test_external_data_false_writes_one_file(here):
    result = pt2onnx.export(NET, (ROWS,), "a.onnx", dynamo=True, external_data=True)
    result.save("one.onnx", external_data=False)
    result.save("two.onnx")
    assert sorted(os.listdir()) == ["a.onnx", "a.onnx.data", "one.onnx", "two.onnx", "two.onnx.data"]
    for path in ("one.onnx", "two.onnx"):
        agrees_in_file(path)


@of_a_path
def test_a_file_of_weights_that_is_no_longer_read_is_not_saved(here):
    (here / "a.onnx.data").write_bytes(b"of an older model")
    result = pt2onnx.export(NET, (ROWS,), "a.onnx", dynamo=True, external_data=False)
    result.save("b.onnx")
    assert not os.path.exists("b.onnx.data") and (here / "b.onnx").read_bytes() == result.model_bytes


@of_a_path
def test_a_result_is_found_from_another_folder(here, monkeypatch):
    result = pt2onnx.export(NET, (ROWS,), "a.onnx", dynamo=True, external_data=True)
    os.mkdir("sub")
    monkeypatch.chdir("sub")
    assert result(ROWS)[0].shape == (2, 500)
    result.save("b.onnx")
    agrees_in_file("b.onnx")
