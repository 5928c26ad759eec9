"""The result of a collector.

It has the tables of one source, before ranks are assigned and sources combined.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct, field
from msgspec.structs import asdict, fields, replace

from tracelens.errors import SchemaError, SourceError, first_line
from tracelens.schemas import SCHEMA_VERSION, TABLES
from tracelens.storage.table import Stored

SOURCE_UNREAD = "source_unread"
"""Diagnostic code for a source that could not be read, although other sources were read."""


class SourceFile(Struct, frozen=True):
    """A file that was read: its size, its SHA-256, and its name without folders.

    Folders are left out because a path may reveal a user's name.
    """

    name: str
    kind: str
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path, kind: str) -> SourceFile:
        """Return the description of a file on disk.

        For a directory, the hash covers its files in sorted order.
        """
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        digest = hashlib.sha256()
        for file in files:
            with file.open("rb") as stream:
                while chunk := stream.read(1 << 20):
                    digest.update(chunk)
        name = os.fsencode(path.name).decode(errors="replace")
        return cls(
            name,
            kind,
            sum(f.stat().st_size for f in files),
            digest.hexdigest(),
        )


class Diagnostics(Struct):
    """Counts losses and oddities while a source is read; becomes the table `diagnostics`."""

    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(
        self,
        severity: str,
        code: str,
        text: str,
        count: int = 1,
    ) -> None:
        """Count an observation; a count of zero is ignored."""
        if count:
            self.texts.setdefault((severity, code), text)
            self.counts[severity, code] += count

    def take(self, other: Diagnostics) -> None:
        """Add the counts of another Diagnostics, for example from another thread."""
        for (severity, code), count in other.counts.items():
            self.add(severity, code, other.texts[severity, code], count)

    def frame(self) -> pl.DataFrame:
        """Return one row per severity and code: `severity`, `code`, `count`, `text`."""
        rows = [
            {
                "severity": severity,
                "code": code,
                "count": count,
                "text": self.texts[severity, code],
            }
            for (severity, code), count in self.counts.items()
        ]
        schema = TABLES["diagnostics"].without("rank").schema
        return pl.DataFrame(rows, schema=schema)


class HostFacts(Struct, frozen=True):
    """Facts that show whether captures are from one host, and from one job.

    They are never written to a trace.
    """

    host: str | None = None
    """The SHA-256 of the host's name."""
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The ranks of each process group, by the group's name."""

    @classmethod
    def on(
        cls,
        host: str | None,
        groups: Mapping[str, tuple[int, ...]] | None = None,
    ) -> HostFacts:
        """Return facts with the digest of a host's name; the name itself is not stored."""
        return cls(
            None if host is None else hashlib.sha256(host.encode()).hexdigest(),
            groups or {},
        )


class Capture(Struct):
    """Holds the tables of one source of one rank, without the column `rank`."""

    kind: str
    source: SourceFile
    tables: dict[str, pl.DataFrame]
    """The tables that the source filled, in a form that `Table.conform` accepts."""
    producer: str
    versions: dict[str, str] = field(default_factory=dict)
    rank: int | None = None
    """The rank that the source states, or None."""
    rank_origin: str = "input order"
    time_base: str = "trace_start"
    time_precision_ns: int = 1
    complete: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """The reason why a table is empty, by table."""
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    stored: dict[str, Stored] = field(default_factory=dict)
    """Tables that are already in files."""
    host_facts: HostFacts = field(default_factory=HostFacts)

    def table(self, name: str) -> pl.DataFrame | Stored | None:
        """Return the table's rows, in a file or in memory.

        Return None if the source did not fill the table.
        """
        return self.stored.get(name, self.tables.get(name))


