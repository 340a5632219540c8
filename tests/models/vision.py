"""vision.py - torchvision's networks with random weights, at the smallest image each allows."""
import functools

import torch
import torchvision.models as models

from recipe import Recipe


def images(size):
    return lambda batch: (torch.randn(batch, 3, size, size),)


def narrow(model, width, hidden=256):
    """The classifier with fewer hidden units: 4096 of them are 400 MB of weights and no other graph."""
    for i, layer in enumerate(model.classifier):
        if isinstance(layer, torch.nn.Linear):
            model.classifier[i] = torch.nn.Linear(width, hidden if layer.out_features == 4096 else layer.out_features)
            width = model.classifier[i].out_features
    return model


def vgg11():
    """torchvision's with a quarter of its channels, which run in a sixteenth of the time."""
    layers = models.vgg.make_layers([16, "M", 32, "M", 64, 64, "M", 128, 128, "M", 128, 128, "M"])
    return narrow(models.VGG(layers, init_weights=False), 128 * 49)


def net(name, size, tags=("cnn",), build=None, **options):
    build = build or functools.partial(getattr(models, name), weights=None)
    return Recipe(name, lambda: build(**options), images(size), ["traced", "scripted"],
                  tags=("vision",) + tuple(tags), batches=(2, 3), dynamic="N")


RECIPES = [
    net("resnet18", 64),
    net("squeezenet1_0", 64),
    net("mobilenet_v2", 64),
    net("mobilenet_v3_small", 64),
    net("shufflenet_v2_x1_0", 64),
    net("efficientnet_b0", 64),
    net("regnet_y_400mf", 64),
    net("densenet121", 64),
    net("googlenet", 64, init_weights=False),
    net("resnet50", 64),
    net("alexnet", 224, build=lambda: narrow(models.AlexNet(), 256 * 36)),
    net("convnext_tiny", 64),
    net("swin_t", 64, tags=("transformer",)),
    net("vit_b_16", 64, tags=("transformer",), image_size=64),
    net("vgg11", 224, build=vgg11),
]
