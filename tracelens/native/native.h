/* What the parts of the library share. None but module.c knows of Python, so that a fuzzer can drive the others bare.

Every pointer comes with an end or a length, and nothing is read before these are looked at. Whole numbers come from files:
they are added by `plus`, which wraps; sums that must be right are of numbers that were found small enough before. */

#ifndef TRACELENS_NATIVE_H
#define TRACELENS_NATIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NONE INT64_MIN /* no row, in a column of rows */

static inline int64_t plus(int64_t one, int64_t other) { return (int64_t)((uint64_t)one + (uint64_t)other); }

static inline int64_t minus(int64_t one, int64_t other) { return (int64_t)((uint64_t)one - (uint64_t)other); }

static inline int64_t at_least(int64_t one, int64_t other) { return one > other ? one : other; }

static inline int64_t at_most(int64_t one, int64_t other) { return one < other ? one : other; }

/* How many bits below the lowest one that is set; of a word that is not 0. */
static inline unsigned trailing_zeros(uint64_t word)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(word);
#else
    unsigned n = 0;
    for (; !(word & 1); word >>= 1)
        n++;
    return n;
#endif
}

/* --- nest.c: which span encloses which --- */

/* Intervals in time order: by start, the longer first. Their threads are numbers: NULL where there is one only. */
struct intervals {
    size_t n;
    const int64_t *starts, *ends;
    const int32_t *threads;
};

/* Of each span the row of its parent (-1: none), its depth and its own time; of each call the row of the span around
it (-1: none). `covered` is working space, as long as `own`. */
struct nesting {
    int32_t *parents, *depths, *call_spans;
    int64_t *own, *covered;
    int64_t n_overlaps, n_unreturned;
};

/* `hints` has of each span the row of its recorded caller, -1 for none, or is NULL; `tops` has a word a thread, -1. Rows
of hints that stand at or after their span are none. Threads are below the length of `tops`. */
void nest(struct intervals spans, const int32_t *hints, struct intervals calls, int32_t *tops, int64_t tolerance,
          struct nesting *found);

/* --- replay.c: when each moment of a graph comes at the earliest --- */

/* Moment m waits along edges offsets[m] to offsets[m + 1], each from a moment before it. Fills the time of each, 0 where
it waits for none, and the first of the edges that decide it (-1 for none). Returns 0 where an edge does not lead
forward or is none. */
int longest_paths(const int64_t *offsets, size_t n_moments, const int64_t *sources, const int64_t *weights,
                  size_t n_edges, int64_t *times, int64_t *deciding);

/* --- chains.c: what a span inherits from the spans around it, and what ops take --- */

enum among { NEAREST, OUTERMOST, COUNT, WITHIN };

/* Of the rows `first` to `first + n` of a tree, whose parents these are (NONE at the top): the nearest or outermost
flagged one among the row and its ancestors (NONE for none), or how many are flagged; WITHIN adds each row's `result` to
its parent's. Parts of a tree come in order, for WITHIN the last first. Returns 0 where a parent does not stand before
its child; `result` is then worth nothing. */
int among(enum among what, const int64_t *parents, size_t n, size_t first, const uint8_t *flags, int64_t *result);

/* A column of rows as Arrow has it: null where the bit of `valid`, if that is not NULL, is 0. */
struct rows {
    size_t n;
    const int64_t *rows;
    const uint8_t *valid;
    size_t skipped; /* bits before the first row's */
};

/* A chain of op names from the outermost op to an op: of millions of spans a few hundred are left. */
struct node {
    uint32_t code, up; /* of the name; the node of the op around it, 0 for none */
    int64_t n_ops, own_ns, device_ns;
};

struct op_thread {
    int64_t process, thread, reached;
};

/* A number for bytes, which only who knows the key can foresee. */
uint64_t hashed(const uint8_t *p, size_t length, const uint64_t key[2]);

enum { IS_OP = 1, OWNED = 2 };
#define MOST_NODES (1 << 17)
#define MOST_THREADS (1 << 10)

/* A number that one thread writes and another one may read meanwhile, with what was written before it. */
#if defined(__GNUC__)
#define READ(number) __atomic_load_n(&(number), __ATOMIC_ACQUIRE)
#define WRITE(number, value) __atomic_store_n(&(number), value, __ATOMIC_RELEASE)
#else
#define READ(number) (*(volatile size_t *)&(number))
#define WRITE(number, value) (*(volatile size_t *)&(number) = (value))
#endif

