"""Frames as gdb's machine interface describes them."""

from __future__ import annotations

from collections.abc import Mapping

from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION, PrintedFrame, file_name, without_folders
from tracelens.derive.stacks.stack_tables import StackFrame


def mi_frame(record: Mapping[str, str]) -> StackFrame | None:
    """The frame of a `frame={…}` record, without folders; null where it has no level."""
    level, number = record.get("level", ""), record.get("line", "")
    if not (level.isascii() and level.isdigit() and len(level) < 8):
        return None
    printed = PrintedFrame(
        without_folders(record.get("func", "")) or UNKNOWN_FUNCTION,
        file_name(record.get("from", "")),
        file_name(record.get("file", "")),
        int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None,
    )
    return StackFrame(int(level), record.get("addr"), printed)
