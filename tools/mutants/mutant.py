"""A mutant: one line of the code broken on purpose, and the tests that should notice."""

from __future__ import annotations

from typing import NamedTuple

SANITIZED = "make sanitized"
"""In place of test files: what only the checks of `make sanitized` can see."""


class Mutant(NamedTuple):
    """Text that stands once in a file, and its replacement.

    The test files are named by the middle of their names.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
