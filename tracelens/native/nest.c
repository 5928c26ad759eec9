/* The walk of `derive/nesting.py`, which defines it: all threads in one pass through time. */

#include "native.h"

/* Whether the interval lies in the span, which started no later, within the tolerance. */
static int holds(struct intervals spans, int32_t row, int64_t start, int64_t end, int64_t tolerance)
{
    int64_t own_end = spans.ends[row];
    if (own_end == start)
        return start == end && spans.starts[row] < own_end;
    return own_end > start && (end <= own_end || minus(end, own_end) <= tolerance);
}

/* Drop open spans from the first one above the recorded caller on that has a recorded caller itself: they were over by
this moment. Returns the innermost span that is still open. */
static int32_t close_unreturned(struct intervals spans, const int32_t *hints, int32_t top, int32_t caller,
                                int64_t moment, struct nesting *found)
{
    int32_t above = top, first = -1;
    for (; above >= 0 && above != caller; above = found->parents[above])
        if (hints[above] >= 0)
            first = above;
    if (above < 0 || first < 0)
        return top;
    int32_t last = found->parents[first];
    for (; top != last; top = found->parents[top]) {
        found->n_unreturned += hints[top] >= 0;
        int64_t lost = minus(spans.ends[top], at_least(moment, found->covered[top]));
        if (lost > 0)
            found->own[top] = minus(found->own[top], lost);
    }
    int64_t lost = minus(found->covered[top], moment);
    if (lost > 0) {
        found->own[top] = plus(found->own[top], lost);
        found->covered[top] = moment;
    }
    return top;
}

/* Take the child's part of the parent's time off its own time, counting no moment twice. */
static void cover(struct intervals spans, int32_t parent, int64_t start, int64_t end, struct nesting *found)
{
    int64_t begin = at_least(start, found->covered[parent]);
    int64_t until = at_most(end, spans.ends[parent]);
    if (until > begin) {
        found->own[parent] = minus(found->own[parent], minus(until, begin));
        found->covered[parent] = until;
    }
}

void nest(struct intervals spans, const int32_t *hints, struct intervals calls, int32_t *tops, int64_t tolerance,
          struct nesting *found)
{
    size_t row = 0, call = 0;
    /* The open spans of a thread: the last one in `tops`, the others by their parents. */
    while (row < spans.n || call < calls.n) {
        if (row >= spans.n || (call < calls.n && (calls.starts[call] < spans.starts[row] ||
            (calls.starts[call] == spans.starts[row] && calls.ends[call] > spans.ends[row])))) {
            int64_t start = calls.starts[call], end = calls.ends[call];
            size_t thread = calls.threads ? (size_t)calls.threads[call] : 0;
            int32_t around = tops[thread];
            while (around >= 0 && spans.ends[around] < start)
                around = found->parents[around];
            tops[thread] = around;
            while (around >= 0 && !holds(spans, around, start, end, tolerance))
                around = found->parents[around];
            found->call_spans[call++] = around;
            continue;
        }
        int64_t start = spans.starts[row], end = spans.ends[row];
        size_t thread = spans.threads ? (size_t)spans.threads[row] : 0;
        int32_t around = tops[thread];
        int overlaps = 0;
        for (; around >= 0 && !holds(spans, around, start, end, tolerance); around = found->parents[around])
            overlaps |= start < spans.ends[around];
        found->n_overlaps += overlaps;
        if (hints && hints[row] >= 0)
            around = close_unreturned(spans, hints, around, hints[row], start, found);
        if (around >= 0)
            cover(spans, around, start, end, found);
        found->parents[row] = around;
        found->depths[row] = around < 0 ? 0 : found->depths[around] + 1;
        found->own[row] = minus(end, start);
        found->covered[row] = start;
        tops[thread] = (int32_t)row++;
    }
}
