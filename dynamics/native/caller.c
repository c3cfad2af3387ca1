/* Call the compiled core from Python without overhead.
 *
 * The core's entry points are C functions of numbers and addresses. A `Call` holds what an analysis needs of
 * them: which memory is set before, which entry points follow each other, what must hold afterwards, and which
 * arrays are results. It reads the state of a mechanism, copies it to the core's arrays, calls, and returns
 * the results in new arrays. Whatever is not plain (another kind of state, a number that is not finite, a status
 * other than OK, a check that fails) makes it return None: the caller then takes the general way in Python,
 * which gives the same numbers, or names what is wrong.
 *
 * Only Python's limited API of 3.11 is used, so that one file serves all later versions; numpy's C API makes the arrays. treemech.dynamics.calls.calls
 * makes the tables; nothing here knows mechanics.
 */
#define Py_LIMITED_API 0x030B0000
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MOST_ARGUMENTS = 20, MOST_AXES = 3 };
enum { SINGLE, FIELDS_OF_TUPLE, FIELDS_OF_FLOATS, ATTRIBUTE };  /* how results are returned */
enum { FINITE, AT_MOST, ABOVE };                     /* what is checked */
enum { OK = 1 };                                     /* kinematics/kernel/status.py */

typedef struct { char *to; const char *from; Py_ssize_t size; } Copy;
typedef struct { int64_t address; int with_time, n; int64_t a[MOST_ARGUMENTS]; } Step;
typedef struct { const double *x; Py_ssize_t n; int kind; double bound; } Check;
typedef struct { double *to; int axes; Py_ssize_t size, shape[MOST_AXES]; } Array;
typedef struct { PyObject *name; double *to; Py_ssize_t n; } Near;

/* ---------------------------------------------------------------- a core, and how states get there */
typedef struct {
    PyObject_HEAD
    PyObject *state_type, *known, *keep;
    Py_ssize_t nq, nu, nx, nz, n_copies, n_near;
    double *t, *q, *u, *z;
    const double *z_start;
    Copy *copies;
    Near *near;
    int with_tuples;
    unsigned long thread;  /* whose arrays these are */
    PyObject *inside;      /* set of the threads that are in a function of the user: other arrays are used there */
    Py_buffer views[2];    /* of the last q and u: a state often takes several calls */
    int viewed;
    PyObject *last;        /* the state they are of, in models without chords: those of others refer back to the mechanism */
    double last_t;
} Pack;

typedef struct {
    PyObject_HEAD
    Pack *pack;
    Py_ssize_t n_copies, n_steps, n_checks, n_inputs, n_results;
    Copy *copies;
    Step *steps;
    Check *checks;
    Array *inputs, *results;
    int form;
    PyObject *type, *names;
} Call;

static PyObject *name_t, *name_q, *name_u, *name_x, *name_memory, *name_cut, *name_active, *name_coordinates, *name_mechanism, *name_near, *name_found, *no_arguments;

/* Open numpy's C API, once. Return 0 with an exception if there is none. */
static int open_numpy(void)
{
    return PyArray_API != NULL || _import_array() == 0;
}

/* Return a new array of these numbers. */
static PyObject *new_array(const Array *from)
{
    npy_intp shape[MOST_AXES] = {0};
    for (int k = 0; k < from->axes; k++)
        shape[k] = from->shape[k];
    PyObject *array = PyArray_SimpleNew(from->axes, shape, NPY_DOUBLE);
    if (array)
        memcpy(PyArray_DATA((PyArrayObject *)array), from->to, 8 * (size_t)from->size);
    return array;
}

static PyObject *new_row(const double *from, Py_ssize_t n)
{
    Array row = {(double *)from, 1, n, {n}};
    return new_array(&row);
}

/* Copy numbers out of an object with a buffer. Return 1, or 0 if it is not an array of floats of this shape. */
static int read_array(PyObject *object, const Array *as, double *to, int checked)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
        PyErr_Clear();
        return 0;
    }
    int fits = view.itemsize == 8 && view.format && strcmp(view.format, "d") == 0 && view.ndim == as->axes;
    for (int k = 0; fits && k < as->axes; k++)
        fits = view.shape[k] == as->shape[k];
    if (fits) {
        const double *from = view.buf;
        double sum = 0.0;
        for (Py_ssize_t k = 0; k < as->size; k++) {
            to[k] = from[k];
            sum += from[k] - from[k];  /* nan if one is not finite */
        }
        fits = !checked || sum == 0.0;
    }
    PyBuffer_Release(&view);
    return fits;
}

static int read_row(PyObject *object, Py_ssize_t n, double *to, int checked)
{
    Array as = {to, 1, n, {n}};
    return read_array(object, &as, to, checked);
}

static int read_attribute(PyObject *state, PyObject *name, Py_ssize_t n, double *to, int checked)
{
    PyObject *value = PyObject_GetAttr(state, name);
    if (!value) {
        PyErr_Clear();
        return 0;
    }
    int done = read_row(value, n, to, checked);
    Py_DECREF(value);
    return done;
}

