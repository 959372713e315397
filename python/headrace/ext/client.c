/* SPDX-License-Identifier: Apache-2.0 */
/* The C client layer (headrace/client.h) for Python: optimizers and savers. A variable goes over as a tuple (handle, read, initial value or
 * None, initializer, is_resource), a gradient as a Tensor, None, or a tuple (indices, values, dense shape) of slices. */
#include "ext.h"
#include "capi/handles.h"
#include "files.h"
#include "headrace/client.h"

static const char client_capsule[] = "headrace.optimizer";

static PyObject* client_fail(TF_Status* status, GraphObject* g) { return hrpy_fail_build(status->status, g); }

/* --- values over and back ------------------------------------------------------------------------------------------------------------- */
static bool client_endpoint(PyObject* o, GraphObject* g, TF_Output* out) {
  *out = (TF_Output){NULL, -1};
  if (o == Py_None) return true;
  if (!hrpy_output(o, out)) return false;
  if (hrpy_graph_of(o) != g) return PyErr_Format(PyExc_ValueError, "%R is of another graph", o), false;
  return true;
}

static bool client_variable(PyObject* tuple, GraphObject* g, HR_Variable* out) {
  PyObject *handle, *read, *initial, *initializer;
  int is_resource;
  memset(out, 0, sizeof *out);
  if (!PyTuple_Check(tuple)) return PyErr_Format(PyExc_TypeError, "%R is not a variable's parts", tuple), false;
  if (!PyArg_ParseTuple(tuple, "OOOOp", &handle, &read, &initial, &initializer, &is_resource)) return false;
  if (!client_endpoint(handle, g, &out->handle) || !client_endpoint(read, g, &out->read) ||
      !client_endpoint(initial, g, &out->initial_value))
    return false;
  if (!out->handle.oper || !out->read.oper || !hrpy_is_operation(initializer)) 
    return PyErr_SetString(PyExc_TypeError, "a variable's parts are incomplete"), false;
  out->initializer = (TF_Operation*)((OperationObject*)initializer)->node;
  out->is_initialized = (TF_Output){NULL, -1};
  out->is_resource = is_resource != 0;
  out->dtype = (TF_DataType)(hr_value_type(hrpy_value(read)) % HR_DTYPE_REF);
  return true;
}

static PyObject* client_endpoint_object(GraphObject* g, TF_Output o) { return o.oper ? hrpy_tensor(g, o) : Py_NewRef(Py_None); }

static PyObject* client_variable_object(GraphObject* g, const HR_Variable* v) {
  PyObject *handle = client_endpoint_object(g, v->handle), *read = client_endpoint_object(g, v->read);
  PyObject *initial = client_endpoint_object(g, v->initial_value), *initializer = hrpy_operation(g, v->initializer);
  PyObject* out = NULL;
  if (handle && read && initial && initializer)
    out = Py_BuildValue("OOOOO", handle, read, initial, initializer, v->is_resource ? Py_True : Py_False);
  Py_XDECREF(handle);
  Py_XDECREF(read);
  Py_XDECREF(initial);
  Py_XDECREF(initializer);
  return out;
}

static bool client_gradient(PyObject* o, GraphObject* g, HR_Gradient* out) {
  const TF_Output none = {NULL, -1};
  *out = (HR_Gradient){none, none, none, none, 0};
  if (!PyTuple_Check(o)) return client_endpoint(o, g, &out->dense);
  PyObject *indices, *values, *shape;
  if (!PyArg_ParseTuple(o, "OOO", &indices, &values, &shape)) return false;
  out->is_slices = 1;
  return client_endpoint(indices, g, &out->indices) && client_endpoint(values, g, &out->values) &&
         client_endpoint(shape, g, &out->dense_shape);
}

/* --- optimizers ----------------------------------------------------------------------------------------------------------------------- */
static HR_Optimizer* client_optimizer(PyObject* capsule) { return PyCapsule_GetPointer(capsule, client_capsule); }

/* The graph outlives its optimizers: a capsule holds it. */
static GraphObject* client_graph(PyObject* capsule) { return PyCapsule_GetContext(capsule); }

static void client_free_optimizer(PyObject* capsule) {
  HR_DeleteOptimizer(client_optimizer(capsule));
  Py_XDECREF((PyObject*)client_graph(capsule));
}

