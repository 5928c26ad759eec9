"""A trace's text as it is read: a window that moves on, and searches in it that no cut of the text can mislead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_DONE_WITH = 1 << 20


class Text:
    """Text from some place on, of which more comes when it is asked for; `at` is where the reader is."""

    def __init__(self, pieces: Iterable[bytes], name: str = "the text") -> None:
        """Text in pieces; errors call it by its name."""
        self.name = name
        self.data = bytearray()
        self.at = 0
        self.over = False
        self.start = 0
        """How much text there was before `data`."""
        self._pieces: Iterator[bytes | memoryview] = iter(pieces)

    @property
    def place(self) -> int:
        """Where the reader is in the whole text."""
        return self.start + self.at

    @property
    def left(self) -> int:
        """How much text is there from `at` on."""
        return len(self.data) - self.at

    def more(self) -> bool:
        """Read on; False, and `over`, when nothing is left. Text before `at` may be let go."""
        if self.at > _DONE_WITH:
            del self.data[: self.at]
            self.start += self.at
            self.at = 0
        for piece in self._pieces:
            if piece:
                self.data += piece
                return True
        self.over = True
        return False

    def reach(self, size: int) -> None:
        """See to it that so much text is there, unless it is over before."""
        while self.left < size and self.more():
            pass

    def skip(self, characters: bytes) -> None:
        """Move on over all of these characters that are there already."""
        left = len(self.data) - self.at
        step = 64
        while left > 0:
            part = self.data[self.at : self.at + step]
            kept = len(part.lstrip(characters))
            self.at += len(part) - kept
            left -= len(part) - kept
            if kept:
                return
            step *= 4

    def rest(self) -> Iterator[bytes | memoryview]:
        """All text from `at` on; the window is empty afterwards."""
        begun, pieces = bytes(self.data[self.at :]), self._pieces
        self.start += len(self.data)
        self.data, self.at = bytearray(), 0
        yield begun
        yield from pieces

    def resume(self, begun: bytes | bytearray, pieces: Iterator[bytes | memoryview], start: int) -> None:
        """Go on with text that was taken by `rest` and not needed."""
        self.data, self.at, self.start, self.over = bytearray(begun), 0, start, False
        self._pieces = pieces


class Finder:
    """Where a pattern that starts with a brace, and holds no other, matches next; no text is searched twice."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self._found: tuple[int, int] | None = None
        self._searched = 0

    def next(self, text: Text) -> tuple[int, int] | None:
        """Begin and end in `text.data` of the first match from `text.at` on; None where none is there yet."""
        if self._found is None or self._found[0] < text.place:
            begin = max(text.place, self._searched) - text.start
            match = self._pattern.search(text.data, begin)
            if match is None:
                # A match that more text completes can only start at the last brace.
                brace = text.data.rfind(b"}", begin)
                self._searched = text.start + (len(text.data) if brace < 0 else brace)
                return None
            self._found = text.start + match.start(), text.start + match.end()
        return self._found[0] - text.start, self._found[1] - text.start