static int read_number(PyObject *value, double *to)
{
    if (PyFloat_CheckExact(value) || PyLong_CheckExact(value)) {
        *to = PyFloat_AsDouble(value);
        if (*to == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return isfinite(*to);
    }
    return 0;
}

static int is_empty(PyObject *state, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(state, name);
    if (!value) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t n = PyObject_Size(value);
    Py_DECREF(value);
    if (n < 0)
        PyErr_Clear();
    return n == 0;
}

static int is_known(Pack *p, PyObject *state)
{
    PyObject *coordinates = PyObject_GetAttr(state, name_coordinates);
    if (!coordinates) {
        PyErr_Clear();
        return 0;
    }
    int found = 0;
    for (Py_ssize_t k = 0; !found && k < PyList_Size(p->known); k++)
        found = PyList_GetItem(p->known, k) == coordinates;
    Py_DECREF(coordinates);
    return found;
}

/* Read where cut hinges are sought, if it matters: hinges by address are fitted from there. */
static int read_near(Pack *p, PyObject *state)
{
    PyObject *cut = PyObject_GetAttr(state, name_cut);
    if (!cut) {
        PyErr_Clear();
        return 0;
    }
    int done = 1;
    for (Py_ssize_t k = 0; done && k < p->n_near; k++) {
        PyObject *pair = PyObject_GetItem(cut, p->near[k].name);
        PyObject *q = pair ? PySequence_GetItem(pair, 0) : NULL;
        done = q && read_row(q, p->near[k].n, p->near[k].to, 1);
        Py_XDECREF(q);
        Py_XDECREF(pair);
    }
    if (PyErr_Occurred())
        PyErr_Clear();
    Py_DECREF(cut);
    return done;
}

/* Tell whether the arrays may be used now: by their thread, and not in the middle of another computation. */
static int is_free(const Pack *p)
{
    return PySet_Size(p->inside) == 0 && PyThread_get_thread_ident() == p->thread;
}

static int copy_finite(const double *from, Py_ssize_t n, double *to)
{
    double sum = 0.0;
    for (Py_ssize_t k = 0; k < n; k++) {
        to[k] = from[k];
        sum += from[k] - from[k];  /* nan if one is not finite */
    }
    return sum == 0.0;
}

static void forget_views(Pack *p)
{
    if (p->viewed) {
        p->viewed = 0;
        Py_CLEAR(p->last);
        PyBuffer_Release(&p->views[0]);
        PyBuffer_Release(&p->views[1]);
    }
}

static int view_row(PyObject *object, Py_ssize_t n, Py_buffer *view)
{
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
        PyErr_Clear();
        return 0;
    }
    if (view->itemsize == 8 && view->format && strcmp(view->format, "d") == 0 && view->ndim == 1 && view->shape[0] == n)
        return 1;
    PyBuffer_Release(view);
    return 0;
}

static void copy_all(const Copy *copies, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++)
        memcpy(copies[k].to, copies[k].from, (size_t)copies[k].size);
}

/* Copy a state to the core. Return 1, or 0 if it is none that can be taken as it is. */
static int read_state(Pack *p, PyObject *state)
{
    copy_all(p->copies, p->n_copies);
    if ((PyObject *)Py_TYPE(state) == p->state_type) {
        int again = state == p->last && p->viewed, done = 1;
        if (again)
            *p->t = p->last_t;
        else {
            PyObject *t = PyObject_GetAttr(state, name_t), *q = PyObject_GetAttr(state, name_q), *u = PyObject_GetAttr(state, name_u);
            done = t && q && u && read_number(t, p->t);
            again = done && p->viewed && q == p->views[0].obj && u == p->views[1].obj;
            if (done && !again) {
                forget_views(p);
                done = is_known(p, state) && view_row(q, p->nq, &p->views[0]);
                if (done && !view_row(u, p->nu, &p->views[1])) {
                    PyBuffer_Release(&p->views[0]);
                    done = 0;
                }
                p->viewed = done;
                if (done && p->n_copies == 0) {
                    p->last = Py_NewRef(state);
                    p->last_t = *p->t;
                }
            }
            Py_XDECREF(t);
            Py_XDECREF(q);
            Py_XDECREF(u);
        }
        if (!done || !copy_finite(p->views[0].buf, p->nq, p->q) || !copy_finite(p->views[1].buf, p->nu, p->u)) {
            PyErr_Clear();
            return 0;
        }
        if (again && p->nz == 0)
            return p->n_near == 0 || read_near(p, state);
        if (is_empty(state, name_x) && is_empty(state, name_memory))
            memcpy(p->z, p->z_start, 8 * (size_t)p->nz);
        else if (!read_attribute(state, name_x, p->nx, p->z, 0)
                 || !read_attribute(state, name_memory, p->nz - p->nx, p->z + p->nx, 0))
            return 0;
        return p->n_near == 0 || read_near(p, state);
    }
    if (!PyTuple_CheckExact(state) || !p->with_tuples)
        return 0;
    Py_ssize_t n = PyTuple_Size(state), timed = n == 3;
    if (n != 2 && n != 3)
        return 0;
    *p->t = 0.0;
    if (timed && !read_number(PyTuple_GetItem(state, 0), p->t))
        return 0;
    memcpy(p->z, p->z_start, 8 * (size_t)p->nz);
    return read_row(PyTuple_GetItem(state, timed), p->nq, p->q, 1)
        && read_row(PyTuple_GetItem(state, timed + 1), p->nu, p->u, 1);
}

