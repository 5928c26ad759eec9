"""Judge each claim of the thesis's page by the captures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from samples.kit.significance import (
    BY_CHANCE,
    NEAR,
    Range,
    Verdict,
    above,
    agrees,
    at_least_by_chance,
    by_chance,
    correlated,
    judge,
    judge_cases,
    judge_size,
    judge_sizes,
    shared,
)
from samples.thesis import there

CHANCE = 0.05
HALF = 0.5
"""More than this share is called most, or largely."""
LITTLE = 1.1
"""Largest cost that counts as little."""


def ends_of_modes(v: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest speedup of any model in any mode."""
    speedups = [
        speedup.middle
        for by_mode in v["modes_of"].values()
        for speedup in by_mode.values()
        if speedup
    ]
    return min(speedups), max(speedups)


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict on each statement of the thesis, by the statement's key on the page."""
    return _of_models(v) | _of_layers(v) | _of_operations(v) | _of_measuring(v)


def lost(v: Mapping[str, Any]) -> list[bool]:
    """Return for each model whether switching costs take more than half of the oracle's gain."""
    return [v["paid"][model] - 1 < HALF * (free - 1) for model, free in v["free"].items()]


def more_than_by_luck(v: Mapping[str, Any]) -> list[bool | None]:
    """Return for each model whether more layers gain in the mixture than by chance."""
    answers: list[bool | None] = []
    for model, n_better in v["better"].items():
        n_layers = len(v["subtracted"][model].layers)
        probability = at_least_by_chance(n_better, n_layers, BY_CHANCE)
        answers.append(probability < CHANCE or None)
    return answers


def _opposite(answer: bool | None) -> bool | None:
    """Return the opposite of an answer; None stays None."""
    return None if answer is None else not answer


def _negated(answers: Iterable[bool | None]) -> list[bool | None]:
    """Return the opposite of each answer."""
    return [_opposite(answer) for answer in answers]


def _are_slower(ratios: Iterable[Range]) -> list[bool | None]:
    """Return whether each ratio is below 1; None if its range includes 1."""
    return _negated(above(ratio) for ratio in ratios)


def _of_models(v: Mapping[str, Any]) -> dict[str, Verdict]:
    by_model = {}
    for model, ratios in v["by_turn"].items():
        if model in there.OUT_OF_THE_BOX:
            verdict = judge_sizes(ratios, there.OUT_OF_THE_BOX[model])
        elif model in there.SLOWER:
            verdict = judge_cases(_are_slower(ratios))
        else:
            verdict = _minimal_gain(ratios)
        by_model[f"box_{model}"] = verdict
    return by_model | {
        "modes": Verdict.UNTESTABLE,  # it is said of layers, and ours are of whole models
        "ones_gain": judge_cases(share > HALF for share in v["layouts_too"]),
        # It is said of single 1×1 convolutions beside larger ones, and ours are of whole models
        "layout": Verdict.UNTESTABLE,
    }


def _minimal_gain(ratios: Sequence[Range]) -> Verdict:
    """Return the verdict on a gain that is said to be minimal. At most NEAR is minimal here."""
    gains = judge_cases(above(ratio) for ratio in ratios)
    is_minimal = judge_cases(ratio.middle <= 1 + NEAR for ratio in ratios) is Verdict.AGREES
    return Verdict.DIRECTION if gains is Verdict.AGREES and not is_minimal else gains


def _of_layers(v: Mapping[str, Any]) -> dict[str, Verdict]:
    def both(sides: Mapping[str, tuple[int, int]]) -> list[bool | None]:
        return [bool(faster and slower) or None for faster, slower in sides.values()]

    inception = {above(ratio) for ratio in v["inception"]}
    return {
        "both_kinds": shared(judge_cases(both(v[of])) for of in ("sides_by_kernels", "sub_sides")),
        # By timers, a compiled layer's time includes the call of its region
        **dict.fromkeys(("peaks", "first_third", "free_gain"), Verdict.UNTESTABLE),
        "cpu_layers": Verdict.UNDECIDED,  # six executions per side distinguish nothing
        "free_oracle": judge_cases(lost(v)),
        **{
            f"custom_{model}": judge_size(v["over_eager"][model], claimed)
            for model, claimed in there.CUSTOM.items()
        },
        "below_whole": judge_cases(_are_slower(v["over_whole"].values())),
        "some_better": judge_cases(more_than_by_luck(v)),
        "alexnet_large": judge_cases(_negated(v["alexnet_large"])),
        "dense_blocks": judge_cases(_negated(v["dense_outcomes"])),
        "inception": judge(inception.pop() if len(inception) == 1 else None),
        "residuals": judge_cases(v["residuals"]),
        "fire": judge_cases(_negated(v["fire"])),
        "improved": judge_cases(v["improved"]),
        "four_layers": judge(v["better"]["squeezenet1_1"] >= 4 or None),
    }


