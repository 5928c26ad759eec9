"""Declare a format of reports, and the screen that reports are written for."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tracelens.errors import UsageError
from tracelens.report import Report

WIDTH = 140


class Screen(Struct, frozen=True):
    """The medium of a report: its width, and whether it shows colours.

    `width` is in characters. `rows` is the number of rows per table, None for all rows.
    """

    width: int = WIDTH
    rows: int | None = None
    color: bool = False


class Format(Struct, frozen=True):
    """A format of reports, chosen by `--format` or by the ending of `--out`."""

    # The word after `--format`
    name: str
    # Endings of the format's files
    endings: tuple[str, ...]
    # Returns text, or bytes if `is_text` is False, for a report that passes `check`.
    write: Callable[[Report, Screen], str | bytes]
    # Default number of rows per table; None means all.
    rows: int | None = None
    # Default for a report without named sections; None means `rows`.
    rows_of_all: int | None = None
    holds_one_table: bool = False
    is_text: bool = True

    def default_rows(self, *, is_asked: bool) -> int | None:
        """Return the default number of rows per table; `is_asked` if the user names sections."""
        return self.rows if is_asked else self.rows_of_all or self.rows

    def rows_in_words(self) -> str:
        """Return the default number of rows in words, for the help text."""
        of_all = f" ({self.rows_of_all} where no section is named)" if self.rows_of_all else ""
        return f"{self.rows} in {self.name}{of_all}"

    def check(self, sections: Sequence[str], out: Path | None) -> None:
        """Raise UsageError if the format cannot hold these sections or needs an output file."""
        if self.holds_one_table and len(sections) != 1:
            raise UsageError(
                f"{self.name} holds one table: give exactly one --section (tracelens schema lists"
                " all)"
            )
        if not self.is_text and out is None:
            raise UsageError(f"{self.name} is not text: say where it goes with --out FILE")
