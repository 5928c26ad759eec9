"""Run one step in a process: `… -m samples.open_points.steps KIND WORD… --out OUT --work WORK`.

The process prepares, waits for a line of input, and then measures; run.py starts it. `greedy
SUBJECT` applies the greedy and the searched plan of the advisor. `compiled SUBJECT WAY` compares
torch.compile with and without `freezing`. `baseline MODEL` times before, under and after the
profiler. `transformer KIND DTYPE` captures a small transformer and times its fused calls. `planned
KIND DTYPE` applies the advisor's plan of a captured transformer.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

import tracelens as tl
from samples.advisor import models, run
from samples.advisor.run import Results, graphed, kernels, timed
from tracelens.advisor import apply_calls, time_calls
from tracelens.derive.calls.advising import advise_greedily, advise_rank, candidates_of, plan_of

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "samples/advisor/captures"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WARM_UP, ROUNDS, EXECUTIONS = 2, 10, 2
"""The thesis's protocol, as in `tracelens collect timings`."""
FIGURE = "alexnet"
"""The model of the thesis's Figure 5.7, for which every timing method also runs under the profiler.
"""
Ways = dict[str, Callable[[], Any]]


class Step:
    """Settings of a step: where results go, and whether sizes are tiny."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.work = options.work
        self.quick = options.quick
        self.results = Results(options.out, 3600.0, (), ())
        with suppress(OSError):  # another step may have removed it
            (options.out / "captures").rmdir()
        if self.quick:
            run.ROUNDS = 2
            run.CALLS = 1

    def time_all(self, about: dict[str, Any], ways: Ways) -> None:
        """Time every version, then each as a CUDA graph; take kernel times only after that."""
        for way, call in ways.items():
            self.results.attempt({**about, "way": way}, timed, torch, call)
        if DEVICE != "cuda":
            return
        graphs: Ways = {}
        for way, call in ways.items():
            graph_way = f"{way}, CUDA graph"
            self.results.attempt(
                {**about, "way": graph_way},
                self.time_graph,
                call,
                graphs,
                graph_way,
            )
        for way, call in (ways | graphs).items():
            name = {**about, "way": way, "what": "kernels"}
            self.results.attempt(name, kernels, torch, call)

    def time_graph(self, call: Callable[[], Any], graphs: Ways, way: str) -> dict[str, Any]:
        """Time the call as a replayed CUDA graph, and keep the graph."""
        graphs[way] = graphed(torch, lambda _: call(), None)
        return timed(torch, graphs[way])


def greedy(step: Step, subject: str) -> Iterator[None]:
    """Apply the greedy and the searched plan; measure them beside eager and channels-last."""
    model, image = _on_device(*models.subjects()[subject])
    eager, *others = (
        tl.open(CAPTURES / f"{subject}_{what}.tracelens")
        for what in ("eager", "channels_last", "calls")
    )
    plan = plan_of(
        advise_greedily(eager, 0, others),
        {"trace": f"{subject}_eager", "costs": [other.name for other in others]},
    )
    greedy_plan = step.work / f"{subject}_greedy_plan.json"
    greedy_plan.write_text(json.dumps(plan, indent=1))
    advised_plan = CAPTURES / f"{subject}_plan.json"
    channels_last = copy.deepcopy(model).to(memory_format=torch.channels_last)
    image_last = image.contiguous(memory_format=torch.channels_last)
    ways: Ways = {
        "eager": partial(model, image),
        "channels_last": partial(channels_last, image_last),
    }
    for way, file in (("greedy", greedy_plan), ("advised", advised_plan)):
        planned_model = apply_calls(model, file, image, tolerance=0.05)
        difference = _largest_difference(model(image), planned_model(image))
        print(way, "differs by", difference)
        ways[way] = partial(planned_model, image)
    yield
    about = {"step": "greedy", "subject": subject, "tf32": "default"}
    step.time_all(about, ways)


def _on_device(model: Any, given: Any, dtype: torch.dtype | None = None) -> tuple[Any, Any]:
    """Move a model and its input to the device, the model also to the dtype."""
    return model.to(DEVICE, dtype), given.to(DEVICE)


def _largest_difference(expected: torch.Tensor, result: torch.Tensor) -> float:
    """Return the largest difference, relative to the largest expected value."""
    difference = (expected - result).abs().max()
    return float(difference / expected.abs().max())


def compiled(step: Step, subject: str, way: str) -> Iterator[None]:
    """Measure torch.compile in its default mode, with or without `freezing`."""
    torch._inductor.config.freezing = way == "freezing"  # noqa: SLF001 - the documented place
    model, image = _on_device(*models.subjects()[subject])
    fast = torch.compile(model)
    began = time.monotonic()
    fast(image)
    compile_s = time.monotonic() - began
    ways: Ways = {f"torch.compile, {way}": partial(fast, image)}
    expected, result = model(image), fast(image)
    about = {"step": "compiled", "subject": subject, "tf32": "default"}
    yield
    step.results.add(
        **about,
        way=way,
        compile_s=round(compile_s, 1),
        largest_difference=_largest_difference(expected, result),
    )
    step.time_all(about, ways)


def baseline(step: Step, name: str) -> Iterator[None]:
    """Time a model eager and compiled: before, under and after the profiler."""
    from samples.thesis.models import batch, model  # noqa: PLC0415
    from samples.thesis.protocol import compiled as compile_it  # noqa: PLC0415
    from samples.thesis.protocol import timed_ms  # noqa: PLC0415

    n_images, side = (2, 32) if step.quick else (32, 224)
    x = batch(n_images, side, DEVICE)
    eager = model(name).to(DEVICE)
    eager(x)
    fast, compile_s = compile_it(model(name).to(DEVICE), "default", x)
    runs = {"eager": eager, "compiled": fast}
    about = {"step": "baseline", "model": name}
    yield
    step.results.add(**about, compile_s=round(compile_s, 1))
    for of, run_it in runs.items():
        by_events = timed_ms(partial(run_it, x), DEVICE)
        step.results.add(
            **about,
            of=of,
            state="never profiled",
            clock="events",
            **by_events,
        )
        walls(
            step,
            about | {"of": of, "state": "never profiled"},
            partial(run_it, x),
        )
    configuration = "cuda" if DEVICE == "cuda" else "interpreted"
    protocol = tl.Protocol(
        rounds=2 if step.quick else ROUNDS,
        executions=EXECUTIONS,
        profiled=(False, True) if name == FIGURE else (False,),
    )
    methods = ("e2e", "layer")

    def by_methods() -> dict[str, Any]:
        timings = tl.measure(
            model(name),
            x.cpu(),
            methods,
            (configuration,),
            protocol,
        )
        timings.write(step.work / f"{name}_timings_eager.tracelens", force=True)
        return {}

    step.results.attempt(about | {"what": "timings"}, by_methods)
    for state in ("profiled", "after profiling"):
        for of, run_it in runs.items():
            walls(
                step,
                about | {"of": of, "state": state},
                partial(run_it, x),
            )


def walls(step: Step, about: dict[str, Any], call: Callable[[], Any]) -> None:
    """Time every execution by the wall clock in ns, in rounds with or without the profiler."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if DEVICE == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    is_profiled = about["state"] == "profiled"
    durations_ns = []
    for number in range(WARM_UP + ROUNDS):
        with torch.profiler.profile(activities=activities) if is_profiled else nullcontext():
            for _ in range(EXECUTIONS):
                synchronize()
                began = time.perf_counter_ns()
                call()
                synchronize()
                duration_ns = time.perf_counter_ns() - began
                if number >= WARM_UP:
                    durations_ns.append(duration_ns)
    step.results.add(
        **about,
        clock="wall",
        durations_ns=durations_ns,
    )


