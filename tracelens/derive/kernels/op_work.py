"""Compute the operations and bytes of a call of any op from its recorded inputs."""

import re
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import prod

import polars as pl

from tracelens.derive.kernels.bound_call import Bound, bind
from tracelens.derive.kernels.flops import MODELLED, Work, counted_work
from tracelens.derive.kernels.op_families import FAMILIES, signatures, traffic_of
from tracelens.derive.kernels.recorded_call import RecordedCall, Tensor, UnknownWorkError, are_sizes
from tracelens.derive.kernels.recorded_dtypes import element_type, listed

_PRODUCTS = r"(?:\w*(?:gemm(?:[^a]|$)|matmul|flatmm|a8w8|f8f8bf16)|(?:\w*_)?(?:b?mm|linear)(?:_|$))"
_MOVERS = (
    r"(?:\w*(?:norm|silu|gelu|swiglu|sigmoid|and_mul|rotary|quant|softmax|topk|sort|align_block)"
    r"|(?:\w*_)?(?:rope|add|mul|cast|copy|transpose|permute|concat|cat|pad|scale|sum|gate|append"
    r"|sample|cache)(?:_|$))"
)
_NAMED = rf"^[A-Za-z_]\w*::(?:{_PRODUCTS}|{_MOVERS})"
"""Pattern for ops of other libraries whose work follows from words in their names.

torch's own ops are in the catalogue, or have no known work.
"""

_GETTER = "::get_"
"""Part of the names of ops that only compute sizes and positions."""
_HIDDEN = re.compile(r"(?:fused|scale)_moe|attention|(?:prefill|decode)_with|_blocks$")
"""Words in names of ops with experts, attention or copies of blocks, whose work stays unknown."""
_OF_EXPERTS = re.compile(r"moe|expert")
"""Words in names of products whose weights are several matrices, one per expert."""
_CACHE = re.compile(r"cache|append")
"""Words in names of ops that read or write a key-value cache."""
_BY_NAME = "at least: by the op's name, each of its inputs is moved once"
"""The assumption about ops that are not in the catalogue and compute no product."""
_PACKED, _OF_FOUR_BITS = ("uint8", "float4"), re.compile(r"a4w4|fp4|mxf4")
"""Element types whose bytes may hold two numbers, and words in names of products of such bytes."""
_CACHES = {"attention_to_cache": 2, "shared_cache": 1, "split_cache": 1, "scores_of_cache": 1}
"""The number of tensors that make up the key-value cache, by family of attention."""
_OF_INPUTS = "attention_of_lengths"
"""The family of attention whose keys and values are among the inputs."""
_TRITON = "triton_"
_TRITON_PRODUCT = re.compile(r"^triton_(tem_.*_)?(mm|addmm|bmm|baddbmm|scaled_mm)(_|$)")
_TRITON_CONVOLUTION = re.compile(r"^triton_(tem_.*_)?convolution(2d)?(_|$)")
_FLEX = re.compile(r"^triton_(tem_.*)?flex_(attention|decoding)")
UNKNOWN_MASK = "at least: which pairs a mask leaves is not recorded"
"""The assumption about flex_attention: only the bytes of its tensors are counted, no FLOPs."""
_LOOKUP = re.compile(r"_(embedding|index|index_select|gather)(_|$)")

Model = Callable[[RecordedCall], tuple[int, int]]
"""A function that returns the FLOPs and the least bytes of a call."""
_REGISTERED: dict[str, Model] = {}


def roofline_model(op: str) -> Callable[[Model], Model]:
    """Return a decorator that registers a function as the roofline model of an op.

    The function takes a `RecordedCall`, and returns the floating-point operations and the least
    bytes. It reads inputs by position: `call.shape(0)`, `call.value(3)`, `call.bytes_of(1)`. It
    replaces any other model of the op. Raises ValueError for a name without a namespace.
    """
    if "::" not in op:
        raise ValueError(
            f"expected the name of an op with its namespace, as vllm::op, found {op!r}"
        )

    def register(model: Model) -> Model:
        _REGISTERED[op] = model
        return model

    return register


def is_modelled(name: pl.Expr) -> pl.Expr:
    """Return whether there is a model for the work of an op with this name.

    Even then, a call's inputs may not show the call's work.
    """
    listed_names = frozenset((*MODELLED, *signatures(), *_REGISTERED))
    is_torch = name.str.starts_with("aten::")
    is_other = ~is_torch & name.str.contains(_NAMED) & ~name.str.contains(_GETTER, literal=True)
    return name.is_in(listed_names) | name.str.starts_with(_TRITON) | is_other


def work_of(
    name: str,
    texts: Sequence[str | None],
    list_dtype: str | None = None,
    experts: tuple[int, float] | None = None,
) -> Work | None:
    """Return the operations and bytes of a call, None if its inputs do not show them.

    - `texts`: recorded sizes, element types, strides and values as JSON
    - `list_dtype`: element type of tensors in lists
    - `experts`: see `RecordedCall`
    """
    try:
        return _work(name, RecordedCall.parsed(texts, list_dtype, experts))
    except UnknownWorkError:
        return None


