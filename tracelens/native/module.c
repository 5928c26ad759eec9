/* The library as a Python module, of which _library.pyi says what all takes and gives: arguments through the buffer
protocol and checked, the work without the interpreter's lock, results as bytes. Only functions of the stable ABI of
Python 3.11 are called. */

#include <Python.h>

#include <stdlib.h>

#include "native.h"

#define MOST 40
#define OPS "tracelens.native ops"
#define PARSER "tracelens.native parser"

/* The two sides of what ops_new and parser_new give: each may be used by one thread at a time. */
enum { PLACING = 1, TIMING = 2, BOTH = 3 };

/* The arguments of a call: arrays lent by other objects, whole numbers, and the sides of a capsule. */
struct arguments {
    Py_buffer views[MOST];
    int n_views;
    PyObject *capsule;
    uintptr_t sides;
    struct {
        void *data; /* NULL for None */
        size_t n;
        int64_t number;
    } at[MOST];
};

static void release(struct arguments *held)
{
    while (held->n_views)
        PyBuffer_Release(&held->views[--held->n_views]);
    if (held->capsule)
        PyCapsule_SetContext(held->capsule, (void *)((uintptr_t)PyCapsule_GetContext(held->capsule) & ~held->sides));
    held->capsule = NULL;
}

/* Take the memory of an object as the argument at a place: an array whose items have so many bytes. */
static int take_array(PyObject *object, size_t item, int flags, int place, struct arguments *held)
{
    static char nothing[8];
    Py_buffer *view = &held->views[held->n_views];
    if (PyObject_GetBuffer(object, view, flags))
        return -1;
    held->n_views++;
    /* Nothing may lie anywhere. */
    if ((size_t)view->len % item || (view->len && (uintptr_t)view->buf % item)) {
        PyErr_Format(PyExc_ValueError, "expected items of %zd bytes, found %zd bytes", (Py_ssize_t)item, view->len);
        return -1;
    }
    held->at[place].data = view->len ? view->buf : nothing;
    held->at[place].n = (size_t)view->len / item;
    return 0;
}

/* Take sides of a capsule as the argument at a place; its context says which of them calls are at work on. */
static int take_capsule(PyObject *object, const char *name, uintptr_t sides, int place, struct arguments *held)
{
    if (!(held->at[place].data = PyCapsule_GetPointer(object, name)))
        return -1;
    uintptr_t used = (uintptr_t)PyCapsule_GetContext(object);
    if (used & sides) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is using it");
        return -1;
    }
    if (PyCapsule_SetContext(object, (void *)(used | sides)))
        return -1;
    held->capsule = object;
    held->sides = sides;
    return 0;
}

/* Take a call's arguments, a letter each: n a number, b, i and q arrays of 1, 4 and 8 bytes an item, Q and I ones
that are written to, ? after one that may be None, = after one as long as the last one without; o and p what ops_new and
parser_new gave, l and t the placing and the timing side of ops. Returns -1 with an error set. */
static int take(PyObject *args, const char *letters, struct arguments *held)
{
    Py_ssize_t n_args = PyTuple_Size(args);
    int first = -1, place = 0;
    memset(held, 0, sizeof *held);
    for (; *letters; place++) {
        char letter = *letters++;
        int may_be_none = *letters == '?' && letters++, is_as_long = *letters == '=' && letters++;
        PyObject *object = place < n_args ? PyTuple_GetItem(args, place) : NULL;
        if (!object)
            goto miscounted;
        if (letter == 'n') {
            held->at[place].number = PyLong_AsLongLong(object);
            if (held->at[place].number == -1 && PyErr_Occurred())
                goto failed;
            continue;
        }
        if (strchr("oplt", letter)) {
            uintptr_t sides = letter == 'l' ? PLACING : letter == 't' ? TIMING : BOTH;
            if (take_capsule(object, letter == 'p' ? PARSER : OPS, sides, place, held))
                goto failed;
            continue;
        }
        if (may_be_none && object == Py_None)
            continue;
        size_t item = letter == 'b' ? 1 : letter == 'i' || letter == 'I' ? 4 : 8;
        if (take_array(object, item, letter < 'a' ? PyBUF_WRITABLE : PyBUF_SIMPLE, place, held))
            goto failed;
        if (!may_be_none && !is_as_long)
            first = place;
        if (is_as_long && held->at[place].n != held->at[first].n) {
            PyErr_SetString(PyExc_ValueError, "expected columns of one length");
            goto failed;
        }
    }
    if (place == n_args)
        return 0;
miscounted:
    PyErr_SetString(PyExc_TypeError, "too few arguments, or too many");
failed:
    release(held);
    return -1;
}

