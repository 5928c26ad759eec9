"""Draw the page's first screen: the answer, a step as bars, and facts on the recording."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import polars as pl
from msgspec import Struct

from tracelens.answers.answer import WORK, Answer, Bar
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.replay.unprofiled_job import UnprofiledJob
from tracelens.derive.time.time_parts import TimeModel, mark_times, step_times
from tracelens.report import Report
from tracelens.trace import Trace
from tracelens.views.palette import KIND_COLORS, PART_COLORS

_WORKS, _WAITS, _AFTER, _RANGE = "lane-works", "lane-waits", "step-after", "range"
LOOKS = {
    _WORKS: "work",
    _WAITS: "waiting",
    _AFTER: "work or waiting",
    _RANGE: "from the least to the most that it may take",
}
"""Labels of the parts of a step's bars, by their class in style.css."""
_UNKNOWN_COST = (
    "not measured: only a live capture (tracelens collect torch -- COMMAND) times steps without the"
    " profiler"
)


class BarPart(Struct, frozen=True):
    """A part of a drawn bar, with begin and width in percent of the longest bar."""

    begin: float
    width: float
    # A colour, or a class of LOOKS. Only parts with a colour have a label and a share.
    look: str
    label: str = ""
    percent: int = 0


class DrawnBar(Struct, frozen=True):
    """A bar, its parts, the label before the bar, and the text after the bar."""

    label: str
    text: str
    parts: tuple[BarPart, ...]


class AnswerBlock(Struct, frozen=True):
    """The first block of the page."""

    answer: Answer
    bars: tuple[DrawnBar, ...]
    # Each change's text, step time after it, and code or layer, or None
    changes: tuple[tuple[str, str, str | None], ...]


def answer_block(report: Report) -> AnswerBlock:
    """Return a report's answer as the first block of the page."""
    answer = report.answer
    changes = tuple(
        (
            change.text[:1].upper() + change.text[1:],
            change.after_text,
            change.place,
        )
        for change in answer.changes
    )
    return AnswerBlock(
        answer,
        tuple(map(_drawn, answer.bars)),
        changes,
    )


def _drawn(bar: Bar) -> DrawnBar:
    shares = [part.share for part in bar.parts]
    whole = sum(shares) or 1.0
    begins = accumulate(shares, initial=0.0)
    scale = 100 * bar.length / whole
    parts = zip(bar.parts, bar.percents, begins, strict=False)
    return DrawnBar(
        bar.label,
        bar.text,
        tuple(
            BarPart(
                round(begin * scale, 3),
                round(part.share * scale, 3),
                PART_COLORS.get(part.label, KIND_COLORS[part.kind]),
                part.label,
                percent,
            )
            for part, percent, begin in parts
        ),
    )


def step_lanes(
    report: Report,
    answer: Answer,
    program_steps: pl.DataFrame,
    job: UnprofiledJob | None = None,
) -> list[DrawnBar]:
    """Return up to three bars of a step: as recorded, without the profiler, after a change.

    The result is empty if only one of these three step times is known. `program_steps` has the
    recorded steps. The first bar's label says whether the bar is the median or the mean step.
    `job` has the step of a job of several ranks.
    """
    row = _unprofiled(report)
    if job is not None and row is not None:
        row |= {"recorded_ns": job.recorded_ns, "low_ns": job.low_ns, "high_ns": job.high_ns}
    if row is None or len(answer.bars) != 1:
        return []
    recorded: int = row["recorded_ns"]
    label = "as recorded" if job is not None else _recorded_label(row, program_steps)
    # The profiler slows only the host: the device works equally long without it.
    working = recorded * sum(part.share for part in answer.bars[0].parts if part.kind == WORK)
    ends: list[tuple[str, str, float | None, float, float]] = [
        (label, duration(recorded), working, recorded, recorded),
    ]
    if row["low_ns"] is not None:
        low, high = row["low_ns"], row["high_ns"]
        text = f"about {span_text(low, high)}"
        ends.append(("without the profiler", text, min(working, low), low, high))
    best = answer.changes[0] if answer.changes else None
    if best is not None:
        least = best.low_ns if best.low_ns is not None else best.after_ns
        most = best.high_ns if best.high_ns is not None else least
        if least is not None and most is not None:
            ends.append(("after the first change", best.after_text, None, least, most))
    if len(ends) < 2:
        return []
    longest = max(high for *_, high in ends)
    return [_lane(label, text, edges, longest) for label, text, *edges in ends]


