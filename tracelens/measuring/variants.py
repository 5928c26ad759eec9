"""Ways of timing a model: each has a context around its executions, and returns their times."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from tracelens.derive.layers.layer_times import REGION
from tracelens.errors import ToolError
from tracelens.measuring.layers import Layers
from tracelens.measuring.profiles import QUANTITIES, profiler, sums_of_executions
from tracelens.measuring.protocol import COMPILED, Protocol
from tracelens.measuring.subtraction import compiled_prefixes, differences, eager_prefixes
from tracelens.measuring.timers import EXECUTION, EventTimers, Ranges, WallTimers, around, clocked
from tracelens.plan import compile_module
from tracelens.trace.capture import Diagnostics

_CALLS = 50
Found = dict[tuple[str | None, str | None], int]
"""Nanoseconds of one execution by layer (null: the whole model) and quantity (null: a plain duration)."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model in one configuration.

    `models` are the model compiled as a whole, and with its layers compiled one by one; the same if eager. `layers` are
    those of the second; `plain` makes an eager copy on the device.
    """

    torch: Any
    configuration: str
    mode: str | None
    device: Any
    models: tuple[Any, Any]
    layers: Layers
    inputs: tuple[tuple[Any, ...], dict[str, Any]]
    options: Mapping[str, Any]
    plain: Callable[[], Any]

    @property
    def timed(self) -> dict[str, Any]:
        """The layers that are timed, by path."""
        return {path: self.layers.modules[path] for path in self.layers.timed}

    def run(self, *, by_layer: bool = False) -> None:
        """One forward pass."""
        if self.mode is not None and self.device.type == "cuda":
            self.torch.compiler.cudagraph_mark_step_begin()
        arguments, keywords = self.inputs
        self.models[by_layer](*arguments, **keywords)

    def wait(self) -> None:
        """Wait for the device, if it is not the CPU."""
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()


@dataclass(frozen=True, slots=True)
class Variant:
    """`round(n)` executes n times; `key` has the columns of `timings` in which variants differ."""

    key: dict[str, Any]
    round: Callable[[int], list[Found]]


def variants(subject: Subject, methods: Sequence[str], protocol: Protocol, diagnostics: Diagnostics) -> list[Variant]:
    """The variants of the methods that the configuration allows; diagnostics say what is left out."""
    found: list[Variant] = []
    conditions = [(s, p) for p in protocol.profiled for s in protocol.synchronized]
    is_custom = subject.configuration == "custom"
    if "e2e" in methods:
        found += [_variant(subject, "e2e", c, _plain) for c in conditions if not (is_custom and c[0])]
    if is_custom:
        if set(methods) - {"e2e"}:
            text = "a custom configuration is timed end to end only: hooks in its compiled regions would change them"
            diagnostics.add("info", "custom_end_to_end", text)
        return found
    if "layer" in methods:
        found += [_variant(subject, "layer", condition, _timed) for condition in conditions]
    if subject.configuration in COMPILED:
        found.append(Variant(_key("layer", (False, False)), _region_cost(subject)))
    if "subtraction" in methods:
        found += _subtraction(subject, diagnostics)
    if "profiler" in methods:
        found.append(Variant(_key("profiler", (False, True)), lambda n: _profiled_sums(subject, n)))
    if "cuda_event" in methods and subject.device.type == "cuda":
        found.append(Variant(_key("cuda_event", (False, False), "cuda_event"), lambda n: _events(subject, n)))
    elif "cuda_event" in methods:
        text = "CUDA events time a GPU; configurations on the CPU have no rows of the method cuda_event"
        diagnostics.add("info", "no_cuda_events", text)
    return found


def _key(method: str, condition: tuple[bool, bool], clock: str = "wall") -> dict[str, Any]:
    synchronized, profiled = condition
    return {"method": method, "synchronized": synchronized, "profiled": profiled, "clock": clock}


def _variant(
    subject: Subject,
    method: str,
    condition: tuple[bool, bool],
    execute: Callable[[Subject, bool, int], Iterator[Found]],
) -> Variant:
    synchronized, profiled = condition

    def one_round(n: int) -> list[Found]:
        context: AbstractContextManager[Any] = profiler(subject.torch) if profiled else nullcontext()
        with context:
            return list(execute(subject, synchronized, n))

    return Variant(_key(method, condition), one_round)


def _plain(subject: Subject, synchronized: bool, n: int) -> Iterator[Found]:
    """The whole model, undisturbed or waiting for the device around each layer."""
    waits: AbstractContextManager[None] = nullcontext()
    if synchronized:
        waits = around(subject.timed, lambda _: subject.wait(), lambda _: subject.wait())
    with waits:
        for _ in range(n):
            yield {(None, None): clocked(partial(subject.run, by_layer=synchronized), subject.wait)}


def _timed(subject: Subject, synchronized: bool, n: int) -> Iterator[Found]:
    """The whole model with timers around each layer, and their times; arr_sum is their sum."""
    timers = WallTimers(subject.wait if synchronized else lambda: None)
    with around(subject.timed, timers.begin, timers.end):
        for _ in range(n):
            total = clocked(partial(subject.run, by_layer=True), subject.wait)
            yield _with_sum(total, timers.read())


def _events(subject: Subject, n: int) -> list[Found]:
    """The whole model and each layer between CUDA events."""
    timers, found = EventTimers(subject.torch), []
    with around(subject.timed, timers.record, timers.record):
        for _ in range(n):
            subject.wait()
            timers.record("")
            subject.run(by_layer=True)
            timers.record("")
            durations = timers.read()
            found.append(_with_sum(durations.pop(""), durations))
    return found


def _with_sum(total: int, durations: Mapping[str, int]) -> Found:
    each: Found = {(path, None): duration for path, duration in durations.items()}
    return {(None, None): total, (None, "arr_sum"): sum(durations.values())} | each


def _profiled_sums(subject: Subject, n: int) -> list[Found]:
    """The profiler's times of the whole model and each layer."""
    ranges = Ranges(subject.torch)
    with profiler(subject.torch) as profile, around(subject.timed, ranges.begin, ranges.end):
        for _ in range(n):
            with subject.torch.profiler.record_function(EXECUTION):
                subject.run(by_layer=True)
                subject.wait()
    quantities = QUANTITIES if subject.device.type == "cuda" else QUANTITIES[:1]
    return [
        {(path, quantity): sums[quantity] for path, sums in execution.items() for quantity in quantities}
        for execution in sums_of_executions(profile.events())
    ]


