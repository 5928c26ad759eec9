"""Compare this checkout's tables and analyses of every capture with another's, cell by cell.

    python -m tests.same_as OTHER_CHECKOUT [PART_OF_A_NAME ...]

Both collect the captures of samples/ and ../shared/data through the command line, each in its own
process, and write the trace and a report as JSON. Prints the differences; exits with 1 if there are
any.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "samples", ROOT.parent / "shared" / "data")
ENDINGS = (".json", ".json.gz", ".sqlite", ".txt", ".log")
EXPORTS = ("_parquetdir", "_arrowdir")
OF_VERSIONS = ("tracelens_version", "schema_version")


def captures() -> Iterator[Path]:
    """Yield sources and traces in the folders.

    A file that is neither is refused by both checkouts alike.
    """
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            is_inside = any(
                parent.name.endswith((".tracelens", *EXPORTS)) for parent in path.parents
            )
            if not is_inside and path.name.endswith((".tracelens", *EXPORTS, *ENDINGS)):
                yield path


def command(*words: str) -> str:
    """Run `tracelens` with these words in this process; return its output and its exit code."""
    said, sys.argv = io.StringIO(), ["tracelens", *words]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            runpy.run_module("tracelens", run_name="__main__")
        except SystemExit as end:
            said.write(f"exit {end.code}\n")
    return said.getvalue()


def write(folder: Path) -> None:
    """Write what this checkout's tracelens makes of the captures, one folder each.

    Their names come from standard input.
    """
    for i, line in enumerate(sys.stdin):
        source, own = Path(line.rstrip("\n")), folder / str(i)
        own.mkdir()
        trace = source if source.name.endswith(".tracelens") else own / "made.tracelens"
        said = (
            "" if trace == source else command("collect", "files", str(source), "--out", str(trace))
        )
        said += command(
            "report",
            str(trace),
            "--rows",
            "1000000000",
            "--format",
            "json",
            "--out",
            str(own / "report.json"),
        )
        (own / "said.txt").write_text(said.replace(str(own), ""))


def differences(base: Path, other: Path) -> Iterator[str]:
    """Yield what differs between the results of two checkouts on one capture."""
    files = {
        file.relative_to(folder)
        for folder in (base, other)
        for file in folder.rglob("*")
        if file.is_file()
    }
    for file in sorted(files):
        one, two = base / file, other / file
        if not one.exists() or not two.exists():
            yield f"{file}: only one has it"
        elif file.suffix == ".parquet":
            frames = pl.read_parquet(one, glob=False), pl.read_parquet(two, glob=False)
            if frames[0].schema != frames[1].schema:
                yield (
                    f"{file}: columns differ:"
                    f" {set(frames[0].schema.items()) ^ set(frames[1].schema.items())}"
                )
            elif not frames[0].equals(frames[1]):
                apart = [
                    name
                    for name in frames[0].columns
                    if not frames[0][name].equals(frames[1][name])
                ]
                yield (
                    f"{file}: {frames[0].height} and {frames[1].height} rows; cells differ in"
                    f" {', '.join(apart)}"
                )
        elif file.suffix == ".json":
            yield from (
                f"{file}: {where}"
                for where in unequal(json.loads(one.read_text()), json.loads(two.read_text()))
            )
        elif one.read_bytes() != two.read_bytes():
            yield f"{file}: {one.read_text()!r} and {two.read_text()!r}"


def unequal(one: object, two: object, where: str = "") -> Iterator[str]:
    """Yield where two parsed JSON values differ; versions may."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted({*one, *two} - set(OF_VERSIONS)):
            yield from unequal(one.get(key), two.get(key), f"{where}.{key}")
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for i, pair in enumerate(zip(one, two, strict=True)):
            yield from unequal(*pair, f"{where}[{i}]")
    elif one != two:
        yield f"{where}: {str(one)[:200]} and {str(two)[:200]}"


def main(other: str, *parts: str) -> int:
    """Compare this checkout with the other on the captures with one of the parts in their paths."""
    sources = [path for path in captures() if not parts or any(part in str(path) for part in parts)]
    folder = Path(tempfile.mkdtemp(prefix="same-as-"))
    text = "".join(f"{source}\n" for source in sources)
    begun = []
    for name, checkout in (("base", Path(other).resolve()), ("own", ROOT)):
        (folder / name).mkdir()
        environment = os.environ | {"PYTHONPATH": str(checkout), "COLUMNS": "120"}
        words = [sys.executable, "-P", __file__, "--write", str(folder / name)]
        begun.append(
            subprocess.Popen(words, env=environment, cwd=folder, stdin=subprocess.PIPE, text=True)
        )
    for process in begun:
        assert process.stdin
        process.stdin.write(text)
        process.stdin.close()
    codes = [process.wait() for process in begun]
    found = [
        f"{source}: {line}"
        for i, source in enumerate(sources)
        for line in differences(folder / "base" / str(i), folder / "own" / str(i))
    ]
    n_cells = sum(
        frame.height * frame.width
        for file in (folder / "own").rglob("*.parquet")
        for frame in [pl.read_parquet(file)]
    )
    summary = f"{len(sources)} captures, {n_cells:,} cells, {len(found)} differences"
    sys.stdout.write("\n".join([*found, summary, ""]))
    shutil.rmtree(folder)
    return 1 if found or any(codes) else 0


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        write(Path(sys.argv[2]))
    else:
        sys.exit(main(*sys.argv[1:]))
