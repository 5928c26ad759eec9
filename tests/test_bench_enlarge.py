"""The benchmark's inputs are what they claim to be: real traces repeated, with right sums."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from benchmarks import enlarge_nsys
from benchmarks.enlarge import SAMPLES, Enlarger
from benchmarks.layouts import LAYOUTS, read_document
from tests.selection import only
from tracelens.collectors import nsys
from tracelens.trace import Trace

ALEXNET = SAMPLES / "alexnet_eager.pt.trace.json.gz"
TRAINING = SAMPLES / "resnet50_train_f64_pageable.pt.trace.json.gz"
N = 3


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first training step of the sample: links from forward to backward, and few others."""
    whole = read_document(TRAINING)
    end = min(float(e["ts"].strip("\x01")) for e in whole.events if e["name"] == "ProfilerStep#1")
    pairs = zip(whole.texts, whole.events, strict=True)
    texts = [text for text, event in pairs if float(event["ts"].strip("\x01")) < end]
    path = tmp_path_factory.mktemp("bench") / "training.json"
    path.write_bytes(whole.head + b",".join(texts) + whole.tail)
    return path


@cache
def enlarged(
    source: Path, repetitions: int, layout: str = "kineto", seed: int = 1
) -> tuple[bytes, int]:
    enlarger = Enlarger([source], layout, seed)
    return b"".join(enlarger.pieces(repetitions=repetitions)), enlarger.n_events


@cache
def events(text: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text, parse_float=str)["traceEvents"]
    return found


def args(found: list[dict[str, Any]], key: str, category: str) -> list[int]:
    return [e["args"][key] for e in found if e.get("cat") == category and key in e.get("args", {})]


def test_one_repetition_is_the_source_but_for_what_varies() -> None:
    source = Enlarger([ALEXNET]).sources[0]
    add = dict.fromkeys([*source.repeated.kinds, *source.once.kinds], 0)
    pieces = [source.repeated.filled(add), source.once.filled(add)]
    written = json.loads(b"[" + b",".join(pieces) + b"]", parse_float=str)
    original = json.loads(b"[" + b",".join(source.document.texts) + b"]", parse_float=str)
    assert sorted(map(str, written)) == sorted(map(str, original))


@pytest.mark.parametrize("layout", only(["kineto"], LAYOUTS))
def test_every_layout_holds_the_same(layout: str) -> None:
    text, n_events = enlarged(ALEXNET, N, layout)
    found, once = events(text), events(enlarged(ALEXNET, 1, layout)[0])
    assert len(found) == n_events
    n_repeated = sum(
        event["ph"] in {"X", "s", "f"} and event.get("cat") != "Trace" for event in once
    )
    assert (
        sum(event["ph"] in {"X", "s", "f"} and event.get("cat") != "Trace" for event in found)
        == N * n_repeated
    )
    assert found == events(enlarged(ALEXNET, N)[0])


def test_layouts_look_like_their_writers() -> None:
    first = {layout: enlarged(ALEXNET, 1, layout)[0] for layout in LAYOUTS}
    assert b'"ph": "X", "cat": "kernel"' in first["kineto"]
    assert b'}\n  ,\n  {\n    "ph": "X",\n    "cat": "kernel",\n' in first["fields"]
    assert first["indented"].count(b"\n") == json.dumps(
        json.loads(first["indented"]), indent=2
    ).count("\n")
    assert b'},{"ph":"X","cat":"kernel","name":"' in first["compact"]
    assert b"\n" not in first["compact"]


def test_ids_and_times_never_meet_again(training: Path) -> None:
    found = events(enlarged(training, 2)[0])
    for key, category in (
        ("External id", "cpu_op"),
        ("Ev Idx", "cpu_op"),
        ("correlation", "kernel"),
    ):
        values = args(found, key, category)
        assert len(values) == len(set(values)), key
    times = [float(e["ts"]) for e in found if e.get("cat") == "cpu_op"]
    half = len(times) // 2
    assert max(times[:half]) < min(times[half:])
    steps = sorted(
        e["name"]
        for e in found
        if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"
    )
    assert steps == [f"ProfilerStep#{i}" for i in range(2)]


