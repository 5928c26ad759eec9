"""How many calls lie between the framework's convolution and cuDNN at each level: the paper's Figure 4, today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import paper
import polars as pl
from page import NAMES, Figure, Finding, Section, count, listed, table

import tracelens as tl
from tracelens.errors import TracelensError

ENTRIES = {
    "eager": (r"Conv2d\.forward", "THPVariable_conv2d"),
    "compile": (r"Runner\.call", "THPVariable_convolution"),
    "torchscript": ("VariableType::_convolution", "VariableType::convolution"),
    "libtorch": ("Conv2dImpl::forward",),
    "cudnn": ("Conv2d::forward",),
}
"""The framework's convolution: Conv2d.forward where the level has one, else what stands for it:
the function that torch.compile generates, and the operator that TorchScript's interpreter runs,
as in the paper. The second name is for stacks in which the first is not, as without Python's
frames."""

OLD, NEW = "cudnnConvolutionForward", "cudnnBackendExecute"
"""Where the paper stopped, and where PyTorch calls cuDNN today."""

ROLES = (
    "python",
    "binding",
    "torchscript",
    "libtorch_nn",
    "autograd",
    "dispatcher",
    "aten_native",
    "vendor_glue",
)


@dataclass(frozen=True)
class Path:
    """One level's way from its convolution to cuDNN, in calls; `above` and `below` at::conv2d where the way has it."""

    trace: tl.Trace
    entry: str
    start: str
    total: int
    above: int | None
    below: int | None
    by_role: Mapping[str, int]

    @property
    def stack(self) -> dict[str, object]:
        """The row of `stacks`."""
        return self.trace.stacks.row(0, named=True)


def path_of(level: str, trace: tl.Trace) -> Path | None:
    """Calls from the level's entry to cuDNN; null where the stack has none of the entries."""
    for entry in ENTRIES[level]:
        try:
            rows = tl.analyses.stack_alignment(
                trace, trace, entry_base=entry, entry_other=entry, occurrence="innermost"
            )
        except TracelensError:
            continue
        whole = {
            row["segment"]: row
            for row in rows.filter(pl.col("role").is_null()).iter_rows(named=True)
        }
        roles = rows.filter(pl.col("role").is_not_null(), segment="entry_to_symbol")
        above, below = (
            whole.get(name, {}).get("n_edges_base") for name in ("entry_to_via", "via_to_symbol")
        )
        all_of_it = whole["entry_to_symbol"]
        by_role = dict(roles.select("role", "n_edges_base").iter_rows())
        return Path(
            trace, entry, all_of_it["start_base"], all_of_it["n_edges_base"], above, below, by_role
        )
    return None


def common(base: Path, other: Path) -> dict[str, object]:
    """The row of stack_alignment that says how far two stacks coincide, and where they part."""
    rows = tl.analyses.stack_alignment(
        base.trace,
        other.trace,
        entry_base=base.entry,
        entry_other=other.entry,
        occurrence="innermost",
    )
    return rows.filter(pl.col("role").is_null(), segment="entry_to_symbol").row(0, named=True)


def section(captures: Mapping[str, tl.Trace]) -> Section:
    """The section of the page, from the captures `stack_LEVEL_old` and `stack_LEVEL`."""
    made = Section("Calls between the framework and cuDNN")
    sides = {}
    for side, suffix in ((OLD, "_old"), (NEW, "")):
        found = {level: captures.get(f"stack_{level}{suffix}") for level in NAMES}
        paths = {
            level: path_of(level, trace) for level, trace in found.items() if trace is not None
        }
        sides[side] = {level: path for level, path in paths.items() if path is not None}
    old, new = sides[OLD], sides[NEW]
    if not old:
        made.blocks.append("No stacks were captured.")
        return made
    made.blocks += [
        _introduction(new),
        _counts(old, new),
        *_same_span(old.get("eager")),
        _coincide(old),
    ]
    made.blocks += _remarks({**new, **old})
    made.blocks += does_depth_cost(captures, old)
    made.figures.append(_figure(sides))
    made.findings = findings(old, new)
    return made


