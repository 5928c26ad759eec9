/* The passes of `derive/ancestry.py` and `derive/op_times.py`, which define them: a walk each, parents before children. */

#include <stdlib.h>

#include "native.h"

int among(enum among what, const int64_t *parents, size_t n, size_t first, const uint8_t *flags, int64_t *result)
{
    for (size_t i = 0; i < n; i++)
        if (parents[i] != NONE && (parents[i] < 0 || parents[i] >= (int64_t)(first + i)))
            return 0;
    if (what == WITHIN) {
        /* Each row is complete when all rows after it have been added to their parents. */
        for (size_t i = n; i-- > 0;)
            if (parents[i] != NONE)
                result[parents[i]] = plus(result[parents[i]], result[first + i]);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        size_t row = first + i;
        int64_t found = parents[i] != NONE ? result[parents[i]] : what == COUNT ? 0 : NONE;
        if (flags[row]) {
            if (what == COUNT)
                found++;
            else if (what == NEAREST || found == NONE)
                found = (int64_t)row;
        }
        result[row] = found;
    }
    return 1;
}

int above(const int64_t *rows, size_t n, const int64_t *parents, const uint8_t *marks, size_t n_spans, int64_t *result)
{
    for (size_t i = 0; i < n; i++) {
        int64_t at = rows[i], top = NONE, counts[3] = {0, 0, 0};
        if (at != NONE && (at < 0 || at >= (int64_t)n_spans))
            return 0;
        while (at != NONE) {
            unsigned mark = marks[at];
            if (mark == 1)
                top = at;
            counts[mark < 3 ? mark : 0]++;
            int64_t up = parents[at];
            if (up != NONE && (up < 0 || up >= at))
                return 0;
            at = up;
        }
        result[3 * i] = top;
        result[3 * i + 1] = counts[1];
        result[3 * i + 2] = counts[2];
    }
    return 1;
}

/* The row at a place of the column; NONE for null. */
static int64_t row_at(const struct rows *of, size_t place)
{
    size_t bit = of->skipped + place;
    if (of->valid && !(of->valid[bit >> 3] >> (bit & 7) & 1))
        return NONE;
    return of->rows[place];
}

int ops_begin(struct ops *ops, size_t n_spans)
{
    memset(ops, 0, sizeof *ops);
    ops->n_spans = n_spans;
    ops->places = calloc(n_spans + 1, sizeof *ops->places);
    ops->in_calls = calloc(n_spans + 1, sizeof *ops->in_calls);
    ops->nodes = calloc(MOST_NODES, sizeof *ops->nodes);
    ops->slots = calloc(2 * MOST_NODES, sizeof *ops->slots);
    ops->lanes = calloc(MOST_LANES, sizeof *ops->lanes);
    ops->n_nodes = 1;
    ops->last_start = INT64_MIN;
    return ops->places && ops->in_calls && ops->nodes && ops->slots && ops->lanes;
}

void ops_end(struct ops *ops)
{
    free(ops->places);
    free(ops->in_calls);
    free(ops->nodes);
    free(ops->slots);
    free(ops->lanes);
    memset(ops, 0, sizeof *ops);
}

/* The node of a name below another node, made if it is new; 0 where there is no room. */
static uint32_t node_of(struct ops *ops, uint32_t up, uint32_t code)
{
    uint32_t mixed = up * 0x9E3779B1u + code * 0x85EBCA6Bu;
    size_t slot = (mixed ^ mixed >> 15) & (2 * MOST_NODES - 1);
    uint32_t node;
    while ((node = ops->slots[slot]) && (ops->nodes[node].code != code || ops->nodes[node].up != up))
        slot = (slot + 1) & (2 * MOST_NODES - 1);
    if (!node && ops->n_nodes < MOST_NODES) {
        ops->slots[slot] = node = (uint32_t)ops->n_nodes++;
        ops->nodes[node].code = code;
        ops->nodes[node].up = up;
    }
    return node;
}

int ops_place(struct ops *ops, const struct placing *spans)
{
    size_t first = ops->n_placed, n = spans->parents.n;
    if (n > ops->n_spans - first)
        return 0;
    for (size_t place = 0; place < n; place++) {
        int64_t row = (int64_t)(first + place), parent = row_at(&spans->parents, place);
        uint32_t name = spans->names[place], kind = spans->kinds[place], around = 0;
        if (spans->ids[place] != row || (parent != NONE && (parent < 0 || parent >= row)))
            return 0;
        if (name >= spans->n_codes || kind >= spans->n_flags)
            return 0;
        if (parent != NONE)
            around = ops->places[parent];
        if (spans->flags[kind] & IS_OP) {
            uint32_t node = node_of(ops, around >> 2, spans->codes[name]);
            if (!node)
                return 0;
            ops->nodes[node].n_ops++;
            around = node << 2 | IS_OP | OWNED;
        } else {
            around &= spans->flags[kind] & OWNED ? ~(uint32_t)IS_OP : ~(uint32_t)(IS_OP | OWNED);
        }
        ops->places[row] = around;
    }
    ops->n_placed += n;
    return 1;
}

/* The lane of a thread, looked for from the last one on; NULL where there is no room for it. */
static struct lane *lane_of(struct ops *ops, int64_t process, int64_t thread, int64_t start, size_t *last)
{
    size_t place = *last;
    if (place >= ops->n_lanes || ops->lanes[place].process != process || ops->lanes[place].thread != thread)
        for (place = 0; place < ops->n_lanes; place++)
            if (ops->lanes[place].process == process && ops->lanes[place].thread == thread)
                break;
    if (place == MOST_LANES)
        return NULL;
    if (place == ops->n_lanes)
        ops->lanes[ops->n_lanes++] = (struct lane){process, thread, start};
    *last = place;
    return &ops->lanes[place];
}

