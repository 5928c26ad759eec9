"""The command `doctor`: list the tools and packages that tracelens can use, and what is missing.

No slow program is started to find them.
"""

import ctypes

import polars as pl

from tracelens.cli.io import plain
from tracelens.cli.next_step import suggest
from tracelens.cli.output import emit
from tracelens.hooks import HOOKS
from tracelens.native import LIBRARY
from tracelens.running.program import driver_version, package
from tracelens.storage.table import Column, Table
from tracelens.trace.collector import COLLECTORS, Found, Tool

FINDINGS = Table(
    "doctor",
    "A tool or package that tracelens can use.",
    (
        Column("tool", pl.String, "Name."),
        Column("found", pl.Boolean, "Whether it is here."),
        Column("version", pl.String, "Version, if it is known.", nullable=True),
        Column("used_for", pl.String, "What tracelens uses it for."),
        Column(
            "to_get_it",
            pl.String,
            "How to get it, or what it lacks; null if all is here.",
            nullable=True,
        ),
    ),
)


def doctor() -> None:
    """List the tools that tracelens can use, and whether they are found here."""
    emit(plain(examine()))
    suggest("tracelens run python train.py", "or", "tracelens demo")


def examine() -> pl.DataFrame:
    """Look for each tool, and return one row per tool with the columns of FINDINGS.

    Packages are looked up but not imported.
    """
    HOOKS.list_collectors()
    tools = [
        *(tool for collector in COLLECTORS.values() for tool in collector.tools),
        *_GENERAL,
    ]
    rows = []
    for name, used_for, to_get_it, find in tools:
        finding = find(name)
        rows.append(
            (
                name,
                finding.is_here,
                finding.version,
                used_for,
                finding.advice if finding.is_here else to_get_it,
            )
        )
    return FINDINGS.check(pl.DataFrame(rows, schema=FINDINGS.schema, orient="row"))


def _nvml(_: str) -> Found:
    """Return whether NVML can be loaded, with the version of the driver's kernel module."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return Found(False)
    return Found(True, driver_version())


_GENERAL = (
    Tool(
        "NVML",
        "sampling GPU utilisation and memory, through nvidia-ml-py",
        "comes with the NVIDIA driver",
        _nvml,
    ),
    Tool(
        "nvidia-ml-py",
        "sampling GPU utilisation and memory while a program is captured",
        "pip install nvidia-ml-py",
        package,
    ),
    Tool(
        "z3-solver",
        "solving for the layouts that tracelens advise proposes",
        "pip install z3-solver",
        package,
    ),
    Tool("obstore", "traces and sources in object stores", "pip install obstore", package),
    Tool("ray", "tracelens collect --engine ray", "pip install ray obstore", package),
    Tool(
        "traceinsight",
        "HTA's analyses: tl.interop.hta",
        "pip install traceinsight",
        package,
    ),
    Tool("mcp", "tracelens mcp", "pip install mcp", package),
    Tool(
        "native library",
        "reading torch traces, nesting spans and adding up ops several times faster",
        "install tracelens-toolkit if there is a C compiler, or from a wheel",
        lambda _: Found(LIBRARY is not None),
    ),
)
