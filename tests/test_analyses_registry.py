"""What holds for every analysis: declared, documented, pure, and never silently empty."""

import inspect
import re

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.schedules import Call, Schedule
from tests.sources import SAMPLES, collected, torch_trace
from tests.test_recomputation import AGAIN
from tests.test_timing_methods import MEASURED
from tracelens.analyses import ANALYSES, Analysis
from tracelens.analyses.analysis import Scope
from tracelens.errors import MissingTableError
from tracelens.report import build_report, run_section
from tracelens.schemas import TABLES
from tracelens.trace import Trace

every_analysis = pytest.mark.parametrize("analysis", ANALYSES.values(), ids=ANALYSES)
SENTENCE = re.compile(r"^\w.*\.$", re.DOTALL)


@pytest.fixture(scope="module")
def samples() -> list[Trace]:
    """A trace of every kind: eager with modules, training, stacks, timings, memory, ranks."""
    return [
        torch_trace("alexnet_eager"),
        torch_trace("resnet50_train_f64_pageable"),
        collected(SAMPLES / "stacks" / "h200_torch211_cudnn_v8.txt"),
        MEASURED,
        Schedule(2, [Call("allreduce", 4096, 10**6, 10**5)], {(1, 0): 10**6}).trace(),
        make_trace(allocations=[{"size_bytes": 8, "allocated_bytes": 8}]),
        AGAIN,
        make_trace(steps=[{"duration_ns": 9, "phase": "decode", "n_requests": 1, "n_tokens": 1}]),
        Trace.open(SAMPLES / "thesis" / "captures" / "alexnet_eager.tracelens"),
    ]


def run(analysis: Analysis, trace: Trace) -> pl.DataFrame | None:
    """The result on the trace (a pair: on it and itself); None if the trace lacks its tables."""
    try:
        return analysis.run(trace, trace) if analysis.is_pair else analysis.run(trace)
    except MissingTableError:
        return None


@every_analysis
def test_name_is_that_of_the_function_the_result_and_the_section(analysis: Analysis) -> None:
    assert analysis.run.__name__ == analysis.name == analysis.result.name
    assert getattr(tl.analyses, analysis.name).__wrapped__ is analysis.run
    assert ANALYSES[analysis.name] is analysis
    assert analysis.name in dir(tl.analyses)


@every_analysis
def test_is_documented(analysis: Analysis) -> None:
    assert analysis.question.endswith("?")
    assert SENTENCE.match(analysis.result.doc)
    assert SENTENCE.match(inspect.getdoc(analysis.run) or "")
    for column in analysis.result:
        assert SENTENCE.match(column.doc), column.name
        if column.name.endswith("_ns"):
            assert column.unit == "ns", column.name
        if column.name.endswith("_bytes"):
            assert column.unit == "bytes", column.name
    if analysis.notes is not None:
        assert SENTENCE.match(inspect.getdoc(analysis.notes) or "")


@every_analysis
def test_takes_an_empty_trace(analysis: Analysis) -> None:
    empty = make_trace()
    traces = (empty, empty) if analysis.is_pair else (empty,)
    if analysis.name == "data_quality":  # of an empty trace too it can tell what it is worth
        assert analysis.result.check(analysis.run(*traces)).height
        return
    with pytest.raises(MissingTableError, match=rf"^{analysis.name} .*tracelens collect"):
        analysis.run(*traces)


@every_analysis
def test_result_is_as_declared_and_inputs_are_unchanged(
    analysis: Analysis, samples: list[Trace]
) -> None:
    """A second run gives the same rows; notes on them are sentences without markup."""
    n_answers = 0
    for trace in samples:
        before = {name: trace.frame(name).clone() for name in TABLES}
        manifest = trace.manifest.as_dict()
        found, section = run(analysis, trace), run_section(analysis, trace, trace)
        assert (found is None) == bool(section.missing)
        if found is not None:
            assert found.equals(section.frame, null_equal=True)
            analysis.result.check(found)
            n_answers += found.height > 0
        for name, frame in before.items():
            assert trace.frame(name).equals(frame), name
        assert trace.manifest.as_dict() == manifest
        for note in section.notes:
            assert SENTENCE.match(note), note
            assert "\n" not in note
            assert not re.search(r"</?\w+>|\*\*|\bnan\b|\bNone\b", note), note
    assert n_answers, "no sample gives this analysis an answer"


def test_a_section_that_cannot_be_answered_says_why() -> None:
    report = build_report(make_trace())
    assert [section.analysis.name for section in report.sections] == [
        a.name
        for a in ANALYSES.values()
        if not a.is_pair and a.scope not in (Scope.RANKS, Scope.ASKED)
    ]
    for section in report.sections:
        section.analysis.result.check(section.frame)
        assert section.frame.height or section.missing
