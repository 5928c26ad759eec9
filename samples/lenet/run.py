"""Measure LeNet at every level: `python -m samples.lenet.run --out OUT`, on a GPU or the CPU.

Each level runs in a process of its own, and alone while it is timed; what fails or is absent is
noted and the rest go on. `--quick` tries all of it out in a few calls. See README.md beside this
file.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from samples.lenet import net
from samples.lenet.compiling import build, folders
from samples.lenet.levels import KINDS, environment, of_device

ROOT = Path(__file__).resolve().parents[2]
LEVEL = ("-m", "samples.lenet.level")
QUICK = ("--rounds", "3", "--calls", "5", "--seconds", "0.5")
SYMBOLS = (
    "cudnnBackendExecute",
    "cudnnConvolutionForward",
    "cudnnConvolutionBiasActivationForward",
    "cudaGraphLaunch",
    "cuGraphLaunch",
)
SKIPPED = 6
"""Calls of each function that the debugger skips.

First inferences choose algorithms, compile and record.
"""


class Driver:
    """One run of the driver, with its results so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.out: Path = options.out.resolve()
        self.end = time.monotonic() + 60 * options.minutes
        about = {"versions": versions(options.device), "seconds": options.seconds}
        self.found: dict[str, Any] = about | {"rows": [], "failures": {}, "absent": {}}
        (self.out / "logs").mkdir(parents=True, exist_ok=True)

    @property
    def left(self) -> float:
        """Seconds until the run must end."""
        return max(self.end - time.monotonic(), 1)

    def save(self) -> None:
        """Write the results so far."""
        (self.out / f"{self.options.device}.json").write_text(
            json.dumps(self.found, indent=1) + "\n"
        )

    def wanted(self) -> list[str]:
        """List the requested levels that can run here, and note the others."""
        names = [
            name for name in of_device(self.options.device) if re.search(self.options.only, name)
        ]
        for name in names:
            missing = [need for need in KINDS[name].needs if importlib.util.find_spec(need) is None]
            if missing:
                self.found["absent"][name] = f"{' and '.join(missing)}: not installed"
        return [name for name in names if name not in self.found["absent"]]

    def environment(self, name: str) -> dict[str, str]:
        """Return the variables of a level's process: this process's own, and the level's."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {
            **os.environ,
            **environment(name, self.options.device),
            "PYTHONPATH": os.pathsep.join(paths),
        }
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(
            self.out / "logs" / f"inductor_{name}"
        )  # a first call compiles
        if self.options.quick:
            variables.setdefault(
                "OMP_NUM_THREADS", "1"
            )  # threads that wait for each other take long on a busy machine
        if name.startswith("cudnn"):
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, folders("lib")))
        if name.startswith("keras_torch"):
            variables["KERAS_TORCH_DEVICE"] = self.options.device
        return variables

    def measure(self, names: list[str], built: Callable[[], object]) -> None:
        """Time the levels one after the other.

        On a machine with a GPU they first import side by side. Meanwhile the C++ levels are
        compiled; `built` waits for them.
        """
        for start in range(0, len(names), self.options.side_by_side):
            part = names[start : start + self.options.side_by_side]
            started = {
                name: self.start(name) for name in part if not KINDS[name].file.endswith(".cpp")
            }
            built()
            started |= {name: self.start(name) for name in part if name not in started}
            for process in started.values():
                while (line := process.stdout.readline()) and line.strip() != "ready":  # type: ignore[union-attr]
                    pass
            for name in part:
                self.go(name, started[name])
                self.save()

    def start(self, name: str) -> subprocess.Popen[str]:
        """Start a level's process. It imports and waits."""
        more = QUICK if self.options.quick else ("--seconds", str(self.options.seconds))
        if "traces" in self.options.parts:
            more = (*more, "--trace")
        what = [
            "--device",
            self.options.device,
            "--sizes",
            self.options.sizes,
            "--batches",
            self.options.batches,
        ]
        command = [sys.executable, *LEVEL, name, *what, "--out", str(self.out), "--wait", *more]
        with (self.out / "logs" / f"{name}_{self.options.device}.txt").open("w") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env=self.environment(name),
            )

    def go(self, name: str, process: subprocess.Popen[str]) -> None:
        """Let the process measure, and keep its output."""
        began = time.monotonic()
        try:
            printed, _ = process.communicate("\n", timeout=min(self.options.level_s, self.left))
            outcome = f"exit {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
            outcome = "timeout"
        except BrokenPipeError:
            printed, outcome = "", f"ended before it began: exit {process.wait()}"
        rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        self.found["rows"] += rows
        if outcome != "exit 0":
            log = (
                (self.out / "logs" / f"{name}_{self.options.device}.txt")
                .read_text()
                .strip()
                .splitlines()
            )
            self.found["failures"][name] = f"{outcome}; {log[-1] if log else ''}"[:300]
        print(
            f"{outcome:<8} {time.monotonic() - began:6.1f} s  {name}: {len(rows)} rows", flush=True
        )

    def stacks(self, names: list[str]) -> None:
        """Take the calls between each level and cuDNN with the debugger, for each network."""
        both = [(size, name) for size in self.options.sizes.split(",") for name in names]
        with ThreadPoolExecutor(self.options.debuggers) as lanes:
            for (size, name), outcome in zip(
                both, lanes.map(self.stack, *zip(*both, strict=True)), strict=True
            ):
                if outcome != 0:
                    self.found["failures"][f"stack_{size}_{name}"] = f"exit {outcome}"
        self.save()

    def stack(self, size: str, name: str) -> int | str:
        """Run one capture under the debugger."""
        began, capture_name = time.monotonic(), f"stack_{size}_{name}"
        breaks = [word for symbol in SYMBOLS for word in ("--break", symbol)]
        limits = [
            "--skip",
            str(SKIPPED),
            "--hits",
            "1",
            "--timeout",
            str(int(min(self.options.stack_s, self.left))),
        ]
        program = [
            sys.executable,
            *LEVEL,
            name,
            "--device",
            "cuda",
            "--sizes",
            size,
            "--batches",
            "1",
            "--stack",
        ]
        command = [
            sys.executable,
            "-m",
            "tracelens",
            "collect",
            "gdb",
            "--gdb",
            self.options.gdb,
            *breaks,
            *limits,
            "--force",
            "--out",
            str(self.out / f"{capture_name}.tracelens"),
            "--",
            *program,
            "--out",
            str(self.out),
        ]
        # Else XLA tries algorithms out, with calls of their own.
        variables = {"XLA_FLAGS": "--xla_gpu_autotune_level=0"} if "jax" in name else {}
        folder = self.out / "logs" / f"tmp_{capture_name}"
        folder.mkdir(exist_ok=True)  # cuda-gdb locks its folder of temporary files
        variables |= {"TMPDIR": str(folder)}
        with (self.out / "logs" / f"{capture_name}.txt").open("w") as log:
            try:
                code: int | str = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=ROOT,
                    check=False,
                    env=self.environment(name) | variables,
                    timeout=min(self.options.stack_s, self.left) + 30,
                ).returncode
            except subprocess.TimeoutExpired:
                code = "timeout"
        print(f"exit {code} {time.monotonic() - began:6.1f} s  {capture_name}", flush=True)
        return code

    def traces(self) -> None:
        """Read kernel time, kernels and launches per inference from the profiler's traces.

        Small traces are kept.
        """
        for row in self.found["rows"]:
            if "trace" not in row:
                continue
            name = f"trace_{row['level']}"
            try:
                row.update(self.trace(row, self.out / row.pop("trace"), name))
            except Exception as error:  # noqa: BLE001 - one trace that cannot be read must not cost the others
                self.found["failures"][f"{name}_{row['size']}_{row['batch']}"] = (
                    f"{type(error).__name__}: {error}"[:300]
                )
        self.save()

    def trace(self, row: dict[str, Any], path: Path, name: str) -> dict[str, Any]:
        """Read the numbers of one trace; the trace of one image by the larger network is kept."""
        from captured import on_the_gpu  # noqa: PLC0415

        import tracelens as tl  # noqa: PLC0415 - without it, times are measured all the same

        opened = tl.collect(path)
        if (row["size"], row["batch"]) == ("large", 1):
            opened.write(self.out / f"{name}.tracelens", force=True)
        path.unlink()
        return on_the_gpu(opened)


