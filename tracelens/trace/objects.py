"""Scan a trace's tables in an object store, and write a trace there.

A store cannot rename files, so each attempt to write a trace uses new names:
`TABLE/rank=R/part-ATTEMPT.parquet`. The manifest is written last. Only files that the manifest
names belong to the trace.
"""

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl

from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.storage.addresses import url_of
from tracelens.storage.objects import Objects
from tracelens.storage.table import Table
from tracelens.trace.capture import Manifest, key_of, manifest_of

MANIFEST = "manifest.json"
RANKS = "ranks"
_UPLOADS = 8
_POLARS_OPTIONS = {"allow_http": "true"}


def keys_of(manifest: Manifest) -> list[str]:
    """Return the keys of the files that belong to a manifest's trace."""
    return [
        manifest.key_of(table, rank) for table, counts in manifest.n_rows.items() for rank in counts
    ]


def manifest_at(url: str) -> Manifest:
    """Return the manifest of a trace in an object store.

    Raises SourceError if there is no manifest, and SchemaError if a newer version wrote it.
    """
    content = Objects(url).read(MANIFEST)
    if content is None:
        raise SourceError(
            f"{url}: expected a trace with a manifest.json, found none; make one with --out {url}"
        )
    return manifest_of(content, url)


def scanned_objects(url: str, manifest: Manifest) -> dict[str, pl.LazyFrame]:
    """Return the tables of a trace in an object store, without reading them."""
    return {name: _scanned(url, table, manifest) for name, table in TABLES.items()}


def is_trace(path: Path) -> bool:
    """Return whether there is a trace at a path or URL."""
    url = url_of(path)
    return (path / MANIFEST).is_file() if url is None else Objects(url).about(MANIFEST) is not None


def _scanned(url: str, table: Table, manifest: Manifest) -> pl.LazyFrame:
    """Return a table's rows as a LazyFrame. Columns that older files lack are None."""
    ranks = sorted(manifest.n_rows.get(table.name, {}), key=int)
    if not ranks:
        return table.empty().lazy()
    files = [f"{url}/{manifest.key_of(table.name, rank)}" for rank in ranks]
    # Polars checks the types of columns when it reads them.
    scan = partial(
        pl.scan_parquet,
        glob=False,
        schema=table.without("rank").schema,
        missing_columns="insert",
        extra_columns="ignore",
        storage_options=_POLARS_OPTIONS,
    )
    if "=" not in url:
        return scan(
            files,
            hive_partitioning=True,
            hive_schema={"rank": pl.Int32},
        ).select(table.names)
    # Otherwise Polars would read folder names such as step=3 as columns.
    each = zip(ranks, files, strict=True)
    by_rank = [
        scan(file, hive_partitioning=False).with_columns(rank=pl.lit(int(rank), pl.Int32))
        for rank, file in each
    ]
    return pl.concat(by_rank).select(table.names)


def check_url(url: str, *, force: bool) -> None:
    """Raise SourceError if a trace cannot be written to the URL.

    Call it before a capture, so that hours of capture are not lost.
    """
    objects = Objects(url)
    if objects.about(MANIFEST) is not None and not force:
        raise SourceError(f"{url}: exists already; give another --out, or --force to replace it")
    trial = f"trial-{secrets.token_hex(8)}"
    objects.create(trial, b"")
    objects.remove([trial])


def write_objects(url: str, folder: Path, *, force: bool) -> None:
    """Write the trace of a local directory into an object store.

    Raises SourceError if there is a trace at the URL; with `force`, that trace is replaced.
    """
    objects, attempt = Objects(url), secrets.token_hex(8)
    upload(objects, folder, attempt)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["attempts"] = dict.fromkeys(map(str, manifest["ranks"]), attempt)
    commit(objects, manifest, force=force)


def upload(objects: Objects, folder: Path, attempt: str) -> dict[str, dict[str, int]]:
    """Upload the tables of a local trace, and return their sizes in bytes by table and rank."""
    sizes: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(_UPLOADS) as pool:
        done = []
        for file in sorted(folder.glob("*/rank=*/*.parquet")):
            table, rank = file.parent.parent.name, file.parent.name.removeprefix("rank=")
            done.append(pool.submit(objects.upload, key_of(table, rank, attempt), file))
            sizes.setdefault(table, {})[rank] = file.stat().st_size
        for future in done:
            future.result()
    return sizes


def commit(
    objects: Objects,
    manifest: dict[str, object],
    *,
    force: bool = False,
) -> None:
    """Write the manifest, so that the files become a trace.

    Raises SourceError if there is a manifest already; with `force`, it is replaced.
    """
    if force:
        objects.remove([MANIFEST])
    if not objects.create(MANIFEST, json_bytes(manifest)):
        raise SourceError(
            f"{objects.address}: another process wrote it meanwhile, and its trace stays; give"
            " another --out, or --force"
        )


def json_bytes(value: object) -> bytes:
    """Return a value as indented JSON."""
    return (json.dumps(value, indent=1) + "\n").encode()