int ops_charge_calls(struct ops *ops, struct rows spans, const int64_t *starts, const int64_t *durations,
                     const int64_t *processes, const int64_t *threads)
{
    size_t last = 0;
    for (size_t i = 0; i < spans.n; i++) {
        int64_t start = starts[i], end = plus(start, durations[i]);
        if (start < ops->last_start || (start == ops->last_start && end > ops->last_end))
            return 0;
        ops->last_start = start;
        ops->last_end = end;
        struct lane *lane = lane_of(ops, processes[i], threads[i], start, &last);
        if (!lane)
            return 0;
        int64_t own = minus(end, at_least(start, lane->reached)), to = row_at(&spans, i);
        lane->reached = at_least(end, lane->reached);
        if (to >= 0 && to < (int64_t)ops->n_spans && own > 0)
            ops->in_calls[to] = plus(ops->in_calls[to], own);
    }
    return 1;
}

int ops_time(struct ops *ops, const int64_t *self_ns, size_t n)
{
    if (n > ops->n_placed - ops->n_timed)
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t place = ops->places[ops->n_timed + i];
        int64_t own = minus(self_ns[i], ops->in_calls[ops->n_timed + i]);
        if (place & OWNED && own > 0)
            ops->nodes[place >> 2].own_ns = plus(ops->nodes[place >> 2].own_ns, own);
    }
    ops->n_timed += n;
    return 1;
}

void ops_launch(struct ops *ops, struct rows spans, const int64_t *durations)
{
    for (size_t i = 0; i < spans.n; i++) {
        int64_t to = row_at(&spans, i);
        if (to >= 0 && to < (int64_t)ops->n_placed) {
            struct node *node = &ops->nodes[ops->places[to] >> 2];
            node->device_ns = plus(node->device_ns, durations[i]);
        }
    }
}

int ops_order(struct ops *ops, const int64_t *durations, size_t n, int64_t *next, size_t n_codes)
{
    if (n > ops->n_placed - ops->n_ordered)
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t place = ops->places[ops->n_ordered + i], code = ops->nodes[place >> 2].code;
        if (!(place & IS_OP))
            continue;
        if (code >= n_codes || next[code] < 0 || next[code] >= (int64_t)ops->n_spans)
            return 0;
        ops->in_calls[next[code]++] = durations[i];
    }
    ops->n_ordered += n;
    return 1;
}

void ops_counts(const struct ops *ops, int64_t *counts, size_t n_codes)
{
    memset(counts, 0, n_codes * sizeof *counts);
    for (size_t node = 1; node < ops->n_nodes; node++)
        if (ops->nodes[node].code < n_codes)
            counts[ops->nodes[node].code] += ops->nodes[node].n_ops;
}

static void swap(int64_t *one, int64_t *other)
{
    int64_t kept = *one;
    *one = *other;
    *other = kept;
}

/* The k-th smallest of n values, those before it not larger and those after it not smaller. */
static int64_t select_kth(int64_t *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    uint32_t chance = 1;
    while (low < high) {
        /* Some value goes first, so that no order that is likely makes each step a small one. */
        chance = chance * 1664525u + 1013904223u;
        swap(&values[low], &values[low + chance % (high - low + 1)]);
        int64_t pivot = values[low];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(&values[i++], &values[j--]);
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

/* How many, total, least, most, and the two in the middle, of durations, which are put in another order. */
static void measure(int64_t *durations, size_t n, int64_t measured[6])
{
    int64_t total = 0, least = durations[0], most = durations[0];
    for (size_t i = 0; i < n; i++) {
        total = plus(total, durations[i]);
        least = at_most(least, durations[i]);
        most = at_least(most, durations[i]);
    }
    int64_t low = select_kth(durations, n, (n - 1) / 2), high = low;
    if (n % 2 == 0) {
        high = durations[n / 2];
        for (size_t i = n / 2; i < n; i++)
            high = at_most(high, durations[i]);
    }
    int64_t all[6] = {(int64_t)n, total, least, most, low, high};
    memcpy(measured, all, sizeof all);
}

void ops_sums(struct ops *ops, const int64_t *ends, int64_t *sums, uint32_t *last, size_t n_codes)
{
    int64_t begin = 0;
    memset(sums, 0, n_codes * N_SUMS * sizeof *sums);
    for (size_t code = 0; code < n_codes; code++) {
        if (ends[code] > begin && ends[code] <= (int64_t)ops->n_spans)
            measure(ops->in_calls + begin, (size_t)(ends[code] - begin), sums + N_SUMS * code);
        begin = at_least(begin, ends[code]);
    }
    for (uint32_t node = 1; node < ops->n_nodes; node++) {
        const struct node *of = &ops->nodes[node];
        if (of->code >= n_codes)
            continue;
        int64_t *own = &sums[N_SUMS * (size_t)of->code + 6], device = of->device_ns;
        own[0] = plus(own[0], device);
        own[1] = plus(own[1], of->own_ns);
        /* A name that is met twice on the way up has the work once. */
        for (uint32_t up = node; up && device; up = ops->nodes[up].up) {
            uint32_t code = ops->nodes[up].code;
            if (code < n_codes && last[code] != node) {
                last[code] = node;
                sums[N_SUMS * (size_t)code + 8] = plus(sums[N_SUMS * (size_t)code + 8], device);
            }
        }
    }
}
