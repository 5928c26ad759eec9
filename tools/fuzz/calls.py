"""Call every function of the C library with random arguments: python -m tools.fuzz.calls ROUNDS.

A call may refuse its arguments, but nothing else may go wrong. After `make sanitized`, every access
to memory is checked.

- `--threads`: two threads make the calls on the same objects, even on objects that threads must not
  share. Build the library with TRACELENS_SANITIZE=thread.
- `--failing-memory`: calls run once for each n up to ROUNDS, and the n-th allocation fails.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, RuntimeError)
"""Errors that a call may raise.

RuntimeError means that another thread uses the same parser or ops.
"""
_EVENT = (
    b'{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":2,'
    b'"args":{"stream":7,"correlation":%d,"grid":[1,2,3]}},'
)
_N_CAUSES, _N_UNIONS, _N_MEASURES = 9, 5, 7
_MOST_TRIES = 100_000
_EXTREMES = (
    0,
    -1,
    1,
    2**31 - 1,
    -(2**31),
    2**63 - 1,
    -(2**63),
)


class Chance(random.Random):
    """Draws random arguments, mostly of the right length and with almost valid values."""

    def size(self) -> int:
        """Draw a length for several arrays."""
        return self.choice((0, 1, 2, self.randrange(40)))

    def number(self) -> int:
        """Draw an integer, sometimes the least or largest of 32 or 64 bits."""
        return self.choice((self.randrange(100), self.choice(_EXTREMES)))

    def words(
        self,
        kind: str,
        n: int,
        low: int = -2,
        high: int | None = None,
    ) -> array[int]:
        """Draw an array of this type code with n items, sometimes with another length."""
        n = n if self.randrange(50) else self.size()
        high = max(low + 1, n + 2 if high is None else high)
        numbers = [self.randrange(low, high) for _ in range(n)]
        if self.randrange(2):
            numbers.sort()
        if kind == "q" and not self.randrange(8):
            numbers = [self.choice(_EXTREMES) for _ in numbers]
        return array(
            kind,
            [value & 255 if kind == "B" else value for value in numbers],
        )

    def bits(self, n: int) -> bytes | None:
        """Draw validity bits for n rows; None means that all rows are valid."""
        return self.choice((None, self.randbytes(n // 8 + 2)))


@functools.cache
def plan() -> tuple[bytes, list[list[int]], list[int]]:
    """Return the plan from which the C parser is created.

    It consists of the text of all keys, lists of words on keys, tables and columns (see
    `fields.plan`), and three table numbers: ALLOCATIONS, COUNTERS and UNPLACED.
    """
    if "LD_PRELOAD" not in os.environ:
        fields = importlib.import_module("tracelens.collectors.torch.fields")
        text, *words = fields.plan()
        tables = [fields.ALLOCATIONS, fields.COUNTERS, fields.UNPLACED]
        return text, [array("q", part).tolist() for part in words], tables
    # Polars, which that module imports, cannot be loaded together with ThreadSanitizer.
    code = "import json; from tools.fuzz.calls import plan; text, *more = plan();"
    code += "print(json.dumps([text.decode(), *more]))"
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        check=True,
        capture_output=True,
    )
    text, words, tables = json.loads(done.stdout)
    return text.encode(), words, tables


def nest(library: Any, chance: Chance) -> None:
    """Call the function that nests intervals."""
    n, n_calls, n_threads = chance.size(), chance.size(), 1 + chance.randrange(3)
    threads, call_threads = (
        chance.choice((None, chance.words("i", size, 0, n_threads))) for size in (n, n_calls)
    )
    library.nest(
        *(chance.words("q", n) for _ in "se"),
        threads,
        chance.choice((None, chance.words("i", n, -1, n))),
        *(array(kind, bytes(n * array(kind).itemsize)) for kind in "iiqq"),
        *(chance.words("q", n_calls) for _ in "se"),
        call_threads,
        array("i", bytes(4 * n_calls)),
        n_threads,
        chance.number(),
        array("i", bytes(4 * n_threads)),
    )


def among(library: Any, chance: Chance) -> None:
    """Call the function that sums values over each subtree of a tree."""
    n, before, after = chance.size(), chance.size(), chance.size()
    rows = n + before + after
    library.among(
        chance.randrange(-1, 6),
        chance.words("q", n, -1, before + n),
        before,
        chance.choice((None, chance.words("B", rows, 0, 2))),
        chance.words("q", rows),
    )


def ops(library: Any, chance: Chance) -> None:
    """Call the functions that sum ops, mostly with steps in the right order."""
    n = chance.size()
    held = library.ops_new(n, chance.number() % 2**63, 1)
    for _ in range(chance.randrange(2, 9)):
        chance.choice(_OF_OPS)(library, held, n, chance)


def _place(library: Any, held: Any, n: int, chance: Chance) -> None:
    ids = array("q", range(n))
    names = (chance.words("i", n, 0, 4) for _ in "nk")
    codes = (chance.words("i", 4, 0, 4) for _ in "cf")
    library.ops_place(
        held,
        chance.words("q", n, -1),
        chance.bits(n),
        0,
        ids,
        *names,
        *codes,
    )


def _charge_calls(library: Any, held: Any, n: int, chance: Chance) -> None:
    columns = (chance.words("q", n) for _ in "sdpt")
    library.ops_charge_calls(
        held,
        chance.words("q", n),
        chance.bits(n),
        chance.randrange(3),
        *columns,
    )


def _time(library: Any, held: Any, n: int, chance: Chance) -> None:
    library.ops_time(held, chance.words("q", n))


def _launch(library: Any, held: Any, n: int, chance: Chance) -> None:
    library.ops_launch(
        held,
        chance.words("q", n),
        chance.bits(n),
        chance.number(),
        chance.words("q", n),
    )


def _order(library: Any, held: Any, n: int, chance: Chance) -> None:
    library.ops_order(
        held,
        chance.words("q", n),
        chance.words("q", 4),
        array("q", bytes(8 * (n + 1))),
    )


def _totals(library: Any, held: Any, n: int, chance: Chance) -> None:
    n = max(chance.randrange(6), n and 4)
    library.ops_totals(
        held,
        array("q", bytes(32 * n)),
        array("i", bytes(4 * n)),
    )


_OF_OPS = (_place, _place, _charge_calls, _time, _launch, _order, _totals)


def idle_time(library: Any, chance: Chance) -> None:
    """Call the function that sums a device's busy and idle time."""
    n_work = chance.size(), chance.size()
    n_calls, n_threads, n_tracks, n_segments, n_windows, n_places = (
        chance.size() for _ in range(6)
    )
    work = [
        column
        for n in n_work
        for column in (
            *(chance.words("q", n) for _ in "sd"),
            chance.words("q", n, -1, n_calls),
            chance.words("B", n, 0, 9),
        )
    ]
    edges = sorted(chance.randrange(-50, 200) for _ in range(2 * n_windows))
    library.idle_time(
        *work,
        chance.choice((None, chance.words("B", sum(n_work), 0, 2))),
        chance.words("q", n_calls),
        chance.words("i", n_calls),
        chance.choice((None, chance.words("i", n_calls, -1, n_threads + 1))),
        *(chance.words("i", n_threads, -1, n_tracks + 1) for _ in "osm"),
        chance.words("q", n_tracks, -1, n_segments + 1),
        chance.words("q", n_tracks, -1, n_segments + 2),
        *(chance.words("q", n_segments) for _ in "se"),
        chance.words("B", n_segments, 0, 12),
        chance.words("i", n_segments),
        array("q", edges[::2]),
        array("q", edges[1::2]),
        chance.words("B", n_windows, 0, 2),
        *(chance.number() for _ in "fultu"),
        array("q", bytes(8 * _N_UNIONS * (n_windows + 1))),
        array(
            "q",
            bytes(8 * 2 * _N_CAUSES * (n_windows + 1)),
        ),
        array(
            "q",
            bytes(8 * _N_CAUSES * _N_MEASURES * (n_places + 1)),
        ),
        array("q", bytes(8 * sum(n_work))),
    )


