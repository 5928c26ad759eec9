"""The thesis's six vision models, and its single operations, as modules with inputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import nn

MODELS = ("alexnet", "densenet121", "googlenet", "mobilenet_v2", "resnet50", "squeezenet1_1")
SIDE = 224
ON_CPU = "matmul_cpu"
"""Kind of the operation that is compiled to C++ and runs on the CPU."""
ON_NUMPY = "matmul_numpy"
"""Kind of the same operation on NumPy arrays."""
CPU_SIZE = 4096
"""Largest matrix on the CPU, because a product of 17,500 takes seconds."""
Operation = tuple[str, dict[str, int], nn.Module, tuple[int, ...]]
"""An operation's kind, what varies, its module, and its input's shape."""


def model(name: str) -> nn.Module:
    """Return one of the six models, with random weights, ready for inference.

    `tiny` is a small model for trying a script out.
    """
    torch.manual_seed(0)
    if name == "tiny":
        layers = (
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
        )
        return nn.Sequential(*layers).eval()
    import torchvision  # noqa: PLC0415 - the tiny model needs none

    options: dict[str, Any] = (
        {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
    )
    build = getattr(torchvision.models, name)
    network: nn.Module = build(weights=None, **options)
    return network.eval()


def batch(size: int, side: int, device: str) -> torch.Tensor:
    """Return images of noise."""
    torch.manual_seed(1)
    return torch.randn(size, 3, side, side, device=device)


def numpy_product(x: np.ndarray[Any, Any]) -> Any:
    """Multiply an array by itself; torch.compile accepts NumPy's functions."""
    return np.matmul(x, x)


class Product(nn.Module):
    """A square matrix product."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply the input by itself."""
        return x @ x


def convolution(kernel: int, stride: int, padding: int, channels: int = 64) -> nn.Module:
    """Build a single convolution."""
    return nn.Conv2d(
        channels,
        channels,
        kernel,
        stride=stride,
        padding=padding,
        bias=False,
    )


def blocks(n: int, channels: int = 64) -> nn.Module:
    """Build `n` blocks of convolution, normalisation and ReLU, one after the other."""
    layers: list[nn.Module] = []
    for _ in range(n):
        layers += [
            convolution(3, 1, 1, channels),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers)


class Listing(nn.Module):
    """Several bare convolutions of the same input, the thesis's Listing 4.1.

    It returns the last result.
    """

    def __init__(self, n: int, channels: int = 64) -> None:
        super().__init__()
        self.n = n
        self.conv = convolution(3, 1, 1, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result of the last of the equal calls."""
        for _ in range(self.n):
            result = self.conv(x)
        return result


def chain(n: int, channels: int = 64) -> nn.Module:
    """Build bare convolutions, each on the result of the one before."""
    return nn.Sequential(*(convolution(3, 1, 1, channels) for _ in range(n)))


def resnet_convolutions(images: int) -> list[Operation]:
    """List the convolutions of ResNet-50 that differ in shape, at 224×224."""
    by_shape: dict[tuple[int, ...], Operation] = {}

    def note(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        assert isinstance(module, nn.Conv2d)
        side = inputs[0].shape[-1]
        what = {
            "n_in": module.in_channels,
            "n_out": module.out_channels,
            "kernel": module.kernel_size[0],
            "stride": module.stride[0],
            "side": side,
        }
        shape = (images, module.in_channels, side, side)
        operation = ("resnet", what, module, shape)
        by_shape.setdefault(tuple(what.values()), operation)

    network = model("resnet50")
    hooks = [
        module.register_forward_pre_hook(note)
        for module in network.modules()
        if isinstance(module, nn.Conv2d)
    ]
    with torch.no_grad():
        network(torch.zeros(1, 3, SIDE, SIDE))
    for hook in hooks:
        hook.remove()
    return list(by_shape.values())


def products(kind: str, sizes: Sequence[int]) -> list[Operation]:
    """List square matrix products of these sizes."""
    return [(kind, {"size": n}, Product(), (n, n)) for n in sizes]


def operations(*, quick: bool) -> list[Operation]:
    """List every single operation."""
    sizes = (64,) if quick else (256, 512, 1024, 2048, 4096, 8192, 17_500)
    listed = products("matmul", sizes)
    listed += products(ON_CPU, [n for n in sizes if n <= CPU_SIZE])
    side, images = (8, 1) if quick else (56, 32)
    shape = (images, 64, side, side)
    kernels = (1,) if quick else (1, 3, 5)
    strides = (1,) if quick else (1, 2)
    paddings = (0,) if quick else (0, 1, 2, 3)
    for kernel, stride, padding in product(kernels, strides, paddings):
        what = {"kernel": kernel, "stride": stride, "padding": padding}
        listed.append(("convolution", what, convolution(**what), shape))
    for n in (1,) if quick else (1, 2, 4, 8, 16):
        what = {"blocks": n}
        listed += [
            ("blocks", what, blocks(n), shape),
            ("listing", what, Listing(n), shape),
            ("chain", what, chain(n), shape),
        ]
    return listed if quick else listed + resnet_convolutions(images)


def by_mode(*, quick: bool, only: Sequence[int] = ()) -> list[Operation]:
    """List the operations that are compiled in every mode.

    The last operations may find no time left. `only` has sizes of matrix products on the CPU, and
    leaves out all other operations.
    """
    if only:
        return products(ON_CPU, only)
    side, images = (8, 1) if quick else (56, 32)
    shape = (images, 64, side, side)
    listed: list[Operation] = []
    for kernel in (1,) if quick else (1, 3, 5):
        what = {"kernel": kernel, "stride": 1, "padding": kernel // 2}
        listed.append(("convolution", what, convolution(**what), shape))
    sizes = (64,) if quick else (256, 1024, CPU_SIZE)
    return listed + products(ON_CPU, sizes) + products("matmul", sizes)
