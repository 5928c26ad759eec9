"""Run a program under nsys, and read the recording."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tracelens.collectors.nsys.collector import read_export
from tracelens.collectors.nsys.tool import (
    RAW_SUFFIX,
    REPORT_SUFFIXES,
    Nsys,
    exported,
    find_nsys,
    import_raw,
)
from tracelens.errors import ToolError, TracelensError
from tracelens.running.program import find_program, run_program
from tracelens.schemas import DEVICE_WORK
from tracelens.storage.folders import OwnFolder
from tracelens.trace.collector import Run

_NAME = "capture"
_FULL_BYTES = 1 << 20
_KEEP_EXIT_CODE = Path(__file__).with_name("keep_exit_code.py")


class Options(Struct, frozen=True):
    """Holds the options of a recording."""

    trace: str = "cuda,nvtx"
    """The names of the APIs to trace."""
    range_only: bool = False
    """True to record only from cudaProfilerStart to cudaProfilerStop."""
    more: tuple[str, ...] = ()
    """Further arguments for nsys profile."""

    def recorded_arguments(self) -> list[str]:
        """Return the arguments for nsys profile, except `more`, because it may contain secrets."""
        # Samples of the CPU take gigabytes, and are not read here.
        words = [f"--trace={self.trace}", "--sample=none", "--cpuctxsw=none"]
        if "cuda" in self.trace.split(","):
            # A graph that is recorded as a whole hides its kernels.
            words.append("--cuda-graph-trace=node")
        if self.range_only:
            words += ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
        return words


def run(
    command: Sequence[str],
    options: Options | None = None,
    *,
    nsys: str | None = None,
    keep: Path | None = None,
    raw: Path = Path("capture.qdstrm"),
) -> Run:
    """Run the command under nsys, and read the recording.

    The report is copied to `keep`, if given. A recording that cannot be read is kept as `raw`, with
    the suffix of the recording's format. The program uses this process's standard streams. Raises
    ToolError if nsys is absent, unsuitable or fails, or if nothing was recorded.
    """
    options = options or Options()
    find_program(command[0])
    tool = find_nsys(nsys)
    if keep is not None and not keep.absolute().parent.is_dir():
        raise ToolError(
            f"{keep}: the report cannot be kept there: there is no such folder; make it first"
        )
    with OwnFolder("tracelens-nsys-") as name:
        folder = Path(name)
        exit_code = _run_under(tool, command, options, folder)
        report = _report(tool, folder, exit_code, raw)
        if keep is not None:
            _copy(report, keep)
        try:
            with exported(report, tool) as export:
                captures = read_export(export, report)
        except TracelensError as error:
            if keep is not None:
                raise
            kept = raw.with_suffix(report.suffix)
            _copy(report, kept)
            raise ToolError(f"{error}; the report is kept as {kept}") from error
    if not any(frame.height for name, frame in captures[0].tables.items() if name != "devices"):
        raise ToolError(_why_nothing(options, exit_code))
    for capture in captures:
        capture.settings["nsys_options"] = options.recorded_arguments()
        capture.versions.setdefault("nsys", tool.version)
    remarks: tuple[str, ...] = ()
    if "cuda" in options.trace.split(",") and not any(
        name in captures[0].tables for name in DEVICE_WORK
    ):
        remarks = (
            "no GPU work was captured: no kernel, copy or fill ran on a GPU while nsys recorded",
        )
    return Run(captures, exit_code, remarks)


def _run_under(tool: Nsys, command: Sequence[str], options: Options, folder: Path) -> int:
    """Run the program under nsys, and return its exit code, 128+n for signal n."""
    noted = folder / "exit_code"
    profile = [
        str(tool.path),
        "profile",
        *options.recorded_arguments(),
        *options.more,
        f"--output={folder / _NAME}",
    ]
    exit_code = run_program(
        [
            *profile,
            sys.executable,
            "-I",
            "-S",
            str(_KEEP_EXIT_CODE),
            str(noted),
            *command,
        ]
    )
    text = noted.read_text() if noted.exists() else ""
    return int(text) if text.isdecimal() else exit_code


def _report(tool: Nsys, folder: Path, exit_code: int, raw_target: Path) -> Path:
    """Return the report that nsys wrote, or make a report from nsys's raw capture.

    Raises ToolError if there is no report. nsys's raw capture is then kept as `raw_target`, if nsys
    wrote one.
    """
    for suffix in REPORT_SUFFIXES:
        for report in folder.glob(f"*{suffix}"):
            return report
    for raw in folder.glob(f"*{RAW_SUFFIX}"):
        try:
            return import_raw(raw, raw.with_suffix(".nsys-rep"), tool)
        except ToolError as error:
            _copy(raw, raw_target)
            raise ToolError(f"{error}; the raw capture is kept as {raw_target}") from error
    is_full = shutil.disk_usage(folder).free < _FULL_BYTES
    why = (
        f"{folder.parent} is full; name a folder with room in TMPDIR"
        if is_full
        else f"what nsys printed says why; exit code {exit_code}"
    )
    raise ToolError(f"nothing was captured: nsys {tool.version} left no report ({why})")


def _copy(file: Path, target: Path) -> None:
    try:
        shutil.copyfile(file, target)
    except OSError as error:
        raise ToolError(
            f"{target}: the capture cannot be kept there: {error.strerror or error}"
        ) from error


def _why_nothing(options: Options, exit_code: int) -> str:
    hint = (
        "with --capture-range nsys waits for cudaProfilerStart: does the program call"
        " torch.cuda.profiler.start()?"
        if options.range_only
        else "did the program use the GPU, or NVTX? Children that outlive it are not recorded"
    )
    return (
        f"nothing was captured: nsys recorded no call, range or GPU work ({hint}); "
        f"the program's exit code is {exit_code}"
    )
