"""Write the advisor's page from its captures: `python samples/advisor/analyse.py`.

Reads samples/advisor/captures (results.jsonl, traces and plans that run.py wrote) and the captures of samples/torch and
samples/thesis, and writes docs/advisor.md. Every number comes from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "samples/study"))

from page import Finding, table  # noqa: E402 - the pieces of a page are the abstraction study's

import tracelens as tl  # noqa: E402
from tracelens.analyses import advise  # noqa: E402
from tracelens.analyses.advise import notes  # noqa: E402
from tracelens.derive.calls.advising import advise_rank  # noqa: E402

NOTICE = "<!-- Written by samples/advisor/analyse.py from samples/advisor/captures; edit those instead. -->"
MODELS = ("resnet50_b1", "resnet50_b32", "mobilenet_v1_b1", "mobilenet_v1_b32")
OURS, GRAPH = "advised", "advised, CUDA graph"
WORDS = {True: "holds", False: "**no longer**", None: "cannot be told"}
BUNDLED = (
    ("ResNet-50, eager", "samples/torch/resnet50_eager.pt.trace.json.gz", ()),
    ("ResNet-50, eager, with the capture of channels_last", "samples/torch/resnet50_eager.pt.trace.json.gz",
     ("samples/torch/resnet50_channels_last.pt.trace.json.gz",)),
    ("AlexNet, eager", "samples/torch/alexnet_eager.pt.trace.json.gz", ()),
    ("MobileNetV2, eager", "samples/thesis/captures/mobilenet_v2_eager.tracelens", ()),
)  # fmt: skip
Rows = Sequence[dict[str, Any]]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--captures", type=Path, default=ROOT / "samples/advisor/captures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/advisor.md")
    options = parser.parse_args()
    lines = (options.captures / "results.jsonl").read_text().splitlines()
    options.page.write_text(page([json.loads(line) for line in lines], options.captures))


def page(rows: Rows, captures: Path) -> str:
    """The page in Markdown."""
    about = next(row for row in rows if "stage" in row)
    parts = [
        "# A cheaper legal call sequence, searched for",
        NOTICE,
        (
            "Shizhi Tang and Jidong Zhai, *Towards Automatic Function Call Generation for Deep Learning* (SC '19, 3 "
            "pages), cover a model's graph with library calls by a best-first search that asks Z3 whether a sequence "
            "is legal. This is that search in `tracelens advise`, fed with times from traces. Numbers of its Figures "
            "2 to 4, the sizes (but for 56×56 images), the GPU and the versions are not in its text, so only its "
            "claims and their order can be compared; its frameworks (TensorFlow, its XLA, Tensor Comprehensions) are "
            "not run here."
        ),
        (
            f"Measured on one {about['device']}, PyTorch {about['torch']}, cuDNN "
            f"{about['cudnn'] // 10000}.{about['cudnn'] // 100 % 100}, float32, TF32 as torch's defaults unless said "
            "otherwise (on for convolutions, off for matrix products); 10 rounds of 20 calls, medians with "
            "quartiles in brackets. `python samples/advisor/run.py --out OUT layers models default reduce-overhead "
            "jax` repeats it."
        ),
        *_bundled(),
        *_plans(rows, captures),
        *_ways(rows),
        *_verdicts(rows),
        *_not_measured(rows),
    ]
    return "\n\n".join(parts) + "\n"


def _bundled() -> list[str]:
    """The table of advice from captures alone."""
    found = []
    for name, path, costs in BUNDLED:
        trace = _opened(path)
        others = [_opened(other) for other in costs]
        frame = advise(trace, others)
        whole = frame.row(0, named=True)
        share = whole["transform_now_ns"] / whole["device_ns"]
        said = notes(trace, frame, others)[0]
        found.append((name, f"{whole['n_transforming']:g}", _us(whole["transform_now_ns"]), f"{share:.2%}", said))
    last = _opened(BUNDLED[1][2][0])
    advice = advise_rank(_opened(BUNDLED[0][1]), 0, [last], z3=False)
    took = int(last.kernels["duration_ns"].sum()) / 3
    return [
        "## Advice from captures that are bundled",
        table(("capture", "transforming kernels a step", "µs a step", "of kernel time", "first sentence"), found),
        (
            f"With the capture of channels_last the search predicts {advice.total() / 1e6:.3f} ms of kernels for the "
            f"model, the change of the input's layout included; that capture has {took / 1e6:.3f} ms "
            f"({advice.total() / took - 1:+.1%}). These captures hold no graph, so the parts are guessed chains."
        ),
    ]


def _plans(rows: Rows, captures: Path) -> list[str]:
    """Predicted and measured kernel time of each plan."""
    found, alone = [], []
    for row in (row for row in rows if row.get("what") == "plan"):
        told, measured = row["predicted_ns"], row["measured_ns"]
        off = told["then_ns"] / measured - 1
        found.append(
            (row["subject"], _us(told["now_ns"]), (f"{_us(told['then_ns'])} ({_us(told['low_ns'])} to "
             f"{_us(told['high_ns'])})"), _us(measured), f"{off:+.1%}", "yes" if abs(off) <= 0.15 else "**no**",
             f"{row['largest_difference']:.1e}", row["n_candidates"], f"{row['bench_s']:.2f}", f"{row['search_s']:.2f}",
             row["checks"])
        )  # fmt: skip
    for subject in MODELS:
        eager, last = (tl.open(captures / f"{subject}_{what}.tracelens") for what in ("eager", "channels_last"))
        advice = advise_rank(eager, 0, z3=False)
        layouts = Counter(c.layout for part in advice.parts for c in part.calls if c.function == "conv")
        took = int(last.kernels["duration_ns"].sum()) / 3
        alone.append((subject, _us(advice.now), (f"{_us(advice.total())} ({layouts['NHWC']} of {sum(layouts.values())} "
                      "convolutions NHWC)"), _us(took)))  # fmt: skip
    plans = {s: json.loads((captures / f"{s}_plan.json").read_text()) for s in MODELS}
    calls = [(s, _counted(c["function"] for c in plan["calls"])) for s, plan in plans.items()]
    return [
        "## Plans: predicted and measured",
        (
            "Kernel time of one call in µs, as eager ran, as predicted of the plan (with its range) and as captured "
            "of the model that `tl.apply_calls` made. A prediction is wanted within 15 %. The largest difference of "
            "outputs is relative to the largest output; every plan passed its check (1e-3)."
        ),
        table(
            (
                "subject",
                "eager",
                "predicted",
                "measured",
                "off by",
                "within 15 %",
                "largest difference",
                "calls timed",
                "in s",
                "search in s",
                "checks",
            ),
            found,
        ),
        (
            "At batch 1 predictions of calls that were timed alone are too high. These find their inputs in memory, "
            "for the cache is flushed before each, while in the model they may be in the cache, where the call "
            "before has left them; whether that is all, was not measured. MobileNet's check says little: with "
            "torch's initial weights its features vanish, and its outputs are the last bias; tests/test_advise.py "
            "applies the same plan on a CPU to weights of a usual size, within 1e-5."
        ),
        table(("subject", "calls of the plan"), calls),
        (
            "What the eager capture alone predicts, beside what the model in channels_last took. It counts only the "
            "transposes that would go, and at batch 1 that is wrong: all kernels of channels_last took longer there. "
            "The report says that this is not known, and asks for `--costs`."
        ),
        table(("subject", "eager", "predicted from it alone", "measured in channels_last"), alone),
    ]


def _ways(rows: Rows) -> list[str]:
    """Time of each way, by wall clock and in kernels."""
    found = []
    for row in (row for row in rows if "way" in row and "problem" not in row):
        low, median, high = row["wall_ns"]
        events = row.get("events_ns")
        found.append(
            (row["subject"], row["way"], row["tf32"], f"{_us(median)} ({_us(low)} to {_us(high)})",
             f"{_us(events[1])} ({_us(events[0])} to {_us(events[2])})" if events else "-",
             _us(row["kernel_ns"]) if events else "-", f"{row['n_kernels']:g}" if events else "-")
        )  # fmt: skip
    off = [(s, *(_us(_of(rows, s, way, "off")["kernel_ns"]) for way in ("eager", OURS))) for s in MODELS]
    return [
        "## Every way",
        table(("subject", "way", "TF32", "wall clock, µs", "CUDA events, µs", "kernels, µs", "kernels"), found),
        (
            "JAX chooses the precision of its products itself, so its rows are not of the same arithmetic for "
            "certain. The plans were made with TF32 on. With it off their calls are others inside, and were not "
            "timed again:"
        ),
        table(("subject", "eager, TF32 off, µs of kernels", "advised, TF32 off"), off),
    ]


def _verdicts(rows: Rows) -> list[str]:
    """The paper's claims."""
    findings = [_faster(rows), _small_gain(rows), _compiled(rows), _search_time(rows)]
    return [
        "## The paper's claims",
        table(
            ("claim", "where", "there", "here", "verdict", "why"),
            [(f.claim, f.where, f.then, f.now, WORDS[f.holds], f.why) for f in findings],
        ),
    ]


