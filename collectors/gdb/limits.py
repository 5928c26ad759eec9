"""Limits on the stacks that a run under gdb takes."""

from __future__ import annotations

from dataclasses import dataclass

from tracelens.derive.stacks.stack_tables import find_function
from tracelens.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """The stacks to take.

    `hits`: stacks kept of each symbol; then its breakpoint is deleted, and the program runs on. `skip`: the first calls
    of each symbol that are passed over, counted after `where_frame`: a pattern for a function that must be in the
    stack, a plain name or a regular expression. `timeout_s`: the program is killed after so many seconds, and the
    capture is incomplete. `frames`: the most frames listed of a stack.
    """

    hits: int = 100
    skip: int = 0
    where_frame: str | None = None
    timeout_s: float | None = None
    frames: int = 1000

    def check(self) -> None:
        """Raise UsageError for impossible values."""
        if self.hits < 1 or self.skip < 0 or self.frames < 1 or (self.timeout_s is not None and self.timeout_s <= 0):
            raise UsageError("hits, frames and the timeout are above 0, and skip is not below it")
        if self.where_frame is not None:
            find_function([""], self.where_frame)  # raises for an invalid pattern
