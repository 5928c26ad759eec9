"""Write lengths of time as people read them."""

_SECOND = 1e9


def duration(ns: float) -> str:
    """Write a length of time with three digits and its unit."""
    for divisor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= divisor or unit == "µs":
            return f"{three_digits(ns / divisor)} {unit}"
    raise AssertionError


def milliseconds(ns: float, decimals: int = 2) -> str:
    """Write a length of time in ms with these decimals; from a second on, in s with three digits.

    Notes of tables use it, because several times in one note compare better in one unit.
    """
    return duration(ns) if ns >= _SECOND else f"{ns / 1e6:.{decimals}f} ms"


def milliseconds_span(low_ns: float, high_ns: float) -> str:
    """Write a range of times as `milliseconds` writes one."""
    if high_ns >= _SECOND:
        return span_text(round(low_ns), round(high_ns))
    return f"{low_ns / 1e6:.2f} to {milliseconds(high_ns)}"


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
