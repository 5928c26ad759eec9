"""The command line: what goes where, exit codes, formats, and streams that fail."""

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.command_line import Result, command_line
from tests.sample_reports import SCRIPT
from tests.selection import only
from tracelens import collectors
from tracelens.analyses import ANALYSES
from tracelens.analyses.analysis import Scope
from tracelens.cli import demo
from tracelens.cli.app import split_command
from tracelens.cli.io import default_target, stem
from tracelens.cli.next_step import suggest, suggest_sections
from tracelens.collectors.torch.live.settings import Settings
from tracelens.report import build_report
from tracelens.schemas import TABLES

ROOT = Path(__file__).parent.parent
EVENTS: list[dict[str, Any]] = [
    {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::add",
        "pid": 1,
        "tid": 1,
        "ts": 10.0,
        "dur": 30.0,
        "args": {"External id": 1},
    },
    {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 1,
        "tid": 1,
        "ts": 20.0,
        "dur": 5.0,
        "args": {"correlation": 7, "External id": 1},
    },
    {
        "ph": "X",
        "cat": "kernel",
        "name": SCRIPT,
        "pid": 0,
        "tid": 7,
        "ts": 30.0,
        "dur": 4.0,
        "args": {
            "correlation": 7,
            "External id": 1,
            "device": 0,
            "stream": 7,
            "context": 1,
            "grid": [2, 1, 1],
            "block": [64, 1, 1],
            "registers per thread": 16,
            "shared memory": 0,
        },
    },
]
"""One op, its launch, and its kernel."""
DEVICE = {
    "id": 0,
    "name": "GPU",
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
    "warpSize": 32,
    "totalGlobalMem": 2**30,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerMultiprocessor": 65536,
    "sharedMemPerMultiprocessor": 233472,
}
Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    return partial(command_line, capsys)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A torch trace with one kernel, not in the folder that commands run in."""
    folder = tmp_path / "captures"
    folder.mkdir()
    path = folder / "run.pt.trace.json.gz"
    path.write_bytes(gzip.compress(_document()))
    return path


def _document(events: list[dict[str, Any]] | None = None) -> bytes:
    document = {
        "schemaVersion": 1,
        "deviceProperties": [DEVICE],
        "traceEvents": EVENTS if events is None else events,
    }
    return json.dumps(document).encode()


def test_collect_tells_of_its_trace_on_standard_error(run: Run, source: Path) -> None:
    result = run("collect", "torch", source)
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[0] == "wrote run.tracelens: 1 spans, 1 api calls, 1 kernels"
    assert Path("run.tracelens/manifest.json").is_file()


def test_an_existing_target_is_refused_before_anything_is_read(run: Run, source: Path) -> None:
    assert run("collect", "files", source, "--out", "x.tracelens").code == 0
    source.write_text("no longer a trace")
    refused = run("collect", "files", source, "--out", "x.tracelens")
    assert (refused.code, refused.out) == (1, "")
    assert (
        refused.err
        == "error: x.tracelens: exists already; give another --out, or --force to replace it\n"
    )
    source.write_bytes(gzip.compress(_document()))
    assert run("collect", "files", source, "--out", "x.tracelens", "--force").code == 0


def test_ranks_are_taken_in_order(run: Run, source: Path) -> None:
    other = source.with_name("b.json")
    other.write_bytes(_document())
    assert run("collect", "torch", source, other, "--rank", 3, "--rank", 1).code == 0
    manifest = json.loads(Path("captures.tracelens/manifest.json").read_text())
    assert manifest["ranks"] == [1, 3]


def test_standard_input_is_a_torch_trace(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_document())))
    assert run("collect", "torch", "-").code == 0
    assert Path("stdin.tracelens/manifest.json").is_file()
    for kind in ("nsys", "gdb", "files"):
        assert run("collect", kind, "-").code == 2


@pytest.mark.parametrize(
    ("words", "recorded"),
    [
        ((), {}),
        (("--no-shapes",), {"shapes": False}),
        (("--no-stacks",), {"stacks": False}),
        (("--no-modules",), {"modules": False}),
        (("--no-shapes", "--no-stacks"), {"shapes": False, "stacks": False}),
        (
            ("--no-shapes", "--no-stacks", "--no-modules"),
            {"shapes": False, "stacks": False, "modules": False, "light": False},
        ),
        (("--memory",), {"memory": True}),
        (("--cuda-sync",), {"cuda_sync": True}),
    ],
)
def test_options_of_a_torch_capture(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], recorded: dict[str, Any]
) -> None:
    """All but allocations and waits is recorded by default, and a light window besides."""
    asked: dict[str, Any] = {}

    def capture_program(*_: object, **options: Any) -> None:
        asked.update(options)
        raise SystemExit(0)

    monkeypatch.setattr("tracelens.cli.collect.request.capture_program", capture_program)
    assert run("collect", "torch", *words, "--", "train.py").code == 0
    assert asked["settings"] == replace(Settings("", light=True), **recorded)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["collect", "torch"], "nothing to collect"),
        (["collect", "torch", "--no-shapes", "x"], "--no-shapes belongs to a capture"),
        (["collect", "torch", "--max-memory", "much", "x"], "'much' is not a size of memory"),
        (["collect", "torch", "--"], "nothing to collect"),
        (
            ["collect", "nsys", "--capture-range", "a.sqlite"],
            "--capture-range belongs to a capture of a COMMAND",
        ),
        (["collect", "gdb", "a.txt", "--", "python"], "FILES and a COMMAND were both given"),
        (["report", "x", "--section", "nope"], "no section is called nope"),
        (["report", "x", "--section", "steps"], "steps is a table, not a section"),
        (["report", "x", "x"], "x: given twice"),
        (["whatif", "x"], "say what is changed: tracelens whatif x CHANGE"),
        (["report", "x", "--format", "csv"], "exactly one --section"),
        (
            ["report", "x", "--format", "nope"],
            "no format is called nope; the formats are csv, html, json",
        ),
        (["report", "x", "--format", "parquet", "--section", "top_ops"], "--out FILE"),
        (["report", "x", "--section", "compare_grids"], "--against"),
        (["report", "x.json", "--html", "x.json"], "is a source of this report"),
        (["schema", "nope"], "no table or analysis is called nope"),
        (["collect", "torch", "--rank", "-1", "x"], "--rank"),
        (["report", "x", "--\x1b[31mred"], r"--\x1b[31mred"),
        (["nope"], "nope"),
    ],
)
def test_a_contradictory_request_exits_with_2(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_trace_and_sources_together_are_refused(run: Run, source: Path) -> None:
    run("collect", "torch", source)
    assert run("report", "run.tracelens", source).code == 2


def test_bad_input_is_one_line_and_exit_1_and_debug_shows_where(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad\x1b[31m\n.json"
    bad.write_text("{")
    result = run("report", bad)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert "\x1b" not in result.err
    assert r"bad\x1b[31m\n.json" in result.err
    assert "Traceback" in run("--debug", "report", bad).err
    assert run("report", "no-such-file").code == 1


@pytest.mark.parametrize("as_trace", [False, True])
def test_report_reads_a_source_or_a_trace_alike(run: Run, source: Path, as_trace: bool) -> None:
    run("collect", "torch", source)
    result = run(
        "report",
        "run.tracelens" if as_trace else source,
        "--section",
        "top_kernels",
        "--format",
        "csv",
    )
    assert result.code == 0
    header, row = result.out.splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["duration_total_ns"] == "4000"


def test_report_speaks_every_format(run: Run, source: Path) -> None:
    assert "What limits" in run("report", source, "--all").out
    part = ("report", source, "--section", "verdict")
    assert run(*part, "--format", "markdown").out.startswith("# run.pt.trace.json.gz\n")
    assert run(*part, "--format", "html").out.startswith("<!DOCTYPE html>")
    sections = json.loads(run("report", source, "--format", "json").out)["sections"]
    of_kernels = {
        name
        for name, analysis in ANALYSES.items()
        if analysis.scope not in (Scope.HOST, Scope.RANKS, Scope.ASKED)
    }
    of_kernels = {name for name in of_kernels if ANALYSES[name].scope is not Scope.PROFILERS}
    assert set(sections) == {name for name in of_kernels if not ANALYSES[name].is_pair}
    pairs = json.loads(run("report", source, "--against", source, "--format", "json").out)[
        "sections"
    ]
    assert set(pairs) == of_kernels
    done = run(
        "report", source, "--section", "top_kernels", "--format", "parquet", "--out", "k.parquet"
    )
    assert (done.code, done.out, done.err.splitlines()[0]) == (0, "", "wrote k.parquet")
    assert Path("k.parquet").stat().st_size
    assert run(*part, "--out", "r.txt").out == ""
    assert "What limits" in Path("r.txt").read_text()
    assert run(*part, "--out", "no/folder/r.txt").code == 1


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.html", "<!DOCTYPE html>"),
        pytest.param("r.md", "# run", marks=pytest.mark.exhaustive),
        pytest.param("r.json", "{", marks=pytest.mark.exhaustive),
        ("r.CSV", "rank,"),
        ("r.parquet", "PAR1"),
    ],
)
def test_the_ending_of_out_says_the_format(run: Run, source: Path, name: str, begins: str) -> None:
    result = run("report", source, "--section", "top_kernels", "--out", name)
    assert (result.code, result.out, result.err.splitlines()[0]) == (0, "", f"wrote {name}")
    assert Path(name).read_bytes().startswith(begins.encode())
    assert (
        run("report", source, "--section", "top_kernels", "--out", name, "--format", "text").code
        == 0
    )
    assert Path(name).read_text().startswith("run.pt.trace")


def test_an_ending_of_one_table_needs_one_section(run: Run, source: Path) -> None:
    assert "exactly one --section" in run("report", source, "--out", "r.csv").err


def test_a_page_replaces_text_unless_both_are_asked_for(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.cli.next_step.shutil.which", lambda _: None)
    result = run("report", source, "--html", "r.html")
    assert (result.code, result.out, result.err) == (
        0,
        "",
        "wrote r.html\nnext: open r.html in a browser\n",
    )
    assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
    part = ("report", source, "--section", "verdict", "--html", "r.html", "--format", "text")
    assert "What limits" in run(*part).out


def test_an_empty_table_of_a_section_warns(run: Run, source: Path) -> None:
    result = run("report", source, "--section", "copy_cost", "--format", "csv")
    assert result.code == 0
    assert result.out.splitlines() == [",".join(ANALYSES["copy_cost"].result.names)]
    assert result.err.startswith("warning: copy_cost needs the table memcpys")


def test_check_is_clean_or_exits_with_1(run: Run, source: Path) -> None:
    clean = run("check", source)
    assert clean.code == 0
    assert clean.out.endswith("Clean: nothing was lost.\n")
    assert clean.err.startswith("next: ")
    broken = source.with_name("broken.json")
    broken.write_bytes(_document()[:-40])
    run("collect", "torch", broken)
    assert run("check", broken).code == 1


def test_schema_lists_and_describes(run: Run) -> None:
    listed = run("schema").out
    assert all(name in listed for name in (*TABLES, *ANALYSES))
    assert "End minus start." in run("schema", "kernels").out
    assert all(
        column in run("schema", "copy_cost").out
        for column in ("bandwidth_bytes_per_s", "wasteful_dtype")
    )


def test_a_program_given_as_a_trace_is_told_what_records_it(run: Run) -> None:
    Path("train.py").write_text("import torch\n")
    said = run("train.py")
    assert said.code == 1
    assert "a program, not a trace; record it: tracelens run python train.py" in said.err


def test_the_next_command_is_typed_as_this_one_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By its path, as after make demo, unless the shell finds this very program by its name."""
    program = tmp_path / "tracelens"
    program.touch()
    monkeypatch.setattr("sys.argv", [str(program)])
    for found, typed in ((None, str(program)), (str(program), "tracelens")):
        monkeypatch.setattr("tracelens.cli.next_step.shutil.which", lambda _, found=found: found)
        suggest("tracelens report a.tracelens", "or", "--all")
        assert capsys.readouterr().err == f"next: {typed} report a.tracelens    or    --all\n"


