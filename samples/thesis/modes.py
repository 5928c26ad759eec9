"""Operations in every mode of torch.compile, on the GPU, the CPU and by NumPy, and what compiling each took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from figures import EVEN, Run, Speedup, agree
from page import Finding, table

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
KINDS = {
    "matmul": "product on the GPU",
    "convolution": "convolution on the GPU",
    "matmul_cpu": "product on the CPU",
    "matmul_numpy": "product by NumPy, on the CPU",
}
Row = Mapping[str, Any]


def measured(run: Run) -> dict[str, list[Row]]:
    """The operations that were compiled in every mode, by kind; a kind without any is left out."""
    found = {
        kind: [row for row in of_kind(run, kind) if f"{MODES[-1]}_ms" in row] for kind in KINDS
    }
    return {kind: of for kind, of in found.items() if of}


def of_kind(run: Run, kind: str) -> list[Row]:
    """All operations of a kind, those too for which the time ended before all modes were tried."""
    return [
        row for row in run.results["parts"].get("modes", {}).get("modes", []) if row["kind"] == kind
    ]


def blocks(run: Run) -> list[str]:
    """The tables and their introduction; nothing where none were measured."""
    rows = [(word, row) for kind, word in KINDS.items() for row in measured(run).get(kind, [])]
    if not rows:
        return []
    times = [
        [word, _what(row), _ms(row, "eager"), *(_ms(row, mode) for mode in MODES)]
        for word, row in rows
    ]
    seconds = [
        [word, _what(row), *(f"{row['compile_s'][mode]:.2f}" for mode in MODES)]
        for word, row in rows
    ]
    return [
        (
            "Operations in every mode (`modes` of `results.json`, 22 November 2026, the products on"
            " the GPU in one session, those of 4,096 on the CPU in another, the others in a third),"
            " milliseconds by CUDA events, on the CPU of 16 cores by the host's clock, quartiles in"
            " brackets; then the seconds that compiling took, one reading each, the modes in this"
            " order, so that a later one may find what an earlier one had chosen, and the first of"
            " a session pays for what is compiled once. Convolutions have 64 channels, 32 images of"
            " 56×56, stride 1 and their input's size; a product is of two square matrices. The"
            " thesis has its convolutions on the GPU only (section 5.4), and products by NumPy"
            " compiled as well (Appendix Fig. 1):"
        ),
        table(["what", "size", "eager", *MODES], times),
        table(["what", "size", *(f"{mode}, s" for mode in MODES)], seconds),
    ]


def findings(run: Run) -> list[Finding]:
    """Verdicts on sections 5.3 and 5.4: compile modes, the time of compiling, NumPy."""
    rows = measured(run)
    if "matmul" not in rows:
        return []
    found = [
        _no_difference(
            "matrix products",
            "sections 5.5.3 and 5.3, Appendix Fig. 1",
            rows["matmul"],
            "at 256 the call is nearly all of it: CUDA graphs copy the input, and `max-autotune`"
            " calls a Triton kernel of the same length as cuBLAS's: kernels of rows `modes`",
        )
    ]
    if "convolution" in rows:
        found.append(
            _no_difference(
                "convolutions", "sections 5.5.3 and 5.4", rows["convolution"], _by_kernels(rows)
            )
        )
    on_cpu = [
        _no_difference(word, "section 5.3, Appendix Fig. 1", rows[kind], f"rows `{kind}`")
        for kind, word in (("matmul_cpu", "PyTorch"), ("matmul_numpy", "NumPy"))
        if kind in rows
    ]
    if on_cpu:
        found.append(_on_cpu(on_cpu, rows))
    products = [row for kind, of in rows.items() if kind != "convolution" for row in of]
    return [*found, _constant(products), *_numpy(run)]


def _no_difference(what: str, where: str, rows: Sequence[Row], why: str) -> Finding:
    """Whether all modes take the same time: not where one is surely more than a tenth slower than another."""
    ratios = [_slowest_over_fastest(row) for row in rows]
    differs = any(ratio.low > 1 + EVEN for ratio in ratios)
    said = "; ".join(f"{_what(row)}: {ratio}" for row, ratio in zip(rows, ratios, strict=True))
    return Finding(
        f"The modes of torch.compile make no difference to {what}",
        where,
        "none",
        f"the slowest mode over the fastest: {said}",
        False if differs else True if all(ratio.high < 1 + EVEN for ratio in ratios) else None,
        why,
    )


def _on_cpu(parts: Sequence[Finding], rows: Mapping[str, Sequence[Row]]) -> Finding:
    """PyTorch's and NumPy's products, which are compiled to the same calls: a difference must be the same in both."""
    ends = [
        {(row["size"], *_ends(row)) for row in rows.get(kind, [])}
        for kind in ("matmul_cpu", "matmul_numpy")
    ]
    words = [part.claim.rsplit(" ", 1)[-1] for part in parts]
    said = "; ".join(
        f"{word}: {part.now.split(': ', 1)[1]}" for word, part in zip(words, parts, strict=True)
    )
    return Finding(
        "The modes of torch.compile make no difference to matrix products on the CPU",
        parts[0].where,
        "none",
        f"the slowest mode over the fastest: {said}",
        agree(part.holds for part in parts) if ends[0] & ends[1] else None,
        "rows `matmul_cpu` and `matmul_numpy` of `modes`: not the same in both, though both are"
        " compiled to products by PyTorch; the modes were timed one after the other, and what"
        " drifts between them is in no quartile",
    )


def _by_kernels(rows: Mapping[str, Sequence[Row]]) -> str:
    """The part of the difference that is kernel time."""
    sums = {
        _what(row): [sum(row[f"{mode}_kernel_ms"].values()) for mode in MODES]
        for row in rows["convolution"]
    }
    told = "; ".join(f"{what} {', '.join(f'{ms:.3f}' for ms in of)}" for what, of in sums.items())
    return (
        f"kernels of rows `modes`, in that order of modes: {told} ms. CUDA graphs copy the input"
        " first, and `max-autotune` makes the 1×1 a Triton kernel"
        " (`triton_tem_fused_convolution_1`); what else the 3×3 loses is not established"
    )


def _constant(rows: Sequence[Row]) -> Finding:
    seconds = [
        f"{KINDS[row['kind']]} {row['size']}: {row['compile_s']['default']:.2f} s" for row in rows
    ]
    return Finding(
        "Compiling a matrix product takes the same time at every size",
        "section 5.3",
        "constant",
        "; ".join(seconds) + ", one reading each",
        None,
        'the readings have no spread: column `default` of the seconds in "Single operations"',
    )


def _numpy(run: Run) -> list[Finding]:
    """Whether a product by NumPy takes as long as by PyTorch, both uncompiled and on the CPU."""
    by_size = {row["size"]: row for row in of_kind(run, "matmul_cpu")}
    pairs = [
        (size, _ratio(row, by_size[size]))
        for row in of_kind(run, "matmul_numpy")
        if (size := row["size"]) in by_size
    ]
    if not pairs:
        return []
    apart = any(ratio.low > 1 + EVEN or ratio.high < 1 - EVEN for _, ratio in pairs)
    return [
        Finding(
            "On the CPU NumPy's matrix products take about as long as PyTorch's",
            "section 5.3",
            "similar results",
            "NumPy over PyTorch, both uncompiled: "
            + "; ".join(f"{size}: {ratio}" for size, ratio in pairs),
            False if apart else True if all(_is_near(ratio) for _, ratio in pairs) else None,
            (
                "rows `matmul_numpy` and `matmul_cpu` of `modes`; cause not established"
                if apart
                else ""
            ),
        )
    ]


def _is_near(ratio: Speedup) -> bool:
    return ratio.low > 1 - EVEN and ratio.high < 1 + EVEN


def _what(row: Row) -> str:
    return str(row["size"]) if "size" in row else f"{row['kernel']}×{row['kernel']}"


def _ms(row: Row, way: str) -> str:
    low, high = row[f"{way}_quartiles_ms"]
    return f"{row[f'{way}_ms']:.3f} ({low:.3f} to {high:.3f})"


def _ends(row: Row) -> tuple[str, str]:
    """The slowest and the fastest mode."""
    return max(MODES, key=lambda m: row[f"{m}_ms"]), min(MODES, key=lambda m: row[f"{m}_ms"])


def _slowest_over_fastest(row: Row) -> Speedup:
    slow, fast = _ends(row)
    return _ratio(row, row, slow, fast)


def _ratio(one: Row, other: Row, way: str = "eager", other_way: str = "eager") -> Speedup:
    """One time over another, and the least and the most that their quartiles allow."""
    (low, high), (o_low, o_high) = one[f"{way}_quartiles_ms"], other[f"{other_way}_quartiles_ms"]
    return Speedup(low / o_high, one[f"{way}_ms"] / other[f"{other_way}_ms"], high / o_low)
