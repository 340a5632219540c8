"""families.py - torchvision's families beyond those of vision.py, for `make corpus`: the smallest network of each, random
weights, small images. Lists by task; make_models.py writes each into a folder of its name."""
import torch
import torchvision.models as models

from recipe import Recipe, calibrate, randomise

BOTH = ["traced", "scripted"]


def images(size):
    return lambda batch: (torch.randn(batch, 3, size, size),)


def clips(frames, size):
    return lambda batch: (torch.randn(batch, 3, frames, size, size),)


def net(name, size, forms=BOTH, tags=(), **options):
    build = getattr(models, name)
    return Recipe(name, lambda: build(weights=None, **options), images(size), forms, tags=tags, batches=(2, 3), dynamic="N")


CLASSIFICATION = [
    net("convnext_small", 64),
    net("densenet161", 64),
    net("efficientnet_b3", 64),
    net("efficientnet_v2_s", 64),
    net("inception_v3", 128, init_weights=False),
    net("maxvit_t", 224),
    net("mnasnet0_5", 64),
    net("mobilenet_v3_large", 64),
    net("regnet_x_400mf", 64),
    net("resnext50_32x4d", 64),
    net("shufflenet_v2_x0_5", 64),
    net("squeezenet1_1", 64),
    net("swin_v2_t", 64),
    net("vgg11_bn", 224),
    net("vit_b_32", 64, image_size=64),
    net("wide_resnet50_2", 64),
]


def segmentation(name, **options):
    build = getattr(models.segmentation, name)
    return Recipe(name, lambda: build(weights=None, weights_backbone=None, num_classes=5, **options), images(64), ["scripted"], batches=(2, 3), dynamic="N")


SEGMENTATION = [
    segmentation("deeplabv3_mobilenet_v3_large"),
    segmentation("deeplabv3_resnet50"),
    segmentation("deeplabv3_resnet50", aux_loss=True),
    segmentation("fcn_resnet50"),
    segmentation("lraspp_mobilenet_v3_large"),
]
SEGMENTATION[2].name += "_aux"


def video(name, frames, size, forms=BOTH):
    build = getattr(models.video, name)
    return Recipe(name, lambda: build(weights=None), clips(frames, size), forms, batches=(2, 3), dynamic="N")


def mvit(name, first, pooled, **options):
    """Four blocks of it, a quarter as wide, for four frames: the whole takes 20 minutes. first: the channels after each block;
    pooled: the kernel of queries that keep their size."""
    from torchvision.models.video.mvit import MSBlockConfig, MViT
    width = [24] + first
    blocks = [MSBlockConfig(num_heads=heads, input_channels=width[i], output_channels=width[i + 1], kernel_q=[3, 3, 3] if i % 2 else pooled,
                            kernel_kv=[3, 3, 3], stride_q=[1, 2, 2] if i % 2 else [1, 1, 1] if pooled else [], stride_kv=[1, kv, kv])
              for i, (heads, kv) in enumerate(zip((1, 2, 2, 4), (8, 4, 4, 2)))]
    return Recipe(name, lambda: MViT(spatial_size=(64, 64), temporal_size=4, block_setting=blocks, num_classes=10, **options),
                  clips(4, 64), BOTH, batches=(2, 3), dynamic="N")


VIDEO = [
    video("mc3_18", 4, 64),
    mvit("mvit_v1", [48, 48, 96, 96], [], residual_pool=False, residual_with_cls_embed=True, rel_pos_embed=False, proj_after_attn=False),
    mvit("mvit_v2", [24, 48, 48, 96], [3, 3, 3], residual_pool=True, residual_with_cls_embed=False, rel_pos_embed=True, proj_after_attn=True),
    video("r2plus1d_18", 4, 64),
    video("r3d_18", 4, 64),
    video("s3d", 16, 224),
]


