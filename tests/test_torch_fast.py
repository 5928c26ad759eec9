"""The fast path of the torch reader gives, cell by cell, what the slow path gives."""

import gzip
import json
import os
import random
import subprocess
import sys
from array import array
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.fast_and_slow import (
    BYTES,
    VALUES,
    Pieces,
    assert_read_fast,
    changed,
    plain,
    read_slowly,
    same_of_bytes,
    same_of_file,
    traces,
)
from tests.selection import every
from tests.torch_files import REAL_TRACES
from tracelens.collectors.torch import fields
from tracelens.collectors.torch.reading import read_native
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.native import LIBRARY
from tracelens.trace.capture import Diagnostics

ROOT = Path(__file__).resolve().parents[1]
SMALL = gzip.decompress(
    (ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz").read_bytes()
)
EXAMPLES = int(os.environ.get("TRACELENS_EXAMPLES", "0"))
"""How many examples to look for: 150 or 75 by default.

The examples are the same each time, unless they are a thousand.
"""
settings.register_profile(
    "fast", deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES < 1000
)

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")


# --- real traces ---


@pytest.mark.parametrize("path", every(3, REAL_TRACES))
def test_every_cell_of_real_traces(path: Path) -> None:
    expected = read_slowly(ByteSource(path, Diagnostics()))
    assert_read_fast(ByteSource(path, Diagnostics()), expected)
    content = gzip.decompress(path.read_bytes())
    assert_read_fast(Pieces(content, 100_003), expected, block_bytes=1 << 18)
    assert_read_fast(Pieces(content, 1 << 20), expected, n_threads=1)


@pytest.mark.parametrize("block_bytes", [1, 1000, 5000, 70_000])
def test_blocks_may_end_anywhere(block_bytes: int) -> None:
    same_of_bytes(SMALL[:250_000], 997, block_bytes=block_bytes)


@pytest.mark.parametrize("layout", [{}, {"indent": 1}, {"separators": (",", ":")}])
def test_other_layouts(layout: dict[str, Any]) -> None:
    same_of_bytes(json.dumps(json.loads(SMALL), **layout).encode(), 50_000, block_bytes=100_000)


def number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def as_ns(value: Any) -> int | None:
    return (
        int((Decimal(value) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN))
        if number(value)
        else None
    )


@pytest.mark.parametrize("path", REAL_TRACES[:1] + REAL_TRACES[5::3])
def test_against_the_standard_library(path: Path) -> None:
    found = read_native(Text(ByteSource(path, said := Diagnostics()).blocks(1 << 20)), said)
    assert found is not None
    listed = json.loads(gzip.decompress(path.read_bytes()), strict=False, parse_float=Decimal)[
        "traceEvents"
    ]
    assert found.n_events == len(listed)
    for name, table in fields.TABLES.items():
        if name == "unplaced":
            continue
        events = [
            e for e in listed if fields.table_of(e.get("ph"), e.get("cat"), e.get("name")) == name
        ]
        events = [
            e
            for e in events
            if number(e.get("ts")) and (number(e.get("dur")) or name in {"allocations", "counters"})
        ]
        frame = plain(found.frames[name]) if name in found.frames else None
        assert (0 if frame is None else frame.height) == len(events)
        for column in table:
            if frame is not None and column.name in frame.columns:
                assert frame[column.name].to_list() == [expected(e, column) for e in events], (
                    name,
                    column.name,
                )


def expected(event: dict[str, Any], column: fields.Column) -> Any:  # noqa: PLR0911 - one for each sort of column
    """The cell as plain JSON says it."""
    args = event.get("args") or {}
    values = [
        event.get(key) if key in fields.EVENT_KEYS else args.get(key)
        for key in (column.key, column.second)
    ]
    if column.how == fields.UNLESS_ZERO:
        return None if values[1] == 0 else values[0]
    value = values[1] if values[0] is None or (values[0] == "" and values[1]) else values[0]
    if column.name.startswith(("grid_", "block_")) and column.key in {"grid", "block"}:
        return value[column.axis] if value else None
    if column.how == fields.SHAPE:
        return None if value is None else json.dumps(value, default=str, ensure_ascii=False)
    if column.key in {"ts", "dur"}:
        return as_ns(value)
    if column.name in fields.FLOATS:
        return None if value is None else float(value)
    if isinstance(value, str) and column.how == fields.TAKE:
        return (
            int("".join(c for c in value if c.isdigit()) or -1)
            if any(c.isdigit() for c in value)
            else None
        )
    return ("" if column.how == fields.NAME else None) if value is None else value


# --- damage ---


@pytest.mark.parametrize("value", [*map(str.encode, VALUES), *BYTES])
def test_an_odd_value_in_a_key_of_each_kind(value: bytes) -> None:
    """Chance pairs few of the values with the keys that they are odd for."""
    kinds = {how: key for key, how in fields.KEYS.items()}
    odd = [b'"%s": %s' % (key.encode(), value) for key in (*kinds.values(), "ph", "name", "ts")]
    begin = b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 2, "ts": 3, "dur": 4, '
    listed = [begin + pair + b"}" for pair in odd]
    listed += [begin + b'"args": {' + pair + b"}}" for pair in odd]
    same_of_bytes(b'{"traceEvents": [' + b", ".join(listed) + b"]}", 1 << 20)


@settings(settings.get_profile("fast"), max_examples=EXAMPLES or examples(150))
@given(traces(), st.integers(1, 400), st.sampled_from([1, 100, 1 << 16]))
def test_odd_values_and_damage(content: bytes, piece_bytes: int, block_bytes: int) -> None:
    same_of_bytes(content, piece_bytes, block_bytes=block_bytes, n_threads=1)


@settings(settings.get_profile("fast"), max_examples=EXAMPLES // 3 or examples(50))
@given(st.data())
def test_a_real_trace_changed_here_and_there(data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, 200_000))
    size = data.draw(st.integers(1, 30_000))
    content = b'{"traceEvents": [' + SMALL[SMALL.index(b'{\n    "ph"', begin) :][:size]
    content = data.draw(st.composite(changed)(content, 6))
    same_of_bytes(content, data.draw(st.integers(200, 9000)), block_bytes=4000, n_threads=1)


@settings(settings.get_profile("fast"), max_examples=examples(30))
@given(st.integers(1, 60_000), st.integers(0, 255), st.booleans())
def test_gzip_cut_or_damaged(
    tmp_path_factory: pytest.TempPathFactory, at: int, value: int, is_cut: bool
) -> None:
    content = bytearray(
        (ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz").read_bytes()
    )
    at %= len(content)
    content[at] = value
    path = tmp_path_factory.getbasetemp() / "t.json.gz"
    path.write_bytes(content[: at + 1] if is_cut else content)
    same_of_file(path, {"block_bytes": 100_000})


def test_gzip_of_several_members(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(
        b"".join(gzip.compress(SMALL[i : i + 100_000]) for i in range(0, len(SMALL), 100_000))
        + b"\0\0"
    )
    same_of_file(path)


def test_many_refused_events_among_others() -> None:
    """Rows that the slow path reads stand where the file has them."""
    listed = [
        json.dumps(
            {
                "ph": "X",
                "cat": ("cpu_op", "kernel", "cuda_runtime")[i % 3],
                "name": f"\u00e9{i}" if i % 7 else i,
                "pid": i % 2 or "Spans",
                "tid": f"stream {i % 5}" if i % 4 else 3.0,
                "ts": i if i % 11 else None,
                "dur": i % 13,
                "args": {"External id": str(i), "correlation": float(i)} if i % 3 else {},
            }
        )
        for i in range(6000)
    ]
    content = ('{"traceEvents": [' + ",\n".join(listed) + "]}").encode()
    same_of_bytes(content, 100_000, block_bytes=200_000)


@pytest.mark.parametrize(
    "event", every(2, [b"{}", b'{"ph":"X","cat":"cpu_op","name":1,"ts":1,"dur":1}'])
)
def test_nothing_but_refused_events(event: bytes) -> None:
    same_of_bytes(b"[" + b",".join([event] * 70_000) + b"]", 1 << 20)


def test_strings_of_all_sizes_and_numbers() -> None:
    """Tables of strings grow in the middle of an event."""
    listed = [
        json.dumps(
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "n" * (i % 300) * (i % 7) + str(i),
                "pid": f"p{i}",
                "tid": i,
                "ts": i,
                "dur": 1,
                "args": {
                    "Input Dims": [i],
                    "Input type": ["t" * (i * i % (900 if i % 10 else 90_000))],
                    "kernel_backend": str(i),
                },
            }
        )
        for i in range(3000)
    ]
    same_of_bytes(("[" + ",\n".join(listed) + "]").encode(), 1 << 20)


# --- what is shipped ---


@pytest.mark.parametrize(("switch", "path"), [("", "native"), ("off", "msgspec")])
def test_which_path_ran_is_said(tmp_path: Path, switch: str, path: str) -> None:
    trace = str(ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz")
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        trace,
        "--out",
        str(tmp_path / "t"),
    ]
    environment = os.environ | {"TRACELENS_NATIVE": switch}
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True, env=environment)
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["sources"][0]["settings"]["reader"] == path


def test_a_plan_that_does_not_fit_together_is_refused() -> None:
    """What the parser in C is told of keys, tables and columns is checked once for all events."""
    assert LIBRARY is not None
    cells = bytearray(8 * 100 * sum(map(len, fields.TABLES.values())))
    plan: list[Any] = [
        *fields.plan(),
        cells,
        fields.ALLOCATIONS,
        fields.COUNTERS,
        fields.UNPLACED,
        7,
        8,
    ]
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    n_refused = 0
    for _ in range(3000):
        changed_plan = list(plan)
        at = chance.choice([1, 2, 3, 5, 6, 7])
        if at < 4:
            words = array("q", plan[at])
            words[chance.randrange(len(words))] = chance.choice(
                [-1, 0, 1, 5, 54, 61, 62, 64, 10**6, -(2**63), 2**63 - 1]
            )
            changed_plan[at] = words.tobytes()
        else:
            changed_plan[at] = chance.choice([-1, 0, 8, 9, 2**62])
        try:
            parser = LIBRARY.parser_new(*changed_plan)
        except ValueError:
            n_refused += 1
        else:
            LIBRARY.parse(parser, SMALL[SMALL.index(b'{\n    "ph"') :][:20_000], 0)
    assert 300 < n_refused < 2900
    with pytest.raises(ValueError, match="a place in the text"):
        LIBRARY.parse(LIBRARY.parser_new(*plan), b"{}", 3)
    with pytest.raises(ValueError, match="the number of a string"):
        LIBRARY.strings(LIBRARY.parser_new(*plan), 0, 1)
