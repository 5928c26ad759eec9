"""Repeat the thesis's measurements, on a machine with a GPU.

python samples/thesis/run.py --out OUT

Models are compiled side by side, each in a process of its own, because compiling takes most of the
time. Whatever is timed or captured runs alone, after all compiling: a process that still compiles
at its deadline is ended and counted as failed. Models are autotuned one after another, because
several processes on one GPU would take many times as long. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stage import GRACE_S, PHASES, Stage

ROOT = Path(__file__).resolve().parents[2]
SUBTRACTION = "subtraction_"
"""Prefix of the name of a process that does layer subtraction."""


def versions() -> dict[str, Any]:
    """Return versions of the software; nothing identifies the machine or its user."""
    import torch  # noqa: PLC0415

    by_name: dict[str, Any] = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": sys.version.split()[0],
    }
    if torch.cuda.is_available():
        by_name |= {"gpu": torch.cuda.get_device_name(), "cudnn": torch.backends.cudnn.version()}
    try:
        import torchvision  # noqa: PLC0415

        by_name["torchvision"] = torchvision.__version__
    except ImportError:
        pass
    return by_name


def main() -> None:
    """Start one process per model, or do the work of one of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for captures and results",
    )
    parser.add_argument(
        "--quick", action="store_true", help="tiny inputs on the CPU, to try it out"
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument(
        "--minutes",
        type=float,
        default=9,
        help="start nothing after so long; with --all, of each part",
    )
    parser.add_argument(
        "--time-s",
        type=float,
        default=45,
        help="seconds that timing what was compiled may need",
    )
    parser.add_argument(
        "--plan-s",
        type=float,
        default=90,
        help="seconds that compiling as a plan says may need",
    )
    parser.add_argument(
        "--tune", action="store_true", help="only the modes that autotune, into the same folder"
    )
    parser.add_argument(
        "--tf32", action="store_true", help="with --tune: allow TF32 in matrix products too"
    )
    parser.add_argument(
        "--subtract", action="store_true", help="only layer subtraction, into the same folder"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="everything, one part after the other, each in its minutes",
    )
    parser.add_argument(
        "--modes", action="store_true", help="only some operations in every mode, into OUT"
    )
    parser.add_argument(
        "--sizes",
        nargs="*",
        type=int,
        default=(),
        help="with --modes: products on the CPU of these",
    )
    parser.add_argument("--models", nargs="*", default=None)
    parser.add_argument(
        "--timings",
        nargs="*",
        default=None,
        help="models whose layers are timed by every method, where OUT lacks them",
    )
    parser.add_argument(
        "--process",
        nargs=3,
        metavar=("NAME", "N", "END"),
        help=argparse.SUPPRESS,
    )
    options = parser.parse_args()
    if options.quick:
        options.device, options.batch, options.side = "cpu", 2, 32
    from models import MODELS  # noqa: PLC0415

    options.models = (
        (["tiny"] if options.quick else [*MODELS]) if options.models is None else options.models
    )
    options.timings = (
        (["tiny"] if options.quick else ["alexnet"]) if options.timings is None else options.timings
    )
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.all:
        repeat_all(options)
    elif options.process is None:
        start_all(options)
    else:
        be_one(options)


def repeat_all(options: argparse.Namespace) -> None:
    """Run every part that the page shows, one after the other. Each is a run of this script."""
    chosen = ["--quick"] if options.quick else []
    timings = ["--timings", *(["tiny"] if options.quick else options.models)]
    parts = (timings, ["--tune", "--timings"], ["--subtract", "--timings"], ["--modes"])
    tf32 = ["--tune", "--tf32", "--models", "resnet50", "--timings"]
    for part in (*parts, *([] if options.quick else [tf32])):
        command = [
            sys.executable,
            __file__,
            "--out",
            str(options.out),
            "--minutes",
            str(options.minutes),
            *chosen,
        ]
        subprocess.run([*command, *part], check=True)


def start_all(options: argparse.Namespace) -> None:
    """Start one process per model, one for the operations, one for the timings.

    They run side by side, but processes that autotune run one after the other.
    """
    names = process_names(options)
    end = time.time() + 60 * options.minutes
    for name in names:
        (options.out / f"{name}.json").unlink(missing_ok=True)
    for together in [[name] for name in names] if options.tune else [names]:
        if time.time() < end - 20:
            watch(
                options,
                start(options, together, end),
                deadlines(options, end),
            )
        else:
            add_reasons(options, dict.fromkeys(together, "not tried: no time was left"))
    write_results(options, names)


def process_names(options: argparse.Namespace) -> list[str]:
    """Name the processes of this run."""
    if options.subtract:
        return [f"{SUBTRACTION}{name}" for name in options.models]
    if options.modes:
        return ["modes"]
    return [
        *options.models,
        *([] if options.tune else ["operations"]),
        *(["timings"] if options.timings else []),
    ]


def start(options: argparse.Namespace, names: list[str], end: float) -> dict[str, Any]:
    """Start the processes of these names side by side."""
    for marker in (file for phase in PHASES for file in options.out.glob(f"{phase}.*")):
        marker.unlink()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    if len(names) > 1:
        environment.setdefault(
            "TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 2) // 4))
        )
    running = {}
    for name in names:
        with (options.out / f"{name}.log").open("w") as log:
            command = [
                sys.executable,
                __file__,
                *sys.argv[1:],
                "--process",
                name,
                str(len(names)),
                str(end),
            ]
            running[name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=ROOT,
                start_new_session=True,
            )
    return running


def deadlines(options: argparse.Namespace, end: float) -> dict[str, float]:
    """Return when each phase must be over, so that time is left to measure in the next."""
    if options.tune or options.modes:
        return dict.fromkeys(PHASES, end)
    last = end - (options.time_s if options.timings else 0)
    plans = options.plan_s + options.time_s
    return {
        "compiled": last - options.time_s - plans,
        "timed": last,
        "planned": last - options.time_s,
        "measured": end,
    }


def watch(options: argparse.Namespace, running: dict[str, Any], until: dict[str, float]) -> None:
    """Wait for the processes. End processes that miss a phase's deadline, with all they started."""
    reasons: dict[str, str] = {}
    left = dict(running)
    while left:
        for name, process in list(left.items()):
            # The timings come last and compile on their own, when nobody else does anything.
            late = [
                phase
                for phase in PHASES
                if name != "timings" and not (options.out / f"{phase}.{name}").exists()
            ]
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
    """Add, to the results of each process, why it did not finish."""
    for name, reason in reasons.items():
        file = options.out / f"{name}.json"
        part = json.loads(file.read_text()) if file.is_file() else {}
        part.setdefault("failures", {})["process"] = reason
        file.write_text(json.dumps(part, indent=1) + "\n")


def write_results(options: argparse.Namespace, names: list[str]) -> None:
    """Write results.json: what the processes found, added to what an earlier run left there."""
    from protocol import EXECUTIONS, ROUNDS  # noqa: PLC0415 - imports torch

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
    """Merge two results; the later value wins.

    Modes and single operations are merged one by one.
    """
    by_mode = {key: {**before.get(key, {}), **now.get(key, {})} for key in ("compile_s", "e2e")}
    anew = {_operation(row) for row in now.get("modes", ())}
    kept = [row for row in before.get("modes", ()) if _operation(row) not in anew]
    by_mode["modes"] = [*kept, *now.get("modes", ())]
    return {**before, **now, **{key: rows for key, rows in by_mode.items() if rows}}


def _operation(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values that distinguish a single operation from another."""
    return row["kind"], row.get("size"), row.get("kernel")


def be_one(options: argparse.Namespace) -> None:
    """Do the work of one process: a model, the operations, or the timings."""
    name, n, end = options.process
    stage = Stage(
        options.out,
        name,
        int(n),
        float(end),
        deadlines(options, float(end)),
    )
    work = work_of(name, options)
    try:
        work(stage, options)
    finally:
        stage.save()
        # Whoever waits for this process must not wait for ever.
        for phase in PHASES:
            (options.out / f"{phase}.{name}").touch()


def work_of(name: str, options: argparse.Namespace) -> Callable[[Stage, argparse.Namespace], None]:
    """Return the work of the process of this name."""
    if name.startswith(SUBTRACTION):
        from subtraction import study_subtraction  # noqa: PLC0415

        return study_subtraction
    if name in {"operations", "modes"}:
        from measure_operations import study_modes, study_operations  # noqa: PLC0415

        return study_operations if name == "operations" else study_modes
    if name == "timings":
        from measure_layers import study_timings  # noqa: PLC0415

        return study_timings
    from measure_models import autotune, study_model  # noqa: PLC0415

    return autotune if options.tune else study_model


if __name__ == "__main__":
    main()
