"""flex.py - flex_attention as the operators that it stands for, since torch 2.9. torch.export has it as one operator that holds functions, which it cannot
save, and torch's tracer cannot look into it.

A function of the user's says what one score becomes, or whether one place counts: of scalars. Where it is made of operators that take each element by
itself, and of items of tensors, it is called once, with all places along four axes; any other goes through torch.vmap, as in torch.

https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html"""
import contextlib
import math

import torch

from .turns import replaced

try:
    import torch.nn.attention.flex_attention as torchs
except ImportError:                                     # torch before 2.5
    torchs = None

OPERATORS = frozenset("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs eq ne lt le gt ge and rand or ror xor rxor "
                      "invert lshift rshift".split())
ELEMENTWISE = OPERATORS | frozenset(
    "subtract multiply div divide true_divide floor_divide remainder fmod where minimum maximum clamp clip clamp_min clamp_max exp exp2 log log2 log1p expm1 "
    "sqrt rsqrt square reciprocal tanh sigmoid sin cos floor ceil round trunc sign relu isnan isinf isfinite logical_and logical_or logical_not logical_xor "
    "bitwise_and bitwise_or bitwise_not bitwise_xor to type float double half bfloat16 bool int long masked_fill detach clone negative absolute "
    "full_like zeros_like ones_like".split())
OF_ANY_SHAPE = frozenset("new_ones new_zeros new_full new_tensor".split())
ATTRIBUTES = [torch.Tensor.dtype.__get__, torch.Tensor.device.__get__]


@contextlib.contextmanager
def written_out():
    """For the time of a `with`, flex_attention runs as it is written here, and its masks are only the functions in them."""
    here = {"flex_attention_hop": attention, "setup_compilation_env": contextlib.nullcontext, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG": True,
            "create_mask": mask, "_create_sparse_block_from_block_mask": blocks, "_create_empty_block_mask": no_blocks}
    if not all(hasattr(torchs, name) for name in (*here, "AuxOutput")):
        yield
        return
    with contextlib.ExitStack() as all_of_them:
        for name, value in here.items():
            all_of_them.enter_context(replaced(torchs, name, value))
        yield


def attention(query, key, value, score_mod, block_mask, scale, kernel_options):
    """As torch's own, which an autocast gives operands of its type and leaves alone."""
    device = query.device.type
    if not torch.is_autocast_enabled(device):
        return plain(query, key, value, score_mod, block_mask, scale)
    query, key, value = (t.to(torch.get_autocast_dtype(device)) for t in (query, key, value))
    with torch.autocast(device, enabled=False):
        return plain(query, key, value, score_mod, block_mask, scale)


def plain(query, key, value, score_mod, block_mask, scale):
    """(result, log2 of the sums of exponentials, greatest score / ln 2). query: [batch, heads, M, E]; key, value: [batch or 1, heads of
    groups, N, E]; block_mask ends with the function that says which places count."""
    exact = torch.float64 if query.dtype == torch.float64 else torch.float32
    groups = query.size(1) // key.size(1)
    key, value = (t.repeat_interleave(groups, 1) if groups > 1 else t for t in (key, value))
    scores = query.to(exact) @ key.to(exact).transpose(-2, -1) * scale
    counts = everywhere(block_mask[-1], scores.shape, scores.device)
    scores = everywhere(score_mod, scores.shape, scores.device, scores).to(exact).masked_fill(~counts, -math.inf)
    weights = torch._safe_softmax(scores, -1)
    return weights.to(query.dtype) @ value, scores.logsumexp(-1) / math.log(2), scores.amax(-1) / math.log(2)


# ---- masks ----

def mask(function, B, H, Q_LEN, KV_LEN, device=None):
    """As torch's create_mask."""
    shape = B or 1, H or 1, Q_LEN, KV_LEN
    scores = [torch.zeros(shape, device=device)] if torchs._get_mod_type(function) == torchs._ModificationType.SCORE_MOD else []
    found = everywhere(function, shape, device, *scores)
    return found.expand(shape) if not scores else torch.where(found.isneginf(), False, True)


