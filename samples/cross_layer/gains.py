"""Sections on the gain of a faster primitive, on the two sources of captures, and on what was not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from page import Finding, Section, table
from review import NO_NUMBER, ONE_FOR_ALL
from runs import LINEAR, Run, percent


def what_if(runs: Sequence[Run]) -> Section:
    """Speedup of a whole capture if one primitive were faster."""
    rows = []
    for run in runs:
        primitive, twice, limit = run.best()
        rows.append(
            [run.name, primitive, f"{twice:.3f}", f"{limit:.3f}", f"{run.linear_twice():.3f}"]
        )
    winners: dict[str, list[Run]] = {}
    for run in (run for run in runs if run.has_ops):
        winners.setdefault(run.best()[0], []).append(run)
    gains = [run.linear_twice() for run in runs]
    said = "; ".join(
        f"{name} in {len(group)}"
        for name, group in sorted(winners.items(), key=lambda w: -len(w[1]))
    )
    finding = Finding(
        ONE_FOR_ALL,
        "sections III and IV",
        NO_NUMBER,
        f"all linear algebra at twice the speed makes the kernels {min(gains):.2f} to"
        f" {max(gains):.2f} times as fast; the primitive that gains most is {said} of"
        f" {sum(map(len, winners.values()))} captures with ops",
        True if len(winners) == 1 else None,
        "the bound is Amdahl's: the share decides. It serves every capture, but not the same"
        " operation serves all (table in “What if”), and a kernel made faster reaches those alone"
        " that run it (“The same kernels”)",
    )
    blocks = [
        (
            "What the sum of the kernels' durations would gain were one primitive, in all its"
            " kernels, twice as fast, or took no time at all (Amdahl's law): the primitive with"
            " most to gain in each capture; last, were all linear algebra twice as fast. It bounds"
            " kernel time: a step may wait for other things. Fused kernels, which no one primitive"
            " makes faster, are left out. Captures of Nsight Systems (of the five levels, and in"
            " samples/nsys) divide convolutions between conv and gemm, see below."
        ),
        table(
            ["capture", "primitive", "twice as fast", "limit", "all linear algebra twice as fast"],
            rows,
        ),
    ]
    return Section("What if", blocks, [], [finding])


def sources(known: Mapping[str, Run]) -> Section:
    """The same program captured by torch and by Nsight Systems, which knows no ops."""
    rows = []
    for key in (
        "study/nsys_eager",
        "study/eager_infer",
        "nsys/eager_resnet50",
        "torch/resnet50_eager",
    ):
        if key in known:
            run = known[key]
            parts = [percent(run.share(primitive=word)) for word in ("gemm", "conv")]
            rows.append([f"`{run.place}`", *parts, percent(run.share(family=LINEAR))])
    blocks = [
        (
            "A capture by Nsight Systems holds no ops (unless the program ran under `emit_nvtx`),"
            " so that a 1×1 convolution which runs as a matrix product counts as gemm there, and as"
            " conv in a torch trace, where the op around it is known. The family agrees, the split"
            " does not. ResNet-50, eager:"
        ),
        table(["capture", "gemm", "conv", LINEAR], rows),
    ]
    return Section("What the source of a capture decides", blocks)


def not_measured() -> Section:
    """The section on what was not measured."""
    return Section(
        "What was not measured",
        [
            (
                "- TensorFlow, Keras, MXNet and Caffe, which the review looks at (section III): every"
                " capture here is of PyTorch, or of a program on cuDNN. “Frameworks” are levels of one"
                " framework on this page.\n- CPUs, and openBLAS, ATLAS and MKL (section II): all"
                " captures are of one GPU model.\n- NVDLA and TensorRT (section II).\n- Energy,"
                " security, worst-case time, testability and the other goals of section III: a"
                " profiler's trace holds none of them.\n- What a faster primitive gains in fact. “What"
                " if” is arithmetic over kernel time.\n- What fused kernels are made of where no"
                " provenance was recorded: the study's `compile` captures.\n- Other GPUs, batch sizes"
                " and precisions: shares change with each.\n- The bundled captures of programs with one"
                " planted cause, of batches handed over in several ways and of layers timed one by one:"
                " they were made to show something else, and hold no other model."
            )
        ],
    )
