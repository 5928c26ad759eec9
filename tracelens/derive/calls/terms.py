"""Constraints of library functions as data, over unknown properties of tensors, and two ways to solve them.

A constraint is a nested tuple: ("STRIDE", t, d), ("SHAPE", t, d), ("DTYPE", t), ("DEVICE", t), ("ALIGN", t) are
numbers; ("ALIAS", t, u), ("LIVE", t), ("FIXED", t) are truths; ==, !=, <=, *, and, or, not combine them. `t` is a place
of the function: in0, in1, weight, out, view. With Z3 the properties are uninterpreted functions; without it, strides
that are not known are tried one layout after the other. Both give the same layouts.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

Term: TypeAlias = Any
"""A number, or a tuple whose first word says what the rest is."""
NCHW, NHWC = "NCHW", "NHWC"
LAYOUTS = (NCHW, NHWC)
_VIEW = "view"
"""The one place that another tensor may share its memory with."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the tensor at one place of a call: `strides` is null where the call decides them.

    `live`: it is read after the call, or is not the graph's own; `aliases`: places that share its memory; `fixed`: it
    is an input of the model or a parameter, which no call may overwrite.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    dtype: int = 0
    device: int = 0
    align: int = 16
    live: bool = False
    fixed: bool = False
    aliases: tuple[str, ...] = ()


def strides_of(shape: Sequence[int], layout: str) -> tuple[int, ...]:
    """Strides of a dense tensor; channels are last only where there are four dimensions."""
    order = list(range(len(shape)))
    if layout == NHWC and len(shape) == 4:
        order = [0, 2, 3, 1]
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d], step = step, step * max(shape[d], 1)
    return tuple(strides)


def layout_of(shape: Sequence[int], strides: Sequence[int] | None) -> str | None:
    """The layout that the strides are of, where they are of one; NCHW where both are the same."""
    if strides is None or len(strides) != len(shape):
        return None
    for layout in LAYOUTS:
        like = strides_of(shape, layout)
        if all(n == 1 or own == other for n, own, other in zip(shape, strides, like, strict=True)):
            return layout
    return None


Places: TypeAlias = Mapping[str, Facts]
Solve: TypeAlias = Callable[[Term, Places], list[str]]


def enumerate_layouts(constraint: Term, places: Places) -> list[str]:
    """The layouts of `out` under which the constraint holds, by trying each."""
    return [layout for layout in _candidates(places) if _holds(constraint, _with_out(places, layout))]


def _candidates(places: Places) -> Sequence[str]:
    out = places["out"]
    if out.strides is not None:
        return (layout_of(out.shape, out.strides) or NCHW,)
    return LAYOUTS if len(out.shape) == 4 else LAYOUTS[:1]


def _with_out(places: Places, layout: str) -> Places:
    out = places["out"]
    if out.strides is not None:
        return places
    return {**places, "out": replace(out, strides=strides_of(out.shape, layout))}


def _holds(term: Term, places: Places) -> Any:
    """The value of a term whose properties are all known."""
    if not isinstance(term, tuple):
        return term
    word, *rest = term
    if word in _PROPERTIES:
        return _property(word, rest, places)
    if word == "and":
        return all(_holds(part, places) for part in rest)
    if word == "or":
        return any(_holds(part, places) for part in rest)
    values = [_holds(part, places) for part in rest]
    return _OPERATORS[word](*values)


