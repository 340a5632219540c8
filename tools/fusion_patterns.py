"""fusion_patterns - what ONNX Runtime's optimisers look for, written as users write it, in variations: the steps of programs from seed 20,000 on.

Each is a step as in fusion_programs: a function of a program and a name, which gives a name. What it cannot do with that name's shape is another step.
"""
import fusion_programs as steps


def numel(s):
    n = 1
    for d in s:
        n *= d
    return n


def broadcast(a, b):
    a, b = (1,) * (len(b) - len(a)) + tuple(a), (1,) * (len(a) - len(b)) + tuple(b)
    return tuple(n if m == 1 else m for m, n in zip(a, b))


# ---- activations and norms in their parts ----

def gelu(p, v):
    if p.chance(0.6):
        v = steps.biased(p, v)
    how = p.pick("F.gelu(%s)", "F.gelu(%s, approximate='tanh')", "0.5 * %s * (1 + torch.erf(%s / 2 ** 0.5))", "%s * 0.5 * (1 + torch.erf(%s * 0.7071067811865476))",
                 "%s * (torch.erf(%s / 1.4142135623730951) + 1) * 0.5", "0.5 * %s * (1 + torch.tanh(0.7978845608028654 * (%s + 0.044715 * %s ** 3)))",
                 "0.5 * %s * (1 + torch.tanh(%s * 0.7978845608 * (1 + 0.044715 * %s * %s)))", "%s * torch.sigmoid(1.702 * %s)", "%s * torch.sigmoid(%s)",
                 "%s * torch.sigmoid(-0.5 * %s)", "torch.erf(%s / 2 ** 0.5) * %s")
    return p.new(how.replace("%s", v), p.shape[v])


def norm_in_parts(p, v):
    s = p.shape[v]
    if not s or 0 in s:
        return gelu(p, v)
    axes = p.pick((-1,), (-1,), (-1,), (0,), (len(s) - 1,), tuple(range(-min(2, len(s)), 0)), (1 % len(s),))
    at = ", ".join(map(str, axes)) if len(axes) == 1 else str(axes)
    wide = [s[a] for a in axes] if axes == tuple(range(-len(axes), 0)) or axes == (len(s) - 1,) else [1]
    square = p.pick("%s.pow(2)", "(%s * %s)", "%s.square()")
    eps = p.pick("1e-5", "1e-6", "0.1")
    x = v
    if p.chance(0.7):
        x = p.new("%s - %s.mean(%s, keepdim=True)" % (v, v, at), s)
    mean = "%s.mean(%s, keepdim=True) + %s" % (square.replace("%s", x), at, eps)
    y = p.new(p.pick("%s / torch.sqrt(%s)", "%s * torch.rsqrt(%s)", "%s * (1 / torch.sqrt(%s))", "%s / (%s) ** 0.5") % (x, mean), s)
    if p.chance(0.7):
        y = p.new(p.pick("%s * %s", "%s * (1 + %s)").replace("%s", y, 1).replace("%s", p.either(wide)), s)
    return p.new("%s + %s" % (y, p.either(wide)), s) if p.chance(0.5) else y


def skipped(p, v):
    """A sum of two or three, normed; the sum may go on."""
    s = p.shape[v]
    if not s or 0 in s:
        return gelu(p, v)
    if p.chance(0.4):
        v = steps.biased(p, v)
    total = p.new(p.pick("%s + %s", "%s + 2 * %s") % (v, p.either(p.pick(s, s, p.spread(s)))), s)
    if p.chance(0.3):
        total = p.new("%s + %s" % (p.weight((s[-1],)), total), s)
    y = norm_in_parts(p, total) if p.chance(0.4) else p.new("F.layer_norm(%s, (%d,), %s, %s)" % (total, s[-1], p.weight((s[-1],)), p.weight((s[-1],))), s)
    return p.new("%s + %s" % (y, total), s) if p.chance(0.4) else y


# ---- products ----

def matrix(p, v):
    """The matrix nearest to v."""
    s = p.shape[v]
    if len(s) == 2 and 0 not in s:
        return v
    return p.input((p.size() or 2, p.size() or 3))


