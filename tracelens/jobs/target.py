"""Prepare a job's target, read its finished ranks, write its manifest and remove unused files."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from tracelens.errors import SourceError
from tracelens.jobs.finalize import finalized
from tracelens.jobs.ranks import RankRecord, read_record
from tracelens.storage.addresses import url_of
from tracelens.storage.objects import Objects
from tracelens.trace.capture import SOURCE_UNREAD, Manifest, manifest_of
from tracelens.trace.combine import installed_version
from tracelens.trace.objects import MANIFEST, RANKS, commit, keys_of
from tracelens.trace.target_folder import check_target

_REQUESTS = 16
_OURS = re.compile(r"\w+/rank=\d+/part-\w+\.parquet|trial-[0-9a-f]{16}")
"""Matches keys of the files that a job writes, except manifests and records."""


def prepare(target: str, *, force: bool) -> None:
    """Check that a job can write to the target, and create its folder.

    With `force`, the records of an earlier job's ranks are removed. Raises SourceError if the
    target has a trace and `force` is False, or if the target is a folder with other contents.
    """
    if url_of(target) is None and os.path.lexists(target) and not Path(target, RANKS).is_dir():
        check_target(Path(target), force=force)
    objects = Objects(target)
    if objects.about(MANIFEST) is not None and not force:
        raise SourceError(
            f"{objects.address}: exists already; give another --out, or --force to replace it"
        )
    if url_of(target) is None:
        # This folder shows that a job was here, even if it was killed
        Path(target, RANKS).mkdir(exist_ok=True)
    if force:
        objects.remove(_record_keys(objects))


def finished_ranks(target: str) -> list[RankRecord]:
    """Return the records of the ranks in the target, in order of ranks."""
    objects = Objects(target)
    keys = _record_keys(objects)
    with ThreadPoolExecutor(_REQUESTS) as pool:
        records = list(pool.map(lambda key: read_record(objects, key), keys))
    return sorted(
        (record for record in records if record is not None),
        key=lambda record: record.rank,
    )


def _record_keys(objects: Objects) -> list[str]:
    """Return the keys of the ranks' records.

    The files of the table `ranks` lie one folder deeper, so they are not listed.
    """
    return [
        f"{RANKS}/{member.name}"
        for member in objects.members(RANKS)
        if member.name.endswith(".json")
    ]


def commit_trace(  # noqa: PLR0913 - the ranks, and what is asked of them
    target: str,
    records: Sequence[RankRecord],
    failed: Mapping[str, str] = MappingProxyType({}),
    *,
    min_ranks: int = 0,
    force: bool = False,
    force_mix: bool = False,
) -> Manifest:
    """Write the manifest that makes the ranks' files a trace, and return it.

    - `failed`: the message of each failed task by the task's name. If it is not empty, the
      manifest's `complete` is False.
    - `force`: replace an existing trace.
    - `force_mix`: accept ranks of different programs.

    Raises SourceError if there are no ranks or fewer than `min_ranks`, if they cannot be of one
    program, or if another job has written a manifest.
    """
    if len(records) < max(1, min_ranks):
        wanted = f", fewer than the {min_ranks:,} of --min-ranks" if min_ranks > 1 else ""
        why = f": {next(iter(failed.values()))}" if failed else ""
        raise SourceError(
            f"{target}: {len(records):,} ranks could be collected{wanted}; no trace was"
            f" written{why}"
        )
    ordered = sorted(records, key=lambda record: record.rank)
    manifest = finalized(target, ordered, merged(ordered, failed), force_mix=force_mix)
    commit(Objects(target), manifest.as_dict(), force=force)
    return manifest


def merged(records: Sequence[RankRecord], failed: Mapping[str, str]) -> Manifest:
    """Return the ranks' manifests merged into one; `failed` has the messages of failed tasks."""
    manifests = [Manifest.from_dict(record.manifest) for record in records]
    n_rows = _counts_of_all(manifest.n_rows for manifest in manifests)
    bases = {manifest.time_base for manifest in manifests}
    unread = [
        {"source": name, "code": SOURCE_UNREAD, "count": 1, "text": text}
        for name, text in failed.items()
    ]
    return Manifest(
        tracelens_version=installed_version(),
        sources=[source for manifest in manifests for source in manifest.sources],
        ranks=[record.rank for record in records],
        time_base=bases.pop() if len(bases) == 1 else "trace_start",
        time_precision_ns=max(manifest.time_precision_ns for manifest in manifests),
        complete=not failed and all(manifest.complete for manifest in manifests),
        n_rows=n_rows,
        n_names=_counts_of_all(manifest.n_names for manifest in manifests),
        attempts={str(record.rank): record.attempt for record in records},
        dropped=[row for manifest in manifests for row in manifest.dropped] + unread,
        empty_tables={
            table: why for table, why in _why_empty(manifests).items() if table not in n_rows
        },
    )


def _counts_of_all(
    of_ranks: Iterable[Mapping[str, Mapping[str, int]]],
) -> dict[str, dict[str, int]]:
    """Merge mappings `{table: {rank: number}}`, each of which is about one rank, into one."""
    counts: dict[str, dict[str, int]] = {}
    for of_rank in of_ranks:
        for table, count_by_rank in of_rank.items():
            counts.setdefault(table, {}).update(count_by_rank)
    return counts


def _why_empty(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Return the ranks' distinct reasons for an empty table, by table."""
    reasons: dict[str, dict[str, None]] = {}
    for manifest in manifests:
        for table, why in manifest.empty_tables.items():
            reasons.setdefault(table, {})[why] = None
    return {table: "; ".join(of_table) for table, of_table in reasons.items()}


def clean(target: str, hours: float = 1) -> int:
    """Remove a target's unused files, and return their number.

    Files are in use if the manifest or a rank's record names them. Files of the last `hours` stay.
    """
    if url_of(target) is None and not Path(target).is_dir():
        raise SourceError(f"{target}: no such directory")
    objects = Objects(target)
    content = objects.read(MANIFEST)
    named = {key for record in finished_ranks(target) for key in record.keys}
    if content is not None:
        named.update(keys_of(manifest_of(content, objects.address)))
    # A running job writes a rank's record only after all files of the rank.
    before = datetime.now(UTC) - timedelta(hours=hours)
    ours = {key: written for key, written in objects.keys().items() if _OURS.fullmatch(key)}
    left = [key for key, written in ours.items() if key not in named and written <= before]
    objects.remove(left)
    return len(left)