def synchronize() -> None:
    """Wait for the device."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def transformer(step: Step, kind: str, dtype: str) -> Iterator[None]:
    """Measure a transformer with attention written out and fused.

    Takes times, captures, and single calls.
    """
    from samples.open_points.models import transformer as build  # noqa: PLC0415

    runs: dict[str, tuple[Any, Any]] = {}
    ways: Ways = {}
    for attention in ("written", "fused"):
        built = build(kind, is_fused=attention == "fused", quick=step.quick)
        model, given = _on_device(*built, getattr(torch, dtype))
        model(given)
        runs[attention] = model, given
        ways[f"attention {attention}"] = partial(model, given)
    model, given = runs["written"]
    fused_model, _ = runs["fused"]
    fast = torch.compile(copy.deepcopy(model))
    fast(given)
    ways["torch.compile of attention written"] = partial(fast, given)
    expected, result = model(given), fused_model(given)
    subject = f"{kind}_{dtype}"
    about = {"step": "transformer", "subject": subject, "tf32": "default"}
    yield
    step.results.add(
        **about,
        n_parameters=sum(p.numel() for p in model.parameters()),
        input_shape=list(given.shape),
        largest_difference=_largest_difference(expected, result),
    )
    step.time_all(about, ways)
    step.results.attempt(
        about | {"what": "calls"},
        calls_alone,
        step,
        about,
        model,
        kind,
        given,
    )
    for attention, model_and_input in runs.items():
        step.results.attempt(
            about | {"what": "capture", "attention": attention},
            capture,
            step,
            subject,
            attention,
            model_and_input,
        )


def capture(step: Step, subject: str, attention: str, both: tuple[Any, Any]) -> dict[str, Any]:
    """Capture three steps with shapes and graph, and time the calls that the advisor lacks."""
    model, given = both
    path = step.work / f"{subject}_{attention}.tracelens"
    trace = run.captured(
        torch,
        tl,
        path,
        lambda: model(given),
        graph=True,
    )
    wanted = candidates_of(advise_rank(trace, 0, ()))
    timings = time_calls(wanted)
    timings.write(step.work / f"{subject}_{attention}_calls.tracelens", force=True)
    return {"n_candidates": len(wanted)}


def planned(step: Step, kind: str, dtype: str) -> Iterator[None]:
    """Time alone the calls that a transformer's plan lacks, then apply the plan."""
    from samples.open_points.models import transformer as build  # noqa: PLC0415

    subject = f"{kind}_{dtype}"
    written = tl.open(CAPTURES / f"{subject}_written.tracelens")
    fused = tl.open(CAPTURES / f"{subject}_fused.tracelens")
    built = build(kind, is_fused=False, quick=step.quick)
    model, given = _on_device(*built, getattr(torch, dtype))
    yield
    without_calls = advise_rank(written, 0, [fused])
    calls = time_calls(candidates_of(without_calls))
    calls.write(step.work / f"{subject}_calls.tracelens", force=True)
    plan = plan_of(
        advise_rank(written, 0, [fused, calls]),
        {"trace": f"{subject}_written", "costs": [fused.name, f"{subject}_calls"]},
    )
    file = step.work / f"{subject}_plan.json"
    file.write_text(json.dumps(plan))
    planned_model = apply_calls(model, file, given, tolerance=0.05)
    ways: Ways = {
        "attention written": partial(model, given),
        "plan": partial(planned_model, given),
    }
    about = {"step": "planned", "subject": subject, "tf32": "default"}
    step.time_all(about, ways)


