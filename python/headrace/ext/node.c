/* SPDX-License-Identifier: Apache-2.0 */
/* `Operation` and `Tensor` in C: made once for each node and output, by the graph alone. What they tell is read from the node. */
#include "ext.h"
#include "graph/import.h"

PyObject* hrpy_node_output(OperationObject* op, int index) {
  PyObject* o = op->outputs[index];
  if (o) return Py_NewRef(o);
  PyTypeObject* type = hrpy_hooks.tensor;
  TensorObject* t = (TensorObject*)type->tp_alloc(type, 0);
  if (!t) return NULL;
  t->operation = (OperationObject*)Py_NewRef((PyObject*)op);
  t->index = index;
  op->outputs[index] = Py_NewRef((PyObject*)t);
  return (PyObject*)t;
}

PyObject* hrpy_value_object(GraphObject* g, hr_value_t v) {
  PyObject* op = hrpy_node_object(g, v.node);
  if (!op) return NULL;
  PyObject* t = hrpy_node_output((OperationObject*)op, v.index);
  Py_DECREF(op);
  return t;
}

bool hrpy_output(PyObject* o, TF_Output* out) {
  if (!hrpy_is_tensor(o)) return PyErr_Format(PyExc_TypeError, "%R is not a Tensor", o), false;
  hr_value_t v = hrpy_value(o);
  *out = (TF_Output){(TF_Operation*)v.node, v.index};
  return true;
}
PyObject* hrpy_tensor(GraphObject* g, TF_Output o) { return hrpy_value_object(g, (hr_value_t){(hr_node_t*)o.oper, o.index}); }
PyObject* hrpy_operation(GraphObject* g, TF_Operation* o) { return hrpy_node_object(g, (hr_node_t*)o); }

static PyObject* node_text(hr_str_t s) { return PyUnicode_DecodeUTF8(s.data, (Py_ssize_t)s.size, "replace"); }

/* The TensorShape of what is known; dims as a tuple with None, or None. */
static PyObject* node_dims(const hr_pshape_t* s) {
  if (s->rank < 0) Py_RETURN_NONE;
  PyObject* dims = PyTuple_New(s->rank);
  for (int i = 0; dims && i < s->rank; ++i)
    PyTuple_SET_ITEM(dims, i, s->dims[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(s->dims[i]));
  return dims;
}
PyObject* hrpy_shape_object(const hr_pshape_t* s) {
  PyObject* dims = node_dims(s);
  PyObject* o = dims ? PyObject_CallOneArg(hrpy_hooks.make_shape, dims) : NULL;
  Py_XDECREF(dims);
  return o;
}

/* --- Operation --- */
#define OPERATION(self) ((OperationObject*)(self))
static PyObject* operation_name(PyObject* self, void* c) { return (void)c, node_text(OPERATION(self)->node->name); }
static PyObject* operation_type(PyObject* self, void* c) { return (void)c, node_text(OPERATION(self)->node->attrs.def->name); }
static PyObject* operation_device(PyObject* self, void* c) { return (void)c, node_text(OPERATION(self)->node->device); }
static PyObject* operation_graph(PyObject* self, void* c) { return (void)c, Py_NewRef((PyObject*)OPERATION(self)->graph); }
static PyObject* operation_id(PyObject* self, void* c) { return (void)c, PyLong_FromLong(OPERATION(self)->node->id); }

static PyObject* operation_outputs(PyObject* self, void* c) {
  (void)c;
  int n = OPERATION(self)->node->output_count;
  PyObject* list = PyList_New(n);
  for (int i = 0; list && i < n; ++i) {
    PyObject* t = hrpy_node_output(OPERATION(self), i);
    if (!t)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, t);
  }
  return list;
}

static PyObject* operation_inputs(PyObject* self, void* c) {
  (void)c;
  const hr_node_t* node = OPERATION(self)->node;
  PyObject* tuple = PyTuple_New(node->input_count);
  for (int i = 0; tuple && i < node->input_count; ++i) {
    PyObject* t = hrpy_value_object(OPERATION(self)->graph, node->inputs[i]);
    if (!t)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, i, t);
  }
  return tuple;
}

static PyObject* operation_nodes(GraphObject* g, hr_node_t* const* nodes, int64_t n) {
  PyObject* list = PyList_New(n);
  for (int64_t i = 0; list && i < n; ++i) {
    PyObject* o = hrpy_node_object(g, nodes[i]);
    if (!o)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, o);
  }
  return list;
}
static PyObject* operation_controls(PyObject* self, void* c) {
  (void)c;
  const hr_node_t* node = OPERATION(self)->node;
  return operation_nodes(OPERATION(self)->graph, node->controls, node->control_count);
}
static PyObject* operation_control_outputs(PyObject* self, void* c) {
  (void)c;
  const hr_node_t* node = OPERATION(self)->node;
  return operation_nodes(OPERATION(self)->graph, node->control_consumers.data, node->control_consumers.count);
}

