"""Make jobs of several ranks with known delays: compute and collectives, as traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.cases import make_trace
from tracelens.trace import Trace

KINDS = ("allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast")
EPOCH_NS = 1_800_000_000 * 10**9
_GAP_NS = 1_000


@dataclass(frozen=True, slots=True)
class Call:
    """A collective that every rank issues after computing for `compute_ns`.

    Its transfer's time does not include waiting.
    """

    name: str
    n_bytes: int
    compute_ns: int
    transfer_ns: int


@dataclass(slots=True)
class Schedule:
    """A job: each rank computes before each call that it issues, in order, and has planted delays.

    - `late`: by (rank, call), the ns that the rank computes longer before that call
    - `clocks`: by rank, its clock's offset in ns and drift in ppm. The clock shows the true time
      since the job's start * (1 + drift / 1e6) + offset.
    - `has_sequences`: calls have sequence numbers
    - `dropped`: (rank, call) without a record
    - `swapped`: (rank, call) of another kind than the other ranks' call
    """

    n_ranks: int
    calls: Sequence[Call]
    late: Mapping[tuple[int, int], int] = field(default_factory=dict)
    clocks: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    nodes: Mapping[int, int] = field(default_factory=dict)
    has_sequences: bool = False
    dropped: tuple[int, int] | None = None
    swapped: tuple[int, int] | None = None

    def starts(self) -> list[list[int]]:
        """Return when each rank begins each call, by call and rank, in true time since the start.

        A rank begins a call when its computing is done. All ranks leave the call together, when the
        last has begun and the transfer is over.
        """
        found, now = [], 0
        for at, call in enumerate(self.calls):
            begins = [
                now + _GAP_NS + call.compute_ns + self.late.get((rank, at), 0)
                for rank in range(self.n_ranks)
            ]
            found.append(begins)
            now = max(begins) + call.transfer_ns
        return found

    def exposed(self, waiting: int, awaited: int) -> int:
        """Return the time that one rank waits for another.

        All of it is exposed, as ranks do not compute meanwhile.
        """
        return sum(
            max(begins) - begins[waiting]
            for begins in self.starts()
            if begins.index(max(begins)) == awaited and begins[waiting] < max(begins)
        )

    def shown(self, rank: int, moment: int) -> int:
        """A true time since the job's start as the rank's clock shows it."""
        offset, drift = self.clocks.get(rank, (0.0, 0.0))
        return EPOCH_NS + round(moment * (1 + drift / 1e6) + offset)

    def trace(self) -> Trace:
        """Return the job as a trace.

        Each call and rank has one kernel that computes and one that communicates.
        """
        kernels: list[dict[str, Any]] = []
        collectives: list[dict[str, Any]] = []
        starts = self.starts()
        for rank in range(self.n_ranks):
            before, n = 0, 0
            for at, call in enumerate(self.calls):
                begin = starts[at][rank]
                end = max(starts[at]) + call.transfer_ns
                kernels.append(
                    self._kernel(rank, n, "gemm", before + _GAP_NS, begin)
                    | {"is_communication": False}
                )
                before = end
                if (rank, at) == self.dropped:
                    n += 1
                    continue
                name = _other(call.name) if (rank, at) == self.swapped else call.name
                kernels.append(self._kernel(rank, n + 1, f"ncclDevKernel_{name}", begin, end))
                collectives.append(
                    {
                        "rank": rank,
                        "kernel_id": n + 1,
                        "name": name,
                        "group": "default_pg",
                        "group_id": "0",
                        "group_size": self.n_ranks,
                        "dtype": "Float",
                        "size_in_bytes": call.n_bytes,
                        "size_out_bytes": call.n_bytes,
                        "sequence": at + 1 if self.has_sequences else None,
                    }
                )
                n += 2
        ranks = [
            {"rank": rank, "world_size": self.n_ranks, "node": self.nodes.get(rank), "device_id": 0}
            for rank in range(self.n_ranks)
        ]
        trace = make_trace(kernels=kernels, collectives=collectives, ranks=ranks)
        trace.manifest.time_base = "unix_epoch"
        return trace

    def _kernel(self, rank: int, kernel_id: int, name: str, begin: int, end: int) -> dict[str, Any]:
        start = self.shown(rank, begin)
        return {
            "rank": rank,
            "kernel_id": kernel_id,
            "name": name,
            "is_communication": True,
            "start_ns": start,
            "duration_ns": self.shown(rank, end) - start,
            "stream_id": 7,
        }


def _other(name: str) -> str:
    return KINDS[(KINDS.index(name) + 1) % len(KINDS)]


@st.composite
def schedules(
    draw: st.DrawFn, least_calls: int = 8, most_calls: int = 30, most_ranks: int = 16
) -> Schedule:
    """Draw jobs of 2 to 16 ranks that compute nearly alike and communicate a tenth as long.

    Their computing differs by jitter of a hundredth.
    Calls that follow each other differ in kind or size.
    """
    n_ranks = draw(st.integers(2, most_ranks))
    # Numbers that hypothesis draws one by one would be shrunk for minutes.
    random = Random(draw(st.integers(0, 2**32)))  # noqa: S311 - no secret
    calls: list[Call] = []
    for at in range(draw(st.integers(least_calls, most_calls))):
        n_bytes = (random.randrange(1, 1 << 20) * 8 + at) * 4
        compute_ns = random.randrange(10**5, 10**7)
        calls.append(
            Call(
                random.choice(KINDS),
                n_bytes,
                compute_ns,
                random.randrange(10**4, 10**4 + compute_ns // 10),
            )
        )
    late = {
        (rank, at): random.randrange(call.compute_ns // 100)
        for at, call in enumerate(calls)
        for rank in range(n_ranks)
    }
    return Schedule(n_ranks, calls, late, has_sequences=draw(st.booleans()))
