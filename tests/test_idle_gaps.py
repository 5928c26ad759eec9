"""idle_gaps: what its notes say; causes and places are in test_idle."""

import pytest

from tests.programs import api, launch, mark, program, work
from tracelens.analyses.idle_gaps import idle_gaps, notes
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

STEPS = [mark(0, 0, 1_000), mark(1, 1_000, 2_000)]


def said(trace: Trace) -> list[str]:
    return notes(trace, idle_gaps(trace))


def test_kinds_of_api_calls_that_take_much_are_summed_up() -> None:
    calls = [
        launch(0, 10, step=0),
        api("cudaMalloc", 10, 110, step=0),
        api("cudaFree", 1_200, 1_250, step=1),
        api("cudaStreamSynchronize", 300, 900, step=0),
        api("hipMemcpyWithStream", 1_300, 1_400, step=1),
        api("cudaMemGetInfo", 3_000, 9_000),  # in no step
        api("cudaEventQuery", 400, 405, step=0),  # hardly any time
    ]
    assert said(program(STEPS, calls, [work(5, 2_000, 0)])) == [
        "API calls that wait for the device: 2 in all steps, 700 µs, the longest 600 µs.",
        "API calls that allocate or release: 2 in all steps, 150 µs, the longest 100 µs.",
    ]


def test_what_a_stream_waits_for_is_no_wait_of_the_host() -> None:
    calls = [launch(0, 10), api("cudaStreamWaitEvent", 300, 900, step=0)]
    found = said(program(STEPS, calls, [work(5, 2_000, 0)]))
    assert found == ["API calls of other kinds: 1 in all steps, 600 µs, the longest 600 µs."]


def test_idle_time_that_nothing_explains_is_told() -> None:
    found = said(
        program(STEPS, [launch(0, 10)], [work(0, 500, 0), work(700, 2_000, link="unlinked")])
    )
    assert len(found) == 1
    assert found[0].startswith("For 200 µs of idle time it is not known who launched")


def test_without_kernels() -> None:
    with pytest.raises(MissingTableError, match=r"^idle_gaps .*tracelens collect"):
        idle_gaps(program(STEPS))
