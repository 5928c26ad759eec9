"""List the targets of tracelens, and judge each by the rows of one run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import suite_compile, suite_gdb, suite_hta, suite_live, suite_ranks, suites
from benchmarks.results import Results, Row, Target

NOT_MEASURED = "not measured in this run"
COMPARED_MB = 530
"""The largest trace that is compared with other tools.

It is a little larger than 500 MB because traces are made of whole repetitions.
"""


def judge(results: Results) -> list[Target]:
    """Judge every target on the largest input that was measured for it."""
    costs = (_masking, _attribution, _live, _gdb)
    parts = (
        _peers,
        _twin,
        _flat,
        _files_and_layouts,
        _nesting,
        _replay,
        _nsys,
        _analyses,
        _page,
        *costs,
        _ranks,
    )
    return [target for part in parts for target in part(results)]


def _peers(results: Results) -> Iterator[Target]:
    for form in ("plain", "gzip"):
        ours = _largest(results, suites.COLLECT, form, suites.HTA)
        for peer, at_least, words in (
            (suites.HTA, 12, "at least 12 times as fast as HTA's TraceAnalysis (goal: 20)"),
            (suites.ORJSON, 1, "no slower than orjson.loads alone, garbage collector off"),
            (suites.ORJSON_GC, 1, "no slower than orjson.loads alone, garbage collector on"),
        ):
            theirs = ours and results.find("collect torch", peer, ours.input)
            target = f"collect torch of a 500 MB trace, {form}: {words}"
            if ours is None or theirs is None:
                yield Target(target, NOT_MEASURED, None)
                continue
            ratio = theirs.median_s / ours.median_s
            measured = (
                f"{ratio:.2f} times ({ours.median_s:.2f} s against {theirs.median_s:.2f} s,"
                f" {ours.input})"
            )
            yield Target(target, measured, ratio >= at_least, _is_full(ours))


def _twin(results: Results) -> Iterator[Target]:
    target = "collect torch: without the native library at most 3 times as slow"
    row = _largest(results, suites.PLAIN_PYTHON, "plain")
    ours = row and results.find("collect torch", suites.COLLECT, row.input)
    if row is None or ours is None:
        why = next(
            (why for what, why in results.left_out if what == suites.PLAIN_PYTHON),
            NOT_MEASURED,
        )
        yield Target(target, why, None)
    else:
        yield _at_most(target, row, ours, 3)


def _flat(results: Results) -> Iterator[Target]:
    collects = [
        row
        for row in results.rows
        if row.group == "collect torch" and row.contender == suites.COLLECT
    ]
    for name, in_reach in (
        ("500 MB", collects),
        ("2000 MB", [r for r in collects if r.input.startswith("2000 MB")]),
    ):
        target = f"collect torch: at most 600 MB of memory at {name} (goal: 450)"
        rows = [row for row in in_reach if row.input.startswith(name)] or in_reach
        if not rows:
            yield Target(target, NOT_MEASURED, None)
            continue
        row = max(
            rows,
            key=lambda r: (r.size, r.median_peak_mb),
        )
        is_full = row.input.startswith(name)
        yield Target(
            target, f"{row.median_peak_mb:.0f} MB ({row.input})", row.median_peak_mb <= 600, is_full
        )
    target = "collect torch: 2 GB within 4.4 times of 500 MB"
    small, large = (
        results.find("collect torch", suites.COLLECT, f"{size} MB plain") for size in (500, 2000)
    )
    yield _at_most(target, large, small, 4.4)


def _masking(results: Results) -> Iterator[Target]:
    row = results.find(suites.MASKING, suites.MASKING)
    target = "masking secrets in names and texts at most 3 % of collect torch's processor time"
    if row is None:
        yield Target(target, NOT_MEASURED, None)
    else:
        share = float(row.said["masked_frac"])
        yield Target(
            target,
            f"{share:.1%} of {row.median_s:.2f} s ({row.input})",
            share <= 0.03,
            _is_full(row),
        )


def _files_and_layouts(results: Results) -> Iterator[Target]:
    of_layouts = [row for row in results.rows if row.group == "layouts"]
    target = "collect torch: the four layouts within twice of each other"
    slow, fast = (
        max(of_layouts, key=lambda r: r.median_s, default=None),
        min(of_layouts, key=lambda r: r.median_s, default=None),
    )
    yield _at_most(target, slow, fast, 2)
    rows = [row for row in results.rows if row.group == "several files"]
    target = "collect torch: several files in parallel processes under a stated memory limit"
    if len(rows) == 2:
        measured = (
            f"4 files take {_ratio(rows[1], rows[0]):.2f} times one, {rows[1].median_peak_mb:.0f}"
            " MB together"
        )
        yield Target(target, measured, None)
    else:
        yield Target(target, NOT_MEASURED, None)


def _nesting(results: Results) -> Iterator[Target]:
    row = results.find("nesting", "nest")
    target = "nesting 5 M spans of one thread in at most 0.3 s"
    yield _within(target, row, 0.3)


def _replay(results: Results) -> Iterator[Target]:
    row = results.find(suites.REPLAY, suites.REPLAY)
    yield _within("replaying a step of 20,000 events in at most 50 ms", row, 0.05)
    row = results.find("analysis", "sensitivity", "1 M kernels")
    yield _within("sensitivity of 1 M kernels in at most 1 s", row, 1.0)


def _nsys(results: Results) -> Iterator[Target]:
    for form, peer in (("SQLite", suites.CONNECTORX), ("parquetdir", suites.POLARS)):
        group = f"collect nsys, {form}"
        ours = results.find(group, suites.COLLECT_NSYS)
        theirs = ours and results.find(group, peer, ours.input)
        target = f"{group} of 5 M kernels within twice of {peer}, both from start to exit"
        if ours is None or theirs is None:
            yield Target(target, NOT_MEASURED, None)
            continue
        ratio = ours.median_process_s / theirs.median_process_s
        measured = (
            f"{ratio:.2f} times ({ours.median_process_s:.2f} s against"
            f" {theirs.median_process_s:.2f} s, {ours.input}); {_ratio(ours, theirs):.2f} times the"
            f" call alone ({theirs.median_s:.2f} s)"
        )
        yield Target(target, measured, ratio <= 2, _is_full(ours))


def _analyses(results: Results) -> Iterator[Target]:
    rows = [row for row in results.rows if row.group == "analysis"]
    largest = max((row.size for row in rows), default=0)
    for row in rows:
        if row.size == largest:
            yield _within(f"tl.open and {row.contender} of 1 M kernels in under 0.5 s", row, 0.5)
    rows = [row for row in results.rows if row.group == "report" and row.size <= COMPARED_MB]
    yield _within(
        "the whole text report of a 500 MB trace in under 3 s",
        max(rows, key=lambda r: r.size, default=None),
        3,
    )


def _page(results: Results) -> Iterator[Target]:
    row = results.find("page", suites.PAGE)
    yield _within(
        "the page of 5 M kernels written in under 15 s, trace opened and analysed", row, 15
    )
    yield _small(
        "the page of 5 M kernels at most 5 MB",
        row,
        is_full=row is not None and _is_full(row),
    )


def _small(target: str, row: Row | None, *, is_full: bool) -> Target:
    if row is None:
        return Target(target, NOT_MEASURED, None)
    page_mb = float(row.said["page_mb"])
    return Target(target, f"{page_mb:.1f} MB ({row.input})", page_mb <= 5, is_full)


def _attribution(results: Results) -> Iterator[Target]:
    """Judge what attributing kernels costs, in recording and in analysis.

    See issue 5, "Attribution under torch.compile".
    """
    ours, bare = (
        results.find(suite_compile.GROUP, name)
        for name in (suite_compile.RECORDED, suite_compile.PLAIN)
    )
    yield _at_most(
        "torch.compile with provenance recorded at most 1.1 times as long as without",
        ours,
        bare,
        1.1,
    )
    rows = [
        row
        for row in results.rows
        if row.group == "analysis" and row.contender == "layer_attribution"
    ]
    largest = max(rows, key=lambda row: row.size, default=None)
    yield _within("attribution of 1 M kernels in under a second", largest, 1)


def _live(results: Results) -> Iterator[Target]:
    """Judge what live capture costs (issue 4, "Capture")."""
    ours, bare = (
        results.find(suite_live.GROUP, name) for name in (suite_live.COLLECT, suite_live.BARE)
    )
    yield _at_most(
        "a loop under collect torch at most 1.1 times as long as with the bare profiler",
        ours,
        bare,
        1.1,
    )
    sampler = results.find("NVML", suite_live.SAMPLER)
    target = "the NVML sampler at most 1 % of a core at 10 Hz"
    if sampler is not None:
        share = float(sampler.said["cpu_frac"])
        yield Target(target, f"{share:.2%} of a core", share <= 0.01)
        return
    shares = suite_live.captured_shares()
    measured = (
        f"no GPU here; at most {max(shares):.2%} of a core in the {len(shares)} captures in"
        " samples/, on an H200"
    )
    yield Target(target, measured, max(shares) <= 0.01)


def _gdb(results: Results) -> Iterator[Target]:
    """Judge what a stop under gdb costs (issue 4, "Capture")."""
    row = results.find(suite_gdb.GROUP, suite_gdb.HIT)
    target = "a stop under gdb with Python's frames merged in at most 100 ms after the first"
    if row is None:
        yield Target(target, NOT_MEASURED, None)
        return
    measured = (
        f"{row.median_s * 1e3:.0f} ms (a stack of {row.said['depth_median']:g} frames, {row.input})"
    )
    yield Target(target, measured, row.median_s <= 0.1)


def _ranks(results: Results) -> Iterator[Target]:
    """Judge the time and memory that many ranks take."""
    rows = [row for row in results.rows if row.group == suite_ranks.GROUP]
    ours = next(
        (row for row in rows if row.contender == suite_ranks.COLLECT),
        None,
    )
    theirs = results.find(suite_hta.GROUP, suite_hta.PARSED, f"{suite_ranks.COMPARED} ranks")
    yield _at_most("collect torch of 64 ranks no slower than HTA's TraceAnalysis", ours, theirs, 1)
    job = max(
        (row for row in rows if row.contender == suite_ranks.DRIVER),
        key=lambda row: row.size,
        default=None,
    )
    target = "collecting 1,024 ranks takes less than 500 MB in the driver"
    if job is None:
        yield Target(target, NOT_MEASURED, None)
    else:
        driver_mb = float(job.said["driver_mb"])
        yield Target(
            target, f"{driver_mb:.0f} MB ({job.input})", driver_mb < 500, _of_all_ranks(job)
        )
    for name in suite_ranks.SECTIONS:
        row = results.find(suite_ranks.ASKED, name)
        target = f"{name} of 1,024 ranks in under 30 s and 1.5 GB, on two cores"
        if row is None:
            yield Target(target, NOT_MEASURED, None)
            continue
        measured = f"{row.median_s:.1f} s, {row.median_peak_mb:.0f} MB ({row.input})"
        yield Target(
            target,
            measured,
            row.median_s < 30 and row.median_peak_mb < 1500,
            _of_all_ranks(row),
        )
    row = results.find(suite_ranks.ASKED, suite_ranks.PAGE)
    yield _small(
        "the page of 1,024 ranks at most 5 MB",
        row,
        is_full=row is not None and _of_all_ranks(row),
    )


def _of_all_ranks(row: Row) -> bool:
    return row.input == f"{suite_ranks.MANY:,} ranks"


def _largest(
    results: Results,
    contender: str,
    form: str,
    beside: str | None = None,
) -> Row | None:
    """Return a contender's row of the largest input of this form up to COMPARED_MB.

    The contender `beside`, if given, must have run on the input, too.
    """
    inputs = [
        row
        for row in results.rows
        if row.contender == contender and row.input.endswith(form) and row.size <= COMPARED_MB
        if beside is None or results.find("collect torch", beside, row.input) is not None
    ]
    return max(inputs, key=lambda row: row.size, default=None)


def _ratio(row: Row, other: Row) -> float:
    return row.median_s / other.median_s


def _is_full(row: Row) -> bool:
    """Return whether the input is as large as the group's targets ask."""
    asked = {
        "collect torch": 470,
        suites.MASKING: 470,
        "report": 470,
        "analysis": 1,
        "page": 5,
        "nesting": 5,
        "live capture": 30,
    }
    return row.size >= asked.get(
        row.group,
        5 if row.group.startswith("collect nsys") else 0,
    )


def _at_most(
    target: str,
    row: Row | None,
    other: Row | None,
    limit: float,
) -> Target:
    if row is None or other is None:
        return Target(target, NOT_MEASURED, None)
    ratio = _ratio(row, other)
    where = row.input if row.input == other.input else f"{row.input} against {other.input}"
    measured = f"{ratio:.2f} times ({row.median_s:.2f} s against {other.median_s:.2f} s, {where})"
    return Target(target, measured, ratio <= limit, _is_full(row))


def _within(target: str, row: Row | None, limit_s: float) -> Target:
    if row is None:
        return Target(target, NOT_MEASURED, None)
    return Target(
        target, f"{row.median_s:.2f} s ({row.input})", row.median_s <= limit_s, _is_full(row)
    )
