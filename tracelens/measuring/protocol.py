"""The protocol of measuring: how often, under which conditions, and in which configurations a model is timed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracelens.derive.layers.layer_times import DEVICES
from tracelens.errors import UsageError

METHODS = ("e2e", "layer", "subtraction", "profiler", "cuda_event")
COMPILED = ("cpp", "triton")
CONFIGURATIONS = (*DEVICES, "custom")


@dataclass(frozen=True, slots=True)
class Protocol:
    """Rounds of executions, besides warm-up; by default the thesis's ten rounds of two.

    `warmup_rounds` come first and are kept as warm-up; the first one of a compiled configuration includes compiling.
    `synchronized` and `profiled`: for each of the values, whether the device is waited for around each layer (it always
    is at the end of an execution), and whether the profiler is on. `compile_modes`: torch.compile's modes for cpp and
    triton.
    """

    rounds: int = 10
    executions: int = 2
    warmup_rounds: int = 2
    synchronized: Sequence[bool] = (False, True)
    profiled: Sequence[bool] = (False, True)
    compile_modes: Sequence[str] = ("default",)

    def check(self) -> None:
        """Raise UsageError for values that cannot be measured."""
        if self.rounds < 1 or self.executions < 1 or self.warmup_rounds < 1:
            raise UsageError(
                f"rounds, executions and warmup_rounds are at least 1, found {self.rounds}, {self.executions} and "
                f"{self.warmup_rounds}"
            )
        if not self.synchronized or not self.profiled or not self.compile_modes:
            raise UsageError("synchronized, profiled and compile_modes each need a value")


def chosen_configurations(torch: Any, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The given configurations, or all that this machine can run. Raises UsageError for others."""
    has_gpu = torch.cuda.is_available()
    if wanted is None:
        return ("interpreted", "cpp", "cuda", "triton") if has_gpu else ("interpreted", "cpp")
    _check(wanted, CONFIGURATIONS, "configuration")
    without = [name for name in wanted if DEVICES.get(name) == "gpu" and not has_gpu]
    if without:
        raise UsageError(f"{', '.join(without)} needs a GPU, and torch finds none here; measure interpreted and cpp")
    return tuple(dict.fromkeys(wanted))


def check_methods(wanted: Sequence[str]) -> None:
    """Raise UsageError for an unknown method, and for none."""
    _check(wanted, METHODS, "method")


def _check(wanted: Sequence[str], known: Sequence[str], what: str) -> None:
    strange = [name for name in wanted if name not in known]
    if strange or not wanted or isinstance(wanted, str):
        named = wanted if isinstance(wanted, str) else ", ".join(strange) or "none"
        raise UsageError(f"expected a list of {what}s out of {', '.join(known)}, found {named}")
