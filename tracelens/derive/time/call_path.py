"""Name where time goes as people know it: by Python lines, annotations and ops."""

from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.steps import FAMILIES
from tracelens.derive.time.code_owner import LIBRARY, OWN_HOOKS, PROGRAM, owner, package

_LOADER = r"DataLoader|_next_data"
"""Names of spans from a data loader's own code."""
UNINFORMATIVE = (
    "|".join(f"(?:{words})" for words in FAMILIES.values())
    + rf"|{OWN_HOOKS}|^ProfilerPart#|^PyTorch Profiler|^nn\.Module: "
)
_LONGEST = 100

Conditions: TypeAlias = dict[str, pl.Expr]
_PATH = ("annotation", "caller", "loader", "own", "leaf")
"""The parts of a call path, outermost first; each is the row of a span."""
_STATE: dict[str, type[pl.DataType]] = {
    "package": pl.UInt32,
    "has_program": pl.Boolean,
    "is_in_loader": pl.Boolean,
    **dict.fromkeys(("anchor", "op", "callee", "innermost"), pl.Int64),
    **dict.fromkeys(_PATH[:-1], pl.Int64),
}


@dataclass(frozen=True, slots=True)
class CallPaths:
    """The call paths of some spans, which are given by row number.

    A path leads from the outside in. Its parts are the innermost annotation; the function that asks
    a data loader for data, and the loader; the innermost function of the program's own code; and
    one leaf below it. The leaf is the outermost op, else the function that the program's own one
    called. Where no code is the program's, the outermost installed package stands for it. `place`
    is the row of the innermost span that the path names, None where it names none. Spans with the
    same place have the same path.
    """

    rows: pl.Series
    frame: pl.DataFrame

    def places(self, rows: pl.Series) -> pl.Series:
        """Return the place of each span.

        It is None for a span without one, and for one that is not in `rows`.
        """
        return self._gather("place", rows)

    def enclosing(self, places: pl.Series) -> pl.Series:
        """Return the place around each place, None for an outermost one."""
        return self._gather("place", self._gather("parent", places))

    def depths(self, rows: pl.Series) -> pl.Series:
        """Count the spans around each span."""
        return self._gather("depth", rows)

    def _gather(self, column: str, rows: pl.Series) -> pl.Series:
        positions = self.rows.search_sorted(rows).cast(pl.Int64)
        is_missing = rows.is_null() | (positions >= len(self.rows))
        positions = positions.set(is_missing, None)
        is_row = self.rows.gather(positions) == rows
        is_known = is_row.fill_null(value=False)
        return self.frame[column].gather(positions.set(~is_known, None))

    def texts(self, spans: pl.DataFrame, places: pl.Series) -> pl.Series:
        """Write the path of each place, its parts joined by ` > `; None without a place."""
        wanted = places.drop_nulls().unique().sort()
        parts = pl.DataFrame({"place": wanted}).with_columns(
            self._gather(name, wanted).alias(name) for name in _PATH
        )
        long = parts.unpivot(index="place", value_name="row").drop_nulls("row")
        long = long.select("place", "row").unique()
        name_of_place = spans["name"].gather(long["row"])
        named = long.with_columns(
            self._gather("depth", long["row"]).alias("depth"),
            text=each_once(name_of_place, shortened).cast(pl.String),
        ).sort("place", "depth")
        text = pl.col("text")
        is_new = text.ne_missing(text.shift(1).over("place"))
        by_place = named.filter(is_new).group_by("place")
        joined = by_place.agg(text.str.join(" > "))
        asked = pl.DataFrame({"place": places}, schema={"place": pl.Int64})
        return asked.join(joined, on="place", how="left", maintain_order="left")["text"]


def find_paths(spans: pl.DataFrame, rows: pl.Series) -> CallPaths:
    """Find the call paths of spans (parent_id as row number, kind, name).

    `rows` are sorted and hold all parents.
    """
    facts = _facts(spans, rows)
    state = pl.DataFrame(schema=_STATE)
    levels = []
    all_rules = _rules()
    for level in facts.sort("depth", maintain_order=True).partition_by(
        "depth", maintain_order=True
    ):
        inherited = pl.col(*_STATE).gather(level["parent_at"]).name.prefix("above_")
        settled = pl.concat([level, state.select(inherited)], how="horizontal")
        for rules in all_rules:
            settled = settled.with_columns_seq(**rules)
        state = settled
        levels.append(settled.select("row", "parent", "depth", *_PATH, "place"))
    schema = dict.fromkeys(("row", "parent", "depth", *_PATH, "place"), pl.Int64)
    whole = pl.concat(levels).sort("row") if levels else pl.DataFrame(schema=schema)
    return CallPaths(whole["row"], whole)


