"""The benchmark measures what it says, judges targets by the right rows, and writes its results."""

import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks import suites
from benchmarks.measure import ContenderError, measure
from benchmarks.present import BEGIN, END, chart, page, performance, replace_section
from benchmarks.results import Results, Row
from benchmarks.suite_live import SAMPLER, captured_shares
from benchmarks.targets import judge

MB_30 = "import time; held = bytearray(30_000_000); time.sleep(0.2)"


def row(
    contender: str, size: float, seconds: list[float], *, form: str = "plain", peak_mb: float = 100
) -> Row:
    peaks = [peak_mb] * len(seconds)
    return Row(
        "collect torch", contender, f"{size:g} MB {form}", size, "MB", seconds, seconds, peaks
    )


def results(*rows: Row) -> Results:
    return Results({"processor": "a CPU", "cores": "2"}, {"runs": 3, "quick": False}, list(rows))


COMPARED = results(
    row(suites.COLLECT, 125, [1.0, 1.1, 9.0]),
    row(suites.COLLECT, 500, [2.0, 2.0, 2.0], peak_mb=610),
    row(suites.ORJSON, 500, [3.0, 3.0, 3.0]),
    row(suites.HTA, 500, [24.0, 30.0, 22.0]),
    row(f"{suites.HTA}, ijson", 500, [40.0, 40.0, 40.0]),
    row(suites.COLLECT, 2000, [9.0, 9.0, 9.0]),
)


@pytest.mark.slow
def test_measures_the_largest_process() -> None:
    small, large = measure([sys.executable, "-c", "pass"]), measure([sys.executable, "-c", MB_30])
    assert 28e6 < large.peak_bytes - small.peak_bytes < 60e6
    assert 0.2 < large.process_s < 5
    assert large.seconds == large.process_s


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="adds up processes by /proc")
def test_adds_up_processes_that_run_at_once() -> None:
    both = (
        f"import subprocess, sys; c = [sys.executable, '-c', {MB_30!r}]; p = subprocess.Popen(c);"
        f" {MB_30}; p.wait()"
    )
    one = measure([sys.executable, "-c", MB_30])
    assert measure([sys.executable, "-c", both]).peak_bytes > one.peak_bytes + 25e6


@pytest.mark.slow
def test_takes_the_time_that_a_contender_gives() -> None:
    run = measure([sys.executable, "-c", 'print("noise"); print(\'{"seconds": 7.5, "rows": 3}\')'])
    assert (run.seconds, run.said) == (7.5, {"rows": 3})


@pytest.mark.slow
def test_a_failure_says_why_without_paths() -> None:
    with pytest.raises(ContenderError, match=r"exit code 1: ValueError: no … here"):
        measure([sys.executable, "-c", "raise ValueError('no /home/someone/x.json here')"])


def test_targets_are_judged_by_medians_at_the_size_they_name() -> None:
    judged = {target.target: target for target in judge(COMPARED)}
    hta, orjson = (
        t for name, t in judged.items() if "500 MB trace, plain" in name and t.met is not None
    )
    assert (hta.met, hta.measured) == (True, "12.00 times (2.00 s against 24.00 s, 500 MB plain)")
    assert (orjson.met, orjson.full_size) == (True, True)
    memory = judged["collect torch: at most 600 MB of memory at 500 MB (goal: 450)"]
    assert (memory.met, memory.measured) == (False, "610 MB (500 MB plain)")
    growth = judged["collect torch: 2 GB within 4.4 times of 500 MB"]
    assert (growth.met, growth.measured[:10]) == (False, "4.50 times")
    assert judged["nesting 5 M spans of one thread in at most 0.3 s"].met is None


def test_readers_of_nsys_are_judged_from_start_to_exit() -> None:
    pair = [
        Row(
            "collect nsys, parquetdir",
            name,
            "5 M kernels",
            5,
            "M kernels",
            [call],
            [process],
            [1.0],
        )
        for name, call, process in ((suites.COLLECT_NSYS, 6.3, 6.3), (suites.POLARS, 3.0, 3.5))
    ]
    (found,) = (t for t in judge(results(*pair)) if "parquetdir" in t.target)
    assert found.met is True
    assert found.measured.startswith(
        "1.80 times (6.30 s against 3.50 s, 5 M kernels); 2.10 times the call alone (3.00"
    )
    pair[1].process_s = [3.1]
    assert next(t for t in judge(results(*pair)) if "parquetdir" in t.target).met is False


