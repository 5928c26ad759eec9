"""Where time goes in a program: the path of each place, and the time that it is charged for."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.programs import Row, launch, mark, program, span, work
from tests.torch_files import call, kernel, write
from tests.torch_files import span as event
from tracelens.analyses import idle_gaps
from tracelens.collectors import collect
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.code_owner import LIBRARY, PROGRAM, RUNTIME, owner
from tracelens.derive.time.step_table import activities_of
from tracelens.trace import Trace

NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
SHORT = "DataLoader.__next__ (_SingleProcessDataLoaderIter)"
STEP = mark(0, 0, 10_000)


def python(name: str, start: float, end: float, **more: Any) -> Row:
    return span("python", name, start, end, **more)


def ran(*spans: Row) -> Trace:
    """A step whose device waits from 1,000 to 9,000 µs for what the host does."""
    kernels = [work(0, 1_000, 0), work(9_000, 10_000, 1)]
    return program([STEP, *spans], [launch(0, 10), launch(8_999, 9_000)], kernels)


def charged(trace: Trace) -> dict[str | None, float]:
    """The idle time of each place in µs."""
    rows = idle_gaps(trace).filter(pl.col("cause").is_in(["host", "input"]))
    return {what: ns / 1_000 for what, ns in rows.select("what", "idle_ns").iter_rows()}


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("train.py(29): main", PROGRAM),
        ("project/data.py(3): decode", PROGRAM),
        ("datasets/coco.py(3): __getitem__", PROGRAM),
        ("test.py(3): evaluate", PROGRAM),
        ("<ipython-input-3-ab>(5): train", PROGRAM),
        ("/scratch/ipykernel_12/98.py(3): train", PROGRAM),
        (r"C:\work\train.py(3): train", PROGRAM),
        ("numpy/fft/_pocketfft.py(1266): rfftn", LIBRARY),
        ("/usr/lib/python3/dist-packages/scipy/fft.py(1): fft", LIBRARY),
        ("/opt/venv/lib/python3.11/site-packages/unheard_of/a.py(1): f", LIBRARY),
        (r"C:\Python311\Lib\site-packages\unheard_of\a.py(1): f", LIBRARY),
        ("typing_extensions.py(3): f", LIBRARY),
        ("threading.py(5): run", RUNTIME),
        ("json/encoder.py(3): encode", RUNTIME),
        ("_strptime.py(3): _strptime", RUNTIME),
        ("/opt/conda/lib/python3.10/json/encoder.py(3): encode", RUNTIME),
        (r"C:\Python311\Lib\json\encoder.py(3): encode", RUNTIME),
        ("<frozen importlib._bootstrap>(1): _find_and_load", RUNTIME),
        ("<built-in method sleep>", RUNTIME),
        ("<string>(2): __init__", RUNTIME),
        ("cvbdspxh75dv7kdqlwtq43ni5dtu3tblgii2q3xlnzyztowj556q.py(864): call", RUNTIME),
        ("c.py(864): call", PROGRAM),
        ("torch/nn/modules/module.py(1): _call_impl", RUNTIME),
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/functional.py(1): f", RUNTIME),
    ],
)
def test_whose_code_a_call_runs_is_told_by_its_path(name: str, whose: int) -> None:
    assert pl.select(owner(pl.lit(name))).item() == whose


@pytest.mark.parametrize(
    "folder", ["/home/a/tracelens", "/opt/venv/lib/python3.11/site-packages/tracelens", r"C:\src"]
)
def test_our_own_hooks_are_not_the_programs_code(folder: str, tmp_path: Path) -> None:
    """This holds wherever they lie.

    Torch writes all folders of a path that Python does not import from.
    """
    events = [
        call("cudaLaunchKernel", 0, 10, 1),
        kernel("k", 10, 990, 1),
        event("train.py(3): main", 1_000, 8_900, cat="python_function"),
        event(
            f"{folder}/collectors/torch/live/steps.py(2): see", 2_000, 7_000, cat="python_function"
        ),
        call("cudaLaunchKernel", 9_950, 10, 2),
        kernel("k", 9_960, 990, 2),
    ]
    trace = collect(write(tmp_path / "t.json", events))
    found = dict(idle_gaps(trace).select("what", "idle_ns").iter_rows())
    assert found[PROFILER] == 7_000_000
    assert not [what for what in found if what is not None and "steps.py" in what]


def test_torch_s_own_frames_of_a_loader_count_as_the_loader() -> None:
    trace = ran(
        python("train.py(5): step", 500, 9_900),
        python("torch/utils/data/dataloader.py(700): _next_data", 1_000, 8_990),
        python("torch/utils/data/_utils/fetch.py(49): fetch", 1_001, 8_989),
        python("parts.py(96): decode", 1_002, 8_988),
    )
    where = "train.py(5): step > dataloader.py(700): _next_data > parts.py(96): decode"
    assert charged(trace)[where] == pytest.approx(7_986, abs=20)


def test_the_program_s_innermost_function_stays_in_the_loader() -> None:
    """`decode` is all that its author can change.

    The loader's fetch and numpy's inner calls are not.
    """
    trace = ran(
        python("train.py(5): step", 500, 9_900),
        span("annotation", NEXT, 1_000, 8_000),
        python("torch/utils/data/_utils/fetch.py(49): fetch", 1_001, 7_999),
        python("parts.py(96): decode", 2_000, 7_900),
        python("numpy/fft/_pocketfft.py(1266): rfftn", 3_000, 7_000),
        python("numpy/fft/_pocketfft.py(50): _raw_fft", 3_100, 6_900),
    )
    found = charged(trace)
    decode = f"train.py(5): step > {SHORT} > parts.py(96): decode"
    assert found.pop(f"{decode} > _pocketfft.py(1266): rfftn") == 4_000
    assert found.pop(decode) == 1_900
    assert found.pop(f"train.py(5): step > {SHORT}") == 1_100
    assert found == {"train.py(5): step": pytest.approx(1_000, abs=2)}


@pytest.mark.parametrize("kind", ["annotation", "nvtx", "python"])
def test_a_place_is_charged_for_its_own_time(kind: str) -> None:
    """Three spans beside each other: the first takes more than half, yet only its own time."""
    name = "data.py(3): {}" if kind == "python" else "{}"
    trace = ran(
        span(kind, name.format("normalize"), 1_000, 5_500),
        span(kind, name.format("rescale"), 5_500, 7_000),
        span(kind, name.format("resize"), 7_000, 8_999),
    )
    assert charged(trace) == {
        name.format("normalize"): 4_500,
        name.format("rescale"): 1_500,
        name.format("resize"): pytest.approx(1_999, abs=2),
    }


def test_a_function_is_charged_for_all_its_calls() -> None:
    calls = [python("data.py(9): decode", 1_000 + 70 * at, 1_060 + 70 * at) for at in range(100)]
    found = charged(ran(python("train.py(5): step", 500, 9_900), *calls))
    assert found["data.py(9): decode"] == 6_000
    assert found["train.py(5): step"] == pytest.approx(2_000, abs=2)


def test_what_takes_hardly_any_time_is_no_place_of_its_own() -> None:
    """Below 1 % of an unbroken stretch, here 8,989 µs, it counts for the function around it."""
    calls = [
        python("train.py(5): step", 0, 9_900),
        python("log.py(3): write", 2_000, 2_080),
        python("log.py(9): flush", 3_000, 3_100),
    ]
    assert set(charged(ran(*calls))) == {"train.py(5): step", "log.py(9): flush"}


def test_one_leaf_at_most_below_the_program_s_function() -> None:
    """An op says more than torch's Python around it, and the outermost op more than inner ones."""
    trace = ran(
        python("train.py(5): step", 500, 9_900),
        python("torch/functional.py(8): norm", 1_000, 8_000),
        span("op", "aten::norm", 2_000, 8_000),
        span("op", "aten::linalg_vector_norm", 2_100, 7_900),
    )
    assert charged(trace) == {
        "train.py(5): step": pytest.approx(1_000, abs=2),
        "train.py(5): step > functional.py(8): norm": 1_000,
        "train.py(5): step > aten::norm": 6_000,
    }


