"""Damage files of any format: change bytes, values in text, or lines."""

from __future__ import annotations

import random
import re
from pathlib import Path

ODD_VALUES = (
    "0",
    "-1",
    "7",
    "2147483648",
    "5000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1" * 400,
    "1e999",
    "-1e308",
    "0.1234567890123456789",
    "1.",
    "NaN",
    "Infinity",
    "null",
    "true",
    "false",
    "",
    "[]",
    "{}",
    "[1]",
    '{"a": 1}',
    "[[1], [2]]",
    '"x"',
    '""',
    '"\\ud800"',
    '"\\u0000"',
    '"\x1b[31m"',
    '"\u202e"',
    '"\xe9"',
    '"../../etc/passwd"',
    '"' + "y" * 300 + '"',
    "[" * 500 + "]" * 500,
    "{" * 40,
    '"unended',
    "]",
    "}",
    ",",
    "#",
    "\t",
)
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\b(?:true|false|null)\b|0x[0-9a-f]+')
_FEW = (1, 1, 1, 3, 10)


def chosen_file(path: Path, chance: random.Random) -> Path:
    """Return the path; for a folder, one of the files below it."""
    return (
        chance.choice(sorted(file for file in path.rglob("*") if file.is_file()))
        if path.is_dir()
        else path
    )


def change_bytes(path: Path, chance: random.Random) -> str:
    """Flip, overwrite, insert, repeat or remove bytes of a file, or cut the file."""
    file = chosen_file(path, chance)
    content = bytearray(file.read_bytes())
    how = chance.choice(["flip", "flip", "overwrite", "insert", "repeat", "take out", "cut"])
    for _ in range(chance.choice(_FEW)):
        place = chance.randrange(len(content) + 1)
        length = chance.choice([1, 4, 64, 4096])
        if how == "flip" and place < len(content):
            content[place] ^= 1 << chance.randrange(8)
        elif how == "overwrite":
            content[place : place + length] = chance.choice(
                [chance.randbytes(length), bytes(length), b"\xff" * length]
            )
        elif how == "insert":
            content[place:place] = chance.randbytes(length)
        elif how == "repeat":
            content[place:place] = content[place : place + length] * chance.choice([1, 2, 50])
        elif how == "take out":
            del content[place : place + length]
    if how == "cut":
        del content[chance.randrange(len(content) + 1) :]
    file.write_bytes(content)
    return f"{how} bytes of {file.name}"


def change_values(path: Path, chance: random.Random) -> str:
    """Replace numbers, words and strings of a text by odd values, mostly near its begin or end."""
    file = chosen_file(path, chance)
    content = file.read_bytes()
    changes = []
    for _ in range(chance.choice(_FEW)):
        begin = chance.choice(
            [
                0,
                max(0, len(content) - 600),
                chance.randrange(len(content) + 1),
            ]
        )
        places = list(
            _VALUE.finditer(
                content,
                begin,
                begin + chance.choice([300, 3000]),
            )
        )
        if places:
            place = chance.choice(places)
            value = chance.choice(ODD_VALUES).encode()
            content = content[: place.start()] + value + content[place.end() :]
            changes.append(f"{place[0][:30]!r} {value[:20]!r}")
    file.write_bytes(content)
    return f"values: {'; '.join(changes)}"


def change_lines(path: Path, chance: random.Random) -> str:
    """Repeat, move, join or remove lines of a text."""
    file = chosen_file(path, chance)
    lines = file.read_bytes().split(b"\n")
    how = chance.choice(["repeat", "repeat all", "move", "join", "take out"])
    for _ in range(chance.choice(_FEW)):
        begin, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        some = lines[begin : begin + chance.choice([1, 1, 3, 20])]
        if how == "repeat":
            lines[to:to] = some * chance.choice([1, 2, 100])
        elif how == "move":
            lines[begin : begin + len(some)] = []
            lines[to:to] = some
        elif how == "join":
            lines[begin : begin + len(some)] = [b"".join(some)]
        elif how == "take out" and len(lines) > len(some):
            lines[begin : begin + len(some)] = []
    if how == "repeat all":
        lines *= chance.choice([2, 5])
    file.write_bytes(b"\n".join(lines))
    return f"{how} lines"
