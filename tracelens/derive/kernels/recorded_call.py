"""Parse the recorded inputs of one call of an op: sizes, strides, element types and values."""

from collections.abc import Sequence
from math import prod
from typing import Any, TypeGuard

from msgspec import Struct

from tracelens.derive.kernels.recorded_dtypes import element_type, listed

_LARGEST = 1 << 40
"""Larger sizes are taken for damage."""


class UnknownWorkError(Exception):
    """A call's recorded inputs do not show its work."""


class Tensor(Struct, frozen=True):
    """A recorded tensor.

    `n_stored` counts the elements in memory: an expanded dimension counts once.
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

    def size(self, place: int) -> int:
        """Return the size at this place; a negative one counts from the last.

        Raises UnknownWorkError if the tensor has no such dimension.
        """
        try:
            return self.shape[place]
        except IndexError:
            raise UnknownWorkError from None


class RecordedCall(Struct, frozen=True):
    """The recorded inputs of one call, by position.

    `list_type` is the element type of tensors in lists, for which the profiler records none.
    `experts` is for a call that does not record its experts' weights: the number of experts per
    token, and the bytes of a weight, as observed around the call.
    """

    shapes: Sequence[Any]
    strides: Sequence[Any]
    words: Sequence[Any]
    values: Sequence[Any]
    list_type: tuple[str, int] | None = None
    experts: tuple[int, float] | None = None

    @classmethod
    def parsed(
        cls,
        texts: Sequence[str | None],
        list_dtype: str | None = None,
        experts: tuple[int, float] | None = None,
    ) -> "RecordedCall":
        """Parse a call's recorded sizes, element types, strides and values, texts in JSON."""
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
        """Return an input that is not a tensor; None if it was not recorded."""
        return self.values[position] if position < len(self.values) else None

    def sizes(self, position: int, n: int) -> list[int]:
        """Return a list of n numbers, where one number may stand for all.

        Raises UnknownWorkError if there is no such list.
        """
        numbers = self.value(position)
        if not are_sizes(numbers) or len(numbers) not in {1, n}:
            raise UnknownWorkError
        return numbers if len(numbers) == n else numbers * n

    def word(self, position: int) -> str:
        """Return the text recorded as an input's type; it is empty if none was."""
        word = self.words[position] if position < len(self.words) else None
        return word if isinstance(word, str) else ""

    def tensor_type(self, position: int) -> tuple[str, int] | None:
        """Return an input's element type and its size in bytes; None if it is not a tensor."""
        return element_type(self.word(position))

    def first_dtype(self) -> str | None:
        """Return the element type of the first tensor among the inputs; None if there is none."""
        kinds = (self.tensor_type(place) for place in range(len(self.words)))
        return next(
            (kind[0] for kind in kinds if kind is not None),
            None,
        )

    def tensors(self, position: int) -> list[Tensor]:
        """Return the tensor at a position, or the tensors of the list there.

        The list is empty if no tensor is there. Raises UnknownWorkError if sizes or the element
        type of a tensor are not known.
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
        """Return the memory of an input; 0 if it is not a tensor.

        Expanded dimensions (stride 0) count once.
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
