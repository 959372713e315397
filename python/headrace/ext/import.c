/* SPDX-License-Identifier: Apache-2.0 */
/* GraphDef in: the bytes go to the graph as they are; only what the script asks back gets objects. */
#include "ext.h"
#include "graph/import.h"

static bool import_text(PyObject* o, hr_str_t* out) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  *out = (hr_str_t){text, text ? (size_t)size : 0};
  return text != NULL;
}

/* [(name, index)] */
static bool import_endpoints(PyObject* list, hr_endpoint_t* out) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* name;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "Ui", &name, &out[i].index) || !import_text(name, &out[i].node)) return false;
  }
  return true;
}

/* [(name, index, tensor)] */
static bool import_map(PyObject* list, hr_import_options_t* o) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject *name, *tensor;
    int index;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "UiO!", &name, &index, &hrpy_tensor_type, &tensor) ||
        !import_text(name, &o->input_map[i].from.node))
      return false;
    o->input_map[i].from.index = index;
    o->input_map[i].to = hrpy_value(tensor);
  }
  o->input_map_count = (int32_t)PyList_GET_SIZE(list);
  return true;
}

static PyObject* import_objects(GraphObject* g, const hr_import_results_t* r, int64_t first) {
  PyObject* outputs = PyList_New(r->outputs.count);
  PyObject* nodes = PyList_New(r->nodes.count);
  PyObject* unused = PyList_New(r->unused_map.count);
  if (!outputs || !nodes || !unused) goto done;
  for (int64_t i = 0; i < r->outputs.count; ++i) {
    PyObject* t = hrpy_value_object(g, r->outputs.data[i]);
    if (!t) goto done;
    PyList_SET_ITEM(outputs, i, t);
  }
  for (int64_t i = 0; i < r->nodes.count; ++i) {
    PyObject* o = hrpy_node_object(g, r->nodes.data[i]);
    if (!o) goto done;
    PyList_SET_ITEM(nodes, i, o);
  }
  for (int64_t i = 0; i < r->unused_map.count; ++i) PyList_SET_ITEM(unused, i, PyLong_FromLong(r->unused_map.data[i]));
  return Py_BuildValue("NNNL", outputs, nodes, unused, (long long)first);
done:
  Py_XDECREF(outputs);
  Py_XDECREF(nodes);
  Py_XDECREF(unused);
  return NULL;
}

/* import_graph_def(graph, bytes, prefix, input_map, return_outputs, return_nodes, device, controls, producer_ops, uniquify_prefix)
 * -> (tensors, operations, indices of unused entries of input_map, id of the first node added) */
static PyObject* import_graph(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *graph, *map, *outputs, *nodes, *controls, *out = NULL;
  const char *data, *prefix, *device, *producer;
  Py_ssize_t size, producer_size;
  if (!PyArg_ParseTuple(args, "O!y#sO!O!O!sO!y#", &hrpy_graph_type, &graph, &data, &size, &prefix, &PyList_Type, &map, &PyList_Type,
                        &outputs, &PyList_Type, &nodes, &device, &PyList_Type, &controls, &producer, &producer_size))
    return NULL;
  GraphObject* g = (GraphObject*)graph;
  if (g->finalized) return PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified."), NULL;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_import_options_t o = {.prefix = hr_str(prefix),
                           .default_device = hr_str(device),
                           .uniquify_names = true,
                           .producer_ops = {producer, (size_t)producer_size}};
  hr_import_results_t results = {0};
  hr_endpoint_t* ends = hr_arena_array(&arena, (size_t)PyList_GET_SIZE(outputs) + 1, sizeof *ends);
  hr_str_t* names = hr_arena_array(&arena, (size_t)PyList_GET_SIZE(nodes) + 1, sizeof *names);
  hr_node_t** waits = hr_arena_array(&arena, (size_t)PyList_GET_SIZE(controls) + 1, sizeof *waits);
  o.input_map = hr_arena_array(&arena, (size_t)PyList_GET_SIZE(map) + 1, sizeof *o.input_map);
  bool fine = ends && names && waits && o.input_map;
  if (!fine) PyErr_NoMemory();
  fine = fine && import_endpoints(outputs, ends) && import_map(map, &o);
  for (Py_ssize_t i = 0; fine && i < PyList_GET_SIZE(nodes); ++i) fine = import_text(PyList_GET_ITEM(nodes, i), &names[i]);
  for (Py_ssize_t i = 0; fine && i < PyList_GET_SIZE(controls); ++i) waits[i] = ((OperationObject*)PyList_GET_ITEM(controls, i))->node;
  if (fine) {
    o.return_outputs = ends;
    o.return_output_count = (int32_t)PyList_GET_SIZE(outputs);
    o.return_nodes = names;
    o.return_node_count = (int32_t)PyList_GET_SIZE(nodes);
    o.control_dependencies = waits;
    o.control_dependency_count = (int32_t)PyList_GET_SIZE(controls);
    hrpy_lock(g);
    int64_t first = g->graph->nodes.count;
    hr_status_t status;
    Py_BEGIN_ALLOW_THREADS status = hr_import_graph_def(g->graph, data, (size_t)size, &o, &results);
    Py_END_ALLOW_THREADS hrpy_unlock(g);
    out = status ? hrpy_fail_build(status, g) : import_objects(g, &results, first);
  }
  hr_import_results_deinit(&results);
  hr_arena_deinit(&arena);
  return out;
}

PyMethodDef hrpy_import_methods[] = {{"import_graph_def", import_graph, METH_VARARGS, "GraphDef bytes into a graph"}, {0}};
