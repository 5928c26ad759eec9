"""Read call stacks from gdb's logs: the output of `bt`, as printed or copied from a terminal.

It reads the formats of gdb 8 to 15 and cuda-gdb 13.0.
"""

import os
import re
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct, field

from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION, split_frame
from tracelens.derive.stacks.stack_tables import StackFrame, Stop, drop_doubled, stack_tables
from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.storage.limits import LOG_MIB
from tracelens.trace.capture import Capture, Diagnostics, SourceFile

KIND = "gdb"

_NEXT = (
    'record one with: gdb -batch -ex "break SYMBOL" -ex run -ex bt --args PROGRAM > stacks.txt, '
    "or directly: tracelens collect gdb --break SYMBOL -- PROGRAM"
)
# No pattern here can match a text in two ways, so a line of a megabyte is read in one pass.
_FRAME = re.compile(r"\s*#(\d{1,7})\s+(?:(0x[0-9a-fA-F]+) in )?(\S.*)")
_PREFIX = re.compile(r"(.{0,160}?[\s\]:|>)])(?=#\d{1,7} )")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PAGER = re.compile(
    r"-{2,3}Type <(?:RET|return)>[^\n]{0,80}?(?:paging|quit)-{2,3}(?:[cq](?=\s|$))?"
)
_PLACE = re.compile(r"at \S|from \S|\(")
_REMARKS = ("(More stack frames follow", "Backtrace stopped:", "Thread ", "[", "Quit", "warning: ")
_SOURCE = re.compile(r"\d{1,7}\t")
_LWP = re.compile(r"\(LWP (\d{1,18})\)")
_THREAD = re.compile(r"Thread (\d+(?:\.\d+)?)[ :]")
_INFERIOR = re.compile(r"\[Inferior \d+ \(process (\d{1,18})\)")
_VERSION = re.compile(r"(?:GNU gdb \D{0,80}|NVIDIA \(R\) cuda-gdb )(\d{1,4}[.\d]{0,20})")
_HEAD_FRAME = re.compile(
    rb"^.{0,160}?#(?:\d  |\d\d+ )(?:0x[0-9a-fA-F]+ in |[^\s#][^\n]{0,4000} \()", re.MULTILINE
)
_HEAD_GDB = re.compile(
    rb"^(?:GNU gdb |NVIDIA \(R\) cuda-gdb |Reading symbols from |\[Thread debugging using"
    rb" libthread_db"
    rb"|Breakpoint \d+(?: \([^\n)]{1,200}\) pending| at 0x)|Thread \d+[^\n]{0,80} hit Breakpoint )",
    re.MULTILINE,
)
_MI_HEAD = re.compile(rb"\^done,stack=\[frame=\{|\*stopped,reason=")


def sniff(path: Path, head: bytes) -> bool:  # noqa: ARG001 - every collector has this signature
    """Return whether the first bytes of a file look like gdb's output.

    gdb's output has a frame, one of gdb's own messages, or an MI record.
    """
    start = head.lstrip()
    if start.startswith((b"{", b"<", b"SQLite format", b"\x1f\x8b")):
        return False
    return any(pattern.search(head) for pattern in (_HEAD_FRAME, _HEAD_GDB, _MI_HEAD))


def read(path: Path, *, implementation: str | None = None) -> list[Capture]:
    """Return one Capture with the stacks of a log, in the order printed.

    `implementation` is the file's stem by default. Names keep parameter types, but no argument
    values. Files and libraries are without folders. If gdb left out frames, their levels are
    missing, and the stack is marked truncated. Raises SourceError for a file without frames.
    """
    try:
        text = _content(path).decode("utf-8", errors="replace")
        source = SourceFile.of(path, KIND)
    except OSError as error:
        raise SourceError(
            f"{path}: expected a gdb log, cannot be read ({error.strerror}); {_NEXT}"
        ) from error
    diagnostics = Diagnostics()
    diagnostics.add(
        "warning",
        "undecodable_bytes",
        "bytes that are not UTF-8, read as U+FFFD",
        text.count("\ufffd"),
    )
    lines = _COLOUR.sub("", text).split("\n")
    log = _Log(diagnostics)
    stops = log.read(lines)
    if not stops:
        raise SourceError(_no_frame(path, lines, source.size_bytes))
    kept = drop_doubled(stops)
    diagnostics.add(
        "info",
        "doubled_stop",
        "stops at the second export of a symbol, in the same call",
        len(stops) - len(kept),
    )
    count_losses(kept, diagnostics)
    tables = stack_tables(
        kept,
        implementation or os.fsencode(path.stem).decode(errors="replace"),
        log.process_id,
    )
    version = next(
        (match[1] for line in lines if (match := _VERSION.match(line))),
        None,
    )
    return [
        Capture(
            kind=KIND,
            source=source,
            tables=tables,
            producer="gdb",
            rank=0,  # logs of one program are of one rank, unless the user says otherwise
            versions={"gdb": version} if version else {},
            complete=not any(stop.truncated for stop in kept),
            reasons=dict.fromkeys(TABLES, "a gdb log holds call stacks only"),
            diagnostics=diagnostics,
        )
    ]


