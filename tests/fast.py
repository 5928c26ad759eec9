"""Tell fast tests: they start no process, load no torch, and read no sample above 1 MB.

`is_fast` judges a test by its code, with its fixtures and the functions of `tests/` that it calls.
slow.txt lists other tests that take long (`python -m tools.slow_tests`). `Watch` fails a fast test
that starts a process or reads a large sample indirectly: mark such a test `slow`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.sources import MORE, SAMPLES, torch_file, torch_folder

PROCESSES = frozenset({"subprocess", "multiprocessing", "concurrent", "ray", "moto", "pytester"})
LARGE_LIBRARIES = frozenset({"torch", "torchvision", "hta", "z3", "vl_convert"})
SLOW_MODULES = PROCESSES | LARGE_LIBRARIES
STARTERS = frozenset({"run_program", "tests.stand_in", "tests.stand_in_nsys"})
"""A function that starts programs, and the modules of tests that make programs to be started."""
SLOW_FUNCTIONS = {torch_file, torch_folder}
"""Functions that are slow: most of their results are large, or not in every checkout."""
LARGE_BYTES = 1_000_000
_STARTS_A_PROCESS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
)


LISTED = frozenset(
    Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").splitlines()
    if os.environ.get("TRACELENS_SLOW_LIST") != "off"
    else ()
)
"""Tests, by function, that were measured to take long."""


def is_fast(item: pytest.Item) -> bool:
    """Judge a test by its code, unless it is listed, or marked slow, exhaustive or for a GPU."""
    if any(item.get_closest_marker(name) for name in ("slow", "exhaustive", "gpu")):
        return False
    if not isinstance(item, pytest.Function) or item.nodeid.partition("[")[0] in LISTED:
        return False
    definitions = item._fixtureinfo.name2fixturedefs.values()
    fixtures = [one.func for several in definitions for one in several]
    every_test_has = {f for f in fixtures if f.__module__ == "tests.conftest"}
    if any(_is_slow(f) for f in [item.obj, *fixtures] if f not in every_test_has):
        return False
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return not any(_names_large_sample(value) for value in parameters)


def imports_slow_modules(file: Path) -> bool:
    """Judge a test file before it is imported: by its marks and the modules it imports first."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) and node.value is not None:
            text = ast.unparse(node.value)
            if text.startswith("pytest.mark.slow"):
                return True
            if text.startswith("pytest.importorskip(") and isinstance(node.value, ast.Call):
                names = [str(getattr(node.value.args[0], "value", ""))]
        if {name.partition(".")[0] for name in names} & LARGE_LIBRARIES:
            return True
    return False


@functools.cache
def _is_slow(function: Any) -> bool:
    """Judge a function of the tests with all that it calls there."""
    return any(True for _ in _slow_names(function, set()))


def _slow_names(function: Any, seen: set[Any]) -> Iterator[str]:
    """Go through what a function mentions, and what these mention, once each."""
    function = _innermost(function)
    if function in seen:
        return
    seen.add(function)
    if isinstance(function, type):
        for member in vars(function).values():
            if isinstance(_innermost(member), FunctionType):
                yield from _slow_names(member, seen)
        return
    if not isinstance(function, FunctionType):
        return
    names, constants = _mentioned(function.__code__)
    loads = {"import_module", "importorskip", "find_spec"} & names
    yield from (SLOW_MODULES | STARTERS) & (names | constants if loads else names)
    yield from filter(_names_large_sample, constants)
    for name in names & set(function.__globals__):
        value = function.__globals__[name]
        yield from _slow_values(value, names, seen)
    for cell in function.__closure__ or ():
        yield from _slow_values(cell.cell_contents, names, seen)


