"""Write the thesis's page from its captures: `python -m samples.thesis.analyse`.

Reads samples/thesis/captures (results.json and the traces that run.py wrote) and writes
docs/thesis.md with its charts. The text is page.md.j2; its numbers are the captures' and those of
there.py, which holds the thesis's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from samples.kit.drawing import save
from samples.kit.page import ROOT, fixed, render
from samples.kit.significance import (
    Range,
    Verdict,
    above,
    agrees,
    correlated,
    judge,
    judge_cases,
    more,
    spearman,
)
from samples.thesis import (
    by_timers,
    charts,
    costs,
    layerwise,
    modes,
    oracles,
    single,
    subtracted,
    there,
)
from samples.thesis.figures import Run, earlier_speedup, kernel_ms, kernel_speedup, read, speedup
from samples.thesis.there import NAMES

HERE = Path(__file__).parent
PAGE = ROOT / "docs/thesis.md"
LITTLE = 1.1
"""A cost up to a tenth is little."""


def main() -> None:
    """Write the page and its charts."""
    text, drawn = make()
    PAGE.write_text(text)
    save(drawn, PAGE.with_suffix(""))


def make() -> tuple[str, dict[str, alt.TopLevelMixin]]:
    """The page as Markdown, and its charts by name."""
    run = read(HERE / "captures")
    values: dict[str, Any] = {"names": NAMES, "there": there, "versions": run.results["versions"]}
    for part in (_whole, _kernels, _layers, _oracle, _subtraction, _operations, _measuring):
        values |= part(run)
    values |= _tables(values)
    return render(HERE / "page.md.j2", values, _verdicts(values)), _charts(run, values)


def _whole(run: Run) -> dict[str, Any]:
    """Speedups of whole models, and each model's time over all turns."""
    parts = run.models()
    compiled = {model: {m: speedup(part, m) for m in modes.MODES} for model, part in parts.items()}
    whole = subtracted.models_of(run)
    turns = {
        model: {
            "earlier": (run.earlier[model]["eager"], run.earlier[model]["default"]),
            "speedups": tuple(part["e2e"][way]["median_ms"] for way in ("eager", "default")),
            "timings": tuple(
                costs.wall_times(run.captures[f"{model}_timings_cuda"], way)[costs.PLAIN].middle
                for way in ("cuda", "triton")
            ),
            "subtraction": tuple(
                whole[model].whole[way].middle / 1e3 for way in ("eager", "compiled")
            ),
            "never": tuple(costs.states(run, model, of)[costs.NEVER].middle for of in costs.OF),
        }
        for model, part in parts.items()
    }
    return {
        "clock": {model: ratios["default"] for model, ratios in compiled.items()},
        "earlier": {model: earlier_speedup(run, model) for model in parts},
        "by_kernels": {model: kernel_speedup(run, model) for model in parts},
        "modes_of": compiled,
        "turns": turns,
        "compile_s": {model: part["compile_s"] for model, part in parts.items()},
        "filled": {
            model: kernel_ms(run.pair(model)[1]) / part["e2e"]["default"]["median_ms"]
            for model, part in parts.items()
        },
        "tf32": speedup(parts["resnet50"], "max-autotune-tf32"),
    }


def _kernels(run: Run) -> dict[str, Any]:
    """Where the kernel time goes that compiling saves."""
    models = list(run.models())
    layout = {model: [layerwise.layout_ns(trace) for trace in run.pair(model)] for model in models}
    return {
        "saved": {model: layerwise.saved(run, model) for model in models},
        "triton": {model: layerwise.triton(run, model) for model in models},
        "ones": {model: layerwise.ones(run, model) for model in models},
        "layout_share": {
            model: (eager - compiled) / (all_eager - all_compiled)
            for model, ((eager, all_eager), (compiled, all_compiled)) in layout.items()
        },
        "attributed": {model: layerwise.attributed(run, model) for model in models},
    }


def _layers(run: Run) -> dict[str, Any]:
    """Layers by kernels and by timers."""
    frames = {model: layerwise.layers(run, model) for model in run.models()}
    timed = {model: by_timers.layers(run, model, by_timers.GPU) for model in run.models()}
    excess = pl.concat(
        [f.select(us=(pl.col("two") - pl.col("one")) * 1000) for f in timed.values()]
    )["us"]
    cpu = [by_timers.sum_of(run, "resnet50", name) for name in ("interpreted", "cpp")]
    inside = frames["resnet50"].filter(class_name="Conv2d")
    return {
        "sides_by_kernels": {m: _sides(f["outcome"].to_list()) for m, f in frames.items()},
        "layer_speedups": {m: f["speedup"].drop_nulls().to_list() for m, f in frames.items()},
        "n_layers": {m: f.height for m, f in frames.items()},
        "timed": {
            m: (f.height, *by_timers.sides(f), by_timers.best_of_two(f)) for m, f in timed.items()
        },
        "timed_ratios": {m: f["ratio"].to_list() for m, f in timed.items()},
        "excess_us": Range(*(excess.quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75))),
        "region_us": [part["region_ns"] / 1000 for part in run.models().values()],
        "shorter": layerwise.shorter_than_a_call(run),
        "thirds": by_timers.by_parts(timed["resnet50"]),
        "thirds_by_kernels": by_timers.kernels_by_parts(run, "resnet50"),
        "cpu": Range(*cpu[0]).over(Range(*cpu[1])),
        "conv_outcomes": _sides(inside["outcome"].to_list()),
        "n_convs": inside.height,
    }


