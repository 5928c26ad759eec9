"""Prepare a model in one configuration, with its layers, so that it can be timed.

Every timing method uses this.
"""

import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.advisor.plan import compile_module
from tracelens.derive.layers.layer_times import DEVICES
from tracelens.schemas import TABLES

COMPILED = ("cpp", "triton")


class Subject(Struct, frozen=True):
    """A model in one configuration. The model is eager, or compiled."""

    torch: Any
    configuration: str
    mode: str | None
    device: Any
    # The model compiled as a whole. In an eager configuration, it equals `by_layer`.
    whole: Any
    # The model with each layer compiled
    by_layer: Any
    # Modules of `by_layer` by path, in the order of first calls, without the model itself
    modules: Mapping[str, Any]
    # Paths of the timed layers, once per call
    calls: tuple[str, ...]
    inputs: tuple[tuple[Any, ...], dict[str, Any]]
    # Makes an eager copy on the device.
    plain: Callable[[], Any]

    @classmethod
    def of(
        cls,
        torch: Any,
        model: Any,
        inputs: Any,
        configuration: str,
        mode: str | None,
    ) -> "Subject":
        """Move the model to the configuration's device, and run it once to find its layers.

        Modules to be compiled are compiled in their first run.
        """
        if configuration == "custom":
            device = next((p.device for p in model.parameters()), torch.device("cpu"))
        else:
            device = torch.device("cuda" if DEVICES[configuration] == "gpu" else "cpu")

        def plain() -> Any:
            return copy.deepcopy(model).to(device)

        whole = by_layer = model if configuration == "custom" else plain()
        arguments, keywords = _arguments(torch, inputs, device)
        named, called = (
            {path: module for path, module in whole.named_modules() if path},
            list[str](),
        )
        with around(named, called.append):
            whole(*arguments, **keywords)
        calls = tuple(path for path in called if is_timed(named[path]))
        if configuration in COMPILED:
            by_layer = plain()
            named = dict(by_layer.named_modules())
        modules = {path: named[path] for path in called}
        subject = cls(
            torch,
            configuration,
            mode,
            device,
            whole,
            by_layer,
            modules,
            calls,
            (arguments, keywords),
            plain,
        )
        if configuration in COMPILED:
            for module in (*subject.timed.values(), whole):
                subject.compile(module)
        return subject

    @property
    def timed(self) -> dict[str, Any]:
        """The layers that are timed, by path."""
        return {path: self.modules[path] for path in self.calls}

    def compile(self, module: Any) -> None:
        """Compile the module as one region, in the subject's mode."""
        compile_module(
            module,
            **({} if self.mode in {None, "default"} else {"mode": self.mode}),
        )

    def run(self, *, by_layer: bool = False) -> None:
        """Run one forward pass."""
        if self.mode is not None and self.device.type == "cuda":
            self.torch.compiler.cudagraph_mark_step_begin()
        arguments, keywords = self.inputs
        (self.by_layer if by_layer else self.whole)(*arguments, **keywords)

    def wait(self) -> None:
        """Wait for the device, if it is not the CPU."""
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def layers(self) -> pl.DataFrame:
        """Return the table `layers` without the rank column."""
        rows = [
            {
                "module_path": path,
                "class_name": type(module).__name__,
                "call_order": number,
                "n_parameters": sum(
                    parameter.numel() for parameter in module.parameters(recurse=False)
                ),
                "hyperparameters": (
                    json.dumps(hyperparameters)
                    if (hyperparameters := _hyperparameters(module))
                    else None
                ),
            }
            for number, (path, module) in enumerate(self.modules.items())
        ]
        return pl.DataFrame(rows, schema=TABLES["layers"].without("rank").schema)


def is_timed(module: Any) -> bool:
    """Return whether the module is timed as one layer.

    Such a module has no children, or computes without calling them.
    """
    return next(module.children(), None) is None or type(module).__name__ == "MultiheadAttention"


def clocked(run: Callable[[], Any], wait: Callable[[], None]) -> int:
    """Return the nanoseconds that `run` takes, from an idle device until it is idle again.

    `wait` waits for the device.
    """
    wait()
    start = time.perf_counter_ns()
    run()
    wait()
    return time.perf_counter_ns() - start


@contextmanager
def around(
    modules: Mapping[str, Any],
    begin: Callable[[str], Any],
    end: Callable[[str], Any] | None = None,
) -> Iterator[None]:
    """Call `begin(path)` before and `end(path)` after every forward pass of the modules.

    No other hook of a module runs between these calls and its forward pass.
    """

    def hook(call: Callable[[str], Any], path: str) -> Callable[..., None]:
        def called(*_: Any) -> None:
            call(path)

        return called

    handles = [
        module.register_forward_pre_hook(hook(begin, path)) for path, module in modules.items()
    ]
    if end is not None:
        handles += [
            module.register_forward_hook(hook(end, path), prepend=True)
            for path, module in modules.items()
        ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _arguments(torch: Any, inputs: Any, device: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the inputs as positional and keyword arguments, their tensors on the device."""

    def placed(value: Any) -> Any:
        return value.to(device) if isinstance(value, torch.Tensor) else value

    moved = torch.utils._pytree.tree_map(placed, inputs)  # noqa: SLF001 - torch's own name for nested containers
    if isinstance(moved, dict):
        return (), moved
    return (tuple(moved) if isinstance(moved, (tuple, list)) else (moved,)), {}


def _hyperparameters(module: Any) -> dict[str, Any]:
    """Return the constants that a layer's class lists in `__constants__`, by name."""
    # Strings are taken from torch's own classes only.
    words = (str,) if type(module).__module__.startswith("torch.") else ()
    plain = (bool, int, float, *words)
    parameters = {}
    for name in getattr(module, "__constants__", ()):
        value = getattr(module, name, None)
        if isinstance(value, plain) or (
            isinstance(value, tuple) and all(isinstance(v, plain) for v in value)
        ):
            parameters[name] = value
    return parameters
