"""toys.py - tiny programs, one feature of the language or one operator family each.

They fail early and small where a network fails late and large. A toy is a class (or an instance) and its
arguments; it is traced, scripted and exported as its `forms` say: data-dependent control flow is scripted only.
"""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn
import torch.nn.functional as F

from recipe import Recipe

TOYS = []


def toy(*shapes, forms=("traced", "scripted", "pt2", "pt2.dec"), batches=(2,), dynamic="N", inputs=None, tags=()):
    """Register the module class (or factory) below. A shape starts with "N" where it has a batch."""
    def add(make):
        def default(batch):
            return tuple(torch.randn([batch if d == "N" else d for d in s]) for s in shapes)
        TOYS.append((make.__name__, make, inputs or default, forms, batches, dynamic, ["toy", *tags]))
        return make
    return add


SCRIPT = ("scripted",)
NOT_EXPORT = ("traced", "scripted")


# ---- one operator ----

@toy(("N", 4), batches=(2, 3))
class relu(nn.Module):
    def forward(self, x):
        return torch.relu(x)


@toy(("N", 4), batches=(2, 3))
class linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)


@toy(("N", 5, 4), batches=(2, 3))
class linear3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)


@toy(("N", 3, 8, 8), batches=(2, 3))
class conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


@toy(("N", 4, 9, 8))
class conv_grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, (3, 2), stride=(2, 1), dilation=(1, 2), groups=2, bias=False)

    def forward(self, x):
        return self.conv(x)


@toy(("N", 3, 8, 8), batches=(2, 3))
class conv_bn_relu(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=False)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


@toy(("N", 3, 8, 8))
class batch_norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(3)

    def forward(self, x):
        return self.bn(x)


@toy(("N", 5, 8))
class layer_norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln = nn.LayerNorm(8)

    def forward(self, x):
        return self.ln(x)


@toy(("N", 3, 9, 9))
class pools(nn.Module):
    def forward(self, x):
        a = F.max_pool2d(x, 3, 2, 1)
        b = F.avg_pool2d(x, 3, 2, 1)
        return a + b, F.max_pool2d(x, 2, 2, ceil_mode=True), F.adaptive_avg_pool2d(x, 1)


@toy(("N", 6))
class softmaxes(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1), F.log_softmax(x, -1)


@toy(("N", 6))
class activations(nn.Module):
    def forward(self, x):
        return (torch.sigmoid(x), torch.tanh(x), F.gelu(x), F.silu(x), F.hardswish(x), F.hardsigmoid(x),
                F.leaky_relu(x, 0.1), F.elu(x), F.relu6(x), torch.clamp(x, -0.5, 0.5))


@toy(inputs=lambda n: (torch.randint(0, 7, (n, 3)),), dynamic=None)
class embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 4)

    def forward(self, i):
        return self.emb(i)


@toy(("N", 4), ("N", 4))
class arithmetic(nn.Module):
    def forward(self, x, y):
        return (x + y) * 2 - x / 3, x + 1, 1 - y, torch.add(x, y, alpha=0.5), x ** 2


@toy((2, 3, 4))
class reductions(nn.Module):
    def forward(self, x):
        return x.sum(), x.mean(1), x.mean([1, 2], True), x.max(dim=2)[0], x.amax((0, 1)), x.sum(-1, keepdim=True)


@toy((2, 3, 4))
class moving(nn.Module):
    def forward(self, x):
        return (x.transpose(1, 2), x.permute(2, 0, 1), x.unsqueeze(1), x[:, 0], x[:, 1:], x.flatten(1),
                torch.cat([x, x], 2), torch.stack([x, x], 1), x[..., ::2], x.chunk(2, 2)[1], x.expand(5, 2, 3, 4))


@toy((2, 3, 4), (2, 4, 5))
class matmuls(nn.Module):
    def forward(self, x, y):
        return torch.matmul(x, y), torch.bmm(x, y), x @ y[0]


@toy(inputs=lambda n: (torch.arange(6).view(2, 3), torch.tensor([1.5, -2.5])), dynamic=None)
class dtypes(nn.Module):
    def forward(self, i, f):
        return i + 1.5, i * 2, i / 2, f.to(torch.int64), i.float(), i > 2, f.double() + f.double()


@toy((3,), inputs=lambda n: (torch.tensor(2.0),), dynamic=None)
class scalar_tensor(nn.Module):
    def forward(self, x):
        return x * 3 + torch.ones(2)


@toy(("N", 5, 8))
class attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mha = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.mha(x, x, x, need_weights=False)[0]