def longest_paths(library: Any, chance: Chance) -> None:
    """Call the function for the longest paths of a graph. Most of its edges lead forward."""
    n, n_edges = chance.size(), chance.size()
    offsets = chance.words("q", n + 1, 0, n_edges + 1)
    if len(offsets) and chance.randrange(4):
        offsets[0], offsets[-1] = 0, n_edges
    columns = chance.words("q", n_edges, 0, n), chance.words("q", n_edges)
    library.longest_paths(
        offsets,
        *columns,
        *(array("q", bytes(8 * n)) for _ in "td"),
    )


def parser(library: Any, chance: Chance) -> None:
    """Call the parser, sometimes with an invalid plan."""
    n = chance.randrange(200)
    text = b'{"traceEvents": [' + b"".join(_EVENT % (i, i, i) for i in range(n))
    held = new_parser(library, chance, is_wrong=not chance.randrange(4))
    place, why = len(b'{"traceEvents": ['), 2
    while why == 2:
        before = place
        why, place, *_ = library.parse(held, text, place)
        if place == before:
            break
    for which in (0, 1):
        library.strings(
            held,
            which,
            chance.choice((0, chance.number())),
        )
    library.parse(
        held,
        chance.randbytes(chance.randrange(99)),
        chance.number(),
    )


