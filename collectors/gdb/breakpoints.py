"""The breakpoints of a run: where each was found, and how often it was hit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tracelens.collectors.gdb.mi import Record, RefusedError, Session
from tracelens.collectors.gdb.presets import BACKEND_SYMBOL, never_reached, wants_backend_hint
from tracelens.errors import ToolError, UsageError

_PENDING = "<PENDING>"


@dataclass(slots=True)
class Breakpoint:
    """One symbol. `n_calls`: each call once; `n_matching`: those with the frame that was asked for; `n_kept`: stacks.

    `is_found`: whether a library that was loaded has it; else it is pending.
    """

    symbol: str
    number: str = ""
    is_found: bool = False
    n_calls: int = 0
    n_matching: int = 0
    n_kept: int = 0
    is_removed: bool = False

    def take(self, described: Record) -> None:
        """Take in what gdb says of it. It is pending again after the program's end, but was found once."""
        self.is_found |= described.get("addr") != _PENDING

    def remove(self, session: Session) -> None:
        """Let the program pass from here on."""
        if not self.is_removed:
            self.is_removed = True
            with suppress(RefusedError):
                session.ask(f"-break-delete {self.number}")


@dataclass(slots=True)
class Breakpoints:
    """All of a run, by gdb's number; where cuDNN's older interface is asked for, the newer one is looked out for."""

    symbols: tuple[str, ...]
    _by_number: dict[str, Breakpoint] = field(default_factory=dict)
    _backend: Breakpoint = field(default_factory=lambda: Breakpoint(BACKEND_SYMBOL))

    def insert(self, session: Session) -> None:
        """Set them, pending where no library has them yet. Raises ToolError where gdb refuses a symbol."""
        for symbol in self.symbols:
            self._insert(session, Breakpoint(symbol), "-f")
        if wants_backend_hint(self.symbols):
            self._insert(session, self._backend, "-f -d")

    def _insert(self, session: Session, breakpoint_: Breakpoint, options: str) -> None:
        symbol = breakpoint_.symbol
        if not symbol.isprintable() or not symbol.strip():
            raise UsageError(f"--break {symbol!r}: expected the name of a function, such as {BACKEND_SYMBOL}")
        quoted = symbol.replace("\\", "\\\\").replace('"', '\\"')
        try:
            described: Any = session.ask(f'-break-insert {options} -- "{quoted}"').get("bkpt", {})
        except RefusedError as error:
            raise ToolError(
                f"--break {symbol}: gdb refuses it: {error}; name a function as nm -DC prints it"
            ) from error
        breakpoint_.number = str(described.get("number", ""))
        breakpoint_.take(described)
        self._by_number[breakpoint_.number] = breakpoint_

    def at(self, stop: Record) -> Breakpoint | None:
        """The one that the program stopped at; null for one that was removed meanwhile."""
        found = self._by_number.get(str(stop.get("bkptno", "")).partition(".")[0])
        return None if found is None or found.is_removed else found

    def modified(self, described: Any) -> None:
        """Take in `=breakpoint-modified`."""
        if isinstance(described, dict) and (found := self._by_number.get(str(described.get("number")))):
            found.take(described)

    def remove_all(self, session: Session) -> None:
        """Let the program pass everywhere."""
        for breakpoint_ in self._by_number.values():
            breakpoint_.remove(session)

    def unreached(self) -> str | None:
        """Which of them gave no stack, why, and what to do; null where all did."""
        asked = [b for b in self._by_number.values() if b is not self._backend and not b.n_kept]
        said = [
            f"{b.symbol} was called {b.n_calls} times, and no call was kept: check --where-frame and --skip "
            f"({b.n_matching} calls had the frame)"
            for b in asked
            if b.n_calls
        ]
        for resolved in (True, False):
            symbols = [b.symbol for b in asked if not b.n_calls and b.is_found is resolved]
            if symbols:
                said.append(never_reached(symbols, resolved=resolved, backend_loaded=self._backend.is_found))
        return "; ".join(said) or None
