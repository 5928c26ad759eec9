"""Results on how time is used: parts of a step, causes of idle time, and what limits a rank."""

import polars as pl

from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.common import RANK, STEP
from tracelens.storage.table import Column, Table

IDLE = {
    "input": "the launching thread loads data, or waits for a loader's workers.",
    "allocation": "the launching thread allocates or releases memory through the driver.",
    "sync": "the launching thread waits for the device, or launches again after such a wait.",
    "loading": "the launching thread loads modules, libraries or kernels, or compiles.",
    "launch": (
        "the launching thread is in launch calls or the framework's ops. Without a device: the main"
        " thread is in small ops, whose call takes longer than their work, or in pauses of under"
        " 0.1 ms between ops (0.4 ms if Python calls were recorded)."
    ),
    "host": "the launching thread does something else: Python, writing files, sleeping.",
    "dependency": (
        "the next work was launched already, but waits for another stream, copy or device."
    ),
    "unknown": "the thread that launched the next work is not known.",
    "communication": "the host communicates with other processes, as by gloo or mpi.",
}
"""Meanings of the causes of idle time."""

IDLE_PARTS = tuple(cause for cause in CAUSES if cause != "communication")
PARTS = ("compute", "communication", "waiting", "copy", *IDLE_PARTS)
"""Parts that add up to a rank's time.

- `communication`: the device communicates without computing, or the host communicates while the
  device is idle.
- `waiting`: time in collectives in which other ranks are late. It is no part of `communication`.
- `copy`: copies run, but no kernels.
- Parts in IDLE_PARTS are causes of idle time.
"""

PROGRAM = "program"
PHASES = ("earlier_work", "start_up", PROGRAM, "tear_down", "later_work")
"""Phases of a rank's recorded time, in order."""

TIME_BREAKDOWN = Table(
    "time_breakdown",
    "A device's time in one step of one rank, or in one phase of the trace if step is null. Shares"
    " of time in other results are shares of the rows with the phase program. Compute,"
    " exposed communication, exposed copy and the causes of idle time add up to window_ns. If"
    " nothing runs on a device, the row is for the process (device_id null). It computes"
    " while an op of any of its threads does arithmetic and its main thread does not load"
    " data or code, and copies while an op copies memory. The causes are what the main thread"
    " does at other times. An op on less than 16 KiB, or one that only reads a tensor's"
    " properties, does no arithmetic: calling it takes longer.",
    (
        RANK,
        Column("device_id", pl.Int32, "Device; null for a process that uses none.", nullable=True),
        STEP,
        Column(
            "phase",
            pl.String,
            "program: a step; on a rank without marked steps, the time in which the device works"
            " steadily (for a process, all that is recorded). earlier_work: the device runs work"
            " that was launched before the trace began. start_up: until the device first works"
            " steadily, or a first step that is mostly the creation of a context or the loading of"
            " libraries. tear_down: after the last work, or a last step in which only a tail ran."
            " later_work: work was launched whose end the trace does not contain; beside whole"
            " steps, also the step that the trace's end cuts off. Null: on a rank"
            " with marked steps, all time from its first to its last GPU event.",
            nullable=True,
            values=PHASES,
        ),
        Column("window_ns", pl.Int64, "The length of the step, see steps, or of the phase."),
        Column(
            "compute_ns",
            pl.Int64,
            "Time in which at least one kernel runs that does not communicate; for a"
            " process, at least one op that does arithmetic.",
        ),
        Column(
            "communication_ns", pl.Int64, "Time in which at least one communication kernel runs."
        ),
        Column("copy_ns", pl.Int64, "Time in which at least one copy or memset runs."),
        Column(
            "exposed_communication_ns",
            pl.Int64,
            "Communication time during which nothing was being computed.",
        ),
        Column("exposed_copy_ns", pl.Int64, "Copy time during which no kernel ran."),
        Column("idle_ns", pl.Int64, "Time in which nothing runs: the sum of its causes."),
        *(
            Column(f"idle_{cause}_ns", pl.Int64, f"Idle time: {words}")
            for cause, words in IDLE.items()
        ),
        Column(
            "profiler_ns",
            pl.Int64,
            "Idle time that the profiler is known to add. It is the profiler's recorded work (in"
            " idle_host_ns) and, if a step without the profiler was timed, the rest of the"
            " difference (in idle_launch_ns and idle_host_ns). It counts in no share.",
        ),
        Column(
            "compute_frac",
            pl.Float64,
            "compute_ns divided by window_ns without profiler_ns.",
            nullable=True,
        ),
        Column(
            "exposed_communication_frac",
            pl.Float64,
            "exposed_communication_ns divided by window_ns without profiler_ns.",
            nullable=True,
        ),
        Column(
            "exposed_copy_frac",
            pl.Float64,
            "exposed_copy_ns divided by window_ns without profiler_ns.",
            nullable=True,
        ),
        Column(
            "idle_frac",
            pl.Float64,
            "idle_ns without profiler_ns, divided by window_ns without profiler_ns.",
            nullable=True,
        ),
        Column(
            "last_collective_ns",
            pl.Int64,
            "Duration of the last communication kernel.",
            nullable=True,
        ),
        Column(
            "collective_wait_ns",
            pl.Int64,
            "Time lost by waiting for other ranks: the exposed waiting of the result "
            "waiting. Null with one rank, or without collectives that match other ranks'.",
            nullable=True,
        ),
    ),
)


