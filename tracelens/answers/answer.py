"""The answer to "what limits my program?" as data.

Terminal, page, notebook and summary draw the same `Answer`.
"""

from msgspec import Struct

from tracelens.derive.columns.time_text import duration, span_text

WORK, WAIT, REST = "work", "wait", "rest"
"""Kinds of a bar's parts: the device or process works, it waits, or the sum of small parts."""
LEAST_SHARE = 0.02
"""A change is named if it saves at least this share of a step."""
_ALL = 0.995
"""A change that saves at least this share leaves too little of a step to state its length."""


class Part(Struct, frozen=True):
    """A part of a bar: its label, its share of the bar between 0 and 1, and WORK, WAIT or REST."""

    label: str
    share: float
    kind: str


class Bar(Struct, frozen=True):
    """A step drawn as a bar. A comparison has two bars."""

    label: str
    parts: tuple[Part, ...]
    # Relative to the longest bar
    length: float = 1.0
    # Time of the whole bar in words, such as "14.1 ms"
    text: str = ""

    @property
    def percents(self) -> list[int]:
        """The shares of the parts as whole percents. They may sum to 99 or 101."""
        # Each share is rounded by itself, so that it equals the number in cards and tables.
        percents = [round(part.share * 100) for part in self.parts]
        # The part for all small parts gets the rest of 100.
        if self.parts and self.parts[-1].kind == REST:
            percents[-1] = max(100 - sum(percents[:-1]), 0)
        return percents


class Change(Struct, frozen=True):
    """A change that would help, and the length of a step with it."""

    text: str
    # Share of the time that the change saves, at most if not predicted. None if unknown.
    saved_frac: float | None
    # Predicted step, or the shortest possible one without a prediction. All three times are None if
    # unknown, or if the change would save nearly all of the step.
    after_ns: int | None = None
    # Range of the step
    low_ns: int | None = None
    high_ns: int | None = None
    # False if a replay says that the change may save nothing
    has_gain: bool = True
    # The report's section with the evidence
    section: str | None = None
    # The code or layer in which the time goes
    place: str | None = None

    @property
    def has_step(self) -> bool:
        """True if the time that a step would take with this change is known, at least roughly."""
        return self.after_ns is not None or self.low_ns is not None

    @property
    def after_text(self) -> str:
        """The time that a step would take with this change, in words, with its range.

        Without steps, the text is the share that the change saves.
        """
        if self.saved_frac is None:
            return "not known"
        if self.low_ns is not None and self.high_ns is not None:
            if self.after_ns is None:
                return span_text(self.low_ns, self.high_ns)
            first = duration(self.after_ns) if self.has_gain else "no clear gain"
            return f"{first} ({span_text(self.low_ns, self.high_ns)})"
        if self.after_ns is not None:
            return f"at least {duration(self.after_ns)}"
        return "nearly all" if self.saved_frac >= _ALL else f"{self.saved_frac * 100:.0f} %"


class Answer(Struct, frozen=True):
    """The answer for one trace, or for the comparison of two traces."""

    # The program's limit and its share
    sentence: str
    # The code in which the time goes
    place: str | None = None
    details: tuple[str, ...] = ()
    # Further lines of text
    rows: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    unprofiled: str | None = None
    changes: tuple[Change, ...] = ()
    # Introduces the changes
    changes_head: str = "What would help"
    # The reason if there are no changes
    no_change: str | None = None
    # Describes the recorded data
    about: str | None = None
    # Reasons to trust the answer less
    doubts: tuple[str, ...] = ()
    # The report's sections to read next
    sections: tuple[str, ...] = ()
    # The reason if two runs are not compared
    refused: str | None = None

    @property
    def after_head(self) -> str:
        """The heading of the column with the effect of each change."""
        has_steps = any(change.has_step for change in self.changes)
        return "a step then takes" if has_steps else "saves at most"
