"""Which of the tools and packages that tracelens can use are found here, without starting anything slow."""

from __future__ import annotations

import ctypes
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tracelens.collectors.gdb import find_cuda_gdb
from tracelens.collectors.nsys.tool import candidates, importer_of
from tracelens.errors import ToolError
from tracelens.native import LIBRARY
from tracelens.running.program import ask
from tracelens.storage.table import Column, Table

FINDINGS = Table(
    "doctor",
    "A tool or package that tracelens can use.",
    (
        Column("tool", pl.String, "Name."),
        Column("found", pl.Boolean, "Whether it is here."),
        Column("version", pl.String, "Version, where it tells one.", nullable=True),
        Column("used_for", pl.String, "What tracelens uses it for."),
        Column("to_get_it", pl.String, "How to get it, or what it lacks; null where all is here.", nullable=True),
    ),
)
_DRIVER = Path("/proc/driver/nvidia/version")
_PATIENCE_S = 3
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class _Wanted(NamedTuple):
    tool: str
    used_for: str
    to_get_it: str


_PROGRAMS = (
    _Wanted("gdb", "call stacks of a program at a breakpoint", "install gdb with the system's package manager"),
    _Wanted("cuda-gdb", "call stacks where the program uses a GPU", "comes with the CUDA toolkit"),
    _Wanted("py-spy", "Python frames in native call stacks", "pip install 'tracelens-toolkit[gdb]'"),
)
_PACKAGES = (
    _Wanted("torch", "profiling a program of yours", "pip install 'tracelens-toolkit[torch]'"),
    _Wanted(
        "nvidia-ml-py",
        "sampling GPU utilisation and memory while a program is captured",
        "pip install 'tracelens-toolkit[nvml]'",
    ),
    _Wanted("pygdbmi", "talking to gdb while it runs", "pip install 'tracelens-toolkit[gdb]'"),
    _Wanted("adbc-driver-sqlite", "reading large nsys SQLite files faster", "pip install 'tracelens-toolkit[sqlite]'"),
)
_NSYS = _Wanted(
    "nsys", "recording a program, and turning .nsys-rep into SQLite or Parquet", "install NVIDIA Nsight Systems"
)
_NATIVE = _Wanted(
    "native library",
    "reading torch traces, nesting spans and adding up ops several times faster",
    "install tracelens-toolkit where there is a C compiler, or from a wheel",
)
_NVML = _Wanted("NVML", "sampling GPU utilisation and memory, through nvidia-ml-py", "comes with the NVIDIA driver")


def examine() -> pl.DataFrame:
    """A row a tool, with the columns of FINDINGS. Packages are looked up, never imported."""
    rows = [
        *(_row(wanted, *_program(wanted.tool)) for wanted in _PROGRAMS),
        _nsys(),
        _row(_NVML, *_nvml()),
        _row(_NATIVE, LIBRARY is not None, None),
        *(_row(wanted, *_package(wanted.tool)) for wanted in _PACKAGES),
    ]
    return FINDINGS.check(pl.DataFrame(rows, schema=FINDINGS.schema))


def _row(wanted: _Wanted, found: bool, version: str | None) -> dict[str, object]:
    return {
        **wanted._asdict(),
        "found": found,
        "version": version,
        "to_get_it": None if found else wanted.to_get_it,
    }


def _program(name: str) -> tuple[bool, str | None]:
    """Whether the program is on PATH or beside this Python, and the version that it prints first."""
    path = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if name == "cuda-gdb":
        path = find_cuda_gdb()
    return (False, None) if path is None else (True, _version(path))


def _nsys() -> dict[str, object]:
    """The nsys that a capture would use, in the usual places too; without its importer it leaves raw captures."""
    found = list(candidates())
    if not found:
        return _row(_NSYS, False, None)
    path = next((path for path in found if importer_of(path) is not None), found[0])
    row = _row(_NSYS, True, _version(str(path)))
    if importer_of(path) is None:
        row["to_get_it"] = f"{path} has no QdstrmImporter beside it, and records without it only: {_NSYS.to_get_it}"
    return row


def _version(path: str) -> str | None:
    try:
        answer = ask([path, "--version"], _PATIENCE_S)
    except ToolError:
        return None
    first = (answer.stdout or answer.stderr).strip().split("\n", 1)[0]
    match = _VERSION.findall(first)
    return match[-1] if match else None


def _nvml() -> tuple[bool, str | None]:
    """Whether NVML can be loaded, and the driver's version from where the kernel module tells it."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False, None
    try:
        match = _VERSION.search(_DRIVER.read_text())
    except OSError:
        return True, None
    return True, match.group() if match else None


def _package(name: str) -> tuple[bool, str | None]:
    try:
        return True, metadata.version(name)
    except metadata.PackageNotFoundError:
        return False, None
