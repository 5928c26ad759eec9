"""Breaks the code on purpose, one line at a time, and says which breaks the tests notice.

python -m tools.mutants [PART_OF_NAME ...] [--all] [--tree CHECKOUT]

Each mutant is applied to a copy of the checkout, and the test files that touch what it breaks are
run there, or with --all the whole suite; C is built anew, and what only the checks of `make
sanitized` can see is run by that. The files are run once unbroken before, as a test that fails
anyway notices nothing. Takes an hour; exits with 1 where a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SANITIZED = "make sanitized"


class Mutant(NamedTuple):
    """Text that stands once in a file, and its replacement.

    The test files are named by the middle of their names.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    # The native library.
    Mutant(
        "a child may outlast its parent by the tolerance (C)",
        "tracelens/native/nest.c",
        "minus(end, own_end) <= tolerance",
        "minus(end, own_end) < tolerance",
        "nesting_fast",
    ),
    Mutant(
        "a call that starts with a span and is longer comes first (C)",
        "tracelens/native/nest.c",
        "calls.ends[call] > spans.ends[row]",
        "calls.ends[call] >= spans.ends[row]",
        "nesting_fast",
    ),
    Mutant(
        "halves of surrogate pairs are no UTF-8 (C)",
        "tracelens/native/json.c",
        " || (c >= 0xD800 && c < 0xE000)",
        "",
        "torch_fast",
    ),
    Mutant(
        "a grid is no larger than 32 bits hold (C)",
        "tracelens/native/kineto.c",
        "value > INT32_MAX",
        "value > INT64_MAX",
        "torch_fast",
    ),
    Mutant(
        "time below an op counts once for a name met twice (C)",
        "tracelens/native/chains.c",
        "if (last[code] != node) {",
        "if (node) {",
        "op_times_fast top_ops",
    ),
    Mutant(
        "no byte is read past the end (C)",
        "tracelens/native/json.c",
        "if (end - p >= 16) {",
        "if (end - p >= 12) {",
        SANITIZED,
    ),
    # Events and what is derived from them.
    Mutant(
        "a child may outlast its parent by the tolerance",
        "tracelens/derive/events/nesting.py",
        "end <= own_end + TOLERANCE_NS",
        "end < own_end + TOLERANCE_NS",
        "nesting",
    ),
    Mutant(
        "the outer of two calls that start together is the caller",
        "tracelens/derive/events/correlation.py",
        'pl.col("duration_ns").neg(),\n                maintain_order=True,',
        'pl.col("duration_ns"),\n                maintain_order=True,',
        "correlation",
    ),
    Mutant(
        "work that starts with the first call is not from before",
        "tracelens/derive/events/correlation.py",
        '(pl.col("start_ns") < self._first_ns)',
        '(pl.col("start_ns") <= self._first_ns)',
        "correlation",
    ),
    Mutant(
        "a mark within another is inner where both end together",
        "tracelens/derive/events/steps.py",
        '(pl.col("end_ns") <= reached)',
        '(pl.col("end_ns") < reached)',
        "steps",
    ),
    Mutant(
        "loading takes three times as long as the next use",
        "tracelens/derive/time/idle.py",
        "_MUCH_LONGER = 3",
        "_MUCH_LONGER = 4",
        "idle",
    ),
    Mutant(
        "launching after a wait is part of the wait",
        "tracelens/derive/time/idle.py",
        'is_launch & pl.col("waits")',
        'is_wait & pl.col("waits")',
        "idle_fast idle planted",
    ),
    Mutant(
        "copies hidden by communication are not exposed",
        "tracelens/derive/time/breakdown.py",
        'exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns")',
        'exposed_copy_ns=pl.col("all_ns") - pl.col("compute_ns")',
        "time_breakdown",
    ),
    Mutant(
        "waiting in a collective is not exposed while the rank computes",
        "tracelens/derive/ranks/collective_wait.py",
        'exposed_ns=pl.col("wait_ns") - pl.col("hidden_ns")',
        'exposed_ns=pl.col("wait_ns")',
        "ranks",
    ),
    Mutant(
        "copies below 64 KiB tell no bandwidth",
        "tracelens/analyses/copy_cost.py",
        "_PINNED_BYTES = 64 << 10",
        "_PINNED_BYTES = 64 << 9",
        "copy_cost",
    ),
    Mutant(
        "the root module alone is no layer",
        "tracelens/derive/layers/attribution.py",
        'in_layer = path.is_not_null() & ~pl.col("is_root")',
        "in_layer = path.is_not_null()",
        "layer_attribution",
    ),
    Mutant(
        "half of the kernels have to match for a base to be one",
        "tracelens/derive/layers/graph_replay.py",
        ">= _LEAST_ALIKE * paired.height",
        "> _LEAST_ALIKE * paired.height",
        "graph_replay",
    ),
    Mutant(
        "costs of switching are summed up",
        "tracelens/derive/layers/best_mixture.py",
        "cumulative += chosen + change",
        "cumulative += chosen",
        "layer_oracle",
    ),
    Mutant(
        "unnamed functions are not the same one",
        "tracelens/analyses/stack_alignment.py",
        "other.functions.get(level) != UNKNOWN_FUNCTION",
        "other.functions.get(level)",
        "stack_alignment",
    ),
    Mutant(
        "fewer ranks than files are no ranks of one program",
        "tracelens/trace/same_run.py",
        "stated[0][1] < n_files",
        "stated[0][1] < n_files - 1",
        "torch_ranks combine",
    ),
    Mutant(
        "ids of a rank's second capture begin after the first one's",
        "tracelens/trace/combine.py",
        "int(highest) + 1",
        "int(highest)",
        "combine",
    ),
    # Sources.
    Mutant(
        "no top-level key is kept but the known ones",
        "collectors/torch/document.py",
        "return {key: whole_text(whole[key]) for key in KEYS if key in whole}",
        "return whole_text(dict(whole))",
        "torch_documents torch_private",
    ),
    Mutant(
        "an nsys setting is kept only where it is a word",
        "collectors/nsys/metadata.py",
        "[word for word in traced if word.isalnum()]",
        "traced",
        "nsys_metadata",
    ),
    Mutant(
        "correlation id 0 of nsys is none",
        "collectors/nsys/events.py",
        'pl.col("correlationId").replace(0, None)',
        'pl.col("correlationId")',
        "nsys_cases nsys",
    ),
    Mutant(
        "nsys's code of a stream's wait without an event is a synchronization",
        "collectors/nsys/events.py",
        ".then(3).otherwise(code)",
        ".then(2).otherwise(code)",
        "nsys_cases nsys",
    ),
    Mutant(
        "frames that gdb skipped are counted",
        "collectors/gdb/logs.py",
        "stop.frames[-1].level + 1 - len(stop.frames)",
        "stop.frames[-1].level - len(stop.frames)",
        "gdb",
    ),
    Mutant(
        "the values of arguments are never asked of gdb",
        "collectors/gdb/live.py",
        "print frame-arguments none",
        "print frame-arguments all",
        "gdb_live gdb_limits gdb_ends",
    ),
    Mutant(
        "a call that jumped to another library counts once",
        "collectors/gdb/stops.py",
        "not (jumped or called)",
        "not called",
        "gdb_live",
    ),
    Mutant(
        "as many files at a time as the limit allows",
        "tracelens/running/subprocess_reader.py",
        "limit // each))",
        "limit // each + 1))",
        "subprocess_reader",
    ),
    Mutant(
        "a reading process ends with its parent",
        "tracelens/running/subprocess_reader.py",
        "threading.Thread(target=_end_with_parent, daemon=True).start()",
        "pass",
        "subprocess_reader",
    ),
    Mutant(
        "a limit is no 0",
        "tracelens/limits.py",
        "len(text) < 19 and int(text)",
        "len(text) < 19",
        "torch_limits",
    ),
    # Traces as they lie in a folder.
    Mutant(
        "a trace that a killed process left moved aside is moved back",
        "tracelens/trace/directory.py",
        "if not folder.exists() and not restore(folder):",
        "if not folder.exists():",
        "trace store",
    ),
    Mutant(
        "what a killed writer left is cleared after an hour",
        "tracelens/trace/directory.py",
        "folder.stat().st_mtime > _ABANDONED_S",
        "folder.stat().st_mtime < _ABANDONED_S",
        "interrupted",
    ),
    Mutant(
        "a stopped collect leaves nothing",
        "tracelens/trace/directory.py",
        "    finally:\n        shutil.rmtree(folder, ignore_errors=True)",
        "    finally:\n        pass",
        "interrupted",
    ),
    Mutant(
        "a part has as many rows as the manifest says",
        "tracelens/trace/directory.py",
        "part.n_rows != expected",
        "part.n_rows < expected",
        "trace",
    ),
    Mutant(
        "a newer schema is refused",
        "tracelens/trace/capture.py",
        "if version > SCHEMA_VERSION:",
        "if version > SCHEMA_VERSION + 1:",
        "trace",
    ),
    # The command line and what it shows.
    Mutant(
        "a terminated command exits with 143",
        "tracelens/cli/app.py",
        "raise SystemExit(128 + number)",
        "raise SystemExit(number)",
        "interrupted",
    ),
    Mutant(
        "an interrupted command exits with 130",
        "tracelens/cli/app.py",
        "1, 2, 130",
        "1, 2, 131",
        "cli interrupted",
    ),
    Mutant(
        "a trace that lost events fails the check",
        "tracelens/cli/check.py",
        "raise typer.Exit(EXIT_LOSSES)",
        "raise typer.Exit",
        "cli",
    ),
    Mutant(
        "CSV needs one section",
        "tracelens/views/formats/format.py",
        "and len(sections) != 1:",
        "and len(sections) > 1:",
        "cli formats",
    ),
    Mutant(
        "a torch that is not asked for is not imported",
        "tracelens/derive/time/breakdown.py",
        "import polars as pl\n",
        "import polars as pl\nimport torch  # noqa\n",
        "structure live_block",
    ),
    Mutant(
        "a model is planned for only if it has the plan's layers",
        "tracelens/advisor/plan.py",
        "for path in (*plan.compile, *plan.disable, *plan.layers):",
        "for path in (*plan.disable, *plan.layers):",
        "cli_plan plan",
    ),
    Mutant(
        "attributes in HTML are escaped",
        "tracelens/views/page.py",
        "autoescape=True",
        "autoescape=False",
        "views html_page",
    ),
    Mutant(
        "code in a script cannot end it",
        "tracelens/views/page.py",
        'or "<!--" in code:',
        "or False:",
        "html_page views",
    ),
    Mutant(
        "escape characters are spelled out",
        "tracelens/errors.py",
        "c if c.isprintable() else",
        'c if c.isprintable() or c == "\\x1b" else',
        "views cli",
    ),
    # Programs that run under a collector.
    Mutant(
        "steps are the optimizer's where there is one",
        "collectors/torch/live/steps.py",
        "return not self._has_optimizer or self._n_undecided > _UNDECIDED_CALLS",
        "return True",
        "live_torch",
    ),
    Mutant(
        "a batch used again and again marks no steps",
        "collectors/torch/live/steps.py",
        "_CALLS_OF_ONE_BATCH = 2",
        "_CALLS_OF_ONE_BATCH = 99",
        "live_torch",
    ),
    Mutant(
        "hooks are taken out of torch again",
        "collectors/torch/live/steps.py",
        "self._undo.append(lambda: setattr(owner, name, original))",
        "pass",
        "live_block live_times",
    ),
    Mutant(
        "a launcher is no rank",
        "collectors/torch/live/bootstrap.py",
        '    "torchrun",\n    "accelerate",\n',
        '"torchrun", ',
        "live_programs live_sidecar",
    ),
    Mutant(
        "a terminated program keeps what was recorded",
        "collectors/torch/live/at_exit.py",
        "    finish()\n    signal.signal(number",
        "    signal.signal(number",
        "live_programs",
    ),
    Mutant(
        "a capture in a capture is refused",
        "collectors/torch/running.py",
        "        if _under_way:\n",
        "        if False:\n",
        "live_block",
    ),
    Mutant(
        "a function is recorded the first time only",
        "collectors/torch/running.py",
        "            if self._folder is not None:\n",
        "            if False:\n",
        "live_block",
    ),
    Mutant(
        "an exit code by signal n is 128+n",
        "tracelens/running/program.py",
        " SIGNAL_BASE - code",
        " code",
        "program live_programs",
    ),
    Mutant(
        "Inductor's cache is the user's again",
        "collectors/torch/live/compile_provenance.py",
        "os.environ[_CACHE] = self._old_cache\n",
        "pass\n",
        "compile_provenance",
    ),
    Mutant(
        "a kernel's modules are recorded when it is compiled",
        "collectors/torch/live/compile_provenance.py",
        "self._set(config.trace, LEVEL, 1)",
        "pass",
        "compile_provenance live_programs",
    ),
    Mutant(
        "the program's exit code is noted, whatever nsys says",
        "collectors/nsys/live.py",
        "return int(text) if text.isdecimal() else exit_code",
        "return exit_code",
        "nsys_live",
    ),
    # Attacks that were once not withstood.
    Mutant(
        "attack: more threads than a byte numbers",
        "tracelens/derive/time/host_tracks.py",
        '"own": pl.Int32',
        '"own": pl.Int8',
        "host_tracks",
    ),
    Mutant(
        "attack: each thread looks at the work of all others",
        "tracelens/derive/time/host_tracks.py",
        "if n > 1:",
        "if n > 10_000:",
        "host_tracks",
    ),
    Mutant(
        "attack: a timeline deeper than can be drawn",
        "tracelens/derive/time/timeline.py",
        "shallow = _without_deepest(bars, most)",
        "shallow = bars",
        "timeline",
    ),
    Mutant(
        "attack: SQL that opens files or addresses",
        "tracelens/trace/sql.py",
        "    _refuse_other_functions(statement)\n    named",
        "    named",
        "query",
    ),
    Mutant(
        "attack: SQL that takes all memory",
        "tracelens/trace/sql.py",
        "if _held_bytes() > most:",
        "if False:",
        "query",
    ),
    Mutant(
        "attack: a signal between two renames",
        "tracelens/storage/swap.py",
        "    with signals_deferred():\n        target",
        "    if True:\n        target",
        "swap",
    ),
    Mutant(
        "attack: a kill between two renames",
        "tracelens/trace/directory.py",
        "and not restore(folder)",
        "",
        "swap",
    ),
    Mutant(
        "attack: strings that share a hash whatever the key (C)",
        "tracelens/native/json.c",
        "    v[3] ^= last;\n    sip_round(v);",
        "    v[3] ^= last;",
        "string_hash",
    ),
    Mutant(
        "attack: tokens of a service",
        "tracelens/trace/secret_patterns.py",
        '    r"nvapi-[A-Za-z0-9_-]{16,}",\n',
        "",
        "cleaning",
    ),
    Mutant(
        "attack: tokens as options",
        "tracelens/trace/secret_patterns.py",
        r"--?(?:[a-z0-9]+[_-])*token\s+",
        r"---(?:[a-z0-9]+[_-])*token\s+",
        "cleaning",
    ),
    Mutant(
        "attack: millions of objects that are no events",
        "collectors/torch/columns.py",
        "is_other = self._n_without_phase >= _MOST_WITHOUT_PHASE",
        "is_other = False",
        "torch_refused",
    ),
    Mutant(
        "attack: a result inside the trace that is read",
        "tracelens/cli/io.py",
        "if within is not None:",
        "if False:",
        "cli_places",
    ),
    Mutant(
        "attack: two results into one file",
        "tracelens/cli/io.py",
        "if place in written:",
        "if False:",
        "cli_places",
    ),
    Mutant(
        "attack: hardly any memory",
        "tracelens/__main__.py",
        "    _refuse_little_memory()\n    from",
        "    from",
        "cli_places",
    ),
    # Measuring.
    Mutant(
        "calls of a layer are summed up",
        "tracelens/advisor/measuring/variants.py",
        "durations[path] += time",
        "durations[path] = time",
        "measuring",
    ),
    Mutant(
        "a layer that is called twice is subtracted twice",
        "tracelens/advisor/measuring/subtraction.py",
        "stops.append((path, seen[path], False))",
        "stops.append((path, 1, False))",
        "measuring",
    ),
    Mutant(
        "a prefix hands out what the rest needs",
        "tracelens/advisor/measuring/subtraction.py",
        "places[user] > cut for user",
        "places[user] > cut + 1 for user",
        "measuring",
    ),
)


