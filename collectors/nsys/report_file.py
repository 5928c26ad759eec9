"""nsys's own files: a report (.nsys-rep), which only nsys exports, or a raw capture that its importer reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracelens.collectors.nsys.tool import Nsys, find_nsys, run_tool
from tracelens.errors import ToolError
from tracelens.storage.folders import OwnFolder

REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
RAW_SUFFIX = ".qdstrm"


@contextmanager
def exported(report: Path, nsys: Nsys | None = None) -> Iterator[Path]:
    """An export of the report in a temporary directory, which is removed afterwards.

    A Parquet directory where nsys can write one (2023.4 and later), else SQLite. A raw capture is imported first.
    Raises ToolError when nsys is absent or fails, with the command to run by hand.
    """
    by_hand = f"nsys export --type sqlite --output {report.stem}.sqlite {report.stem}.nsys-rep"
    if nsys is None:
        try:
            nsys = find_nsys()
        except ToolError as error:
            raise ToolError(
                f"{report}: reading it takes nsys: {error}; or where nsys is installed run {by_hand}, then give "
                f"tracelens {report.stem}.sqlite"
            ) from error
    with OwnFolder("tracelens-nsys-") as folder:
        if report.suffix == RAW_SUFFIX:
            report = import_raw(report, Path(folder) / f"{report.stem}.nsys-rep", nsys)
        complaint = ""
        for kind, name in (("parquetdir", "export_pqtdir"), ("sqlite", "export.sqlite")):
            target = Path(folder) / name
            try:
                run_tool([nsys.path, "export", "--type", kind, "--output", target, report])
            except ToolError as error:
                complaint = str(error)
                continue
            if target.exists():
                break
        else:
            raise ToolError(f"{report}: nsys could not export it ({complaint or 'nothing written'}); try {by_hand}")
        yield target


def import_raw(raw: Path, report: Path, nsys: Nsys) -> Path:
    """Make a report from a raw capture with nsys's importer. Raises ToolError when it is absent or fails."""
    by_hand = f"QdstrmImporter -i {raw.name} -o {report.name}"
    if nsys.importer is None:
        raise ToolError(
            f"{raw}: a raw capture that was never imported, and {nsys.path} has no QdstrmImporter beside it, as the "
            f"nsys that comes with other tools may not; install NVIDIA Nsight Systems, or run {by_hand} where it is, "
            f"then give tracelens {report.name}"
        )
    try:
        run_tool([nsys.importer, "-i", raw, "-o", report])
    except ToolError as error:
        raise ToolError(f"{raw}: cannot be made a report: {error}; then run {by_hand}") from error
    if not report.exists():
        raise ToolError(f"{raw}: QdstrmImporter wrote no report of it; try {by_hand}")
    return report