static PyObject *refuse(struct arguments *held, const char *expected)
{
    release(held);
    return PyErr_Format(PyExc_ValueError, "expected %s", expected);
}

/* --- nesting --- */

static int are_below(const int32_t *values, size_t n, int64_t limit)
{
    for (size_t i = 0; values && i < n; i++)
        if (values[i] < 0 || values[i] >= limit)
            return 0;
    return 1;
}

static PyObject *py_nest(PyObject *module, PyObject *args)
{
    struct arguments held;
    (void)module;
    if (take(args, "qq=i?=i?=I=I=Q=Q=qq=i?=I=nnI", &held))
        return NULL;
    struct intervals spans = {held.at[0].n, held.at[0].data, held.at[1].data, held.at[2].data};
    struct intervals calls = {held.at[8].n, held.at[8].data, held.at[9].data, held.at[10].data};
    struct nesting found = {held.at[4].data, held.at[5].data, held.at[11].data, held.at[6].data, held.at[7].data, 0, 0};
    int64_t n_threads = held.at[12].number, tolerance = held.at[13].number;
    if (spans.n > INT32_MAX || n_threads < 1 || (uint64_t)n_threads != held.at[14].n || tolerance < 0 ||
        !are_below(spans.threads, spans.n, n_threads) || !are_below(calls.threads, calls.n, n_threads))
        return refuse(&held, "threads below their number, and a tolerance");
    Py_BEGIN_ALLOW_THREADS
    memset(held.at[14].data, 0xFF, held.at[14].n * 4);
    nest(spans, held.at[3].data, calls, held.at[14].data, tolerance, &found);
    Py_END_ALLOW_THREADS
    release(&held);
    return Py_BuildValue("LL", (long long)found.n_overlaps, (long long)found.n_unreturned);
}

/* --- replay --- */

static PyObject *py_longest_paths(PyObject *module, PyObject *args)
{
    struct arguments held;
    int is_done;
    (void)module;
    if (take(args, "qqq=QQ=", &held))
        return NULL;
    size_t n_moments = held.at[3].n;
    if (held.at[0].n != n_moments + 1)
        return refuse(&held, "an offset more than moments");
    Py_BEGIN_ALLOW_THREADS
    is_done = longest_paths(held.at[0].data, n_moments, held.at[1].data, held.at[2].data, held.at[1].n,
                            held.at[3].data, held.at[4].data);
    Py_END_ALLOW_THREADS
    if (!is_done)
        return refuse(&held, "edges that lead forward");
    release(&held);
    Py_RETURN_NONE;
}

/* --- chains of ops --- */

static PyObject *py_among(PyObject *module, PyObject *args)
{
    struct arguments held;
    int is_done;
    (void)module;
    if (take(args, "nqnb?Q", &held))
        return NULL;
    int64_t what = held.at[0].number, first = held.at[2].number;
    size_t n = held.at[1].n, n_rows = held.at[4].n;
    if (what < NEAREST || what > WITHIN || (what != WITHIN && held.at[3].n != n_rows) || first < 0 ||
        (uint64_t)first > n_rows || n > n_rows - (size_t)first)
        return refuse(&held, "a part of a tree, and room for all of it");
    Py_BEGIN_ALLOW_THREADS
    is_done = among((enum among)what, held.at[1].data, n, (size_t)first, held.at[3].data, held.at[4].data);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyBool_FromLong(is_done);
}