@toy(("N", 5, 8))
class encoder_layer(nn.Module):
    """Traced under no_grad this is one fused operator, _transformer_encoder_layer_fwd."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)

    def forward(self, x):
        return self.layer(x)


@toy(("N", 6, 4))
class lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 5, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return y, h, c


@toy(("N", 6, 4))
class gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 5, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)


# ---- sizes ----

@toy(("N", 3, 4), batches=(2, 5))
class flatten_by_size(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


@toy(("N", 6), batches=(2, 5))
class size_arithmetic(nn.Module):
    def forward(self, x):
        n, c = x.shape
        return x.reshape(n * 2, c // 2).view(n, 2, c // 2).transpose(1, 2)


@toy(("N", 4), batches=(2, 5))
class arange_by_size(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.size(0), device=x.device).unsqueeze(1), x.new_zeros(x.size(0), 2)


@toy(("N", 8, 2, 2), batches=(2, 5))
class channel_shuffle(nn.Module):
    def forward(self, x):
        b, c, h, w = x.size()
        return x.view(b, 2, c // 2, h, w).transpose(1, 2).contiguous().view(b, -1, h, w)


# ---- mutation and aliasing ----

@toy(("N", 4), batches=(2, 5))
class write_through_view(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 1].add_(1)
        return y


@toy((3, 4))
class write_into_input(nn.Module):
    def forward(self, x):
        x[:, 1].add_(1)
        return x * 2


@toy((3, 4))
class reshape_alias(nn.Module):
    def forward(self, x):
        a = x.clone()
        y = a.reshape(-1)
        y.mul_(2)
        b = x.clone()
        z = b.t().reshape(-1)
        z.mul_(3)
        return a, b, y, z


@toy(("N", 4))
class inplace_relu(nn.Module):
    def forward(self, x):
        y = x * 2
        F.relu(y, inplace=True)
        return y + 1


@toy((3, 4))
class slice_assign(nn.Module):
    def forward(self, x):
        y = torch.zeros(3, 4)
        y[1:, ::2] = x[1:, ::2]
        y[0] = 7.0
        return y


@toy((2, 3), tags=["state"])
class buffer_state(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(x.sum(0))
        return x + self.count


# ---- control flow (scripted) ----

@toy((2, 3), forms=SCRIPT)
class if_on_tensor(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x * 2
        else:
            y = x - 1
        return y


@toy((2, 3), forms=SCRIPT)
class if_on_flag(nn.Module):
    def forward(self, x, double: bool = True):
        if double:
            return x * 2
        return x


@toy(("N", 3), forms=SCRIPT, batches=(2, 5))
class if_on_size(nn.Module):
    def forward(self, x):
        if x.size(1) == 3:
            return x + 1
        return x - 1


@toy((4, 3), forms=SCRIPT)
class loop_unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        for i in range(2):
            x = x + i
        return x


@toy((2, 3), forms=SCRIPT)
class loop_while(nn.Module):
    def forward(self, x):
        while bool(x.sum() < 100):
            x = x * x + 1
        return x


@toy(("N", 3), forms=SCRIPT, batches=(2, 5))
class loop_carried(nn.Module):
    def forward(self, x):
        total = torch.zeros(3)
        for i in range(x.size(0)):
            total = total * 0.5 + x[i]
        return total


@toy(("N", 3), forms=SCRIPT, batches=(2, 5))
class loop_list(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        h = torch.zeros(3)
        for i in range(x.size(0)):
            h = torch.tanh(h + x[i])
            out.append(h)
        return torch.stack(out)


@toy((2, 3), forms=SCRIPT)
class raising_arm(nn.Module):
    def forward(self, x):
        if x.dim() != 2:
            raise RuntimeError("expected 2 dimensions")
        assert x.size(1) == 3, "three columns"
        return x + 1


# ---- values that are not tensors ----

class Pair(NamedTuple):
    left: Tensor
    right: Tensor


@torch.jit.script
class Scale:
    def __init__(self, factor: float):
        self.factor = factor

    def apply(self, x: Tensor) -> Tensor:
        return x * self.factor


def scaled(x: Tensor, options: Dict[str, float]) -> Tensor:
    if "scale" in options:
        return x * options["scale"]
    return x


@toy((2, 3), forms=SCRIPT)
class function_dict(nn.Module):
    def forward(self, x):
        return scaled(x, {"scale": 2.5, "other": 1.0})


@toy((2, 3), forms=SCRIPT)
class user_class(nn.Module):
    def forward(self, x):
        s = Scale(3.0)
        s.factor += 1.0
        return s.apply(x)


@toy((2, 3), forms=SCRIPT)
class lists_and_strings(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = "twice"

    def forward(self, x):
        sizes = [1, 2, 3]
        sizes.append(4)
        n = 0
        for i, s in enumerate(sizes[1:]):
            n += i * s
        if self.mode == "twice" and n == 11:
            x = x * 2
        return x.view([x.size(0), -1, 1])


@toy((2, 3), forms=NOT_EXPORT)
class named_tuple(nn.Module):
    def forward(self, x):
        return Pair(x + 1, x * 2)


@toy((2, 3), forms=("scripted", "pt2"))
class dict_result(nn.Module):
    def forward(self, x):
        return {"sum": x + x, "product": x * x}


@toy((2, 3), forms=SCRIPT)
class optional_argument(nn.Module):
    def forward(self, x, mask: Optional[Tensor] = None):
        if mask is not None:
            x = x + mask
        return x * 2


@toy(forms=NOT_EXPORT, inputs=lambda n: ((torch.randn(2, 3), torch.randn(2, 3)),), dynamic=None)
class tuple_argument(nn.Module):
    def forward(self, xs: Tuple[Tensor, Tensor]):
        return xs[0] - xs[1]


@toy(forms=NOT_EXPORT, inputs=lambda n: ({"image": torch.randn(2, 3), "mask": torch.randn(2, 3)},), dynamic=None)
class dict_argument(nn.Module):
    def forward(self, batch: Dict[str, Tensor]):
        return batch["image"] * batch["mask"]


@toy((2, 4))
class shared_weight(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


@toy((2, 4))
class dropout_eval(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) + 1


@toy((2, 4))
class half_weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4).half())

    def forward(self, x):
        return x @ self.w.float()


@toy((2, 4), ("N", 4), dynamic=None)
class strided_weight(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randn(6, 4).t()[:, ::2])

    def forward(self, x, y):
        return x @ self.w, y @ self.w


def recipes(forms):
    return [Recipe(name, make, inputs, [f for f in wanted if f in forms], tags, batches, dynamic if len(batches) > 1 else None)
            for name, make, inputs, wanted, batches, dynamic, tags in TOYS]
