"""Count the modules that a reader walks through to follow a command.

    python -m tools.stops [--list] [--all]

The walk follows functions in the order of their first call. A function in another module than the
previous one is a stop. A stop in a module that was entered before is a return. Properties, and
toolboxes such as `trace.select`, are not entered: their names and docstrings are enough. `--all`
enters them, too. `--list` prints each walk.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any
from unittest import mock

import tracelens as tl
from tracelens.cli.app import main as command_line
from tracelens.derive.columns import per_unique
from tracelens.report import build_report
from tracelens.views.page import to_html

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "samples" / "torch" / "resnet50_train_f64_pageable.pt.trace.json.gz"
TOOLBOXES: tuple[str, ...] = (
    "schemas",
    "tracelens/__init__.py",
    "tracelens/derive/columns",
    "tracelens/errors.py",
    "tracelens/hooks.py",
    "tracelens/native",
    "tracelens/schemas",
    "tracelens/storage",
    "tracelens/trace",
)


@dataclass(frozen=True)
class Walk:
    """The modules of a command's functions, stop by stop."""

    stops: Sequence[str]

    @property
    def n_modules(self) -> int:
        """The number of different modules."""
        return len({*self.stops})

    @property
    def n_returns(self) -> int:
        """The number of stops in modules that were entered before."""
        return len(self.stops) - self.n_modules


def follow(command: Callable[[], object]) -> Walk:
    """Run a command in this thread with empty caches, and return the modules of its functions."""
    for cached in (per_unique._matches, per_unique._on_frames, per_unique._of_few):
        cached.cache_clear()
    called: set[CodeType] = set()
    stops: list[str] = []

    def on_call(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in called or code.co_name.startswith("<"):
            return
        called.add(code)
        if isinstance(
            getattr(
                type(frame.f_locals.get("self")),
                code.co_name,
                None,
            ),
            property,
        ):
            return
        module = _module(code.co_filename)
        if module is not None and stops[-1:] != [module]:
            stops.append(module)

    before = sys.getprofile()
    with _in_one_thread():
        sys.setprofile(on_call)
        try:
            command()
        finally:
            sys.setprofile(before)
    return Walk(stops)


def _module(file: str) -> str | None:
    """Return the name of a module by its path, None for a toolbox or a module of other projects."""
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return None
    inside = path.relative_to(ROOT)
    is_project = inside.parts[0] in {"collectors", "schemas", "tracelens"}
    is_toolbox = any(inside.is_relative_to(toolbox) for toolbox in TOOLBOXES)
    return str(inside) if is_project and not is_toolbox else None


class _Later(futures.Future[Any]):
    """A future that does its work in the thread that first asks for the result."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def result(self, timeout: float | None = None) -> Any:
        """Return the result of the work; the first call runs the work."""
        if not self.done():
            try:
                self.set_result(self._work())
            except BaseException as error:  # noqa: BLE001 - it is raised below
                self.set_exception(error)
        return super().result(timeout)


@contextmanager
def _in_one_thread() -> Iterator[None]:
    """Run the work of thread pools in this thread, so that a walk has a fixed order."""

    def submit(
        _: object,
        function: Callable[..., Any],
        /,
        *arguments: Any,
        **more: Any,
    ) -> futures.Future[Any]:
        return _Later(lambda: function(*arguments, **more))

    with mock.patch.object(futures.ThreadPoolExecutor, "submit", submit):
        yield


def _run(*words: str) -> None:
    """Run a command line and discard its output."""
    with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        command_line([*words])


def walks() -> dict[str, Walk]:
    """Return the walks of four commands on one capture: verdict, page, collect and report."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "trace.tracelens"
        collect = follow(
            lambda: _run(
                "collect",
                "files",
                str(CAPTURE),
                "--out",
                str(stored),
            )
        )
        report = build_report(tl.open(stored))
        return {
            "verdict": follow(lambda: tl.analyses.verdict(tl.open(stored))),
            "page": follow(lambda: to_html(report)),
            "collect": collect,
            "report": follow(lambda: _run("report", str(stored))),
        }


def main() -> None:
    """Print the numbers of stops, modules and returns of each walk."""
    global TOOLBOXES  # noqa: PLW0603 - of this command alone
    if "--all" in sys.argv:
        TOOLBOXES = ()
    walks_by_path = walks()
    print(f"{'path':10} {'stops':>6} {'modules':>8} {'returns':>8}")
    for name, walk in walks_by_path.items():
        print(f"{name:10} {len(walk.stops):6} {walk.n_modules:8} {walk.n_returns:8}")
    if "--list" in sys.argv:
        for name, walk in walks_by_path.items():
            print(f"\n{name}: {' > '.join(walk.stops)}")


if __name__ == "__main__":
    main()
