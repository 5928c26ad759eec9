"""Define families of attention in libraries other than torch."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, result_like
from tracelens.derive.kernels.recorded_call import UnknownWorkError


def _attention(bound: Bound) -> int:
    """Return the FLOPs of attention with inputs of (batch, length, heads, width)."""
    flops_per_width, width, value_width = _attention_sizes(bound, first=0)
    return flops_per_width * (width + value_width)


def _attention_backward(bound: Bound) -> int:
    """Return the FLOPs of attention's gradients, if the result's gradient is the first input."""
    flops_per_width, width, value_width = _attention_sizes(bound, first=1)
    return flops_per_width * (3 * width + 2 * value_width)


def _attention_sizes(bound: Bound, first: int) -> tuple[int, int, int]:
    """Return twice the number of query-key pairs, the width of a key, and the width of a value.

    Pairs are counted in every head. A causal mask is assumed to leave half of the pairs. `first` is
    the position of the queries among the inputs.
    """
    queries, keys, values = (bound.nth(first + n).shape for n in range(3))
    if not len(queries) == len(keys) == len(values) >= 4:
        raise UnknownWorkError
    *batch, n_queries, n_heads, width = queries
    *key_batch, n_keys, _, key_width = keys
    if (batch, width) != (key_batch, key_width):
        raise UnknownWorkError
    n_pairs = prod(batch) * n_queries * n_heads * n_keys
    is_causal = _is_causal(bound) and n_queries == n_keys
    return n_pairs if is_causal else 2 * n_pairs, width, values[-1]


def _is_causal(bound: Bound) -> bool:
    """Return whether the mask is causal, recorded as True or as cutlass's numbers 1 and 2."""
    return bound.value("C") in (True, 1, 2)


def _attention_of_either(bound: Bound, first: int = 0) -> int:
    """Return the FLOPs of attention over a batch, or over concatenated requests with cu_seqlens.

    A batch dimension of 1 may precede the tokens of concatenated requests.
    """
    if not bound.all("e"):
        return _attention_backward(bound) if first else _attention(bound)
    return _attention_of_lengths(bound, first)


def _attention_of_either_backward(bound: Bound) -> int:
    return _attention_of_either(bound, first=1)


def _attention_of_lengths(bound: Bound, first: int = 0) -> int:
    """Return the least FLOPs of attention over concatenated requests of unknown lengths.

    Queries, keys and values are (tokens, heads, width). `first` is the position of the queries.
    """
    shapes = [bound.nth(first + n).shape for n in range(3)]
    queries, keys, values = (s[1:] if len(s) == 4 and s[0] == 1 else s for s in shapes)
    ends = bound.all("e")[0].shape
    if not len(queries) == len(keys) == len(values) == 3 or len(ends) != 1:
        raise UnknownWorkError
    n_tokens, n_heads, width = queries
    # The values of cu_seqlens are not recorded, but its size shows the number of requests. Requests
    # of equal length take the least FLOPs.
    n_requests = ends[0] - 1
    if keys[0] != n_tokens or n_requests < 1:
        raise UnknownWorkError
    widths = 3 * width + 2 * values[-1] if first else width + values[-1]
    flops = 2 * n_tokens * n_heads * n_tokens * widths // n_requests
    return flops // 2 if _is_causal(bound) else flops


def _attention_of_lengths_backward(bound: Bound) -> int:
    """Return the least FLOPs of attention's gradients over concatenated requests.

    The first input is the result's gradient.
    """
    return _attention_of_lengths(bound, first=1)


def _attention_in_any_layout(bound: Bound) -> int:
    """Return the least FLOPs of attention, for inputs in any layout with heads and width last."""
    queries, keys, values = (bound.nth(n).shape for n in range(3))
    ends = bound.all("e")[0].shape
    if len({len(queries), len(keys), len(values)}) > 1 or len(queries) not in (3, 4):
        raise UnknownWorkError
    if len(ends) != 1 or ends[0] < 2:
        raise UnknownWorkError
    # The size of cu_seqlens shows the number of requests. Requests of equal length take the least
    # FLOPs. A causal mask is assumed if there are as many queries as keys.
    n_queries, n_keys = prod(queries[:-2]), prod(keys[:-2])
    widths = queries[-1] + values[-1]
    flops = 2 * n_queries * queries[-2] * n_keys * widths // (ends[0] - 1)
    return flops // 2 if n_queries == n_keys else flops


