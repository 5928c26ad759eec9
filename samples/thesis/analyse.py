"""Write the thesis's page from its captures: `python -m samples.thesis.analyse`.

Reads samples/thesis/captures, with the results.json and traces that run.py wrote, and writes
docs/thesis.md with its details and charts. The text is page.md.j2 and details.md.j2. Its numbers
are from the captures; those of the thesis are in there.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt

from samples.kit.page import ROOT, Made, as_csv, fixed, render
from samples.kit.significance import BY_CHANCE, Verdict, above, judge_cases
from samples.thesis import (
    by_timers,
    charts,
    costs,
    layerwise,
    modes,
    there,
)
from samples.thesis.figures import Run, read
from samples.thesis.page_values import PARTS
from samples.thesis.page_verdicts import ends_of_modes, lost, more_than_by_luck, verdicts
from samples.thesis.there import NAMES

HERE = Path(__file__).parent
PAGE = ROOT / "docs/thesis.md"
TABLES = {
    "layers": (
        "model",
        "layers by kernels",
        "faster",
        "slower",
        "layers by subtraction",
        "faster",
        "slower",
        "layers by timers",
        "faster",
        "slower",
    ),
    "products": ("size", "product on", "speedup (quartiles)", "by kernels"),
    "turns": (
        "ms, eager / compiled",
        "earlier session",
        "speedups of the page",
        "layer timings",
        "layer subtraction",
        "never profiled",
        "least",
    ),
    "costs": (
        "model",
        "eager, plain ms, never profiled",
        "times as long: synchronised",
        "timed",
        "both",
        "profiled",
        "plain, after profiling",
        "compiled, plain ms, never profiled",
        "times as long: profiled",
        "plain, after profiling",
    ),
}
"""Tables that lie beside the page, and their columns."""


def main() -> None:
    """Write the page and its charts."""
    make().write(PAGE)


def make() -> Made:
    """Return the page with its charts."""
    run = read(HERE / "captures")
    values: dict[str, Any] = {"names": NAMES, "there": there, "versions": run.results["versions"]}
    for part in PARTS:
        values |= part(run)
    values |= _tables(values)
    tables = {name: as_csv(headings, values[f"{name}_rows"]) for name, headings in TABLES.items()}
    return Made(
        *render(HERE, values, verdicts(values)),
        _charts(run, values),
        tables,
    )


def _tables(v: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of the page's tables."""
    gaining = sorted(there.OUT_OF_THE_BOX)
    return {
        "there_says": {
            m: f"{there.OUT_OF_THE_BOX[m]:.2f} times as fast"
            if m in there.OUT_OF_THE_BOX
            else "noticeably slower"
            if m in there.SLOWER
            else "minimally faster"
            for m in NAMES
        },
        "modes_cells": {
            m: [fixed(r and r.middle) for mode in modes.MODES[1:] for r in [v["modes_of"][m][mode]]]
            for m in NAMES
        },
        "gaining": gaining,
        "sure": [
            ratios[0].middle
            for ratios in v["by_turn"].values()
            if judge_cases(above(ratio) for ratio in ratios) is Verdict.AGREES
        ],
        "layouts_too": [v["convolution_share"][m] + v["layout_of_saved"][m] for m in gaining],
        "others_timed": [
            v["over"]["cuda", m]["timed", False].middle for m in NAMES if m != "alexnet"
        ],
        "n_alone": [
            [above(row["speedup"]) for row in v["ops"]["convolution"]].count(up)
            for up in (False, True)
        ],
        "n_both": [
            sum(bool(faster and slower) for faster, slower in v[of].values())
            for of in ("sides_by_kernels", "sub_sides")
        ],
        "n_below": sum(ratio.high < 1 for ratio in v["over_whole"].values()),
        "n_lost": lost(v).count(True),
        "n_better": more_than_by_luck(v).count(True),
        "by_luck": sum(len(model.layers) for model in v["subtracted"].values()) * BY_CHANCE,
        "turns_rows": [
            (
                name,
                *(f"{a:.2f} / {b:.2f}" for a, b in v["turns"][m].values()),
                " / ".join(fixed(min(pair)) for pair in zip(*v["turns"][m].values(), strict=True)),
            )
            for m, name in NAMES.items()
        ],
        "saved_rows": [
            (
                name,
                fixed(sum(kinds.values())),
                *(f"{ms:.2f} ({ms / sum(kinds.values()):.0%})" for ms in kinds.values()),
            )
            for m, name in NAMES.items()
            for kinds in [v["saved"][m]]
        ],
        "layers_rows": [
            (
                name,
                v["n_layers"][m],
                *v["sides_by_kernels"][m],
                len(v["subtracted"][m].layers),
                *v["sub_sides"][m],
                *v["timed"][m][:3],
            )
            for m, name in NAMES.items()
        ],
        "products_rows": [
            (
                row["size"],
                where,
                row["speedup"],
                fixed(row["by_kernels"]) if row["by_kernels"] else None,
            )
            for where, kind in (("GPU", "matmul"), ("CPU", "matmul_cpu"))
            for row in v["ops"][kind]
        ],
        "costs_rows": [
            (
                name,
                fixed(v["states"]["eager", m][costs.NEVER].middle),
                *(fixed(ratio.middle) for ratio in v["over"]["cuda", m].values()),
                *(fixed(v[of]["eager", m].middle) for of in ("profiler", "later")),
                fixed(v["states"]["compiled", m][costs.NEVER].middle),
                *(fixed(v[of]["compiled", m].middle) for of in ("profiler", "later")),
            )
            for m, name in NAMES.items()
        ],
        "mode_ends": ends_of_modes(v),
    }


def _charts(run: Run, v: Mapping[str, Any]) -> dict[str, alt.TopLevelMixin]:
    speedups = {
        m: {"by the clock": v["clock"][m].middle, "by kernels": v["by_kernels"][m]}
        | ({"thesis, V100": there.OUT_OF_THE_BOX[m]} if m in there.OUT_OF_THE_BOX else {})
        for m in NAMES
    }
    gains = {
        m: {
            "thesis, Table 5.1": there.ORACLE[m],
            "here, changes cost nothing": v["free"][m],
            "here, changes cost half a call": v["paid"][m],
        }
        for m in NAMES
    }
    ways = ("pure", "sync", "timed", "timed-sync")
    measuring = {
        (way, word): {
            "with the profiler": v["times"][c, "alexnet"][way, True].middle,
            "without": v["times"][c, "alexnet"][way, False].middle,
        }
        for way in ways
        for c, word in costs.CONFIGURATIONS.items()
    }
    chains = {"bare": v["ops"]["chain"], "with normalisation, ReLU": v["ops"]["blocks"]}
    return {
        "speedup": charts.speedup(speedups),
        "saved": charts.saved(v["saved"], layerwise.KINDS),
        "layers": charts.ticks(
            v["layer_speedups"], "speedup of a layer by GPU time of its kernels"
        ),
        "densities": charts.ticks(
            v["timed_ratios"], "CUDA's time of a layer over Triton's, by timers"
        ),
        "curves": charts.curves(
            {m: by_timers.layer_times(run, m) for m in NAMES}, by_timers.CONFIGURATIONS
        ),
        "oracle": charts.gains(gains),
        "single": charts.operations(v["ops"]["convolution"], chains),
        "measuring": charts.measuring(measuring),
    }


if __name__ == "__main__":
    main()
