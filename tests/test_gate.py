"""`report --fail-on`: the gates' expressions, their verdicts, and the exit codes."""

import gzip
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.cases import make_trace
from tracelens import collect
from tracelens.cli.app import main, repeat_against
from tracelens.derive.comparing.expressions import ExpressionError, parse
from tracelens.derive.comparing.gate import REASON_WIDE, Verdict, evaluate
from tracelens.derive.comparing.significance import REASON_SMALL, REASON_TOO_FEW, Rules
from tracelens.errors import SourceError
from tracelens.trace import Trace
from tracelens.views.summary import found_value, gate_lines

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "torch"
PINNED, PAGEABLE, DOUBLE = (
    str(SAMPLES / f"resnet50_train_{kind}.pt.trace.json.gz")
    for kind in ("f32_pinned", "f32_pageable", "f64_pageable")
)
Row = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpu_time > +5%", ("metric", "gpu_time", "", "share", 0.05)),
        ("step_time>+3%", ("metric", "step_time", "", "share", 0.03)),
        ("layer:layer1.*:duration > +10%", ("layer", "layer1.*", "duration", "share", 0.1)),
        ("kernel:*gemm*:count > 0", ("kernel", "*gemm*", "count", "most", 0)),
        (
            "kernel:at::*<float>*:duration > +1.5 us",
            ("kernel", "at::*<float>*", "duration", "more", 1500),
        ),
        ("exposed_copy > 1 ms", ("metric", "exposed_copy", "", "most", 1e6)),
        ("memory_peak > +2%", ("metric", "memory_peak", "", "share", 0.02)),
        ("h2d_bytes > +1 MiB", ("metric", "h2d_bytes", "", "more", 2**20)),
        (" kernels > 12 ", ("metric", "kernels", "", "most", 12)),
        ("each kernel:* > +10%", ("kernel", "*", "duration", "share", 0.1)),
        ("op:aten::* > +5%", ("op", "aten::*", "duration", "share", 0.05)),
    ],
)
def test_expressions(text: str, found: tuple[object, ...]) -> None:
    one = parse(text)
    assert (one.kind, one.name, one.measure, one.form, one.limit) == found


@pytest.mark.parametrize(
    ("text", "marked", "said"),
    [
        ("gpu_tme > +5%", "gpu_tme", "no measure is called 'gpu_tme'; near: gpu_time"),
        ("gpu_time", "", "expected > and a limit"),
        ("gpu_time > fast", "fast", "expected a limit"),
        ("gpu_time > ", "", "expected a limit"),
        ("gpu_time > 5%", "5%", "write +5%"),
        ("gpu_time > 5", "5", "the units are ns, us, µs, ms, s"),
        ("h2d_bytes > 5 ms", "5 ms", "the units are B, kB, MB"),
        ("kernels > 5 ms", "5 ms", "the units are none"),
        ("layr:x:duration > +1%", "layr", "near: layer, kernel, op"),
        ("layer:x:count > 1", "count", "expected layer:PATTERN:duration, found 'count'"),
        ("kernel:gemm > 1", "gemm", "expected kernel:PATTERN:duration or count"),
        ("each gpu_time > +5%", "gpu_time", "each is of the names that a pattern finds"),
        ("> +1%", ">", "no measure is called ''"),
        ("gpu_time > -5%", "-5%", "expected a limit"),
    ],
)
def test_errors_mark_what_is_wrong(text: str, marked: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(said)) as error:
        parse(text)
    shown, caret = error.value.marks
    begin, end = caret.index("^"), caret.rindex("^") + 1
    assert shown == f"  {text}"
    assert shown[begin:end].strip() == marked


def run(*kernels: int, steps: int = 3, copied: int = 100, **names: int) -> Trace:
    """Steps with a kernel per duration and kernels by name, and a copy of so many bytes.

    The layers are 0, 1, ….
    """
    spans: list[Row] = [
        {"name": "op", "kind": "op", "module_path": f"layer1.{at}", "phase": "forward"}
        for at in range(len(kernels))
    ]
    work: list[Row] = [
        {"name": "k", "span_id": at, "duration_ns": ns, "step": step}
        for step in range(steps)
        for at, ns in enumerate(kernels)
    ]
    work += [
        {"name": name, "duration_ns": ns, "step": step}
        for step in range(steps)
        for name, ns in names.items()
    ]
    copies: list[Row] = [
        {"direction": "h2d", "size_bytes": copied, "duration_ns": 50, "step": at}
        for at in range(steps)
    ]
    layers: list[Row] = [
        {"module_path": row["module_path"], "class_name": "Conv2d"} for row in spans
    ]
    return make_trace(spans=spans, kernels=work, memcpys=copies, layers=layers)


