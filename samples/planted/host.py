"""Planted causes on the host: input, other work, and too little work."""

from __future__ import annotations

import gc
import io
import os
import queue
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from parts import DEVICE, ON_GPU, PICTURE, WIDTH, Pictures, Rows, Training, decode, inputs, planted
from torch.profiler import record_function
from torch.utils.data import DataLoader, IterableDataset

# -- input -------------------------------------------------------------------------------------


@planted("input", "DataLoader", where="input_main_process.*DataLoader", cpu=True)
def input_main_process() -> Generator[None]:
    """Load without workers, so that the main process decodes."""
    training = Training()
    for batch in DataLoader(Pictures(), batch_size=4):
        training.step(batch.flatten(0, 1).to(DEVICE))
        yield


@planted("input", "DataLoader", where="input_slow_workers.*DataLoader", cpu=True)
def input_slow_workers() -> Generator[None]:
    """Load with two workers that cannot keep up: the main process waits for them."""
    training = Training()
    for batch in DataLoader(Pictures(), batch_size=6, num_workers=2, prefetch_factor=1):
        training.step(batch.flatten(0, 1).to(DEVICE))
        yield


class SlowToPin:
    """A batch that takes long to be pinned."""

    def __init__(self, rows: list[torch.Tensor]) -> None:
        self.rows = torch.cat(rows)

    def pin_memory(self) -> SlowToPin:
        """Wait, then return the batch; the loader's pinning thread calls this."""
        time.sleep(0.010)
        self.rows = self.rows.pin_memory()
        return self


@planted("input", "DataLoader", where="input_pin_thread.*DataLoader")
def input_pin_thread() -> Generator[None]:
    """Load with a fast worker and a slow thread that pins batches."""
    training = Training()
    loader = DataLoader(
        Rows(), 4, num_workers=1, prefetch_factor=1, pin_memory=ON_GPU, collate_fn=SlowToPin
    )
    for batch in loader:
        training.step(batch.rows.to(DEVICE, non_blocking=True))
        yield


def read_batches() -> Iterator[torch.Tensor]:
    """Read and decode batches in a plain generator, as many programs do."""
    while True:
        yield torch.cat([decode(PICTURE) for _ in range(4)])


@planted("input", r"\bdata\b", where="read_batches|decode", marks="step")
def input_generator() -> Generator[None]:
    """Read batches from a plain Python generator, inside an annotation."""
    training = Training()
    batches = read_batches()
    while True:
        with record_function("data"):
            batch = next(batches)
        training.step(batch.to(DEVICE))
        yield


@planted("input", "next batch", where="input_queue.*next batch", marks="step")
def input_queue() -> Generator[None]:
    """Read in a thread of the program that cannot keep up.

    The main thread waits at its queue.
    """
    training = Training()
    batches: queue.Queue[torch.Tensor] = queue.Queue(maxsize=1)

    def read() -> None:
        for batch in read_batches():
            batches.put(batch)

    threading.Thread(target=read, daemon=True).start()
    while True:
        with record_function("next batch"):
            batch = batches.get()
        training.step(batch.to(DEVICE))
        yield


class Stream(IterableDataset[torch.Tensor]):
    """Pictures one after the other."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        while True:
            yield decode(PICTURE)


def pad(rows: list[torch.Tensor]) -> torch.Tensor:
    """Copy rows into a batch, number by number."""
    batch = torch.stack(rows)
    for row in batch.numpy():
        for line in row:
            line[:] = sorted(line)
    return batch


@planted("input", "DataLoader", where="DataLoader.*pad")
def input_collate() -> Generator[None]:
    """Collate in Python, in the main process."""
    training = Training()
    for batch in DataLoader(Stream(), batch_size=2, collate_fn=pad):
        training.step(batch.flatten(0, 1).to(DEVICE))
        yield


# -- host --------------------------------------------------------------------------------------

AFTER_STEP = r"(after|between) Optimizer\.step"
"""The only place that a trace without stacks shows: the work came after the optimizer's step."""


