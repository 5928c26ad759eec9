"""Find the cheapest choice between eager and compiled execution for each layer."""

from collections.abc import Sequence
from math import inf
from typing import Any

import polars as pl

from tracelens.derive.layers.layer_times import Sides
from tracelens.schemas.device import PRIMITIVES

EAGER, COMPILED = 0, 1
"""The two configurations, as positions in a layer's pair of times."""
Row = dict[str, Any]
TOTAL = "(total)"
_WORDS = ("eager", "compiled")
_MOVES = ("layout", "memory")
"""Primitives that only prepare other work.

Their time is added to the operation that they prepare. For example, an eager convolution and its
layout transform are one operation.
"""


def cheapest_path(times: Sequence[tuple[float, float]], change_cost: float) -> list[int]:
    """Return each layer's configuration, with the least sum of times and costs of changes.

    - `times`: each layer's eager and compiled time, infinite if the layer cannot run so
    - `change_cost`: paid wherever the configuration changes. The caller of the model is eager, so a
      path that begins or ends compiled pays there, too.

    This is dynamic programming over the layers. Without `change_cost`, it is the recurrence of the
    thesis "Evaluating the PyTorch Compiler in the Vision Domain".
    """
    cost = [0.0, inf]
    came_from: list[list[int]] = []
    for layer in times:
        origin = [_cheaper_origin(cost, state, change_cost) for state in (EAGER, COMPILED)]
        cost = [
            cost[origin[state]] + change_cost * (origin[state] != state) + layer[state]
            for state in (EAGER, COMPILED)
        ]
        came_from.append(origin)
    state = _cheaper_origin(cost, EAGER, change_cost)
    path = []
    for origins in reversed(came_from):
        path.append(state)
        state = origins[state]
    return path[::-1]


def _cheaper_origin(cost: Sequence[float], state: int, change_cost: float) -> int:
    """Return the cheapest configuration of the previous layer, if this layer runs in `state`."""
    stay = cost[state]
    change = cost[1 - state] + change_cost
    # Of equally cheap paths, the one with later changes is taken, or eager if changes cost nothing.
    if stay == change and change_cost == 0:
        return EAGER
    return state if stay <= change else 1 - state


def change_costs(path: Sequence[int], change_cost: float) -> list[float]:
    """Return the cost of the change before each layer, 0 without a change.

    A compiled last layer also pays for the change back to the eager caller.
    """
    costs = [
        change_cost * (before != state) for before, state in zip([EAGER, *path], path, strict=False)
    ]
    if costs:
        costs[-1] += change_cost * (path[-1] != EAGER)
    return costs


def best_of_two(layers: Sequence[Row]) -> list[Row]:
    """Return the layers with the faster choice for each, eager in case of a tie."""
    return _walk(
        layers,
        [_faster(layer["base_ns"], layer["other_ns"]) for layer in layers],
        0.0,
    )


def dynamic(layers: Sequence[Row], change_cost: float, region_ns: float) -> list[Row]:
    """Return the layers with the choices that are cheapest in total, changes included.

    Each change between eager and compiled costs `change_cost`. `region_ns` is the cost of calling a
    compiled region. A layer's compiled time contains this cost.
    """
    bare = []
    times = []
    for layer in layers:
        base_ns = layer["base_ns"]
        other_ns = layer["other_ns"]
        if other_ns is not None:
            # change_cost covers the cost of the region.
            other_ns = max(other_ns - region_ns, 0.0)
        bare.append(layer | {"other_ns": other_ns})
        eager = inf if base_ns is None else base_ns
        compiled = inf if other_ns is None else other_ns
        times.append((eager, compiled))
    path = cheapest_path(times, change_cost)
    return _walk(bare, path, change_cost)