def verdicts(base: Trace, other: Trace, *texts: str, rules: Rules | None = None) -> list[Verdict]:
    return evaluate(base, other, [parse(text) for text in texts], rules=rules or Rules())


def test_values_limits_and_intervals() -> None:
    found = verdicts(
        run(10_000, 10_000),
        run(10_000, 20_000, copied=150),
        "gpu_time > +49%",
        "gpu_time > +51%",
        "gpu_time > +9 us",
        "gpu_time > 31 us",
        "h2d_bytes > +10%",
        "layer:layer1.*:duration > +10%",
        "layer:layer1.0:duration > +10%",
    )
    assert [(one.verdict, one.value, one.limit) for one in found] == [
        ("failed", 0.5, 0.49),
        ("passed", 0.5, 0.51),
        ("failed", 10_000, 9_000),
        ("passed", 30_000, 31_000),
        ("failed", 0.5, 0.1),
        ("failed", 1.0, 0.1),
        ("passed", 0.0, 0.1),
    ]
    assert all(one.interval is not None for one in found)
    assert found[4].interval == (0.5, 0.5)  # bytes have no clock
    assert "layer1.1 forward" in found[5].reason


def test_each_kernel_that_base_has_not_grew_from_nothing() -> None:
    """A share of nothing cannot be judged; so much more, and so many more calls, can."""
    base, other = run(10_000), run(10_000, spin=5_000)
    texts = ("each kernel:*:duration > +4 us", "each kernel:*:duration > +6 us")
    failed, passed = verdicts(base, other, *texts)
    assert (failed.verdict, failed.value) == ("failed", 5_000)
    assert failed.reason == "spin: more than in base"
    assert passed.verdict == "passed"
    counted, gone = verdicts(base, other, "each kernel:*:count > +0", "each kernel:spin:count > 0")
    assert (counted.verdict, counted.value, gone.verdict) == ("failed", 1, "failed")
    (fewer,) = verdicts(other, base, "each kernel:*:count > +0")
    assert fewer.verdict == "passed"
    (share,) = verdicts(base, other, "each kernel:spin:duration > +10%")
    assert share.verdict == "unclear"


def test_kernels_count_where_base_has_none() -> None:
    base, other = run(10_000), run(10_000, a_gemm_b=500)
    failed, passed, none = verdicts(
        base, other, "kernel:*gemm*:count > 0", "kernel:k:count > 0", "kernel:*conv*:count > 0"
    )
    assert (failed.verdict, failed.value) == ("failed", 1)
    assert (passed.verdict, passed.value, passed.reason) == (
        "passed",
        1,
        f"beyond the limit, but {REASON_SMALL}",
    )
    assert (none.verdict, none.value) == ("passed", 0)


def kernels_by_step(**durations: Sequence[int]) -> Trace:
    """A trace with one kernel of each name a step, of these durations in ns."""
    kernels = [
        {"name": name, "step": step, "duration_ns": ns}
        for name, by_step in durations.items()
        for step, ns in enumerate(by_step)
    ]
    return make_trace(kernels=kernels)


def test_only_what_is_judged_worse_fails() -> None:
    """The median is 30 % longer, and steps differ by far more: the gate could not have failed."""
    base = kernels_by_step(k=(10_000, 19_000, 4_000))
    other = kernels_by_step(k=(13_000, 4_000, 22_000))
    (one,) = verdicts(base, other, "gpu_time > +5%")
    assert (one.verdict, one.value) == ("unclear", 0.3)
    assert one.reason == f"beyond the limit, but {REASON_WIDE}"