static PyObject* client_new_optimizer(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* graph;
  const char *rule, *name;
  if (!PyArg_ParseTuple(args, "Oss", &graph, &rule, &name)) return NULL;
  GraphObject* g = hrpy_graph(graph);
  if (!g) return NULL;
  TF_Status status = {NULL};
  HR_Optimizer* o = HR_NewOptimizer(hr_capi_to_graph(g->graph), rule, name, &status);
  if (status.status) return client_fail(&status, g);
  PyObject* capsule = PyCapsule_New(o, client_capsule, NULL);
  if (!capsule) return HR_DeleteOptimizer(o), NULL;
  PyCapsule_SetContext(capsule, Py_NewRef((PyObject*)g));
  PyCapsule_SetDestructor(capsule, client_free_optimizer);
  return capsule;
}

static PyObject* client_set_hyperparameter(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *capsule, *value;
  const char* name;
  if (!PyArg_ParseTuple(args, "OsO", &capsule, &name, &value)) return NULL;
  HR_Optimizer* o = client_optimizer(capsule);
  if (!o) return NULL;
  TF_Status status = {NULL};
  TF_Output tensor;
  if (hrpy_is_tensor(value)) {
    if (!client_endpoint(value, client_graph(capsule), &tensor)) return NULL;
    HR_OptimizerSetTensor(o, name, tensor, &status);
  } else {
    double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) return NULL;
    HR_OptimizerSetFloat(o, name, number, &status);
  }
  if (status.status) return client_fail(&status, client_graph(capsule));
  Py_RETURN_NONE;
}

static PyObject* client_set_scope(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* capsule;
  const char *slots, *scope;
  if (!PyArg_ParseTuple(args, "Oss", &capsule, &slots, &scope)) return NULL;
  HR_Optimizer* o = client_optimizer(capsule);
  if (!o) return NULL;
  TF_Status status = {NULL};
  HR_OptimizerSetScope(o, slots, scope, &status);
  if (status.status) return client_fail(&status, client_graph(capsule));
  Py_RETURN_NONE;
}

/* The arrays of gradients and variables for one call; freed together. */
typedef struct {
  HR_Gradient* gradients;
  HR_Variable* variables;
  HR_Variable step;
  int count;
  bool has_step;
} client_pairs_t;

static bool client_take_pairs(PyObject* gradients, PyObject* variables, PyObject* step, GraphObject* g, client_pairs_t* out) {
  Py_ssize_t n = PyList_GET_SIZE(variables);
  if (PyList_GET_SIZE(gradients) != n || n > INT_MAX / 1024)
    return PyErr_SetString(PyExc_ValueError, "gradients and variables do not pair up"), false;
  out->count = (int)n;
  out->gradients = PyMem_Calloc((size_t)n + 1, sizeof *out->gradients);
  out->variables = PyMem_Calloc((size_t)n + 1, sizeof *out->variables);
  if (!out->gradients || !out->variables) return PyErr_NoMemory(), false;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!client_gradient(PyList_GET_ITEM(gradients, i), g, &out->gradients[i]) ||
        !client_variable(PyList_GET_ITEM(variables, i), g, &out->variables[i]))
      return false;
  out->has_step = step != Py_None;
  return !out->has_step || client_variable(step, g, &out->step);
}

static PyObject* client_apply(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *capsule, *gradients, *variables, *step, *out = NULL;
  const char* name;
  if (!PyArg_ParseTuple(args, "OO!O!Oz", &capsule, &PyList_Type, &gradients, &PyList_Type, &variables, &step, &name)) return NULL;
  HR_Optimizer* o = client_optimizer(capsule);
  if (!o) return NULL;
  GraphObject* g = client_graph(capsule);
  client_pairs_t pairs = {0};
  TF_Status status = {NULL};
  if (client_take_pairs(gradients, variables, step, g, &pairs)) {
    TF_Operation* op =
        HR_OptimizerApply(o, pairs.gradients, pairs.variables, pairs.count, pairs.has_step ? &pairs.step : NULL, name, &status);
    out = status.status ? client_fail(&status, g) : hrpy_operation(g, op);
  }
  PyMem_Free(pairs.gradients);
  PyMem_Free(pairs.variables);
  return out;
}

static PyObject* client_slot_object(HR_Optimizer* o, int i, GraphObject* g) {
  const char* name = NULL;
  TF_Output of = {NULL, -1};
  const HR_Variable* v = HR_OptimizerSlot(o, i, &name, &of);
  PyObject *variable = client_variable_object(g, v), *of_variable = variable ? client_endpoint_object(g, of) : NULL, *out = NULL;
  if (of_variable) out = Py_BuildValue("sOO", name, of_variable, variable);
  Py_XDECREF(variable);
  Py_XDECREF(of_variable);
  return out;
}

