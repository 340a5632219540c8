"""fusion_programs - random programs of two to six operators, such as ONNX Runtime's optimisers look for.

A program is text: the body of a forward, the weights it needs and its inputs, so that a find can be read and run again by its seed.
`program(seed)` gives one; each begins with a motif, operators in the order that some optimiser matches, in a variation that it may not have
thought of: vectors where it expects matrices, sizes 0 and 1, other axes, a result that is used twice or is an output too.
"""
import random

SIZES = (1, 2, 3, 4, 5, 8)
PATTERNS_FROM = 20000                       # seeds from here on are programs of fusion_patterns
TYPED_FROM = 40000                          # and from here on of those that move what is of another type


class Program:
    """What a generator writes to: statements over named tensors of known shapes."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.seed = seed
        self.lines, self.inputs, self.weights = [], [], []
        self.shape, self.dtype, self.live = {}, {}, []
        self.ends = False                   # nothing may stand behind what is there: a quantised result, half precision
        self.step = self.tolerance = 0.0    # of such a result: how far apart numbers may be, and as a share of the largest one

    # ---- names ----

    def new(self, text, shape, dtype="float32"):
        name = "v%d" % len(self.lines)
        self.lines.append("%s = %s" % (name, text))
        self.shape[name], self.dtype[name] = tuple(shape), dtype
        self.live.append(name)
        return name

    def input(self, shape, dtype="float32"):
        name = "x%d" % len(self.inputs)
        self.inputs.append(name)
        self.shape[name], self.dtype[name] = tuple(shape), dtype
        self.live.append(name)
        return name

    def weight(self, shape, dtype="float32"):
        name = "self.w%d" % len(self.weights)
        self.weights.append(name[5:])
        self.shape[name], self.dtype[name] = tuple(shape), dtype
        return name

    # ---- chance ----

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *of):
        return self.rng.choice(of)

    def size(self):
        return 0 if self.chance(0.02) else self.rng.choice(SIZES)

    def sizes(self, rank):
        return tuple(self.size() for _ in range(rank))

    def axis(self, rank):
        """Counted from either end."""
        return self.rng.randrange(-rank, rank) if rank else 0

    def either(self, shape):
        """An input or a weight of this shape."""
        return self.input(shape) if self.chance(0.5) else self.weight(shape)

    def spread(self, shape):
        """A shape that broadcasts to this one."""
        keep = [1 if self.chance(0.3) else n for n in shape]
        return tuple(keep[self.rng.randrange(len(keep) + 1):]) if self.chance(0.4) else tuple(keep)


# ---- single steps: v -> a name; each takes any shape that it can ----

def unary(p, v):
    how = p.pick("torch.relu(%s)", "torch.sigmoid(%s)", "torch.tanh(%s)", "F.gelu(%s)", "F.gelu(%s, approximate='tanh')", "F.silu(%s)", "F.leaky_relu(%s, 0.1)",
                 "F.hardswish(%s)", "F.hardsigmoid(%s)", "F.elu(%s)", "torch.clamp(%s, 0.0, 6.0)", "torch.clamp(%s, min=-0.5)", "torch.clamp(%s, max=0.5)", "-%s",
                 "%s.abs()", "torch.erf(%s)", "%s * torch.sigmoid(1.702 * %s)", "%s.exp()", "(%s * %s + 1).sqrt()", "torch.rsqrt(%s.abs() + 1)", "F.softplus(%s)",
                 "%s.square()", "F.mish(%s)", "%s.floor()", "%s.round()", "F.dropout(%s, 0.5, False)")
    return p.new(how.replace("%s", v), p.shape[v])


def scalar(p, v):
    c = p.pick("2.0", "0.5", "1.0", "0.0", "-1.0", "3")
    how = p.pick("%s + C", "%s * C", "%s - C", "%s / D", "C - %s", "D / (%s.abs() + 1)", "%s ** 2", "%s % 2.0").replace("C", c).replace("D", p.pick("2.0", "1.0", "0.25"))
    return p.new(how.replace("%s", v), p.shape[v])


def binary(p, v):
    other = p.either(p.spread(p.shape[v]))
    how = p.pick("%s + %o", "%s * %o", "%s - %o", "%o - %s", "%s / (%o.abs() + 1)", "torch.maximum(%s, %o)", "torch.where(%o > 0, %s, %o)")
    return p.new(how.replace("%s", v).replace("%o", other), p.shape[v])


def twice(p, v):
    """With what was there before it, where shapes allow."""
    same = [u for u in p.live if p.shape[u] == p.shape[v] and u != v and p.dtype[u] == "float32"]
    if not same:
        return binary(p, v)
    return p.new(p.pick("%s + %s", "%s * %s", "torch.minimum(%s, %s)") % (v, p.rng.choice(same)), p.shape[v])


def reduced(p, v):
    s = p.shape[v]
    if not s or 0 in s:
        return unary(p, v)
    axis, keep = p.axis(len(s)), p.chance(0.5)
    at = axis % len(s)
    how = p.pick("%s.sum(%d, keepdim=%s)", "%s.mean(%d, keepdim=%s)", "%s.amax(%d, keepdim=%s)", "%s.prod(%d, keepdim=%s)", "torch.logsumexp(%s, %d, keepdim=%s)",
                 "%s.var(%d, unbiased=False, keepdim=%s)", "%s.norm(2, %d, keepdim=%s)")
    return p.new(how % (v, axis, keep), [1 if i == at else n for i, n in enumerate(s) if keep or i != at])


def along(p, v):
    s = p.shape[v]
    if not s or 0 in s:
        return unary(p, v)
    how = p.pick("torch.softmax(%s, %d)", "torch.log_softmax(%s, %d)", "torch.cumsum(%s, %d)", "%s.flip(%d)", "F.normalize(%s, dim=%d)")
    return p.new(how % (v, p.axis(len(s))), s)


def transposed(p, v):
    s = p.shape[v]
    if len(s) < 2:
        return unary(p, v)
    if p.chance(0.5):
        a, b = p.axis(len(s)), p.axis(len(s))
        to = list(s)
        to[a], to[b] = s[b], s[a]
        return p.new("%s.transpose(%d, %d)" % (v, a, b), to)
    order = list(range(len(s)))
    p.rng.shuffle(order)
    return p.new("%s.permute(%s)" % (v, ", ".join(map(str, order))), [s[i] for i in order])


def reshaped(p, v):
    s = p.shape[v]
    how = p.rng.randrange(7)
    if how == 0 and len(s) >= 2:
        at = p.rng.randrange(len(s) - 1)
        return p.new("%s.flatten(%d, %d)" % (v, at, at + 1), s[:at] + (s[at] * s[at + 1],) + s[at + 2:])
    if how == 1:
        at = p.rng.randrange(len(s) + 1)
        return p.new("%s.unsqueeze(%d)" % (v, at), s[:at] + (1,) + s[at:]) if len(s) < 5 else unary(p, v)
    if how == 2 and 1 in s:
        at = s.index(1)
        return p.new("%s.squeeze(%d)" % (v, at), s[:at] + s[at + 1:])
    if how == 3 and s and s[0] == 1:
        return p.new("%s.expand(%s)" % (v, ", ".join(map(str, (3,) + s[1:]))), (3,) + s[1:])
    if how == 4 and s and s[-1] and s[-1] % 2 == 0 and len(s) < 5:
        return p.new("%s.reshape(%s)" % (v, ", ".join(map(str, s[:-1] + (2, s[-1] // 2)))), s[:-1] + (2, s[-1] // 2))
    if how == 5 and s and 0 not in s:
        n = 1
        for d in s:
            n *= d
        return p.new("%s.reshape(-1)" % v, (n,))
    if how == 6 and s and len(s) < 5:
        return p.new("%s.repeat(%s)" % (v, ", ".join(["2"] + ["1"] * (len(s) - 1))), (2 * s[0],) + s[1:])
    return unary(p, v)


def sliced(p, v):
    s = p.shape[v]
    if not s or 0 in s:
        return unary(p, v)
    axis = p.rng.randrange(len(s))
    how = p.rng.randrange(6)
    rest = s[:axis], s[axis + 1:]
    if how == 0:
        return p.new("%s.select(%d, %d)" % (v, axis, p.rng.randrange(-s[axis], s[axis])), rest[0] + rest[1])
    if how == 1:
        a = p.rng.randrange(s[axis])
        return p.new("%s.narrow(%d, %d, %d)" % (v, axis, a, s[axis] - a), rest[0] + (s[axis] - a,) + rest[1])
    if how == 2:
        return p.new("%s[%s::2]" % (v, ":, " * axis), rest[0] + ((s[axis] + 1) // 2,) + rest[1])
    if how == 3 and s[axis] % 2 == 0:
        half = rest[0] + (s[axis] // 2,) + rest[1]
        first = p.new("%s.chunk(2, %d)[0]" % (v, axis), half)
        second = p.new("%s.chunk(2, %d)[1]" % (v, axis), half)
        if p.chance(0.3):
            return p.new("torch.cat([%s, %s], %d)" % (second, first, axis), s)
        return p.new(p.pick("%s * torch.sigmoid(%s)", "%s + %s") % (second, first), half)
    if how == 4:
        return p.new("torch.cat([%s, %s], %d)" % (v, v, axis), rest[0] + (2 * s[axis],) + rest[1])
    at = [p.rng.randrange(s[axis]) for _ in range(p.pick(1, 2, 3))]
    return p.new("torch.index_select(%s, %d, torch.tensor(%s))" % (v, axis, at), rest[0] + (len(at),) + rest[1])


def cast(p, v):
    how = p.pick("%s.double().float()", "%s.to(torch.float16).float()", "(%s > 0).float()", "%s.to(torch.int64).float()", "(%s > 0).to(torch.int32).float()", "torch.logical_not(%s > 0).float()",
                 "%s.double()", "%s.isnan().float()", "(%s * 8).to(torch.int8).float()")
    return p.new(how.replace("%s", v), p.shape[v]) if how != "%s.double()" else p.new("(%s.double() * 2).float()" % v, p.shape[v])


def product(p, v):
    """A matrix product of any ranks, with a transpose on either side or none."""
    s = p.shape[v]
    if not s or 0 in s:
        return unary(p, v)
    kind = p.rng.randrange(8)
    if kind == 0:                                                           # with a vector
        return p.new("%s @ %s" % (v, p.either((s[-1],))), s[:-1])
    if kind == 1 and len(s) >= 2:                                           # a vector with it
        return p.new("%s @ %s" % (p.either((s[-2],)), v), s[:-2] + (s[-1],))
    if kind == 2:
        n = p.size() or 1
        return p.new("F.linear(%s, %s%s)" % (v, p.weight((n, s[-1])), ", " + p.weight((n,)) if p.chance(0.6) else ""), s[:-1] + (n,))
    n = p.size() or 1
    batch = s[:-2] if p.chance(0.5) else ()
    other = p.either(batch + ((n, s[-1]) if kind in (3, 4) else (s[-1], n)))
    turned = "%s.transpose(-1, -2)" % other if kind in (3, 4) else other
    y = p.new("%s @ %s" % (v, turned), s[:-1] + (n,) if len(s) > 1 else (batch + (n,)))
    return y


def turned_product(p, v):
    s = p.shape[v]
    if len(s) < 2 or 0 in s:
        return product(p, v)
    a, b = p.pick((-1, -2), (len(s) - 2, len(s) - 1), (0, -1), (0, 1) if len(s) > 2 else (0, 1))
    to = list(s)
    to[a], to[b] = s[b], s[a]
    t = p.new("%s.transpose(%d, %d)" % (v, a, b), to)
    if p.chance(0.3):
        t = p.pick(scalar, unary)(p, t)
    return product(p, t)


def biased(p, v):
    s = p.shape[v]
    if not s:
        return unary(p, v)
    b = p.weight((s[-1],)) if p.chance(0.7) else p.either(p.spread(s))
    return p.new(p.pick("%s + %s", "%s * %s", "%s - %s") % (v, b), s)


def normed(p, v):
    s = p.shape[v]
    if not s or 0 in s:
        return unary(p, v)
    kind = p.rng.randrange(6)
    if kind == 0:
        return p.new("F.layer_norm(%s, (%d,), %s, %s)" % (v, s[-1], p.weight((s[-1],)), p.weight((s[-1],))), s)
    if kind == 1:
        w = p.weight((s[-1],))
        return p.new("%s * %s * torch.rsqrt(%s.pow(2).mean(-1, keepdim=True) + 1e-5)" % (w, v, v), s)
    if kind == 2:
        m = p.new("%s.mean(%d, keepdim=True)" % (v, -1), s[:-1] + (1,))
        c = p.new("%s - %s" % (v, m), s)
        return p.new("%s / torch.sqrt(%s.pow(2).mean(-1, keepdim=True) + 1e-5) * %s + %s" % (c, c, p.either((s[-1],)), p.either((s[-1],))), s)
    if kind == 3 and len(s) in (2, 3, 4):
        c = s[1]
        return p.new("F.batch_norm(%s, %s, %s.abs() + 1, %s, %s)" % (v, p.weight((c,)), p.weight((c,)), p.weight((c,)), p.weight((c,))), s)
    if kind == 4 and len(s) >= 3 and s[1] % 2 == 0:
        return p.new("F.group_norm(%s, 2, %s, %s)" % (v, p.weight((s[1],)), p.weight((s[1],))), s)
    if kind == 5 and len(s) in (3, 4) and s[-1] > 1:
        return p.new("F.instance_norm(%s)" % v, s)
    return p.new("F.layer_norm(%s, %s)" % (v, s[-1:]), s)


def attended(p, v):
    s = p.shape[v]
    if len(s) < 2 or len(s) > 4 or 0 in s:
        return along(p, v)
    n, d = s[-2], s[-1]
    k = p.new("%s * %s" % (v, p.either((d,))), s)
    scores = p.new("(%s @ %s.transpose(-1, -2)) %s" % (v, k, p.pick("/ %s ** 0.5" % float(d), "* 0.25", "")), s[:-1] + (n,))
    if p.chance(0.5):
        scores = p.new(p.pick("%s + %s", "%s.masked_fill(%s > 0.8, -10.0)") % (scores, p.either(p.pick((n, n), (n,), (1, n), (n, 1)))), p.shape[scores])
    return p.new("torch.softmax(%s, -1) @ %s" % (scores, v), s)


def convolved(p, v):
    s = p.shape[v]
    if len(s) not in (3, 4) or 0 in s or min(s[2:]) < 1:
        return product(p, v)
    n, o = len(s) - 2, p.pick(1, 2, 4)
    k, pad = p.pick(1, 3), p.pick(0, 1)
    if min(s[2:]) + 2 * pad < k:
        k = 1
    groups = s[1] if p.chance(0.2) else 1
    o = o * groups
    bias = ", " + p.weight((o,)) if p.chance(0.5) else ", None"
    stride = p.pick(1, 1, 2)
    to = tuple((d + 2 * pad - k) // stride + 1 for d in s[2:])
    x = v
    if p.chance(0.2):
        at = 1
        x = p.new("F.pad(%s, (%s))" % (v, ", ".join([str(at)] * 2 * n)), s[:2] + tuple(d + 2 for d in s[2:]))
        to = tuple((d + 2 + 2 * pad - k) // stride + 1 for d in s[2:])
    return p.new("F.conv%dd(%s, %s%s, %d, %d, 1, %d)" % (n, x, p.weight((o, s[1] // groups) + (k,) * n), bias, stride, pad, groups), (s[0], o) + to)


def channelwise(p, v):
    s = p.shape[v]
    if len(s) < 3:
        return biased(p, v)
    w = p.weight(p.pick((s[1],) + (1,) * (len(s) - 2), (1, s[1]) + (1,) * (len(s) - 2), (1,), (), (1,) * len(s)))
    return p.new(p.pick("%s * %s", "%s + %s", "%s - %s") % (v, w), s)


def pooled(p, v):
    s = p.shape[v]
    if len(s) != 4 or 0 in s or min(s[2:]) < 2:
        return reduced(p, v)
    how = p.pick("F.max_pool2d(%s, 2)", "F.avg_pool2d(%s, 2)", "F.adaptive_avg_pool2d(%s, 1)", "F.interpolate(%s, scale_factor=2.0, mode='nearest')",
                 "F.interpolate(%s, scale_factor=2.0, mode='bilinear', align_corners=False)")
    to = (1, 1) if "adaptive" in how else tuple(d * 2 for d in s[2:]) if "interp" in how else tuple(d // 2 for d in s[2:])
    return p.new(how % v, s[:2] + to)


def embedded(p, v):
    """A lookup beside it."""
    s = p.shape[v]
    if not s or not s[-1]:
        return unary(p, v)
    at = p.input(s[:-1] if len(s) > 1 else (s[-1],), "int64")
    table = p.weight((7, s[-1]))
    e = p.new("F.embedding(%s %% 7, %s)" % (at, table), p.shape[at] + (s[-1],))
    return p.new("%s + %s" % (e, v), p.shape[e]) if len(s) > 1 else e


ANY = (unary, scalar, binary, twice, reduced, along, transposed, reshaped, sliced, cast, product, turned_product, biased, normed, attended, convolved, channelwise, pooled, embedded)
# Operators in the order that some optimiser of ONNX Runtime matches.
MOTIFS = {
    "MatmulTransposeFusion": (turned_product,), "MatMulAddFusion": (product, biased), "GemmActivationFusion": (product, biased, unary),
    "MatMulScaleFusion": (scalar, product, scalar), "MatMulActivationFusion": (product, unary), "MatMulBNFusion": (product, transposed, normed),
    "ConvActivationFusion": (convolved, unary), "ConvAddFusion": (convolved, channelwise), "ConvMulFusion": (convolved, channelwise),
    "ConvBNFusion": (convolved, normed), "ConvAddActivationFusion": (convolved, twice, unary), "PadFusion": (convolved, pooled),
    "LayerNormFusion": (normed, biased), "SkipLayerNormFusion": (twice, normed), "GeluFusion": (unary, binary), "BiasGeluFusion": (biased, unary),
    "BiasSoftmaxFusion": (binary, along), "AttentionFusion": (product, reshaped, attended), "EmbedLayerNormFusion": (embedded, normed),
    "CastElimination": (cast, cast), "ReshapeFusion": (reshaped, reshaped), "TransposeOptimizer": (transposed, unary, transposed),
    "TransposeOptimizer2": (transposed, binary, reduced), "TransposeOptimizer3": (transposed, sliced, normed), "ExpandElimination": (reshaped, binary),
    "SliceElimination": (sliced, sliced), "GatherSliceToSplitFusion": (sliced, twice), "UnsqueezeElimination": (reshaped, reshaped, binary),
    "ReluClipFusion": (unary, unary), "DivMulFusion": (scalar, scalar), "NoopElimination": (scalar, binary), "CommonSubexpressionElimination": (unary, twice),
    "NhwcTransformer": (convolved, pooled, convolved), "ConstantFolding": (reshaped, product), "QuickGeluFusion": (unary, product), "": (),
}


def motifs_of(seed):
    """Programs below 20,000 are what they always were: tests name some by their seeds."""
    if seed < PATTERNS_FROM:
        return MOTIFS
    import fusion_patterns
    return fusion_patterns.MOTIFS if seed < TYPED_FROM else fusion_patterns.TYPED


def program(seed):
    p = Program(seed)
    motifs = motifs_of(seed)
    name = p.rng.choice(sorted(motifs))
    rank = p.pick(0, 1, 2, 2, 3, 3, 4, 4, 5)
    if any(step in (convolved, pooled) for step in motifs[name]):
        rank = p.pick(3, 4, 4)
    v = p.input(p.sizes(rank))
    if p.chance(0.15):
        v = p.rng.choice(ANY)(p, v)
    for step in motifs[name]:
        v = step(p, v)
    while not p.ends and (len(p.lines) < 2 or (len(p.lines) < 6 and p.chance(0.4))):
        v = p.rng.choice(ANY)(p, v)
    p.motif = name
    made = [n for n in p.live if n.startswith("v")]
    p.outputs = [v] + [n for n in made if n != v and not p.ends and p.chance(0.15)]
    return p


def source(p):
    """A module, as text."""
    body = "".join("        %s\n" % line for line in p.lines)
    weights = "".join("        self.%s = weight(%r, %r)\n" % (w, p.shape["self." + w], p.dtype["self." + w]) for w in p.weights)
    return ("class Net(torch.nn.Module):\n    def __init__(self, weight):\n        super().__init__()\n%s\n    def forward(self, %s):\n%s        return %s\n"
            % (weights, ", ".join(p.inputs), body, ", ".join(p.outputs)))
