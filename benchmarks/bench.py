"""Run the benchmark: its folder, settings and results, and the timing of contenders."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import ContenderError, Measurement, measure
from benchmarks.results import Results, Row

NATIVE = "TRACELENS_NATIVE"


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes to measure, in MB of JSON; numbers of kernels and spans, in millions."""

    sizes_mb: tuple[float, ...] = (125, 250, 500)
    kernels: tuple[float, ...] = (0.25, 0.5, 1)
    nsys_kernels: tuple[float, ...] = (1.25, 2.5, 5)
    layouts_mb: float = 125
    spans: float = 5
    runs: int = 3
    peer_limit_mb: float = 500
    """Peers that hold a whole trace as Python objects do not get larger traces."""

    @property
    def disk_bytes(self) -> int:
        """Estimate the most that the folder holds: an input plain and compressed, and its trace."""
        trace, export = max(self.sizes_mb) * 1.25e6, max(self.nsys_kernels) * 3.5e8
        return int(max(trace, export, 4 * self.layouts_mb * 1.3e6) + 1e9)


@dataclass(frozen=True, slots=True)
class Contender:
    """A command to time, and its name in the table.

    `{out}` in the command stands for a folder that is removed after each run.
    """

    name: str
    command: tuple[str, ...]
    native: str = ""
    """Value of the variable TRACELENS_NATIVE; `off` turns the native library off."""
    is_slow: bool = False
    """True if the contender takes so long that it runs once only."""


@dataclass(slots=True)
class Bench:
    """A run: the folder it works in, its settings, and the results it fills."""

    folder: Path
    settings: Settings
    results: Results
    _said: set[str] = field(default_factory=set)

    def race(self, contenders: Sequence[Contender], template: Row) -> list[Row]:
        """Time the contenders on one input, in alternation, so that a busy moment hits all of them.

        `template` has the group, the input and its size. A contender that fails gets no row; the
        results have the reason.
        """
        rows = {
            c.name: Row(template.group, c.name, template.input, template.size, template.unit)
            for c in contenders
        }
        failed: set[str] = set()
        for turn in range(self.settings.runs):
            for contender in contenders:
                if contender.name in failed or (contender.is_slow and turn):
                    continue
                try:
                    rows[contender.name].add(self.once(contender))
                except ContenderError as error:
                    failed.add(contender.name)
                    self.leave_out(
                        f"{contender.name}, {template.group}, {template.input}", str(error)
                    )
        kept = [row for name, row in rows.items() if name not in failed]
        for row in kept:
            self.say(
                f"{row.group}: {row.contender}, {row.input}: {row.median_s:.2f} s,"
                f" {row.median_peak_mb:.0f} MB"
            )
        self.results.rows += kept
        return kept

    def once(self, contender: Contender) -> Measurement:
        """Run a contender once."""
        out = self.folder / "out"
        command = [part.replace("{out}", str(out)) for part in contender.command]
        try:
            return measure(command, {NATIVE: contender.native})
        finally:
            shutil.rmtree(out, ignore_errors=True)

    def make(self, *arguments: str) -> Measurement:
        """Run a module of the benchmark that makes an input."""
        return measure([sys.executable, "-m", *arguments])

    def collect(self, kind: str, source: Path, trace: Path) -> Measurement:
        """Collect a source of this kind into a trace that other parts read."""
        return self.make("tracelens", "collect", kind, str(source), "--out", str(trace))

    def leave_out(self, what: str, why: str) -> None:
        """Say once that something is not measured."""
        if what not in self._said:
            self._said.add(what)
            self.results.left_out.append((what, why))
            self.say(f"left out: {what}: {why}")

    def say(self, text: str) -> None:
        """Print progress on standard error."""
        print(text, file=sys.stderr, flush=True)


def tracelens(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs tracelens with these arguments."""
    return (sys.executable, "-m", "tracelens", *arguments)


def peer(name: str, *arguments: str) -> tuple[str, ...]:
    """Return a contender that times itself."""
    return (sys.executable, "-m", "benchmarks.contenders", name, *arguments)
