"""The whole measurement: every method in every configuration, round by round, as the tables timings and layers."""

import copy
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from tracelens.derive.layers.layer_times import DEVICES
from tracelens.errors import ToolError, first_line
from tracelens.measuring.layers import Layers, find_layers
from tracelens.measuring.protocol import COMPILED, METHODS, Protocol, check_methods, chosen_configurations
from tracelens.measuring.variants import Found, Subject, Variant, variants
from tracelens.plan import compile_module, load_torch
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.combine import combine

KIND = "timings"
_LOG = logging.getLogger(__name__)
_SCHEMA = TABLES["timings"].without("rank").schema


def measure(
    model: Any,
    inputs: Any,
    methods: Sequence[str] = METHODS,
    configurations: Sequence[str] | None = None,
    protocol: Protocol | None = None,
) -> Trace:
    """A trace with only `timings` and `layers`: the model's forward pass and its layers, by every method.

    `inputs` is a tensor, a tuple of arguments or a dict of keyword arguments. Configurations are interpreted and cpp
    (on the CPU, eager and compiled), cuda and triton (on a GPU), custom (the model as it is passed, for example after
    apply_plan; end to end only); by default the first two, and the next two where there is a GPU. All but custom run on
    copies. Gradients are off; the model's mode (eval, train) is its own.

    Under torch.compile, e2e is the model compiled as a whole; in layer, profiler and cuda_event every layer is compiled
    as a region of its own; subtraction compiles the first n layers as one region for each n, which takes long. The cost
    of calling a compiled region is in rows of `(compiled region)`. Raises ToolError without torch or where compiling
    fails, UsageError for a request that cannot be met.
    """
    torch = load_torch("measure")
    protocol = protocol or Protocol()
    protocol.check()
    check_methods(methods)
    rows: list[dict[str, Any]] = []
    diagnostics = Diagnostics()
    layers: Layers | None = None
    devices: dict[str, str] = {}
    with torch.no_grad():
        for configuration in chosen_configurations(torch, configurations):
            for mode in protocol.compile_modes if configuration in COMPILED else (None,):
                _LOG.info("measuring %s%s", configuration, f", mode {mode}" if mode else "")
                subject = _subject(torch, model, inputs, (configuration, mode))
                layers = layers or subject.layers
                devices[configuration] = subject.device.type
                rows += _rounds(subject, variants(subject, methods, protocol, diagnostics), protocol)
    assert layers is not None
    frame = pl.DataFrame(rows, schema=_SCHEMA)
    about = {"model": type(model).__name__, "protocol": asdict(protocol), "devices": devices}
    return combine([_capture(torch, {"timings": frame, "layers": layers.frame()}, about, diagnostics)])


def _subject(torch: Any, model: Any, inputs: Any, how: tuple[str, str | None]) -> Subject:
    """The model on its device, as a whole and with its layers one by one in the configuration."""
    configuration, mode = how
    if configuration == "custom":
        device = next((p.device for p in model.parameters()), torch.device("cpu"))
    else:
        device = torch.device("cuda" if DEVICES[configuration] == "gpu" else "cpu")

    def plain() -> Any:
        return copy.deepcopy(model).to(device)

    whole = model if configuration == "custom" else plain()
    arguments, keywords = _arguments(torch, inputs, device)
    layers = find_layers(whole, lambda: whole(*arguments, **keywords))
    by_layer = whole
    options = {} if mode in {None, "default"} else {"mode": mode}
    if configuration in COMPILED:
        by_layer = plain()
        layers = Layers({path: by_layer.get_submodule(path) for path in layers.modules}, layers.calls)
        for path in layers.timed:
            compile_module(layers.modules[path], **options)
        compile_module(whole, **options)
    return Subject(torch, configuration, mode, device, (whole, by_layer), layers, (arguments, keywords), options, plain)


def _arguments(torch: Any, inputs: Any, device: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs as positional and keyword arguments, their tensors on the device."""

    def placed(value: Any) -> Any:
        return value.to(device) if isinstance(value, torch.Tensor) else value

    moved = torch.utils._pytree.tree_map(placed, inputs)  # noqa: SLF001 - torch's own name for nested containers
    if isinstance(moved, dict):
        return (), moved
    return (tuple(moved) if isinstance(moved, (tuple, list)) else (moved,)), {}


def _rounds(subject: Subject, chosen: Sequence[Variant], protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Rows of every round; in each round every variant takes its turn, so that drift affects all of them equally."""
    n_rounds = protocol.warmup_rounds + protocol.rounds
    for at in range(n_rounds):
        _LOG.debug("%s, round %d of %d", subject.configuration, at + 1, n_rounds)
        for variant in chosen:
            common = {
                "configuration": subject.configuration,
                "compile_mode": subject.mode,
                **variant.key,
                "round": at,
                "is_warmup": at < protocol.warmup_rounds,
            }
            for found in _round(subject, variant, protocol.executions):
                for (path, quantity), duration in found.items():
                    yield common | {"module_path": path, "quantity": quantity, "duration_ns": duration}


def _round(subject: Subject, variant: Variant, n: int) -> list[Found]:
    """The times of a round. Raises ToolError where a compiled configuration fails: eager it has run before."""
    try:
        return variant.round(n)
    except Exception as error:
        if subject.configuration not in COMPILED:
            raise
        raise ToolError(
            f"the configuration {subject.configuration} (torch.compile, mode {subject.mode}) fails: "
            f"{type(error).__name__}: {first_line(error)}; "
            "measure the others, or see whether torch.compile runs the model at all"
        ) from error


def _capture(torch: Any, tables: dict[str, pl.DataFrame], settings: dict[str, Any], found: Diagnostics) -> Capture:
    return Capture(
        kind=KIND,
        source=SourceFile(settings["model"], KIND, 0, ""),
        tables=tables,
        producer="tracelens.measure",
        versions={"torch": torch.__version__},
        settings=settings,
        reasons=dict.fromkeys(TABLES, "tl.measure takes times only; for events, tracelens collect torch"),
        diagnostics=found,
    )
