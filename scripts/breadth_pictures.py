"""Architectures of torchvision and timm with random weights, cut down so that each exports in seconds.

`architectures()` yields (name, package, make); make() returns (module, inputs). Packages are imported when a
model is made, not before.
"""

# timm: name of the architecture, the model that stands for it, side of the picture, further arguments.
TIMM = [
    ("beit", "beit_base_patch16_224", 64, dict(img_size=64, embed_dim=48, depth=2, num_heads=4)),
    ("botnet", "botnet26t_256", 64, dict(img_size=64)),
    ("halonet", "halonet26t", 256, {}),
    ("cait", "cait_xxs24_224", 64, dict(img_size=64, depth=2)),
    ("coat", "coat_lite_tiny", 64, dict(img_size=64)),
    ("coatnet", "coatnet_pico_rw_224", 64, dict(img_size=64)),
    ("convit", "convit_tiny", 64, dict(img_size=64, depth=3)),
    ("convmixer", "convmixer_768_32", 56, {}),
    ("convnextv2", "convnextv2_atto", 64, {}),
    ("crossvit", "crossvit_tiny_240", 240, dict(depth=((1, 1, 0), (1, 1, 0), (1, 1, 0)))),
    ("cspnet", "cspdarknet53", 64, {}),
    ("davit", "davit_tiny", 64, dict(depths=(1, 1, 1, 1), embed_dims=(24, 48, 96, 192), num_heads=(3, 6, 12, 24))),
    ("deit", "deit_tiny_distilled_patch16_224", 64, dict(img_size=64, depth=2)),
    ("dla", "dla46_c", 64, {}),
    ("dpn", "dpn48b", 64, {}),
    ("edgenext", "edgenext_xx_small", 64, {}),
    ("efficientformer", "efficientformer_l1", 224, {}),
    ("efficientformer_v2", "efficientformerv2_s0", 224, {}),
    ("efficientvit_mit", "efficientvit_b0", 64, {}),
    ("efficientvit_msra", "efficientvit_m0", 224, {}),
    ("eva", "eva02_tiny_patch14_224", 56, dict(img_size=56, depth=2)),
    ("fasternet", "fasternet_t0", 64, {}),
    ("fastvit", "fastvit_t8", 64, {}),
    ("focalnet", "focalnet_tiny_srf", 64, dict(depths=(1, 1, 1, 1), embed_dim=24)),
    ("gcvit", "gcvit_xxtiny", 224, dict(depths=(1, 1, 1, 1))),
    ("gernet", "gernet_s", 64, {}),
    ("ghostnet", "ghostnet_050", 64, {}),
    ("ghostnet_v2", "ghostnetv2_100", 64, {}),
    ("gmixer", "gmixer_12_224", 64, dict(img_size=64)),
    ("gmlp", "gmlp_ti16_224", 64, dict(img_size=64)),
    ("hardcorenas", "hardcorenas_a", 64, {}),
    ("hgnet", "hgnetv2_b0", 64, {}),
    ("hiera", "hiera_tiny_224", 224, dict(stages=(1, 1, 1, 1), embed_dim=24)),
    ("hrnet", "hrnet_w18_small", 64, {}),
    ("inception_next", "inception_next_atto", 64, {}),
    ("lambda_resnet", "lambda_resnet26t", 128, dict(img_size=128)),
    ("lcnet", "lcnet_050", 64, {}),
    ("levit", "levit_128s", 224, {}),
    ("mambaout", "mambaout_femto", 64, {}),
    ("maxvit", "maxvit_rmlp_pico_rw_256", 64, dict(img_size=64)),
    ("metaformer", "poolformer_s12", 64, {}),
    ("caformer", "caformer_s18", 64, dict(depths=(1, 1, 1, 1), dims=(16, 32, 64, 96))),
    ("mixer", "mixer_s32_224", 64, dict(img_size=64)),
    ("mixnet", "mixnet_s", 64, {}),
    ("mobilenet_v4", "mobilenetv4_conv_small_050", 64, {}),
    ("mobilenet_v4_hybrid", "mobilenetv4_hybrid_medium_075", 64, {}),
    ("mobileone", "mobileone_s0", 64, {}),
    ("mobilevit", "mobilevit_xxs", 64, {}),
    ("mobilevit_v2", "mobilevitv2_050", 64, {}),
    ("mvit_v2", "mvitv2_tiny", 64, dict(img_size=64)),
    ("nest", "nest_tiny_jx", 224, dict(depths=(1, 1, 2), embed_dims=(24, 48, 96), num_heads=(1, 2, 4))),
    ("nextvit", "nextvit_small", 64, dict(depths=(1, 1, 2, 1))),
    ("nf_regnet", "nf_regnet_b0", 64, {}),
    ("pit", "pit_ti_224", 224, dict(depths=(1, 1, 1))),
    ("pvt_v2", "pvt_v2_b0", 64, {}),
    ("rdnet", "rdnet_tiny", 64, {}),
    ("repghost", "repghostnet_050", 64, {}),
    ("repvgg", "repvgg_a0", 64, {}),
    ("repvit", "repvit_m0_9", 64, {}),
    ("res2net", "res2net50_14w_8s", 64, dict(layers=(1, 1, 1, 1))),
    ("resmlp", "resmlp_12_224", 64, dict(img_size=64)),
    ("resnest", "resnest14d", 64, {}),
    ("resnet_v2", "resnetv2_18", 64, {}),
    ("rexnet", "rexnet_100", 64, {}),
    ("seresnet", "seresnet18", 64, {}),
    ("selecsls", "selecsls42b", 64, {}),
    ("sequencer2d", "sequencer2d_s", 64, dict(layers=(1, 1, 1, 1), embed_dims=(32, 64, 64, 64), hidden_sizes=(8, 16, 16, 16))),
    ("shvit", "shvit_s1", 128, {}),
    ("sknet", "skresnet18", 64, {}),
    ("starnet", "starnet_s1", 64, {}),
    ("swiftformer", "swiftformer_xs", 64, {}),
    ("swin_v2_cr", "swinv2_cr_tiny_ns_224", 64, dict(img_size=64, window_size=2, depths=(1, 1, 1, 1), embed_dim=24, num_heads=(1, 2, 4, 8))),
    ("tinyvit", "tiny_vit_5m_224", 64, dict(img_size=64)),
    ("tnt", "tnt_s_legacy_patch16_224", 64, dict(img_size=64, depth=2)),
    ("twins", "twins_svt_small", 64, dict(img_size=64, depths=(1, 1, 2, 1))),
    ("visformer", "visformer_tiny", 224, {}),
    ("vit_siglip_pool", "vit_base_patch16_siglip_224", 64, dict(img_size=64, embed_dim=48, depth=2, num_heads=4)),
    ("volo", "volo_d1_224", 64, dict(img_size=64)),
    ("vovnet", "ese_vovnet19b_slim_dw", 64, {}),
    ("xception", "xception41p", 64, {}),
    ("xcit", "xcit_nano_12_p16_224", 64, dict(depth=2)),
]