class Copy:
    """A copy of a checkout in which the code is broken and tests are run."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.root = folder / "tree"
        left_out = shutil.ignore_patterns(
            ".git", ".venv*", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
        )
        shutil.copytree(tree, self.root, symlinks=True, ignore=left_out)
        (self.root / ".venv").symlink_to(sys.prefix)
        more = tree.parent / "shared"
        if more.is_dir():  # real captures that are in no checkout
            (folder / "shared").symlink_to(more)

    def run(self, *command: str) -> int:
        """The exit code of a command of that checkout, in the state it is in."""
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "CI": "true",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, check=False
        ).returncode

    def build(self) -> None:
        """Compile the native library."""
        code = self.run(sys.executable, "setup.py", "-q", "build_ext", "--inplace")
        assert code == 0, "the native library cannot be built"

    def test(self, tests: str) -> int:
        """Pytest's exit code of the test files; of all where none is named."""
        if tests == SANITIZED:
            return self.run("make", "-o", ".venv/installed-for-tests", "sanitized")
        files = [f"tests/test_{name}.py" for name in tests.split()]
        # That one would fail for every mutant.
        options = ("-q", "-x", "-p", "no:cacheprovider", "--ignore=tests/test_mutants.py")
        return self.run(sys.executable, "-m", "pytest", *options, *files)

    def notices(self, mutant: Mutant, tests: str) -> bool:
        """Whether the tests fail while the mutant is in force."""
        file = self.root / mutant.file
        text = file.read_text()
        assert text.count(mutant.old) == 1, (
            f"{mutant.name}: {mutant.file} has {mutant.old!r} {text.count(mutant.old)} times"
        )
        file.write_text(text.replace(mutant.old, mutant.new))
        is_c = mutant.file.endswith(".c")
        try:
            if is_c:
                self.build()
            return self.test(tests) != 0
        finally:
            file.write_text(text)
            if is_c:
                self.build()


