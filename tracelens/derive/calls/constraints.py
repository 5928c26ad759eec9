"""Solve constraints on the tensors of a library function, with Z3 or by trying each layout.

A constraint is a nested tuple of an operator (==, !=, <=, *, and, or, not) and its operands. `t`
and `u` are names of the function's tensors: in0, in1, weight, out or view. `d` is a dimension.

- numbers: ("STRIDE", t, d), ("SHAPE", t, d), ("DTYPE", t), ("DEVICE", t), ("ALIGN", t)
- ("ALIAS", t, u): whether t and u share memory
- ("LIVE", t): whether t is read after the call
- ("FIXED", t): whether t must not be overwritten
"""

import importlib
import importlib.util
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Term: TypeAlias = Any
"""A number, or a tuple of an operator or property and its arguments."""
NCHW, NHWC = "NCHW", "NHWC"
LAYOUTS = (NCHW, NHWC)
_VIEW = "view"
"""The name of the only tensor of a call that may share memory with another tensor."""


class Facts(Struct, frozen=True):
    """Holds the known properties of one tensor of a call."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None  # None: the call chooses them
    dtype: int = 0
    device: int = 0
    align: int = 16
    live: bool = False  # True: read after the call
    fixed: bool = False  # True: must not be overwritten, as a model input
    aliases: tuple[str, ...] = ()  # names of tensors in the same memory


def strides_of(shape: Sequence[int], layout: str) -> tuple[int, ...]:
    """Return the strides of a dense tensor.

    NHWC applies only to four dimensions.
    """
    order = [0, 2, 3, 1] if layout == NHWC and len(shape) == 4 else range(len(shape))
    strides = [0] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d], step = step, step * max(shape[d], 1)
    return tuple(strides)


def layout_of(shape: Sequence[int], strides: Sequence[int] | None) -> str | None:
    """Return the layout with these strides, NCHW if several fit, None if no layout fits."""
    if strides is None or len(strides) != len(shape):
        return None
    for layout in LAYOUTS:
        like = strides_of(shape, layout)
        if all(
            n == 1 or stride == other for n, stride, other in zip(shape, strides, like, strict=True)
        ):
            return layout
    return None


Operands: TypeAlias = Mapping[str, Facts]
Solve: TypeAlias = Callable[[Term, Operands], list[str]]


def enumerate_layouts(constraint: Term, operands: Operands) -> list[str]:
    """Return the layouts of `out` that satisfy the constraint, by trying each layout."""
    return [
        layout
        for layout, out in _outs(operands).items()
        if _holds(constraint, {**operands, "out": out})
    ]


def _outs(operands: Operands) -> dict[str, Facts]:
    """Return the possible result tensors of a call by layout."""
    out = operands["out"]
    if out.strides is not None:
        return {layout_of(out.shape, out.strides) or NCHW: out}
    layouts = LAYOUTS if len(out.shape) == 4 else LAYOUTS[:1]
    return {layout: replace(out, strides=strides_of(out.shape, layout)) for layout in layouts}


_PROPERTIES = {
    "SHAPE": 2,
    "STRIDE": 2,
    "DTYPE": 1,
    "DEVICE": 1,
    "ALIGN": 1,
    "ALIAS": 2,
    "LIVE": 1,
    "FIXED": 1,
}
"""Names of properties with their numbers of arguments."""
_TRUTHS = ("ALIAS", "LIVE", "FIXED")
_OPERATORS: dict[str, Callable[..., Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "*": lambda *values: math.prod(values),
    "not": operator.not_,
}


def _holds(term: Term, operands: Operands) -> Any:
    """Return the value of a term. All properties in it must be known."""
    if not isinstance(term, tuple):
        return term
    word, *rest = term
    if word in _PROPERTIES:
        return _property(
            operands[rest[0]],
            word,
            *rest[1:],
        )
    values = (_holds(part, operands) for part in rest)
    return (
        all(values) if word == "and" else any(values) if word == "or" else _OPERATORS[word](*values)
    )


def _property(facts: Facts, word: str, argument: Any = None) -> Any:
    """Return the property `word` of a tensor.

    - SHAPE, STRIDE: the value of dimension `argument`, 0 if the tensor has no such dimension
    - ALIAS: whether the tensor shares memory with the tensor named `argument`
    """
    if word == "ALIAS":
        return argument in facts.aliases
    if word not in ("SHAPE", "STRIDE"):
        return getattr(facts, word.lower())
    sizes = facts.shape if word == "SHAPE" else facts.strides
    assert sizes is not None
    return sizes[argument] if argument < len(sizes) else 0


def has_z3() -> bool:
    """Return whether Z3 is installed, as it is with the extra `advisor`."""
    return importlib.util.find_spec("z3") is not None


class Z3Solver:
    """Solves constraints with Z3. One solver is used again for all constraints."""

    def __init__(self) -> None:
        self._z3: Any = importlib.import_module("z3")
        self._solver = self._z3.Solver()
        whole = self._z3.IntSort()
        truth = self._z3.BoolSort()
        self._functions = {
            name: self._z3.Function(
                name,
                *[whole] * n,
                truth if name in _TRUTHS else whole,
            )
            for name, n in _PROPERTIES.items()
        }
        self._operators = _OPERATORS | {"and": self._z3.And, "or": self._z3.Or, "not": self._z3.Not}
        self._numbers: dict[str, int] = {}
        self._formulas: dict[object, Any] = {}

    def __call__(self, constraint: Term, operands: Operands) -> list[str]:
        """Return the layouts of `out` that satisfy the constraint."""
        choice = self._z3.Int("layout_of_out")
        layouts = []
        self._solver.push()
        for operand, facts in operands.items():
            self._add((operand, facts), self._facts)
        self._add((constraint,), self._formula)
        self._add((choice, operands["out"]), self._choices)
        # Each solution is excluded from the next one, until there is none.
        while self._solver.check() == self._z3.sat:
            layouts.append(self._solver.model().eval(choice).as_long())
            self._solver.add(choice != layouts[-1])
        self._solver.pop()
        return [LAYOUTS[layout] for layout in sorted(layouts)]

    def _add(
        self,
        of: tuple[Any, ...],
        make: Callable[..., Any],
    ) -> None:
        """Add the formula `make(*of)` to the solver, and cache it.

        Z3 takes longer to construct a formula than to solve it.
        """
        if of not in self._formulas:
            self._formulas[of] = make(*of)
        self._solver.add(self._formulas[of])

    def _choices(self, choice: Any, out: Facts) -> Any:
        """Return a formula that is true if `out` has the strides of layout number `choice`."""
        stride = self._functions["STRIDE"]
        n = self._number("out")
        return self._z3.Or(
            [
                self._z3.And(
                    choice == LAYOUTS.index(layout),
                    *(stride(n, d) == elements for d, elements in enumerate(facts.strides or ())),
                )
                for layout, facts in _outs({"out": out}).items()
            ]
        )

    def _facts(self, operand: str, facts: Facts) -> list[Any]:
        functions = self._functions
        n = self._number(operand)
        known = [functions["ALIAS"](n, self._number(_VIEW)) == (_VIEW in facts.aliases)]
        known += [
            functions[word](n) == _property(facts, word)
            for word, n_places in _PROPERTIES.items()
            if n_places == 1
        ]
        for word in ("SHAPE",) if facts.strides is None else ("SHAPE", "STRIDE"):
            known += [functions[word](n, d) == _property(facts, word, d) for d in range(4)]
        return known

    def _number(self, operand: str) -> int:
        return self._numbers.setdefault(operand, len(self._numbers))

    def _formula(self, term: Term) -> Any:
        if not isinstance(term, tuple):
            return term
        word, *rest = term
        if word in _PROPERTIES:
            return self._functions[word](
                *(
                    self._number(operand) if isinstance(operand, str) else operand
                    for operand in rest
                )
            )
        parts = [self._formula(part) for part in rest]
        return self._operators[word](*parts)
