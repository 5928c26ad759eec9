/* The walk of `earliest_times_in_python` in `derive/replay/moment_graph.py`, which defines it. */

#include "native.h"

int longest_paths(const int64_t *offsets, size_t n_moments, const int64_t *sources, const int64_t *weights,
                  size_t n_edges, int64_t *times, int64_t *deciding)
{
    for (size_t moment = 0; moment < n_moments; moment++) {
        int64_t begin = offsets[moment], end = offsets[moment + 1], latest = 0, edge = -1;
        if (begin < 0 || end < begin || (uint64_t)end > n_edges)
            return 0;
        for (int64_t i = begin; i < end; i++) {
            if (sources[i] < 0 || (uint64_t)sources[i] >= moment)
                return 0;
            int64_t reached = plus(times[sources[i]], weights[i]);
            if (edge < 0 || reached > latest) {
                latest = reached;
                edge = i;
            }
        }
        times[moment] = latest;
        deciding[moment] = edge;
    }
    return 1;
}