def versions(device: str) -> dict[str, str]:
    """Return versions of the software, and the kind of machine."""
    by_name = {
        "python": platform.python_version(),
        "taken": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    for name in ("torch", "jax", "keras", "numpy", "nvidia-cudnn-cu13", "nvidia-cublas", "py-spy"):
        try:
            by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    for name in ("tensorflow", "tensorflow-cpu"):
        try:
            by_name["tensorflow"] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if shutil.which("g++"):
        version = subprocess.run(
            ["g++", "-dumpfullversion"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        by_name["g++"] = version.strip()
    if device == "cuda" and shutil.which("nvidia-smi"):
        asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        model_and_driver = subprocess.run(
            asked,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        by_name["gpu"], _, by_name["driver"] = model_and_driver.partition(", ")
    cpu = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpu.read_text()) if cpu.is_file() else None
    by_name |= {name: os.environ[name] for name in ("OMP_NUM_THREADS",) if name in os.environ}
    return by_name | {
        "cpu": model[1] if model else platform.machine(),
        "cores": str(os.cpu_count()),
    }


def parse() -> argparse.Namespace:
    """Parse the options."""
    has_gpu = shutil.which("nvidia-smi") is not None
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for measurements, traces, stacks and logs",
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if has_gpu else "cpu")
    parser.add_argument("--quick", action="store_true", help="a few calls of each")
    parser.add_argument(
        "--parts", default="build,levels,traces,stacks", help="which of these; stacks on a GPU only"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="REGEX",
        help="only levels of these names",
    )
    parser.add_argument("--sizes", default="large,small", help="networks")
    parser.add_argument("--batches", default="1,128", help="images an inference, when timed")
    parser.add_argument(
        "--minutes",
        type=float,
        default=60,
        help="end all after so long",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=6,
        help="of ten rounds; a slow level has fewer calls in them",
    )
    parser.add_argument(
        "--level-s",
        type=float,
        default=300,
        help="end a level after so many seconds",
    )
    parser.add_argument(
        "--stack-s",
        type=float,
        default=120,
        help="end a debugger after so many seconds",
    )
    parser.add_argument(
        "--side-by-side",
        type=int,
        default=0,
        help="levels that import at once; by default all on a GPU's machine, else 1, or 2 if quick",
    )
    parser.add_argument(
        "--debuggers",
        type=int,
        default=1,
        help="debuggers at once",
    )
    parser.add_argument("--gdb", default="cuda-gdb", help="gdb or cuda-gdb")
    options = parser.parse_args()
    if options.device == "cpu":
        options.parts = options.parts.replace("traces", "").replace(
            "stacks", ""
        )  # both are the GPU's
    options.side_by_side = options.side_by_side or (
        len(KINDS) if options.device == "cuda" else 2 if options.quick else 1
    )
    return options


def main() -> None:
    """Run the requested measurements."""
    options = parse()
    driver = Driver(options)
    for size in net.SIZES.values():
        net.weights_file(size, driver.out)
    names = driver.wanted()
    parts = options.parts.split(",")
    try:
        with ThreadPoolExecutor(1) as lane:
            building = lane.submit(build, options.device if "build" in parts else "none")
            if "levels" in parts:
                driver.measure(names, building.result)
            driver.found["failures"] |= {
                f"build_{name}": text for name, text in building.result().items()
            }
        if "traces" in parts:
            driver.traces()
        if "stacks" in parts:
            driver.stacks(names)
    finally:
        driver.save()
    for title in ("absent", "failures"):
        print(f"{title}: {json.dumps(driver.found[title], indent=1)}")


if __name__ == "__main__":
    main()
