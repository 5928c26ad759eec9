"""Name call paths in terms that users know: Python lines, annotations and ops."""

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.filling import filled, gathered
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.call_tree import count_among, nearest_row, outermost, outermost_row
from tracelens.derive.events.steps import FAMILIES
from tracelens.derive.time.code_owner import LIBRARY, OWN_HOOKS, PROGRAM, owner, package
from tracelens.derive.time.host_waits import WAITS

LOADER = r"DataLoader|_next_data"
"""Pattern for names of spans from a data loader's own code."""
_LOOKS = (
    r"^<built-in (?:function|method) (?:isinstance|issubclass|callable|len|[gs]etattr|hasattr|iter"
    r"|next|exec|eval|__enter__|__exit__|__build_class__)\b"
)
"""Pattern for builtins that take time only in the functions that they call.

torch's profiler misses the end of a builtin that raises, so its recorded time is too long.
"""
UNINFORMATIVE = (
    "|".join(f"(?:{words})" for words in FAMILIES.values())
    + rf"|{OWN_HOOKS}|^ProfilerPart#|^PyTorch Profiler|^nn\.Module: |{_LOOKS}"
)
_BUILTIN = r"^<built-in (?:method|function) ([0-9A-Za-z_.]+).*$"
_LOADER_MARK = r"^enumerate\(DataLoader\)#(_[0-9A-Za-z_]+)\.__next__$"
_BETWEEN_HASHES = r"^## ?(.+?) ?##$"
_LONGEST = 100

_PATH = ("annotation", "caller", "loader", "own", "called", "leaf")
"""The parts of a call path, outermost first. Each part is the row of a span."""


class CallPaths(Struct, frozen=True):
    """Holds the call paths of some spans, which are given by row number.

    A path names these spans, from the outside in:

    - the innermost annotation
    - the function that asks a data loader for data, and the loader
    - the innermost function of the program's own code
    - the outermost op below this function, or the called function if there is no op
    - inside the called function, the function that waits

    For a span without own code around it, the outermost installed package counts as own code.

    The column `place` of `frame` is the row of the innermost of these spans, None if the path is
    empty. It identifies the path.
    """

    rows: pl.Series
    frame: pl.DataFrame

    def places(self, rows: pl.Series) -> pl.Series:
        """Return the innermost span of each span's path, None for an empty path or unknown span."""
        return self._gather("place", rows)

    def enclosing(self, places: pl.Series) -> pl.Series:
        """Return the next path outwards from each path, None for an outermost path.

        A path is given by its innermost span.
        """
        return self._gather("place", self._gather("parent", places))

    def depths(self, rows: pl.Series) -> pl.Series:
        """Count the spans around each span."""
        return self._gather("depth", rows)

    def _gather(self, column: str, rows: pl.Series) -> pl.Series:
        return gathered(self.frame[column], self._positions(rows))

    def _positions(self, rows: pl.Series) -> pl.Series:
        """Return the position of each row in `frame`, None for a missing row."""
        return positions_in(self.rows, rows)

    def texts(self, spans: pl.DataFrame, places: pl.Series) -> pl.Series:
        """Return each path as text, parts joined by ` > `, and None for no path.

        A path is given by its innermost span.
        """
        wanted = places.drop_nulls().unique().sort()
        parts = self.frame.select(
            pl.col(_PATH).gather(self._positions(wanted)),
            place=wanted,
        )
        rows_of_paths = parts.unpivot(index="place", value_name="row").drop_nulls("row")
        distinct = rows_of_paths.select("place", "row").unique()
        rows = distinct["row"]
        names = gathered(spans["name"], rows)
        named = distinct.with_columns(
            depth=self._gather("depth", rows),
            text=each_once(names, shortened).cast(pl.String),
        )
        outermost_first = named.sort("place", "depth")
        text = pl.col("text")
        is_new = text.ne_missing(text.shift(1).over("place"))
        by_place = outermost_first.filter(is_new).group_by("place")
        joined = by_place.agg(text.str.join(" > "))
        asked = pl.DataFrame(
            {"place": places},
            schema={"place": pl.Int64},
        )
        with_texts = asked.join(
            joined,
            on="place",
            how="left",
            maintain_order="left",
        )
        return with_texts["text"]


def find_paths(spans: pl.DataFrame, rows: pl.Series) -> CallPaths:
    """Find the call paths of the spans with these row numbers.

    `spans` has parent_id (a row number), kind and name. `rows` are sorted, and include the parent
    of each row.
    """
    span_rows = rows.cast(pl.Int64).alias("row")
    parent = gathered(spans["parent_id"], span_rows).cast(pl.Int64)
    parent_at = positions_in(span_rows, parent)
    parts = _parts(_facts(spans, span_rows), parent_at)
    depth = count_among(parent_at, parent_at.is_not_null())
    rows_of_parts = [gathered(span_rows, part).alias(name) for name, part in parts.items()]
    columns = [
        span_rows,
        parent.alias("parent"),
        depth.alias("depth"),
        *rows_of_parts,
    ]
    return CallPaths(span_rows, pl.DataFrame(columns))


def positions_in(sorted_rows: pl.Series, wanted: pl.Series) -> pl.Series:
    """Return the position of each wanted row among the sorted rows, None for a missing row."""
    positions = sorted_rows.search_sorted(wanted).cast(pl.Int64)
    existing = positions.set(positions >= len(sorted_rows), None)
    is_row = filled(gathered(sorted_rows, existing) == wanted, value=False)
    return existing.set(~is_row, None)


