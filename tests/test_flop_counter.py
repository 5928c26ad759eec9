"""Captures made again without data: torch's FlopCounterMode counts what the roofline does.

The networks run on torch's meta device, with the sizes that the captures' READMEs state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sources import collected
from tracelens.analyses import roofline

torch: Any = pytest.importorskip("torch", reason="the operations are counted by torch")
SAMPLES = Path(__file__).parents[1] / "samples"
pytestmark = pytest.mark.exhaustive


def alexnet() -> Any:
    """Krizhevsky's one weird trick (2014), as torchvision has it."""
    nn = torch.nn
    sizes = [(3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1)]
    sizes += [(384, 256, 3, 1, 1), (256, 256, 3, 1, 1)]
    first, second, *others = [nn.Conv2d(i, o, k, s, p) for i, o, k, s, p in sizes]
    pool = nn.MaxPool2d(3, 2)
    dense = [nn.Linear(256 * 36, 4096), nn.Linear(4096, 4096), nn.Linear(4096, 1000)]
    return nn.Sequential(first, pool, second, pool, *others, pool, nn.Flatten(), *dense)


def resnet(n_classes: int = 1000) -> Any:
    from samples.study.resnet import ResNet50  # noqa: PLC0415 - needs torch

    network = ResNet50()
    network.fc = torch.nn.Linear(2048, n_classes)
    return network


def residuals(channels: int) -> Any:
    from samples.whatif.programs import Residual  # noqa: PLC0415 - needs torch

    return torch.nn.Sequential(*(Residual(channels) for _ in range(8)))


CAPTURES: dict[str, tuple[Callable[[], Any], tuple[int, ...], bool]] = {
    "torch/alexnet_eager": (alexnet, (32, 3, 224, 224), False),
    "torch/resnet50_eager": (resnet, (32, 3, 224, 224), False),
    "torch/resnet50_channels_last": (resnet, (32, 3, 224, 224), False),
    "torch/resnet50_train_f32_pinned": (lambda: resnet(20), (32, 3, 64, 64), True),
    "torch/resnet50_train_f32_pageable": (lambda: resnet(20), (32, 3, 64, 64), True),
    "torch/resnet50_train_f64_pageable": (lambda: resnet(20), (32, 3, 64, 64), True),
    "whatif/captures/alexnet_infer.shapes": (alexnet, (8, 3, 224, 224), False),
    "whatif/captures/conv_infer.shapes": (lambda: residuals(64), (32, 64, 28, 28), False),
    "whatif/captures/conv_infer_large.shapes": (lambda: residuals(128), (128, 128, 28, 28), False),
}
"""Network, size of its input, and whether it was trained."""


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_made_again_has_as_many_operations(name: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415 - needs torch

    build, size, is_trained = CAPTURES[name]
    network = build().to("meta").train(is_trained)
    with torch.set_grad_enabled(is_trained), FlopCounterMode(display=False) as counter:
        result = network(torch.empty(size, device="meta"))
        if is_trained:
            result.sum().backward()
    trace = collected(SAMPLES / f"{name}.pt.trace.json.gz")
    recorded = roofline(trace).filter(op="(step)")["flops"].sum() / trace.steps.height
    assert math.isclose(recorded, counter.get_total_flops())