def _work(name: str, call: RecordedCall) -> Work | None:
    if name in _REGISTERED:
        flops, least_bytes = _REGISTERED[name](call)
        return Work(flops, flops, least_bytes, call.first_dtype())
    if name in MODELLED:
        return counted_work(name, call)
    if name.startswith(_TRITON):
        return _triton_work(name, call)
    if name not in signatures():
        return _work_by_words(name, call)
    family, known = signatures()[name]
    traffic = traffic_of(FAMILIES[family], known, call)
    most_flops = most_bytes = None
    if traffic.pair_flops:
        most = _most_of_contexts(family, bind(known, call), traffic.key_bytes)
        if most is not None:
            most_flops = traffic.pair_flops * most[0]
            most_bytes = traffic.least_bytes + traffic.key_bytes * most[1]
    return Work(
        traffic.flops,
        traffic.operations,
        traffic.least_bytes,
        traffic.dtype,
        traffic.pair_flops,
        traffic.key_bytes,
        FAMILIES[family].assumed,
        most_flops,
        most_bytes,
    )


def _most_of_contexts(family: str, bound: Bound, key_bytes: int) -> tuple[int, int] | None:
    """Return upper bounds of the number of query-key pairs and of the cached tokens that are read.

    Return None if no bound is known. `key_bytes` is the size of a cached token in bytes.
    """
    n_queries = prod(bound.nth(0).shape[:-2])
    if family == _OF_INPUTS:
        return n_queries * prod(bound.nth(1).shape[:-2]), 0
    caches = bound.all("K")
    if family not in _CACHES or not caches or not key_bytes:
        return None
    cache = caches[0]
    if len(cache.shape) == 3 and cache.shape[0] == n_queries:
        return None  # these are the keys of the batch's own tokens
    n_tokens = _CACHES[family] * cache.n_elements * cache.width // key_bytes
    # A request has at most as many tokens as the cache, or as its row of the block table. A cached
    # token is read once, even if several requests use it.
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
    """Return the block table, a matrix with one row of cache blocks per request.

    The block table is assumed to be the only integer matrix among the inputs. Return None if there
    is not exactly one integer matrix.
    """
    try:
        inputs = bound.every()
    except UnknownWorkError:
        return None
    tables = [
        tensor for tensor in inputs if tensor.dtype in ("int32", "int64") and len(tensor.shape) == 2
    ]
    return tables[0] if len(tables) == 1 else None


def _triton_work(name: str, call: RecordedCall) -> Work:
    """Return the work of a kernel that torch.compile generated. Each tensor is moved once.

    Raises UnknownWorkError if no tensor was recorded. Also raises it for a product whose tensors
    cannot be multiplied.
    """
    # Inductor records the launch as an op: inputs are the tensors that the kernel reads and writes,
    # then sizes.
    positions = range(len(call.words))
    tensors = [tensor for position in positions for tensor in _tensors(call, position)]
    if not tensors:
        raise UnknownWorkError
    flops = None
    if _TRITON_PRODUCT.match(name):
        flops = _triton_product(tensors)
    elif _TRITON_CONVOLUTION.match(name):
        flops = 2 * tensors[-1].n_elements * prod(tensors[1].shape[1:])
    if flops is not None:
        moved_bytes = sum(tensor.n_bytes for tensor in tensors)
        return Work(flops, flops, moved_bytes, tensors[0].dtype)
    n_moved = [tensor.n_stored for tensor in tensors]
    sizes = [n for n in call.values if type(n) is int and n > 0]
    if sizes and _LOOKUP.search(name):
        # A look-up reads one row for each index, not the whole table.
        n_moved = [min(n, prod(sizes)) for n in n_moved]
    moved_bytes = sum(n * tensor.width for n, tensor in zip(n_moved, tensors, strict=True))
    largest = max(tensors, key=lambda tensor: tensor.n_bytes)
    assumed = UNKNOWN_MASK if _FLEX.match(name) else None
    return Work(0, max(n_moved), moved_bytes, largest.dtype, assumed=assumed)


def _tensors(call: RecordedCall, position: int) -> list[Tensor]:
    return call.tensors(position) if call.tensor_type(position) is not None else []


def _triton_product(tensors: list[Tensor]) -> int:
    """Return the FLOPs of a product of two tensors.

    The factors are the first two neighbours in `tensors` that can be multiplied as matrices.
    """
    for left, right in pairwise(tensor.shape for tensor in tensors[:-1]):
        are_matrices = 2 <= len(left) == len(right) <= 3
        if are_matrices and left[-1] == right[-2] and left[:-2] == right[:-2]:
            return 2 * prod(left) * right[-1]
    raise UnknownWorkError