def _slow_values(value: Any, names: set[str], seen: set[Any]) -> Iterator[str]:
    """Go through a value that a function mentions: a module, or a test's function or class."""
    if isinstance(value, ModuleType):
        if value.__name__.partition(".")[0] in SLOW_MODULES:
            yield value.__name__
        elif value.__name__.startswith("tests."):
            for name in names & set(vars(value)):
                yield from _slow_values(vars(value)[name], names, seen)
        return
    home = str(getattr(value, "__module__", None) or "")
    if isinstance(value, Path | str) and _names_large_sample(value):
        yield str(value)
    elif home.partition(".")[0] in SLOW_MODULES or home in STARTERS or _is_listed(value):
        yield home
    elif home.startswith("tests."):
        yield from _slow_names(value, seen)


def _is_listed(value: Any) -> bool:
    return isinstance(value, FunctionType) and value in SLOW_FUNCTIONS


def _innermost(function: Any) -> Any:
    """Remove decorators: of fixtures, caches, methods and hypothesis."""
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    if isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(getattr(function, "__func__", function))


def _mentioned(code: CodeType) -> tuple[set[str], set[str]]:
    """Collect names and text constants of a function and of the functions inside it."""
    names = set(code.co_names) | set(code.co_varnames[: code.co_argcount])
    constants = {word for word in code.co_consts if isinstance(word, str)}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            inner_names, inner_constants = _mentioned(inner)
            names |= inner_names
            constants |= inner_constants
    return names, constants


def _names_large_sample(value: Any) -> bool:
    """Recognize a path, or a name without folder and suffixes, of a sample above 1 MB."""
    if not isinstance(value, str | Path) or len(str(value)) > 200:
        return False
    return Path(value).name.partition(".")[0] in _large_samples()


@functools.cache
def _large_samples() -> frozenset[str]:
    """Collect the names of samples above 1 MB, without suffixes."""
    files = [file for folder in (SAMPLES, MORE) for file in folder.rglob("*.*") if file.is_file()]
    traces = [file for file in files if file.suffix in {".gz", ".json", ".sqlite"}]
    return frozenset(f.name.partition(".")[0] for f in traces if _size_of_sample(f) > LARGE_BYTES)


class Watch:
    """Sees through Python's audit events what a fast test does that it may not."""

    def __init__(self) -> None:
        self.test: pytest.Item | None = None
        self.broken: list[str] = []
        sys.addaudithook(self._audit)

    def begin(self, item: pytest.Item) -> None:
        """Watch a fast test, and no other."""
        self.broken = []
        self.test = item if is_fast(item) else None

    def end(self) -> None:
        """Fail the test that started a process or read a large sample."""
        self.test = None
        if self.broken:
            pytest.fail(
                f"counted as fast, but {self.broken[0]}: mark it with pytest.mark.slow",
                pytrace=False,
            )

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.test is None:
            return
        if event in _STARTS_A_PROCESS:
            self.broken.append(f"it starts a process ({event} {arguments[0]!r:.60})")
        elif event == "import" and arguments[0] in LARGE_LIBRARIES:
            self.broken.append(f"it loads {arguments[0]}")
        elif event == "open" and isinstance(arguments[0], str):
            watched, self.test = self.test, None  # to look at the file opens it, too
            file = Path(arguments[0])
            if _size_of_sample(file) > LARGE_BYTES:
                self.broken.append(f"it reads {file.name}, of {_size_of_sample(file):,} bytes")
            self.test = watched


@functools.cache
def _size_of_sample(file: Path) -> int:
    """Measure a sample, unpacked and with all files of a trace; 0 for any other file."""
    file = file.resolve()
    if not (file.is_relative_to(SAMPLES) or file.is_relative_to(MORE)) or not file.is_file():
        return 0
    if file.name == "manifest.json":
        return sum(part.stat().st_size for part in file.parent.rglob("*") if part.is_file())
    if file.suffix == ".gz":
        with file.open("rb") as stream:
            stream.seek(-4, os.SEEK_END)
            return int.from_bytes(stream.read(), "little")  # as gzip notes it at the end
    return file.stat().st_size
