"""Advise changes that would help a program, and say how much of a step each can save."""

from collections.abc import Iterable

from msgspec import Struct, field

from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.time.bounds import place_phrase
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.derive.time.time_parts import WORTH_IT

_MOST_CHANGES = 5
_MOST_PLACES = 3
_LEAST_PLACE = 0.01
"""A call path is named if its share of the time of all the rule's paths is larger."""
_SAME = 0.95
"""A range is written as one number if its low end is at least this share of its high end."""


class Rule(Struct, frozen=True):
    """Holds advice for one program: a change, the part of the time that shrinks, and the saving."""

    ns: int
    """Most time that the change saves, over all judged time."""
    text: str
    """The change in words."""
    cause: str
    """The part of the time that shrinks."""
    section: str
    """Names of the analyses that show this part."""
    is_of_host: bool = False
    """True if this part is host time, which recording makes longer."""
    places: list[tuple[str, int]] = field(default_factory=list)
    """Call paths of this part with their ns, the largest first."""
    expression: str | None = None
    """The change as `whatif` takes it, None if a replay cannot make it."""


class Change(Struct, frozen=True):
    """Holds a change that would help, and its saving without any other change.

    Times are for a mean step. If the trace has no steps, they are for all judged time. Fields
    without a description are those of `Rule`.
    """

    text: str
    cause: str
    section: str
    step_ns: int
    is_per_step: bool
    saving_ns: int | None
    """Largest saving, without time that the profiler adds; None if unknown."""
    low_ns: int | None
    high_ns: int | None
    """The saving is between `low_ns` and `high_ns`.

    They are None if `saving_ns` is unknown or needs no range.
    """
    share: float | None
    """The saving as a share of `step_ns`."""
    places: tuple[tuple[str, int], ...]
    expression: str | None

    @property
    def sentence(self) -> str:
        """The change, its saving and its call paths as one sentence."""
        return f"{self.text}{self._where_all}: {self._saving}{self._where}."

    def predicted_sentence(self, step: str) -> str:
        """Write the change and the predicted step time `step` (words) as a sentence."""
        return f"{self.text}{self._where_all}: {step}{self._where_without_times}."

    @property
    def _saving(self) -> str:
        if self.saving_ns is None or self.share is None:
            return (
                "how much it saves cannot be told, as the profiler slowed the host; see"
                f" {self.section}"
            )
        every = "a step" if self.is_per_step else "in all"
        if self.low_ns is not None and self.high_ns is not None:
            size = span_text(self.low_ns, self.high_ns)
        else:
            size = f"up to {duration(self.saving_ns)}"
        return f"{size} {every} ({self.share:.0%}; see {self.section})"

    @property
    def _where_all(self) -> str:
        """Name the change's call path if there is only one, else return an empty text."""
        return f", {place_phrase(self.places[0][0])}" if len(self.places) == 1 else ""

    @property
    def _where(self) -> str:
        """Name the largest of several call paths, with their times if the times are known."""
        if len(self.places) < 2:
            return ""
        if self.saving_ns is None:
            return self._where_without_times
        shown = self.places[:_MOST_PLACES]
        rest = self.places[_MOST_PLACES:]
        words = [f"{duration(ns)} {place_phrase(what)}" for what, ns in shown]
        if rest:
            words.append(f"{duration(sum(ns for _, ns in rest))} in {len(rest)} more")
        return "; of it " + ", ".join(words)

    @property
    def _where_without_times(self) -> str:
        """Name the largest of several call paths."""
        if len(self.places) < 2:
            return ""
        shown = self.places[:_MOST_PLACES]
        return ", mostly " + ", ".join(place_phrase(what) for what, _ in shown)


def largest_changes(program: JudgedProgram, rules: Iterable[Rule]) -> list[Change]:
    """Return at most five changes that save at least 2 % of the judged time, the largest first."""
    worth = [
        rule
        for rule in rules
        if _time_to_save(program, rule) and rule.ns >= WORTH_IT * program.total_ns
    ]
    # Sort by recorded time, because a saving without the profiler may be unknown.
    worth.sort(key=lambda rule: -rule.ns)
    return [_change(program, rule) for rule in worth[:_MOST_CHANGES]]


def _change(program: JudgedProgram, rule: Rule) -> Change:
    """Return a rule's change, with times per step."""
    scale = program.step_ns / program.total_ns
    most, low, high = _savings(program, rule)
    kept = 1.0 if most is None else most / _time_to_save(program, rule)
    named_ns = _LEAST_PLACE * sum(ns for _, ns in rule.places)
    places = tuple((what, round(ns * scale * kept)) for what, ns in rule.places if ns > named_ns)
    return Change(
        text=rule.text,
        cause=rule.cause,
        section=rule.section,
        step_ns=program.step_ns,
        is_per_step=bool(program.n_steps),
        saving_ns=None if most is None else round(most * scale),
        low_ns=None if low is None else round(low * scale),
        high_ns=None if high is None else round(high * scale),
        share=None if most is None else most / program.total_ns,
        places=places,
        expression=rule.expression,
    )


def _time_to_save(program: JudgedProgram, rule: Rule) -> float:
    """Return a rule's saving in ns, limited to the whole time of the part that shrinks."""
    return min(rule.ns, program.parts[rule.cause])


def _savings(
    program: JudgedProgram, rule: Rule
) -> tuple[float, float | None, float | None] | tuple[None, None, None]:
    """Return the largest saving of a rule over all judged time in ns, with a low and a high bound.

    All three are None if the bounds differ by more than a factor of two.
    """
    most = _time_to_save(program, rule)
    slowdown = program.slowdown(rule.cause) if rule.is_of_host else None
    if slowdown is None:
        return most, None, None
    low, high = (most * part for part in slowdown)
    if 2 * low < high:
        return None, None, None
    # Bounds that are nearly equal are not returned.
    return (high, None, None) if low >= _SAME * high else (high, low, high)
