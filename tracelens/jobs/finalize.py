"""Check a job's ranks against each other, and number their hosts and compare their clocks.

A task reads only one rank, so this runs after all tasks.
"""

import copy
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from tracelens.derive.ranks.validate_ranks import validate_ranks
from tracelens.jobs.ranks import RankRecord
from tracelens.schemas import TABLES
from tracelens.storage.folders import OwnFolder
from tracelens.storage.objects import Objects
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest, SourceFile
from tracelens.trace.fetching import PREFIX
from tracelens.trace.objects import upload
from tracelens.trace.rank_topology import RankPlace, rank_rows
from tracelens.trace.same_run import WORLD_SIZE, RankFacts, refuse_unrelated

_ABOUT_ALL_RANKS = ("ranks", "diagnostics")
"""Tables whose rows depend on other ranks. They are written again after all tasks."""


def finalized(
    target: str,
    records: Sequence[RankRecord],
    manifest: Manifest,
    *,
    force_mix: bool,
) -> Manifest:
    """Return the final manifest of a job's ranks, with the differences of their clocks.

    `records` are in order of ranks. Changed rows of `ranks` and `diagnostics` are written again.
    Raises SourceError if the ranks cannot be of one program. With `force_mix`, a diagnostic is
    added instead.
    """
    if len(records) < 2:
        return manifest
    trace = Trace.of_manifest(target, manifest)
    before = {name: trace.frame(name) for name in _ABOUT_ALL_RANKS}
    ranks, devices, collectives = (
        trace.frame(name).partition_by("rank", as_dict=True, include_key=False)
        for name in ("ranks", "devices", "collectives")
    )
    facts = {record.rank: _facts_of(record, collectives.get((record.rank,))) for record in records}
    for kind in {rank_facts.source.kind for rank_facts in facts.values()}:
        of_kind = [rank_facts for rank_facts in facts.values() if rank_facts.source.kind == kind]
        refuse_unrelated(of_kind, force_mix=force_mix)
    no_devices = pl.DataFrame()
    places = [
        _place_of(
            record,
            facts[record.rank],
            ranks.get((record.rank,)),
            devices.get((record.rank,), no_devices).height,
        )
        for record in records
    ]
    warnings = [(rank, rank_facts.diagnostics.frame()) for rank, rank_facts in facts.items()]
    diagnostics = pl.concat([before["diagnostics"], _with_ranks("diagnostics", warnings)])
    trace.amend(
        manifest,
        ranks=_with_ranks("ranks", rank_rows(places)),
        diagnostics=diagnostics.sort("rank", maintain_order=True),
    )
    validate_ranks(trace, force_mix=force_mix)
    return _upload_changed(target, trace, before)


def _upload_changed(
    target: str,
    trace: Trace,
    before: Mapping[str, pl.DataFrame],
) -> Manifest:
    """Upload each rank's tables that differ from `before`; return the manifest that names them."""
    attempt = secrets.token_hex(8)
    manifest = copy.deepcopy(trace.manifest)
    with OwnFolder(PREFIX) as folder:
        for name, old_rows in before.items():
            n_rows = _write_changed(Path(folder), old_rows, trace.frame(name), name)
            if n_rows:
                manifest.n_rows[name] = manifest.n_rows.get(name, {}) | n_rows
                manifest.empty_tables.pop(name, None)
            manifest.attempts.update((f"{name}/{rank}", attempt) for rank in n_rows)
        upload(Objects(target), Path(folder), attempt)
    return manifest


def _with_ranks(
    name: str,
    parts: Sequence[tuple[int, pl.DataFrame]],
) -> pl.DataFrame:
    frames = [frame.select(pl.lit(rank, pl.Int32).alias("rank"), pl.all()) for rank, frame in parts]
    return TABLES[name].conform(pl.concat(frames))


def _write_changed(
    folder: Path,
    before: pl.DataFrame,
    after: pl.DataFrame,
    name: str,
) -> dict[str, int]:
    """Write all rows of each rank whose rows changed; return the number of written rows by rank."""
    old, n_rows = before.partition_by("rank", as_dict=True), {}
    for (rank,), rows in after.partition_by("rank", as_dict=True).items():
        if (rank,) not in old or not rows.equals(old[rank,]):
            file = folder / name / f"rank={rank}" / "part-0.parquet"
            file.parent.mkdir(parents=True)
            TABLES[name].write(rows.drop("rank"), file)
            n_rows[str(rank)] = rows.height
    return n_rows


def _facts_of(record: RankRecord, collectives: pl.DataFrame | None) -> RankFacts:
    """Return the facts for comparing a rank with others, from its record and collectives."""
    about = record.manifest["sources"][0]
    size = about["settings"].get(WORLD_SIZE)
    begins, ends = record.first_ns, record.last_ns
    return RankFacts(
        source=SourceFile(*(about[key] for key in ("name", "kind", "size_bytes", "sha256"))),
        rank=record.rank,
        world_size=size if isinstance(size, int) else None,
        groups={name: tuple(ranks) for name, ranks in record.groups.items()},
        extent=None if begins is None or ends is None else (begins, ends),
        collectives=None if collectives is None else collectives.lazy(),
    )


def _place_of(
    record: RankRecord,
    facts: RankFacts,
    rank_rows: pl.DataFrame | None,
    n_devices: int,
) -> RankPlace:
    """Return host and device of a rank, from its record and its row of the table `ranks`."""
    if rank_rows is None:
        facts_of_rank = {"world_size": facts.world_size}
        return RankPlace(record.rank, record.host, None, n_devices, facts_of_rank)
    # Each task counts hosts from 0, so the row's `node` is wrong here.
    row = rank_rows.row(0, named=True) | {"node": record.node}
    return RankPlace(record.rank, record.host, row["device_id"], n_devices, row)
