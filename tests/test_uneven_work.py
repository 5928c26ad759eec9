"""Steps that are not alike, and several devices of one process that do not work alike."""

from itertools import accumulate, pairwise

import pytest

from tests.programs import api, launch, mark, program, work
from tracelens.answers import make_answer
from tracelens.trace import Trace


def with_steps(*lengths_us: int) -> Trace:
    """Steps of these lengths, each with two kernels that fill it."""
    edges = list(accumulate(lengths_us, initial=0))
    kernels = []
    for n, (start, end) in enumerate(pairwise(edges)):
        middle = (start + end) // 2
        kernels += [work(start, middle, n, step=n), work(middle, end, n, step=n)]
    return program(
        [mark(n, start, end) for n, (start, end) in enumerate(pairwise(edges))],
        [launch(start, start + 1) for start in edges[:-1]],
        kernels,
    )


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([5_000] * 4 + [7_500] * 4, "from step 4 on a step takes 7.50 ms, before that 5.00 ms"),
        ([5_000] * 4 + [50_000] + [5_000] * 3, "a step takes 50.0 ms in step 4 only, else 5.00 ms"),
        ([5_000, 5_000, 25_000] * 3, "a step takes 25.0 ms in every third step, else 5.00 ms"),
        ([5_000] * 8, None),
        ([5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 11_000, 12_000], None),
    ],
)
def test_steps_that_take_longer_are_named(lengths: list[int], said: str | None) -> None:
    assert make_answer(with_steps(*lengths)).details == (() if said is None else (said,))


def with_a_long_step(long_ns: int) -> Trace:
    """Steps of 5 ms, of which nine without the profiler took 5 ms too, and one longer."""
    trace = with_steps(5_000, 5_000, 5_000)
    plain = {"n": 9, "mean": 5_000_000, "turn": 1, "n_long": 1, "long_ns": long_ns}
    trace.manifest.sources = [{"rank": 0, "settings": {"unprofiled_step_ns": plain}}]
    return trace


def test_a_longer_step_without_the_profiler_is_named() -> None:
    answer = make_answer(with_a_long_step(40_000_000))
    assert answer.details == ("1 of 10 steps without the profiler takes 40.0 ms",)
    assert answer.sentence.startswith("The GPU is busy computing")


def test_long_steps_that_take_most_of_the_time_come_first() -> None:
    answer = make_answer(with_a_long_step(135_000_000))
    assert answer.sentence.startswith(
        "1 of 10 steps takes 135 ms, 75 % of the time; in the others the GPU is busy computing"
    )
    assert "(--active 10)" in answer.details[0]


def of_devices(*times: tuple[int, int, int]) -> str:
    """The sentence on three steps of 10 ms, in which devices work: number, start and end in µs."""
    kernels = []
    for n in range(3):
        for device, start, end in times:
            half = (start + end) // 2
            kernels += [
                work(10_000 * n + low, 10_000 * n + high, n, step=n, device_id=device)
                for low, high in ((start, half), (half, end))
            ]
    marks = [mark(n, 10_000 * n, 10_000 * (n + 1)) for n in range(3)]
    calls = [launch(10_000 * n, 10_000 * n + 1) for n in range(3)]
    return make_answer(program(marks, calls, kernels)).sentence


def test_devices_that_work_in_turns() -> None:
    sentence = of_devices((0, 0, 5_000), (1, 5_000, 10_000))
    assert (
        sentence == "2 GPUs work in turns, and each computes nothing for 50 % of a step of 10.0 ms"
    )


def test_a_device_that_works_more_than_the_others() -> None:
    sentence = of_devices((0, 0, 10_000), (1, 0, 4_000), (2, 0, 2_000))
    assert sentence == "GPU 0 computes 100 % of a step of 10.0 ms, the other 2 GPUs 30 %"


def test_a_wait_for_another_device_is_no_wait_to_leave_out() -> None:
    """GPU 1 is idle for 6 ms a step, while the program waits for GPU 0."""
    kernels, calls = [], []
    for n in range(3):
        at = 10_000 * n
        calls += [launch(at, at + 1), api("cudaDeviceSynchronize", at + 5, at + 9_999)]
        kernels += [
            work(at, at + end, 2 * n, step=n, device_id=device)
            for device, end in ((0, 10_000), (1, 4_000))
        ]
    marks = [mark(n, 10_000 * n, 10_000 * (n + 1)) for n in range(3)]
    answer = make_answer(program(marks, calls, kernels))
    assert [one.text[:38] for one in answer.changes] == ["give the GPUs equally much to do (Dist"]
    assert answer.details == ("GPU 1 is idle: waits for the device 60 %, in cudaDeviceSynchronize",)


def test_devices_that_work_at_the_same_time() -> None:
    assert of_devices((0, 0, 10_000), (1, 0, 10_000)).startswith("Each of 2 GPUs is busy computing")