def test_what_cannot_be_seen_does_not_pass() -> None:
    """Equal runs of steps from 4 to 19 us show nothing of 5 %, but exclude ten times as long."""
    base = kernels_by_step(k=(10_000, 19_000, 4_000))
    (one,) = verdicts(base, base, "gpu_time > +5%")
    assert (one.verdict, one.value, one.reason) == ("unclear", 0, REASON_WIDE)
    (one,) = verdicts(base, base, "gpu_time > +900%")
    assert (one.verdict, one.value) == ("passed", 0)
    quiet = kernels_by_step(k=(10_000, 10_100, 9_900))
    (one,) = verdicts(quiet, quiet, "gpu_time > +5%")
    assert (one.verdict, one.value) == ("passed", 0)


def test_what_is_far_shorter_passes_however_it_varies() -> None:
    """Steps of 1 to 3 us are no worse than steps of 90 to 110 us, whatever their spread."""
    base = kernels_by_step(k=(100_000, 110_000, 90_000))
    other = kernels_by_step(k=(2_000, 3_000, 1_000))
    (one,) = verdicts(base, other, "gpu_time > +1%")
    assert one.interval is not None
    assert one.verdict == "passed"
    assert one.interval[1] < 0.01


def test_a_pattern_counts_what_it_could_not_judge() -> None:
    wild = (10_000, 19_000, 4_000)
    base = kernels_by_step(steady=(5_000, 5_001, 4_999), wild=wild)
    other = kernels_by_step(steady=(5_000, 5_001, 4_999), wild=wild, fresh=(1_000,) * 3)
    (each,) = verdicts(base, other, "each kernel:* > +10%")
    assert each.verdict == "passed"
    assert each.reason == (
        f"steady: {REASON_SMALL}; 1 of 2 cannot be judged; 1 only in new, which are not shares of"
        " base"
    )
    (fresh, added_up) = verdicts(
        base, other, "each kernel:fresh* > +10%", "kernel:fresh:duration > +10%"
    )
    assert (fresh.verdict, fresh.reason) == ("unclear", "only in new, which is not a share of base")
    assert gate_lines([added_up]) == [
        "failed: kernel:fresh:duration > +10% (only in new; more than in base)"
    ]


def test_too_few_steps_pass_and_say_so() -> None:
    two, one = run(10_000, steps=2), run(30_000, steps=2)
    (found,) = verdicts(two, one, "gpu_time > +5%")
    assert (found.verdict, found.value, found.reason) == (
        "unclear",
        2.0,
        f"beyond the limit, but {REASON_TOO_FEW}",
    )
    rules = Rules(base_runs=[run(10_001, steps=1)] * 2, other_runs=[run(30_001, steps=1)] * 2)
    (found,) = verdicts(run(10_000, steps=1), run(30_000, steps=1), "gpu_time > +5%", rules=rules)
    assert found.verdict == "failed"


def test_what_only_one_recorded_is_unclear() -> None:
    (one,) = verdicts(run(10), run(10), "memory_peak > +2%")
    assert (one.verdict, one.value) == ("unclear", None)
    assert "profile_memory=True" in one.reason


def test_nothing_passes_for_lack_of_kernels_or_of_a_comparison() -> None:
    gate = parse("gpu_time > +5%")
    with pytest.raises(SourceError, match="no kernels, so no gate can be judged"):
        evaluate(run(10), make_trace(), [gate])
    with pytest.raises(SourceError, match="neither kernels nor ops"):
        evaluate(make_trace(), make_trace(), [gate])
    with pytest.raises(SourceError, match="are two programs"):
        evaluate(make_trace(kernels=[{"name": "a", "duration_ns": 5}]), run(10), [gate])
    two = [
        make_trace(devices=[{"name": name}], kernels=[{"duration_ns": 5}])
        for name in ("A100", "H200")
    ]
    with pytest.raises(SourceError, match="two kinds of GPU"):
        evaluate(two[0], two[1], [gate])
    assert evaluate(two[0], two[1], [gate], rules=Rules(across_devices=True))


def nested(ns: int, *, shape: str = "[[32, 3]]", steps: int = 4) -> Trace:
    """Steps in which aten::linear calls aten::addmm and aten::t. Only addmm launches a kernel."""
    spans: list[Row] = []
    kernels: list[Row] = []
    for step in range(steps):
        first = len(spans)
        for name, parent in (("aten::linear", None), ("aten::t", first), ("aten::addmm", first)):
            spans.append(
                {
                    "name": name,
                    "kind": "op",
                    "parent_id": parent,
                    "step": step,
                    "input_shapes": shape,
                    "duration_ns": ns,
                    "self_ns": ns,
                }
            )
        kernels.append({"name": "gemm", "span_id": first + 2, "step": step, "duration_ns": ns})
    return make_trace(spans=spans, kernels=kernels)