def test_the_page_is_judged_by_its_time_and_by_its_size() -> None:
    written = Row(
        "page",
        suites.PAGE,
        "5 M kernels",
        5,
        "M kernels",
        [16.0],
        [17.0],
        [2800],
        said={"page_mb": 1.6},
    )
    time, size = (t for t in judge(results(written)) if t.target.startswith("the page of 5 M"))
    assert (time.measured, time.met, time.full_size) == ("16.00 s (5 M kernels)", False, True)
    assert (size.measured, size.met, size.full_size) == ("1.6 MB (5 M kernels)", True, True)


def test_a_smaller_input_is_said_to_be_one() -> None:
    target = next(iter(judge(results(row(suites.COLLECT, 60, [1.0]), row(suites.HTA, 60, [9.0])))))
    assert (target.met, target.full_size) == (False, False)


def test_page_and_readme_show_what_was_found() -> None:
    found = Results.from_dict(COMPARED.as_dict())
    found.targets = judge(found)
    text = page(found)
    assert "| 500 MB plain | HTA TraceAnalysis | 24 s | 20.8 | 100 MB | 12.00 |" in text
    assert "125 → 500 → 2000 MB" in text
    compiled = [
        Row("torch.compile", name, "a model", 1, "models", [20.0], [20.0], [700]) for name in "ab"
    ]
    assert "| a model | b | 20 s | 0.05 | 700 MB |" in page(results(*compiled))
    section = performance(found)
    assert "| HTA TraceAnalysis | 24 s | 100 MB | 12.00 |" in section
    assert "ijson" not in section
    assert len(chart(found).to_dict()["hconcat"]) == 2


def test_without_a_gpu_the_sampler_is_judged_by_captures(tmp_path: Path) -> None:
    for name, share in (("a", 0.004), ("b", 0.0051)):
        (tmp_path / "x/captures" / name).mkdir(parents=True)
        manifest = {"sources": [{"settings": {"cpu_frac": share}}, {"settings": {"other": 1}}, {}]}
        (tmp_path / "x/captures" / name / "manifest.json").write_text(json.dumps(manifest))
    assert sorted(captured_shares(tmp_path)) == [0.004, 0.0051]
    (found,) = (target for target in judge(COMPARED) if "NVML" in target.target)
    assert re.match(
        r"no GPU here; at most 0\.\d\d% of a core in the \d\d+ captures", found.measured
    )
    slow = Row("NVML", SAMPLER, "10 s", 10, "s", [10.0], [10.0], [100.0], said={"cpu_frac": 0.02})
    (found,) = (target for target in judge(results(slow)) if "NVML" in target.target)
    assert (found.measured, found.met) == ("2.00% of a core", False)


def test_only_the_marked_section_is_replaced() -> None:
    readme = f"# x\n{BEGIN}\nold\n{END}\nrest\n"
    assert replace_section(readme, "new") == f"# x\n{BEGIN}\n\nnew\n\n{END}\nrest\n"
    assert replace_section("# x\n", "new") is None


def test_a_part_measured_again_replaces_its_result() -> None:
    nesting = Row("nesting", "nest", "5 M spans", 5, "M spans", [0.2], [0.2], [90])
    earlier = Results(
        {},
        {},
        [row(suites.COLLECT, 500, [9.0]), nesting],
        [("orjson", "not installed"), ("x", "y")],
    )
    now = Results({}, {}, [row(suites.COLLECT, 500, [2.0])], [("x", "z")])
    found = now.after(earlier)
    assert [(one.group, one.median_s) for one in found.rows] == [
        ("nesting", 0.2),
        ("collect torch", 2.0),
    ]
    assert dict(found.left_out) == {"orjson": "not installed", "x": "z"}


def test_masking_is_judged_by_its_share_of_a_collect() -> None:
    for share, met in ((0.021, True), (0.034, False)):
        measured = Row(
            "masking secrets", "masking secrets", "500 MB plain", 498, "MB", [3.0], [20.0], [400]
        )
        measured.said = {"masked_frac": share}
        (found,) = (target for target in judge(results(measured)) if "masking" in target.target)
        assert (found.met, found.full_size, found.measured[:4]) == (met, True, f"{share:.1%}")
