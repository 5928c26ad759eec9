"""The answer to stacks: a log of gdb level by level, and where two logs part."""

from pathlib import Path

import pytest

import tracelens as tl
from tests.answer_checks import check_answer
from tracelens.answers import make_answer

LOG = """#0  0x1 in cudnnConvolutionForward () from libcudnn.so.9
#1  0x2 in at::native::cudnn_convolution () from libtorch_cuda.so
#2  0x3 in at::_ops::conv2d::call () from libtorch_cpu.so
#3  0x4 in _PyEval_EvalFrameDefault ()
#4  0x5 in main ()
"""


def test_a_gdb_log_is_answered_level_by_level(tmp_path: Path) -> None:
    log = tmp_path / "bt.txt"
    log.write_text(LOG)
    answer = check_answer(tl.collect(log))
    assert answer.sentence == "3 calls lead from Python to cudnnConvolutionForward"
    counts = [row.split()[:2] for row in answer.rows[1:]]
    assert counts[:3] == [["1", "Python"], ["1", "dispatcher"], ["1", "glue"]]


def test_runs_of_frames_keep_their_order_and_unnamed_ones_stay(tmp_path: Path) -> None:
    """The dispatcher is passed twice. A frame without a name belongs to the frame that calls it."""
    log = tmp_path / "bt.txt"
    log.write_text("""#0  0x1 in cudnnConvolutionForward () from libcudnn.so.9
#1  0x2 in at::_ops::cudnn_convolution::call () from libtorch_cpu.so
#2  0x3 in at::native::conv2d () from libtorch_cpu.so
#3  0x4 in at::_ops::conv2d::call () from libtorch_cpu.so
#4  0x5 in ?? ()
#5  0x6 in _PyEval_EvalFrameDefault ()
#6  0x7 in main ()
""")
    answer = check_answer(tl.collect(log))
    counts = [tuple(row.split()[:2]) for row in answer.rows[1:]]
    assert counts == [
        ("2", "Python"),
        ("1", "dispatcher"),
        ("1", "ATen"),
        ("1", "dispatcher"),
        ("1", "outside"),
    ]


@pytest.mark.parametrize("end", ["#3  0x4", "#3  0x00007fff in _PyEval_Ev", "#3  0x4 in f (x=1, "])
def test_a_log_that_ends_within_a_frame_is_said_to_be_cut(tmp_path: Path, end: str) -> None:
    """Only a function that is followed by its arguments has its whole name."""
    log = tmp_path / "bt.txt"
    log.write_text(LOG[: LOG.index("#3")] + end)
    answer = check_answer(tl.collect(log))
    n_calls = 3 if "(" in end else 2
    assert answer.sentence.startswith(f"At least {n_calls} calls lead from ")
    assert "the log does not hold the whole stack" in answer.doubts
    log.write_text(LOG.removesuffix("\n"))  # a log that was copied
    assert make_answer(tl.collect(log)).sentence.startswith("3 calls lead from Python")


def test_two_callers_of_one_function_share_the_inner_frames(tmp_path: Path) -> None:
    """The operator is called from Python in one log, from C++ in the other."""
    logs = [tmp_path / "a.txt", tmp_path / "b.txt"]
    logs[0].write_text(LOG)
    logs[1].write_text(LOG.replace("_PyEval_EvalFrameDefault", "Net::forward"))
    answer = check_answer(*(tl.collect(log) for log in logs))
    (detail,) = answer.details
    assert detail.startswith("the inner 3 frames are the same, from at::_ops::conv2d::call on, and")
    assert detail.endswith(" the outer 1, to main; the others:")
    assert [row.split() for row in answer.rows[1:]] == [
        ["Net::forward", "_PyEval_EvalFrameDefault"]
    ]


def test_two_logs_are_answered_with_where_they_part(tmp_path: Path) -> None:
    logs = [tmp_path / "a.txt", tmp_path / "b.txt"]
    logs[0].write_text(LOG)
    logs[1].write_text(LOG.replace("at::native::cudnn_convolution ", "at::native::miopen "))
    base, other = (tl.collect(log) for log in logs)
    answer = check_answer(other, base)
    assert answer.sentence == "Two ways to cudnnConvolutionForward: 3 calls and 3"
    assert answer.details == (
        "the outer 3 frames are the same, to at::_ops::conv2d::call; from there:",
    )
    assert [row.split() for row in answer.rows] == [
        ["base", "new"],
        ["cudnn_convolution", "miopen"],
        ["cudnnConvolutionForward", "cudnnConvolutionForward"],
    ]
