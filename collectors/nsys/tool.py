"""Find nsys and its importer, and run them to export reports (.nsys-rep) and raw captures."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tracelens.errors import ToolError
from tracelens.running.program import ask, program_at
from tracelens.storage.folders import OwnFolder
from tracelens.trace.collector import Found

INSTALL = "install NVIDIA Nsight Systems"
REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
RAW_SUFFIX = ".qdstrm"

OLDEST = (2022, 1)
"""The oldest supported version of nsys, which has --cuda-graph-trace and readable exports."""

_USUAL = (
    "/opt/nvidia/nsight-systems*/*/bin/nsys",
    "/opt/nvidia/nsight-systems*/bin/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
    # Nsight Compute brings an nsys whose importer is not at the expected place.
    "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
    "/usr/local/cuda*/nsight-compute*/host/target-linux-*/nsys",
)
_IMPORTERS = ("host-linux-*/QdstrmImporter", "linux-desktop-*/QdstrmImporter")
_DEBIANS_IMPORTER = "../../../nsight-systems/host-linux-*/QdstrmImporter"
"""Pattern of the importer's path on Debian and Ubuntu, relative to nsys's folder."""

_PATIENCE_S = 30
_TIMEOUT_S = 900
_MISSING_LIBRARY = re.compile(r"(lib[\w+.-]+\.so[.\d]*): cannot open shared object file")
_PACKAGES = {"libdw.so.1": "libdw1 on Debian and Ubuntu, elfutils-libs on Fedora"}


class Nsys(Struct, frozen=True):
    """Describes an installed nsys that runs: its file, its printed version, and its importer.

    `importer` is the program that writes nsys's reports, None if it is not installed.
    """

    path: Path
    version: str
    importer: Path | None


def find_nsys(given: str | None = None) -> Nsys:
    """Return the nsys of the given path or name, else the first nsys on this machine.

    Raises ToolError if there is no nsys, or if it is too old or does not answer like nsys.
    """
    if given is None:
        # An nsys with its importer is preferred.
        path = _best()
        if path is None:
            raise ToolError(
                "nsys was found neither on PATH nor in a usual place"
                " (/opt/nvidia/nsight-systems/*/bin, /usr/local/cuda/bin, Nsight Compute's host"
                " folder); install NVIDIA Nsight Systems, or say where it is with --nsys PATH"
            )
    else:
        program = shutil.which(given)
        if program is None:
            raise ToolError(f"--nsys {given}: there is no such program; give the path of nsys")
        path = Path(program).absolute()  # as a Path, ./nsys would be a name to look up on PATH
    try:
        answer = run_tool([path, "--version"], _PATIENCE_S)
    except ToolError as error:
        raise ToolError(
            f"{path}: does not answer --version ({error}); name a working nsys with --nsys PATH"
        ) from error
    numbers = re.search(r"version (\d+)\.(\d+)[\w.-]*", answer)
    if numbers is None or "Nsight Systems" not in answer:
        printed = answer.strip().split("\n", 1)[0][:80]
        raise ToolError(
            f"{path}: expected NVIDIA Nsight Systems and its version, found {printed!r}; name"
            " another with --nsys PATH"
        )
    version = numbers[0].removeprefix("version ")
    if (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise ToolError(
            f"{path}: nsys {version} is too old; tracelens needs {OLDEST[0]}.{OLDEST[1]} or newer,"
            " install a newer Nsight Systems or name one with --nsys PATH"
        )
    return Nsys(path, version, importer_of(path))


def look_for_nsys(_: str) -> Found:
    """Return which nsys a capture would use.

    If the importer is missing, nsys leaves raw captures, so the result has advice.
    """
    path = _best()
    if path is None:
        return Found(False)
    lacks = f"{path} has no QdstrmImporter beside it, so it records but writes no report: {INSTALL}"
    return program_at(str(path))._replace(advice=None if importer_of(path) is not None else lacks)


def _best() -> Path | None:
    """Return the first nsys with an importer, else the first nsys, None if there is no nsys."""
    installed = list(candidates())
    return next(
        (path for path in installed if importer_of(path) is not None),
        installed[0] if installed else None,
    )


def candidates() -> Iterator[Path]:
    """Yield the path of every nsys on this machine: from PATH, then from the usual folders.

    Of the paths that match one pattern in `_USUAL`, the newest version comes first.
    """
    on_path = shutil.which("nsys")
    if on_path is not None:
        yield Path(on_path)
    for pattern in _USUAL:
        matches = Path("/").glob(pattern.removeprefix("/"))
        programs = (path for path in matches if shutil.which(path))
        yield from sorted(
            programs,
            key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))],
            reverse=True,
        )


def importer_of(nsys: Path) -> Path | None:
    """Return the path of the QdstrmImporter that belongs to an nsys, None if there is none."""
    here = nsys.resolve().parent
    places = [(folder, pattern) for folder in (here, *here.parents[:2]) for pattern in _IMPORTERS]
    if here.parent.name == "nsight-systems":
        places.append((here, _DEBIANS_IMPORTER))
    for folder, pattern in places:
        importers = sorted(path.resolve() for path in folder.glob(pattern) if shutil.which(path))
        if importers:
            return importers[-1]
    return None


def run_tool(command: Sequence[str | Path], timeout_s: float = _TIMEOUT_S) -> str:
    """Run nsys or its importer, and return the output.

    Raises ToolError, with the last line of the output, if the program fails.
    """
    done = ask(command, timeout_s)
    if done.returncode == 0:
        return done.stdout or done.stderr
    complaint = _complaint(done.stdout, done.stderr) or f"exit status {done.returncode}"
    raise ToolError(f"{Path(command[0]).name} failed: {complaint}")


def _complaint(out: str, err: str) -> str:
    """Return the reason why a tool failed, in one line.

    The reason is a missing library, or else the last line of the output.
    """
    missing = _MISSING_LIBRARY.search(err + out)
    if missing:
        library = missing[1]
        package = f" ({_PACKAGES[library]})" if library in _PACKAGES else ""
        return (
            f"it needs {library}, which is not on this machine; install it{package}, or put it in a"
            " folder and name that in LD_LIBRARY_PATH"
        )
    lines = [line.strip() for line in (err.strip() or out.strip()).splitlines() if line.strip()]
    return lines[-1] if lines else ""


@contextmanager
def exported(report: Path, nsys: Nsys | None = None) -> Iterator[Path]:
    """Export a report, yield the path of the export, and remove the export afterwards.

    The export is a Parquet directory if nsys can write one (2023.4 and later), else SQLite. A raw
    capture is imported first. Raises ToolError, with the command to run by hand, if nsys is absent
    or fails.
    """
    by_hand = f"nsys export --type sqlite --output {report.stem}.sqlite {report.stem}.nsys-rep"
    if nsys is None:
        try:
            nsys = find_nsys()
        except ToolError as error:
            raise ToolError(
                f"{report}: reading it takes nsys: {error}; or if nsys is installed run"
                f" {by_hand}, then give tracelens {report.stem}.sqlite"
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
            raise ToolError(
                f"{report}: nsys could not export it ({complaint or 'nothing written'}); try"
                f" {by_hand}"
            )
        yield target


def import_raw(raw: Path, report: Path, nsys: Nsys) -> Path:
    """Make a report from a raw capture with nsys's importer, and return the report's path.

    Raises ToolError if the importer is absent or fails.
    """
    by_hand = f"QdstrmImporter -i {raw.name} -o {report.name}"
    if nsys.importer is None:
        raise ToolError(
            f"{raw}: a raw capture that was never imported, and {nsys.path} has no QdstrmImporter"
            " beside it (the nsys that comes with other tools may lack it); install NVIDIA Nsight"
            f" Systems, or run {by_hand} where it is, then give tracelens {report.name}"
        )
    try:
        run_tool([nsys.importer, "-i", raw, "-o", report])
    except ToolError as error:
        raise ToolError(f"{raw}: cannot be made a report: {error}; then run {by_hand}") from error
    if not report.exists():
        raise ToolError(f"{raw}: QdstrmImporter wrote no report of it; try {by_hand}")
    return report