@pytest.mark.parametrize(
    ("builtin", "leaf"),
    [("isinstance", "tool.py(2): trace"), ("getattr", "tool.py(2): trace"), ("sorted", "sorted")],
)
def test_a_builtin_that_only_looks_at_objects_is_no_place(builtin: str, leaf: str) -> None:
    """If one raises, torch's profiler lets it last until its caller returns."""
    trace = ran(
        python("train.py(7): main", 1_000, 9_000),
        python(f"<built-in function {builtin}>", 1_100, 8_900),
        python("/opt/lib/python3.12/tool.py(2): trace", 1_200, 8_800),
    )
    assert max(charged(trace).items(), key=lambda item: item[1])[0] == f"train.py(7): main > {leaf}"


def test_without_own_code_the_outermost_package_counts() -> None:
    trace = ran(
        python("threading.py(1): run", 500, 9_900),
        python("vllm/engine.py(8): step", 600, 9_900),
        python("vllm/sampler.py(3): sample", 1_000, 8_999),
        python("numpy/random.py(4): choice", 1_000, 8_000),
    )
    assert charged(trace) == {
        "sampler.py(3): sample > random.py(4): choice": 7_000,
        "sampler.py(3): sample": pytest.approx(999, abs=2),
    }


def test_one_program_on_two_devices_has_the_same_places() -> None:
    """The second device ends its work 700 µs later, so that less of the same stretch is idle."""
    spans = [
        STEP,
        python("train.py(5): step", 0, 9_900),
        python("data.py(3): normalize", 1_000, 5_500),
        python("data.py(9): resize", 5_500, 8_999),
    ]
    kernels = [
        work(begin, end, call, device_id=device)
        for device in (0, 1)
        for begin, end, call in ((0, 1_000 + 700 * device, 0), (9_000, 10_000, 1))
    ]
    found = idle_gaps(program(spans, [launch(0, 10), launch(8_999, 9_000)], kernels))
    named = found.filter(cause="host").select("device_id", "what", ns=pl.col("idle_ns") // 1_000)
    assert named.sort("device_id", "ns", descending=[False, True]).rows() == [
        (0, "data.py(3): normalize", 4_500),
        (0, "data.py(9): resize", 3_499),
        (1, "data.py(3): normalize", 3_800),
        (1, "data.py(9): resize", 3_499),
    ]


def test_places_do_not_depend_on_the_order_of_rows() -> None:
    spans = [
        STEP,
        python("train.py(5): step", 0, 9_900),
        python("data.py(3): normalize", 1_000, 5_500),
        span("op", "aten::sort", 5_500, 8_000),
    ]
    calls = [launch(0, 10, api_call_id=0), launch(8_999, 9_000, api_call_id=1)]
    did = activities_of(program(spans, calls)).drop("span_id")
    assert did.equals(activities_of(program(spans[::-1], calls[::-1])).drop("span_id"))
