"""Define families of linear recurrences: Mamba's scans, delta rules and linear attention."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, no_outputs, result_like, sizes_of
from tracelens.derive.kernels.recorded_call import UnknownWorkError

_OF_SCAN = 9
"""Operations of a selective scan per token, channel and state.

exp(Δ a) is a product and a function, Δ b u is two products, updating the state is a product and a
sum, and the output is a product and a sum. One operation is for the softplus of Δ. VMamba's
flops_selective_scan_fn counts 9, too.
"""


def _selective_scan(bound: Bound) -> int:
    """Return the operations of Mamba's scan of u, delta and A.

    A is (channels, states).
    """
    rates = bound.nth(2).shape
    if len(rates) != 2:
        raise UnknownWorkError
    return _OF_SCAN * bound.nth(0).n_elements * rates[1]


def _inner_scan(bound: Bound) -> int:
    """Return the operations of Mamba's scan of one tensor that holds both x and z.

    The second input is A, (channels, states).
    """
    rates = bound.nth(1).shape
    if len(rates) != 2:
        raise UnknownWorkError
    return _OF_SCAN * bound.nth(0).n_elements // 2 * rates[1]


def _short_convolution(bound: Bound) -> int:
    """Return the operations of a short depthwise convolution.

    Weights are (channels, width).
    """
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


def _of_a_token(
    chunk: int,
    n_groups: int,
    n_states: int,
    n_inner: int,
    causal: bool,
) -> int:
    """Return the operations of Mamba 2's scan for one token.

    With `causal`, the products above the diagonal are left out.
    """
    # In a chunk, c is multiplied by b, and the result by x. Each chunk's x is added to the chunk's
    # state, and c is multiplied by the state of the previous chunk.
    inside = chunk * (n_groups * n_states + n_inner)
    return inside * (1 if causal else 2) + 4 * n_inner * n_states


def _needed_chunk_scan(bound: Bound) -> int:
    return _chunk_scan(bound, causal=True)


def _split_scan(bound: Bound, *, causal: bool = False) -> int:
    """Return the operations of Mamba 2's fused short convolution and scan.

    The first input is a projection (batch, length, all channels). The second input has the weights
    of the convolution, with one row per channel of x, b and c.
    """
    projection = bound.nth(0).shape
    weights = bound.nth(1).shape
    if len(projection) != 3 or len(weights) != 2:
        raise UnknownWorkError
    batch, length, _ = projection
    n_channels, reach = weights
    n_inner = _n_inner(bound)
    chunk = bound.value("q")
    n_groups = bound.value("g")
    if type(chunk) is not int or type(n_groups) is not int or n_groups < 1:
        raise UnknownWorkError
    n_states = (n_channels - n_inner) // 2 // n_groups
    convolution = 2 * n_channels * reach
    scan = _of_a_token(chunk, n_groups, n_states, n_inner, causal)
    return batch * length * (convolution + scan)


def _needed_split_scan(bound: Bound) -> int:
    return _split_scan(bound, causal=True)


def _n_inner(bound: Bound) -> int:
    """Return the number of channels of x: the number of heads times the width of a head."""
    width = bound.value("h")
    if type(width) is not int:
        raise UnknownWorkError
    return bound.first("S").shape[0] * width


def _split_scan_result(bound: Bound) -> list[int]:
    """Return the number of elements of the result before a projection by outproj_weight."""
    return [prod(bound.nth(0).shape[:2]) * _n_inner(bound)]


def _gated_delta(bound: Bound) -> int:
    """Return the operations of a gated delta rule, token by token.

    The result is (tokens, heads, width).
    """
    result = bound.all("o")
    if not result or len(result[0].shape) != 3:
        raise UnknownWorkError
    # A head's state is (width, width). Each of its numbers takes seven operations: a product for
    # the decay, and a product and a sum each for the key, the update and the query.
    return 7 * result[0].n_elements * result[0].shape[-1]


_CHUNK = 64
"""Tokens per chunk in the kernels of flash-linear-attention (chunk_size of its ops)."""


def _in_chunks(bound: Bound, of_state: int, of_keys: int, of_values: int) -> int:
    """Return the operations of linear attention in chunks.

    The caller counts the products of three kinds:

    - `of_state`: per token, products with a head's state, a matrix of (key width, value width)
    - `of_keys`: per pair of tokens in a chunk, products of vectors as wide as a key
    - `of_values`: per pair of tokens in a chunk, products of vectors as wide as a value

    Keys and values are (batch, length, heads, width).
    """
    keys, values = bound.nth(1).shape, bound.nth(2).shape
    if len(keys) != 4 or len(values) != 4 or keys[:2] != values[:2]:
        raise UnknownWorkError
    width, value_width = keys[-1], values[-1]
    # On average, a token is in pairs with half of a chunk, the earlier tokens. Each product takes
    # two operations.
    inside = _CHUNK * (of_keys * width + of_values * value_width)
    return prod(values[:-1]) * (2 * of_state * width * value_width + inside)


def _linear_attention(bound: Bound) -> int:
    """Return the operations of gated linear attention (Yang and others 2023, 2312.06635)."""
    # k v is added to the state, and q multiplied by it. In a chunk, q is multiplied by k, and this
    # by v.
    return _in_chunks(bound, of_state=2, of_keys=1, of_values=1)


def _delta_rule(bound: Bound) -> int:
    """Return the operations of the delta rule in chunks (Yang and others 2024, 2412.06464)."""
    # With the state: the key, the update, the query. In a chunk: k kᵀ, w and q kᵀ are as wide as a
    # key; u and q kᵀ v as wide as a value.
    return _in_chunks(bound, of_state=3, of_keys=3, of_values=2)


def _recurrent(bound: Bound) -> int:
    """Return the least operations of a linear recurrence, token by token.

    Queries and values are (batch, length, heads, width).
    """
    queries, values = bound.nth(0).shape, bound.nth(2).shape
    if len(queries) != 4 or len(values) != 4:
        raise UnknownWorkError
    # Each number of a head's state takes a product and a sum to add key times value, and a product
    # and a sum to multiply the query by the state.
    return 4 * prod(values) * queries[-1]


def _all_read(bound: Bound) -> int:
    return sum(tensor.n_bytes for tensor in bound.every())


SCANS: Mapping[str, Family] = {
    "selective_scan": Family(result_like(0), _selective_scan),
    "inner_scan": Family(result_like(0), _inner_scan),
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
"""The families by their names in op_signatures.json and custom_ops.toml."""
