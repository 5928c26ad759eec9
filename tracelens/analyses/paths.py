"""Analyses asked for with a path in the place of a trace."""

import functools
import os
from collections.abc import Callable
from typing import Any

import polars as pl

from tracelens.hooks import HOOKS
from tracelens.trace import Trace


def taking_paths(analysis: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """Wrap the analysis so that it opens each trace given as a path, or reads the source there.

    It has no row for each of very many names, see `Trace.with_listed_names`.
    """

    def opened(value: Any) -> Any:
        found = HOOKS.open_trace(value) if isinstance(value, (str, os.PathLike)) else value
        return found.with_listed_names() if isinstance(found, Trace) else found

    @functools.wraps(analysis)
    def run(*traces: Any, **options: Any) -> pl.DataFrame:
        if "base" in options:
            options["base"] = opened(options["base"])
        return analysis(*map(opened, traces), **options)

    return run