def _rules() -> tuple[Conditions, ...]:
    """List the rules that build a span's path.

    They use facts of the span and the path of its parent, so they are applied one depth after the
    other.
    """
    row = pl.col("row")
    nothing = pl.lit(None, pl.Int64)
    has_program = pl.col("above_has_program").fill_null(value=False)
    owner = pl.col("owner")
    informs = pl.col("informs")
    kind = pl.col("kind")
    package_of_row = pl.col("package_of_row")
    is_loader = pl.col("is_loader")
    is_python = owner.is_not_null() & informs
    is_program = is_python & (owner == PROGRAM)
    is_library = is_python & (owner == LIBRARY)
    is_note = kind.is_in(["annotation", "nvtx"]) & informs
    stands_for_program = is_library & ~has_program & (package_of_row == pl.col("package"))

    def innermost(condition: pl.Expr, name: str) -> pl.Expr:
        return pl.when(condition).then(row).otherwise(f"above_{name}")

    def outermost(condition: pl.Expr, name: str) -> pl.Expr:
        return pl.coalesce(f"above_{name}", pl.when(condition).then(row))

    def below_anchor(condition: pl.Expr, name: str) -> pl.Expr:
        return pl.when("is_anchor").then(nothing).otherwise(outermost(condition, name))

    is_anchored = pl.col("above_anchor").is_not_null()
    is_own = pl.col("is_own")
    starts_loader = pl.col("starts_loader")
    if_library = pl.when(is_library).then(package_of_row)
    lacks_anchor = pl.col("anchor").is_null()
    return (
        {
            "package": pl.coalesce("above_package", if_library),
            "has_program": has_program | is_program,
            "starts_loader": is_loader & pl.col("above_loader").is_null(),
            "loader": outermost(is_loader, "loader"),
            "annotation": innermost(is_note & ~is_loader, "annotation"),
        },
        {"is_own": (is_program | stands_for_program) & ~is_loader},
        {
            "caller": pl.when(starts_loader).then("above_own").otherwise("above_caller"),
            "own": pl.when(is_own)
            .then(row)
            .when(starts_loader)
            .then(nothing)
            .otherwise("above_own"),
            "is_anchor": is_own | starts_loader | (is_note & ~is_loader),
        },
        {
            "anchor": innermost(pl.col("is_anchor"), "anchor"),
            "is_in_loader": pl.when("is_anchor")
            .then(starts_loader)
            .otherwise("above_is_in_loader"),
            "op": below_anchor(kind == "op", "op"),
            "callee": below_anchor(
                is_python & is_anchored & ~pl.col("above_is_in_loader"), "callee"
            ),
            "innermost": innermost(is_python & ~is_anchored, "innermost"),
        },
        {"leaf": pl.coalesce("op", "callee", pl.when(lacks_anchor).then("innermost"))},
        {"place": pl.coalesce("leaf", "anchor")},
    )


def _facts(spans: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Collect the facts of each span that the rules need.

    They are kind, informs, is_loader, owner, depth, parent, and the package of a Python frame.
    """
    rows = rows.cast(pl.Int64).alias("row")
    parent = spans["parent_id"].gather(rows).cast(pl.Int64)
    parent_positions = rows.search_sorted(parent).cast(pl.Int64)
    parent_positions = parent_positions.set(
        parent.is_null() | (parent_positions >= len(rows)), None
    )
    parent_positions = parent_positions.set(
        (rows.gather(parent_positions) != parent).fill_null(value=True), None
    )
    name = spans["name"].gather(rows)
    span_kind = spans["kind"].gather(rows).cast(pl.String)
    facts = pl.DataFrame(
        [
            rows,
            parent.alias("parent"),
            span_kind.alias("kind"),
            each_once(name, lambda text: ~text.str.contains(UNINFORMATIVE)).alias("informs"),
            each_once(name, lambda text: text.str.contains(_LOADER)).alias("is_loader"),
            each_once(name, owner).alias("owner"),
            each_once(name, package).to_physical().alias("package_of_row"),
        ]
    )
    depth, parent_at = _depths(parent_positions)
    is_python = pl.col("kind") == "python"
    informs = pl.col("informs")
    return facts.with_columns(
        depth,
        parent_at,
        informs.fill_null(value=False),
        pl.col("is_loader") & informs,
        owner=pl.when(is_python).then("owner"),
    )


def _depths(parent: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the depth of each row of a forest, and the index of its parent.

    The index counts the rows of the parent's depth only.
    """
    depth = parent.is_not_null().cast(pl.Int64)
    ancestor = parent
    while ancestor.count():
        depth = depth + depth.gather(ancestor).fill_null(0)
        ancestor = ancestor.gather(ancestor)
    number_among = pl.int_range(pl.len()).over("depth")
    among = pl.DataFrame({"depth": depth}).select(number_among).to_series()
    row_above = among.cast(pl.Int64).gather(parent)
    return depth.alias("depth"), row_above.alias("parent_at")


def shortened(name: pl.Expr) -> pl.Expr:
    """Shorten a span's name: a Python frame's file without folders, a builtin's own name."""
    name = name.str.replace(r"^<built-in (?:method|function) ([\w.]+).*$", "${1}")
    name = name.str.replace(
        r"^enumerate\(DataLoader\)#(_\w+)\.__next__$", "DataLoader.__next__ (${1})"
    )
    # An __init__.py or __main__.py keeps its folder, as every package has one.
    name = name.str.replace(r"^.*/([^/()]+/__(?:init|main)__\.py\(\d+\): )", "${1}")
    is_package = name.str.contains(r"^[^/()]+/__(?:init|main)__\.py\(")
    name = (
        pl.when(is_package)
        .then(name)
        .otherwise(name.str.replace(r"^.*/([^/()]+\.py\(\d+\): )", "${1}"))
    )
    name = name.str.replace(r"^## ?(.+?) ?##$", "${1}")
    return (
        pl.when(name.str.len_chars() > _LONGEST)
        .then(name.str.slice(0, _LONGEST - 1) + "…")
        .otherwise(name)
    )