def test_the_page_of_a_comparison_replaces_neither_run_s_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    suggest_sections([Path("new.tracelens")], [Path("old.tracelens")], [])
    assert capsys.readouterr().err.endswith("--html new-against-old.html\n")


def test_schema_as_json_says_how_tables_join(run: Run) -> None:
    whole = json.loads(run("schema", "--format", "json").out)
    assert [*whole["tables"]] == [*TABLES]
    assert [*whole["analyses"]] == [*ANALYSES]
    kernels = json.loads(run("schema", "kernels", "--format", "json").out)["kernels"]
    assert kernels["key"] == ["rank", "kernel_id"]
    to_calls = {"table": "api_calls", "on": {"rank": "rank", "api_call_id": "api_call_id"}}
    to_nodes = {"table": "spans", "on": {"rank": "rank", "node_span_id": "span_id"}}
    assert to_calls in kernels["joins"]
    assert to_nodes in kernels["joins"]
    assert all(join["table"] != "kernels" for join in kernels["joins"])


def test_demo_reports_on_the_sample_or_says_where_it_is(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "SAMPLE", Path("no/such.json"))
    missing = run("demo")
    assert missing.code == 1
    assert "source repository" in missing.err
    monkeypatch.setattr(demo, "SAMPLE", source)
    said = run("demo")
    assert said.out == run(source).out
    assert said.err.splitlines()[-1] == "next: tracelens run python train.py"
    assert Path("tracelens-demo.html").is_file()


