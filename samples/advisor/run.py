"""Try the advisor: `python -m samples.advisor.run --out OUT STAGE…`, on a machine with a GPU.

Stages, each best in a process of its own: `plans` (captures, plans, and what each plan takes),
`ways` (what each way takes, by the plans in OUT/captures), torch.compile's modes, `jax`. Every
result is a line of OUT/results.jsonl, written as soon as it is known. See README.md.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROUNDS, CALLS = 10, 20
MODES = ("default", "reduce-overhead", "max-autotune")
TF32 = ("default", "off")


class Results:
    """The file of results. Failures are lines, too.

    No measurement is started after `seconds`.
    """

    def __init__(self, out: Path, seconds: float, only: Sequence[str], tf32: Sequence[str]) -> None:
        self.out, self.until, self.only, self.tf32 = out, time.monotonic() + seconds, only, tf32
        (out / "captures").mkdir(parents=True, exist_ok=True)

    def add(self, **row: Any) -> None:
        """Write a line."""
        print(json.dumps(row), flush=True)
        with (self.out / "results.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def attempt(
        self, what: dict[str, Any], do: Callable[..., dict[str, Any]], *arguments: Any
    ) -> dict[str, Any]:
        """Run `do` and write its result as a line.

        A failure is written too, and so is a measurement that was skipped for lack of time.
        """
        if time.monotonic() > self.until:
            self.add(**what, problem="no time left")
            return {}
        try:
            began = time.monotonic()
            measured = do(*arguments)
            self.add(
                **what,
                **measured,
                took_s=round(time.monotonic() - began, 2),
            )
        except Exception as error:  # noqa: BLE001 - the other ones go on
            traceback.print_exc()
            self.add(**what, problem=f"{type(error).__name__}: {str(error)[:300]}")
            return {}
        return measured

    def subjects(self, *, quick: bool) -> Iterator[tuple[str, Any, Any]]:
        """Yield name, model and input of each requested subject."""
        from samples.advisor import models  # noqa: PLC0415 - it needs torch

        for name, (model, given) in (
            models.layers(quick=quick) | models.subjects(quick=quick)
        ).items():
            if not self.only or name in self.only:
                yield name, model, given


def quartiles(values: Sequence[float]) -> list[float]:
    """Return first quartile, median and third quartile."""
    low, median, high = statistics.quantiles(values, n=4)
    return [round(low), round(median), round(high)]


def timed(torch: Any, call: Callable[[], Any]) -> dict[str, Any]:
    """Time a call in nanoseconds: quartiles over the rounds, by wall clock and by CUDA events.

    Call this before the process profiles anything: afterwards each launch takes longer.
    """
    is_gpu = torch.cuda.is_available()
    sync = torch.cuda.synchronize if is_gpu else (lambda: None)
    for _ in range(5):
        call()
    sync()
    walls, events = [], []
    for _ in range(ROUNDS):
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if is_gpu else []
        began = time.perf_counter_ns()
        for event in pair[:1]:
            event.record()
        for _ in range(CALLS):
            call()
        for event in pair[1:]:
            event.record()
        sync()
        walls.append((time.perf_counter_ns() - began) / CALLS)
        events += [pair[0].elapsed_time(pair[1]) * 1e6 / CALLS] if pair else []
    return {"wall_ns": quartiles(walls)} | ({"events_ns": quartiles(events)} if is_gpu else {})


def kernels(torch: Any, call: Callable[[], Any], n: int = 5) -> dict[str, Any]:
    """Return kernel time and number of kernels per call, by the profiler."""
    for _ in range(3):  # compiled, and captured as a CUDA graph, where that is due
        call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(n):
            call()
        torch.cuda.synchronize()
    kernel_events = [
        e
        for e in profiler.events()
        if e.device_type == torch.autograd.DeviceType.CUDA and "Mem" not in e.name[:3]
    ]
    return {
        "kernel_ns": round(sum(e.time_range.elapsed_us() for e in kernel_events) * 1e3 / n),
        "n_kernels": len(kernel_events) / n,
    }


Calls = list[tuple[dict[str, Any], Callable[[], Any]]]


def kernels_of(torch: Any, results: Results, calls: Calls) -> None:
    """Write the kernel time of each call; run this after all calls were timed."""
    for about, call in calls if torch.cuda.is_available() else ():
        torch.backends.cudnn.allow_tf32 = about["tf32"] == "default"
        with torch.no_grad():
            results.attempt({**about, "what": "kernels"}, kernels, torch, call)


def captured(torch: Any, tl: Any, path: Path, call: Callable[[], Any], *, graph: bool) -> Any:
    """Capture three steps after two that are not recorded."""
    with (
        torch.no_grad(),
        tl.capture(
            path,
            force=True,
            wait=1,
            warmup=1,
            active=3,
            stacks=graph,
            graph=graph,
        ) as cap,
    ):
        for _ in range(6):
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            cap.step()
    return cap.trace


def graphed(torch: Any, module: Any, given: Any) -> Callable[[], Any]:
    """Return the module as a replayed CUDA graph with the same input."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            module(given)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module(given)
    return graph.replay