def _work_by_words(name: str, call: RecordedCall) -> Work:
    """Return the work of a call of an op that is not in the catalogue, by words in the op's name.

    Products multiply the first two matrices that can be multiplied. Norms, activations and
    quantisations move their tensors once. Raises UnknownWorkError if name or inputs do not show the
    work.
    """
    library, _, op = name.partition("::")
    if library in ("aten", "prim", "c10d") or not re.match(_NAMED, name) or _GETTER in name:
        raise UnknownWorkError
    if _HIDDEN.search(op):
        raise UnknownWorkError
    tensors = [
        tensor
        for position in range(len(call.words))
        for tensor in _tensors(call, position)
        if tensor.shape
    ]
    if not tensors:
        raise UnknownWorkError
    if re.match(_PRODUCTS, op):
        if _OF_EXPERTS.search(op):
            raise UnknownWorkError
        flops, n_results = _product(op, tensors)
        kind = tensors[0].dtype
        is_of_pairs = kind in _PACKED and _OF_FOUR_BITS.search(op)
        dtype = "float4" if is_of_pairs else kind
        has_result = any(tensor.n_elements == n_results for tensor in tensors[2:])
        result_bytes = 0 if has_result else n_results * max(tensors[0].width, 2)
        return Work(
            flops,
            flops,
            sum(t.n_bytes for t in tensors) + result_bytes,
            dtype,
        )
    moved = _moved(op, tensors)
    n_bytes = sum(n * tensor.width for n, tensor in zip(moved, tensors, strict=True))
    return Work(0, max(moved), n_bytes, tensors[0].dtype, assumed=_BY_NAME)


def _moved(op: str, tensors: list[Tensor]) -> list[int]:
    """Return, for each tensor, the least number of its elements that the op moves."""
    most_rows = max(tensors[0].shape[0], 1)
    least_of_row = 0 if _CACHE.search(op) else 1
    moved = []
    for tensor in tensors:
        n_moved = tensor.n_stored
        if len(tensor.shape) > 1 and tensor.shape[0] > most_rows:
            # This is a table: at most as many rows are moved as the first tensor has. Rows of a
            # key-value cache are blocks of many tokens, so they are not counted.
            is_block = len(tensor.shape) > 2
            of_row = prod(tensor.shape[1:]) * (least_of_row if is_block else 1)
            n_moved = min(n_moved, most_rows * of_row)
        moved.append(n_moved)
    return moved


def _product(name: str, tensors: list[Tensor]) -> tuple[int, int]:
    """Return the FLOPs and the number of results of a product of two matrices.

    The factors are the first two matrices in `tensors` that can be multiplied. Both may have a
    batch dimension. The second matrix may be transposed.
    """
    matrices = [tensor for tensor in tensors if len(tensor.shape) in (2, 3)]
    if matrices and matrices[0].width == 1:  # float32 matrices are scales of 8-bit elements
        matrices = [tensor for tensor in matrices if tensor.dtype != "float32"]
    for left, right in combinations(matrices, 2):
        summed, (*batch, first, second) = left.shape[-1], right.shape
        if list(left.shape[:-2]) != batch:
            continue
        # A byte may hold two numbers of four bits: in both matrices if the op's name says so, or in
        # the second matrix if it is half as long.
        are_bytes = right.dtype in _PACKED
        if summed in (first, second):
            columns = second if first == summed else first
            both = are_bytes and left.dtype in _PACKED and _OF_FOUR_BITS.search(name)
            n_results = prod(left.shape[:-1]) * columns
            return 2 * summed * n_results * (2 if both else 1), n_results
        if are_bytes and summed in (2 * first, 2 * second):
            n_results = prod(left.shape[:-1]) * (first if summed == 2 * second else second)
            return 2 * summed * n_results, n_results
    raise UnknownWorkError


def tensors_of(shapes: str | None, dtypes: str | None) -> tuple[str, str]:
    """Return sizes and distinct element types of an op's tensors as texts for display.

    An example is `32x3x224x224 64x3x7x7` and `float32`.
    """
    pairs = zip(
        listed(shapes),
        listed(dtypes) or listed(shapes),
        strict=False,
    )
    described = [
        (size, kind if isinstance(kind, str) else "") for size, kind in pairs if are_sizes(size)
    ]
    # An input without sizes is a tensor (of one element) only if it has an element type. If no type
    # is recorded at all, sizes alone make a tensor, for example sizes that were read from kernels.
    has_kinds = bool(listed(dtypes))
    tensors = [
        (size, kind)
        for size, kind in described
        if element_type(kind) is not None or (size and (kind or not has_kinds))
    ]
    words = [(element_type(kind) or (kind,))[0] for _, kind in tensors if kind]
    return " ".join("x".join(map(str, size)) or "()" for size, _ in tensors), " ".join(
        dict.fromkeys(words)
    )
