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

/* The row at a place of the column; NONE for null. */
static int64_t row_at(const struct rows *of, size_t place)
{
    size_t bit = of->skipped + place;
    return of->valid && !(of->valid[bit >> 3] >> (bit & 7) & 1) ? NONE : of->rows[place];
}

struct ops *ops_begin(size_t n_spans, const uint64_t key[2])
{
    struct ops *ops = calloc(1, sizeof *ops);
    if (!ops)
        return NULL;
    ops->n_spans = n_spans;
    ops->places = calloc(n_spans + 1, sizeof *ops->places);
    ops->in_calls = calloc(n_spans + 1, sizeof *ops->in_calls);
    ops->n_nodes = 1;
    memcpy(ops->key, key, sizeof ops->key);
    ops->last_start = INT64_MIN;
    if (ops->places && ops->in_calls)
        return ops;
    ops_end(ops);
    return NULL;
}

void ops_end(struct ops *ops)
{
    free(ops->places);
    free(ops->in_calls);
    free(ops);
}

/* The node of a name below another node, made if it is new; 0 where there is no room. */
static uint32_t node_of(struct ops *ops, uint32_t up, uint32_t code)
{
    uint32_t both[2] = {up, code}, node;
    size_t slot = hashed((const uint8_t *)both, sizeof both, ops->key) & (2 * MOST_NODES - 1);
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
    WRITE(ops->n_placed, first + n);
    return 1;
}

/* What was charged of a thread, looked for from the last one on; NULL where there is no room for it. */
static struct op_thread *op_thread_of(struct ops *ops, int64_t process, int64_t thread, int64_t start, size_t *last)
{
    size_t place = *last;
    if (place >= ops->n_threads || ops->threads[place].process != process || ops->threads[place].thread != thread)
        for (place = 0; place < ops->n_threads; place++)
            if (ops->threads[place].process == process && ops->threads[place].thread == thread)
                break;
    if (place == MOST_THREADS)
        return NULL;
    if (place == ops->n_threads)
        ops->threads[ops->n_threads++] = (struct op_thread){process, thread, start};
    *last = place;
    return &ops->threads[place];
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
        struct op_thread *charged = op_thread_of(ops, processes[i], threads[i], start, &last);
        if (!charged)
            return 0;
        int64_t own = minus(end, at_least(start, charged->reached)), to = row_at(&spans, i);
        charged->reached = at_least(end, charged->reached);
        if (to >= 0 && to < (int64_t)ops->n_spans && own > 0)
            ops->in_calls[to] = plus(ops->in_calls[to], own);
    }
    return 1;
}

int ops_time(struct ops *ops, const int64_t *self_ns, size_t n)
{
    if (n > READ(ops->n_placed) - ops->n_timed)
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

int ops_launch(struct ops *ops, struct rows spans, const int64_t *durations)
{
    for (size_t i = 0; i < spans.n; i++) {
        int64_t to = row_at(&spans, i);
        if (to >= 0 && to < (int64_t)ops->n_placed) {
            struct node *node = &ops->nodes[ops->places[to] >> 2];
            node->device_ns = plus(node->device_ns, durations[i]);
        }
    }
    return 1;
}

int ops_order(struct ops *ops, const int64_t *durations, size_t n, int64_t *next, size_t n_codes, int64_t *ordered,
              size_t room)
{
    if (n > ops->n_placed - ops->n_ordered)
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t place = ops->places[ops->n_ordered + i], code = ops->nodes[place >> 2].code;
        if (!(place & IS_OP))
            continue;
        if (code >= n_codes || next[code] < 0 || (uint64_t)next[code] >= room)
            return 0;
        ordered[next[code]++] = durations[i];
    }
    ops->n_ordered += n;
    return 1;
}

int ops_totals(const struct ops *ops, int64_t *totals, uint32_t *last, size_t n_codes)
{
    memset(totals, 0, n_codes * 4 * sizeof *totals);
    memset(last, 0, n_codes * sizeof *last);
    for (uint32_t node = 1; node < ops->n_nodes; node++) {
        const struct node *of = &ops->nodes[node];
        if (of->code >= n_codes)
            return 0;
        int64_t *own = &totals[4 * (size_t)of->code], device = of->device_ns;
        own[0] += of->n_ops;
        own[1] = plus(own[1], device);
        own[2] = plus(own[2], of->own_ns);
        /* A name that is met twice on the way up has the work once. */
        for (uint32_t up = node; up && device; up = ops->nodes[up].up) {
            uint32_t code = ops->nodes[up].code;
            if (last[code] != node) {
                last[code] = node;
                totals[4 * (size_t)code + 3] = plus(totals[4 * (size_t)code + 3], device);
            }
        }
    }
    return 1;
}
