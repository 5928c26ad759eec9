"""Try the advisor: `python samples/advisor/run.py --out OUT STAGE…`, on a machine with a GPU.

Stages: models, layers (captures, plans, and what each way takes), compiled (torch.compile), jax. Every result is a line
of OUT/results.jsonl, written as soon as it is known; captures and plans are in OUT/captures. See README.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

ROUNDS, CALLS = 10, 20
MODES = ("default", "reduce-overhead", "max-autotune")


class Results:
    """The file of results; what fails is a line of it too."""

    def __init__(self, out: Path, until: float) -> None:
        self.out, self.until = out, until
        (out / "captures").mkdir(parents=True, exist_ok=True)

    def add(self, **row: Any) -> None:
        """Write a line."""
        print(json.dumps(row), flush=True)
        with (self.out / "results.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def attempt(self, what: dict[str, Any], do: Callable[..., dict[str, Any]], *arguments: Any) -> Any:
        """Do it and write what comes of it; a failure is written too, and what there is no time for."""
        if time.monotonic() > self.until:
            self.add(**what, problem="no time left")
            return None
        try:
            began = time.monotonic()
            found = do(*arguments)
            self.add(**what, **found, took_s=round(time.monotonic() - began, 2))
        except Exception as error:  # noqa: BLE001 - the other ones go on
            traceback.print_exc()
            self.add(**what, problem=f"{type(error).__name__}: {str(error)[:300]}")
            return None
        return found


def quartiles(values: Sequence[float]) -> list[float]:
    """First quartile, median and third quartile."""
    low, median, high = statistics.quantiles(values, n=4)
    return [round(low), round(median), round(high)]


def timed(torch: Any, call: Callable[[], Any]) -> dict[str, Any]:
    """Nanoseconds a call: quartiles over the rounds by wall clock and by CUDA events, and its kernels' time."""
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
    found: dict[str, Any] = {"wall_ns": quartiles(walls)}
    return found | ({"events_ns": quartiles(events), **kernels(torch, call)} if is_gpu else {})


def kernels(torch: Any, call: Callable[[], Any], n: int = 5) -> dict[str, Any]:
    """Kernel time and kernels a call, by the profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(n):
            call()
        torch.cuda.synchronize()
    own = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA and "Mem" not in e.name[:3]]
    return {"kernel_ns": round(sum(e.time_range.elapsed_us() for e in own) * 1e3 / n), "n_kernels": len(own) / n}


def captured(torch: Any, tl: Any, path: Path, call: Callable[[], Any], *, graph: bool) -> Any:
    """A capture of three steps after two."""
    with torch.no_grad(), tl.capture(path, force=True, wait=1, warmup=1, active=3, stacks=graph, graph=graph) as cap:
        for _ in range(6):
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            cap.step()
    return cap.trace


def graphed(torch: Any, module: Any, given: Any) -> Callable[[], Any]:
    """The module replayed as a CUDA graph, with the same input."""
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


def _timed_graph(torch: Any, module: Any, given: Any) -> dict[str, Any]:
    return timed(torch, graphed(torch, module, given))


def advised(torch: Any, tl: Any, results: Results, subject: str, both: tuple[Any, Any]) -> Any:
    """The model by the advised calls, captured; what was predicted of it and what it took go to the results."""
    from tracelens.calling import CallPlan, apply_calls, time_calls  # noqa: PLC0415 - after the path was set
    from tracelens.derive.calls.advising import advise_rank, plan_of  # noqa: PLC0415
    from tracelens.errors import ToolError  # noqa: PLC0415

    model, given = both
    folder = results.out / "captures"
    is_image = given.dim() == 4
    eager = captured(torch, tl, folder / f"{subject}_eager.tracelens", lambda: model(given), graph=True)
    others = []
    if is_image:
        last, image = model.to(memory_format=torch.channels_last), given.contiguous(memory_format=torch.channels_last)
        others.append(
            captured(torch, tl, folder / f"{subject}_channels_last.tracelens", lambda: last(image), graph=False)
        )
        model.to(memory_format=torch.contiguous_format)
    first = advise_rank(eager, 0, others)
    plain = plan_of(first, {"trace": f"{subject}_eager", "costs": [f"{subject}_channels_last"] * is_image})
    (folder / f"{subject}_first.json").write_text(json.dumps(plain, indent=1))
    began = time.monotonic()
    costs = time_calls(first.candidates)
    costs.write(folder / f"{subject}_calls.tracelens", force=True)
    bench_s = time.monotonic() - began
    again = advise_rank(eager, 0, [*others, costs])
    path = folder / f"{subject}_plan.json"
    path.write_text(json.dumps(plan_of(again, {"trace": f"{subject}_eager", "costs": f"{subject}_calls"}), indent=1))
    plan, said = CallPlan.read(path), None
    try:
        made = apply_calls(model, plan, given)
    except ToolError as error:
        said = str(error)
        made = apply_calls(model, plan, given, tolerance=0.05)
    with torch.no_grad():
        own, other = model(given), made(given)
    trace = captured(torch, tl, folder / f"{subject}_advised.tracelens", lambda: made(given), graph=False)
    measured = trace.kernels["duration_ns"].sum() / 3
    results.add(
        subject=subject, what="plan", predicted_ns=plan.predicted, measured_ns=round(measured), refused=said,
        largest_difference=float((own - other).abs().max() / own.abs().max()), n_candidates=len(first.candidates),
        n_failed=int(costs.frame("call_costs")["problem"].count()), bench_s=round(bench_s, 2),
        search_s=round(again.seconds, 3), checks=again.statistics.n_checks, states=again.statistics.n_states,
        is_bound=again.statistics.is_bound,
    )  # fmt: skip
    return made


def subjects_of(stage: str, *, quick: bool) -> dict[str, tuple[Any, Any]]:
    """Models and inputs of a stage."""
    import models  # noqa: PLC0415 - beside this file

    return models.layers(quick=quick) if stage == "layers" else models.subjects(quick=quick)


def ways(torch: Any, results: Results, stage: str, *, quick: bool) -> None:
    """Eager, channels_last, advised, and advised under a CUDA graph, of every subject; with TF32 off after."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for subject, (model, given) in subjects_of(stage, quick=quick).items():
        model.to(device)
        image = given.to(device)
        made = None
        for tf32 in ("default", "off"):
            torch.backends.cudnn.allow_tf32 = tf32 == "default"
            about = {"subject": subject, "tf32": tf32}
            with torch.no_grad():
                results.attempt({**about, "way": "eager"}, timed, torch, partial(model, image))
                if image.dim() == 4:
                    last = image.contiguous(memory_format=torch.channels_last)
                    model.to(memory_format=torch.channels_last)
                    results.attempt({**about, "way": "channels_last"}, timed, torch, partial(model, last))
                    model.to(memory_format=torch.contiguous_format)
                if tf32 == "default":
                    kept: list[Any] = []
                    results.attempt({**about, "what": "advice"}, _advice, kept, results, subject, (model, image))
                    made = kept[0] if kept else None
                if made is not None:
                    results.attempt({**about, "way": "advised"}, timed, torch, partial(made, image))
                    if device == "cuda":
                        results.attempt({**about, "way": "advised, CUDA graph"}, _timed_graph, torch, made, image)
                if device == "cuda" and tf32 == "default":
                    results.attempt({**about, "way": "eager, CUDA graph"}, _timed_graph, torch, model, image)
        torch.backends.cudnn.allow_tf32 = True
        model.cpu()


