/* The library as a Python module: arguments through the buffer protocol and checked, the work without the interpreter's
lock, results as bytes. Only functions of the stable ABI of Python 3.11 are called. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "native.h"

#define MOST 12

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
    if ((size_t)view->len % item || (uintptr_t)view->buf % item) {
        PyErr_Format(PyExc_ValueError, "expected items of %zd bytes, found %zd bytes", (Py_ssize_t)item, view->len);
        return -1;
    }
    held->at[place].data = view->len ? view->buf : nothing;
    held->at[place].n = (size_t)view->len / item;
    return 0;
}

/* Take a call's arguments, a letter each: n a number, b, i and q arrays of 1, 4 and 8 bytes an item, Q one that is
written to, ? after an array that may be None, = after one as long as the first array. Returns -1 with an error set. */
static int take(PyObject *args, const char *letters, struct arguments *held)
{
    Py_ssize_t n_args = PyTuple_Size(args);
    int first = -1, place = 0;
    memset(held, 0, sizeof *held);
    for (; *letters; place++) {
        char letter = *letters++;
        int may_be_none = *letters == '?', is_as_long = 0;
        letters += may_be_none;
        is_as_long = *letters == '=';
        letters += is_as_long;
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
        if (take_array(object, letter == 'b' ? 1 : letter == 'i' ? 4 : 8, letter == 'Q' ? PyBUF_WRITABLE : PyBUF_SIMPLE,
                       place, held))
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

/* New bytes for n items, to be filled; NULL with an error set. */
static PyObject *room_for(size_t n, size_t item)
{
    if (n > (size_t)PY_SSIZE_T_MAX / item - 64)
        return PyErr_NoMemory();
    return PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * item));
}

/* --- nesting --- */

static int are_below(const int32_t *values, size_t n, int64_t limit)
{
    for (size_t i = 0; values && i < n; i++)
        if (values[i] < 0 || values[i] >= limit)
            return 0;
    return 1;
}

PyDoc_STRVAR(nest_doc, "nest(starts, ends, lanes, hints, call_starts, call_ends, call_lanes, n_lanes, tolerance, /)\n"
                       "--\n\nThe walk of derive/nesting.py: parents, depths, own times, spans of calls, and how many "
                       "overlap and did not return.");

static PyObject *py_nest(PyObject *module, PyObject *args)
{
    struct arguments held;
    PyObject *made[4] = {NULL}, *result = NULL;
    (void)module;
    if (take(args, "qq=i?i?qqi?nn", &held))
        return NULL;
    struct intervals spans = {held.at[0].n, held.at[0].data, held.at[1].data, held.at[2].data};
    struct intervals calls = {held.at[4].n, held.at[4].data, held.at[5].data, held.at[6].data};
    int64_t n_lanes = held.at[7].number, tolerance = held.at[8].number;
    const int32_t *hints = held.at[3].data;
    if ((spans.lanes && held.at[2].n != spans.n) || (hints && held.at[3].n != spans.n) || held.at[5].n != calls.n ||
        (calls.lanes && held.at[6].n != calls.n) || spans.n > INT32_MAX || calls.n > INT32_MAX)
        return refuse(&held, "columns of one length");
    if (n_lanes < 1 || n_lanes > INT32_MAX || tolerance < 0 || !are_below(spans.lanes, spans.n, n_lanes) ||
        !are_below(calls.lanes, calls.n, n_lanes))
        return refuse(&held, "lanes below their number, and a tolerance");
    struct nesting found = {0};
    size_t sizes[] = {4, 4, 8, 4};
    int32_t *tops = malloc((size_t)n_lanes * sizeof *tops);
    found.covered = malloc(spans.n * sizeof *found.covered + 1);
    for (int i = 0; i < 4; i++)
        made[i] = room_for(i < 3 ? spans.n : calls.n, sizes[i]);
    if (tops && found.covered && made[0] && made[1] && made[2] && made[3]) {
        found.parents = (int32_t *)PyBytes_AsString(made[0]);
        found.depths = (int32_t *)PyBytes_AsString(made[1]);
        found.own = (int64_t *)PyBytes_AsString(made[2]);
        found.call_spans = (int32_t *)PyBytes_AsString(made[3]);
        Py_BEGIN_ALLOW_THREADS
        memset(tops, 0xFF, (size_t)n_lanes * sizeof *tops);
        nest(spans, hints, calls, tops, tolerance, &found);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("OOOOLL", made[0], made[1], made[2], made[3], (long long)found.n_overlaps,
                               (long long)found.n_unreturned);
    } else {
        PyErr_NoMemory();
    }
    free(tops);
    free(found.covered);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(made[i]);
    release(&held);
    return result;
}