static PyObject* operation_get_attr(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return NULL;
  const hr_node_attrs_t* attrs = &OPERATION(self)->node->attrs;
  const hr_attr_t* found = hr_attrs_find(attrs, text);
  if (!found) return PyErr_Format(PyExc_ValueError, "Operation '%s' has no attr named '%s'.", OPERATION(self)->node->name.data, text);
  return hrpy_attr_object(found);
}

static PyObject* operation_attr_names(PyObject* self, PyObject* unused) {
  (void)unused;
  const hr_node_attrs_t* attrs = &OPERATION(self)->node->attrs;
  PyObject* list = PyList_New(0);
  for (int i = 0; list && i < attrs->def->attr_count + attrs->extra_count; ++i) {
    PyObject* name = node_text(i < attrs->def->attr_count ? attrs->def->attrs[i].name : attrs->extras[i - attrs->def->attr_count].name);
    if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

static PyObject* operation_node_def(PyObject* self, PyObject* unused) {
  (void)unused;
  char* data = NULL;
  size_t size = 0;
  hr_status_t status = hr_export_node_def(OPERATION(self)->node, &data, &size);
  if (status) return hrpy_fail(status, OPERATION(self)->graph);
  PyObject* out = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
  hr_free(data);
  return out;
}

static PyObject* operation_add_control(PyObject* self, PyObject* other) {
  if (!hrpy_is_operation(other)) return PyErr_Format(PyExc_TypeError, "%R is not an Operation", other);
  GraphObject* g = OPERATION(self)->graph;
  hrpy_lock(g);
  hr_status_t status = hr_graph_add_control(g->graph, OPERATION(self)->node, OPERATION(other)->node);
  hrpy_unlock(g);
  if (status) return hrpy_fail_build(status, g);
  Py_RETURN_NONE;
}

static PyObject* operation_remove_controls(PyObject* self, PyObject* unused) {
  (void)unused;
  GraphObject* g = OPERATION(self)->graph;
  hrpy_lock(g);
  hr_graph_remove_controls(OPERATION(self)->node);
  hrpy_unlock(g);
  Py_RETURN_NONE;
}

static PyObject* operation_update_input(PyObject* self, PyObject* args) {
  int index;
  PyObject* tensor;
  if (!PyArg_ParseTuple(args, "iO!", &index, &hrpy_tensor_type, &tensor)) return NULL;
  GraphObject* g = OPERATION(self)->graph;
  hrpy_lock(g);
  hr_status_t status = hr_graph_set_input(g->graph, OPERATION(self)->node, index, hrpy_value(tensor));
  hrpy_unlock(g);
  if (status) return hrpy_fail_build(status, g);
  Py_RETURN_NONE;
}

static PyObject* operation_set_device(PyObject* self, PyObject* device) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(device, &size);
  GraphObject* g = OPERATION(self)->graph;
  hr_str_t kept;
  if (!text) return NULL;
  hrpy_lock(g);
  bool fine = hr_arena_str(&g->graph->arena, (hr_str_t){text, (size_t)size}, &kept);
  if (fine) OPERATION(self)->node->device = kept;
  hrpy_unlock(g);
  if (!fine) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static int operation_traverse(PyObject* self, visitproc visit, void* arg) {
  OperationObject* op = OPERATION(self);
  Py_VISIT(op->graph);
  int n = op->node && op->outputs != &op->first ? op->node->output_count : 1;
  for (int i = 0; i < n; ++i) Py_VISIT(op->outputs[i]);
  return 0;
}
static int operation_clear(PyObject* self) {
  OperationObject* op = OPERATION(self);
  if (op->outputs == &op->first || !op->outputs) {
    Py_CLEAR(op->first);
  } else {
    PyObject** outputs = op->outputs;
    int n = op->node->output_count;
    op->outputs = &op->first;
    for (int i = 0; i < n; ++i) Py_XDECREF(outputs[i]);
    PyMem_Free(outputs);
  }
  return 0; /* the graph stays: a node must not outlive it while anything can reach the object */
}
static void operation_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  operation_clear(self);
  Py_XDECREF(OPERATION(self)->graph);
  Py_TYPE(self)->tp_free(self);
}

static PyGetSetDef operation_getset[] = {{"name", operation_name, NULL, NULL, NULL},
                                         {"type", operation_type, NULL, NULL, NULL},
                                         {"device", operation_device, NULL, NULL, NULL},
                                         {"graph", operation_graph, NULL, NULL, NULL},
                                         {"_id", operation_id, NULL, NULL, NULL},
                                         {"outputs", operation_outputs, NULL, NULL, NULL},
                                         {"inputs", operation_inputs, NULL, NULL, NULL},
                                         {"control_inputs", operation_controls, NULL, NULL, NULL},
                                         {"_control_outputs", operation_control_outputs, NULL, NULL, NULL},
                                         {0}};
static PyMethodDef operation_methods[] = {{"get_attr", operation_get_attr, METH_O, "The value of an attr."},
                                          {"_attr_names", operation_attr_names, METH_NOARGS, "Names of all attrs."},
                                          {"_node_def", operation_node_def, METH_NOARGS, "The serialized NodeDef."},
                                          {"_add_control_input", operation_add_control, METH_O, "Waits for another operation."},
                                          {"_remove_all_control_inputs", operation_remove_controls, METH_NOARGS, "Waits for inputs only."},
                                          {"_update_input", operation_update_input, METH_VARARGS, "Replaces an input."},
                                          {"_set_device", operation_set_device, METH_O, "Requests a device."},
                                          {0}};

PyTypeObject hrpy_operation_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.Operation",
                                    .tp_basicsize = sizeof(OperationObject),
                                    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                    .tp_dealloc = operation_dealloc,
                                    .tp_traverse = operation_traverse,
                                    .tp_clear = operation_clear,
                                    .tp_methods = operation_methods,
                                    .tp_getset = operation_getset};

