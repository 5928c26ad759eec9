"""Write the advisor's page from its captures: `python -m samples.advisor.analyse`.

Reads samples/advisor/captures (results.jsonl, traces and plans that run.py wrote) and the captures
of samples/torch, and writes docs/advisor.md with its details and charts. The text is page.md.j2
and details.md.j2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt

import tracelens as tl
from samples.advisor import charts
from samples.kit.page import ROOT, Made, as_csv, fixed, render, unique
from samples.kit.significance import Range, Verdict, judge, judge_cases, more, shared
from tracelens.analyses import advise
from tracelens.analyses.advise import notes
from tracelens.derive.calls.advising import Advice, advise_greedily, advise_rank
from tracelens.derive.calls.op_catalog import ATTENTION

HERE = Path(__file__).parent
CAPTURES = HERE / "captures"
PAGE = ROOT / "docs/advisor.md"
MODELS = {
    "resnet50_b1": "ResNet-50, 1 image",
    "resnet50_b32": "ResNet-50, 32 images",
    "mobilenet_v1_b1": "MobileNet, 1 image",
    "mobilenet_v1_b32": "MobileNet, 32 images",
}
TRANSFORMERS = {
    "bert_float32": "BERT-like, float32",
    "bert_bfloat16": "BERT-like, bfloat16",
    "llama_float32": "Llama-like, float32",
    "llama_bfloat16": "Llama-like, bfloat16",
}
"""Transformers of four blocks with attention written out.

samples/open_points/models.py builds them.
"""
PLANNED = {
    frozenset({ATTENTION}): "plan, attention",
    frozenset({ATTENTION, "_addmm_activation"}): "plan, attention and GELU",
    frozenset({ATTENTION, "addmm"}): "plan, attention and residuals",
}
"""Names of the applied plans, by the fused calls that each plan contains."""
OURS, GRAPH = "advised", "advised, CUDA graph"
FREEZING = ("torch.compile, freezing", "torch.compile, freezing, CUDA graph")
WAYS = (
    "eager",
    "channels_last",
    OURS,
    "eager, CUDA graph",
    GRAPH,
    "torch.compile, default",
    "torch.compile, reduce-overhead",
    "torch.compile, max-autotune",
    "jax.jit",
)
SERIES = {
    "fully connected": [f"fully_connected_{n}" for n in (256, 1024, 4096, 16384)],
    "convolution 1×1": [f"convolution_{n}_1x1" for n in (16, 64, 256)],
    "convolution 3×3": [f"convolution_{n}_3x3" for n in (16, 64, 256)],
}
"""The paper's micro-benchmarks, ordered by size."""
TABLES = {
    "plans": ("subject", "TF32", "eager", "predicted", "measured", "off by"),
    "ways": (
        "subject",
        "eager",
        "channels-last",
        "advised",
        "eager, graph",
        "advised, graph",
        "compile",
        "reduce-overhead",
        "max-autotune",
        "jax.jit",
    ),
}
"""Tables that lie beside the page, and their columns."""
NEAR = 0.15
"""Largest relative error at which a prediction counts as right."""


class Applied(NamedTuple):
    """Wall clock and kernel time of one execution method, in µs, from the later session."""

    wall: Range
    kernels: float


def main() -> None:
    """Write the page and its charts."""
    make().write(PAGE)


def make() -> Made:
    """Return the page with its charts."""
    rows = [json.loads(line) for line in (CAPTURES / "results.jsonl").read_text().splitlines()]
    v = facts(rows)
    walls = {
        s: {w: t.middle for w in WAYS if (t := v["wall"].get((s, w, "default")))}
        for s in v["subjects"]
    }
    drawn: dict[str, alt.TopLevelMixin] = {
        "orders": charts.orders(
            {
                name: {
                    order: v["applied"][m, way].kernels
                    for order, way in (("eager", "eager"), ("greedy", "greedy"), ("searched", OURS))
                }
                for m, name in MODELS.items()
            }
        ),
        "transformers": charts.orders(
            {name: v["transformers"][s] for s, name in TRANSFORMERS.items()}, most=1.1
        ),
        "layers": charts.ways({s: walls[s] for of in SERIES.values() for s in of}),
        "models": charts.ways({name: walls[m] for m, name in MODELS.items()}),
    }
    tables = {name: as_csv(headings, v[f"{name}_rows"]) for name, headings in TABLES.items()}
    return Made(*render(HERE, v, verdicts(v)), drawn, tables)


