"""Damage trace directories by chance and open, check and report them: python -m tests.fuzz.traces INPUTS [SEED].

A result is right where the report is made, or a TracelensError says why not; any other exception is printed, and so is
one that takes longer than a bound. Bytes of parts and of the manifest, values of columns, and values of the manifest.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from tracelens.analyses import ANALYSES
from tracelens.errors import TracelensError
from tracelens.report import build_report
from tracelens.trace import Trace
from tracelens.trace.checking import problems
from tracelens.views.formats.json import to_json

CAPTURES = Path(__file__).resolve().parents[2] / "samples"
SEEDS = (
    "study/captures/stack_eager", "study/captures/torchscript_infer", "study/captures/nsys_eager",
    "thesis/captures/alexnet_compiled", "thesis/captures/squeezenet1_1_timings_cuda",
)  # fmt: skip
LONGEST_S = 60
NUMBERS = (-1, 0, 1, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63), None)
TEXTS = ("", "x", "[", '{"a":', "[[1],[2]]", "\x1b[31m", "9" * 400, "é\u202e", "[[1e400]]", None)
FLOATS = (float("nan"), float("inf"), -1.0, 1e308, None)
VALUES: tuple[Any, ...] = (
    *NUMBERS, *TEXTS, True, 10**400, 1e999, "\ud800", [], {}, [1], {"a": 1}, {"a": {"b": "\ud800"}}, "../../x",
)  # fmt: skip
KEYS = ("../..", "\ud800", "-1", "1e5", "٣", "007")


def main(inputs: int, seed: int = 0) -> int:
    """Try so many inputs, and print what came of them; 1 where one of them failed."""
    chance, ends = random.Random(seed), Counter[str]()  # noqa: S311 - to be repeated
    signal.signal(signal.SIGALRM, _too_long)
    for _ in range(inputs):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "t.tracelens"
            shutil.copytree(CAPTURES / f"{chance.choice(SEEDS)}.tracelens", folder)
            what = chance.choice([damage_bytes, damage_footer, damage_cells, damage_manifest])(folder, chance)
            ends[judged(folder, what)] += 1
    sys.stdout.write("".join(f"{count:6,}  {end}\n" for end, count in ends.most_common()))
    return int(any(end.startswith("FAILED") for end in ends))


def judged(folder: Path, what: str) -> str:
    """How reading a trace ended, in a word; what was done to it, where it failed."""
    signal.alarm(LONGEST_S)
    try:
        trace = Trace.open(folder)
        wrong = list(problems(trace))
        to_json(build_report(trace, names=[name for name, one in ANALYSES.items() if not one.is_pair])).encode()
    except TracelensError:
        return "refused"
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 - what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"FAILED {type(error).__name__} at {Path(where.filename).name}:{where.lineno} after {what}"
    finally:
        signal.alarm(0)
    return "reported, and check finds what is wrong" if wrong else "reported"


def damage_bytes(folder: Path, chance: random.Random, first: int = 0) -> str:
    """Change some bytes of a part or of the manifest, or cut it."""
    file = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 3, 10])):
        content[chance.randrange(min(first, len(content) - 1), len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content[: chance.randrange(len(content))] if chance.random() < 0.1 else content)
    return f"bytes of {file.relative_to(folder)}"


def damage_footer(folder: Path, chance: random.Random) -> str:
    """Change some bytes where a part says what is in it."""
    file = chance.choice(sorted(folder.rglob("*.parquet")))
    content = bytearray(file.read_bytes())
    begin = max(0, len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
    for _ in range(chance.choice([1, 1, 3, 10])):
        content[chance.randrange(begin, len(content))] = chance.randrange(256)
    file.write_bytes(content)
    return f"the footer of {file.relative_to(folder)}"


def damage_cells(folder: Path, chance: random.Random) -> str:
    """Change cells of one column to what its type can hold, or to another row's."""
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
            cells[row] = chance.choice(TEXTS if dtype == pl.String else FLOATS if dtype.is_float() else (True, None))
    frame.with_columns(pl.Series(name, cells, dtype)).write_parquet(file)
    return f"cells of {file.parent.parent.name}.{name}"


def damage_manifest(folder: Path, chance: random.Random) -> str:
    """Put something else in the place of one value of the manifest, or under another key."""
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
    """Every dict or list within, with every key or place in it."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def _too_long(*_: object) -> NoReturn:
    raise TimeoutError(f"longer than {LONGEST_S} s")


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
