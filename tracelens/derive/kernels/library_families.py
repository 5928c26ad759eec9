"""Define families of products with packed weights, of experts, and of scans over a state."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import (
    Bound,
    Family,
    no_outputs,
    result_like,
    sizes_of,
)
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError, are_sizes


def _of_role(bound: Bound, role: str) -> Tensor:
    tensors = bound.all(role)
    if not tensors or not tensors[0].shape:
        raise UnknownWorkError
    return tensors[0]


def _by_scales(bound: Bound) -> int:
    """Return the operations of a product with packed weights; the scales have its columns."""
    return 2 * bound.nth(0).n_elements * _of_role(bound, "S").shape[-1]


def _result_by_scales(bound: Bound) -> list[int]:
    summed = max(_of_role(bound, "t").shape[-1], 1)
    return [_by_scales(bound) // 2 // summed]


def _linear(bound: Bound) -> int:
    """Return the operations of a linear layer: input and weights, in either order.

    The summed dimension is last in both; any dimensions may precede.
    """
    first, second = bound.nth(0), bound.nth(1)
    summed = first.shape[-1] if first.shape else 0
    if summed < 1 or second.shape[-1:] != [summed]:
        raise UnknownWorkError
    return 2 * first.n_elements * (second.n_elements // summed)


def _linear_result(bound: Bound) -> list[int]:
    return [_linear(bound) // 2 // bound.nth(0).shape[-1]]


def _by_rows(bound: Bound) -> int:
    """Return the operations of a product with packed weights, whose columns an argument gives."""
    columns = bound.value("2")
    if type(columns) is not int:
        raise UnknownWorkError
    return 2 * bound.nth(1).n_elements * columns


def _result_by_rows(bound: Bound) -> list[int]:
    return [_by_rows(bound) // 2 // max(bound.nth(1).shape[-1], 1)]


def _by_nibbles(bound: Bound) -> int:
    """Return the operations of a product with weights of four bits: two in each byte."""
    x, packed = bound.nth(0), bound.nth(1)
    summed = x.shape[-1] if x.shape else 0
    return 2 * (x.n_elements // max(summed, 1)) * packed.n_elements * 2 * packed.width


def _result_by_nibbles(bound: Bound) -> list[int]:
    return [_by_nibbles(bound) // 2 // max(bound.nth(0).shape[-1:] or [1])]


def _by_packed_rows(bound: Bound) -> int:
    """Return the operations of a product whose packed weights have a row per result's column."""
    weights = bound.nth(1).shape
    if len(weights) != 2:
        raise UnknownWorkError
    return 2 * bound.nth(0).n_elements * weights[0]


