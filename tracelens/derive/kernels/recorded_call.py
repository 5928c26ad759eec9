"""Parse the recorded inputs of one call of an op: sizes, strides, element types and values."""

from collections.abc import Sequence
from math import prod
from typing import Any, TypeGuard

from msgspec import Struct

from tracelens.derive.kernels.recorded_dtypes import element_type, listed

_LARGEST = 1 << 40
"""A larger size counts as a damaged record."""


class UnknownWorkError(Exception):
    """Reports that the recorded inputs of a call do not show its work."""


class Tensor(Struct, frozen=True):
    """Holds a recorded tensor: shape, element type, and bytes per element (`width`).

    `n_stored` is the number of elements in memory, where an expanded dimension counts once.
    """

    shape: Sequence[int]
    n_stored: int
    dtype: str
    width: int

    @property
    def n_elements(self) -> int:
        """Return the number of the tensor's elements."""
        return prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Return the bytes that the tensor's elements take in memory."""
        return self.n_stored * self.width

    def size(self, dim: int) -> int:
        """Return the size of a dimension.

        A negative dimension counts from the end. Raises UnknownWorkError if the tensor has no such
        dimension.
        """
        try:
            return self.shape[dim]
        except IndexError:
            raise UnknownWorkError from None


class RecordedCall(Struct, frozen=True):
    """Holds the recorded inputs of one call. Each list has one item per input."""

    shapes: Sequence[Any]
    strides: Sequence[Any]
    words: Sequence[Any]  # recorded types
    values: Sequence[Any]
    list_type: tuple[str, int] | None = None  # name and bytes of the element type in lists
    # Experts per token and bytes per weight, for ops that do not record the weights of experts.
    experts: tuple[int, float] | None = None

    @classmethod
    def parsed(
        cls,
        texts: Sequence[str | None],
        list_dtype: str | None = None,
        experts: tuple[int, float] | None = None,
    ) -> "RecordedCall":
        """Return a call from `texts`: JSON of its sizes, element types, strides and values.

        `list_dtype` is the element type of tensors in lists. `experts` becomes the field `experts`.
        """
        shapes, dtypes, strides, values = map(listed, texts)
        list_type = None if list_dtype is None else element_type(list_dtype)
        return cls(shapes, strides, dtypes, values, list_type, experts)

    def shape(self, position: int, n_least: int = 2) -> list[int]:
        """Return the sizes of a tensor that has at least `n_least` dimensions.

        Raises UnknownWorkError if there is no such tensor.
        """
        sizes = self.shapes[position] if position < len(self.shapes) else None
        if not are_sizes(sizes) or len(sizes) < n_least:
            raise UnknownWorkError
        return sizes

    def value(self, position: int) -> Any:
        """Return the value of an input that is not a tensor, None if it was not recorded."""
        return self.values[position] if position < len(self.values) else None

    def sizes(self, position: int, n: int) -> list[int]:
        """Return an input that is a list of n numbers.

        A single recorded number is repeated. Raises UnknownWorkError if the input is no such list.
        """
        numbers = self.value(position)
        if not are_sizes(numbers) or len(numbers) not in {1, n}:
            raise UnknownWorkError
        return numbers if len(numbers) == n else numbers * n

    def word(self, position: int) -> str:
        """Return the recorded type of an input as text, empty if it was not recorded."""
        word = self.words[position] if position < len(self.words) else None
        return word if isinstance(word, str) else ""

    def tensor_type(self, position: int) -> tuple[str, int] | None:
        """Return an input's element type and bytes per element, None if it is not a tensor."""
        return element_type(self.word(position))

    def first_dtype(self) -> str | None:
        """Return the element type of the first tensor among the inputs, None without a tensor."""
        kinds = (self.tensor_type(position) for position in range(len(self.words)))
        return next(
            (kind[0] for kind in kinds if kind is not None),
            None,
        )

    def tensors(self, position: int) -> list[Tensor]:
        """Return an input as a list of tensors.

        The list is empty if the input has no recorded type. Raises UnknownWorkError if sizes or the
        element type of a tensor are unknown.
        """
        word = self.word(position)
        shape = self.shapes[position] if position < len(self.shapes) else None
        strides = self.strides[position] if position < len(self.strides) else None
        if not word:
            return []
        if not word.startswith("TensorList"):
            return [_tensor(shape, strides, element_type(word))]
        if not isinstance(shape, list) or not shape:
            raise UnknownWorkError
        if not isinstance(strides, list) or len(strides) != len(shape):
            strides = [None] * len(shape)
        pairs = zip(shape, strides, strict=True)
        return [_tensor(*pair, self.list_type) for pair in pairs]

    def bytes_of(self, position: int) -> int:
        """Return the bytes of an input, 0 if it is not a tensor.

        An expanded dimension (stride 0) counts once.
        """
        kind = self.tensor_type(position)
        shape = self.shapes[position] if position < len(self.shapes) else None
        if kind is None or not are_sizes(shape):
            return 0
        strides = self.strides[position] if position < len(self.strides) else None
        return _tensor(shape, strides, kind).n_bytes


def _tensor(
    shape: Any,
    strides: Any,
    kind: tuple[str, int] | None,
) -> Tensor:
    if not are_sizes(shape) or kind is None:
        raise UnknownWorkError
    if not isinstance(strides, list) or len(strides) != len(shape):
        strides = [1] * len(shape)
    stored = prod(size for size, stride in zip(shape, strides, strict=True) if stride != 0)
    return Tensor(shape, 0 if 0 in shape else stored, *kind)


def are_sizes(value: object) -> TypeGuard[list[int]]:
    """Return whether a value is a list of sizes."""
    return isinstance(value, list) and all(
        type(size) is int and 0 <= size <= _LARGEST for size in value
    )
