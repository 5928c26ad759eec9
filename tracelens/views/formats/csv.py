"""One section of a report as CSV."""

from tracelens.report import Report
from tracelens.views.formats.format import Format


def to_csv(report: Report) -> str:
    """A header of the column names and every row of the only section, as stored: null is empty, times are integers."""
    (section,) = report.sections
    return section.frame.write_csv()


FORMAT = Format("csv", (".csv",), lambda report, _: to_csv(report), holds_one_table=True)
