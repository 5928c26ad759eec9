"""The answer to a trace: sentence, place, bar and changes by hand; its shape for all captures."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

import tracelens as tl
from tests.answer_cases import STEP, busy, faster, repeated
from tests.answer_checks import check_answer
from tests.cases import make_trace
from tests.programs import api, launch, mark, program, span, work
from tests.selection import only
from tests.test_cpu_only import process, step
from tests.test_cpu_work import op
from tests.test_notebook import arithmetic
from tracelens.analyses import verdict
from tracelens.answers import make_answer
from tracelens.answers.answer import WAIT, WORK, Bar, Change, Part
from tracelens.answers.step_bar import parts_of
from tracelens.answers.words import place_text, shared_path
from tracelens.derive.columns.time_text import change_text, difference, duration, span_text
from tracelens.derive.replay.advised import list_changes
from tracelens.derive.replay.unprofiled import UnprofiledStep, unprofiled_steps
from tracelens.derive.time.bounds import bound_words
from tracelens.derive.time.host_waits import is_wait
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_sentences import step_sentences
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.views.answer_text import answer_text
from tracelens.views.values import ELLIPSIS

SAMPLES = Path(__file__).parents[1] / "samples"
CONSTRUCTED = SAMPLES / "planted" / "constructed"
TRACES = sorted(SAMPLES.glob("**/*.tracelens"))
PARTS = 24


def waiting_for_input() -> Trace:
    """A step of 10 ms: kernels to 1 ms and from 9 ms on, between them the loader's known line."""
    return program(
        [
            STEP,
            span("python", "train.py(29): <module>", 0, 9_000),
            span("python", "parts.py(96): decode", 1_000, 9_000),
            span("annotation", "enumerate(DataLoader)#_SingleProcess.__next__", 1_000, 9_000),
        ],
        [launch(0, 10), launch(9_000, 9_000)],
        [*busy(0, 1_000), work(9_000, 10_000, 1, name="gemm")],
    )


def test_the_sentence_says_what_waits_and_its_share_of_a_step() -> None:
    answer = check_answer(waiting_for_input())
    assert answer.sentence == "The GPU waits for input: 80 % of a step of 10.0 ms"
    shares = {part.label: round(part.share, 2) for part in answer.bars[0].parts}
    assert shares == {"compute": 0.2, "input": 0.8}


def test_a_change_says_how_long_a_step_takes_after_it() -> None:
    (change,) = make_answer(waiting_for_input()).changes
    assert change.after_ns == pytest.approx(2_000_000, abs=100_000)
    lines = answer_text(make_answer(waiting_for_input())).splitlines()
    (head,) = [line for line in lines if line.startswith("  What would help")]
    assert head.endswith("a step then takes")
    assert any(line.startswith("  1  ") and line.endswith("at least 2.00 ms") for line in lines)


def test_a_range_stands_beside_what_is_estimated() -> None:
    answer = make_answer(waiting_for_input())
    known = Change("give the loader workers", 0.8, 2_000_000, 1_900_000, 2_400_000)
    text = answer_text(type(answer)(answer.sentence, bars=answer.bars, changes=(known,)))
    assert "2.00 ms (1.90 to 2.40 ms)" in text


def validating() -> Trace:
    """Five steps of 10 ms that compute for 9. After the third the host validates for 50 ms."""
    at, spans, calls, kernels = 0, [], [], []
    for number in range(5):
        spans.append(mark(number, at, at + 10_000))
        calls += [launch(at + k * 100, at + k * 100 + 50) for k in range(3)]
        kernels += [
            work(at + 100 + k * 3_000, at + 3_100 + k * 3_000, len(calls) - 3 + k) for k in range(3)
        ]
        at += 10_000
        if number == 2:
            spans.append(span("annotation", "validate", at, at + 50_000))
            at += 50_000
    return program(spans, calls, kernels)


