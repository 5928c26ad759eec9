"""Compute how much of each bundled capture's kernel time the roofline models.

`make accuracy` writes the result into docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import tracelens as tl
from tracelens.analyses.roofline import NOT_MODELLED, STEP
from tracelens.errors import MissingTableError

SAMPLES = Path(__file__).resolve().parents[1]
BASES = {
    "graphs/vit_replay": "graphs/vit_capture",
    "serving/decode_graph": "serving/capture_8_FULL",
    "serving/batches/decode": "serving/batches/capture_traces",
}
"""Captures of replays, with the capture of their graph, or the folder of several."""
_ENDING = ".pt.trace.json.gz"
_MOST = 0.9
_INTRO = """\
## What the roofline covers

This is the share of kernel time whose operations and bytes `--section roofline` knows, for every bundled capture with
sizes of ops. Kernels that were launched before the trace began have no op there; *of its launches* leaves them and
communication out. Operations of products, convolutions and attention equal those of torch's FlopCounterMode: each
formula on random sizes, and the programs of all captures (below). Captures of `study` and `thesis` hold no values of
arguments, so no strides: the size of a convolution's result is that of the tensor that the next op reads.

AMD TraceLens publishes the ops, inputs, kernels and times of some examples (gpt-oss in vLLM by one graph and
piecewise, Qwen3 in SGLang, Flux with AITER, Qwen on an H100). In steps built from these, at least its share of time
is modelled, less five points; operations are equal within 0.1 % if both know the op
([test](../../tests/test_public_servers.py)). Custom ops of vLLM, SGLang, AITER and others, with the argument lists
that they register in 2026, are all modelled, those with products as counted by hand
([test](../../tests/test_custom_ops.py)).

{summary}

| Capture | Kernels, ms | Modelled | Of its launches | Not modelled |
| --- | ---: | ---: | ---: | --- |
"""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of a capture's kernel time that is modelled.

    The launched share leaves out kernels of CUDA graphs; `rest` names what is not modelled.
    """

    name: str
    kernel_ms: float
    modelled_frac: float
    launched_frac: float
    rest: str

    @property
    def line(self) -> str:
        """The row of the table."""
        shares = f"{self.modelled_frac:.1%} | {self.launched_frac:.1%}"
        return f"| {self.name} | {self.kernel_ms:,.3f} | {shares} | {self.rest} |"


def captures() -> list[Path]:
    """Return traces and files of the samples that torch recorded."""
    return sorted([*SAMPLES.rglob("*.tracelens"), *SAMPLES.rglob(f"*{_ENDING}")])


def name_of(path: Path) -> str:
    """Return a capture's name in the tables."""
    return path.relative_to(SAMPLES).as_posix().replace("/captures/", "/").removesuffix(_ENDING)


def base_of(path: Path) -> Path | None:
    """Return the capture of the CUDA graphs that this capture replays; None if it replays none."""
    base = BASES.get(name_of(path))
    if base is None or (SAMPLES / base).is_dir():
        return base and SAMPLES / base
    return SAMPLES / f"{base}{_ENDING}"


def opened(path: Path) -> tl.Trace:
    """Return a capture's trace, with the sidecar beside it if there is one."""
    if path.suffix == ".tracelens":
        return tl.open(path)
    sidecar = path.with_name(path.name.replace(_ENDING, ".provenance.json.gz"))
    return tl.collect([path, sidecar] if sidecar.exists() else path)


def covered(path: Path) -> Coverage | None:
    """Return how much of a capture is modelled; None if it has no kernels or no sizes."""
    name, base = name_of(path), base_of(path)
    trace = opened(path)
    try:
        frame = tl.analyses.roofline(trace, base=base and str(base))
    except MissingTableError:
        return None
    rows = frame.filter(pl.col("op") != STEP)
    rest = rows.filter(op=NOT_MODELLED)
    total, left = (part["duration_total_ns"].sum() for part in (rows, rest))
    if not total:
        return None
    is_launched = pl.col("link").is_in(["launched", "graph"]) & ~pl.col("is_communication")
    launched_ns = trace.kernels.filter(is_launched)["duration_ns"].sum()
    why = rest.sort("duration_total_ns", descending=True)["evidence"][0] if left else ""
    modelled = total - left
    return Coverage(
        name,
        total / 1e6,
        modelled / total,
        modelled / launched_ns if launched_ns else 0.0,
        why or "",
    )


def rows() -> Iterator[Coverage]:
    """Yield the row of each capture with sizes."""
    yield from filter(None, map(covered, captures()))


def sentence(rows: list[Coverage]) -> str:
    """Say for how many captures the models cover nine tenths of launched kernels' time."""
    good = sum(row.launched_frac >= _MOST for row in rows)
    return f"At least 90 % of its launches are modelled in {good} of {len(rows)} captures."


def exceptions(rows: list[Coverage]) -> str:
    """Name the captures with less kernel time modelled, with the reason."""
    low = [f"- `{row.name}`: {row.rest}\n" for row in rows if row.launched_frac < _MOST]
    n_unlaunched = sum(row.modelled_frac < _MOST <= row.launched_frac for row in rows)
    return (
        f"Less is modelled of these:\n\n{''.join(low)}\n"
        "Programs called `spin` let the GPU sleep (torch.cuda._sleep), which computes and moves"
        f" nothing. Of all kernel\ntime, it is less than 90 % in {n_unlaunched} more captures: the"
        " rest is communication, or was launched before the\ntrace began."
    )


def section(rows: list[Coverage]) -> str:
    """Return the page's section."""
    summary = f"{sentence(rows)} {exceptions(rows)}"
    return _INTRO.format(summary=summary) + "\n".join(row.line for row in rows)