static void ops_free(PyObject *capsule) { ops_end(PyCapsule_GetPointer(capsule, OPS)); }

static PyObject *py_ops_new(PyObject *module, PyObject *args)
{
    struct arguments held;
    (void)module;
    if (take(args, "nnn", &held))
        return NULL;
    if (held.at[0].number < 0 || held.at[0].number >= INT32_MAX)
        return refuse(&held, "a number of spans");
    uint64_t key[2] = {(uint64_t)held.at[1].number, (uint64_t)held.at[2].number};
    struct ops *ops = ops_begin((size_t)held.at[0].number, key);
    PyObject *capsule = ops ? PyCapsule_New(ops, OPS, ops_free) : PyErr_NoMemory();
    if (ops && !capsule)
        ops_end(ops);
    return capsule;
}

/* The three arguments after the first as a column of rows: words, the bits that say which are there or None, and how
many bits come before. Returns -1 where there are too few bits. */
static int rows_of(const struct arguments *held, struct rows *rows)
{
    size_t n_bits = held->at[2].n > SIZE_MAX / 8 ? 0 : 8 * held->at[2].n;
    *rows = (struct rows){held->at[1].n, held->at[1].data, held->at[2].data, (size_t)held->at[3].number};
    if (held->at[3].number < 0)
        return -1;
    return rows->valid && (rows->skipped > n_bits || rows->n > n_bits - rows->skipped) ? -1 : 0;
}

/* A function of ops that works without the interpreter's lock, and returns whether it could. */
#define OF_OPS(NAME, LETTERS, HAS_ROWS, WORK)                                                                          \
    static PyObject *NAME(PyObject *module, PyObject *args)                                                            \
    {                                                                                                                  \
        struct arguments held;                                                                                         \
        struct rows rows = {0};                                                                                        \
        int is_done;                                                                                                   \
        (void)module;                                                                                                  \
        if (take(args, LETTERS, &held))                                                                                \
            return NULL;                                                                                               \
        struct ops *ops = held.at[0].data;                                                                             \
        if (HAS_ROWS && rows_of(&held, &rows))                                                                         \
            return refuse(&held, "a bit a row");                                                                       \
        Py_BEGIN_ALLOW_THREADS is_done = WORK;                                                                         \
        Py_END_ALLOW_THREADS release(&held);                                                                           \
        return PyBool_FromLong(is_done);                                                                               \
    }

static int place_rows(struct ops *ops, struct rows parents, const struct arguments *held)
{
    struct placing spans = {parents,          held->at[4].data, held->at[5].data, held->at[6].data,
                            held->at[7].data, held->at[7].n,    held->at[8].data, held->at[8].n};
    return ops_place(ops, &spans);
}

OF_OPS(py_ops_place, "lqb?nq=i=i=ii", 1, place_rows(ops, rows, &held))
OF_OPS(py_ops_charge_calls, "tqb?nq=q=q=q=", 1,
       ops_charge_calls(ops, rows, held.at[4].data, held.at[5].data, held.at[6].data, held.at[7].data))
OF_OPS(py_ops_time, "tq", 0, ops_time(ops, held.at[1].data, held.at[1].n))
OF_OPS(py_ops_launch, "oqb?nq=", 1, ops_launch(ops, rows, held.at[4].data))
OF_OPS(py_ops_order, "oqQQ", 0,
       ops_order(ops, held.at[1].data, held.at[1].n, held.at[2].data, held.at[2].n, held.at[3].data, held.at[3].n))
OF_OPS(py_ops_totals, "oQI", 0,
       held.at[1].n == 4 * held.at[2].n && ops_totals(ops, held.at[1].data, held.at[2].data, held.at[2].n))

/* --- idle time --- */

