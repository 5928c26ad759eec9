/* What the parts of the library share. None of them but module.c knows of Python, so that a fuzzer can drive them bare.

Every pointer into text or into an array comes with its end or its length, and nothing is read before these are looked
at. Whole numbers of 64 bits come from files: they are added by `plus`, which wraps, since what overflows in C may do
anything; sums that must be right are of numbers that were found small enough before. */

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

/* --- nest.c: which span encloses which --- */

/* Intervals in time order: by start, the longer first. Lanes tell threads apart: NULL where there is one only. */
struct intervals {
    size_t n;
    const int64_t *starts, *ends;
    const int32_t *lanes;
};

/* Of each span the row of its parent (-1: none), its depth and its own time; of each call the row of the span around
it (-1: none). `covered` is working space, as long as `own`. */
struct nesting {
    int32_t *parents, *depths, *call_spans;
    int64_t *own, *covered;
    int64_t n_overlaps, n_unreturned;
};

/* `hints` has of each span the row of its recorded caller, -1 for none, or is NULL; `tops` has a word a lane, -1. Rows
of hints that stand at or after their span are none. Lanes are below the length of `tops`. */
void nest(struct intervals spans, const int32_t *hints, struct intervals calls, int32_t *tops, int64_t tolerance,
          struct nesting *found);

/* --- chains.c: what a span inherits from the spans around it, and what ops take --- */

enum among { NEAREST, OUTERMOST, COUNT, WITHIN };

/* Of the rows `first` to `first + n` of a tree, whose parents these are (NONE at the top): the nearest or outermost
flagged one among the row and its ancestors (NONE for none), or how many are flagged; WITHIN adds each row's `result` to
its parent's. Parts of a tree come in order, for WITHIN the last first. Returns 0 where a parent does not stand before
its child; `result` is then worth nothing. */
int among(enum among what, const int64_t *parents, size_t n, size_t first, const uint8_t *flags, int64_t *result);

/* Of each of the spans in `rows` (NONE: of nothing) three words: the outermost one marked 1 among it and its ancestors
(NONE for none), and how many are marked 1 and 2. Returns 0 where a row or a parent is none. */
int above(const int64_t *rows, size_t n, const int64_t *parents, const uint8_t *marks, size_t n_spans, int64_t *result);

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

struct lane {
    int64_t process, thread, reached;
};

enum { IS_OP = 1, OWNED = 2 };
#define MOST_NODES (1 << 17)
#define MOST_LANES (1 << 10)

/* One rank's ops while its tables are read, part by part. */
struct ops {
    size_t n_spans, n_placed, n_timed, n_ordered;
    uint32_t *places;   /* of each span four times the node of the innermost op at or above it, IS_OP where that is the
                           span itself, OWNED where its own time is that op's: no more than Python calls between */
    int64_t *in_calls;  /* of each span the time of calls made directly in it; then durations of ops, by code */
    struct node *nodes; /* the first one stands for no op */
    uint32_t *slots;    /* nodes by hash, 0 for none: twice as many as there are nodes at most */
    size_t n_nodes;
    struct lane *lanes;
    size_t n_lanes;
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

/* Each returns 0 where it cannot: ids that are not rows, parents after their children, more chains than there is room
for, calls that are not in time order or are of more threads than there is room for. */
int ops_begin(struct ops *ops, size_t n_spans);
void ops_end(struct ops *ops);
int ops_place(struct ops *ops, const struct placing *spans);
int ops_charge_calls(struct ops *ops, struct rows spans, const int64_t *starts, const int64_t *durations,
                     const int64_t *processes, const int64_t *threads);
int ops_time(struct ops *ops, const int64_t *self_ns, size_t n);
void ops_launch(struct ops *ops, struct rows spans, const int64_t *durations);
int ops_order(struct ops *ops, const int64_t *durations, size_t n, int64_t *next, size_t n_codes);

void ops_counts(const struct ops *ops, int64_t *counts, size_t n_codes);

/* Nine words of each code. Of its durations, which stand before `ends` where `ops_order` put them: how many, total,
least, most, the two in the middle. Of its chains: what they launched, their own time, and what they and the chains below
them launched. `last` is working space, 0. */
enum { N_SUMS = 9 };
void ops_sums(struct ops *ops, const int64_t *ends, int64_t *sums, uint32_t *last, size_t n_codes);

#endif
