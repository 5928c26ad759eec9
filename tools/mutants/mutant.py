"""A mutant: one line of the code broken on purpose, and the tests that should notice."""

from __future__ import annotations

from typing import NamedTuple

SANITIZED = "make sanitized"
"""Stands in place of test files for mutants that only the checks of `make sanitized` can see."""


class Mutant(NamedTuple):
    """A text that occurs once in a file, and its replacement.

    Test files are given by the middle of their names.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
