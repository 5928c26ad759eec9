"""List the convolutions of networks that torchvision defines, by their results' sizes.

Each is (input channels, output channels, kernel, size of the result, groups), from the papers'
tables and torchvision's definitions. A convolution's operations follow from these alone.
"""

from __future__ import annotations

from collections.abc import Iterator

Convolution = tuple[int, int, int, int, int]
_FIRE = (
    (55, (64, 16, 64), (128, 16, 64)),
    (27, (128, 32, 128), (256, 32, 128)),
    (13, (256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256)),
)
"""Size of the pictures in SqueezeNet 1.1, then input, squeezed and expanded channels."""
_INVERTED = (
    (1, 16, 1, 112),
    (6, 24, 2, 56),
    (6, 32, 3, 28),
    (6, 64, 4, 14),
    (6, 96, 3, 14),
    (6, 160, 3, 7),
    (6, 320, 1, 7),
)
"""MobileNetV2: expansion, output channels, repetitions and size of the results."""
_INCEPTIONS = (
    (28, 192, 64, 96, 128, 16, 32, 32),
    (28, 256, 128, 128, 192, 32, 96, 64),
    (14, 480, 192, 96, 208, 16, 48, 64),
    (14, 512, 160, 112, 224, 24, 64, 64),
    (14, 512, 128, 128, 256, 24, 64, 64),
    (14, 512, 112, 144, 288, 32, 64, 64),
    (14, 528, 256, 160, 320, 32, 128, 128),
    (7, 832, 256, 160, 320, 32, 128, 128),
    (7, 832, 384, 192, 384, 48, 128, 128),
)
"""GoogLeNet: size, input, and the channels of table 1 in "Going deeper with convolutions"."""


def convolutions(network: str) -> list[Convolution]:
    """Return the convolutions of a network for pictures of 224 × 224."""
    return list(_NETWORKS[network]())


def _squeezenet() -> Iterator[Convolution]:
    yield 3, 64, 3, 111, 1
    for size, *modules in _FIRE:
        for given, squeezed, expanded in modules:
            yield given, squeezed, 1, size, 1
            yield squeezed, expanded, 1, size, 1
            yield squeezed, expanded, 3, size, 1
    yield 512, 1000, 1, 13, 1


def _mobilenet() -> Iterator[Convolution]:
    yield 3, 32, 3, 112, 1
    given, before = 32, 112
    for expansion, out, repeats, size in _INVERTED:
        for _ in range(repeats):
            wide = given * expansion
            if expansion > 1:
                yield given, wide, 1, before, 1
            yield wide, wide, 3, size, wide
            yield wide, out, 1, size, 1
            given, before = out, size
    yield 320, 1280, 1, 7, 1


def _googlenet() -> Iterator[Convolution]:
    yield from ((3, 64, 7, 112, 1), (64, 64, 1, 56, 1), (64, 192, 3, 56, 1))
    for size, given, single, reduced, three, reduced_again, last, pooled in _INCEPTIONS:
        for out in (single, reduced, reduced_again, pooled):
            yield given, out, 1, size, 1
        yield reduced, three, 3, size, 1
        # The paper's kernels of 5 × 5 are 3 × 3 in torchvision.
        yield reduced_again, last, 3, size, 1


def _densenet() -> Iterator[Convolution]:
    yield 3, 64, 7, 112, 1
    given = 64
    for n_layers, size in ((6, 56), (12, 28), (24, 14), (16, 7)):
        for _ in range(n_layers):
            yield given, 128, 1, size, 1
            yield 128, 32, 3, size, 1
            given += 32
        if size > 7:  # a transition halves the channels before it halves the picture
            yield given, given // 2, 1, size, 1
            given //= 2


_NETWORKS = {
    "densenet121": _densenet,
    "googlenet": _googlenet,
    "mobilenet_v2": _mobilenet,
    "squeezenet1_1": _squeezenet,
}
