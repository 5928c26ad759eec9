"""Looking for programs and packages, without starting anything slow."""

import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

from tracelens.errors import ToolError
from tracelens.running.program import ask
from tracelens.trace.collector import Found

VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_PATIENCE_S = 3
_DRIVER = Path("/proc/driver/nvidia/version")


def program(name: str) -> Found:
    """The program on PATH or beside this Python."""
    return program_at(shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent)))


def program_at(path: str | None) -> Found:
    """The program in the file, with the version that it prints first; none where the path is null."""
    if path is None:
        return Found(False)
    try:
        answer = ask([path, "--version"], _PATIENCE_S)
    except ToolError:
        return Found(True)
    versions = VERSION.findall((answer.stdout or answer.stderr).strip().split("\n", 1)[0])
    return Found(True, versions[-1] if versions else None)


def package(name: str) -> Found:
    """The installed Python package, which is not imported."""
    try:
        return Found(True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Found(False)


def driver_version() -> str | None:
    """The NVIDIA driver's version as the kernel module states it; null where it states none."""
    try:
        match = VERSION.search(_DRIVER.read_text())
    except OSError:
        return None
    return match.group() if match else None