/* ---------------------------------------------------------------- entry points */
#define I int64_t
#define A1 a[0]
#define A2 A1, a[1]
#define A3 A2, a[2]
#define A4 A3, a[3]
#define A5 A4, a[4]
#define A6 A5, a[5]
#define A7 A6, a[6]
#define A8 A7, a[7]
#define A9 A8, a[8]
#define A10 A9, a[9]
#define A12 A10, a[10], a[11]
#define A16 A12, a[12], a[13], a[14], a[15]
#define A20 A16, a[16], a[17], a[18], a[19]

static int32_t take_step(const Step *s, double t)
{
    const int64_t *a = s->a;
    void *f = (void *)(intptr_t)s->address;
    if (s->with_time)
        switch (s->n) {
        case 2: return ((int32_t(*)(double, I, I))f)(t, A2);
        case 3: return ((int32_t(*)(double, I, I, I))f)(t, A3);
        case 5: return ((int32_t(*)(double, I, I, I, I, I))f)(t, A5);
        }
    else
        switch (s->n) {
        case 2: return ((int32_t(*)(I, I))f)(A2);
        case 3: return ((int32_t(*)(I, I, I))f)(A3);
        case 4: return ((int32_t(*)(I, I, I, I))f)(A4);
        case 5: return ((int32_t(*)(I, I, I, I, I))f)(A5);
        case 6: return ((int32_t(*)(I, I, I, I, I, I))f)(A6);
        case 7: return ((int32_t(*)(I, I, I, I, I, I, I))f)(A7);
        case 8: return ((int32_t(*)(I, I, I, I, I, I, I, I))f)(A8);
        case 9: return ((int32_t(*)(I, I, I, I, I, I, I, I, I))f)(A9);
        case 10: return ((int32_t(*)(I, I, I, I, I, I, I, I, I, I))f)(A10);
        case 12: return ((int32_t(*)(I, I, I, I, I, I, I, I, I, I, I, I))f)(A12);
        case 16: return ((int32_t(*)(I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I))f)(A16);
        case 20:
            return ((int32_t(*)(I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I))f)(A20);
        }
    return -1;
}

/* Steps between entry points, of the same kind as these. */
static int32_t step_negate(int64_t n, int64_t x)
{
    double *values = (double *)(intptr_t)x;
    for (int64_t k = 0; k < n; k++)
        values[k] = -values[k];
    return OK;
}

/* Fill a symmetric matrix from its lower triangle, with rows and columns in another order. */
static int32_t step_symmetric(int64_t n, int64_t lower, int64_t order, int64_t full)
{
    const double *from = (const double *)(intptr_t)lower;
    const int64_t *place = (const int64_t *)(intptr_t)order;
    double *to = (double *)(intptr_t)full;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double value = from[n * i + j] + 0.0;
            to[n * place[i] + place[j]] = value;
            to[n * place[j] + place[i]] = value;
        }
    return OK;
}

/* Scatter numbers to places of an array that is zero elsewhere. */
static int32_t step_scatter(int64_t n, int64_t values, int64_t places, int64_t out)
{
    const double *from = (const double *)(intptr_t)values;
    const int64_t *place = (const int64_t *)(intptr_t)places;
    double *to = (double *)(intptr_t)out;
    for (int64_t k = 0; k < n; k++)
        to[place[k]] = from[k];
    return OK;
}

/* Gather a column: out[k] = values[first + k * stride]. */
static int32_t step_gather(int64_t n, int64_t values, int64_t stride, int64_t out)
{
    const double *from = (const double *)(intptr_t)values;
    double *to = (double *)(intptr_t)out;
    for (int64_t k = 0; k < n; k++)
        to[k] = from[k * stride];
    return OK;
}

static int holds(const Check *c)
{
    double sum = 0.0;
    switch (c->kind) {
    case FINITE:
        for (Py_ssize_t k = 0; k < c->n; k++)
            sum += c->x[k] - c->x[k];
        return sum == 0.0;
    case AT_MOST:
        for (Py_ssize_t k = 0; k < c->n; k++)
            if (!(c->x[k] <= c->bound))
                return 0;
        return 1;
    default:
        for (Py_ssize_t k = 0; k < c->n; k++)
            if (!(c->x[k] > c->bound))
                return 0;
        return 1;
    }
}

static int compute(const Call *c)
{
    copy_all(c->copies, c->n_copies);
    for (Py_ssize_t k = 0; k < c->n_steps; k++)
        if (take_step(&c->steps[k], *c->pack->t) != OK)
            return 0;
    for (Py_ssize_t k = 0; k < c->n_checks; k++)
        if (!holds(&c->checks[k]))
            return 0;
    return 1;
}