/* --- Tensor --- */
#define TENSOR(self) ((TensorObject*)(self))
static PyObject* tensor_op(PyObject* self, void* c) { return (void)c, Py_NewRef((PyObject*)TENSOR(self)->operation); }
static PyObject* tensor_graph(PyObject* self, void* c) { return (void)c, Py_NewRef((PyObject*)TENSOR(self)->operation->graph); }
static PyObject* tensor_index(PyObject* self, void* c) { return (void)c, PyLong_FromLong(TENSOR(self)->index); }
static PyObject* tensor_device(PyObject* self, void* c) { return (void)c, node_text(TENSOR(self)->operation->node->device); }
static PyObject* tensor_dtype(PyObject* self, void* c) { return (void)c, hrpy_dtype(hr_value_type(hrpy_value(self))); }
static PyObject* tensor_dims(PyObject* self, void* c) { return (void)c, node_dims(hr_value_shape(hrpy_value(self))); }
static PyObject* tensor_rank(PyObject* self, void* c) { return (void)c, PyLong_FromLong(hr_value_shape(hrpy_value(self))->rank); }
static PyObject* tensor_name(PyObject* self, void* c) {
  (void)c;
  return PyUnicode_FromFormat("%s:%d", TENSOR(self)->operation->node->name.data, TENSOR(self)->index);
}
static PyObject* tensor_consumers(PyObject* self, PyObject* unused) {
  (void)unused;
  hr_value_t v = hrpy_value(self);
  PyObject* list = PyList_New(0);
  for (int64_t i = 0; list && i < v.node->consumers.count; ++i) {
    if (v.node->consumers.data[i].output != v.index) continue;
    PyObject* o = hrpy_node_object(hrpy_graph_of(self), v.node->consumers.data[i].node);
    if (!o || PyList_Append(list, o) < 0) Py_CLEAR(list);
    Py_XDECREF(o);
  }
  return list;
}
/* The value of a constant as an array, else None. */
static PyObject* tensor_constant(PyObject* self, PyObject* unused) {
  (void)unused;
  hr_value_t v = hrpy_value(self);
  if (v.index != 0 || !v.node->constant) Py_RETURN_NONE;
  hr_tensor_t t;
  hr_tensor_share(v.node->constant, &t);
  return hrpy_from_tensor(&t);
}

static int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(TENSOR(self)->operation);
  return 0;
}
static void tensor_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Py_XDECREF(TENSOR(self)->operation);
  Py_TYPE(self)->tp_free(self);
}

static PyGetSetDef tensor_getset[] = {{"op", tensor_op, NULL, NULL, NULL},
                                      {"graph", tensor_graph, NULL, NULL, NULL},
                                      {"value_index", tensor_index, NULL, NULL, NULL},
                                      {"device", tensor_device, NULL, NULL, NULL},
                                      {"dtype", tensor_dtype, NULL, NULL, NULL},
                                      {"name", tensor_name, NULL, NULL, NULL},
                                      {"_dims", tensor_dims, NULL, "Static dims: a tuple with None for those not known, or None.", NULL},
                                      {"_rank", tensor_rank, NULL, "-1: not known.", NULL},
                                      {0}};
static PyMethodDef tensor_methods[] = {{"consumers", tensor_consumers, METH_NOARGS, "Operations that read this."},
                                       {"_constant", tensor_constant, METH_NOARGS, "The value of a constant, or None."},
                                       {0}};

PyTypeObject hrpy_tensor_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.Tensor",
                                 .tp_basicsize = sizeof(TensorObject),
                                 .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                 .tp_dealloc = tensor_dealloc,
                                 .tp_traverse = tensor_traverse,
                                 .tp_methods = tensor_methods,
                                 .tp_getset = tensor_getset};
