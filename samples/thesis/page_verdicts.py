"""Judge each claim of the thesis's page by the captures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samples.kit.significance import (
    Range,
    Verdict,
    above,
    agrees,
    by_chance,
    correlated,
    judge,
    judge_cases,
)
from samples.thesis import (
    there,
)
from samples.thesis.there import NAMES

CHANCE = 0.05
LITTLE = 1.1
"""Largest cost that counts as little."""


def ends_of_modes(v: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest speedup of any model in any mode."""
    every = [r.middle for ratios in v["modes_of"].values() for r in ratios.values() if r]
    return min(every), max(every)


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict on each statement of the thesis, by the statement's key on the page."""
    return _of_models(v) | _of_layers(v) | _of_operations(v) | _of_measuring(v)


def _of_models(v: Mapping[str, Any]) -> dict[str, Verdict]:
    found = {}
    for model, ratio in v["clock"].items():
        both = {above(ratio), v["earlier"][model] > 1}
        is_faster = both.pop() if len(both) == 1 else None
        if model in there.OUT_OF_THE_BOX:
            found[f"box_{model}"] = judge(is_faster)
        elif model in there.SLOWER:
            found[f"box_{model}"] = judge(None if is_faster is None else not is_faster)
        else:
            found[f"box_{model}"] = judge(agrees(ratio.middle, 1) if is_faster else None)
    low, high = ends_of_modes(v)
    found["modes"] = judge(agrees(high, low))
    convolutions = sum(n for n, _ in v["triton"].values())
    found["triton_convs"] = Verdict.OPEN if convolutions else Verdict.UNSEEN
    # It is a part of what is saved, and nowhere most of it. How large a major reason must be is not
    # said.
    found["layout"] = Verdict.OPEN
    return found


def _of_layers(v: Mapping[str, Any]) -> dict[str, Verdict]:
    def both(sides: Mapping[str, tuple[int, int]]) -> list[bool | None]:
        return [bool(faster and slower) or None for faster, slower in sides.values()]

    ways = {judge_cases(both(v[sides])) for sides in ("sides_by_kernels", "sub_sides")}
    dense = [None if o is None else not o for o in v["dense_outcomes"]]
    large = [None if o is None else not o for o in v["alexnet_large"]]
    fire = [None if o is None else not o for o in v["fire"]]
    inception = [above(ratio) for ratio in v["inception"]]
    whole = [None if (up := above(r)) is None else not up for r in v["over_whole"].values()]
    return {
        "both_kinds": ways.pop() if len(ways) == 1 else Verdict.OPEN,
        "timers": Verdict.INCOMPARABLE,  # a compiled layer's time includes the call of its region
        "cpu_layers": Verdict.UNSEEN,  # six executions per side distinguish nothing
        "free_oracle": judge_cases(round(gain, 2) < 1.02 for gain in v["paid"].values()),
        **{f"custom_{m}": judge(above(v["over_eager"][m])) for m in there.CUSTOM},
        "below_whole": judge_cases(whole),
        "some_better": judge_cases(bool(n) or None for n in v["better"].values()),
        "alexnet_large": judge_cases(large),
        "dense_blocks": judge_cases(dense),
        "inception": judge(inception[0] if len(set(inception)) == 1 else None),
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

    def alike(kind: str) -> list[bool | None]:
        ratios = v["by_mode"][kind].values()
        return [True if r.high < LITTLE else False if r.low > LITTLE else None for r in ratios]

    strongest, n_tried = max(v["ranks"].values(), key=abs), len(v["ranks"])
    is_one = correlated(abs(strongest), v["n_resnet"])
    is_of_several = by_chance(strongest, v["n_resnet"], n_tried) < CHANCE
    return {
        "products_gpu": judge(not any(above(r["speedup"]) for r in ops["matmul"])),
        "products_cpu": Verdict.OPEN if any(len(b) > 1 for b in both) else judge(answer=True),
        "modes_products": judge_cases(alike("matmul")),
        "modes_convs": judge_cases(alike("convolution")),
        # The modes were timed one after the other, while the CPU drifts by as much
        "modes_cpu": Verdict.OPEN,
        "constant": Verdict.OPEN,  # there is only one reading of each
        "numpy": Verdict.OPEN,  # PyTorch's own product differs by more between two sessions
        "small_on_cpu": judge_cases(
            None if (up := above(r)) is None else not up for r in v["small"].values()
        ),
        "ones_near": judge(ones),
        "isolated": judge_cases(
            None if (up := above(r["speedup"])) is None else not up for r in ops["resnet"]
        ),
        "parameters": Verdict.OPEN if is_one and not is_of_several else judge(not is_one),
        "in_the_model": judge(v["conv_outcomes"][0] > v["n_convs"] / 2),
        "converges": judge(agrees(last.middle, there.BLOCKS)),
        "series": judge(last.low > first.high),
    }


def _mean(ratios: list[Range]) -> float:
    return sum(r.middle for r in ratios) / len(ratios)


def _of_measuring(v: Mapping[str, Any]) -> dict[str, Verdict]:
    alexnet = v["over"]["cuda", "alexnet"]
    profiler = v["profiler"]["eager", "alexnet"]
    ends = sorted(v["profiled"].values(), key=lambda r: r.middle)
    rank = correlated(v["clock_rank"], len(NAMES))
    return {
        "twofold": Verdict.HOLDS if agrees(profiler.middle, there.PROFILING) else Verdict.UNSEEN,
        "timers_little": judge(alexnet["timed", False].high < LITTLE),
        "waits_little": judge(alexnet["sync", False].high < LITTLE),
        "waiting_timers": judge(above(v["waiting"]["cuda", "alexnet"], LITTLE)),
        "cuda_suffers": judge_cases(v["suffers"]),
        "consistent": Verdict.OPEN
        if ends[0].high >= ends[-1].low
        else judge(agrees(ends[-1].middle, ends[0].middle)),
        "no_correlation": Verdict.OPEN if rank is None else judge(not rank),
    }