def calls_alone(
    step: Step, about: dict[str, Any], model: Any, kind: str, given: Any
) -> dict[str, Any]:
    """Time each call that a transformer may fuse; the cache is flushed before each."""
    from samples.open_points.models import QUICK, SIZES  # noqa: PLC0415
    from tracelens.advisor import timing  # noqa: PLC0415

    size = QUICK[kind] if step.quick else SIZES[kind]
    dtype = next(model.parameters()).dtype
    timer = timing._events(torch, flush=True) if DEVICE == "cuda" else timing._clock  # noqa: SLF001
    tokens = given.numel()

    def noise(*shape: int) -> Any:
        return torch.randn(shape, device=DEVICE, dtype=dtype)

    functional = torch.nn.functional
    of_head = size.width // size.n_heads
    heads = (size.batch, size.n_heads, size.length, of_head)
    query, key, value = noise(*heads), noise(*heads), noise(*heads)
    scores = noise(*heads[:3], size.length)
    mask = noise(size.length, size.length)
    x = noise(size.batch, size.length, size.width)
    wide = noise(size.batch, size.length, size.hidden)
    rows = x.view(tokens, -1)
    rows_wide = wide.view(tokens, -1)
    up = noise(size.hidden, size.width)
    down = noise(size.width, size.hidden)
    square = noise(size.width, size.width)
    bias_up = noise(size.hidden)
    bias = noise(size.width)
    attend = functional.scaled_dot_product_attention
    calls: Ways = {
        "sdpa": lambda: attend(query, key, value),
        "sdpa causal": lambda: attend(query, key, value, is_causal=True),
        "matmul of keys": lambda: torch.matmul(query, key.transpose(-2, -1)),
        "matmul of values": lambda: torch.matmul(scores, value),
        "div": lambda: scores / of_head**0.5,
        "add mask": lambda: scores + mask,
        "softmax": lambda: torch.softmax(scores, -1),
        "linear": lambda: functional.linear(x, square, bias),
        "linear up": lambda: functional.linear(x, up, bias_up),
        "linear down": lambda: functional.linear(wide, down, bias),
        "linear without bias": lambda: functional.linear(x, square),
        "linear up without bias": lambda: functional.linear(x, up),
        "linear and gelu": lambda: torch._addmm_activation(bias_up, rows, up.t(), use_gelu=True),  # noqa: SLF001
        "linear and add": lambda: torch.addmm(rows, rows_wide, down.t()),
        "gelu": lambda: functional.gelu(wide, approximate="tanh"),
        "silu": lambda: functional.silu(wide),
        "mul": lambda: wide * wide,
        "add": lambda: x + x,
        "layer_norm": lambda: functional.layer_norm(x, (size.width,), bias, bias),
        "rms_norm": lambda: functional.rms_norm(x, (size.width,), bias),
        "contiguous": lambda: query.transpose(1, 2).contiguous(),
    }
    for name, call in calls.items():
        step.results.attempt(about | {"call": name}, time_alone, call, timer)
    return {"heads": heads, "tokens": tokens, "width": size.width, "hidden": size.hidden}


def time_alone(call: Callable[[], Any], timer: Callable[..., list[float]]) -> dict[str, Any]:
    """Time twenty calls after three unmeasured ones; return the quartiles."""
    for _ in range(3):
        call()
    return {"call_ns": run.quartiles(timer(call, 20))}


KINDS = {
    "greedy": greedy,
    "compiled": compiled,
    "baseline": baseline,
    "transformer": transformer,
    "planned": planned,
}


def main() -> None:
    """Prepare, report ready, wait for a line of input, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("words", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with torch.no_grad():
        step = Step(options)
        work = KINDS[options.kind](step, *options.words)
        next(work)
        synchronize()
        name = "_".join([options.kind, *options.words])
        (options.work / f"{name}.ready").touch()
        sys.stdin.readline()
        for _ in work:
            pass


if __name__ == "__main__":
    main()
