"""Repeat the thesis's measurements: `python samples/thesis/run.py --out OUT`, on a machine with a GPU.

Models are compiled side by side, each in a process of its own, because compiling takes most of the time; whatever is
timed or captured runs alone, when no process compiles any more: one that still does when its time is over is ended, and
counted as failed. Models are autotuned one after another, which several processes at one GPU make many times as long.
See README.md beside this file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, EXECUTIONS = 10, 2
"""The thesis's protocol: medians over ten rounds of two executions."""
MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
SIDE_BY_SIDE = MODES[:2]
AUTOTUNED = MODES[2:]
"""Modes that choose kernels by timing them: in a run of their own, a model at a time."""
TF32 = "-tf32"
"""Behind the mode's name: as convolutions by default, matrix products were computed in TF32."""
ORACLE = "dynamic"
GRACE_S = 20
"""After the end the parent ends who is not done."""
PHASES = ("compiled", "timed", "planned", "measured")
"""All processes finish one before any begins the next: nothing is compiled while something is timed."""


@dataclass
class Stage:
    """Where the processes wait for each other: all reach a phase before one of them at a time measures in it."""

    folder: Path
    name: str
    n: int
    end: float
    deadlines: dict[str, float] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def ready(self, phase: str) -> None:
        """Wait until every process has come this far, or ended; never less, as it may still compile.

        The parent ends those that have not come this far in time.
        """
        (self.folder / f"{phase}.{self.name}").touch()
        while len(list(self.folder.glob(f"{phase}.*"))) < self.n:
            time.sleep(0.05)
            if time.time() > self.end + GRACE_S:
                raise TimeoutError(f"other processes had not {phase} at the end")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no other process measures."""
        import fcntl  # noqa: PLC0415 - not on every system, and only needed here

        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def save(self) -> None:
        """Write what is known so far."""
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.found, indent=1) + "\n")

    def attempt(self, what: str, work: Callable[[], Any]) -> Any:
        """The result of the work; None where it fails, and why is kept."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - one failing part must not cost the others
            self.found.setdefault("failures", {})[what] = f"{type(error).__name__}: {error}"[:500]
            traceback.print_exc()
            return None
        finally:
            self.save()


def timed_ms(run: Callable[[], Any], device: str) -> dict[str, float]:
    """Milliseconds of an execution by the protocol: median, quartiles; on a GPU by CUDA events."""
    import torch  # noqa: PLC0415 - the parent process starts without

    rounds = []
    for at in range(ROUNDS + 2):
        executions = []
        for _ in range(EXECUTIONS):
            if device == "cuda":
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda.synchronize()
                start.record()
                run()
                end.record()
                end.synchronize()
                executions.append(start.elapsed_time(end))
            else:
                began = time.perf_counter_ns()
                run()
                executions.append((time.perf_counter_ns() - began) / 1e6)
        if at >= 2:
            rounds.append(statistics.median(executions))
    low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
    return {"p25_ms": low, "median_ms": middle, "p75_ms": high}


def kernel_ms(run: Callable[[], Any], executions: int = 5) -> dict[str, float]:
    """Milliseconds of an execution's kernels on the GPU, by the first words of their names, by the profiler."""
    import torch  # noqa: PLC0415

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recording:
        for _ in range(executions):
            run()
        torch.cuda.synchronize()
    sums: dict[str, float] = {}
    for event in recording.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            name = event.name.removeprefix("void ").split("<")[0].split("(")[0][:80]
            sums[name] = sums.get(name, 0.0) + event.device_time_total / 1000 / executions
    return sums


def compiled(network: Any, mode: str, x: Any) -> tuple[Any, float]:
    """The model under torch.compile, run once; and the seconds that took."""
    import torch  # noqa: PLC0415

    # Every module here is compiled several times over; past eight, Dynamo would run it eager without a word.
    config = torch._dynamo.config  # noqa: SLF001 - the documented place of these settings
    config.recompile_limit = config.accumulated_recompile_limit = 4096
    result = torch.compile(network, mode=None if mode == "default" else mode)
    began = time.perf_counter()
    result(x)
    if x.is_cuda:
        torch.cuda.synchronize()
    return result, time.perf_counter() - began