def _recorded_label(row: dict[str, int], program_steps: pl.DataFrame) -> str:
    median = program_steps.filter(pl.col("rank") == row["rank"])["duration_ns"].median()
    if not isinstance(median, float) or program_steps.height == 1:
        return "as recorded"
    return f"as recorded ({'median' if round(median) == row['recorded_ns'] else 'average'} step)"


def _unprofiled(report: Report) -> dict[str, int] | None:
    """Return the first row of the section `unprofiled_step` that has a recorded step time.

    Return None if there is no such row.
    """
    # The first screen of a comparison has no such bar.
    if report.base is not None:
        return None
    frame = report.frames.get("unprofiled_step")
    rows = frame.sort("rank").iter_rows(named=True) if frame is not None else ()
    return next((row for row in rows if row["recorded_ns"] > 0), None)


def _lane(
    label: str,
    text: str,
    edges: Sequence[float | None],
    longest: float,
) -> DrawnBar:
    """Return the bar of a step, drawn relative to the time `longest`.

    `edges` has three times in nanoseconds: the device's work, and the lower and the upper bound of
    the step time. The device's work is None if it is unknown.
    """
    working, low, high = (
        None if edge is None else round(100 * edge / longest, 3) for edge in edges
    )
    assert low is not None
    assert high is not None
    begin = working or 0.0
    parts = [
        BarPart(0, begin, _WORKS),
        BarPart(begin, round(low - begin, 3), _AFTER if working is None else _WAITS),
        BarPart(low, round(high - low, 3), _RANGE),
    ]
    return DrawnBar(label, text, tuple(part for part in parts if part.width > 0))


def card(model: TimeModel) -> list[tuple[str, str]]:
    """Return the facts on the recording, each as a word and its text, without unknown facts."""
    trace = model.trace
    sources = trace.manifest.sources
    versions = {
        f"{k.replace('_', ' ')} {v}": None
        for source in sources
        for k, v in source.get("versions", {}).items()
    }
    producers = {str(source["producer"]): None for source in sources if source.get("producer")}
    facts = [
        ("program", trace.name),
        ("captured by", ", ".join(producers)),
        ("GPU", _devices(trace)),
        ("versions", ", ".join(versions)),
        ("ranks", _numbers(trace.manifest.ranks)),
        *_steps(model),
    ]
    return [(word, text) for word, text in facts if text]


def _devices(trace: Trace) -> str:
    """Return the models of the GPUs that ran kernels, each with its number of GPUs."""
    used = trace.select("kernels", "rank", "device_id").unique()
    names = trace.devices.join(used, on=["rank", "device_id"], how="semi").sort(
        "rank", "device_id"
    )["name"]
    counts = Counter(names.fill_null("unknown"))
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in counts.items())


def _steps(model: TimeModel) -> list[tuple[str, str]]:
    """Return facts on the steps, each as name and text.

    The facts are the number of steps, the step time, the length of a step's mark, and the
    profiler's cost. A mark is the host's span for a step. The text on marks is empty if marks are
    as long as steps.
    """
    trace = model.trace
    times = step_times(model)
    if times.is_empty():
        return [("steps", "none marked" if trace.has("spans") or trace.has("kernels") else "")]
    numbers = sorted({int(n) for n in times["n_steps"]})
    steps = ("steps", " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1])))))
    middle, low, high = times.select(
        pl.col("median_ns").median(),
        pl.col("low_ns").min(),
        pl.col("high_ns").max(),
    ).row(0)
    text = f"{duration(middle)} in the median; {span_text(low, high)}"
    plain = trace.manifest.unprofiled_steps_ns()
    known = [
        (row["mean_ns"], plain[row["rank"]])
        for row in times.iter_rows(named=True)
        if row["rank"] in plain
    ]
    costs = [(with_it - without) / without for with_it, without in known if without]
    cost = _UNKNOWN_COST
    if costs:
        slowest = max(costs)
        without_ns = known[costs.index(slowest)][1] or 0
        cost = f"{slowest:.0%} of a step: {duration(without_ns)} without it"
    marks = sorted(mark_times(times).values())
    mark = f"{duration(marks[len(marks) // 2])} on the host, which a viewer shows" if marks else ""
    return [
        steps,
        ("step time", text),
        ("a step's mark", mark),
        ("profiler's cost", cost),
    ]


def _numbers(ranks: Sequence[int]) -> str:
    """Return the number of ranks, with the first and last rank if none is missing between them.

    The text is empty for a single rank.
    """
    if len(ranks) < 2:
        return ""
    whole = [*ranks] == [*range(ranks[0], ranks[-1] + 1)]
    return f"{len(ranks)} ({ranks[0]} to {ranks[-1]})" if whole else f"{len(ranks)}"
