"""Mark the calls of the program's modules, and describe the recorded modules by exact paths."""

from __future__ import annotations

import gc
import inspect
import mmap
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch._C._profiler import _EventType, _RecordFunctionFast
from torch.autograd import profiler as autograd_profiler

_WRAPPERS = ("_orig_mod.", "module.")
PREFIX = "nn.Module: "
_NAME = re.compile(rb'"name": *"(nn\.Module: [^"\\]+)"')


def describe_modules(seen: dict[str, int], main: Any = None) -> dict[str, Any]:
    """Return exact paths and facts of the modules that were recorded.

    `seen` maps each module's name in the trace to its address. In the result:

    - `module_paths` maps these names to attribute paths below the outermost module
      (`layer1.0.conv1`). The outermost module's path is its class.
    - `layers` maps paths to facts.

    If a program has several models, paths outside `main` begin with the model's class.
    """
    alive = _alive()
    paths = _paths(alive, main, set(seen.values()))
    named = {name: paths[pointer] for name, pointer in seen.items() if pointer in paths}
    layers = {
        paths[pointer]: _facts(alive[pointer]) for pointer in seen.values() if pointer in paths
    }
    return {
        "module_paths": named,
        "layers": layers,
        "n_modules_unnamed": len(seen) - len(named),
    }


def numbered_modules(profiler: Any, trace: Path) -> Iterator[tuple[str, int]]:
    """Yield each module's name in the trace (`Conv2d_3`) and its address."""
    # Only the profiler's event tree has the numbers in these names. Walking it is slow, so the walk
    # ends when every name in the trace was found.
    stack = list(profiler.profiler.kineto_results.experimental_event_tree())
    missing = _names_in(trace)
    call, op = _EventType.PyCall, _EventType.TorchOp
    while stack and missing:
        event = stack.pop()
        tag = event.tag
        if tag == call:
            name = name_of(event)
            if name in missing and (module := event.typed[1].module) is not None:
                missing.remove(name)
                yield name.removeprefix(PREFIX), module.self_ptr
        elif tag == op and name_of(event).startswith("aten::"):
            continue  # torch's own ops call no modules
        stack += event.children


def name_of(event: Any) -> str:
    """Return the event's name, empty if it is not UTF-8. Names of modules are always UTF-8."""
    try:
        return str(event.name)
    except UnicodeDecodeError:
        return ""


def _names_in(trace: Path) -> set[str]:
    """Return the names of module calls in a trace that was just written."""
    with trace.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return {name.decode(errors="replace") for name in _NAME.findall(text)}


def _alive() -> dict[int, Any]:
    """Return every existing module, by address.

    An object's type is checked, because proxies claim to be instances of other types.
    """
    kinds = set(_kinds(torch.nn.Module))
    modules = [thing for thing in gc.get_objects() if type(thing) in kinds]
    return {id(module): module for module in modules if _is_constructed(module)}


def _is_constructed(module: Any) -> bool:
    """Return whether the module's constructor has run."""
    # A module that torch.jit traced gets its parts through another constructor.
    return "_modules" in vars(module) or "_actual_script_module" in vars(module)


def _kinds(kind: type) -> Iterator[type]:
    yield kind
    below: list[type] = kind.__subclasses__()
    for subclass in below:
        yield from _kinds(subclass)


def _paths(alive: dict[int, Any], main: Any, called: set[int]) -> dict[int, str]:
    """Return the path of every module in the called models, by the module's address.

    The main model is the model that contains `main`, or else the model with the most called
    modules. In any other model, paths begin with the model's name.
    """
    inner = {
        id(child)
        for module in alive.values()
        for child in module._modules.values()
        if child is not None
    }
    roots = [module for address, module in alive.items() if address not in inner]
    trees = [(root, dict(_walk(root))) for root in roots]
    trees = [(root, tree) for root, tree in trees if called & set(tree)]
    trees.sort(
        key=lambda pair: (
            id(main) in pair[1],
            len(called & set(pair[1])),
        ),
        reverse=True,
    )
    paths: dict[int, str] = {}
    taken: set[str] = set()
    for number, (root, tree) in enumerate(trees):
        name = _unique(_unwrapped(root), taken)
        for address, path in tree.items():
            bare = path if number == 0 else f"{name}.{path}"
            paths.setdefault(address, bare if path else name)
    return paths


def _walk(root: Any) -> Iterator[tuple[int, str]]:
    """Yield address and path of each module of a model.

    Paths leave out the parts that wrappers (DDP, torch.compile) add.
    """
    for path, module in root.named_modules():
        bare = path + "."
        while bare.startswith(_WRAPPERS) and _is_wrapper(root):
            bare = bare.split(".", 1)[1]
        yield id(module), bare.replace("._orig_mod.", ".").strip(".")


