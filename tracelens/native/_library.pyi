from typing_extensions import Buffer, CapsuleType

# The walk of derive/nesting.py over intervals in time order, with ends, not durations; rows, depths
# and threads of 32 bits. Fills parents, depths, own times and the spans around calls; says how many
# overlap and how many did not return. `covered` and `tops` are working space.
def nest(
    starts: Buffer,
    ends: Buffer,
    threads: Buffer | None,
    hints: Buffer | None,
    parents: Buffer,
    depths: Buffer,
    own: Buffer,
    covered: Buffer,
    call_starts: Buffer,
    call_ends: Buffer,
    call_threads: Buffer | None,
    around: Buffer,
    n_threads: int,
    tolerance: int,
    tops: Buffer,
    /,
) -> tuple[int, int]: ...

# The earliest times of derive/replay/moment_graph.py: fills each moment's time and deciding edge.
def longest_paths(
    offsets: Buffer, sources: Buffer, weights: Buffer, times: Buffer, deciding: Buffer, /
) -> None: ...

# One part of a pass up a tree, whose rows start with `first`: whether it could be done. What is 0:
# nearest, 1: outermost, 2: count, 3: sums within.
def among(
    what: int, parents: Buffer, first: int, flags: Buffer | None, result: Buffer, /
) -> bool: ...

# What a device did, as derive/idle.py has it: when its last work ended. Kernels and all else, each
# with starts, durations, calls (rows) and kinds; calls with when they returned, places and threads
# (None: one for all); of each thread its own track, the one it shares and the main thread's (-1:
# none); of each track its first segment, which moves on, and the one after its last; windows. Adds
# up busy time by union and window, idle time by window, whether within all work, and cause, seven
# measures by cause and place, and launching by work.
def idle_time(
    kernel_starts: Buffer,
    kernel_durations: Buffer,
    kernel_calls: Buffer,
    kernel_kinds: Buffer,
    starts: Buffer,
    durations: Buffer,
    calls: Buffer,
    kinds: Buffer,
    loaded: Buffer | None,
    returned: Buffer,
    places: Buffer,
    threads: Buffer | None,
    own: Buffer,
    shared: Buffer,
    mains: Buffer,
    firsts: Buffer,
    lasts: Buffer,
    segment_starts: Buffer,
    segment_ends: Buffer,
    causes: Buffer,
    segment_places: Buffer,
    window_starts: Buffer,
    window_ends: Buffer,
    counted: Buffer,
    from_ns: int,
    until_ns: int,
    latency_ns: int,
    last_thread: int,
    unrecorded: int,
    busy: Buffer,
    idle: Buffer,
    cells: Buffer,
    launching: Buffer,
    /,
) -> int: ...

# The ops of one rank while its tables are read, part by part. Rows of spans come with the bits that
# say which are there, and how many bits come before the first; each function says whether it could
# be done.
def ops_new(n_spans: int, key: int, key_too: int, /) -> CapsuleType: ...

# Find the chain of names of each of the next spans.
def ops_place(
    ops: CapsuleType,
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

# Take the next calls, in time order, off the spans that they are made in.
def ops_charge_calls(
    ops: CapsuleType,
    spans: Buffer,
    valid: Buffer | None,
    skipped: int,
    starts: Buffer,
    durations: Buffer,
    processes: Buffer,
    threads: Buffer,
    /,
) -> bool: ...

# Charge to chains what the next spans, which are placed, take themselves.
def ops_time(ops: CapsuleType, own: Buffer, /) -> bool: ...

# Charge device work to chains.
def ops_launch(
    ops: CapsuleType, spans: Buffer, valid: Buffer | None, skipped: int, durations: Buffer, /
) -> bool: ...

# Four words a code: how many ops, launched, own time, launched within.
def ops_totals(ops: CapsuleType, found: Buffer, space: Buffer, /) -> bool: ...

# Put the durations of the next spans that are ops where the next of their code goes.
def ops_order(ops: CapsuleType, durations: Buffer, ends: Buffer, ordered: Buffer, /) -> bool: ...

# A parser that reads events into cells, which are as long as a table may be for each column.
def parser_new(
    key_text: bytes,
    keys: bytes,
    tables: bytes,
    columns: bytes,
    cells: Buffer,
    allocations: int,
    counters: int,
    unplaced: int,
    key: int,
    key_too: int,
    /,
) -> CapsuleType: ...

# From there on: why it stopped (0: the text is over, 1: the list is closed, 2: a buffer is full, 3:
# no JSON), where, how many events, whether a start has decimals, rows of each table, and of each
# event that Python has to look at its begin, end, and the rows of each table before it.
def parse(
    parser: CapsuleType, text: Buffer, at: int, /
) -> tuple[int, int, int, int, bytes, bytes]: ...

# The strings from a number on, as they are written: 0 texts, 1 shapes.
def strings(parser: CapsuleType, which: int, first: int, /) -> list[bytes]: ...

# The hash of a text by a key: SipHash-1-3, which tables of strings and of ops use.
def hashed(text: Buffer, key: int, key_too: int, /) -> int: ...
