"""Run the whole measurement, and return it as the tables timings and layers.

It runs every method in every configuration, round by round.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import asdict

from tracelens.advisor.measuring.benchmark_target import COMPILED, Subject
from tracelens.advisor.measuring.variants import ExecutionTimes, Protocol, Variant, variants
from tracelens.advisor.plan import load_torch
from tracelens.derive.layers.layer_times import DEVICES
from tracelens.errors import ToolError, UsageError, first_line
from tracelens.progress import Share, log_share
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.combine import combine

KIND = "timings"
METHODS = ("e2e", "layer", "subtraction", "profiler", "cuda_event")
CONFIGURATIONS = (*DEVICES, "custom")
_LOG = logging.getLogger(__name__)


def measure(
    model: Any,
    inputs: Any,
    methods: Sequence[str] = METHODS,
    configurations: Sequence[str] | None = None,
    protocol: Protocol | None = None,
) -> Trace:
    """Time a model's forward pass and its layers by every method, and return a trace.

    - `inputs`: a tensor, a tuple of arguments, or a dict of keyword arguments
    - `configurations`: interpreted (eager) and cpp (compiled) run on the CPU, cuda (eager) and
      triton (compiled) on a GPU. None means all of these that the machine can run. A fifth
      configuration, custom, times the model as it is passed, without its layers.

    The trace has the tables `timings` and `layers` only. All configurations but custom run on
    copies of the model. Gradients are off. The model stays in its mode (eval or train).

    In the compiled configurations, the method decides what is compiled as one region:

    - e2e: the whole model
    - layer, profiler, cuda_event: each layer
    - subtraction: for each n, the first n layers together. Compiling these regions takes long.

    The layer `(compiled region)` has the cost of calling a compiled region. Raises ToolError
    without torch or if compiling fails, and UsageError for a request that cannot be met.
    """
    torch = load_torch("measure")
    protocol = protocol or Protocol()
    protocol.check()
    _check(methods, METHODS, "method")
    rows: list[dict[str, Any]] = []
    diagnostics = Diagnostics()
    layers: pl.DataFrame | None = None
    devices: dict[str, str] = {}
    measured: list[tuple[Subject, list[Variant]]] = []
    with torch.no_grad():
        for configuration in _choose_configurations(torch, configurations):
            for mode in protocol.compile_modes if configuration in COMPILED else (None,):
                _LOG.info("preparing %s%s", configuration, f", mode {mode}" if mode else "")
                subject = Subject.of(torch, model, inputs, configuration, mode)
                layers = subject.layers() if layers is None else layers
                devices[configuration] = subject.device.type
                measured.append((subject, variants(subject, methods, protocol, diagnostics)))
        n_variants = sum(len(each) for _, each in measured)
        turns = _Turns(n_variants * (protocol.warmup_rounds + protocol.rounds))
        # A process that has profiled may stay slower, so methods with the profiler come last.
        for profiled in (False, True):
            for subject, subject_variants in measured:
                chosen = [
                    variant for variant in subject_variants if variant.key["profiled"] is profiled
                ]
                rows += _rounds(subject, chosen, protocol, turns)
    assert layers is not None
    name = type(model).__name__
    capture = Capture(
        kind=KIND,
        source=SourceFile(name, KIND, 0, ""),
        tables={
            "timings": pl.DataFrame(rows, schema=TABLES["timings"].without("rank").schema),
            "layers": layers,
        },
        producer="tracelens.measure",
        versions={"torch": torch.__version__},
        settings={"model": name, "protocol": asdict(protocol), "devices": devices},
        reasons=dict.fromkeys(
            TABLES, "tl.measure takes times only; for events, tracelens collect torch"
        ),
        diagnostics=diagnostics,
    )
    return combine([capture])


def _choose_configurations(torch: Any, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the wanted configurations, or all that this machine can run.

    Raises UsageError for an unknown configuration, or if its GPU is missing.
    """
    has_gpu = torch.cuda.is_available()
    if wanted is None:
        return ("interpreted", "cpp", "cuda", "triton") if has_gpu else ("interpreted", "cpp")
    _check(wanted, CONFIGURATIONS, "configuration")
    without = [name for name in wanted if DEVICES.get(name) == "gpu" and not has_gpu]
    if without:
        raise UsageError(
            f"{', '.join(without)} needs a GPU, and torch finds none here; measure interpreted"
            " and cpp"
        )
    return tuple(dict.fromkeys(wanted))


def _check(wanted: Sequence[str], known: Sequence[str], what: str) -> None:
    strange = [name for name in wanted if name not in known]
    if strange or not wanted or isinstance(wanted, str):
        named = wanted if isinstance(wanted, str) else ", ".join(strange) or "none"
        raise UsageError(f"expected a list of {what}s out of {', '.join(known)}, found {named}")


class _Turns(Struct):
    """The progress of a measurement: each round times every variant once."""

    total: int
    done: int = 0

    def next(self, text: str) -> None:
        """Log that the next timing begins."""
        log_share(_LOG, Share(self.done, self.total), text)
        self.done += 1


def _rounds(
    subject: Subject,
    chosen: Sequence[Variant],
    protocol: Protocol,
    turns: _Turns,
) -> Iterator[dict[str, Any]]:
    """Yield rows of the table timings, round by round."""
    if not chosen:
        return
    n_rounds = protocol.warmup_rounds + protocol.rounds
    for round_number in range(n_rounds):
        # Each round times every variant, so that drift affects all of them equally.
        for variant in chosen:
            turns.next(f"{subject.configuration}, round {round_number + 1} of {n_rounds}")
            common = {
                "configuration": subject.configuration,
                "compile_mode": subject.mode,
                **variant.key,
                "round": round_number,
                "is_warmup": round_number < protocol.warmup_rounds,
            }
            for times in _round(subject, variant, protocol.executions):
                for (path, quantity), duration in times.items():
                    yield common | {
                        "module_path": path,
                        "quantity": quantity,
                        "duration_ns": duration,
                    }


def _round(subject: Subject, variant: Variant, n: int) -> list[ExecutionTimes]:
    """Return the times of a round, one dict per execution.

    Raises ToolError if a compiled configuration fails. Other errors are passed on.
    """
    try:
        return variant.round(n)
    except Exception as error:
        if subject.configuration not in COMPILED:
            raise
        raise ToolError(
            f"the configuration {subject.configuration} (torch.compile, mode {subject.mode}) fails:"
            f" {type(error).__name__}: {first_line(error)}; measure the others, or see whether"
            " torch.compile runs the model at all"
        ) from error
