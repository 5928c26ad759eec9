"""Continuing after text that is not JSON: the event is repaired or lost, and the next one is found.

The decisions depend only on the text that follows, never on where a buffer ends, so that every
reader of a trace finds the same events, however it divides the text. Failed searches are limited in
proportion to the text read so far, so that no damage takes quadratic time.
"""

import json
import re
from collections import deque

from tracelens.collectors.torch.events import BOUNDARY, EVENT_START, Event, is_json, object_end
from tracelens.collectors.torch.repair import LONGEST_REPAIRED, TOO_DEEP, mended
from tracelens.collectors.torch.text import Finder, Text
from tracelens.limits import EVENT_MIB
from tracelens.trace.capture import Diagnostics

# Only these top-level keys are read. A trace's user metadata has been seen to hold a whole
# environment with tokens.
KEYS = (
    "schemaVersion",
    "deviceProperties",
    "distributedInfo",
    "baseTimeNanoseconds",
    "cupti_version",
    "cuda_runtime_version",
    "cuda_driver_version",
    "hip_runtime_version",
    "hip_driver_version",
    "record_shapes",
    "with_stack",
    "with_modules",
    "with_flops",
    "profile_memory",
    "host_name",
)
LONG = 1 << 20
"""Only `Recovery` reads an event longer than this."""
SEPARATORS = b" \t\r\n,"

_NEAR = 1 << 16
_LITTLE = 1 << 9
# Looking at text in vain, in units of what the quickest look costs for a byte: about 10 ns.
_BY_BRACKETS, _BY_REPAIR = 4, 64
_EFFORT_FREE = 64 << 20
_EFFORT_A_BYTE = 16
_ENDS_TRIED = 4
_PH_FIRST = re.compile(rb'\{\s*"ph"\s*:')
_TAIL_KEYS = {key.encode() for key in (*KEYS, "traceName", "displayTimeUnit", "trace_id")}
# The bracket that closes the event list, by what follows it; surely so where that is a key that
# stands there.
_END = re.compile(rb'\](?<=[}\s]\])\s*(?:,\s*"\w+"\s*:|(\}?\s*(?:\Z|[\[{\0])))')
_SURE_END = re.compile(rb'\](?<=[}\s]\])\s*,\s*"(?:' + b"|".join(sorted(_TAIL_KEYS)) + rb')"\s*:')
_SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in its types
LOST = "events that are not JSON and could not be repaired"