def test_the_demos_sample_has_layers_copies_and_causes() -> None:
    made = build_report(tl.collect(Path(demo.__file__).parents[2] / demo.SAMPLE))
    answers = {
        section.analysis.name: section.frame for section in made.sections if section.missing is None
    }
    asked = {"verdict", "layer_attribution", "copy_cost", "kernel_grids", "idle_gaps", "roofline"}
    assert asked <= set(answers)
    # A profiler's trace has no timings of layers, and this one was taken without memory.
    assert not {"timing_methods", "memory_timeline"} & set(answers)
    named = answers["layer_attribution"].filter(~pl.col("layer").str.starts_with("("))
    assert named["share_frac"].sum() > 0.9
    assert answers["copy_cost"].height
    assert {"launch", "host", "sync"} <= set(answers["idle_gaps"]["cause"])


@pytest.mark.parametrize(
    ("words", "kept", "command"),
    [
        (
            ["collect", "torch", "--out", "x", "--", "python", "a.py", "--", "b"],
            ["collect", "torch", "--out", "x"],
            ["python", "a.py", "--", "b"],
        ),
        (["--debug", "collect", "gdb", "--", "prog"], ["--debug", "collect", "gdb"], ["prog"]),
        (["collect", "files", "--", "-odd.json"], ["collect", "files", "--", "-odd.json"], []),
        (["report", "--", "-odd"], ["report", "--", "-odd"], []),
    ],
)
def test_the_command_is_split_off_before_options_are_parsed(
    words: list[str], kept: list[str], command: list[str]
) -> None:
    assert split_command(words) == (kept, command)


