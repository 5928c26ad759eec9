"""Which layers became slower? Here a change lost torch.compile."""

import polars as pl

import tracelens as tl

folder = "samples/thesis/captures"
before, after = (tl.open(f"{folder}/resnet50_{how}.tracelens") for how in ("compiled", "eager"))
layers = tl.analyses.compare_layers(before, after)
slower = layers.filter(pl.col("outcome") == "slower").sort("saved_ns")
print(f"{slower.height} of {layers.height} layers are slower by more than they vary; most:")
for row in slower.head(3).iter_rows(named=True):
    was, now = row["base_estimate_ns"] / 1e3, row["other_estimate_ns"] / 1e3
    print(f"{row['layer']} ({row['class_name']}): {was:.0f} us before, {now:.0f} us now")
