"""Set the breakpoints of a run under gdb, and count their hits.

A preset is a named set of symbols.
"""

from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from tracelens.collectors.gdb.mi import Record, RefusedError, Session
from tracelens.errors import ToolError, UsageError

DEFAULT_SYMBOL = "cudnnConvolutionForward"
"""The default symbol.

The paper "Comparing the costs of abstraction for DL frameworks" took stacks at this symbol.
"""

BACKEND_SYMBOL = "cudnnBackendExecute"
"""The function by which PyTorch 2 calls cuDNN, unless TORCH_CUDNN_V8_API_DISABLED=1 is set."""

PRESETS: dict[str, tuple[str, ...]] = {
    "cudnn": (
        BACKEND_SYMBOL,
        DEFAULT_SYMBOL,
        "cudnnConvolutionBiasActivationForward",
        "cudnnConvolutionBackwardData",
        "cudnnConvolutionBackwardFilter",
    ),
    "launch": ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"),
    "cpu": ("dnnl_primitive_execute",),
}
"""Symbols of each preset, by its name.

- cudnn: convolutions in cuDNN
- launch: kernel launches of CUDA's runtime and driver
- cpu: oneDNN's primitives
"""

_LEGACY = frozenset(symbol for symbol in PRESETS["cudnn"] if symbol != BACKEND_SYMBOL)
_PENDING = "<PENDING>"
_WHY_NEVER = (
    (
        True,
        "found, but never called",
        "; check that the program comes to it, or name another function with --break",
    ),
    (
        False,
        "never found, the breakpoint is still pending: no library that was loaded defines it",
        (
            "; check its spelling (nm -DC LIBRARY lists the names), and that the program loads its"
            " library"
        ),
    ),
)
"""One row per reason why a breakpoint was never hit.

The first item is True if a loaded library defines the function. The second is the reason, the
third is advice.
"""
_USE_BACKEND = (
    f". {BACKEND_SYMBOL} is loaded, by which PyTorch 2 calls cuDNN instead: break there (--break"
    f" {BACKEND_SYMBOL}, or --preset cudnn), or run the program with TORCH_CUDNN_V8_API_DISABLED=1"
)


class Breakpoint(Struct):
    """Holds the breakpoint of one symbol, with its counts."""

    symbol: str
    number: str = ""
    is_found: bool = False
    """True if a loaded library defines the symbol."""
    n_calls: int = 0
    """The number of calls of the symbol.

    If a library forwards a call to the same symbol in another library, the call counts once.
    """
    n_matching: int = 0
    """The number of calls with the wanted frame in their stack."""
    n_kept: int = 0
    """The number of kept stacks."""
    is_removed: bool = False

    def update(self, described: Record) -> None:
        """Set `is_found` from gdb's description of the breakpoint.

        Once True, `is_found` stays True. After the program's end, gdb describes every breakpoint
        as pending.
        """
        self.is_found |= described.get("addr") != _PENDING

    def remove(self, session: Session) -> None:
        """Delete the breakpoint, so that the program no longer stops there."""
        if not self.is_removed:
            self.is_removed = True
            with suppress(RefusedError):
                session.ask(f"-break-delete {self.number}")


class Breakpoints(Struct):
    """Holds all breakpoints of a run, by gdb's number."""

    symbols: tuple[str, ...]
    _by_number: dict[str, Breakpoint] = field(default_factory=dict)
    # A disabled breakpoint. If only symbols of cuDNN's older interface are requested, it shows
    # whether a loaded library defines the newer interface.
    _backend: Breakpoint = field(default_factory=lambda: Breakpoint(BACKEND_SYMBOL))

    def insert(self, session: Session) -> None:
        """Set a breakpoint at each symbol, even if no loaded library defines the symbol yet.

        Raises ToolError if gdb refuses a symbol.
        """
        for symbol in self.symbols:
            self._insert(session, Breakpoint(symbol), "-f")
        if BACKEND_SYMBOL not in self.symbols and _LEGACY.intersection(self.symbols):
            self._insert(session, self._backend, "-f -d")

    def _insert(self, session: Session, breakpoint_: Breakpoint, options: str) -> None:
        symbol = breakpoint_.symbol
        if not symbol.isprintable() or not symbol.strip():
            raise UsageError(
                f"--break {symbol!r}: expected the name of a function, such as {BACKEND_SYMBOL}"
            )
        quoted = symbol.replace("\\", "\\\\").replace('"', '\\"')
        try:
            described: Any = session.ask(f'-break-insert {options} -- "{quoted}"').get("bkpt", {})
        except RefusedError as error:
            raise ToolError(
                f"--break {symbol}: gdb refuses it: {error}; name a function as nm -DC prints it"
            ) from error
        breakpoint_.number = str(described.get("number", ""))
        breakpoint_.update(described)
        self._by_number[breakpoint_.number] = breakpoint_

    def at(self, stop: Record) -> Breakpoint | None:
        """Return the breakpoint of a stop, None if the breakpoint was removed."""
        breakpoint_hit = self._by_number.get(str(stop.get("bkptno", "")).partition(".")[0])
        return None if breakpoint_hit is None or breakpoint_hit.is_removed else breakpoint_hit

    def modified(self, described: Any) -> None:
        """Handle gdb's notice `=breakpoint-modified`."""
        if isinstance(described, dict) and (
            changed := self._by_number.get(str(described.get("number")))
        ):
            changed.update(described)

    def remove_all(self, session: Session) -> None:
        """Delete all breakpoints."""
        for breakpoint_ in self._by_number.values():
            breakpoint_.remove(session)

    def unreached(self) -> str | None:
        """Return why some breakpoints gave no stack, and what to do about it.

        Return None if every breakpoint gave a stack.
        """
        empty = [b for b in self._by_number.values() if b is not self._backend and not b.n_kept]
        texts = [
            f"{b.symbol} was called {b.n_calls} times, and no call was kept: check --where-frame"
            f" and --skip ({b.n_matching} calls had the frame)"
            for b in empty
            if b.n_calls
        ]
        for is_found, why, what_next in _WHY_NEVER:
            symbols = [b.symbol for b in empty if not b.n_calls and b.is_found is is_found]
            use_backend = self._backend.is_found and _LEGACY.intersection(symbols)
            if symbols:
                texts.append(
                    f"{', '.join(symbols)}: {why}{_USE_BACKEND if use_backend else what_next}"
                )
        return "; ".join(texts) or None