class Recovery:
    """Continues reading a text where `Text.at` stands at something that is not an intact event."""

    def __init__(self, text: Text, diagnostics: Diagnostics) -> None:
        """Nothing is damaged yet."""
        self.in_remains = False
        """Whether an event was lost, so that the following text may be a nested part of it."""
        self.short_until = 0
        """Up to this place, events longer than LONG are not searched for, as one was found to
        have no end."""
        self._text, self._diagnostics = text, diagnostics
        self._boundary, self._end, self._sure_end = (
            Finder(BOUNDARY),
            _EndFinder(_END),
            _EndFinder(_SURE_END),
        )
        self._spent = 0
        self._has_moved = False

    def step(self) -> Event | None:
        """Read one event or skip something, and move `Text.at`; None where nothing was read.

        An event is, in this order: JSON with an end near by; the text before the next event's
        start, or the list's end, if it can be repaired; the text up to a brace near by, likewise;
        and JSON, or nearly, of any length.
        """
        spent = self._spent
        event = self._read()
        if event is not None:
            self._spent = spent  # all that counts is what was looked at in vain
        return event

    def _read(self) -> Event | None:
        text = self._text
        self._has_moved = False
        text.reach(_NEAR)
        end, is_cut = self._json_end()
        event = (
            mended(bytes(text.data[text.at : text.at + end]), self._diagnostics) if end else None
        )
        if event is not None:
            return self._taken(event, text.at + end)
        following = self._following()
        if following is None:
            return None
        stop, after = following
        event = self._mended(text.at, stop)
        if event is not None:
            return self._taken(event, after)
        event = self._before_the_end(stop)
        if not self._has_moved:
            event = self._closed_by_brace(stop)
        if is_cut and not self._has_moved:
            event = self._long()
        # What was read for a long event may have moved the text.
        if not self._has_moved and (following := self._following()) is not None:
            self._lose(*following)
        return event

    def _taken(self, event: Event, at: int) -> Event | None:
        """Return the event, unless it is a part of a lost one: such parts have no phase."""
        self._text.at, self._has_moved = at, True
        if event is TOO_DEEP:
            self.in_remains = False
            return None
        if self.in_remains and not isinstance(event.ph, str):
            return None
        self.in_remains = False
        return event

    def _room(self) -> int:
        """Return how many more bytes failed searches may cover."""
        return max(0, _EFFORT_FREE + _EFFORT_A_BYTE * self._text.place - self._spent)

    def _json_end(self) -> tuple[int, bool]:
        """Length of the JSON object that starts here, 0 for none.

        And whether it may end farther on.
        """
        text = self._text
        if text.data[text.at : text.at + 1] != b"{":
            return 0, False
        limit = min(_NEAR, text.left, max(_LITTLE, self._room()))
        end, stopped, is_cut = _scanned(text.data[text.at : text.at + min(limit, _LITTLE)])
        if is_cut and limit > _LITTLE:
            end, stopped, is_cut = _scanned(text.data[text.at : text.at + limit])
        if end:
            return end, False
        self._spent += stopped
        return 0, is_cut and limit < text.left

    def _following(self) -> tuple[int, int] | None:
        """Return the place where the next event seems to start, and where this one ends before it.

        Return None after moving on. Without a next event, this moves on to the text's end. Text
        longer than any event may be is skipped.
        """
        text, limit = self._text, EVENT_MIB.value << 20
        while True:
            found = self._boundary.next(text)
            if found is not None and found[0] - text.at <= limit:
                return found[0] + 1, found[1]
            if found is not None or text.left > limit:
                break
            if not text.more():
                return len(text.data), len(text.data)
        if not self.in_remains:
            what = f"more than {EVENT_MIB.value} MiB that are no event; {EVENT_MIB.how_to_raise}"
            self._diagnostics.add("loss", "event_too_long", what)
        self.in_remains = True
        text.at = found[1] if found is not None else max(text.data.rfind(b"}"), text.at + limit)
        return None

    def _mended(self, begin: int, end: int) -> Event | None:
        size = end - begin
        if size > min(LONGEST_REPAIRED, self._room() // _BY_REPAIR):
            return None
        event = mended(bytes(self._text.data[begin:end]), self._diagnostics)
        self._spent += 0 if event is not None else size * _BY_REPAIR
        return event

    def _before_the_end(self, stop: int) -> Event | None:
        """Return the event right before the end of the list, if that comes before `stop`."""
        text = self._text
        at = text.at
        for _ in range(_ENDS_TRIED):
            end = self._end.next(text, at, min(stop, text.at + LONG))
            if end is None:
                return None
            event = self._mended(text.at, end)
            if event is not None:
                return self._taken(event, end)
            at = end + 1
        return None

    def _closed_by_brace(self, stop: int) -> Event | None:
        """Return the event up to its closing brace.

        It is for events without a separator, or with a next start inside nested data.
        """
        text = self._text
        if text.data[text.at : text.at + 1] != b"{":
            return None
        limit = min(len(text.data), text.at + min(_NEAR, self._room() // _BY_BRACKETS))
        close = object_end(text.data, text.at, limit)
        if close is None:
            self._spent += (limit - text.at) * _BY_BRACKETS
            return None
        event = None if close == stop else self._mended(text.at, close)
        return None if event is None else self._taken(event, close)

    def _long(self) -> Event | None:
        """Return an event that does not end near by, if it ends at all.

        Searched for only once in so much text.
        """
        text, limit = self._text, EVENT_MIB.value << 20
        if text.place < self.short_until:
            return None
        text.reach(limit)
        close = object_end(text.data, text.at, min(len(text.data), text.at + limit))
        event = (
            None if close is None else mended(bytes(text.data[text.at : close]), self._diagnostics)
        )
        if event is None or close is None:
            self.short_until = text.place + limit
            return None
        return self._taken(event, close)

    def _lose(self, stop: int, after: int) -> None:
        """Count the event as lost, and move to where another may start."""
        text = self._text
        is_last = stop == len(text.data)
        end = self._sure_end.next(text, text.at, min(stop, text.at + LONG))
        is_event = text.data[text.at : text.at + 1] == b"{"
        start = _PH_FIRST if is_event or self.in_remains else EVENT_START
        glued = start.search(text.data, text.at + 1, stop if end is None else end)
        if not self.in_remains and is_last and end is None and glued is None:
            what = "the file ends inside an event; the event is lost"
            self._diagnostics.add("loss", "event_cut", what)
        elif not self.in_remains:
            self._diagnostics.add("loss", "event_damaged", LOST)
        self.in_remains = True
        if glued is not None:
            text.at = glued.start()
        elif end is not None:
            text.at, self.in_remains = end, False
        else:
            text.at = after


def _scanned(window: bytearray) -> tuple[int, int, bool]:
    """Length of the JSON object that a window begins with, 0 for none.

    Also how far it was read, and whether it is cut.
    """
    limit = len(window)
    try:
        end = _SCAN(window.decode("latin-1"), 0)[1]
        return (end if is_json(bytes(window[:end])) else 0), end, False
    except json.JSONDecodeError as error:
        is_cut = error.pos > limit - 16 or error.msg.startswith("Unterminated string")
        return 0, (limit if is_cut else error.pos), is_cut
    except StopIteration as error:
        return 0, error.value, error.value > limit - 16
    except (RecursionError, ValueError):  # the latter for a number of thousands of digits
        return 0, limit, True


class _EndFinder:
    """The next place that looks like the end of the list.

    Remembered, so that no bracket is looked at twice.
    """

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        """A pattern that starts with a bracket; all places are those of the whole text."""
        self._pattern = pattern
        self._searched = (0, 0)
        self._found: deque[tuple[int, int]] = deque()
        """Begin and end of each end that was found in what was searched."""
        self._undecided = (0, 0)
        """A bracket that more text may make an end, and how far the text went then."""

    def next(self, text: Text, begin: int, stop: int) -> int | None:
        """Return the first such bracket in `text.data[begin:stop]`, with what makes it an end."""
        first, last = text.start + begin, text.start + stop
        low, high = self._searched
        if not low <= first <= high:
            low = high = first
            self._found.clear()
        while self._found and self._found[0][0] < text.place:
            self._found.popleft()
        found = next((end for end in self._found if end[0] >= first), None)
        while found is None and high < last:
            at = text.data.find(b"]", high - text.start, stop)
            high = last if at < 0 else text.start + at
            if at < 0 or not self._is_decided(text, at):
                break
            match = self._pattern.match(text.data, at)
            high += 1
            if match is not None:
                found = text.start + at, text.start + match.end()
                self._found.append(found)
        self._searched = low, high
        return None if found is None or found[1] > last else found[0] - text.start

    def _is_decided(self, text: Text, at: int) -> bool:
        """Return whether enough text follows a bracket to say what it is."""
        if text.over or len(text.data) - at > _NEAR:
            return True
        here = text.start + at, text.start + len(text.data)
        if here != self._undecided:
            match = self._pattern.match(text.data, at)
            if match is not None and match.end() < len(text.data):
                return True
            self._undecided = here
        return False
