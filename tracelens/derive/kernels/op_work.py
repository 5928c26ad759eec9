"""The work of any op's call whose inputs were recorded: operations and bytes."""

from collections.abc import Sequence

from tracelens.derive.kernels.flops import MODELLED, Work, counted_work
from tracelens.derive.kernels.op_families import FAMILIES, signatures, traffic_of
from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError, are_sizes
from tracelens.derive.kernels.recorded_dtypes import element_type, listed
from tracelens.derive.kernels.triton_work import TRITON, triton_work


def modelled_names() -> frozenset[str]:
    """Return the names of all ops whose work is known; those of Triton kernels match `TRITON`."""
    return frozenset((*MODELLED, *signatures()))


def work_of(name: str, texts: Sequence[str | None], list_dtype: str | None = None) -> Work | None:
    """Return what a call of the op computes and moves; None where its inputs do not tell.

    `texts` are the recorded sizes, element types, strides and values, in JSON. `list_dtype` is the
    element type of tensors in lists.
    """
    try:
        return _work(name, RecordedCall.parsed(texts, list_dtype))
    except UnknownWorkError:
        return None


def _work(name: str, call: RecordedCall) -> Work | None:
    if name in MODELLED:
        return counted_work(name, call)
    if name.startswith(TRITON):
        return triton_work(name, call)
    if name not in signatures():
        return None
    family, known = signatures()[name]
    traffic = traffic_of(FAMILIES[family], known, call)
    return Work(0, traffic.operations, traffic.least_bytes, traffic.dtype)


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
