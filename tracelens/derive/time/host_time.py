"""Read each rank's API calls and the activities of its host threads."""

from collections.abc import Iterable

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.filling import gathered
from tracelens.derive.columns.interval_lookup import during, innermost_by_process
from tracelens.derive.columns.lookup import numbered, rows_of, small_ranks_together
from tracelens.derive.columns.per_unique import distinct_rows, each_pair_once, matching
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.call_path import UNINFORMATIVE
from tracelens.derive.time.host_tracks import (
    HOST,
    PROFILER_CODE,
    UNKNOWN,
    Thread,
    Tracks,
    tracks_by_rank,
)
from tracelens.derive.time.launch_paths import PLACED, below_python
from tracelens.derive.time.thread_axis import LAUNCHES
from tracelens.schemas import DEVICE_WORK
from tracelens.schemas.host import CAUSES
from tracelens.trace import Trace

_CALLS = (
    "rank",
    "api_call_id",
    "start_ns",
    "duration_ns",
    "process_id",
    "thread_id",
    "site_id",
    "api",
)
_REGION = ("region", pl.Categorical)
_NO_REGION = rf"^## Call CompiledFxGraph|{UNINFORMATIVE}"
"""Pattern for annotations without meaning to users: marks of steps, hashes of compiled graphs."""
_KEPT: dict[str, type[pl.DataType]] = {"returned": pl.Int64, "thread": pl.Int32, "place": pl.Int32}
_THREAD = ["rank", "process_id", "thread_id"]


class HostTime(Struct, frozen=True):
    """Holds one rank's API calls and the activities of its host threads."""

    calls: pl.DataFrame
    """One row per API call, with `returned` (its end), `thread` and `place`.

    The last two are indices of `threads` and `places`.
    """
    ids: pl.Series | None
    """Ids of the calls, None if these are row numbers."""
    places: list[str]
    """Call paths of launches. Other calls have their outermost op, else their API function."""
    threads: list[Thread]
    mains: dict[int | None, Thread]
    """Main thread of each process, the thread with the most active time first."""
    tracks: Tracks
    """Activities that explain delays of each thread.

    Causes and call paths are indices of IDLE_KINDS and `places`.
    """

    @property
    def unrecorded(self) -> int:
        """The cause given to time in which no activity is known."""
        return HOST if self.mains else UNKNOWN


def host_times(
    trace: Trace,
    activities: pl.DataFrame,
    ranks: Iterable[int] | None = None,
    *,
    names_launches: bool = True,
) -> dict[int, HostTime]:
    """Return, by rank, the hosts of these ranks, or of all ranks with work on a device.

    Without `names_launches`, launches get the name of their op, not of the code around it.
    """
    sites = trace.select("sites", "rank", "site_id", "op")
    if ranks is None:
        ranks = {rank for name in DEVICE_WORK for rank in trace.heights(name)}
    launches = launch_places(trace) if names_launches else pl.DataFrame(schema=PLACED)
    reading = _Reading(ranks, sites, launches)
    # Read in batches, and keep only the needed columns.
    for calls in trace.chunks("api_calls", *_CALLS):
        reading.take(calls)
    return reading.finished(
        activities,
        None if reading.are_rows else trace.select("api_calls", "rank", "api_call_id"),
    )


def host_of_calls(
    trace: Trace,
    activities: pl.DataFrame,
    rank: int,
    ids: pl.Series,
) -> HostTime:
    """Return a rank's host with only the calls of these ids."""
    sites = trace.select(
        "sites",
        "rank",
        "site_id",
        "op",
        rank=rank,
    )
    reading = _Reading([rank], sites, launch_places(trace))
    api_call_id = pl.col("api_call_id")
    in_range = api_call_id.is_between(ids.min(), ids.max())
    is_wanted = api_call_id.is_in(ids.unique().implode())
    near = in_range & is_wanted
    calls = trace.select(
        "api_calls",
        *_CALLS,
        where=near,
        rank=rank,
    )
    reading.take(calls)
    return reading.finished(activities, calls)[rank]


