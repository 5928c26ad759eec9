"""Mask names and texts of a source that would reveal who ran a program, and where.

Paths keep only their file's name. Only unmistakable shapes are masked: a token's prefix, a path's
beginning, or a file's ending.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import polars as pl
from msgspec.structs import replace

from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture, Diagnostics
from tracelens.trace.secret_patterns import MAY_BE_SECRET, SECRETS

# Regular expressions in Polars have no look-ahead or look-behind (they run in linear time), so the
# text before a match is captured and put back.
_BEFORE = r"(^|-[IL]|[^A-Za-z0-9./~…\\-])"
_BEFORE_HOME = r"(^|-[IL]|[^A-Za-z0-9…])"
_BEFORE_UP = r"(^|-[IL]|[^A-Za-z0-9./…])"
_PART = r"""[^\s"'`<>(){}|;,:=*?/\\\[\]…]+"""
_SYSTEM = (
    "root|opt|usr|tmp|var|etc|mnt|media|srv|proc|dev|run|nix|snap|private|Volumes|lustre|gpfs|nfs|efs|fsx|"
    "dbfs|scratch|workspaces?|sbin|lib64|data|cluster|gscratch|projects?|users"
)
_ENDINGS = (
    r"pyc?|ipynb|so(?:\.[0-9.]+)?|dylib|dll|exe|[ch]|cc|cpp|cxx|cuh?|hpp|json|gz|zip|tar|whl|egg|pth?|ckpt|npy|npz|"
    r"safetensors|onnx|txt|log|csv|parquet|ya?ml|toml|cfg|ini|sh|sqlite|nsys-rep|qdrep"
)
_SHARED = "data|cluster/+home|gscratch|projects?|users"
"""Folders on clusters that hold one folder per user or group."""
_PATHS = (
    (
        rf"{_BEFORE}(/+(?:{_SHARED})/+)[^\s\"'`<>(){{}}|;,:=*?/\\\[\].…]+/*($|[^A-Za-z0-9_.~…/\\-])",
        "$1$2…$3",
    ),
    (rf"{_BEFORE_UP}(?:\.\./+){{2,}}(?:{_PART}/+)+({_PART})", "$1…/$2"),
    (
        rf"{_BEFORE_UP}((?:\.\./+){{2,}})[^\s\"'`<>(){{}}|;,:=*?/\\\[\].…]+/*($|[^A-Za-z0-9_.~…/\\-])",
        "$1$2…$3",
    ),
    (rf"(?i)file:[/\\]+(?:[a-z]:[/\\]+)?(?:{_PART}[/\\]+)*({_PART})?", "…/$1"),
    (
        rf"{_BEFORE_HOME}((?:[A-Za-z]:[/\\]+Users|/home|/Users)[/\\]+){_PART}[/\\]*($|[^A-Za-z0-9_.~…/\\-])",
        "$1$2…$3",
    ),
    (rf"{_BEFORE}[A-Za-z]:(?:\\+|/+Users/+)(?:{_PART}[/\\]+)*({_PART})", "$1…/$2"),
    (rf"(^|[\s\"'=(,;\[])\\\\+{_PART}\\+(?:{_PART}\\+)*({_PART})", "$1…/$2"),
    (rf"{_BEFORE}~[A-Za-z0-9_.-]*/+(?:{_PART}/+)*({_PART})", "$1…/$2"),
    (rf"{_BEFORE_HOME}/+(?:home|Users)/+(?:{_PART}/+)*({_PART})", "$1…/$2"),
    (rf"{_BEFORE}/+(?:{_SYSTEM})/+(?:{_PART}/+)*({_PART})", "$1…/$2"),
    (rf"{_BEFORE}/+(?:{_PART}/+)+({_PART}\.(?:{_ENDINGS}))($|[^A-Za-z0-9_.-])", "$1…/$2$3"),
)
_COUNTED = {
    "masked_path": "paths in names and texts, of which the last part was kept",
    "masked_secret": "passwords, keys and tokens in names and texts, masked",
    "masked_owner": "names of the host or its user in names and texts, masked",
}
_MAY_BE = (
    r"""[/\\~][^\s"'`<>(){}|;,:=*?/\\\[\]]+[/\\]|[\\/](?:home|Users)[\\/]|~[\w.-]*/|file:|"""
    + MAY_BE_SECRET
)
"""Matches every text that needs masking; checking it first saves nine tenths of the work."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMON = {
    "root",
    "user",
    "users",
    "admin",
    "ubuntu",
    "host",
    "localhost",
    "linux",
    "local",
    "none",
    "unknown",
}
_SHORTEST_OWNER = 3
_AT_ONCE = 1 << 16
"""Number of texts that are checked together."""


def clean(capture: Capture, owners: Collection[str] = ()) -> None:
    """Mask the capture's tables in memory, its texts and its diagnostics.

    The diagnostics count the masked texts. `owners` are names of the host and its user. They are
    masked wherever they occur as a word.
    """
    counts = dict.fromkeys(_COUNTED, 0)
    capture.tables |= _clean_tables(capture.tables, owners, counts)
    diagnostics = capture.diagnostics
    about = [
        capture.source.name,
        capture.producer,
        capture.versions,
        capture.settings,
        capture.reasons,
        [[*key, text] for key, text in diagnostics.texts.items()],
    ]
    name, capture.producer, capture.versions, capture.settings, capture.reasons, texts = (
        _clean_value(about, owners, counts)
    )
    capture.source = replace(capture.source, name=name)
    capture.diagnostics = Diagnostics()
    for (severity, code, text), n in zip(texts, diagnostics.counts.values(), strict=True):
        capture.diagnostics.add(severity, code, text, n)
    _count(counts, capture.diagnostics)


def clean_frame(name: str, frame: pl.DataFrame, diagnostics: Diagnostics) -> pl.DataFrame:
    """Return a table with its texts masked, and count the masked texts in `diagnostics`.

    This is for tables that a collector writes to files before it has a Capture.
    """
    counts = dict.fromkeys(_COUNTED, 0)
    cleaned = _clean_tables({name: frame}, (), counts)
    _count(counts, diagnostics)
    return cleaned[name]


def whole_text(value: Any) -> Any:
    """Return parsed JSON with U+FFFD for each unpaired surrogate.

    JSON can hold such halves of a character, but no file or terminal accepts them.
    """
    return _map_texts(value, lambda text: _SURROGATE.sub("\ufffd", text))


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return parsed JSON with `change` applied to every text, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_map_texts(key, change): _map_texts(item, change) for key, item in value.items()}
    return (
        [_map_texts(item, change) for item in value] if isinstance(value, (list, tuple)) else value
    )


def _count(counts: Mapping[str, int], diagnostics: Diagnostics) -> None:
    for kind, n in counts.items():
        diagnostics.add("info", kind, _COUNTED[kind], n)


def _clean_tables(
    tables: Mapping[str, pl.DataFrame],
    owners: Collection[str],
    counts: dict[str, int],
) -> dict[str, pl.DataFrame]:
    """Return tables with their free text masked, and add the numbers of masked rows to `counts`.

    Each distinct text is examined once. A table without masked text keeps its frame.
    """
    words = {
        (name, column.name): frame[column.name].unique().cast(pl.Categorical)
        for name, frame in tables.items()
        for column in TABLES[name]
        if column.dtype == pl.String and not column.values and column.name in frame.columns
    }
    cleaned = {**tables}
    if not words:
        return cleaned
    every = pl.concat([*words.values()]).unique().drop_nulls()
    parts = (
        every.slice(first, _AT_ONCE).cast(pl.String)
        for first in range(0, max(1, len(every)), _AT_ONCE)
    )
    masked = pl.concat(_masked(part, owners) for part in parts)
    if masked.is_empty():
        return cleaned
    masked = masked.cast({pl.String: pl.Categorical})
    for (name, column), distinct in words.items():
        of_column = masked.filter(masked["text"].is_in(distinct.implode()))
        if of_column.is_empty():
            continue
        frame = cleaned[name]
        texts = frame.select(text=pl.col(column).cast(pl.Categorical))
        new = texts.join(
            of_column,
            on="text",
            how="left",
            maintain_order="left",
        )
        for kind in _COUNTED:
            counts[kind] += int(new[kind].sum())
        cleaned[name] = frame.with_columns(new.select(pl.coalesce("new", "text").alias(column)))
    return cleaned


def _clean_value(
    value: Any,
    owners: Collection[str],
    counts: dict[str, int],
) -> Any:
    """Return parsed JSON with its texts masked, and add the number of masked texts to `counts`.

    `counts` has one number per kind of masking.
    """
    texts: set[str] = set()

    def note(text: str) -> str:
        texts.add(text)
        return text

    value = _map_texts(whole_text(value), note)
    masked = _masked(pl.Series("text", sorted(texts), pl.String), owners)
    for kind in _COUNTED:
        counts[kind] += int(masked[kind].sum())
    new = dict(masked.select("text", "new").iter_rows())
    return _map_texts(value, lambda text: new.get(text, text))


def _masked(texts: pl.Series, owners: Collection[str]) -> pl.DataFrame:
    """Return the texts that change: `text`, `new`, and one Boolean column per kind of masking."""
    owners = sorted(
        name for name in owners if len(name) >= _SHORTEST_OWNER and name.lower() not in _COMMON
    )
    rules = {"masked_path": _PATHS, "masked_secret": SECRETS, "masked_owner": ()}
    if owners:
        names = "|".join(map(re.escape, owners))
        rules["masked_owner"] = ((rf"(^|[^A-Za-z0-9_])(?:{names})($|[^A-Za-z0-9_])", "$1…$2"),)
    may_be = texts.str.contains(_MAY_BE) | (texts.str.contains_any(owners) if owners else False)
    frame = texts.alias("text").to_frame().filter(may_be).with_columns(new="text")
    if frame.is_empty():  # the usual case; compiling the other patterns would take longer
        return frame.with_columns(pl.lit(value=False).alias(kind) for kind in rules)
    if not frame["text"].str.contains(MAY_BE_SECRET).any():  # Python files look like paths only
        rules["masked_secret"] = ()
    for kind, of_kind in rules.items():
        cleaned = pl.col("new")
        for pattern, masked in of_kind:
            cleaned = cleaned.str.replace_all(pattern, masked)
        new = frame.select(cleaned).to_series()
        frame = frame.with_columns(
            (new != frame["new"]).alias(kind),
            new,
        )
    return frame.filter(pl.col("text") != pl.col("new"))
