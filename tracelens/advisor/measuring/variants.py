"""Time a model in several ways, called variants.

A protocol says how often a variant executes the model. Each variant returns the times of each
execution.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product
from typing import Any

from msgspec import Struct

from tracelens.advisor.measuring.benchmark_target import COMPILED, Subject, around, clocked
from tracelens.advisor.measuring.subtraction import compiled_prefixes, differences, eager_prefixes
from tracelens.derive.layers.layer_times import REGION
from tracelens.errors import ToolError, UsageError
from tracelens.trace.capture import Diagnostics

_CALLS = 50
_RANGE, _EXECUTION = "tracelens layer: ", "tracelens execution"
_QUANTITIES = ("CPU_self", "CUDA_self", "CUDA_total")
ExecutionTimes = dict[tuple[str | None, str | None], int]
"""Nanoseconds of one execution by layer and quantity.

The layer None is the whole model, and the quantity None is a plain duration.
"""
Execute = Callable[[Subject, bool, int], Iterator[ExecutionTimes]]


class Protocol(Struct, frozen=True):
    """The number of runs of the model, and the settings under which the runs are timed.

    The methods e2e and layer are timed in each combination of `synchronized` and `profiled`.
    """

    rounds: int = 10
    # Executions of the model per round
    executions: int = 2
    # They come first and are kept, marked as warm-up. The first one includes compiling.
    warmup_rounds: int = 2
    # True waits for the device around each layer, False only at the end of a run.
    synchronized: Sequence[bool] = (False, True)
    # True runs under the profiler.
    profiled: Sequence[bool] = (False, True)
    # Modes of torch.compile for cpp and triton
    compile_modes: Sequence[str] = ("default",)

    def check(self) -> None:
        """Raise UsageError if a number is below 1, or a list is empty."""
        if self.rounds < 1 or self.executions < 1 or self.warmup_rounds < 1:
            raise UsageError(
                f"rounds, executions and warmup_rounds are at least 1, found {self.rounds},"
                f" {self.executions} and {self.warmup_rounds}"
            )
        if not self.synchronized or not self.profiled or not self.compile_modes:
            raise UsageError("synchronized, profiled and compile_modes each need a value")


class Variant(Struct, frozen=True):
    """One way of timing: `round(n)` executes the model n times."""

    # Columns of `timings` with values that differ between variants
    key: dict[str, Any]
    round: Callable[[int], list[ExecutionTimes]]


def variants(
    subject: Subject,
    methods: Sequence[str],
    protocol: Protocol,
    diagnostics: Diagnostics,
) -> list[Variant]:
    """Return the variants of each method that can time the subject's configuration.

    Methods that cannot time the configuration are named in `diagnostics`.
    """
    chosen_variants: list[Variant] = []

    def add(
        method: str,
        one_round: Callable[[int], list[ExecutionTimes]],
        *,
        clock: str = "wall",
        **condition: bool,
    ) -> None:
        key = {
            "method": method,
            "synchronized": False,
            "profiled": False,
            **condition,
            "clock": clock,
        }
        chosen_variants.append(Variant(key, one_round))

    is_custom = subject.configuration == "custom"
    for method, execute in (("e2e", _plain), ("layer", _timed)):
        for profiled, synchronized in product(protocol.profiled, protocol.synchronized):
            if method in methods and not (is_custom and (synchronized or method == "layer")):
                one_round = partial(_round, subject, execute, synchronized, profiled)
                add(method, one_round, synchronized=synchronized, profiled=profiled)
    if is_custom:
        if set(methods) - {"e2e"}:
            text = (
                "a custom configuration is timed end to end only: hooks in its compiled regions"
                " would change them"
            )
            diagnostics.add("info", "custom_end_to_end", text)
        return chosen_variants
    if subject.configuration in COMPILED:
        add("layer", _region_cost(subject))
    if "subtraction" in methods and subject.calls:
        try:
            add("subtraction", _subtraction(subject), synchronized=True)
        except ToolError as error:
            diagnostics.add("warning", "subtraction_left_out", str(error))
    if "profiler" in methods:
        add("profiler", partial(_profiled_sums, subject), profiled=True)
    if "cuda_event" in methods and subject.device.type == "cuda":
        add("cuda_event", partial(_events, subject), clock="cuda_event")
    elif "cuda_event" in methods:
        text = (
            "CUDA events time a GPU; configurations on the CPU have no rows of the method"
            " cuda_event"
        )
        diagnostics.add("info", "no_cuda_events", text)
    return chosen_variants


def _round(
    subject: Subject,
    execute: Execute,
    synchronized: bool,
    profiled: bool,
    n: int,
) -> list[ExecutionTimes]:
    with _profiler(subject.torch) if profiled else nullcontext():
        return list(execute(subject, synchronized, n))


def _profiler(torch: Any) -> AbstractContextManager[Any]:
    """Return the profiler without shapes, stacks or memory."""
    # Kineto 2.13 prints `USDT:… profiler_start` otherwise. A level that the user has set stays.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    profiler: AbstractContextManager[Any] = torch.profiler.profile(activities=activities)
    return profiler


def _plain(subject: Subject, synchronized: bool, n: int) -> Iterator[ExecutionTimes]:
    """Yield the time of the whole model, once per execution.

    With `synchronized`, wait for the device around each layer.
    """
    waits: AbstractContextManager[None] = nullcontext()
    if synchronized:
        waits = around(
            subject.timed,
            lambda _: subject.wait(),
            lambda _: subject.wait(),
        )
    with waits:
        for _ in range(n):
            yield {(None, None): clocked(partial(subject.run, by_layer=synchronized), subject.wait)}


def _timed(subject: Subject, synchronized: bool, n: int) -> Iterator[ExecutionTimes]:
    """Yield wall-clock times of each layer, their sum, and the time of the whole model."""
    starts: dict[str, int] = {}
    durations: Counter[str] = Counter()

    def begin(path: str) -> None:
        if synchronized:
            subject.wait()
        starts[path] = time.perf_counter_ns()

    def end(path: str) -> None:
        if synchronized:
            subject.wait()
        durations[path] += time.perf_counter_ns() - starts[path]

    with around(subject.timed, begin, end):
        for _ in range(n):
            durations.clear()
            yield _with_sum(
                clocked(partial(subject.run, by_layer=True), subject.wait),
                durations,
            )


class EventTimers:
    """Measures nanoseconds between two CUDA events around each layer.

    The device records an event when the work before it is done.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._events: dict[str, list[Any]] = defaultdict(list)

    def record(self, path: str) -> None:
        """Record an event.

        This is called before and after each forward pass of a layer.
        """
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        self._events[path].append(event)

    def read(self) -> dict[str, int]:
        """Wait for the device, and return each layer's nanoseconds since the last reading."""
        self._torch.cuda.synchronize()
        times = {
            path: round(
                sum(a.elapsed_time(b) for a, b in zip(events[::2], events[1::2], strict=True)) * 1e6
            )
            for path, events in self._events.items()
        }
        self._events.clear()
        return times