/* ---------------------------------------------------------------- calls */
static int write_out(PyObject *out, const Array *from)
{
    Py_buffer view;
    if (PyObject_GetBuffer(out, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) {
        PyErr_Clear();
        return 0;
    }
    int fits = view.itemsize == 8 && view.format && strcmp(view.format, "d") == 0 && view.ndim == from->axes;
    for (int k = 0; fits && k < from->axes; k++)
        fits = view.shape[k] == from->shape[k];
    if (fits)
        memcpy(view.buf, from->to, 8 * (size_t)from->size);
    PyBuffer_Release(&view);
    return fits;
}

static PyObject *answer(Call *c, PyObject *out)
{
    if (c->form == FIELDS_OF_FLOATS) {
        PyObject *found = PyType_GenericNew((PyTypeObject *)c->type, no_arguments, NULL);
        for (Py_ssize_t k = 0; found && k < c->results[0].size; k++) {
            PyObject *value = PyFloat_FromDouble(c->results[0].to[k]);
            if (!value || PyObject_GenericSetAttr(found, PyTuple_GetItem(c->names, k), value) != 0)
                Py_CLEAR(found);
            Py_XDECREF(value);
        }
        return found;
    }
    if (c->form == ATTRIBUTE) {
        PyObject *found = PyType_GenericNew((PyTypeObject *)c->type, no_arguments, NULL);
        PyObject *array = new_array(&c->results[0]);
        if (!found || !array || PyObject_GenericSetAttr(found, PyTuple_GetItem(c->names, 0), array) != 0)
            Py_CLEAR(found);
        Py_XDECREF(array);
        return found;
    }
    PyObject *first = out;
    if (out)
        Py_INCREF(out);
    else
        first = new_array(&c->results[0]);
    if (c->form == SINGLE || !first)
        return first;
    PyObject *found = PyType_GenericAlloc((PyTypeObject *)c->type, c->n_results);
    if (!found || PyTuple_SetItem(found, 0, first) != 0)
        return NULL;
    for (Py_ssize_t k = 1; k < c->n_results; k++) {
        PyObject *array = new_array(&c->results[k]);
        if (!array || PyTuple_SetItem(found, k, array) != 0) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

/* one(state, input, ..., out): the results at a state, or None. Inputs that are None, or not given, are zero. */
static PyObject *call_one(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    Call *c = (Call *)self;
    PyObject *out = NULL;
    if (count < 1 || count > 2 + c->n_inputs || !is_free(c->pack) || !read_state(c->pack, given[0]))
        Py_RETURN_NONE;
    for (Py_ssize_t k = 0; k < c->n_inputs; k++) {
        if (k + 1 >= count || given[k + 1] == Py_None)
            memset(c->inputs[k].to, 0, 8 * (size_t)c->inputs[k].size);
        else if (!read_array(given[k + 1], &c->inputs[k], c->inputs[k].to, 1))
            Py_RETURN_NONE;
    }
    if (count == 2 + c->n_inputs && given[count - 1] != Py_None)
        out = given[count - 1];
    if (!compute(c) || (out && !write_out(out, &c->results[0])))
        Py_RETURN_NONE;
    return answer(c, out);
}

/* many(first, last, t, q, u, z, near, inputs, results): rows of addresses, each a pair (address, doubles from row to row).
 * Return the first row that cannot be computed this way, or `last`. The interpreter lock is released. */
typedef struct { char *at; Py_ssize_t step; } Rows;

static int as_rows(PyObject *pair, Rows *rows)
{
    long long at, step;
    if (!PyArg_ParseTuple(pair, "LL", &at, &step))
        return 0;
    rows->at = (char *)(intptr_t)at;
    rows->step = (Py_ssize_t)(8 * step);
    return 1;
}

static PyObject *call_many(PyObject *self, PyObject *arguments)
{
    Call *c = (Call *)self;
    Pack *p = c->pack;
    Py_ssize_t first, last, k, j;
    PyObject *state[5], *inputs, *results;
    Rows t, q, u, z, near, in[4], out[8];
    if (!PyArg_ParseTuple(arguments, "nnOOOOOO!O!", &first, &last, &state[0], &state[1], &state[2], &state[3], &state[4],
                          &PyTuple_Type, &inputs, &PyTuple_Type, &results))
        return NULL;
    if (PyTuple_Size(inputs) != c->n_inputs || PyTuple_Size(results) != c->n_results || c->n_inputs > 4 || c->n_results > 8) {
        PyErr_SetString(PyExc_ValueError, "many: wrong number of inputs or results");
        return NULL;
    }
    if (!as_rows(state[0], &t) || !as_rows(state[1], &q) || !as_rows(state[2], &u) || !as_rows(state[3], &z)
        || !as_rows(state[4], &near))
        return NULL;
    for (j = 0; j < c->n_inputs; j++)
        if (!as_rows(PyTuple_GetItem(inputs, j), &in[j]))
            return NULL;
    for (j = 0; j < c->n_results; j++)
        if (!as_rows(PyTuple_GetItem(results, j), &out[j]))
            return NULL;
    Py_BEGIN_ALLOW_THREADS
    for (k = first; k < last; k++) {
        copy_all(p->copies, p->n_copies);
        memcpy(p->t, t.at + k * t.step, 8);
        memcpy(p->q, q.at + k * q.step, 8 * (size_t)p->nq);
        memcpy(p->u, u.at + k * u.step, 8 * (size_t)p->nu);
        if (p->nz)
            memcpy(p->z, z.at + k * z.step, 8 * (size_t)p->nz);
        const char *cut = near.at + k * near.step;
        for (j = 0; j < p->n_near; j++) {
            memcpy(p->near[j].to, cut, 8 * (size_t)p->near[j].n);
            cut += 8 * p->near[j].n;
        }
        for (j = 0; j < c->n_inputs; j++)
            memcpy(c->inputs[j].to, in[j].at + k * in[j].step, 8 * (size_t)c->inputs[j].size);
        if (!compute(c))
            break;
        for (j = 0; j < c->n_results; j++)
            memcpy(out[j].at + k * out[j].step, c->results[j].to, 8 * (size_t)c->results[j].size);
    }
    Py_END_ALLOW_THREADS
    return PyLong_FromSsize_t(k);
}

/* run(): compute with what the arrays hold. Return whether all went well. The interpreter lock is released. */
static PyObject *call_run(PyObject *self, PyObject *unused)
{
    int done;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    done = compute((Call *)self);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(done);
}

/* ---------------------------------------------------------------- making */
static int as_copies(PyObject *given, Copy **copies, Py_ssize_t *n)
{
    *n = PyTuple_Size(given);
    *copies = PyMem_Calloc((size_t)*n + 1, sizeof(Copy));
    for (Py_ssize_t k = 0; *copies && k < *n; k++) {
        long long to, from, size;
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, k), "LLL", &to, &from, &size))
            return 0;
        (*copies)[k] = (Copy){(char *)(intptr_t)to, (const char *)(intptr_t)from, (Py_ssize_t)size};
    }
    return *copies != NULL;
}

