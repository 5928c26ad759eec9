"""The few numbers of the paper that the page sets beside today's, as published with it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

NAMES = {
    "eager": "PyTorch eager",
    "compile": "torch.compile",
    "torchscript": "TorchScript",
    "torchscript_cpp": "TorchScript in C++",
    "libtorch": "LibTorch",
    "cudnn": "cuDNN",
}
"""Names of the levels on the page."""
LEVELS = ("eager", "libtorch", "torchscript", "cudnn")
"""The levels that the paper has too; torch.compile came later."""
LIKE = {"torchscript_cpp": "torchscript"}
"""Names that differ in the paper, whose TorchScript runs in C++ (footnote 24)."""


class Calls(NamedTuple):
    """Calls from the framework's convolution to cudnnConvolutionForward.

    They are counted up to at::conv2d, and from there.
    """

    above: int | None
    below: int | None
    total: int


CALLS = {
    "eager": Calls(30, 61, 91),
    "libtorch": Calls(3, 61, 64),
    "torchscript": Calls(None, None, 14),
    "cudnn": Calls(None, None, 1),
}
COMMON = {
    ("eager", "libtorch"): 62,
    ("eager", "torchscript"): 1,
    ("libtorch", "torchscript"): 1,
    ("eager", "cudnn"): 1,
}
"""Frames, from cuDNN outwards, that the stacks of two levels have in common (the paper's Figure 4).
"""

COPIES = ((25_165_824, 15.17), (12_582_912, 7.55))
"""Bytes (published as 25.166 and 12.583 MB) and milliseconds of the copy of one batch to the
device."""

PINNED = 2.0
"""A copy from pinned memory is this many times as fast (footnote 27)."""

RELU_SHARE = 0.12
"""ReLU's share of the execution time, about."""

RELU = (((1024, 2, 1), 690.6), ((512, 2, 1), 372.6))
"""Grid of the ReLU kernel and its mean duration in microseconds, in the two implementations
compared."""


class Point(NamedTuple):
    """A point of the scaling experiments: ms per image, memory in MB, utilisation in percent.

    None if the authors published none.
    """

    ms: float | None
    used: float | None
    util: float | None


def _published() -> dict[tuple[str, str, int, int], Point]:
    with (Path(__file__).parent / "paper_sweeps.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {
        (row["level"], row["mode"], int(row["batch"]), int(row["size"])): Point(
            *(float(row[name]) if row[name] else None for name in Point._fields)
        )
        for row in rows
    }


SWEEPS = _published()
"""All points of Figures 7 to 13 by level, mode, batch and resolution, as they stand in the
authors' repository."""

MONITORING_STEP = 20
N_IMAGES = 17_125
"""Images of PASCAL VOC 2012, of which the authors' program trains with the first 80 % and
evaluates with the rest."""


def left_over(batch: int) -> float:
    """Return the share of an evaluation's batches with training time added to their time.

    The authors' PyTorch program `python/main.py` adds it: it resets its elapsed time after each
    MONITORING_STEP batches of training and before an epoch, but not before the evaluation. So the
    time of training batches since the last reset is in the evaluation's time.
    """
    n_train = int(N_IMAGES * 0.8)
    return -(-n_train // batch) % MONITORING_STEP / -(-(N_IMAGES - n_train) // batch)


def corrected_ms(batch: int, size: int) -> float | None:
    """Return PyTorch's published inference time per image in ms, without the training time in it.

    Return None if the time is unpublished.
    """
    infer, train = (SWEEPS.get(("eager", mode, batch, size)) for mode in ("infer", "train"))
    if infer is None or train is None or infer.ms is None or train.ms is None:
        return None
    return infer.ms - left_over(batch) * train.ms
