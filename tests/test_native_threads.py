"""The C library from two threads, and without the interpreter's lock."""

import importlib.util
import re
import sys
import threading
import time
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tools.fuzz.calls import FUNCTIONS, Chance, new_parser, try_all
from tracelens.native import LIBRARY

needs_library = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")


@needs_library
def test_a_parser_is_used_by_one_thread_at_a_time() -> None:
    """It works without the lock.

    Another thread that read its strings meanwhile read freed memory.
    """
    assert LIBRARY is not None
    event = b'{"ph":"X","cat":"none","name":"k","pid":0,"tid":7,"ts":1,"dur":2},'
    text = b'{"traceEvents": [' + event * 5_000
    said: list[str] = []
    held, until = new_parser(LIBRARY, Chance(1)), time.monotonic() + 30

    def use(work: Callable[[], object]) -> None:
        while not said and time.monotonic() < until:
            try:
                work()
            except RuntimeError as error:
                said.append(str(error))

    parse = partial(LIBRARY.parse, held, text, len(b'{"traceEvents": ['))
    worker = threading.Thread(target=use, args=(parse,))
    worker.start()
    use(lambda: LIBRARY.strings(held, 0, 0))
    worker.join()
    assert {*said} == {"another thread is using it"}
    LIBRARY.strings(held, 0, 0)


@needs_library
def test_a_call_that_is_refused_leaves_what_it_was_given_free() -> None:
    assert LIBRARY is not None
    held = LIBRARY.ops_new(1, 1, 2)
    for _ in range(2):
        with pytest.raises(TypeError):
            LIBRARY.ops_time(held, "no array")
    assert not LIBRARY.ops_time(held, array("q", [1]))  # nothing was placed


@needs_library
def test_calls_with_arguments_by_chance_are_made_or_refused() -> None:
    n_refused = sum(try_all(LIBRARY, Chance(seed)) for seed in range(50))
    assert 0 < n_refused < 50 * len(FUNCTIONS)


@needs_library
def test_every_function_of_the_library_is_tried() -> None:
    called: set[str] = set()

    class Watched:
        def __getattr__(self, name: str) -> object:
            called.add(name)
            return getattr(LIBRARY, name)

    for seed in range(50):
        try_all(Watched(), Chance(seed))
    assert called == {name for name in dir(LIBRARY) if not name.startswith("_")}


def test_no_format_needs_a_macro_that_only_older_headers_know() -> None:
    """Compiled with headers of Python 3.13, a call with "y#" raises SystemError under 3.12."""
    folder = Path(__file__).parents[1] / "tracelens" / "native"
    calls = [
        call
        for file in folder.glob("*.c")
        for call in re.findall(
            r"Py(?:_BuildValue|Arg_Parse\w*)\([^;]*?\"([^\"]*)\"", file.read_text()
        )
    ]
    assert calls
    assert not [call for call in calls if "#" in call]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_python_without_its_lock_is_refused(
    *, is_enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.13 and newer say so themselves. Nothing was tried there."""
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: is_enabled, raising=False)
    module = importlib.util.find_spec("tracelens")
    assert module is not None
    assert module.loader is not None
    fresh = importlib.util.module_from_spec(module)
    if is_enabled:
        module.loader.exec_module(fresh)
        return
    with pytest.raises(ImportError, match="PYTHON_GIL=1"):
        module.loader.exec_module(fresh)