def _events(subject: Subject, n: int) -> list[ExecutionTimes]:
    """Time the whole model and each layer between CUDA events."""
    timers, executions = EventTimers(subject.torch), []
    with around(subject.timed, timers.record, timers.record):
        for _ in range(n):
            subject.wait()
            timers.record("")
            subject.run(by_layer=True)
            timers.record("")
            durations = timers.read()
            executions.append(_with_sum(durations.pop(""), durations))
    return executions


def _with_sum(total: int, durations: Mapping[str, int]) -> ExecutionTimes:
    each: ExecutionTimes = {(path, None): duration for path, duration in durations.items()}
    return {
        (None, None): total,
        (None, "arr_sum"): sum(durations.values()),
    } | each


def _profiled_sums(subject: Subject, n: int) -> list[ExecutionTimes]:
    """Return the profiler's times of the whole model and of each layer."""
    mark, entered = subject.torch.profiler.record_function, dict[str, Any]()

    def begin(path: str) -> None:
        entered[path] = mark(_RANGE + path)
        entered[path].__enter__()

    with (
        _profiler(subject.torch) as profile,
        around(
            subject.timed,
            begin,
            lambda path: entered.pop(path).__exit__(None, None, None),
        ),
    ):
        for _ in range(n):
            with mark(_EXECUTION):
                subject.run(by_layer=True)
                subject.wait()
    quantities = _QUANTITIES if subject.device.type == "cuda" else _QUANTITIES[:1]
    return [
        {
            (path, quantity): sums[quantity]
            for path, sums in execution.items()
            for quantity in quantities
        }
        for execution in sums_of_executions(profile.events())
    ]


