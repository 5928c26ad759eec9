"""Programs run under nsys: a stand-in with its command line, over exports of the real one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import command_line
from tests.nsys_exports import NAMES, RUNTIME, Row, call, rewrite, version, write
from tests.stand_in_nsys import IMPORTER
from tracelens.cli import doctor
from tracelens.collectors.nsys import keep_exit_code, live, tool
from tracelens.errors import ToolError
from tracelens.trace import Trace
from tracelens.trace.collector import Run

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "samples" / "nsys" / "eager_resnet50.sqlite"
SECRET = "a-token-that-is-in-no-trace"  # noqa: S105 - none
DONE = [sys.executable, "-c", "pass"]


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def stand_in(path: Path) -> Path:
    """The stand-in at this path."""
    script = Path(__file__).with_name("stand_in_nsys.py")
    return executable(
        path, f'#!/bin/sh\n# Stand-in for nsys.\nexec "{sys.executable}" "{script}" "$@"\n'
    )


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a real capture, both ways."""
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copyfile(SAMPLE, folder / "export.sqlite")
    rewrite(SAMPLE, folder / "export_pqtdir", ".parquet")
    return folder


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in on PATH, with an importer where Nsight Systems has it.

    No real nsys is looked for.
    """
    root = tmp_path / "nsight-systems"
    executable(root / "host-linux-x64" / "QdstrmImporter", IMPORTER)
    monkeypatch.setattr(tool, "_USUAL", ())
    monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_EXPORTS", str(recorded))
    monkeypatch.setenv("STAND_IN_LOG", str(tmp_path / "options.json"))
    monkeypatch.setenv("SOME_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    return stand_in(root / "bin" / "nsys")


@pytest.fixture
def without_importer(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The nsys that comes with Nsight Compute, and no other."""
    installed.unlink()
    host = installed.parents[2] / "nsight-compute" / "host"
    nsys = stand_in(host / "target-linux-x64" / "nsys")
    monkeypatch.setattr(tool, "_USUAL", (str(nsys),))
    monkeypatch.setenv("STAND_IN", "raw")
    return nsys


def capture(*command: str, options: live.Options | None = None, keep: Path | None = None) -> Run:
    return live.run(command or DONE, options or live.Options(), keep=keep, raw=Path("raw.qdstrm"))


def cli(*words: str) -> list[str]:
    return [sys.executable, "-m", "tracelens", "collect", "nsys", *words]


