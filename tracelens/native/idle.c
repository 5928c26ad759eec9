/* What a device did, and why it did nothing: `by_columns` of derive/idle.py, which defines it, in one pass. */

#include "native.h"

/* How far the pass is, and the gap under way. */
struct walk {
    const struct idle *idle;
    int64_t reached[N_UNIONS]; /* the end of each union's work */
    size_t windows[N_UNIONS], next; /* the first window that is not over, of each union and of gaps */
    size_t window; /* that the piece of the gap lies in; their number for none */
    size_t gap; /* the row of the work that ends it, kernels first; after all work their number */
    int64_t returned, call_place, wait_place;
    size_t thread;
    int is_known, is_within, has_waited;
};

static int64_t clip(int64_t value, int64_t low, int64_t high) { return at_most(at_least(value, low), high); }

static void add(int64_t *sum, int64_t ns) { *sum = plus(*sum, ns); }

/* Count work of a kind for the time that none of it ran before. */
static void cover(struct walk *walk, int kind, int64_t start, int64_t end)
{
    const struct idle *idle = walk->idle;
    int64_t from = at_least(start, walk->reached[kind]), *busy = idle->busy + (size_t)kind * (idle->n_windows + 1);
    size_t window = walk->windows[kind];
    if (end <= from)
        return;
    walk->reached[kind] = end;
    add(&busy[idle->n_windows], minus(end, from));
    while (window < idle->n_windows && idle->window_ends[window] <= from)
        window++;
    walk->windows[kind] = window;
    for (; window < idle->n_windows && idle->window_starts[window] < end; window++)
        add(&busy[window], minus(at_most(end, idle->window_ends[window]), at_least(from, idle->window_starts[window])));
}

/* Count a piece of the gap; launching after a wait for the device is part of what that wait costs. */
static void count(struct walk *walk, unsigned cause, int64_t place, int64_t start, int64_t end)
{
    const struct idle *idle = walk->idle;
    int64_t ns = minus(end, start);
    if (cause == SYNC) {
        walk->has_waited = 1;
        walk->wait_place = place;
    } else if (cause != LAUNCH) {
        walk->has_waited = 0;
    } else if (walk->has_waited) {
        cause = SYNC;
        place = walk->wait_place;
    } else if (walk->gap < idle->n_work) {
        add(&idle->launching[walk->gap], ns);
        if (idle->true_causes && idle->true_causes[walk->gap] < N_CAUSES)
            cause = idle->true_causes[walk->gap];
    }
    add(&idle->sums[(2 * walk->window + (size_t)walk->is_within) * N_CAUSES + cause], ns);
    if (walk->window == idle->n_windows || !idle->counted[walk->window])
        return;
    if (place < 0)
        place = walk->call_place;
    if (place < 0 || (uint64_t)place >= idle->n_places)
        place = (int64_t)idle->n_places;
    int64_t *cell = idle->cells + (cause * (idle->n_places + 1) + (size_t)place) * N_MEASURES;
    int64_t gap = (int64_t)walk->gap + 1;
    if (cell[GAP] != gap) {
        cell[GAP] = gap;
        cell[OF_GAP] = 0;
        cell[BEGIN] = start;
        cell[N_GAPS]++;
    }
    add(&cell[IDLE], ns);
    add(&cell[OF_GAP], ns);
    if (cell[OF_GAP] > cell[LONGEST]) {
        cell[LONGEST] = cell[OF_GAP];
        cell[EXAMPLE] = cell[BEGIN];
    }
}

/* The segment of a track that covers the moment, -1 for none; `until` comes down to where that changes. Moments grow. */
static int64_t covering(const struct idle *idle, int64_t track, int64_t moment, int64_t *until)
{
    if (track < 0 || (uint64_t)track >= idle->n_tracks)
        return -1;
    int64_t *segment = &idle->segments[track], last = at_most(idle->lasts[track], (int64_t)idle->n_segments);
    if (*segment < 0)
        return -1;
    while (*segment < last && idle->ends[*segment] <= moment)
        ++*segment;
    if (*segment >= last)
        return -1;
    int is_in = idle->starts[*segment] <= moment;
    *until = at_most(*until, is_in ? idle->ends[*segment] : idle->starts[*segment]);
    return is_in ? *segment : -1;
}

/* What held the launching thread up: its own work, else that of another thread, else its own Python, else that of the
main thread. */
static int64_t holding_up(const struct walk *walk, int64_t moment, int64_t *until)
{
    const struct idle *idle = walk->idle;
    if (walk->thread >= idle->n_threads)
        return -1;
    int64_t own = covering(idle, idle->own[walk->thread], moment, until);
    if (own >= 0 && idle->causes[own] != HOST && idle->causes[own] != PROFILER)
        return own;
    int64_t shared = covering(idle, idle->shared[walk->thread], moment, until);
    if (shared >= 0 || own >= 0)
        return shared >= 0 ? shared : own;
    return covering(idle, idle->mains[walk->thread], moment, until);
}

