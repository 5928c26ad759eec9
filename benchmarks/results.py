"""Hold the results of a run of the benchmark: one row per contender and input.

They are plain data for docs/benchmark.json.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from benchmarks.measure import Measurement


@dataclass(slots=True)
class Row:
    """All runs of one contender on one input.

    `size` counts `unit`s: MB of JSON, million kernels, million spans.
    """

    group: str
    contender: str
    input: str
    size: float
    unit: str
    seconds: list[float] = field(default_factory=list)
    process_s: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)

    def add(self, run: Measurement) -> None:
        """Add one run."""
        self.seconds.append(round(run.seconds, 4))
        self.process_s.append(round(run.process_s, 4))
        self.peak_mb.append(round(run.peak_bytes / 1e6, 1))
        self.said = run.said

    @property
    def median_s(self) -> float:
        """Median seconds."""
        return median(self.seconds)

    @property
    def median_process_s(self) -> float:
        """Median seconds from start to exit."""
        return median(self.process_s)

    @property
    def median_peak_mb(self) -> float:
        """Median peak memory."""
        return median(self.peak_mb)


@dataclass(slots=True)
class Target:
    """A goal of tracelens; `met` is None if this run cannot judge it.

    `full_size`: whether the input was as large as the goal asks.
    """

    target: str
    measured: str
    met: bool | None
    full_size: bool = True


@dataclass(slots=True)
class Results:
    """All results of a run; `left_out` has parts that were not measured, with the reasons."""

    machine: dict[str, str]
    settings: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def find(
        self,
        group: str,
        contender: str,
        input_: str | None = None,
        size: float | None = None,
    ) -> Row | None:
        """Return a contender's row of a group, by default that of the largest input."""
        matching = [
            row
            for row in self.rows
            if row.group == group
            and row.contender == contender
            and (input_ is None or row.input == input_)
            and (size is None or row.size == size)
            and row.seconds
        ]
        return max(matching, key=lambda row: row.size, default=None)

    def after(self, earlier: Results) -> Results:
        """Return these results, and an earlier run's for groups that this run did not measure."""
        groups = {row.group for row in self.rows}
        kept = [row for row in earlier.rows if row.group not in groups]
        left_out = dict(earlier.left_out) | dict(self.left_out)
        return Results(
            self.machine,
            self.settings,
            kept + self.rows,
            list(left_out.items()),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything, with the medians beside the runs."""
        plain = asdict(self)
        for row, data in zip(self.rows, plain["rows"], strict=True):
            if row.seconds:
                data["median_s"], data["median_peak_mb"] = row.median_s, row.median_peak_mb
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Results:
        """Make results of what `as_dict` returned."""
        derived = {"median_s", "median_peak_mb"}
        return cls(
            machine=plain["machine"],
            settings=plain["settings"],
            rows=[
                Row(**{k: v for k, v in row.items() if k not in derived}) for row in plain["rows"]
            ],
            left_out=[(what, why) for what, why in plain["left_out"]],
            targets=[Target(**target) for target in plain["targets"]],
        )
