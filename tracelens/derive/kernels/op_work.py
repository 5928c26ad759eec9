"""Compute the operations and bytes of any op's call whose inputs were recorded."""

import re
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import prod

import polars as pl

from tracelens.derive.kernels.bound_call import bind
from tracelens.derive.kernels.cache_bounds import most_of_contexts
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
"""Ops of other libraries whose names contain the words of a rule.

torch's own ops are in the catalogue, or have no known work.
"""

_GETTER = "::get_"
"""Part of the names of ops that only compute sizes and positions."""
_HIDDEN = re.compile(r"(?:fused|scale)_moe|attention|(?:prefill|decode)_with|_blocks$")
"""Words of ops whose names do not show all that they do: experts, attention, copies of blocks."""
_OF_EXPERTS = re.compile(r"moe|expert")
"""Words of products with the weights of experts, whose sizes are no matrix's."""
_CACHE = re.compile(r"cache|append")
"""Words of ops that read or write a cache of keys and values."""
_BY_NAME = "at least: by the op's name, each of its inputs is moved once"
"""The assumption about ops that are not in the catalogue and compute no product."""
_PACKED, _OF_FOUR_BITS = ("uint8", "float4"), re.compile(r"a4w4|fp4|mxf4")
"""Element types of bytes that may hold two numbers, and words of ops that multiply such bytes."""
_TRITON = "triton_"
_TRITON_PRODUCT = re.compile(r"^triton_(tem_.*_)?(mm|addmm|bmm|baddbmm|scaled_mm)(_|$)")
_TRITON_CONVOLUTION = re.compile(r"^triton_(tem_.*_)?convolution(2d)?(_|$)")
_FLEX = re.compile(r"^triton_(tem_.*)?flex_(attention|decoding)")
UNKNOWN_MASK = "at least: which pairs a mask leaves is not recorded"
"""The assumption about flex_attention: it moves its tensors, and may compute any share of pairs."""
_LOOKUP = re.compile(r"_(embedding|index|index_select|gather)(_|$)")

Model = Callable[[RecordedCall], tuple[int, int]]
"""A function that returns a call's floating-point operations and the least bytes that it moves."""
_REGISTERED: dict[str, Model] = {}


def roofline_model(op: str) -> Callable[[Model], Model]:
    """Return a decorator that registers a function as the roofline's model of an op.

    The function reads a call's recorded inputs by position (`call.shape(0)`, `call.value(3)`,
    `call.bytes_of(1)`). It returns the floating-point operations and the least bytes. It replaces
    any model that the op already has. Raises ValueError for a name without a namespace.
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
    """Return whether the work of a call of an op may be known, by the op's name as text."""
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
    """Return the operations and bytes of an op's call; None if its inputs do not show them.

    `texts` are the recorded sizes, element types, strides and values, in JSON. `list_dtype` is the
    element type of tensors in lists. For `experts` see `RecordedCall`.
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
        most = most_of_contexts(family, bind(known, call), traffic.key_bytes)
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


def _triton_work(name: str, call: RecordedCall) -> Work:
    """Return the work of a kernel that torch.compile wrote: each tensor is moved once.

    Inductor records the launch as an op with the kernel's name. Its inputs are the kernel's
    arguments: the tensors that it reads and writes, then its sizes. Results between the fused ops
    never reach memory. Raises UnknownWorkError if no tensor was recorded, or if the matrices of a
    product do not fit.
    """
    tensors = [tensor for place in range(len(call.words)) for tensor in _tensors(call, place)]
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
    return Work(
        0,
        max(n_moved),
        moved_bytes,
        largest.dtype,
        assumed=assumed,
    )


def _tensors(call: RecordedCall, place: int) -> list[Tensor]:
    return call.tensors(place) if call.tensor_type(place) is not None else []


def _triton_product(tensors: list[Tensor]) -> int:
    """Return the operations of the product of the first two matrices whose sizes fit."""
    for left, right in pairwise(tensor.shape for tensor in tensors[:-1]):
        are_matrices = 2 <= len(left) == len(right) <= 3
        if are_matrices and left[-1] == right[-2] and left[:-2] == right[:-2]:
            return 2 * prod(left) * right[-1]
    raise UnknownWorkError


def _work_by_words(name: str, call: RecordedCall) -> Work:
    """Return the work of a call of another library's unlisted op, by the words in its name.

    An op called a norm, an activation or a quantisation moves each of its tensors once. An op
    called a product multiplies the first two matrices whose sizes fit. A tensor with more rows than
    the first one is a table: as many of its rows are moved as the first tensor has. Raises
    UnknownWorkError for torch's ops, for products of experts, and if the inputs do not show it.
    """
    library, _, op = name.partition("::")
    if library in ("aten", "prim", "c10d") or not re.match(_NAMED, name) or _GETTER in name:
        raise UnknownWorkError
    if _HIDDEN.search(op):
        raise UnknownWorkError
    tensors = [
        tensor
        for place in range(len(call.words))
        if call.tensor_type(place) is not None
        for tensor in call.tensors(place)
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
    return Work(
        0,
        max(moved),
        n_bytes,
        tensors[0].dtype,
        assumed=_BY_NAME,
    )


def _moved(op: str, tensors: list[Tensor]) -> list[int]:
    """Return how many elements of each tensor are moved at least.

    A tensor with more rows than the first one is a table: at most as many of its rows are moved as
    the first tensor has. Rows of a cache are blocks of many tokens, so that a cache counts as
    nothing.
    """
    most_rows = max(tensors[0].shape[0], 1)
    least_of_row = 0 if _CACHE.search(op) else 1
    moved = []
    for tensor in tensors:
        n_moved = tensor.n_stored
        if len(tensor.shape) > 1 and tensor.shape[0] > most_rows:
            is_block = len(tensor.shape) > 2
            of_row = prod(tensor.shape[1:]) * (least_of_row if is_block else 1)
            n_moved = min(n_moved, most_rows * of_row)
        moved.append(n_moved)
    return moved


def _product(name: str, tensors: list[Tensor]) -> tuple[int, int]:
    """Return the operations of the first two matrices that fit, and the elements of their product.

    The second one may be transposed. Both may have a batch dimension first. A byte may hold two
    numbers of four bits. That is so for both matrices where the op's name contains a word for it,
    else for a second matrix that is half as long. Numbers in float32 after an input of 8 bits are
    scales.
    """
    matrices = [tensor for tensor in tensors if len(tensor.shape) in (2, 3)]
    if matrices and matrices[0].width == 1:
        matrices = [tensor for tensor in matrices if tensor.dtype != "float32"]
    for left, right in combinations(matrices, 2):
        summed, (*batch, first, second) = left.shape[-1], right.shape
        if list(left.shape[:-2]) != batch:
            continue
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
    """Return sizes and element types of an op's tensors as text to be shown.

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
