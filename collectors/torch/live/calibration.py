"""Train with small ops while `tracelens calibrate` captures this program.

The host limits the step, so the profiler's cost shows. This program imports only torch and the
standard library, because it may run in another Python than tracelens.
"""

from __future__ import annotations

import torch
from torch import nn

STEPS = 50
"""The number of steps, enough for ten steps before the recorded steps and ten steps after them."""
_LAYERS, _WIDTH, _BATCH = 12, 32, 8


def main() -> None:
    """Train a network of small layers, on the GPU if there is one."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)  # with several threads, work of one would hide the delay of another
    torch.manual_seed(0)
    blocks = [
        (
            nn.Linear(_WIDTH, _WIDTH),
            nn.LayerNorm(_WIDTH),
            nn.GELU(),
        )
        for _ in range(_LAYERS)
    ]
    model = nn.Sequential(*(part for block in blocks for part in block)).to(device)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=1e-3,
        momentum=0.9,
        foreach=False,
    )
    x = torch.randn(_BATCH, _WIDTH, device=device)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (model(x) - x).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
