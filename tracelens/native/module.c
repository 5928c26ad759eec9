/* The library as a Python module, of which _library.pyi says what all takes and gives: arguments through the buffer
protocol and checked, the work without the interpreter's lock, results as bytes. Only functions of the stable ABI of
Python 3.11 are called. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "native.h"

#define MOST 32

/* The arguments of a call: arrays lent by other objects, and whole numbers. */
struct arguments {
    Py_buffer views[MOST];
    int n_views;
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

/* Take a call's arguments, a letter each: n a number, b, i and q arrays of 1, 4 and 8 bytes an item, Q and I ones
that are written to, ? after one that may be None, = after one as long as the first. Returns -1 with an error set. */
static int take(PyObject *args, const char *letters, struct arguments *held)
{
    Py_ssize_t n_args = PyTuple_Size(args);
    int first = -1, place = 0;
    memset(held, 0, sizeof *held);
    for (; *letters; place++) {
        char letter = *letters++;
        int may_be_none = *letters == '?' && letters++, is_as_long = *letters == '=' && letters++;
        PyObject *object = place < n_args ? PyTuple_GetItem(args, place) : NULL;
        if (!object) {
            PyErr_SetString(PyExc_TypeError, "too few arguments");
            goto failed;
        }
        if (letter == 'n') {
            held->at[place].number = PyLong_AsLongLong(object);
            if (held->at[place].number == -1 && PyErr_Occurred())
                goto failed;
            continue;
        }
        if (may_be_none && object == Py_None)
            continue;
        size_t item = letter == 'b' ? 1 : letter == 'i' || letter == 'I' ? 4 : 8;
        if (take_array(object, item, letter < 'a' ? PyBUF_WRITABLE : PyBUF_SIMPLE, place, held))
            goto failed;
        if (first < 0)
            first = place;
        if (is_as_long && held->at[place].n != held->at[first].n) {
            PyErr_SetString(PyExc_ValueError, "expected columns of one length");
            goto failed;
        }
    }
    if (place == n_args)
        return 0;
    PyErr_SetString(PyExc_TypeError, "too many arguments");
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
    if (take(args, "qq=i?=i?=I=I=Q=Q=qqi?InnI", &held))
        return NULL;
    struct intervals spans = {held.at[0].n, held.at[0].data, held.at[1].data, held.at[2].data};
    struct intervals calls = {held.at[8].n, held.at[8].data, held.at[9].data, held.at[10].data};
    struct nesting found = {held.at[4].data, held.at[5].data, held.at[11].data, held.at[6].data, held.at[7].data, 0, 0};
    int64_t n_lanes = held.at[12].number, tolerance = held.at[13].number;
    if (held.at[9].n != calls.n || (calls.lanes && held.at[10].n != calls.n) || held.at[11].n != calls.n)
        return refuse(&held, "columns of one length");
    if (spans.n > INT32_MAX || n_lanes < 1 || (uint64_t)n_lanes != held.at[14].n || tolerance < 0 ||
        !are_below(spans.lanes, spans.n, n_lanes) || !are_below(calls.lanes, calls.n, n_lanes))
        return refuse(&held, "lanes below their number, and a tolerance");
    Py_BEGIN_ALLOW_THREADS
    memset(held.at[14].data, 0xFF, held.at[14].n * 4);
    nest(spans, held.at[3].data, calls, held.at[14].data, tolerance, &found);
    Py_END_ALLOW_THREADS
    release(&held);
    return Py_BuildValue("LL", (long long)found.n_overlaps, (long long)found.n_unreturned);
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

struct ops_object {
    PyObject_HEAD
    struct ops ops;
};

static PyObject *ops_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    struct arguments held;
    if ((names && PyDict_Size(names)) || take(args, "n", &held))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected how many spans there are");
    if (held.at[0].number < 0 || held.at[0].number >= INT32_MAX)
        return refuse(&held, "a number of spans");
    struct ops_object *self = (struct ops_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self && !ops_begin(&self->ops, (size_t)held.at[0].number)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void ops_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ops_end(&((struct ops_object *)self)->ops);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* The first three arguments as a column of rows: words, the bits that say which are there or None, and how many bits
come before. Returns -1 where there are too few bits. */
static int rows_of(const struct arguments *held, struct rows *rows)
{
    size_t n_bits = held->at[1].n > SIZE_MAX / 8 ? 0 : 8 * held->at[1].n;
    *rows = (struct rows){held->at[0].n, held->at[0].data, held->at[1].data, (size_t)held->at[2].number};
    if (held->at[2].number < 0)
        return -1;
    return rows->valid && (rows->skipped > n_bits || rows->n > n_bits - rows->skipped) ? -1 : 0;
}

/* A method that works without the interpreter's lock, and returns whether it could. */
#define METHOD(NAME, LETTERS, ROWS, WORK)                                                                              \
    static PyObject *NAME(PyObject *self, PyObject *args)                                                              \
    {                                                                                                                  \
        struct ops *ops = &((struct ops_object *)self)->ops;                                                           \
        struct arguments held;                                                                                         \
        struct rows rows = {0};                                                                                        \
        int is_done;                                                                                                   \
        if (take(args, LETTERS, &held))                                                                                \
            return NULL;                                                                                               \
        if (ROWS && rows_of(&held, &rows))                                                                             \
            return refuse(&held, "a bit a row");                                                                       \
        Py_BEGIN_ALLOW_THREADS is_done = WORK;                                                                         \
        Py_END_ALLOW_THREADS release(&held);                                                                           \
        return PyBool_FromLong(is_done);                                                                               \
    }

static int place_rows(struct ops *ops, struct rows parents, const struct arguments *held)
{
    struct placing spans = {parents,          held->at[3].data, held->at[4].data, held->at[5].data,
                            held->at[6].data, held->at[6].n,    held->at[7].data, held->at[7].n};
    return ops_place(ops, &spans);
}

METHOD(py_place, "qb?nq=i=i=ii", 1, place_rows(ops, rows, &held))
METHOD(py_charge_calls, "qb?nq=q=q=q=", 1,
       ops_charge_calls(ops, rows, held.at[3].data, held.at[4].data, held.at[5].data, held.at[6].data))
METHOD(py_time, "q", 0, ops_time(ops, held.at[0].data, held.at[0].n))
METHOD(py_launch, "qb?nq=", 1, ops_launch(ops, rows, held.at[3].data))
METHOD(py_order, "qQQ", 0,
       ops_order(ops, held.at[0].data, held.at[0].n, held.at[1].data, held.at[1].n, held.at[2].data, held.at[2].n))
METHOD(py_totals, "QI", 0,
       held.at[0].n == 4 * held.at[1].n && ops_totals(ops, held.at[0].data, held.at[1].data, held.at[1].n))

static PyMethodDef ops_methods[] = {
    {"place", py_place, METH_VARARGS, NULL},
    {"charge_calls", py_charge_calls, METH_VARARGS, NULL},
    {"time", py_time, METH_VARARGS, NULL},
    {"launch", py_launch, METH_VARARGS, NULL},
    {"totals", py_totals, METH_VARARGS, NULL},
    {"order", py_order, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ops_slots[] = {
    {Py_tp_new, ops_new},
    {Py_tp_dealloc, ops_dealloc},
    {Py_tp_methods, ops_methods},
    {0, NULL},
};

static PyType_Spec ops_spec = {
    "tracelens.native._library.Ops", sizeof(struct ops_object), 0, Py_TPFLAGS_DEFAULT, ops_slots,
};

/* --- idle time --- */

/* Whether the arguments from one place to another are arrays of one length. */
static int are_alike(const struct arguments *held, int first, int last)
{
    for (int place = first + 1; place <= last; place++)
        if (held->at[place].n != held->at[first].n)
            return 0;
    return 1;
}

static PyObject *py_idle_time(PyObject *module, PyObject *args)
{
    struct arguments held;
    int64_t last;
    (void)module;
    if (take(args, "qqqbqqqbb?qii?QqqqbiqqnnnnnnQQQQ", &held))
        return NULL;
    struct idle idle = {
        .work = {{held.at[0].n, held.at[0].data, held.at[1].data, held.at[2].data, held.at[3].data},
                 {held.at[4].n, held.at[4].data, held.at[5].data, held.at[6].data, held.at[7].data}},
        .n_work = held.at[0].n + held.at[4].n, .loaded = held.at[8].data,
        .n_calls = held.at[9].n, .returned = held.at[9].data, .places = held.at[10].data, .lanes = held.at[11].data,
        .n_lanes = held.at[12].n, .segments = held.at[12].data, .lasts = held.at[13].data,
        .n_segments = held.at[14].n, .starts = held.at[14].data, .ends = held.at[15].data,
        .causes = held.at[16].data, .segment_places = held.at[17].data,
        .n_windows = held.at[18].n, .window_starts = held.at[18].data, .window_ends = held.at[19].data,
        .from = held.at[20].number, .until = held.at[21].number, .latency = held.at[22].number,
        .last_lane = held.at[23].number, .unrecorded = (unsigned)held.at[24].number,
        .only_windows = held.at[25].number != 0,
        .busy = held.at[26].data, .sums = held.at[27].data, .cells = held.at[28].data, .launching = held.at[29].data,
    };
    size_t n_cells = held.at[28].n / N_MEASURES;
    if (!are_alike(&held, 0, 3) || !are_alike(&held, 4, 7) || !are_alike(&held, 9, 10) || !are_alike(&held, 12, 13) ||
        !are_alike(&held, 14, 17) || !are_alike(&held, 18, 19) || held.at[29].n != idle.n_work ||
        (idle.loaded && held.at[8].n != idle.n_work) || (idle.lanes && held.at[11].n != idle.n_calls))
        return refuse(&held, "columns of one length");
    if (held.at[26].n != N_UNIONS * (idle.n_windows + 1) || held.at[27].n != 2 * N_CAUSES * (idle.n_windows + 1) ||
        !n_cells || n_cells % N_CAUSES || held.at[28].n % N_MEASURES)
        return refuse(&held, "room for all sums");
    idle.n_places = n_cells / N_CAUSES - 1;
    Py_BEGIN_ALLOW_THREADS
    last = idle_time(&idle);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyLong_FromLongLong(last);
}

/* --- the parser of events --- */

struct parser_object {
    PyObject_HEAD
    struct parser parser;
    struct arguments held; /* what the parser was told, and its cells */
};

static PyObject *parser_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    struct parser_object *self = (struct parser_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self || (names && PyDict_Size(names)) || take(args, "bqqqQnnnn", &self->held)) {
        Py_XDECREF((PyObject *)self);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected nine arguments");
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
    self->parser.strings[0].seed = self->parser.strings[1].seed = (uint64_t)held->at[8].number;
    if (parser_ready(&self->parser))
        return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_Format(PyExc_ValueError, "expected keys, tables and columns that fit together");
}

static void parser_dealloc(PyObject *object)
{
    struct parser_object *self = (struct parser_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    strings_end(&self->parser.strings[0]);
    strings_end(&self->parser.strings[1]);
    release(&self->held);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *py_parse(PyObject *self, PyObject *args)
{
    struct parser *parser = &((struct parser_object *)self)->parser;
    struct arguments held;
    enum why why;
    if (take(args, "bn", &held))
        return NULL;
    if (held.at[1].number < 0 || (uint64_t)held.at[1].number > held.at[0].n)
        return refuse(&held, "a place in the text");
    size_t at = (size_t)held.at[1].number;
    Py_BEGIN_ALLOW_THREADS
    why = parse(parser, held.at[0].data, held.at[0].n, &at);
    Py_END_ALLOW_THREADS
    release(&held);
    if (why == NO_MEMORY)
        return PyErr_NoMemory();
    return Py_BuildValue("inniy#y#", (int)why, (Py_ssize_t)at, (Py_ssize_t)parser->n_events, parser->has_fractions,
                         (const char *)parser->n_rows, (Py_ssize_t)(8 * parser->n_tables),
                         (const char *)parser->refused, (Py_ssize_t)(8 * parser->n_refused * (2 + parser->n_tables)));
}

static PyObject *py_strings(PyObject *self, PyObject *args)
{
    struct arguments held;
    if (take(args, "nn", &held))
        return NULL;
    const struct strings *of = &((struct parser_object *)self)->parser.strings[held.at[0].number != 0];
    int64_t first = held.at[1].number;
    if (first < 0 || (uint64_t)first > of->n)
        return refuse(&held, "the number of a string");
    size_t n = of->n - (size_t)first, begin = first ? (size_t)of->ends[first - 1] : 0;
    PyObject *ends = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(uint64_t)));
    for (size_t k = 0; ends && k < n; k++) {
        uint64_t end = of->ends[(size_t)first + k] - begin;
        memcpy(PyBytes_AsString(ends) + k * sizeof end, &end, sizeof end);
    }
    return ends ? Py_BuildValue("Ny#", ends, n ? (const char *)of->arena + begin : "",
                                (Py_ssize_t)(n ? of->ends[of->n - 1] - begin : 0)) : NULL;
}

static PyMethodDef parser_methods[] = {
    {"parse", py_parse, METH_VARARGS, NULL},
    {"strings", py_strings, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot parser_slots[] = {
    {Py_tp_new, parser_new},
    {Py_tp_dealloc, parser_dealloc},
    {Py_tp_methods, parser_methods},
    {0, NULL},
};

static PyType_Spec parser_spec = {
    "tracelens.native._library.Parser", sizeof(struct parser_object), 0, Py_TPFLAGS_DEFAULT, parser_slots,
};

/* --- the module --- */

static PyMethodDef functions[] = {
    {"among", py_among, METH_VARARGS, NULL},
    {"idle_time", py_idle_time, METH_VARARGS, NULL},
    {"nest", py_nest, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_types(PyObject *module)
{
    PyType_Spec *specs[] = {&ops_spec, &parser_spec};
    for (int i = 0; i < 2; i++) {
        PyObject *type = PyType_FromSpec(specs[i]);
        int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);
        Py_XDECREF(type);
        if (failed)
            return -1;
    }
    return 0;
}

static struct PyModuleDef_Slot slots[] = {{Py_mod_exec, add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tracelens.native._library", "Hot loops in C; see tracelens.native.", 0, functions, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__library(void) { return PyModuleDef_Init(&definition); }
