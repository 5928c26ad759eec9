"""The few numbers of the paper that the page sets beside today's, as published with it."""

from __future__ import annotations

from typing import NamedTuple

CITATION = (
    'Maksim Levental and Elena Orlova, "Comparing the costs of abstraction for DL frameworks", '
    "[arXiv:2012.07163](https://arxiv.org/abs/2012.07163), 2020"
)

LEVELS = ("eager", "libtorch", "torchscript", "cudnn")
"""The levels that the paper has too; torch.compile came later."""


class Calls(NamedTuple):
    """Calls from the framework's convolution to cudnnConvolutionForward: down to at::conv2d, and from there."""

    above: int | None
    below: int | None
    total: int


CALLS = {
    "eager": Calls(30, 61, 91),
    "libtorch": Calls(3, 61, 64),
    "torchscript": Calls(None, None, 14),
    "cudnn": Calls(None, None, 1),
}
COMMON = {("eager", "libtorch"): 62, ("eager", "torchscript"): 1, ("libtorch", "torchscript"): 1, ("eager", "cudnn"): 1}
"""Frames from cuDNN outwards that two levels' stacks have in common (its Figure 4)."""

COPIES = ((25_165_824, 15.17), (12_582_912, 7.55))
"""Bytes (published as 25.166 and 12.583 MB) and milliseconds of the copy of one batch to the device."""

RELU = (((1024, 2, 1), 690.6), ((512, 2, 1), 372.6))
"""Grid of the ReLU kernel and its mean duration in microseconds, in the two implementations compared."""


class Point(NamedTuple):
    """One point of Figure 7: milliseconds an image, memory in use as published, utilisation of the GPU in percent."""

    ms: float
    used: float
    util: float


FIGURE_7 = {
    ("eager", "infer", 32, 64): Point(1.2547, 1799, 11.0),
    ("eager", "infer", 512, 64): Point(0.5706, 6447, 10.0),
    ("eager", "infer", 32, 256): Point(2.8348, 6473, 32.7),
    ("libtorch", "infer", 32, 64): Point(0.2608, 1785, 91.3),
    ("libtorch", "infer", 512, 64): Point(0.1333, 5487, 87.9),
    ("libtorch", "infer", 32, 256): Point(1.5380, 5591, 89.6),
    ("torchscript", "infer", 32, 64): Point(0.2454, 1379, 81.1),
    ("torchscript", "infer", 512, 64): Point(0.1088, 1849, 82.1),
    ("torchscript", "infer", 32, 256): Point(1.4557, 1854, 82.5),
    ("cudnn", "infer", 32, 64): Point(0.3389, 1853, 66.7),
    ("cudnn", "infer", 512, 64): Point(0.2371, 11919, 50.6),
    ("cudnn", "infer", 32, 256): Point(2.7358, 11683, 44.8),
    ("eager", "train", 32, 64): Point(2.9469, 1799, 34.1),
    ("libtorch", "train", 32, 64): Point(0.8143, 1785, 88.9),
    ("cudnn", "train", 32, 64): Point(0.8641, 1853, 72.4),
}
"""Some points of Figure 7, by level, mode, batch and resolution."""
