"""Give each argument of a recorded call a role, such as tensor or stride, by the op's signature."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from tracelens.derive.kernels.recorded_call import RecordedCall, Tensor, UnknownWorkError
from tracelens.derive.kernels.recorded_dtypes import element_type

ROLES = {
    "t": "a tensor that is read",
    "w": "a tensor that is changed in place",
    "o": "a tensor that only takes the result",
    "l": "a list of tensors that are read",
    "m": "a list of tensors that are changed in place",
    "n": "a list of tensors that only take the result",
    "L": "a list of tensors of which the call reads a part only",
    "W": "the weights of a recurrent layer",
    "i": "of results: 64-bit indices",
    "b": "of results: truth values, or other numbers of one byte",
    "f": "scale_factors; of results: statistics in float32",
    "d": "dimensions",
    "k": "kernel_size",
    "s": "stride",
    "p": "padding",
    "a": "dilation",
    "c": "ceil_mode",
    "O": "output_size",
    "I": "input_size",
    "z": "normalized_shape",
    "y": "dtype",
    "x": "output_mask",
    "r": "reduction",
    "q": "k",
    "N": "num_weights",
    "g": "group",
    "h": "headdim",
    "C": "is_causal",
    "B": "bidirectional",
    "u": "last_dim_size",
    "1": "size_m",
    "2": "size_n",
    "3": "size_k",
    "K": "keys, of the batch's tokens or of a whole cache",
    "S": "scales of packed weights, whose last size is that of the result",
    "e": "the tokens before each request and after the last one (cu_seqlens)",
    "-": "a tensor of which the call touches a part only, or that is too small to count",
    ".": "any other argument",
}
"""Meaning of each letter in a signature.