class Manifest(Struct):
    """The content of manifest.json: where a trace came from and how complete it is.

    It never contains environment variables, host or user names.
    """

    schema_version: int = SCHEMA_VERSION
    tracelens_version: str = ""
    sources: list[dict[str, Any]] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    time_base: str = "trace_start"
    time_precision_ns: int = 1
    complete: bool = True
    n_rows: dict[str, dict[str, int]] = field(default_factory=dict)
    """The number of rows by table and rank, so that a missing file is noticed."""
    n_names: dict[str, dict[str, int]] = field(default_factory=dict)
    """The number of distinct names by table and rank, for tables with names."""
    attempts: dict[str, str] = field(default_factory=dict)
    """The word in the names of a rank's files, such as `abc` in `part-abc.parquet`.

    A key is "RANK", or "TABLE/RANK" for one table of a rank. Without either key, the word is 0.
    """
    dropped: list[dict[str, Any]] = field(default_factory=list)
    empty_tables: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, Any] = field(default_factory=dict)
    """The differences of the ranks' clocks.

    - `basis`: the method, such as "estimated".
    - `origin_ns`: the time on the job's clock for which the differences are given.
    - `ranks`: the clock of each rank. `CLOCKS` in `derive.ranks.clocks` explains the columns.

    If the clocks are not "estimated", only `basis` is present.
    """

    def unprofiled_step_ns(self, rank: int) -> int | None:
        """Return the mean time of a rank's steps without the profiler, in nanoseconds.

        - A live capture times consecutive steps before or after the profiled steps.
        - A step ends when host and device have finished the step's work. The next step begins at
          that moment.
        - After the profiler has stopped, CUPTI may stay loaded and delay API calls. This delay is
          subtracted.
        - Unusually long steps do not count: see `long_steps`.

        Return None if no step was timed without the profiler. Also return None if the profiled
        steps were not slower.
        """
        return self.unprofiled_steps_ns().get(rank)

    def unprofiled_steps_ns(self) -> dict[int, int]:
        """Return `unprofiled_step_ns` by rank; ranks for which it is None are left out."""
        steps = dict[int, int]()
        for source in self.sources:
            rank, step_ns = source.get("rank"), _unprofiled_step_ns(source)
            if isinstance(rank, int) and step_ns is not None:
                # If several sources of a rank record this time, the first is used.
                steps.setdefault(rank, step_ns)
        return steps

    def long_steps(self, rank: int) -> tuple[int, int, int] | None:
        """Return `n_long`, `n_all` and `long_ns` of the steps timed without the profiler.

        - `n_long`: the number of unusually long steps, for example with a checkpoint or an
          evaluation.
        - `n_all`: the number of all steps.
        - `long_ns`: the mean time of a long step.

        Return None if no step was unusually long.
        """
        for source in self.sources:
            settings = source.get("settings")
            if source.get("rank") == rank and isinstance(settings, dict):
                plain = settings.get("unprofiled_step_ns")
                names = ("n", "n_long", "long_ns")
                if isinstance(plain, dict) and all(isinstance(plain.get(k), int) for k in names):
                    n, n_long, long_ns = (plain[name] for name in names)
                    return n_long, n + n_long, long_ns
        return None

    def key_of(self, table: str, rank: int | str) -> str:
        """Return the path of the Parquet file of a table and rank, relative to the trace."""
        attempt = self.attempts.get(f"{table}/{rank}", self.attempts.get(str(rank), "0"))
        return key_of(table, rank, attempt)

    def of_rank(self, rank: int) -> Manifest:
        """Return the manifest limited to one rank; the rank's files keep their names."""
        key = str(rank)
        return replace(
            self,
            ranks=[rank],
            sources=[source for source in self.sources if source.get("rank") == rank],
            dropped=[source for source in self.dropped if source.get("rank") == rank],
            n_rows=_of_key(self.n_rows, key),
            n_names=_of_key(self.n_names, key),
            attempts={key: "0", **self.attempts},
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the content of manifest.json as a dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Manifest:
        """Return the manifest in a parsed manifest.json.

        Keys of later minor versions are ignored. Raises ValueError if a value has the wrong form.
        """
        try:
            manifest = msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
        if not all(map(is_rank, manifest.ranks)):
            raise ValueError(f"ranks should be whole numbers {_RANKS}")
        for source in manifest.sources:
            for key, value in source.items():
                if key in _SOURCE_TYPES and type(value) is not _SOURCE_TYPES[key]:
                    raise ValueError(f"{key} of a source should be {_SOURCE_TYPES[key].__name__}")
        for key, by_table in (("n_rows", manifest.n_rows), ("n_names", manifest.n_names)):
            for counts in by_table.values():
                if any(count < 0 for count in counts.values()):
                    raise ValueError(f"{key} should be whole numbers by table and rank")
                if any(rank_of(rank) is None for rank in counts):
                    raise ValueError(f"{key} should be by table and rank, ranks {_RANKS}")
        if not all(_ATTEMPT.fullmatch(word) for word in manifest.attempts.values()):
            raise ValueError("attempts should be words of letters and digits")
        _check_values([getattr(manifest, field.name) for field in fields(manifest)])
        return manifest


def _of_key(
    by_table: dict[str, dict[str, int]],
    key: str,
) -> dict[str, dict[str, int]]:
    """Return the counts of one rank; tables without a count for this rank are left out."""
    return {table: {key: counts[key]} for table, counts in by_table.items() if key in counts}


def key_of(table: str, rank: int | str, attempt: str) -> str:
    """Return the path of the Parquet file of a table and rank, relative to the trace.

    `attempt` is a word that differs between attempts to write the rank.
    """
    return f"{table}/rank={rank}/part-{attempt}.parquet"


def no_manifest(folder: str, error: Exception) -> SourceError:
    """Return the error for a folder that is no trace, because it has no readable manifest."""
    return SourceError(
        f"{folder}: expected a trace directory with a manifest.json, found none that can be read "
        f"({first_line(error)}); make one with tracelens collect files"
    )


def manifest_of(content: bytes, folder: str) -> Manifest:
    """Read and check a trace's manifest.json.

    Raises SourceError if the manifest is damaged. Raises SchemaError if a newer version of
    tracelens wrote the manifest.
    """
    file = f"{folder}/manifest.json"
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise no_manifest(folder, error) from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int:
        raise SourceError(
            f"{file}: expected the key schema_version, found none; collect the trace again"
        )
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{folder}: schema version {version}, this tracelens reads up to {SCHEMA_VERSION}; "
            "install a newer tracelens"
        )
    try:
        return Manifest.from_dict(data)
    except ValueError as error:
        raise SourceError(f"{file}: is damaged: {error}; collect the trace again") from error


