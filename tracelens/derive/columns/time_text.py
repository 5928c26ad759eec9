"""Write lengths of time as people read them: three digits and a unit."""


def duration(ns: float) -> str:
    """Write a length of time with three digits and its unit."""
    for divisor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= divisor or unit == "µs":
            return f"{three_digits(ns / divisor)} {unit}"
    raise AssertionError


def span_text(low_ns: int, high_ns: int) -> str:
    """Write a range of times, with one unit if both have the same."""
    if not low_ns:
        return f"up to {duration(high_ns)}"
    low, high = duration(low_ns), duration(high_ns)
    unit = high.rpartition(" ")[2]
    return high if low == high else f"{low.removesuffix(f' {unit}')} to {high}"


def three_digits(value: float) -> str:
    """Write a number with three digits, or with all digits before the point."""
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{decimals}f}"