/* [(slot name, the variable's handle or None, the slot's parts)...] */
static PyObject* client_slots(PyObject* self, PyObject* capsule) {
  (void)self;
  HR_Optimizer* o = client_optimizer(capsule);
  if (!o) return NULL;
  int n = HR_OptimizerSlotCount(o);
  PyObject* list = PyList_New(n);
  for (int i = 0; list && i < n; ++i) {
    PyObject* slot = client_slot_object(o, i, client_graph(capsule));
    if (!slot) Py_CLEAR(list);
    else PyList_SET_ITEM(list, i, slot);
  }
  return list;
}

/* --- savers --------------------------------------------------------------------------------------------------------------------------- */
static PyObject* client_saver_object(GraphObject* g, const HR_SaverNodes* nodes) {
  PyObject *filename = hrpy_tensor(g, nodes->filename), *save = hrpy_tensor(g, nodes->save), *restore = hrpy_operation(g, nodes->restore),
           *out = NULL;
  if (filename && save && restore) out = PyTuple_Pack(3, filename, save, restore);
  Py_XDECREF(filename);
  Py_XDECREF(save);
  Py_XDECREF(restore);
  return out;
}

/* (graph, name, [variable parts], [key], sharded) -> (filename tensor, save tensor, restore operation) */
static PyObject* client_build_saver(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *graph, *variables, *names, *out = NULL;
  const char* name;
  int sharded;
  if (!PyArg_ParseTuple(args, "OsO!O!p", &graph, &name, &PyList_Type, &variables, &PyList_Type, &names, &sharded)) return NULL;
  GraphObject* g = hrpy_graph(graph);
  Py_ssize_t n = PyList_GET_SIZE(variables);
  if (!g) return NULL;
  if (PyList_GET_SIZE(names) != n || n > INT_MAX / 1024)
    return PyErr_SetString(PyExc_ValueError, "variables and names do not pair up"), NULL;
  HR_Variable* v = PyMem_Calloc((size_t)n + 1, sizeof *v);
  const char** keys = PyMem_Calloc((size_t)n + 1, sizeof *keys);
  bool fine = v && keys;
  if (!fine) PyErr_NoMemory();
  for (Py_ssize_t i = 0; fine && i < n; ++i) {
    keys[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
    fine = keys[i] && client_variable(PyList_GET_ITEM(variables, i), g, &v[i]);
  }
  TF_Status status = {NULL};
  HR_SaverNodes nodes;
  if (fine) {
    HR_BuildSaver(hr_capi_to_graph(g->graph), name, v, keys, (int)n, sharded != 0, &nodes, &status);
    out = status.status ? client_fail(&status, g) : client_saver_object(g, &nodes);
  }
  PyMem_Free(v);
  PyMem_Free(keys);
  return out;
}

PyMethodDef hrpy_client_methods[] = {
    {"new_optimizer", client_new_optimizer, METH_VARARGS, "An optimizer of the C client layer: (graph, rule, name)."},
    {"optimizer_set", client_set_hyperparameter, METH_VARARGS, "Sets a hyperparameter to a number or a scalar tensor."},
    {"optimizer_scope", client_set_scope, METH_VARARGS, "Sets the prefix of slots and the scope of all else."},
    {"optimizer_apply", client_apply, METH_VARARGS, "Adds the updates: (optimizer, gradients, variables, step or None, name)."},
    {"optimizer_slots", client_slots, METH_O, "The slots made so far."},
    {"build_saver", client_build_saver, METH_VARARGS, "Adds the operations of a V2 checkpoint."},
    {"open_checkpoint", hrpy_open_checkpoint, METH_O, "A checkpoint to look into, by its prefix."},
    {"checkpoint_entries", hrpy_checkpoint_entries, METH_O, "[(name, type number, dims)...] of an open checkpoint."},
    {"checkpoint_read", hrpy_checkpoint_read, METH_VARARGS, "The value of a name, as an array."},
    {"open_events", hrpy_open_events, METH_VARARGS, "A new event file: (folder, suffix)."},
    {"events_add", hrpy_events_add, METH_VARARGS, "Adds a serialized Event."},
    {"events_flush", hrpy_events_flush, METH_O, "Brings what was added to the file."},
    {"events_close", hrpy_events_close, METH_O, "Flushes and closes."},
    {"events_path", hrpy_events_path, METH_O, "The file's path."},
    {0}};
