"""Write lengths of time as people read them."""

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def duration(ns: float) -> str:
    """Write a length of time with three digits and its unit."""
    rounded = _rounded(ns)
    divisor, unit = next(
        (one for one in _UNITS if rounded >= one[0]),
        _UNITS[-1],
    )
    return f"{three_digits(ns / divisor)} {unit}"


def difference(ns: float) -> str:
    """Write a difference of two times with its sign; the minus is a real one, not a hyphen."""
    return f"{chr(0x2212) if ns < 0 else '+'}{duration(abs(ns))}"


def change_text(before_ns: float, after_ns: float) -> str:
    """Write a time before and after, with one unit if both have the same."""
    return _in_one_unit(before_ns, after_ns, " → ")


def span_text(low_ns: float, high_ns: float) -> str:
    """Write a range of times, with one unit if both have the same."""
    if not low_ns:
        return f"up to {duration(high_ns)}"
    low, high = duration(low_ns), duration(high_ns)
    return high if low == high else _in_one_unit(low_ns, high_ns, " to ")


def _in_one_unit(first_ns: float, second_ns: float, between: str) -> str:
    first, second = duration(first_ns), duration(second_ns)
    unit = second.rpartition(" ")[2]
    return f"{first.removesuffix(f' {unit}')}{between}{second}"


def three_digits(value: float) -> str:
    """Write a number with three digits, or with all digits before the point."""
    rounded = _rounded(value)
    decimals = 0 if rounded >= 100 else 1 if rounded >= 10 else 2
    return f"{value:,.{decimals}f}"


def _rounded(value: float) -> float:
    """Round to three digits: 999.6 becomes 1,000, which the next unit writes as 1.00."""
    return float(f"{value:.3g}")
