"""The cheapest way through a sequence of layers that can each run in one of two configurations."""

from __future__ import annotations

from collections.abc import Sequence

EAGER, COMPILED = 0, 1
"""The two configurations, as positions in a layer's times; the model's caller is in the first."""


def cheapest_path(times: Sequence[tuple[float, float]], change_cost: float) -> list[int]:
    """The configuration of each layer for which times and changes sum to the least, by dynamic programming.

    `times` has each layer's time in either configuration, infinite where it cannot run in one; `change_cost` is paid
    wherever the configuration changes, and by a path that begins or ends compiled: what calls the model is eager. Of
    equal paths the one that stays longer in its configuration is taken; where changes cost nothing, a layer that is
    equally fast in both is eager. With a cost of 0 this is the recurrence of the thesis "Evaluating the PyTorch
    Compiler in the Vision Domain": the faster one, layer by layer.
    """
    cost = [0.0, float("inf")]
    came_from: list[tuple[int, int]] = []
    for layer in times:
        origin = tuple(_cheaper_origin(cost, at, change_cost) for at in (EAGER, COMPILED))
        cost = [cost[origin[at]] + change_cost * (origin[at] != at) + layer[at] for at in (EAGER, COMPILED)]
        came_from.append((origin[EAGER], origin[COMPILED]))
    at = _cheaper_origin(cost, EAGER, change_cost)
    path = []
    for origins in reversed(came_from):
        path.append(at)
        at = origins[at]
    return path[::-1]


def _cheaper_origin(cost: Sequence[float], at: int, change_cost: float) -> int:
    """The configuration to come from at least cost; at equal cost the same one, or eager where changes cost nothing."""
    stay, change = cost[at], cost[1 - at] + change_cost
    if stay == change and change_cost == 0:
        return EAGER
    return at if stay <= change else 1 - at


def change_costs(path: Sequence[int], change_cost: float) -> list[float]:
    """The cost of the change before each layer; the last one also pays for leaving a compiled region."""
    costs = [change_cost * (before != at) for before, at in zip([EAGER, *path], path, strict=False)]
    if costs:
        costs[-1] += change_cost * (path[-1] != EAGER)
    return costs
