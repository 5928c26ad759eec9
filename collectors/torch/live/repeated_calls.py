"""Watch calls that a program without modules may repeat in each step."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from .bootstrap import AfterImport

GRAPH, COMPILED, BACKWARD = "replayed graph", "compiled function", "backward pass"
_COMPILED_GRAPHS = "torch._inductor.output_code"


def watch_repeated_calls(note: Callable[[str, object], None]) -> Callable[[], None]:
    """Call `note` before a CUDA graph or a compiled function runs, and after each backward pass.

    `note` gets the kind of call and the called object. Return a function that ends the watch.
    """
    undo: list[Callable[[], None]] = []

    def patch(owner: Any, name: str, kind: str) -> None:
        original = getattr(owner, name)
        setattr(owner, name, _noting(original, kind, note))
        undo.append(lambda: setattr(owner, name, original))

    def patch_compiled() -> None:
        graph = getattr(sys.modules[_COMPILED_GRAPHS], "CompiledFxGraph", None)
        if graph is not None:
            patch(graph, "__call__", COMPILED)

    patch(torch.cuda.CUDAGraph, "replay", GRAPH)
    patch(torch.autograd, "backward", BACKWARD)
    if _COMPILED_GRAPHS in sys.modules:
        patch_compiled()
    else:
        finder = AfterImport(_COMPILED_GRAPHS, patch_compiled)
        sys.meta_path.insert(0, finder)
        undo.append(finder.forget)

    def undo_all() -> None:
        while undo:
            undo.pop()()

    return undo_all


def _noting(original: Any, kind: str, note: Callable[[str, object], None]) -> Any:
    @functools.wraps(original)
    def repeated(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return original(*args, **kwargs)
        if kind != BACKWARD:
            note(kind, id(args[0]))
            return original(*args, **kwargs)
        returned = original(*args, **kwargs)
        note(kind, kind)
        return returned

    return repeated