def _content(path: Path) -> bytes:
    """Return the bytes of a log. Raises SourceError above the limit on its size."""
    limit = LOG_MIB.value << 20
    with path.open("rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise SourceError(
            f"{path}: expected a gdb log, found more than {LOG_MIB.value} MiB;"
            f" {LOG_MIB.how_to_raise}, or cut the log"
        )
    return content


def _no_frame(path: Path, lines: list[str], size_bytes: int) -> str:
    n_stops = sum("*stopped," in line[:400] for line in lines)
    if n_stops:
        return (
            f"{path}: expected what bt prints, found {n_stops} stops in the words of gdb's machine"
            f" interface; {_NEXT}"
        )
    pending = any(" pending." in line[:400] for line in lines)
    hint = "; its breakpoint was still pending: check the symbol's name" if pending else ""
    return (
        f"{path}: expected frames such as '#0  0x… in cudnnBackendExecute () from libcudnn.so.9',"
        f" found none in {len(lines)} lines ({size_bytes} bytes){hint}; {_NEXT}"
    )


def count_losses(stops: list[Stop], diagnostics: Diagnostics) -> None:
    """Record in `diagnostics` how many frames and function names the stacks lack."""
    for stop in stops:
        missing = stop.frames[-1].level + 1 - len(stop.frames)
        diagnostics.add("warning", "missing_frames", "frames skipped in gdb's numbering", missing)
        unnamed = sum(frame.printed.raw_function == UNKNOWN_FUNCTION for frame in stop.frames)
        diagnostics.add(
            "info", "unnamed_frames", "frames whose function gdb does not know (??)", unnamed
        )


