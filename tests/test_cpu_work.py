"""Ops of a process without a device: arithmetic, copies, or no more than being called; by hand."""

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.test_cpu_only import OTHER, US, process, span, step
from tracelens.analyses import compare_time, idle_gaps, time_breakdown, verdict
from tracelens.analyses.idle_gaps import notes
from tracelens.answers import make_answer
from tracelens.derive.processes.cpu_work import ARITHMETIC
from tracelens.derive.time.cpu_only import busiest_places
from tracelens.derive.time.process_facts import count_reads, reads_of
from tracelens.schemas import TABLES
from tracelens.trace import Trace

SMALL, LARGE = "[[4, 64], [4, 64]]", "[[1024, 1024], [1024, 1024]]"
FLOATS = '["float", "float"]'


def parts(trace: Trace) -> dict[str, int]:
    """Compute, copy, launch and host of all recorded time, in µs."""
    row = time_breakdown(trace).row(0, named=True)
    names = ("compute", "exposed_copy", "idle_launch", "idle_host")
    return {name: row[f"{name}_ns"] // US for name in names}


def op(start_us: int, end_us: int, name: str, shapes: str | None, **more: Any) -> dict[str, Any]:
    dtypes = None if shapes is None else FLOATS
    return span(start_us, end_us, name, input_shapes=shapes, input_dtypes=dtypes, **more)


@pytest.mark.parametrize(
    ("name", "shapes", "length_us", "part"),
    [
        ("aten::add", SMALL, 8, "idle_launch"),
        ("aten::add", LARGE, 8, "compute"),
        ("aten::copy_", LARGE, 8, "exposed_copy"),
        ("aten::copy_", SMALL, 8, "idle_launch"),
        ("aten::index_select", LARGE, 80, "exposed_copy"),
        # To view or to read a value is no work, however large the tensor is and however long it
        # took.
        ("aten::as_strided", LARGE, 400, "idle_launch"),
        ("aten::item", "[[]]", 400, "idle_launch"),
        # Small inputs, and much to do all the same.
        ("aten::linalg_eigh", SMALL, 400, "compute"),
        # Without shapes the time tells.
        ("aten::add", None, 8, "idle_launch"),
        ("aten::add", None, 12, "compute"),
        ("AddBackward0", None, 12, "idle_launch"),
        ("Torch-Compiled Region: 0/0", None, 80, "compute"),
    ],
)
def test_an_op_works_or_is_only_called(
    name: str, shapes: str | None, length_us: int, part: str
) -> None:
    found = parts(process(op(0, length_us, name, shapes)))
    assert found == dict.fromkeys(found, 0) | {part: length_us}


def test_an_op_counts_for_what_it_does_outside_its_children() -> None:
    # clone    0 |--- 10 ---|------ copy_ 60 ------|- 10 -| 80; the rest of clone copies as well
    # linear 100 |- 5 -|---- addmm 40 ----|- 5 -| 150, whose small product is called only
    found = parts(
        process(
            op(0, 80, "aten::clone", LARGE),
            op(10, 70, "aten::copy_", LARGE),
            op(100, 150, "aten::linear", SMALL),
            op(105, 145, "aten::addmm", SMALL),
        )
    )
    assert found == {"compute": 0, "exposed_copy": 80, "idle_launch": 70, "idle_host": 0}


def test_a_copy_inside_an_op_that_computes_longer_is_arithmetic() -> None:
    # linear   0 |- addmm 0 |-- copy_ 60 --|--- 40 ---| 100: the bias, then the product
    # reshape  |- clone 200 |------ copy_ 60 ------| 260 -| 264: the copy is all that it does
    # matmul 300 |- contiguous |- clone |-- copy_ 80 --| 380 |-- 40 --| 420: computes less than that
    # add    500 |- to |- copy_ 10 -| 510 |--- 40 ---| 550: converts its input, then adds
    trace = process(
        op(0, 100, "aten::linear", LARGE),
        op(0, 100, "aten::addmm", LARGE),
        op(0, 60, "aten::copy_", LARGE),
        op(200, 264, "aten::reshape", LARGE),
        op(200, 264, "aten::clone", LARGE),
        op(200, 260, "aten::copy_", LARGE),
        op(300, 420, "aten::matmul", LARGE),
        op(300, 380, "aten::contiguous", LARGE),
        op(300, 380, "aten::clone", LARGE),
        op(300, 380, "aten::copy_", LARGE),
        op(500, 550, "aten::add", LARGE),
        op(500, 510, "aten::to", LARGE),
        op(500, 510, "aten::copy_", LARGE),
    )
    found = parts(trace)
    assert (found["compute"], found["exposed_copy"]) == (100 + 40 + 50, 64 + 80)
    names = {"aten::addmm": 100, "aten::add": 50, "aten::matmul": 40}
    assert busiest_places(trace, ARITHMETIC)[0] == [(op, ns * US) for op, ns in names.items()]


@pytest.mark.parametrize(
    ("product_us", "place"),
    [(400, "mostly Adam.step > aten::addcdiv_"), (600, "mostly aten::addmm")],
)
def test_an_optimizer_of_many_ops_is_named(product_us: int, place: str) -> None:
    """Six ops of the optimizer take 500 µs together, of which none takes as long as the product."""
    begin = product_us
    ops = [
        op(begin + 80 * n, begin + 80 * n + 80, f"aten::{name}", LARGE)
        for n, name in enumerate(("lerp_", "mul_", "addcmul_", "sqrt", "add_"))
    ]
    trace = process(
        op(0, product_us, "aten::addmm", LARGE),
        span(begin, begin + 500, "Optimizer.step#Adam.step", "annotation"),
        *ops,
        op(begin + 400, begin + 500, "aten::addcdiv_", LARGE),
    )
    assert make_answer(trace).place == place


def test_the_function_that_calls_small_ops_is_named() -> None:
    """One function calls 90 ops, another one 60; each takes 8 µs for 16 numbers."""
    calls = [("cell", n) for n in range(90)] + [("loss", n) for n in range(90, 150)]
    small = [op(10 * n, 10 * n + 8, "aten::add", "[[16], [16]]", step=n // 50) for _, n in calls]
    functions = [
        span(10 * n, 10 * n + 9, f"rnn.py({len(name)}): {name}", "python") for name, n in calls
    ]
    steps = [step(n, 500 * n, 500 * n + 500) for n in range(3)]
    answer = make_answer(process(*steps, *functions, *small))
    assert "most of them are called by cell (rnn.py:4)" in answer.details


def test_advice_on_copies_says_what_they_do() -> None:
    made = [
        op(1_000 * i + begin, 1_000 * i + end, f"aten::{name}", LARGE, step=i)
        for i in range(3)
        for begin, end, name in (
            (0, 500, "new_zeros"),
            (0, 500, "zero_"),
            (500, 800, "clone"),
            (800, 1_000, "index_select"),
        )
    ]
    trace = process(*(step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(3)), *made)
    answer = make_answer(trace)
    assert answer.place == "mostly aten::new_zeros"
    texts = [(change.text.partition(":")[0], change.place) for change in answer.changes]
    assert texts == [
        ("set less memory", None),
        ("copy less memory", "in aten::clone"),
        (
            "look up fewer elements (none twice), or keep them in a narrower type",
            "in aten::index_select",
        ),
    ]


def test_a_call_without_own_time_does_not_make_others_idle() -> None:
    # Two of three calls do all that they do in the third: aten::mm works all the same.
    found = parts(process(*(op(0, 80, "aten::mm", None) for _ in range(3))))
    assert found == {"compute": 80, "exposed_copy": 0, "idle_launch": 0, "idle_host": 0}


def test_arithmetic_counts_before_copies_of_other_threads() -> None:
    found = parts(
        process(
            op(0, 40, "aten::copy_", LARGE),
            op(20, 60, "aten::mm", LARGE, thread=OTHER),
            op(40, 48, "aten::add", SMALL),
        )
    )
    assert found == {"compute": 40, "exposed_copy": 20, "idle_launch": 0, "idle_host": 0}


def test_a_program_that_reads_single_values_is_told_so() -> None:
    """Ten steps of 1 ms: 100 reads of 8 µs, 2 µs apart."""
    reads = [
        op(1_000 * i + 10 * j, 1_000 * i + 10 * j + 8, "aten::item", "[[]]", step=i)
        for i in range(10)
        for j in range(100)
    ]
    trace = process(*(step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(10)), *reads)
    answer = make_answer(trace)
    assert answer.sentence == "The program reads single values back: 100 % of a step of 1.00 ms"
    assert answer.place == "in aten::item, 100 times a step"
    assert ".item() once a step" in answer.changes[0].text


def test_one_read_a_step_is_once_a_step() -> None:
    reads = [op(1_000 * i, 1_000 * i + 900, "aten::item", "[[]]", step=i) for i in range(10)]
    trace = process(*(step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(10)), *reads)
    answer = make_answer(trace)
    assert answer.place == "in aten::item, once a step"
    assert answer.changes[0].text == "read the value back only every few steps"


def test_what_an_optimizer_reads_itself_is_not_the_programs() -> None:
    """Adam reads how many steps each parameter took: nothing that the program could leave out."""
    name = "Optimizer.step#Adam.step"
    own = [op(100 * i, 100 * i + 8, "aten::item", "[[]]", step=i) for i in range(3)]
    steps = [span(100 * i, 100 * i + 90, name, kind="annotation", step=i) for i in range(3)]
    trace = process(*(step(i, 100 * i, 100 * i + 100) for i in range(3)), *steps, *own)
    assert idle_gaps(trace).filter(cause="launch")["what"].to_list() == [name]
    assert count_reads(trace, 0) == 0


def test_reads_of_any_line_are_reads() -> None:
    places = [("toy.py(14): f > aten::item", 7), ("aten::item", 2), ("toy.py(9): f > aten::mm", 5)]
    assert reads_of(places) == places[:2]


def test_a_pause_between_ops_belongs_to_the_op_before() -> None:
    gaps = idle_gaps(process(op(0, 8, "aten::item", "[[]]"), op(20, 28, "aten::mm", SMALL)))
    found = gaps.select("cause", "what", pl.col("idle_ns") // US).rows()
    assert found == [("launch", "aten::item", 20), ("launch", "aten::mm", 8)]


@pytest.mark.parametrize(("plain_us", "bound"), [(40, "inconclusive"), (60, "compute")])
def test_a_step_made_twenty_times_as_long_is_not_judged(plain_us: int, bound: str) -> None:
    spans = [step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(6)]
    ops = [op(1_000 * i, 1_000 * i + 900, "aten::mm", LARGE) for i in range(6)]
    made = process(*spans, *ops)
    times = {
        "unprofiled_step_ns": {"median": plain_us * US},
        "profiled_step_ns": {"mean": 1_000_000},
    }
    manifest = replace(made.manifest, sources=[{"rank": 0, "settings": times}])
    trace = Trace(manifest, {name: made.frame(name).lazy() for name in TABLES})
    assert trace.manifest.unprofiled_step_ns(0) == plain_us * US
    assert verdict(trace)["bound"].to_list() == [bound]
    if bound == "inconclusive":
        answer = make_answer(trace)
        assert answer.sentence == "The profiler made a step of 40.0 µs take 1.00 ms"
        assert "larger steps" in str(answer.no_change)


@pytest.mark.parametrize(
    ("name", "complete", "begin"),
    [
        ("aten::cudnn_convolution", True, "The GPU's work was not recorded"),
        ("aten::mm", False, "The GPU's work was not recorded"),  # the file ends before it
        ("aten::mm", True, "The CPU does arithmetic"),
    ],
)
def test_a_program_of_a_gpu_without_its_work_is_not_judged(
    name: str, complete: bool, begin: str
) -> None:
    spans = [step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(3)]
    ops = [op(1_000 * i, 1_000 * i + 900, name, LARGE) for i in range(3)]
    made = process(*spans, *ops, devices=[{"name": "NVIDIA H200"}])
    trace = Trace(
        replace(made.manifest, complete=complete),
        {table: made.frame(table).lazy() for table in TABLES},
    )
    answer = make_answer(trace)
    assert answer.sentence.startswith(begin)
    assert ("on the CPU" in str(answer.about)) == begin.startswith("The CPU")


def test_who_recorded_stacks_is_advised_to_leave_them() -> None:
    """A step of 40 µs took 1 ms under the profiler, and reads two values at one line."""
    reads = [
        op(1_000 * i + 10 * j, 1_000 * i + 10 * j + 8, "aten::item", "[[]]", step=i)
        for i in range(6)
        for j in range(2)
    ]
    made = process(
        *(step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(6)),
        span(0, 6_000, "toy.py(14): <module>", "python"),
        *reads,
    )
    times = {"unprofiled_step_ns": {"median": 40 * US}, "profiled_step_ns": {"mean": 1_000_000}}
    manifest = replace(made.manifest, sources=[{"rank": 0, "settings": times}])
    answer = make_answer(Trace(manifest, {name: made.frame(name).lazy() for name in TABLES}))
    assert "--no-stacks" in str(answer.no_change)
    assert answer.details[1:] == (
        "it shows that single values are read back in aten::item, 2 times a step",
    )


@pytest.mark.parametrize(("plain_us", "is_said"), [(2_000, True), (9_000, False)])
def test_waiting_longer_than_a_plain_step_is_said(plain_us: int, is_said: bool) -> None:
    """Each recorded step of 10 ms waits 9 ms for a queue; after a pause a full queue waits 0."""
    trace = process(
        *(step(i, 10_000 * i, 10_000 * i + 10_000) for i in range(3)),
        span(0, 30_000, "train.py(4): <module>", "python"),
        *(op(10_000 * i, 10_000 * i + 1_000, "aten::mm", LARGE) for i in range(3)),
        *(
            span(10_000 * i + 1_000, 10_000 * i + 10_000, "queue.py(154): get", "python")
            for i in range(3)
        ),
    )
    times = {
        "unprofiled_step_ns": {"median": plain_us * US},
        "profiled_step_ns": {"mean": 10_000 * US},
    }
    manifest = replace(trace.manifest, sources=[{"rank": 0, "settings": times}])
    answer = make_answer(Trace(manifest, {name: trace.frame(name).lazy() for name in TABLES}))
    said = [doubt for doubt in answer.doubts if "a recorded step waits 9.00 ms" in doubt]
    assert bool(said) is is_said
    # Of the mean step 1 ms computes and 9 ms wait, which recording does not make longer.
    assert answer.sentence == "The program sleeps or waits: 90 % of a step of 10.0 ms"


def test_a_program_that_only_sleeps_is_said_to_sleep() -> None:
    """Two steps of 10 ms: 1 ms computes, the rest sleeps in one place."""
    trace = process(
        *(step(i, 10_000 * i, 10_000 * i + 10_000) for i in range(2)),
        span(0, 20_000, "train.py(4): <module>", "python"),
        *(op(10_000 * i, 10_000 * i + 1_000, "aten::mm", LARGE) for i in range(2)),
        *(
            span(10_000 * i + 1_000, 10_000 * i + 9_990, "<built-in function sleep>", "python")
            for i in range(2)
        ),
    )
    answer = make_answer(trace)
    assert answer.sentence == "The program sleeps or waits: 90 % of a step of 10.0 ms"
    assert answer.place == "at train.py:4 <module> > sleep"
    assert answer.changes[0].text.startswith("the program only waits (sleep")


def test_no_device_is_spoken_of_where_there_is_none() -> None:
    """Two steps of 10 ms: 1 ms computes, the rest parses."""
    trace = process(
        *(step(i, 10_000 * i, 10_000 * i + 10_000) for i in range(2)),
        *(op(10_000 * i, 10_000 * i + 1_000, "aten::mm", LARGE) for i in range(2)),
        *(
            span(10_000 * i + 1_000, 10_000 * i + 9_990, "a.py(3): parse", "python")
            for i in range(2)
        ),
    )
    answer = make_answer(trace)
    assert answer.sentence == "The program works outside of ops: 90 % of a step of 10.0 ms"
    assert "device" not in answer.changes[0].text


def test_python_of_an_autograd_function_is_no_arithmetic() -> None:
    """It works for 2,900 µs; the add inside for 100."""
    found = parts(process(op(0, 3_000, "FBackward", None), op(0, 100, "aten::add", LARGE)))
    assert (found["compute"], found["idle_host"]) == (100, 2_900)


def timed_apart(plain_us: int, last_us: int = 1_000) -> Trace:
    """Four steps of 1 ms, each 600 µs of arithmetic and 400 of Python, timed alone as well.

    The last one takes `last_us`.
    """
    made = process(
        *(step(i, 1_000 * i, 1_000 * i + (last_us if i == 3 else 1_000)) for i in range(4)),
        span(0, 4_000, "train.py(4): <module>", "python"),
        *(op(1_000 * i, 1_000 * i + 600, "aten::mm", LARGE) for i in range(4)),
    )
    times = {
        "unprofiled_step_ns": {"median": plain_us * US},
        "profiled_step_ns": {"mean": (3_000 + last_us) // 4 * US},
    }
    manifest = replace(made.manifest, sources=[{"rank": 0, "settings": times}])
    return Trace(manifest, {name: made.frame(name).lazy() for name in TABLES})


def test_a_third_time_of_a_step_is_explained() -> None:
    """The profiler added 500 µs; 400 µs of Python can hold no more, arithmetic takes its 600."""
    answer = make_answer(timed_apart(500))
    assert answer.sentence.endswith("of a step of 600 µs")
    assert answer.unprofiled == (
        "without the profiler a step takes 500 µs, under it 1.00 ms;"
        " percentages are of 600 µs, without what it is known to add"
    )


def test_one_long_recorded_step_is_not_taken_for_the_profiler() -> None:
    told = make_answer(timed_apart(1_000, last_us=9_000)).unprofiled
    assert told is not None
    assert "under it 3.00 ms on average (1.00 ms in the median)" in told


def test_a_comparison_leaves_out_what_the_profiler_adds() -> None:
    """Python takes 200 and 100 µs without the profiler, but recorded steps of both are alike."""
    base, other = timed_apart(800), timed_apart(700)
    rows = {row["part"]: row for row in compare_time(base, other).iter_rows(named=True)}
    times = {part: (rows[part]["base_ns"] / US, rows[part]["other_ns"] / US) for part in rows}
    assert (times["window"], times["compute"]) == ((800, 700), (600, 600))
    assert times["idle"] == times["idle_host"] == (200, 100)
    assert (rows["window"]["outcome"], rows["idle"]["outcome"]) == ("unclear", "unclear")
    answer = make_answer(other, base)
    assert answer.sentence.startswith("Within noise: 800 → 700 µs a step (")
    assert [part.share for part in answer.bars[0].parts] == pytest.approx([3 / 4, 1 / 4])
    assert answer.bars[1].parts == make_answer(other).bars[0].parts


def test_shares_of_idle_time_say_what_they_leave_out() -> None:
    """Of 400 µs of Python a step, 100 are the profiler's: the recorded step has 1,000, not 900."""
    trace = timed_apart(900)
    gaps = idle_gaps(trace)
    assert gaps.select(pl.col("idle_ns") // US, pl.col("share_frac").round(6)).rows() == [
        (1_600, round(1 / 3, 6))
    ]
    assert notes(trace, gaps) == [
        (
            "Idle times are as recorded, and shares are without what the profiler adds: it adds 25% of"
            " the time of launches and of the host's other work."
        )
    ]
