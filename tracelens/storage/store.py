"""Write finished tables in a background thread while later ones are made.

Finished tables then need not stay in memory.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

import polars as pl

from tracelens.storage.table import Stored, Table, n_names

_WAITED_FOR = 1 << 20
"""`put` waits until a table with this many rows is written, because that frees its memory."""


class Store:
    """A folder into which finished tables are written, one after another.

    After an error in the body, tables that are still waiting are dropped.
    """

    def __init__(self, folder: Path) -> None:
        """Create the folder. Raises OSError when it cannot be."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._pool = ThreadPoolExecutor(1)
        self._begun: dict[str, tuple[Stored, Future[None]]] = {}

    def __enter__(self) -> Self:

        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the table that is being written, and drop those that still wait."""
        self._pool.shutdown(cancel_futures=True)

    def put(self, table: Table, frame: pl.DataFrame) -> None:
        """Start writing a frame without the column rank, as `Table.write` does.

        The caller should drop its own reference. An error in writing is raised here or in `finish`.
        """
        path = self._folder / f"{table.name}.parquet"
        self._begun[table.name] = (
            Stored(path, frame.height, n_names(frame)),
            self._pool.submit(table.write, frame, path),
        )
        if frame.height >= _WAITED_FOR:
            self._begun[table.name][1].result()

    def finish(self) -> dict[str, Stored]:
        """Return all tables by name, once they are written.

        Raises the error of a failed write: SchemaError, or OSError.
        """
        for _, written in self._begun.values():
            written.result()
        return {name: stored for name, (stored, _) in self._begun.items()}
