"""Run products, convolutions and attention of every kind, with torch's counts of their FLOPs.

Each runs forward and backward.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import conv2d, scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.flop_counter import FlopCounterMode

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
KINDS = (
    SDPBackend.MATH,
    SDPBackend.FLASH_ATTENTION,
    *((SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION) if CUDA else ()),
)


class Net(nn.Module):
    """Three kinds of convolution, then two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.Conv2d(8, 64, 3, stride=2, padding=1)
        self.grouped = nn.Conv2d(
            64,
            64,
            3,
            padding=2,
            dilation=2,
            groups=4,
        )
        self.back_up = nn.ConvTranspose2d(
            64,
            32,
            4,
            stride=2,
            padding=1,
            bias=False,
        )
        self.wide, self.out = nn.Linear(32, 1024), nn.Linear(1024, 10)

    def forward(self, x: Any) -> Any:  # noqa: D102 - torch's name for it
        x = self.back_up(torch.relu(self.grouped(torch.relu(self.plain(x)))))
        return self.out(torch.relu(self.wide(x.mean((2, 3)))))


def training(model: nn.Module, optimizer: Any, x: Any) -> None:
    """Run one training step."""
    with record_function("forward"):
        loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def attention(q: Any, k: Any, v: Any) -> None:
    """Run every implementation of attention, plain and causal, forward and backward."""
    for kind in KINDS:
        with sdpa_kernel(kind):
            for is_causal in (False, True):
                scaled_dot_product_attention(q, k, v, is_causal=is_causal).sum().backward()


def products(a: Any, b: Any, c: Any) -> None:
    """Run batched products: one of an expanded matrix, and a scaled one of fp8."""
    torch.bmm(a, b)
    torch.baddbmm(c[:1].expand(a.shape[0], -1, -1), a, b)
    torch.addmm(c[0], a[0], b[0])
    conv2d(a[None], b[:2].reshape(-1, a.shape[0], 1, 1)[:64])
    if CUDA:
        scale = torch.ones((), device=DEVICE)
        left, right = (x[0].to(torch.float8_e4m3fn) for x in (a, b))
        scaled = torch.ops.aten._scaled_mm  # noqa: SLF001 - there is no other product of fp8
        scaled(left, right.t().contiguous().t(), scale, scale, out_dtype=torch.bfloat16)


def work() -> Callable[[], None]:
    """Run all of it as one step."""
    torch.manual_seed(0)
    model = Net().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(16, 8, 64, 64, device=DEVICE)
    q, k, v = (
        torch.randn(
            2,
            8,
            256,
            64,
            device=DEVICE,
            dtype=torch.bfloat16,
            requires_grad=True,
        )
        for _ in range(3)
    )
    a, b, c = (torch.randn(4, 256, 256, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))

    def step() -> None:
        training(model, optimizer, x)
        attention(q, k, v)
        products(a, b, c)
        if CUDA:
            torch.cuda.synchronize()

    return step


def main(folder: Path) -> None:
    """Write products.pt.trace.json, and torch's counts of the same steps, into the folder."""
    step = work()
    step()
    with FlopCounterMode(display=False) as counter:
        step()
    counts = {str(op): n for op, n in counter.get_flop_counts()["Global"].items()}
    step()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if CUDA else [])]
    with profile(
        activities=activities,
        schedule=schedule(
            wait=0,
            warmup=1,
            active=2,
            repeat=1,
        ),
        on_trace_ready=lambda done: done.export_chrome_trace(
            str(folder / "products.pt.trace.json")
        ),
        record_shapes=True,
        profile_memory=True,
        with_modules=True,
    ) as profiler:
        for number in range(3):
            if number == 1 and CUDA:
                torch.cuda.reset_peak_memory_stats()
            step()
            profiler.step()
    used = torch.cuda.max_memory_allocated, torch.cuda.memory_reserved
    memory = {of.__name__: of() for of in used} if CUDA else {}
    about = {"torch": str(torch.__version__), "flops_a_step": counts, **memory}
    (folder / "counts.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
