"""Draw a step, or the program's time, as a bar with labelled parts."""

from collections.abc import Mapping, Sequence

from tracelens.answers.answer import REST, WAIT, WORK, Bar, Part
from tracelens.derive.time.bounds import PART_WORDS, PROCESS_WORDS
from tracelens.derive.time.time_parts import RankTime

_MOST_PARTS = 4
_SMALL = 0.01
_KINDS = {"compute": WORK, "communication": WORK, "copy": WORK}
"""Parts that are work. All other parts are waiting."""


def program_bar(
    rank: RankTime,
    label: str = "step",
    length: float = 1.0,
    text: str = "",
) -> Bar:
    """Draw the rank's time as a bar."""
    labels = {part: label_of(part, is_process=rank.is_process) for part in rank.parts}
    shares: dict[str, float] = {}
    for part, name in labels.items():
        shares[name] = shares.get(name, 0.0) + rank.shares[part]
    kinds = {name: kind_of(part) for part, name in labels.items()}
    head = label if rank.n_steps or label != "step" else "time"
    return Bar(head, parts_of(shares, kinds), length, text)


def label_of(part: str, *, is_process: bool) -> str:
    """Return the part's label in a bar."""
    return (PROCESS_WORDS if is_process else PART_WORDS).get(part, part)


def kind_of(part: str) -> str:
    """Return WORK if the device or process works in this part, else WAIT."""
    return _KINDS.get(part, WAIT)


def parts_of(shares: Mapping[str, float], kinds: Mapping[str, str]) -> tuple[Part, ...]:
    """Return a bar's parts: work first, then waiting, the largest first.

    `shares` maps labels to shares that sum to 1, `kinds` maps labels to kinds. Small parts are
    summed as `other`.
    """
    largest = sorted(shares, key=lambda label: -shares[label])
    named = [label for label in largest if shares[label] >= _SMALL][:_MOST_PARTS]
    order = sorted(named, key=lambda label: kinds[label] != WORK)
    parts = [Part(label, shares[label], kinds[label]) for label in order]
    rest = 1 - sum(part.share for part in parts)
    # Without it if the named parts round to 100 % already
    is_shown = rest >= _SMALL / 2 and sum(round(part.share * 100) for part in parts) < 100
    return (
        *parts,
        *([Part("other", rest, REST)] if is_shown else []),
    )


def percents_in(bar: Bar, rank: RankTime, parts: Sequence[str]) -> str:
    """Return the parts' shares of a step as text, such as "40 % and 25 %".

    A part that the bar shows has the same number here.
    """
    percents = []
    for part in parts:
        label = label_of(part, is_process=rank.is_process)
        drawn = [
            n
            for bar_part, n in zip(bar.parts, bar.percents, strict=True)
            if bar_part.label == label
        ]
        percents.append(drawn[0] if drawn else round(rank.shares[part] * 100))
    return " and ".join(f"{percent} %" for percent in percents)