def plan_path(results: Results, subject: str, tf32: str) -> Path:
    """Return the path of a subject's plan."""
    return results.out / "captures" / f"{subject}{'_tf32_off' * (tf32 == 'off')}_plan.json"


def plans(torch: Any, results: Results, *, quick: bool) -> None:
    """Make a plan for every subject; subjects with convolutions get a second plan with TF32 off.

    Torch computes matrix products without TF32 by default.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for tf32 in results.tf32:
        torch.backends.cudnn.allow_tf32 = tf32 == "default"
        for subject, model, given in results.subjects(quick=quick):
            if tf32 == "default" or given.dim() == 4:
                about = {"subject": subject, "tf32": tf32, "what": "plan"}
                results.attempt(
                    about, advised, torch, results, about, (model.to(device), given.to(device))
                )
                model.cpu()


def advised(
    torch: Any, results: Results, about: dict[str, Any], both: tuple[Any, Any]
) -> dict[str, Any]:
    """Capture the model with the advised calls, and write predicted and measured times."""
    import tracelens as tl  # noqa: PLC0415 - torch is loaded first
    from tracelens.advisor import CallPlan, apply_calls, time_calls  # noqa: PLC0415
    from tracelens.derive.calls.advising import advise_rank, candidates_of, plan_of  # noqa: PLC0415
    from tracelens.errors import ToolError  # noqa: PLC0415

    model, given = both
    path = plan_path(results, about["subject"], about["tf32"])
    stem = path.name.removesuffix("_plan.json")
    folder, others = path.parent, []
    eager = captured(
        torch,
        tl,
        folder / f"{stem}_eager.tracelens",
        lambda: model(given),
        graph=True,
    )
    if given.dim() == 4:
        last, image = (
            model.to(memory_format=torch.channels_last),
            given.contiguous(memory_format=torch.channels_last),
        )
        others.append(
            captured(
                torch,
                tl,
                folder / f"{stem}_channels_last.tracelens",
                lambda: last(image),
                graph=False,
            )
        )
        model.to(memory_format=torch.contiguous_format)
    first = advise_rank(eager, 0, others)
    began = time.monotonic()
    wanted = candidates_of(first)
    costs = time_calls(wanted)
    bench_s = time.monotonic() - began
    costs.write(folder / f"{stem}_calls.tracelens", force=True)
    again = advise_rank(eager, 0, [*others, costs])
    made_from = {
        "trace": f"{stem}_eager",
        "costs": [*[f"{stem}_channels_last"] * len(others), f"{stem}_calls"],
    }
    path.write_text(json.dumps(plan_of(again, made_from), indent=1))
    looked_at = again.search.statistics
    plan, problem = CallPlan.read(path), None
    try:
        planned = apply_calls(model, plan, given)
    except ToolError as error:
        problem = str(error)
        planned = apply_calls(model, plan, given, tolerance=0.05)
    with torch.no_grad():
        expected, other = model(given), planned(given)
    trace = captured(
        torch,
        tl,
        folder / f"{stem}_advised.tracelens",
        lambda: planned(given),
        graph=False,
    )
    return {
        "predicted_ns": plan.predicted,
        "measured_ns": round(trace.kernels["duration_ns"].sum() / 3),
        "refused": problem,
        "in_cache_ns": in_cache(again, others, time_calls(wanted, flush=False)),
        "largest_difference": float((expected - other).abs().max() / expected.abs().max()),
        "n_candidates": len(wanted),
        "n_failed": int(costs.frame("call_costs")["problem"].count()),
        "bench_s": round(bench_s, 2),
        "search_s": round(again.seconds, 3),
        "checks": looked_at.n_checks,
        "states": looked_at.n_states,
        "is_bound": looked_at.is_bound,
        "solver": again.solver,
    }


def in_cache(advice: Any, others: Sequence[Any], costs: Any) -> int | None:
    """Predict the advised calls' kernel time from single calls timed with a warm cache."""
    from tracelens.derive.calls.call_graph import read_calls  # noqa: PLC0415
    from tracelens.derive.calls.costs import Costs  # noqa: PLC0415
    from tracelens.derive.calls.libraries import TORCH  # noqa: PLC0415
    from tracelens.derive.calls.op_catalog import OTHER  # noqa: PLC0415

    known = Costs(
        advice.calls,
        [read_calls(other, 0) for other in others],
        costs.frame("call_costs"),
    )
    functions = {function.name: function for function in (*TORCH, OTHER)}
    nodes = {**advice.calls.given, **{node.name: node for node in advice.calls.nodes}}
    total = advice.calls.unjudged_ns
    for call in (call for part in advice.parts for call in part.calls):
        covered = [nodes[name] for name in call.nodes]
        if call.function.startswith("to_"):
            cost = known.transform(covered[0], call.layout)
        else:
            cost = known.of(
                functions[call.function], covered, call.layouts[0] if call.layouts else "NCHW"
            )
        if cost is None:
            return None
        total += cost.ns
    return round(total)