/* One rank's ops while its tables are read, part by part. While some spans are placed (ops_place), another thread may
charge calls and times (ops_charge_calls, ops_time); no others go together. */
struct ops {
    size_t n_spans, n_placed, n_timed, n_ordered;
    uint32_t *places;   /* of each span four times the node of the innermost op at or above it, IS_OP where that is the
                           span itself, OWNED where its own time is that op's: no more than Python calls between */
    int64_t *in_calls;  /* of each span the time of calls made directly in it */
    struct node nodes[MOST_NODES];  /* the first one stands for no op */
    uint32_t slots[2 * MOST_NODES]; /* nodes by hash, 0 for none */
    uint64_t key[2];                /* of that hash, secret */
    size_t n_nodes;
    struct op_thread threads[MOST_THREADS];
    size_t n_threads;
    int64_t last_start, last_end;
};

/* Spans with their ids, parents, and places in a list of names, which has a code for each, and one of kinds, which has
IS_OP and OWNED of an op, OWNED of a Python call, 0 of others. */
struct placing {
    struct rows parents;
    const int64_t *ids;
    const uint32_t *names, *kinds;
    const uint32_t *codes;
    size_t n_codes;
    const uint32_t *flags;
    size_t n_flags;
};

/* NULL where there is no memory. */
struct ops *ops_begin(size_t n_spans, const uint64_t key[2]);
void ops_end(struct ops *ops);

/* Each returns 0 where it cannot: ids that are not rows, parents after their children, more chains than there is room
for, calls that are not in time order or are of more threads than there is room for. */
int ops_place(struct ops *ops, const struct placing *spans);
int ops_charge_calls(struct ops *ops, struct rows spans, const int64_t *starts, const int64_t *durations,
                     const int64_t *processes, const int64_t *threads);
int ops_time(struct ops *ops, const int64_t *self_ns, size_t n);
int ops_launch(struct ops *ops, struct rows spans, const int64_t *durations);
int ops_order(struct ops *ops, const int64_t *durations, size_t n, int64_t *next, size_t n_codes, int64_t *ordered,
              size_t room);

/* Four words a code: its ops, what its chains launched, their own time, what they and the chains below them launched.
`last` is working space. */
int ops_totals(const struct ops *ops, int64_t *totals, uint32_t *last, size_t n_codes);

/* --- idle.c: what a device did, and why it did nothing --- */

/* Places in IDLE_KINDS of derive/time/host_tracks.py; sorts of work, and unions of them; what is known of a cause and a
place. */
enum { SYNC = 2, LOADING = 3, LAUNCH = 4, HOST = 5, DEPENDENCY = 6, UNKNOWN = 7, PROFILER = 9, N_CAUSES };
enum { COMPUTE, COMMUNICATION, COPY, KERNELS, ALL, N_UNIONS };
enum { IDLE, N_GAPS, LONGEST, EXAMPLE, GAP, OF_GAP, BEGIN, N_MEASURES };

/* Work by start, then duration. Calls are rows of calls, others than those that there are where none is known. */
struct work {
    size_t n;
    const int64_t *starts, *durations, *calls;
    const uint8_t *kinds;
};

struct idle {
    struct work work[2];   /* kernels, and all else */
    size_t n_work;         /* of both */
    const uint8_t *true_causes; /* of each work what launching before it counts as; NULL: as launching */
    size_t n_calls;
    const int64_t *returned; /* when */
    const int32_t *places, *threads; /* threads: NULL where there is one only */
    size_t n_threads, n_tracks, n_segments;
    const int32_t *own, *shared, *mains; /* of each thread its tracks, of which each may be none, a number that there is not */
    int64_t *segments; /* of each track the first segment that is not over; moves on */
    const int64_t *lasts, *starts, *ends; /* lasts: of each track the segment after its last */
    const uint8_t *causes;
    const int32_t *segment_places;
    size_t n_windows;
    const int64_t *window_starts, *window_ends; /* disjoint, by start */
    const uint8_t *counted; /* of each window whether places count in it */
    int64_t from, until, latency, last_thread; /* last_thread: whose doing counts after all work; negative: nobody's */
    unsigned unrecorded; /* the cause of time of which nothing is known */
    size_t n_places; /* the place after the last one is none */
    int64_t *busy;      /* by union and window, after the last window all of it */
    int64_t *sums;      /* idle time by window (after the last one outside of any), whether within all work, and cause */
    int64_t *cells;     /* by cause and place: the measures */
    int64_t *launching; /* in the gap before each work */
};

/* Fills what is zero before; returns when the last work ended. */
int64_t idle_time(const struct idle *idle);

/* --- json.c: JSON text, of which there is as much as `end` says. What is accepted is what msgspec accepts. --- */

enum { ESCAPED = 1, NOT_ASCII = 2, UNICODE_ESCAPE = 4 };