def _faster(rows: Rows) -> Finding:
    """Claim (a): the third quartile of ours is below the first of every other way."""
    said = {}
    for ours in (OURS, GRAPH):
        wins = sum(all(_beats(_of(rows, s, ours), other) for other in _others(rows, s)) for s in _subjects(rows))
        said[ours] = wins
    n = len(_subjects(rows))
    lost = next(
        f"{s}: {_spread(_of(rows, s, GRAPH))} against {other['way']} {_spread(other)}"
        for s in _subjects(rows) for other in _others(rows, s) if not _beats(_of(rows, s, GRAPH), other)
    )  # fmt: skip
    return Finding(
        "The searched sequence is faster than all other frameworks in every experiment", "§4, Figs 2 to 4",
        "faster than TensorFlow, TensorFlow XLA and Tensor Comprehensions; no numbers",
        f"faster than every other way by wall clock in {said[OURS]} of {n} subjects called from Python, in "
        f"{said[GRAPH]} of them as a CUDA graph (its third quartile below their first)",
        said[GRAPH] == n,
        f"for one, {lost}; where a plan makes eager's own calls, as for most layers, it can be no faster, and why it "
        "is slower for some is not established",
    )  # fmt: skip


def _small_gain(rows: Rows) -> Finding:
    """Claim (b): what the advised calls gain on layers and on models, and how much of the time is kernels."""
    gains, shares = {}, {}
    for what, own in (("layers", [s for s in _subjects(rows) if s not in MODELS]), ("models", MODELS)):
        gains[what] = sorted(_of(rows, s, "eager")["wall_ns"][1] / _of(rows, s, OURS)["wall_ns"][1] for s in own)
        shares[what] = sorted(_of(rows, s, "eager")["kernel_ns"] / _of(rows, s, "eager")["wall_ns"][1] for s in own)
    ranges = {what: f"{own[0]:.2f} to {own[-1]:.2f} times" for what, own in gains.items()}
    graphs = sorted(
        _of(rows, s, "eager")["wall_ns"][1] / _of(rows, s, "eager, CUDA graph")["wall_ns"][1]
        for s in _subjects(rows) if s not in MODELS
    )  # fmt: skip
    return Finding(
        "Gains are larger in small micro-benchmarks, so what is gained is overhead outside of the libraries", "§4",
        "more significant in small micro-benchmarks; no numbers",
        f"eager over advised by wall clock: layers {ranges['layers']}, models {ranges['models']}; kernels are "
        f"{shares['layers'][0]:.0%} to {shares['layers'][-1]:.0%} of eager's wall clock in layers",
        None,
        "the overhead is there, but it is Python's and torch's, which these calls go through as eager does: a CUDA "
        f"graph of eager's own calls makes layers {graphs[0]:.1f} to {graphs[-1]:.1f} times as fast. The gains of "
        "the layers lie on both sides of 1, as far apart as runs of eager do",
    )  # fmt: skip