def logging_after(busy_us: int) -> Trace:
    """A step of 10 ms: kernels until `busy_us`, then Python, which launches a last one."""
    return program(
        [
            STEP,
            span("python", "train.py(5): main", 0, 10_000),
            span("python", "train.py(9): log", busy_us, 9_900),
        ],
        [launch(0, 10), launch(9_900, 9_901)],
        [*busy(0, busy_us), work(9_901, 10_000, 1, name="gemm")],
    )


@pytest.mark.parametrize(
    ("busy_us", "shares"), [(5_901, "60 % and 40 %"), (4_701, "48 % and 52 %")]
)
def test_what_takes_as_much_as_computing_stands_beside_it(busy_us: int, shares: str) -> None:
    answer = check_answer(logging_after(busy_us))
    assert answer.sentence == (
        f"The GPU computes or waits while the program does other work: {shares} of a step of"
        " 10.0 ms"
    )
    assert answer.place == "mostly gemm"
    assert answer.details[0] == "the host's other work: at train.py:9 log"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("not_read_osrt_api", "calls of the operating system are not read"),
        ("not_read_composite_events", "CPU samples are not read"),
        ("graph_kernels_hidden", None),  # it would show what computes, not what the host does
    ],
)
def test_events_that_are_not_read_are_said_to_exist(code: str, words: str | None) -> None:
    trace = logging_after(3_901)
    diagnostics = [{"severity": "info", "code": code, "count": 6}]
    tables = {name: trace.frame(name).to_dicts() for name in TABLES if trace.has(name)}
    doubts = make_answer(make_trace(**tables | {"diagnostics": diagnostics})).doubts
    assert [words in doubt for doubt in doubts] == [True] if words else doubts == ()


@pytest.mark.parametrize(
    ("busy_us", "said"),
    [
        (7_901, "The GPU is busy computing: 80 %"),
        (3_901, "The GPU waits while the program does other work: 60 %"),
    ],
)
def test_what_takes_most_of_a_step_stands_alone(busy_us: int, said: str) -> None:
    answer = check_answer(logging_after(busy_us))
    assert answer.sentence == f"{said} of a step of 10.0 ms"


def test_ranks_of_a_job_compute_or_wait_as_one_does() -> None:
    one = logging_after(4_701)
    tables = {
        name: [row | {"rank": rank} for rank in (0, 1) for row in one.frame(name).to_dicts()]
        for name in TABLES
        if one.has(name)
    }
    answer = make_answer(make_trace(**tables))
    assert answer.sentence.startswith("On every rank the GPU computes or waits while")
    assert ": 48 % and 52 % of a step" in answer.sentence
    assert answer.place == "mostly gemm"
    assert answer.details[0] == "the host's other work: at train.py:9 log"


def test_ranks_with_other_numbers_of_steps_have_one_mean_step() -> None:
    """Each step takes 5 ms on both ranks; rank 1 recorded five steps and rank 0 three."""
    runs = [repeated(n, 5_000, 4_000) for n in (3, 5)]
    tables = {
        name: [
            row | {"rank": rank}
            for rank, run in enumerate(runs)
            for row in run.frame(name).to_dicts()
        ]
        for name in TABLES
        if runs[0].has(name)
    }
    answer = make_answer(make_trace(**tables))
    assert answer.sentence == "On every rank the GPU is busy computing: 80 % of a step of 5.00 ms"


def test_shares_and_times_are_of_the_same_step() -> None:
    """The validation is in the third step: 100 ms in five steps. 45 of them compute."""
    trace = validating()
    assert verdict(trace).select("bound", "bound_frac").row(0) == ("host", pytest.approx(0.545))
    answer = make_answer(trace)
    assert answer.sentence.endswith("55 % of a step of 20.0 ms on average (10.0 ms in the median)")
    (change, *_) = [one for one in list_changes(trace) if one.cause == "host"]
    assert change.step_ns == 20_000_000
    assert change.saving_ns == pytest.approx(0.545 * 20_000_000)
    (sentence,) = step_sentences(time_model(trace))
    assert "(median of 5; 10.0 to 60.0 ms). Percentages are of the mean step, 20.0 ms." in sentence


