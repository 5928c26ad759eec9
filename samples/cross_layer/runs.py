"""List the captures behind the page, and compute the numbers that its sections share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

import tracelens as tl
from samples.kit.page import unique
from samples.kit.significance import Range
from tracelens.schemas.device import FAMILIES

LINEAR = "linear algebra"
NS = pl.col("duration_total_ns")
LEVELS = {
    "nsys_cudnn": "cuDNN",
    "nsys_libtorch": "LibTorch",
    "nsys_eager": "PyTorch eager",
    "nsys_torchscript": "TorchScript",
    "nsys_compile": "torch.compile",
}
_MODELS = {
    "alexnet": "AlexNet",
    "densenet121": "DenseNet-121",
    "googlenet": "GoogLeNet",
    "mobilenet_v2": "MobileNetV2",
    "resnet50": "ResNet-50",
    "squeezenet1_1": "SqueezeNet 1.1",
}
_LANGUAGE = {"bert": "BERT", "llama": "Llama"}
_MODES = {"infer": "inference", "train": "training"}
GROUPS = {
    "levels": "ResNet-50 at five levels (batch 32, 64×64, float32, inference)",
    "profiled": "ResNet-50 by torch.profiler (batch 32, 64×64, float32)",
    "vision": "six vision models (batch 32, 224×224, float32, inference)",
    "language": "BERT and Llama (batch 8, 512 tokens, bfloat16)",
    "samples": "the other bundled captures of such models (samples/torch, samples/nsys)",
}


@dataclass(frozen=True)
class Run:
    """One capture: its file below samples/, its group, its model, and how it was run."""

    place: str
    group: str
    model: str
    how: str
    trace: tl.Trace

    @property
    def name(self) -> str:
        """Words for the row of a table and the bar of a chart."""
        return f"{self.label}, {self.how}"

    @property
    def key(self) -> str:
        """Name of the capture's file, without endings."""
        return self.place.rpartition("/")[2].partition(".")[0]

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The result of cross_layer."""
        return tl.analyses.cross_layer(self.trace)

    @cached_property
    def total_ns(self) -> int:
        """Kernel time."""
        return int(self.rows["duration_total_ns"].sum())

    @property
    def label(self) -> str:
        """The model, with its images' side where they are small."""
        is_small = self.group in ("levels", "profiled") or "training, float" in self.how
        return f"{self.model} 64²" if is_small else self.model

    @property
    def has_ops(self) -> bool:
        """True if ops around the kernels are known.

        They distinguish a convolution from a matrix product.
        """
        return self.rows["op"].count() > 0

    def share(self, **which: str) -> float:
        """Return the kernel-time share of the rows with these values."""
        return float(self.rows.filter(**which)["duration_total_ns"].sum() / self.total_ns)

    def families(self) -> dict[str, float]:
        """Return each family's share of the kernel time."""
        return {family: self.share(family=family) for family in FAMILIES}

    def pairs(self) -> list[tuple[str, str, float]]:
        """Return library, primitive and share, largest share first."""
        sums = self.rows.group_by("library", "primitive").agg(NS.sum() / self.total_ns)
        return sums.sort(
            "duration_total_ns", "library", "primitive", descending=[True, False, False]
        ).rows()

    def pairs_for(self, share: float) -> int:
        """Count how many of the largest library-primitive pairs add up to this share."""
        until = 0.0
        for n, (_, _, part) in enumerate(self.pairs(), 1):
            until += part
            if until >= share:
                return n
        return len(self.pairs())

    def linear_by_step(self) -> tuple[float, float] | None:
        """Return the quartiles, over the steps, of the share of linear algebra.

        Returns None if fewer than three steps are marked.
        """
        in_steps = self.trace.kernels.drop_nulls("step")
        is_linear = pl.col("primitive").is_in(FAMILIES[LINEAR])
        ns = pl.col("duration_ns")
        return _quartiles(
            in_steps.group_by("step").agg(value=ns.filter(is_linear).sum() / ns.sum())
        )

    def best(self) -> tuple[str, float, float]:
        """Return the primitive that gains most from twice the speed.

        Also returns the speedup at twice the speed, and its upper limit.
        """
        kinds = self.rows.filter(~pl.col("primitive").is_in(["fused", "unknown"]))
        row = kinds.sort("what_if_twice", "primitive", descending=[True, False]).row(0, named=True)
        return row["primitive"], row["what_if_twice"], row["what_if_limit"]

    def linear_twice(self) -> float:
        """Return the speedup if all linear algebra were twice as fast."""
        return 1 / (1 - self.share(family=LINEAR) / 2)


