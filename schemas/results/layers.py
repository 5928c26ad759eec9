"""Results of analyses of layers: comparisons, the best configuration, methods of timing."""

import polars as pl

from tracelens.schemas.layers import TIMINGS
from tracelens.schemas.results.common import OUTCOME, PHASE, RANK, REASON, SIDE_WORDS
from tracelens.storage.table import Column, Table

I64, F64, STR = pl.Int64, pl.Float64, pl.String
_TIMED = {column.name: column.values for column in TIMINGS}
CONFIGURATIONS = _TIMED["configuration"]
PAIR_METHODS = ("kernels", *_TIMED["method"])
ORACLES = ("best_of_two", "profile_timed", "dynamic")
CHOICES = ("eager", "compiled", "base", "other", "mixed")

_METHOD = Column(
    "method",
    STR,
    "Source of the times: kernels (GPU time of the layer's kernels, a step), or the method"
    " of `timings` (medians over the executions, if possible of an unprofiled, synchronised"
    " variant that both have).",
    values=PAIR_METHODS,
)
_CLASS = Column("class_name", STR, "Class of the module; null for rows in brackets.", nullable=True)


def _configuration(which: str) -> Column:
    return Column(
        f"{which}_configuration",
        STR,
        f"Configuration of {SIDE_WORDS[which]}, if it was timed; null for kernels.",
        nullable=True,
        values=CONFIGURATIONS,
    )


def _times(which: str) -> tuple[Column, ...]:
    """Return columns for the lowest, estimated and highest time of a layer in the run `which`."""
    return (
        Column(
            f"{which}_low_ns",
            F64,
            f"Least time in {SIDE_WORDS[which]}: by the split of fused kernels that gives the layer"
            " least; for measured times, the lower quartile.",
            nullable=True,
        ),
        Column(
            f"{which}_estimate_ns",
            F64,
            f"Best estimate in {SIDE_WORDS[which]}; null if the layer is absent.",
            nullable=True,
        ),
        Column(
            f"{which}_high_ns",
            F64,
            f"Most time in {SIDE_WORDS[which]}; see {which}_low_ns.",
            nullable=True,
        ),
        Column(
            f"n_{which}",
            I64,
            f"Kernels a step, or executions measured, in {SIDE_WORDS[which]}.",
            nullable=True,
        ),
        Column(
            f"{which}_evidence",
            STR,
            f"Evidence for the time in {SIDE_WORDS[which]}.",
            nullable=True,
        ),
    )


COMPARE_LAYERS = Table(
    "compare_layers",
    "A layer and phase in two runs, matched by module path, by one way of timing; "
    "base is meant to be eager, new compiled. Rows in brackets are time that belongs to no"
    " layer.",
    (
        RANK,
        Column("layer", STR, "Module path, or a row in brackets."),
        _CLASS,
        PHASE,
        _METHOD,
        _configuration("base"),
        _configuration("other"),
        Column(
            "compile_mode",
            STR,
            "torch.compile mode of new, if it was measured.",
            nullable=True,
        ),
        Column(
            "match",
            STR,
            "Whether both have the layer.",
            values=("both", "only_base", "only_other", "unknown"),
        ),
        *_times("base"),
        *_times("other"),
        Column(
            "speedup",
            F64,
            "Estimate in base divided by that in new; above 1, new is faster. Null if"
            " one run marks no steps and the numbers of kernels differ.",
            "1",
            nullable=True,
        ),
        Column(
            "speedup_low",
            F64,
            "The low end of the speedup's range, by the spread of steps (or executions) and any"
            " split of fused kernels. The ranges of all rows hold together in 95 % of cases. Null"
            " if too few were measured.",
            "1",
            nullable=True,
        ),
        Column("speedup_high", F64, "The high end of that range.", "1", nullable=True),
        Column(
            "saved_ns",
            F64,
            "Estimate in base minus that in new; below 0, the layer loses.",
            "ns",
            nullable=True,
        ),
        OUTCOME,
        REASON,
    ),
)

