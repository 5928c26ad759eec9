"""The work of kernels that torch.compile wrote in Triton, from the inputs of their launches.

Inductor's launch is recorded as an op of the kernel's name. Its inputs are the kernel's arguments:
the tensors that it reads and writes outside of itself, then its sizes. What is between the fused
ops never reaches memory.
"""

import re
from itertools import pairwise
from math import prod

from tracelens.derive.kernels.flops import Work
from tracelens.derive.kernels.recorded_call import RecordedCall, Tensor, UnknownWorkError

TRITON = "triton_"
_PRODUCT = re.compile(r"^triton_(tem_.*_)?(mm|addmm|bmm|baddbmm|scaled_mm)(_|$)")
_CONVOLUTION = re.compile(r"^triton_(tem_.*_)?convolution(2d)?(_|$)")
_LOOKUP = re.compile(r"_(embedding|index|index_select|gather)(_|$)")


def triton_work(name: str, call: RecordedCall) -> Work:
    """Return the work of a launch: each tensor is moved once.

    Raises UnknownWorkError where no tensor was recorded, or a template's product does not fit.
    """
    tensors = [t for place in range(len(call.words)) for t in _tensors(call, place)]
    if not tensors:
        raise UnknownWorkError
    largest = max(tensors, key=lambda tensor: tensor.n_bytes)
    if _PRODUCT.match(name):
        flops = _product(tensors)
        return Work(flops, flops, sum(t.n_bytes for t in tensors), tensors[0].dtype)
    if _CONVOLUTION.match(name):
        flops = 2 * tensors[-1].n_elements * prod(tensors[1].shape[1:])
        return Work(flops, flops, sum(t.n_bytes for t in tensors), tensors[0].dtype)
    numbers = [n for n in call.values if type(n) is int and n > 0]
    # A lookup reads one row for each index, not the table.
    most = prod(numbers) if numbers and _LOOKUP.search(name) else None
    sizes = [t.n_stored if most is None else min(t.n_stored, most) for t in tensors]
    moved = sum(n * tensor.width for n, tensor in zip(sizes, tensors, strict=True))
    return Work(0, max(sizes), moved, largest.dtype)


def _tensors(call: RecordedCall, place: int) -> list[Tensor]:
    return call.tensors(place) if call.tensor_type(place) is not None else []


def _product(tensors: list[Tensor]) -> int:
    """Return the operations of the product of the first two matrices that fit each other."""
    for left, right in pairwise(tensor.shape for tensor in tensors[:-1]):
        are_matrices = 2 <= len(left) == len(right) <= 3
        if are_matrices and left[-1] == right[-2] and left[:-2] == right[:-2]:
            return 2 * prod(left) * right[-1]
    raise UnknownWorkError
