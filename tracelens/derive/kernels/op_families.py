"""Compute the bytes and operations of calls with one set of formulas per family of ops.

`op_signatures.json` (torch) and `custom_ops.toml` (other libraries) give each op's family and
signatures: a letter per argument, `>`, a letter per result. `bound_call.ROLES` explains the
letters.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path

from msgspec import Struct

from tracelens.derive.kernels.attention_families import ATTENTION
from tracelens.derive.kernels.bound_call import (
    Bound,
    Family,
    bind,
    computed_in,
    no_outputs,
    sizes_of,
)
from tracelens.derive.kernels.cache_families import CACHES
from tracelens.derive.kernels.expert_families import EXPERTS
from tracelens.derive.kernels.index_families import INDEXED, scattered_elements
from tracelens.derive.kernels.library_families import LIBRARY_FAMILIES
from tracelens.derive.kernels.product_families import PRODUCTS
from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError, are_sizes
from tracelens.derive.kernels.recurrent_families import RECURRENT
from tracelens.derive.kernels.scan_families import SCANS

_SIGNATURES = Path(__file__).with_name("op_signatures.json")
_CUSTOM = Path(__file__).with_name("custom_ops.toml")


class Traffic(Struct, frozen=True):
    """Holds the bytes and operations of a call, and the element type in which it computes."""

    flops: int  # of products only
    operations: int  # of all arithmetic
    least_bytes: int
    dtype: str
    # Attention to a cache has further work per pair of query and key, and per cached token.
    pair_flops: int = 0
    key_bytes: int = 0


def _broadcast(bound: Bound) -> list[int]:
    shapes = [tensor.shape for tensor in bound.all("tw")]
    if bound.value("r") in (1, 2) and not bound.arguments.startswith("ttt"):
        return [1]
    list_role = next(
        (role for role in bound.arguments if role in "lm"),
        None,
    )
    if list_role is not None:
        position = bound.arguments.index(list_role)
        return [sum(tensor.n_elements for tensor in bound.call.tensors(position))]
    if not shapes:
        raise UnknownWorkError
    n_dimensions = max(map(len, shapes))
    padded = [[1] * (n_dimensions - len(shape)) + list(shape) for shape in shapes]
    distinct_sizes = [set(sizes) - {1} for sizes in zip(*padded, strict=True)]
    if any(len(sizes) > 1 for sizes in distinct_sizes):
        raise UnknownWorkError
    n_elements = prod(max(sizes, default=1) for sizes in distinct_sizes)
    return [n_elements] * len(bound.results)


def _reduced(bound: Bound) -> list[int]:
    if bound.arguments[0] in "lm":  # a list has one number per tensor
        return [len(bound.call.tensors(0))]
    shape = bound.nth(0).shape
    dims = bound.value("d")
    dims = [dims] if type(dims) is int else dims
    if dims in (None, []):
        left = 1
    elif isinstance(dims, list) and all(
        type(d) is int and -len(shape) <= d < len(shape) for d in dims
    ):
        kept = {*range(len(shape))} - {d % len(shape) for d in dims}
        left = prod(shape[dim] for dim in kept)
    else:
        raise UnknownWorkError
    return [left] * len(bound.results)


def _like_first(bound: Bound) -> list[int]:
    return bound.like(bound.nth(0))


def _filled(bound: Bound) -> list[int]:
    filled = bound.all("womn")
    if not filled:
        raise UnknownWorkError
    return [sum(tensor.n_elements for tensor in filled)]


def _channels(bound: Bound, shape: Sequence[int]) -> int:
    """Return the number of weights of a normalisation of a tensor of this shape."""
    sizes = bound.value("z")
    if are_sizes(sizes) and sizes:
        return prod(sizes)
    if len(shape) < 2:
        raise UnknownWorkError
    return shape[1]


def _normalised(bound: Bound) -> list[int]:
    """Count the elements of the result, of the means, and of the standard deviations."""
    x = bound.nth(0)
    channels = _channels(bound, x.shape)
    n_statistics = x.n_elements // max(channels, 1) if bound.value("z") else channels
    if type(groups := bound.value("g")) is int:
        n_statistics = x.shape[0] * groups
    return [
        x.n_elements,
        *[n_statistics] * min(len(bound.results) - 1, 2),
    ]


def _normalised_backward(bound: Bound) -> list[int]:
    """Count the elements of each requested gradient among input, weights and bias."""
    x = bound.nth(0)
    channels = _channels(bound, x.shape)
    sizes = [x.n_elements, channels, channels][: len(bound.results)]
    mask = bound.value("x")
    are_asked = mask if isinstance(mask, list) and len(mask) >= len(sizes) else [True] * 3
    return [size for size, is_asked in zip(sizes, are_asked, strict=False) if is_asked]


def _joined(bound: Bound) -> list[int]:
    return [sum(tensor.n_elements for tensor in bound.all("tl"))]


def _pooled(bound: Bound) -> list[int]:
    shape = bound.nth(0).shape
    sizes = bound.value("O")
    factors = bound.value("f")
    if are_sizes(sizes) and sizes:
        pooled = sizes
    elif isinstance(factors, list) and factors and all(type(f) in (int, float) for f in factors):
        if len(factors) > len(shape):
            raise UnknownWorkError
        last_sizes = shape[-len(factors) :]
        scaled = zip(last_sizes, factors, strict=True)
        pooled = [int(size * factor) for size, factor in scaled]
    else:
        pooled = _windows(bound, shape)
    kept = shape[: -len(pooled)]
    return [prod(kept) * prod(pooled)] * len(bound.results)


def _windows(bound: Bound, shape: Sequence[int]) -> list[int]:
    """Return the number of pooling windows along each of the last dimensions."""
    kernel_size = bound.value("k")
    if not are_sizes(kernel_size) or not kernel_size or len(shape) < len(kernel_size):
        raise UnknownWorkError
    n = len(kernel_size)
    strides = bound.sizes("s", n) or kernel_size
    paddings = bound.sizes("p", n) or [0] * n
    dilations = bound.sizes("a", n) or [1] * n
    if not all(strides):
        raise UnknownWorkError
    is_ceil_mode = bound.value("c") is True
    n_windows = []
    for size, length, stride, padding, dilation in zip(
        shape[-n:],
        kernel_size,
        strides,
        paddings,
        dilations,
        strict=True,
    ):
        room = size + 2 * padding - dilation * (length - 1) - 1
        if not is_ceil_mode:
            n_windows.append(room // stride + 1)
            continue
        n_steps = -(-room // stride)
        # A window that would begin in the padding after the input is left out.
        is_beyond = n_steps * stride >= size + padding
        n_windows.append(n_steps + 1 - is_beyond)
    return n_windows


def _pooled_backward(bound: Bound) -> list[int]:
    sizes = bound.value("I")
    return [prod(sizes)] if are_sizes(sizes) and sizes else [bound.nth(1).n_elements]


def _pooled_backward_reads(bound: Bound) -> int:
    """Return the bytes of the gradient and the indices, without the input."""
    gradient, *others = bound.all("t")
    return gradient.n_bytes + sum(tensor.n_bytes for tensor in others[1:])


def _dropped(bound: Bound) -> list[int]:
    return [bound.nth(0).n_elements] * 2


def _best(bound: Bound) -> list[int]:
    """Return the number of elements of topk's values and of its indices."""
    shape, n_best, dim = bound.nth(0).shape, bound.value("q"), bound.value("d")
    if type(n_best) is not int or type(dim) is not int or not -len(shape) <= dim < len(shape):
        raise UnknownWorkError
    return [prod(shape) // max(shape[dim], 1) * n_best] * len(bound.results)


def _padded(bound: Bound) -> list[int]:
    """Return the number of elements after padding. Paddings are listed from the last dimension."""
    x, pads = bound.nth(0).shape, bound.value("p")
    if not isinstance(pads, list) or not pads or len(pads) % 2 or len(x) < len(pads) // 2:
        raise UnknownWorkError
    n = len(pads) // 2
    added = [sum(pads[2 * dim : 2 * dim + 2]) for dim in reversed(range(n))]
    out = [size + more for size, more in zip(x[-n:], added, strict=True)]
    return [prod(x[:-n]) * prod(out)]


def _sampled(bound: Bound) -> list[int]:
    """Return the number of samples: each channel of an image at each point of the image's grid."""
    x, grid = bound.nth(0).shape, bound.nth(1).shape
    return [prod(x[:2]) * prod(grid[1:-1])]


def _halved(bound: Bound) -> list[int]:
    return [bound.nth(0).n_elements // 2]


FAMILIES: Mapping[str, Family] = {
    "elementwise": Family(_broadcast, 1),
    "copy": Family(_broadcast, is_filled=True),
    "fill": Family(_filled, reads=lambda _: 0, is_filled=True),
    "reduction": Family(_reduced, 1),
    "scan": Family(_like_first, 1),
    "rearranged": Family(_like_first, backward=1),
    "softmax": Family(_like_first, 5),
    "normalisation": Family(_normalised, 7),
    "normalisation_backward": Family(_normalised_backward),
    "joined": Family(_joined),
    "pooling": Family(_pooled, 1),
    "pooling_backward": Family(_pooled_backward, reads=_pooled_backward_reads),
    "dropout": Family(_dropped, 2),
    "best": Family(_best),
    "padded": Family(_padded),
    "sampled": Family(_sampled),
    "sampled_backward": Family(sizes_of(1, 2)),
    "halved": Family(_halved, 2),
    "halved_backward": Family(sizes_of(1), 4),
    "read_only": Family(no_outputs),
    "optimizer": Family(no_outputs, 12),
    "update": Family(no_outputs),
    "merged": Family(sizes_of(0, 1)),
    "added_norm": Family(sizes_of(0, 1), 7),
    "rotated": Family(sizes_of(0, 1), backward=1),
    **INDEXED,
    **PRODUCTS,
    **EXPERTS,
    **ATTENTION,
    **RECURRENT,
    **LIBRARY_FAMILIES,
    **CACHES,
    **SCANS,
}
"""The families by their names in op_signatures.json and custom_ops.toml.

An op of `read_only` has results of few elements or of unknown size. An op of `update` returns only
its arguments. An op of `merged` has two results, each as large as the input at the same position.
"""


@cache
def signatures() -> Mapping[str, tuple[str, Sequence[str]]]:
    """Return the family and the signatures of each op in the catalogue, by the op's name."""
    by_op: dict[str, list[str]] = json.loads(_SIGNATURES.read_text(encoding="utf-8"))["ops"]
    by_op |= tomllib.loads(_CUSTOM.read_text(encoding="utf-8"))["ops"]
    return {op: (row[0], row[1:]) for op, row in by_op.items()}


def backward_factor(op: str) -> float | None:
    """Return the work of an autograd function's backward pass, as a multiple of the forward pass.

    Return None for an op with a namespace, and for a function that is not in the catalogue.
    """
    known = None if "::" in op else signatures().get(op)
    return None if known is None else FAMILIES[known[0]].backward


def traffic_of(family: Family, known: Sequence[str], call: RecordedCall) -> Traffic:
    """Return the operations and the least bytes of a call, given the op's known signatures.

    Raises UnknownWorkError if the inputs fit no signature or have no recorded sizes.
    """
    bound = bind(known, call)
    kind, width = computed_in(bound, by_first=family.flops is not None)
    dtype = family.dtype or kind
    outputs = family.outputs(bound)
    if family.reads is not None:
        read_bytes = family.reads(bound)
    else:
        roles = "tl" if family.is_filled else "twlme"
        read_bytes = sum(tensor.n_bytes for tensor in bound.all(roles))
    least_bytes = read_bytes + _written_bytes(family, bound, outputs, width)
    sizes = [tensor.n_elements for tensor in bound.all("twlm")]
    if family.flops is not None:
        flops = family.flops(bound)
        pair_flops, key_bytes = (0, 0) if family.cache is None else family.cache(bound)
        needed = flops if family.needed is None else family.needed(bound)
        return Traffic(flops, needed, least_bytes, dtype, pair_flops, key_bytes)
    if not isinstance(family.operations, int):
        return Traffic(0, family.operations(bound), least_bytes, dtype)
    in_lists = sum(tensor.n_elements for tensor in bound.all("m"))
    largest = max([*sizes, *outputs, in_lists], default=0)
    return Traffic(0, family.operations * largest, least_bytes, dtype)


def _written_bytes(
    family: Family,
    bound: Bound,
    outputs: Sequence[int],
    width: int,
) -> int:
    """Return the bytes that a call writes into its arguments or into new results.

    `outputs` has the elements of each result, `width` the bytes per element.
    """
    changed = bound.all("wm")
    given_results = bound.all("on")
    if changed and family.outputs is not scattered_elements:
        return sum(tensor.n_bytes for tensor in changed)
    if given_results and not bound.results:
        return sum(tensor.n_bytes for tensor in given_results)
    width_of_kind = {"i": 8, "b": 1, "f": max(width, 4)}
    widths = [width_of_kind.get(letter, width) for letter in bound.results] or [width]
    widths += widths[-1:] * len(outputs)
    given_widths = [tensor.width for tensor in given_results]
    widths[: len(given_widths)] = given_widths[: len(widths)]
    return sum(n * each for n, each in zip(outputs, widths, strict=False))
