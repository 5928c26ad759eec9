"""Declare a format, and the medium for which a report is drawn."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tracelens.errors import UsageError
from tracelens.report import Report

WIDTH = 140


class Screen(Struct, frozen=True):
    """The medium of a report: width in characters, rows per table (None: all), colours or not."""

    width: int = WIDTH
    rows: int | None = None
    color: bool = False


class Format(Struct, frozen=True):
    """A way to write a report, chosen by `--format` or by the ending of `--out`.

    `name` is the word after `--format`; `endings` are the endings of its files. `write` returns
    text, or bytes if `is_text` is False, for a report that passes `check`. `rows` is the default
    number of rows per table, None for all. `rows_of_all` is the default if the user names no
    section, if it differs.
    """

    name: str
    endings: tuple[str, ...]
    write: Callable[[Report, Screen], str | bytes]
    rows: int | None = None
    rows_of_all: int | None = None
    holds_one_table: bool = False
    is_text: bool = True

    def default_rows(self, *, is_asked: bool) -> int | None:
        """Return how many rows a table has by default in a report of named sections, or of all."""
        return self.rows if is_asked else self.rows_of_all or self.rows

    def rows_in_words(self) -> str:
        """Describe the default number of rows, for help."""
        of_all = f" ({self.rows_of_all} where no section is named)" if self.rows_of_all else ""
        return f"{self.rows} in {self.name}{of_all}"

    def check(self, sections: Sequence[str], out: Path | None) -> None:
        """Raise UsageError for sections that the format cannot hold, or bytes without a file."""
        if self.holds_one_table and len(sections) != 1:
            raise UsageError(
                f"{self.name} holds one table: give exactly one --section (tracelens schema lists"
                " all)"
            )
        if not self.is_text and out is None:
            raise UsageError(f"{self.name} is not text: say where it goes with --out FILE")