def _introduction(new: Mapping[str, Path]) -> str:
    today = (
        "PyTorch no longer stops there by default: it calls `cudnnBackendExecute`, and comes to the"
        " older function only with `TORCH_CUDNN_V8_API_DISABLED=1`. Both ways are counted."
        if new
        else ""
    )
    return (
        "The paper stopped each implementation at `cudnnConvolutionForward` and counted the calls"
        f" above it, from the framework's convolution on. {today} Calls are differences of levels"
        " in the stack, as in the paper; Python's own frames are merged into it."
    )


def _counts(old: Mapping[str, Path], new: Mapping[str, Path]) -> str:
    rows = []
    for level, name in NAMES.items():
        one, two, then = old.get(level), new.get(level), paper.CALLS.get(level)
        if one is None and two is None:
            continue
        parts = [
            (path.above, path.below, path.total) if path else (None,) * 3 for path in (one, two)
        ]
        start = (one or two or 0) and (one or two).start  # type: ignore[union-attr]
        rows.append([name, f"`{start}`", *(then or (None,) * 3), *parts[0], *parts[1]])
    heads = ["above", "below", "calls"]
    return (
        table(
            [
                "level",
                "from",
                *(f"paper: {h}" for h in heads),
                *(f"today: {h}" for h in heads),
                *(f"default: {h}" for h in heads),
            ],
            rows,
        )
        + "\n\nAbove and below `at::conv2d` (today `at::_ops::conv2d::call`), and all. Paper and"
        " today: to `cudnnConvolutionForward`; default: to `cudnnBackendExecute`."
    )


CALLER = "_PyObject_MakeTpCall"
"""The interpreter's function that calls a module: where the paper's 30 calls above at::conv2d
begin."""


def _same_span(eager: Path | None) -> list[str]:
    """The way from the interpreter's call of the convolution module on, which is the span of the paper's 91 calls."""
    if eager is None:
        return []
    frames = eager.trace.frames
    start = frames.filter(function=eager.start)["level"].min()
    outside = frames.filter(
        pl.col("level") > (start if isinstance(start, int) else 0), function=CALLER
    )["level"].min()
    if eager.below is None or not isinstance(outside, int):
        return []
    said = (
        "The paper's 91 calls of PyTorch begin where the interpreter calls the module"
        " (`call_function`, frame 91 of its stack; 28 of the 30 above are CPython's own). The same"
        f" span in `stack_eager_old` begins at frame {outside} (`{CALLER}`):"
        f" {outside - eager.below} calls above, {outside} in all. The paper's stack has no frame of"
        " its own for `Conv2d.forward`, so its 30 and our number in that row are not of one span."
    )
    return [said]


def does_depth_cost(captures: Mapping[str, tl.Trace], old: Mapping[str, Path]) -> list[str]:
    """Launches, device time and idle time a step of the levels that run the same kernels."""
    rows, medians = [], {}
    for level in ("eager", "libtorch", "torchscript", "cudnn"):
        trace = captures.get(f"nsys_{level}")
        if trace is None or level not in old:
            continue
        steps = tl.analyses.time_breakdown(trace).filter(pl.col("step").is_not_null())
        if steps.height < 2:
            continue
        n_kernels = trace.kernels["step"].drop_nulls().len() / steps.height
        middle = {
            name: float(steps[f"{name}_ns"].median() or 0) / 1e3
            for name in ("window", "compute", "idle_launch")
        }  # type: ignore[arg-type]
        low, high = (float(steps["window_ns"].quantile(q) or 0) / 1e3 for q in (0.25, 0.75))
        medians[level] = middle | {"kernels": n_kernels}
        rows.append(
            [
                NAMES[level],
                old[level].total,
                f"{n_kernels:g}",
                f"{middle['window']:,.0f} ({low:,.0f} to {high:,.0f})",
                f"{middle['compute']:,.0f}",
                f"{middle['idle_launch']:,.0f}",
            ]
        )
    if not {"eager", "libtorch", "torchscript", "cudnn"} <= set(medians):
        return []
    eager, libtorch = medians["eager"], medians["libtorch"]
    apart = eager["window"] - libtorch["window"]
    launch = eager["idle_launch"] - libtorch["idle_launch"]
    heads = [
        "level",
        "calls to cuDNN",
        "kernels a step",
        "step, µs",
        "compute, µs",
        "idle during launches, µs",
    ]
    question = (
        "Does depth cost time? Medians of the steps of `nsys_eager`, `nsys_libtorch`,"
        " `nsys_torchscript` and `nsys_cudnn` (batch 32, 64×64, inference; with the profiler in"
        " them; quartiles in brackets):"
    )
    answer = (
        f"PyTorch eager and LibTorch run the same kernels in {eager['compute']:,.0f} and"
        f" {libtorch['compute']:,.0f} µs. Of the {apart:,.0f} µs between their steps, {launch:,.0f}"
        f" are time in which the GPU waits for the next launch, {launch / eager['kernels']:.1f} µs"
        " a kernel. So calling from Python costs launch time. But the number of calls does not"
        f" order the steps: TorchScript's way has {old['torchscript'].total} calls, LibTorch's"
        f" {old['libtorch'].total}, in steps of {medians['torchscript']['window']:,.0f} and"
        f" {libtorch['window']:,.0f} µs; the program on cuDNN, one call away, takes longer than"
        " both (cause not established)."
    )
    return [question, table(heads, rows), answer]