# torchvision: models that its own constructors make small enough.
PLAIN = [("alexnet", "alexnet", 64), ("squeezenet", "squeezenet1_1", 64), ("resnet", "resnet18", 64),
         ("mobilenet_v2", "mobilenet_v2", 64), ("mobilenet_v3", "mobilenet_v3_small", 64),
         ("shufflenet_v2", "shufflenet_v2_x0_5", 64), ("mnasnet", "mnasnet0_5", 64),
         ("efficientnet", "efficientnet_b0", 64), ("regnet", "regnet_y_400mf", 64)]


def picture(side, batch=1):
    import torch
    return torch.rand(batch, 3, side, side)


def from_timm(model, side, arguments):
    import timm
    return timm.create_model(model, pretrained=False, num_classes=10, **arguments), (picture(side),)


def plain(model, side):
    import torchvision
    arguments = {} if model == "alexnet" else {"num_classes": 10}
    net = getattr(torchvision.models, model)(**arguments)
    if model == "alexnet":  # its classifier alone is 200 MB
        import torch
        net.avgpool, net.classifier = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Linear(256, 10)
    return net, (picture(side),)


def vgg():
    import torch
    import torchvision
    net = torchvision.models.vgg11_bn(init_weights=False)
    net.avgpool, net.classifier = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Linear(512, 10)
    return net, (picture(64),)


def resnext():
    from torchvision.models import resnet
    return resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, groups=32, width_per_group=4), (picture(64),)


def densenet():
    from torchvision.models import DenseNet
    return DenseNet(16, (2, 2, 2, 2), 32, num_classes=10), (picture(64),)


def googlenet():
    from torchvision.models import GoogLeNet
    return GoogLeNet(num_classes=10, aux_logits=False, init_weights=False), (picture(64),)