def _is_wrapper(module: Any) -> bool:
    """Return whether the module only wraps another module."""
    # `_modules` of a scripted module cannot be iterated, but its keys can.
    return list(module._modules.keys()) in (["module"], ["_orig_mod"])


def _unwrapped(module: Any) -> str:
    while _is_wrapper(module):
        module = next(child for _, child in module._modules.items())
    return _class_name(module)


def _unique(name: str, taken: set[str]) -> str:
    unused = next(
        word
        for n in range(1, len(taken) + 2)
        if (word := name if n == 1 else f"{name}_{n}") not in taken
    )
    taken.add(unused)
    return unused


def _facts(module: Any) -> dict[str, Any]:
    """Return class_name, n_parameters and hyperparameters of a module.

    Parameters of submodules are left out. Hyperparameters are constructor arguments that the module
    keeps.
    """
    # Parameters of scripted modules are in an object that only resembles a dictionary.
    counted = [p for _, p in module._parameters.items() if p is not None]
    try:
        n_parameters = sum(p.numel() for p in counted)
    except (RuntimeError, ValueError):
        n_parameters = None  # lazy parameters have no size yet
    return {
        "class_name": _class_name(module),
        "n_parameters": n_parameters,
        "hyperparameters": _hyperparameters(module),
    }


def _class_name(module: Any) -> str:
    """Return the name of the module's class. For a scripted module, return the original class."""
    scripted = isinstance(module, torch.jit.ScriptModule)
    return (
        str(getattr(module, "original_name", type(module).__name__))
        if scripted
        else type(module).__name__
    )


def _hyperparameters(module: Any) -> dict[str, Any]:
    """Return constructor arguments kept as attributes: numbers, and tuples of numbers.

    Texts are returned only for torch's own classes.
    """
    is_of_torch = type(module).__module__.startswith("torch.nn.")
    try:
        names = list(inspect.signature(type(module).__init__).parameters)[1:]
    except (TypeError, ValueError):
        return {}
    arguments: dict[str, Any] = {}
    parameters = dict(module._parameters.items())
    for name in names:
        value = vars(module).get(name, parameters.get(name))
        if isinstance(value, torch.Tensor):
            arguments[name] = True
        elif isinstance(value, (bool, int, float)) or (is_of_torch and isinstance(value, str)):
            arguments[name] = value
        elif isinstance(value, (tuple, list)) and all(
            isinstance(v, (bool, int, float)) for v in value
        ):
            arguments[name] = list(value)
        elif name == "bias" and name in parameters:
            arguments[name] = False
    return arguments


class ModuleCalls:
    """Adds an event for each module call, named as the profiler does (`nn.Module: Conv2d_3`).

    The profiler's own events need Python stacks, and cost more. Modules inside a compiled graph
    make no calls.
    """

    def __init__(self, on_outermost: Callable[[Any], None]) -> None:
        self._on_outermost = on_outermost
        self.seen: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._counts: dict[str, int] = {}
        self._original: Any = None

    def install(self) -> None:
        """Start marking calls."""
        module = torch.nn.Module
        original = self._original = module.__call__
        is_compiling = torch.compiler.is_compiling
        names, inside = self._names, threading.local()

        def call(called: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(called, *args, **kwargs)
            if is_outermost := not getattr(inside, "a_call", False):
                self._on_outermost(called)
                inside.a_call = True
            try:
                # A mark that was set before the profiler began cannot be removed after: torch
                # raises (seen with torch 2.13 if a model compiles again in the call in which the
                # window opens).
                if not autograd_profiler._is_profiler_enabled:
                    return original(called, *args, **kwargs)
                with _RecordFunctionFast(names.get(id(called)) or self._name(called)):
                    return original(called, *args, **kwargs)
            finally:
                if is_outermost:
                    inside.a_call = False

        module.__call__ = call

    def remove(self) -> None:
        """Stop marking calls."""
        if self._original is not None:
            torch.nn.Module.__call__ = self._original
            self._original = None

    def _name(self, module: Any) -> str:
        """Return the module's name, made of its class and a number in the order of first calls.

        The module is kept alive, so that its id stays unique.
        """
        kind = type(module).__name__
        name = f"{kind}_{self._counts.get(kind, 0)}"
        self._counts[kind] = self._counts.get(kind, 0) + 1
        self.seen[name] = module
        self._names[id(module)] = PREFIX + name
        return PREFIX + name
