"""Time tracelens and its peers on enlarged real traces: `make bench`, or `python -m benchmarks`.

Options: `--quick`, `--large`. Writes docs/benchmark.json, docs/benchmark.md, docs/benchmark.png and
the README's performance section. Peers that are not installed are left out; `pip install
traceinsight orjson ijson connectorx` installs all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.bench import Bench, Settings
from benchmarks.machine import describe
from benchmarks.results import Results
from benchmarks.suites import SUITES
from benchmarks.targets import judge

QUICK = Settings(
    sizes_mb=(20, 30, 40),
    kernels=(0.02, 0.04),
    nsys_kernels=(0.02, 0.04),
    layouts_mb=20,
    spans=0.2,
    runs=1,
)
DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> int:
    """Parse the command line, run the parts, write the results."""
    given = _arguments()
    settings = _settings(given)
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(given.folder or tempfile.gettempdir()).free
    print(f"needs up to {settings.disk_bytes / 1e9:.1f} GB of disk for a while", file=sys.stderr)
    if free < settings.disk_bytes:
        print(
            f"error: {free / 1e9:.1f} GB are free; name another folder with --folder",
            file=sys.stderr,
        )
        return 1
    results = Results(
        describe(),
        {**asdict(settings), "quick": given.quick},
    )
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "benchmark.json"
    earlier = (
        Results.from_dict(json.loads(file.read_text())) if given.add and file.is_file() else None
    )
    if earlier and (earlier.machine, json.loads(json.dumps(results.settings))) != (
        results.machine,
        earlier.settings,
    ):
        print(
            f"error: {file} was measured on another machine or with other settings", file=sys.stderr
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="tracelens-bench-", dir=given.folder) as folder:
        bench = Bench(Path(folder), settings, results)
        for name in given.only or SUITES:
            bench.say(f"== {name}")
            SUITES[name](bench)
            _write(results, earlier, file)
    drawn = [sys.executable, "-m", "benchmarks.present", str(given.out.resolve())]
    if given.out == DOCS:
        drawn.append("--readme")
    subprocess.run(drawn, check=True, cwd=DOCS.parent)
    print((given.out / "benchmark.md").read_text())
    return 0


def _write(results: Results, earlier: Results | None, file: Path) -> None:
    """Write the results, after each part of the benchmark: a run takes long and may be stopped."""
    everything = results.after(earlier) if earlier else results
    everything.targets = judge(everything)
    file.write_text(json.dumps(everything.as_dict(), indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small inputs, one run: to try it out")
    parser.add_argument("--large", action="store_true", help="a trace of 2 GB as well")
    parser.add_argument(
        "--sizes", type=float, nargs="+", metavar="MB", help="sizes of the traces instead"
    )
    parser.add_argument("--runs", type=int, help="runs of each; the median counts")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(SUITES),
        help="only these parts",
    )
    parser.add_argument(
        "--add", action="store_true", help="beside what the results hold of other parts"
    )
    parser.add_argument("--folder", type=Path, help="where the inputs are made, and removed again")
    parser.add_argument(
        "--out", type=Path, help="where the results go; docs, and with --quick build/benchmark"
    )
    given = parser.parse_args()
    given.out = given.out or (DOCS.parent / "build" / "benchmark" if given.quick else DOCS)
    return given


def _settings(given: argparse.Namespace) -> Settings:
    settings = QUICK if given.quick else Settings()
    if given.large:
        settings = replace(settings, sizes_mb=(*settings.sizes_mb, 2000))
    if given.sizes:
        settings = replace(settings, sizes_mb=tuple(sorted(given.sizes)))
    return replace(settings, runs=given.runs or settings.runs)


if __name__ == "__main__":
    sys.exit(main())
