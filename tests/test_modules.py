"""Which module a span belongs to; backward against Kineto's own forward-backward flows."""

import gzip
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.selection import every, only
from tests.torch_files import CAPTURES, codes, needs_captures, read, rows, span, write
from tracelens.derive.assemble import assemble
from tracelens.derive.events import modules
from tracelens.derive.events.autograd_nodes import NODE
from tracelens.trace.capture import Diagnostics


def module(name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return span(f"nn.Module: {name}", ts, dur, cat="python_function", **more)


def forward(name: str, ts: float, sequence: int, **more: Any) -> dict[str, Any]:
    return span(name, ts, 1, args={"Sequence number": sequence, "Fwd thread id": 0}, **more)


def backward(
    name: str, ts: float, sequence: int, thread: int = 1, dur: float = 1, **more: Any
) -> dict[str, Any]:
    args = {"Sequence number": sequence, "Fwd thread id": thread}
    return span(name, ts, dur, args=args, **{"tid": 99} | more)


def paths(tmp_path: Path, *events: dict[str, Any]) -> dict[str, str | None]:
    """Name → module path of the spans that are no modules."""
    capture = read(write(tmp_path / "t.json", events))
    found = rows(capture, "spans", "name", "module_path")
    return {name: path for name, path in found if not name.startswith("nn.Module")}


def test_the_chain_of_modules_around_a_span(tmp_path: Path) -> None:
    events = (
        module("Net_0", 0, 100),
        span("in net", 1, 1),
        module("Block_0", 10, 40),
        span("torch/nn/modules/module.py(1): _call_impl", 11, 38, cat="python_function"),
        module("Conv2d_0", 20, 10),
        span("aten::conv2d", 21, 8),
        span("aten::convolution", 22, 5),
        module("Conv2d_1", 32, 5),
        span("aten::relu", 33, 1),
        span("outside", 200, 5),
        span("other thread", 21, 1, tid=5),
    )
    assert paths(tmp_path, *events) == {
        "in net": "Net_0",
        "torch/nn/modules/module.py(1): _call_impl": "Net_0.Block_0",
        "aten::conv2d": "Net_0.Block_0.Conv2d_0",
        "aten::convolution": "Net_0.Block_0.Conv2d_0",
        "aten::relu": "Net_0.Block_0.Conv2d_1",
        "outside": None,
        "other thread": None,
    }
    assert rows(read(tmp_path / "t.json"), "layers", "module_path", "class_name", "call_order") == [
        ("Net_0", "Net", 0),
        ("Net_0.Block_0", "Block", 1),
        ("Net_0.Block_0.Conv2d_0", "Conv2d", 2),
        ("Net_0.Block_0.Conv2d_1", "Conv2d", 3),
    ]


@pytest.mark.parametrize("depth", only([17], [1, 2, 5, 17]))
def test_modules_nested_deeply(tmp_path: Path, depth: int) -> None:
    events = [module(f"M_{i}", i, 1000 - 2 * i) for i in range(depth)]
    # Plain Python calls between the modules and the op must not cost a part of the path.
    events += [span(f"py {i}", 50 + i, 800 - 2 * i, cat="python_function") for i in range(9)]
    found = paths(tmp_path, *events, span("op", 100, 1))
    assert found["op"] == ".".join(f"M_{i}" for i in range(depth))


def test_backward_follows_sequence_numbers(tmp_path: Path) -> None:
    events = (
        module("Net_0", 0, 50),
        module("Linear_0", 5, 10),
        forward("aten::addmm", 6, 3),
        module("ReLU_0", 20, 10),
        forward("aten::relu", 21, 4),
        backward("autograd::engine::evaluate_function: ReluBackward0", 60, 4, dur=10),
        backward("ReluBackward0", 61, 4, dur=8),
        span("aten::threshold_backward", 62, 2, tid=99),
        backward("AddmmBackward0", 75, 3, dur=8),
        backward("unknown node", 90, 1000),
    )
    found = paths(tmp_path, *events)
    assert found["ReluBackward0"] == found["aten::threshold_backward"] == "Net_0.ReLU_0"
    assert found["autograd::engine::evaluate_function: ReluBackward0"] == "Net_0.ReLU_0"
    assert found["AddmmBackward0"] == "Net_0.Linear_0"
    assert found["unknown node"] is None


def test_of_ops_with_one_number_the_last_to_start_made_the_node(tmp_path: Path) -> None:
    # Ops that make no node carry the next node's number.
    events = (
        module("A_0", 0, 10),
        forward("aten::detach", 1, 7),
        module("B_0", 20, 10),
        forward("aten::mul", 21, 7),
        backward("MulBackward0", 60, 7),
    )
    assert paths(tmp_path, *events)["MulBackward0"] == "B_0"


def test_a_node_is_not_made_after_it_ran(tmp_path: Path) -> None:
    events = (
        module("A_0", 0, 10),
        forward("aten::mul", 1, 7),
        backward("MulBackward0", 20, 7),
        module("Z_0", 50, 10, tid=5),
        forward("aten::mul", 51, 7, tid=5),
    )
    assert paths(tmp_path, *events)["MulBackward0"] == "A_0"


def test_several_forward_threads(tmp_path: Path) -> None:
    # Threads 10 and 20 number their nodes each for itself; torch calls them 1 and 2.
    events = (
        module("A_0", 0, 50, tid=10),
        *(forward("a", 1 + i, i, tid=10) for i in (1, 2, 3)),
        module("B_0", 0, 50, tid=20),
        *(forward("b", 1 + i, i, tid=20) for i in (3, 4, 5)),
        *(backward(f"first {i}", 60 + i, i, thread=1) for i in (1, 2, 3)),
        *(backward(f"second {i}", 70 + i, i, thread=2) for i in (3, 4, 5)),
    )
    found = paths(tmp_path, *events)
    assert [found[f"first {i}"] for i in (1, 2, 3)] == ["A_0"] * 3
    assert [found[f"second {i}"] for i in (3, 4, 5)] == ["B_0"] * 3


def test_threads_that_cannot_be_told_apart_stay_without_a_module(tmp_path: Path) -> None:
    events = (
        module("A_0", 0, 50, tid=10),
        forward("a", 1, 1, tid=10),
        module("B_0", 0, 50, tid=20),
        forward("b", 1, 1, tid=20),
        backward("either", 60, 1),
    )
    assert paths(tmp_path, *events)["either"] is None
    assert codes(read(tmp_path / "t.json"))["backward_ambiguous"] == 1


def test_processes_do_not_share_numbers() -> None:
    both = []
    for process, name in ((1, "A"), (2, "B")):
        both += [
            (process, 1, "module", f"nn.Module: {name}", 0, 10, None, None),
            (process, 1, "op", "forward", 1, 1, 5, 0),
            (process, 9, "op", f"backward {name}", 20, 1, 5, 1),
        ]
    columns = (
        "process_id",
        "thread_id",
        "kind",
        "name",
        "start_ns",
        "duration_ns",
        "sequence_number",
        "forward_thread_id",
    )
    spans = pl.DataFrame(both, schema=columns, orient="row")
    found = assemble({"spans": spans}, Diagnostics())["spans"]
    by_name = dict(found.select("name", "module_path").iter_rows())
    assert (by_name["backward A"], by_name["backward B"]) == ("A", "B")


def test_a_trace_without_modules(tmp_path: Path) -> None:
    assert paths(tmp_path, forward("a", 1, 1), backward("b", 5, 1)) == {"a": None, "b": None}


@needs_captures
@pytest.mark.parametrize(
    "name",
    every(
        3,
        [
            "bert_train",
            "llama_train",
            "resnet50_train_f32_pinned",
            "ddp_resnet50_2gpu/rank0",
            "ddp_resnet50_2gpu/rank1",
        ],
    ),
)
def test_every_flow_of_the_profiler_agrees(name: str) -> None:
    path = CAPTURES / f"{name}.pt.trace.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    ends: dict[str, dict[int, tuple[int, int]]] = {"s": {}, "f": {}}
    for event in document["traceEvents"]:
        if event.get("cat") == "fwdbwd":
            at = document["baseTimeNanoseconds"] + int(event["ts"] * 1000)
            ends[event["ph"]][event["id"]] = (event["tid"], at)
    spans = read(path).tables["spans"].filter(pl.col("kind") == "op")
    # Every op is its own module here, so that the mapping is tested and not the modules.
    keyed = spans.select(
        *NODE,
        "thread_id",
        "start_ns",
        path=pl.col("span_id").cast(pl.String),
        is_backward=pl.col("forward_thread_id").fill_null(0) > 0,
    )
    made = {
        tuple(key): (path, odd) for *key, path, odd in modules._paths_of_nodes(keyed).iter_rows()
    }
    at_moment = defaultdict(list)
    for row in spans.select("thread_id", "start_ns", "span_id", *NODE).iter_rows(named=True):
        at_moment[row["thread_id"], row["start_ns"]].append(row)
    assert len(ends["s"]) == len(ends["f"]) > 400
    for flow, moment in ends["f"].items():
        makers = {str(row["span_id"]) for row in at_moment[ends["s"][flow]]}
        (node,) = {
            tuple(row[key] for key in NODE)
            for row in at_moment[moment]
            if row["sequence_number"] is not None
        }
        assert made[node][0] in makers
    assert not any(odd for _, odd in made.values())
