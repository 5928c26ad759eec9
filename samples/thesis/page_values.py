"""Compute the values of the thesis's page, one function per section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from samples.kit.significance import (
    Range,
    above,
    by_chance,
    more,
    spearman,
)
from samples.thesis import (
    by_timers,
    costs,
    layerwise,
    modes,
    oracles,
    single,
    subtracted,
)
from samples.thesis.figures import Run, earlier_speedup, kernel_ms, kernel_speedup, speedup


def _whole(run: Run) -> dict[str, Any]:
    """Return speedups of whole models, and each model's time over all turns."""
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
    """Return in which kernels compiling saves time."""
    models = list(run.models())
    layout = {model: [layerwise.layout_ns(trace) for trace in run.pair(model)] for model in models}
    saved = {model: layerwise.saved(run, model) for model in models}
    return {
        "saved": saved,
        "convolution_share": {
            model: kinds["products"] / sum(kinds.values()) for model, kinds in saved.items()
        },
        "layout_of_saved": {
            model: kinds["layout"] / sum(kinds.values()) for model, kinds in saved.items()
        },
        "triton": {model: layerwise.triton(run, model) for model in models},
        "ones": {model: layerwise.ones(run, model) for model in models},
        "layout_share": {
            model: (eager - compiled) / (all_eager - all_compiled)
            for model, ((eager, all_eager), (compiled, all_compiled)) in layout.items()
        },
        "attributed": {model: layerwise.attributed(run, model) for model in models},
    }


def _layers(run: Run) -> dict[str, Any]:
    """Return layers by kernels and by timers."""
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
    """Return how many layers are surely faster compiled, and how many surely slower."""
    return outcomes.count("faster"), outcomes.count("slower")


def _oracle(run: Run) -> dict[str, Any]:
    """Return what choosing layer by layer gains in theory, and what plans gain when applied."""
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
    """Return layers by subtraction, and the custom configurations that it chooses."""
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
    """Return single operations, in the default mode and in all modes."""
    kinds = ("convolution", "resnet", "matmul", "matmul_cpu", "chain", "blocks")
    found = {kind: single.of_kind(run, kind) for kind in kinds}
    every = modes.measured(run)
    resnet = found["resnet"]
    names = ("kernel", "stride", "n_in", "n_out", "side")
    ratios = [row["speedup"].middle for row in resnet]
    numpy = {row["size"]: modes.time(row) for row in modes.of_kind(run, "matmul_numpy")}
    torch = {row["size"]: modes.time(row) for row in modes.of_kind(run, "matmul_cpu")}
    gpu = {row["size"]: modes.time(row) for row in every["matmul"]}
    ranks = {name: spearman([row[name] for row in resnet], ratios) for name in names}
    return {
        "ops": found,
        "listing": single.of_kind(run, "listing"),
        "ranks": ranks,
        "strongest_by_chance": by_chance(
            max(ranks.values(), key=abs),
            len(resnet),
            len(ranks),
        ),
        "n_even": sum(abs(row["by_kernels"] - 1) <= 0.02 for row in resnet),
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
    """Return what each way of timing costs."""
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
    in_state = {
        state: {m: states["eager", m][state].over(states["compiled", m][state]) for m in clock}
        for state in (costs.NEVER, costs.UNDER)
    }
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
        "in_state": in_state,
        "by_turn": {
            m: [
                speedup(part, "default"),
                Range(*[earlier_speedup(run, m)] * 3),
                in_state[costs.NEVER][m],
                in_state[costs.UNDER][m],
            ]
            for m, part in run.models().items()
        },
        "waiting": waiting,
        "suffers": [more(waiting["cuda", m], waiting["triton", m]) for m in run.models()],
        "profiled": profiled,
        "clock_rank": spearman(
            [kernel_speedup(run, m) for m in clock],
            list(clock.values()),
        ),
    }


PARTS = (_whole, _kernels, _layers, _oracle, _subtraction, _operations, _measuring)
"""Functions for the sections; each returns values by name."""
