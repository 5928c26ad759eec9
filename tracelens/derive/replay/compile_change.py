"""Predict torch.compile from programs that were measured with and without it."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.costs import costs_of
from tracelens.derive.replay.moment_graph import CALL, KERNEL, OP, Flags, Ints, picked
from tracelens.derive.replay.replay import steady_step_ns
from tracelens.derive.replay.subject import Change, Spread, Subject, require
from tracelens.derive.replay.unprofiled import weights_of_scenarios
from tracelens.errors import UsageError

_KEPT = ("gemm", "conv", "attention")
"""Primitives whose kernels the compiler keeps or replaces one by one. It fuses other kernels."""
_TRAINS = "^autograd::engine|^Optimizer.step#"


class _Shares(Struct, frozen=True):
    """Holds the shares of time that remain: for host work, for kept kernels, for other kernels."""

    host: float
    kept: float
    others: float


_INFERRING = (
    _Shares(0.66, 1.0, 0.35),
    _Shares(0.47, 0.74, 0.25),
    _Shares(1.04, 1.18, 1.07),
)
"""Median, least and largest shares of inference steps.

They were measured on six networks of samples/whatif: alexnet, googlenet, resnet50, vit_b_16,
gpt_decode and vit_infer_large. docs/accuracy.md judges them on other programs.
"""
_TRAINING = (
    _Shares(1.03, 1.0, 0.55),
    _Shares(0.49, 0.99, 0.19),
    _Shares(1.16, 1.0, 0.68),
)
"""Median, least and largest shares of training steps, whose optimizer was not compiled.

Most of them were measured on four programs of samples/blind whose host takes longer than the
device: groups_train, next_train, points_train and window_train. docs/accuracy.md judges them on
other such programs. The least shares of host work and of other kernels were measured on a fifth
program, lora_train. It learns few weights, so almost all of its host time is in the network and the
gradients. The compiler also fuses the attention of lora_train.
"""


class _Edges(Struct, frozen=True):
    """Holds flags of the graph edges whose time changes when the program is compiled."""

    host: Flags  # ops and launches
    kept: Flags  # kernels that the compiler keeps
    others: Flags  # other kernels that an op launched


def compile_program(subject: Subject, _: str | None) -> Spread:
    """Shorten the host's ops and launches, and the kernels, by shares measured on other programs.

    Raises UsageError if the steps are compiled already, or if no op launches a kernel. Also raises
    it for training steps that the host limits, because compiling may make them shorter or longer.
    """
    _refuse_compiled(subject)
    edges = _edges_to_change(subject)
    if not _is_training(subject):
        return Spread(*(_shortened(edges, shares) for shares in _INFERRING))
    changes = [_shortened(edges, shares) for shares in _TRAINING]
    if not _is_shorter(subject, changes[0]):
        raise UsageError(
            "compile: these steps train and wait for the host, of whose time compiled ones took 51 %"
            " less to 16 % more; cuda_graph says what launching costs"
        )
    return Spread(*changes)


def _refuse_compiled(subject: Subject) -> None:
    spans = subject.replay.excerpt.spans
    names = spans["name"].cast(pl.String)
    if spans["is_generated"].any() or names.str.contains("Torch-Compiled Region").any():
        raise UsageError("compile: these steps are compiled already")


def _is_training(subject: Subject) -> bool:
    """Return whether the rank runs a backward pass or an optimizer."""
    excerpt = subject.replay.excerpt
    all_spans = subject.trace.select("spans", "name", rank=excerpt.rank)
    names = excerpt.spans["name"], all_spans["name"]
    return any(texts.cast(pl.String).str.contains(_TRAINS).any() for texts in names)


def _edges_to_change(subject: Subject) -> _Edges:
    """Flag the graph edges that compiling changes; raise UsageError if no op launches a kernel."""
    replay = subject.replay
    kinds, items = replay.table.kinds, replay.table.items
    causes = subject.labels.causes
    is_issuing = np.array([cause in {None, "launch", "allocation"} for cause in causes])
    is_other_work = np.array([cause in {"host", "input"} for cause in causes])
    is_op_or_call = np.isin(kinds, (OP, CALL))
    host = subject.is_host & (is_issuing | is_op_or_call) & ~is_other_work
    calls = replay.work.calls
    has_op = (calls >= 0) & (replay.call_ops[calls] >= 0)
    require(has_op, "compile: no op launches a kernel in these steps")
    primitives = replay.excerpt.work["primitive"]
    is_kept = primitives.is_in(_KEPT).fill_null(value=False).to_numpy()
    is_kernel = kinds == KERNEL
    return _Edges(
        host=host,
        kept=is_kernel & picked(is_kept, items),
        others=is_kernel & picked(~is_kept & has_op, items),
    )


def _shortened(edges: _Edges, stays: _Shares) -> Change:
    """Return the change that multiplies the time of each group of edges by its share."""
    shares = np.ones(len(edges.host))
    shares[edges.host] = stays.host
    shares[edges.kept] = stays.kept
    shares[edges.others] = stays.others

    def changed(weights: Ints) -> Ints:
        return (weights * shares).astype(np.int64)

    return changed


def _is_shorter(subject: Subject, change: Change) -> bool:
    """Return whether the change shortens a step of an unprofiled run."""
    replay = subject.replay
    weights = weights_of_scenarios(replay, costs_of(subject.trace, replay)[0])[0]
    return steady_step_ns(replay, change(weights)) < steady_step_ns(replay, weights)