def test_without_steps_shares_are_said_to_be_of_the_program() -> None:
    """48 ms of kernels follow 20 ms of earlier work, which is in no share."""
    answer = make_answer(tl.collect(CONSTRUCTED / "split_prefill.pt.trace.json.gz"))
    assert answer.sentence == "The GPU is busy computing: 100 % of the program's 48.1 ms"


def test_one_rank_of_a_job_says_what_it_cannot_tell() -> None:
    answer = make_answer(tl.collect(CONSTRUCTED / "rank_of_eight.pt.trace.json.gz"))
    (doubt,) = answer.details
    assert doubt.startswith("waiting for the other ranks and transfer cannot be told apart")


def test_too_little_says_what_ran_for_most_of_the_time() -> None:
    answer = make_answer(tl.collect(CONSTRUCTED / "one_block.pt.trace.json.gz"))
    assert answer.details[-1] == "one kernel of one block (scan_kernel) runs for 25.8 s"


def test_steps_that_do_not_count_are_counted_apart() -> None:
    for n, words in (("two", "2 steps"), ("three", "3 steps")):
        trace = tl.collect(CONSTRUCTED / f"tail_after_{n}.pt.trace.json.gz")
        about = make_answer(trace).about or ""
        assert about.startswith(f"{words} and 1 step in which only a tail ran")


def test_too_little_is_said_with_its_numbers() -> None:
    trace = program([], [launch(0, 10)], [work(0, 10, 0), work(3_000_000, 3_000_010, 0)])
    answer = check_answer(trace)
    assert answer.sentence == (
        "Too little was recorded to say what limits the program: 2 kernels in 3.00 s"
    )


def test_a_cut_trace_that_is_not_judged_says_only_that() -> None:
    trace = program([], [launch(0, 10)], [work(0, 10, 0), work(3_000_000, 3_000_010, 0)])
    trace.manifest.complete = False
    assert "the trace is incomplete" in make_answer(trace).doubts


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (
            "train.py(29): <module> > loader.py(7): next > parts.py(96): decode",
            "at train.py:29 <module> > loader.py:7 next > parts.py:96 decode",
        ),
        ("a.py(1): a > b.py(2): b > c.py(3): c > sleep", "at a.py:1 a > … > c.py:3 c > sleep"),
        ("cudaMalloc", "in cudaMalloc"),
        ("between aten::add and aten::mul", "between aten::add and aten::mul"),
        (None, None),
    ],
)
def test_places_are_files_that_one_can_open(what: str | None, said: str | None) -> None:
    assert place_text(what) == said


_LOADER = "a.py(9): <module> > DataLoader.__next__"


@pytest.mark.parametrize(
    ("places", "path"),
    [
        # No op of __getitem__ has half of the time, nor has a line of it; the function has.
        (
            {
                f"{_LOADER} > a.py(2): __getitem__ > aten::rand": 30,
                f"{_LOADER} > a.py(3): __getitem__ > aten::conv2d": 20,
                f"{_LOADER} > a.py(3): __getitem__": 10,
                f"{_LOADER} > collate.py(5): collate": 40,
            },
            f"{_LOADER} > a.py: __getitem__",
        ),
        # One line has half of the time, and so has an op on it.
        (
            {
                "a.py(9): f > b.py(2): g > aten::add": 50,
                "a.py(9): f > b.py(3): g > aten::add": 50,
            },
            "a.py(9): f > b.py(2): g > aten::add",
        ),
        ({"a.py(9): f > aten::add": 49, "a.py(9): f > aten::mul": 51}, "a.py(9): f > aten::mul"),
        ({"a.py(9): f > aten::add": 40, "a.py(9): f > aten::mul": 40, "g": 20}, None),
        ({"between aten::add and aten::mul": 9}, None),
        ({}, None),
    ],
)
def test_half_of_the_time_shares_a_path(places: dict[str, int], path: str | None) -> None:
    assert shared_path(list(places.items())) == path