static PyObject *py_idle_time(PyObject *module, PyObject *args)
{
    struct arguments held;
    int64_t last;
    (void)module;
    if (take(args, "qq=q=b=qq=q=b=b?qi=i?=ii=i=Qq=qq=b=i=qq=b=nnnnnQQQQ", &held))
        return NULL;
    struct idle idle = {
        .work = {{held.at[0].n, held.at[0].data, held.at[1].data, held.at[2].data, held.at[3].data},
                 {held.at[4].n, held.at[4].data, held.at[5].data, held.at[6].data, held.at[7].data}},
        .n_work = held.at[0].n + held.at[4].n, .true_causes = held.at[8].data,
        .n_calls = held.at[9].n, .returned = held.at[9].data, .places = held.at[10].data, .threads = held.at[11].data,
        .n_threads = held.at[12].n, .own = held.at[12].data, .shared = held.at[13].data, .mains = held.at[14].data,
        .n_tracks = held.at[15].n, .segments = held.at[15].data, .lasts = held.at[16].data,
        .n_segments = held.at[17].n, .starts = held.at[17].data, .ends = held.at[18].data,
        .causes = held.at[19].data, .segment_places = held.at[20].data,
        .n_windows = held.at[21].n, .window_starts = held.at[21].data, .window_ends = held.at[22].data,
        .counted = held.at[23].data,
        .from = held.at[24].number, .until = held.at[25].number, .latency = held.at[26].number,
        .last_thread = held.at[27].number, .unrecorded = (unsigned)held.at[28].number,
        .busy = held.at[29].data, .sums = held.at[30].data, .cells = held.at[31].data, .launching = held.at[32].data,
    };
    size_t n_cells = held.at[31].n / N_MEASURES;
    if (held.at[32].n != idle.n_work || (idle.true_causes && held.at[8].n != idle.n_work))
        return refuse(&held, "columns of one length");
    if (held.at[29].n != N_UNIONS * (idle.n_windows + 1) || held.at[30].n != 2 * N_CAUSES * (idle.n_windows + 1) ||
        !n_cells || n_cells % N_CAUSES || held.at[31].n % N_MEASURES)
        return refuse(&held, "room for all sums");
    idle.n_places = n_cells / N_CAUSES - 1;
    Py_BEGIN_ALLOW_THREADS
    last = idle_time(&idle);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyLong_FromLongLong(last);
}

/* --- the parser of events --- */

struct held_parser {
    struct parser parser;
    struct arguments held; /* what the parser was told, and its cells */
};

static void parser_end(struct held_parser *self)
{
    strings_end(&self->parser.strings[0]);
    strings_end(&self->parser.strings[1]);
    release(&self->held);
    free(self);
}

static void parser_free(PyObject *capsule) { parser_end(PyCapsule_GetPointer(capsule, PARSER)); }

