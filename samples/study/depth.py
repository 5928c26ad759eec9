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
"""The framework's convolution: Conv2d.forward where the level has one, else what stands for it: the function that
torch.compile generates, and the operator that TorchScript's interpreter runs, as in the paper.
The second name is for stacks in which the first is not, as without Python's frames."""

OLD, NEW = "cudnnConvolutionForward", "cudnnBackendExecute"
"""Where the paper stopped, and where PyTorch calls cuDNN today."""

ROLES = ("python", "binding", "torchscript", "libtorch_nn", "autograd", "dispatcher", "aten_native", "vendor_glue")


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
        whole = {row["segment"]: row for row in rows.filter(pl.col("role").is_null()).iter_rows(named=True)}
        roles = rows.filter(pl.col("role").is_not_null(), segment="entry_to_symbol")
        above, below = (whole.get(name, {}).get("n_edges_base") for name in ("entry_to_via", "via_to_symbol"))
        all_of_it = whole["entry_to_symbol"]
        by_role = dict(roles.select("role", "n_edges_base").iter_rows())
        return Path(trace, entry, all_of_it["start_base"], all_of_it["n_edges_base"], above, below, by_role)
    return None


def common(base: Path, other: Path) -> dict[str, object]:
    """The row of stack_alignment that says how far two stacks coincide, and where they part."""
    rows = tl.analyses.stack_alignment(
        base.trace, other.trace, entry_base=base.entry, entry_other=other.entry, occurrence="innermost"
    )
    return rows.filter(pl.col("role").is_null(), segment="entry_to_symbol").row(0, named=True)


def section(captures: Mapping[str, tl.Trace]) -> Section:
    """The section of the page, from the captures `stack_LEVEL_old` and `stack_LEVEL`."""
    made = Section("Calls between the framework and cuDNN")
    sides = {}
    for side, suffix in ((OLD, "_old"), (NEW, "")):
        found = {level: captures.get(f"stack_{level}{suffix}") for level in NAMES}
        paths = {level: path_of(level, trace) for level, trace in found.items() if trace is not None}
        sides[side] = {level: path for level, path in paths.items() if path is not None}
    old, new = sides[OLD], sides[NEW]
    if not old:
        made.blocks.append("No stacks were captured.")
        return made
    made.blocks += [_introduction(new), _counts(old, new), _coincide(old)]
    made.blocks += _remarks({**new, **old})
    made.figures.append(_figure(sides))
    made.findings = findings(old, new)
    return made


def _introduction(new: Mapping[str, Path]) -> str:
    today = (
        "PyTorch no longer stops there by default: it calls `cudnnBackendExecute`, and comes to the older function "
        "only with `TORCH_CUDNN_V8_API_DISABLED=1`. Both ways are counted."
        if new
        else ""
    )
    return (
        "The paper stopped each implementation at `cudnnConvolutionForward` and counted the calls above it, from the "
        f"framework's convolution on. {today} Calls are differences of levels in the stack, as in the paper; Python's "
        "own frames are merged into it."
    )


def _counts(old: Mapping[str, Path], new: Mapping[str, Path]) -> str:
    rows = []
    for level, name in NAMES.items():
        one, two, then = old.get(level), new.get(level), paper.CALLS.get(level)
        if one is None and two is None:
            continue
        parts = [(path.above, path.below, path.total) if path else (None,) * 3 for path in (one, two)]
        start = (one or two or 0) and (one or two).start  # type: ignore[union-attr]
        rows.append([name, f"`{start}`", *(then or (None,) * 3), *parts[0], *parts[1]])
    heads = ["above", "below", "calls"]
    return table(
        [
            "level",
            "from",
            *(f"paper: {h}" for h in heads),
            *(f"today: {h}" for h in heads),
            *(f"default: {h}" for h in heads),
        ],
        rows,
    ) + (
        "\n\nAbove and below `at::conv2d` (today `at::_ops::conv2d::call`), and all. Paper and today: to "
        "`cudnnConvolutionForward`; default: to `cudnnBackendExecute`."
    )


def _coincide(paths: Mapping[str, Path]) -> str:
    rows = []
    levels = [level for level in NAMES if level in paths]
    for i, base in enumerate(levels):
        for other in levels[i + 1 :]:
            row = common(paths[base], paths[other])
            then = paper.COMMON.get((base, other), paper.COMMON.get((other, base)))
            parts = [f"`{row[f'diverges_{side}']}`" if row[f"diverges_{side}"] else None for side in ("base", "other")]
            rows.append([f"{NAMES[base]} and {NAMES[other]}", then, row["n_common"], *parts])
    heads = ["levels", "frames in common, paper", "today", "then the first goes on with", "the second with"]
    return f"Where the stacks coincide, from `cudnnConvolutionForward` outwards:\n\n{table(heads, rows)}"