IDLE_GAPS = Table(
    "idle_gaps",
    "Idle time of a device with one cause and place, over the program: all steps or, on a rank"
    " without marked steps, the phase program of time_breakdown. If nothing runs on a device,"
    " it is time in which the process does no work, see time_breakdown.",
    (
        RANK,
        Column("device_id", pl.Int32, "Device; null for a process that uses none.", nullable=True),
        Column(
            "cause",
            pl.String,
            "Activity of the launching thread, which launches the next work: "
            + "; ".join(f"{cause}: {words[:-1]}" for cause, words in IDLE.items())
            + ".",
            values=CAUSES,
        ),
        Column(
            "what",
            pl.String,
            "The place, from the outside in: Python function and line where stacks were recorded,"
            " annotation, loader, op, API call; for launching, at its end the op that launched the"
            " next work."
            " Null if unknown.",
            nullable=True,
        ),
        Column("idle_ns", pl.Int64, "Idle time."),
        Column(
            "share_frac",
            pl.Float64,
            "Share of the program's time, both without what the profiler is known to add; null for"
            " the profiler's own work, which counts in no share.",
            nullable=True,
        ),
        Column("n_gaps", pl.Int64, "Gaps that contain time of this cause and place."),
        Column(
            "longest_ns",
            pl.Int64,
            "Longest time of this cause and place in one gap. On the row of a process: in one"
            " activity, with the pauses between its ops.",
        ),
        Column("example_ns", pl.Int64, "Start of the gap to which longest_ns belongs."),
    ),
)

BOUNDS = (*PARTS, "too little to judge", "inconclusive")
VERDICT = Table(
    "verdict",
    "The bound of one rank: the largest part of its time, the next one, and the numbers that show"
    " it.",
    (
        RANK,
        Column(
            "bound",
            pl.String,
            "The largest part of the time: what the device does, or its cause of idling (see"
            " time_breakdown); inconclusive if the profiler made a step of a process many"
            " times as long, or if the work of the program's device was not recorded.",
            values=BOUNDS,
        ),
        Column(
            "bound_frac",
            pl.Float64,
            "Share of step time that the bound takes, without what the profiler adds. If there is"
            " too little to judge, the share of time in which the device works.",
            nullable=True,
        ),
        Column(
            "second",
            pl.String,
            "The next part by size: if the bound is compute, this can be saved; null if no"
            " other part takes 2 % of the time.",
            nullable=True,
            values=PARTS,
        ),
        Column("second_frac", pl.Float64, "The share of `second`.", nullable=True),
        Column(
            "evidence", pl.String, "The evidence in words: cause, share of step time and place."
        ),
        Column(
            "what",
            pl.String,
            "The place in the program from which most of the bound comes, as in idle_gaps.",
            nullable=True,
        ),
        Column("second_what", pl.String, "The same for `second`.", nullable=True),
        Column(
            "caveat",
            pl.String,
            "What the trace does not show about the bound, as the end of a sentence; null if"
            " nothing is missing.",
            nullable=True,
        ),
        Column("value", pl.Float64, "The same as bound_frac.", "1", nullable=True),
        Column("unit", pl.String, "Unit of the value.", nullable=True),
        Column("step_ns", pl.Int64, "Median duration of a step, as profiled.", nullable=True),
        Column(
            "unprofiled_step_ns",
            pl.Int64,
            "Duration of a step without the profiler, where the capture measured it.",
            nullable=True,
        ),
    ),
)
