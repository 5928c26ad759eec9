"""The answer to "what limits my program?" as data: a sentence, a place, bars, changes and facts.

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
    """A step drawn as a bar.

    A comparison has two bars. `length` is relative to the longest bar. `text` is the time of the
    whole bar in words, such as "14.1 ms".
    """

    label: str
    parts: tuple[Part, ...]
    length: float = 1.0
    text: str = ""

    @property
    def percents(self) -> list[int]:
        """The shares of the parts as whole percents.

        Each share is rounded by itself, so that it equals the number in cards and tables. The part
        that sums small parts gets the rest of 100. Without it, the percents may sum to 99 or 101.
        """
        percents = [round(part.share * 100) for part in self.parts]
        if self.parts and self.parts[-1].kind == REST:
            percents[-1] = max(100 - sum(percents[:-1]), 0)
        return percents


class Change(Struct, frozen=True):
    """A change that would help, and the length of a step with it.

    `saved_frac` is the share of the time that the change saves. Without a prediction, it is the
    largest share that the change may save. It is None if unknown.

    `after_ns` is the predicted step. Without a prediction, it is the shortest possible step.
    `low_ns` and `high_ns` are the range of the step. All three times are None if the step is not
    known, or if the change would save nearly all of it. `has_gain` is False if a replay says that
    the change may save nothing. `section` is the report's section with the evidence. `place` is the
    code or layer in which the time goes.
    """

    text: str
    saved_frac: float | None
    after_ns: int | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    has_gain: bool = True
    section: str | None = None
    place: str | None = None

    @property
    def has_step(self) -> bool:
        """True if the time of a step after the change is known, at least roughly."""
        return self.after_ns is not None or self.low_ns is not None

    @property
    def after_text(self) -> str:
        """The time of a step after the change in words, with its range.

        If the gain is not clear, words say so instead of the time. Without steps, the text is the
        share that the change saves.
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
    """The answer to one trace, or to its comparison with another.

    `sentence` names the program's limit and its share, `place` the code in which the time goes.
    `details` are further sentences, `rows` further lines of text. `changes_head` introduces the
    changes. `no_change` says why there are none. `about` describes what was recorded. `doubts` are
    reasons to trust the answer less. `sections` are the report's sections to read next. `refused`
    is the reason why two runs are not compared.
    """

    sentence: str
    place: str | None = None
    details: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    unprofiled: str | None = None
    changes: tuple[Change, ...] = ()
    changes_head: str = "What would help"
    no_change: str | None = None
    about: str | None = None
    doubts: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    refused: str | None = None

    @property
    def after_head(self) -> str:
        """The heading of the column with the effect of each change."""
        has_steps = any(change.has_step for change in self.changes)
        return "a step then takes" if has_steps else "saves at most"
