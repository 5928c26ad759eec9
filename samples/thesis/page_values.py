"""Compute the values of the thesis's page, one function per section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Return speedups of whole models, and each model's time in all sessions."""
    parts = run.models()
    compiled = {
        model: {mode: speedup(part, mode) for mode in modes.MODES} for model, part in parts.items()
    }
    subtractions = subtracted.models_of(run)
    turns = {model: _turns(run, model, subtractions[model].whole) for model in parts}
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


def _turns(run: Run, model: str, subtraction: Mapping[str, Range]) -> dict[str, tuple[float, ...]]:
    """Return a model's time eager and compiled in each session, in ms."""
    earlier, timed = run.earlier[model], run.models()[model]["e2e"]
    layer_times = run.captures[f"{model}_timings_cuda"]
    by_timers_ms = [
        costs.wall_times(layer_times, way)[costs.PLAIN].middle for way in ("cuda", "triton")
    ]
    never_profiled = [costs.states(run, model, of)[costs.NEVER] for of in costs.OF]
    return {
        "earlier": (earlier["eager"], earlier["default"]),
        "speedups": (timed["eager"]["median_ms"], timed["default"]["median_ms"]),
        "timings": tuple(by_timers_ms),
        "subtraction": (
            subtraction["eager"].middle / 1e3,
            subtraction["compiled"].middle / 1e3,
        ),
        "never": tuple(times.middle for times in never_profiled),
    }


def _kernels(run: Run) -> dict[str, Any]:
    """Return by kernels and models the time that compiling saves."""
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
    all_timed = pl.concat([frame.select("one", "two") for frame in timed.values()])
    excess_us = (all_timed["two"] - all_timed["one"]) * 1000
    excess = [excess_us.quantile(share, "linear") or 0.0 for share in (0.25, 0.5, 0.75)]
    interpreted = by_timers.sum_of(run, "resnet50", "interpreted")
    cpp = by_timers.sum_of(run, "resnet50", "cpp")
    convolutions = frames["resnet50"].filter(class_name="Conv2d")
    return {
        "sides_by_kernels": {
            model: _sides(frame["outcome"].to_list()) for model, frame in frames.items()
        },
        "layer_speedups": {
            model: frame["speedup"].drop_nulls().to_list() for model, frame in frames.items()
        },
        "n_layers": {model: frame.height for model, frame in frames.items()},
        "timed": {
            model: (
                frame.height,
                *by_timers.sides(frame),
                by_timers.best_of_two(frame),
            )
            for model, frame in timed.items()
        },
        "timed_ratios": {model: frame["ratio"].to_list() for model, frame in timed.items()},
        "excess_us": Range(*excess),
        "region_us": [part["region_ns"] / 1000 for part in run.models().values()],
        "shorter": layerwise.shorter_than_a_call(run),
        "thirds": by_timers.by_parts(timed["resnet50"]),
        "thirds_by_kernels": by_timers.kernels_by_parts(run, "resnet50"),
        "cpu": Range(*interpreted).over(Range(*cpp)),
        "conv_outcomes": _sides(convolutions["outcome"].to_list()),
        "n_convs": convolutions.height,
    }


def _sides(outcomes: list[str]) -> tuple[int, int]:
    """Return how many layers are surely faster compiled, and how many surely slower."""
    return outcomes.count("faster"), outcomes.count("slower")


def _oracle(run: Run) -> dict[str, Any]:
    """Return what choosing layer by layer gains in theory, and what plans gain when applied."""
    parts = run.models()
    by_oracle = {model: part["oracle"] for model, part in parts.items()}
    return {
        "free": {
            model: oracle["custom"]["totals"]["dynamic"]["speedup_over_best"]
            for model, oracle in by_oracle.items()
        },
        "paid": {
            model: oracles.over_best_that_pays(oracle["custom_with_cost"])
            for model, oracle in by_oracle.items()
        },
        "plans": {
            model: (
                speedup(part, "custom"),
                speedup(part, "custom", "default"),
            )
            for model, part in parts.items()
        },
    }


def _subtraction(run: Run) -> dict[str, Any]:
    """Return layers by subtraction, and the custom configurations that it chooses."""
    models = subtracted.models_of(run)
    squeeze, dense = models["squeezenet1_1"], models["densenet121"]
    blocks = [number for number, layer in enumerate(dense.layers) if "denseblock" in layer]
    squeeze_pairs = zip(
        squeeze.beside["compiled"],
        squeeze.beside["custom"],
        strict=True,
    )
    return {
        "subtracted": models,
        "sub_sides": {name: _sides_by_subtraction(model) for name, model in models.items()},
        "over_eager": {
            name: model.whole["eager"].over(model.whole["custom"]) for name, model in models.items()
        },
        "over_whole": {
            name: model.whole["compiled"].over(model.whole["custom"])
            for name, model in models.items()
        },
        "better": {
            name: subtracted.outcomes(
                model,
                range(len(model.layers)),
                ("compiled", "custom"),
            ).count(True)
            for name, model in models.items()
        },
        "alexnet_large": subtracted.outcomes(models["alexnet"], [*subtracted.LARGE]),
        "dense_blocks": {
            dense.layers[block]: (
                dense.beside["eager"][block],
                dense.beside["compiled"][block],
            )
            for block in blocks
        },
        "dense_outcomes": subtracted.outcomes(dense, blocks),
        "inception": [
            _inception_speedup(models["googlenet"], turn)
            for turn in (subtracted.CHOICE, subtracted.BESIDE)
        ],
        "residuals": subtracted.outcomes(models["mobilenet_v2"], subtracted.RESIDUALS),
        "fire": subtracted.outcomes(squeeze, subtracted.FIRE),
        "improved": subtracted.outcomes(squeeze, subtracted.IMPROVED, ("compiled", "custom")),
        "saved_layers": sum(
            compiled.middle - custom.middle > 1e-3 for compiled, custom in squeeze_pairs
        ),
    }


