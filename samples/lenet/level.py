"""Measure one level in this process: `python -m samples.lenet.level eager --device cpu --out OUT`.

Prints one line of JSON per network and batch. With --wait it prints `ready` once everything is
imported, and waits for a line of input. So the driver can import levels side by side and measure
each alone. With --stack it only infers, for a debugger.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from samples.lenet import net
from samples.lenet.levels import KINDS, PROFILED, Level, loader

ROUNDS, CALLS = 10, 200
STACKED = 12
"""Inferences under the debugger.

The debugger skips the first ones, which also prepare the network.
"""


@dataclass(frozen=True)
class Effort:
    """The effort of a measurement: rounds, calls per round, and a limit in seconds."""

    rounds: int
    calls: int
    seconds: float


def main() -> None:
    """Measure what is asked for."""
    options = parse()
    began = time.perf_counter()
    load = loader(options.level)
    import_s = time.perf_counter() - began
    if options.wait:
        print("ready", flush=True)
        sys.stdin.readline()
    for name in options.sizes.split(","):
        size = net.SIZES[name]
        weights = net.split(np.fromfile(net.weights_file(size, options.out), np.float32), size)
        for batch in map(int, options.batches.split(",")):
            make = partial(load, size, weights, batch, options.device)
            if options.stack:
                infer_often(make(), net.images(batch))
                continue
            about = {"level": options.level, "device": options.device, "size": name, "batch": batch}
            wanted = net.reference(weights, net.images(batch), size)
            row = about | {"import_s": import_s} | measure(make, net.images(batch), wanted, options)
            print(json.dumps(row), flush=True)


def parse() -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("level", choices=KINDS)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder with the weights, and for traces",
    )
    parser.add_argument("--sizes", default="large,small", help="networks")
    parser.add_argument("--batches", default="1,128", help="images an inference")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--calls",
        type=int,
        default=CALLS,
        help="inferences a round",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=6,
        help="of one row of rounds; a slow level has fewer calls",
    )
    parser.add_argument(
        "--trace", action="store_true", help="write a trace of some inferences by torch.profiler"
    )
    parser.add_argument("--wait", action="store_true", help="say ready, and wait for a line")
    parser.add_argument("--stack", action="store_true", help="infer a few times, and no more")
    return parser.parse_args()


def infer_often(level: Level, images: net.Array) -> None:
    """Call the level repeatedly, so that a debugger can stop in it."""
    x = level.send(images)
    for _ in range(STACKED):
        level.synchronize(level.infer(x))


def measure(
    make: Callable[[], Level],
    images: net.Array,
    wanted: np.ndarray[Any, Any],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Time making the network, the first inference and later ones; compare its logits."""
    began = time.perf_counter()
    level = make()
    loaded = time.perf_counter()
    logits = np.array(with_copies(level, images)())
    first = time.perf_counter()
    row: dict[str, Any] = {
        "n_parameters": level.n_parameters,
        "checksum": float(np.abs(logits.astype(np.float64)).sum()),
        "relative_error": net.relative_error(logits, wanted),
        "load_ms": (loaded - began) * 1e3,
        "first_ms": (first - loaded) * 1e3,
    }
    effort = Effort(options.rounds, options.calls, options.seconds)
    row["copies"] = timed(with_copies(level, images), effort)
    if not level.copies_itself:
        x = level.send(images)
        row["call"] = timed(lambda: level.synchronize(level.infer(x)), effort)
    again = net.relative_error(np.array(with_copies(level, images)()), wanted)
    row["relative_error"] = max(row["relative_error"], again)
    if options.trace:
        row["trace"] = trace(level, images, options.out)
    return row


def with_copies(level: Level, images: net.Array) -> Callable[[], net.Array]:
    """Return an inference that copies images to the device and logits back to the host."""
    if level.copies_itself:
        x = level.send(images)
        return lambda: level.fetch(level.infer(x))
    return lambda: level.fetch(level.infer(level.send(images)))


def timed(once: Callable[[], Any], effort: Effort) -> dict[str, Any]:
    """Time a call in ms by the host's clock.

    Returns quartiles over all calls and each round's median.
    """
    began = time.perf_counter()
    for _ in range(
        max(3, effort.calls // 10)
    ):  # what is prepared in the first calls, as a graph is
        once()
        if time.perf_counter() - began > effort.seconds / 4:
            break
    rounds: list[list[float]] = []
    for _ in range(effort.rounds):
        calls: list[float] = []
        end = time.perf_counter() + effort.seconds / effort.rounds
        while len(calls) < effort.calls and (len(calls) < 3 or time.perf_counter() < end):
            before = time.perf_counter_ns()
            once()
            calls.append((time.perf_counter_ns() - before) / 1e6)
        rounds.append(calls)
    low, middle, high = statistics.quantiles(
        list(chain.from_iterable(rounds)), n=4, method="inclusive"
    )
    medians = [round(statistics.median(calls), 6) for calls in rounds]
    return {
        "p25_ms": low,
        "median_ms": middle,
        "p75_ms": high,
        "n": sum(map(len, rounds)),
        "rounds_ms": medians,
    }


def trace(level: Level, images: net.Array, folder: Path) -> str:
    """Write a trace of the GPU work of some inferences, and return its file's name.

    Torch's profiler sees the whole process, whichever library started the work.
    """
    import torch  # noqa: PLC0415 - a level without torch is timed without it
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415

    torch.cuda.init()
    x = level.send(images)
    level.synchronize(level.infer(x))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recording:
        for _ in range(PROFILED):
            level.synchronize(level.infer(x))
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(
        dir=folder,
        prefix="trace_",
        suffix=".json",
        delete=False,
    ) as file:
        recording.export_chrome_trace(file.name)
    return Path(file.name).name


if __name__ == "__main__":
    main()
