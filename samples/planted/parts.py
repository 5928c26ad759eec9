"""What the planted programs share: their table, a small network to train, slow pictures.

Decoding the pictures takes time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset

ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")
WIDTH = 1024 if ON_GPU else 128
LARGE = 16384 if ON_GPU else 256  # rows of a batch that is slow to copy: 64 MiB on a GPU
synchronize = torch.cuda.synchronize if ON_GPU else (lambda: None)


@dataclass(frozen=True)
class Program:
    """One planted cause, and how a report has to name it."""

    name: str
    steps: Callable[[], Generator[None]]
    """Yields at the end of each step, without end."""
    bound: str
    """The verdict it must get; two joined by `|` where either is right."""
    what: str = ""
    """A regular expression that the named place matches."""
    where: str = ""
    """The same for a trace with Python stacks, where the function can be named too."""
    bare: str = ""
    """The verdict without stacks, where the trace does not show enough for `bound`."""
    cause: str = ""
    """The cause of most idle time, where it is not the bound."""
    spread: bool = False
    """The cause has so many places that none of them need be the largest of all."""
    marks: str = "profiler"
    """What marks steps: `profiler` (ProfilerStep#N) or `step` (a record_function named `step
    N`)."""
    fresh: bool = False
    """Each measurement needs a process of its own, without warm-up: what is planted happens once
    in a process."""
    stacks: bool = True
    """False where Python stacks would make the trace too large."""
    cpu: bool = False
    """The cause shows on a machine without a GPU as well."""
    needs_gpu: bool = False
    """Does not run at all without one."""
    gpus: int = 1
    ranks: int = 1
    other_ranks: Mapping[str, str] = field(default_factory=dict)
    """`bound`, `what` and `where` of the ranks after the first, where they are others."""
    rounds: int = 5
    """How often three unprofiled steps are timed."""
    variables: Mapping[str, str] = field(default_factory=dict)


PROGRAMS: dict[str, Program] = {}


def planted(
    bound: str, what: str = "", **options: Any
) -> Callable[[Callable[[], Generator[None]]], Any]:
    """Enter a program into the table under its function's name."""

    def enter(steps: Callable[[], Generator[None]]) -> Callable[[], Generator[None]]:
        PROGRAMS[steps.__name__] = Program(steps.__name__, steps, bound, what, **options)
        return steps

    return enter


class Training:
    """A small network of linear layers, its optimizer and its step: about 1 ms of device work."""

    def __init__(self, width: int = WIDTH, depth: int = 4, device: torch.device = DEVICE) -> None:
        layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
        self.net = nn.Sequential(*layers).to(device)
        self.optimizer: torch.optim.Optimizer = torch.optim.SGD(self.net.parameters(), lr=0.001)

    def step(self, inputs: torch.Tensor) -> torch.Tensor:
        """Forward, backward, optimizer; the loss stays on the device."""
        loss: torch.Tensor = self.net(inputs).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def inputs(rows: int = WIDTH, width: int = WIDTH) -> torch.Tensor:
    """A batch that lies on the device already."""
    return torch.rand(rows, width, device=DEVICE)


PICTURE = zlib.compress(np.random.default_rng(0).integers(0, 32, 1 << 20, dtype=np.uint8).tobytes())


def decode(packed: bytes) -> torch.Tensor:
    """Unpack one picture: a few milliseconds of the processor."""
    pixels = np.frombuffer(zlib.decompress(packed), np.uint8)
    return torch.from_numpy(pixels[: 64 * WIDTH].reshape(64, WIDTH).astype(np.float32) / 32)


class Pictures(Dataset[torch.Tensor]):
    """A dataset that decodes each picture when it is asked for it."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        return decode(PICTURE)


class Rows(Dataset[torch.Tensor]):
    """A dataset that costs nothing: its rows lie in memory."""

    rows = torch.rand(64, WIDTH)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.rows
