"""One rank of a pipeline: its receives wait for the stage before."""

import pytest

from tests.programs import api, launch, mark, program, span, work
from tracelens.answers import make_answer
from tracelens.derive.time.receives import is_mostly_receiving
from tracelens.trace import Trace


def stage(name: str) -> Trace:
    """Two steps of 10 ms: a kernel that communicates for 6, then one that computes for 4."""
    spans, calls, kernels, collectives = [], [], [], []
    for number, at in enumerate((0, 10_000)):
        spans += [mark(number, at, at + 10_000), span("op", "aten::mm", at, at + 20)]
        calls += [launch(at, at + 5), launch(at + 6, at + 11)]
        calls.append(api("cudaDeviceSynchronize", at + 30, at + 10_000))
        talks = {"name": "ncclDevKernel_SendRecv(x)", "is_communication": True}
        kernels.append(work(at + 6, at + 6_000, 3 * number, **talks))
        kernels.append(work(at + 6_000, at + 9_990, 3 * number + 1, name="gemm"))
        collectives.append({"kernel_id": 2 * number, "name": name, "group": "pp"})
    return program(spans, calls, kernels, collectives=collectives)


@pytest.mark.parametrize(("name", "receives"), [("recv", True), ("allreduce", False)])
def test_a_receive_is_no_transfer_to_overlap(name: str, receives: bool) -> None:
    trace = stage(name)
    assert is_mostly_receiving(trace) is receives
    answer = make_answer(trace)
    assert answer.sentence.startswith("The GPU waits for another rank's data") is receives
    assert answer.sentence.endswith("60 % of a step of 10.0 ms")
    assert any(change.text.startswith("overlap") for change in answer.changes) is not receives
