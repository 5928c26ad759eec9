"""Reports made by hand, to test views and exports without any analysis: small, hostile names."""

import math
from typing import Any

import polars as pl

from tracelens.analyses import ANALYSES, Analysis
from tracelens.report import Report, Section
from tracelens.schemas import TABLES
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest

SCRIPT = "</script><img src=x onerror=alert(1)>"
ESCAPES = "\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|"
LONG_KERNEL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float,"
    " float, at::native::binary_internal::MulFunctor<float>>, std::array<char*, 3ul>>(int,"
    " std::array<char*, 3ul>)"
)

TOP_KERNELS = Table(
    "top_kernels",
    "A kernel.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("name", pl.String, "Kernel."),
        Column("library", pl.String, "Who wrote it.", nullable=True),
        Column("primitive", pl.String, "What it computes."),
        Column("n_calls", pl.Int64, "Executions."),
        Column("duration_total_ns", pl.Int64, "Time.", "ns"),
        Column("share_frac", pl.Float64, "Share of the GPU time.", "1", nullable=True),
        Column("size_bytes", pl.Int64, "Bytes.", "bytes", nullable=True),
        Column("bandwidth_bytes_per_s", pl.Float64, "Bandwidth.", nullable=True),
    ),
)
VERDICT = Table(
    "verdict",
    "What bounds a rank.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("step", pl.Int64, "Step; null for the whole trace.", nullable=True),
        Column(
            "bound",
            pl.String,
            "What bounds it.",
            values=("launch", "copy", "communication", "compute", "unknown"),
        ),
        Column("evidence", pl.String, "Why."),
        Column("value", pl.Float64, "The number that says so.", nullable=True),
        Column("unit", pl.String, "Its unit.", nullable=True),
    ),
)
ROWS: list[dict[str, Any]] = [
    {
        "rank": 0,
        "name": LONG_KERNEL,
        "library": "aten",
        "primitive": "elementwise",
        "n_calls": 12345,
        "duration_total_ns": 2_500_000,
        "share_frac": 0.25,
        "size_bytes": 19_267_584,
        "bandwidth_bytes_per_s": 12.5e9,
    },
    {
        "rank": 0,
        "name": SCRIPT,
        "library": None,
        "primitive": "conv",
        "n_calls": 1,
        "duration_total_ns": 7_000,
        "share_frac": math.nan,
        "size_bytes": None,
        "bandwidth_bytes_per_s": math.inf,
    },
    {
        "rank": 0,
        "name": ESCAPES,
        "library": "other",
        "primitive": "unknown",
        "n_calls": 2,
        "duration_total_ns": 1_000,
        "share_frac": 0.0,
        "size_bytes": 0,
        "bandwidth_bytes_per_s": None,
    },
]


def section(
    table: Table, rows: list[dict[str, Any]], *notes: str, missing: str | None = None
) -> Section:
    """Make a section as if an analysis had run."""
    known = ANALYSES.get(table.name)
    shown, charts = (known.shown, known.charts) if known else ((), None)
    if table is VERDICT:  # a value beside its unit is what tests of views are about
        shown = ("rank", "bound", "value", "unit", "evidence")
    analysis = Analysis(
        f"What about {table.name}?", table, lambda *_: table.empty(), shown=shown, charts=charts
    )
    frame = pl.DataFrame(rows, schema=table.schema)
    made = analysis.charts(frame) if analysis.charts and rows else ()
    return Section(analysis, frame, list(notes), missing, charts=made)


def trace(**manifest: Any) -> Trace:
    """Return a trace without rows."""
    about: dict[str, Any] = {
        "sources": [{"name": "run.json.gz", "kind": "torch", "size_bytes": 10, "sha256": "ab"}],
        "ranks": [0],
    }
    return Trace(
        Manifest(**(about | manifest)),
        {name: table.empty().lazy() for name, table in TABLES.items()},
    )


def report(*sections: Section) -> Report:
    """Return a report of the sections.

    Without any: a verdict, a table with hostile names, a section without an answer.
    """
    verdict = {
        "rank": 0,
        "step": None,
        "bound": "launch",
        "evidence": "the GPU waits",
        "value": 2500.0,
        "unit": "ns",
    }
    default = (
        section(TOP_KERNELS, ROWS, f"One kernel is called {SCRIPT}."),
        section(VERDICT, [verdict], "Launches bound this run."),
        section(TOP_KERNELS, [], missing="top_kernels needs the table kernels, empty here"),
    )
    return Report(trace(), None, list(sections or default))