@dataclass(frozen=True)
class Reuse:
    """Share of one trace's kernel time in kernels that the other trace runs too.

    `by_name` matches kernel names. `spread` has its quartiles. `by_pair` matches library and
    primitive.
    """

    by_name: float
    spread: tuple[float, float] | None
    by_pair: float

    @property
    def is_most(self) -> bool | None:
        """True if more than half is reused by name; None if the quartiles span one half."""
        low, high = self.spread or (self.by_name, self.by_name)
        return True if low > 0.5 else False if high < 0.5 else None


def reuse(base: tl.Trace, other: tl.Trace) -> tuple[Reuse, Reuse]:
    """Return the reuse of the base's kernel time, and of the other's."""
    frame = tl.analyses.compare_cross_layer(base, other)
    matched = frame.filter(match="both")
    reuses = []
    for side, trace, beside in (("base", base, other), ("other", other, base)):
        total = frame[f"{side}_duration_total_ns"].sum()
        is_reused = pl.col("name").is_in(beside.kernels["name"].unique().implode())
        ns = pl.col("duration_ns")
        steps = (
            trace.kernels.drop_nulls("step")
            .group_by("step")
            .agg(value=ns.filter(is_reused).sum() / ns.sum())
        )
        by_name = frame[f"{side}_reused_ns"].sum() / total
        reuses.append(
            Reuse(
                by_name,
                _quartiles(steps),
                matched[f"{side}_duration_total_ns"].sum() / total,
            )
        )
    return reuses[0], reuses[1]


def _quartiles(steps: pl.DataFrame) -> tuple[float, float] | None:
    values = steps["value"].drop_nulls()
    if len(values) < 3:
        return None
    quartiles = Range.of(values.to_list())
    return quartiles.low, quartiles.high


def percent(value: float, spread: tuple[float, float] | None = None) -> str:
    """Write a fraction in percent, with its range if given: `38.9 (38.8 to 39.0)`."""
    return f"{100 * value:.1f}" + (
        f" ({100 * spread[0]:.1f} to {100 * spread[1]:.1f})" if spread else ""
    )


def read(samples: Path) -> list[Run]:
    """Return every run of the page that has a capture, group by group."""
    listed = [
        *(
            ("levels", f"study/captures/{key}.tracelens", "ResNet-50", how)
            for key, how in LEVELS.items()
        ),
        *(
            ("profiled", f"study/captures/{key}_{mode}.tracelens", "ResNet-50", f"{how}, {words}")
            for mode, words in _MODES.items()
            for key, how in (
                ("eager", "eager"),
                ("torchscript", "TorchScript"),
                ("compile", "compiled"),
            )
        ),
        *(
            ("vision", f"thesis/captures/{key}_{how}.tracelens", model, how)
            for key, model in _MODELS.items()
            for how in ("eager", "compiled")
        ),
        *(
            (
                "language",
                f"cross_layer/captures/{key}_{mode}{ending}.tracelens",
                model,
                f"{how}, {words}",
            )
            for key, model in _LANGUAGE.items()
            for mode, words in _MODES.items()
            for ending, how in (("", "eager"), ("_compiled", "compiled"))
        ),
        *(("samples", place, model, how) for place, (model, how) in _SAMPLES.items()),
    ]
    return [
        Run(
            place,
            group,
            model,
            how,
            tl.open(samples / place) if place.endswith("lens") else tl.collect(samples / place),
        )
        for group, place, model, how in listed
        if (samples / place).exists()
    ]


_SAMPLES = {
    "torch/alexnet_eager.pt.trace.json.gz": ("AlexNet", "eager (torch)"),
    "torch/resnet50_eager.pt.trace.json.gz": ("ResNet-50", "eager (torch)"),
    "nsys/eager_resnet50.sqlite": ("ResNet-50", "eager (nsys)"),
    "torch/resnet50_train_f32_pageable.pt.trace.json.gz": (
        "ResNet-50",
        "eager, training, float32 from pageable memory",
    ),
    "torch/resnet50_train_f32_pinned.pt.trace.json.gz": (
        "ResNet-50",
        "eager, training, float32 from pinned memory",
    ),
    "torch/resnet50_train_f64_pageable.pt.trace.json.gz": (
        "ResNet-50",
        "eager, training, float64 from pageable memory",
    ),
    "nsys/train_f64_resnet50.sqlite": (
        "ResNet-50",
        "eager, training, float64 from pageable memory (nsys)",
    ),
}


def by_key(runs: Sequence[Run]) -> Mapping[str, Run]:
    """Return the runs by folder and file, such as `study/nsys_eager`.

    Raises PageError if two runs have the same key.
    """
    return unique((f"{run.place.partition('/')[0]}/{run.key}", run) for run in runs)