@planted("host", AFTER_STEP, where="throttle", cpu=True)
def host_sleep() -> Generator[None]:
    """Pause in every step, as polling and rate limits do."""

    def throttle() -> None:
        time.sleep(0.008)

    training, batch = Training(), inputs()
    while True:
        training.step(batch)
        throttle()
        yield


@planted("host", "preprocess", where="augment", marks="step")
def host_numpy() -> Generator[None]:
    """Prepare the batch with NumPy on the host, in an annotation."""

    def augment(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        for _ in range(6):
            pixels = np.sqrt(np.abs(np.roll(pixels, 1, axis=0) - pixels.mean(axis=0))) + 0.1
        return pixels.astype(np.float32)

    training, pixels = Training(), np.random.default_rng(0).random((WIDTH // 2, WIDTH))
    while True:
        with record_function("preprocess"):
            batch = torch.from_numpy(augment(pixels))
        training.step(batch.to(DEVICE))
        yield


@planted("host", AFTER_STEP, where="perplexity")
def host_python() -> Generator[None]:
    """Compute a metric in a Python loop after each step."""

    def perplexity(words: list[int]) -> float:
        total = 0.0
        for i in range(len(words)):
            total += (words[i] * 31 % 1009) ** 0.5
        return total / len(words)

    training, batch = Training(), inputs()
    words = [i * i % 997 for i in range(100_000)]
    while True:
        training.step(batch)
        perplexity(words)
        yield


@planted("host", AFTER_STEP, where="checkpoint", cpu=True)
def host_checkpoint() -> Generator[None]:
    """Save a checkpoint of weights in every step; the host already has a copy of the weights."""
    training, batch = Training(), inputs()
    weights = {f"layer{i}": torch.rand(512, 1024) for i in range(8)}
    with tempfile.TemporaryDirectory() as folder:

        def checkpoint() -> None:
            torch.save(weights, Path(folder) / "checkpoint.pt")

        while True:
            training.step(batch)
            checkpoint()
            yield


@planted("host", AFTER_STEP, where="log_to", marks="step")
def host_log() -> Generator[None]:
    """Write line after line to a log, and flush each to the disk."""

    def log_to(file: io.TextIOWrapper) -> None:
        for i in range(100):
            file.write(f"parameter {i}: gradient {i / 7:.6f} update {i / 11:.6f}\n")
            file.flush()
            os.fsync(file.fileno())

    training, batch = Training(), inputs()
    with tempfile.TemporaryFile("w") as file:
        while True:
            training.step(batch)
            log_to(file)
            yield


@planted("host", "aten::sort", where="rank_scores")
def host_cpu_tensors() -> Generator[None]:
    """Work on tensors in host memory: the ops launch nothing."""

    def rank_scores(scores: torch.Tensor) -> torch.Tensor:
        return scores.sort(dim=-1, descending=True).indices

    training, batch, scores = Training(), inputs(), torch.rand(200_000)
    while True:
        training.step(batch)
        rank_scores(scores)
        yield


@planted("host", AFTER_STEP, where="host_collect.*collect")
def host_collect() -> Generator[None]:
    """Call the garbage collector by hand, with many objects alive."""
    training, batch = Training(), inputs()
    gc.collect()
    gc.freeze()  # imported objects do not count
    alive = [[i] for i in range(300_000)]
    while True:
        training.step(batch)
        gc.collect()
        assert alive
        yield


# -- too little to judge -----------------------------------------------------------------------


@planted("too little to judge", "(after|between) aten::add_", cause="host", where="sleep", rounds=1)
def little_work() -> Generator[None]:
    """Launch one tiny kernel, then sleep long."""
    x = torch.rand(64, device=DEVICE)
    while True:
        x.add_(1)
        time.sleep(0.25)
        yield
