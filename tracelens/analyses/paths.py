"""Analyses asked for with a path in the place of a trace."""

import functools
import os
from collections.abc import Callable
from typing import Any

import polars as pl

from tracelens.hooks import HOOKS


def taking_paths(analysis: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """The analysis, which opens each trace that it is given as a path, or reads the source there."""

    def opened(value: Any) -> Any:
        return HOOKS.open_trace(value) if isinstance(value, (str, os.PathLike)) else value

    @functools.wraps(analysis)
    def run(*traces: Any, **options: Any) -> pl.DataFrame:
        if "base" in options:
            options["base"] = opened(options["base"])
        return analysis(*map(opened, traces), **options)

    return run