def _coincide(paths: Mapping[str, Path]) -> str:
    rows = []
    levels = [level for level in NAMES if level in paths]
    for i, base in enumerate(levels):
        for other in levels[i + 1 :]:
            row = common(paths[base], paths[other])
            then = paper.COMMON.get((base, other), paper.COMMON.get((other, base)))
            parts = [
                f"`{row[f'diverges_{side}']}`" if row[f"diverges_{side}"] else None
                for side in ("base", "other")
            ]
            rows.append([f"{NAMES[base]} and {NAMES[other]}", then, row["n_common"], *parts])
    heads = [
        "levels",
        "frames in common, paper",
        "today",
        "then the first goes on with",
        "the second with",
    ]
    return (
        "Where the stacks coincide, from `cudnnConvolutionForward`"
        f" outwards:\n\n{table(heads, rows)}"
    )


def _remarks(paths: Mapping[str, Path]) -> list[str]:
    """What makes the numbers harder to compare: builds, missing Python frames, and stand-ins for the entry."""
    builds: dict[str, list[str]] = {}
    for level, path in paths.items():
        builds.setdefault(str(path.stack["build_kind"]), []).append(NAMES[level])
    said = [
        "Builds, as far as the debugger tells: "
        + "; ".join(f"{kind}: {listed(names)}" for kind, names in sorted(builds.items()))
        + ". In the paper PyTorch and LibTorch were debug builds and TorchScript a release, which"
        " inlines calls."
    ]
    bare = [
        NAMES[level]
        for level, path in paths.items()
        if path.stack["python_frames"] == "unavailable"
    ]
    if bare:
        said.append(f"Python's own frames are missing in the stacks of {listed(bare)}.")
    instead = [
        f"{NAMES[level]} (`{path.start}`)"
        for level, path in paths.items()
        if path.entry != ENTRIES[level][0]
    ]
    if instead:
        said.append(f"Counted from the binding, for want of the call itself: {listed(instead)}.")
    return said


def _figure(sides: Mapping[str, Mapping[str, Path]]) -> Figure:
    rows = [
        {
            "level": NAMES[level],
            "symbol": symbol,
            "part": role.replace("_", " "),
            "calls": calls,
            "order": i,
        }
        for symbol, paths in sides.items()
        for level, path in paths.items()
        for i, (role, calls) in enumerate(sorted(path.by_role.items(), key=_from_outside))
        if calls
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("calls:Q", title="calls"),
            y=alt.Y("level:N", title=None, sort=list(NAMES.values())),
            color=alt.Color(
                "part:N",
                title=None,
                sort=[r.replace("_", " ") for r in ROLES],
                scale=alt.Scale(scheme="tableau20"),
            ),
            order=alt.Order("order:Q"),
            row=alt.Row(
                "symbol:N",
                title=None,
                sort=list(sides),
                header=alt.Header(orient="top", labelAnchor="start"),
            ),
        )
        .properties(width=560, height={"step": 22})
    )
    return Figure(
        "calls",
        chart,
        "Calls from the framework's convolution to cuDNN, by the part of the software that makes"
        " them.",
    )


