"""Declare a mutant: one broken line of the code, and the tests that must fail."""

from __future__ import annotations

from typing import NamedTuple

SANITIZED = "make sanitized"
"""Replaces the names of test files for mutants that only `make sanitized` notices."""


class Mutant(NamedTuple):
    """A text that occurs once in a file, its replacement, and the tests that must fail.

    `NAME` of `tests` is the file `tests/test_NAME.py`.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