def _bar(shares: list[float]) -> Bar:
    return Bar("step", tuple(Part("", share, WORK) for share in shares))


def test_a_bar_rounds_each_share_as_the_verdict_does() -> None:
    shares = [0.084, 0.894, 0.022]
    assert _bar(shares).percents == [8, 89, 2]
    assert bound_words("launch", 0.894, "compute", 0.084) == "launches 89 %, then compute 8 %"


def test_small_parts_of_a_bar_get_the_rest_of_100_percent() -> None:
    """Rounded by itself, the rest of 1.6 % would be 2 %, and the bar 101 %."""
    bar = Bar(
        "step", parts_of({"a": 0.497, "b": 0.487, "c": 0.008, "d": 0.008}, {"a": WORK, "b": WORK})
    )
    assert [(part.label, n) for part, n in zip(bar.parts, bar.percents, strict=True)] == [
        ("a", 50),
        ("b", 49),
        ("other", 1),
    ]


def test_small_parts_that_no_percent_is_left_for_are_not_drawn() -> None:
    shares = {"compute": 0.506, "input": 0.488, "copies": 0.006}
    parts = parts_of(shares, dict.fromkeys(shares, WORK))
    assert [part.label for part in parts] == ["compute", "input"]


def test_a_bar_has_work_first_and_small_parts_together() -> None:
    shares = {"input": 0.5, "compute": 0.3, "launches": 0.19, "a": 0.006, "b": 0.004}
    kinds = dict.fromkeys(shares, WAIT) | {"compute": WORK}
    parts = parts_of(shares, kinds)
    assert [part.label for part in parts] == ["compute", "input", "launches", "other"]
    assert parts[-1].share == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (31_814_000, "31.8 ms"),
        (999, "1.00 µs"),
        (2_500, "2.50 µs"),
        (3e9, "3.00 s"),
        (123.4e6, "123 ms"),
        (999_700, "1.00 ms"),  # not 1,000 µs
        (9_996_000, "10.0 ms"),
        (5e12, "5,000 s"),
    ],
)
def test_durations_have_three_digits(ns: float, said: str) -> None:
    assert duration(ns) == said


def test_two_times_have_one_unit_if_both_are_of_its_size() -> None:
    assert span_text(500e6, 2_172_590_000) == "500 ms to 2.17 s"
    assert span_text(2e6, 3e6) == "2.00 to 3.00 ms"
    assert change_text(14.1e6, 11.6e6) == "14.1 → 11.6 ms"
    assert difference(-5e3) == "\u22125.00 µs"


@pytest.mark.parametrize("width", only([20, 60], [20, 40, 60, 200]))
def test_an_answer_fits_a_terminal_and_loses_no_change(width: int) -> None:
    answer = make_answer(waiting_for_input())
    lines = answer_text(answer, width=width).splitlines()
    assert max(map(cell_len, lines)) <= max(min(width, 80), 32)
    text = " ".join(" ".join(lines).split())
    for change in answer.changes:
        assert change.text.split()[0] in text
        assert change.after_text in text


def test_a_trace_that_tells_nothing_gets_one_sentence() -> None:
    alone = make_answer(make_trace(ranks=[{}]))
    assert alone.sentence == "This trace cannot tell what limits a program: it holds no events"
    answer = make_answer(make_trace(counters=[{}]))
    assert answer.sentence == (
        "This trace cannot tell what limits a program: it holds only 1 counter"
    )


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.exhaustive) for part in range(1, PARTS))]
)
def test_the_first_lines_answer_for_every_stored_trace(part: int) -> None:
    for path in TRACES[part::PARTS]:
        if "calls" not in path.stem:  # costs of library calls alone limit nothing
            check_answer(tl.open(path))


