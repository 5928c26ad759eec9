"""Steps and their kernels, for tests of answers."""

from itertools import pairwise

from tests.programs import Row, launch, mark, program, work
from tracelens.trace import Trace

STEP = mark(0, 0, 10_000)


def busy(start: int, end: int, call: int = 0) -> list[Row]:
    """Five kernels, one after another, that one call launched."""
    edges = [start + (end - start) * fifth // 5 for fifth in range(6)]
    return [work(low, high, call, name="gemm") for low, high in pairwise(edges)]


def repeated(n_steps: int, step_us: int, kernel_us: int) -> Trace:
    """Steps of a length, each with five kernels."""
    starts = [n * step_us for n in range(n_steps)]
    marks = [mark(n, start, start + step_us) for n, start in enumerate(starts)]
    launches = [launch(start, start + 1) for start in starts]
    kernels = [row for n, start in enumerate(starts) for row in busy(start, start + kernel_us, n)]
    return program(marks, launches, kernels)


def faster(step_us: int, kernel_us: int) -> Trace:
    """Three steps of a length, each with five kernels."""
    return repeated(3, step_us, kernel_us)