class _Log(Struct):
    """Parses the lines of a `bt` log one after another.

    A frame stays open until its text is complete.
    """

    diagnostics: Diagnostics
    process_id: int | None = None
    stops: list[Stop] = field(default_factory=list)
    _prefix: re.Pattern[str] | None = None
    _parts: list[str] = field(default_factory=list)  # text of the open frame
    _head: tuple[int, str | None] = (0, None)  # the open frame's level and address
    _unclosed: int = 0  # the open frame's unclosed parentheses
    # True if a source line follows the newest frame, as after `frame`, `up` and `down` (not `bt`)
    _source_shown: bool = False
    _thread: str | None = None
    _thread_id: int | None = None
    # The system's thread ids, by gdb's thread number
    _lwps: dict[str, int] = field(default_factory=dict)

    def read(self, lines: list[str]) -> list[Stop]:
        """Return the backtraces in the log."""
        for line in lines:
            self._line(line.rstrip("\r"))
        if lines and lines[-1].strip():
            self._end_within_line()
        self._close()
        return self._backtraces()

    def _end_within_line(self) -> None:
        """Mark the last stack as truncated if the log ends within a frame.

        Drop this frame if even the name of its function is cut off.
        """
        text = " ".join(self._parts)
        # A whole frame has its arguments in parentheses. gdb's remarks are in brackets.
        if not text or text.startswith("<") or (" (" in text and self._unclosed <= 0):
            return
        self.stops[-1].truncated = True
        self.diagnostics.add("warning", "log_cut", "stacks in which the log ends")
        if " (" not in text and self.stops[-1].frames:
            self._parts = []

    def _line(self, raw: str) -> None:
        line = _PAGER.sub("", raw) if "-Type <" in raw else raw
        if self._prefix and (prefixed := self._prefix.match(line)):
            line = line[prefixed.end() :]
        if not line.strip() or self._frame(line):
            return
        if self._parts and self._continues(line):
            self._parts.append(line.strip())
            self._unclosed += line.count("(") - line.count(")")
            return
        self._close()
        self._remark(line.strip())

    def _frame(self, line: str) -> bool:
        """Open the frame that begins on this line, and return whether a frame begins there."""
        match = _FRAME.match(line)
        if match is None and "#" in line[:170] and (prefix := _PREFIX.match(line)):
            match = _FRAME.match(line, prefix.end())
            if match and (match[2] or " (" in match[3]):
                # Prefixes that differ only in numbers, such as times or ranks, count as equal.
                shape = "".join(
                    r"\d+" if p.isdigit() else re.escape(p) for p in re.split(r"(\d+)", prefix[1])
                )
                self._prefix = re.compile(shape)
        if match is None:
            return False
        level, last = int(match[1]), self._last_level()
        if not (
            match[2]
            or " (" in match[3]
            or match[3].startswith("<")
            or (last is not None and level == last + 1)
        ):
            return False
        self._close()
        if last is None or level <= last or self._source_shown:
            self.stops.append(
                Stop(
                    thread=self._thread,
                    thread_id=self._thread_id,
                    truncated=level > 0,
                )
            )
            self._source_shown = False
        elif level > last + 1:
            self.stops[-1].truncated = True
        self._head, self._parts = (level, match[2]), [match[3]]
        self._unclosed = match[3].count("(") - match[3].count(")")
        return True

    def _last_level(self) -> int | None:
        """Return the newest frame's level, None before the first frame."""
        if self._parts:
            return self._head[0]
        return self.stops[-1].frames[-1].level if self.stops else None

    def _continues(self, line: str) -> bool:
        """Return whether the line continues the frame that began on an earlier line."""
        indented = line[0] in " \t"
        # A terminal breaks a line anywhere.
        if self._unclosed > 0:
            return indented or not line.startswith(_REMARKS)
        # gdb breaks a line before arguments, and before the file or library.
        return indented and _PLACE.match(line.strip()) is not None

    def _close(self) -> None:
        if self._parts:
            level, address = self._head
            self.stops[-1].frames.append(
                StackFrame(level, address, split_frame(" ".join(self._parts)))
            )
            self._parts = []

    def _remark(self, line: str) -> None:
        """Handle gdb's remarks between frames and stops."""
        if self.stops and line.startswith("(More stack frames follow"):
            self.stops[-1].truncated = True
            self.diagnostics.add("warning", "frames_cut", "stacks cut by a limit given to bt")
        elif self.stops and line.startswith("Backtrace stopped:"):
            self.stops[-1].truncated = True
            self.diagnostics.add(
                "warning", "backtrace_stopped", "stacks that gdb could not unwind to their end"
            )
        elif self.stops and line == "Quit":
            self.stops[-1].truncated = True
            self.diagnostics.add("warning", "pager_quit", "stacks cut at the pager")
        elif _SOURCE.match(line):
            self._source_shown = True
        elif process := _INFERIOR.match(line):
            self.process_id = int(process[1])
        elif line.startswith(("Thread ", "[Switching to Thread ")):
            self._switch(line)

    def _switch(self, line: str) -> None:
        lwp, thread = _LWP.search(line, 0, 200), _THREAD.match(line)
        if thread and lwp:
            self._lwps[thread[1]] = int(lwp[1])
        if lwp:
            self._thread_id = int(lwp[1])
        if thread:
            if not lwp and thread[1] != self._thread:
                self._thread_id = self._lwps.get(thread[1], self._thread_id)
            self._thread = thread[1]

    def _backtraces(self) -> list[Stop]:
        """Return the stops that are backtraces, and leave out frames that gdb printed alone.

        gdb prints a single frame on attaching, and after `frame`, `up` and `down`.
        """
        kept = []
        for stop, following in zip_longest(self.stops, self.stops[1:]):
            echo = (
                following is not None
                and len(following.frames) > 1
                and following.frames[0] == stop.frames[0]
            )
            selected = stop.frames[0].level > 0 and len(self.stops) > 1
            if len(stop.frames) > 1 or not (echo or selected):
                kept.append(stop)
        n_dropped = len(self.stops) - len(kept)
        self.diagnostics.add(
            "info", "single_frame", "frames printed alone, beside the backtraces", n_dropped
        )
        return kept