def study_model(stage: Stage, options: argparse.Namespace) -> None:
    """Everything about one model."""
    import torch  # noqa: PLC0415
    from models import batch, model  # noqa: PLC0415

    import tracelens as tl  # noqa: PLC0415

    device, out = options.device, options.out
    x = batch(options.batch, options.side, device)
    eager = model(stage.name).to(device)
    found = stage.found
    found |= {"model": stage.name, "batch": options.batch, "side": options.side, "compile_s": {}, "e2e": {}}
    traces = {kind: out / f"{stage.name}_{kind}.tracelens" for kind in ("eager", "compiled")}
    with torch.no_grad():
        runs = {"eager": eager} | capture_compiled(tl, stage, options, traces["compiled"], x)
        with stage.alone():
            stage.attempt("eager trace", lambda: capture_eager(tl, traces["eager"], eager, x))
            for name, run in runs.items():
                found["e2e"][name] = stage.attempt(f"time {name}", lambda r=run: timed_ms(lambda: r(x), device))
            found["max_difference"] = float((runs["default"](x) - eager(x)).abs().max())
            found["region_ns"] = stage.attempt("region", lambda: region_ns(tl, device))
        stage.ready("timed")
        custom = {}
        for name, cost in (("custom", 0.0), ("custom_with_cost", (found["region_ns"] or 0.0) / 2)):
            plan = out / f"{stage.name}_{name}.json"
            found.setdefault("oracle", {})[name] = stage.attempt(
                f"oracle {name}", lambda p=plan, c=cost: oracle(tl, traces, p, c)
            )
            if time.time() < stage.deadlines["planned"] - options.plan_s / 2:
                custom[name] = stage.attempt(
                    f"plan {name}", lambda n=name, p=plan: planned(tl, model(stage.name).to(device), p, (stage, n), x)
                )
        stage.ready("planned")
        with stage.alone():
            for name, run in custom.items():
                if run is not None:
                    found["e2e"][name] = stage.attempt(f"time {name}", lambda r=run: timed_ms(lambda: r(x), device))
        stage.save()
        stage.ready("measured")


def compile_in(mode: str, stage: Stage, options: argparse.Namespace, x: Any, runs: dict[str, Any]) -> None:
    """Add the model compiled in this mode to `runs`, where that succeeds, and how long it took to what was found."""
    from models import model  # noqa: PLC0415

    network = model(stage.name).to(options.device)
    made = stage.attempt(f"compile {mode}", lambda: compiled(network, mode, x))
    if made is not None:
        runs[mode], stage.found["compile_s"][mode] = made


def capture_compiled(tl: Any, stage: Stage, options: argparse.Namespace, path: Path, x: Any) -> dict[str, Any]:
    """The model compiled in the modes that need no autotuning; three steps of the default one under the profiler."""
    runs: dict[str, Any] = {}
    with tl.capture(path, force=True, wait=2, warmup=1, active=3, compile_provenance=True) as recording:
        for mode in SIDE_BY_SIDE if options.device == "cuda" else MODES[:1]:
            compile_in(mode, stage, options, x, runs)
        stage.ready("compiled")
        with stage.alone():
            for _ in range(6):
                runs["default"](x)
                recording.step()
    return runs


def capture_eager(tl: Any, path: Path, network: Any, x: Any) -> None:
    """Three steps of the eager model under the profiler."""
    with tl.capture(path, force=True, wait=2, warmup=1, active=3) as capture:
        for _ in range(6):
            network(x)
            capture.step()


def region_ns(tl: Any, device: str) -> float:
    """What calling a compiled region costs the host: of a tiny one, over the same module's eager call."""
    import torch  # noqa: PLC0415

    x = torch.zeros(8, device=device)
    eager, region = torch.nn.ReLU(), torch.nn.ReLU()
    tl.plan.compile_module(region)
    medians = []
    for module in (eager, region):
        times = []
        for _ in range(220):
            began = time.perf_counter_ns()
            module(x)
            times.append(time.perf_counter_ns() - began)
        medians.append(statistics.median(times[20:]))
    return medians[1] - medians[0]


