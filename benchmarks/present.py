"""Present the results as a page, a chart and the README's section on performance.

`python -m benchmarks.present FOLDER` draws the benchmark.json in the folder without measuring.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks import suite_shapes, suite_sizes, suites
from benchmarks.results import Results, Row

BEGIN, END = "<!-- performance -->", "<!-- /performance -->"
README = Path(__file__).resolve().parents[1] / "README.md"
_THERE_S = 2.4
_NOTICE = "<!-- Written by python -m benchmarks; run it again instead of editing. -->"
_MEANING = (
    "Times are medians over runs, each in a new process. The contenders of an input take turns, "
    "and files are in the page cache. HTA ran only once, and so did everything that takes longer "
    "than 15 s on the largest traces.\n\n"
    "`tracelens collect` and `report` are timed from start to exit, with everything written. "
    "Of other tools, only the named call is timed: without the start of Python, imports, and "
    "reading or decompressing the file, unless the tool itself reads it (HTA, connectorx, Polars). "
    "If a target says so, both are timed from start to exit. “times tracelens” is a tool's "
    "time divided by that of tracelens on the same input. Memory is the peak of the process and "
    "of all processes that it started.\n\n"
    "The traces are enlarged copies of real traces (benchmarks/enlarge.py), which are not kept. "
    "If you quote the speed against HTA, quote a range with the versions: 30 times here, 15 times "
    "on another machine and file with pandas 3.1."
)


def page(results: Results) -> str:
    """Write the whole page in Markdown."""
    machine = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    parts = [
        "# Benchmark",
        _NOTICE,
        f"Measured on: {machine}. Runs of each: {results.settings['runs']}.",
        _MEANING,
    ]
    if results.settings.get("quick"):
        parts.append("**Made with --quick: small inputs, one run. These numbers say nothing.**")
    parts += [
        "![Time and memory by size of the trace](benchmark.png)",
        "## Targets",
        _targets(results),
        *_yardstick(results),
    ]
    for group in dict.fromkeys(row.group for row in results.rows):
        parts += [f"## {group[0].upper()}{group[1:]}", _group(results, group)]
    parts += ["## Growth with size", _growth(results)]
    if results.left_out:
        parts += ["## Left out", "\n".join(f"- {what}: {why}" for what, why in results.left_out)]
    return "\n\n".join(parts) + "\n"


def performance(results: Results) -> str:
    """Write the README's section: the time to collect the largest trace that peers also read."""
    rows = [
        row for row in results.rows if row.group == "collect torch" and row.input.endswith("plain")
    ]
    compared = [row.size for row in rows if row.contender == suites.HTA] or [
        row.size for row in rows
    ]
    size = max(compared, default=0)
    chosen = [
        row
        for row in rows
        if row.size == size and "," not in row.contender.removeprefix(suites.ORJSON_GC)
    ]
    machine = results.machine
    judged = [
        target.met for target in results.targets if target.full_size and target.met is not None
    ]
    return "\n\n".join(
        [
            f"A {size:.0f} MB trace on {machine['cores']} cores of {machine['processor']}:",
            _table(
                ["", "time", "memory", "times tracelens"],
                [_line(row, _ours(chosen)) for row in chosen],
            ),
            (
                "`tracelens collect` is timed as a whole: it links, nests and writes the tables."
                " json and orjson only parse."
            ),
            (
                f"{sum(judged)} of {len(judged)} targets are met;"
                " [docs/benchmark.md](docs/benchmark.md) has all numbers."
            ),
        ]
    )


