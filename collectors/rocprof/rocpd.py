"""Read rocpd, the SQLite file of rocprofv3 since ROCm 7, through its views.

The views change less often than the tables.
source/share/rocprofiler-sdk-rocpd/data_views.sql of rocprofiler-sdk defines them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import msgspec
import polars as pl

from tracelens.collectors.rocprof.recorded import COPIES, HOW, KERNELS, REGIONS, Agent, Recorded
from tracelens.errors import SourceError, first_line

MAGIC = b"SQLite format 3\x00"
_PLACE = 'pid AS process_id, name, start AS start_ns, "end" - start AS duration_ns'
_WORK = f"{_PLACE}, stream_id, stack_id AS correlation_id"
_KERNELS = f"""
SELECT {_WORK}, agent_type_index AS device_id, lds_size AS shared_bytes,
  (SELECT arch_vgpr_count FROM rocpd_info_kernel_symbol AS symbols
    WHERE symbols.id = kernels.kernel_id AND symbols.guid = kernels.guid) AS registers_per_thread,
  grid_x, grid_y, grid_z, workgroup_x AS block_x, workgroup_y AS block_y, workgroup_z AS block_z
FROM kernels"""  # noqa: S608 - of constants
_COPIES = f"""
SELECT {_WORK}, size AS size_bytes, CASE WHEN dst_agent_type = 'GPU' THEN dst_agent_type_index
  ELSE src_agent_type_index END AS device_id FROM memory_copies"""  # noqa: S608
_REGIONS = f"""
SELECT {_PLACE}, tid AS thread_id, category, stack_id AS correlation_id,
  json_extract(extdata, '$.message') AS message FROM regions"""  # noqa: S608
_GPUS = "SELECT pid, type_index, extdata FROM rocpd_info_agent WHERE type = 'GPU'"


def is_rocpd(path: Path) -> bool:
    """Return whether the SQLite file has rocpd's tables."""
    try:
        with closing(_connected(path)) as database:
            tables = database.execute("SELECT 1 FROM sqlite_master WHERE name GLOB 'rocpd_*'")
            return tables.fetchone() is not None
    except sqlite3.Error:
        return False


def read_rocpd(path: Path) -> Iterator[Recorded]:
    """Yield the records of each process. Raises SourceError if the file is damaged."""
    try:
        with closing(_connected(path)) as database:
            kernels = _frame(database, _KERNELS, KERNELS)
            copies = _frame(database, _COPIES, COPIES)
            regions = _frame(database, _REGIONS, REGIONS)
            agents = [
                (pid, ordinal, msgspec.json.decode(about, type=Agent))
                for pid, ordinal, about in database.execute(_GPUS)
                if isinstance(ordinal, int)
            ]
    except (
        sqlite3.Error,
        ValueError,
        OverflowError,
        TypeError,
        pl.exceptions.PolarsError,
    ) as error:
        raise SourceError(
            f"{path}: expected a rocpd file of rocprofv3, found one that cannot be read"
            f" ({first_line(error)}); {HOW}"
        ) from error
    pids = pl.concat([frame["process_id"] for frame in (kernels, copies, regions)]).drop_nulls()
    for pid in pids.unique().sort():
        gpus = {ordinal: agent for process, ordinal, agent in agents if process == pid}
        yield Recorded(
            kernels.filter(process_id=pid),
            copies.filter(process_id=pid),
            regions.filter(process_id=pid),
            gpus,
        )


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?immutable=1", uri=True, timeout=0)


def _frame(
    database: sqlite3.Connection,
    query: str,
    schema: dict[str, type[pl.DataType]],
) -> pl.DataFrame:
    """Return the rows of a query in the dtypes of `schema`.

    A value of another type becomes None.
    """
    cursor = database.execute(query)
    names = [column[0].lower() for column in cursor.description]
    columns = zip(*cursor.fetchall(), strict=True)
    values = dict(zip(names, columns, strict=False))
    return pl.DataFrame(
        [pl.Series(name, values.get(name, ()), schema[name], strict=False) for name in names]
    )
