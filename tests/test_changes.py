"""Advice as rows: what the answer says in words, with an example and a query that runs."""

import re

import polars as pl
import pytest
from msgspec.structs import replace

from tests.advice_cases import idle
from tests.cases import make_trace
from tests.programs import api, span
from tracelens.analyses import changes
from tracelens.analyses.changes import _SPANS, _SQL
from tracelens.derive.replay import advised
from tracelens.derive.time.advice import Change
from tracelens.schemas import TABLES
from tracelens.views.formats.format import Screen
from tracelens.views.formats.report_text import frame_to_text


def test_a_wait_is_a_row_with_its_longest_gap() -> None:
    """The device is idle for 4 ms of two steps of 5 ms, while the host waits in item()."""
    trace = idle(
        span("op", "aten::item", 500, 8_985),
        calls=(api("cudaStreamSynchronize", 510, 8_980),),
    )
    row = changes(trace).row(0, named=True)
    assert (row["rank"], row["cause"], row["section"]) == (0, "sync", "idle_gaps")
    assert row["change"].startswith("Read the value later or less often (.item()")
    assert row["place"] == "aten::item > cudaStreamSynchronize"
    assert (row["example_start_ns"], row["example_ns"]) == (5_000_000, 4_000_000)
    assert row["saving_ns"] <= row["step_ns"]
    assert trace.sql(row["sql"])["api"].to_list() == ["cudaStreamSynchronize"]


@pytest.mark.parametrize("cause", [*_SQL, "host"])
def test_each_query_runs(cause: str) -> None:
    sql = _SQL.get(cause, _SPANS)
    assert make_trace().sql(sql).height == 0
    kinds = next(column.values for column in TABLES["api_calls"] if column.name == "kind")
    assert {*re.findall(r"'(\w+)'", sql)} <= {*kinds}


def test_what_to_do_is_wrapped_and_never_cut() -> None:
    text = "The program only waits (sleep, lock, queue, request): wait less, or work meanwhile"
    shown = frame_to_text(pl.DataFrame({"change": [text], "place": ["train"]}), Screen(width=60))
    assert "…" not in shown
    assert "meanwhile" in shown


def test_a_change_of_unknown_saving_stands_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launching takes half of the time, and the profiler may have made it longer."""
    unknown = Change(
        text="Launch fewer kernels",
        cause="launch",
        section="idle_gaps",
        step_ns=100,
        is_per_step=False,
        saving_ns=None,
        low_ns=None,
        high_ns=None,
        share=None,
        places=(("aten::mm", 50),),
        expression=None,
    )
    known = replace(unknown, text="Read the value later", saving_ns=3, share=0.03, places=())
    monkeypatch.setattr(advised, "list_changes", lambda _: [known, unknown])
    monkeypatch.setattr(advised, "_predictions", lambda _: {})
    ordered = advised.advised_changes(make_trace())
    assert [item.change.text for item in ordered] == [unknown.text, known.text]
