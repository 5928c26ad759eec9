"""A pytest plugin: whatever trace file a test reads is read by the fast path too, and the two are compared."""

from pathlib import Path
from typing import Any

from tests.fast_and_slow import same_of_file
from tracelens.collectors import torch

_read_file = torch._read_file


def _read_both(path: Path, *rest: Any, **more: Any) -> Any:
    if path.is_file():
        same_of_file(path, {}, {"block_bytes": 100})
    return _read_file(path, *rest, **more)


torch._read_file = _read_both