def oracle(tl: Any, traces: dict[str, Path], plan: Path, switch_cost_ns: float) -> dict[str, Any]:
    """Theoretical speedups of every oracle, and the plan of one of them written to a file."""
    base, other = tl.open(traces["eager"]), tl.open(traces["compiled"])
    frame = tl.analyses.layer_oracle(base, other, switch_cost_ns=switch_cost_ns)
    tl.make_plan(base, other, oracle=ORACLE, switch_cost_ns=switch_cost_ns).write(plan)
    totals = frame.filter(frame["layer"] == "(total)")
    choices = frame.filter((frame["oracle"] == ORACLE) & (frame["layer"] != "(total)"))["choice"].to_list()
    return {
        "switch_cost_ns": switch_cost_ns,
        "n_eager": choices.count("eager"),
        "n_compiled": choices.count("compiled"),
        "totals": {row["oracle"]: row for row in totals.to_dicts()},
    }


def planned(tl: Any, network: Any, plan: Path, which: tuple[Stage, str], x: Any) -> Any:
    """The model compiled as its plan says, run once."""
    stage, name = which
    began = time.perf_counter()
    custom = tl.apply_plan(network, plan)
    custom(x)
    stage.found["compile_s"][name] = time.perf_counter() - began
    return custom


def autotune(stage: Stage, options: argparse.Namespace) -> None:
    """One model in the modes that choose kernels by timing them; the second finds its choices in the cache."""
    import torch  # noqa: PLC0415
    from models import batch  # noqa: PLC0415

    stage.found |= {"model": stage.name, "batch": options.batch, "side": options.side, "compile_s": {}, "e2e": {}}
    # Threads compile the kernels to choose from: those of worker processes are compiled once more to be timed.
    torch._inductor.config.compile_threads = 1  # noqa: SLF001 - the documented place of these settings
    x = batch(options.batch, options.side, options.device)
    runs: dict[str, Any] = {}
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    with torch.no_grad():
        for mode in AUTOTUNED:
            compile_in(mode, stage, options, x, runs)
        stage.ready("compiled")
        with stage.alone():
            for mode, run in runs.items():
                stage.found["e2e"][mode] = stage.attempt(
                    f"time {mode}", lambda r=run: timed_ms(lambda: r(x), options.device)
                )
    if options.tf32:
        for by_mode in (stage.found["compile_s"], stage.found["e2e"]):
            by_mode |= {f"{mode}{TF32}": by_mode.pop(mode) for mode in list(by_mode)}
    stage.save()
    for phase in PHASES[1:]:
        stage.ready(phase)


def study_operations(stage: Stage, options: argparse.Namespace) -> None:
    """Single operations, eager and compiled: matrix products, convolutions, blocks of convolutions."""
    import torch  # noqa: PLC0415
    from models import ON_CPU, operations  # noqa: PLC0415

    rows = stage.found["operations"] = []
    with torch.no_grad():
        made = []
        for kind, what, network, shape in operations(quick=options.quick):
            device = "cpu" if kind == ON_CPU else options.device
            eager = network.to(device).eval()
            x = torch.randn(*shape, device=device)
            result = stage.attempt(f"compile {kind} {what}", lambda n=eager, x=x: compiled(n, "default", x))
            if result is not None:
                made.append((kind, what, eager, result[0], x))
        stage.ready("compiled")
        with stage.alone():
            for kind, what, eager, fast, x in made:
                row = {"kind": kind, **what}
                for name, run in (("eager", eager), ("compiled", fast)):
                    times = timed_ms(lambda r=run, x=x: r(x), x.device.type)
                    row[f"{name}_ms"] = times["median_ms"]
                    row[f"{name}_quartiles_ms"] = [times["p25_ms"], times["p75_ms"]]
                    if x.is_cuda:
                        row[f"{name}_kernel_ms"] = kernel_ms(lambda r=run, x=x: r(x))
                rows.append(row)
        stage.save()
    for phase in PHASES[1:]:
        stage.ready(phase)