def _from_outside(item: tuple[str, int]) -> int:
    return ROLES.index(item[0]) if item[0] in ROLES else len(ROLES)


def findings(old: Mapping[str, Path], new: Mapping[str, Path]) -> list[Finding]:
    """Findings: each claim of the paper about its Figure 4, beside today's stacks."""
    found = []
    eager, libtorch, script, cudnn = (old.get(level) for level in paper.LEVELS)
    if eager and libtorch:
        found += _python_and_cpp(eager, libtorch)
    if script and libtorch:
        found.append(_script(script, libtorch))
    if cudnn:
        said = count(cudnn.total, "call")
        found.append(
            Finding(
                "A program on cuDNN calls it directly",
                "Fig. 4",
                "1 call",
                said,
                cudnn.total == 1,
                "`stack_cudnn_old`",
            )
        )
    elsewhere = {level: path for level, path in new.items() if path.stack["symbol"] != OLD}
    if elsewhere:
        names = listed([NAMES[level] for level in NAMES if level in elsewhere])
        symbols = listed(sorted({f"`{path.stack['symbol']}`" for path in elsewhere.values()}))
        now = f"unless told otherwise, {names} call {symbols}"
        why = (
            "torch calls cuDNN's newer interface unless TORCH_CUDNN_V8_API_DISABLED=1: innermost"
            " frames of `stack_…`"
        )
        found.append(
            Finding(
                f"All implementations come to `{OLD}`",
                "Fig. 4",
                "all four do",
                now,
                holds=False,
                why=why,
            )
        )
    return found


def _python_and_cpp(eager: Path, libtorch: Path) -> list[Finding]:
    then, shared = paper.CALLS, int(common(eager, libtorch)["n_common"])  # type: ignore[call-overload]
    # Without Python's frames eager's way begins at the binding, and nothing says how long all of it
    # is.
    is_bare = eager.stack["python_frames"] == "unavailable"
    here = f"{eager.total} calls against {libtorch.total}"
    return [
        Finding(
            "Python makes the way longer than C++ does",
            "Fig. 4",
            f"{then['eager'].total} calls against {then['libtorch'].total}",
            (
                f"{here}, the former from the binding on: Python's frames are missing"
                if is_bare
                else here
            ),
            None if is_bare and eager.total <= libtorch.total else eager.total > libtorch.total,
            "`stack_eager_old` and `stack_libtorch_old`; there both are debug builds, here"
            " releases",
        ),
        Finding(
            "PyTorch and LibTorch coincide from cuDNN up to `at::conv2d`: only what is above"
            " differs",
            "Fig. 4",
            f"{paper.COMMON['eager', 'libtorch']} frames in common, the {then['eager'].below} calls"
            " below it the same",
            f"{count(shared, 'frame')} in common; below it {eager.below} and {libtorch.below}"
            " calls",
            eager.below is not None and eager.below == libtorch.below and shared == eager.below + 1,
            "`stack_eager_old` and `stack_libtorch_old`",
        ),
    ]


def _script(script: Path, libtorch: Path) -> Finding:
    then = paper.CALLS
    builds = {str(path.stack["build_kind"]) for path in (script, libtorch)}
    share, then_share = (
        script.total / libtorch.total,
        then["torchscript"].total / then["libtorch"].total,
    )
    return Finding(
        "TorchScript's way to cuDNN is a fraction of LibTorch's",
        "Fig. 4",
        f"{then['torchscript'].total} against {then['libtorch'].total} calls ({then_share:.0%}), a"
        " release build against a debug build",
        f"{script.total} against {libtorch.total} calls ({share:.0%}); builds:"
        f" {listed(sorted(builds))}",
        None if len(builds) == 1 and share >= 0.5 else share < 0.5,
        "not like for like: there a release build stands against a debug build, whose calls are not"
        " inlined; both builds here are releases (`stack_torchscript_old`, `stack_libtorch_old`)",
    )
