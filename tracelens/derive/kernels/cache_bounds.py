"""Bound the work of attention to contexts whose lengths were not recorded, from above.

A request has at most as many tokens as the cache has room for, and as its row of the block table
has blocks. Both are sizes of the call's inputs.
"""

from math import prod

from tracelens.derive.kernels.bound_call import Bound
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError

_OF_INPUTS = "attention_of_lengths"
"""The family of attention whose keys and values are among the inputs."""
_TENSORS = {"attention_to_cache": 2, "shared_cache": 1, "split_cache": 1, "scores_of_cache": 1}
"""The number of tensors that hold a token's part of the cache, by family."""


def most_of_contexts(family: str, bound: Bound, key_bytes: int) -> tuple[int, int] | None:
    """Return the most pairs of a query and a key, and the most tokens that are read of the cache.

    Each token of the cache is read once, however many requests share it. `key_bytes` are those of a
    token in the whole cache. Return None if no input bounds them.
    """
    n_queries = prod(bound.nth(0).shape[:-2])
    if family == _OF_INPUTS:
        return n_queries * prod(bound.nth(1).shape[:-2]), 0
    caches = bound.all("K")
    if family not in _TENSORS or not caches or not key_bytes:
        return None
    cache = caches[0]
    if len(cache.shape) == 3 and cache.shape[0] == n_queries:
        return None  # these are the keys of the batch's own tokens
    n_tokens = _TENSORS[family] * cache.n_elements * cache.width // key_bytes
    longest = total = n_tokens
    table = _block_table(bound)
    if table is not None:
        n_requests, n_blocks = table.shape
        longest = min(
            n_tokens,
            n_blocks * (n_tokens // max(cache.shape[0], 1)),
        )
        total = min(n_tokens, n_requests * longest)
    return n_queries * longest, total


def _block_table(bound: Bound) -> Tensor | None:
    """Return the table of each request's blocks: the only matrix of integers, if there is one."""
    try:
        inputs = bound.every()
    except UnknownWorkError:
        return None
    tables = [
        tensor for tensor in inputs if tensor.dtype in ("int32", "int64") and len(tensor.shape) == 2
    ]
    return tables[0] if len(tables) == 1 else None
