"""Finished tables go to files while others are made. What goes wrong is said."""

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tracelens.errors import SchemaError
from tracelens.schemas import TABLES
from tracelens.storage.store import Store

SPANS = {
    "span_id": 0,
    "depth": 0,
    "kind": "op",
    "name": "a",
    "start_ns": 5,
    "duration_ns": 7,
    "self_ns": 7,
    "process_id": 1,
    "thread_id": 2,
}


def narrow(n: int, **changed: object) -> pl.DataFrame:
    """Spans as a collector has them: narrow integers, categories, columns of nulls left out."""
    frame = pl.DataFrame([SPANS | changed] * n).with_columns(pl.col(pl.Int64).cast(pl.Int32))
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def test_a_stored_table_is_as_declared(tmp_path: Path) -> None:
    with Store(tmp_path / "new" / "folder") as store:
        store.put(TABLES["spans"], narrow(3))
        store.put(TABLES["memsets"], TABLES["memsets"].without("rank").empty())
        found = store.finish()
    assert {name: stored.height for name, stored in found.items()} == {"spans": 3, "memsets": 0}
    spans = TABLES["spans"].without("rank")
    assert spans.check(pl.read_parquet(found["spans"].path)).equals(spans.conform(narrow(3)))


@pytest.mark.parametrize("n", [1, 2])
def test_what_does_not_fit_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    monkeypatch.setattr("tracelens.storage.store._WAITED_FOR", 2)
    store = Store(tmp_path)

    def write() -> None:
        store.put(TABLES["spans"], narrow(n, kind="odd"))
        store.finish()

    with store, pytest.raises(SchemaError, match=r"spans\.kind: \['odd'\] not in"):
        write()


def test_rows_are_written_in_groups_and_read_as_one(tmp_path: Path) -> None:
    frame = pl.concat([narrow(2), narrow(2, name="b"), narrow(1, name="ü")])
    TABLES["spans"].write(
        frame, tmp_path / "spans.parquet", 2 * len(TABLES["spans"].without("rank").columns)
    )
    names = pl.read_parquet(tmp_path / "spans.parquet")["name"]
    assert pq.read_metadata(tmp_path / "spans.parquet").num_row_groups == 3
    assert names.dtype == pl.String
    assert names.to_list() == ["a", "a", "b", "b", "ü"]


def test_words_and_nulls_come_back_as_they_were_written(tmp_path: Path) -> None:
    frame = pl.concat(
        [narrow(2), narrow(2, name="b"), narrow(1, name="ü", module_path="m")], how="diagonal"
    )
    TABLES["spans"].write(frame, tmp_path / "spans.parquet")
    read = pl.read_parquet(tmp_path / "spans.parquet")
    assert read["name"].to_list() == ["a", "a", "b", "b", "ü"]
    assert read["module_path"].to_list() == [None] * 4 + ["m"]
    with pytest.raises(SchemaError, match=r"spans\.name: null where a value is required"):
        TABLES["spans"].write(
            frame.with_columns(name=pl.lit(None, pl.Categorical)), tmp_path / "bad.parquet"
        )