static PyObject *py_parser_new(PyObject *module, PyObject *args)
{
    struct held_parser *self = calloc(1, sizeof *self);
    (void)module;
    if (!self || take(args, "bqqqQnnnnn", &self->held)) {
        free(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    const struct arguments *held = &self->held;
    self->parser = (struct parser){
        .key_text = held->at[0].data, .n_key_text = held->at[0].n,
        .keys = held->at[1].data, .n_keys = held->at[1].n / 5,
        .tables = held->at[2].data, .n_tables = held->at[2].n / 4,
        .columns = held->at[3].data, .n_columns = held->at[3].n / 3,
        .cells = held->at[4].data, .n_cells = held->at[4].n,
        .allocations = held->at[5].number, .counters = held->at[6].number, .unplaced = held->at[7].number,
    };
    for (int k = 0; k < 4; k++)
        self->parser.strings[k / 2].key[k % 2] = (uint64_t)held->at[8 + k % 2].number;
    PyObject *capsule = PyCapsule_New(self, PARSER, parser_free);
    if (!capsule) {
        parser_end(self);
        return NULL;
    }
    if (parser_ready(&self->parser))
        return capsule;
    Py_DECREF(capsule);
    return PyErr_Format(PyExc_ValueError, "expected keys, tables and columns that fit together");
}

/* What one call found, as parse returns it. */
static PyObject *parsed(const struct parser *parser, enum why why, size_t at)
{
    /* Not "y#": who compiles with headers of 3.13 would get a library that 3.11 and 3.12 refuse to run. */
    PyObject *rows = PyBytes_FromStringAndSize((const char *)parser->n_rows, (Py_ssize_t)(8 * parser->n_tables));
    PyObject *refused = PyBytes_FromStringAndSize(
        (const char *)parser->refused, (Py_ssize_t)(8 * parser->n_refused * (2 + parser->n_tables)));
    if (!rows || !refused) {
        Py_XDECREF(rows);
        Py_XDECREF(refused);
        return NULL;
    }
    return Py_BuildValue("inniNN", (int)why, (Py_ssize_t)at, (Py_ssize_t)parser->n_events, parser->has_fractions,
                         rows, refused);
}

static PyObject *py_parse(PyObject *module, PyObject *args)
{
    struct arguments held;
    enum why why;
    (void)module;
    if (take(args, "pbn", &held))
        return NULL;
    struct parser *parser = &((struct held_parser *)held.at[0].data)->parser;
    if (held.at[2].number < 0 || (uint64_t)held.at[2].number > held.at[1].n)
        return refuse(&held, "a place in the text");
    size_t at = (size_t)held.at[2].number;
    Py_BEGIN_ALLOW_THREADS
    why = parse(parser, held.at[1].data, held.at[1].n, &at);
    Py_END_ALLOW_THREADS
    PyObject *found = why == NO_MEMORY ? PyErr_NoMemory() : parsed(parser, why, at);
    release(&held);
    return found;
}

/* The strings from a number on as a list of bytes: 0 texts, 1 shapes. */
static PyObject *py_strings(PyObject *module, PyObject *args)
{
    struct arguments held;
    (void)module;
    if (take(args, "pnn", &held))
        return NULL;
    const struct strings *of = &((struct held_parser *)held.at[0].data)->parser.strings[held.at[1].number != 0];
    int64_t first = held.at[2].number;
    if (first < 0 || (uint64_t)first > of->n)
        return refuse(&held, "the number of a string");
    PyObject *found = PyList_New(0);
    for (size_t k = (size_t)first, begin = k ? (size_t)of->ends[k - 1] : 0; found && k < of->n; begin = of->ends[k++]) {
        PyObject *text = PyBytes_FromStringAndSize((const char *)of->arena + begin, (Py_ssize_t)(of->ends[k] - begin));
        if (!text || PyList_Append(found, text))
            Py_CLEAR(found);
        Py_XDECREF(text);
    }
    release(&held);
    return found;
}

/* The hash of a text, for tests. */
static PyObject *py_hashed(PyObject *module, PyObject *args)
{
    struct arguments held;
    (void)module;
    if (take(args, "bnn", &held))
        return NULL;
    uint64_t key[2] = {(uint64_t)held.at[1].number, (uint64_t)held.at[2].number};
    uint64_t found = hashed(held.at[0].data, held.at[0].n, key);
    release(&held);
    return PyLong_FromUnsignedLongLong(found);
}

/* --- the module --- */

#define FUNCTION(NAME) {#NAME, py_##NAME, METH_VARARGS, NULL}
static PyMethodDef functions[] = {
    FUNCTION(among), FUNCTION(idle_time), FUNCTION(longest_paths), FUNCTION(nest),
    FUNCTION(ops_new), FUNCTION(ops_place), FUNCTION(ops_charge_calls), FUNCTION(ops_time), FUNCTION(ops_launch),
    FUNCTION(ops_totals), FUNCTION(ops_order),
    FUNCTION(parser_new), FUNCTION(parse), FUNCTION(strings), FUNCTION(hashed),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tracelens.native._library", "Hot loops in C; see tracelens.native.", 0, functions, NULL,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__library(void) { return PyModuleDef_Init(&definition); }
