"""Make real torch.profiler traces larger: the same events repeated, with other times and ids.

    python -m benchmarks.enlarge OUT.json[.gz] --megabytes 500 [--layout kineto] [TRACE ...]

The text of each source's events becomes a template. Every repetition fills in these numbers anew;
everything else stays as the profiler wrote it, white space included.

- Times: a repetition starts a millisecond after the previous one ended. Durations stay.
- Ids (correlation and flow ids, External id, Ev Idx, Python ids, Sequence number) and numbers of
  steps: each continues after the previous repetition. Links never lead out of a repetition.
- Variety: a real trace repeats itself less. So one in sixteen of these gets another number: tile
  sizes and template arguments in kernel names, lines in stacks and names of Python functions,
  object addresses, first dimensions of shapes. Shapes of casts stay, as an analysis reports their
  bytes.

Names of processes and threads and the recording window occur once, at the end. The same sources and
sizes give the same JSON. Files are compressed at gzip's level 6.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from benchmarks.layouts import LAYOUTS, Document, read_document

SOURCES = ("resnet50_eager", "resnet50_train_f64_pageable")
SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "torch"
SEED = 20211
ONE_IN = 16
_GAP_US = 1000
# The kind of number that counts on, by the key of the event that holds it. The id of a launch's
# flow is the launch's correlation id.
_KINDS = {
    b"ts": "time",
    b"correlation": "correlation",
    b"External id": "external",
    b"Record function id": "record_function",
    b"Ev Idx": "event",
    b"Python id": "python",
    b"Python parent id": "python",
    b"Sequence number": "sequence",
    b"ProfilerStep": "step",
    b"flow": "flow",
}
_NONE_IS_ZERO = {"correlation", "external", "record_function", "flow"}
_COUNTED = re.compile(
    rb'"(ts|correlation|External id|Record function id|Ev Idx|Python id|Python parent id|Sequence'
    rb' number|id)":\s*(\d+)'
    rb'|"(ProfilerStep)#(\d+)'
)
_VARIED = {
    "kernel": re.compile(rb'"name":\s*"[^"]*?[<, _x](\d{1,3})(?=[>, _x])'),
    "code": re.compile(rb"\.py\((\d+)(?=\))|at 0x([0-9a-f]{6,})"),
    "shapes": re.compile(rb'"Input (?:Dims|Strides)":\s*\[\s*\[\s*(\d+)(?=\s*[,\]])'),
}
_SPREAD = {"kernel": 512, "code": 32, "shapes": 512}
_CASTS = {"aten::to", "aten::_to_copy", "aten::copy_"}
_LAUNCH_FLOWS = {"ac2g", "async_cpu_to_gpu"}


@dataclass(slots=True)
class Template:
    """Text with gaps for numbers: `kinds` has what each number counts, `values` its first value."""

    text: bytes = b""
    kinds: list[str] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    varied: list[tuple[int, int]] = field(default_factory=list)
    """Places in `values` of the numbers that may be changed, and by how much at most."""
    n_events: int = 0

    def filled(
        self,
        add: dict[str, int],
        rng: random.Random | None = None,
    ) -> bytes:
        """Fill in the numbers, each increased by its kind's value in `add`.

        If `rng` is given, one in sixteen of the numbers that may vary gets another value.
        """
        values = [value + add[kind] for value, kind in zip(self.values, self.kinds, strict=True)]
        if rng is not None:
            for place, spread in rng.sample(self.varied, len(self.varied) // ONE_IN):
                values[place] += rng.randrange(1, spread)
        return self.text % tuple(values)


class Source:
    """One trace: its repeated events, its events that occur once, and the range of each number."""

    def __init__(self, document: Document) -> None:
        """Make the templates."""
        self.document = document
        once = [_stands_once(event) for event in document.events]
        pairs = list(zip(document.texts, document.events, strict=True))
        self.repeated = _template(
            [p for p, o in zip(pairs, once, strict=True) if not o],
            document.separator,
        )
        self.once = _template(
            [p for p, o in zip(pairs, once, strict=True) if o],
            document.separator,
        )
        self.first: dict[str, int] = {}
        last: dict[str, int] = {}
        for kind, value in zip(self.repeated.kinds, self.repeated.values, strict=True):
            if kind != "varied":
                self.first[kind] = min(self.first.get(kind, value), value)
                last[kind] = max(last.get(kind, value), value)
        ends = [
            float(e["ts"].strip("\x01")) + float(str(e.get("dur", 0)).strip("\x01"))
            for e in document.events
        ]
        last["time"] = int(max(ends)) + _GAP_US
        self.length = {kind: last[kind] - first + 1 for kind, first in self.first.items()}


class Enlarger:
    """Writes repetitions of several sources, one after the other on one timeline."""

    def __init__(
        self,
        sources: Sequence[Path],
        layout: str = "kineto",
        seed: int = SEED,
    ) -> None:
        """Read the sources."""
        self.sources = [Source(read_document(path, layout)) for path in sources]
        self.n_repetitions = 0
        self.n_events = 0
        self._rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._next: dict[str, int] = {}

    def pieces(self, size: int = 0, repetitions: int = 0) -> Iterator[bytes]:
        """Yield the text of the enlarged trace, part by part.

        Sources alternate, and each occurs at least once. There are at least `repetitions`, else as
        many as come closest to `size` bytes.
        """
        document = self.sources[0].document
        yield document.head
        written = 0
        add: dict[int, dict[str, int]] = {}
        while True:
            source = self.sources[self.n_repetitions % len(self.sources)]
            is_enough = written + len(source.repeated.text) / 2 > size
            if is_enough and self.n_repetitions >= max(repetitions, len(self.sources)):
                break
            add[id(source)] = self._moved_on(source)
            text = source.repeated.filled(add[id(source)], self._rng)
            yield document.separator + text if self.n_repetitions else text
            written += len(text)
            self.n_repetitions += 1
            self.n_events += source.repeated.n_events
        for source in self.sources:
            yield document.separator + source.once.filled(add[id(source)])
            self.n_events += source.once.n_events
        yield document.tail

    def _moved_on(self, source: Source) -> dict[str, int]:
        """Return what the next repetition of a source adds to each kind of number."""
        add = dict.fromkeys([*_KINDS.values(), "varied"], 0)
        for kind, first in source.first.items():
            start = self._next.get(kind, first)
            add[kind] = start - first
            self._next[kind] = start + source.length[kind]
        return add


def _stands_once(event: dict[str, Any]) -> bool:
    """Return whether the event describes the recording as a whole."""
    return (
        event["ph"] == "M"
        or event.get("cat") == "Trace"
        or (event["ph"] == "i" and event.get("s") == "g")
    )


def _template(
    pairs: list[tuple[bytes, dict[str, Any]]],
    separator: bytes,
) -> Template:
    """Join the events' texts to one template."""
    template = Template(n_events=len(pairs))
    parts = []
    for text, event in pairs:
        parts.append(_cut(text, event, template))
    template.text = separator.replace(b"%", b"%%").join(parts)
    return template


