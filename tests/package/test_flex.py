"""flex_attention, by both roads: what a function of one place asks of tensors, masks, and what is in no kernel."""
import math

import pytest
import torch

import pt2onnx

flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="torch 1.13 has no flex_attention")
if not hasattr(flex, "AuxOutput"):
    pytest.skip("before torch 2.9 it gives other results", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")

ROADS = [{}, {"dynamo": True}, {"dynamo": True, "dynamic_shapes": ({0: "batch", 2: "rows"},)}]
PATCHED = ["flex_attention_hop", "setup_compilation_env", "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", "create_mask", "_create_sparse_block_from_block_mask",
           "_create_empty_block_mask"]
NAMES = ["trace", "program", "open sizes"]
Q = torch.randn(2, 4, 8, 16)
DOCUMENTS, SLOPES = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2] * 2), torch.linspace(-1, 0, 4)


def causal(b, h, i, j):
    return i >= j


def same_document(b, h, i, j):
    return DOCUMENTS[i] == DOCUMENTS[j]


class Flex(torch.nn.Module):
    """Attention of one tensor, whose functions see the module."""

    def __init__(self, score=None, mask=None, heads=4, **options):
        super().__init__()
        self.table, self.by_head, self.unit = torch.nn.Parameter(torch.randn(31)), torch.nn.Parameter(torch.randn(4, 31)), torch.nn.Parameter(torch.randn(()))
        self.by_batch = torch.nn.Parameter(torch.randn(3, 4))
        self.rows = torch.nn.Parameter(torch.randn(4, 31, 3))
        self.score, self.mask, self.heads, self.options = score, mask, heads, options

    def forward(self, q):
        score = self.score and (lambda s, b, h, i, j: self.score(self, s, b, h, i, j))
        mask = flex.create_block_mask(self.mask, None, None, q.shape[-2], q.shape[-2], device="cpu") if self.mask else None
        return flex.flex_attention(q, q[:, :self.heads] + 1, q[:, :self.heads] * 2, score, mask, enable_gqa=self.heads < 4, **self.options)


def same(got, want):
    for a, b in zip(got, want if isinstance(want, tuple) else (want,)):
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)


def agrees(net, options, limit=60):
    result = pt2onnx.export(net.eval(), (Q,), verify=True, **options)
    same(result(Q), net(Q))
    for size in [(3, 4, 5, 16), (2, 4, 1, 16)] if "dynamic_shapes" in options else []:
        q = torch.randn(size)
        same(result(q), net(q))
    assert len(result.model_proto.graph.node) < limit
    return result