def test_ops_count_what_their_descendants_launch() -> None:
    gates = ("op:aten::linear:duration > +5%", "op:aten::*:duration > +5%", "op:aten::t:count > 4")
    outer, every, calls = verdicts(nested(10_000), nested(20_000), *gates)
    assert (outer.verdict, outer.base, outer.new, outer.unit) == ("failed", 10_000, 20_000, "ns")
    # The kernel lies below two of the ops that the pattern finds, and counts once.
    assert (every.verdict, every.base, every.new) == ("failed", 10_000, 20_000)
    assert (calls.verdict, calls.new) == ("passed", 1)


def test_ops_that_launch_nothing_are_a_usage_error() -> None:
    with pytest.raises(ExpressionError, match=r"aten::t launches no kernel.*near: aten::"):
        verdicts(nested(10), nested(10), "op:aten::t:duration > +5%")


def test_each_judges_every_name_by_itself() -> None:
    base, other = run(9_000, a=90_000, b=10_000), run(9_000, a=89_000, b=12_000)
    together, each = verdicts(base, other, "kernel:?:duration > +10%", "each kernel:* > +10%")
    assert together.verdict == "passed"
    assert (each.verdict, each.base, each.new) == ("failed", 10_000, 12_000)
    assert each.reason == "b: more than in base"


def test_zero_against_zero_never_passes() -> None:
    share, limit = verdicts(run(10_000), run(10_000), "d2h_bytes > +5%", "d2h_bytes > 1 MB")
    assert (share.verdict, share.value) == ("unclear", None)
    assert share.reason.startswith("0 in both runs")
    assert limit.verdict == "passed"


def test_rows_in_brackets_are_never_judged() -> None:
    loose: list[Row] = [{"name": "k", "duration_ns": 100, "step": step} for step in range(3)]
    slower = [row | {"duration_ns": 900} for row in loose]
    layers: list[Row] = [{"module_path": "net", "class_name": "Net"}]
    base, other = (make_trace(kernels=rows, layers=layers) for rows in (loose, slower))
    (found,) = verdicts(base, other, "layer:*:duration > +10%")
    assert (found.verdict, found.value) == ("unclear", None)
    with pytest.raises(ExpressionError, match="rows in brackets are never judged"):
        verdicts(base, other, "layer:(unattr*:duration > +10%")


def test_other_work_is_said_and_not_judged() -> None:
    base, other = nested(10_000), nested(20_000, shape="[[64, 3]]")
    (found,) = verdicts(base, other, "gpu_time > +5%")
    assert found.verdict == "unclear"
    assert "aten::linear [[32, 3]] in base, aten::linear [[64, 3]] in new" in found.reason
    assert "--any-work" in found.reason
    (found,) = verdicts(base, other, "gpu_time > +5%", rules=Rules(any_work=True))
    assert found.verdict == "failed"
    assert "the work of the runs differs" in found.reason


def on_cpu(ns: int) -> Trace:
    """Four steps of 100 µs. In each aten::mm of layer1 takes so long."""
    spans: list[Row] = [
        {
            "name": "aten::mm",
            "kind": "op",
            "module_path": "layer1",
            "start_ns": step * 100_000,
            "duration_ns": ns,
            "self_ns": ns,
            "step": step,
        }
        for step in range(4)
    ]
    steps: list[Row] = [
        {"step": step, "start_ns": step * 100_000, "duration_ns": 100_000 + (step == 3) * ns}
        for step in range(4)
    ]
    return make_trace(spans=spans, steps=steps, layers=[{"module_path": "layer1"}])


def test_runs_on_the_cpu_are_judged_by_host_time() -> None:
    gates = ("op:aten::mm:duration > +10%", "layer:layer1:duration > +10%", "step_time > +10%")
    op, layer, _ = verdicts(on_cpu(10_000), on_cpu(20_000), *gates)
    assert (op.verdict, op.base, op.new) == ("failed", 10_000, 20_000)
    assert (layer.verdict, layer.base, layer.new) == ("failed", 10_000, 20_000)
    with pytest.raises(ExpressionError, match="gpu_time is of a GPU, and neither run used one"):
        verdicts(on_cpu(10_000), on_cpu(10_000), "gpu_time > +10%")


