"""Stand in for NVIDIA's nsys: its documented command line, with an export that was recorded once.

`profile` refuses options that nsys does not have, runs the program, and leaves a report. `export`
copies the recorded export from the folder STAND_IN_EXPORTS. The options are written to the file
STAND_IN_LOG. STAND_IN names behaviours:

- old: an old version
- raw: no importer was found
- nothing: no report is left
- code: ends with another code than the program
- sqlite: cannot write Parquet
- full: has no room to export
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

BEHAVIOUR = os.environ.get("STAND_IN", "")
IMPORTER = "#!/bin/sh\n# Stand-in for QdstrmImporter.\n[ $1 = -i ] && [ $3 = -o ] && cp $2 $4\n"


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        version = "2021.3.1.54-ee9c30a" if BEHAVIOUR == "old" else "2025.3.1.90-253135822126v0"
        print(f"NVIDIA Nsight Systems version {version}")  # noqa: T201
        return 0
    return {"profile": profile, "export": export}[sys.argv[1]](sys.argv[2:])


def profile(words: list[str]) -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--trace", default="cuda,opengl,nvtx,osrt")
    parser.add_argument(
        "--sample", choices=["process-tree", "system-wide", "none"], default="process-tree"
    )
    parser.add_argument(
        "--cpuctxsw", choices=["process-tree", "system-wide", "none"], default="process-tree"
    )
    parser.add_argument("--cuda-graph-trace", choices=["graph", "node"], default="graph")
    parser.add_argument(
        "--capture-range", choices=["none", "cudaProfilerApi", "nvtx", "hotkey"], default="none"
    )
    parser.add_argument(
        "--capture-range-end", choices=["none", "stop", "stop-shutdown"], default="stop-shutdown"
    )
    parser.add_argument("--gpu-metrics-devices", default="none")
    parser.add_argument("--output", required=True)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = vars(parser.parse_args(words))
    program = options.pop("program")
    if log := os.environ.get("STAND_IN_LOG"):
        Path(log).write_text(json.dumps(options))
    # Like nsys, it outlives Ctrl-C, which the program gets too.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    code = subprocess.run(program, check=False).returncode
    if BEHAVIOUR != "nothing":
        suffix = ".qdstrm" if BEHAVIOUR == "raw" else ".nsys-rep"
        Path(options["output"] + suffix).write_bytes(b"stand-in report")
    return 1 if BEHAVIOUR in {"raw", "code"} else code


def export(words: list[str]) -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument(
        "--type", choices=["sqlite"] if BEHAVIOUR == "sqlite" else ["sqlite", "parquetdir"]
    )
    parser.add_argument("--output", type=Path)
    parser.add_argument("report", type=Path)
    options = parser.parse_args(words)
    assert options.report.read_bytes() == b"stand-in report"
    if BEHAVIOUR == "full":
        sys.stderr.write("terminate called after throwing\nNo space left on device\n")
        return 1
    recorded = Path(os.environ["STAND_IN_EXPORTS"])
    if options.type == "sqlite":
        shutil.copyfile(recorded / "export.sqlite", options.output)
    else:
        shutil.copytree(recorded / "export_pqtdir", options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