LAYER_ORACLE = Table(
    "layer_oracle",
    "A layer on the path that an oracle takes through the model, choosing base "
    "(eager) or new (compiled) for each; the row (total) sums them.",
    (
        RANK,
        Column(
            "oracle",
            STR,
            "best_of_two: the faster one for each layer; profile_timed: the faster one for each "
            "operation; dynamic: the cheapest path with the cost of changing between the two.",
            values=ORACLES,
        ),
        Column(
            "position",
            I64,
            "Place in the order of first calls, from 0; null for (total).",
            nullable=True,
        ),
        Column("layer", STR, "Module path, or (total)."),
        _CLASS,
        _METHOD,
        Column(
            "choice",
            STR,
            "The oracle's choice: eager or compiled, or, without evidence that base ran eager and"
            " new compiled, base or other (new); mixed: by operation. Null for (total).",
            nullable=True,
            values=CHOICES,
        ),
        Column(
            "is_forced",
            pl.Boolean,
            "Whether only one run has a time for the layer, which leaves no choice.",
        ),
        Column(
            "is_clear",
            pl.Boolean,
            "Whether the ranges of its times in the two runs do not overlap. Null for"
            " (total), and if one run has no range.",
            nullable=True,
        ),
        Column(
            "base_ns",
            F64,
            "Time in base, all phases; (total): of layers that both have.",
            nullable=True,
        ),
        Column(
            "other_ns",
            F64,
            "Time in new, all phases; (total): of layers that both have. In dynamic,"
            " without the cost of calling the layer as a separate compiled region.",
            nullable=True,
        ),
        Column("chosen_ns", F64, "Time of the choice; (total): of layers that both have."),
        Column(
            "switch_ns",
            F64,
            "Cost of changing to this choice; for the last layer also of returning to the caller.",
        ),
        Column(
            "cumulative_ns", F64, "Sum of chosen_ns and switch_ns from the first layer to this one."
        ),
        Column(
            "speedup_over_base",
            F64,
            "For (total): base_ns divided by the sum of chosen_ns and switch_ns, the"
            " theoretical speedup over the eager run.",
            "1",
            nullable=True,
        ),
        Column(
            "speedup_over_other",
            F64,
            "For (total): the theoretical speedup over the compiled run.",
            "1",
            nullable=True,
        ),
        Column(
            "speedup_over_best",
            F64,
            "For (total): the theoretical speedup over the faster of the two runs.",
            "1",
            nullable=True,
        ),
    ),
)

TIMING_METHODS = Table(
    "timing_methods",
    "A way of timing the whole model in one configuration, compared with the pure run, which"
    " measures nothing inside the model.",
    (
        RANK,
        Column(
            "configuration", STR, "Configuration in which the model ran.", values=CONFIGURATIONS
        ),
        Column("compile_mode", STR, "torch.compile mode.", nullable=True),
        Column(
            "variant",
            STR,
            "pure: end to end, with nothing added; sync: waiting for the device around each layer;"
            " timed: timers around each layer; timed-sync: both; events: CUDA events around each"
            " layer; subtraction, profiler: by these methods. Except in pure and subtraction, each"
            " layer of a compiled configuration is a region of its own.",
            values=(
                "pure",
                "sync",
                "timed",
                "timed-sync",
                "events",
                "subtraction",
                "profiler",
                "unknown",
            ),
        ),
        Column(
            "quantity",
            STR,
            "wall: the execution; arr_sum: the sum of the layers' timers; CPU_self, CUDA_self, "
            "CUDA_total: the profiler's sums; cuda_event: between two events.",
            values=(
                "wall",
                "cuda_event",
                "arr_sum",
                "CPU_self",
                "CUDA_self",
                "CUDA_total",
                "unknown",
            ),
        ),
        Column("profiled", pl.Boolean, "Whether a profiler was on."),
        Column("synchronized", pl.Boolean, "Whether each layer waited for the device."),
        Column("n_rounds", I64, "Rounds, without warm-up."),
        Column("n_executions", I64, "Executions in them."),
        Column("median_ns", F64, "Median over the executions."),
        Column("low_ns", F64, "Lower quartile."),
        Column("high_ns", F64, "Upper quartile."),
        Column(
            "cost_ratio",
            F64,
            "median_ns divided by that of the configuration's pure run without a profiler.",
            "1",
            nullable=True,
        ),
        Column(
            "first_ns",
            I64,
            "The first execution of the warm-up, which compiles in a compiled configuration.",
            nullable=True,
        ),
    ),
)