def test_one_run_is_judged_by_what_runs_of_base_differ_by() -> None:
    rules = Rules(base_runs=[run(10_500), run(9_500), run(10_000)])
    noise, lenient = verdicts(
        run(10_000), run(10_400), "gpu_time > +2%", "gpu_time > +90%", rules=rules
    )
    (slower,) = verdicts(run(10_000), run(14_000), "gpu_time > +2%", rules=rules)
    assert (noise.verdict, noise.reason) == ("unclear", f"beyond the limit, but {REASON_WIDE}")
    assert (lenient.verdict, slower.verdict) == ("passed", "failed")


_FOLDER = TemporaryDirectory()


@cache
def stored(source: str) -> str:
    """Collect a sample once for all tests that report on it; return its stored trace."""
    name = Path(source).name.removesuffix(".pt.trace.json.gz")
    return str(collect(source).write(Path(_FOLDER.name) / f"{name}.tracelens").path)


def report(*words: str) -> int:
    given = [stored(word) if word in {PINNED, PAGEABLE, DOUBLE} else word for word in words]
    with pytest.raises(SystemExit) as ended:
        main(["report", *given])
    return int(str(ended.value.code or 0))


@pytest.mark.parametrize(
    ("text", "unit", "value", "interval", "found"),
    [
        ("gpu_time > 1 ms", "ns", 4_956_204.0, (4.9e6, 5.012e6), "4.96 ms, 4.90 ms to 5.01 ms"),
        ("gpu_time > +1 us", "ns", -250.0, (-1_500.0, 1_000.0), "-250 ns, -1.50 µs to 1.00 µs"),
        ("kernels > 700", "calls", 717.0, None, "717 calls"),
        ("gpu_time > +5%", "ns", -0.0125, None, "-1.25%"),
    ],
)
def test_values_have_their_unit(
    text: str, unit: str, value: float, interval: tuple[float, float] | None, found: str
) -> None:
    verdict = Verdict(text, "passed", 0.0, unit, "", value=value, interval=interval)
    assert found_value(verdict) == found


def test_equal_runs_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """The four steps take 17.6 to 19.5 ms, so 3 % of a step cannot be seen."""
    steady = ["gpu_time > +5%", "exposed_copy > 1 ms", "kernel:*gemm*:count > 0"]
    asked = [word for text in steady for word in ("--fail-on", text)]
    compared = [PINNED, "--against", PINNED, "--section", "compare_setup", *asked]
    assert report(*compared, "--strict") == 0
    assert capsys.readouterr().err.count("gate passed") == len(steady)
    compared += ["--fail-on", "step_time > +3%"]
    assert [report(*compared), report(*compared, "--strict")] == [0, 1]
    written = capsys.readouterr().err
    assert written.count("gate unclear: step_time") == 2
    assert "profile more steps, or give more runs of each" in written


