"""Write finished tables in a background thread, so that they need not stay in memory."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

import polars as pl

from tracelens.storage.table import Stored, Table, n_names

_WAITED_FOR = 1 << 20
"""`put` waits until a table with this many rows is written, because that frees its memory."""


class Store:
    """Writes finished tables into a folder, one after another.

    Used in a `with` statement. If its body fails, tables that are not being written yet are
    dropped.
    """

    def __init__(self, folder: Path) -> None:
        """Create the folder; raise OSError if that fails."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._pool = ThreadPoolExecutor(1)
        self._begun: dict[str, tuple[Stored, Future[None]]] = {}

    def __enter__(self) -> Self:

        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the table that is being written, and drop the tables that are still queued."""
        self._pool.shutdown(cancel_futures=True)

    def put(self, table: Table, frame: pl.DataFrame) -> None:
        """Start writing a table's rows with `Table.write`. The frame has no column `rank`.

        The caller should drop its reference to the frame. An error of writing is raised here or in
        `finish`.
        """
        path = self._folder / f"{table.name}.parquet"
        self._begun[table.name] = (
            Stored(path, frame.height, n_names(frame)),
            self._pool.submit(table.write, frame, path),
        )
        if frame.height >= _WAITED_FOR:
            self._begun[table.name][1].result()

    def finish(self) -> dict[str, Stored]:
        """Wait until all tables are written, and return them by name.

        Raises SchemaError or OSError if a table could not be written.
        """
        for _, written in self._begun.values():
            written.result()
        return {name: stored for name, (stored, _) in self._begun.items()}