def replace_section(text: str, section: str) -> str | None:
    """Replace the text between the markers; return None if there are no markers."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        return None
    return f"{text[: begin + len(BEGIN)]}\n\n{section}\n\n{text[end:]}"


def chart(results: Results) -> alt.HConcatChart:
    """Draw time and memory of each contender over the size of the trace, with logarithmic axes."""
    rows = [
        row for row in results.rows if row.group == "collect torch" and row.input.endswith("plain")
    ]
    values = [
        {
            "contender": row.contender,
            "size": row.size,
            "time": row.median_s,
            "memory": row.median_peak_mb,
        }
        for row in rows
        if not row.contender.startswith((f"{suites.HTA},", f"{suites.COLLECT},"))
    ]
    base = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "size:Q",
                title="size of the trace (MB)",
                scale=alt.Scale(type="log", nice=False),
            ),
            color=alt.Color("contender:N", title=None, sort=None),
        )
    )
    panels = [
        base.encode(
            y=alt.Y(
                f"{field}:Q",
                title=title,
                scale=alt.Scale(type="log"),
            )
        ).properties(width=320, height=260)
        for field, title in (("time", "time (s)"), ("memory", "peak memory (MB)"))
    ]
    return alt.hconcat(*panels)


def _targets(results: Results) -> str:
    words = {True: "yes", False: "**no**", None: "not judged"}
    lines = [
        [
            t.target,
            t.measured,
            words[t.met] + ("" if t.full_size or t.met is None else ", on a smaller input"),
        ]
        for t in results.targets
    ]
    return _table(["target", "measured", "met"], lines)


def _yardstick(results: Results) -> list[str]:
    """Compare this machine with the machine that the targets in seconds are for."""
    rows = [
        row
        for row in results.rows
        if row.contender == suites.ORJSON and row.input.endswith("plain")
    ]
    if not rows:
        return []
    row = max(rows, key=lambda row: row.size)
    seconds = row.median_s * 500 / row.size
    sentence = (
        f"Targets in seconds were set on a machine where {suites.ORJSON}, takes {_THERE_S} s for"
        f" 500 MB; here it took {seconds:.1f} s ({row.input}), {seconds / _THERE_S:.2f} times as"
        " long. The targets are not adjusted for this."
    )
    return [sentence]


def _group(results: Results, group: str) -> str:
    rows = [row for row in results.rows if row.group == group]
    if group == suite_sizes.GROUP:
        return _table(
            ["package", "size"],
            [[row.contender, f"{row.size:.1f} MB"] for row in rows],
        )
    lines = []
    for name in dict.fromkeys(row.input for row in rows):
        of_input = [row for row in rows if row.input == name]
        ours = _ours(of_input)
        lines += [[name, *_line(row, ours, with_rate=True)] for row in of_input]
    heads = ["input", "", "time", f"{rows[0].unit}/s", "memory", "times tracelens"]
    has_peers = len({row.contender for row in rows}) > 1 and any(line[-1] for line in lines)
    return (
        _table(heads, lines)
        if has_peers
        else _table(
            heads[:-1],
            [line[:-1] for line in lines],
        )
    )


def _ours(rows: Iterable[Row]) -> Row | None:
    return next(
        (row for row in rows if row.contender in {suites.COLLECT, suites.COLLECT_NSYS}),
        None,
    )


def _line(
    row: Row,
    ours: Row | None,
    *,
    with_rate: bool = False,
) -> list[str]:
    ratio = f"{row.median_s / ours.median_s:.2f}" if ours is not None else ""
    rate = [f"{row.size / row.median_s:.3g}"] if with_rate else []
    return [row.contender, f"{row.median_s:.3g} s", *rate, f"{row.median_peak_mb:.0f} MB", ratio]


def _growth(results: Results) -> str:
    """Compare the largest input with the smallest: times and sizes."""
    series: dict[tuple[str, str, str], list[Row]] = {}
    for row in results.rows:
        form = row.input.rsplit(" ", 1)[-1] if row.group == "collect torch" else ""
        series.setdefault((row.group, row.contender, form), []).append(row)
    lines = []
    for (group, contender, form), rows in series.items():
        ordered = sorted(rows, key=lambda row: row.size)
        if len({row.size for row in ordered}) > 1 and group not in {"layouts", suite_shapes.GROUP}:
            small, large = ordered[0], ordered[-1]
            sizes = " → ".join(
                f"{row.size:.0f}" if row.size > 100 else f"{row.size:.3g}" for row in ordered
            )
            times = " → ".join(f"{row.median_s:.3g}" for row in ordered)
            lines.append(
                [
                    f"{group} {form}".strip(),
                    contender,
                    f"{sizes} {small.unit}",
                    f"{times} s",
                    f"{large.size / small.size:.3g}",
                    f"{large.median_s / small.median_s:.3g}",
                ]
            )
    return _table(
        ["", "", "sizes", "times", "larger by", "longer by"],
        lines,
    )


def _table(heads: list[str], lines: list[list[str]]) -> str:
    cells: list[list[Any]] = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in cells)


def main() -> None:
    """Read the results and write page, chart and, when asked, the README's section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--readme", action="store_true", help="replace the README's performance section too"
    )
    given = parser.parse_args()
    results = Results.from_dict(json.loads((given.folder / "benchmark.json").read_text()))
    (given.folder / "benchmark.md").write_text(page(results))
    if any(
        row.group == "collect torch" for row in results.rows
    ):  # the chart's; an empty one cannot be drawn
        chart(results).save(given.folder / "benchmark.png", scale_factor=2)
    if given.readme:
        text = replace_section(README.read_text(), performance(results))
        if text is None:
            print(
                f"README.md has no {BEGIN} and {END}; its section was not written", file=sys.stderr
            )
        else:
            README.write_text(text)


if __name__ == "__main__":
    main()
