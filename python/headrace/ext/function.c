/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: a graph made into a FunctionDef, and FunctionDefs into a graph's library. */
#include "ext.h"
#include "graph/function.h"

static bool function_endpoints(PyObject* list, TF_Output* out) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* t = PyList_GET_ITEM(list, i);
    if (!hrpy_is_tensor(t)) return PyErr_Format(PyExc_TypeError, "%R is no tensor", t), false;
    hr_value_t v = hrpy_value(t);
    out[i] = (TF_Output){(TF_Operation*)v.node, v.index};
  }
  return true;
}

static PyObject* function_bytes(TF_Function* f, TF_Status* s, GraphObject* g) {
  TF_Buffer* bytes = TF_NewBuffer();
  PyObject* out = NULL;
  TF_FunctionToFunctionDef(f, bytes, s);
  if (TF_GetCode(s) != TF_OK) hrpy_raise(s, g);
  else out = Py_BuildValue("sy#", TF_FunctionName(f), bytes->data, (Py_ssize_t)bytes->length);
  TF_DeleteBuffer(bytes);
  return out;
}

/* graph_to_function(body, name, append_hash, operations, inputs, outputs, output_names or None) -> (name, FunctionDef) */
static PyObject* graph_to_function(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *graph, *operations, *inputs, *outputs, *names, *out = NULL;
  const char* name;
  int hash;
  if (!PyArg_ParseTuple(args, "O!spO!O!O!O", &hrpy_graph_type, &graph, &name, &hash, &PyList_Type, &operations, &PyList_Type, &inputs,
                        &PyList_Type, &outputs, &names))
    return NULL;
  GraphObject* g = (GraphObject*)graph;
  const Py_ssize_t opers = PyList_GET_SIZE(operations), ins = PyList_GET_SIZE(inputs), outs = PyList_GET_SIZE(outputs);
  hr_arena_t arena;
  hr_arena_init(&arena);
  TF_Output* in = hr_arena_array(&arena, (size_t)ins + 1, sizeof *in);
  TF_Output* result = hr_arena_array(&arena, (size_t)outs + 1, sizeof *result);
  const TF_Operation** body = hr_arena_array(&arena, (size_t)opers + 1, sizeof *body);
  const char** texts = hr_arena_array(&arena, (size_t)outs + 1, sizeof *texts);
  bool fine = in && result && body && texts;
  if (!fine) PyErr_NoMemory();
  fine = fine && function_endpoints(inputs, in) && function_endpoints(outputs, result);
  for (Py_ssize_t i = 0; fine && i < opers; ++i) body[i] = (TF_Operation*)((OperationObject*)PyList_GET_ITEM(operations, i))->node;
  for (Py_ssize_t i = 0; fine && names != Py_None && i < outs; ++i) {
    PyObject* text = PySequence_GetItem(names, i); /* the list keeps it */
    fine = text && (texts[i] = PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
  }
  TF_Status* s = TF_NewStatus();
  if (fine) {
    TF_Function* f = TF_GraphToFunction((TF_Graph*)g->graph, name, (unsigned char)hash, (int)opers, body, (int)ins, in, (int)outs, result,
                                        names == Py_None ? NULL : texts, NULL, NULL, s);
    if (TF_GetCode(s) != TF_OK) hrpy_raise(s, g);
    else out = function_bytes(f, s, g);
    TF_DeleteFunction(f);
  }
  TF_DeleteStatus(s);
  hr_arena_deinit(&arena);
  return out;
}

/* add_function(graph, FunctionDef) ; set_function_gradient(graph, name, name of its gradient) */
static PyObject* add_function(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* graph;
  const char* bytes;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "O!y#", &hrpy_graph_type, &graph, &bytes, &size)) return NULL;
  GraphObject* g = (GraphObject*)graph;
  hrpy_lock(g);
  hr_status_t status = hr_function_add(g->graph, bytes, (size_t)size, NULL);
  hrpy_unlock(g);
  if (status) return hrpy_fail(status, g);
  Py_RETURN_NONE;
}

static PyObject* set_gradient(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* graph;
  const char *name, *gradient;
  if (!PyArg_ParseTuple(args, "O!ss", &hrpy_graph_type, &graph, &name, &gradient)) return NULL;
  GraphObject* g = (GraphObject*)graph;
  hrpy_lock(g);
  hr_status_t status = hr_function_set_gradient(g->graph, hr_str(name), hr_str(gradient));
  hrpy_unlock(g);
  if (status) return hrpy_fail(status, g);
  Py_RETURN_NONE;
}

static PyObject* has_function(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* graph;
  const char* name;
  if (!PyArg_ParseTuple(args, "O!s", &hrpy_graph_type, &graph, &name)) return NULL;
  GraphObject* g = (GraphObject*)graph;
  hrpy_lock(g);
  bool found = hr_function_find(g->graph, hr_str(name)) != NULL;
  hrpy_unlock(g);
  return PyBool_FromLong(found);
}

PyMethodDef hrpy_function_methods[] = {{"graph_to_function", graph_to_function, METH_VARARGS, "A graph as a FunctionDef"},
                                       {"add_function", add_function, METH_VARARGS, "A FunctionDef into a graph's library"},
                                       {"set_function_gradient", set_gradient, METH_VARARGS, "Names a function's gradient function"},
                                       {"has_function", has_function, METH_VARARGS, "Whether a graph's library has a function"},
                                       {0}};
