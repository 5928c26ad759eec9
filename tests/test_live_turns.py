"""Steps found in loops of many shapes: which calls of modules and optimizers make a turn."""

import importlib.util
from itertools import cycle, islice

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
N_BEFORE_RECORDED = 5
"""By default two steps are left out, one warms up and three are recorded: 5 ends the last one."""


def steps_found(turns: list[str], *, trains: bool) -> list[int]:
    """Run turns of calls; return the number of steps that begin in each.

    A small letter calls its module, a capital one steps its optimizer.
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
    letters = sorted(set("".join(turns)))
    modules = {n: torch.nn.Linear(1, 1).train(trains) for n in letters if n.islower()}
    finder.install()
    try:
        weights = [torch.zeros(1, requires_grad=True)]
        optimizers = {n: torch.optim.SGD(weights) for n in letters if n.isupper()}
        with torch.no_grad():
            for turn in turns:
                begun.append(0)
                for n in turn:
                    if n.islower():
                        modules[n](torch.ones(1))
                    else:
                        optimizers[n].step()
    finally:
        finder.remove()
    return begun


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
        (["uuuuv"] * 9, 4),  # all steps are recorded before two turns are over
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