def test_a_mark_of_another_length_than_its_step_is_shown() -> None:
    """The host marks 2 of the 10 ms in which the device does a step's work."""
    marks = [mark(n, n * 2_000, (n + 1) * 2_000) for n in range(3)]
    launches = [launch(n * 2_000 + 1, n * 2_000 + 2) for n in range(3)]
    kernels = [one for n in range(3) for one in busy(n * 10_000 + 5, (n + 1) * 10_000, n)]
    text = "on the host a step takes 2.00 ms; here it lasts until its last work on the GPU"
    assert text in str(make_answer(program(marks, launches, kernels)).unprofiled)
    assert make_answer(faster(5_000, 4_000)).unprofiled is None


def test_a_capture_of_a_graph_is_said_to_be_one() -> None:
    calls = [
        api("cudaStreamBeginCapture", 0, 1),
        launch(2, 3),
        launch(4, 5),
        api("cudaStreamEndCapture", 6, 7),
    ]
    answer = make_answer(program([span("op", "aten::mm", 2, 6)], calls))
    assert answer.sentence == (
        "This is the capture of a CUDA graph, not a run: nothing ran on a device"
    )
    assert answer.details == ("2 kernels launched into the graph; no replay is recorded",)


@pytest.mark.parametrize(("n_captured", "is_capture"), [(5, True), (2, True), (1, False)])
def test_a_capture_with_its_warm_up_is_no_run(n_captured: int, is_capture: bool) -> None:
    """A server runs the work once before it captures it."""
    captured = [launch(20 + n, 21 + n) for n in range(n_captured)]
    begin, end = (
        api(f"cudaStream{what}Capture", at, at + 1) for what, at in (("Begin", 15), ("End", 40))
    )
    calls = [launch(0, 1), begin, *captured, end]
    doubts = make_answer(program([], calls, busy(1, 11))).doubts
    assert any("capture of CUDA graphs of" in doubt for doubt in doubts) is is_capture


@pytest.mark.parametrize(
    ("high_us", "told"),
    [(700, "about 500 µs (300 to 700 µs), 100 % of it arithmetic"), (1_100, None)],
)
def test_a_step_that_is_surely_shorter_without_the_profiler(
    monkeypatch: pytest.MonkeyPatch, high_us: int, told: str | None
) -> None:
    """A replay's range is said where the recorded step, of 1 ms, is longer than all of it."""
    found = {0: UnprofiledStep(0, 1_000_000, 500_000, 300_000, high_us * 1_000, 0.0, "table")}
    monkeypatch.setattr("tracelens.answers.details.unprofiled_steps", lambda _: found)
    answer = make_answer(arithmetic())
    assert answer.unprofiled == (f"without the profiler a step takes {told}" if told else None)


@pytest.mark.parametrize(("high_us", "told"), [(700, "500 µs (300 to 700 µs)"), (300, "500 µs")])
def test_a_measured_step_has_its_range(
    monkeypatch: pytest.MonkeyPatch, high_us: int, told: str
) -> None:
    measured = UnprofiledStep(0, 1_000_000, 500_000, 300_000, high_us * 1_000, 0.0, "measured")
    monkeypatch.setattr("tracelens.answers.details.unprofiled_steps", lambda _: {0: measured})
    answer = make_answer(arithmetic())
    expected = f"without the profiler a step takes {told}, under it 1.00 ms"
    assert answer.unprofiled == expected


def test_no_word_is_cut_and_the_least_change_gives_way() -> None:
    """Each change takes three lines and its place two: three of them are too many for 25 lines."""
    text = "use a much longer sentence than any rule has today, so that it takes three lines in its column"
    place = "in prepare (defined at preprocessing/images.py:129) > augment (defined at images.py:7)"
    change = Change(text, 0.5, 2_000_000, 1_900_000, 2_400_000, place=place)
    answer = make_answer(waiting_for_input())
    facts = ("a first fact " * 8, "a second fact " * 8)
    few, many = (answer_text(replace(answer, changes=(change,) * n, doubts=facts)) for n in (2, 3))
    assert few == many
    assert ELLIPSIS not in few
    assert len(few.splitlines()) <= 25


