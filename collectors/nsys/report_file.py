"""A report as nsys itself saves it (.nsys-rep), which only nsys can export."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracelens.errors import ToolError

REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
RAW_SUFFIX = ".qdstrm"
_TIMEOUT_S = 900


@contextmanager
def exported(report: Path) -> Iterator[Path]:
    """The report, exported into a temporary directory that is gone afterwards.

    A Parquet directory where nsys can write one (2023.4 and later), else SQLite. Raises ToolError when nsys is absent
    or fails, with the command to run by hand.
    """
    if report.suffix == RAW_SUFFIX:
        raise ToolError(
            f"{report}: a raw capture that was never imported; run QdstrmImporter -i {report.name} -o "
            f"{report.stem}.nsys-rep (it comes with nsys), then give tracelens {report.stem}.nsys-rep"
        )
    nsys = shutil.which("nsys")
    by_hand = f"nsys export --type sqlite --output {report.stem}.sqlite {report.name}"
    if nsys is None:
        raise ToolError(
            f"{report}: reading it takes nsys, which is not on PATH; where nsys is installed run "
            f"{by_hand}, then give tracelens {report.stem}.sqlite"
        )
    with tempfile.TemporaryDirectory(prefix="tracelens-nsys-") as folder:
        complaint = ""
        for kind, name in (("parquetdir", "export_pqtdir"), ("sqlite", "export.sqlite")):
            target = Path(folder) / name
            complaint = _export(nsys, kind, target, report)
            if target.exists() and not complaint:
                break
        else:
            raise ToolError(f"{report}: nsys could not export it ({complaint or 'nothing written'}); try {by_hand}")
        yield target


def _export(nsys: str, kind: str, target: Path, report: Path) -> str:
    """Run one export; the complaint when it fails, else nothing."""
    command = [nsys, "export", "--type", kind, "--output", str(target), str(report)]
    try:
        done = subprocess.run(  # noqa: S603  # the program is the one found on PATH
            command, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return f"no end after {_TIMEOUT_S} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
