"""A model's layers: its modules in call order, and which of them are timed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens.measuring.timers import around
from tracelens.schemas import TABLES


@dataclass(frozen=True, slots=True)
class Layers:
    """`modules` by path in the order first called, without the model itself; `calls`: the timed ones, call by call."""

    modules: Mapping[str, Any]
    calls: tuple[str, ...]

    @property
    def timed(self) -> list[str]:
        """Paths of the timed layers, each once."""
        return list(dict.fromkeys(self.calls))

    def frame(self) -> pl.DataFrame:
        """The table `layers`, without rank."""
        rows = [
            {
                "module_path": path,
                "class_name": type(module).__name__,
                "call_order": at,
                "n_parameters": sum(parameter.numel() for parameter in module.parameters(recurse=False)),
                "hyperparameters": json.dumps(found) if (found := hyperparameters(module)) else None,
            }
            for at, (path, module) in enumerate(self.modules.items())
        ]
        return pl.DataFrame(rows, schema=TABLES["layers"].without("rank").schema)


def is_timed(module: Any) -> bool:
    """Whether the module is timed as one layer: it has no children, or computes without calling them."""
    return next(module.children(), None) is None or type(module).__name__ == "MultiheadAttention"


def find_layers(model: Any, run: Any) -> Layers:
    """The layers that are called in one execution of the model, which `run` starts."""
    modules = {path: module for path, module in model.named_modules() if path}
    called: list[str] = []
    with around(modules, called.append):
        run()
    calls = tuple(path for path in called if is_timed(modules[path]))
    return Layers({path: modules[path] for path in called}, calls)


def hyperparameters(module: Any) -> dict[str, Any]:
    """A layer's constants, as its class declares them; words only of torch's own classes."""
    words = (str,) if type(module).__module__.startswith("torch.") else ()
    plain = (bool, int, float, *words)
    found = {}
    for name in getattr(module, "__constants__", ()):
        value = getattr(module, name, None)
        if isinstance(value, plain) or (isinstance(value, tuple) and all(isinstance(v, plain) for v in value)):
            found[name] = value
    return found
