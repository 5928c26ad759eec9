"""The work of other libraries' ops that no catalogue lists, by words of their names.

An op called a norm, an activation or a quantisation moves each tensor that it is given once; one
called a product multiplies the first two matrices that fit each other.
"""

import re
from itertools import combinations
from math import prod

from tracelens.derive.kernels.flops import Work
from tracelens.derive.kernels.recorded_call import RecordedCall, Tensor, UnknownWorkError

_PRODUCTS = r"(?:\w*(?:gemm|matmul)|(?:\w*_)?(?:mm|linear)(?:_|$))"
_MOVERS = (
    r"(?:\w*(?:norm|silu|gelu|swiglu|sigmoid|and_mul|rotary|quant|softmax|topk)"
    r"|(?:\w*_)?(?:rope|add|mul|cast|copy|transpose|permute|concat|cat|pad|scale|sum)(?:_|$))"
)
NAMED = rf"^[A-Za-z_]\w*::(?:{_PRODUCTS}|{_MOVERS})"
"""Names of ops that have words of a rule; torch's own ops are in the catalogue, or in none."""


def work_by_words(name: str, call: RecordedCall) -> Work:
    """Return the work of a call of an op whose name matches `NAMED`.

    A tensor with more rows than the first one is a table: of it, as many rows are moved as the
    first one has. Raises UnknownWorkError of torch's ops, and where the inputs do not tell.
    """
    library, _, op = name.partition("::")
    if library in ("aten", "prim", "c10d") or not re.match(NAMED, name):
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
        flops = _product(tensors)
        return Work(flops, flops, sum(t.n_bytes for t in tensors), tensors[0].dtype)
    most_rows = max(tensors[0].shape[0], 1)
    moved = [_rows(tensor, most_rows) for tensor in tensors]
    n_bytes = sum(n * tensor.width for n, tensor in zip(moved, tensors, strict=True))
    return Work(0, max(moved), n_bytes, tensors[0].dtype)


def _rows(tensor: Tensor, most_rows: int) -> int:
    """Return how many elements of a tensor are moved if at most so many of its rows are."""
    if len(tensor.shape) < 2 or tensor.shape[0] <= most_rows:
        return tensor.n_stored
    return min(tensor.n_stored, most_rows * prod(tensor.shape[1:]))


def _product(tensors: list[Tensor]) -> int:
    """Return the operations of the first two matrices that fit, the second one maybe transposed."""
    for left, right in combinations((t.shape for t in tensors if len(t.shape) == 2), 2):
        if left[-1] in right:
            columns = right[1] if right[0] == left[-1] else right[0]
            return 2 * left[0] * left[1] * columns
    raise UnknownWorkError
