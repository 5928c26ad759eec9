"""The ranks of a job put together.

No rank's task can know contradictions, hosts and clocks by itself.
"""

import copy
import secrets
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tracelens.derive.ranks.validate_ranks import settle_ranks
from tracelens.jobs.ranks import RankRecord
from tracelens.schemas import TABLES
from tracelens.storage.folders import OwnFolder
from tracelens.storage.objects import Objects
from tracelens.trace import Trace
from tracelens.trace.capture import Capture, Manifest, Place, SourceFile
from tracelens.trace.fetching import PREFIX
from tracelens.trace.objects import upload
from tracelens.trace.rank_topology import places
from tracelens.trace.same_run import WORLD_SIZE, refuse_unrelated

_TOLD_OF_ALL = ("ranks", "diagnostics")
"""Tables whose rows depend on the other ranks: they are written again, beside what the ranks'
tasks wrote."""


def settled(
    target: str, records: Sequence[RankRecord], manifest: Manifest, *, force_mix: bool
) -> Manifest:
    """Return the manifest of a job's ranks with their clocks.

    Tables that tell of all ranks are written anew before. `records` are by rank. Raises SourceError
    where the ranks cannot be of one program; with `force_mix`, the tables say so.
    """
    if len(records) < 2:
        return manifest
    trace = Trace.of_manifest(target, manifest)
    before = {name: trace.frame(name) for name in _TOLD_OF_ALL}
    captures = _stand_ins(trace, records)
    for kind in {capture.kind for capture in captures}:
        refuse_unrelated(
            [capture for capture in captures if capture.kind == kind], force_mix=force_mix
        )
    rows = places(
        [(record.rank, capture) for record, capture in zip(records, captures, strict=True)]
    )
    warned = [
        (record.rank, capture.diagnostics.frame())
        for record, capture in zip(records, captures, strict=True)
    ]
    diagnostics = pl.concat([before["diagnostics"], _with_ranks("diagnostics", warned)])
    trace.amend(
        manifest,
        ranks=_with_ranks("ranks", rows),
        diagnostics=diagnostics.sort("rank", maintain_order=True),
    )
    settle_ranks(trace, force_mix=force_mix)
    attempt = secrets.token_hex(8)
    found = copy.deepcopy(trace.manifest)
    with OwnFolder(PREFIX) as folder:
        for name in _TOLD_OF_ALL:
            n_rows = _write_changed(Path(folder), before[name], trace.frame(name), name)
            if n_rows:
                found.n_rows[name] = found.n_rows.get(name, {}) | n_rows
                found.empty_tables.pop(name, None)
            found.attempts.update((f"{name}/{rank}", attempt) for rank in n_rows)
        upload(Objects(target), Path(folder), attempt)
    return found


def _with_ranks(name: str, parts: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    frames = [frame.select(pl.lit(rank, pl.Int32).alias("rank"), pl.all()) for rank, frame in parts]
    return TABLES[name].conform(pl.concat(frames))


def _write_changed(
    folder: Path, before: pl.DataFrame, after: pl.DataFrame, name: str
) -> dict[str, int]:
    """Write the rows of the ranks whose rows are others than before.

    Returns their numbers by rank.
    """
    old, n_rows = before.partition_by("rank", as_dict=True), {}
    for (rank,), rows in after.partition_by("rank", as_dict=True).items():
        if (rank,) not in old or not rows.equals(old[rank,]):
            file = folder / name / f"rank={rank}" / "part-0.parquet"
            file.parent.mkdir(parents=True)
            TABLES[name].write(rows.drop("rank"), file)
            n_rows[str(rank)] = rows.height
    return n_rows


def _stand_ins(trace: Trace, records: Sequence[RankRecord]) -> list[Capture]:
    """Return the facts that each rank's record and tables have of it.

    They are as the capture of its source had them.
    """
    parts = {
        name: trace.frame(name).partition_by("rank", as_dict=True, include_key=False)
        for name in ("ranks", "devices", "collectives")
    }
    captures = []
    for record in records:
        about = record.manifest["sources"][0]
        tables = {name: own[record.rank,] for name, own in parts.items() if (record.rank,) in own}
        device = None
        if "ranks" in tables:
            # A task knows one host, and numbers it 0; only a launcher's number counts among all.
            tables["ranks"] = tables["ranks"].with_columns(node=pl.lit(record.node, pl.Int32))
            device = tables["ranks"]["device_id"][0]
        is_timed = record.first_ns is not None
        # Kernels stand for all events: the first one, and the end of the last one.
        times = {"start_ns": [record.first_ns or 0, record.last_ns or 0], "duration_ns": [0, 0]}
        tables["kernels"] = pl.DataFrame(
            {"device_id": pl.Series([device, device], dtype=pl.Int32)} | times
        )
        captures.append(
            Capture(
                about["kind"],
                SourceFile(*(about[key] for key in ("name", "kind", "size_bytes", "sha256"))),
                tables,
                about["producer"],
                rank=record.rank,
                settings={WORLD_SIZE: about["settings"].get(WORLD_SIZE)},
                time_base="unix_epoch" if is_timed else "trace_start",
                place=Place(
                    record.host, {name: tuple(ranks) for name, ranks in record.groups.items()}
                ),
            )
        )
    return captures
