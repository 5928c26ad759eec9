"""The thesis's six vision models, and its single operations, as modules with inputs."""

from __future__ import annotations

from collections.abc import Sequence
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
    found: nn.Module = getattr(torchvision.models, name)(weights=None, **options).eval()
    return found


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
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers)


class Listing(nn.Module):
    """Several bare convolutions of the same input, as in the thesis's Listing 4.1.

    It returns the last result.
    """

    def __init__(self, n: int, channels: int = 64) -> None:
        super().__init__()
        self.n = n
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result of the last of the equal calls."""
        for _ in range(self.n):
            found = self.conv(x)
        return found


def chain(n: int, channels: int = 64) -> nn.Module:
    """Build a chain of bare convolutions."""
    return nn.Sequential(
        *(nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(n))
    )


def resnet_convolutions(
    images: int,
) -> list[tuple[str, dict[str, int], nn.Module, tuple[int, ...]]]:
    """List the convolutions of ResNet-50 that differ in shape, at 224×224."""
    found: dict[tuple[int, ...], tuple[str, dict[str, int], nn.Module, tuple[int, ...]]] = {}

    def note(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        assert isinstance(module, nn.Conv2d)
        kernel, stride, side = module.kernel_size[0], module.stride[0], inputs[0].shape[-1]
        what = {
            "n_in": module.in_channels,
            "n_out": module.out_channels,
            "kernel": kernel,
            "stride": stride,
            "side": side,
        }
        found.setdefault(
            tuple(what.values()), ("resnet", what, module, (images, module.in_channels, side, side))
        )

    network = model("resnet50")
    hooks = [
        m.register_forward_pre_hook(note) for m in network.modules() if isinstance(m, nn.Conv2d)
    ]
    with torch.no_grad():
        network(torch.zeros(1, 3, SIDE, SIDE))
    for hook in hooks:
        hook.remove()
    return list(found.values())


def operations(*, quick: bool) -> list[tuple[str, dict[str, int], nn.Module, tuple[int, ...]]]:
    """List every single operation: its kind, what varies, its module, and its input's shape."""
    found: list[tuple[str, dict[str, int], nn.Module, tuple[int, ...]]] = []
    sizes = (64,) if quick else (256, 512, 1024, 2048, 4096, 8192, 17_500)
    found += [("matmul", {"size": n}, Product(), (n, n)) for n in sizes]
    found += [(ON_CPU, {"size": n}, Product(), (n, n)) for n in sizes if n <= CPU_SIZE]
    side, images = (8, 1) if quick else (56, 32)
    for kernel in (1,) if quick else (1, 3, 5):
        for stride in (1,) if quick else (1, 2):
            for padding in (0,) if quick else (0, 1, 2, 3):
                what = {"kernel": kernel, "stride": stride, "padding": padding}
                found.append(("convolution", what, convolution(**what), (images, 64, side, side)))
    for n in (1,) if quick else (1, 2, 4, 8, 16):
        for kind, made in (("blocks", blocks(n)), ("listing", Listing(n)), ("chain", chain(n))):
            found.append((kind, {"blocks": n}, made, (images, 64, side, side)))
    return found if quick else found + resnet_convolutions(images)


def by_mode(
    *, quick: bool, only: Sequence[int] = ()
) -> list[tuple[str, dict[str, int], nn.Module, tuple[int, ...]]]:
    """List the operations that are compiled in every mode.

    The last ones may find no time left. `only` has sizes of matrix products on the CPU; no other
    operation is listed then.
    """
    if only:
        return [(ON_CPU, {"size": n}, Product(), (n, n)) for n in only]
    side, images = (8, 1) if quick else (56, 32)
    found: list[tuple[str, dict[str, int], nn.Module, tuple[int, ...]]] = []
    for kernel in (1,) if quick else (1, 3, 5):
        what = {"kernel": kernel, "stride": 1, "padding": kernel // 2}
        found.append(("convolution", what, convolution(**what), (images, 64, side, side)))
    sizes = (64,) if quick else (256, 1024, CPU_SIZE)
    found += [(ON_CPU, {"size": n}, Product(), (n, n)) for n in sizes]
    return found + [("matmul", {"size": n}, Product(), (n, n)) for n in sizes]