@pytest.mark.parametrize(
    ("names", "target"),
    [
        (["resnet50.pt.trace.json.gz"], "resnet50.tracelens"),
        (["runs/eager.sqlite"], "eager.tracelens"),
        (["eager_parquetdir"], "eager.tracelens"),
        (["ddp/rank0.json", "ddp/rank1.json"], "ddp.tracelens"),
        (["rank0.json", "rank1.json"], "rank0.tracelens"),
        (["a/x.json", "b/y.sqlite"], "x.tracelens"),
        (["-"], "stdin.tracelens"),
        ([".json"], ".json.tracelens"),
    ],
)
def test_the_default_target(names: list[str], target: str) -> None:
    assert default_target([Path(name) for name in names]) == Path(target)
    assert stem(Path("gdb.txt")) == "gdb"


def test_a_reader_that_has_seen_enough_is_no_failure(source: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "tracelens", "report", source],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (">/dev/full", "No space left on device"),
        pytest.param(">&-", "it is closed", marks=pytest.mark.exhaustive),
    ],
)
def test_an_output_that_cannot_be_written_is_one_line(source: Path, words: str, why: str) -> None:
    command = f"exec {sys.executable} -m tracelens report '{source}' {words}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: standard output: cannot be written: {why}\n"


def test_an_interrupt_exits_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt  # a real signal is sent in test_interrupted

    monkeypatch.setattr(collectors, "collect", interrupted)
    result = run("report", "x")
    assert (result.code, result.out, result.err) == (130, "", "interrupted\n")