def _sides(outcomes: list[str]) -> tuple[int, int]:
    """How many layers are surely faster compiled, and how many slower."""
    return outcomes.count("faster"), outcomes.count("slower")


def _oracle(run: Run) -> dict[str, Any]:
    """What choosing layer by layer gains in theory, and what the plans gain when applied."""
    parts = run.models()
    return {
        "free": {
            m: p["oracle"]["custom"]["totals"]["dynamic"]["speedup_over_best"]
            for m, p in parts.items()
        },
        "paid": {
            m: oracles.over_best_that_pays(p["oracle"]["custom_with_cost"])
            for m, p in parts.items()
        },
        "plans": {
            m: (speedup(p, "custom"), speedup(p, "custom", "default")) for m, p in parts.items()
        },
    }


def _subtraction(run: Run) -> dict[str, Any]:
    """Layers by subtraction, and the custom configurations that it chooses."""
    models = subtracted.models_of(run)
    every = {name: range(len(model.layers)) for name, model in models.items()}
    squeeze, dense = models["squeezenet1_1"], models["densenet121"]
    blocks = [at for at, layer in enumerate(dense.layers) if "denseblock" in layer]
    ends = subtracted.INCEPTION[:: len(subtracted.INCEPTION) - 1]
    google = models["googlenet"]
    pairs = zip(squeeze.beside["compiled"], squeeze.beside["custom"], strict=True)
    return {
        "subtracted": models,
        "sub_sides": {
            name: (found.count(True), found.count(False))
            for name, model in models.items()
            for found in [subtracted.outcomes(model, every[name])]
        },
        "over_eager": {
            name: m.whole["eager"].over(m.whole["custom"]) for name, m in models.items()
        },
        "over_whole": {
            name: m.whole["compiled"].over(m.whole["custom"]) for name, m in models.items()
        },
        "better": {
            name: subtracted.outcomes(m, every[name], ("compiled", "custom")).count(True)
            for name, m in models.items()
        },
        "alexnet_large": subtracted.outcomes(models["alexnet"], [*subtracted.LARGE]),
        "dense_blocks": {
            dense.layers[at]: (dense.beside["eager"][at], dense.beside["compiled"][at])
            for at in blocks
        },
        "dense_outcomes": subtracted.outcomes(dense, blocks),
        "inception": [
            google.stretch("eager", *ends, turn).over(google.stretch("compiled", *ends, turn))
            for turn in (0, 1)
        ],
        "residuals": subtracted.outcomes(models["mobilenet_v2"], subtracted.RESIDUALS),
        "fire": subtracted.outcomes(squeeze, subtracted.FIRE),
        "improved": subtracted.outcomes(squeeze, subtracted.IMPROVED, ("compiled", "custom")),
        "saved_layers": sum(one.middle - two.middle > 1e-3 for one, two in pairs),
    }


def _operations(run: Run) -> dict[str, Any]:
    """Single operations, in the default mode and in all."""
    kinds = ("convolution", "resnet", "matmul", "matmul_cpu", "chain", "blocks")
    found = {kind: single.of_kind(run, kind) for kind in kinds}
    every = modes.measured(run)
    resnet = found["resnet"]
    names = ("kernel", "stride", "n_in", "n_out", "side")
    ratios = [row["speedup"].middle for row in resnet]
    numpy = {row["size"]: modes.time(row) for row in modes.of_kind(run, "matmul_numpy")}
    torch = {row["size"]: modes.time(row) for row in modes.of_kind(run, "matmul_cpu")}
    gpu = {row["size"]: modes.time(row) for row in every["matmul"]}
    return {
        "ops": found,
        "ranks": {name: spearman([row[name] for row in resnet], ratios) for name in names},
        "n_resnet": len(resnet),
        "by_mode": {
            kind: {modes.what(row): modes.slowest_over_fastest(row) for row in rows}
            for kind, rows in every.items()
        },
        "product_s": [row["compile_s"]["default"] for row in every["matmul"]],
        "numpy": {size: numpy[size].over(torch[size]) for size in sorted(set(numpy) & set(torch))},
        "products_cpu": {
            "one session": {r["size"]: r["speedup"] for r in found["matmul_cpu"]},
            "another": {
                row["size"]: modes.time(row).over(modes.time(row, "default"))
                for row in every["matmul_cpu"]
            },
        },
        "small": {
            **{
                (r["size"], "one session"): _clock(c).over(_clock(r))
                for r in found["matmul"]
                for c in found["matmul_cpu"]
                if r["size"] == c["size"] < 1000
            },
            (256, "another"): torch[256].over(gpu[256]),
        },
    }


def _clock(row: Mapping[str, Any]) -> Range:
    return modes.time(row)


