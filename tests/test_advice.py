"""Advice: each rule says its sentence where the trace shows its sign, and nothing elsewhere."""

import polars as pl
import pytest

from tests.advice_cases import FIRST, SECOND, STEPS, idle
from tests.programs import Row, api, launch, many_ops, mark, program, span, work
from tests.test_verdict import unprofiled
from tracelens.analyses.verdict import verdict
from tracelens.answers import make_answer
from tracelens.derive.replay.advised import advise, list_changes
from tracelens.derive.time import judged_program
from tracelens.trace import Trace


def loader(kind: str) -> Row:
    return span("annotation", f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__", 5_000, 8_990)


def quick_batches(kind: str) -> list[Row]:
    """Ten batches of 10 µs each, which were ready."""
    edges = range(100, 1_100, 100)
    return [loader(kind) | span("annotation", loader(kind)["name"], at, at + 10) for at in edges]


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (
            idle(loader("SingleProcess")),
            "The data loader works in the main process; give it workers (num_workers)",
        ),
        (
            idle(loader("MultiProcessing")),
            "The loader's workers do not keep up; more of them, or cheaper decoding",
        ),
        (
            idle(loader("MultiProcessing"), *quick_batches("MultiProcessing")),
            "Few batches are late: keep the workers if an epoch begins there (persistent_workers",
        ),
        (  # another rank's batches, which are ready, do not make this rank's only batch one of few
            idle(
                loader("MultiProcessing"),
                *(row | {"rank": 1} for row in quick_batches("MultiProcessing")),
            ),
            "The loader's workers do not keep up; more of them, or cheaper decoding",
        ),
        (
            idle(span("annotation", "data", 5_000, 8_990)),
            "Have input ready before it is asked for, in data: ",
        ),
        (
            idle(calls=(api("cudaMalloc", 5_000, 8_990),)),
            "Allocate outside the loop, and keep what",
        ),
        (
            idle(span("op", "aten::empty", 4_990, 8_995), calls=(api("cudaFree", 5_000, 8_990),)),
            "Keep sizes the same, or allow expandable_segments",
        ),
        (
            idle(
                span("op", "aten::item", 500, 8_985),
                calls=(api("cudaStreamSynchronize", 510, 8_980),),
            ),
            "Read the value later or less often (.item(), float(), if), in aten::item > ",
        ),
        (
            idle(calls=(api("cuModuleLoadData", 5_000, 8_990),)),
            "Load and compile before the steps: warm up",
        ),
        (
            idle(span("op", "aten::embedding", 5_000, 8_990)),
            "This op computes on the CPU: run it on the device",
        ),
        (
            idle(span("op", "aten::unbind", 5_000, 8_990)),
            "Shorten this work of the host, or do it while the device works",
        ),
        (
            idle(span("annotation", "log", 5_000, 8_990)),
            "Shorten this work of the host, or do it while the device works",
        ),
        (
            idle(span("annotation", "Optimizer.step#SGD.step", 5_000, 8_990)),
            "Let torch do less on the host between ops: torch.compile, or a fused optimizer, in",
        ),
        (
            idle(span("annotation", "backward", 5_000, 8_990)),
            "Let torch do less on the host between ops: torch.compile, in backward: ",
        ),
        (
            idle(*many_ops("aten::mm", 5_000, 9_100)),
            "Launch fewer kernels: a CUDA graph, torch.compile or larger batches",
        ),
    ],
)
def test_of_idle_time_the_place_with_most_of_it(trace: Trace, said: str) -> None:
    (only,) = advise(trace)
    assert only.startswith(said)
    # 4 ms in two steps, 40 % of their time.
    assert "up to 2.00 ms a step (40%; see idle_gaps" in only


def test_workers_that_start_anew_in_each_epoch() -> None:
    (only,) = advise(
        idle(
            span("python", "train.py(3): main", 4_990, 8_995),
            span("python", "torch/utils/data/dataloader.py(480): __iter__", 5_000, 8_990),
        )
    )
    assert only.startswith("Keep the loader's workers from epoch to epoch")