def test_text_survives_a_terminal_that_knows_only_ascii(source: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracelens", "report", source],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert rb"\xb5s" in done.stdout


def test_a_text_report_loads_nothing_of_pages(source: Path) -> None:
    """Nor what only files of a trace are read by."""
    code = (
        "import sys; from tracelens.cli.commands import app; app(sys.argv[1:], standalone_mode=False);"
        " print([one for one in ('altair', 'jinja2', 'pandas', 'perfetto', 'vl_convert', 'z3',"
        " 'pyarrow.parquet') if one in sys.modules])"
    )
    command = [sys.executable, "-c", code, "report", str(source), "--format", "text"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "What limits" in done.stdout
    assert done.stdout.endswith("\n[]\n")


def test_an_answer_loads_nothing_of_pages_or_files() -> None:
    """Nor pyarrow, Rich or Typer.

    That NumPy was loaded without threads is not passed on to programs that are run later.
    """
    code = (
        "import os, sys, atexit; from tracelens.cli.app import main; atexit.register(lambda:"
        " print([one for one in ('altair', 'jinja2', 'pandas', 'pyarrow', 'pydantic',"
        " 'rich.console', 'typer') if one in sys.modules],"
        " os.environ.get('OPENBLAS_NUM_THREADS'))); main()"
    )
    sample = ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz"
    command = [sys.executable, "-c", code, str(sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "What would help" in done.stdout
    assert done.stdout.endswith(f"\n[] {os.environ.get('OPENBLAS_NUM_THREADS')}\n")


def test_words_that_typer_need_not_convert(run: Run, source: Path, tmp_path: Path) -> None:
    """Numbers and files that one may not read are Typer's."""
    assert run("report", source, "--section", "verdict", "--rows", "x").code == 2
    assert run("report", source, "--section", "verdict", "--rows", 1).code == 0
    done = run("report", source, "--fail-on", "gpu_time > 0%", "--min-effect", "no")
    assert (done.code, "'no'" in done.err or "number" in done.err) == (2, True)
    if os.geteuid():  # root may read all
        source.chmod(0)
        assert run("report", source).code == 2


@pytest.mark.parametrize("name", only(["folder.d/r.pdf"], ["r.xlsx", "r.JSN", "folder.d/r.pdf"]))
def test_an_ending_of_no_format_is_a_usage_error(run: Run, source: Path, name: str) -> None:
    result = run("report", source, "--section", "top_kernels", "--out", name)
    assert result.code == 2
    assert f"no format ends in {Path(name).suffix}" in result.err
    assert ".csv, .htm, .html, .json, .md, .parquet, .txt" in result.err
    assert not Path(name).exists()
    assert (
        run("report", source, "--section", "top_kernels", "--out", "r.xlsx", "--format", "csv").code
        == 0
    )
    assert run("report", source, "--section", "top_kernels", "--out", "plain").code == 0


NOT_UTF8 = os.fsdecode(b"t\xff")


def test_names_of_files_that_are_no_utf8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source may have one; a trace may not, for Parquet's writer takes none."""
    log, trace = tmp_path / f"{NOT_UTF8}.txt", tmp_path / f"{NOT_UTF8}.pt.trace.json"
    log.write_text("#0  0x00007f01 in f () from libf.so\n#1  0x00007f02 in main () from app\n")
    trace.write_bytes(_document())
    for words in (["gdb", log], ["torch", trace]):
        done = command_line(capsys, "collect", *words, "--out", tmp_path / "t.tracelens", "--force")
        assert done.code == 0, done.err
        assert tl.open(tmp_path / "t.tracelens").manifest.sources[0]["name"].startswith("t\ufffd.")
    done = command_line(capsys, "collect", "torch", trace, "--out", tmp_path / NOT_UTF8)
    assert done.code == 1
    assert done.err.endswith(
        "/t\\udcff: cannot be written: the name is not UTF-8; give another --out\n"
    )
