"""compare_time, compare_kernels, compare_ops, compare_blocks and compare_memory, by hand."""

from typing import Any

import pytest

from tests.cases import make_trace
from tracelens.analyses import (
    compare_blocks,
    compare_kernels,
    compare_memory,
    compare_ops,
    compare_time,
)
from tracelens.analyses.compare_kernels import notes
from tracelens.derive.comparing.significance import Rules
from tracelens.schemas.results.comparing import (
    COMPARE_BLOCKS,
    COMPARE_KERNELS,
    COMPARE_MEMORY,
    COMPARE_OPS,
    COMPARE_TIME,
)
from tracelens.trace import Trace

Row = dict[str, Any]


def kernels(steps: int | None, **times: int) -> Trace:
    """Make a kernel of each name in each step; without steps, one that belongs to none."""
    rows: list[Row] = [
        {"name": name, "duration_ns": ns, "step": step}
        for step in range(steps or 1)
        for name, ns in times.items()
    ]
    return make_trace(kernels=rows if steps else [row | {"step": None} for row in rows])


def test_kernels_added_removed_and_changed_a_step() -> None:
    base, other = (
        kernels(3, gemm=10_000, add=5_000, old=700),
        kernels(4, gemm=20_000, add=5_000, new=900),
    )
    found = COMPARE_KERNELS.check(compare_kernels(base, other))
    columns = [
        "name",
        "change",
        "base_n_calls",
        "other_n_calls",
        "base_ns",
        "other_ns",
        "speedup",
        "outcome",
    ]
    assert found.select(columns).rows() == [
        ("gemm", "both", 1, 1, 10_000, 20_000, 0.5, "slower"),
        ("add", "both", 1, 1, 5_000, 5_000, 1.0, "unclear"),
        ("new", "added", None, 1, None, 900, None, None),
        ("old", "removed", 1, None, 700, None, None, None),
    ]
    assert notes(base, other, found) == [
        (
            "Of 4 kernel names: 0 faster, 1 slower, 1 unclear (less than the least effect), 1 added, 1"
            " removed."
        )
    ]


def test_a_kernel_of_every_second_step_counts_in_all() -> None:
    rows: list[Row] = [{"name": "gemm", "duration_ns": 10_000, "step": step} for step in range(4)]
    base = make_trace(kernels=[*rows, *[row | {"name": "clip"} for row in rows[::2]]])
    found = compare_kernels(base, base).filter(name="clip")
    assert found.select("base_ns", "base_n_calls", "base_call_ns").row(0) == (5_000, 0.5, 10_000)


def test_without_steps_a_call_is_compared() -> None:
    """34 calls against 30, each as long: the second did less, and is no faster."""
    base = make_trace(kernels=[{"name": "k", "duration_ns": 10_000}] * 34)
    less = make_trace(kernels=[{"name": "k", "duration_ns": 10_000}] * 30)
    slower = make_trace(kernels=[{"name": "k", "duration_ns": 12_000}] * 34)
    columns = ["base_n_calls", "other_n_calls", "speedup", "speedup_per_call", "outcome"]
    assert compare_kernels(base, less).select(columns).row(0) == (34, 30, None, 1.0, "unclear")
    assert compare_kernels(base, slower).select(columns).row(0) == (
        34,
        34,
        10 / 12,
        10 / 12,
        "slower",
    )


def test_more_runs_are_runs_of_the_same_programs() -> None:
    """One run has one step. Three runs of each program have a spread."""
    base, other = (
        [kernels(1, gemm=ns + more) for more in (0, 100, 200)] for ns in (10_000, 20_000)
    )
    alone = compare_kernels(base[0], other[0]).row(0, named=True)
    rules = Rules(base_runs=base[1:], other_runs=other[1:])
    together = compare_kernels(base[0], other[0], rules=rules).row(0, named=True)
    assert (alone["outcome"], together["outcome"]) == ("unclear", "slower")
    assert (together["base_ns"], together["other_ns"]) == (10_100, 20_100)


def ops(ns: int) -> Trace:
    """Three steps of an op linear around an op mm.

    Mm launches a kernel, and so does an annotation.
    """
    spans: list[Row] = []
    work: list[Row] = []
    for step in range(3):
        first = 3 * step
        spans += [
            {"kind": "op", "name": "linear", "step": step},
            {
                "kind": "op",
                "name": "mm",
                "parent_id": first,
                "depth": 1,
                "self_ns": 7,
                "step": step,
            },
            {"kind": "annotation", "name": "note", "parent_id": first, "depth": 1, "step": step},
        ]
        work += [{"span_id": first + 1, "duration_ns": ns, "step": step}]
        work += [{"span_id": first + 2, "duration_ns": 3_000, "step": step}]
    return make_trace(spans=spans, kernels=work)


def test_an_ops_time_is_that_of_what_it_launches_itself() -> None:
    found = COMPARE_OPS.check(compare_ops(ops(10_000), ops(5_000)))
    assert found.select("name", "base_n_calls", "base_ns", "other_ns", "outcome").rows() == [
        ("mm", 1, 10_000, 5_000, "faster"),
        ("linear", 1, 3_000, 3_000, "unclear"),
    ]