def test_a_cause_is_summed_and_its_places_are_named_by_size() -> None:
    """Two ops load for 1,000 and 2,990 µs of two steps.

    The rest of the launching has no place here.
    """
    ops = (span("op", "aten::mm", 5_000, 6_000), span("op", "aten::conv2d", 6_000, 8_991))
    loads = (api("cuModuleLoadData", 5_001, 6_000), api("cuModuleLoadData", 6_000, 8_990))
    (change,) = list_changes(idle(*ops, calls=loads))
    assert (change.cause, change.step_ns, change.is_per_step) == ("loading", 5_000_000, True)
    assert change.saving_ns == pytest.approx(3_989_000 / 2, abs=1_000)
    assert change.share == pytest.approx(0.399, abs=1e-3)
    named = [what for what, _ in change.places]
    assert named == ["aten::conv2d > cuModuleLoadData", "aten::mm > cuModuleLoadData"]
    assert [ns for _, ns in change.places] == pytest.approx([1_495_000, 499_500], abs=1_000)
    assert change.sentence.endswith(
        ": up to 1.99 ms a step (40%; see idle_gaps); of it 1.50 ms in aten::conv2d >"
        " cuModuleLoadData, 500 µs in aten::mm > cuModuleLoadData."
    )


def test_what_is_advised_is_what_the_verdict_says() -> None:
    """Six ops load for 598 µs each.

    The saving is the verdict's share, not the share of the first op.
    """
    edges = [5_000 + 600 * number for number in range(7)]
    ops = tuple(
        span("op", f"aten::op{number}", low, low + 599) for number, low in enumerate(edges[:-1])
    )
    loads = tuple(api("cuModuleLoadData", low, low + 598) for low in edges[:-1])
    trace = idle(*ops, calls=loads)
    (row,) = verdict(trace).to_dicts()
    change = next(change for change in list_changes(trace) if change.cause == "loading")
    assert row["second"] == "loading"
    assert change.share == pytest.approx(row["second_frac"])
    assert change.share == pytest.approx(6 * 598 / 10_000)
    assert "897 µs in 3 more" in change.sentence


def test_two_devices_that_wait_at_once_save_the_step_s_time_once() -> None:
    second = launch(0, 10), launch(8_990, 9_000)
    kernels = [
        work(begin, end, call, device_id=device)
        for device in (0, 1)
        for begin, end, call in ((0, 5_000, 2 * device), (9_000, 10_000, 2 * device + 1))
    ]
    spans = [*STEPS, span("annotation", "data", 5_000, 8_990)]
    (only,) = advise(program(spans, [FIRST, launch(8_990, 9_000), *second], kernels))
    assert "up to 2.00 ms a step (40%" in only


@pytest.mark.parametrize(
    ("n_calls", "said"),
    [
        (10, ": up to 1.99 ms a step (40%"),
        # 600 calls in 3,990 µs cost 0.2 to 2 µs each: 120 to 1,200 are the profiler's.
        (600, ": 1.40 to 1.94 ms a step (39%"),
        (1_500, ": how much it saves cannot be told, as the profiler slowed the host"),
    ],
)
def test_what_recording_stacks_may_have_added_is_not_promised(n_calls: int, said: str) -> None:
    width = 3_990 / n_calls
    calls = (
        span("python", "train.py(7): read", 5_000 + width * at, 5_000 + width * (at + 1))
        for at in range(n_calls)
    )
    trace = idle(span("annotation", "data", 5_000, 8_990), *calls)
    (only,) = (text for text in advise(trace) if text.startswith("Have input ready"))
    assert said in only


