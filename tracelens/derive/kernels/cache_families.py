"""Define families of ops that access key-value caches or embedding tables."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, no_outputs, result_like
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError


def _flops_of_listed(bound: Bound) -> int:
    """Return the FLOPs of attention in which each query reads only listed keys.

    The first input is the queries, with the shape (tokens, heads, width). The second and the third
    input list the indices of keys.
    """
    queries, *lists = (bound.nth(n) for n in range(3))
    if len(queries.shape) != 3:
        raise UnknownWorkError
    n_pairs = sum(chosen.n_elements for chosen in lists)
    return 4 * n_pairs * prod(queries.shape[1:])


def _listed_read(bound: Bound) -> int:
    """Return the bytes read by attention to chosen keys: queries, indices, a cache row per key."""
    queries, *lists = (bound.nth(n) for n in range(3))
    n_chosen = sum(chosen.n_elements for chosen in lists)
    list_bytes = sum(chosen.n_bytes for chosen in lists)
    key_bytes = queries.size(-1) * bound.first("K").width
    return queries.n_bytes + list_bytes + n_chosen * key_bytes


def _split_keys(bound: Bound) -> tuple[int, int]:
    """Return latent attention's FLOPs per pair of query and key, and the bytes per cached token.

    Queries are (tokens, heads, width). The second input is a further part of each query, which is
    rotated by position. A row of the cache is as long as both parts of a query. FLOPs are for all
    heads.
    """
    queries = bound.nth(0).shape
    rows = bound.first("K")
    if len(queries) < 3:
        raise UnknownWorkError
    *_, n_heads, width = queries
    more = bound.nth(1).size(-1)
    row_length = rows.size(-1)
    if row_length != width + more:
        raise UnknownWorkError
    pair_flops = 2 * n_heads * (2 * width + more)
    return pair_flops, row_length * rows.width


def _n_tokens(bound: Bound) -> int:
    """Return the number of queries in a tensor (tokens, heads, width)."""
    queries = bound.nth(0)
    return prod(queries.shape[:-2])


def _own_split(bound: Bound) -> int:
    pair_flops, _ = _split_keys(bound)
    return _n_tokens(bound) * pair_flops


def _queries_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes + bound.nth(1).n_bytes


def _own_scores(bound: Bound) -> int:
    pair_flops, _ = _scores(bound)
    return _n_tokens(bound) * pair_flops


def _scores(bound: Bound) -> tuple[int, int]:
    """Return the FLOPs of all heads to score a pair of query and key, and the bytes of a key.

    Queries are (tokens, heads, width). A key is a row of the cache, which all heads share.
    """
    queries = bound.nth(0).shape
    rows = bound.first("K")
    if len(queries) < 3:
        raise UnknownWorkError
    *_, n_heads, width = queries
    key_bytes = rows.size(-1) * rows.width
    return 2 * n_heads * width, key_bytes


def _kept(bound: Bound) -> int:
    """Return the bytes read and written by an op that copies keys and values into a cache."""
    pairs = [bound.nth(n) for n in range(2)]
    caches = bound.all("K")
    width = caches[0].width if caches else max(tensor.width for tensor in pairs)
    read_bytes = sum(tensor.n_bytes for tensor in bound.all("tw"))
    n_copied = sum(tensor.n_elements for tensor in pairs)
    return read_bytes + width * n_copied


def _taken(bound: Bound) -> int:
    """Return the bytes of the part of a cache that is copied into the result."""
    n_copied = sum(tensor.n_elements for tensor in bound.all("o"))
    cache = bound.first("K")
    return n_copied * cache.width


def _of_tables(bound: Bound) -> tuple[int, int]:
    """Return the mean width of an embedding bag's tables, and the bytes of the rows it looks up.

    Inputs: concatenated tables, offsets of each table's columns in the result, indices, offsets of
    bags.
    """
    tables = bound.nth(0)
    indices = bound.nth(2)
    total = bound.value("2")
    if type(total) is not int:
        raise UnknownWorkError
    mean_width = total // _n_tables(bound.nth(1))
    row_bytes = mean_width * tables.width
    return mean_width, indices.n_elements * row_bytes


def _n_tables(offsets: Tensor) -> int:
    """Return the number of tables, given the offsets where each begins and where the last ends."""
    if len(offsets.shape) != 1 or offsets.n_elements < 2:
        raise UnknownWorkError
    return offsets.n_elements - 1


def _tables_read(bound: Bound) -> int:
    _, rows_bytes = _of_tables(bound)
    indices = bound.nth(2)
    bags = bound.nth(3)
    return rows_bytes + indices.n_bytes + bags.n_bytes


def _tables_summed(bound: Bound) -> int:
    mean_width, _ = _of_tables(bound)
    indices = bound.nth(2)
    return indices.n_elements * mean_width


def _bags_of_tables(bound: Bound) -> list[int]:
    mean_width, _ = _of_tables(bound)
    bags = bound.nth(3)
    return [bags.n_elements * mean_width]


def _tables_changed(bound: Bound) -> int:
    """Return the bytes of an embedding bag's backward pass: gradient, indices, changed rows.

    Inputs: gradient, concatenated tables, offsets of each table's columns, indices.
    """
    gradient, tables, offsets, indices = (bound.nth(n) for n in range(4))
    if len(gradient.shape) != 2:
        raise UnknownWorkError
    mean_width = gradient.size(1) // _n_tables(offsets)
    row_bytes = mean_width * tables.width
    rows_bytes = indices.n_elements * row_bytes
    return gradient.n_bytes + indices.n_bytes + 2 * rows_bytes


CACHES: Mapping[str, Family] = {
    "attention_to_listed": Family(result_like(0), reads=_listed_read, flops=_flops_of_listed),
    "split_cache": Family(no_outputs, reads=_queries_read, flops=_own_split, cache=_split_keys),
    "scores_of_cache": Family(
        no_outputs,
        reads=lambda bound: bound.nth(0).n_bytes,
        flops=_own_scores,
        cache=_scores,
    ),
    "taken": Family(no_outputs, reads=_taken),
    "kept": Family(no_outputs, reads=_kept),
    "bags_of_tables": Family(
        _bags_of_tables,
        _tables_summed,
        reads=_tables_read,
        assumed="all tables are assumed to be looked up alike",
    ),
    "bags_of_tables_backward": Family(
        no_outputs,
        reads=_tables_changed,
        assumed="all tables are assumed to be looked up alike, and each row once",
    ),
}
"""The families by their names in op_signatures.json and custom_ops.toml.

- taken: ops that copy a part of a key-value cache into the result
- kept: ops that write their first two tensors, keys and values, into caches
"""
