"""Is it the input, and where is it made?"""

import polars as pl

import tracelens as tl

trace = tl.collect("samples/planted/captures/input_main_process.stacks.pt.trace.json.gz")
places = tl.analyses.idle_gaps(trace).filter(pl.col("cause") == "input")
print(
    f"The device waits for input data {places['share_frac'].sum():.0%} of step time, most of it"
    " here:"
)
for what, share in places.select("what", "share_frac").head(1).iter_rows():
    print(f"{share:.0%} {what}")
