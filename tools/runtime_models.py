#!/usr/bin/env python3
"""The models of tools/runtimes.py, from configurations with seeded weights, and one export of one of them in a process of its own.

    tools/runtime_models.py trace|ts|dy MODEL OUT OPSET [SEED]

trace saves the traced model, with OUT.npz beside it: its inputs and PyTorch's results. ts and dy are torch.onnx's two exporters.
"""
import inspect
import logging
import os
import re
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import numpy                                                        # noqa: E402
import torch                                                        # noqa: E402
from torch import nn                                                # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# What onnxruntime.transformers.optimizer is told that a model is; without a word of it, that tool is not asked.
KINDS = {"hf_vit": "vit", "distilbert": "bert", "bert": "bert", "gpt2": "gpt2", "t5_encoder": "t5", "t5": "t5", "whisper": "bart", "llama": "bert"}
VOCABULARY = 1000


class Named(nn.Module):
    """A model of transformers called by name: a tracer passes all of forward's parameters by position, which they forbid."""

    def __init__(self, model, *names, **more):
        super().__init__()
        self.model, self.names, self.more = model, names, more

    def forward(self, *values):
        return self.model(**dict(zip(self.names, values)), **self.more, return_dict=False)[0]


class First(nn.Module):
    """The sequence that a recurrent layer gives."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def words(n=32):
    return torch.randint(0, VOCABULARY, (1, n))


def padding(n=32):
    return torch.cat([torch.ones(1, n - 3, dtype=torch.int64), torch.zeros(1, 3, dtype=torch.int64)], 1)


def picture():
    return torch.randn(1, 3, 224, 224)


def resnet18():
    import peers
    return peers.resnet18(), (picture(),)


def mobilenet():
    import transformers as t
    return Named(t.MobileNetV2Model(t.MobileNetV2Config()), "pixel_values"), (picture(),)


def hf_vit():
    import transformers as t
    config = t.ViTConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
    return Named(t.ViTModel(config), "pixel_values"), (picture(),)


def distilbert():
    import transformers as t
    return Named(t.DistilBertModel(t.DistilBertConfig(vocab_size=VOCABULARY)), "input_ids", "attention_mask"), (words(), padding())


def bert():
    import transformers as t
    config = t.BertConfig(vocab_size=VOCABULARY, num_hidden_layers=4)
    return Named(t.BertModel(config), "input_ids", "attention_mask"), (words(), padding())


def gpt2():
    import transformers as t
    config = t.GPT2Config(vocab_size=VOCABULARY, n_embd=384, n_head=6)
    return Named(t.GPT2LMHeadModel(config), "input_ids", "attention_mask", use_cache=False), (words(), padding())


def llama():
    import transformers as t
    config = t.LlamaConfig(vocab_size=VOCABULARY, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4)
    return Named(t.LlamaForCausalLM(config), "input_ids", "attention_mask", use_cache=False), (words(), padding())


def t5_config():
    import transformers as t
    return t.T5Config(vocab_size=VOCABULARY, decoder_start_token_id=0)


def t5_encoder():
    import transformers as t
    return Named(t.T5EncoderModel(t5_config()), "input_ids", "attention_mask"), (words(), padding())


def t5():
    import transformers as t
    model = t.T5ForConditionalGeneration(t5_config())
    return Named(model, "input_ids", "attention_mask", "decoder_input_ids", use_cache=False), (words(), padding(), words(8))


def whisper():
    import transformers as t
    config = t.WhisperConfig(vocab_size=VOCABULARY, d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6,
                             encoder_ffn_dim=1536, decoder_ffn_dim=1536, max_source_positions=300, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                             decoder_start_token_id=1)
    model = t.WhisperForConditionalGeneration(config)
    return Named(model, "input_features", "decoder_input_ids", use_cache=False), (torch.randn(1, 80, 600), words(8))


def lstm_bi2():
    return First(nn.LSTM(64, 128, num_layers=2, bidirectional=True, batch_first=True)), (torch.randn(4, 20, 64),)


def gru_bi2():
    return First(nn.GRU(64, 128, num_layers=2, bidirectional=True, batch_first=True)), (torch.randn(4, 20, 64),)


class Detections(nn.Module):
    """Boxes and scores of a detector of transformers, side by side."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        found = self.model(pixel_values=x)
        return torch.cat([found.logits, found.pred_boxes], -1)


def yolos():
    import transformers as t
    config = t.YolosConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768, image_size=[224, 224], num_detection_tokens=100)
    return Detections(t.YolosForObjectDetection(config)), (picture(),)


