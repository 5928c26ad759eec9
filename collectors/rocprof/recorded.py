"""Turn rocprofv3's records of one process, from JSON or rocpd, into raw tables."""

import msgspec
import polars as pl
from msgspec import Struct

HOW = "record again: rocprofv3 --sys-trace --output-format json rocpd -- PROGRAM"
_AXES = ("x", "y", "z")
_PLACE = {"process_id": pl.Int64, "start_ns": pl.Int64, "duration_ns": pl.Int64}
_WORK = {
    "name": pl.String,
    "stream_id": pl.Int64,
    "correlation_id": pl.Int64,
    "device_id": pl.Int64,
}
_SHAPE = {f"{word}_{axis}": pl.Int64 for word in ("grid", "block") for axis in _AXES}
KERNELS = _PLACE | _WORK | {"shared_bytes": pl.Int64, "registers_per_thread": pl.Int64} | _SHAPE
"""Columns of kernel records. As in rocprofv3's output, the grid counts work-items."""
COPIES = _PLACE | _WORK | {"size_bytes": pl.Int64}
"""Columns of copy records. The name ends in the direction, such as HOST_TO_DEVICE."""
REGIONS = _PLACE | {
    "thread_id": pl.Int64,
    "correlation_id": pl.Int64,
    "category": pl.String,
    "name": pl.String,
    "message": pl.String,
}
"""Columns of the records of calls and roctx ranges.

The category begins with HIP_, HSA_ or MARKER_. `message` is the text of a range.
"""
_COPIES = {
    "HOST_TO_DEVICE": "h2d",
    "DEVICE_TO_HOST": "d2h",
    "DEVICE_TO_DEVICE": "d2d",
    "HOST_TO_HOST": "h2h",
}


class Agent(msgspec.Struct):
    """Describes a CPU or GPU, in rocprofv3's own field names."""

    name: str = ""
    product_name: str = ""
    cu_count: int | None = None
    wave_front_size: int | None = None
    max_waves_per_cu: int | None = None
    lds_size_in_kb: int | None = None


class Recorded(Struct, frozen=True):
    """Holds the records of one process."""

    kernels: pl.DataFrame
    """Columns: KERNELS."""
    copies: pl.DataFrame
    """Columns: COPIES."""
    regions: pl.DataFrame
    """Columns: REGIONS."""
    gpus: dict[int, Agent]
    """The process's GPUs by ordinal."""

    def raw_tables(self) -> dict[str, pl.DataFrame]:
        """Return the raw tables by name. Grids are converted from work-items to blocks."""
        blocks = [
            (-(-pl.col(f"grid_{axis}") // pl.col(f"block_{axis}"))).alias(f"grid_{axis}")
            for axis in _AXES
        ]
        is_marker = pl.col("category").str.starts_with("MARKER")
        calls = self.regions.filter(pl.col("category").str.contains("^(?:HIP|HSA)")).with_columns(
            raw_api="name",
            source_api=pl.when(pl.col("category").str.starts_with("HIP"))
            .then(pl.lit("runtime"))
            .otherwise(pl.lit("driver")),
        )
        ranges = self.regions.filter(is_marker & pl.col("message").is_not_null())
        return {
            "kernels": self.kernels.with_columns(blocks),
            "memcpys": _with_direction(self.copies),
            "api_calls": calls.drop("name", "category", "message"),
            "spans": ranges.select(
                *_PLACE,
                "thread_id",
                kind=pl.lit("nvtx"),
                category=pl.lit("roctx"),
                name="message",
            ),
            "devices": pl.DataFrame(
                [
                    {
                        "device_id": ordinal,
                        "name": gpu.product_name or gpu.name or "unknown",
                        "sm_count": gpu.cu_count,
                        "warp_size": gpu.wave_front_size,
                        "max_warps_per_sm": gpu.max_waves_per_cu,
                        "shared_memory_per_sm_bytes": gpu.lds_size_in_kb
                        and gpu.lds_size_in_kb * 1024,
                    }
                    for ordinal, gpu in sorted(self.gpus.items())
                ]
            ),
        }


def _with_direction(copies: pl.DataFrame) -> pl.DataFrame:
    """Return the copies with their direction and kinds of memory, both taken from the name.

    The kind of host memory is unknown, because rocprofv3 does not record whether it is pinned.
    """
    direction = pl.coalesce(
        *(
            pl.when(pl.col("name").str.ends_with(ending)).then(pl.lit(word))
            for ending, word in _COPIES.items()
        ),
        pl.lit("unknown"),
    )
    copies = copies.with_columns(direction=direction).drop("name")
    memories = [
        pl.when(pl.col("direction").str.contains(pattern))
        .then(pl.lit("device"))
        .otherwise(pl.lit("unknown"))
        .alias(f"{end}_memory")
        for end, pattern in (("source", "^d"), ("destination", "d$"))
    ]
    return copies.with_columns(memories)
