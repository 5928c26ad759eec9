"""Formats: other programs read every row as stored, claims on a format hold, files are whole."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

import tracelens as tl
from tests.command_line import command_line
from tests.sample_reports import (
    ESCAPES,
    LONG_KERNEL,
    ROWS,
    SCRIPT,
    TOP_KERNELS,
    VERDICT,
    report,
    section,
    trace,
)
from tracelens.cli.output import emit
from tracelens.errors import SourceError, UsageError
from tracelens.report import Report
from tracelens.views.formats import FORMATS
from tracelens.views.formats.csv import to_csv
from tracelens.views.formats.format import Format, Screen
from tracelens.views.formats.json import to_json
from tracelens.views.formats.parquet import to_parquet

_SAMPLES = Path(__file__).parents[1] / "samples"
SAMPLE = _SAMPLES / "torch" / "resnet50_train_f32_pinned.pt.trace.json.gz"


def test_json_holds_every_row_and_null_for_no_number() -> None:
    document = json.loads(to_json(report(section(TOP_KERNELS, ROWS, "note"))))
    assert document["trace"]["name"] == "run.json.gz"
    assert document["trace"]["sources"][0]["sha256"] == "ab"
    assert document["sections"]["top_kernels"] == {
        "rows": [
            {
                "rank": 0,
                "name": LONG_KERNEL,
                "library": "aten",
                "primitive": "elementwise",
                "n_calls": 12345,
                "duration_total_ns": 2500000,
                "share_frac": 0.25,
                "size_bytes": 19267584,
                "bandwidth_bytes_per_s": 12.5e9,
            },
            {
                "rank": 0,
                "name": SCRIPT,
                "library": None,
                "primitive": "conv",
                "n_calls": 1,
                "duration_total_ns": 7000,
                "share_frac": None,
                "size_bytes": None,
                "bandwidth_bytes_per_s": None,
            },
            {
                "rank": 0,
                "name": ESCAPES,
                "library": "other",
                "primitive": "unknown",
                "n_calls": 2,
                "duration_total_ns": 1000,
                "share_frac": 0.0,
                "size_bytes": 0,
                "bandwidth_bytes_per_s": None,
            },
        ],
        "n_rows": 3,
        "notes": ["note"],
    }


def test_json_has_as_many_rows_as_text_and_counts_the_rest() -> None:
    """A query has the rows that its own LIMIT leaves."""
    counted = section(TOP_KERNELS, ROWS)
    for one, n_written in ((counted, 2), (replace(counted, is_query=True), 3)):
        made = json.loads(to_json(report(one), rows=2))["sections"]["top_kernels"]
        assert (len(made["rows"]), made["n_rows"]) == (n_written, 3)
    assert FORMATS["json"].rows == FORMATS["text"].rows


def test_json_of_all_sections_of_a_step_takes_30_kb(capsys: pytest.CaptureFixture[str]) -> None:
    """Each table begins, the rest is counted; the answer is whole; --rows and --section show more.

    A kernel's name stands in one row, so the trace's distinct names are counted.
    """
    n_names = tl.collect(SAMPLE).kernels["name"].n_unique()

    def kernels(*words: str) -> list[dict[str, Any]]:
        ended = command_line(capsys, "report", SAMPLE, "--format", "json", *words)
        made = json.loads(ended.out)["sections"]["top_kernels"]
        assert made["n_rows"] == n_names
        rows: list[dict[str, Any]] = made["rows"]
        return rows

    whole = command_line(capsys, "report", SAMPLE, "--format", "json").out
    assert len(whole) < 30_000
    short = json.loads(whole)["sections"]["top_kernels"]
    assert (len(short["rows"]), short["n_rows"]) == (4, n_names)
    assert len(kernels("--rows", "30")) == 30
    assert len(kernels("--section", "top_kernels")) == 12


def test_json_of_everything_has_four_digits_of_fractions() -> None:
    """The verdict, which programs read, has all digits and its own number of rows."""
    made_of = section(TOP_KERNELS, [{"share_frac": 1 / 3}] * 9), section(VERDICT, [{}] * 9)
    short = json.loads(to_json(report(*made_of), rows=2))["sections"]
    assert [row["share_frac"] for row in short["top_kernels"]["rows"]] == [0.3333, 0.3333]
    assert len(short["verdict"]["rows"]) == 9
    asked = json.loads(to_json(replace(report(*made_of), is_asked=True), rows=1))["sections"]
    assert asked["top_kernels"]["rows"][0]["share_frac"] == 1 / 3
    assert len(asked["verdict"]["rows"]) == 1


def test_json_of_everything_has_the_columns_of_text() -> None:
    """The rank is left out as in text, if there is one; what is asked for has all columns."""
    made_of = section(TOP_KERNELS, ROWS), section(VERDICT, [{"rank": 0}])
    everything = report(*made_of)
    short = json.loads(to_json(everything, rows=2))["sections"]
    assert short["top_kernels"]["n_columns"] == len(TOP_KERNELS.names)
    assert "rank" not in short["top_kernels"]["rows"][0]
    assert "duration_total_ns" in short["top_kernels"]["rows"][0]
    for made in (short["verdict"], json.loads(to_json(everything))["sections"]["top_kernels"]):
        assert "rank" in made["rows"][0]
        assert "n_columns" not in made
    asked = json.loads(to_json(replace(everything, is_asked=True), rows=2))
    assert list(asked["sections"]["top_kernels"]["rows"][0]) == TOP_KERNELS.names


def test_json_is_strict_and_says_what_is_missing() -> None:
    missing = section(TOP_KERNELS, [], missing="needs kernels")
    text = to_json(Report(trace(), trace(ranks=[3]), [missing]))
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["sections"]["top_kernels"] == {
        "rows": [],
        "n_rows": 0,
        "notes": [],
        "missing": "needs kernels",
    }
    assert document["base"]["ranks"] == [3]
    assert "base" not in json.loads(to_json(report()))


def test_csv_is_one_table_as_stored() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(report(section(TOP_KERNELS, ROWS))), newline="")))
    assert rows[0] == TOP_KERNELS.names
    assert rows[1] == [
        "0",
        LONG_KERNEL,
        "aten",
        "elementwise",
        "12345",
        "2500000",
        "0.25",
        "19267584",
        "12500000000.0",
    ]
    assert rows[3][1] == r"\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|"
    assert rows[2][7] == ""


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_no_cell_of_csv_is_a_formula(name: str) -> None:
    rows = list(
        csv.reader(
            io.StringIO(
                to_csv(report(section(TOP_KERNELS, [ROWS[0] | {"name": name}]))), newline=""
            )
        )
    )
    assert rows[1][1] == f"'{name}"


@pytest.mark.parametrize("name", ["csv", "parquet"])
@pytest.mark.parametrize("names", [[], ["top_ops", "top_kernels"]])
def test_one_table_is_asked_for_where_only_one_fits(name: str, names: list[str]) -> None:
    with pytest.raises(UsageError, match="exactly one --section"):
        FORMATS[name].check(names, Path("x"))
    FORMATS[name].check(["top_ops"], Path("x"))


def test_parquet_carries_rows_meanings_and_units() -> None:
    table = pq.read_table(io.BytesIO(to_parquet(report(section(TOP_KERNELS, ROWS)))))
    assert table["duration_total_ns"].to_pylist() == [2_500_000, 7_000, 1_000]
    assert table.schema.field("duration_total_ns").metadata == {
        b"description": b"Time.",
        b"unit": b"ns",
    }


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "kept.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to("kept.txt")
    for target in (
        tmp_path / "nowhere" / "x.txt",
        tmp_path / "folder.html",
        tmp_path / "kept.txt" / "x.txt",
    ):
        with pytest.raises(SourceError, match=r"(nowhere|folder\.html|kept).*cannot be written"):
            emit("text", target)
    with monkeypatch.context() as broken:
        broken.setattr(
            Path,
            "replace",
            lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
        )
        with pytest.raises(SourceError, match="No space left"):
            emit("after", tmp_path / "kept.txt")
    assert (tmp_path / "kept.txt").read_text() == "before"
    emit(b"after", tmp_path / "link.txt")
    assert (tmp_path / "kept.txt").read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "folder.html",
        "kept.txt",
        "link.txt",
    ]
    emit("nobody reads this", Path(os.devnull))
    assert Path(os.devnull).is_char_device()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_every_format_is_text_that_ends_in_a_line_feed_or_bytes(form: Format) -> None:
    written = form.write(report(section(TOP_KERNELS, ROWS)), Screen(rows=form.rows))
    assert isinstance(written, str) is form.is_text
    assert written.endswith("\n") if isinstance(written, str) else written


def test_no_two_formats_share_an_ending() -> None:
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    assert len(endings) == len(set(endings))
    assert all(ending.startswith(".") and ending == ending.lower() for ending in endings)