def test_twice_the_bytes_fail(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    asked = [
        "--section",
        "compare_copies",
        "--fail-on",
        "h2d_bytes > +50%",
        "--summary",
        str(summary),
    ]
    assert report(DOUBLE, "--against", PAGEABLE, *asked, "--format", "json") == 3
    told = capsys.readouterr()
    (gate,) = json.loads(told.out)["gate"]
    assert gate == {
        "expr": "h2d_bytes > +50%",
        "verdict": "failed",
        "base": 1572864.0,  # 32 x 3 x 64 x 64 float32
        "new": 3145728.0,
        "unit": "bytes",
        "value": 1.0,
        "limit": 0.5,
        "interval": [1.0, 1.0],
        "reason": "more than in base",
    }
    assert "gate failed: h2d_bytes > +50%" in told.err
    assert "one run per side does not show how much runs differ by chance" in told.err
    said = summary.read_text()
    assert "**1 of 1 gates failed.**" in said
    assert "The runs differ in dtypes" in said


def copied_bytes(file: str) -> int:
    """Bytes that the file's own events say were copied to the device."""
    events = json.loads(gzip.decompress(Path(file).read_bytes()))["traceEvents"]
    copies = [event for event in events if event.get("cat") == "gpu_memcpy"]
    return sum(int(copy["args"]["bytes"]) for copy in copies if "HtoD" in copy["name"])


def test_continuous_integration_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    gates = ("h2d_bytes > +50%", "d2h_bytes > +5%", "h2d_bytes > 1 GB")
    asked = [word for gate in gates for word in ("--fail-on", gate)]
    file = tmp_path / "gates.xml"
    options = ["--section", "compare_copies", "--junit", str(file)]
    assert report(DOUBLE, "--against", PAGEABLE, *options, *asked) == 3
    told = capsys.readouterr().err
    grown = copied_bytes(DOUBLE) / copied_bytes(PAGEABLE) - 1
    found = f"{grown:+.2%}"
    error = f"h2d_bytes > +50%: {found}, {found} to {found}; more than in base"
    assert f"::error title=gate failed::{error}".replace("%", "%25") in told
    assert "::warning title=gate unclear::d2h_bytes > +5%25: no value; 0 in both runs" in told
    suite = ET.parse(file).getroot()  # noqa: S314 - of our own
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["skipped"], []]
    assert suite[0][0].get("message", "").startswith(found)


def test_an_empty_trace_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, host = tmp_path / "empty.json", str(tmp_path / "host.tracelens")
    empty.write_text('{"schemaVersion": 1, "traceEvents": []}')
    make_trace(spans=[{"kind": "op", "name": "aten::mm"}]).write(host)
    asked = ["--section", "compare_setup", "--fail-on", "gpu_time > +5%"]
    assert report(str(empty), "--against", PINNED, *asked) == 1
    assert "the trace has no events" in capsys.readouterr().err
    assert report(host, "--against", PINNED, *asked) == 1
    assert report(PINNED, "--against", host, *asked) == 1
    assert capsys.readouterr().err.count("no kernels, so no gate can be judged") == 2


def test_two_programs_are_shown_and_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    alexnet = str(SAMPLES / "alexnet_eager.pt.trace.json.gz")
    assert (
        report(
            alexnet,
            "--against",
            PINNED,
            "--section",
            "compare_setup",
            "--fail-on",
            "gpu_time > +5%",
        )
        == 1
    )
    told = capsys.readouterr()
    assert "Did the two runs do the same work?" in told.out
    assert "no gate can be judged" in told.err


def test_what_cannot_be_judged_passes_loudly_unless_strict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [
        PINNED,
        "--against",
        PINNED,
        "--section",
        "compare_setup",
        "--fail-on",
        "memory_peak > +2%",
    ]
    assert report(*asked) == 0
    assert "1 of 1 gates could not be judged" in capsys.readouterr().err
    assert report(*asked, "--strict") == 1


def test_a_caret_and_near_names_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert report("x", "--against", "y", "--fail-on", "gpu_tim > +5%") == 2
    first, caret, error = capsys.readouterr().err.splitlines()
    assert (first, caret) == ("  gpu_tim > +5%", "  ^^^^^^^")
    assert "near: gpu_time" in error
    assert report(PINNED, "--against", PINNED, "--fail-on", "layer:nope*:duration > +5%") == 2
    assert "        ^^^^^" in capsys.readouterr().err
    assert report("x", "--fail-on", "gpu_time > +5%") == 2
    assert "--against" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["report", "n1", "n2", "--against", "o1", "o2", "--strict"], ["o1", "o2"]),
        (["report", "n1", "--against", "o1", "--against", "o2"], ["o1", "o2"]),
        (["report", "--against", "o1", "n1"], ["o1"]),
        (["report", "n1", "--against", "o1", "--html", "x.html"], ["o1"]),
    ],
)
def test_several_bases_follow_one_option(words: list[str], found: list[str]) -> None:
    after = repeat_against(words)
    assert [after[at + 1] for at, word in enumerate(after) if word == "--against"] == found


def test_each_path_is_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--section", "compare_kernels", "--format", "json"]
    assert report(PINNED, PAGEABLE, DOUBLE, "--against", PAGEABLE, PINNED, PINNED, *asked) == 0
    rows = json.loads(capsys.readouterr().out)["sections"]["compare_kernels"]["rows"]
    assert {row["outcome"] for row in rows} <= {"unclear", None}