def _cut(text: bytes, event: dict[str, Any], template: Template) -> bytes:
    """Add an event's numbers to the template; return the event's text with gaps for them."""
    places: list[tuple[int, int, str, int, bytes]] = []
    for match in _COUNTED.finditer(text):
        key, group = (match[1], 2) if match[1] else (match[3], 4)
        if key == b"id":
            key = b"correlation" if event.get("cat") in _LAUNCH_FLOWS else b"flow"
        value = int(match[group])
        if value or _KINDS[key] not in _NONE_IS_ZERO:
            places.append((*match.span(group), _KINDS[key], value, b"%d"))
    for what in _varied(event):
        for match in _VARIED[what].finditer(text):
            group = match.lastindex or 1
            is_address = what == "code" and group == 2
            places.append(
                (
                    *match.span(group),
                    what,
                    int(match[group], 16 if is_address else 10),
                    b"%x" if is_address else b"%d",
                )
            )
    places.sort()
    parts, begin = [], 0
    for start, end, kind, value, form in places:
        parts += [text[begin:start].replace(b"%", b"%%"), form]
        if kind in _SPREAD:
            template.varied.append((len(template.values), _SPREAD[kind]))
        template.kinds.append("varied" if kind in _SPREAD else kind)
        template.values.append(value)
        begin = end
    return b"".join([*parts, text[begin:].replace(b"%", b"%%")])


def _varied(event: dict[str, Any]) -> tuple[str, ...]:
    """Return which kinds of numbers may be changed in an event."""
    category = event.get("cat")
    if category == "kernel":
        return ("kernel",)
    if category == "cpu_op" and event["name"] not in _CASTS:
        return ("code", "shapes")
    return ("code",) if category in {"cpu_op", "python_function"} else ()


def write(
    out: Path,
    size: int = 0,
    repetitions: int = 0,
    *,
    sources: Sequence[Path] = (),
    layout: str = "kineto",
) -> dict[str, int]:
    """Write a trace of about `size` bytes of JSON; return its size and numbers of events.

    It is compressed if the file's name ends in .gz.
    """
    enlarger = Enlarger(sources or default_sources(), layout)
    n_bytes = 0
    with cast(
        "BinaryIO",
        gzip.open(out, "wb", 6) if out.suffix == ".gz" else out.open("wb"),
    ) as stream:
        for piece in enlarger.pieces(size, repetitions):
            n_bytes += stream.write(piece)
    return {"bytes": n_bytes, "events": enlarger.n_events, "repetitions": enlarger.n_repetitions}


def default_sources() -> list[Path]:
    """Return an inference with stacks and a training step with shapes."""
    return [SAMPLES / f"{name}.pt.trace.json.gz" for name in SOURCES]


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument(
        "--megabytes", type=float, default=0, help="about so many, in whole repetitions"
    )
    parser.add_argument(
        "--repetitions", type=int, default=0, help="at least so many, of all sources together"
    )
    parser.add_argument("--layout", choices=LAYOUTS, default="kineto")
    given = parser.parse_args()
    size = int(given.megabytes * 1e6)
    print(
        json.dumps(
            write(given.out, size, given.repetitions, sources=given.sources, layout=given.layout)
        )
    )


if __name__ == "__main__":
    main()