class Detections(torch.nn.Module):
    """The part of a scripted detector's result that inference means: scripted detectors give (losses, detections)."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor):
        losses, found = self.model([images[i] for i in range(images.shape[0])])
        return found


def picture(high, wide):
    """Smooth: where pixels are noise, an image that is resized in another order of sums has other boxes."""
    return torch.nn.functional.interpolate(torch.rand(1, 3, 5, 6), size=(high, wide), mode="bilinear", align_corners=False)[0]


def quieter(model):
    """Random weights move boxes by their own size and give logits of 20 and more: a rounding error in an anchor of 500 pixels is then
    another feature under a box, another mask and another key point. Trained ones move them little."""
    for name, p in model.named_parameters():
        if any(n in name for n in ("rpn.head.bbox_pred", "box_predictor.bbox_pred", "mask_fcn_logits", "kps_score_lowres")):
            p.data.mul_(0.05)
    return model


def detector(name, size, **options):
    """Two images of different sizes, both open. Random weights score everything alike: no threshold, so that boxes are found at all."""
    build = getattr(models.detection, name)
    return Recipe(name, lambda: quieter(build(weights=None, weights_backbone=None, num_classes=5, **options)),
                  lambda high: ([picture(high, size), picture(size, high + 16)],), ["scripted"], tags=["discrete"], batches=(size, size + 40, size - 32),
                  dynamic={"images.0": {1: "H", 2: "W"}, "images.1": {1: "H1", 2: "W1"}})


RCNN = {"min_size": 96, "max_size": 128, "box_score_thresh": 0.0, "rpn_pre_nms_top_n_test": 50, "rpn_post_nms_top_n_test": 20, "box_detections_per_img": 10}

DETECTION = [
    detector("fasterrcnn_mobilenet_v3_large_320_fpn", 96, **RCNN),
    detector("fasterrcnn_resnet50_fpn", 96, **RCNN),
    detector("maskrcnn_resnet50_fpn", 96, **RCNN),
    detector("keypointrcnn_resnet50_fpn", 96, **RCNN),
    detector("retinanet_resnet50_fpn", 96, min_size=96, max_size=128, score_thresh=0.0, topk_candidates=50, detections_per_img=10),
    detector("fcos_resnet50_fpn", 96, min_size=96, max_size=128, score_thresh=0.0, topk_candidates=50, detections_per_img=10),
    detector("ssd300_vgg16", 96, score_thresh=0.0, topk_candidates=50, detections_per_img=10),
    detector("ssdlite320_mobilenet_v3_large", 96, score_thresh=0.0, topk_candidates=50, detections_per_img=10),
    detector("maskrcnn_resnet50_fpn", 96, **dict(RCNN, box_score_thresh=0.999)),
    detector("keypointrcnn_resnet50_fpn", 96, **dict(RCNN, box_score_thresh=0.999)),
    detector("ssdlite320_mobilenet_v3_large", 96, score_thresh=0.999),
]
for nothing in DETECTION[-3:]:
    nothing.name += "_finds_nothing"

def quantised(name, size, engine="qnnpack", **options):
    """Static quantisation as torchvision does it, on images that the statistics come from: random weights need their own. Left out are
    inception_v3 and shufflenet_v2: there one value in a thousand of the first convolution, rounded to the next step, is half of the scale
    in the end, and nothing can be compared. ResNet and GoogLeNet agree to the step where ONNX Runtime fuses them to integer kernels."""
    build = getattr(models.quantization, name)

    def make():
        torch.backends.quantized.engine = engine
        model = randomise(build(weights=None, quantize=False, **options).eval())
        sample = torch.randn(8, 3, size, size)
        calibrate(model, (sample,))
        model.eval().fuse_model()
        observer = torch.ao.quantization.default_weight_observer if engine == "qnnpack" else torch.ao.quantization.default_per_channel_weight_observer
        model.qconfig = torch.ao.quantization.QConfig(activation=torch.ao.quantization.default_observer, weight=observer)
        torch.ao.quantization.prepare(model, inplace=True)
        model(sample)
        return torch.ao.quantization.convert(model)
    return Recipe(name, make, images(size), BOTH, tags=("trained", "quantised"), batches=(2, 3), dynamic="N")


QUANTISED = [
    quantised("googlenet", 64, init_weights=False, aux_logits=False),
    quantised("mobilenet_v2", 64, engine="onednn"),
    quantised("mobilenet_v3_large", 64),
    quantised("resnet18", 64),
]

SETS = [("quantised", QUANTISED), ("classification", CLASSIFICATION), ("segmentation", SEGMENTATION), ("video", VIDEO), ("detection", DETECTION)]
