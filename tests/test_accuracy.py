"""The page on how often the verdict is right: made anew, and checked by an independent count."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from samples.whatif.measured import Case, cases, changes
from tests.accuracy import CONSTRUCTED, PAGE, ROWS, check_rows, page_lines, script
from tests.selection import every, only
from tests.sources import SAMPLES, collected
from tracelens.derive.replay.advised import list_changes
from tracelens.derive.time.model import time_model

GROUPS = script("accuracy_page").groups()
CONSTRUCTED_TRUTHS = script("accuracy_page").constructed_truths()
COUNTS = json.loads(script("accuracy_page").COUNTS.read_text())
every_constructed_trace = pytest.mark.parametrize("name", every(16, CONSTRUCTED_TRUTHS))


@every_constructed_trace
def test_a_constructed_traces_verdict_is_on_the_page(name: str) -> None:
    trace = collected(CONSTRUCTED / f"{name}.pt.trace.json.gz")
    check_rows([script("accuracy_page").constructed_row(name, CONSTRUCTED_TRUTHS[name], trace)])


@every_constructed_trace
def test_a_change_saves_at_most_the_part_that_it_is_about(name: str) -> None:
    """No change of a constructed trace saves more than the part it is about, or than the step.

    Its places together take no more than it saves, and each of them is worth a word.
    """
    trace = collected(CONSTRUCTED / f"{name}.pt.trace.json.gz")
    if not trace.has("kernels"):
        return
    parts = time_model(trace).by("rank").row(0, named=True)
    windows = parts["n_windows"]
    for change in list_changes(trace):
        own = parts[f"{change.cause}_ns"] - (parts["profiler_ns"] if change.cause == "host" else 0)
        scale = windows if change.is_per_step else parts["n_devices"]
        assert (change.saving_ns or 0) <= own / scale + 1
        times = [ns for _, ns in change.places]
        if change.saving_ns is not None:
            assert sum(times) <= change.saving_ns + len(times)
        assert all(ns >= 0.01 * sum(times) for ns in times)


# One group of each profiler, of graphs and of ranks. LeNet's captures noticed none of eight mutants
# of the time model, of which the other groups noticed five.
IN_CI = ["graphs", "nsys", "ranks", "torch"]


@pytest.mark.slow
@pytest.mark.parametrize("nth", only([4], [1, 4]))
@pytest.mark.parametrize("group", only(IN_CI, GROUPS))
def test_verdicts_on_captures_are_on_the_page(group: str, nth: int) -> None:
    check_rows(list(script("accuracy_page").counted_rows(group, COUNTS, nth)))


def test_the_page_has_every_capture_and_no_other() -> None:
    page = script("accuracy_page")
    captures = [page.name_of(path) for group in GROUPS for path in page.captures_of(group)]
    ranks = {f"ranks/rank{rank}.pt.trace.json.gz": f"ranks rank {rank}" for rank in (0, 1)}
    planted = [truth["file"].removesuffix(".pt.trace.json.gz") for truth in page.planted_truths()]
    constructed = list(json.loads((CONSTRUCTED / "truth.json").read_text()))
    names = [*constructed, *planted, *(ranks.get(name, name) for name in captures)]
    listed = [line.split(" | ")[0].removeprefix("| ") for line in page_lines()]
    assert Counter(listed) == Counter(names)
    assert set(page.KNOWN_WRONG) <= set(names)
    assert set(COUNTS) == set(captures)


PROFILES: dict[tuple[str, bool], list[Case]] = {}
for case in sorted(cases(), key=lambda case: case.name):
    PROFILES.setdefault((case.kind, case.is_fitted), []).append(case)
OPTIONS = {change.option: change for change in changes()}
"""The last changed program of each option."""


@pytest.mark.slow
@pytest.mark.parametrize("profile", every(3, PROFILES), ids=str)
def test_a_step_of_each_kind_of_profile_is_on_the_page(profile: tuple[str, bool]) -> None:
    row = script("predictions").step_row(PROFILES[profile][0])
    assert row.line in (ROWS / "predictions.md").read_text(), (
        f"a prediction changed: `make accuracy` ({row.line})"
    )


@pytest.mark.slow
@pytest.mark.parametrize("option", every(4, OPTIONS))
def test_a_predicted_change_of_each_option_is_on_the_page(option: str) -> None:
    row = script("predictions").change_row(OPTIONS[option])
    line = row if isinstance(row, str) else row.line
    assert line in (ROWS / "predictions.md").read_text(), (
        f"a prediction changed: `make accuracy` ({line})"
    )


@pytest.mark.exhaustive
def test_all_predictions_and_their_summary_are_on_the_page() -> None:
    made = script("predictions").page()
    assert made.rstrip("\n") in (ROWS / "predictions.md").read_text(), (
        "a prediction changed: `make accuracy`"
    )


@pytest.mark.slow
def test_a_step_under_nsys_is_on_the_page() -> None:
    row = script("predictions").step_row(script("nsys_costs").turn_cases()[0])
    assert row.line in (ROWS / "nsys.md").read_text(), (
        f"a prediction changed: `make accuracy` ({row.line})"
    )


@pytest.mark.exhaustive
def test_what_nsys_adds_is_on_the_page() -> None:
    made = script("nsys_costs").section()
    assert made.rstrip("\n") in (ROWS / "nsys.md").read_text(), (
        "a prediction changed: `make accuracy`"
    )


@pytest.mark.exhaustive
def test_changes_in_turns_and_batch_sizes_are_on_the_page() -> None:
    made = script("turns").section()
    assert made.rstrip("\n") in (ROWS / "turns.md").read_text(), (
        "a prediction changed: `make accuracy`"
    )


def test_all_blind_judgements_are_on_the_page() -> None:
    blind = script("blind")
    page = (ROWS / "blind.md").read_text()
    judged = {path.stem for path in (SAMPLES / "blind").glob("*.jsonl")} - {"compile"}
    assert len(judged) >= 12
    for name in judged:
        assert "\n".join(blind.tables(name)).rstrip("\n") in page, "`make accuracy`"
    assert "\n".join(blind.compiled()).rstrip("\n") in page, "`make accuracy`"
    for line in blind.beside({}).splitlines():
        assert line in page, "`make accuracy`"


def test_a_blind_row_is_judged_by_the_rules() -> None:
    """Ten per cent too little, beyond the range, and of the wrong sign."""
    row = {"kind": "change", "name": "net", "way": "pinned", "same": False}
    row |= {"before": 10.0, "truth": 12.0, "factor": 1.2}
    row |= {"said": 10.8, "low": 10.0, "high": 11.0, "said_before": 12.0}
    judged = script("blind").said(row, "truth")
    assert round(judged.error, 9) == -0.1
    assert (judged.is_held, judged.has_sign) == (False, False)
    assert script("blind").said(row, "factor").error == 0.9 / 1.2 - 1
    assert judged.line.endswith("| -10.0% | 0.90 | 1.20 | outside, another speed |")
    assert script("blind").said(row | {"factor": 1.04}, "truth").has_sign
    assert script("blind").line_of(row | {"steady": False}).endswith("another speed, unsteady |")


def test_the_summary_counts_the_rows() -> None:
    text, rows = PAGE.read_text(), (ROWS / "verdicts.md").read_text()
    table = re.findall(r"^\| (.+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert len(table) == 3
    for title, *numbers in table:
        section = rows.split(f"## {title}\n")[1].split("\n## ")[0]
        grades = Counter(
            re.findall(r"\| (right|partly|wrong)(?:: [^|]*)? \|$", section, re.MULTILINE)
        )
        assert numbers == [str(grades[grade]) for grade in ("right", "partly", "wrong")]


def test_constructed_traces_are_those_of_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    construct = script("construct")
    monkeypatch.setattr(construct, "OUT", tmp_path)
    construct.main()
    files = sorted(path.name for path in CONSTRUCTED.iterdir())
    assert files == sorted(path.name for path in tmp_path.iterdir())
    for name in files:
        made, kept = ((folder / name).read_bytes() for folder in (tmp_path, CONSTRUCTED))
        if name.endswith(".gz"):  # which other versions of zlib compress otherwise
            made, kept = gzip.decompress(made), gzip.decompress(kept)
        assert made == kept
    assert sum(path.stat().st_size for path in CONSTRUCTED.iterdir()) < 300_000


def test_what_runs_is_counted_before_what_waits() -> None:
    """Of 100 ns kernels compute for 40, a collective shows 30 and a copy 10; the rest is idle."""
    raw = script("raw_events")
    work = [
        raw.Work(0, 30, "compute", 1),
        raw.Work(20, 60, "communication", 2),
        raw.Work(50, 70, "copy", 3),
        raw.Work(90, 100, "compute", 4),
    ]
    # Of the 20 ns before the last one, its thread allocated for 10, and called it 5 ns before.
    calls = {4: raw.HostEvent(85, 88, "cudaLaunchKernel", 1, is_call=True)}
    host = [raw.HostEvent(75, 85, "cudaMalloc", 1, is_call=True), *calls.values()]
    counted = script("independent_count").count(raw.RawEvents(work, host, calls))
    idle = {"launch or host": 0.1, "allocation": 0.1}
    assert counted == pytest.approx({"compute": 0.4, "communication": 0.3, "copy": 0.1} | idle)


def test_a_gap_after_its_call_returned_is_a_dependency() -> None:
    raw = script("raw_events")
    calls = {at: raw.HostEvent(at, at + 1, "cudaLaunchKernel", 1, is_call=True) for at in (1, 2)}
    work = [raw.Work(2, 10, "compute", 1), raw.Work(14, 20, "compute", 2)]
    # 2 ns until the first kernel, 4 between the two, and 4 until the step's mark ends.
    marked = raw.RawEvents(work, list(calls.values()), calls, [(0, 24)])
    counted = script("independent_count").count(marked)
    assert counted == pytest.approx(
        {"compute": 14 / 24, "launch or host": 6 / 24, "dependency": 4 / 24}
    )


def test_input_is_what_a_loader_encloses() -> None:
    raw = script("raw_events")
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    call = raw.HostEvent(90, 91, "cudaLaunchKernel", 1, is_call=True)
    host = [
        raw.HostEvent(20, 80, loader, 1, is_call=False),
        raw.HostEvent(30, 60, "aten::stack", 1, is_call=False),
        call,
    ]
    work = [raw.Work(0, 10, "compute", 0), raw.Work(92, 100, "compute", 2)]
    counted = script("independent_count").count(raw.RawEvents(work, host, {2: call}))
    assert counted == pytest.approx({"input": 0.6, "launch or host": 0.22, "compute": 0.18})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "graphs/vit_replay.pt.trace.json.gz",
        "lenet/trace_eager.tracelens",
        "nsys/eager_resnet50.sqlite",
    ],
)
def test_captures_are_counted_as_the_page_has_them(name: str) -> None:
    page = script("accuracy_page")
    (path,) = (
        p for p in page.captures_of(name.split("/", maxsplit=1)[0]) if page.name_of(p) == name
    )
    counted = script("independent_count").count(script("raw_events").read(path))
    assert {part: round(value, 3) for part, value in counted.items()} == COUNTS[name]


@pytest.mark.parametrize(
    "name",
    every(3, ["graphs/vit_replay", "roofline/products", "torch/resnet50_channels_last"]),
)
def test_coverage_is_as_the_page_has_it(name: str) -> None:
    coverage = script("coverage")
    row = coverage.covered(coverage.SAMPLES / f"{name}.pt.trace.json.gz")
    assert row.launched_frac >= 0.9
    assert row.line in (ROWS / "roofline.md").read_text().splitlines(), "`make accuracy`"
