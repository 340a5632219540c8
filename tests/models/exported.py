"""exported.py - four networks of torch 2.x: residual CNN, transformer encoder layer, LSTM, small GPT; exported and traced."""
import torch
from torch import nn
import torch.nn.functional as F

from recipe import Recipe

FORMS = ["traced", "pt2", "pt2.dec", "pt2.dyn", "pt2.dyn.dec"]


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class ResidualCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(Residual(16), Residual(16))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.pool(self.blocks(self.stem(x)))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Lstm(nn.Module):
    def __init__(self, layers=2, bidirectional=True):
        super().__init__()
        self.rnn = nn.LSTM(8, 12, num_layers=layers, bidirectional=bidirectional, batch_first=True)
        self.head = nn.Linear(24 if bidirectional else 12, 5)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return self.head(y), h, c


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """Causal decoder; the output layer shares the embedding's weight."""

    def __init__(self, vocabulary=61, width=32, heads=4, depth=2, context=24):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def encoder():
    return nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.1, activation="gelu", batch_first=True)


RECIPES = [
    Recipe("residual_cnn", ResidualCnn, lambda n: (torch.randn(n, 3, 32, 32),), FORMS + ["pt2.old"], ["cnn", "export"], (2, 5), "N"),
    Recipe("encoder_layer", encoder, lambda n: (torch.randn(n, 7, 32),), FORMS, ["export"], (2, 5), "N"),
    Recipe("lstm", Lstm, lambda n: (torch.randn(n, 6, 8),), FORMS, ["export"], (2, 5), "N"),
    Recipe("gpt", Gpt, lambda n: (torch.randint(0, 61, (n, 16)),), FORMS + ["pt2.old"], ["export"], (2, 5), "N"),
]