def _pairs_of_lengths(bound: Bound) -> tuple[int, int]:
    """Return the FLOPs per pair of query and key in all heads, and 0 bytes per cached token.

    Keys and values are inputs, so there is no cache.
    """
    queries = bound.nth(0)
    values = bound.nth(2)
    widths = queries.size(-1) + values.size(-1)
    return 2 * queries.size(-2) * widths, 0


def _cached_keys(bound: Bound) -> tuple[int, int]:
    """Return the FLOPs per pair of query and key in all heads, and the bytes per cached token.

    Queries are (…, heads, width). Keys with five dimensions are (blocks, heads, …). Other keys are
    (…, heads, width).
    """
    queries, keys = bound.nth(0).shape, bound.all("K")[0]
    if len(queries) < 3 or len(keys.shape) < 3:
        raise UnknownWorkError
    n_heads = keys.shape[1 if len(keys.shape) == 5 else -2]
    # Values are as wide as keys.
    return 4 * queries[-2] * queries[-1], 2 * n_heads * queries[-1] * keys.width


def _compressed_keys(bound: Bound) -> tuple[int, int]:
    """Return FLOPs and bytes as `_cached_keys` does, for latent attention with a compressed cache.

    The inputs are queries (tokens, heads, width), compressed keys, and rotated parts of the keys.
    """
    queries, row, rotated = (bound.nth(n) for n in range(3))
    if len(queries.shape) < 3:
        raise UnknownWorkError
    width = row.size(-1)
    more = rotated.size(-1)
    pair_flops = 2 * queries.size(-2) * (2 * width + more)
    key_bytes = (width + more) * row.width
    return pair_flops, key_bytes


_ROTATED = 64
"""Width of a key's rotated part in DeepSeek's latent cache. A value has no rotated part."""


def _shared_keys(bound: Bound) -> tuple[int, int]:
    """Return FLOPs and bytes as `_cached_keys` does, for latent attention with one cache tensor.

    A key is a row of the cache, as wide as a query. The value is a part of this row.
    """
    queries = bound.nth(0).shape
    rows = bound.all("K")[0]
    if len(queries) < 3 or len(rows.shape) < 3:
        raise UnknownWorkError
    n_heads, width = queries[-2:]
    if width != rows.shape[-1] or width <= _ROTATED:
        raise UnknownWorkError
    value_width = width - _ROTATED
    flops_of_a_pair = 2 * n_heads * (width + value_width)
    return flops_of_a_pair, width * rows.width


def _own_shared(bound: Bound) -> int:
    return prod(bound.nth(0).shape[:-2]) * _shared_keys(bound)[0]


def _values_of_shared(bound: Bound) -> list[int]:
    queries = bound.nth(0)
    n_queries = prod(queries.shape[:-1])
    width = queries.size(-1) - _ROTATED
    return [n_queries * width]


def _own_pairs(bound: Bound) -> int:
    """Return the FLOPs of attention to a cache if each token attends only to itself."""
    return prod(bound.nth(0).shape[:-2]) * _cached_keys(bound)[0]


def _own_compressed(bound: Bound) -> int:
    return prod(bound.nth(0).shape[:-2]) * _compressed_keys(bound)[0]


def _queries_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes


ATTENTION: Mapping[str, Family] = {
    "attention": Family(result_like(0), flops=_attention, backward=2.5),
    "attention_backward": Family(result_like(1, 2, 3), flops=_attention_backward),
    "attention_of_lengths": Family(
        result_like(0),
        flops=_attention_of_lengths,
        cache=_pairs_of_lengths,
        backward=2.5,
    ),
    "attention_of_either": Family(result_like(0), flops=_attention_of_either, backward=2.5),
    "attention_of_either_backward": Family(
        result_like(1, 2, 3), flops=_attention_of_either_backward
    ),
    "attention_in_any_layout": Family(
        result_like(0),
        flops=_attention_in_any_layout,
        assumed="at least: a mask that leaves half of the pairs is assumed",
        backward=2.5,
    ),
    "attention_of_lengths_backward": Family(
        result_like(1, 2, 3), flops=_attention_of_lengths_backward
    ),
    "attention_to_cache": Family(
        result_like(0),
        reads=_queries_read,
        flops=_own_pairs,
        cache=_cached_keys,
    ),
    "latent_attention": Family(
        result_like(0),
        reads=_queries_read,
        flops=_own_compressed,
        cache=_compressed_keys,
    ),
    "shared_cache": Family(
        _values_of_shared,
        reads=_queries_read,
        flops=_own_shared,
        cache=_shared_keys,
        assumed="values are assumed 64 numbers narrower than keys",
    ),
}
"""The families by their names in op_signatures.json and custom_ops.toml."""