def _compiled(rows: Rows) -> Finding:
    """Claim (c): kernels of compiled layers beside eager's."""
    ratios = {}
    for subject in (s for s in _subjects(rows) if s not in MODELS):
        own = [row for row in _others(rows, subject) if row["way"].startswith("torch.compile")]
        if own:
            least = min(row["kernel_ns"] for row in own)
            ratios[subject] = least / min(_of(rows, subject, way)["kernel_ns"] for way in ("eager", OURS))
    low, high = min(ratios, key=lambda s: ratios[s]), max(ratios, key=lambda s: ratios[s])
    return Finding(
        "Compiling to the device falls behind libraries in matrix products and convolutions", "§2",
        "cited from Barham and Isard, HotOS '19",
        f"kernels of torch.compile over the better of eager and advised: {ratios[low]:.2f} ({low}) to "
        f"{ratios[high]:.2f} ({high})",
        None,
        "the modes that were measured call the same libraries for products and convolutions; max-autotune, which "
        "generates them, was not measured",
    )  # fmt: skip


def _search_time(rows: Rows) -> Finding:
    """Claim (d): seconds of the search."""
    plans = {row["subject"]: row for row in rows if row.get("what") == "plan"}
    slowest = max(plans.values(), key=lambda row: row["search_s"])
    return Finding(
        "Search time is the limit", "§3 and §4",
        "very time-consuming, so that the graph is divided, which is sub-optimal; no numbers",
        f"at most {slowest['search_s']:.2f} s ({slowest['subject']}: {slowest['states']:,} states, "
        f"{slowest['checks']} questions about layouts), layouts tried one by one",
        False,
        "the graph is cut where one tensor alone is handed on, each part searched for each pair of its layouts, and "
        f"like parts once, so that cutting loses nothing ({slowest['subject']}_plan.json: is_bound false)",
    )  # fmt: skip


