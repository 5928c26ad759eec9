"""A small network for timings: three blocks and a classifier.

tracelens collect timings samples/timings/small.py:make
"""

import torch
from torch import nn


def make() -> tuple[nn.Module, torch.Tensor]:
    """Return the model, and four images for it."""
    torch.manual_seed(0)
    blocks = [
        nn.Sequential(
            nn.Conv2d(
                n_in,
                n_out,
                3,
                stride=2,
                padding=1,
                bias=False,
            ),
            nn.BatchNorm2d(n_out),
            nn.ReLU(),
        )
        for n_in, n_out in ((3, 16), (16, 32), (32, 64))
    ]
    return nn.Sequential(
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    ).eval(), torch.randn(4, 3, 64, 64)
