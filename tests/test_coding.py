"""Strings as codes: the same from files as from frames, over several files and row groups."""

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.cases import make_trace
from tracelens.errors import SourceError
from tracelens.storage.coding import coded, is_word, read_columns, spelled
from tracelens.trace import Trace

VALUES = ["b", None, "a", "a", "", "a word that is longer than a view holds", "b", "Z", "é"]


@pytest.mark.parametrize("n_first", [2, 1 << 17])
@pytest.mark.parametrize("values", [VALUES, [], [None, None], [f"word {n % 300}" for n in range(2000)]])
def test_codes_are_places_among_the_words(
    values: list[str | None], n_first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.storage.coding._FIRST_ROWS", n_first)
    series = pl.Series("s", values, dtype=pl.String)
    codes, words = coded(series)
    assert sorted(words) == sorted({value for value in values if value is not None})
    assert codes.dtype == (pl.UInt8 if words.len() <= 256 else pl.UInt16)
    assert spelled(codes, words).equals(series, check_names=True, null_equal=True)
    files = []
    for part in (0, 1):
        files.append(tmp_path / f"{part}.parquet")
        half = series[: len(values) // 2] if part == 0 else series[len(values) // 2 :]
        pq.write_table(half.to_frame().to_arrow(), files[-1], row_group_size=3, use_dictionary=part == 0)
    read, read_words = read_columns(files, ["s"], [])[0]["s"]
    assert sorted(read_words) == sorted(words)
    assert read.dtype == codes.dtype
    assert spelled(read, read_words).equals(series, check_names=True, null_equal=True)


def test_words_asked_for() -> None:
    codes, words = coded(pl.Series(VALUES))
    for wanted in (("a",), ("b", "Z"), ("not there",), (), ("not there", "b")):
        assert is_word(codes, words, *wanted).to_list() == [value in wanted for value in VALUES], wanted
    many = [f"word {n}" for n in range(30)]
    codes, words = coded(pl.Series([*many, None]))
    assert is_word(codes, words, *many[:20]).to_list() == [True] * 20 + [False] * 11


def test_a_table_coded_from_disk_and_in_memory(tmp_path: Path) -> None:
    memory = make_trace(spans=[{"name": n, "rank": r, "kind": "op"} for r in (0, 3) for n in ("x", "y", "x")])
    disk = memory.write(tmp_path / "t.tracelens")
    frame, words = memory.coded("spans", "rank", "name", "kind", "start_ns")
    assert frame.columns == ["rank", "name", "kind", "start_ns"]
    assert {name: sorted(own) for name, own in words.items()} == {"name": ["x", "y"], "kind": ["op"]}
    again, same = disk.coded("spans", "rank", "name", "kind", "start_ns")
    assert again.select("rank", "start_ns").equals(frame.select("rank", "start_ns"))
    for name, own in words.items():
        assert spelled(again[name], same[name]).equals(spelled(frame[name], own))
    assert disk.spans.equals(memory.spans)  # what was read in part is read whole


def test_columns_of_a_damaged_part_are_an_error(tmp_path: Path) -> None:
    make_trace(spans=[{"name": f"span {i}"} for i in range(2000)]).write(tmp_path / "t.tracelens")
    (part,) = (tmp_path / "t.tracelens" / "spans").rglob("*.parquet")
    content = bytearray(part.read_bytes())
    content[4 : len(content) // 4] = bytes(len(content) // 4 - 4)
    part.write_bytes(content)
    with pytest.raises(SourceError, match=r"t\.tracelens/spans: cannot be read as Parquet"):
        Trace.open(tmp_path / "t.tracelens").coded("spans", "name", "category", "input_shapes")