def test_without_kernels_an_ops_time_is_its_own_on_the_host() -> None:
    rows: list[Row] = [{"kind": "op", "name": "mm", "self_ns": 50}] * 3
    found = compare_ops(
        make_trace(spans=rows), make_trace(spans=[row | {"self_ns": 25} for row in rows])
    )
    assert found.select("base_call_ns", "other_call_ns", "speedup").row(0) == (50, 25, 2.0)


def blocks(first: int, second: int) -> Trace:
    paths = ["layers.0.mlp", "layers.1.mlp", "head.2"]
    spans: list[Row] = [
        {"name": "op", "kind": "op", "module_path": path, "phase": "forward"} for path in paths
    ]
    rows: list[Row] = [
        {"span_id": at, "duration_ns": ns, "step": step}
        for step in range(3)
        for at, ns in enumerate((first, second, 9_000))
    ]
    layers: list[Row] = [{"module_path": path, "class_name": "MLP"} for path in paths]
    return make_trace(spans=spans, kernels=rows, layers=layers)


def test_repeated_blocks_roll_up_with_their_layers_beneath() -> None:
    found = COMPARE_BLOCKS.check(compare_blocks(blocks(4_000, 2_000), blocks(4_000, 8_000)))
    columns = ["pattern", "layer", "n_layers", "base_ns", "other_ns", "outcome"]
    assert found.select(columns).rows() == [
        ("layers.*.mlp", None, 2, 6_000, 12_000, "slower"),
        ("layers.*.mlp", "layers.1.mlp", 1, 2_000, 8_000, "slower"),
        ("layers.*.mlp", "layers.0.mlp", 1, 4_000, 4_000, "unclear"),
    ]


def busy(*shares: float) -> Trace:
    """Steps of 1 ms. The device computes for these shares of them, and then idles."""
    steps: list[Row] = [
        {"step": at, "start_ns": at * 1_000_000, "duration_ns": 1_000_000, "host_ns": 1_000_000}
        for at in range(len(shares))
    ]
    work: list[Row] = [
        {"step": at, "start_ns": at * 1_000_000, "duration_ns": int(share * 1_000_000)}
        for at, share in enumerate(shares)
    ]
    return make_trace(
        steps=steps, kernels=work, activities=[{"duration_ns": 10_000_000, "cause": "host"}]
    )


def test_parts_of_a_step_are_judged_by_what_they_change_of_it() -> None:
    found = COMPARE_TIME.check(compare_time(busy(0.5, 0.5, 0.5), busy(0.6, 0.6, 0.6)))
    rows = {row["part"]: row for row in found.iter_rows(named=True)}
    assert (rows["window"]["base_ns"], rows["window"]["more_ns"], rows["window"]["outcome"]) == (
        10**6,
        0,
        "unclear",
    )
    assert (
        rows["compute"]["more_ns"],
        rows["compute"]["of_step_frac"],
        rows["compute"]["outcome"],
    ) == (
        10**5,
        0.1,
        "slower",
    )
    assert (rows["idle"]["more_ns"], rows["idle"]["outcome"]) == (-(10**5), "faster")
    assert all(row["outcome"] is None for part, row in rows.items() if part.startswith("idle_"))
    # Four times as long, and yet only 0.3 % of the step.
    small = (
        compare_time(busy(0.001, 0.001, 0.001), busy(0.004, 0.004, 0.004))
        .filter(part="compute")
        .row(0, named=True)
    )
    assert (small["outcome"], small["reason"]) == ("unclear", "less than the least effect")


def memory(*peaks: int) -> Trace:
    steps: list[Row] = [
        {"step": at, "start_ns": 100 * at, "duration_ns": 100} for at in range(len(peaks))
    ]
    rows: list[Row] = [
        {"time_ns": 100 * at + more, "size_bytes": size, "allocated_bytes": total, "device_id": 0}
        for at, peak in enumerate(peaks)
        for more, size, total in ((10, peak, peak), (20, -peak, 0))
    ]
    return make_trace(steps=steps, allocations=rows, kernels=[{"step": 0}])


def test_memory_is_compared_by_the_steps_peaks() -> None:
    found = COMPARE_MEMORY.check(compare_memory(memory(100, 100, 100), memory(150, 150, 150)))
    columns = ["device", "measure", "base_bytes", "other_bytes", "more_bytes", "outcome"]
    assert found.select(columns).rows() == [
        (0, "allocated_in_all", 100, 150, 50, "more"),
        (0, "allocated_peak", 100, 150, 50, "more"),
    ]
    assert compare_memory(memory(100, 100, 100), memory(90, 90, 90))["outcome"].to_list() == [
        "less",
        "less",
    ]


@pytest.mark.parametrize("run", [compare_time, compare_kernels, compare_ops])
def test_one_rank_is_compared_with_one_other_rank(run: Any) -> None:
    rows: list[Row] = [{"kind": "op", "name": "mm"}]
    base, other = (
        make_trace(
            kernels=[{"rank": rank, "span_id": 0, "duration_ns": 9}],
            spans=[row | {"rank": rank} for row in rows],
        )
        for rank in (1, 2)
    )
    assert set(run(base, other)["rank"]) == {2}
    assert run(base, other)["base_ns"].null_count() == 0