class _Reading:
    """Reads the calls of several ranks' hosts.

    A rank's call paths (`places`) and threads are numbered in the order in which they appear.
    """

    def __init__(
        self,
        ranks: Iterable[int],
        sites: pl.DataFrame,
        launches: pl.DataFrame,
    ) -> None:
        self.places: dict[int, dict[str, int]] = {rank: {} for rank in sorted(ranks)}
        self.threads: dict[int, dict[Thread, int]] = {rank: {} for rank in self.places}
        self.n_calls = dict.fromkeys(self.places, 0)
        self.parts = [pl.DataFrame(schema=_KEPT)]
        self.are_rows = True
        self.sites = self._of_ranks(sites)
        self.ops = self.numbers(self.sites["rank"], self.sites["op"])
        self.launches = self._of_ranks(launches)
        self.of_launches = self.numbers(
            self.launches["rank"],
            self.launches["what"],
        )

    def _of_ranks(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the ranks that are read, sorted by rank."""
        if not self.places.keys() >= {*frame["rank"].unique()}:
            is_of_ranks = pl.col("rank").is_in([*self.places])
            frame = frame.filter(is_of_ranks)
        return frame if frame["rank"].is_sorted() else frame.sort("rank", maintain_order=True)

    def numbers(self, ranks: pl.Series, names: pl.Series) -> pl.Series:
        """Return the number of each name among all names of its rank, -1 for None.

        `self.places` has the numbers. New names are added to it.
        """
        names = names.cast(pl.Categorical)
        codes = names.to_physical()
        highest = codes.max()
        if isinstance(highest, int) and ranks.min() != ranks.max():
            rank_offsets = ranks.cast(pl.Int64) * (1 + highest)
            codes = codes.cast(pl.Int64) + rank_offsets
        rows, like = distinct_rows(codes)
        numbers = []
        texts = gathered(names, rows).cast(pl.String)
        for rank, text in zip(gathered(ranks, rows), texts, strict=True):
            numbers_of_rank = self.places[rank]
            numbers.append(
                -1 if text is None else numbers_of_rank.setdefault(text, len(numbers_of_rank))
            )
        return gathered(pl.Series(numbers, dtype=pl.Int32), like)

    def take(self, calls: pl.DataFrame) -> None:
        """Add the next calls. All calls of a rank are added before calls of the next rank."""
        calls = self._of_ranks(calls)
        self.are_rows &= (calls["api_call_id"] == self._next_rows(calls["rank"])).all()
        # Calls of one thread mostly follow each other, so the threads of such runs are numbered.
        thread_of_call = pl.struct(_THREAD)
        run = calls.select(thread_of_call.rle_id()).to_series()
        runs = calls.filter(run.ne_missing(run.shift()))
        thread_of_run, distinct_threads = numbered(runs, _THREAD)
        thread_numbers = [
            self.threads[rank].setdefault(
                (process, thread_id),
                len(self.threads[rank]),
            )
            for rank, process, thread_id in distinct_threads.iter_rows()
        ]
        place = self._places_of(calls)
        lacks_place = (place.fill_null(-1) < 0).arg_true()
        apis = self.numbers(
            calls["rank"].gather(lacks_place),
            calls["api"].gather(lacks_place),
        )
        self.parts.append(
            calls.select(
                returned=pl.col("start_ns") + pl.col("duration_ns"),
                thread=pl.Series(thread_numbers, dtype=pl.Int32).gather(thread_of_run).gather(run),
                place=place.scatter(lacks_place, apis),
            )
        )

    def _next_rows(self, ranks: pl.Series) -> pl.Series:
        """Return the row number of each call among all calls of its rank, and count the calls."""
        rows = [pl.Series([], dtype=pl.Int64)]
        for rank, n in ranks.rle().struct.unnest().select("value", "len").iter_rows():
            first = self.n_calls[rank]
            self.n_calls[rank] = first + n
            rows.append(
                pl.int_range(
                    first,
                    first + n,
                    eager=True,
                )
            )
        return pl.concat(rows)

    def _places_of(self, calls: pl.DataFrame) -> pl.Series:
        """Return the index in `self.places` of each call's path, or of its op if it has no path.

        The index is None or -1 if neither is known.
        """
        sites = calls.select("rank", "site_id")
        op = self.ops.gather(rows_of(self.sites["rank"], self.sites["site_id"], sites))
        if self.launches.is_empty():
            return op
        ids = calls.select("rank", "api_call_id")
        launch = rows_of(
            self.launches["rank"],
            self.launches["api_call_id"],
            ids,
        )
        return pl.select(pl.coalesce(self.of_launches.gather(launch), op)).to_series()

    def finished(self, activities: pl.DataFrame, ids: pl.DataFrame | None) -> dict[int, HostTime]:
        """Return the hosts with their activities, after the last `take`.

        `ids` has the id of each call that was taken, None if the ids are row numbers.
        """
        segments = self._segments(self._of_ranks(activities))
        length = pl.col("end_ns") - pl.col("start_ns")
        by_thread = segments.group_by(_THREAD, maintain_order=True).agg(ns=length.sum())
        active_threads = by_thread.with_row_index("thread_number")
        mains = self._main_threads(active_threads)
        with_threads = segments.join(
            active_threads,
            on=_THREAD,
            nulls_equal=True,
        )
        tracks = tracks_by_rank(with_threads, active_threads, mains, self.threads)
        calls = pl.concat(self.parts, rechunk=True)
        ids_of_calls = None if ids is None else self._of_ranks(ids)["api_call_id"]
        first_call = 0
        hosts = {}
        for rank, n in self.n_calls.items():
            hosts[rank] = HostTime(
                calls.slice(first_call, n),
                None if ids_of_calls is None else ids_of_calls.slice(first_call, n),
                [*self.places[rank]],
                [*self.threads[rank]],
                mains[rank],
                tracks[rank],
            )
            first_call += n
        return hosts

    def _segments(self, activities: pl.DataFrame) -> pl.DataFrame:
        """Return the activities with end_ns, and with codes instead of causes and call paths."""
        cause = pl.col("cause").cast(pl.Enum(CAUSES)).to_physical().cast(pl.UInt8)
        is_of_profiler = pl.col("what").eq_missing(pl.lit(PROFILER))
        of_profiler = pl.lit(PROFILER_CODE, pl.UInt8)
        return activities.select(
            *_THREAD,
            "start_ns",
            end_ns=pl.col("start_ns") + pl.col("duration_ns"),
            cause=pl.when(is_of_profiler).then(of_profiler).otherwise(cause),
            place=self.numbers(activities["rank"], activities["what"]),
        )

    def _main_threads(self, active_threads: pl.DataFrame) -> dict[int, dict[int | None, Thread]]:
        """Return, by rank and process, the thread whose activities take the most time."""
        mains: dict[int, dict[int | None, Thread]] = {rank: {} for rank in self.places}
        by_time = active_threads.sort(
            "ns",
            *_THREAD,
            descending=[True, False, False, False],
        )
        for rank, process, thread in by_time.select(_THREAD).iter_rows():
            mains[rank].setdefault(process, (process, thread))
        # A main thread that makes no call gets a number here.
        for rank, threads in self.threads.items():
            for main in mains[rank].values():
                threads.setdefault(main, len(threads))
        return mains


def launch_places(trace: Trace) -> pl.DataFrame:
    """Return the call path of each launch inside a Python function or a region that users named.

    Columns: rank, api_call_id and what. Other calls have no row.
    """
    return trace.derived(_launch_places)


def _launch_places(trace: Trace) -> pl.DataFrame:
    is_of_torch = any(source.get("kind") == "torch" for source in trace.manifest.sources)
    # Columns of millions of spans are released group by group.
    reading = trace.uncached()
    parts = [pl.DataFrame(schema=PLACED)]
    for ranks in small_ranks_together(trace.heights("spans")):
        kinds = reading.select(
            "spans",
            "rank",
            "kind",
            rank=ranks,
        )
        is_python = kinds["kind"] == "python"
        has_python = {*kinds["rank"].filter(is_python).unique()}
        parts += [_in_regions(reading, rank) for rank in ranks if rank not in has_python]
        if has_python:
            parts += below_python(
                reading,
                has_python,
                is_of_torch=is_of_torch,
            )
    return pl.concat(parts)


def _regions(trace: Trace, rank: int) -> pl.DataFrame:
    """List a rank's annotations that name regions.

    Columns: thread, name, times, end_ns, and `region` (the name without `##`).
    """
    is_annotation = pl.col("kind").is_in(["annotation", "nvtx"])
    columns = (*_THREAD, "name", "start_ns", "duration_ns")
    spans = trace.select(
        "spans",
        *columns,
        where=is_annotation,
        rank=rank,
    )
    (names_no_region,) = matching(spans["name"], _NO_REGION)
    named = spans.filter(~names_no_region)
    name = pl.col("name").cast(pl.String)
    region = name.str.replace(r"^## ?(.+?) ?##$", "${1}")
    return named.with_columns(
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
        region=region.cast(pl.Categorical),
    )


def _in_regions(trace: Trace, rank: int) -> pl.DataFrame:
    """Name a rank's launches by region and op, for example `optimizer > aten::add_`.

    A region is the innermost annotation open on the launching thread.
    """
    places = pl.DataFrame(schema=PLACED)
    regions = _regions(trace, rank)
    if regions.is_empty():
        return places
    opening_threads = regions["thread_id"].unique()
    opens_regions = pl.col("thread_id").is_in(opening_threads.implode())
    regions_of_threads = regions.with_columns(process_id="thread_id")
    by_thread = innermost_by_process(regions_of_threads, "region")
    by_process = innermost_by_process(regions, "region")
    ops = trace.select(
        "sites",
        "rank",
        "site_id",
        "op",
        rank=rank,
    )
    columns = (*_THREAD, "api_call_id", "site_id", "start_ns", "kind")
    is_launch = pl.col("kind").is_in(LAUNCHES)
    for calls in trace.chunks("api_calls", *columns, rank=rank):
        launches = calls.filter(is_launch)
        of_thread = _with_region(launches.filter(opens_regions), by_thread, "thread_id")
        # A thread without annotations, such as autograd's, works for its process's region.
        of_process = _with_region(launches.filter(~opens_regions), by_process, "process_id")
        places.extend(_region_and_op(pl.concat([of_thread, of_process]), ops))
    return places


def _region_and_op(launches: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Return launches in regions with region and op as their call path, in PLACED columns."""
    with_ops = launches.join(
        ops,
        on=["rank", "site_id"],
        how="left",
        maintain_order="left",
    )
    region_and_op = pl.concat_str(
        pl.nth(0),
        pl.nth(1),
        separator=" > ",
        ignore_nulls=True,
    )
    what = each_pair_once(
        with_ops["region"],
        with_ops["op"],
        lambda pairs: pairs.select(what=region_and_op),
    )
    places = with_ops.select("rank", "api_call_id", what.to_series())
    return places.cast(PLACED)  # type: ignore[arg-type]


def _with_region(calls: pl.DataFrame, regions: pl.DataFrame, owner: str) -> pl.DataFrame:
    """Return the calls in regions: rank, api_call_id, site_id and region.

    `owner` is thread_id or process_id: the call and its region agree in this column. Regions are
    disjoint, and have the owner as process_id.
    """
    labelled = during(calls.with_columns(process_id=owner), regions, *_REGION)
    in_region = labelled.drop_nulls("region")
    return in_region.select("rank", "api_call_id", "site_id", "region")
