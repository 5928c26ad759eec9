"""Columns that several tables of a trace share."""

import polars as pl

from tracelens.storage.table import Column

I64, I32, STR, F64 = pl.Int64, pl.Int32, pl.String, pl.Float64

RANK = Column(
    "rank", I32, "Rank of the process that was traced; on disk it is in the folder's name."
)

START = Column(
    "start_ns", I64, "Start; since the Unix epoch if the manifest's time_base is unix_epoch."
)

DURATION = Column("duration_ns", I64, "End minus start.")

PROCESS = Column("process_id", I64, "Operating-system id of the process.")

THREAD = Column("thread_id", I64, "Thread on which the call ran, as the source numbers it.")

STEP = Column(
    "step", I64, "Step of the call that launched the work; null outside any step.", nullable=True
)

DEVICE = Column("device_id", I32, "Ordinal of the device in its process.")

STREAM = Column("stream_id", I64, "CUDA or HIP stream.", nullable=True)

CONTEXT = Column("context_id", I64, "CUDA context.", nullable=True)

CORRELATION = Column(
    "correlation_id",
    I64,
    "The driver's id that links device work to the call that started it.",
    nullable=True,
)

API_CALL = Column("api_call_id", I64, "The API call that started the work.", nullable=True)

SPAN = Column("span_id", I64, "Innermost span that encloses the API call.", nullable=True)

SITE = Column(
    "site_id",
    I64,
    "The site at which the call was made; null outside of spans, and in a trace without sites.",
    nullable=True,
)
