"""Calls between an entry and the library in two stacks, against the paper and counts by hand."""

from pathlib import Path

import polars as pl
import pytest

from tests.sources import MORE
from tracelens.analyses.stack_alignment import STACK_ALIGNMENT, notes, stack_alignment
from tracelens.collectors import gdb
from tracelens.errors import MissingTableError, TracelensError, UsageError
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples" / "stacks"
PAPER = MORE / "abstraction_paper" / "stack_traces"
needs_paper = pytest.mark.skipif(
    not PAPER.is_dir(),
    reason="the abstraction paper's stacks may not be copied here and are not beside",
)


def trace_of(path: Path) -> Trace:
    (capture,) = gdb.read(path)
    tables = {name: table.empty() for name, table in TABLES.items()}
    tables |= {
        name: TABLES[name].conform(f.with_columns(rank=0)) for name, f in capture.tables.items()
    }
    return Trace(
        Manifest(sources=[{"name": path.name}], ranks=[0]), {n: f.lazy() for n, f in tables.items()}
    )


def stack(tmp_path: Path, name: str, *functions: str) -> Trace:
    """A trace of stacks given from the innermost frame on; `/` begins another stack."""
    text, level = "", 0
    for function in functions:
        level = 0 if function == "/" else level
        if function != "/":
            text += f"#{level:<2} 0x{level + 1:x} in {function} ()\n"
            level += 1
    path = tmp_path / f"{name}.txt"
    path.write_text(text)
    return trace_of(path)


def totals(frame: pl.DataFrame) -> dict[str, tuple[object, ...]]:
    """Segment to edges, frames between and common frames, over all roles."""
    columns = (
        "n_edges_base",
        "n_edges_other",
        "n_frames_between_base",
        "n_frames_between_other",
        "n_common",
    )
    rows = frame.filter(pl.col("role").is_null())
    return {row["segment"]: tuple(row[c] for c in columns) for row in rows.iter_rows(named=True)}


@pytest.fixture
def eager(tmp_path: Path) -> Trace:
    return stack(
        tmp_path,
        "eager",
        "cudnnConvolutionForward",
        "at::native::cudnn_convolution",
        "at::conv2d",
        "torch::autograd::THPVariable_conv2d",
        "call_function",
        "_PyEval_EvalFrameDefault",
        "call_function",
        "main",
        "_start",
    )


@pytest.fixture
def native(tmp_path: Path) -> Trace:
    return stack(
        tmp_path,
        "native",
        "cudnnConvolutionForward",
        "at::native::cudnn_convolution",
        "at::conv2d",
        "torch::nn::Conv2dImpl::forward",
        "main",
        "_start",
    )


def test_two_stacks_side_by_side(eager: Trace, native: Trace) -> None:
    frame = STACK_ALIGNMENT.check(stack_alignment(eager, native))
    # eager: call_function 6, conv2d 2; native: forward 3, conv2d 2; levels 0 to 2 are the same
    assert totals(frame) == {
        "entry_to_via": (4, 1, 3, 0, 0),
        "via_to_symbol": (2, 2, 1, 1, 3),
        "entry_to_symbol": (6, 3, 5, 2, 3),
    }
    whole = frame.row(
        by_predicate=pl.col("role").is_null() & (pl.col("segment") == "entry_to_symbol"), named=True
    )
    assert (whole["start_base"], whole["start_other"]) == (
        "call_function",
        "torch::nn::Conv2dImpl::forward",
    )
    assert whole["diverges_base"] == "torch::autograd::THPVariable_conv2d"
    assert whole["diverges_other"] == "torch::nn::Conv2dImpl::forward"


def test_calls_by_role_add_up(eager: Trace, native: Trace) -> None:
    frame = stack_alignment(eager, native).filter(segment="entry_to_symbol")
    by_role = {
        row["role"]: (row["n_edges_base"], row["n_edges_other"])
        for row in frame.iter_rows(named=True)
    }
    assert by_role == {
        None: (6, 3),
        "python": (3, 0),
        "binding": (1, 0),
        "libtorch_nn": (0, 1),
        "vendor_glue": (1, 1),
        "dispatcher": (1, 1),
    }
    counts = frame.filter(pl.col("role").is_not_null()).sum()
    assert (counts["n_frames_between_base"].item(), counts["n_frames_between_other"].item()) == (
        5,
        2,
    )


