"""What did torch.compile do: fewer kernels, or faster ones?"""

import tracelens as tl

folder = "samples/thesis/captures"
eager, compiled = (tl.open(f"{folder}/resnet50_{how}.tracelens") for how in ("eager", "compiled"))
for name, trace in (("eager", eager), ("compiled", compiled)):
    query = (
        "SELECT library, COUNT(*) AS n, SUM(duration_ns) AS ns FROM kernels GROUP BY library ORDER"
        " BY ns DESC LIMIT 3"
    )
    print(
        name,
        [(library, n, f"{ns / 1e6:.2f} ms") for library, n, ns in trace.sql(query).iter_rows()],
    )
changed = tl.analyses.compare_kernels(eager, compiled).group_by("change").len().sort("change")
print(dict(changed.iter_rows()))
