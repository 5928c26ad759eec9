"""Constraints of library functions as data, over unknown properties of tensors, and two ways to solve them.

A constraint is a nested tuple: ("STRIDE", t, d), ("SHAPE", t, d), ("DTYPE", t), ("DEVICE", t), ("ALIGN", t) are
numbers; ("ALIAS", t, u), ("LIVE", t), ("FIXED", t) are truths; ==, !=, <=, *, and, or, not combine them. `t` is a place
of the function: in0, in1, weight, out, view. With Z3 the properties are uninterpreted functions; without it, strides
that are not known are tried one layout after the other. Both give the same layouts.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Term: TypeAlias = Any
"""A number, or a tuple whose first word says what the rest is."""
NCHW, NHWC = "NCHW", "NHWC"
LAYOUTS = (NCHW, NHWC)


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
    known = Facts(
        out.shape, strides_of(out.shape, layout), out.dtype, out.device, out.align, out.live, out.fixed, out.aliases
    )
    return {**places, "out": known}


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
    "*": lambda *values: _product(values),
    "not": lambda a: not a,
}


def _product(values: Sequence[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result


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
        self.n_checks = 0

    def __call__(self, constraint: Term, places: Places) -> list[str]:
        """The layouts of `out` under which the constraint holds: models of the solver, until there is no other."""
        z3, numbers = self._z3, {place: n for n, place in enumerate(places)}
        self._solver.push()
        try:
            for fact in self._facts(places, numbers):
                self._solver.add(fact)
            self._solver.add(self._formula(constraint, numbers))
            choice = z3.Int("layout_of_out")
            self._solver.add(
                z3.Or([self._is_layout(choice, layout, places, numbers) for layout in _candidates(places)])
            )
            found = []
            while True:
                self.n_checks += 1
                if self._solver.check() != z3.sat:
                    return [layout for layout in LAYOUTS if layout in found]
                value = self._solver.model().eval(choice).as_long()
                found.append(LAYOUTS[value])
                self._solver.add(choice != value)
        finally:
            self._solver.pop()

    def _is_layout(self, choice: Any, layout: str, places: Places, numbers: Mapping[str, int]) -> Any:
        out = places["out"]
        strides = out.strides if out.strides is not None else strides_of(out.shape, layout)
        stride = self._functions["STRIDE"]
        same = [stride(numbers["out"], d) == own for d, own in enumerate(strides)]
        return self._z3.And(choice == LAYOUTS.index(layout), *same)

    def _facts(self, places: Places, numbers: Mapping[str, int]) -> Iterator[Any]:
        own = self._functions
        for place, facts in places.items():
            n = numbers[place]
            for d in range(4):
                yield own["SHAPE"](n, d) == (facts.shape[d] if d < len(facts.shape) else 0)
                if facts.strides is not None:
                    yield own["STRIDE"](n, d) == (facts.strides[d] if d < len(facts.strides) else 0)
            for name, value in (("DTYPE", facts.dtype), ("DEVICE", facts.device), ("ALIGN", facts.align)):
                yield own[name](n) == value
            for name, truth in (("LIVE", facts.live), ("FIXED", facts.fixed)):
                yield own[name](n) == truth
            for other, m in numbers.items():
                yield own["ALIAS"](n, m) == (other in facts.aliases)

    def _formula(self, term: Term, numbers: Mapping[str, int]) -> Any:
        if not isinstance(term, tuple):
            return term
        word, *rest = term
        if word in _PROPERTIES:
            at = [numbers[one] if isinstance(one, str) else one for one in rest]
            return self._functions[word](*at)
        parts = [self._formula(part, numbers) for part in rest]
        if word in ("and", "or"):
            return (self._z3.And if word == "and" else self._z3.Or)(*parts)
        return self._z3.Not(*parts) if word == "not" else _OPERATORS[word](*parts)