def new_parser(library: Any, chance: Chance, *, is_wrong: bool = False) -> Any:
    """Return a parser with the plan of fields.py; one word of the plan may be changed."""
    text, known, tables = plan()
    words = [array("q", part) for part in known]
    if is_wrong:
        changed = chance.choice(words)
        changed[chance.randrange(len(changed))] = chance.number()
    cells = array(
        "q",
        bytes(len(words[2]) // 3 * 8 * 30),
    )
    return library.parser_new(
        text,
        *words,
        cells,
        *tables,
        chance.randrange(2**62),
        7,
    )


def hashed(library: Any, chance: Chance) -> None:
    """Call the function that hashes a text."""
    library.hashed(
        chance.randbytes(chance.size()),
        chance.number(),
        chance.number(),
    )


FUNCTIONS: tuple[Callable[[Any, Chance], None], ...] = (
    nest,
    among,
    ops,
    idle_time,
    longest_paths,
    parser,
    hashed,
)


def try_all(library: Any, chance: Chance) -> int:
    """Call each function once; return the number of calls that refused their arguments."""
    n_refused = 0
    for function in FUNCTIONS:
        try:
            function(library, chance)
        except REFUSALS:
            n_refused += 1
    return n_refused


def in_threads(library: Any, rounds: int, seed: int) -> None:
    """Make all calls in two threads, on the same sums of ops and the same parser.

    The library must refuse a parser that two threads use.
    """
    failures: list[BaseException] = []
    n, step = 200_000, 20_000
    for number in range(rounds):
        place = Chance(seed + number)
        ids, zeros = array("q", range(n)), array("i", bytes(4 * n))
        held, shared = library.ops_new(n, 1, 2), new_parser(library, place)

        def placing(
            held: Any = held,
            shared: Any = shared,
            ids: Any = ids,
            z: Any = zeros,
        ) -> None:
            for first in range(0, n, step):
                part = slice(first, first + step)
                parents = array("q", [_EXTREMES[-1]] * step)  # none
                names = z[part], z[part], array("i", [0]), array("i", [3])
                library.ops_place(
                    held,
                    parents,
                    None,
                    0,
                    ids[part],
                    *names,
                )
            _parse_shared(library, shared)

        def timing(
            held: Any = held,
            shared: Any = shared,
            ids: Any = ids,
        ) -> None:
            library.ops_charge_calls(held, ids, None, 0, ids, ids, ids, ids)
            left, own_ns = n // step, array("q", [5] * step)
            for _ in range(_MOST_TRIES):  # until all that the other thread places is timed
                left -= bool(library.ops_time(held, own_ns))
                if not left:
                    break
            _parse_shared(library, shared)

        def all_of(work: Callable[[], None], chance: Chance) -> None:
            try:
                work()
                try_all(library, chance)
            except BaseException as error:  # noqa: BLE001 - raised below
                failures.append(error)

        threads = [
            threading.Thread(
                target=all_of,
                args=(work, Chance(seed + 2 * number + k)),
            )
            for k, work in enumerate((placing, timing))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]


def _parse_shared(library: Any, held: Any) -> None:
    text = b"".join(_EVENT % (i, i, i) for i in range(300))
    for _ in range(20):
        try:
            library.parse(held, text, 0)
            library.strings(held, 0, 0)
        except RuntimeError:
            continue


def with_failing_memory(library: Any, rounds: int, seed: int) -> int:
    """Call functions with failing allocations; return the number of allocations that failed.

    In round n of `rounds`, the n-th allocation fails.
    """
    fail_allocation = ctypes.CDLL(None).fail_allocation
    has_failed = ctypes.CDLL(None).has_allocation_failed
    none, n_failed = ctypes.c_long(0), 0
    for number in range(1, rounds + 1):
        chance, which = Chance(seed + number % 50), ctypes.c_long(number)
        fail_allocation(which)
        try:
            while not has_failed():
                try_all(library, chance)
        except MemoryError:  # of what lies between the calls
            pass
        except SystemError as error:
            # CPython 3.11 says this if a Python frame finds no memory. C's errors say more.
            if str(error) != "error return without exception set":
                raise
        finally:
            n_failed += _disarmed(fail_allocation, none)
    return n_failed


def _disarmed(fail_allocation: Any, none: ctypes.c_long) -> int:
    """Let no further allocation fail; return whether the chosen allocation failed.

    This call may itself make the chosen allocation.
    """
    try:
        return int(fail_allocation(none))
    except (MemoryError, ctypes.ArgumentError):
        return int(fail_allocation(none)) or 1


def _again_with_failing_memory() -> int:
    """Run this command again with an allocator that can fail, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / "failing.so"
        source = Path(__file__).with_name("failing.c")
        subprocess.run(
            ["cc", "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"],
            check=True,
        )
        environment = os.environ | {"LD_PRELOAD": str(shim), "PYTHONMALLOC": "malloc"}
        command = [sys.executable, "-m", "tools.fuzz.calls", *sys.argv[1:]]
        return subprocess.run(command, env=environment, check=False).returncode


def main() -> None:
    """Run the given number of rounds, and print the number of refused calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--threads", action="store_true")
    ways.add_argument("--failing-memory", action="store_true")
    given = parser.parse_args()
    if given.failing_memory and not hasattr(ctypes.CDLL(None), "fail_allocation"):
        raise SystemExit(_again_with_failing_memory())
    plan()
    name = "tracelens.native._library"
    if not given.failing_memory and (ROOT / "build" / "sanitized").is_dir():
        importlib.import_module("tests.sanitized")
    library: Any = sys.modules.get(name) or importlib.import_module(name)
    if given.threads:
        in_threads(library, given.rounds, given.seed)
        print(f"{given.rounds:,} rounds in two threads")
    elif given.failing_memory:
        n_failed = with_failing_memory(library, given.rounds, given.seed)
        print(f"{given.rounds:,} rounds, in {n_failed:,} of which an allocation failed")
    else:
        refused = sum(try_all(library, Chance(given.seed + i)) for i in range(given.rounds))
        print(f"{given.rounds * len(FUNCTIONS):,} calls, {refused:,} refused")


if __name__ == "__main__":
    main()
