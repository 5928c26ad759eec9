"""Subtract layers: run the first n layers for every n. The nth layer's time is what it adds.

This is the thesis's section 4.2.3. Layers are those in the thesis's figures: children of the model,
with a plain Sequential replaced by its children. Each prefix of the model runs in three
configurations: eager, compiled as one region, and custom. In custom, the layers that were faster
compiled are compiled, each as a region.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl
import torch
from models import batch, model
from protocol import EXECUTIONS, ROUNDS, WARMUP_ROUNDS, compiled
from stage import Stage

from tracelens.advisor.plan import compile_module


def study_subtraction(stage: Stage, options: argparse.Namespace) -> None:
    """Write MODEL_subtraction.parquet of one model: ms of every prefix in three configurations."""
    name = stage.name.removeprefix("subtraction_")
    network = model(name).to(options.device)
    x = batch(options.batch, options.side, options.device)
    layers = list(layers_of(network))
    with torch.no_grad():
        eager = prefixes(network, layers)
        began = time.perf_counter()
        fast = []
        for prefix in prefixes(network, layers):
            run, _ = compiled(prefix, "default", x)
            fast.append(run)
        stage.found |= {
            "model": name,
            "layers": layers,
            "prefixes_compile_s": time.perf_counter() - began,
        }
        stage.ready("compiled")
        with stage.alone():
            frame = measured({"eager": eager, "compiled": fast}, layers, x)
        stage.found["custom"] = faster_compiled(frame)
        frame = frame.with_columns(turn=0)
        file = options.out / f"{name}_subtraction.parquet"
        frame.write_parquet(file, compression_level=19)
        stage.ready("timed")
        custom = stage.attempt(
            "custom", lambda: customised(network, layers, stage.found["custom"], x)
        )
        stage.ready("planned")
        with stage.alone():
            if custom is not None:
                # Measure the other two again, because the machine's speed may have changed.
                again = {"eager": eager, "compiled": fast, "custom": custom}
                later = measured(again, layers, x).with_columns(turn=1)
                frame = pl.concat([frame, later])
            frame.write_parquet(file, compression_level=19)
    stage.save()
    stage.ready("measured")


def layers_of(network: Any, above: str = "") -> Iterator[str]:
    """List the paths of the model's children in order.

    A plain Sequential is replaced by its children.
    """
    for name, child in network.named_children():
        path = f"{above}{name}"
        if type(child) is torch.nn.Sequential:
            yield from layers_of(child, f"{path}.")
        else:
            yield path


def prefixes(network: Any, layers: Sequence[str]) -> list[Any]:
    """Return modules that run the first n layers and return what the rest needs; the last runs all.

    Work between two layers, such as flattening, belongs to the later layer. Raises ValueError
    unless each layer is called once, in order: then a difference is no layer's time.
    """

    class Tracer(torch.fx.Tracer):
        def is_leaf_module(self, _: torch.nn.Module, module_qualified_name: str) -> bool:
            return module_qualified_name in layers

    nodes = list(Tracer().trace(network).nodes)
    calls = [node for node in nodes if node.op == "call_module"]
    targets = [node.target for node in calls]
    if targets != list(layers):
        raise ValueError(f"expected calls of {layers}, found {targets}")
    ends = [nodes.index(call) for call in calls]
    ends[-1] = len(nodes) - 2
    return [torch.fx.GraphModule(network, _up_to(nodes, end)) for end in ends]


def _up_to(nodes: Sequence[Any], end: int) -> Any:
    """Return the graph up to and with the node at `end`; it returns what later nodes need."""
    graph = torch.fx.Graph()
    copies: dict[Any, Any] = {}
    for node in nodes[: end + 1]:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    later = set(nodes[end + 1 :])
    needed = [copied for node, copied in copies.items() if later.intersection(node.users)]
    graph.output(tuple(needed))
    return graph


def measured(runs: Mapping[str, Sequence[Any]], layers: Sequence[str], x: Any) -> pl.DataFrame:
    """Time each configuration, layer and execution in ns, one row each, by the wall clock.

    An execution starts on an idle device and lasts until the device is idle again.
    """
    wait = torch.cuda.synchronize if x.is_cuda else (lambda: None)
    rows = []
    for number in range(WARMUP_ROUNDS + ROUNDS):
        # Every round has every prefix of every configuration, so that drift affects all alike.
        for configuration, of in runs.items():
            for execution in range(EXECUTIONS):
                for order, (layer, run) in enumerate(zip(layers, of, strict=True)):
                    wait()
                    began = time.perf_counter_ns()
                    run(x)
                    wait()
                    duration = time.perf_counter_ns() - began
                    if number >= WARMUP_ROUNDS:
                        key = (configuration, order, layer, number - WARMUP_ROUNDS)
                        rows.append((*key, execution, duration))
    columns = ["configuration", "layer_order", "layer", "round", "execution", "until_ns"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def faster_compiled(frame: pl.DataFrame) -> list[str]:
    """Return the layers that are faster compiled, by the median over all subtracted executions."""
    by: dict[str, dict[str, float]] = {}
    for (configuration,), part in frame.group_by("configuration"):
        untils = (
            part.group_by("layer", "layer_order")
            .agg(pl.col("until_ns").median())
            .sort("layer_order")
        )
        times = [0.0, *untils["until_ns"]]
        by[str(configuration)] = {
            layer: after - before
            for layer, (before, after) in zip(untils["layer"], pairwise(times), strict=True)
        }
    return [layer for layer, ns in by["eager"].items() if by["compiled"][layer] < ns]


def customised(network: Any, layers: Sequence[str], chosen: Sequence[str], x: Any) -> list[Any]:
    """Return the prefixes of a model's copy. The chosen layers are compiled, each as a region.

    Each prefix has run once.
    """
    copied = copy.deepcopy(network)
    for layer in chosen:
        compile_module(copied.get_submodule(layer))
    copied_prefixes = prefixes(copied, layers)
    for prefix in copied_prefixes:
        prefix(x)
    return copied_prefixes
