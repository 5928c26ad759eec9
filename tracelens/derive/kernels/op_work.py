"""The work of any op's call whose inputs were recorded: operations and bytes."""

from collections.abc import Callable, Sequence

import polars as pl

from tracelens.derive.kernels.flops import MODELLED, Work, counted_work
from tracelens.derive.kernels.op_families import FAMILIES, signatures, traffic_of
from tracelens.derive.kernels.ops_by_words import NAMED, work_by_words
from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError, are_sizes
from tracelens.derive.kernels.recorded_dtypes import element_type, listed
from tracelens.derive.kernels.triton_work import TRITON, triton_work

Model = Callable[[RecordedCall], tuple[int, int]]
"""What a call computes and moves: floating-point operations, and bytes that have to move."""
_REGISTERED: dict[str, Model] = {}


def roofline_model(op: str) -> Callable[[Model], Model]:
    """Register a function as the roofline's model of an op, as a decorator.

    The function takes a call's recorded inputs by position (`call.shape(0)`, `call.value(3)`,
    `call.bytes_of(1)`) and returns its floating-point operations and its least bytes. It comes
    before a model that the op has already. Raises ValueError for a name without a namespace.
    """
    if "::" not in op:
        raise ValueError(
            f"expected the name of an op with its namespace, as vllm::op, found {op!r}"
        )

    def register(model: Model) -> Model:
        _REGISTERED[op] = model
        return model

    return register


def is_modelled(name: pl.Expr) -> pl.Expr:
    """Return whether the work of a call of an op may be known, by the op's name as text."""
    listed_names = frozenset((*MODELLED, *signatures(), *_REGISTERED))
    is_other = ~name.str.starts_with("aten::") & name.str.contains(NAMED)
    return name.is_in(listed_names) | name.str.starts_with(TRITON) | is_other


def work_of(
    name: str,
    texts: Sequence[str | None],
    list_dtype: str | None = None,
    experts: tuple[int, float] | None = None,
) -> Work | None:
    """Return what a call of the op computes and moves; None where its inputs do not tell.

    `texts` are the recorded sizes, element types, strides and values, in JSON. `list_dtype` is the
    element type of tensors in lists; `experts` is described at `RecordedCall`.
    """
    try:
        return _work(name, RecordedCall.parsed(texts, list_dtype, experts))
    except UnknownWorkError:
        return None


def _work(name: str, call: RecordedCall) -> Work | None:
    if name in _REGISTERED:
        flops, least_bytes = _REGISTERED[name](call)
        return Work(flops, flops, least_bytes, call.first_dtype())
    if name in MODELLED:
        return counted_work(name, call)
    if name.startswith(TRITON):
        return triton_work(name, call)
    if name not in signatures():
        return work_by_words(name, call)
    family, known = signatures()[name]
    traffic = traffic_of(FAMILIES[family], known, call)
    return Work(
        traffic.flops,
        traffic.operations,
        traffic.least_bytes,
        traffic.dtype,
        traffic.pair_flops,
        traffic.key_bytes,
        FAMILIES[family].assumed,
    )


def tensors_of(shapes: str | None, dtypes: str | None) -> tuple[str, str]:
    """Return sizes and element types of an op's tensors, to be shown.

    They read `32x3x224x224 64x3x7x7` and `float32`.
    """
    pairs = zip(listed(shapes), listed(dtypes) or listed(shapes), strict=False)
    told = [
        (size, kind if isinstance(kind, str) else "") for size, kind in pairs if are_sizes(size)
    ]
    # Of what has no sizes, tensors have an element type.
    found = [(size, kind) for size, kind in told if size or element_type(kind) is not None]
    words = [(element_type(kind) or (kind,))[0] for _, kind in found if kind]
    return " ".join("x".join(map(str, size)) or "()" for size, _ in found), " ".join(
        dict.fromkeys(words)
    )
