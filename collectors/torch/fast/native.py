"""The parser's kernel, made ready for this machine."""

from __future__ import annotations

from pathlib import Path

from tracelens.fast.kernel import MACHINE, Kernel, ready

SOURCES = (
    *(Path(__file__).with_name(f"{name}.py") for name in ("kernels", "scanning", "layout", "fields")),
    MACHINE,
)
"""What the kernel is made of; the text compiled ahead stands beside the first."""


def parser() -> Kernel | None:
    """The kernel that reads events; None where there is none."""
    return ready("tracelens.collectors.torch.fast.kernels", "parse", SOURCES)