def summed(p, v):
    """A linear layer and what is added to it, of any shape that broadcasts."""
    v = matrix(p, v)
    n = p.size() or 1
    y = p.new("F.linear(%s, %s%s)" % (v, p.weight((n, p.shape[v][1])), ", " + p.weight((n,)) if p.chance(0.3) else ""), (p.shape[v][0], n))
    return p.new(p.pick("%s + %s", "%s - %s", "%s + 0.5 * %s") % (y, p.either(p.spread(p.shape[y]))), p.shape[y])


def turned_linear(p, v):
    v = matrix(p, v)
    m, k = p.shape[v]
    n = p.size() or 1
    if p.chance(0.5):
        y = p.new("F.linear(%s.t(), %s, %s)" % (v, p.weight((n, m)), p.weight((n,))), (k, n))
    else:
        y = p.new("torch.addmm(%s, %s, %s.t())" % (p.either(p.pick((n,), (m, n), (1, n), (m, 1), (1,))), v, p.either((n, k))), (m, n))
    return p.new("%s.t()" % y, p.shape[y][::-1]) if p.chance(0.6) else y


def scaled(p, v):
    """A product whose sides or result a number scales: a Python number, or a tensor of one element."""
    s = p.shape[v]
    if not s or 0 in s:
        return gelu(p, v)
    one = p.pick("0.125", "3.0", "0.0", p.weight(()), p.weight((1,)), p.either((1,) * len(s)))
    left = p.new(p.pick("%s * %s", "%s / (1 + %s)") % (v, one), s)
    n = p.size() or 1
    right = p.new("%s * %s" % (p.either((s[-1], n)), p.pick("0.5", "2.0")), (s[-1], n))
    y = p.new("%s @ %s" % (left, right), s[:-1] + (n,))
    return p.new(p.pick("%s * %s", "%s / %s") % (y, p.pick("0.25", "4.0")), p.shape[y]) if p.chance(0.5) else y


def inverse_times(p, v):
    other = p.either(p.spread(p.shape[v]))
    how = p.pick("(1.0 / (%s.abs() + 1)) * %o", "%o * (1 / (%s.abs() + 1))", "%o * (2 / (%s.abs() + 1))", "(%s.abs() + 1).reciprocal() * %o")
    return p.new(how.replace("%s", v).replace("%o", other), p.shape[v])


