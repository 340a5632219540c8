"""vision.py - torchvision's networks with random weights, at the smallest image each allows."""
import torch
import torchvision.models as models

from recipe import Recipe


def images(size):
    return lambda batch: (torch.randn(batch, 3, size, size),)


def net(name, size, tags=("cnn",), **options):
    build = getattr(models, name)
    return Recipe(name, lambda: build(weights=None, **options), images(size), ["traced", "scripted"],
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
    net("alexnet", 224),
    net("convnext_tiny", 64),
    net("swin_t", 64, tags=("transformer",)),
    net("vit_b_16", 64, tags=("transformer",), image_size=64),
    net("vgg11", 224),
]
