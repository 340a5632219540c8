"""detectors.py - writes detectors/ENGINE.pt and .npz: a small detector of squares, discs and crosses, trained and quantised by this torch.

    python tests/programs/detectors.py fbgemm                       # torch 2.13
    /usr/bin/python3 tests/programs/detectors.py qnnpack            # Debian's torch 1.13, which has no other engine

A stem, two stages with residual sums and convolutions of each channel, two scales of which the smaller is enlarged and set beside the larger, boxes on a grid,
sigmoid scores, torchvision's nms of each class. Quantisation-aware training, eager mode. tests/script/test_quantised_detectors.py runs them.
"""
import io
import os
import sys
import warnings

import numpy
import torch
import torch.ao.quantization as tq
from torch import nn

from archive import without_debug

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "detectors")
SIZE, CLASSES = 64, 3
Sums = torch.ao.nn.quantized.FloatFunctional
try:
    import torchvision                                              # noqa: F401  (the operator)
except ImportError:
    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

    def nms(boxes, scores, threshold):
        """torchvision's, which a torch without it lacks."""
        order, kept = torch.argsort(scores, descending=True, stable=True).tolist(), []
        while order:
            best = order.pop(0)
            kept.append(best)
            rest = boxes[order]
            inside = (torch.minimum(rest[:, 2:], boxes[best, 2:]) - torch.maximum(rest[:, :2], boxes[best, :2])).clamp(min=0).prod(1)
            areas = (rest[:, 2:] - rest[:, :2]).prod(1) + (boxes[best, 2:] - boxes[best, :2]).prod()
            order = [i for i, over in zip(order, (inside / (areas - inside) > threshold).tolist()) if not over]
        return torch.tensor(kept, dtype=torch.int64)

    library.impl("nms", nms, "CPU")


