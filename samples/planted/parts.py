"""Parts that the planted programs share: their table, a small network to train, slow pictures.

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
    """Run the program: an endless generator that yields at the end of each step."""
    bound: str
    """The expected verdict; two joined by `|` if either is right."""
    what: str = ""
    """A regular expression that the named place must match."""
    where: str = ""
    """Like `what`, for a trace with Python stacks, which can also name the function."""
    bare: str = ""
    """The expected verdict without stacks, if the trace does not show enough for `bound`."""
    cause: str = ""
    """The cause of most idle time, if it differs from the bound."""
    spread: bool = False
    """True if the cause is spread over several places, and none of them has to be the largest."""
    marks: str = "profiler"
    """The marks of steps: `profiler` (ProfilerStep#N) or `step` (record_function `step N`)."""
    fresh: bool = False
    """True if each measurement needs a new process without warm-up.

    The planted cause then happens once per process.
    """
    stacks: bool = True
    """True if a trace with Python stacks is taken; False if it would be too large."""
    cpu: bool = False
    """True if the cause also shows on a machine without a GPU."""
    needs_gpu: bool = False
    """True if the program runs only with a GPU."""
    gpus: int = 1
    ranks: int = 1
    other_ranks: Mapping[str, str] = field(default_factory=dict)
    """Other `bound`, `what` and `where` for the ranks after the first."""
    rounds: int = 5
    """Number of times that the three steps without the profiler are timed."""
    variables: Mapping[str, str] = field(default_factory=dict)


PROGRAMS: dict[str, Program] = {}


def planted(
    bound: str, what: str = "", **options: Any
) -> Callable[[Callable[[], Generator[None]]], Any]:
    """Register a program in the table under its function's name."""

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
        """Run forward, backward and the optimizer; the loss stays on the device."""
        loss: torch.Tensor = self.net(inputs).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def inputs(rows: int = WIDTH, width: int = WIDTH) -> torch.Tensor:
    """Return a batch that is on the device already."""
    return torch.rand(rows, width, device=DEVICE)


PICTURE = zlib.compress(np.random.default_rng(0).integers(0, 32, 1 << 20, dtype=np.uint8).tobytes())


def decode(packed: bytes) -> torch.Tensor:
    """Unpack one picture, which takes a few milliseconds of processor time."""
    pixels = np.frombuffer(zlib.decompress(packed), np.uint8)
    return torch.from_numpy(pixels[: 64 * WIDTH].reshape(64, WIDTH).astype(np.float32) / 32)


class Pictures(Dataset[torch.Tensor]):
    """A dataset that decodes a picture each time it is read."""

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
