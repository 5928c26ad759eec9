"""Simulate jobs with all kinds of groups, hosts' clocks and planted delays.

Every rank runs its program: it computes, sends, and takes part in collectives. A collective ends
one transfer's time after its last rank has begun it. `job` is right if it finds the planted delays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import polars as pl

from tests.cases import make_trace
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest

US = 1_000
EPOCH_NS = 1_800_000_000 * 10**9
LAUNCH_NS = 2 * US
"""Time from a launching call to the begin of its kernel."""
HOST_CAUSES = ("input", "host", "allocation", "sync")


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the groups: tensor ranks are neighbours, then data ranks, then stages."""

    tp: int = 1
    dp: int = 1
    pp: int = 1
    ep: int = 1
    per_node: int = 8
    n_microbatches: int = 1
    n_layers: int = 2
    syncs_data: bool = True
    """Whether data ranks reduce gradients; if not, each tensor group is a replica by itself."""

    @property
    def n_ranks(self) -> int:
        """The number of ranks."""
        return self.tp * self.dp * self.pp

    def place(self, rank: int) -> tuple[int, int, int]:
        """Return the rank's tensor, data and pipeline coordinates."""
        return rank % self.tp, rank // self.tp % self.dp, rank // (self.tp * self.dp)

    def rank(self, tp: int, dp: int, pp: int) -> int:
        """Return the rank at these coordinates."""
        return tp + self.tp * (dp + self.dp * pp)

    def group(self, kind: str, rank: int) -> tuple[int, ...]:
        """Return the ranks of the group of this kind to which the rank belongs."""
        tp, dp, pp = self.place(rank)
        if kind == "tp":
            return tuple(self.rank(t, dp, pp) for t in range(self.tp))
        if kind == "dp":
            return tuple(self.rank(tp, d, pp) for d in range(self.dp))
        first = dp // self.ep * self.ep
        return tuple(self.rank(tp, d, pp) for d in range(first, first + self.ep))

    def node(self, rank: int) -> int:
        """Return the number of the rank's host."""
        return rank // self.per_node


@dataclass(frozen=True, slots=True)
class Plant:
    """A planted delay of `ns` per step for a cause, in all steps, or by rank in given steps.

    - `compute`: makes kernels longer
    - `copy`: adds a copy that nothing hides
    - one of HOST_CAUSES: occupies the host before the step's first kernel, or with `ends_step`
      after its last kernel
    - `link`: makes the transfers of `group` take `ns` longer in sum
    - `network`: makes the transfers of all groups longer
    """

    ranks: frozenset[int]
    cause: str
    ns: int
    steps: Mapping[int, frozenset[int]] | None = None
    group: tuple[str, tuple[int, ...]] | None = None
    ends_step: bool = False

    def is_late(self, rank: int, step: int) -> bool:
        """Return whether the rank is late in the step."""
        if rank not in self.ranks:
            return False
        return self.steps is None or step in self.steps.get(rank, ())


@dataclass(slots=True)
class Job:
    """A job to simulate: the layout, the time of one layer in ns, and the planted delays."""

    layout: Layout
    n_steps: int
    layer_ns: int
    transfers: Mapping[str, int]
    plants: tuple[Plant, ...] = ()
    noise: float = 0.01
    seed: int = 0
    clocks: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    tells_stages: bool = True

    def trace(self) -> Trace:
        """Simulate the job and return the trace that its ranks' profilers would record."""
        return _Simulation(self).trace()


Op = tuple[str, Any]