/* Count the part of the gap that lies in one window, or between two: what the launching thread did until its call had
returned, launching while work may take to start, and waiting for something else. */
static void piece(struct walk *walk, int64_t start, int64_t end)
{
    const struct idle *idle = walk->idle;
    if (!walk->is_known) {
        count(walk, UNKNOWN, -1, start, end);
        return;
    }
    int64_t host_end = clip(walk->returned, start, end), moment = start;
    int64_t launch_end = at_least(host_end, clip(plus(walk->returned, idle->latency), start, end));
    while (moment < host_end) {
        int64_t until = host_end, segment = holding_up(walk, moment, &until);
        unsigned cause = segment >= 0 ? idle->causes[segment] : idle->unrecorded;
        if (cause == LAUNCH && until == host_end)
            until = launch_end; /* it goes on for as long as work takes to start */
        count(walk, cause < N_CAUSES ? cause : UNKNOWN, segment >= 0 ? idle->segment_places[segment] : -1, moment,
              until);
        moment = until;
    }
    if (moment < launch_end)
        count(walk, LAUNCH, -1, moment, launch_end);
    if (launch_end < end)
        count(walk, DEPENDENCY, -1, launch_end, end);
}

static void gap(struct walk *walk, int64_t start, int64_t end)
{
    const struct idle *idle = walk->idle;
    walk->has_waited = 0;
    while (start < end) {
        while (walk->next < idle->n_windows && idle->window_ends[walk->next] <= start)
            walk->next++;
        int is_there = walk->next < idle->n_windows, is_in = is_there && idle->window_starts[walk->next] <= start;
        const int64_t *edges = is_in ? idle->window_ends : idle->window_starts;
        int64_t until = is_there ? at_most(end, edges[walk->next]) : end;
        walk->window = is_in ? walk->next : idle->n_windows;
        piece(walk, start, until);
        start = until;
    }
}

/* Of work that starts together with the next kernel or the next of all else the shortest: its row, kernels first. */
static size_t next_work(const struct idle *idle, const size_t *rows, int64_t start)
{
    size_t found = idle->n_work;
    int64_t shortest = 0;
    for (int part = 0; part < 2; part++) {
        const struct work *work = &idle->work[part];
        for (size_t row = rows[part]; row < work->n && work->starts[row] == start; row++)
            if (found == idle->n_work || work->durations[row] < shortest) {
                shortest = work->durations[row];
                found = part ? idle->work[0].n + row : row;
            }
    }
    return found;
}

int64_t idle_time(const struct idle *idle)
{
    struct walk walk = {.idle = idle};
    size_t rows[2] = {0, 0};
    const struct work *kernels = &idle->work[0], *others = &idle->work[1];
    int64_t reached = idle->from, call_before = -1, start_before = 0, ns_before = 0;
    for (int kind = 0; kind < N_UNIONS; kind++)
        walk.reached[kind] = INT64_MIN;
    while (rows[0] < kernels->n || rows[1] < others->n) {
        int is_other = rows[0] >= kernels->n ||
                       (rows[1] < others->n && others->starts[rows[1]] < kernels->starts[rows[0]]);
        const struct work *work = &idle->work[is_other];
        size_t row = rows[is_other];
        int64_t start = work->starts[row], ns = work->durations[row], end = plus(start, ns);
        unsigned kind = work->kinds[row];
        if (start > reached) {
            walk.gap = next_work(idle, rows, start);
            int64_t call = walk.gap < kernels->n ? kernels->calls[walk.gap] : others->calls[walk.gap - kernels->n];
            walk.is_within = rows[0] + rows[1] > 0;
            walk.is_known = call >= 0 && (uint64_t)call < idle->n_calls;
            walk.call_place = walk.is_known ? idle->places[call] : -1;
            walk.thread = walk.is_known && idle->threads ? (size_t)idle->threads[call] : 0;
            walk.returned = walk.is_known ? idle->returned[call] : 0;
            /* A replayed graph's later kernels wait for its earlier ones, whether or not the call has returned. */
            if (call == call_before)
                walk.returned = minus(idle->from, idle->latency);
            gap(&walk, reached, start);
        }
        if (start != start_before || ns >= ns_before || !(rows[0] + rows[1])) {
            call_before = work->calls[row];
            start_before = start;
            ns_before = ns;
        }
        rows[is_other]++;
        reached = at_least(reached, end);
        if (kind < KERNELS)
            cover(&walk, (int)kind, start, end);
        if (kind < COPY)
            cover(&walk, KERNELS, start, end);
        cover(&walk, ALL, start, end);
    }
    walk.gap = idle->n_work;
    walk.is_within = 0;
    walk.is_known = idle->last_thread >= 0;
    walk.thread = (size_t)idle->last_thread;
    walk.call_place = -1;
    walk.returned = idle->until;
    gap(&walk, reached, idle->until);
    return reached;
}
