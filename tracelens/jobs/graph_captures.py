"""Find the recorded CUDA graph captures that match the batch sizes of a trace.

An inference server records its graph captures in a folder, with one trace per batch size. At run
time, it replays the smallest graph that is large enough for a step's tokens.
"""

import gzip
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from tracelens.collectors import collect
from tracelens.derive.layers.graph_capture import captured_graphs
from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

_MARK = re.compile(rb'"capture_(\d{1,9})_[A-Z]+')
"""Matches the span around a graph capture, whose name contains the batch size."""
_RANK = re.compile(r"(?i)rank[-_]?(\d{1,9})(?!\d)|-TP-(\d{1,9})(?!\d)")
_AT_ONCE, _LONGEST_MARK = 1 << 20, 64


def captures_of(path: str | os.PathLike[str], trace: Trace) -> list[Path]:
    """Return the files at a path that hold captures of the graphs that a trace replays.

    - The path itself is returned if it is a file, a folder with one file, or a folder in which no
      file records a batch size.
    - From any other folder, one file is returned for each batch size of the trace's steps. It is
      the file with the smallest sufficient batch size.
    - If no file has a sufficient batch size, the first file with launches that fit a replay is
      returned.
    """
    folder = Path(path)
    # Of several ranks' files, the files of the lowest rank are read.
    files = _files_of_rank(folder, min(trace.manifest.ranks)) if folder.is_dir() else []
    sizes = {file: _batch_sizes(file) for file in files} if len(files) > 1 else {}
    by_size = sorted((size, file) for file, file_sizes in sizes.items() for size in file_sizes)
    if not by_size:
        return [folder]
    fitting = [
        next((file for size, file in by_size if size >= wanted), None)
        for wanted in _batch_sizes_of_steps(trace)
    ]
    chosen = [*dict.fromkeys(file for file in fitting if file is not None)]
    return chosen or [_first_that_fits([file for _, file in by_size], trace)]


def open_captures(path: str | os.PathLike[str], trace: Trace) -> Trace:
    """Return the captures of a trace's graphs as one trace. Each file becomes a rank."""
    files = captures_of(path, trace)
    return collect(files, ranks=range(len(files)) if len(files) > 1 else ())


def _files_of_rank(folder: Path, rank: int) -> list[Path]:
    """Return the traces of a folder with this rank in their names; all traces if there are none."""
    files = sorted(file for file in folder.iterdir() if file.name.endswith((".json", ".json.gz")))
    of_rank = [
        file
        for file in files
        if (match := _RANK.search(file.name)) and int(match[1] or match[2]) == rank
    ]
    return of_rank or files


def _batch_sizes(file: Path) -> set[int]:
    """Return the batch sizes of the graph captures in a file, from the names of their spans."""
    sizes: set[int] = set()
    tail = b""
    for part in _parts(file):
        sizes.update(int(match[1]) for match in _MARK.finditer(tail + part))
        tail = part[-_LONGEST_MARK:]
    return sizes


def _parts(file: Path) -> Iterator[bytes]:
    with file.open("rb") as plain:
        is_packed = plain.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(file) if is_packed else file.open("rb") as stream:
            while part := stream.read(_AT_ONCE):
                yield part
    except (OSError, EOFError):
        return  # a damaged file is reported when it is read


def _batch_sizes_of_steps(trace: Trace) -> list[int]:
    """Return the distinct token counts of the steps that replay graphs, in ascending order."""
    is_replayed = pl.col("link") == "graph"
    replayed = trace.select("kernels", "rank", "step", where=is_replayed).unique()
    steps = steps_of(trace).select("rank", "step", "n_tokens")
    sizes = steps.join(replayed, on=["rank", "step"], how="semi")["n_tokens"].drop_nulls()
    return [int(size) for size in sizes.unique().sort()]


def _first_that_fits(files: Sequence[Path], trace: Trace) -> Path:
    """Return the first file with launches that fit a replay of the trace, else the last file."""
    for file in files:
        captured = captured_graphs(collect(file))
        if captured is not None and captured.pairs(trace).height:
            return file
    return files[-1]