class _Simulation:
    """One run of a job: the present time of each rank, and the rows recorded so far."""

    def __init__(self, job: Job) -> None:
        self.job, self.layout = job, job.layout
        self.random = Random(job.seed)  # noqa: S311 - no secret
        self.now = dict.fromkeys(range(self.layout.n_ranks), 0)
        self.rows: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("kernels", "collectives", "steps", "activities", "memcpys")
        }
        self.n_kernels = dict.fromkeys(self.now, 0)
        self.begun: dict[int, int] = {}
        self.step = dict.fromkeys(self.now, 0)

    def trace(self) -> Trace:
        """Run every rank's program until none has anything left."""
        programs = {rank: self._program(rank) for rank in self.now}
        arrived: dict[tuple[Any, ...], dict[int, int]] = {}
        n_calls: dict[tuple[int, Any], int] = {}
        ready = [*programs]
        while ready:
            rank = ready.pop()
            for kind, what in programs[rank]:
                if kind == "do":
                    self._do(rank, *what)
                    continue
                group, members = what
                number = n_calls[rank, what] = n_calls.get((rank, what), -1) + 1
                arrivals = arrived.setdefault((group, members, number), {})
                arrivals[rank] = self.now[rank] + LAUNCH_NS
                if len(arrivals) == len(members):
                    self._meet(group, members, arrivals)
                    ready += [member for member in members if member != rank]
                    continue
                break
        return self._as_trace()

    def _program(self, rank: int) -> Iterator[Op]:
        """Yield what a rank does in each step: all microbatches forward, then backward.

        Gradients come last.
        """
        layout = self.layout
        tp, dp, pp = layout.place(rank)
        before, after = pp - 1, pp + 1
        for step in range(self.job.n_steps):
            self.step[rank] = step
            self.begun[rank] = self.now[rank]
            yield from self._host_delays(rank, step, ends_step=False)
            for source, sink in ((before, after), (after, before)):
                for _ in range(layout.n_microbatches):
                    if 0 <= source < layout.pp:
                        yield "meet", ("pp", (layout.rank(tp, dp, source), rank))
                    for _ in range(layout.n_layers):
                        yield "do", ("gemm", self._layer_ns(rank, step))
                        for kind in ("tp", "ep"):
                            if getattr(layout, kind) > 1:
                                yield "meet", (kind, layout.group(kind, rank))
                    if 0 <= sink < layout.pp:
                        yield "meet", ("pp", (rank, layout.rank(tp, dp, sink)))
            if layout.dp > 1 and layout.syncs_data:
                yield "meet", ("dp", layout.group("dp", rank))
            yield "do", ("adam", self.job.layer_ns // 4)
            yield from self._host_delays(rank, step, ends_step=True)
            end = self.now[rank]
            self.rows["steps"].append((rank, step, self.begun[rank], end - self.begun[rank]))

    def _layer_ns(self, rank: int, step: int) -> int:
        """Return how long a layer computes, with noise and its part of the planted delay."""
        layout = self.layout
        n_layers = 2 * layout.n_microbatches * layout.n_layers
        late = sum(
            plant.ns
            for plant in self.job.plants
            if plant.cause == "compute" and plant.is_late(rank, step)
        )
        noise = 1 + self.random.gauss(0, self.job.noise)
        return round(self.job.layer_ns * max(noise, 0.1)) + late // n_layers

    def _host_delays(self, rank: int, step: int, *, ends_step: bool) -> Iterator[Op]:
        """Yield the delays before a step's first kernel; with `ends_step`, after its last one."""
        for plant in self.job.plants:
            if (
                plant.ends_step == ends_step
                and plant.cause in (*HOST_CAUSES, "copy")
                and plant.is_late(rank, step)
            ):
                yield "do", (plant.cause, plant.ns)

    def _do(self, rank: int, what: str, ns: int) -> None:
        """Record a kernel, a copy, or what the host does while the device idles."""
        start = self.now[rank]
        if what in HOST_CAUSES:
            self.rows["activities"].append((rank, start, ns, what))
        elif what == "copy":
            self.rows["memcpys"].append((rank, start + LAUNCH_NS, ns, self.step[rank]))
        else:
            self._kernel(rank, what, start + LAUNCH_NS, ns)
            ns += LAUNCH_NS
        self.now[rank] = start + ns

    def _kernel(self, rank: int, name: str, start: int, ns: int) -> int:
        number = self.n_kernels[rank]
        self.n_kernels[rank] += 1
        is_communication = name.startswith("nccl")
        self.rows["kernels"].append(
            (rank, number, name, start, ns, self.step[rank], is_communication, number)
        )
        return number

    def _meet(self, kind: str, members: tuple[int, ...], arrivals: Mapping[int, int]) -> None:
        """Record a collective that all of its ranks have begun."""
        end = max(arrivals.values()) + self._transfer_ns(kind, members)
        names = {"tp": "allreduce", "dp": "allreduce", "ep": "all_to_all"}
        for rank, start in arrivals.items():
            number = self._kernel(rank, f"ncclDevKernel_{kind}", start, end - start)
            is_pair = kind == "pp"
            name = ("send" if rank == members[0] else "recv") if is_pair else names[kind]
            peer = (members[1] if rank == members[0] else members[0]) if is_pair else None
            n_bytes = self.job.transfers[kind] * 100
            group_ranks = None if is_pair else str([*members])
            self.rows["collectives"].append(
                (rank, number, name, f"mesh_{kind}", kind, len(members), group_ranks, n_bytes, peer)
            )
            self.now[rank] = end

    def _transfer_ns(self, kind: str, members: tuple[int, ...]) -> int:
        """Return how long a transfer takes.

        Between hosts it takes three times as long. What was planted on its group comes on top.
        """
        layout = self.layout
        crosses = len({layout.node(rank) for rank in members}) > 1
        ns = self.job.transfers[kind] * (3 if crosses else 1)
        n_calls = {"tp": 2 * layout.n_microbatches * layout.n_layers, "dp": 1}
        n_calls |= {"ep": n_calls["tp"], "pp": layout.n_microbatches}
        total = sum(n_calls[name] for name in n_calls if getattr(layout, name) > 1)
        for plant in self.job.plants:
            if not plant.is_late(members[0], self.step[members[0]]):
                continue
            if plant.cause == "link" and plant.group == (kind, members):
                ns += plant.ns // n_calls[kind]
            if plant.cause == "network":
                ns += plant.ns // total
        return round(ns * max(1 + self.random.gauss(0, self.job.noise), 0.1))

    def _shown(self, rank: int, moment: int) -> int:
        """Return a moment as the clock of the rank's host shows it."""
        offset, drift = self.job.clocks.get(self.layout.node(rank), (0.0, 0.0))
        return EPOCH_NS + round(moment * (1 + drift / 1e6) + offset)

    def _as_trace(self) -> Trace:
        columns = {
            "kernels": (
                *("rank", "kernel_id", "name", "start_ns", "duration_ns", "step"),
                *("is_communication", "api_call_id"),
            ),
            "collectives": (
                *("rank", "kernel_id", "name", "group", "group_id", "group_size", "group_ranks"),
                *("size_in_bytes", "peer"),
            ),
            "steps": ("rank", "step", "start_ns", "duration_ns"),
            "activities": ("rank", "start_ns", "duration_ns", "cause"),
            "memcpys": ("rank", "start_ns", "duration_ns", "step"),
        }
        calls = [
            (row[0], row[1], "cudaLaunchKernel", "kernel_launch", row[3] - LAUNCH_NS, 0, row[5])
            for row in self.rows["kernels"]
        ]
        rows = self.rows | {"api_calls": calls}
        columns["api_calls"] = (
            *("rank", "api_call_id", "api", "kind", "start_ns", "duration_ns", "step"),
        )
        frames = {name: self._frame(name, columns[name], rows[name]) for name in columns}
        frames["ranks"] = pl.DataFrame(
            [self._rank(rank) for rank in self.now], schema_overrides={"rank": pl.Int32}
        )
        tables = {
            name: table.conform(frames[name]) if name in frames else table.empty()
            for name, table in TABLES.items()
        }
        manifest = Manifest(ranks=[*self.now], time_base="unix_epoch")
        return Trace(manifest, {name: frame.lazy() for name, frame in tables.items()})

    def _rank(self, rank: int) -> dict[str, Any]:
        tp, dp, pp = self.layout.place(rank)
        axes = {"tp": tp, "dp": dp, "pp": pp} if self.job.tells_stages else {}
        return {
            "rank": rank,
            "world_size": self.layout.n_ranks,
            "node": self.layout.node(rank),
            "device_id": 0,
        } | axes

    def _frame(self, name: str, columns: tuple[str, ...], rows: list[Any]) -> pl.DataFrame:
        """Make a frame with times of the ranks' clocks; `make_trace` fills the other columns."""
        no_columns: dict[str, Any] = {}
        template = make_trace(**{name: [no_columns]}).frame(name)
        rest = [pl.lit(template[column][0]).alias(column) for column in template.columns]
        if "start_ns" in columns:
            at, length = columns.index("start_ns"), columns.index("duration_ns")
            shown = []
            for row in rows:
                start = self._shown(row[0], row[at])
                end = self._shown(row[0], row[at] + row[length])
                shown.append((*row[:at], start, end - start, *row[length + 1 :]))
            rows = shown
        frame = pl.DataFrame(
            rows, schema={key: template.schema[key] for key in columns}, orient="row"
        )
        about = {"process_id": 1, "thread_id": 1, "stream_id": 7, "direction": "h2d"}
        filled = [one for one in rest if one.meta.output_name() not in columns]
        given = [
            pl.lit(value).alias(key) for key, value in about.items() if key in template.columns
        ]
        return frame.with_columns(filled).with_columns(given)
