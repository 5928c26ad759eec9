"""Tell whether a run was compiled, and whether two runs had different devices."""

from typing import Any

import polars as pl

from tracelens.derive.layers.layer_times import EAGER
from tracelens.trace import Trace

# Inductor's prefixes for pointwise, reduction, persistent reduction, template, foreach, scan and
# other kernels, then torch 2.0's name for all of them. A Triton kernel written by hand does not
# show compilation.
_KERNELS = r"^triton_(poi|red|per|tem|for|spl|unk|[a-z]+_fused|(add)?mm|b(add)?bmm|convolution|flex)|^triton__[0-9]"
_SPANS = (
    r"CompiledFxGraph|^Torch-Compiled Region|^CompiledFunction|^TorchDynamo Cache"
    r" Lookup|^nn\.Module: OptimizedModule_"
    r"|(^|_)cpp_fused_"
)
EVIDENCE = (
    "kernels of Inductor, annotations of torch.compile, compile provenance or timings of a compiled"
    " configuration"
)
"""The evidence for a compiled run, in words."""


def shows_compilation(trace: Trace) -> bool:
    """Return whether the trace shows that the program was compiled.

    Kernels from Inductor, annotations of torch.compile, and compile provenance show this.
    """
    return trace.derived(_shows_compilation)


def _shows_compilation(trace: Trace) -> bool:
    if trace.has("provenance"):
        return True
    return any(
        bool(
            trace.select(table, "name")["name"].unique().cast(pl.String).str.contains(pattern).any()
        )
        for table, pattern in (("kernels", _KERNELS), ("spans", _SPANS))
    )


def compiled_sides(base: Trace, other: Trace, way: dict[str, Any]) -> tuple[bool, bool]:
    """Return whether each of two runs was compiled.

    `way` says how the runs were timed. If its method is "kernels", the traces show whether a run
    was compiled. For any other method, `way` has the configurations of the runs.
    """
    if way["method"] == "kernels":
        return shows_compilation(base), shows_compilation(other)
    base_configuration, other_configuration = (
        way.get(f"{which}_configuration") for which in ("base", "other")
    )
    return base_configuration not in {*EAGER, "unknown", None}, other_configuration not in {
        *EAGER,
        "unknown",
        None,
    }


def other_device(base: Trace, other: Trace) -> str | None:
    """Return a sentence on the devices of two runs; None if the devices are equal or unknown."""
    names = [
        sorted(set(trace.devices.filter(pl.col("name") != "unknown")["name"].drop_nulls()))
        for trace in (base, other)
    ]
    if not all(names) or names[0] == names[1]:
        return None
    base_names, other_names = (", ".join(devices) for devices in names)
    return (
        f"base ran on {base_names}, new on {other_names}: differences between their times"
        " are also due to the devices"
    )