/* Eight bytes, the first one lowest, whatever the machine's order. */
static inline uint64_t load64(const uint8_t *p)
{
    return p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* At most eight bytes likewise. */
static inline uint64_t load_some(const uint8_t *p, size_t n)
{
    uint64_t word = 0;
    if (n == 8)
        return load64(p);
    for (size_t k = 0; k < n; k++)
        word |= (uint64_t)p[k] << (8 * k);
    return word;
}

/* The byte at p, 0 after the text. */
static inline unsigned byte_at(const uint8_t *p, const uint8_t *end) { return p < end ? *p : 0; }

/* The first place that is no white space. */
static inline const uint8_t *space(const uint8_t *p, const uint8_t *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* From a string's content on: its closing quote, and what it holds; NULL where it is no string. */
const uint8_t *string_end(const uint8_t *p, const uint8_t *end, unsigned *flags);

/* After decimal digits, NULL where there are none. Past 18 the value is wrong: callers look how many there are. */
const uint8_t *digits(const uint8_t *p, const uint8_t *end, uint64_t *value);

/* After true, false or null; after a value of any kind that is not nested deeper than 60. NULL where there is none. */
const uint8_t *word_end(const uint8_t *p, const uint8_t *end);
const uint8_t *value_end(const uint8_t *p, const uint8_t *end);

/* Whether Python's strict decoder takes the bytes. */
int is_utf8(const uint8_t *p, const uint8_t *end);

/* Distinct strings, numbered in the order they came. */
#define MOST_STRINGS (INT64_C(1) << 30)
struct strings {
    uint32_t *slots; /* numbers plus 1 by hash, 0 for none; a power of two of them, at least twice as many as strings */
    size_t n_slots;
    uint64_t *ends; /* of each string; in the arena it begins where the one before it ends */
    size_t n, room;
    uint8_t *arena;
    size_t arena_room;
    uint64_t key[2]; /* secret, so that nobody can prepare a trace whose strings all fall into one slot */
};

/* The number of the text, which is put there if it is new; -1 where there is no memory, or no number is left. */
int64_t intern(struct strings *strings, const uint8_t *text, size_t length);
void strings_end(struct strings *strings);

/* --- kineto.c: events into columns --- */

#define MOST_FIELDS 64
#define MOST_TABLES 16
#define MOST_REFUSED 1024
#define LONG_EVENT (1 << 20) /* a longer one is left to Python, so that one that never ends costs no more than this */
#define NULL_CELL INT64_C(0x7FF85AFEC0DE0001) /* more than any number taken here; of floats a NaN that no JSON writes */
#define TRACK_BASE (INT64_C(1) << 61)         /* a track that is named by a string: this plus the string's number */

/* How a key's value is read: not at all; an integer; an integer or a string of digits; the same, or a string that a
number is later found in; microseconds as nanoseconds; text; the value's own JSON; a float; three integers; the args. */
enum kind { SKIPPED, WHOLE, NUMERAL, TRACK, TIME, TEXT, JSON, REAL, TRIPLE, ARGS, N_KINDS };

/* How a column is filled: with the first field that is there; the same of texts, where an empty one gives way; as WORD,
but empty where there is none; with JSON; with the first, unless the second is 0. */
enum how { TAKE, WORD, WORD_OR_EMPTY, SHAPE, UNLESS_ZERO, N_HOWS };

/* Fields that have a meaning here; the others are the tables' business. */
enum { PHASE, CATEGORY, NAME, PROCESS, THREAD, START, DURATION };

struct key { /* level 0: of an event, 1: of its args, 2: no key but a category; what: a kind, or a category's table */
    int64_t begin, length, level, what, at;
};

struct table { /* fields it cannot do without, fields that are looked at, its first column and that after its last */
    int64_t required, matters, first, last;
};

struct column { /* fields; the second one may be -1 */
    int64_t how, first, second;
};

struct parser {
    const uint8_t *key_text;
    const struct key *keys;
    const struct table *tables;
    const struct column *columns;
    size_t n_key_text, n_keys, n_tables, n_columns, n_cells;
    int64_t *cells; /* of each column as many */
    int64_t allocations, counters, unplaced; /* tables of events that no category tells of */
    struct strings strings[2]; /* texts, and shapes */
    uint8_t key_slots[256]; /* keys plus 1 by hash, 0 for none */
    /* What one call found; of each event for Python to judge begin, end, and the rows of each table before it. */
    int64_t n_rows[MOST_TABLES], refused[MOST_REFUSED * (2 + MOST_TABLES)];
    size_t n_refused, n_events;
    int has_fractions;
};

/* Whether all that is set fits together; fills the slots of the keys. */
int parser_ready(struct parser *parser);

/* Why the parser stopped: the text is over, the list is closed, a buffer is full, no JSON, no memory. */
enum why { TEXT_OVER, LIST_CLOSED, FULL, DAMAGED, NO_MEMORY };

/* Read events from `*at` on into the cells; leaves it at the bracket, or at an event's start. */
enum why parse(struct parser *parser, const uint8_t *text, size_t size, size_t *at);

#endif
