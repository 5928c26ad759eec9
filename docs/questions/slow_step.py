"""Which step is slow, and what did it wait for?"""

import polars as pl

import tracelens as tl

trace = tl.collect("samples/planted/captures/input_slow_workers.stacks.pt.trace.json.gz")
steps = tl.analyses.time_breakdown(trace).filter(pl.col("step").is_not_null())
idle = [
    name
    for name in steps.columns
    if name.startswith("idle_") and name.endswith("_ns") and name != "idle_ns"
]
slow, quick = (
    steps.sort("window_ns", descending=order).row(0, named=True) for order in (True, False)
)
longer = max(idle, key=lambda name: slow[name] - quick[name])
for word, step in (("The slowest", slow), ("The fastest", quick)):
    print(f"{word}, step {step['step']}, takes {step['window_ns'] / 1e6:.1f} ms.")
print(f"Most of the difference is {longer}: {(slow[longer] - quick[longer]) / 1e6:.1f} ms more.")
cause = longer.removeprefix("idle_").removesuffix("_ns")
print(tl.analyses.idle_gaps(trace).filter(pl.col("cause") == cause)["what"][0])
