"""ResNet-50 with torchvision's layer names and none of its options.

All levels of the study hold its weights.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

N_PARAMETERS = 25_557_032
"""Parameters of ResNet-50 with 1,000 classes, as torchvision documents them."""

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Width, number of blocks and first stride of each stage."""


class Bottleneck(nn.Module):
    """A 1×1, a 3×3 and a 1×1 convolution, each normalised, added to the input."""

    def __init__(self, n_in: int, width: int, stride: int) -> None:
        super().__init__()
        n_out = 4 * width
        self.conv1 = nn.Conv2d(n_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, n_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False),
                nn.BatchNorm2d(n_out),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the activations of the block."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    """Images of three channels to the logits of 1,000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        n_in = 64
        for number, (width, n_blocks, stride) in enumerate(STAGES, start=1):
            blocks = []
            for i in range(n_blocks):
                blocks.append(Bottleneck(n_in, width, stride if i == 0 else 1))
                n_in = 4 * width
            self.add_module(
                f"layer{number}",
                nn.Sequential(*blocks),
            )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(n_in, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, one row per image."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet50() -> ResNet50:
    """Return the model with the weights of the C++ programs.

    All levels then give the same logits.
    """
    model = ResNet50()
    layers = [module for module in model.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    with torch.no_grad():
        for seed, layer in enumerate(layers, start=1):
            bound = math.sqrt(6 / layer.weight[0].numel())
            layer.weight.copy_(
                noise(layer.weight.numel(), seed).mul(2).sub(1).mul(bound).view_as(layer.weight)
            )
        model.fc.bias.zero_()
        for module in model.modules():
            if isinstance(
                module, Bottleneck
            ):  # otherwise activations would double in each of the sixteen blocks
                module.bn3.weight.fill_(0.2)
    return model


def noise(n: int, seed: int) -> Tensor:
    """Return numbers in [0, 1) in float64 that look random: a hash of their index.

    They are the same in every language.
    """
    h = (torch.arange(n) + seed * 0x9E3779B1) & 0xFFFFFFFF
    for factor, shift in ((0x85EBCA6B, 15), (0xC2B2AE35, 13)):
        h = ((h ^ (h >> shift)) * factor) & 0xFFFFFFFF
    return (h ^ (h >> 16)).double() / 2**32
