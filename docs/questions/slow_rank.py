"""Which rank do the others wait for, and why is it late?"""

import polars as pl

import tracelens as tl

trace = tl.collect("samples/ranks")
job = tl.analyses.job(trace).row(0, named=True)
print(f"{job['bound']}: {job['evidence']}.")
print(tl.analyses.idle_gaps(trace).filter(rank=job["rank"], cause=job["cause"])["what"][0])
waiting = tl.analyses.waiting(trace).filter(pl.col("exposed_ns") > 0)
for rank, wait, exposed, awaited in waiting.select(
    "rank", "wait_ns", "exposed_ns", "awaited_rank"
).iter_rows():
    print(
        f"Rank {rank} waits {wait / 1e6:.1f} ms, most for rank {awaited}; computing hides all but"
        f" {exposed / 1e6:.1f}."
    )
across = tl.analyses.collectives_across(trace)
for name, size, algbw in across.select("name", "size_in_bytes", "algbw_bytes_per_s").iter_rows():
    print(f"{name} of {size / 1e6:.1f} MB: {algbw / 1e9:.0f} GB/s")
