"""Which copies cost time, and what of them is waste?"""

import polars as pl

import tracelens as tl

trace = tl.collect("samples/torch/resnet50_train_f64_pageable.pt.trace.json.gz")
pinned = tl.collect("samples/torch/resnet50_train_f32_pinned.pt.trace.json.gz")
copies = tl.analyses.copy_cost(trace, base=pinned).filter(pl.col("step").is_null())
for copy in copies.iter_rows(named=True):
    print(
        f"{copy['direction']} from {copy['source_memory']} memory: {copy['exposed_ns'] / 1e6:.3f}"
        " ms that nothing hides"
    )
    print(f"  pinned it would take {copy['pinned_ns'] / 1e6:.3f} ms")
    print(
        f"  {copy['wasted_bytes'] / copy['size_bytes']:.0%} of the bytes are"
        f" {copy['wasteful_dtype']} that is cast away"
    )