def test_the_innermost_of_an_entry_that_recurs(eager: Trace, native: Trace) -> None:
    frame = stack_alignment(eager, native, entry_base="call_function", occurrence="innermost")
    assert totals(frame)["entry_to_symbol"][0] == 4


@pytest.mark.parametrize(
    "entry", ["at::native::cudnn_convolution", "cudnn_convolution", r"cudnn_\w+", "native::.*"]
)
def test_an_entry_is_a_name_its_end_or_a_pattern(eager: Trace, native: Trace, entry: str) -> None:
    assert totals(stack_alignment(eager, native, entry_base=entry, entry_other=entry)) == {
        "entry_to_symbol": (1, 1, 0, 0, 2)
    }


def test_a_name_with_an_operator_is_a_plain_name(tmp_path: Path) -> None:
    trace = stack(tmp_path, "a", "f", "A::operator()", "B::operator[]", "main")
    for entry, edges in (("A::operator()", 1), ("operator[]", 2)):
        assert (
            totals(stack_alignment(trace, trace, entry_base=entry))["entry_to_symbol"][0] == edges
        )


def test_user_code_and_unnamed_functions_end_the_common_run(tmp_path: Path) -> None:
    same = stack(tmp_path, "a", "cudnnAddTensor", "at::f", "main", "_start")
    unnamed = stack(tmp_path, "b", "cudnnAddTensor", "??", "at::f", "main", "_start")
    assert totals(stack_alignment(same, same)) == {"entry_to_symbol": (2, 2, 1, 1, 2)}
    assert totals(stack_alignment(unnamed, unnamed)) == {"entry_to_symbol": (3, 3, 2, 2, 1)}


def test_without_an_entry_the_outermost_frame_counts(tmp_path: Path) -> None:
    trace = stack(tmp_path, "a", "cudnnAddTensor", "at::f", "main", "__libc_start_main", "_start")
    assert stack_alignment(trace, trace)["start_base"].to_list()[0] == "main"


def test_via_in_one_stack_only(tmp_path: Path, eager: Trace) -> None:
    other = stack(
        tmp_path,
        "b",
        "cudnnConvolutionForward",
        "torch::autograd::VariableType::_convolution",
        "main",
    )
    assert totals(stack_alignment(eager, other)) == {
        "entry_to_via": (4, None, 3, None, None),
        "via_to_symbol": (2, None, 1, None, None),
        "entry_to_symbol": (6, 1, 5, 0, 1),
    }


def test_the_first_hit_of_each_shared_symbol(tmp_path: Path) -> None:
    one = stack(
        tmp_path, "a", "cudnnA", "at::f", "/", "cudnnB", "at::f", "/", "cudnnA", "at::g", "at::f"
    )
    two = stack(tmp_path, "b", "cudnnB", "at::f", "/", "cudnnC", "at::f", "/", "cudnnA", "at::f")
    frame = stack_alignment(one, two, entry_base="at::f", entry_other="at::f")
    whole = frame.filter(pl.col("role").is_null())
    assert whole.select("symbol_base", "symbol_other", "n_edges_base").rows() == [
        ("cudnnA", "cudnnA", 1),
        ("cudnnB", "cudnnB", 1),
    ]
    text = "\n".join(notes(one, two, frame))
    assert "1 stack of the base trace left out" in text
    assert "1 stack of the other trace left out" in text


def test_other_symbols_pair_by_their_first_stacks(tmp_path: Path) -> None:
    one, two = stack(tmp_path, "a", "cudnnA", "at::f"), stack(tmp_path, "b", "cudnnB", "at::f")
    assert totals(stack_alignment(one, two)) == {"entry_to_symbol": (1, 1, 0, 0, 0)}


