"""Continue reading after text that is not JSON.

The text up to the start of the next event is repaired into an event, or it is lost. The result does
not depend on how a reader divides the text.
"""

import json
import re

from tracelens.collectors.torch.events import EVENT_START, Event, is_json, object_end
from tracelens.collectors.torch.repair import TOO_DEEP, repaired_event
from tracelens.collectors.torch.text import Finder, Text
from tracelens.storage.limits import EVENT_MIB
from tracelens.trace.capture import Diagnostics

# Only these top-level keys are read. The user metadata of some traces holds a whole environment
# with tokens.
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
"""The size in bytes above which an event is read by `Recovery` only."""
SEPARATORS = b" \t\r\n,"
LOST = "events that are not JSON and could not be repaired"

_NEAR = 1 << 16
_LITTLE = 1 << 9
# The number of bytes that may be scanned for JSON without success, so that damage cannot take
# quadratic time.
_VAIN_BYTES = 64 << 20
_VAIN_BYTES_PER_BYTE_READ = 16
_PHASED = re.compile(rb'\{(?=[^{}]*"ph"\s*:)')
"""Matches an object whose key `ph` precedes any nested object, as in nearly all traces."""
_TAIL_KEYS = {key.encode() for key in (*KEYS, "traceName", "displayTimeUnit", "trace_id")}
_LIST_END = re.compile(rb'\}\s*\]\s*,\s*"(?:' + b"|".join(sorted(_TAIL_KEYS)) + rb')"\s*:')
"""Matches the last event's brace and the end of the list, if a known key follows."""
_SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in its types


class Recovery:
    """Continues reading a text where there is no intact event at `Text.at`."""

    def __init__(self, text: Text, diagnostics: Diagnostics) -> None:
        """Move the text's position to the first event."""
        text.reach(_NEAR)
        text.skip(SEPARATORS)
        # Later events are taken to have their keys in the same order as the first event.
        starts = _PHASED if _PHASED.match(text.data, text.at) else EVENT_START
        self.has_lost = False
        """True if the last event was lost. Damage often affects the next event, too."""
        self.is_cut = False
        """True if the text ended inside an event."""
        self._text, self._diagnostics = text, diagnostics
        self._starts = Finder(starts, b"{")
        self._ends = Finder(_LIST_END, b"}")
        self._n_vain_bytes = 0

    def step(self) -> Event | None:
        """Read one event or count it as lost, and move `Text.at` past it.

        Return None if no event was read.
        """
        text = self._text
        text.reach(_NEAR)
        size = self._json_end()
        if size and (event := self._repaired(text.at + size)):
            return self._move_past(event, text.at + size)
        stop = self._next_stop()
        if stop is None:
            return None
        begins_object = text.data[text.at : text.at + 1] == b"{"
        # A damaged event ends with its own brace or, if quotes hide that, before the next event.
        ends = (object_end(text.data, text.at, stop), stop) if begins_object else (stop,)
        for end in ends:
            if end is not None and (event := self._repaired(end)):
                return self._move_past(event, end)
        if stop == len(text.data):
            self.is_cut = True
            what = "the file ends inside an event; the event is lost"
            self._diagnostics.add("loss", "event_cut", what)
        else:
            self._diagnostics.add("loss", "event_damaged", LOST)
        text.at, self.has_lost = stop, True
        return None

    def _repaired(self, end: int) -> Event | None:
        piece = bytes(self._text.data[self._text.at : end])
        return repaired_event(piece.rstrip(SEPARATORS), self._diagnostics)

    def _move_past(self, event: Event, end: int) -> Event | None:
        """Move past the event and return it, None if its values are nested too deep."""
        self._text.at, self.has_lost = end, False
        return None if event is TOO_DEEP else event

    def _json_end(self) -> int:
        """Return the length of the JSON object that starts here, 0 if there is none."""
        text = self._text
        if text.data[text.at : text.at + 1] != b"{":
            return 0
        room = _VAIN_BYTES + _VAIN_BYTES_PER_BYTE_READ * text.offset - self._n_vain_bytes
        stopped = 0
        # The object's end is searched near its start first, then farther on while the text may
        # still be JSON.
        for size in (_LITTLE, _NEAR, EVENT_MIB.value << 20):
            if size > max(_LITTLE, room):
                break
            text.reach(size)
            end, stopped, is_unfinished = _scanned(text.data[text.at : text.at + size])
            if end:
                return end
            if not is_unfinished or text.left <= size:
                break
        self._n_vain_bytes += stopped
        return 0

    def _next_stop(self) -> int | None:
        """Return the position of the next event, or where the events end if no event follows.

        If this position is farther away than the size limit of an event, skip to the position,
        count a loss and return None.
        """
        text, limit = self._text, EVENT_MIB.value << 20
        is_too_long = False
        while True:
            start = self._starts.next(text, text.at + 1)
            end = self._ends.next(text, text.at)
            stops = [begin for begin in (start, None if end is None else end + 1) if begin]
            stop = min(stops, default=None)
            is_too_long |= (text.left if stop is None else stop - text.at) > limit
            if stop is not None:
                break
            if is_too_long:
                # The last bytes may be the beginning of an event's start, so they are kept.
                text.at = max(text.at, len(text.data) - _LITTLE)
            if not text.more():
                stop = len(text.data)
                break
        if not is_too_long:
            return stop
        what = f"more than {EVENT_MIB.value} MiB that are not events; {EVENT_MIB.how_to_raise}"
        self._diagnostics.add("loss", "event_too_long", what)
        self.is_cut = stop == len(text.data)
        text.at = stop
        return None


def _scanned(text: bytearray) -> tuple[int, int, bool]:
    """Measure the JSON object at the start of a window.

    Return the object's length (0 if there is none), the number of bytes that were scanned, and
    whether more text may complete the object.
    """
    limit = len(text)
    try:
        end = _SCAN(text.decode("latin-1"), 0)[1]
        return (end if is_json(bytes(text[:end])) else 0), end, False
    except json.JSONDecodeError as error:
        is_cut = error.pos > limit - 16 or error.msg.startswith("Unterminated string")
        return 0, (limit if is_cut else error.pos), is_cut
    except StopIteration as error:
        return 0, error.value, error.value > limit - 16
    except (RecursionError, ValueError):  # ValueError comes of a number with thousands of digits
        return 0, limit, True