def study_timings(stage: Stage, options: argparse.Namespace) -> None:
    """Layers of models by every method and configuration that the folder lacks; after all that is timed above."""
    import tracelens as tl  # noqa: PLC0415

    for phase in PHASES:
        stage.ready(phase)
    from models import batch, model  # noqa: PLC0415

    with stage.alone():
        pairs = (("cuda", "triton"), ("interpreted", "cpp"))
        for configurations, name in itertools.product(pairs[options.device == "cpu" :], options.timings):
            path = options.out / f"{name}_timings_{configurations[0]}.tracelens"
            if path.exists():
                continue
            if time.time() > stage.end - 30:
                stage.found.setdefault("failures", {})[f"{name} {configurations}"] = "not tried: no time was left"
                continue
            x = batch(options.batch, options.side, "cpu")
            protocol = tl.Protocol(rounds=ROUNDS if "cuda" in configurations else 3, executions=EXECUTIONS)
            methods = ("e2e", "layer", "profiler", "cuda_event")
            stage.attempt(
                f"measure {name} {configurations}",
                lambda n=name, c=configurations, x=x, p=protocol, m=methods, to=path: tl.measure(
                    model(n), x, methods=m, configurations=c, protocol=p
                ).write(to),
            )
    stage.save()


def versions() -> dict[str, Any]:
    """What ran; nothing that names the machine or its user."""
    import torch  # noqa: PLC0415

    found: dict[str, Any] = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": sys.version.split()[0]}
    if torch.cuda.is_available():
        found |= {"gpu": torch.cuda.get_device_name(), "cudnn": torch.backends.cudnn.version()}
    try:
        import torchvision  # noqa: PLC0415

        found["torchvision"] = torchvision.__version__
    except ImportError:
        pass
    return found