def _parts(facts: pl.DataFrame, parent: pl.Series) -> dict[str, pl.Series]:
    """Return the parts of each span's call path, as row numbers of `facts`.

    `place` is the innermost part.
    """
    is_python = facts["is_python"]
    loader = outermost_row(parent, facts["is_loader"])
    starts_loader = filled(loader == pl.int_range(len(loader), eager=True), value=False)
    is_own = _is_own_code(facts, parent)
    own = nearest_row(parent, is_own | starts_loader)
    own = own.set(gathered(starts_loader, own), None)
    # An anchor is code that a reader can find: own code, a data loader, or a user's annotation.
    is_anchor = is_own | starts_loader | facts["is_note"]
    anchor = nearest_row(parent, is_anchor)
    anchor_above = gathered(anchor, parent)
    # The leaf below an anchor is the outermost op, else the library's function that is called.
    below_anchor = parent.set(is_anchor | gathered(is_anchor, parent), None)
    is_in_loader = filled(gathered(starts_loader, anchor_above), value=False)
    may_be_called = anchor_above.is_not_null() & ~is_in_loader & ~is_anchor
    op = outermost_row(below_anchor, facts["is_op"] & ~is_anchor)
    callee = outermost_row(below_anchor, is_python & may_be_called)
    wait = outermost_row(below_anchor, facts["is_wait"] & may_be_called)
    waits_inside = wait.is_not_null() & op.is_null() & filled(wait != callee, value=False)
    # The leaf without an anchor is the innermost Python function.
    innermost = nearest_row(parent, is_python & anchor_above.is_null())
    leaf = _first_known(
        op,
        wait.set(~waits_inside, None),
        callee,
        innermost.set(anchor.is_not_null(), None),
    )
    return {
        "annotation": nearest_row(parent, facts["is_note"]),
        "caller": gathered(own, gathered(parent, loader)),
        "loader": loader,
        "own": own,
        "called": callee.set(~waits_inside, None),
        "leaf": leaf,
        "place": _first_known(leaf, anchor),
    }


def _is_own_code(facts: pl.DataFrame, parent: pl.Series) -> pl.Series:
    """Return which rows are the program's own code, outside of a data loader."""
    is_library = facts["is_library"]
    package = facts["package"]
    is_program = facts["is_program"]
    package_of_library = package.set(~is_library, None)
    is_of_outermost = package == outermost(parent, package_of_library)
    is_in_program = outermost_row(parent, is_program).is_not_null()
    is_outside = is_library & ~is_in_program
    # Outside of the program's code, the outermost package counts as the program.
    counts_as_program = is_outside & filled(is_of_outermost, value=False)
    return (is_program | counts_as_program) & ~facts["is_loader"]


def _first_known(*rows: pl.Series) -> pl.Series:
    """Return the first row number that is not None, entry by entry."""
    return pl.select(pl.coalesce(rows)).to_series()


def _facts(spans: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Classify each span by its name and kind, and add the package of a Python frame."""
    name = gathered(spans["name"], rows)
    kinds = gathered(spans["kind"], rows)
    by_name = each_once(name, _by_name).struct.unnest()
    facts = by_name.with_columns(kinds.cast(pl.String).alias("kind"))
    kind = pl.col("kind")
    informs = pl.col("informs").fill_null(value=False)
    is_loader = pl.col("is_loader") & informs
    is_note = kind.is_in(["annotation", "nvtx"]) & informs
    is_python = (kind == "python") & informs
    return facts.select(
        "package",
        is_loader=is_loader,
        is_note=is_note & ~is_loader,
        is_op=kind == "op",
        is_python=is_python,
        is_wait=is_python & pl.col("waits"),
        is_program=is_python & (pl.col("owner") == PROGRAM),
        is_library=is_python & (pl.col("owner") == LIBRARY),
    )


def _by_name(name: pl.Expr) -> pl.Expr:
    """Classify a span's name: informs, is_loader, waits, owner and package, as a struct.

    - `informs`: the name helps to find code, unlike names of step marks
    - `is_loader`: it is from a data loader's own code
    - `waits`: the function waits for something outside of the program
    """
    return pl.struct(
        informs=~name.str.contains(UNINFORMATIVE),
        is_loader=name.str.contains(LOADER),
        waits=shortened(name).str.contains(WAITS),
        owner=owner(name),
        package=package(name).cast(pl.Categorical).to_physical(),
    )


def shortened(name: pl.Expr) -> pl.Expr:
    """Shorten a span's name: drop the folders of a Python file, or the module of a builtin."""
    without_module = name.str.replace(_BUILTIN, "${1}")
    of_loader = without_module.str.replace(_LOADER_MARK, "DataLoader.__next__ (${1})")
    in_file = _without_folders(of_loader)
    bare = in_file.str.replace(_BETWEEN_HASHES, "${1}")
    is_long = bare.str.len_chars() > _LONGEST
    cut = bare.str.slice(0, _LONGEST - 1) + "…"
    return pl.when(is_long).then(cut).otherwise(bare)


def _without_folders(name: pl.Expr) -> pl.Expr:
    """Drop the folders of a Python frame's file."""
    # Every package has an `__init__.py`, so its folder is kept.
    of_package = name.str.replace(r"^.*/([^/()]+/__(?:init|main)__\.py\(\d+\): )", "${1}")
    is_of_package = of_package.str.contains(r"^[^/()]+/__(?:init|main)__\.py\(")
    of_file = of_package.str.replace(r"^.*/([^/()]+\.py\(\d+\): )", "${1}")
    return pl.when(is_of_package).then(of_package).otherwise(of_file)