def _measuring(run: Run) -> dict[str, Any]:
    """What each way of timing costs."""
    times = {(c, m): costs.times_of(run, m, c) for c in costs.CONFIGURATIONS for m in run.models()}
    over = {
        key: {way: found[way].over(found[costs.PLAIN]) for way in costs.METHODS}
        for key, found in times.items()
    }
    states = {(of, m): costs.states(run, m, of) for of in costs.OF for m in run.models()}
    waiting = {
        key: found["timed-sync", False].over(found["timed", False]) for key, found in times.items()
    }
    clock = {m: r.middle for m, p in run.models().items() if (r := speedup(p, "default"))}
    profiled = {
        (c, way): found[way, True].over(found[way, False])
        for (c, model), found in times.items()
        if model == "alexnet"
        for way in ("pure", "sync", "timed", "timed-sync")
    }
    return {
        "times": times,
        "over": over,
        "states": states,
        "profiler": {key: by[costs.UNDER].over(by[costs.NEVER]) for key, by in states.items()},
        "later": {key: by[costs.AFTER].over(by[costs.NEVER]) for key, by in states.items()},
        "drift": [above(by[costs.AFTER].over(by[costs.NEVER])) for by in states.values()],
        "never_clock": {
            m: states["eager", m][costs.NEVER].over(states["compiled", m][costs.NEVER])
            for m in run.models()
        },
        "waiting": waiting,
        "suffers": [more(waiting["cuda", m], waiting["triton", m]) for m in run.models()],
        "profiled": profiled,
        "clock_rank": spearman([kernel_speedup(run, m) for m in clock], list(clock.values())),
    }


def _tables(v: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the page's tables."""

    def then(model: str) -> str:
        found = there.OUT_OF_THE_BOX.get(model)
        return f"{found:.2f}" if found else "slower" if model in there.SLOWER else "about even"

    return {
        "speedup_rows": [
            (
                name,
                then(m),
                v["clock"][m],
                fixed(v["earlier"][m]),
                fixed(v["by_kernels"][m]),
                *(
                    fixed(r and r.middle)
                    for mode in modes.MODES[1:]
                    for r in [v["modes_of"][m][mode]]
                ),
            )
            for m, name in NAMES.items()
        ],
        "turn_rows": [
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
        "layer_rows": [
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
        "custom_rows": [
            (
                name,
                fixed(there.ORACLE[m], 3),
                fixed(v["free"][m], 3),
                fixed(v["paid"][m], 3),
                fixed(there.CUSTOM.get(m)),
                v["over_eager"][m],
                v["over_whole"][m],
            )
            for m, name in NAMES.items()
        ],
        "product_rows": [
            (
                row["size"],
                where,
                row["speedup"],
                fixed(row["by_kernels"]) if row["by_kernels"] else None,
            )
            for where, kind in (("GPU", "matmul"), ("CPU", "matmul_cpu"))
            for row in v["ops"][kind]
        ],
        "cost_rows": [
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
        "mode_ends": _ends(v),
    }


def _ends(v: Mapping[str, Any]) -> tuple[float, float]:
    """The least and the greatest speedup of any model in any mode."""
    every = [r.middle for ratios in v["modes_of"].values() for r in ratios.values() if r]
    return min(every), max(every)


def _charts(run: Run, v: Mapping[str, Any]) -> dict[str, alt.TopLevelMixin]:
    found = {
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
        "speedup": charts.speedup(found),
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


def _verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
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
    low, high = _ends(v)
    found["modes"] = judge(agrees(high, low))
    convolutions = sum(n for n, _ in v["triton"].values())
    found["triton_convs"] = Verdict.OPEN if convolutions else Verdict.UNSEEN
    shares = v["layout_share"].values()
    found["layout"] = judge_cases(True if s >= 0.5 else False if s < 0.1 else None for s in shares)
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
        "timers": Verdict.INCOMPARABLE,  # a compiled layer's time holds the call of its region
        "cpu_layers": Verdict.UNSEEN,  # six executions a side tell nothing apart
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

    strongest = max(v["ranks"].values(), key=abs)
    return {
        "products_gpu": judge(not any(above(r["speedup"]) for r in ops["matmul"])),
        "products_cpu": Verdict.OPEN if any(len(b) > 1 for b in both) else judge(answer=True),
        "modes_products": judge_cases(alike("matmul")),
        "modes_convs": judge_cases(alike("convolution")),
        "modes_cpu": Verdict.OPEN,  # the modes were timed one after the other, and the CPU drifts by as much
        "constant": Verdict.OPEN,  # one reading each
        "numpy": Verdict.OPEN,  # PyTorch's own product differs by more between two sessions
        "small_on_cpu": judge_cases(
            None if (up := above(r)) is None else not up for r in v["small"].values()
        ),
        "ones_near": judge(ones),
        "isolated": judge_cases(
            None if (up := above(r["speedup"])) is None else not up for r in ops["resnet"]
        ),
        "parameters": judge(correlated(abs(strongest), v["n_resnet"]) is None),
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


if __name__ == "__main__":
    main()