def blocks(block_mask, mask_mod, seq_lengths, Q_BLOCK_SIZE, KV_BLOCK_SIZE):
    """A BlockMask of the right sizes: which blocks count matters to kernels alone."""
    some = block_mask[0].to(torch.int32)
    return torchs.BlockMask(seq_lengths, some.sum(-1), some, *[None] * 6, BLOCK_SIZE=(Q_BLOCK_SIZE, KV_BLOCK_SIZE), mask_mod=mask_mod)


def no_blocks(query, key):
    size = torchs._LARGE_SPARSE_BLOCK_SIZE
    return blocks((torch.ones([1, 1, 1, 1], device=query.device), None), torchs.noop_mask, (1, 1), size, size)


# ---- a function of one place, for all of them ----

def everywhere(function, shape, device, *score):
    """What function(*score, batch, head, row, column) gives for each place of this shape, to which the result expands. score: of this shape, or none."""
    places = [torch.arange(size, device=device) for size in shape]
    along = [place.view([-1 if i == axis else 1 for i in range(4)]) for axis, place in enumerate(places)]
    try:
        with AllPlaces([*score, *along]) as mode:
            found = function(*score, *along)
        return mode.checked(found).expand(shape if score else found.shape)
    except (NotElementwise, TypeError):
        with ItemsByIndex():
            return mapped(function, len(score))(*score, *places)


def mapped(function, scores):
    for axis in reversed(range(4)):
        function = torch.vmap(function, in_dims=(0,) * scores + tuple(0 if i == axis else None for i in range(4)))
    return function


class NotElementwise(Exception):
    """The function asks for more than the elements."""


class AllPlaces(torch.overrides.TorchFunctionMode):
    """Follows what is of all places, with four axes where the function sees a scalar, and refuses what would not do the same to each of its elements."""

    def __init__(self, values):
        super().__init__()
        self.values = {id(v): v for v in values}

    def of_places(self, value):
        return id(value) in self.values

    def checked(self, found):
        """A result is of all places, or one scalar for all."""
        if not isinstance(found, torch.Tensor) or not self.of_places(found) and found.dim():
            raise NotElementwise
        return found

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = torch.utils._pytree.tree_leaves((args, kwargs))
        if not any(map(self.of_places, given)) or function in ATTRIBUTES:
            return function(*args, **kwargs)
        name = function.__name__
        if function is torch.Tensor.__getitem__:
            return self.item(*args)
        if name in OF_ANY_SHAPE or function is torch.ops.aten.index:        # which Items asks for
            return function(*args, **kwargs)
        known = name[2:-2] in OPERATORS if name.startswith("__") else name in ELEMENTWISE
        if not known or "out" in kwargs or not all(self.of_places(t) or not t.dim() for t in given if isinstance(t, torch.Tensor)):
            raise NotElementwise
        return self.kept(function(*args, **kwargs))

    def item(self, tensor, items):
        if self.of_places(tensor):
            raise NotElementwise
        return Items(self, tensor, ())[items]

    def kept(self, value):
        self.values[id(value)] = value
        return value


class Items:
    """t[i], where t has more axes: t[i][j] is t[i, j]."""

    def __init__(self, mode, tensor, items):
        self.mode, self.tensor, self.items = mode, tensor, items

    def __getitem__(self, items):
        items = self.items + (items if isinstance(items, tuple) else (items,))
        if len(items) > self.tensor.dim() or not all(map(is_index, items)):
            raise NotElementwise
        return self.mode.kept(taken(self.tensor, items)) if len(items) == self.tensor.dim() else Items(self.mode, self.tensor, items)

    def __getattr__(self, name):
        raise NotElementwise


class ItemsByIndex(torch.overrides.TorchFunctionMode):
    """t[i] with a scalar tensor asks for its number, which differs from place to place; an index does not."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.__getitem__:
            items = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(i, torch.Tensor) for i in items) and all(map(is_index, items)):
                return taken(args[0], items)
        return function(*args, **(kwargs or {}))


def is_index(item):
    """A number; True and False ask for another thing."""
    return item.dtype in (torch.int32, torch.int64) if isinstance(item, torch.Tensor) else type(item) is int


def taken(tensor, items):
    """tensor[items] of tensors and numbers, as an index."""
    sample = next(i for i in items if isinstance(i, torch.Tensor))
    return torch.ops.aten.index(tensor, [i if isinstance(i, torch.Tensor) else torch.full_like(sample, i) for i in items])
