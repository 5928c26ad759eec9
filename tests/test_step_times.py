"""How long steps take, in words."""

from tests.programs import mark, program, work
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_sentences import step_sentences
from tracelens.derive.time.time_parts import TimeModel, step_times


def steps(*lengths: int, rank: int = 0) -> list[dict[str, object]]:
    """Marks of steps of these lengths in µs, one after another."""
    edges = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
    return [
        mark(number, edges[number], edges[number + 1], rank=rank) for number in range(len(lengths))
    ]


def model(*marks: list[dict[str, object]]) -> TimeModel:
    spans = [row for part in marks for row in part]
    kernels = [work(0, 1, rank=rank) for rank in {row.get("rank", 0) for row in spans}]
    return time_model(program(spans, (), kernels))


def test_median_and_spread_of_a_rank() -> None:
    found = step_times(model(steps(10_000, 30_000, 12_000)))
    columns = ("rank", "n_steps", "median_ns", "low_ns", "high_ns")
    assert found.select(columns).rows() == [(0, 3, 12e6, 10_000_000, 30_000_000)]
    said = step_sentences(model(steps(10_000, 30_000, 12_000)))
    assert said == [
        (
            "A step takes 12.0 ms (median of 3; 10.0 to 30.0 ms). Percentages are of the mean"
            " step, 17.3 ms."
        )
    ]


def test_one_step_tells_no_spread() -> None:
    said = step_sentences(model(steps(10_000)))
    assert said == [
        "A step takes 10.0 ms; there is only one, so it is unknown how much steps vary."
    ]


def test_few_ranks_have_a_sentence_each_and_many_one() -> None:
    few = step_sentences(
        model(*(steps(1_000, 2_000 + rank, 3_000, rank=rank) for rank in range(2)))
    )
    assert few == [
        "Rank 0: a step takes 2.00 ms (median of 3; 1.00 to 3.00 ms).",
        "Rank 1: a step takes 2.00 ms (median of 3; 1.00 to 3.00 ms).",
    ]
    many = step_sentences(model(*(steps(1_000 * (rank + 1), rank=rank) for rank in range(5))))
    assert many == ["A step takes 3.00 ms in the median of 5 ranks (1.00 to 5.00 ms)."]


def test_without_marks_nothing_is_said() -> None:
    assert step_sentences(time_model(program())) == []
