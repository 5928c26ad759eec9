/* The library as a Python module: arguments through the buffer protocol and checked, the work without the interpreter's
lock, results as bytes. Only functions of the stable ABI of Python 3.11 are called. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "native.h"

#define MOST_BUFFERS 16

/* The buffers that a call has got so far; all are released together. */
struct buffers {
    Py_buffer views[MOST_BUFFERS];
    int n;
};

static void release(struct buffers *held)
{
    while (held->n)
        PyBuffer_Release(&held->views[--held->n]);
}

/* The memory of an object as an array whose items have so many bytes; sets `n`. NULL, with an error set, where it is no
such array; with None for an object, NULL and 0. */
static void *array(PyObject *object, size_t item, int flags, size_t *n, struct buffers *held)
{
    static char nothing[8];
    *n = 0;
    if (object == Py_None)
        return NULL;
    if (held->n == MOST_BUFFERS) {
        PyErr_SetString(PyExc_SystemError, "too many buffers");
        return NULL;
    }
    Py_buffer *view = &held->views[held->n];
    if (PyObject_GetBuffer(object, view, flags))
        return NULL;
    held->n++;
    if ((size_t)view->len % item || (uintptr_t)view->buf % item) {
        PyErr_Format(PyExc_ValueError, "expected whole items of %zd bytes, found %zd bytes", (Py_ssize_t)item, view->len);
        return NULL;
    }
    *n = (size_t)view->len / item;
    return view->len ? view->buf : nothing;
}

/* The same of an object that must not be None and has to have n items. */
static void *array_of(PyObject *object, size_t item, int flags, size_t n, struct buffers *held)
{
    size_t found;
    void *items = array(object, item, flags, &found, held);
    if (items && found == n)
        return items;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "expected %zd items, found %zd", (Py_ssize_t)n, (Py_ssize_t)found);
    return NULL;
}

/* New bytes for n items, to be filled; NULL with an error set. */
static PyObject *room_for(size_t n, size_t item)
{
    if (n > (size_t)PY_SSIZE_T_MAX / item - 64)
        return PyErr_NoMemory();
    return PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * item));
}

static int are_below(const int32_t *values, size_t n, int32_t lowest, int64_t limit)
{
    for (size_t i = 0; values && i < n; i++)
        if (values[i] < lowest || values[i] >= limit)
            return 0;
    return 1;
}

/* --- nesting --- */

static int read_intervals(PyObject *starts, PyObject *ends, PyObject *lanes, int64_t n_lanes, struct intervals *read,
                          struct buffers *held)
{
    if (!(read->starts = array(starts, 8, PyBUF_SIMPLE, &read->n, held)))
        return -1;
    if (!(read->ends = array_of(ends, 8, PyBUF_SIMPLE, read->n, held)))
        return -1;
    read->lanes = lanes == Py_None ? NULL : array_of(lanes, 4, PyBUF_SIMPLE, read->n, held);
    if (lanes != Py_None && !read->lanes)
        return -1;
    if (read->n > INT32_MAX || !are_below(read->lanes, read->n, 0, n_lanes)) {
        PyErr_SetString(PyExc_ValueError, "too many rows, or a lane that is none");
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(nest_doc, "nest(starts, ends, lanes, hints, call_starts, call_ends, call_lanes, n_lanes, tolerance, /)\n"
                       "--\n\nThe walk of derive/nesting.py: parents, depths, own times, spans of calls, and how many "
                       "overlap and did not return.");

static PyObject *py_nest(PyObject *module, PyObject *args)
{
    PyObject *o[7], *made[4] = {NULL}, *result = NULL;
    Py_ssize_t n_lanes;
    long long tolerance;
    struct buffers held = {.n = 0};
    struct intervals spans, calls;
    struct nesting found = {0};
    int32_t *tops = NULL;
    const int32_t *hints = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOOnL", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &n_lanes, &tolerance))
        return NULL;
    if (n_lanes < 1 || n_lanes > INT32_MAX || tolerance < 0)
        return PyErr_Format(PyExc_ValueError, "expected a lane or more, and a tolerance");
    if (read_intervals(o[0], o[1], o[2], n_lanes, &spans, &held) ||
        read_intervals(o[4], o[5], o[6], n_lanes, &calls, &held))
        goto done;
    if (o[3] != Py_None) {
        if (!(hints = array_of(o[3], 4, PyBUF_SIMPLE, spans.n, &held)))
            goto done;
    }
    size_t sizes[] = {4, 4, 8, 4}, lengths[] = {spans.n, spans.n, spans.n, calls.n};
    for (int i = 0; i < 4; i++)
        if (!(made[i] = room_for(lengths[i], sizes[i])))
            goto done;
    found.parents = (int32_t *)PyBytes_AsString(made[0]);
    found.depths = (int32_t *)PyBytes_AsString(made[1]);
    found.own = (int64_t *)PyBytes_AsString(made[2]);
    found.call_spans = (int32_t *)PyBytes_AsString(made[3]);
    found.covered = malloc(spans.n * sizeof *found.covered + 1);
    tops = malloc((size_t)n_lanes * sizeof *tops);
    if (!found.covered || !tops) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    memset(tops, 0xFF, (size_t)n_lanes * sizeof *tops);
    nest(spans, hints, calls, tops, tolerance, &found);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("OOOOLL", made[0], made[1], made[2], made[3], (long long)found.n_overlaps,
                           (long long)found.n_unreturned);
done:
    free(tops);
    free(found.covered);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(made[i]);
    release(&held);
    return result;
}

/* --- the module --- */

static PyMethodDef functions[] = {
    {"nest", py_nest, METH_VARARGS, nest_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tracelens.native._library", "Hot loops in C; see tracelens.native.", 0, functions, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__library(void) { return PyModuleDef_Init(&definition); }
