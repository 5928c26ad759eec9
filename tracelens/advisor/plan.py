"""Make, read and apply compile plans.

A compile plan is a file that lists the submodules to compile and to leave eager.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
import polars as pl
from msgspec import Struct, field
from msgspec.structs import asdict

from tracelens.advisor.module_regions import ROOT, regions
from tracelens.analyses import layer_oracle
from tracelens.derive.layers.compilation import EVIDENCE, shows_compilation
from tracelens.derive.layers.layer_times import are_numbered
from tracelens.errors import MissingTableError, SchemaError, SourceError, ToolError, UsageError
from tracelens.schemas.results.layers import ORACLES
from tracelens.storage.atomic_write import write_text
from tracelens.trace import Trace

PLAN_VERSION = 1
FORMAT = "tracelens compile plan"
Choice: TypeAlias = Literal["eager", "compiled"]
Paths: TypeAlias = Literal["attribute", "instance"]
_P = TypeVar("_P")


class Plan(Struct, frozen=True):
    """The modules of a model to compile, by their paths in named_modules; "" is the model itself.

    The innermost listed submodule around a layer decides for it.
    """

    # Submodules to compile
    compile: tuple[str, ...]
    # Submodules to leave eager
    disable: tuple[str, ...] = ()
    # The choice for each layer
    layers: Mapping[str, Choice] = field(default_factory=dict)
    paths: Paths = "attribute"
    # The origin of the choices
    made_from: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        layers: Mapping[str, Choice],
        *,
        paths: Paths = "attribute",
        made_from: Mapping[str, Any],
    ) -> Plan:
        """Return the plan for the given choices: "eager" or "compiled" by layer path."""
        compiled_regions = regions({path: choice == "compiled" for path, choice in layers.items()})
        return cls(
            tuple(compiled_regions.to_compile),
            tuple(compiled_regions.to_disable),
            dict(layers),
            paths,
            dict(made_from),
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """Return the plan in a file.

        Raises SourceError if it is not a plan, SchemaError if a newer version wrote it.
        """
        how = (
            "compile and disable are lists of module paths, layers say eager or compiled for each"
            " path, paths is "
        )
        how += "attribute or instance; make one with tracelens plan BASE OTHER --out plan.json"
        return read_plan(path, cls, FORMAT, how)

    def to_json(self) -> str:
        """Return the plan as the text of a file."""
        return (
            json.dumps(
                {"format": FORMAT, "plan_version": PLAN_VERSION} | asdict(self),
                indent=1,
            )
            + "\n"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON. Raises SourceError when the file cannot be written."""
        write_text(self.to_json(), Path(path))


def read_plan(path: str | os.PathLike[str], kind: type[_P], name: str, how: str) -> _P:
    """Return the plan in a file, as an object of the class `kind`.

    `name` is the file's format. Error messages end with `how`: how to get such a plan. Raises
    SourceError if the file is no such plan, SchemaError if a newer version wrote it.
    """
    file = Path(path)
    word = name.removeprefix("tracelens ")
    make = how.rpartition("; ")[2]
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(
            f"{file}: expected a {word} as JSON, found none that can be read ({error}); {make}"
        ) from error
    if not isinstance(data, dict) or data.get("format") != name:
        raise SourceError(f"{file}: expected the format {name!r}, found other JSON; {make}")
    version = data.get("plan_version")
    if type(version) is int and version > PLAN_VERSION:
        raise SchemaError(
            f"{file}: plan version {version}, this tracelens reads up to {PLAN_VERSION}; "
            "install a newer tracelens"
        )
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise SourceError(f"{file}: {error}; {how}") from error