def main() -> None:
    """Start a process a model, or be one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for captures and results")
    parser.add_argument("--quick", action="store_true", help="tiny inputs on the CPU, to try it out")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--minutes", type=float, default=9, help="start nothing after so long")
    parser.add_argument("--time-s", type=float, default=45, help="seconds that timing what was compiled may need")
    parser.add_argument("--plan-s", type=float, default=90, help="seconds that compiling as a plan says may need")
    parser.add_argument("--tune", action="store_true", help="only the modes that autotune, into the same folder")
    parser.add_argument("--tf32", action="store_true", help="with --tune: allow TF32 in matrix products too")
    parser.add_argument("--models", nargs="*", default=None)
    parser.add_argument(
        "--timings", nargs="*", default=None, help="models whose layers are timed by every method, where OUT lacks them"
    )
    parser.add_argument("--process", nargs=3, metavar=("NAME", "N", "END"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.device, options.batch, options.side = "cpu", 2, 32
    from models import MODELS  # noqa: PLC0415

    options.models = (["tiny"] if options.quick else [*MODELS]) if options.models is None else options.models
    options.timings = (["tiny"] if options.quick else ["alexnet"]) if options.timings is None else options.timings
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.process is None:
        start_all(options)
    else:
        be_one(options)


def start_all(options: argparse.Namespace) -> None:
    """One process a model, one for the operations, one for the timings; side by side, or in turn where they tune."""
    names = [*options.models, *([] if options.tune else ["operations"]), *(["timings"] if options.timings else [])]
    end = time.time() + 60 * options.minutes
    for name in names:
        (options.out / f"{name}.json").unlink(missing_ok=True)
    for together in [[name] for name in names] if options.tune else [names]:
        if time.time() < end - 20:
            watch(options, start(options, together, end), deadlines(options, end))
        else:
            add_reasons(options, dict.fromkeys(together, "not tried: no time was left"))
    write_results(options, names)


def start(options: argparse.Namespace, names: list[str], end: float) -> dict[str, Any]:
    """The processes of these names, started to work side by side."""
    for marker in (file for phase in PHASES for file in options.out.glob(f"{phase}.*")):
        marker.unlink()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    if len(names) > 1:
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 2) // 4)))
    running = {}
    for name in names:
        with (options.out / f"{name}.log").open("w") as log:
            command = [sys.executable, __file__, *sys.argv[1:], "--process", name, str(len(names)), str(end)]
            running[name] = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, cwd=ROOT, start_new_session=True
            )
    return running


def deadlines(options: argparse.Namespace, end: float) -> dict[str, float]:
    """When each phase must be over, so that there is time left to measure in the next."""
    if options.tune:
        return dict.fromkeys(PHASES, end)
    last = end - (options.time_s if options.timings else 0)
    plans = options.plan_s + options.time_s
    return {"compiled": last - options.time_s - plans, "timed": last, "planned": last - options.time_s, "measured": end}


def watch(options: argparse.Namespace, running: dict[str, Any], until: dict[str, float]) -> None:
    """Wait for the processes; end those, with all they started, that have not finished a phase by its deadline."""
    reasons: dict[str, str] = {}
    left = dict(running)
    while left:
        for name, process in list(left.items()):
            # The timings come last and compile on their own, when nobody else does anything.
            late = [phase for phase in PHASES if name != "timings" and not (options.out / f"{phase}.{name}").exists()]
            is_late = bool(late) and time.time() > until[late[0]]
            if process.poll() is None and (is_late or time.time() > until["measured"] + GRACE_S):
                reasons[name] = f"ended by the parent: not {late[0] if late else 'done'} in time"
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.poll() is not None:
                # Whoever waits for it must not wait for ever.
                for phase in PHASES:
                    (options.out / f"{phase}.{name}").touch()
                del left[name]
                if process.returncode:
                    reasons.setdefault(name, f"exit {process.returncode}; {name}.log says why")
                print(f"{name}: exit {process.returncode}", flush=True)
        time.sleep(0.1)
    add_reasons(options, reasons)


def add_reasons(options: argparse.Namespace, reasons: dict[str, str]) -> None:
    """Keep, with what each process found, why it did not come to its end."""
    for name, reason in reasons.items():
        file = options.out / f"{name}.json"
        part = json.loads(file.read_text()) if file.is_file() else {}
        part.setdefault("failures", {})["process"] = reason
        file.write_text(json.dumps(part, indent=1) + "\n")


def write_results(options: argparse.Namespace, names: list[str]) -> None:
    """results.json: what the processes found, added to what a run before this one left in the folder."""
    path = options.out / "results.json"
    before = json.loads(path.read_text())["parts"] if path.is_file() else {}
    files = {name: options.out / f"{name}.json" for name in names}
    now = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
    results = {
        "versions": versions(),
        "protocol": {"rounds": ROUNDS, "executions": EXECUTIONS},
        "parts": before | {name: merged(before.get(name, {}), part) for name, part in now.items()},
    }
    path.write_text(json.dumps(results, indent=1) + "\n")
    failed = {name: part["failures"] for name, part in now.items() if part.get("failures")}
    print(f"results.json; failures: {json.dumps(failed, indent=1)}")


def merged(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Both, the later one where they differ; what was compiled and timed by mode."""
    by_mode = {key: {**before.get(key, {}), **now.get(key, {})} for key in ("compile_s", "e2e")}
    return {**before, **now, **{key: found for key, found in by_mode.items() if found}}


def be_one(options: argparse.Namespace) -> None:
    """The process of one model, of the operations, or of the timings."""
    name, n, end = options.process
    stage = Stage(options.out, name, int(n), float(end), deadlines(options, float(end)))
    one_model = autotune if options.tune else study_model
    work = {"operations": study_operations, "timings": study_timings}.get(name, one_model)
    try:
        work(stage, options)
    finally:
        stage.save()
        # Whoever waits for this process must not wait for ever.
        for phase in PHASES:
            (options.out / f"{phase}.{name}").touch()


if __name__ == "__main__":
    main()