A meaning of one word, such as `stride`, is the name of the argument in torch.
"""
_TENSORS, _LISTS = "two-KeS", "lmnLW"
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 9: 8, 10: 16, 11: 1, 15: 2}
"""Bytes per element by torch's number of the element type (c10/core/ScalarType.h)."""
_RANKS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_FLOATS = ("float8", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_ORDER = {name: order for order, name in enumerate(_RANKS + _FLOATS)}


class Bound(Struct, frozen=True):
    """Holds a recorded call with its signature: one role letter per argument and per result."""

    call: RecordedCall
    arguments: str
    results: str

    def all(self, roles: str) -> list[Tensor]:
        """Return the tensors in any of the roles in argument order, lists flattened."""
        positions = [position for position, role in enumerate(self.arguments) if role in roles]
        return [tensor for position in positions for tensor in self.call.tensors(position)]

    def nth(self, n: int) -> Tensor:
        """Return the nth input tensor, counted from 0.

        Tensors that are changed in place are inputs, too. Raises UnknownWorkError if there is no
        such tensor.
        """
        inputs = self.all("twlm")
        if n >= len(inputs):
            raise UnknownWorkError
        return inputs[n]

    def first(self, role: str) -> Tensor:
        """Return the first tensor among the arguments with this role.

        Raises UnknownWorkError if it has no dimensions.
        """
        tensors = self.all(role)
        if not tensors or not tensors[0].shape:
            raise UnknownWorkError
        return tensors[0]

    def every(self) -> list[Tensor]:
        """Return the tensors among all arguments, including arguments beyond the signature."""
        positions = range(len(self.call.shapes))
        with_tensor = (n for n in positions if self.call.tensor_type(n) is not None)
        return [tensor for position in with_tensor for tensor in self.call.tensors(position)]

    def value(self, role: str) -> Any:
        """Return the value of the argument in a role, None if it is absent or not recorded."""
        position = self.arguments.find(role)
        return None if position < 0 else self.call.value(position)

    def sizes(self, role: str, n: int) -> list[int] | None:
        """Return the n numbers of the argument in a role, None if it is empty or absent."""
        position = self.arguments.find(role)
        if position < 0 or self.call.value(position) in (None, []):
            return None
        return self.call.sizes(position, n)

    def like(self, tensor: Tensor) -> list[int]:
        """Return the number of elements of each result, if all have the shape of `tensor`."""
        return [tensor.n_elements] * len(self.results)


Outputs = Callable[[Bound], Sequence[int]]
"""A function that returns the number of elements of each result of a call."""


def sizes_of(*inputs: int) -> Outputs:
    """Return a formula for calls with one result per number in `inputs`.

    Each result has as many elements as the input tensor at that position.
    """
    return lambda bound: [bound.nth(n).n_elements for n in inputs]


def result_like(*inputs: int) -> Outputs:
    """Return a formula like `sizes_of` that returns an empty list for a call without results."""
    sizes = sizes_of(*inputs)
    return lambda bound: sizes(bound) if bound.results else []


def no_outputs(bound: Bound) -> list[int]:  # noqa: ARG001 - all formulas take the call
    """Return no sizes, for results that are too small to count or of unknown size."""
    return []


class Family(Struct, frozen=True):
    """Holds the formulas that give the operations and bytes of a family of ops.

    An operation is one addition, multiplication, comparison or function.
    """

    outputs: Outputs  # returns the number of elements of each result
    # Per element of the largest tensor, or as a function of the whole call.
    operations: int | Callable[[Bound], int] = 0
    reads: Callable[[Bound], int] | None = None  # returns bytes; None: each input is read once
    is_filled: bool = False  # True: an argument that is changed in place is not read
    flops: Callable[[Bound], int] | None = None  # for products and attention
    needed: Callable[[Bound], int] | None = None  # returns the FLOPs that a causal mask leaves
    # For attention to a cache of unrecorded length: FLOPs per query and key, bytes per token.
    cache: Callable[[Bound], tuple[int, int]] | None = None
    assumed: str | None = None  # what the formulas assume
    dtype: str | None = None  # element type of the arithmetic, if the inputs store it as bytes
    # Work of the gradients of all inputs, divided by the work of the op: 2 for a product (its
    # gradients take two products), 2.5 for attention (five instead of two), 1 for a rearrangement.
    backward: float = 2


def bind(known: Sequence[str], call: RecordedCall) -> Bound:
    """Return the call with the first signature that fits.

    Raises UnknownWorkError if no signature fits.
    """
    for signature in known:
        arguments, _, results = signature.partition(">")
        is_open = arguments.endswith("*")  # any further arguments may follow and do not count
        arguments = arguments.removesuffix("*")
        n_recorded = len(call.shapes)
        if (n_recorded == len(arguments) or (is_open and n_recorded > len(arguments))) and all(
            _fits(role, call.word(position)) for position, role in enumerate(arguments)
        ):
            return Bound(call, arguments, results)
    raise UnknownWorkError


def _fits(role: str, word: str) -> bool:
    is_list, is_value = word.startswith("TensorList"), word in ("Scalar", "ScalarList")
    if role in _TENSORS:
        return not is_list and not is_value
    if role in _LISTS:
        return is_list or not word
    return not is_list and element_type(word) is None


def computed_in(bound: Bound, *, by_first: bool) -> tuple[str, int]:
    """Return the element type of a call's arithmetic, and the bytes per element of its results.

    With `by_first`, the element type is that of the first input. Otherwise, torch's type promotion
    determines the element type: tensors with dimensions take precedence over scalars.
    """
    number = bound.value("y")
    inputs = bound.all("twlm") or bound.all("on")
    if not inputs:
        raise UnknownWorkError
    with_dimensions = [tensor for tensor in inputs if tensor.shape] or inputs
    # Further inputs of a matrix product may be scale factors.
    if by_first:
        with_dimensions = inputs = inputs[:1]
    highest = max(
        with_dimensions,
        key=lambda tensor: _ORDER.get(tensor.dtype, -1),
    )
    if highest.dtype in _RANKS:
        highest = max(
            (tensor for tensor in inputs if tensor.dtype in _FLOATS),
            default=highest,
            key=_order,
        )
    width = _WIDTHS.get(number, highest.width) if type(number) is int else highest.width
    return highest.dtype, width


def _order(tensor: Tensor) -> int:
    return _ORDER.get(tensor.dtype, -1)