def test_an_unknown_entry_names_the_nearest(eager: Trace, native: Trace) -> None:
    with pytest.raises(
        TracelensError,
        match=r"native\.txt: no function matches the entry 'conv_2d'.*nearest.*at::conv2d",
    ):
        stack_alignment(eager, native, entry_other="conv_2d")
    with pytest.raises(TracelensError, match=r"neither .* nor a regular expression"):
        stack_alignment(eager, native, entry_base="((")
    with pytest.raises(UsageError, match="outermost, innermost"):
        stack_alignment(eager, native, occurrence="middle")


def test_a_trace_without_stacks_says_what_would_give_them(eager: Trace) -> None:
    bare = Trace(Manifest(), {name: table.empty().lazy() for name, table in TABLES.items()})
    with pytest.raises(
        MissingTableError, match=r"stack_alignment needs the table stacks.*collect gdb"
    ):
        stack_alignment(eager, bare)


def test_notes_warn_of_builds_unknown_roles_and_missing_python(
    tmp_path: Path, eager: Trace
) -> None:
    path = tmp_path / "debug.txt"
    path.write_text(
        "#0  0x1 in cudnnConvolutionForward () from l.so\n#1  0x2 in at::f () at f.cpp:1\n#2  0x3"
        " in ?? ()\n"
    )
    debug = trace_of(path)
    texts = notes(eager, debug, stack_alignment(eager, debug))
    assert texts[0].startswith(
        "Base: 6 calls from call_function to cudnnConvolutionForward; new: 2 calls from ??"
    )
    assert any(text.startswith("The builds differ (base release, new debug)") for text in texts)
    assert "New: 1 of 3 frames have an unknown role." in texts
    assert "Base: Python's own frames are not in the stack, only the interpreter's." in texts


def test_two_paths_of_one_pytorch_on_an_h200() -> None:
    v7, v8 = (trace_of(SAMPLES / f"h200_torch211_cudnn_{name}.txt") for name in ("v7", "v8"))
    entry = "THPVariable_conv2d"
    frame = stack_alignment(
        v7, v8, entry_base=entry, entry_other=entry, via="at::_ops::conv2d::call"
    )
    # levels as printed in the files: THPVariable_conv2d #21 and #22, at::_ops::conv2d::call #20 and
    # #21
    assert totals(frame) == {
        "entry_to_via": (1, 1, 0, 0, 0),
        "via_to_symbol": (20, 21, 19, 20, 0),
        "entry_to_symbol": (21, 22, 20, 21, 0),
    }


@needs_paper
@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        (
            "pytorch",
            "libtorch",
            {
                "entry_to_via": (30, 3, 29, 2, 0),
                "via_to_symbol": (61, 61, 60, 60, 62),
                "entry_to_symbol": (91, 64, 90, 63, 62),
            },
        ),
        ("torchscript", "cudnn", {"entry_to_symbol": (14, 1, 13, 0, 1)}),
    ],
)
def test_the_papers_numbers(base: str, other: str, expected: dict[str, tuple[int, ...]]) -> None:
    traces = (trace_of(PAPER / f"{name}_stacktrace.txt") for name in (base, other))
    assert totals(stack_alignment(*traces)) == expected


@needs_paper
@pytest.mark.parametrize(
    ("base", "other"),
    [
        ("pytorch", "torchscript"),
        ("libtorch", "torchscript"),
        ("pytorch", "cudnn"),
        ("libtorch", "cudnn"),
    ],
)
def test_elsewhere_the_papers_stacks_share_only_cudnn(base: str, other: str) -> None:
    traces = (trace_of(PAPER / f"{name}_stacktrace.txt") for name in (base, other))
    assert totals(stack_alignment(*traces))["entry_to_symbol"][-1] == 1


def test_two_stacks_part_where_they_do_from_the_outside(tmp_path: Path) -> None:
    outer = ("run_conv", "at::conv2d", "call_function", "main")
    base = stack(tmp_path, "base", "cudnnConvolutionForward", *outer)
    other = stack(tmp_path, "other", "cudnnBackendExecute", "run_plan", *outer)
    said = notes(base, other, stack_alignment(base, other))
    assert (
        "From the outside they share 4 frames of 5 and 6, to run_conv. Then base calls"
        " cudnnConvolutionForward; new run_plan."
    ) in said
    assert "From the outside they share 5 frames of 5, to cudnnConvolutionForward." in notes(
        base, base, stack_alignment(base, base)
    )
