from typing_extensions import Buffer

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
    def time(self, own: Buffer, /) -> bool: ...
    def launch(self, spans: Buffer, valid: Buffer | None, skipped: int, durations: Buffer, /) -> bool: ...
    def totals(self, found: Buffer, space: Buffer, /) -> bool: ...
    def order(self, durations: Buffer, ends: Buffer, ordered: Buffer, /) -> bool: ...

class Parser:
    def __init__(
        self,
        key_texts: bytes,
        keys: Buffer,
        tables: Buffer,
        columns: Buffer,
        allocations: int,
        counters: int,
        unplaced: int,
        seed: int,
        base: int,
        /,
    ) -> None: ...
    def parse(self, text: Buffer, at: int, /) -> tuple[int, int]: ...
    def take(
        self,
    ) -> tuple[int, int, list[tuple[int, int, list[int]]], list[tuple[int, list[tuple[str, bytes, bytes] | None]]]]: ...
    def strings(self, which: int, /) -> tuple[bytes, bytes]: ...