def test_links_hold_inside_a_repetition(training: Path) -> None:
    once, found = events(enlarged(training, 1)[0]), events(enlarged(training, 2)[0])
    for category in ("fwdbwd", "ac2g"):
        assert len(flow_pairs(found, category)) == 2 * len(flow_pairs(once, category))
    forward = Counter(args(once, "Sequence number", "cpu_op"))
    assert sorted(Counter(args(found, "Sequence number", "cpu_op")).values()) == sorted(
        [*forward.values()] * 2
    )
    launches = set(args(found, "correlation", "cuda_runtime")) | set(
        args(found, "correlation", "cuda_driver")
    )
    assert set(args(found, "correlation", "kernel")) <= launches


def flow_pairs(found: list[dict[str, Any]], category: str) -> set[int]:
    starts, ends = (
        {e["id"] for e in found if e.get("cat") == category and e["ph"] == ph} for ph in "sf"
    )
    return starts & ends


def test_every_repetition_analyses_the_same(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(enlarged(ALEXNET, 1)[0])
    (tmp_path / "many.json").write_bytes(enlarged(ALEXNET, N)[0])
    one, many = (tl.collect(tmp_path / name) for name in ("one.json", "many.json"))
    assert totals(many, by=["library", "primitive", "link"]) == {
        key: (n * N, ns * N)
        for key, (n, ns) in totals(one, by=["library", "primitive", "link"]).items()
    }
    assert many.spans["step"].n_unique() == one.spans["step"].n_unique() * N - (N - 1)
    assert many.spans["depth"].max() == one.spans["depth"].max()
    share = pl.col("layer", "share_frac")
    layers = [
        tl.analyses.layer_attribution(trace).sort("layer").select(share) for trace in (one, many)
    ]
    assert layers[0].equals(layers[1])


def totals(trace: Trace, by: list[str]) -> dict[Any, tuple[int, int]]:
    grouped = trace.kernels.group_by(by).agg(n=pl.len(), ns=pl.col("duration_ns").sum())
    return {row[:-2]: row[-2:] for row in grouped.iter_rows()}


def test_names_shapes_and_stacks_vary_and_the_seed_says_how(training: Path) -> None:
    text = enlarged(ALEXNET, 2)[0]
    assert text == b"".join(Enlarger([ALEXNET], seed=1).pieces(repetitions=2))
    assert text != enlarged(ALEXNET, 2, seed=2)[0]
    once, found = events(enlarged(training, 1)[0]), events(enlarged(training, 2)[0])
    for category, key in (("kernel", "name"), ("cpu_op", "args")):
        seen = [
            len({str(shape(e, key)) for e in which if e.get("cat") == category})
            for which in (once, found)
        ]
        assert seen[1] > seen[0] * 1.2


def shape(event: dict[str, Any], key: str) -> Any:
    return event["args"].get("Input Dims") if key == "args" else event[key]


def test_sources_take_turns_without_colliding(training: Path) -> None:
    enlarger = Enlarger([ALEXNET, training])
    found = events(b"".join(enlarger.pieces(repetitions=4)))
    assert enlarger.n_repetitions == 4
    values = args(found, "correlation", "kernel")
    assert len(values) == len(set(values))


@pytest.mark.exhaustive
def test_nsys_export_repeats_the_sample(tmp_path: Path) -> None:
    (source,) = nsys.read(enlarge_nsys.SAMPLE)
    n_kernels = source.tables["kernels"].height
    written = enlarge_nsys.write_sqlite(tmp_path / "big.sqlite", n_kernels * N)
    assert written["repetitions"] == N
    (export,) = nsys.read(tmp_path / "big.sqlite")
    enlarge_nsys.write_directory(tmp_path / "big_pqtdir", n_kernels * N)
    (twin,) = nsys.read(tmp_path / "big_pqtdir")
    for name in ("kernels", "memcpys", "memsets", "api_calls", "spans"):
        assert export.tables[name].equals(twin.tables[name])
        assert (
            export.tables[name]["duration_ns"].sum() == N * source.tables[name]["duration_ns"].sum()
        )
    kernels = export.tables["kernels"]
    assert kernels["link"].value_counts(sort=True).row(0) == ("launched", n_kernels * N)
    assert kernels["name"].n_unique() > source.tables["kernels"]["name"].n_unique() * 1.2
    assert (
        export.tables["spans"]["step"].n_unique() == source.tables["spans"]["step"].n_unique() * N
    )