def run_cli(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(cli(*words), env=environment, capture_output=True, text=True, check=False)


def test_a_program_becomes_a_trace(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import os, sys\nprint('from the program', len(sys.argv), 'EXIT' in"
        " str(os.environ.keys()))\n"
    )
    done = run_cli("--", sys.executable, str(program), "--out", "x")
    assert (done.returncode, done.stdout) == (0, "from the program 3 False\n")
    trace = Trace.open(tmp_path / "train.tracelens")
    # 3 steps of 239 kernels each, by nsys's own count of this recording.
    assert trace.kernels.height == 717
    source, *_ = trace.manifest.sources
    assert source["name"] == "capture.nsys-rep"
    assert source["versions"]["nsys"] == "2025.3.2.0"
    written = [
        file.read_bytes() for file in (tmp_path / "train.tracelens").rglob("*") if file.is_file()
    ]
    assert len(written) > 5
    assert not any(SECRET.encode() in text or str(tmp_path).encode() in text for text in written)


def test_kernels_stay_visible_under_cuda_graphs(tmp_path: Path) -> None:
    assert capture().captures[0].settings["cuda_graph_trace"] == "node"
    options = json.loads((tmp_path / "options.json").read_text())
    assert options["cuda_graph_trace"] == "node"
    assert (options["trace"], options["sample"], options["cpuctxsw"]) == (
        "cuda,nvtx",
        "none",
        "none",
    )
    assert options["capture_range"] == "none"


def test_options_reach_nsys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--trace", "nvtx", "--capture-range", "--nsys-option=--gpu-metrics-devices=all")
    assert (
        command_line(capsys, "collect", "nsys", *words, "--out", "o.tracelens", "--", *DONE).code
        == 0
    )
    options = json.loads((tmp_path / "options.json").read_text())
    assert (options["trace"], options["gpu_metrics_devices"]) == ("nvtx", "all")
    assert (options["capture_range"], options["capture_range_end"]) == ("cudaProfilerApi", "stop")
    # nsys refuses the option where CUDA is not traced.
    assert options["cuda_graph_trace"] == "graph"


@pytest.mark.parametrize(
    ("behaviour", "script", "code"),
    [
        ("", "kill -TERM $$", 143),
        ("code", "exit 0", 0),
        pytest.param("raw", "exit 7", 7, marks=pytest.mark.exhaustive),
    ],
)
def test_the_exit_code_is_the_programs_whatever_nsys_says(
    behaviour: str, script: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", behaviour)
    found = capture("sh", "-c", script)
    assert found.exit_code == code
    assert found.captures[0].tables["kernels"].height == 717


# The test above has nsys's codes, and test_live_programs a command that exits with its program's.
@pytest.mark.exhaustive
def test_the_exit_code_reaches_the_shell_and_the_trace_is_kept(tmp_path: Path) -> None:
    assert run_cli("--out", "x.tracelens", "--", "sh", "-c", "exit 9").returncode == 9
    assert Trace.open(tmp_path / "x.tracelens").kernels.height == 717


def test_ctrl_c_reaches_the_program_and_its_trace_is_kept(tmp_path: Path) -> None:
    waiting = (
        "try:\n    print('ready', flush=True)\n    signal.pause()\nexcept KeyboardInterrupt:\n   "
        " exit(5)"
    )
    script = f"import signal\n{waiting}"
    with subprocess.Popen(
        cli("--out", "x.tracelens", "--", sys.executable, "-c", script),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 5
    assert Trace.open(tmp_path / "x.tracelens").kernels.height == 717


def test_an_nsys_that_cannot_write_parquet_writes_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "sqlite")
    assert capture().captures[0].tables["kernels"].height == 717


def test_the_report_is_kept_where_asked_for(tmp_path: Path) -> None:
    capture(keep=tmp_path / "run.nsys-rep")
    assert (tmp_path / "run.nsys-rep").read_bytes() == b"stand-in report"
    ran = tmp_path / "ran"
    with pytest.raises(ToolError, match="the report cannot be kept there: there is no such folder"):
        capture("touch", str(ran), keep=tmp_path / "no" / "run.nsys-rep")
    assert not ran.exists()


def test_a_raw_capture_is_imported(without_importer: Path) -> None:
    """Nsight Compute has the importer beside the folder of its nsys."""
    executable(
        without_importer.parents[1] / "linux-desktop-glibc_2_11_3-x64" / "QdstrmImporter", IMPORTER
    )
    assert capture().captures[0].tables["kernels"].height == 717


@pytest.mark.usefixtures("without_importer")
def test_a_raw_capture_without_an_importer_is_kept(tmp_path: Path) -> None:
    with pytest.raises(
        ToolError, match=r"has no QdstrmImporter beside it.*install NVIDIA Nsight Systems"
    ) as told:
        capture()
    assert "QdstrmImporter -i capture.qdstrm -o capture.nsys-rep" in str(told.value)
    assert str(told.value).endswith("the raw capture is kept as raw.qdstrm")
    assert (tmp_path / "raw.qdstrm").read_bytes() == b"stand-in report"


def test_an_importer_that_misses_a_library(without_importer: Path, tmp_path: Path) -> None:
    words = (
        "QdstrmImporter: error while loading shared libraries: libdw.so.1: cannot open shared"
        " object file: No such"
    )
    importer = without_importer.parents[1] / "linux-desktop-glibc_2_11_3-x64" / "QdstrmImporter"
    executable(importer, f'#!/bin/sh\necho "{words} file or directory" >&2\nexit 127\n')
    expected = (
        r"needs libdw\.so\.1, which is not on this machine; install it \(libdw1 on"
        r" Debian.*LD_LIBRARY_PATH"
    )
    with pytest.raises(ToolError, match=expected):
        capture()
    assert (tmp_path / "raw.qdstrm").exists()


def test_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "nothing")
    with pytest.raises(
        ToolError, match=r"nothing was captured: nsys 2025\.3\.1.* left no report .*exit code 3"
    ):
        capture("sh", "-c", "exit 3")


def test_no_room_for_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "nothing")
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=0))
    with pytest.raises(ToolError, match=r"is full; name a folder with room in TMPDIR"):
        capture()


def test_no_room_for_the_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "full")
    expected = r"could not export it .*No space left on device.*the report is kept as raw\.nsys-rep"
    with pytest.raises(ToolError, match=expected):
        capture()
    assert (tmp_path / "raw.nsys-rep").read_bytes() == b"stand-in report"