def _of_operations(v: Mapping[str, Any]) -> dict[str, Verdict]:
    ops = v["ops"]
    shortest, *_, longest = [row["speedup"] for row in ops["chain"]]
    sessions = v["products_cpu"].values()
    sides_by_size = [{above(session[size]) for session in sessions} for size in (1024, 4096)]
    sessions_differ = any(len(sides) > 1 for sides in sides_by_size)

    def slower(kind: str) -> Verdict:
        return judge_cases(_are_slower(row["speedup"] for row in ops[kind]))

    def alike(kind: str) -> list[bool | None]:
        return _negated(above(ratio, LITTLE) for ratio in v["by_mode"][kind].values())

    strongest = max(v["ranks"].values(), key=abs)
    is_one = correlated(abs(strongest), v["n_resnet"])
    probability = by_chance(strongest, v["n_resnet"], len(v["ranks"]))
    is_of_several = probability < CHANCE
    return {
        "products_gpu": slower("matmul"),
        "products_cpu": Verdict.UNDECIDED if sessions_differ else judge(answer=True),
        "modes_products": judge_cases(alike("matmul")),
        "modes_convs": judge_cases(alike("convolution")),
        # The modes were timed one after the other, while the CPU drifts by as much
        "modes_cpu": Verdict.UNDECIDED,
        "constant": Verdict.UNDECIDED,  # there is only one reading of each
        "numpy": Verdict.UNDECIDED,  # PyTorch's own product differs by more between two sessions
        "small_on_cpu": judge_cases(_are_slower(v["small"].values())),
        "ones_near": judge(_ones_gain_more(ops["convolution"])),
        "alone": slower("convolution"),
        "isolated": slower("resnet"),
        "parameters": Verdict.UNDECIDED if is_one and not is_of_several else judge(not is_one),
        "in_the_model": judge(v["conv_outcomes"][0] > v["n_convs"] / 2),
        "converges": judge_size(longest, there.BLOCKS),
        "series": judge(longest.low > shortest.high),
    }


def _ones_gain_more(convolutions: Sequence[Mapping[str, Any]]) -> bool | None:
    """Return whether 1×1 convolutions gain more than 3×3 convolutions; None if ranges overlap."""
    ones, threes = (
        [row["speedup"] for row in convolutions if row["kernel"] == size] for size in (1, 3)
    )
    least_one = min(ratio.low for ratio in ones)
    greatest_three = max(ratio.high for ratio in threes)
    if least_one > greatest_three:
        return True
    greatest_one = max(ratio.high for ratio in ones)
    least_three = min(ratio.middle for ratio in threes)
    is_below_each = greatest_one < least_three
    return False if is_below_each or _mean(ones) < _mean(threes) else None


def _mean(ratios: Sequence[Range]) -> float:
    return sum(ratio.middle for ratio in ratios) / len(ratios)


def _of_measuring(v: Mapping[str, Any]) -> dict[str, Verdict]:
    alexnet = v["over"]["cuda", "alexnet"]
    ratios = sorted(v["profiled"].values(), key=lambda ratio: ratio.middle)
    least, greatest = ratios[0], ratios[-1]
    consistent = (
        Verdict.UNDECIDED
        if least.high >= greatest.low
        else judge(agrees(greatest.middle, least.middle))
    )
    are_correlated = correlated(v["clock_rank"], len(there.NAMES))
    return {
        "twofold": judge_sizes([*v["profiler"].values()], there.PROFILING),
        "timers_little": judge(alexnet["timed", False].high < LITTLE),
        "waits_little": judge(alexnet["sync", False].high < LITTLE),
        "waiting_timers": judge(above(v["waiting"]["cuda", "alexnet"], LITTLE)),
        "cuda_suffers": judge_cases(v["suffers"]),
        "consistent": consistent,
        "no_correlation": judge(_opposite(are_correlated)),
    }
