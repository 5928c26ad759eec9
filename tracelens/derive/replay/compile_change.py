"""Predict torch.compile, from the differences of programs measured with and without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracelens.derive.replay.edges import CALL, KERNEL, OP, picked
from tracelens.derive.replay.moment_graph import Ints
from tracelens.derive.replay.subject import Change, Spread, Subject, require
from tracelens.errors import UsageError

_KEPT = ("gemm", "conv", "attention")
"""Primitives whose kernels the compiler keeps or replaces one by one; others are fused."""
_TRAINING = "^autograd::engine|^Optimizer.step#"


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of time that remain: of the host's issuing, of kept kernels and of the others."""

    host: float
    kept: float
    others: float


_USUAL, _LEAST, _MOST = (
    _Shares(0.73, 1.0, 0.35),
    _Shares(0.47, 0.74, 0.25),
    _Shares(1.04, 1.18, 1.07),
)
"""Median, least and most share that compiling left of the time of six networks.

samples/whatif measured them without gradients. The networks are those on which constants are fitted
(alexnet, googlenet, resnet50, vit_b_16, gpt_decode, vit_infer_large); docs/accuracy.md judges
others.
"""


def compile_program(subject: Subject, _: str | None) -> Spread:
    """Shorten the host's time of issuing, and the kernels, by measured shares; input stays."""
    excerpt = subject.replay.excerpt
    names = excerpt.spans["name"].cast(pl.String)
    if excerpt.spans["is_generated"].any() or names.str.contains("Torch-Compiled Region").any():
        raise UsageError("compile: these steps are compiled already")
    marks = subject.trace.select("spans", "name", where=pl.col("rank") == excerpt.rank)["name"]
    if any(texts.cast(pl.String).str.contains(_TRAINING).any() for texts in (names, marks)):
        raise UsageError(
            "compile: of steps that train there is no number: measured ones took from a third less"
            " to a sixth more; cuda_graph says what launching costs"
        )
    table = subject.replay.table
    causes = subject.labels.causes
    is_issuing = np.array([cause in {None, "launch", "allocation"} for cause in causes])
    issuing = subject.is_host & (is_issuing | np.isin(table.kinds, (OP, CALL)))
    issuing &= ~np.array([cause in {"host", "input"} for cause in causes])
    in_op = subject.replay.call_ops[subject.replay.work.calls]
    has_op = (subject.replay.work.calls >= 0) & (in_op >= 0)
    require(has_op, "compile: no op launches a kernel in these steps")
    is_kept = excerpt.work["primitive"].is_in(_KEPT).fill_null(value=False).to_numpy()
    kept = (table.kinds == KERNEL) & picked(is_kept, table.items)
    others = (table.kinds == KERNEL) & picked(~is_kept & has_op, table.items)

    def change(stays: _Shares) -> Change:
        shares = np.ones(len(table.kinds))
        shares[issuing] = stays.host
        shares[kept] = stays.kept
        shares[others] = stays.others

        def changed(weights: Ints) -> Ints:
            return (weights * shares).astype(np.int64)

        return changed

    return Spread(change(_USUAL), change(_LEAST), change(_MOST))
