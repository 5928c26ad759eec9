"""Choose submodules to compile as a whole, so that exactly the chosen layers are compiled."""

from collections.abc import Mapping

from msgspec import Struct, field

ROOT = ""
"""The model itself, named as in torch's named_modules."""


class Regions(Struct):
    """Submodules by path, outermost first and in the order of the layers."""

    to_compile: list[str] = field(default_factory=list)
    # Submodules within compiled ones that stay eager
    to_disable: list[str] = field(default_factory=list)


def regions(is_compiled: Mapping[str, bool]) -> Regions:
    """Choose the fewest submodules to compile or to disable so that each layer gets its choice.

    A disabled submodule stays eager inside a compiled one. `is_compiled` maps a layer's path to its
    choice, compiled or eager. A layer's choice does not hold for the layers inside it, which have
    choices themselves. A module without a choice, such as a container, takes the choice that all
    its layers share. If its layers differ, it runs like the module around it.
    """
    below: dict[str, dict[str, None]] = {}
    for path in is_compiled:
        parts = path.split(".") if path != ROOT else []
        for n in range(len(parts)):
            below.setdefault(".".join(parts[:n]), {})[".".join(parts[: n + 1])] = None
    fewest = Regions()
    _visit(ROOT, False, is_compiled, below, fewest)
    return fewest


def _visit(
    path: str,
    inside: bool,
    is_compiled: Mapping[str, bool],
    below: Mapping[str, dict[str, None]],
    result: Regions,
) -> None:
    """Choose compiled or eager for a module and its children, and add the choices to `result`.

    `inside` says whether a compiled region surrounds the module.
    """
    choice = is_compiled.get(path)
    if choice is None:
        wanted = _choices(path, is_compiled)
        choice = wanted.pop() if len(wanted) == 1 else inside
    if choice != inside:
        (result.to_compile if choice else result.to_disable).append(path)
    for child in below.get(path, ()):
        _visit(child, choice, is_compiled, below, result)


def _choices(path: str, is_compiled: Mapping[str, bool]) -> set[bool]:
    """Return the distinct choices of the layers below the module."""
    prefix = f"{path}." if path else ""
    return {
        choice
        for layer, choice in is_compiled.items()
        if layer.startswith(prefix) and layer != path
    }