def is_rank(value: object) -> bool:
    """Return whether a value can be a rank: an integer from 0 on, below 2^31."""
    return type(value) is int and 0 <= value < 2**31


def rank_of(digits: str) -> int | None:
    """Parse a rank from a folder's name or a key of the manifest; return None for other texts."""
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(2**31))
    return (
        int(digits) if is_number and str(int(digits)) == digits and is_rank(int(digits)) else None
    )


def _check_values(known: object) -> None:
    """Raise ValueError if parsed JSON has integers of more than 64 bits or invalid Unicode."""
    left = [known]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str):
            value.encode()
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("a number has more than 64 bits")


_ATTEMPT = re.compile(r"[0-9A-Za-z]{1,64}")
_RANKS = "from 0 on, below 2^31"
_SOURCE_TYPES = {
    "name": str,
    "kind": str,
    "size_bytes": int,
    "sha256": str,
    "rank": int,
    "rank_origin": str,
    "producer": str,
    "versions": dict,
    "settings": dict,
    "complete": bool,
}


def _unprofiled_step_ns(source: Mapping[str, Any]) -> int | None:
    """Return the mean time of one source's steps without the profiler, in nanoseconds.

    Return None in the same cases as `Manifest.unprofiled_step_ns`.
    """
    settings = source.get("settings")
    if not isinstance(settings, dict):
        return None
    plain, profiled = (settings.get(f"{word}_step_ns") for word in ("unprofiled", "profiled"))
    if not isinstance(plain, dict) or not isinstance(profiled, dict):
        return None
    # Captures of earlier versions have no "turn"; their median is used.
    step = plain.get("mean" if "turn" in plain else "median")
    cost = profiled.get("mean")
    if isinstance(step, int) and isinstance(cost, int) and 0 < step < cost:
        return step
    return None