def main() -> None:
    """Try the mutants whose names hold one of the words, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="PART_OF_NAME")
    parser.add_argument(
        "--all", action="store_true", help="run all tests for each, not only those that touch it"
    )
    parser.add_argument(
        "--tree",
        type=Path,
        default=ROOT,
        metavar="CHECKOUT",
        help="break this one, and run its tests",
    )
    asked = parser.parse_args()
    chosen = [
        one for one in MUTANTS if not asked.words or any(word in one.name for word in asked.words)
    ]
    survivors = []
    with tempfile.TemporaryDirectory(prefix="tracelens-mutants-") as folder:
        copy = Copy(asked.tree.resolve(), Path(folder))
        copy.build()
        for tests in sorted({name for one in chosen for name in _tests(one, all_tests=asked.all)}):
            assert copy.test(tests) == 0, f"the tests fail as they are: {tests or 'all'}"
        for one in chosen:
            began = time.monotonic()
            is_caught = any(copy.notices(one, tests) for tests in _tests(one, all_tests=asked.all))
            survivors += [] if is_caught else [one.name]
            print(
                f"{'caught' if is_caught else 'NOT CAUGHT':10} {time.monotonic() - began:4.0f} s "
                f" {one.name}",
                flush=True,
            )
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    raise SystemExit(1 if survivors else 0)


def _tests(mutant: Mutant, *, all_tests: bool) -> list[str]:
    """What is run for a mutant, one after another until one fails."""
    if mutant.tests == SANITIZED:
        return [SANITIZED]
    return [""] if all_tests else mutant.tests.split()


if __name__ == "__main__":
    main()