def _not_measured(rows: Rows) -> list[str]:
    """The section on what was not measured."""
    lacking = [
        f"torch.compile, {mode}: {', '.join(s for s in _subjects(rows) if not _has(rows, s, f'torch.compile, {mode}'))}"
        for mode in ("default", "reduce-overhead")
    ]
    return [
        "## What was not measured",
        "\n".join(
            f"- {text}."
            for text in (
                *(f"{text} (device time)" for text in lacking),
                "torch.compile, max-autotune: any subject (device time)",
                "JAX: models, TF32 off, its kernel time (only layers by wall clock)",
                "TensorFlow, TensorFlow XLA, Tensor Comprehensions: the paper's own frameworks",
                "Plans made anew with TF32 off",
                "Candidates as they run in a model, with their inputs in the cache",
            )
        ),
    ]


def _of(rows: Rows, subject: str, way: str, tf32: str = "default") -> dict[str, Any]:
    found = [r for r in rows if (r.get("subject"), r.get("way"), r.get("tf32")) == (subject, way, tf32)]
    return next(r for r in found if "problem" not in r)


def _has(rows: Rows, subject: str, way: str) -> bool:
    return any(r.get("subject") == subject and r.get("way") == way and "problem" not in r for r in rows)


def _others(rows: Rows, subject: str) -> list[dict[str, Any]]:
    """The ways that are not the advisor's."""
    own = [r for r in rows if r.get("subject") == subject and r.get("tf32") == "default" and "wall_ns" in r]
    return [r for r in own if r["way"] not in (OURS, GRAPH)]


def _subjects(rows: Rows) -> list[str]:
    return list(dict.fromkeys(r["subject"] for r in rows if "subject" in r))


def _beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["wall_ns"][2] < other["wall_ns"][0])


def _spread(row: dict[str, Any]) -> str:
    low, median, high = row["wall_ns"]
    return f"{_us(median)} µs ({_us(low)} to {_us(high)})"


def _counted(words: Iterable[str]) -> str:
    return ", ".join(f"{n} {word}" for word, n in Counter(words).most_common())


def _us(ns: float) -> str:
    return f"{ns / 1e3:,.1f}"


def _opened(path: str) -> tl.Trace:
    file = ROOT / path
    return tl.open(file) if path.endswith(".tracelens") else tl.collect(file)


if __name__ == "__main__":
    main()
