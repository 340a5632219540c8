"""squeeze of sizes that may be 1. What the model returns is squeezed as it runs; where something asks for the rank, the trace's example tells."""
import pytest
import torch

from helpers import agrees, checked, dims, exported, ops

OPEN = {0: "n", 1: "m", 2: "k"}


def traced(function, shape, open_axes):
    return checked(function, torch.ones(*shape), input_names=["x"], dynamic_axes={"x": open_axes})


def assumed(function, shape, open_axes, *said):
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning) as told:
        model = traced(function, shape, open_axes)
    told = [str(w.message) for w in told if issubclass(w.category, torch.onnx.errors.OnnxExporterWarning)]
    assert len(told) == len(said) and all(a in b for a, b in zip(said, told))
    return model


@pytest.mark.parametrize("dim", [(), (0,), (1,), (-1,)])
def test_the_running_model_decides(dim):
    squeeze = lambda x: x.squeeze(*dim) * 2
    model = traced(squeeze, (1, 3), {0: "n", 1: "m"})
    assert dims(model.graph.input[0]) == ["n", "m"] and len(dims(model.graph.output[0])) == squeeze(torch.ones(1, 3)).dim()
    for shape in ((1, 3), (2, 3), (2, 1), (1, 1)):
        agrees(model, squeeze, torch.randn(*shape))


@pytest.mark.parametrize("function, shape, usual", [
    (lambda x: x.squeeze(1), (2, 1, 4), ["n", "k"]),
    (lambda x: x.squeeze(1), (2, 3, 4), ["n", "m", "k"]),
    (lambda x: x[:, :, :2].squeeze(1), (2, 1, 4), ["n", 2]),
])
def test_the_file_states_what_the_example_gave(function, shape, usual):
    model = traced(function, shape, {0: "n", 1: "m"} if usual[-1] == 2 else OPEN)
    assert dims(model.graph.output[0]) == usual
    for n, m in ((2, 1), (2, 3), (1, 1)):
        agrees(model, function, torch.randn(n, m, 4))


def test_which_of_several_the_example_does_not_tell():
    squeeze = lambda x: x.squeeze()
    model = traced(squeeze, (1, 3, 4), {0: "n", 1: "m"})
    assert len(dims(model.graph.output[0])) == 2
    for shape in ((1, 3, 4), (3, 1, 4), (1, 1, 4), (3, 3, 4)):
        agrees(model, squeeze, torch.randn(*shape))
    with pytest.raises(RuntimeError, match="which of the dimensions of unknown size are 1"):
        exported(lambda x: x.squeeze().cumsum(0), torch.ones(1, 3, 4), input_names=["x"], dynamic_axes={"x": {0: "n", 1: "m"}})


def test_what_asks_for_the_rank_is_as_in_the_example():
    turn = lambda x: x.squeeze(1).transpose(0, 1)
    model = assumed(turn, (2, 1, 4), OPEN, "the trace has squeezed dimension 1")
    assert dims(model.graph.input[0]) == ["n", 1, "k"] and dims(model.graph.output[0]) == ["k", "n"]
    agrees(model, turn, torch.randn(3, 1, 2))
    model = assumed(turn, (2, 3, 4), OPEN, "dimension 1 (m) is not 1, squeeze keeps it")
    assert dims(model.graph.output[0]) == ["m", "n", "k"]
    agrees(model, turn, torch.randn(3, 2, 1))


def test_an_axis_that_is_1_in_any_case_says_nothing_about_the_others():
    count = lambda x: x.squeeze().cumsum(0)
    model = assumed(count, (1, 1, 4), {0: "n"}, "the trace has squeezed dimension 0")
    assert dims(model.graph.input[0]) == [1, 1, 4] and dims(model.graph.output[0]) == [4] and ops(model).count("Squeeze") == 1
    agrees(model, count, torch.randn(1, 1, 4))
    model = assumed(count, (2, 1, 4), {0: "n", 2: "k"}, "dimension 0 (n) is not 1", "dimension 2 (k) is not 1")
    assert dims(model.graph.output[0]) == ["n", "k"]
    agrees(model, count, torch.randn(3, 1, 2))
