"""Steps found in loops of many shapes: which calls of modules and optimizers make a turn."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
Call = Callable[[str], None]
N_BEFORE_RECORDED = 5
"""By default two steps are left out, one warms up and three are recorded: 5 ends the last one."""


def steps_found(turns: list[str], *, trains: bool) -> list[int]:
    """Run turns of calls; return the number of steps that begin in each.

    A small letter calls its module, a capital one steps its optimizer.
    """

    def run(call: Call) -> Iterator[None]:
        for turn in turns:
            for n in turn:
                call(n)
            yield

    return steps_of(run, sorted(set("".join(turns))), trains=trains)


def steps_of(
    run: Callable[[Call], Iterator[None]], letters: Iterable[str], *, trains: bool = False
) -> list[int]:
    """Run a program of the letters' calls; return the number of steps that begin in each turn.

    It yields after each turn.
    """
    import torch  # noqa: PLC0415 - not without it

    from tracelens.collectors.torch.live.steps import StepFinder  # noqa: PLC0415 - as above

    begun: list[int] = []
    counts = [0]

    def boundary() -> None:
        counts[0] += 1
        begun[-1] += 1

    def begin_anew() -> bool:
        is_early = counts[0] <= N_BEFORE_RECORDED
        counts[0] = 0 if is_early else counts[0]
        return is_early

    finder = StepFinder(lambda: None, boundary, begin_anew)
    modules = {n: torch.nn.Linear(1, 1).train(trains) for n in letters if n.islower()}
    finder.install()
    try:
        weights = [torch.zeros(1, requires_grad=True)]
        optimizers = {n: torch.optim.SGD(weights) for n in letters if n.isupper()}

        def call(n: str) -> None:
            modules[n](torch.ones(1)) if n.islower() else optimizers[n].step()

        with torch.no_grad():
            begun.append(0)
            begun.extend(0 for _ in run(call))
    finally:
        finder.remove()
    return begun[:-1]


@pytest.mark.parametrize(
    "turn",
    ["m", "ed", "eeh", "eeeh", "acc", "abcb", "tss", "sth", "aabbc"],
)
def test_inference_has_one_step_per_turn(turn: str) -> None:
    assert steps_found([turn] * 14, trains=False)[-6:] == [1] * 6


@pytest.mark.parametrize(
    ("turn", "n"),
    [
        ("mO", 1),
        ("gdOgdP", 1),  # a GAN: the discriminator's optimizer, then the generator's
        ("tsO", 1),  # a student and its teacher
        ("ppppppppO", 1),  # eight actions of a policy, then it learns
        ("mmmmO", 1),  # gradients of four batches
        ("mOmOmOvvvv", 3),  # a validation after three steps
        ("dOdOdOgP", 3),  # three steps of a critic, then one of the generator
    ],
)
def test_training_has_one_step_per_optimizer_step(turn: str, n: int) -> None:
    assert steps_found([turn] * 14, trains=True)[-6:] == [n] * 6


@pytest.mark.parametrize(
    ("turns", "n_in_last"),
    [
        (["q" * 8] * 6, 8),  # eight questions to one model are eight turns
        (["eehh"] * 9, 2),  # no module comes once
        (["u" * 8 + "v"] * 9, 8),  # all steps are recorded before two turns are over
        (["e" + "d" * 20] * 6, 20),  # words of long texts
        (["e" + "d" * n for n in islice(cycle([3, 5, 2, 7, 4]), 12)], 5),  # of different lengths
        (["eeh"] * 5 + ["e"] * 40, 1),  # the first calls were another loop
        (["a"] * 3 + ["eeh"] * 12, 1),
        (["h", *["e"] * 30], 1),
    ],
    ids=[
        "questions",
        "none once",
        "late",
        "long texts",
        "texts",
        "only at first",
        "tried first",
        "one before",
    ],
)
def test_calls_that_are_no_regular_turn_are_steps(turns: list[str], n_in_last: int) -> None:
    assert steps_found(turns, trains=False)[-1] == n_in_last


def pages(call: Call) -> None:
    """Send three pages to one module."""
    for _ in range(3):
        call("m")


def two_views(call: Call) -> None:
    """Call one module at two places."""
    call("m")
    call("m")


def translated(call: Call) -> None:
    """Encode a text, then decode four words."""
    call("e")
    for _ in range(4):
        call("d")


def scored(call: Call) -> None:
    """Call each of two modules twice."""
    for _ in range(2):
        call("e")
    for _ in range(2):
        call("h")


def written(call: Call) -> None:
    """Write twenty words."""
    for _ in range(20):
        call("d")


@pytest.mark.parametrize(
    ("turn", "n"), [(pages, 1), (two_views, 1), (translated, 1), (scored, 1), (written, 20)]
)
def test_a_loop_in_a_turn_belongs_to_it(turn: Callable[[Call], None], n: int) -> None:
    def by_function(call: Call) -> Iterator[None]:
        for _ in range(12):
            turn(call)
            yield

    def repeated(call: Call) -> Iterator[None]:
        while True:
            turn(call)
            yield

    def by_generator(call: Call) -> Iterator[None]:
        return islice(repeated(call), 12)

    for run in (by_function, by_generator):
        assert steps_of(run, "mehd")[-6:] == [n] * 6


def test_loops_in_one_function_are_told_apart() -> None:
    def run(call: Call) -> Iterator[None]:
        for _ in range(12):
            call("e")
            for _ in range(4):
                call("d")
            yield

    assert steps_of(run, "ed")[-6:] == [1] * 6


def test_texts_of_different_lengths_have_a_step_per_word() -> None:
    lengths = [3, 5, 2, 7, 4, 6, 3, 5, 2, 7, 4, 6]

    def run(call: Call) -> Iterator[None]:
        for n in lengths:
            call("e")
            for _ in range(n):
                call("d")
            yield

    assert steps_of(run, "ed")[-6:] == lengths[-6:]


def test_evaluation_after_some_turns_is_no_turn() -> None:
    def run(call: Call) -> Iterator[None]:
        for n in range(30):
            pages(call)
            if n % 10 == 9:
                call("v")
            yield

    assert steps_of(run, "mv")[6:9] == [1] * 3
    assert steps_of(run, "mv")[-6:] == [1] * 6


def test_when_the_loop_is_left_calls_of_another_one_are_steps() -> None:
    def run(call: Call) -> Iterator[None]:
        for _ in range(8):
            pages(call)
            yield
        for _ in range(40):
            call("m")
            yield

    assert steps_of(run, "m")[-6:] == [1] * 6
