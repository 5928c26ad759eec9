"""Take runs of two programs again and again: `python -m samples.gate.take --out DIR`, with a GPU.

Each run is a process of its own, as a gate's runs are: it builds the program, warms up, and
records eight steps. Some runs take 7 % longer, on the device or on the host. The next processes
import torch while one runs. README.md says what the runs are for.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

ROOT = Path(__file__).resolve().parents[2]
N_WARM_UP, N_STEPS, N_TIMED = 20, 8, 50
SLOWER = 0.07
RUNS = {"same": 12, "device": 6, "host": 6}
"""Number of unchanged runs, of runs slowed on the device, and of runs slowed on the host."""
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


class Convolutions(nn.Module):
    """Ten convolutions of large images: the device is busy all the time."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, padding=1), nn.ReLU()]
        for _ in range(9):
            layers += [nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map (batch, 3, side, side) to (batch, 64, side, side)."""
        output: torch.Tensor = self.layers(images)
        return output


class Blocks(nn.Module):
    """Three small transformer blocks: the device waits for launches."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(256, 4, 512, dropout=0.1, batch_first=True) for _ in range(3)
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, 256) to the same shape."""
        for block in self.blocks:
            tokens = block(tokens)
        return tokens


PROGRAMS = {
    "convolutions": (Convolutions, (64, 3, 112, 112)),
    "blocks": (Blocks, (8, 16, 256)),
}


def synchronize() -> None:
    """Wait for the device."""
    if ON_GPU:
        torch.cuda.synchronize()


def run(program: str, variant: str, path: Path) -> None:
    """Run the program in this process, and record some of its steps."""
    make, shape = PROGRAMS[program]
    torch.manual_seed(0)
    model = make().to(DEVICE)
    batch = torch.randn(shape).to(DEVICE)

    @torch.no_grad()
    def step() -> None:
        model(batch)
        synchronize()

    for _ in range(N_WARM_UP):
        step()
    began = time.perf_counter_ns()
    for _ in range(N_TIMED):
        step()
    more_ns = (time.perf_counter_ns() - began) / N_TIMED * SLOWER

    def slower() -> None:
        if variant == "device" and ON_GPU:
            torch.cuda._sleep(round(more_ns * CYCLES_PER_NS))  # noqa: SLF001 - takes a known time
        if variant == "host":
            until = time.perf_counter_ns() + more_ns
            while time.perf_counter_ns() < until:
                pass
        step()

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if ON_GPU else [])]
    with profile(
        activities=activities,
        schedule=schedule(
            wait=0,
            warmup=3,
            active=N_STEPS,
            repeat=1,
        ),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
    ) as profiler:
        for _ in range(N_STEPS + 3):
            slower()
            profiler.step()


CYCLES_PER_NS = 1.9
"""Approximate clock of an H100 and an H200 under load."""


def main() -> None:
    """Start one process after the other. Each imports torch and waits until it may run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--one",
        nargs=2,
        metavar=("PROGRAM", "VARIANT"),
        help="one run, here",
    )
    parser.add_argument("--runs", type=int, help="so many of each at most")
    options = parser.parse_args()
    if options.one:
        sys.stdin.readline()
        run(*options.one, options.out)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    # In turn, so that what changes slowly on the machine meets all alike.
    order = [
        (program, variant, number)
        for number in range(max(RUNS.values()))
        for program in PROGRAMS
        for variant, n_runs in RUNS.items()
        if number < min(n_runs, options.runs or n_runs)
    ]
    waiting = [start(options.out, *words) for words in order[:2]]
    for place, words in enumerate(order):
        if place + 2 < len(order):
            waiting.append(start(options.out, *order[place + 2]))
        process = waiting.pop(0)
        process.communicate(b"go\n", timeout=90)
        print(*words, process.returncode, flush=True)


def start(out: Path, program: str, variant: str, number: int) -> subprocess.Popen[bytes]:
    """Start a process that imports torch and waits for a line."""
    path = out / f"{program}.{variant}.{number:02d}.pt.trace.json.gz"
    command = [sys.executable, "-m", "samples.gate.take", "--one", program, variant]
    return subprocess.Popen([*command, "--out", str(path)], stdin=subprocess.PIPE, cwd=ROOT)


if __name__ == "__main__":
    main()