def _subtraction(subject: Subject, diagnostics: Diagnostics) -> list[Variant]:
    """Runs of the first n layers, by hooks if eager and by cut graphs if compiled."""
    calls: Sequence[str] = subject.layers.calls
    if not calls:
        return []
    if subject.configuration in COMPILED:
        try:
            run, calls = _cut_runs(subject)
        except ToolError as error:
            diagnostics.add("warning", "subtraction_left_out", str(error))
            return []
        prefixes: list[Callable[[], int]] = [partial(clocked, one, subject.wait) for one in run]
    else:
        prefixes = eager_prefixes(subject.layers, subject.run, subject.wait)

    def one_round(n: int) -> list[Found]:
        found = []
        for _ in range(n):
            cumulative = [prefix() for prefix in prefixes]
            each: Found = {(path, None): ns for path, ns in differences(calls, cumulative).items()}
            found.append({(None, "arr_sum"): cumulative[-1] - cumulative[0]} | each)
        return found

    return [Variant(_key("subtraction", (True, False)), one_round)]


def _cut_runs(subject: Subject) -> tuple[list[Callable[[], Any]], list[str]]:
    arguments, keywords = subject.inputs
    prefixes, paths = compiled_prefixes(
        subject.torch, subject.plain(), lambda module: compile_module(module, **subject.options)
    )
    return [partial(prefix, *arguments, **keywords) for prefix in prefixes], paths


def _region_cost(subject: Subject) -> Callable[[int], list[Found]]:
    """The cost of calling a compiled region beyond its work: a tiny layer compiled, less the same one eager."""
    torch = subject.torch
    x = torch.zeros(16, device=subject.device)
    eager, compiled = torch.nn.ReLU(), torch.nn.ReLU()
    compile_module(compiled, **subject.options)

    def one_call(layer: Any) -> float:
        subject.wait()
        start = time.perf_counter_ns()
        for _ in range(_CALLS):
            layer(x)
        return (time.perf_counter_ns() - start) / _CALLS

    def one_round(n: int) -> list[Found]:
        return [{(REGION, None): round(one_call(compiled) - one_call(eager))} for _ in range(n)]

    return one_round
