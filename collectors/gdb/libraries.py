"""The libraries of the program under gdb: their address ranges, and which have debug information."""

from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tracelens.collectors.gdb.mi import RefusedError, Session
from tracelens.derive.stacks.frame_names import file_name

_NO_SUCH_FILE = "^[.]no-such-file$"


@dataclass(slots=True)
class Libraries:
    """The loaded libraries, kept up to date by gdb's notices."""

    _names: dict[str, tuple[str, list[tuple[int, int]]]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _ranges: list[tuple[int, int, str]] | None = None
    _debug: dict[str, bool | None] = field(default_factory=dict)

    def loaded(self, payload: dict[str, Any]) -> None:
        """Handle gdb's notice `=library-loaded`."""
        name = file_name(str(payload.get("target-name", payload.get("id", ""))))
        ranges = [
            (int(item["from"], 16), int(item["to"], 16))
            for item in payload.get("ranges", [])
            if isinstance(item, dict) and "from" in item and "to" in item
        ]
        if name:
            self._names[str(payload.get("id", name))] = (name, ranges)
            self._ranges = None

    def unloaded(self, payload: dict[str, Any]) -> None:
        """Handle gdb's notice `=library-unloaded`."""
        if self._names.pop(str(payload.get("id", "")), None):
            self._ranges = None

    def look_up(self, session: Session, libraries: Iterable[str | None]) -> None:
        """Ask gdb which object files have debug information, unless all of these libraries are known already.

        This takes some tenths of a second, as gdb lists a thousand source files. gdb before 12 has no such command.
        """
        if all(library is None or library in self._debug for library in libraries):
            return
        with suppress(RefusedError):
            answer = session.ask(f"-file-list-exec-source-files --group-by-objfile -- {_NO_SUCH_FILE}")
            for item in answer.get("files", []):
                path = str(item.get("filename", ""))
                # Separate files of debug information are listed too; their libraries then have it as well.
                if path.startswith("/") and not path.endswith(".debug") and (name := file_name(path)):
                    self._debug[name] = item.get("debug-info") != "none"
        for library in libraries:
            if library is not None:
                self._debug.setdefault(library, None)

    def at(self, address: str | None) -> str | None:
        """The library whose code contains the address; null for the program itself and for generated code."""
        if address is None:
            return None
        if self._ranges is None:
            self._ranges = sorted((*span, name) for name, spans in self._names.values() for span in spans)
            self._starts = [span[0] for span in self._ranges]
        number = int(address, 16)
        index = bisect_right(self._starts, number) - 1
        if index >= 0 and number < self._ranges[index][1]:
            return self._ranges[index][2]
        return None

    def has_debug_info(self, library: str | None) -> bool | None:
        """Whether the library has debug information; null where gdb has not listed it."""
        return self._debug.get(library) if library else None

    def build_kinds(self) -> dict[str, str]:
        """Debug, release or unknown, by library, the program itself included."""
        words = {True: "debug", False: "release", None: "unknown"}
        return {name: words[debug] for name, debug in sorted(self._debug.items())}
