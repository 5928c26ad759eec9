"""How results leave for other programs: JSON, CSV, Parquet. Values are as stored; what people read is in views."""

from collections.abc import Callable

from tracelens.exports.as_csv import to_csv
from tracelens.exports.as_json import to_json
from tracelens.exports.as_parquet import write_parquet
from tracelens.report import Report

FORMATS: dict[str, Callable[[Report], str]] = {
    "json": to_json,
    "csv": to_csv,
}
"""Text formats by the name that --format takes."""

__all__ = ["FORMATS", "to_csv", "to_json", "write_parquet"]
