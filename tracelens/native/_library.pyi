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
def among(what: int, parents: Buffer, first: int, flags: Buffer | None, result: Buffer, /) -> bool: ...
def above(rows: Buffer, parents: Buffer, marks: Buffer, /) -> bytes | None: ...

class Ops:
    def __init__(self, n_spans: int, /) -> None: ...
    def place(
        self,
        parents: Buffer,
        valid: Buffer | None,
        skipped: int,
        ids: Buffer,
        names: Buffer,
        kinds: Buffer,
        codes: Buffer,
        flags: Buffer,
        /,
    ) -> bool: ...
    def charge_calls(
        self,
        spans: Buffer,
        valid: Buffer | None,
        skipped: int,
        starts: Buffer,
        durations: Buffer,
        processes: Buffer,
        threads: Buffer,
        /,
    ) -> bool: ...
    def set_in_calls(self, times: Buffer, /) -> None: ...
    def time(self, own: Buffer, /) -> bool: ...
    def launch(self, spans: Buffer, valid: Buffer | None, skipped: int, durations: Buffer, /) -> bool: ...
    def counts(self, found: Buffer, /) -> None: ...
    def order(self, durations: Buffer, ends: Buffer, /) -> bool: ...
    def sums(self, ends: Buffer, /) -> bytes: ...
