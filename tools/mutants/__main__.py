"""Run mutation tests: break one line of the code at a time, and print whether tests fail.

python -m tools.mutants [PART_OF_NAME ...] [--all] [--tree CHECKOUT]

Each mutant is applied to a copy of the checkout. Then the test files of the broken code run there,
or the whole suite with --all; exhaustive tests are left out. All mutants take an hour. Exits with 1
if a mutant survives, or if a test fails on unbroken code.
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

from tools.mutants import MUTANTS, ROOT
from tools.mutants.mutant import SANITIZED, Mutant


class Copy:
    """A copy of a checkout, to apply mutants and run tests in."""

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
        """Run a command in the copy, and return its exit code."""
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
        """Run the test files, by default all, and return pytest's exit code."""
        if tests == SANITIZED:
            return self.run("make", "-o", ".venv/installed-for-tests", "sanitized")
        files = [f"tests/test_{name}.py" for name in tests.split()]
        # That one would fail for every mutant.
        options = ("-q", "-x", "-p", "no:cacheprovider", "--ignore=tests/test_mutants.py")
        chosen = ("-m", "not exhaustive")
        return self.run(sys.executable, "-m", "pytest", *options, *chosen, *files)

    def notices(self, mutant: Mutant, tests: str) -> bool:
        """Return whether the tests fail with the mutant."""
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
    """Try the mutants with one of the words in their names; without words, try all."""
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
        mutant
        for mutant in MUTANTS
        if not asked.words or any(word in mutant.name for word in asked.words)
    ]
    survivors = []
    with tempfile.TemporaryDirectory(prefix="tracelens-mutants-") as folder:
        copy = Copy(asked.tree.resolve(), Path(folder))
        copy.build()
        for tests in sorted(
            {name for mutant in chosen for name in _tests(mutant, all_tests=asked.all)}
        ):
            assert copy.test(tests) == 0, f"the tests fail as they are: {tests or 'all'}"
        for mutant in chosen:
            began = time.monotonic()
            is_caught = any(
                copy.notices(mutant, tests) for tests in _tests(mutant, all_tests=asked.all)
            )
            survivors += [] if is_caught else [mutant.name]
            print(
                f"{'caught' if is_caught else 'NOT CAUGHT':10} {time.monotonic() - began:4.0f} s "
                f" {mutant.name}",
                flush=True,
            )
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    raise SystemExit(1 if survivors else 0)


def _tests(mutant: Mutant, *, all_tests: bool) -> list[str]:
    """Return the test files or commands for a mutant. They run until one of them fails."""
    if mutant.tests == SANITIZED:
        return [SANITIZED]
    return [""] if all_tests else mutant.tests.split()


if __name__ == "__main__":
    main()