def _sides_by_subtraction(model: subtracted.Model) -> tuple[int, int]:
    """Return how many layers are surely faster compiled, and how many surely slower."""
    outcomes = subtracted.outcomes(model, range(len(model.layers)))
    return outcomes.count(True), outcomes.count(False)


def _inception_speedup(google: subtracted.Model, turn: int) -> Range:
    """Return how many times as fast GoogLeNet's inception blocks are when compiled."""
    first, last = subtracted.INCEPTION[0], subtracted.INCEPTION[-1]
    eager = google.stretch("eager", first, last, turn)
    return eager.over(google.stretch("compiled", first, last, turn))


def _operations(run: Run) -> dict[str, Any]:
    """Return single operations, in the default mode and in all modes."""
    kinds = ("convolution", "resnet", "matmul", "matmul_cpu", "chain", "blocks")
    ops = {kind: single.of_kind(run, kind) for kind in kinds}
    by_mode = modes.measured(run)
    resnet = ops["resnet"]
    speedups = [row["speedup"].middle for row in resnet]
    ranks = {
        name: spearman([row[name] for row in resnet], speedups)
        for name in ("kernel", "stride", "n_in", "n_out", "side")
    }
    numpy = _time_by_size(modes.of_kind(run, "matmul_numpy"))
    torch = _time_by_size(modes.of_kind(run, "matmul_cpu"))
    gpu = _time_by_size(by_mode["matmul"])
    return {
        "ops": ops,
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
            for kind, rows in by_mode.items()
        },
        "product_s": [row["compile_s"]["default"] for row in by_mode["matmul"]],
        "numpy": {size: numpy[size].over(torch[size]) for size in sorted(set(numpy) & set(torch))},
        "products_cpu": {
            "one session": {row["size"]: row["speedup"] for row in ops["matmul_cpu"]},
            "another": {
                row["size"]: modes.time(row).over(modes.time(row, "default"))
                for row in by_mode["matmul_cpu"]
            },
        },
        "small": {
            **{
                (on_gpu["size"], "one session"): modes.time(on_cpu).over(modes.time(on_gpu))
                for on_gpu in ops["matmul"]
                for on_cpu in ops["matmul_cpu"]
                if on_gpu["size"] == on_cpu["size"] < 1000
            },
            (256, "another"): torch[256].over(gpu[256]),
        },
    }


def _time_by_size(rows: Sequence[modes.Row]) -> dict[int, Range]:
    """Return the eager time of each size of a matrix product."""
    return {row["size"]: modes.time(row) for row in rows}


def _measuring(run: Run) -> dict[str, Any]:
    """Return what each way of timing costs."""
    models = run.models()
    times = {
        (configuration, model): costs.times_of(run, model, configuration)
        for configuration in costs.CONFIGURATIONS
        for model in models
    }
    over = {
        key: {way: by_way[way].over(by_way[costs.PLAIN]) for way in costs.METHODS}
        for key, by_way in times.items()
    }
    states = {(of, model): costs.states(run, model, of) for of in costs.OF for model in models}
    waiting = {
        key: by_way["timed-sync", False].over(by_way["timed", False])
        for key, by_way in times.items()
    }
    clock = {
        model: default.middle
        for model, part in models.items()
        if (default := speedup(part, "default"))
    }
    in_state = {
        state: {
            model: states["eager", model][state].over(states["compiled", model][state])
            for model in clock
        }
        for state in (costs.NEVER, costs.UNDER)
    }
    profiled = {
        (configuration, way): by_way[way, True].over(by_way[way, False])
        for (configuration, model), by_way in times.items()
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
            model: [
                speedup(part, "default"),
                Range(*[earlier_speedup(run, model)] * 3),
                in_state[costs.NEVER][model],
                in_state[costs.UNDER][model],
            ]
            for model, part in models.items()
        },
        "waiting": waiting,
        "suffers": [more(waiting["cuda", model], waiting["triton", model]) for model in models],
        "profiled": profiled,
        "clock_rank": spearman(
            [kernel_speedup(run, model) for model in clock],
            list(clock.values()),
        ),
    }


PARTS = (_whole, _kernels, _layers, _oracle, _subtraction, _operations, _measuring)
"""Functions for the sections; each returns values by name."""