def _remarks(paths: Mapping[str, Path]) -> list[str]:
    """What makes the numbers harder to compare: builds, missing Python frames, and stand-ins for the entry."""
    builds: dict[str, list[str]] = {}
    for level, path in paths.items():
        builds.setdefault(str(path.stack["build_kind"]), []).append(NAMES[level])
    said = [
        "Builds, as far as the debugger tells: "
        + "; ".join(f"{kind}: {listed(names)}" for kind, names in sorted(builds.items()))
        + ". In the paper PyTorch and LibTorch were debug builds and TorchScript a release, which inlines calls."
    ]
    bare = [NAMES[level] for level, path in paths.items() if path.stack["python_frames"] == "unavailable"]
    if bare:
        said.append(f"Python's own frames are missing in the stacks of {listed(bare)}.")
    instead = [f"{NAMES[level]} (`{path.start}`)" for level, path in paths.items() if path.entry != ENTRIES[level][0]]
    if instead:
        said.append(f"Counted from the binding, for want of the call itself: {listed(instead)}.")
    return said


def _figure(sides: Mapping[str, Mapping[str, Path]]) -> Figure:
    rows = [
        {"level": NAMES[level], "symbol": symbol, "part": role.replace("_", " "), "calls": calls, "order": i}
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
                "part:N", title=None, sort=[r.replace("_", " ") for r in ROLES], scale=alt.Scale(scheme="tableau20")
            ),
            order=alt.Order("order:Q"),
            row=alt.Row("symbol:N", title=None, sort=list(sides), header=alt.Header(orient="top", labelAnchor="start")),
        )
        .properties(width=560, height={"step": 22})
    )
    return Figure(
        "calls", chart, "Calls from the framework's convolution to cuDNN, by the part of the software that makes them."
    )


def _from_outside(item: tuple[str, int]) -> int:
    return ROLES.index(item[0]) if item[0] in ROLES else len(ROLES)


def findings(old: Mapping[str, Path], new: Mapping[str, Path]) -> list[Finding]:
    """What the paper read from its Figure 4, and whether today's stacks say so too."""
    found = []
    eager, libtorch, script, cudnn = (old.get(level) for level in paper.LEVELS)
    if eager and libtorch:
        found += _python_and_cpp(eager, libtorch)
    if script and libtorch:
        found.append(_script(script, libtorch))
    if cudnn:
        said = count(cudnn.total, "call")
        found.append(Finding("A program on cuDNN calls it directly", "1 call", said, cudnn.total == 1))
    elsewhere = {level: path for level, path in new.items() if path.stack["symbol"] != OLD}
    if elsewhere:
        names = listed([NAMES[level] for level in NAMES if level in elsewhere])
        symbols = listed(sorted({f"`{path.stack['symbol']}`" for path in elsewhere.values()}))
        now = f"unless told otherwise, {names} call {symbols}"
        found.append(Finding(f"All implementations come to `{OLD}`", "all four do", now, holds=False))
    return found


def _python_and_cpp(eager: Path, libtorch: Path) -> list[Finding]:
    then, shared = paper.CALLS, int(common(eager, libtorch)["n_common"])  # type: ignore[call-overload]
    # Without Python's frames eager's way begins at the binding, and nothing says how long all of it is.
    is_bare = eager.stack["python_frames"] == "unavailable"
    here = f"{eager.total} calls against {libtorch.total}"
    return [
        Finding(
            "Python makes the way longer than C++ does",
            f"{then['eager'].total} calls against {then['libtorch'].total}",
            f"{here}, the former from the binding on: Python's frames are missing" if is_bare else here,
            None if is_bare and eager.total <= libtorch.total else eager.total > libtorch.total,
        ),
        Finding(
            "PyTorch and LibTorch coincide from cuDNN up to `at::conv2d`: only what is above differs",
            f"{paper.COMMON['eager', 'libtorch']} frames in common, the {then['eager'].below} calls below it the same",
            f"{count(shared, 'frame')} in common; below it {eager.below} and {libtorch.below} calls",
            eager.below is not None and eager.below == libtorch.below and shared == eager.below + 1,
        ),
    ]


def _script(script: Path, libtorch: Path) -> Finding:
    then = paper.CALLS
    builds = {str(path.stack["build_kind"]) for path in (script, libtorch)}
    share, then_share = script.total / libtorch.total, then["torchscript"].total / then["libtorch"].total
    return Finding(
        "TorchScript's way to cuDNN is a fraction of LibTorch's",
        f"{then['torchscript'].total} against {then['libtorch'].total} calls ({then_share:.0%}), a release build "
        "against a debug build",
        f"{script.total} against {libtorch.total} calls ({share:.0%}); builds: {listed(sorted(builds))}",
        share < 0.5,
    )
