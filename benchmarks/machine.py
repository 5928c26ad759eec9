"""The machine and the versions that numbers were measured with; no host names, no paths."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = (
    "tracelens-toolkit",
    "polars",
    "pyarrow",
    "msgspec",
    "adbc-driver-sqlite",
    "connectorx",
    "isal",
    "traceinsight",
    "pandas",
    "ijson",
    "orjson",
)


def describe() -> dict[str, str]:
    """Return processor, cores, memory, system, Python and libraries in words."""
    libraries = {name: version for name in LIBRARIES if (version := _version(name))}
    return {
        "processor": _first(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo") or platform.machine(),
        "cores": str(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "memory": f"{memory_bytes('MemTotal') / 1e9:.0f} GB",
        "system": platform.system(),
        "python": platform.python_version(),
        **libraries,
    }


def memory_bytes(what: str) -> int:
    """Read MemTotal or MemAvailable; return 0 without /proc."""
    kilobytes = _first(rf"^{what}:\s*(\d+) kB", "/proc/meminfo")
    return int(kilobytes) * 1024 if kilobytes else 0


def _first(pattern: str, file: str) -> str | None:
    try:
        match = re.search(pattern, Path(file).read_text(), re.MULTILINE)
    except OSError:
        return None
    return match[1].strip() if match else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
