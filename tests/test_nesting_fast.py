"""The walk in C gives the results of the loop in Python, which defines them."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.selection import every
from tests.torch_files import REAL_TRACES
from tracelens.collectors.torch.raw_tables import raw_tables
from tracelens.collectors.torch.reading import read_plainly
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.derive.events.nesting import TOLERANCE_NS, nest_fast, nest_in_python
from tracelens.native import LIBRARY
from tracelens.trace.capture import Diagnostics

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")
COLUMNS = ("process_id", "thread_id", "start_ns", "duration_ns")

# Few distinct times and threads, so that spans touch, contain and overlap each other, by just the
# tolerance, 4 * 250.
_TIMES = st.integers(-3, 40).map(lambda n: n * TOLERANCE_NS // 4)
_INTERVALS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-1, 1), _TIMES, _TIMES.map(abs)), max_size=40
)


def same(spans: pl.DataFrame, calls: pl.DataFrame) -> None:
    expected, found = nest_in_python(spans, calls), nest_fast(spans, calls)
    for name in ("parent", "depth", "self_ns", "call_span"):
        assert list(getattr(found, name)) == list(getattr(expected, name)), name
    assert (found.n_overlaps, found.n_unreturned) == (expected.n_overlaps, expected.n_unreturned)


@settings(deadline=None, max_examples=examples(400))
@given(_INTERVALS, _INTERVALS, st.lists(st.none() | st.integers(-1, 39), min_size=40, max_size=40))
def test_any_spans_and_calls(
    spans: list[tuple[int, ...]], calls: list[tuple[int, ...]], hints: list[int | None]
) -> None:
    schema = dict.fromkeys(COLUMNS, pl.Int64)
    frame = pl.DataFrame(spans, schema=schema, orient="row")
    own = [hint if hint is not None and hint < len(spans) else None for hint in hints[: len(spans)]]
    called = pl.DataFrame(calls, schema=schema, orient="row")
    same(frame, called)
    same(frame.with_columns(parent_hint=pl.Series(own, dtype=pl.Int64)), called)


@pytest.mark.parametrize("path", every(3, REAL_TRACES))
def test_real_traces(path: Path) -> None:
    said = Diagnostics()
    raw = raw_tables(
        read_plainly(Text(ByteSource(path, said).blocks(1 << 20)), said).frames, 0, said
    )
    calls = raw.get("api_calls", pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.Int64)))
    same(raw["spans"], calls)
