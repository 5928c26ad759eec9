from collections.abc import Buffer

def nest(
    starts: Buffer,
    ends: Buffer,
    lanes: Buffer | None,
    hints: Buffer | None,
    call_starts: Buffer,
    call_ends: Buffer,
    call_lanes: Buffer | None,
    n_lanes: int,
    tolerance: int,
    /,
) -> tuple[bytes, bytes, bytes, bytes, int, int]: ...