@pytest.mark.parametrize("options", ROADS, ids=NAMES)
@pytest.mark.parametrize("score", [
    None,
    lambda net, s, b, h, i, j: s + net.table[i - j + 15],
    lambda net, s, b, h, i, j: s + net.by_head[h, i - j + 15] * SLOPES[h],
    lambda net, s, b, h, i, j: s + net.by_head[h][i - j + 15] + net.by_head[2][j] + net.by_head[h, 3],
    lambda net, s, b, h, i, j: torch.where(i >= j, s, -math.inf) * net.unit,
    lambda net, s, b, h, i, j: torch.tanh(s / 30) * 30 - (i - j).abs().to(s.dtype) * 0.5 ** (h + 1),
    lambda net, s, b, h, i, j: s.masked_fill((i // 2 != j // 2) & ~(i % 3 == 0), torch.finfo(s.dtype).min),
    lambda net, s, b, h, i, j: net.by_batch[b][h] + net.by_batch[b, h] * (i - j),
    lambda net, s, b, h, i, j: h * 0.5 - j,
    lambda net, s, b, h, i, j: s + SLOPES[(i < j).int()] + net.by_head[-1, h],
], ids=["none", "table", "by head", "items of items", "where", "capped", "filled", "by batch", "without the score", "chosen"])
def test_scores(score, options):
    agrees(Flex(score), options)


@pytest.mark.parametrize("options", ROADS, ids=NAMES)
@pytest.mark.parametrize("mask", [causal, flex.and_masks(causal, same_document), flex.or_masks(lambda b, h, i, j: j < 2, same_document),
                                  lambda b, h, i, j: (i - j < 3) & (i >= j) | (h == 1), lambda b, h, i, j: b.new_ones((), dtype=torch.bool)],
                         ids=["causal", "and", "or", "window", "all"])
def test_masks(mask, options):
    agrees(Flex(lambda net, s, b, h, i, j: s * 0.5, mask), options, 70)


@pytest.mark.parametrize("options", ROADS[:2], ids=NAMES[:2])
def test_a_mask_that_is_made_before(options):
    class Before(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = flex.create_block_mask(flex.and_masks(causal, same_document), None, None, 8, 8, device="cpu")

        def forward(self, q):
            return flex.flex_attention(q, q + 1, q * 2, block_mask=self.mask)
    agrees(Before(), options)


@pytest.mark.parametrize("options", ROADS, ids=NAMES)
def test_groups_and_more_results(options):
    """Rows that nothing counts for are 0, and the sum of their exponentials is 0."""
    class More(Flex):
        def forward(self, q):
            y, aux = super().forward(q)
            return y, aux.lse
    agrees(More(mask=lambda b, h, i, j: (i >= j) & (i != 3), heads=2, return_aux=flex.AuxRequest(lse=True)), options, 90)


@pytest.mark.parametrize("options", ROADS, ids=NAMES)
def test_what_is_compiled(options):
    """As its documentation shows it."""
    class Compiled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.compile(flex.flex_attention, backend="eager")

        def forward(self, q):
            return self.attention(q, q + 1, q * 2, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -math.inf))
    net = Compiled()
    before = net.attention
    agrees(net, options)
    assert net.attention is before


@pytest.mark.parametrize("score", [
    lambda net, s, b, h, i, j: s + net.rows[h][i - j + 15].sum(),
    lambda net, s, b, h, i, j: s + net.rows[h, i - j + 15] @ net.rows[0, 0],
    lambda net, s, b, h, i, j: s + torch.stack([h, i]).sum(),
], ids=["sum", "matmul", "stack"])
def test_functions_that_do_more_than_elements(score):
    """They go through torch.vmap, one place after the other. torch's tracer has no way for these."""
    agrees(Flex(score), ROADS[1], 10000)
    agrees(Flex(score), ROADS[2], 100)
    with pytest.raises(RuntimeError, match="flex_attention with a function that needs it, in a way that torch's tracer does not follow: dynamo=True"):
        pt2onnx.export(Flex(score), (Q,))


def test_a_truth_value_is_no_index():
    """SLOPES[i < j] is SLOPES, or nothing of it: no scalar, as torch says too."""
    with pytest.raises(Exception):
        Flex(lambda net, s, b, h, i, j: s + SLOPES[i < j])(Q)
    with pytest.raises(Exception):
        pt2onnx.export(Flex(lambda net, s, b, h, i, j: s + SLOPES[i < j]), (Q,))


@pytest.mark.parametrize("options", ROADS[:2], ids=NAMES[:2])
def test_autocast(options):
    class Cast(Flex):
        def forward(self, q):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return super().forward(q)
    net = Cast(lambda net, s, b, h, i, j: s + net.table[i - j + 15])
    result = pt2onnx.export(net, (Q,), **options)
    got = result(Q)[0]
    assert got.dtype == torch.bfloat16 and net(Q).dtype == torch.bfloat16
    torch.testing.assert_close(got, net(Q).detach(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("options", ROADS[:2], ids=NAMES[:2])
def test_torch_is_as_before(options):
    before = {name: getattr(flex, name) for name in PATCHED}
    agrees(Flex(mask=causal), options)
    with pytest.raises(Exception):
        pt2onnx.export(Flex(lambda net, s, b, h, i, j: s.no_such_method()), (Q,), **options)
    assert all(getattr(flex, name) is value for name, value in before.items())
