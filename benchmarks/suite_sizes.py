"""The size of a default install: of the wheel, and of each package's files in a new environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.results import Row

GROUP, WHEEL, TOTAL = "installed size", "the wheel, packed", "all packages"
_TOOLS = ("pip", "setuptools")
_ROOT = Path(__file__).resolve().parents[1]
_ASKED = """
import json, os
from importlib.metadata import distributions
sizes = {}
for found in distributions():
    files = [found.locate_file(file) for file in found.files or ()]
    sizes[found.name] = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
print(json.dumps(sizes))
"""


def installed_sizes(bench: Bench) -> None:
    """Build the wheel, install it with what it needs, and add up the files of each package."""
    source, wheels, environment = (
        bench.folder / name for name in ("source", "wheels", "environment")
    )
    python = str(environment / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    # What was built before in a checkout would get into the wheel.
    shutil.copytree(
        _ROOT,
        source,
        symlinks=True,
        ignore=shutil.ignore_patterns(".*", "build", "samples", "*.so"),
    )
    try:
        _run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            str(source),
            "--wheel-dir",
            str(wheels),
        )
        (wheel,) = wheels.glob("*.whl")
        _run(sys.executable, "-m", "venv", str(environment))
        _run(python, "-m", "pip", "install", "--quiet", str(wheel))
        sizes: dict[str, int] = json.loads(_run(python, "-I", "-c", _ASKED))
    except subprocess.CalledProcessError as error:
        bench.leave_out(GROUP, f"pip said: {error.stderr.strip()[-200:]}")
        return
    largest_first = sorted(
        ((name, size) for name, size in sizes.items() if name not in _TOOLS),
        key=lambda name_and_size: -name_and_size[1],
    )
    total = sum(size for _, size in largest_first)
    for name, n_bytes in [
        (WHEEL, wheel.stat().st_size),
        (TOTAL, total),
        *largest_first,
    ]:
        bench.results.rows.append(
            Row(
                GROUP,
                name,
                "default install",
                round(n_bytes / 1e6, 2),
                "MB",
            )
        )


def _run(*command: str) -> str:
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=bare).stdout