def sums_of_executions(events: Iterable[Any]) -> list[dict[str | None, dict[str, int]]]:
    """Return nanoseconds by layer and quantity, for each execution in a profile.

    The layer None is the whole model. CPU_self and CUDA_self sum the self times of ops and
    annotations. CUDA_total sums the outermost ops and annotations.
    """
    executions = sorted(
        (e for e in events if e.name == _EXECUTION),
        key=lambda e: e.time_range.start,
    )
    sums_by_execution = []
    for execution in executions:
        sums: dict[str | None, dict[str, float]] = defaultdict(
            lambda: dict.fromkeys(_QUANTITIES, 0.0)
        )
        # The layer's own range is left out, so each moment counts once.
        for event, path, is_outermost in _below(execution, None, True):
            for summed_path in {None, path}:
                sums[summed_path]["CPU_self"] += event.self_cpu_time_total
                sums[summed_path]["CUDA_self"] += event.self_device_time_total
                sums[summed_path]["CUDA_total"] += event.device_time_total if is_outermost else 0
        sums_by_execution.append(
            {
                path: {name: round(v * 1000) for name, v in layer_sums.items()}
                for path, layer_sums in sums.items()
            }
        )
    return sums_by_execution


def _below(
    event: Any, path: str | None, is_outermost: bool
) -> Iterator[tuple[Any, str | None, bool]]:
    """Yield the events nested in an event, without the ranges that the measurement adds.

    Each event comes with its layer's path, and with True if it is outermost.
    """
    for child in event.cpu_children:
        if child.name.startswith(_RANGE):
            yield from _below(child, child.name.removeprefix(_RANGE), is_outermost)
        else:
            yield child, path, is_outermost
            yield from _below(child, path, False)


def _subtraction(subject: Subject) -> Callable[[int], list[ExecutionTimes]]:
    """Return a function that times the layers by runs of the first n layers, for every n.

    Raises ToolError if torch.fx cannot trace the model for torch.compile.
    """
    calls: Sequence[str] = subject.calls
    prefixes: Sequence[Callable[[], int]]
    if subject.configuration in COMPILED:
        cut, calls = compiled_prefixes(subject.torch, subject.plain(), subject.compile)
        arguments, keywords = subject.inputs
        prefixes = [
            partial(
                clocked,
                partial(prefix, *arguments, **keywords),
                subject.wait,
            )
            for prefix in cut
        ]
    else:
        prefixes = eager_prefixes(subject.modules, calls, subject.run, subject.wait)

    def one_round(n: int) -> list[ExecutionTimes]:
        executions = []
        for _ in range(n):
            cumulative = [prefix() for prefix in prefixes]
            each: ExecutionTimes = {
                (path, None): ns for path, ns in differences(calls, cumulative).items()
            }
            executions.append({(None, "arr_sum"): cumulative[-1] - cumulative[0]} | each)
        return executions

    return one_round


def _region_cost(subject: Subject) -> Callable[[int], list[ExecutionTimes]]:
    """Return a function that measures the cost of calling a compiled region."""
    # The cost is the time of a tiny compiled layer minus the time of the eager layer.
    x = subject.torch.zeros(16, device=subject.device)
    eager, compiled = subject.torch.nn.ReLU(), subject.torch.nn.ReLU()
    subject.compile(compiled)

    def one_call(layer: Any) -> float:
        subject.wait()
        start = time.perf_counter_ns()
        for _ in range(_CALLS):
            layer(x)
        return (time.perf_counter_ns() - start) / _CALLS

    def one_round(n: int) -> list[ExecutionTimes]:
        return [{(REGION, None): round(one_call(compiled) - one_call(eager))} for _ in range(n)]

    return one_round
