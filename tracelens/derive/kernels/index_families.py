"""Define families of ops that read or write the elements that indices name."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, sizes_of
from tracelens.derive.kernels.recorded_call import UnknownWorkError


def _looked_up(bound: Bound) -> list[int]:
    return [bound.nth(1).n_elements * prod(bound.nth(0).shape[1:])]


def _rows_read(bound: Bound) -> int:
    """Return the bytes of the indices, plus one row per index but at most the whole table."""
    table, indices = bound.nth(0), bound.nth(1)
    n_rows = min(
        indices.n_elements,
        table.shape[0] if table.shape else 0,
    )
    return indices.n_bytes + n_rows * prod(table.shape[1:]) * table.width


def _embedding_gradient(bound: Bound) -> list[int]:
    n_rows, gradient = bound.value("N"), bound.nth(0)
    if type(n_rows) is not int or not gradient.shape:
        raise UnknownWorkError
    return [n_rows * gradient.shape[-1]]


def _gathered(bound: Bound) -> list[int]:
    """Return the number of elements that the call takes from its first tensor, the source.

    Each index takes one element, or a slice if the indices have fewer dimensions than the source.
    """
    source, indices = bound.nth(0), bound.nth(1)
    if len(indices.shape) == len(source.shape):
        return [indices.n_elements]
    dim = bound.value("d")
    if type(dim) is not int or not -len(source.shape) <= dim < len(source.shape):
        raise UnknownWorkError
    return [source.n_elements // max(source.shape[dim], 1) * indices.n_elements]


def _gathered_reads(bound: Bound) -> int:
    return bound.nth(1).n_bytes + _gathered(bound)[0] * bound.nth(0).width


def scattered_elements(bound: Bound) -> list[int]:
    """Return the number of elements that a scatter writes."""
    if "w" not in bound.arguments:
        return [bound.nth(0).n_elements]
    others = bound.all("t")
    if not others:
        raise UnknownWorkError
    # In place, a scatter writes one element per index or per source, whichever are more.
    return [max(tensor.n_elements for tensor in others)]


def _scattered_reads(bound: Bound) -> int:
    inputs = bound.all("tw") if "w" not in bound.arguments else bound.all("t")
    return sum(tensor.n_bytes for tensor in inputs)


def _picked(bound: Bound) -> list[int]:
    """Return the number of elements of each result of nll_loss: the loss and the sum of weights.

    The loss has one element, or one per target if it is not reduced. The sum has one element.
    """
    return [
        bound.nth(1).n_elements if bound.value("r") == 0 else 1,
        1,
    ]


def _picked_reads(bound: Bound) -> int:
    """Return the bytes of the targets, and of one probability per target."""
    scores, target = bound.nth(0), bound.nth(1)
    return target.n_bytes + target.n_elements * scores.width


def _picked_backward_reads(bound: Bound) -> int:
    gradient, _, target, *others = bound.all("t")
    return sum(tensor.n_bytes for tensor in (gradient, target, *others))


def _bags(bound: Bound) -> list[int]:
    """Return the number of elements of an embedding bag's result, one row per bag."""
    return [bound.nth(2).n_elements * prod(bound.nth(0).shape[1:])]


def _bags_read(bound: Bound) -> int:
    return _rows_read(bound) + bound.nth(2).n_bytes


def _indexed(bound: Bound) -> list[int]:
    """Return the number of indexed elements: the size of the indices after `with_indexed`."""
    return [prod(bound.call.shape(1, 1))]


def _indexed_reads(bound: Bound) -> int:
    """Return the bytes of the indexed elements, without the indices."""
    return _indexed(bound)[0] * bound.nth(0).width


INDEXED: Mapping[str, Family] = {
    "embedding": Family(_looked_up, reads=_rows_read),
    "embedding_backward": Family(_embedding_gradient, 1),
    "gather": Family(_gathered, reads=_gathered_reads),
    "indexed": Family(_indexed, reads=_indexed_reads),
    "scatter": Family(scattered_elements, reads=_scattered_reads),
    "picked": Family(_picked, reads=_picked_reads),
    "picked_backward": Family(sizes_of(1), reads=_picked_backward_reads),
    "bags": Family(_bags, 1, reads=_bags_read),
}
"""The families by their names in op_signatures.json and custom_ops.toml."""