def test_of_a_word_longer_than_a_line_both_ends_are_shown() -> None:
    answer = replace(make_answer(waiting_for_input()), place=f"in {'a' * 90}tail.py:12")
    assert "tail.py:12" in answer_text(answer)


@pytest.mark.parametrize(
    ("place", "waits"),
    [
        ("a.py(6): f > subprocess.py(550): run", True),
        ("a.py(6): f > subprocess.py(defined at 550): check_call", True),
        ("a.py(6): f > sleep", True),
        ("a.py(6): f > threading.py(defined at 950): run", False),
    ],
)
def test_places_where_a_program_only_waits(place: str, waits: bool) -> None:
    assert is_wait(place) == waits


def test_what_a_change_leaves_is_not_said_where_it_is_nothing() -> None:
    """Ten steps of 1 ms that do nothing but read values."""
    reads = [
        op(1_000 * i + 10 * j, 1_000 * i + 10 * j + 8, "aten::item", "[[]]", step=i)
        for i in range(10)
        for j in range(100)
    ]
    steps = [step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(10)]
    (change,) = make_answer(process(*steps, *reads)).changes
    assert (change.after_ns, change.low_ns) == (None, None)


@pytest.mark.parametrize(
    ("forward_us", "kernel_us", "said"),
    [
        (300, 100, "launching: backward pass 47 %, update (a.py:12) 26 %, main (a.py:7) 26 %"),
        (300, 300, "launching: backward pass 47 %, update (a.py:12) 26 %, main (a.py:7) 26 %"),
        (900, 100, None),  # one place takes more than half
    ],
)
def test_launches_are_said_by_the_function_that_makes_them(
    forward_us: int, kernel_us: int, said: str | None
) -> None:
    """After each of five kernels, the device waits for the next one's launch.

    Where they take 300 µs, it computes for longer than it waits.
    """
    parts = [
        ("a.py(7): main", "aten::linear", forward_us),
        (None, "autograd::engine::evaluate_function: MulBackward0", 270),
        (None, "autograd::engine::evaluate_function: AddBackward0", 270),
        ("a.py(12): update", "aten::mul_", 300),
    ]
    spans, calls, kernels = [], [launch(0, 10)], [work(0, kernel_us, 0)]
    at = kernel_us
    for number, (frame, called, length) in enumerate(parts, start=1):
        if frame is not None:
            spans.append(span("python", frame, at, at + length))
        spans.append(span("op", called, at + 1, at + length - 1))
        calls.append(launch(at + length - 10, at + length - 2, site_id=number - 1))
        kernels.append(work(at + length, at + length + kernel_us, number))
        at += length + kernel_us
    sites = [{"op": called} for _, called, _ in parts]
    trace = program([mark(0, 0, at), *spans], calls, kernels, sites=sites)
    answer = make_answer(trace)
    launching = [text for text in answer.details if text.startswith("launch")]
    assert answer.sentence.startswith("The GPU computes or waits") == (kernel_us == 300)
    assert launching == ([] if said is None else [said])


def test_a_change_shortens_the_step_without_the_profiler() -> None:
    """The mean recorded step is 1.4 times as long, because the first of three is slow."""
    trace = tl.collect(SAMPLES / "torch" / "alexnet_eager.pt.trace.json.gz")
    usual_ns = unprofiled_steps(trace)[0].unprofiled_ns or 0
    bounds = [one.after_ns or 0 for one in make_answer(trace).changes if one.low_ns is None]
    assert bounds
    assert all(0 < ns < usual_ns for ns in bounds)
