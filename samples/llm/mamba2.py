"""Train two layers of Mamba 2 for eight steps; README.md says how the capture was taken."""

from __future__ import annotations

import torch
from mamba_ssm.modules.mamba2 import Mamba2  # type: ignore[import-not-found]
from torch import nn

WIDTH, LENGTH, BATCH, N_LAYERS, N_STEPS = 1024, 2048, 2, 2, 8


def main() -> None:
    """Run forward and backward passes in bfloat16; gradients are thrown away."""
    torch.manual_seed(0)
    options = {"d_state": 128, "headdim": 64, "use_mem_eff_path": False}
    layers = (
        Mamba2(
            WIDTH,
            **options,
            device="cuda",
            dtype=torch.bfloat16,
        )
        for _ in range(N_LAYERS)
    )
    model = nn.Sequential(*layers)
    x = torch.randn(BATCH, LENGTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    for _ in range(N_STEPS):
        model(x).float().pow(2).mean().backward()
        for parameter in model.parameters():
            parameter.grad = None
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
