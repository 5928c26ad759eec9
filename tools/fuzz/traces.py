"""Damage trace directories: bytes of parts and manifest, values of columns and manifest."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

CAPTURES = Path(__file__).resolve().parents[2] / "samples"
SEEDS = (
    "study/captures/stack_eager",
    "study/captures/torchscript_infer",
    "study/captures/nsys_eager",
    "thesis/captures/alexnet_compiled",
    "thesis/captures/squeezenet1_1_timings_cuda",
)
ASKED = (
    "thesis/captures/resnet50_timings_interpreted",
    "thesis/captures/squeezenet1_1_timings_cuda",
    "advisor/captures/mobilenet_v1_b1_eager",
    "lenet/captures/trace_eager",
    "study/captures/stack_eager",
)
"""Some of the traces from which a plan can be made, or for which calls can be advised."""
NUMBERS = (
    -1,
    0,
    1,
    2**31 - 1,
    -(2**31),
    2**62,
    2**63 - 1,
    -(2**63),
    None,
)
TEXTS = (
    "",
    "x",
    "[",
    '{"a":',
    "[[1],[2]]",
    "\x1b[31m",
    "9" * 400,
    "é\u202e",
    "[[1e400]]",
    None,
)
FLOATS = (float("nan"), float("inf"), -1.0, 1e308, None)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *TEXTS,
    True,
    10**400,
    1e999,
    "\ud800",
    [],
    {},
    [1],
    {"a": 1},
    {"a": {"b": "\ud800"}},
    "../../x",
)
KEYS = ("../..", "\ud800", "-1", "1e5", "٣", "007")


def copied(
    place: Path,
    chance: random.Random,
    names: Sequence[str] = SEEDS,
) -> Path:
    """Copy a random trace of the samples into a folder, and return the copy."""
    folder = place / "t.tracelens"
    shutil.copytree(CAPTURES / f"{chance.choice(names)}.tracelens", folder)
    return folder


def asked(place: Path, chance: random.Random) -> Path:
    """Copy a random trace that a call plan or a compile plan can be made from."""
    return copied(place, chance, ASKED)


def damage_bytes(folder: Path, chance: random.Random, first: int = 0) -> str:
    """Change some bytes of a part or of the manifest, or cut it."""
    file = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 3, 10])):
        content[chance.randrange(min(first, len(content) - 1), len(content))] ^= (
            1 << chance.randrange(8)
        )
    file.write_bytes(
        content[: chance.randrange(len(content))] if chance.random() < 0.1 else content
    )
    return f"bytes of {file.relative_to(folder)}"


def damage_footer(folder: Path, chance: random.Random) -> str:
    """Change some bytes of a part's footer."""
    file = chance.choice(sorted(folder.rglob("*.parquet")))
    content = bytearray(file.read_bytes())
    begin = max(
        0,
        len(content) - 8 - int.from_bytes(content[-8:-4], "little"),
    )
    for _ in range(chance.choice([1, 1, 3, 10])):
        content[chance.randrange(begin, len(content))] = chance.randrange(256)
    file.write_bytes(content)
    return f"the footer of {file.relative_to(folder)}"


def damage_cells(folder: Path, chance: random.Random) -> str:
    """Change cells of one column to odd values of its type, or to values of other rows."""
    file = chance.choice(sorted(folder.rglob("*.parquet")))
    frame = pl.read_parquet(file, glob=False)
    name = chance.choice(frame.columns)
    cells, dtype = frame[name].to_list(), frame.schema[name]
    for _ in range(chance.choice([1, 1, 5, len(cells)])):
        row = chance.randrange(len(cells))
        if chance.random() < 0.3:
            cells[row] = chance.choice(cells)
        elif dtype.is_integer():
            most = 2**31 if dtype == pl.Int32 else 2**63
            number = chance.choice(NUMBERS)
            cells[row] = None if number is None else max(-most, min(most - 1, number))
        else:
            cells[row] = chance.choice(
                TEXTS if dtype == pl.String else FLOATS if dtype.is_float() else (True, None)
            )
    frame.with_columns(pl.Series(name, cells, dtype)).write_parquet(file)
    return f"cells of {file.parent.parent.name}.{name}"


def damage_manifest(folder: Path, chance: random.Random) -> str:
    """Replace one value of the manifest, or move it under another key."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    places = list(_places(manifest))
    holder, key = chance.choice(places)
    value = holder[key] = chance.choice(VALUES)
    if isinstance(holder, dict) and chance.random() < 0.2:
        holder[chance.choice(KEYS)] = holder.pop(key)
    file.write_text(json.dumps(manifest))
    return f"{str(value)[:20]!r} at {key!r} in the manifest"


def _places(value: Any) -> Any:
    """Yield every dict or list within the value, once for each of its keys or indices."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


CHANGES = (damage_bytes, damage_footer, damage_cells, damage_manifest)