def by_operation(
    layers: Sequence[Row],
    operations: dict[Any, tuple[Row, Row]],
) -> list[Row]:
    """Return the layers with the faster choice for each operation of a layer.

    `operations` has each layer's eager and compiled times by operation. A layer gets a single
    choice if its two runs have different operations.
    """
    rows = best_of_two(layers)
    cumulative = 0.0
    for row in rows:
        base, other = operations.get(row["layer"], ({}, {}))
        if base.keys() == other.keys() and len(base) > 1:
            picked = {name: _faster(base[name], other[name]) for name in base}
            row["chosen_ns"] = float(
                sum((base, other)[pick][name] for name, pick in picked.items())
            )
            chosen = set(picked.values())
            row["choice"] = _WORDS[chosen.pop()] if len(chosen) == 1 else "mixed"
        cumulative += row["chosen_ns"]
        row["cumulative_ns"] = cumulative
    return rows


def with_total(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, preceded by a row with their total.

    Speedups count only layers that both runs have, because other layers leave no choice.
    """
    free = [row for row in rows if not row["is_forced"]]
    base, other, chosen = (
        sum(row[name] for row in free) for name in ("base_ns", "other_ns", "chosen_ns")
    )
    switches = sum(row["switch_ns"] for row in rows)
    cost = chosen + switches
    ratio = {
        name: over / cost if cost > 0 and free else None
        for name, over in (("base", base), ("other", other))
    }
    known = [value for value in ratio.values() if value is not None]
    total = {
        "position": None,
        "layer": TOTAL,
        "class_name": None,
        "choice": None,
        "is_forced": False,
        "is_clear": None,
        "base_ns": base,
        "other_ns": other,
        "chosen_ns": chosen,
        "switch_ns": switches,
        "cumulative_ns": rows[-1]["cumulative_ns"] if rows else 0.0,
        "speedup_over_base": ratio["base"],
        "speedup_over_other": ratio["other"],
        "speedup_over_best": min(known, default=None),
    }
    return [total, *rows]


def _walk(
    layers: Sequence[Row],
    path: Sequence[int],
    change_cost: float,
) -> list[Row]:
    rows = []
    cumulative = 0.0
    for layer, state, change in zip(
        layers,
        path,
        change_costs(path, change_cost),
        strict=True,
    ):
        chosen = layer[("base_ns", "other_ns")[state]]
        is_forced = None in (layer["base_ns"], layer["other_ns"])
        cumulative += chosen + change
        choice = {
            "choice": _WORDS[state],
            "is_forced": is_forced,
            "chosen_ns": chosen,
            "switch_ns": change,
        }
        rows.append(layer | choice | {"cumulative_ns": cumulative})
    return rows


def _faster(base: float | None, other: float | None) -> int:
    if base is None:
        return COMPILED
    if other is None:
        return EAGER
    return COMPILED if other < base else EAGER


def operations(kernels: Sides, rank: int) -> dict[Any, tuple[Row, Row]]:
    """Return the GPU time per step by primitive for each layer that both runs have.

    A layer's first dict has the times in the base run, the second the times in the other run.
    `kernels` is from `both_kernel_times`.
    """
    is_of_rank = pl.col("rank") == rank
    base_times, other_times = kernels
    base = _by_primitive(base_times.filter(is_of_rank))
    other = _by_primitive(other_times.filter(is_of_rank))
    # Layout transforms and memory operations are added to the layer's longest other primitive.
    common = [layer for layer in base if layer in other]
    return {layer: (base[layer], other[layer]) for layer in common}


def _by_primitive(times: pl.DataFrame) -> dict[str, Row]:
    columns = {word: f"primitive_{word}_ns" for word in PRIMITIVES}
    sums_by_layer = times.group_by("layer").agg(pl.col([*columns.values()]).sum())
    operations_of = {}
    for row in sums_by_layer.iter_rows(named=True):
        spent = {word: row[column] for word, column in columns.items() if row[column] > 0}
        moved = sum(spent.pop(word, 0.0) for word in _MOVES)
        main = max(
            spent,
            key=lambda word: spent[word],
            default=_MOVES[0],
        )
        spent[main] = spent.get(main, 0.0) + moved
        operations_of[row["layer"]] = spent
    return operations_of