static int as_array(PyObject *given, Array *a)
{
    PyObject *shape;
    long long to;
    if (!PyArg_ParseTuple(given, "LO!", &to, &PyTuple_Type, &shape))
        return 0;
    a->to = (double *)(intptr_t)to;
    a->axes = (int)PyTuple_Size(shape);
    a->size = 1;
    if (a->axes > MOST_AXES) {
        PyErr_SetString(PyExc_ValueError, "too many axes");
        return 0;
    }
    for (int k = 0; k < a->axes; k++) {
        a->shape[k] = PyLong_AsSsize_t(PyTuple_GetItem(shape, k));
        a->size *= a->shape[k];
    }
    return !PyErr_Occurred();
}

static PyObject *new_pack(PyTypeObject *type, PyObject *arguments, PyObject *unused)
{
    PyObject *state_type, *known, *copies, *near, *keep;
    long long t, q, u, z, z_start;
    Py_ssize_t nq, nu, nx, nz;
    PyObject *inside;
    unsigned long thread;
    int with_tuples;
    (void)unused;
    if (!PyArg_ParseTuple(arguments, "OO!(nnnn)(LLLLL)O!O!pO!kO", &state_type, &PyList_Type, &known, &nq, &nu, &nx, &nz, &t, &q, &u,
                          &z, &z_start, &PyTuple_Type, &copies, &PyTuple_Type, &near, &with_tuples, &PySet_Type, &inside, &thread, &keep))
        return NULL;
    Pack *p = (Pack *)PyType_GenericAlloc(type, 0);
    if (!p)
        return NULL;
    Py_INCREF(p->state_type = state_type);
    Py_INCREF(p->known = known);
    Py_INCREF(p->keep = keep);
    Py_INCREF(p->inside = inside);
    p->thread = thread;
    p->nq = nq, p->nu = nu, p->nx = nx, p->nz = nz, p->with_tuples = with_tuples;
    p->t = (double *)(intptr_t)t, p->q = (double *)(intptr_t)q, p->u = (double *)(intptr_t)u, p->z = (double *)(intptr_t)z;
    p->z_start = (const double *)(intptr_t)z_start;
    p->n_near = PyTuple_Size(near);
    p->near = PyMem_Calloc((size_t)p->n_near + 1, sizeof(Near));
    if (!p->near || !as_copies(copies, &p->copies, &p->n_copies)) {
        Py_DECREF(p);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (Py_ssize_t k = 0; k < p->n_near; k++) {
        long long to;
        if (!PyArg_ParseTuple(PyTuple_GetItem(near, k), "OLn", &p->near[k].name, &to, &p->near[k].n)) {
            p->n_near = k;
            Py_DECREF(p);
            return NULL;
        }
        Py_INCREF(p->near[k].name);
        p->near[k].to = (double *)(intptr_t)to;
    }
    return (PyObject *)p;
}

static void free_pack(PyObject *self)
{
    Pack *p = (Pack *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t k = 0; k < p->n_near; k++)
        Py_XDECREF(p->near[k].name);
    forget_views(p);
    Py_XDECREF(p->inside);
    PyMem_Free(p->near);
    PyMem_Free(p->copies);
    Py_XDECREF(p->state_type);
    Py_XDECREF(p->known);
    Py_XDECREF(p->keep);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *new_call(PyTypeObject *type, PyObject *arguments, PyObject *unused)
{
    PyObject *pack, *copies, *steps, *checks, *inputs, *results, *kind, *names;
    int form;
    (void)unused;
    if (!PyArg_ParseTuple(arguments, "OO!O!O!O!O!iOO!", &pack, &PyTuple_Type, &copies, &PyTuple_Type, &steps, &PyTuple_Type,
                          &checks, &PyTuple_Type, &inputs, &PyTuple_Type, &results, &form, &kind, &PyTuple_Type, &names))
        return NULL;
    Call *c = open_numpy() ? (Call *)PyType_GenericAlloc(type, 0) : NULL;
    if (!c)
        return NULL;
    Py_INCREF(pack);
    c->pack = (Pack *)pack;
    Py_INCREF(c->type = kind);
    Py_INCREF(c->names = names);
    c->form = form;
    Py_ssize_t n_steps = PyTuple_Size(steps), n_checks = PyTuple_Size(checks), n_inputs = PyTuple_Size(inputs);
    Py_ssize_t n_results = PyTuple_Size(results);
    c->steps = PyMem_Calloc((size_t)n_steps + 1, sizeof(Step));
    c->checks = PyMem_Calloc((size_t)n_checks + 1, sizeof(Check));
    c->inputs = PyMem_Calloc((size_t)n_inputs + 1, sizeof(Array));
    c->results = PyMem_Calloc((size_t)n_results + 1, sizeof(Array));
    if (!c->steps || !c->checks || !c->inputs || !c->results) {
        PyErr_NoMemory();
        goto failed;
    }
    if (!as_copies(copies, &c->copies, &c->n_copies))
        goto failed;
    for (Py_ssize_t k = 0; k < n_steps; k++, c->n_steps++) {  /* (address, with time, (arguments)) */
        PyObject *values;
        long long address;
        Step *s = &c->steps[k];
        if (!PyArg_ParseTuple(PyTuple_GetItem(steps, k), "LpO!", &address, &s->with_time, &PyTuple_Type, &values))
            goto failed;
        s->address = address;
        s->n = (int)PyTuple_Size(values);
        for (int j = 0; j < s->n && j < MOST_ARGUMENTS; j++)
            s->a[j] = PyLong_AsLongLong(PyTuple_GetItem(values, j));
        if (PyErr_Occurred())
            goto failed;
    }
    for (Py_ssize_t k = 0; k < n_checks; k++, c->n_checks++) {  /* (address, n, kind, bound) */
        long long x;
        Check *h = &c->checks[k];
        if (!PyArg_ParseTuple(PyTuple_GetItem(checks, k), "Lnid", &x, &h->n, &h->kind, &h->bound))
            goto failed;
        h->x = (const double *)(intptr_t)x;
    }
    for (Py_ssize_t k = 0; k < n_inputs; k++, c->n_inputs++)
        if (!as_array(PyTuple_GetItem(inputs, k), &c->inputs[k]))
            goto failed;
    for (Py_ssize_t k = 0; k < n_results; k++, c->n_results++)
        if (!as_array(PyTuple_GetItem(results, k), &c->results[k]))
            goto failed;
    return (PyObject *)c;
failed:
    Py_DECREF(c);
    return NULL;
}

static void free_call(PyObject *self)
{
    Call *c = (Call *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(c->results);
    PyMem_Free(c->inputs);
    PyMem_Free(c->checks);
    PyMem_Free(c->steps);
    PyMem_Free(c->copies);
    Py_XDECREF((PyObject *)c->pack);
    Py_XDECREF(c->type);
    Py_XDECREF(c->names);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef one_method = {"one", (PyCFunction)(void (*)(void))call_one, METH_FASTCALL,
                                 "one(state, input, ..., out): the results at a state, or None."};

/* The function one(...) of this call, which Python calls with the least overhead. */
static PyObject *get_one(PyObject *self, void *unused)
{
    (void)unused;
    return PyCFunction_NewEx(&one_method, self, NULL);
}

static PyMethodDef call_methods[] = {
    {"run", call_run, METH_NOARGS, "run(): compute with what the arrays hold; whether all went well."},
    {"many", call_many, METH_VARARGS, "many(first, last, t, q, u, z, near, inputs, results): rows of states."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef call_members[] = {{"one", get_one, NULL, "the function for one state", NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot pack_slots[] = {{Py_tp_new, new_pack}, {Py_tp_dealloc, free_pack}, {0, NULL}};
static PyType_Slot call_slots[] = {
    {Py_tp_new, new_call}, {Py_tp_dealloc, free_call}, {Py_tp_methods, call_methods}, {Py_tp_getset, call_members}, {0, NULL}};
static PyType_Spec pack_spec = {"treemech_caller.Pack", sizeof(Pack), 0, Py_TPFLAGS_DEFAULT, pack_slots};
static PyType_Spec call_spec = {"treemech_caller.Call", sizeof(Call), 0, Py_TPFLAGS_DEFAULT, call_slots};

/* ---------------------------------------------------------------- states */
typedef struct {
    PyObject_HEAD
    Pack *pack;
    Py_ssize_t n_euler, *euler;
    double rounded, most;  /* how far Euler parameters may miss length 1; numbers that may be degrees */
    const double *reference;
    PyObject *places_q, *places_u;                       /* name -> first + 2^32 count */
    PyObject *active, *cut_type, *mechanism, *coordinates;  /* cut_type: None without chords; mechanism: a weak reference */
} Maker;

/* Write the numbers of one hinge. Return 1, or 0 if they are not plain. */
static int read_value(PyObject *value, Py_ssize_t n, double *to)
{
    if (n == 1 && (PyFloat_Check(value) || PyLong_CheckExact(value))) {
        *to = PyFloat_AsDouble(value);
        if (*to == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return 1;
    }
    int list = PyList_CheckExact(value);
    if (list || PyTuple_CheckExact(value)) {
        if ((list ? PyList_Size(value) : PyTuple_Size(value)) != n)
            return 0;
        for (Py_ssize_t k = 0; k < n; k++) {
            PyObject *item = list ? PyList_GetItem(value, k) : PyTuple_GetItem(value, k);
            if ((!PyFloat_Check(item) && !PyLong_CheckExact(item)) || !read_value(item, 1, to + k))
                return 0;
        }
        return 1;
    }
    return read_row(value, n, to, 1);
}

static int read_given(PyObject *given, PyObject *places, Py_ssize_t size, double *to, double most)
{
    if (given == Py_None)
        return 1;
    if (!PyDict_CheckExact(given))
        return read_row(given, size, to, 1);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(given, &at, &key, &value)) {
        PyObject *place = PyUnicode_CheckExact(key) ? PyDict_GetItemWithError(places, key) : NULL;
        if (!place) {
            PyErr_Clear();
            return 0;
        }
        long long both = PyLong_AsLongLong(place);
        Py_ssize_t first = (Py_ssize_t)(both & 0xffffffffLL), n = (Py_ssize_t)(both >> 32);
        if (!read_value(value, n, to + first))
            return 0;
        for (Py_ssize_t k = 0; k < n; k++)
            if (!(fabs(to[first + k]) < most))
                return 0;
    }
    return 1;
}

static int set_new(PyObject *object, PyObject *name, PyObject *value)
{
    if (!value)
        return -1;
    int failed = PyObject_GenericSetAttr(object, name, value);
    Py_DECREF(value);
    return failed;
}

static PyObject *new_cut(Maker *m, PyObject *t, PyObject *q, PyObject *u)
{
    if (m->cut_type == Py_None)
        return PyDict_New();
    PyObject *mechanism = PyObject_CallNoArgs(m->mechanism);
    PyObject *cut = mechanism ? PyType_GenericNew((PyTypeObject *)m->cut_type, no_arguments, NULL) : NULL;
    if (cut && (PyObject_GenericSetAttr(cut, name_mechanism, mechanism) != 0 || PyObject_GenericSetAttr(cut, name_t, t) != 0
                || PyObject_GenericSetAttr(cut, name_q, q) != 0 || PyObject_GenericSetAttr(cut, name_u, u) != 0
                || PyObject_GenericSetAttr(cut, name_near, Py_None) != 0 || PyObject_GenericSetAttr(cut, name_found, Py_None) != 0))
        Py_CLEAR(cut);
    Py_XDECREF(mechanism);
    return cut;
}

/* state(t, q, u): a state, or None if the numbers are not plain. */
static PyObject *maker_state(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    Maker *m = (Maker *)self;
    Pack *p = m->pack;
    double time;
    if (count != 3 || !is_free(p) || !read_number(given[0], &time))
        Py_RETURN_NONE;
    memcpy(p->q, m->reference, 8 * (size_t)p->nq);
    memset(p->u, 0, 8 * (size_t)p->nu);
    int named = PyDict_CheckExact(given[1]);
    if (!read_given(given[1], m->places_q, p->nq, p->q, named ? m->most : INFINITY)
        || !read_given(given[2], m->places_u, p->nu, p->u, INFINITY))
        Py_RETURN_NONE;
    for (Py_ssize_t k = 0; given[1] != Py_None && k < m->n_euler; k++) {
        double *e = p->q + m->euler[k];
        double length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        if (!(fabs(length - 1.0) < m->rounded))
            Py_RETURN_NONE;
        for (int j = 0; j < 4; j++)
            e[j] /= length;
    }
    memcpy(p->z, p->z_start, 8 * (size_t)p->nz);
    PyObject *state = PyType_GenericNew((PyTypeObject *)p->state_type, no_arguments, NULL);
    PyObject *t = PyFloat_FromDouble(time);
    PyObject *q = new_row(p->q, p->nq), *u = new_row(p->u, p->nu);
    if (!state || !t || !q || !u || PyObject_GenericSetAttr(state, name_t, t) != 0 || PyObject_GenericSetAttr(state, name_q, q) != 0
        || PyObject_GenericSetAttr(state, name_u, u) != 0 || set_new(state, name_cut, new_cut(m, t, q, u)) != 0
        || set_new(state, name_x, new_row(p->z, p->nx)) != 0
        || set_new(state, name_memory, new_row(p->z + p->nx, p->nz - p->nx)) != 0
        || PyObject_GenericSetAttr(state, name_active, m->active) != 0
        || PyObject_GenericSetAttr(state, name_coordinates, m->coordinates) != 0)
        Py_CLEAR(state);
    Py_XDECREF(t);
    Py_XDECREF(q);
    Py_XDECREF(u);
    return state;
}

static PyObject *new_maker(PyTypeObject *type, PyObject *arguments, PyObject *unused)
{
    PyObject *pack, *euler, *places_q, *places_u, *active, *cut_type, *mechanism, *coordinates;
    double rounded, most;
    long long reference;
    (void)unused;
    if (!PyArg_ParseTuple(arguments, "OO!ddLO!O!OOOO", &pack, &PyTuple_Type, &euler, &rounded, &most, &reference, &PyDict_Type,
                          &places_q, &PyDict_Type, &places_u, &active, &cut_type, &mechanism, &coordinates))
        return NULL;
    Maker *m = open_numpy() ? (Maker *)PyType_GenericAlloc(type, 0) : NULL;
    if (!m)
        return NULL;
    m->pack = (Pack *)Py_NewRef(pack);
    m->places_q = Py_NewRef(places_q), m->places_u = Py_NewRef(places_u);
    m->active = Py_NewRef(active), m->cut_type = Py_NewRef(cut_type), m->mechanism = Py_NewRef(mechanism);
    m->coordinates = Py_NewRef(coordinates);
    m->rounded = rounded, m->most = most, m->reference = (const double *)(intptr_t)reference;
    m->n_euler = PyTuple_Size(euler);
    m->euler = PyMem_Calloc((size_t)m->n_euler + 1, sizeof(Py_ssize_t));
    for (Py_ssize_t k = 0; m->euler && k < m->n_euler; k++)
        m->euler[k] = PyLong_AsSsize_t(PyTuple_GetItem(euler, k));
    if (!m->euler || PyErr_Occurred()) {
        Py_DECREF(m);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return (PyObject *)m;
}

static void free_maker(PyObject *self)
{
    Maker *m = (Maker *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *held[] = {(PyObject *)m->pack, m->places_q, m->places_u, m->active, m->cut_type, m->mechanism, m->coordinates};
    for (size_t k = 0; k < sizeof held / sizeof *held; k++)
        Py_XDECREF(held[k]);
    PyMem_Free(m->euler);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef state_method = {"state", (PyCFunction)(void (*)(void))maker_state, METH_FASTCALL,
                                   "state(t, q, u): a state, or None if the numbers are not plain."};

static PyObject *get_state(PyObject *self, void *unused)
{
    (void)unused;
    return PyCFunction_NewEx(&state_method, self, NULL);
}

static PyGetSetDef maker_members[] = {{"state", get_state, NULL, "the function that makes a state", NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot maker_slots[] = {{Py_tp_new, new_maker}, {Py_tp_dealloc, free_maker}, {Py_tp_getset, maker_members}, {0, NULL}};
static PyType_Spec maker_spec = {"treemech_caller.Maker", sizeof(Maker), 0, Py_TPFLAGS_DEFAULT, maker_slots};

/* Open numpy's C API, which the calls need: a numpy that does not fit the headers of the build is refused here. */
static PyObject *module_open(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return open_numpy() ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef module_methods[] = {{"open", module_open, METH_NOARGS, "open(): open numpy's C API."}, {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "treemech_caller", "Calls of the compiled core.", -1, module_methods, NULL,
                                 NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_treemech_caller(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    name_t = PyUnicode_InternFromString("t");
    name_q = PyUnicode_InternFromString("q");
    name_u = PyUnicode_InternFromString("u");
    name_x = PyUnicode_InternFromString("x");
    name_memory = PyUnicode_InternFromString("memory");
    name_cut = PyUnicode_InternFromString("cut");
    name_active = PyUnicode_InternFromString("active");
    name_mechanism = PyUnicode_InternFromString("mechanism");
    name_near = PyUnicode_InternFromString("near");
    name_found = PyUnicode_InternFromString("found");
    name_coordinates = PyUnicode_InternFromString("coordinates");
    no_arguments = PyTuple_New(0);
    struct { const char *name; PyType_Spec *spec; } types[] = {{"Pack", &pack_spec}, {"Call", &call_spec}, {"Maker", &maker_spec}};
    for (int k = 0; k < 3; k++) {
        PyObject *type = PyType_FromSpec(types[k].spec);
        if (!type || PyModule_AddObjectRef(module, types[k].name, type) != 0)
            return NULL;
        Py_DECREF(type);
    }
    struct { const char *name; void *address; } steps[] = {
        {"negate", (void *)step_negate}, {"symmetric", (void *)step_symmetric}, {"scatter", (void *)step_scatter},
        {"gather", (void *)step_gather}};
    for (int k = 0; k < 4; k++) {
        PyObject *address = PyLong_FromVoidPtr(steps[k].address);
        if (!address || PyModule_AddObjectRef(module, steps[k].name, address) != 0)
            return NULL;
        Py_DECREF(address);
    }
    return module;
}