def heads(p, v):
    """Attention with heads, as language models and vision transformers write it, with what stands around it."""
    b, n, d = p.pick(1, 2, 3), p.pick(1, 2, 5), 8
    x = v if len(p.shape[v]) == 3 and p.shape[v][-1] == 8 and 0 not in p.shape[v] else p.input((b, n, d))
    b, n, d = p.shape[x]
    normed = x if p.chance(0.4) else p.new("F.layer_norm(%s, (8,), %s, %s)" % (x, p.weight((8,)), p.weight((8,))), (b, n, d))
    h = p.pick(1, 2, 4)
    biases = p.chance(0.7)
    linear = lambda u: "F.linear(%s, %s%s)" % (u, p.weight((d, d)), ", " + p.weight((d,)) if biases else "")                  # noqa: E731
    split = p.pick("%s.view(%d, %d, %d, %d).transpose(1, 2)", "%s.reshape(%d, %d, %d, %d).permute(0, 2, 1, 3)")
    q, k, w = (p.new(split % (linear(normed), b, n, h, d // h), (b, h, n, d // h)) for _ in range(3))
    turned = p.pick("%s.transpose(-1, -2)", "%s.transpose(2, 3)", "%s.permute(0, 1, 3, 2)") % k
    scores = p.new(p.pick("%s @ %s / 1.5", "(%s / 2.0) @ %s", "%s @ %s * 0.5", "%s @ %s") % (q, turned), (b, h, n, n))
    mask = p.rng.randrange(5)
    if mask == 1:
        scores = p.new("%s + %s" % (scores, p.either(p.pick((n, n), (1, 1, n, n), (b, 1, 1, n), (b, 1, n, n), (h, 1, 1)))), (b, h, n, n))
    if mask == 2:
        at = p.input((b, n), "int64")
        scores = p.new("%s + (1.0 - (%s %% 2)[:, None, None, :].float()) * -10000.0" % (scores, at), (b, h, n, n))
    if mask == 3:
        scores = p.new("torch.where(torch.ones(%d, %d).tril().bool(), %s, -1e4)" % (n, n, scores), (b, h, n, n))
    y = p.new("(torch.softmax(%s, -1) @ %s).transpose(1, 2).reshape(%d, %d, %d)" % (scores, w, b, n, d), (b, n, d))
    y = p.new(linear(y), (b, n, d))
    y = p.new("%s + %s" % (y, x), (b, n, d)) if p.chance(0.7) else y
    return p.new("F.layer_norm(%s, (8,), %s, %s)" % (y, p.weight((8,)), p.weight((8,))), (b, n, d)) if p.chance(0.5) else y


def embeddings(p, v):
    """Of words, places and kinds, summed and normed."""
    b, n, d = p.pick(1, 2), p.pick(1, 3, 4), p.pick(4, 8)
    words, kinds = p.input((b, n), "int64"), p.input((b, n), "int64")
    at = p.pick("torch.arange(%d)" % n, "torch.arange(%s.shape[1])[None]" % words, "torch.arange(%d).expand(%d, %d)" % (n, b, n), "%s %% 5" % p.input((b, n), "int64"))
    parts = ["F.embedding(%s %% 7, %s)" % (words, p.weight((7, d))), "F.embedding(%s, %s)" % (at, p.weight((5, d))), "F.embedding(%s %% 2, %s)" % (kinds, p.weight((2, d)))]
    if p.chance(0.3):
        p.rng.shuffle(parts)
    if p.chance(0.2):
        parts.pop()
    y = p.new(" + ".join(parts), (b, n, d))
    return p.new("F.layer_norm(%s, (%d,), %s, %s)" % (y, d, p.weight((d,)), p.weight((d,))), (b, n, d))


# ---- what only moves elements ----

def parted(p, v):
    """All parts along an axis, as slices or by number, joined anew."""
    s = p.shape[v]
    at = [i for i, n in enumerate(s) if n >= 2]
    if not at or 0 in s:
        return steps.reshaped(p, v)
    a = p.rng.choice(at)
    rest = s[:a], s[a + 1:]
    if p.chance(0.5):
        ones = [p.new("%s.select(%d, %d)" % (v, a, i), rest[0] + rest[1]) for i in range(s[a] if p.chance(0.8) else s[a] - 1)]
        p.rng.shuffle(ones)
        return p.new("torch.stack([%s], %d)" % (", ".join(ones), a), rest[0] + (len(ones),) + rest[1])
    cut = p.rng.randrange(1, s[a])
    first = p.new("%s.narrow(%d, 0, %d)" % (v, a, cut), rest[0] + (cut,) + rest[1])
    second = p.new("%s.narrow(%d, %d, %d)" % (v, a, cut, s[a] - cut), rest[0] + (s[a] - cut,) + rest[1])
    return p.new("torch.cat([%s, %s], %d)" % (second, first, a), s)


def ranged(p, v):
    """Rows by a range of numbers."""
    s = p.shape[v]
    if not s or 0 in s:
        return steps.reshaped(p, v)
    a = p.axis(len(s))
    n = s[a]
    how, count = p.pick(("torch.arange(%s.shape[%d])" % (v, a), n), ("torch.arange(%d)" % n, n), ("torch.arange(%d, -1, -1)" % (n - 1), n),
                        ("torch.arange(0, %d, 2)" % n, (n + 1) // 2), ("torch.arange(-1, %d, -1)" % (-n - 1), n),
                        ("torch.arange(%s.shape[%d] - 1, -1, -1)" % (v, a), n), ("(torch.arange(-%s.shape[%d], 0) + %d)" % (v, a, n), n))
    at = a % len(s)
    if how.startswith("torch.arange(-1"):
        how = "(%s + %d)" % (how, n)                                        # PyTorch takes no negative numbers in index_select
    return p.new("%s.index_select(%d, %s)" % (v, a, how), s[:at] + (count,) + s[at + 1:])


def focus(p, v):
    """Space to depth, as detectors have it."""
    s = p.shape[v]
    if len(s) != 4 or 0 in s or s[2] % 2 or s[3] % 2:
        v = p.input((p.pick(1, 2), p.pick(1, 3), 4, p.pick(2, 4)))
        s = p.shape[v]
    parts = ["%s[..., %d::2, %d::2]" % (v, i, j) for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))]
    if p.chance(0.5):
        p.rng.shuffle(parts)
    y = p.new("torch.cat([%s], 1)" % ", ".join(parts), (s[0], 4 * s[1], s[2] // 2, s[3] // 2))
    return steps.convolved(p, y) if p.chance(0.6) else y


def neutral(p, v):
    """Zeros added or ones multiplied, of a shape that may be the larger one."""
    s = p.shape[v]
    shape = p.pick((), (1,), (1,) * len(s), s, p.spread(s), (2,) + (1,) * len(s) if len(s) < 5 else ())
    zeros, ones = "torch.zeros(%s)" % (tuple(shape),), "torch.ones(%s)" % (tuple(shape),)
    how = p.pick("%s + " + zeros, zeros + " + %s", "%s - " + zeros, zeros + " - %s", "%s * " + ones, ones + " * %s", "%s / " + ones, ones + " / (%s.abs() + 1)")
    return p.new(how.replace("%s", v), broadcast(s, shape))


def in_turns(p, v):
    """Shapes that are computed from sizes."""
    s = p.shape[v]
    if len(s) < 2 or 0 in s:
        return steps.reshaped(p, v)
    how = p.rng.randrange(5)
    if how == 0:
        return p.new("%s.reshape(%s.shape[0], -1)" % (v, v), (s[0], numel(s[1:])))
    if how == 1:
        return p.new("%s.reshape(-1, %s.shape[-1]).reshape(%s.shape)" % (v, v, v), s)
    if how == 2:
        return p.new("%s.double().reshape(%s.to(torch.int32).shape[0], -1).float()" % (v, v), (s[0], numel(s[1:])))
    if how == 3:
        return p.new("%s.unsqueeze(0).unsqueeze(0).squeeze(1).squeeze(0)" % v, s)
    return p.new("%s.transpose(0, 1).reshape(%s.shape[1], -1)" % (v, v), (s[1], s[0] * numel(s[2:])))


def chosen(p, v):
    s = p.shape[v]
    c = p.either(p.spread(s))
    how = p.pick("torch.where(torch.logical_not(%c > 0), %s, %o)", "torch.where(~(%c > 0), %s, 1.0)", "%s.masked_fill(~(%c > 0), 0.5)", "torch.where(%c.isnan(), %s, %o)")
    return p.new(how.replace("%c", c).replace("%s", v).replace("%o", p.either(p.spread(s))), s)


def clipped(p, v):
    low, high = p.pick(("0.0", "6.0"), ("-0.5", "0.5"), ("0.5", "-0.5"), ("None", "0.3"), ("0.2", "None"), ("-1.0", "0.0"))
    one, two = "torch.relu(%s)", "torch.clamp(%%s, %s, %s)" % (low, high)
    first, second = p.pick((one, two), (two, one), (two, two), (one, one))
    return p.new(second % (first % v), p.shape[v])


# ---- convolutions: padded by themselves, and in blocks of channels as NchwcTransformer wants them ----

def padded(p, v):
    s = p.shape[v]
    if len(s) not in (3, 4) or 0 in s or min(s[2:]) < 2:
        v = p.input((2, 2, 5, 4))
        s = p.shape[v]
    n = len(s) - 2
    amounts = [p.pick(0, 1, 1, -1 if min(s[2:]) > 3 else 0) for _ in range(2 * n)]
    mode = p.pick("", "", ", value=0.0", ", value=1.5", ", mode='reflect'", ", mode='replicate'")
    if mode.startswith(", mode"):
        amounts = [max(a, 0) for a in amounts]
    to = [d + amounts[2 * i] + amounts[2 * i + 1] for i, d in enumerate(reversed(s[2:]))][::-1]
    y = p.new("F.pad(%s, %s%s)" % (v, tuple(amounts), mode), s[:2] + tuple(to))
    if n == 2 and min(to) >= 3 and p.chance(0.5):
        pool = p.pick("F.max_pool2d(%s, 2, 1)", "F.avg_pool2d(%s, 2, 1)", "F.max_pool2d(%s, 3, 1, 1)", "F.avg_pool2d(%s, 3, 1, 1)",
                      "F.avg_pool2d(%s, 3, 1, 1, count_include_pad=False)")
        less = 1 if ", 2, 1)" in pool else 0
        return p.new(pool % y, s[:2] + tuple(d - less for d in to))
    return steps.convolved(p, y)


def blocked(p, v):
    """A few layers over channels by the eight, with what may stand between them."""
    if len(p.shape[v]) != 4 or p.shape[v][1] % 8 or 0 in p.shape[v]:
        v = p.input((p.pick(1, 2), p.pick(3, 8, 16, 32), p.pick(1, 4, 7), p.pick(3, 4, 7)))
    before = []
    for _ in range(p.pick(2, 3, 4)):
        v = layer(p, v, before)
        before.append(v)
    return v


def layer(p, v, before):
    s = p.shape[v]
    same = [u for u in before if p.shape[u] == s and u != v]
    beside = [u for u in before if p.shape[u][0] == s[0] and p.shape[u][2:] == s[2:]]
    how = p.rng.randrange(12) if before else 0
    if how <= 3:
        o, groups = p.pick((8, 1), (16, 1), (32, 1), (12, 1), (s[1], s[1]), (16, 2) if s[1] % 2 == 0 else (8, 1))
        k = p.pick(1, 3)
        y = p.new("F.conv2d(%s, %s, %s, %d, %d, 1, %d)" % (v, p.weight((o, s[1] // groups, k, k)), p.weight((o,)) if p.chance(0.6) else None, 1, k // 2, groups), (s[0], o) + s[2:])
        return p.new(p.pick("torch.relu(%s)", "torch.sigmoid(%s)", "torch.tanh(%s)", "F.leaky_relu(%s, 0.2)", "F.hardsigmoid(%s)", "torch.clamp(%s, 0.0, 6.0)", "F.silu(%s)", "F.gelu(%s)") % y,
                     p.shape[y]) if p.chance(0.5) else y
    if how == 4 and same:
        y = p.new("%s + %s" % (v, p.rng.choice(same)), s)
        return p.new("torch.relu(%s)" % y, s) if p.chance(0.5) else y
    if how == 5 and beside:
        u = p.rng.choice(beside)
        return p.new("torch.cat([%s, %s], 1)" % (v, u), (s[0], s[1] + p.shape[u][1]) + s[2:])
    if how == 6 and min(s[2:]) >= 2:
        pool = p.pick("F.max_pool2d(%s, 2)", "F.avg_pool2d(%s, 2)")
        return p.new(pool % v, s[:2] + tuple(d // 2 for d in s[2:]))
    if how == 7:
        return p.new("F.interpolate(%s, scale_factor=2.0, mode='%s')" % (v, p.pick("nearest", "bilinear")), s[:2] + tuple(2 * d for d in s[2:]))
    if how == 8:
        w = [p.weight((s[1],)) for _ in range(4)]
        return p.new("F.batch_norm(%s, %s, %s.abs() + 1, %s, %s)" % (v, *w), s)
    if how == 9:
        gate = p.pick("torch.sigmoid(F.adaptive_avg_pool2d(%s, 1))", "%s.mean((2, 3), keepdim=True)") % v
        return p.new("%s * %s" % (v, gate), s)
    if how == 10:
        return p.new("%s * %s" % (v, p.either(p.pick((s[1], 1, 1), (1, s[1], 1, 1), s, ()))), s)
    return p.new("F.pad(%s, (1, 1, 1, 1))" % v, s[:2] + tuple(d + 2 for d in s[2:]))


# ---- quantised: the program ends there, since a number between two steps may go to either ----

def rounded(p, v, most=255):
    """-> v in steps. Its own numbers are the same everywhere; what is computed from them is at most a step apart behind the next rounding."""
    scale, zero = p.pick(0.02, 0.05, 0.043), p.pick(0, most // 2, most // 3)
    signed = p.chance(0.3) and most == 255
    p.step = scale
    return p.new("torch.fake_quantize_per_tensor_affine(%s, %s, %d, %s)" % (v, scale, zero - 128 if signed else zero, "-128, 127" if signed else "0, %d" % most), p.shape[v])


def rounded_weight(p, shape):
    w = p.weight(shape)
    if p.chance(0.5):
        return "torch.fake_quantize_per_tensor_affine(%s, 0.03, 0, -128, 127)" % w
    return "torch.fake_quantize_per_channel_affine(%s, torch.linspace(0.02, 0.04, %d), torch.zeros(%d, dtype=torch.int32), 0, -128, 127)" % (w, shape[0], shape[0])


def quantised(p, v):
    s = p.shape[v]
    if 0 in s or p.chance(0.4):
        v = p.input((p.pick(1, 2), p.pick(1, 3, 4), p.pick(1, 4, 5), p.pick(2, 4)))
        s = p.shape[v]
    x = rounded(p, v, 127)                                                  # 7 bits: docs/limits.md says what saturates on this processor
    s = p.shape[x]
    how = p.rng.randrange(9)
    if how <= 1 and len(s) == 4:
        o, k = p.pick(1, 4, 8), p.pick(1, 3)
        y = p.new("F.conv2d(%s, %s, %s, padding=1)" % (x, rounded_weight(p, (o, s[1], k, k)), p.weight((o,)) if p.chance(0.7) else None),
                  (s[0], o) + tuple(d + 3 - k for d in s[2:]))
    elif how <= 3 and s:
        o = p.pick(1, 4, 8)
        y = p.new("F.linear(%s, %s, %s)" % (x, rounded_weight(p, (o, s[-1])), p.weight((o,)) if p.chance(0.7) else None), s[:-1] + (o,))
    elif how == 4 and len(s) >= 2:
        y = p.new("%s @ %s.transpose(-1, -2)" % (x, rounded(p, p.either(s), 127)), s[:-1] + (s[-2],))
    elif how == 5:
        other = rounded(p, p.either(s))
        joined = s and p.chance(0.3)
        y = p.new("torch.cat([%s, %s], 0)" % (x, other), (2 * s[0],) + s[1:]) if joined else p.new(p.pick("%s + %s", "%s * %s") % (x, other), s)
    else:
        y = p.pick(steps.transposed, steps.reshaped, steps.pooled, steps.sliced, steps.reduced, steps.along, clipped)(p, x)
    if p.chance(0.4):
        y = p.new(p.pick("torch.relu(%s)", "torch.sigmoid(%s)", "torch.clamp(%s, 0.0, 6.0)", "F.leaky_relu(%s, 0.1)") % y, p.shape[y])
    p.ends = True
    return rounded(p, y)


def quantised_dynamic(p, v):
    s = p.shape[v]
    if not s or 0 in s:
        v = p.input((2, 5))
        s = p.shape[v]
    o = p.pick(1, 4, 8)
    packed = "torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(%s, 0.03, %d, torch.qint8), %s)" % (p.weight((o, s[-1])), p.pick(0, 0, 5), p.pick("None", p.weight((o,))))
    if len(s) == 1:
        v = p.new("%s.unsqueeze(0)" % v, (1,) + s)
        s = p.shape[v]
    y = p.new("torch.ops.quantized.linear_dynamic(%s, %s, True)" % (v, packed), s[:-1] + (o,))
    return gelu(p, y) if p.chance(0.4) else y


# ---- half precision: the program ends there, in half's tolerance ----

def half(p, v):
    """What is between two casts computes in float16; ONNX Runtime's CPU puts casts of its own around it."""
    s = p.shape[v]
    p.ends, p.tolerance = True, 1e-2
    x = p.new("%s.half()" % v, s, "float16")
    how = p.rng.randrange(4)
    if how == 0 and s and 0 not in s:
        y = p.new("%s @ %s.half()" % (x, p.weight((s[-1], 3))), s[:-1] + (3,), "float16")
    elif how == 1 and s and 0 not in s:
        y = p.new("torch.softmax(%s, -1)" % x, s, "float16")
    elif how == 2 and len(s) == 4 and 0 not in s:
        y = p.new("F.conv2d(%s, %s.half(), None, 1, 1)" % (x, p.weight((4, s[1], 3, 3))), (s[0], 4) + s[2:], "float16")
    else:
        y = p.new(p.pick("torch.relu(%s) + %s", "%s * 0.5 + %s.abs()", "torch.tanh(%s) - %s", "F.gelu(%s) + %s") % (x, x), s, "float16")
    if p.chance(0.5):
        y = p.new("%s.float().half() * 2" % y, p.shape[y], "float16")
    return p.new("%s.float()" % y, p.shape[y])


# ---- moved in another type: from seed 40,000 on ----

def between_casts(p, v):
    """Axes move, or parts are taken, between two casts."""
    there = p.pick("%s.double()", "%s.half()", "(%s * 8).to(torch.int64)", "(%s * 8).to(torch.int32)", "%s > 0", "(%s * 8).to(torch.int8)", "%s.bfloat16()")
    kept = len(p.live)
    u = p.new(there % v, p.shape[v])
    for _ in range(p.pick(1, 1, 2)):
        u = p.pick(moved, moved, steps.transposed, steps.sliced if there != "%s > 0" else moved)(p, u)
    del p.live[kept:]                                   # of another type than the steps behind them take
    p.tolerance = max(p.tolerance, 0.01 if "half" in there or "bfloat16" in there else 0.0)
    return p.new("%s.float()" % u, p.shape[u])


def moved(p, v):
    """One axis to another place."""
    s = list(p.shape[v])
    if len(s) < 2:
        return p.new("%s.reshape(-1, 1)" % v, (numel(s), 1))
    a, b = p.rng.randrange(len(s)), p.rng.randrange(len(s))
    s.insert(b, s.pop(a))
    return p.new("%s.movedim(%d, %d)" % (v, a, b), s)


TYPED = {"CastsMoved": (between_casts, steps.product), "CastsMoved2": (between_casts, steps.turned_product), "CastsMoved3": (steps.product, between_casts, steps.binary),
         "CastsMoved4": (between_casts, steps.normed), "CastsMoved5": (between_casts, steps.convolved), "CastsMoved6": (between_casts, steps.along),
         "CastsMoved7": (between_casts, steps.reduced), "CastsMoved8": (between_casts, steps.attended), "CastsMoved9": (between_casts, between_casts, steps.product)}

MOTIFS = {
    "AttentionFusion": (heads,), "EmbedLayerNormFusion": (embeddings,), "EmbedLayerNormFusion2": (embeddings, heads), "SkipLayerNormFusion": (skipped,),
    "BiasSkipLayerNormFusion": (steps.product, steps.biased, skipped), "LayerNormFusion": (norm_in_parts,), "SimplifiedLayerNormFusion": (norm_in_parts, steps.product),
    "GeluFusion": (gelu,), "BiasGeluFusion": (steps.product, gelu), "FastGeluFusion": (gelu, steps.product), "GemmSumFusion": (summed,), "GemmTransposeFusion": (turned_linear,),
    "MatMulScaleFusion": (scaled,), "DivMulFusion": (inverse_times,), "GatherSliceToSplitFusion": (parted,), "GatherToSliceFusion": (ranged,),
    "SliceConcatToSpaceToDepthFusion": (focus,), "NoopElimination": (neutral, neutral), "NoopElimination2": (steps.product, neutral), "ReshapeFusion": (in_turns,),
    "ReshapeFusion2": (steps.transposed, in_turns, steps.binary), "NotWhereFusion": (chosen,), "ReluClipFusion": (clipped,), "PadFusion": (padded,),
    "NchwcTransformer": (blocked,), "NchwcTransformer2": (blocked, steps.transposed), "NchwcTransformer3": (blocked, steps.reduced),
    "QDQSelectorActionTransformer": (quantised,), "QDQPropagationTransformer": (steps.transposed, quantised), "QDQPropagationTransformer2": (steps.reshaped, quantised),
    "DynamicQuantizeMatMulFusion": (quantised_dynamic,), "InsertCastTransformer": (half,), "CastFloat16Transformer": (steps.product, half),
}
