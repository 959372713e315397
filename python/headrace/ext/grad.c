/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients from Python: one call of the C builder. A script's own gradient functions (RegisterGradient, gradient_override_map) are asked
 * for each operation on the way; they build nodes in the ordinary way, while the builder holds the graph's lock, which is why the graph
 * knows who holds it. */
#include "ext.h"
#include "graph/grad.h"

typedef struct {
  GraphObject* graph;
  PyObject* override; /* f(op, [upstream]) -> None (not mine) or a list with a gradient for each input */
} gradient_arg_t;

static bool gradient_values(PyObject* list, GraphObject* g, hr_value_t* out) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* o = PyList_GET_ITEM(list, i);
    out[i] = HR_NO_VALUE;
    if (o == Py_None) continue;
    if (!hrpy_is_tensor(o) || hrpy_graph_of(o) != g) return PyErr_Format(PyExc_ValueError, "%R is no tensor of this graph", o), false;
    out[i] = hrpy_value(o);
  }
  return true;
}

static PyObject* gradient_slices_object(GraphObject* g, hr_value_t values, hr_value_t indices, hr_value_t shape) {
  PyObject *v = hrpy_value_object(g, values), *i = hrpy_value_object(g, indices);
  PyObject* s = shape.node ? hrpy_value_object(g, shape) : Py_NewRef(Py_None);
  PyObject* out = v && i && s ? PyObject_CallFunctionObjArgs(hrpy_hooks.make_slices, v, i, s, NULL) : NULL;
  Py_XDECREF(v);
  Py_XDECREF(i);
  Py_XDECREF(s);
  return out;
}

/* --- overrides --- */
static PyObject* gradient_upstreams(GraphObject* g, hr_grad_ctx_t* ctx) {
  int n = hr_grad_output_count(ctx);
  PyObject* list = PyList_New(n);
  for (int i = 0; list && i < n; ++i) {
    hr_value_t indices, values, shape;
    PyObject* o;
    if (!hr_grad_has_upstream(ctx, i))
      o = Py_NewRef(Py_None);
    else if (hr_grad_upstream_slices(ctx, i, &indices, &values, &shape))
      o = gradient_slices_object(g, values, indices, shape);
    else {
      hr_value_t v = hr_grad_upstream(ctx, i);
      o = v.node ? hrpy_value_object(g, v) : Py_NewRef(Py_None);
    }
    if (!o)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, o);
  }
  return list;
}

static bool gradient_give(hr_grad_ctx_t* ctx, int input, PyObject* o) {
  if (o == Py_None) return true;
  if (hrpy_is_tensor(o)) return hr_grad_give(ctx, input, hrpy_value(o)), true;
  PyObject *v = PyObject_GetAttrString(o, "values"), *i = PyObject_GetAttrString(o, "indices"),
           *s = PyObject_GetAttrString(o, "dense_shape");
  bool fine = v && i && s && hrpy_is_tensor(v) && hrpy_is_tensor(i);
  if (fine)
    hr_grad_give_slices(ctx, input, hrpy_value(i), hrpy_value(v), hrpy_is_tensor(s) ? hrpy_value(s) : HR_NO_VALUE);
  else
    PyErr_Format(PyExc_TypeError, "a gradient function gave %R, which is no gradient", o);
  Py_XDECREF(v);
  Py_XDECREF(i);
  Py_XDECREF(s);
  return fine;
}

/* The exception stays set: gradients() raises it in place of the builder's failure. */
static hr_status_t gradient_override(void* arg, hr_grad_ctx_t* ctx, const hr_node_t* node, bool* out_handled) {
  gradient_arg_t* a = arg;
  *out_handled = false;
  if (PyErr_Occurred()) return HR_ERROR(UNKNOWN, "a gradient function failed");
  PyObject* op = hrpy_node_object(a->graph, (hr_node_t*)(uintptr_t)node);
  PyObject* mine = op ? PyObject_CallFunctionObjArgs(a->override, op, NULL) : NULL; /* a function, or None */
  PyObject *upstreams = NULL, *grads = NULL;
  if (mine && mine != Py_None) {
    *out_handled = true;
    upstreams = gradient_upstreams(a->graph, ctx);
    grads = upstreams ? PyObject_CallFunctionObjArgs(mine, op, upstreams, NULL) : NULL;
    int n = hr_grad_input_count(ctx);
    if (grads && (!PyList_Check(grads) || PyList_GET_SIZE(grads) != n))
      PyErr_Format(PyExc_ValueError, "Num gradients %zd generated for op %R do not match num inputs %d",
                   PyList_Check(grads) ? PyList_GET_SIZE(grads) : -1, op, n);
    for (int i = 0; grads && !PyErr_Occurred() && i < n; ++i) gradient_give(ctx, i, PyList_GET_ITEM(grads, i));
  }
  Py_XDECREF(op);
  Py_XDECREF(mine);
  Py_XDECREF(upstreams);
  Py_XDECREF(grads);
  return PyErr_Occurred() ? HR_ERROR(UNKNOWN, "a gradient function failed") : NULL;
}

