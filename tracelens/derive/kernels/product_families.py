"""Families of products and attention of other libraries than torch."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family
from tracelens.derive.kernels.recorded_call import UnknownWorkError


def _sizes(bound: Bound) -> tuple[int, int, int]:
    """Return rows, columns and the length of sums of a product of the first two tensors.

    The second one is given as it is, or transposed: the side as long as the first's rows is summed.
    """
    left, right = bound.nth(0).shape, bound.nth(1).shape
    if len(left) < 2 or len(right) != 2 or left[-1] not in right:
        raise UnknownWorkError
    columns = right[1] if right[0] == left[-1] else right[0]
    return prod(left[:-1]), columns, left[-1]


def _product(bound: Bound) -> int:
    rows, columns, summed = _sizes(bound)
    return 2 * rows * columns * summed


def _result(bound: Bound) -> list[int]:
    rows, columns, _ = _sizes(bound)
    return [rows * columns]


def _product_of_pairs(bound: Bound) -> int:
    """Return the operations where a byte holds two numbers of four bits along the sums."""
    return 2 * _product(bound)


def _product_of_sizes(bound: Bound) -> int:
    """Return the operations of a product whose weights are packed, from its sizes."""
    sizes = [bound.value(role) for role in "123"]
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise UnknownWorkError
    return int(2 * prod(sizes))


def _result_of_sizes(bound: Bound) -> list[int]:
    return [_product_of_sizes(bound) // 2 // max(bound.value("3"), 1)]


def _experts(bound: Bound) -> int:
    """Return the operations of experts: tokens, both weights of all experts, chosen experts."""
    tokens, first, second, chosen = (bound.nth(n).shape for n in range(4))
    if not len(first) == len(second) == 3 or len(tokens) != 2 or len(chosen) != 2:
        raise UnknownWorkError
    return 2 * prod(chosen) * (prod(first[1:]) + prod(second[1:]))


def _experts_read(bound: Bound) -> int:
    """Return the bytes of the tokens and of as many experts as can be chosen."""
    _experts(bound)
    tokens, first, second, chosen = (bound.nth(n) for n in range(4))
    n_experts = max(first.shape[0], 1)
    n_read = min(n_experts, chosen.n_elements)
    weights = (first.n_bytes + second.n_bytes) // n_experts * n_read
    return tokens.n_bytes + weights + 2 * chosen.n_bytes


def _first(bound: Bound) -> list[int]:
    return [bound.nth(0).n_elements] if bound.results else []


def _attention(bound: Bound) -> int:
    """Return the operations of queries, keys and values of (batch, length, heads, width)."""
    q, k, v = (bound.nth(n).shape for n in range(3))
    if not len(q) == len(k) == len(v) == 4 or q[0] != k[0] or q[3] != k[3]:
        raise UnknownWorkError
    flops = 2 * prod(q[:3]) * k[1] * (q[3] + v[3])
    return flops // 2 if bound.value("C") is True and q[1] == k[1] else flops


def _attention_backward(bound: Bound) -> int:
    """Return the operations of the gradients, which come after that of the result."""
    q, k, v = (bound.nth(n).shape for n in range(1, 4))
    if not len(q) == len(k) == len(v) == 4 or q[0] != k[0] or q[3] != k[3]:
        raise UnknownWorkError
    flops = 2 * prod(q[:3]) * k[1] * (3 * q[3] + 2 * v[3])
    return flops // 2 if bound.value("C") is True and q[1] == k[1] else flops


def _attention_of_lengths(bound: Bound) -> int:
    """Return the fewest operations of requests of any lengths, one after the other.

    Queries, keys and values are (tokens, heads, width). Lengths are values of a tensor, which are
    not recorded; of as many requests as cu_seqlens tells, equally long ones take the fewest.
    """
    q, k, v, ends = (bound.nth(n).shape for n in range(4))
    if not len(q) == len(k) == len(v) == 3 or q[0] != k[0] or len(ends) != 1 or ends[0] < 2:
        raise UnknownWorkError
    flops = 2 * prod(q[:2]) * k[0] * (q[2] + v[2]) // (ends[0] - 1)
    return flops // 2 if bound.value("C") is True else flops


def _attended(bound: Bound) -> list[int]:
    return [bound.nth(0).n_elements] if bound.results else []


def _three(bound: Bound) -> list[int]:
    return [bound.nth(n).n_elements for n in range(1, 4)] if bound.results else []


PRODUCTS: Mapping[str, Family] = {
    "product": Family(_result, flops=_product),
    "product_of_pairs": Family(_result, flops=_product_of_pairs),
    "product_of_sizes": Family(_result_of_sizes, flops=_product_of_sizes),
    "experts": Family(_first, reads=_experts_read, flops=_experts),
    "attention": Family(_attended, flops=_attention),
    "attention_backward": Family(_three, flops=_attention_backward),
    "attention_of_lengths": Family(_attended, flops=_attention_of_lengths),
}
"""The families by name."""
