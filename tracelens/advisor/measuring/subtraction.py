"""Time layers by subtraction: run the first n layers for every n.

The nth layer's time is the run of n layers minus the run of n - 1 layers.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

from tracelens.advisor.measuring.benchmark_target import clocked, is_timed
from tracelens.errors import ToolError


class _Stop(Exception):  # noqa: N818 - it ends a run early and is no error
    """Ends a forward pass early."""


def eager_prefixes(
    modules: Mapping[str, Any],
    calls: Sequence[str],
    run: Callable[[], Any],
    wait: Callable[[], None],
) -> list[Callable[[], int]]:
    """Return runs that end before the first layer call, and after each layer call.

    A run returns its nanoseconds.
    """
    # A forward hook on the layer raises at its nth call. This works for any model.
    stops = [(calls[0], 1, True)]
    seen: Counter[str] = Counter()
    for path in calls:
        seen[path] += 1
        stops.append((path, seen[path], False))
    return [
        partial(_time_until_stop, modules[path], nth, before, run, wait)
        for path, nth, before in stops
    ]


def _time_until_stop(
    module: Any,
    nth: int,
    before: bool,
    run: Callable[[], Any],
    wait: Callable[[], None],
) -> int:
    """Return the nanoseconds of a run that ends before or after the nth call of the module."""
    left = nth

    def stop(*_: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise _Stop

    def shortened() -> None:
        with suppress(_Stop):
            run()

    handle = (module.register_forward_pre_hook if before else module.register_forward_hook)(stop)
    try:
        return clocked(shortened, wait)
    finally:
        handle.remove()


def compiled_prefixes(
    torch: Any,
    model: Any,
    compile_region: Callable[[Any], None],
) -> tuple[list[Any], list[str]]:
    """Return modules that compute only the first n layers, and the path of each nth layer.

    Each module is compiled as one region. Raises ToolError if torch.fx cannot trace the model.
    """

    class Tracer(torch.fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:  # noqa: ARG002 - torch's signature
            return is_timed(m)

    try:
        fx_graph = Tracer().trace(model)
    except Exception as error:
        # Tracing runs the model's code with stand-ins for tensors, which may raise anything.
        raise ToolError(
            f"{type(model).__name__} cannot be traced by torch.fx ({type(error).__name__}), which"
            " layer subtraction needs under torch.compile; measure it with the methods layer or"
            " profiler"
        ) from error
    nodes = list(fx_graph.nodes)
    cuts = [index for index, node in enumerate(nodes) if node.op == "call_module"]
    # All values that the rest of the model needs are outputs, so nothing is optimised away.
    prefixes = []
    for cut in [cuts[0] - 1, *cuts] if cuts else []:
        prefix = torch.fx.GraphModule(model, _prefix_graph(torch, nodes, cut))
        compile_region(prefix)
        prefixes.append(prefix)
    return prefixes, [str(nodes[cut].target) for cut in cuts]


def _prefix_graph(torch: Any, nodes: Sequence[Any], cut: int) -> Any:
    """Return the graph up to and including the node at position `cut`.

    The outputs of this graph are all values that later nodes need.
    """
    fx_graph = torch.fx.Graph()
    new: dict[Any, Any] = {}
    places = {node: index for index, node in enumerate(nodes)}
    for node in nodes:
        if places[node] <= cut or node.op == "placeholder":
            new[node] = fx_graph.node_copy(node, lambda n: new[n])
    fx_graph.output(
        tuple(
            new[n]
            for n in new
            if n.op != "placeholder" and any(places[user] > cut for user in n.users)
        )
    )
    return fx_graph


def differences(paths: Sequence[str], cumulative: Sequence[int]) -> dict[str, int]:
    """Return each layer's nanoseconds, summed over its calls. They may be below 0.

    `cumulative` has the times of runs that end before the first call and after each call.
    """
    totals: Counter[str] = Counter()
    for path, (before, after) in zip(paths, pairwise(cumulative), strict=True):
        totals[path] += after - before
    return dict(totals)
