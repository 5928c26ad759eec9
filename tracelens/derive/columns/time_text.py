"""Write durations for people: three digits and a unit."""

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def duration(ns: float) -> str:
    """Return a duration as text with three digits and a unit, such as `1.25 ms`."""
    rounded = _rounded(ns)
    divisor, unit = next(
        (unit for unit in _UNITS if rounded >= unit[0]),
        _UNITS[-1],
    )
    return f"{three_digits(ns / divisor)} {unit}"


def difference(ns: float) -> str:
    """Return a difference of two durations as text with its sign.

    The minus is U+2212.
    """
    return f"{chr(0x2212) if ns < 0 else '+'}{duration(abs(ns))}"


def change_text(before_ns: float, after_ns: float) -> str:
    """Return two durations as text, such as `1.25 → 2.50 ms`; a unit of both is written once."""
    return _in_one_unit(before_ns, after_ns, " → ")


def span_text(low_ns: float, high_ns: float) -> str:
    """Return a range of durations as text, such as `1.25 to 2.50 ms`.

    A range that begins at 0 is written as `up to 2.50 ms`.
    """
    if not low_ns:
        return f"up to {duration(high_ns)}"
    low, high = duration(low_ns), duration(high_ns)
    return high if low == high else _in_one_unit(low_ns, high_ns, " to ")


def _in_one_unit(first_ns: float, second_ns: float, between: str) -> str:
    first, second = duration(first_ns), duration(second_ns)
    unit = second.rpartition(" ")[2]
    return f"{first.removesuffix(f' {unit}')}{between}{second}"


def three_digits(value: float) -> str:
    """Return a number as text: two decimals below 10, one decimal below 100, else none."""
    rounded = _rounded(value)
    decimals = 0 if rounded >= 100 else 1 if rounded >= 10 else 2
    return f"{value:,.{decimals}f}"


def _rounded(value: float) -> float:
    """Round to three digits, so that 999.6 µs becomes 1,000 µs and is written as `1.00 ms`."""
    return float(f"{value:.3g}")
