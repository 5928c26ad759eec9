"""Let analyses take a path instead of a trace."""

import functools
import os
from collections.abc import Callable
from typing import Any

import polars as pl

from tracelens.hooks import HOOKS
from tracelens.trace import Trace


def taking_paths(analysis: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """Wrap an analysis so that it accepts a path wherever it takes a trace.

    The analysis gets traces with a limited number of distinct names, see
    `Trace.with_listed_names`.
    """

    def opened(value: Any, open_path: Callable[[Any], Any] | None = None) -> Any:
        open_path = open_path or HOOKS.open_trace
        trace = open_path(value) if isinstance(value, (str, os.PathLike)) else value
        return trace.with_listed_names() if isinstance(trace, Trace) else trace

    @functools.wraps(analysis)
    def run(*traces: Any, **options: Any) -> pl.DataFrame:
        opened_traces = [opened(trace) for trace in traces]
        if "base" in options:
            options["base"] = opened(
                options["base"],
                lambda path: HOOKS.open_base(path, opened_traces[0]),
            )
        return analysis(*opened_traces, **options)

    return run
