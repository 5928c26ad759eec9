"""Choose the parameters of a test that CI takes; `make test-all` takes all."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def only(kept: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return the values, with values that are not kept marked as exhaustive."""
    kept = [*kept]
    return _marked(values, lambda _, value: value in kept)


def every(nth: int, values: Iterable[Any]) -> list[Any]:
    """Return the values, all but the first and each `nth` after it marked as exhaustive."""
    return _marked(values, lambda place, _: place % nth == 0)


def _marked(values: Iterable[Any], is_kept: Callable[[int, Any], bool]) -> list[Any]:
    """Mark as exhaustive the values that are not kept."""
    return [
        value if is_kept(place, value) else _exhaustive(value) for place, value in enumerate(values)
    ]


def _exhaustive(value: Any) -> Any:
    """Mark a value as exhaustive; a value that is a parameter with an id keeps it."""
    if isinstance(value, type(pytest.param())):
        return pytest.param(
            *value.values,
            id=value.id,
            marks=[*value.marks, pytest.mark.exhaustive],
        )
    return pytest.param(value, marks=pytest.mark.exhaustive)