def facts(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers that the page mentions."""
    wall = unique(
        (_key(row), Range(*(ns / 1e3 for ns in row["wall_ns"]))) for row in rows if "wall_ns" in row
    )
    later = applied()
    wall |= {(m, way, "default"): later[m, way].wall for m in MODELS for way in FREEZING}
    kernels = unique((_key(row), row) for row in rows if row.get("what") == "kernels")
    plans = unique(
        ((row["subject"], row["tf32"]), row) for row in rows if row.get("what") == "plan"
    )
    subjects = list(dict.fromkeys(subject for subject, _ in plans))
    off = {
        key: row["predicted_ns"]["then_ns"] / row["measured_ns"] - 1 for key, row in plans.items()
    }
    gains = {s: wall[s, "eager", "default"].over(wall[s, OURS, "default"]) for s in subjects}
    default = {s: plans[s, "default"] for s in subjects}
    plan_rows = [
        (
            subject,
            tf32,
            *(fixed(row["predicted_ns"][when] / 1e3, 1) for when in ("now_ns", "then_ns")),
            fixed(row["measured_ns"] / 1e3, 1),
            f"{off[subject, tf32]:+.0%}",
        )
        for (subject, tf32), row in plans.items()
    ]
    return {
        "about": next(row for row in rows if "stage" in row),
        "subjects": subjects,
        "wall": wall,
        "orders": {model: orders(model) for model in MODELS},
        "applied": later,
        "turns": turns(wall, later),
        **transformers(),
        "names": MODELS,
        "freezing_graph": FREEZING[1],
        "won": {way: [_beats_all(wall, s, way) for s in subjects] for way in (OURS, GRAPH)},
        "gains": gains,
        "series": SERIES,
        "falls": sum(
            all(gains[a].middle > gains[b].middle for a, b in pairwise(of))
            for of in SERIES.values()
        ),
        "idle": {s: gains[s] for s in subjects if _is_unchanged(default[s])},
        "idle_graphs": [
            wall[s, "eager, CUDA graph", "default"].over(wall[s, GRAPH, "default"]).middle
            for s in subjects
            if _is_unchanged(default[s])
        ],
        "n_plans": len(plans),
        "n_off": sum(abs(share) > NEAR for share in off.values()),
        "n_enumerated": sum(row["solver"] == "enumeration" for row in plans.values()),
        "model_gains": [gains[model] for model in MODELS],
        "graph_gains": [
            wall[model, "eager, CUDA graph", "default"].over(wall[model, GRAPH, "default"])
            for model in MODELS
        ],
        "later_gains": [later[m, "eager"].wall.over(later[m, OURS].wall) for m in MODELS],
        "z3": _z3_over_enumeration(),
        "slowest": max(default.values(), key=lambda row: row["search_s"]),
        "compiled": compiled(kernels, subjects),
        "bundled": bundled(),
        "layer_gains": [gains[s].middle for of in SERIES.values() for s in of],
        "ways_rows": [_wall_row(wall, subject) for subject in subjects],
        "ways_headings": TABLES["ways"],
        "model_rows": [_wall_row(wall, subject) for subject in MODELS],
        "plans_rows": plan_rows,
        "plans_headings": TABLES["plans"],
        "shown_rows": [
            (MODELS[subject], tf32, *cells)
            for subject, tf32, *cells in plan_rows
            if subject in MODELS and tf32 == "default"
        ],
        "order_rows": [
            (
                MODELS[m],
                *(fixed(later[m, way].kernels, 0) for way in ("eager", "channels_last")),
                fixed(orders(m)["greedy"], 0),
                fixed(later[m, "greedy"].kernels, 0),
                fixed(orders(m)["searched"], 0),
                fixed(later[m, OURS].kernels, 0),
            )
            for m in MODELS
        ],
        "freezing_rows": [
            (
                name,
                *(
                    fixed(later[m, way].wall.middle, 0)
                    for mode in ("plain", "freezing")
                    for way in (f"torch.compile, {mode}", f"torch.compile, {mode}, CUDA graph")
                ),
                fixed(later[m, GRAPH].wall.middle, 0),
                str(later[m, FREEZING[1]].wall.over(later[m, GRAPH].wall)),
            )
            for m, name in MODELS.items()
        ],
    }


def applied() -> dict[tuple[str, str], Applied]:
    """Return the times of the later session by model and execution method."""
    lines = (CAPTURES / "orders.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    kernels = unique(
        ((row["subject"], row["way"]), row["kernel_ns"]) for row in rows if "kernel_ns" in row
    )
    walls = unique(
        ((row["subject"], row["way"]), Range(*(ns / 1e3 for ns in row["wall_ns"])))
        for row in rows
        if "wall_ns" in row
    )
    return {key: Applied(wall, kernels[key] / 1e3) for key, wall in walls.items()}


def transformers() -> dict[str, Any]:
    """Return each transformer's kernel times, its plan's predicted µs, and its calls' times."""
    rows, later = (
        [json.loads(line) for line in (CAPTURES / name).read_text().splitlines()]
        for name in ("transformers.jsonl", "transformers_planned.jsonl")
    )
    kernels, walls = _by_way(rows)
    kernels_later, walls_later = _by_way(later)
    alone = unique(
        ((row["subject"], row["call"]), row["call_ns"][1] / 1e3) for row in rows if "call" in row
    )
    by_subject: dict[str, dict[str, float]] = {}
    plans: dict[str, str] = {}
    for subject in TRANSFORMERS:
        written, *others = (
            tl.open(CAPTURES / f"{subject}_{what}.tracelens")
            for what in ("written", "fused", "calls")
        )
        advice = advise_rank(written, 0, others, z3=False)
        plans[subject] = PLANNED[_fusing(advice)]
        by_subject[subject] = {
            "eager": advice.now / 1e3,
            "plan, predicted": advice.total() / 1e3,
            "plan, measured": kernels_later[subject, plans[subject]],
            "fused by hand": kernels[subject, "attention fused"],
            "torch.compile": kernels[subject, "torch.compile of attention written"],
        }
    return {
        "transformers": by_subject,
        "alone": alone,
        "masked": {
            s: tl.open(CAPTURES / f"{s}_calls.tracelens")
            .frame("call_costs")
            .filter(function=ATTENTION)["median_ns"][0]
            / 1e3
            for s in TRANSFORMERS
        },
        "planned_graphs": {
            (s, way): walls_later[s, f"{way}, CUDA graph"]
            for s in TRANSFORMERS
            for way in ("attention written", *PLANNED.values())
            if (s, f"{way}, CUDA graph") in walls_later
        },
        "planned_turns": [
            walls_later[key] / walls[key]
            for s in TRANSFORMERS
            for key in ((s, "attention written, CUDA graph"), (s, "attention fused, CUDA graph"))
        ],
        "transformer_rows": [
            (
                name,
                *(fixed(us, 0) for us in by_subject[s].values()),
                fixed(walls[s, "attention written, CUDA graph"], 0),
                fixed(walls_later[s, f"{plans[s]}, CUDA graph"], 0),
                *(
                    fixed(walls[s, f"{way}, CUDA graph"], 0)
                    for way in ("attention fused", "torch.compile of attention written")
                ),
            )
            for s, name in TRANSFORMERS.items()
        ],
    }


def _by_way(
    rows: Sequence[dict[str, Any]],
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Return µs of kernels, and of the clock, by subject and way."""
    kernels = (r for r in rows if "kernel_ns" in r)
    walls = (r for r in rows if "wall_ns" in r)
    return (
        unique(((r["subject"], r["way"]), r["kernel_ns"] / 1e3) for r in kernels),
        unique(((r["subject"], r["way"]), r["wall_ns"][1] / 1e3) for r in walls),
    )


def _fusing(advice: Advice) -> frozenset[str]:
    """Return the kinds of advised calls that cover several operators."""
    calls = (call for part in advice.parts for call in part.calls)
    return frozenset(call.realisation for call in calls if len(call.nodes) > 1)


def turns(
    wall: Mapping[tuple[str, str, str], Range], later: Mapping[tuple[str, str], Applied]
) -> dict[str, list[float]]:
    """Return the later session's times divided by the first session's, if both were measured.

    One list holds calls from Python, the other replays of CUDA graphs.
    """
    drifts: dict[str, list[float]] = {"python": [], "graph": []}
    for model in MODELS:
        for way in ("eager", OURS, "eager, CUDA graph", GRAPH):
            ratio = later[model, way].wall.middle / wall[model, way, "default"].middle
            drifts["graph" if way.endswith("graph") else "python"].append(ratio)
    return drifts


def _z3_over_enumeration() -> list[float]:
    """Return how many times the processor time Z3 takes, by model.

    Raises ValueError if the plans differ.
    """
    by_model = json.loads((CAPTURES / "solvers.json").read_text())
    for model, by in by_model.items():
        if not by["same_calls"]:
            raise ValueError(f"Z3 and enumeration plan {model} differently")
    times = [by["processor_s"] for by in by_model.values()]
    return [by["z3"] / by["enumeration"] for by in times]


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["subject"], row["way"], row["tf32"]


def _is_unchanged(plan: Mapping[str, Any]) -> bool:
    """Return whether the plan makes the same calls as before, by predicted times."""
    predicted = plan["predicted_ns"]
    return bool(
        predicted["now_ns"] == predicted["then_ns"]
        and predicted["host_now_ns"] == predicted["host_then_ns"]
    )


def orders(model: str) -> dict[str, float]:
    """Return kernel time in µs at the page's costs: eager, the greedy plan, the searched plan."""
    eager, *others = (
        tl.open(CAPTURES / f"{model}_{what}.tracelens")
        for what in ("eager", "channels_last", "calls")
    )
    advice = advise_rank(eager, 0, others, z3=False)
    greedy = advise_greedily(eager, 0, others)
    return {
        "eager": advice.now / 1e3,
        "greedy": greedy.total() / 1e3,
        "searched": advice.total() / 1e3,
    }


def _beats_all(wall: Mapping[tuple[str, str, str], Range], subject: str, way: str) -> bool | None:
    """Return whether a way to run a model is faster than every other way without the advisor.

    A way called from Python is compared with other such ways, a replayed graph with all ways.
    Return None if the quartiles do not tell.
    """
    ours = wall[subject, way, "default"]
    answers = [
        more(other, ours)
        for (name, beside, tf32), other in wall.items()
        if name == subject and tf32 == "default" and beside not in (OURS, GRAPH)
        if way == GRAPH or not beside.endswith("CUDA graph")
    ]
    return False if False in answers else None if None in answers else True


def compiled(
    kernels: Mapping[tuple[str, str, str], Mapping[str, Any]], subjects: Sequence[str]
) -> list[float]:
    """Return the best compiler's kernel time over the better of eager's and the advised one's.

    The list has one value per layer.
    """
    ways = [
        *(f"torch.compile, {m}" for m in ("default", "reduce-overhead", "max-autotune")),
        "jax.jit",
    ]
    ratios = []
    for subject in (s for s in subjects if s not in MODELS):
        library = min(kernels[subject, way, "default"]["kernel_ns"] for way in ("eager", OURS))
        generated = [
            kernels[key]["kernel_ns"]
            for way in ways
            if (key := (subject, way, "default")) in kernels
        ]
        ratios.append(min(generated) / library)
    return sorted(ratios)


def bundled() -> list[tuple[str, str]]:
    """Return the first sentence of advice for the captures bundled in samples/torch."""
    sentences = []
    for name in ("resnet50", "alexnet"):
        trace = tl.collect(ROOT / f"samples/torch/{name}_eager.pt.trace.json.gz")
        sentences.append((name, notes(trace, advise(trace, []), [])[0]))
    return sentences


def _wall_row(wall: Mapping[tuple[str, str, str], Range], subject: str) -> tuple[Any, ...]:
    times = [wall.get((subject, way, "default")) for way in WAYS]
    return (MODELS.get(subject, subject), *(fixed(time and time.middle, 1) for time in times))


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Judge each claim of the paper by the captures: a verdict by the claim's name."""
    beside_model = [
        more(v["gains"][s], v["gains"]["mobilenet_v1_b1"]) for of in SERIES.values() for s in of
    ]
    return {
        "fastest": Verdict.UNTESTABLE,  # neither their program nor their frameworks were run
        # The claim has two readings: layers by their size, and layers beside a model
        "small": shared([judge(v["falls"] == len(SERIES)), judge_cases(beside_model)]),
        "compiled": Verdict.UNTESTABLE,  # which kernels were libraries' was not recorded
        "search": Verdict.UNTESTABLE,  # another program's search
    }


if __name__ == "__main__":
    main()
