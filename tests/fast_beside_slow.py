"""Read every trace file of a test by the native path and by the plain one; compare the two.

A test file that imports the fixture has it for each of its tests.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.fast_and_slow import same_of_file
from tracelens.collectors import torch
from tracelens.native import LIBRARY

LONG = ("linear", "any_bytes", "here_and_there", "standard_input")
"""Words in the names of tests that read megabytes, or hundreds of files.

Their traces are not read twice; tests/test_torch_fast.py has the same shapes.
"""


@pytest.fixture(autouse=True)
def read_by_both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the two before each file is read, block by block and whole."""
    if LIBRARY is None or any(word in request.node.name for word in LONG):
        return
    read_file = torch._read_file

    def read_both(path: Path, *rest: Any, **more: Any) -> Any:
        if path.is_file():
            same_of_file(path, {}, {"block_bytes": 100})
        return read_file(path, *rest, **more)

    monkeypatch.setattr(torch, "_read_file", read_both)
