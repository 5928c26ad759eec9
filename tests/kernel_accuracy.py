"""Measure how often the classifier agrees with labels by hand: `python -m tests.kernel_accuracy`.

data/kernel_labels.csv has the kernels of H200 captures of torch 2.11 (vision, transformers,
training; eager and compiled, TorchScript, cuDNN without PyTorch): one row per name and op, with GPU
time. A label says what the kernel does. Labels were written by someone who knew neither the rules
nor their results. One Triton name is listed for all that differ in the last number only.
`first_label` is the label before a slip was corrected, `reason` the reason of a doubtful label.
Labels are not changed if the rules use words differently: this is an error of the rules.
"""

import sys
from pathlib import Path
from typing import TypedDict

import polars as pl

from tracelens.derive.kernels.kernel_classes import classify

_DATA = Path(__file__).parent / "data" / "kernel_labels.csv"
_SHOWN = 70
"""Characters of a name that are printed."""


class Accuracy(TypedDict):
    """Share of names, and of their GPU time, with the label as the classifier's result."""

    by_name_frac: float
    by_time_frac: float


def labels() -> pl.DataFrame:
    """Return the labels.

    `op` is None if no ATen op or collective launched the kernel, or none was recorded.
    """
    return pl.read_csv(_DATA, schema_overrides={"duration_ns": pl.Int64})


def n_distinct(table: pl.DataFrame) -> int:
    """Count distinct names. Triton's that differ only in the number at the end count once."""
    name = pl.col("name")
    number_apart = (
        pl.when(name.str.starts_with("triton_"))
        .then(name.str.replace(r"_[0-9]+$", ""))
        .otherwise(name)
    )
    return int(table.select(number_apart.n_unique()).item())


def judged() -> pl.DataFrame:
    """The labels, with the classifier's words as found_library and found_primitive."""
    table = labels()
    found = classify(table["name"], table["op"]).select(
        pl.col("library", "primitive").cast(pl.String)
    )
    return pl.concat([table, found.select(pl.all().name.prefix("found_"))], how="horizontal")


def accuracy(table: pl.DataFrame, word: str) -> Accuracy:
    """Return the accuracy of `library` or `primitive`."""
    agrees = table.filter(pl.col(word) == pl.col(f"found_{word}"))
    return Accuracy(
        by_name_frac=agrees.height / table.height, by_time_frac=_time_ns(agrees) / _time_ns(table)
    )


def main() -> None:
    """Print the accuracies, then every disagreement, the longest first."""
    table = judged()
    total = _time_ns(table)
    names, changed = n_distinct(table), table["first_label"].count()
    lines = [
        (
            f"{table.height} labels of {names} kernel names, {changed} of them put right since they"
            " were first written"
        )
    ]
    for word in ("library", "primitive"):
        reached = accuracy(table, word)
        lines.append(
            f"{word}: {reached['by_name_frac']:.1%} of labels, {reached['by_time_frac']:.2%} of GPU"
            " time agree"
        )
    alone = table.filter(pl.col("op").is_null() & (pl.col("primitive") == "gemm"))
    lines.append(
        f"gemm without an op, a product or a convolution: {_time_ns(alone) / total:.2%} of GPU time"
    )
    for word in ("library", "primitive"):
        wrong = table.filter(pl.col(word) != pl.col(f"found_{word}")).sort(
            "duration_ns", descending=True
        )
        lines += [
            f"  {duration / total:8.4%}  {label}, not {found}: {name[:_SHOWN]}  ({reason or ''})"
            for duration, label, found, name, reason in wrong.select(
                "duration_ns", word, f"found_{word}", "name", "reason"
            ).iter_rows()
        ]
    sys.stdout.write("\n".join(lines) + "\n")


def _time_ns(table: pl.DataFrame) -> int:
    return int(table["duration_ns"].sum())


if __name__ == "__main__":
    main()
