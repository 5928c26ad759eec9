"""Define the network that all levels run: two sizes, hashed weights and images, float64 logits.

`conv 5×5, ReLU, pool 2, conv 5×5, ReLU, pool 2, dense, ReLU, dense 10` over images of 28×28.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

SIDE, KERNEL, CLASSES = 28, 5, 10


@dataclass(frozen=True)
class Size:
    """One of the source's two networks.

    `padding`: pixels around an image before each convolution.
    """

    name: str
    maps: tuple[int, int]
    hidden: int
    padding: int
    n_parameters: int
    source: str

    @property
    def side(self) -> int:
        """Height and width of the first dense layer's input."""
        side = SIDE
        for _ in self.maps:
            side = (side + 2 * self.padding - KERNEL + 1) // 2
        return side

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights in the file's order: (out, in, height, width) and (out, in)."""
        first, second = self.maps
        return {
            "conv1.weight": (first, 1, KERNEL, KERNEL),
            "conv1.bias": (first,),
            "conv2.weight": (second, first, KERNEL, KERNEL),
            "conv2.bias": (second,),
            "dense1.weight": (self.hidden, second * self.side**2),
            "dense1.bias": (self.hidden,),
            "dense2.weight": (CLASSES, self.hidden),
            "dense2.bias": (CLASSES,),
        }


SIZES = {
    size.name: size
    for size in (
        Size("large", (32, 64), 1024, 2, 3_274_634, "TensorFlow"),
        Size("small", (5, 12), 128, 0, 27_636, "Keras"),
    )
}
"""Size of the source's TensorFlow network, and of its Keras network.

The Keras network has 118 times fewer parameters.
"""


def noise(n: int, seed: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) that look random but are a hash of their index."""
    with np.errstate(over="ignore"):
        h = np.arange(n, dtype=np.uint32) + np.uint32(seed * 0x9E3779B1 & 0xFFFFFFFF)
        h = (h ^ (h >> np.uint32(15))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (h ^ (h >> np.uint32(16))) / 4294967296.0


def images(n: int) -> Array:
    """Return a batch of images, (n, 1, 28, 28)."""
    return noise(n * SIDE**2, 0).reshape(n, 1, SIDE, SIDE).astype(np.float32)


def make_weights(size: Size) -> Array:
    """Make the weights of all layers.

    They are uniform; the width keeps the variance constant through a ReLU. Biases are within 0.1.
    """
    parts = []
    for seed, shape in enumerate(size.shapes.values(), 1):
        bound = 0.1 if len(shape) == 1 else math.sqrt(6 / math.prod(shape[1:]))
        parts.append((noise(math.prod(shape), seed) * 2 - 1) * bound)
    return np.concatenate(parts).astype(np.float32)


def weights_file(size: Size, folder: Path) -> Path:
    """Return the float32 file that every level reads; it is written if it does not exist."""
    path = folder / f"weights_{size.name}.f32"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        make_weights(size).tofile(new)
        new.replace(path)
    return path


def split(values: Array, size: Size) -> dict[str, Array]:
    """Return the weights by name, in torch's layout."""
    starts = np.cumsum([math.prod(shape) for shape in size.shapes.values()])
    if starts[-1] != values.size:
        raise ValueError(
            f"{values.size} weights for the {size.name} network, which has {starts[-1]}"
        )
    parts = np.split(values, starts[:-1])
    return {
        name: part.reshape(shape)
        for (name, shape), part in zip(size.shapes.items(), parts, strict=True)
    }


def channels_last(weights: dict[str, Array], size: Size) -> dict[str, Array]:
    """Return the weights in the layout of TensorFlow and Keras.

    It is (height, width, in, out) and (in, out).
    """
    laid = dict(weights)
    for name in ("conv1.weight", "conv2.weight"):
        laid[name] = weights[name].transpose(2, 3, 1, 0)
    maps = (size.hidden, size.maps[1], size.side, size.side)
    laid["dense1.weight"] = (
        weights["dense1.weight"].reshape(maps).transpose(2, 3, 1, 0).reshape(-1, size.hidden)
    )
    laid["dense2.weight"] = weights["dense2.weight"].T
    return {name: np.ascontiguousarray(value) for name, value in laid.items()}


def reference(weights: dict[str, Array], batch: Array, size: Size) -> NDArray[np.float64]:
    """Compute the logits in float64 by numpy alone; every level's logits are compared with them."""
    x = batch.astype(np.float64)
    for name in ("conv1", "conv2"):
        x = _pool(
            np.maximum(
                _convolution(x, weights[f"{name}.weight"], weights[f"{name}.bias"], size.padding), 0
            )
        )
    x = x.reshape(len(x), -1)
    x = np.maximum(x @ weights["dense1.weight"].T.astype(np.float64) + weights["dense1.bias"], 0)
    return x @ weights["dense2.weight"].T.astype(np.float64) + weights["dense2.bias"]


def _convolution(
    x: NDArray[np.float64], weight: Array, bias: Array, padding: int
) -> NDArray[np.float64]:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    patches = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    product = np.tensordot(patches, weight.astype(np.float64), axes=((1, 4, 5), (1, 2, 3)))
    return product.transpose(0, 3, 1, 2) + bias[:, None, None]


def _pool(x: NDArray[np.float64]) -> NDArray[np.float64]:
    n, maps, high, wide = x.shape
    return x.reshape(n, maps, high // 2, 2, wide // 2, 2).max(axis=(3, 5))


def relative_error(logits: Array, wanted: NDArray[np.float64]) -> float:
    """Return the largest difference, relative to the largest logit."""
    return float(np.abs(logits - wanted).max() / np.abs(wanted).max())