def conv(n, m, k=3, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(n, m, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(m), nn.ReLU())


class Residual(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body, self.sum = nn.Sequential(conv(n, n, groups=n), conv(n, n, 1)), Sums()

    def forward(self, x):
        return self.sum.add(x, self.body(x))


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant, self.join = tq.QuantStub(), tq.DeQuantStub(), Sums()
        self.stem = nn.Sequential(conv(3, 16, stride=2), nn.MaxPool2d(2), conv(16, 24), Residual(24))
        self.fine = nn.Sequential(conv(24, 32, stride=2), Residual(32))
        self.coarse = nn.Sequential(conv(32, 32, stride=2), Residual(32))
        self.mixed = nn.Sequential(conv(64, 32), conv(32, 32))
        self.head = nn.Conv2d(32, CLASSES + 4, 1)
        n = SIZE // 8
        places = (torch.arange(n).float() + 0.5) * 8
        self.register_buffer("centers", torch.stack([places.repeat(n), places.repeat_interleave(n)], 1))

    def raw(self, x):
        fine = self.fine(self.stem(self.quant(x)))
        coarse = nn.functional.interpolate(self.coarse(fine), scale_factor=2.0, mode="nearest")
        y = self.dequant(self.head(self.mixed(self.join.cat([fine, coarse], 1))))
        return y.flatten(2).transpose(1, 2)

    def boxes(self, y):
        middle, size = self.centers + y[..., CLASSES:CLASSES + 2] * 8, torch.exp(y[..., CLASSES + 2:].clamp(-3, 3)) * 8
        return torch.cat([middle - size, middle + size], -1)

    def forward(self, x):
        y = self.raw(x)[0]
        scores, labels = torch.sigmoid(y[:, :CLASSES]).max(1)
        boxes = self.boxes(y)
        found = torch.nonzero(scores > 0.5)[:, 0]
        boxes, scores, labels = boxes[found], scores[found], labels[found]
        kept = torch.ops.torchvision.nms(boxes + (labels * 1000.0)[:, None], scores, 0.4)
        return boxes[kept], scores[kept], labels[kept]


def scene(draw):
    """An image of some things on a dark ground, and what a grid of 8 pixels should say: the class, or -1, and the box."""
    image = draw.normal(0.2, 0.05, (3, SIZE, SIZE)).astype("float32")
    classes, boxes = numpy.full(SIZE // 8 * (SIZE // 8), -1), numpy.zeros((SIZE // 8 * (SIZE // 8), 4), "float32")
    taken = numpy.zeros((SIZE, SIZE), bool)
    y, x = numpy.mgrid[:SIZE, :SIZE]
    for _ in range(draw.integers(2, 8)):
        half, kind = draw.integers(4, 9), draw.integers(CLASSES)
        cx, cy = draw.integers(half, SIZE - half, 2)
        shape = {0: numpy.maximum(abs(x - cx), abs(y - cy)) <= half, 1: (x - cx) ** 2 + (y - cy) ** 2 <= half ** 2,
                 2: (numpy.minimum(abs(x - cx), abs(y - cy)) <= half // 3) & (numpy.maximum(abs(x - cx), abs(y - cy)) <= half)}[kind]
        around = numpy.maximum(abs(x - cx), abs(y - cy)) <= half + 3
        if (taken & around).any():
            continue
        taken |= around
        image[:, shape] += draw.uniform(0.4, 0.8, (3, 1)).astype("float32")
        place = cy // 8 * (SIZE // 8) + cx // 8
        classes[place], boxes[place] = kind, (cx - half, cy - half, cx + half + 1, cy + half + 1)
    return image, classes, boxes


def scenes(n, seed):
    return [torch.from_numpy(numpy.stack(part)) for part in zip(*(scene(numpy.random.default_rng((seed, i))) for i in range(n)))]


def train(model, steps, rate, seed):
    images, classes, boxes = scenes(512, seed)
    descent = torch.optim.Adam(model.parameters(), rate)
    ease = torch.optim.lr_scheduler.OneCycleLR(descent, rate, total_steps=steps)
    for i in range(steps):
        some = torch.arange(i * 16, i * 16 + 16) % len(images)
        y, there = model.raw(images[some]), classes[some] >= 0
        want = nn.functional.one_hot(classes[some].clamp(min=0), CLASSES) * there[..., None]
        loss = nn.functional.binary_cross_entropy_with_logits(y[..., :CLASSES], want.float(), weight=1 + 8 * there[..., None].float())
        loss = 10 * loss + (model.boxes(y)[there] - boxes[some][there]).abs().mean() / 8
        descent.zero_grad()
        loss.backward()
        descent.step()
        ease.step()
    print("loss %.4f" % float(loss))


def fused(model):
    for part in list(model.modules()):
        if isinstance(part, nn.Sequential) and len(part) == 3 and isinstance(part[1], nn.BatchNorm2d):
            tq.fuse_modules_qat(part, ["0", "1", "2"], inplace=True)


def main(engine):
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.backends.quantized.engine = engine
    model = Detector().train()
    train(model, 300, 1e-2, 1)
    fused(model)
    model.qconfig = tq.get_default_qat_qconfig(engine)
    tq.prepare_qat(model, inplace=True)
    train(model, 40, 1e-3, 2)
    made = tq.convert(model.eval())
    images = (scenes(8, 3)[0] * 255).round().clamp(0, 255) / 255
    whole = io.BytesIO()
    with torch.no_grad():
        torch.jit.save(torch.jit.trace(made, images[:1], check_trace=False), whole)
        found = [made(image[None]) for image in images]
    print([len(scores) for _, scores, _ in found], [round(float(s), 2) for _, scores, _ in found for s in scores])
    without_debug(whole.getvalue(), os.path.join(HERE, engine + ".pt"))
    counts = numpy.array([len(scores) for _, scores, _ in found])
    parts = [torch.cat(part).numpy() for part in zip(*found)]
    numpy.savez_compressed(os.path.join(HERE, engine + ".npz"), images=(images * 255).round().byte().numpy(), counts=counts,
                           boxes=parts[0], scores=parts[1], labels=parts[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