@pytest.fixture
def exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the stand-in export these tables."""

    def made(**tables: list[Row]) -> None:
        folder = tmp_path / "other"
        folder.mkdir()
        write(
            folder / "export.sqlite",
            {"StringIds": NAMES, "META_DATA_EXPORT": version("3.20.3"), **tables},
        )
        monkeypatch.setenv("STAND_IN_EXPORTS", str(folder))
        monkeypatch.setenv("STAND_IN", "sqlite")

    return made


def test_nothing_recorded(
    exports: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exports()
    done = command_line(
        capsys, "collect", "nsys", "--out", "x.tracelens", "--", "sh", "-c", "exit 3"
    )
    assert done.code == 1
    assert (
        "nothing was captured: nsys recorded no call, range or GPU work (did the program use"
        " the GPU" in done.err
    )
    assert "the program's exit code is 3" in done.err
    assert not (tmp_path / "x.tracelens").exists()
    with pytest.raises(ToolError, match=r"does the program call torch\.cuda\.profiler\.start"):
        capture(options=live.Options(range_only=True))


def test_calls_but_no_gpu_work(exports: Callable[..., None]) -> None:
    exports(**{RUNTIME: [call(10, 20, 1, 1)]})
    found = capture()
    assert found.captures[0].tables["api_calls"].height == 1
    assert found.remarks == (
        "no GPU work was captured: no kernel, copy or fill ran on a GPU while nsys recorded",
    )
    assert capture(options=live.Options(trace="nvtx")).remarks == ()


def test_nsys_is_absent(installed: Path) -> None:
    installed.unlink()
    if shutil.which("nsys"):
        pytest.skip("an nsys is on PATH here")
    done = run_cli("--out", "x.tracelens", "--", *DONE)
    # In a process of its own the usual places are looked at too.
    assert done.returncode == 1 or any(tool.candidates())
    with pytest.raises(ToolError, match=r"neither on PATH nor in a usual place.*--nsys PATH"):
        capture()


def test_a_program_that_is_absent() -> None:
    with pytest.raises(ToolError, match="no folder of PATH has a program of that name"):
        capture("no-such-program")


def test_an_nsys_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = stand_in(tmp_path / "elsewhere" / "nsys")
    assert tool.find_nsys(str(other)).path == other
    monkeypatch.chdir(other.parent)
    assert tool.find_nsys("./nsys").path == other
    with pytest.raises(ToolError, match="--nsys /no/nsys: there is no such program"):
        tool.find_nsys("/no/nsys")
    wrong = executable(tmp_path / "wrong", "#!/bin/sh\necho some program version 1.2\n")
    with pytest.raises(
        ToolError, match="expected NVIDIA Nsight Systems and its version, found 'some program"
    ):
        tool.find_nsys(str(wrong))
    broken = executable(tmp_path / "broken", "#!/bin/sh\nexit 4\n")
    with pytest.raises(
        ToolError, match=r"does not answer --version \(broken failed: exit status 4\)"
    ):
        tool.find_nsys(str(broken))
    monkeypatch.setenv("STAND_IN", "old")
    with pytest.raises(
        ToolError, match=r"nsys 2021\.3\.1.* is too old; tracelens needs 2022\.1 or newer"
    ):
        tool.find_nsys()


def test_the_newest_complete_nsys_is_taken(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.unlink()
    opt = tmp_path / "opt" / "nvidia"
    compute = stand_in(opt / "nsight-compute" / "2026.1.0" / "host" / "target-linux-x64" / "nsys")
    monkeypatch.setattr(
        tool, "_USUAL", tuple(p.replace("/opt/", f"{tmp_path}/opt/", 1) for p in USUAL)
    )
    found = doctor.examine().filter(tool="nsys").to_dicts()[0]
    assert (found["found"], found["version"]) == (True, "2025.3.1.90-253135822126v0")
    assert "has no QdstrmImporter beside it" in found["to_get_it"]
    assert tool.find_nsys().path == compute
    for number in ("2025.9.1", "2025.10.1"):
        stand_in(opt / "nsight-systems" / number / "bin" / "nsys")
        executable(opt / "nsight-systems" / number / "host-linux-x64" / "QdstrmImporter", IMPORTER)
    assert "2025.10.1" in str(tool.find_nsys().path)
    assert doctor.examine().filter(tool="nsys").to_dicts()[0]["to_get_it"] is None


def test_the_importer_of_debians_packages_is_found(tmp_path: Path) -> None:
    """As nsight-systems and nsight-systems-target 2023.4.4 lay them out."""
    lib = tmp_path / "usr" / "lib"
    nsys = stand_in(lib / "x86_64-linux-gnu" / "nsight-systems" / "target-linux-x64" / "nsys")
    importer = executable(lib / "nsight-systems" / "host-linux-x64" / "QdstrmImporter", IMPORTER)
    assert tool.importer_of(nsys) == importer


@pytest.mark.slow
def test_an_exit_code_that_nobody_waits_for_is_no_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nsight Systems 2023.4.4 ends before the program if interrupted twice while it starts.

    The folder is gone.
    """
    program = [sys.executable, "-c", "raise SystemExit(7)"]
    assert keep_exit_code.main(str(tmp_path / "gone" / "exit_code"), program) == 7
    assert capfd.readouterr().err == ""


USUAL = tool._USUAL