def test_what_recording_adds_may_exceed_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three calls of at most 0.9 s are 2.7 of 6 s: more ns than 32 bits hold."""
    monkeypatch.setattr(judged_program, "PYTHON_NS", (200_000_000, 900_000_000))
    calls = [span("python", "train.py(7): read", at, at + 1) for at in (1_000, 2_000, 3_000)]
    data = span("annotation", "data", 0, 6_000_000)
    trace = program([data, *calls], [launch(0, 1)], [work(6_000_000, 6_000_100, 0)])
    parts = judged_program.slowed_parts(trace)
    assert parts.select(pl.col("least", "most").round(6)).rows() == [(0.55, 0.9)]


@pytest.mark.parametrize(
    ("n_ops", "said"),
    [
        # Ops that take 1,000 of 3,990 µs, of which each costs 1 to 3.5: 100 to 350 in all.
        (100, ": 3.64 to 3.89 ms in all ("),
        # 1,000 to 3,500 of 3,000 µs.
        (1_000, ": how much it saves cannot be told, as the profiler slowed the host"),
    ],
)
def test_what_recording_ops_may_have_added(n_ops: int, said: str) -> None:
    """Without steps nothing is replayed.

    The time that torch.profiler adds to an op is known roughly.
    """
    width, length = 3_990 / n_ops, {100: 10, 1_000: 3}[n_ops]
    begins = [5_000 + width * number for number in range(n_ops)]
    ops = [span("op", "aten::view", begin, begin + length) for begin in begins]
    trace = program(
        [span("annotation", "enumerate(DataLoader)#next", 5_000, 8_990), *ops],
        [FIRST, launch(8_990, 9_000)],
        [work(0, 5_000, 0), work(9_000, 10_000, 1)],
    )
    trace.manifest.sources = [{"name": "run", "kind": "torch", "rank": 0}]
    (only,) = (text for text in advise(trace) if text.startswith("Have input ready"))
    assert said in only


@pytest.mark.parametrize(
    ("spans", "calls", "said"),
    [
        ((), (api("cudaGraphLaunch", 10, 20),), "Launch fewer kernels between the replays"),
        (
            (span("annotation", "Torch-Compiled Region: 0/0", 4_000, 9_200),),
            (),
            'Launch fewer kernels: torch.compile(mode="reduce-overhead")',
        ),
        (
            (
                span("annotation", "Torch-Compiled Region: 0/0", 4_000, 9_200),
                span("op", "TorchDynamo Cache Lookup", 5_000, 7_000, step=1),
                span("op", "TorchDynamo Cache Lookup", 7_000, 9_000, step=1),
                *(span("op", "TorchDynamo Cache Lookup", at, at + 1, step=0) for at in (10, 20)),
            ),
            (),
            "Check guards less often: 2 compiled regions a step",
        ),
        ((), (api("cudaStreamBeginCapture", 10, 20),), None),
        (
            (),
            (api("hipStreamBeginCapture", 10, 20), api("hipGraphLaunch", 30, 40)),
            "Launch fewer kernels b",
        ),
    ],
)
def test_a_graph_is_advised_to_a_program_without_one(
    spans: tuple[Row, ...], calls: tuple[Row, ...], said: str | None
) -> None:
    found = advise(idle(*many_ops("aten::mm", 5_000, 9_100), *spans, calls=calls))
    assert [text[: len(said or "")] for text in found] == ([said] if said else [])
    assert not any("a CUDA graph, torch.compile" in text for text in found)


@pytest.mark.parametrize(
    ("names", "is_said"),
    [
        (("cudaMalloc", "cudaFree"), True),
        (("hipMalloc", "hipFree"), True),
        (("cuMemAlloc_v2", "cuMemFree_v2"), True),
        (("cudaMalloc", "cudaMalloc"), False),  # it grows
        (("cudaHostAlloc", "cudaFreeHost"), False),  # of the host
    ],
)
def test_memory_that_is_allocated_and_released_in_each_step(
    names: tuple[str, str], is_said: bool
) -> None:
    calls = [
        api(name, begin + 1_000 * at, begin + 1_000 * (at + 1), step=step)
        for step, begin in enumerate((1_000, 6_000))
        for at, name in enumerate(names)
    ]
    kernels = [work(0, 1_000, 0), work(3_000, 6_000, 1), work(8_000, 10_000, 2)]
    launches = [FIRST, launch(2_990, 3_000), launch(7_990, 8_000)]
    (only,) = advise(program(STEPS, [*launches, *calls], kernels))
    assert only.startswith("Keep memory: ") == is_said
    assert "up to 2.0" in only
    if is_said:
        assert f"a step calls {names[0]} 1 and {names[1]} 1 times" in only


def test_nothing_is_said_of_what_takes_hardly_any_time() -> None:
    trace = program(
        [*STEPS, span("annotation", "data", 5_000, 5_150)],
        [FIRST, launch(5_140, 5_150)],
        [work(0, 5_000, 0), work(5_150, 10_000, 1)],
    )
    assert advise(trace) == []


def test_without_steps_savings_are_in_all() -> None:
    trace = program(
        [span("annotation", "data", 5_000, 8_990)],
        [FIRST, launch(8_990, 9_000)],
        [work(0, 5_000, 0), work(9_000, 10_000, 1)],
    )
    (only,) = advise(trace)
    assert "up to 3.99 ms in all (40%" in only


def test_largest_saving_first_and_five_at_most() -> None:
    lengths = {"cudaMalloc": 700, "cudaDeviceSynchronize": 600, "cuModuleLoadData": 500}
    at, calls = 5_000, []
    for name, length in lengths.items():
        calls.append(api(name, at, at + length))
        at += length
    trace = idle(
        span("annotation", "data", at, at + 1_200),
        span("annotation", "log", at + 1_200, 8_800),
        span("op", "aten::mm", 8_800, 9_100),
        calls=tuple(calls),
    )
    found = advise(trace)
    savings = [text.split("up to ")[1].split()[:2] for text in found]
    saved = [float(number) * {"µs": 1, "ms": 1_000}[unit] for number, unit in savings]
    assert len(found) == 5
    assert saved == sorted(saved, reverse=True)
    assert "in data" in found[0]
    assert "Launch fewer" not in " ".join(found)  # 200 µs: the sixth


def test_communication_and_waiting() -> None:
    facts = {"name": "ncclDevKernel_AllReduce", "is_communication": True, "step": 1}
    (said,) = advise(
        program(
            STEPS, [FIRST, SECOND], [work(0, 8_000, 0, step=0), work(8_000, 10_000, 1, **facts)]
        )
    )
    assert said.startswith(
        "Overlap communication with computing (buckets, a later wait): up to 1.00 ms a step (20%;"
    )
    marks = [*STEPS, *(one | {"rank": 1} for one in STEPS)]
    kernels = [
        work(0, 6_000, 0, step=0),
        work(6_000, 10_000, 1, **facts),
        work(0, 9_600, 0, step=0, rank=1),
        work(9_600, 10_000, 1, rank=1, **facts),
    ]
    numbers = [{"rank": 1, "api_call_id": number} for number in (0, 1)]
    calls = [FIRST, SECOND, FIRST | numbers[0], SECOND | numbers[1]]
    found = advise(program(marks, calls, kernels))
    assert found[0].startswith(
        "Give all ranks equally much to do: collectives wait for the slowest rank: up to 900 µs a"
        " step"
    )


def test_nothing_to_say() -> None:
    assert advise(program(STEPS, [FIRST], [work(0, 10_000, 0)])) == []
    assert advise(program(kernels=[work(5, 5)])) == []


def profiled() -> Trace:
    """Four steps of 10 ms: the device computes for 4, the profiler works 2.5, the host 3.5."""
    spans, calls, kernels = [], [], []
    for number in range(4):
        at = 10_000 * number
        spans += [
            mark(number, at, at + 10_000),
            span("overhead", "Activity Buffer Request", at + 4_500, at + 7_000),
            span("annotation", "checkpoint", at + 4_000, at + 9_990),
        ]
        calls.append(launch(at, at + 10))
        kernels += [
            work(at + 20 + k * 996, at + 20 + (k + 1) * 996, number, name="gemm") for k in range(4)
        ]
    return program(spans, calls, kernels)


def test_a_saving_never_counts_what_the_profiler_adds() -> None:
    (change,) = [one for one in list_changes(profiled()) if one.cause == "host"]
    assert change.saving_ns is not None
    assert change.saving_ns <= (10_000 - 4 * 996 - 2_500) * 1000
    assert change.saving_ns == pytest.approx(3_500_000, rel=0.01)


@pytest.mark.parametrize("plain_us", [6_000, 4_400, 4_050])
def test_a_saving_is_at_most_what_the_device_leaves_of_a_step(plain_us: int) -> None:
    """Without the profiler a step takes 6 ms or less, and the device computes for 3.984 of them."""
    changes = list_changes(unprofiled(profiled(), 10_000, plain_us))
    assert all((one.saving_ns or 0) <= (plain_us - 4 * 996) * 1000 + 1 for one in changes)
    assert [one.cause for one in changes] == (["host"] if plain_us > 4_050 else [])


@pytest.mark.parametrize("after_release", ["cudaMalloc", "cudaLaunchKernel"])
def test_an_op_that_frees_only_to_allocate_makes_room(after_release: str) -> None:
    """In each step an op allocates for 1 ms, frees for 1 ms, and then allocates or launches."""
    spans, calls = [*STEPS], [FIRST, SECOND]
    for step, begin in enumerate((1_000, 6_000)):
        names = ("cudaMalloc", "cudaFree", after_release)
        spans.append(span("op", "aten::empty", begin - 1, begin + 3_010))
        calls += [
            api(name, begin + 1_000 * at, begin + 1_000 * (at + 1), step=step)
            for at, name in enumerate(names)
        ]
    kernels = [work(0, 1_000, 0), work(4_020, 6_000, 1), work(9_020, 10_000, 1)]
    texts = [one.text for one in list_changes(program(spans, calls, kernels))]
    makes_room = any(text.startswith("Keep sizes the same, or allow") for text in texts)
    assert makes_room == (after_release == "cudaMalloc")
    assert any(text.startswith("Keep memory: ") for text in texts) != makes_room


def test_work_of_the_host_and_its_waits_are_two_parts() -> None:
    """Of two steps of 5 ms, the host parses for 4.5 ms, and waits for a request for 2.5."""
    spans = [
        span("annotation", "parse", 2_000, 6_500),
        span("annotation", "serve", 6_500, 8_989),
        span("python", "queue.py(171): get", 6_500, 8_988),
    ]
    calls = [FIRST, launch(8_990, 9_000)]
    trace = program([*STEPS, *spans], calls, [work(0, 2_000, 0), work(9_000, 10_000, 1)])
    works, waits = (one for one in list_changes(trace) if one.cause == "host")
    assert (works.text.split(" ")[0], waits.text[:22]) == ("Shorten", "The program only waits")
    assert (works.saving_ns or 0) == pytest.approx(2_250_000, rel=0.01)
    assert (waits.saving_ns or 0) == pytest.approx(1_250_000, rel=0.01)
    answer = make_answer(trace)
    assert answer.sentence == (
        "The GPU waits while the program does other work or waits itself: 45 % and 25 % of a step"
        " of 5.00 ms"
    )
    assert answer.place == "in parse"
    assert answer.details[0].startswith("it waits itself: in ")


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (["queue.py(171): get", "threading.py(355): wait"], "The program only waits"),
        (["serve.py(12): loop", "selectors.py(468): select"], "The program waits for requests"),
        (
            [
                "serve.py(12): loop",
                "asyncio/base_events.py(9): _run_once",
                "selectors.py(4): select",
            ],
            "The program waits for requests",
        ),
        (["serve.py(12): loop", "<built-in function sleep>"], "The program only waits"),
        (["serve.py(12): get", "json/__init__.py(20): dump"], "Shorten this work of the host"),
    ],
)
def test_a_host_that_waits_for_something_is_told_so(frames: list[str], words: str) -> None:
    """The device is idle for 4 ms, in which the host waits for a request, or works."""
    trace = idle(*(span("python", name, 5_001 + at, 8_989 - at) for at, name in enumerate(frames)))
    (change,) = [one for one in list_changes(trace) if one.cause == "host"]
    assert change.text.startswith(words)
