"""Write one section of a report as a Parquet file."""

import io

from tracelens.report import Report
from tracelens.views.formats.format import Format


def to_parquet(report: Report) -> bytes:
    """Return the only section as Parquet, with meanings and units of columns as metadata."""
    (section,) = report.sections
    stream = io.BytesIO()
    section.analysis.result.write(section.frame, stream)
    return stream.getvalue()


FORMAT = Format(
    "parquet",
    (".parquet",),
    lambda report, _: to_parquet(report),
    holds_one_table=True,
    is_text=False,
)