def ways(torch: Any, results: Results, *, quick: bool) -> None:
    """Time every subject: eager, channels_last, advised, and eager and advised as CUDA graphs."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    calls: Calls = []
    for tf32 in results.tf32:
        torch.backends.cudnn.allow_tf32 = tf32 == "default"
        for subject, model, given in results.subjects(quick=quick):
            if tf32 == "default" or given.dim() == 4:
                with torch.no_grad():
                    calls += _ways(
                        torch, results, {"subject": subject, "tf32": tf32}, model.to(device), given
                    )
    kernels_of(torch, results, calls)


def _ways(torch: Any, results: Results, about: dict[str, Any], model: Any, given: Any) -> Calls:
    """Return the calls of a subject that could be timed."""
    from tracelens.advisor import apply_calls  # noqa: PLC0415

    timed_calls: Calls = []

    def time_it(way: str, call: Callable[[], Any]) -> None:
        if results.attempt({**about, "way": way}, timed, torch, call):
            timed_calls.append(({**about, "way": way}, call))

    image = given.to(next(model.parameters()).device)
    time_it("eager", partial(model, image))
    if image.dim() == 4:
        other = copy.deepcopy(model).to(memory_format=torch.channels_last)
        time_it(
            "channels_last", partial(other, image.contiguous(memory_format=torch.channels_last))
        )
    modules = {"eager": model}
    plan = plan_path(results, about["subject"], about["tf32"])
    if plan.exists():
        modules["advised"] = apply_calls(model, plan, image, tolerance=0.05)
        time_it("advised", partial(modules["advised"], image))
    for way, module in modules.items() if image.is_cuda else ():
        time_it(
            f"{way}, CUDA graph",
            graphed(torch, module, image),
        )
    return timed_calls


def compiled(torch: Any, results: Results, mode: str, *, quick: bool) -> None:
    """Time torch.compile of every subject, then take kernel times.

    For the kernel times the subjects are compiled again, from the cache.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def fresh(what: Callable[..., dict[str, Any]], model: Any, image: Any) -> dict[str, Any]:
        torch._dynamo.reset()  # noqa: SLF001 - else a call checks the guards of all subjects
        fast = torch.compile(model, **({} if mode == "default" else {"mode": mode}))
        with torch.no_grad():
            return what(torch, partial(fast, image))

    if mode == "max-autotune":
        # Threads compile the kernels to choose from: those of worker processes are compiled once
        # more to be timed.
        torch._inductor.config.compile_threads = 1  # noqa: SLF001 - as above
    for what in (timed, kernels) if device == "cuda" else (timed,):
        for tf32 in results.tf32:
            torch.backends.cudnn.allow_tf32 = tf32 == "default"
            for subject, model, given in results.subjects(quick=quick):
                about = {"subject": subject, "tf32": tf32, "way": f"torch.compile, {mode}"}
                about |= {"what": "kernels"} if what is kernels else {}
                if tf32 == "default" or given.dim() == 4:
                    results.attempt(
                        about,
                        fresh,
                        what,
                        model.to(device),
                        given.to(device),
                    )
                    model.cpu()


def main() -> None:
    """Run the stages that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="tiny shapes: to see that it runs")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600.0,
        help="begin nothing after that long",
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        help="these subjects; by default all",
    )
    parser.add_argument(
        "--tf32",
        nargs="*",
        default=TF32,
        choices=TF32,
        help="by default both, one after the other",
    )
    parser.add_argument("stages", nargs="+", choices=("plans", "ways", *MODES, "jax"))
    asked = parser.parse_args()
    results = Results(asked.out, asked.seconds, asked.only, asked.tf32)
    for stage in asked.stages:
        if stage == "jax":
            from samples.advisor import in_jax  # noqa: PLC0415 - it needs JAX

            in_jax.run(results, quick=asked.quick)
            continue
        import torch  # noqa: PLC0415 - not for JAX

        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        results.add(
            stage=stage,
            torch=torch.__version__,
            cudnn=torch.backends.cudnn.version(),
            device=name,
        )
        if stage in MODES:
            compiled(torch, results, stage, quick=asked.quick)
        else:
            (plans if stage == "plans" else ways)(torch, results, quick=asked.quick)


if __name__ == "__main__":
    main()