/* --- chains of ops --- */

PyDoc_STRVAR(among_doc, "among(what, parents, first, flags, result, /)\n--\n\nOne part of a pass up a tree: whether it "
                        "could be done. What is 0: nearest, 1: outermost, 2: count, 3: sums within.");

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

PyDoc_STRVAR(above_doc, "above(rows, parents, marks, /)\n--\n\nThree words a row: its outermost ancestor marked 1, how "
                        "many are marked 1 and 2; None where that could not be.");

static PyObject *py_above(PyObject *module, PyObject *args)
{
    struct arguments held;
    int is_done = 0;
    (void)module;
    if (take(args, "qqb", &held))
        return NULL;
    if (held.at[1].n != held.at[2].n)
        return refuse(&held, "a mark a span");
    PyObject *made = room_for(held.at[0].n, 24);
    if (made) {
        int64_t *result = (int64_t *)PyBytes_AsString(made);
        Py_BEGIN_ALLOW_THREADS
        is_done = above(held.at[0].data, held.at[0].n, held.at[1].data, held.at[2].data, held.at[1].n, result);
        Py_END_ALLOW_THREADS
    }
    release(&held);
    if (!made || is_done)
        return made;
    Py_DECREF(made);
    Py_RETURN_NONE;
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

static PyObject *ops_place_py(PyObject *self, PyObject *args)
{
    struct arguments held;
    struct rows parents;
    int is_done;
    if (take(args, "qb?nq=i=i=ii", &held))
        return NULL;
    if (rows_of(&held, &parents))
        return refuse(&held, "a bit a row");
    struct placing spans = {parents,        held.at[3].data, held.at[4].data, held.at[5].data,
                            held.at[6].data, held.at[6].n,    held.at[7].data, held.at[7].n};
    Py_BEGIN_ALLOW_THREADS
    is_done = ops_place(&((struct ops_object *)self)->ops, &spans);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyBool_FromLong(is_done);
}

static PyObject *ops_charge_calls_py(PyObject *self, PyObject *args)
{
    struct arguments held;
    struct rows spans;
    int is_done;
    if (take(args, "qb?nq=q=q=q=", &held))
        return NULL;
    if (rows_of(&held, &spans))
        return refuse(&held, "a bit a row");
    Py_BEGIN_ALLOW_THREADS
    is_done = ops_charge_calls(&((struct ops_object *)self)->ops, spans, held.at[3].data, held.at[4].data,
                               held.at[5].data, held.at[6].data);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyBool_FromLong(is_done);
}

static PyObject *ops_set_in_calls_py(PyObject *self, PyObject *args)
{
    struct ops *ops = &((struct ops_object *)self)->ops;
    struct arguments held;
    if (take(args, "q", &held))
        return NULL;
    if (held.at[0].n != ops->n_spans)
        return refuse(&held, "a time a span");
    memcpy(ops->in_calls, held.at[0].data, ops->n_spans * sizeof *ops->in_calls);
    release(&held);
    Py_RETURN_NONE;
}

static PyObject *ops_time_py(PyObject *self, PyObject *args)
{
    struct arguments held;
    int is_done;
    if (take(args, "q", &held))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    is_done = ops_time(&((struct ops_object *)self)->ops, held.at[0].data, held.at[0].n);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyBool_FromLong(is_done);
}

static PyObject *ops_launch_py(PyObject *self, PyObject *args)
{
    struct arguments held;
    struct rows spans;
    if (take(args, "qb?nq=", &held))
        return NULL;
    if (rows_of(&held, &spans))
        return refuse(&held, "a bit a row");
    Py_BEGIN_ALLOW_THREADS
    ops_launch(&((struct ops_object *)self)->ops, spans, held.at[3].data);
    Py_END_ALLOW_THREADS
    release(&held);
    Py_RETURN_TRUE;
}

static PyObject *ops_order_py(PyObject *self, PyObject *args)
{
    struct arguments held;
    int is_done;
    if (take(args, "qQ", &held))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    is_done = ops_order(&((struct ops_object *)self)->ops, held.at[0].data, held.at[0].n, held.at[1].data, held.at[1].n);
    Py_END_ALLOW_THREADS
    release(&held);
    return PyBool_FromLong(is_done);
}

static PyObject *ops_counts_py(PyObject *self, PyObject *args)
{
    struct arguments held;
    if (take(args, "Q", &held))
        return NULL;
    ops_counts(&((struct ops_object *)self)->ops, held.at[0].data, held.at[0].n);
    release(&held);
    Py_RETURN_NONE;
}

static PyObject *ops_sums_py(PyObject *self, PyObject *args)
{
    struct ops *ops = &((struct ops_object *)self)->ops;
    struct arguments held;
    if (take(args, "q", &held))
        return NULL;
    size_t n = held.at[0].n;
    PyObject *made = room_for(n, 8 * N_SUMS);
    uint32_t *last = calloc(n + 1, sizeof *last);
    if (made && last) {
        Py_BEGIN_ALLOW_THREADS
        ops_sums(ops, held.at[0].data, (int64_t *)PyBytes_AsString(made), last, n);
        Py_END_ALLOW_THREADS
    } else if (made) {
        Py_CLEAR(made);
        PyErr_NoMemory();
    }
    free(last);
    release(&held);
    return made;
}

static PyMethodDef ops_methods[] = {
    {"place", ops_place_py, METH_VARARGS,
     "place(parents, valid, skipped, ids, names, kinds, codes, flags, /)\n--\n\nFind the chain of each of the next spans; "
     "whether that could be."},
    {"charge_calls", ops_charge_calls_py, METH_VARARGS,
     "charge_calls(spans, valid, skipped, starts, durations, processes, threads, /)\n--\n\nTake the next calls off the "
     "spans that they are made in; whether that could be."},
    {"set_in_calls", ops_set_in_calls_py, METH_VARARGS,
     "set_in_calls(times, /)\n--\n\nThe time of calls made directly in each span."},
    {"time", ops_time_py, METH_VARARGS,
     "time(own, /)\n--\n\nCharge what the next spans take themselves; whether they are placed."},
    {"launch", ops_launch_py, METH_VARARGS,
     "launch(spans, valid, skipped, durations, /)\n--\n\nCharge device work to chains."},
    {"counts", ops_counts_py, METH_VARARGS, "counts(found, /)\n--\n\nHow many ops each code has, after all are placed."},
    {"order", ops_order_py, METH_VARARGS,
     "order(durations, next, /)\n--\n\nPut the durations of the next spans that are ops where the next of their code "
     "goes, after all are timed; whether that could be."},
    {"sums", ops_sums_py, METH_VARARGS,
     "sums(ends, /)\n--\n\nOf each code, whose durations end there: how many, total, least, most, the two in the middle; "
     "launched, own time, launched within. Nothing may follow."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ops_slots[] = {
    {Py_tp_doc, "Ops(n_spans, /)\n--\n\nThe ops of one rank while its tables are read, part by part."},
    {Py_tp_new, ops_new},
    {Py_tp_dealloc, ops_dealloc},
    {Py_tp_methods, ops_methods},
    {0, NULL},
};

static PyType_Spec ops_spec = {
    "tracelens.native._library.Ops", sizeof(struct ops_object), 0, Py_TPFLAGS_DEFAULT, ops_slots,
};

/* --- the module --- */

static PyMethodDef functions[] = {
    {"above", py_above, METH_VARARGS, above_doc},
    {"among", py_among, METH_VARARGS, among_doc},
    {"nest", py_nest, METH_VARARGS, nest_doc},
    {NULL, NULL, 0, NULL},
};

static int add_types(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&ops_spec);
    return type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
}

static struct PyModuleDef_Slot slots[] = {{Py_mod_exec, add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tracelens.native._library", "Hot loops in C; see tracelens.native.", 0, functions, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__library(void) { return PyModuleDef_Init(&definition); }