def detr():
    import transformers as t
    layers = {"d_model": 128, "encoder_layers": 3, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
              "encoder_ffn_dim": 512, "decoder_ffn_dim": 512}
    backbone = t.ResNetConfig(embedding_size=32, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic", out_features=["stage4"])
    return Detections(t.DetrForObjectDetection(t.DetrConfig(use_timm_backbone=False, backbone=None, backbone_config=backbone, **layers))), (picture(),)


def rt_detr():
    import transformers as t
    backbone = t.RTDetrResNetConfig(embedding_size=32, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="bottleneck",
                                    out_features=["stage2", "stage3", "stage4"])
    config = t.RTDetrConfig(backbone_config=backbone, encoder_in_channels=[128, 256, 512], d_model=128, encoder_hidden_dim=128, encoder_ffn_dim=256,
                            decoder_in_channels=[128, 128, 128], decoder_ffn_dim=256, decoder_layers=3, num_queries=100)
    torch.manual_seed(1)                        # of the 101 highest scores the closest two are 7e-5 apart, with others 1e-7: the order is that of the numbers
    return Detections(with_larger_weights(t.RTDetrForObjectDetection(config))), (picture(),)


def with_larger_weights(model):
    """What this model begins with (norms of 0.01) lets nothing of a picture through: all scores are one number, and of equal ones TopK may take any."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
        elif isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
    return model


class Block(nn.Sequential):
    def __init__(self, before, after, size, stride=1):
        super().__init__(nn.Conv2d(before, after, size, stride, size // 2, bias=False), nn.BatchNorm2d(after), nn.SiLU())


class Split(nn.Module):
    """Half of the channels through two convolutions and a residual sum, all of them side by side again."""

    def __init__(self, width):
        super().__init__()
        half = width // 2
        self.enter, self.inner, self.leave = Block(width, width, 1), nn.Sequential(Block(half, half, 3), Block(half, half, 3)), Block(width + half, width, 1)

    def forward(self, x):
        left, right = self.enter(x).chunk(2, 1)
        return self.leave(torch.cat([left, right, right + self.inner(right)], 1))


class GridDetector(nn.Module):
    """A one-stage detector: two scales of a pyramid, boxes from a grid and anchors."""

    def __init__(self, classes=20):
        super().__init__()
        self.each = classes + 5
        self.stem = nn.Sequential(Block(3, 16, 3, 2), Block(16, 32, 3, 2), Split(32), Block(32, 64, 3, 2), Split(64))
        self.middle, self.deep = nn.Sequential(Block(64, 128, 3, 2), Split(128)), nn.Sequential(Block(128, 256, 3, 2), Split(256), Block(256, 128, 1))
        self.joined, self.heads = nn.Sequential(Block(256, 128, 1), Split(128)), nn.ModuleList(nn.Conv2d(128, 3 * self.each, 1) for _ in range(2))
        self.register_buffer("anchors", torch.rand(2, 3, 2) * 100 + 10)

    def boxes(self, y, anchors, stride):
        n, _, h, w = y.shape
        y = y.view(n, 3, self.each, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        xy = (y[..., :2] * 2 - 0.5 + torch.stack((xs, ys), -1)) * stride
        wh = (y[..., 2:4] * 2) ** 2 * anchors.view(1, 3, 1, 1, 2)
        return torch.cat((xy - wh / 2, xy + wh / 2, y[..., 4:]), -1).flatten(1, 3)

    def forward(self, x):
        middle = self.middle(self.stem(x))
        deep = self.deep(middle)
        fine = self.joined(torch.cat([nn.functional.interpolate(deep, scale_factor=2.0, mode="nearest"), middle], 1))
        return torch.cat([self.boxes(self.heads[0](fine), self.anchors[0], 16), self.boxes(self.heads[1](deep), self.anchors[1], 32)], 1)


def grid_detector():
    return GridDetector(), (picture(),)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        def two(before, after):
            return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU(), nn.Conv2d(after, after, 3, padding=1), nn.LeakyReLU(0.1))
        self.down, self.up = nn.ModuleList([two(3, 16), two(16, 32), two(32, 64)]), nn.ModuleList([two(96, 32), two(48, 16)])
        self.last = nn.Conv2d(16, 5, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](nn.functional.max_pool2d(a, 2))
        c = self.down[2](nn.functional.avg_pool2d(b, 2))
        for up, beside in zip(self.up, (b, a)):
            c = up(torch.cat([nn.functional.interpolate(c, size=beside.shape[2:], mode="bilinear", align_corners=False), beside], 1))
        return self.last(c)


def unet():
    return Unet(), (torch.randn(1, 3, 96, 96),)


def convnext():
    import transformers as t
    return Named(t.ConvNextModel(t.ConvNextConfig(depths=[2, 2, 4, 2], hidden_sizes=[48, 96, 192, 384])), "pixel_values"), (picture(),)


def graph(nodes=300, edges=1500, width=64):
    return torch.randn(nodes, width), torch.randint(0, nodes, (2, edges))


class Convolved(nn.Module):
    """Kipf and Welling's layer: neighbours' sums, weighted by the degrees of both ends."""

    def __init__(self, before, after):
        super().__init__()
        self.fc = nn.Linear(before, after)

    def forward(self, x, edges):
        degree = torch.ones(x.shape[0]).scatter_add(0, edges[1], torch.ones(edges.shape[1]))
        scale, x = degree.rsqrt(), self.fc(x)
        messages = x[edges[0]] * (scale[edges[0]] * scale[edges[1]]).unsqueeze(1)
        return torch.zeros_like(x).index_add(0, edges[1], messages) + x / degree.unsqueeze(1)


class Attended(nn.Module):
    """Attention over the edges that end in a node."""

    def __init__(self, before, heads, each):
        super().__init__()
        self.heads, self.fc = heads, nn.Linear(before, heads * each)
        self.source, self.target = nn.Parameter(torch.randn(heads, each)), nn.Parameter(torch.randn(heads, each))

    def forward(self, x, edges):
        h = self.fc(x).view(x.shape[0], self.heads, -1)
        e = nn.functional.leaky_relu((h * self.source).sum(-1)[edges[0]] + (h * self.target).sum(-1)[edges[1]], 0.2)
        where = edges[1].unsqueeze(-1).expand_as(e)
        top = torch.zeros(x.shape[0], self.heads).scatter_reduce(0, where, e, "amax", include_self=False)
        e = (e - top[edges[1]]).exp()
        total = torch.zeros(x.shape[0], self.heads).scatter_add(0, where, e)
        return torch.zeros_like(h).index_add(0, edges[1], h[edges[0]] * (e / (total[edges[1]] + 1e-16)).unsqueeze(-1)).flatten(1)


class Layers(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, edges):
        for layer in self.layers[:-1]:
            x = nn.functional.elu(layer(x, edges))
        return self.layers[-1](x, edges)


def gcn():
    return Layers(Convolved(64, 128), Convolved(128, 128), Convolved(128, 16)), graph()


def gat():
    return Layers(Attended(64, 4, 32), Attended(128, 4, 32), Attended(128, 1, 16)), graph()


class Continuous(nn.Module):
    """Energies of atoms from distances to their neighbours, as SchNet has them."""

    def __init__(self, width=64, basis=32, layers=3):
        super().__init__()
        self.kinds, self.width = nn.Embedding(20, width), width
        self.register_buffer("centres", torch.linspace(0, 5, basis))
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(basis, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(layers))
        self.updates = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(layers))
        self.energy = nn.Sequential(nn.Linear(width, 32), nn.Softplus(), nn.Linear(32, 1))

    def forward(self, kinds, positions, edges):
        x = self.kinds(kinds)
        far = (positions[edges[0]] - positions[edges[1]]).norm(dim=1)
        basis = torch.exp(-10 * (far.unsqueeze(1) - self.centres) ** 2)
        cut = (0.5 * (torch.cos(far * 0.628) + 1) * (far < 5)).unsqueeze(1)
        for filters, update in zip(self.filters, self.updates):
            x = x + update(torch.zeros_like(x).index_add(0, edges[1], x[edges[0]] * filters(basis) * cut))
        return self.energy(x)


def schnet():
    return Continuous(), (torch.randint(0, 20, (100,)), torch.rand(100, 3) * 5, torch.randint(0, 100, (2, 1200)))


CORPUS = (resnet18, mobilenet, convnext, unet, hf_vit, distilbert, bert, gpt2, llama, t5_encoder, t5, whisper, yolos, detr, rt_detr, grid_detector, lstm_bi2, gru_bi2,
          gcn, gat, schnet)
MODELS = {f.__name__: f for f in CORPUS}


def source_of(name):
    """The text that a model comes from: its function, and what of this file that names, and so on. Its exports are of use as long as it stays."""
    found, todo = {}, [name, "made", "main"]
    while todo:
        thing = globals().get(todo.pop())
        if getattr(thing, "__module__", None) == __name__ and hasattr(thing, "__qualname__") and thing.__name__ not in found:
            found[thing.__name__] = inspect.getsource(thing)
            todo += re.findall(r"\w+", found[thing.__name__])
    return "\n".join(found[n] for n in sorted(found))


def trained(model):
    """No parameter of a trained model is all zeros, and an exporter may leave such a bias out."""
    with torch.no_grad():
        for weight in model.parameters():
            if not weight.any():
                weight.normal_(0, 0.02)
    return model


def made(name, seed=0):
    torch.manual_seed(seed)
    model, args = MODELS[name]()
    return trained(model.eval()), args


def main():
    how, name, out, opset, *seed = sys.argv[1:]
    model, args = made(name, *map(int, seed))
    with torch.no_grad():
        if how == "trace":
            torch.jit.trace(model, args, check_trace=False).save(out)
            numpy.savez(out + ".npz", want=model(*args).numpy(), **{"in%d" % i: a.numpy() for i, a in enumerate(args)})
        elif how == "ts":
            torch.onnx.export(model, args, out, dynamo=False, opset_version=int(opset))
        else:
            torch.onnx.export(model, args, out, dynamo=True, opset_version=int(opset), external_data=False, verbose=False)


if __name__ == "__main__":
    main()
