"""Read single operations, eager and compiled: convolutions, also several in a row, and products."""

from __future__ import annotations

from typing import Any

from samples.kit.significance import Range
from samples.thesis.figures import Run


def of_kind(run: Run, kind: str) -> list[dict[str, Any]]:
    """Return the operations of a kind with speedup and its range by the quartiles.

    On a GPU there is the kernels' speedup, too.
    """
    all_rows = run.results["parts"].get("operations", {}).get("operations", [])
    of_this_kind = []
    for row in all_rows:
        if row["kind"] == kind:
            kernels = {
                f"{way}_kernels": sum(row.get(f"{way}_kernel_ms", {}).values())
                for way in ("eager", "compiled")
            }
            by_kernels = (
                kernels["eager_kernels"] / kernels["compiled_kernels"]
                if all(kernels.values())
                else None
            )
            eager, compiled = (
                Range(low, row[f"{way}_ms"], high)
                for way in ("eager", "compiled")
                for low, high in [row[f"{way}_quartiles_ms"]]
            )
            ratio = eager.over(compiled)
            of_this_kind.append(row | kernels | {"speedup": ratio, "by_kernels": by_kernels})
    return of_this_kind