def _advice(kept: list[Any], results: Results, subject: str, both: tuple[Any, Any]) -> dict[str, Any]:
    import torch  # noqa: PLC0415 - not for JAX

    import tracelens as tl  # noqa: PLC0415

    kept.append(advised(torch, tl, results, subject, both))
    return {"is_applied": True}


def compiled(torch: Any, results: Results, mode: str, *, quick: bool) -> None:
    """torch.compile of every layer and, in the modes that compile quickly, of the models."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    chosen = subjects_of("layers", quick=quick)
    if mode != "max-autotune" and not quick:
        chosen |= subjects_of("models", quick=quick)
    for subject, (model, given) in chosen.items():
        torch._dynamo.reset()  # noqa: SLF001 - the documented way
        model.to(device)
        image = given.to(device)
        options = {} if mode == "default" else {"mode": mode}
        with torch.no_grad():
            fast = torch.compile(model, **options)
            results.attempt(
                {"subject": subject, "tf32": "default", "way": f"torch.compile, {mode}"},
                timed,
                torch,
                partial(fast, image),
            )
        model.cpu()


def in_jax(results: Results, *, quick: bool) -> None:
    """The layers in JAX, op by op and compiled whole by XLA."""
    import jax  # noqa: PLC0415 - its own stage
    import jax.numpy as jnp  # noqa: PLC0415

    def full(x: Any, w: Any, b: Any) -> Any:
        return jax.nn.relu(x @ w + b)

    def conv(x: Any, w: Any, b: Any) -> Any:
        return jax.nn.relu(jax.lax.conv(x, w, (1, 1), "SAME") + b)

    def rounds(call: Callable[[], Any]) -> dict[str, Any]:
        for _ in range(5):
            call().block_until_ready()
        walls = []
        for _ in range(ROUNDS):
            began = time.perf_counter_ns()
            for _ in range(CALLS):
                last = call()
            last.block_until_ready()
            walls.append((time.perf_counter_ns() - began) / CALLS)
        return {"wall_ns": quartiles(walls)}

    for subject, (model, given) in subjects_of("layers", quick=quick).items():
        w, b = (jnp.asarray(p.detach().numpy()) for p in model[0].parameters())
        x, own = jnp.asarray(given.numpy()), conv if given.dim() == 4 else full
        w, b = (w, b[None, :, None, None]) if given.dim() == 4 else (w.T, b)
        about = {"subject": subject, "tf32": "default"}
        results.attempt({**about, "way": "JAX, op by op"}, rounds, partial(own, x, w, b))
        fast = jax.jit(own)
        results.attempt({**about, "way": "jax.jit"}, rounds, partial(fast, x, w, b))


def main() -> None:
    """Run the stages that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="tiny shapes: to see that it runs")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin nothing after that long")
    parser.add_argument("stages", nargs="+")
    asked = parser.parse_args()
    results = Results(asked.out, time.monotonic() + asked.seconds)
    for stage in asked.stages:
        if stage == "jax":
            in_jax(results, quick=asked.quick)
            continue
        import torch  # noqa: PLC0415 - not for JAX

        if stage in ("models", "layers"):
            name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
            results.add(stage=stage, torch=torch.__version__, cudnn=torch.backends.cudnn.version(), device=name)
            ways(torch, results, stage, quick=asked.quick)
        elif stage in MODES:
            compiled(torch, results, stage, quick=asked.quick)


if __name__ == "__main__":
    main()
