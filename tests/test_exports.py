"""Reports as data for other programs: every row, stored values, and nothing that JSON or CSV readers choke on."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.sample_reports import ESCAPES, LONG_KERNEL, ROWS, SCRIPT, TOP_KERNELS, report, section, trace
from tracelens.errors import SourceError, UsageError
from tracelens.exports import FORMATS, to_csv, to_json, write_parquet
from tracelens.report import Report


def test_json_holds_every_row_with_column_names_and_nulls_for_what_is_no_number() -> None:
    document = json.loads(to_json(report(section(TOP_KERNELS, ROWS, "note"))))
    assert document["trace"]["name"] == "run.json.gz"
    assert document["trace"]["sources"][0]["sha256"] == "ab"
    assert document["sections"]["top_kernels"] == {
        "rows": [
            {"rank": 0, "name": LONG_KERNEL, "library": "aten", "primitive": "elementwise", "n_calls": 12345,
             "duration_total_ns": 2500000, "share_frac": 0.25, "size_bytes": 19267584, "bandwidth_bytes_per_s": 12.5e9},
            {"rank": 0, "name": SCRIPT, "library": None, "primitive": "conv", "n_calls": 1,
             "duration_total_ns": 7000, "share_frac": None, "size_bytes": None, "bandwidth_bytes_per_s": None},
            {"rank": 0, "name": ESCAPES, "library": "other", "primitive": "unknown", "n_calls": 2,
             "duration_total_ns": 1000, "share_frac": 0.0, "size_bytes": 0, "bandwidth_bytes_per_s": None},
        ],
        "notes": ["note"],
    }  # fmt: skip


def test_json_is_strict_and_says_what_is_missing_and_what_is_compared() -> None:
    missing = section(TOP_KERNELS, [], missing="needs kernels")
    text = to_json(Report(trace(), trace(ranks=[3]), [missing]))
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["sections"]["top_kernels"] == {"rows": [], "notes": [], "missing": "needs kernels"}
    assert document["base"]["ranks"] == [3]
    assert "base" not in json.loads(to_json(report()))


def test_csv_is_one_table_as_stored() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(report(section(TOP_KERNELS, ROWS))), newline="")))
    assert rows[0] == TOP_KERNELS.names
    assert rows[1] == ["0", LONG_KERNEL, "aten", "elementwise", "12345", "2500000", "0.25", "19267584", "12500000000.0"]
    assert rows[3][1] == ESCAPES
    assert rows[2][7] == ""


@pytest.mark.parametrize("n_sections", [0, 2])
def test_one_table_is_asked_for_where_only_one_fits(n_sections: int, tmp_path: Path) -> None:
    several = Report(trace(), None, [section(TOP_KERNELS, ROWS)] * n_sections)
    with pytest.raises(UsageError, match="--section"):
        to_csv(several)
    with pytest.raises(UsageError, match="--section"):
        write_parquet(several, tmp_path / "x.parquet")


def test_parquet_carries_rows_meanings_and_units(tmp_path: Path) -> None:
    write_parquet(report(section(TOP_KERNELS, ROWS)), tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert table["duration_total_ns"].to_pylist() == [2_500_000, 7_000, 1_000]
    assert table.schema.field("duration_total_ns").metadata == {b"description": b"Time.", b"unit": b"ns"}
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        write_parquet(report(section(TOP_KERNELS, ROWS)), tmp_path / "nowhere" / "x.parquet")


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_ends_in_a_line_feed(name: str) -> None:
    assert FORMATS[name](report(section(TOP_KERNELS, ROWS))).endswith("\n")
