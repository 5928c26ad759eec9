"""Judge each claim of the thesis's page by the captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from samples.thesis import (
    there,
)
from samples.thesis.there import NAMES

CHANCE = 0.05
HALF = 0.5
"""More than this share is called most, or largely."""
LITTLE = 1.1
"""Largest cost that counts as little."""


def ends_of_modes(v: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest speedup of any model in any mode."""
    every = [r.middle for ratios in v["modes_of"].values() for r in ratios.values() if r]
    return min(every), max(every)


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict on each statement of the thesis, by the statement's key on the page."""
    return _of_models(v) | _of_layers(v) | _of_operations(v) | _of_measuring(v)


def lost(v: Mapping[str, Any]) -> list[bool]:
    """Return for each model whether less than half of a free oracle's gain remains once paid."""
    return [v["paid"][m] - 1 < HALF * (free - 1) for m, free in v["free"].items()]


def more_than_by_luck(v: Mapping[str, Any]) -> list[bool | None]:
    """Return for each model whether more layers are better in the mixture than chance gives."""
    return [
        at_least_by_chance(n, len(v["subtracted"][m].layers), BY_CHANCE) < CHANCE or None
        for m, n in v["better"].items()
    ]


def _of_models(v: Mapping[str, Any]) -> dict[str, Verdict]:
    found = {}
    for model, ratios in v["by_turn"].items():
        if model in there.OUT_OF_THE_BOX:
            verdict = judge_sizes(ratios, there.OUT_OF_THE_BOX[model])
        elif model in there.SLOWER:
            verdict = judge_cases(None if (up := above(r)) is None else not up for r in ratios)
        else:
            verdict = _minimal_gain(ratios)
        found[f"box_{model}"] = verdict
    return found | {
        "modes": Verdict.UNTESTABLE,  # it is said of layers, and ours are of whole models
        "ones_gain": judge_cases(share > HALF for share in v["layouts_too"]),
        # It is said of single 1×1 convolutions beside larger ones, and ours are of whole models
        "layout": Verdict.UNTESTABLE,
    }


def _minimal_gain(ratios: Sequence[Range]) -> Verdict:
    """Return the verdict on a gain that is said to be minimal, which here is at most NEAR."""
    gains = judge_cases(above(ratio) for ratio in ratios)
    is_minimal = judge_cases(ratio.middle <= 1 + NEAR for ratio in ratios) is Verdict.AGREES
    return Verdict.DIRECTION if gains is Verdict.AGREES and not is_minimal else gains


def _of_layers(v: Mapping[str, Any]) -> dict[str, Verdict]:
    def both(sides: Mapping[str, tuple[int, int]]) -> list[bool | None]:
        return [bool(faster and slower) or None for faster, slower in sides.values()]

    dense = [None if o is None else not o for o in v["dense_outcomes"]]
    large = [None if o is None else not o for o in v["alexnet_large"]]
    fire = [None if o is None else not o for o in v["fire"]]
    inception = {above(ratio) for ratio in v["inception"]}
    whole = [None if (up := above(r)) is None else not up for r in v["over_whole"].values()]
    return {
        "both_kinds": shared(judge_cases(both(v[of])) for of in ("sides_by_kernels", "sub_sides")),
        # By timers, a compiled layer's time includes the call of its region
        **dict.fromkeys(("peaks", "first_third", "free_gain"), Verdict.UNTESTABLE),
        "cpu_layers": Verdict.UNDECIDED,  # six executions per side distinguish nothing
        "free_oracle": judge_cases(lost(v)),
        **{f"custom_{m}": judge_size(v["over_eager"][m], r) for m, r in there.CUSTOM.items()},
        "below_whole": judge_cases(whole),
        "some_better": judge_cases(more_than_by_luck(v)),
        "alexnet_large": judge_cases(large),
        "dense_blocks": judge_cases(dense),
        "inception": judge(inception.pop() if len(inception) == 1 else None),
        "residuals": judge_cases(v["residuals"]),
        "fire": judge_cases(fire),
        "improved": judge_cases(v["improved"]),
        "four_layers": judge(v["better"]["squeezenet1_1"] >= 4 or None),
    }


def _of_operations(v: Mapping[str, Any]) -> dict[str, Verdict]:
    ops = v["ops"]
    by_size = {
        size: [r["speedup"] for r in ops["convolution"] if r["kernel"] == size] for size in (1, 3)
    }
    nearest = min(r.low for r in by_size[1]) > max(r.high for r in by_size[3])
    farther = max(r.high for r in by_size[1]) < min(r.middle for r in by_size[3])
    ones = True if nearest else False if farther or _mean(by_size[1]) < _mean(by_size[3]) else None
    first, last = ops["chain"][0]["speedup"], ops["chain"][-1]["speedup"]
    both = [
        {above(session[size]) for session in v["products_cpu"].values()} for size in (1024, 4096)
    ]

    def slower(kind: str) -> Verdict:
        sides = [above(row["speedup"]) for row in ops[kind]]
        return judge_cases(None if up is None else not up for up in sides)

    def alike(kind: str) -> list[bool | None]:
        ratios = v["by_mode"][kind].values()
        return [True if r.high < LITTLE else False if r.low > LITTLE else None for r in ratios]

    strongest, n_tried = max(v["ranks"].values(), key=abs), len(v["ranks"])
    is_one = correlated(abs(strongest), v["n_resnet"])
    is_of_several = by_chance(strongest, v["n_resnet"], n_tried) < CHANCE
    return {
        "products_gpu": slower("matmul"),
        "products_cpu": Verdict.UNDECIDED if any(len(b) > 1 for b in both) else judge(answer=True),
        "modes_products": judge_cases(alike("matmul")),
        "modes_convs": judge_cases(alike("convolution")),
        # The modes were timed one after the other, while the CPU drifts by as much
        "modes_cpu": Verdict.UNDECIDED,
        "constant": Verdict.UNDECIDED,  # there is only one reading of each
        "numpy": Verdict.UNDECIDED,  # PyTorch's own product differs by more between two sessions
        "small_on_cpu": judge_cases(
            None if (up := above(r)) is None else not up for r in v["small"].values()
        ),
        "ones_near": judge(ones),
        "alone": slower("convolution"),
        "isolated": slower("resnet"),
        "parameters": Verdict.UNDECIDED if is_one and not is_of_several else judge(not is_one),
        "in_the_model": judge(v["conv_outcomes"][0] > v["n_convs"] / 2),
        "converges": judge_size(last, there.BLOCKS),
        "series": judge(last.low > first.high),
    }


def _mean(ratios: list[Range]) -> float:
    return sum(r.middle for r in ratios) / len(ratios)


def _of_measuring(v: Mapping[str, Any]) -> dict[str, Verdict]:
    alexnet = v["over"]["cuda", "alexnet"]
    ends = sorted(v["profiled"].values(), key=lambda r: r.middle)
    rank = correlated(v["clock_rank"], len(NAMES))
    return {
        "twofold": judge_sizes([*v["profiler"].values()], there.PROFILING),
        "timers_little": judge(alexnet["timed", False].high < LITTLE),
        "waits_little": judge(alexnet["sync", False].high < LITTLE),
        "waiting_timers": judge(above(v["waiting"]["cuda", "alexnet"], LITTLE)),
        "cuda_suffers": judge_cases(v["suffers"]),
        "consistent": Verdict.UNDECIDED
        if ends[0].high >= ends[-1].low
        else judge(agrees(ends[-1].middle, ends[0].middle)),
        "no_correlation": Verdict.UNDECIDED if rank is None else judge(not rank),
    }
