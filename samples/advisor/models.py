"""Models that the advisor is tried on: MobileNet v1, ResNet-50, two layers.

The layers come from the paper's micro-benchmarks.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from samples.study.resnet import resnet50

WIDTHS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
)
"""Channels and stride of each separable convolution: table 1 of Howard et al., arXiv 1704.04861."""
FULL = (256, 1024, 4096, 16384)
CONVOLUTIONS = tuple((channels, kernel) for channels in (16, 64, 256) for kernel in (1, 3))
SIDE = 56


def normed(
    given: int, channels: int, kernel: int, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """Return a convolution without bias, batch normalisation and ReLU."""
    conv = nn.Conv2d(
        given,
        channels,
        kernel,
        stride,
        padding=kernel // 2,
        groups=groups,
        bias=False,
    )
    return [conv, nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]


def mobilenet_v1() -> nn.Module:
    """Return MobileNet, width 1, for images of 224×224."""
    given = 32
    layers = normed(3, given, 3, 2)
    for channels, stride in WIDTHS:
        layers += normed(given, given, 3, stride, given)
        layers += normed(given, channels, 1)
        given = channels
    return nn.Sequential(
        *layers,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(given, 1000),
    )


def fully_connected(n: int) -> nn.Module:
    """Return a matrix product, a bias and a ReLU."""
    return nn.Sequential(nn.Linear(n, n), nn.ReLU())


def convolution(channels: int, kernel: int) -> nn.Module:
    """Return a padded convolution with bias, and a ReLU."""
    conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2)
    return nn.Sequential(conv, nn.ReLU())


def subjects(*, quick: bool = False) -> dict[str, tuple[nn.Module, Tensor]]:
    """Return models by name, in eval mode, each with its input."""
    torch.manual_seed(0)
    side = 32 if quick else 224
    by_name: dict[str, tuple[nn.Module, Tensor]] = {}
    for batch in (1, 32):
        for name, build in (("resnet50", resnet50), ("mobilenet_v1", mobilenet_v1)):
            model = build().eval()
            by_name[f"{name}_b{batch}"] = (model, torch.randn(batch, 3, side, side))
    return by_name


def layers(*, quick: bool = False) -> dict[str, tuple[nn.Module, Tensor]]:
    """Return micro-benchmarks by name, with batch 1 like the paper's."""
    torch.manual_seed(0)
    by_name: dict[str, tuple[nn.Module, Tensor]] = {}
    for n in FULL[:1] if quick else FULL:
        layer = fully_connected(n).eval()
        by_name[f"fully_connected_{n}"] = (layer, torch.randn(1, n))
    for channels, kernel in CONVOLUTIONS[:2] if quick else CONVOLUTIONS:
        image = torch.randn(1, channels, SIDE, SIDE)
        layer = convolution(channels, kernel).eval()
        by_name[f"convolution_{channels}_{kernel}x{kernel}"] = (layer, image)
    return by_name