def _result_by_packed_rows(bound: Bound) -> list[int]:
    return [_by_packed_rows(bound) // 2 // max(bound.nth(0).shape[-1:] or [1])]


def _of_streams(bound: Bound) -> int:
    """Return the operations of a product over all dimensions of its input except the first."""
    x, weights = bound.nth(0), bound.nth(1).shape
    if len(weights) != 2 or prod(x.shape[1:]) != weights[1]:
        raise UnknownWorkError
    return 2 * x.n_elements * weights[0]


def _triangular(bound: Bound) -> int:
    """Return the operations of solving triangular systems: half of those of a product."""
    triangle, sides = bound.nth(0), bound.nth(1)
    return sides.n_elements * triangle.shape[-1] if triangle.shape else 0


def _of_expected_rows(bound: Bound) -> int:
    """Return the operations of one product per group; an argument gives a group's expected rows.

    The inputs are (groups, most rows, length) and (groups, columns, length).
    """
    x, weights, n_rows = bound.nth(0).shape, bound.nth(1).shape, bound.value("1")
    if not len(x) == len(weights) == 3 or type(n_rows) is not int:
        raise UnknownWorkError
    return 2 * n_rows * prod(weights)


def _expected_rows_read(bound: Bound) -> int:
    """Return the bytes of all weights, and of the rows that are read and written."""
    x, weights = bound.nth(0), bound.nth(1)
    n_rows = weights.shape[0] * (bound.value("1") or 0)
    of_result = sum(tensor.width for tensor in bound.all("o")) * weights.shape[1]
    return weights.n_bytes + n_rows * (x.shape[-1] * x.width + of_result)


def _by_groups(bound: Bound) -> int:
    """Return the operations of products in groups of rows, whose sizes need not be known.

    Each row of the input meets one of the three-dimensional weights. With a second input of as many
    rows instead, each group of rows is summed to a gradient of weights.
    """
    x, other = bound.nth(0).shape, bound.nth(1).shape
    if len(x) == len(other) == 2 and x[0] == other[0]:
        return 2 * prod(x) * other[1]
    return _rows_of_experts(bound)


def _result_by_groups(bound: Bound) -> list[int]:
    x, other = bound.nth(0).shape, bound.nth(1).shape
    if len(other) == 2:
        return [bound.nth(2).n_elements * x[1] * other[1]]
    return [_rows_of_experts(bound) // 2 // max(x[1], 1)]


def _pairs_of_listed(bound: Bound) -> int:
    """Return the operations of attention to chosen keys, listed for all queries in two tensors.

    Queries are (tokens, heads, width). A key is its own value.
    """
    queries, *lists = (bound.nth(n) for n in range(3))
    if len(queries.shape) != 3:
        raise UnknownWorkError
    n_pairs = sum(chosen.n_elements for chosen in lists)
    return 4 * n_pairs * prod(queries.shape[1:])


def _listed_read(bound: Bound) -> int:
    """Return the bytes of queries, lists, and one row of the cache for each chosen key."""
    queries, *lists = (bound.nth(n) for n in range(3))
    n_chosen = sum(chosen.n_elements for chosen in lists)
    rows = n_chosen * queries.shape[-1] * _of_role(bound, "K").width
    return queries.n_bytes + sum(chosen.n_bytes for chosen in lists) + rows


def _weights_of_groups(bound: Bound) -> list[Tensor]:
    """Return the weights of the groups: matrices whose last size equals that of the first input."""
    summed = bound.nth(0).shape[-1:]
    return [tensor for tensor in _all_tensors(bound)[1:] if tensor.shape[1:] == summed]


def _all_tensors(bound: Bound) -> list[Tensor]:
    """Return the tensors of all inputs, also of those that the signature does not list."""
    places = range(len(bound.call.shapes))
    are_tensors = (place for place in places if bound.call.tensor_type(place) is not None)
    return [tensor for place in are_tensors for tensor in bound.call.tensors(place)]


def _linear_groups(bound: Bound) -> int:
    """Return the operations of linear layers for groups of rows, all of one size."""
    weights = _weights_of_groups(bound)
    if not weights:
        raise UnknownWorkError
    return 2 * bound.nth(0).n_elements * weights[0].shape[0]


def _linear_groups_result(bound: Bound) -> list[int]:
    return [_linear_groups(bound) // 2 // max(bound.nth(0).shape[-1], 1)]


def _linear_groups_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes + sum(weight.n_bytes for weight in _weights_of_groups(bound))


def _of_adapter(bound: Bound) -> int:
    """Return the number of weights of one adapter; its list has (adapters, columns, length)."""
    shapes = bound.call.shapes[bound.arguments.index("L")]
    if not isinstance(shapes, list) or not all(are_sizes(s) and len(s) >= 3 for s in shapes):
        raise UnknownWorkError
    return sum(prod(shape[-2:]) for shape in shapes)


def _adapted(bound: Bound) -> int:
    """Return the operations of one of LoRA's products, for all slices of the layer."""
    return 2 * prod(bound.nth(0).shape[-2:-1]) * _of_adapter(bound)


def _adapted_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes + _of_adapter(bound) * bound.nth(0).width


def _two_linear(bound: Bound) -> int:
    """Return the operations of two successive linear layers: input and both weights."""
    x, *weights = (bound.nth(n) for n in range(3))
    summed = x.shape[-1] if x.shape else 0
    if summed < 1 or any(len(weight.shape) != 2 for weight in weights):
        raise UnknownWorkError
    return 2 * (x.n_elements // summed) * sum(weight.n_elements for weight in weights)


def _rows_of_experts(bound: Bound) -> int:
    """Return the operations of experts' products: each row of the input goes to one expert."""
    x, weights = bound.nth(0).shape, bound.nth(1).shape
    if len(x) != 2 or len(weights) != 3:
        raise UnknownWorkError
    n_in_each = max(x[-1] // max(weights[-1], 1), 1) if x[-1] not in weights[1:] else 1
    return 2 * x[0] * prod(weights[1:]) * n_in_each


def _pairs_of_experts(bound: Bound) -> int:
    """Return the operations of experts' products if each byte holds two of the summed numbers."""
    return 2 * _rows_of_experts(bound)


def _rows_of_experts_read(bound: Bound) -> int:
    """Return the bytes of the input, and of as many experts as there are rows."""
    return _read_with_experts(bound, bound.nth(0).shape[0])


def _read_with_experts(bound: Bound, n_rows: int) -> int:
    x, weights = bound.nth(0), bound.nth(1)
    n_experts = max(weights.shape[0], 1) if weights.shape else 1
    return x.n_bytes + weights.n_bytes // n_experts * min(n_experts, n_rows)


def _experts_of_sizes(bound: Bound) -> int:
    """Return the operations of experts with packed weights, from sizes and experts per token."""
    numbers = [bound.value(role) for role in "123q"]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise UnknownWorkError
    return int(2 * prod(numbers))


def _experts_of_sizes_result(bound: Bound) -> list[int]:
    return [_experts_of_sizes(bound) // 2 // max(bound.value("3"), 1)]


def _experts_of_sizes_read(bound: Bound) -> int:
    return _read_with_experts(bound, bound.value("1") * bound.value("q"))


def _split_keys(bound: Bound) -> tuple[int, int]:
    """Return the FLOPs of one query with one key in all heads, and a token's bytes in the cache.

    In latent attention, queries are (tokens, heads, width), and their rotated part is a separate
    input. A row of the cache is as wide as both together.
    """
    queries, rotated, rows = bound.nth(0).shape, bound.nth(1).shape, _of_role(bound, "K")
    if len(queries) < 3 or rows.shape[-1] != queries[-1] + rotated[-1]:
        raise UnknownWorkError
    return 2 * queries[-2] * (2 * queries[-1] + rotated[-1]), rows.shape[-1] * rows.width


def _own_split(bound: Bound) -> int:
    return prod(bound.nth(0).shape[:-2]) * _split_keys(bound)[0]


def _queries_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes + bound.nth(1).n_bytes


def _taken(bound: Bound) -> int:
    """Return the bytes of the part of a cache that is copied into the result."""
    return sum(tensor.n_elements for tensor in bound.all("o")) * _of_role(bound, "K").width


_OF_SCAN = 9
"""Operations of a selective scan for each number of the state, and for each number of the input.

For the state: exp(Δ a) is a product and a function, Δ b u is two products, updating the state is a
product and a sum, and the output is two more. For the input: the softplus of Δ. VMamba's
flops_selective_scan_fn counts the same (9 B L D N).
"""


def _selective_scan(bound: Bound) -> int:
    """Return the operations of Mamba's scan of u, delta and A, which is (channels, states)."""
    rates = bound.nth(2).shape
    if len(rates) != 2:
        raise UnknownWorkError
    return _OF_SCAN * bound.nth(0).n_elements * rates[1]


def _short_convolution(bound: Bound) -> int:
    """Return the operations of a convolution of each channel by its own few weights."""
    x, weights = bound.nth(0), bound.nth(1).shape
    if len(weights) != 2:
        raise UnknownWorkError
    return 2 * x.n_elements * weights[1]


def _chunk_scan(bound: Bound, *, causal: bool = False) -> int:
    """Return the operations of Mamba 2's scan in chunks (Dao and Gu 2024, section 6).

    x is (batch, length, heads, width), b is (batch, length, groups, states).
    """
    x, b, chunk = bound.nth(0).shape, bound.nth(3).shape, bound.value("q")
    if len(x) != 4 or len(b) != 4 or type(chunk) is not int:
        raise UnknownWorkError
    batch, length, n_heads, width = x
    n_groups, n_states = b[2:]
    return batch * length * _of_a_token(chunk, n_groups, n_states, n_heads * width, causal)


def _of_a_token(chunk: int, n_groups: int, n_states: int, n_inner: int, causal: bool) -> int:
    """Return the operations of Mamba 2's scan for one token.

    In a chunk, c is multiplied by b, and their product by x; half of that product lies above the
    diagonal and is not needed, if `causal`. Each chunk's x is added to its state, and c reads the
    state of the chunk before.
    """
    inside = chunk * (n_groups * n_states + n_inner)
    return inside * (1 if causal else 2) + 4 * n_inner * n_states


def _needed_chunk_scan(bound: Bound) -> int:
    return _chunk_scan(bound, causal=True)


def _split_scan(bound: Bound, *, causal: bool = False) -> int:
    """Return the operations of Mamba 2's short convolution and scan, as one function computes them.

    Its inputs are one projection (batch, length, all channels), and the convolution's weights,
    whose rows are the channels of x, b and c. D (S) has one number per head.
    """
    (batch, length, _), (n_channels, reach) = bound.nth(0).shape, bound.nth(1).shape
    n_inner, (chunk, n_groups) = _n_inner(bound), (bound.value(role) for role in "qg")
    if type(chunk) is not int or type(n_groups) is not int or n_groups < 1:
        raise UnknownWorkError
    n_states = (n_channels - n_inner) // 2 // n_groups
    scan = _of_a_token(chunk, n_groups, n_states, n_inner, causal)
    return batch * length * (2 * n_channels * reach + scan)


def _needed_split_scan(bound: Bound) -> int:
    return _split_scan(bound, causal=True)


def _n_inner(bound: Bound) -> int:
    """Return the channels of x: the number of heads times the width of one."""
    width = bound.value("h")
    if type(width) is not int:
        raise UnknownWorkError
    return _of_role(bound, "S").shape[0] * width


def _split_scan_result(bound: Bound) -> list[int]:
    """Return the elements of the result; a last argument may project it (outproj_weight)."""
    return [prod(bound.nth(0).shape[:2]) * _n_inner(bound)]


def _gated_delta(bound: Bound) -> int:
    """Return the operations of a gated delta rule, token by token.

    The result is (tokens, heads, width). A head's state is as wide for keys as for values. Each
    number of the state takes seven operations: one product for its decay, and a product and a sum
    each to read it by the key, to change it, and to read it by the query.
    """
    result = bound.all("o")
    if not result or len(result[0].shape) != 3:
        raise UnknownWorkError
    return 7 * result[0].n_elements * result[0].shape[-1]


_CHUNK = 64
"""Tokens in a chunk of flash-linear-attention's kernels (chunk_size of its ops)."""


def _in_chunks(bound: Bound, of_state: int, of_keys: int, of_values: int) -> int:
    """Return the operations of attention to a state, computed in chunks.

    Keys are (batch, length, heads, width), values likewise, with as many heads or more. A token
    takes products of key by value with the state of its head. In its chunk it meets the tokens
    before, half of them on average, in products of keys and of values.
    """
    keys, values = bound.nth(1).shape, bound.nth(2).shape
    if len(keys) != 4 or len(values) != 4 or keys[:2] != values[:2]:
        raise UnknownWorkError
    width, value_width = keys[-1], values[-1]
    inside = _CHUNK * (of_keys * width + of_values * value_width)
    return prod(values[:-1]) * (2 * of_state * width * value_width + inside)


def _linear_attention(bound: Bound) -> int:
    """Return the operations of gated linear attention (Yang and others 2023, 2312.06635).

    A token adds k v to the state, and q reads the state. Within a chunk, q is multiplied by k, and
    the result by v.
    """
    return _in_chunks(bound, of_state=2, of_keys=1, of_values=1)


def _delta_rule(bound: Bound) -> int:
    """Return the operations of the delta rule in chunks (Yang and others 2024, 2412.06464).

    The state takes part in three products per token: what it holds for the key is subtracted from
    the value, the result is added to it, and the query reads it. Within a chunk, three products are
    as wide as a key (k kᵀ, w, q kᵀ), and two as wide as a value (u, and q kᵀ times v).
    """
    return _in_chunks(bound, of_state=3, of_keys=3, of_values=2)


def _recurrent(bound: Bound) -> int:
    """Return the least operations of a linear recurrence, token by token.

    Queries are (batch, length, heads, width), values likewise. A token's key and value are added to
    the state of its head, and its query reads the state: each is a product and a sum for each
    number of the state.
    """
    queries, values = bound.nth(0).shape, bound.nth(2).shape
    if len(queries) != 4 or len(values) != 4:
        raise UnknownWorkError
    return 4 * prod(values) * queries[-1]


def _all_read(bound: Bound) -> int:
    return sum(tensor.n_bytes for tensor in _all_tensors(bound))


LIBRARY_FAMILIES: Mapping[str, Family] = {
    "product_by_scales": Family(_result_by_scales, flops=_by_scales),
    "product_by_rows": Family(_result_by_rows, flops=_by_rows),
    "product_by_nibbles": Family(_result_by_nibbles, flops=_by_nibbles),
    "product_by_packed_rows": Family(_result_by_packed_rows, flops=_by_packed_rows),
    "product_of_streams": Family(no_outputs, flops=_of_streams),
    "product_by_groups": Family(_result_by_groups, flops=_by_groups),
    "triangular": Family(result_like(1), flops=_triangular),
    "product_of_expected_rows": Family(
        no_outputs,
        reads=_expected_rows_read,
        flops=_of_expected_rows,
        assumed="groups are assumed to have as many rows as expected_m tells",
    ),
    "attention_to_listed": Family(result_like(0), reads=_listed_read, flops=_pairs_of_listed),
    "linear": Family(_linear_result, flops=_linear),
    "linear_groups": Family(_linear_groups_result, reads=_linear_groups_read, flops=_linear_groups),
    "adapted": Family(
        no_outputs,
        reads=_adapted_read,
        flops=_adapted,
        assumed="all tokens are taken to have one adapter, the same",
    ),
    "two_linear": Family(result_like(0), flops=_two_linear),
    "rows_of_experts": Family(no_outputs, reads=_rows_of_experts_read, flops=_rows_of_experts),
    "pairs_of_experts": Family(
        no_outputs, reads=_rows_of_experts_read, flops=_pairs_of_experts, dtype="float4"
    ),
    "experts_of_sizes": Family(
        _experts_of_sizes_result, reads=_experts_of_sizes_read, flops=_experts_of_sizes
    ),
    "split_cache": Family(no_outputs, reads=_queries_read, flops=_own_split, cache=_split_keys),
    "taken": Family(no_outputs, reads=_taken),
    "selective_scan": Family(result_like(0), _selective_scan),
    "short_convolution": Family(result_like(0), _short_convolution),
    "chunk_scan": Family(result_like(0), flops=_chunk_scan, needed=_needed_chunk_scan),
    "split_scan": Family(_split_scan_result, flops=_split_scan, needed=_needed_split_scan),
    "gated_delta": Family(
        no_outputs,
        flops=_gated_delta,
        assumed="at least: keys are assumed as wide as values, and the state is not counted as read",
    ),
    "delta_rule": Family(
        sizes_of(2), flops=_delta_rule, assumed="chunks are assumed to have 64 tokens"
    ),
    "linear_attention": Family(
        sizes_of(2), flops=_linear_attention, assumed="chunks are assumed to have 64 tokens"
    ),
    "recurrent": Family(
        sizes_of(2),
        _recurrent,
        reads=_all_read,
        assumed="at least: what a state forgets is not counted",
    ),
    "unseen_state": Family(
        no_outputs, assumed="at least: the size of the state that is kept is not recorded"
    ),
}
"""The families by name.

`taken` is for ops that copy a part of a cache (K) into the result.
"""