_PROPERTIES = frozenset(("SHAPE", "STRIDE", "DTYPE", "DEVICE", "ALIGN", "ALIAS", "LIVE", "FIXED"))
_OPERATORS: dict[str, Callable[..., Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<=": lambda a, b: a <= b,
    "*": lambda *values: math.prod(values),
    "not": lambda a: not a,
}


def _property(word: str, rest: Sequence[Any], places: Places) -> Any:
    facts = places[rest[0]]
    match word:
        case "SHAPE":
            return facts.shape[rest[1]] if rest[1] < len(facts.shape) else 0
        case "STRIDE":
            assert facts.strides is not None
            return facts.strides[rest[1]] if rest[1] < len(facts.strides) else 0
        case "ALIAS":
            return rest[1] in facts.aliases
    return {
        "DTYPE": facts.dtype,
        "DEVICE": facts.device,
        "ALIGN": facts.align,
        "LIVE": facts.live,
        "FIXED": facts.fixed,
    }[word]


def has_z3() -> bool:
    """Whether the extra `advisor` is installed."""
    return importlib.util.find_spec("z3") is not None


class Z3Solver:
    """Solves constraints with Z3, one solver by push and pop; properties are uninterpreted functions."""

    def __init__(self) -> None:
        z3: Any = importlib.import_module("z3")
        self._z3 = z3
        self._solver = z3.Solver()
        whole, truth = z3.IntSort(), z3.BoolSort()
        self._functions = {
            "SHAPE": z3.Function("SHAPE", whole, whole, whole), "STRIDE": z3.Function("STRIDE", whole, whole, whole),
            **{name: z3.Function(name, whole, whole) for name in ("DTYPE", "DEVICE", "ALIGN")},
            "ALIAS": z3.Function("ALIAS", whole, whole, truth),
            **{name: z3.Function(name, whole, truth) for name in ("LIVE", "FIXED")},
        }  # fmt: skip
        self._numbers: dict[str, int] = {}
        self._made: dict[object, Any] = {}

    def __call__(self, constraint: Term, places: Places) -> list[str]:
        """The layouts of `out` under which the constraint holds: models of the solver, until there is no other."""
        z3 = self._z3
        self._solver.push()
        try:
            for place, facts in places.items():
                self._solver.add(self._once((place, facts), partial(self._facts, place, facts)))
            self._solver.add(self._once(constraint, partial(self._formula, constraint)))
            choice = z3.Int("layout_of_out")
            self._solver.add(self._once(places["out"], partial(self._is_one_of, choice, places)))
            found = []
            while True:
                if self._solver.check() != z3.sat:
                    return [layout for layout in LAYOUTS if layout in found]
                value = self._solver.model().eval(choice).as_long()
                found.append(LAYOUTS[value])
                self._solver.add(choice != value)
        finally:
            self._solver.pop()

    def _once(self, key: object, make: Callable[[], Any]) -> Any:
        """What Z3 made of a term or a place's facts; making it takes longer than solving it."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _is_one_of(self, choice: Any, places: Places) -> Any:
        return self._z3.Or([self._is_layout(choice, layout, places) for layout in _candidates(places)])

    def _is_layout(self, choice: Any, layout: str, places: Places) -> Any:
        out = places["out"]
        strides = out.strides if out.strides is not None else strides_of(out.shape, layout)
        stride = self._functions["STRIDE"]
        same = [stride(self._number("out"), d) == own for d, own in enumerate(strides)]
        return self._z3.And(choice == LAYOUTS.index(layout), *same)

    def _facts(self, place: str, facts: Facts) -> list[Any]:
        own, n = self._functions, self._number(place)
        numbers = {"DTYPE": facts.dtype, "DEVICE": facts.device, "ALIGN": facts.align}
        truths = {"LIVE": facts.live, "FIXED": facts.fixed}
        shape, strides = ([*told, 0, 0, 0, 0][:4] for told in (facts.shape, facts.strides or ()))
        known = [own["SHAPE"](n, d) == shape[d] for d in range(4)]
        known += [own["STRIDE"](n, d) == strides[d] for d in range(4) if facts.strides is not None]
        known += [own[name](n) == value for name, value in (*numbers.items(), *truths.items())]
        return [*known, own["ALIAS"](n, self._number(_VIEW)) == (_VIEW in facts.aliases)]

    def _number(self, place: str) -> int:
        return self._numbers.setdefault(place, len(self._numbers))

    def _formula(self, term: Term) -> Any:
        if not isinstance(term, tuple):
            return term
        word, *rest = term
        if word in _PROPERTIES:
            at = [self._number(one) if isinstance(one, str) else one for one in rest]
            return self._functions[word](*at)
        parts = [self._formula(part) for part in rest]
        if word in ("and", "or"):
            return (self._z3.And if word == "and" else self._z3.Or)(*parts)
        return self._z3.Not(*parts) if word == "not" else _OPERATORS[word](*parts)
