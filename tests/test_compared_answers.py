"""The answer to a comparison: how many times as fast, what takes longer, and what is refused."""

import pytest

from tests.answer_cases import faster
from tests.answer_checks import check_answer
from tests.cases import make_trace
from tests.programs import span
from tests.test_cpu_only import process, step
from tests.test_cpu_work import op
from tracelens.answers import make_answer
from tracelens.trace import Trace


def test_a_comparison_begins_with_how_many_times_as_fast() -> None:
    answer = check_answer(faster(5_000, 4_000), faster(10_000, 9_000))
    assert answer.sentence == "2.00 times as fast: 10.0 → 5.00 ms a step (noise ±0.00 µs)"
    assert [(bar.label, bar.length, bar.text) for bar in answer.bars] == [
        ("base", 1.0, "10.0 ms"),
        ("new", 0.5, "5.00 ms"),
    ]
    assert answer.details[0] == "less: compute −5.00 ms"  # noqa: RUF001 - a minus


def computing(step_us: int) -> Trace:
    """Three steps of a process without a device that only computes."""
    ends = [(n * step_us, (n + 1) * step_us) for n in range(3)]
    ops = [op(low, high, "aten::mm", "[[512, 512], [512, 512]]") for low, high in ends]
    return process(*(step(n, *ends[n]) for n in range(3)), *ops)


def test_two_runs_without_a_device_are_compared() -> None:
    answer = check_answer(computing(5_000), computing(10_000))
    assert answer.sentence.startswith("2.00 times as fast: 10.0 → 5.00 ms a step")
    assert answer.details[0] == "less: arithmetic −5.00 ms"  # noqa: RUF001 - a minus
    assert answer.sections == ("compare_time", "compare_ops")


@pytest.mark.parametrize(
    ("inputs", "sentence", "detail"),
    [
        (
            {"input_shapes": "[[1024, 512]]"},
            "Takes 2.00 times as long, for other work: 5.00 → 10.0 ms a step",
            "other work: aten::mm [[512, 512]] in base, aten::mm [[1024, 512]] in new",
        ),
        (
            {"input_dtypes": '["double"]'},
            "Takes 2.00 times as long: 5.00 → 10.0 ms a step",
            'other types: aten::mm ["float"] in base, aten::mm ["double"] in new',
        ),
    ],
)
def test_runs_on_other_inputs_are_said_to_be(
    inputs: dict[str, str], sentence: str, detail: str
) -> None:
    base, new = (
        process(
            *(
                row
                | (
                    {"input_shapes": "[[512, 512]]", "input_dtypes": '["float"]'} | more
                    if row["kind"] == "op"
                    else {}
                )
                for row in computing(step_us).spans.to_dicts()
            )
        )
        for step_us, more in ((5_000, {}), (10_000, inputs))
    )
    answer = check_answer(new, base)
    assert answer.sentence.startswith(sentence)
    assert answer.details[0] == detail


def test_a_step_is_not_compared_with_all_that_was_recorded() -> None:
    """Both runs have the same 15 kernels in 15 ms, but only one says that these are three steps."""
    marked = faster(5_000, 5_000)
    unmarked = make_trace(
        api_calls=marked.api_calls.drop("step").to_dicts(),
        kernels=marked.kernels.drop("step").to_dicts(),
    )
    for new, base, names in (
        (marked, unmarked, ("new", "base")),
        (unmarked, marked, ("base", "new")),
    ):
        assert make_answer(new, base).sentence == (
            f"Only {names[0]} marks steps: one takes 5.00 ms; as many kernels of {names[1]} take"
            " 5.00 ms"
        )


@pytest.mark.parametrize(
    ("has_ops", "kernel", "last"),
    [
        (True, "gemm", ("ops: aten::mm +5.00 ms",)),
        (False, "gemm", ("kernels: gemm +5.00 ms",)),
        (False, "ncclDevKernel_AllReduce", ()),  # it is named as communication already
    ],
)
def test_the_work_that_takes_longer_is_named(
    has_ops: bool, kernel: str, last: tuple[str, ...]
) -> None:
    """Each step has one product of matrices, whose kernels take 4 ms in base and 9 ms in new."""
    runs = []
    for step_us, kernel_us in ((5_000, 4_000), (10_000, 9_000)):
        run = faster(step_us, kernel_us)
        products = [
            span("op", "aten::mm", step * step_us, step * step_us + 1, span_id=3 + step, step=step)
            for step in range(3)
        ]
        kernels = [
            row | {"name": kernel, "span_id": 3 + row["api_call_id"], "step": row["api_call_id"]}
            for row in run.kernels.to_dicts()
        ]
        spans = run.spans.to_dicts() + products * has_ops
        runs.append(make_trace(spans=spans, api_calls=run.api_calls.to_dicts(), kernels=kernels))
    answer = check_answer(runs[1], runs[0])
    assert answer.details[0] == "less: nothing"
    assert answer.details[2:] == last


def test_a_slower_run_takes_times_as_long() -> None:
    answer = make_answer(faster(10_000, 9_000), faster(5_000, 4_000))
    assert answer.sentence.startswith("Takes 2.00 times as long: 5.00 → 10.0 ms a step")


def test_equal_runs_differ_by_no_more_than_noise() -> None:
    answer = make_answer(faster(5_000, 4_000), faster(5_000, 4_000))
    assert answer.sentence.startswith("Within noise: 5.00 → 5.00 ms a step")


def test_runs_of_two_sizes_are_compared_by_a_rank_of_both() -> None:
    rows = [
        {"rank": rank, "kernel_id": n, "name": "gemm", "start_ns": 10_000 * n, "duration_ns": 5_000}
        for rank in (0, 1)
        for n in range(300)
    ]
    two, first = make_trace(kernels=rows), make_trace(kernels=rows[:300])
    for answer in (make_answer(two, first), make_answer(first, two)):
        # From the first kernel's begin to the last one's end, 299 * 10 + 5 µs.
        assert "3.00 → 3.00 ms" in answer.sentence
        assert "the runs have different numbers of ranks: rank 0 is compared" in answer.doubts
    third = make_trace(kernels=[row | {"rank": 2 + int(str(row["rank"]))} for row in rows])
    assert make_answer(two, third).refused is not None


def test_two_programs_are_refused() -> None:
    other = faster(5_000, 4_000)
    kernels = other.kernels.to_dicts()
    base = make_trace(kernels=[row | {"name": "fft"} for row in kernels])
    assert "are two programs" in (make_answer(other, base).refused or "")