/* --- gradients(graph, ys, xs, grad_ys or None, stops, prefix, override or None) --- */
static PyObject* gradient_results(GraphObject* g, const hr_gradient_t* grads, Py_ssize_t n) {
  PyObject* list = PyList_New(n);
  for (Py_ssize_t i = 0; list && i < n; ++i) {
    PyObject* o = grads[i].is_slices    ? gradient_slices_object(g, grads[i].values, grads[i].indices, grads[i].dense_shape)
                  : grads[i].dense.node ? hrpy_value_object(g, grads[i].dense)
                                        : Py_NewRef(Py_None);
    if (!o)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, o);
  }
  return list;
}

static PyObject* gradient_build(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *graph, *ys, *xs, *upstream, *stops, *override, *out = NULL;
  const char* prefix;
  if (!PyArg_ParseTuple(args, "O!O!O!OO!sO", &hrpy_graph_type, &graph, &PyList_Type, &ys, &PyList_Type, &xs, &upstream, &PyList_Type,
                        &stops, &prefix, &override))
    return NULL;
  GraphObject* g = (GraphObject*)graph;
  if (g->finalized) return PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified."), NULL;
  hr_arena_t arena;
  hr_arena_init(&arena);
  Py_ssize_t ny = PyList_GET_SIZE(ys), nx = PyList_GET_SIZE(xs), ns = PyList_GET_SIZE(stops);
  hr_value_t* values = hr_arena_array(&arena, (size_t)(2 * ny + nx + ns) + 1, sizeof *values);
  hr_gradient_t* grads = hr_arena_array(&arena, (size_t)nx + 1, sizeof *grads);
  bool fine = values && grads;
  if (!fine) PyErr_NoMemory();
  fine =
      fine && gradient_values(ys, g, values) && gradient_values(xs, g, values + 2 * ny) && gradient_values(stops, g, values + 2 * ny + nx);
  if (fine && upstream != Py_None) {
    fine = PyList_Check(upstream) && PyList_GET_SIZE(upstream) == ny && gradient_values(upstream, g, values + ny);
    if (!fine && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "grad_ys must have an entry for each of ys");
  }
  if (fine) {
    gradient_arg_t arg = {g, override};
    hr_grad_request_t request = {.prefix = hr_str(prefix),
                                 .ys = values,
                                 .y_count = (int32_t)ny,
                                 .upstream = upstream == Py_None ? NULL : values + ny,
                                 .xs = values + 2 * ny,
                                 .x_count = (int32_t)nx,
                                 .stops = values + 2 * ny + nx,
                                 .stop_count = (int32_t)ns,
                                 .keep_slices = true,
                                 .override = override == Py_None ? NULL : gradient_override,
                                 .override_arg = &arg};
    hrpy_lock(g);
    unsigned long holder = g->holder;
    g->holder = PyThread_get_thread_ident();
    ++g->held;
    hr_status_t status = hr_grad_build(g->graph, &request, grads);
    if (--g->held) g->holder = holder;
    hrpy_unlock(g);
    if (PyErr_Occurred())
      hr_status_release(status);
    else if (status && hr_status_code(status) == HR_NOT_FOUND) {
      PyErr_Format(PyExc_LookupError, "%s", hr_status_message(status));
      hr_status_release(status);
    } else
      out = status ? hrpy_fail_build(status, g) : gradient_results(g, grads, nx);
  }
  hr_arena_deinit(&arena);
  return out;
}

PyMethodDef hrpy_gradient_methods[] = {
    {"gradients", gradient_build, METH_VARARGS, "gradients(graph, ys, xs, grad_ys, stops, prefix, override): tensors, slices or None"},
    {0}};
