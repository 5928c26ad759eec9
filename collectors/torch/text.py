"""Read a trace's text through a moving window, and search in the window.

Results of a search do not depend on where the window ends.
"""

import re
from collections.abc import Iterable, Iterator

_DONE_WITH = 1 << 20


class Text:
    """Holds a window of text, extended on demand. `at` is the reader's position in the window."""

    def __init__(self, pieces: Iterable[bytes], name: str = "the text") -> None:
        """Hold an iterator of texts without reading it. `name` is used in errors."""
        self.name = name
        self.data = bytearray()
        self.at = 0
        self.over = False
        self.start = 0
        """The length of the text before `data`."""
        self._pieces: Iterator[bytes | memoryview] = iter(pieces)

    @property
    def offset(self) -> int:
        """The reader's position in the whole text, in bytes."""
        return self.start + self.at

    @property
    def left(self) -> int:
        """The length of the window's text from `at` on."""
        return len(self.data) - self.at

    def more(self) -> bool:
        """Extend the window, and return True.

        If no text is left, set `over` and return False. Text before `at` may be dropped.
        """
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
        """Extend the window until it has `size` bytes from `at` on, or the text ends."""
        while self.left < size and self.more():
            pass

    def skip(self, characters: bytes) -> None:
        """Move `at` past any of these characters."""
        match = re.compile(b"[" + re.escape(characters) + b"]*").match(self.data, self.at)
        self.at = match.end() if match else self.at

    def rest(self) -> Iterator[bytes | memoryview]:
        """Yield all text from `at` on. The window is empty afterwards."""
        begun, pieces = bytes(self.data[self.at :]), self._pieces
        self.start += len(self.data)
        self.data, self.at = bytearray(), 0
        yield begun
        yield from pieces

    def resume(
        self,
        begun: bytes | bytearray,
        pieces: Iterator[bytes | memoryview],
        start: int,
    ) -> None:
        """Continue at the offset `start`, after the caller read text from `rest`.

        `begun` is the new window, and `pieces` are the text after the window.
        """
        self.data, self.at, self.start, self.over = bytearray(begun), 0, start, False
        self._pieces = pieces


class Finder:
    """Finds the next match of a pattern, and searches no text twice.

    The pattern's first byte must occur only at the start of a match.
    """

    def __init__(self, pattern: re.Pattern[bytes], first_byte: bytes) -> None:
        self._pattern = pattern
        self._first_byte = first_byte
        self._match_begin: int | None = None
        self._searched = 0

    def next(self, text: Text, begin: int) -> int | None:
        """Return the position of the first match in `text.data` from `begin` on.

        Return None if the window has no match yet.
        """
        offset = text.start + begin
        if self._match_begin is None or self._match_begin < offset:
            begin = max(offset, self._searched) - text.start
            match = self._pattern.search(text.data, begin)
            if match is None:
                # A match that is not complete yet can only start at the last `first_byte`.
                last = text.data.rfind(self._first_byte, begin)
                self._searched = text.start + (len(text.data) if last < 0 else last)
                return None
            self._match_begin = text.start + match.start()
        return self._match_begin - text.start