def make_plan(
    base: Trace,
    other: Trace,
    *,
    oracle: str = "dynamic",
    switch_cost_ns: float | None = None,
    method: str | None = None,
) -> Plan:
    """Return the plan that an oracle chooses from an eager run (base) and a compiled one (other).

    The times are the lowest rank's. A layer counts as equally fast in both runs if the ranges of
    its times overlap. If the oracle chooses eager for some operations of a layer and compiled for
    others, the run in which the layer is faster decides. See `layer_oracle` for `oracle`,
    `switch_cost_ns` and `method`.

    Raises UsageError for an unknown oracle. Raises UsageError if nothing shows that the run `base`
    is eager and the run `other` compiled. Raises MissingTableError if the runs lack the times that
    the oracle needs.
    """
    if oracle not in ORACLES:
        raise UsageError(f"no oracle is called {oracle}; the oracles are {', '.join(ORACLES)}")
    mixtures = layer_oracle(
        base, other, switch_cost_ns=switch_cost_ns, method=method, beyond_spread=True
    )
    if mixtures["choice"].is_in(["base", "other"]).any():
        swapped = shows_compilation(base) and not shows_compilation(other)
        raise UsageError(
            f"{base.name} is the compiled run and {other.name} the eager one: give the eager run"
            " first"
            if swapped
            else (
                f"a plan chooses between an eager run (BASE, {base.name}) and a compiled one"
                f" (OTHER, {other.name}); nothing shows that these are ({EVIDENCE}, in OTHER alone,"
                " would): capture the model under torch.compile, or measure both with tracelens"
                " collect timings"
            )
        )
    rank = pl.col("rank")
    mixtures = mixtures.filter((rank == rank.min()) & (pl.col("oracle") == oracle))
    if mixtures.is_empty():
        raise MissingTableError(
            f"the runs tell no {oracle} path; tracelens collect timings with --method profiler"
            " measures what it needs"
        )
    is_total = pl.col("position").is_null()
    total = mixtures.row(by_predicate=is_total, named=True)
    path = mixtures.filter(~is_total)
    faster = (
        pl.when(pl.col("other_ns") < pl.col("base_ns"))
        .then(pl.lit("compiled"))
        .otherwise(pl.lit("eager"))
    )
    choice = pl.when(pl.col("choice") == "mixed").then(faster).otherwise("choice")
    predicted = (
        "base_ns",
        "other_ns",
        "chosen_ns",
        "switch_ns",
        "speedup_over_base",
        "speedup_over_other",
    )
    return Plan.of(
        dict(path.select("layer", choice).iter_rows()),
        paths="instance" if are_numbered(path) else "attribute",
        made_from={
            "base": base.name,
            "other": other.name,
            "oracle": oracle,
            "method": total["method"],
        }
        | {f"predicted_{name}": total[name] for name in predicted}
        | {"n_unclear": path.filter(~pl.col("is_clear")).height},
    )


def apply_plan(model: Any, plan: Plan | str | os.PathLike[str], **options: Any) -> Any:
    """Compile exactly the plan's submodules of the model, and return the model.

    The model changes: the submodules get a compiled `forward`, and keep their names, parameters and
    hooks. `options` are passed to torch.compile (mode, backend, dynamic, …). Apply the plan once,
    to the model that will run: a later copy runs the original's compiled code.

    Raises UsageError if the plan names a path that the model does not have, or numbered classes
    (Conv2d_3) instead of paths. The model is then unchanged. Raises ToolError if torch is not
    installed.
    """
    torch = load_torch("apply_plan")
    chosen = plan if isinstance(plan, Plan) else Plan.read(plan)
    modules = dict(model.named_modules(remove_duplicate=False))
    _check_paths(chosen, modules)
    for path in chosen.disable:
        modules[path].forward = torch.compiler.disable(modules[path].forward)
    for path in chosen.compile:
        compile_module(modules[path], **options)
    return model


def _check_paths(plan: Plan, modules: Mapping[str, Any]) -> None:
    if plan.paths == "instance":
        raise UsageError(
            "the plan names layers as a trace numbers them (Conv2d_3), which no model knows by that"
            " name; make it from captures that know attribute paths: tracelens collect torch --"
            " COMMAND, or tl.measure"
        )
    for path in (*plan.compile, *plan.disable, *plan.layers):
        if path in modules:
            continue
        close = get_close_matches(
            path,
            [name for name in modules if name],
            n=1,
            cutoff=0,
        )
        closest = f"the closest is {close[0]}" if close else "it has no submodules"
        raise UsageError(
            f"the plan names {path}, which the model does not have; {closest}: write a new plan"
            " with tracelens plan"
        )


def compile_module(module: Any, **options: Any) -> None:
    """Compile one module's forward as a separate region. The module is changed."""
    torch = load_torch("compile_module")
    config = torch._dynamo.config  # noqa: SLF001 - the documented place of these settings
    # If a region breaks at a disabled module, its parts are frames of a class's forward, which all
    # instances share.
    config.recompile_limit = max(config.recompile_limit, _MANY)
    config.accumulated_recompile_limit = max(config.accumulated_recompile_limit, _MANY)
    # `module.compile()` leaves some modules eager (torch 2.13). Dynamo skips outermost frames of
    # torch's own layers and containers. It also counts recompilations by code object, and falls
    # back to eager after eight: the ninth convolution stays eager. So every region gets a new code
    # object.
    module.forward = torch.compile(_region(module.forward), **options)


_MANY = 4096


def _region(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `forward`, with a code object of its own."""

    def region(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    region.__code__ = region.__code__.replace()
    return region


def load_torch(what: str) -> Any:
    """Import and return the torch package. Raises ToolError if it is not installed."""
    try:
        import torch  # noqa: PLC0415 - analyses never need it
        import torch._dynamo  # noqa: PLC0415
    except ImportError as error:
        raise ToolError(
            f"{what} needs PyTorch, which cannot be imported ({error}); install it with "
            "pip install torch"
        ) from error
    return torch


__all__ = [
    "FORMAT",
    "PLAN_VERSION",
    "ROOT",
    "Plan",
    "apply_plan",
    "compile_module",
    "load_torch",
    "make_plan",
]
