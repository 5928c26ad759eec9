"""Define families of mixtures of experts."""

from collections.abc import Mapping, Sequence
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, no_outputs, result_like
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError


def _experts(bound: Bound) -> int:
    """Return the FLOPs of a mixture of experts that multiply tokens by two matrices each."""
    tokens, first, second, chosen = (tensor.shape for tensor in _parts_of_experts(bound))
    n_weights = _each(first) + _each(second)
    return 2 * prod(chosen) * n_weights * _packed(tokens, first)


def _parts_of_experts(bound: Bound) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the inputs of a mixture of experts: tokens, first weights, second weights, choices."""
    inputs = bound.all("tw")
    # Weights have three dimensions, tokens and chosen experts have two.
    weights = [tensor for tensor in inputs if len(tensor.shape) == 3]
    others = [tensor for tensor in inputs if len(tensor.shape) == 2]
    if len(weights) < 2 or len(others) < 2:
        raise UnknownWorkError
    return others[0], weights[0], weights[1], others[1]


def _experts_read(bound: Bound) -> int:
    """Return the bytes read by a mixture of experts: tokens, choices, weights of used experts."""
    tokens, first, second, chosen = _parts_of_experts(bound)
    n_experts = max(first.size(0), 1)
    # At most one expert per choice.
    n_read = min(n_experts, chosen.n_elements)
    weights = (first.n_bytes + second.n_bytes) // n_experts * n_read
    return tokens.n_bytes + weights + 2 * chosen.n_bytes


def _chosen_experts(bound: Bound) -> int:
    """Return the FLOPs of experts. An argument is the number of experts per token."""
    tokens = bound.nth(0).shape
    first, second = (tensor.shape for tensor in bound.all("t")[-2:])
    n_weights = (_each(first) + _each(second)) * _packed(tokens, first)
    return 2 * prod(tokens[:1]) * _n_chosen(bound) * n_weights


def _chosen_experts_of_pairs(bound: Bound) -> int:
    """Return the FLOPs of experts if each byte of tokens and weights holds two numbers."""
    return 2 * _chosen_experts(bound)


def _packed(tokens: Sequence[int], weights: Sequence[int]) -> int:
    """Return how many numbers an element of the weights holds, such as two per byte."""
    if not tokens or not weights:
        raise UnknownWorkError
    per_element = tokens[-1] // max(weights[-1], 1)
    return max(per_element, 1)


def _one_product_of_experts(bound: Bound) -> int:
    """Return the FLOPs of a product that multiplies each row by one expert's weight matrix."""
    x, weights = bound.nth(0).shape, bound.nth(1).shape
    return 2 * _rows_of_experts(bound) * _each(weights) * _packed(x, weights)


def _rows_of_experts(bound: Bound) -> int:
    """Return the number of rows that experts multiply: tokens times experts per token."""
    x = bound.nth(0)
    result = bound.all("o")[0]
    # A result or input of three dimensions is (tokens, experts per token, width).
    for shape in (result.shape, x.shape):
        if len(shape) == 3:
            return prod(shape[:2])
    return x.size(0) * _n_chosen(bound)


def _one_product_of_experts_read(bound: Bound) -> int:
    """Return the bytes of the input, and of the weights of at most one expert per row."""
    x = bound.nth(0)
    weights = bound.nth(1)
    n_experts = max(weights.size(0), 1)
    expert_bytes = weights.n_bytes // n_experts
    n_read = min(n_experts, _rows_of_experts(bound))
    return x.n_bytes + expert_bytes * n_read


def _unseen_experts(bound: Bound) -> int:
    """Return the FLOPs of gated experts with hidden layers assumed to be as wide as tokens."""
    tokens = bound.nth(0).shape
    if bound.call.experts is None or len(tokens) != 2:
        raise UnknownWorkError
    return 6 * prod(tokens) * tokens[1] * bound.call.experts[0]


def _unseen_experts_read(bound: Bound) -> int:
    """Return the bytes read by a mixture of experts: tokens, scores, weights of used experts."""
    tokens, scores = bound.nth(0), bound.nth(1)
    if bound.call.experts is None:
        raise UnknownWorkError
    n_chosen, width = bound.call.experts
    # At most one expert per choice of a token.
    n_read = min(
        scores.shape[-1],
        tokens.size(0) * n_chosen,
    )
    return tokens.n_bytes + scores.n_bytes + int(n_read * 3 * tokens.shape[1] ** 2 * width)


def _each(weights: Sequence[int]) -> int:
    if len(weights) != 3:
        raise UnknownWorkError
    return prod(weights[1:])


def _n_chosen(bound: Bound) -> int:
    n_chosen = bound.value("q")
    if type(n_chosen) is not int or n_chosen < 1:
        raise UnknownWorkError
    return n_chosen


def _chosen_experts_read(bound: Bound) -> int:
    """Return the bytes read by a mixture of experts: tokens and weights of used experts."""
    tokens, first, second = bound.nth(0), *bound.all("t")[-2:]
    n_experts = max(first.size(0), 1)
    # At most one expert per choice of a token.
    n_read = min(n_experts, tokens.size(0) * _n_chosen(bound))
    return tokens.n_bytes + (first.n_bytes + second.n_bytes) // n_experts * n_read


EXPERTS: Mapping[str, Family] = {
    "experts": Family(result_like(0), reads=_experts_read, flops=_experts),
    "unseen_experts": Family(
        result_like(0),
        reads=_unseen_experts_read,
        flops=_unseen_experts,
        assumed="experts are assumed gated and as wide as the hidden size",
    ),
    "product_of_experts": Family(
        no_outputs, reads=_one_product_of_experts_read, flops=_one_product_of_experts
    ),
    "chosen_experts": Family(result_like(0), reads=_chosen_experts_read, flops=_chosen_experts),
    "chosen_experts_of_pairs": Family(
        no_outputs, reads=_chosen_experts_read, flops=_chosen_experts_of_pairs, dtype="float4"
    ),
}
"""The families by their names in op_signatures.json and custom_ops.toml."""
