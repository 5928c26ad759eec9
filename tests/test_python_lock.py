"""Python of another thread while the host works."""

import pytest

from tests.programs import launch, mark, program, span, work
from tracelens.answers import make_answer


@pytest.mark.parametrize(
    ("name", "begins", "said"),
    [
        ("save.py(20): write", 0, True),
        ("save.py(20): write", 8_000, False),  # only for a fifth of the host's time
        ("queue.py(154): get", 0, False),  # waits, and gives the lock away
        ("<built-in function sleep>", 0, False),
    ],
)
def test_python_of_another_thread_is_named(name: str, begins: int, said: bool) -> None:
    """In each step of 10 ms the main thread is in augment() for 9, then the device works."""
    spans, calls, kernels = [], [], []
    for number, at in enumerate((0, 10_000)):
        spans += [
            mark(number, at, at + 10_000),
            span("python", "train.py(9): augment", at, at + 9_000),
            span("python", "threading.py(1002): _bootstrap", at, at + 9_000, thread_id=5),
            span("python", name, at + begins, at + 9_000, thread_id=5),
        ]
        calls.append(launch(at + 9_000, at + 9_005))
        kernels.append(work(at + 9_010, at + 10_000, number))
    waits = span("python", "threading.py(320): wait", 0, 8_000, thread_id=5)
    answer = make_answer(program([*spans, waits] if begins else spans, calls, kernels))
    assert answer.sentence.startswith("The GPU waits while the program does other work: 90 %")
    words = "meanwhile another thread runs Python in write (defined at save.py:20)"
    assert any(line.startswith(words) for line in answer.details) is said


@pytest.mark.parametrize(
    ("name", "said"),
    [("metrics.py(7): count", True), ("<built-in method run_backward of torch._C>", False)],
)
def test_python_of_another_thread_beside_launches(name: str, said: bool) -> None:
    """In a step of 10 ms an op of 10 µs runs every 90 µs; the other thread runs Python."""
    starts = range(0, 9_900, 90)
    spans = [mark(0, 0, 10_000), span("python", name, 0, 10_000, thread_id=5)]
    spans += [span("op", "aten::mm", at, at + 10) for at in starts]
    calls = [launch(at + 2, at + 8) for at in starts]
    kernels = [work(at + 10, at + 30, n, step=0) for n, at in enumerate(starts)]
    answer = make_answer(program(spans, calls, kernels))
    assert answer.sentence.startswith("The GPU waits for launches")
    assert any("another thread runs Python" in line for line in answer.details) is said