def inception():
    from torchvision.models import Inception3
    return Inception3(num_classes=10, aux_logits=False, init_weights=False), (picture(96),)


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    return ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, 64, 2), CNBlockConfig(64, None, 1)], num_classes=10), (picture(64),)


def vit():
    from torchvision.models import VisionTransformer
    return VisionTransformer(32, 8, 2, 4, 48, 96, num_classes=10), (picture(32),)


def swin(version):
    from torchvision.models import swin_transformer as s
    more = {} if version == 1 else {"block": s.SwinTransformerBlockV2, "downsample_layer": s.PatchMergingV2}
    return s.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10, **more), (picture(64),)


def segmentation(kind):
    from torchvision.models import resnet
    from torchvision.models.segmentation import deeplabv3, fcn
    body = resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], replace_stride_with_dilation=[False, True, True])
    make = {"fcn": fcn._fcn_resnet, "deeplabv3": deeplabv3._deeplabv3_resnet}[kind]
    return make(body, 5, None), (picture(64),)


def lraspp():
    import torchvision
    return torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5), (picture(64),)


def pyramid():
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    return resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)


def sizes(side):
    return {"min_size": side, "max_size": side}


def detector(kind):
    import torchvision.models.detection as d
    if kind == "ssdlite":
        net = d.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5, topk_candidates=20, detections_per_img=5)
    elif kind == "fasterrcnn":
        net = d.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5, **sizes(128),
                                                      box_score_thresh=0.0, rpn_post_nms_top_n_test=20, box_detections_per_img=5)
    else:
        make = {"retinanet": d.RetinaNet, "fcos": d.FCOS, "maskrcnn": d.MaskRCNN, "keypointrcnn": d.KeypointRCNN}[kind]
        few = {"score_thresh": 0.0, "topk_candidates": 20, "detections_per_img": 5} if kind in ("retinanet", "fcos") else \
            {"box_score_thresh": 0.0, "rpn_post_nms_top_n_test": 20, "box_detections_per_img": 5}
        net = make(pyramid(), num_classes=5, **sizes(128), **few)
    return net, (picture(128),)


def video(kind):
    import torch
    from torchvision.models import video as v
    if kind == "s3d":
        net = v.S3D(num_classes=10)
        net.avgpool = torch.nn.AdaptiveAvgPool3d(1)
        return net, (torch.rand(1, 3, 16, 64, 64),)
    blocks = {"r3d": v.resnet.Conv3DSimple, "r2plus1d": v.resnet.Conv2Plus1D}[kind]
    stem = {"r3d": v.resnet.BasicStem, "r2plus1d": v.resnet.R2Plus1dStem}[kind]
    return v.resnet.VideoResNet(v.resnet.BasicBlock, [blocks] * 4, [1, 1, 1, 1], stem, num_classes=10), (torch.rand(1, 3, 4, 32, 32),)


def swin_3d():
    import torch
    from torchvision.models.video import SwinTransformer3d
    return SwinTransformer3d([2, 4, 4], 24, [2, 2], [2, 4], [2, 4, 4], num_classes=10), (torch.rand(1, 3, 4, 32, 32),)


def raft():
    from torchvision.models.optical_flow import raft_small
    return raft_small(weights=None), (picture(128) * 2 - 1, picture(128) * 2 - 1)


TORCHVISION = {
    "vgg": vgg, "resnext": resnext, "densenet": densenet, "googlenet": googlenet, "inception_v3": inception, "convnext": convnext,
    "vit": vit, "swin": lambda: swin(1), "swin_v2": lambda: swin(2),
    "fcn": lambda: segmentation("fcn"), "deeplabv3": lambda: segmentation("deeplabv3"), "lraspp": lraspp,
    **{kind: (lambda kind=kind: detector(kind)) for kind in ("ssdlite", "retinanet", "fcos", "fasterrcnn", "maskrcnn", "keypointrcnn")},
    **{kind: (lambda kind=kind: video(kind)) for kind in ("r3d", "r2plus1d", "s3d")},
    "swin_3d": swin_3d, "raft": raft,
}


def architectures():
    for name, model, side in PLAIN:
        yield name, "torchvision", lambda model=model, side=side: plain(model, side)
    for name, make in TORCHVISION.items():
        yield name, "torchvision", make
    for name, model, side, arguments in TIMM:
        yield name, "timm", lambda model=model, side=side, arguments=arguments: from_timm(model, side, arguments)
