/* SPDX-License-Identifier: Apache-2.0 */
/* `Graph` in C: the runtime's graph, the objects of its nodes, and names by TensorFlow's rule.
 *
 * Names are unique without regard to case, and a name asked for twice gets _1, _2... counted for each base name, whether or not a
 * node came of it: so the names in use are a dict of Python's and not the graph's own table. Nodes that C code adds (gradients,
 * imports, optimizers) are entered when the next name is picked. */
#include "ext.h"
#include "dist/transport.h"
#include "graph/function.h"
#include "graph/import.h"

GraphObject* hrpy_graph(PyObject* o) {
  if (PyObject_TypeCheck(o, &hrpy_graph_type)) return (GraphObject*)o;
  PyErr_Format(PyExc_TypeError, "%R is not a Graph", o);
  return NULL;
}

void hrpy_lock(GraphObject* g) {
  if (g->held && g->holder == PyThread_get_thread_ident()) return;
  if (pthread_mutex_trylock(&g->graph->mu.m) == 0) return;
  Py_BEGIN_ALLOW_THREADS hr_mutex_lock(&g->graph->mu);
  Py_END_ALLOW_THREADS
}

void hrpy_unlock(GraphObject* g) {
  if (!(g->held && g->holder == PyThread_get_thread_ident())) hr_mutex_unlock(&g->graph->mu);
}

/* --- names --- */
static PyObject* graph_lower(PyObject* name) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) return NULL;
  bool upper = false;
  for (Py_ssize_t i = 0; i < size && !upper; ++i) upper = (text[i] >= 'A' && text[i] <= 'Z') || text[i] & 0x80;
  return upper ? PyObject_CallMethod(name, "lower", NULL) : Py_NewRef(name);
}

static bool graph_enter_name(GraphObject* g, const char* text, Py_ssize_t size) {
  PyObject* name = PyUnicode_FromStringAndSize(text, size);
  PyObject* key = name ? graph_lower(name) : NULL;
  PyObject* one = PyLong_FromLong(1);
  bool fine = key && one && PyDict_SetDefault(g->names, key, one);
  Py_XDECREF(name);
  Py_XDECREF(key);
  Py_XDECREF(one);
  return fine;
}

/* Nodes added by C code since the last look, and the scopes that their names lie in. */
static bool graph_enter_nodes(GraphObject* g) {
  hr_str_t last = {"", 0};
  for (; g->named < g->graph->nodes.count; ++g->named) {
    const hr_node_t* node = g->graph->nodes.data[g->named];
    if (!node) continue;
    hr_str_t name = node->name;
    for (size_t i = name.size; i-- > 0;) {
      if (name.data[i] != '/') continue;
      hr_str_t scope = {name.data, i};
      if (hr_str_equal(scope, last)) break;
      if (!graph_enter_name(g, scope.data, (Py_ssize_t)scope.size)) return false;
      if (last.size <= scope.size) last = scope;
    }
    if (!graph_enter_name(g, name.data, (Py_ssize_t)name.size)) return false;
  }
  return true;
}

static bool graph_set_count(GraphObject* g, PyObject* key, long count) {
  PyObject* n = PyLong_FromLong(count);
  bool fine = n && PyDict_SetItem(g->names, key, n) == 0;
  Py_XDECREF(n);
  return fine;
}

static PyObject* graph_next_name(GraphObject* g, PyObject* full, PyObject* key, long used, bool mark) {
  for (long i = used;; ++i) {
    PyObject* numbered = PyUnicode_FromFormat("%U_%ld", key, i);
    if (!numbered) return NULL;
    if (PyDict_GetItemWithError(g->names, numbered)) {
      Py_DECREF(numbered);
      continue;
    }
    bool fine = !PyErr_Occurred() && (!mark || (graph_set_count(g, numbered, 1) && graph_set_count(g, key, i + 1)));
    Py_DECREF(numbered);
    return fine ? PyUnicode_FromFormat("%U_%ld", full, i) : NULL;
  }
}

PyObject* hrpy_unique_name(GraphObject* g, PyObject* name, bool mark) {
  if (g->named < g->graph->nodes.count && !graph_enter_nodes(g)) return NULL;
  PyObject* full = PyUnicode_GET_LENGTH(g->name_stack) ? PyUnicode_FromFormat("%U/%U", g->name_stack, name) : Py_NewRef(name);
  PyObject* key = full ? graph_lower(full) : NULL;
  PyObject *out = NULL, *count = key ? PyDict_GetItemWithError(g->names, key) : NULL;
  long used = count ? PyLong_AsLong(count) : 0;
  if (!key || PyErr_Occurred()) {
  } else if (used > 0) {
    /* the count kept for a base name is where the search goes on; TensorFlow counts from the number of times it was asked for */
    out = graph_next_name(g, full, key, used, mark);
  } else if (!mark || graph_set_count(g, key, 1)) {
    out = Py_NewRef(full);
  }
  Py_XDECREF(full);
  Py_XDECREF(key);
  return out;
}

PyObject* hrpy_pick_name(GraphObject* g, PyObject* wanted) {
  Py_ssize_t n = PyUnicode_GET_LENGTH(wanted);
  if (n && PyUnicode_READ_CHAR(wanted, n - 1) == '/') return PyUnicode_Substring(wanted, 0, n - 1);
  return hrpy_unique_name(g, wanted, true);
}

static PyObject* graph_unique_name(PyObject* self, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"name", "mark_as_used", NULL};
  PyObject* name;
  int mark = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|p", names, &name, &mark)) return NULL;
  return hrpy_unique_name((GraphObject*)self, name, mark);
}

static PyObject* graph_mark_name(PyObject* self, PyObject* name) {
  GraphObject* g = (GraphObject*)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text || !graph_enter_name(g, text, size)) return NULL;
  Py_RETURN_NONE;
}

/* --- nodes --- */
static bool graph_room(GraphObject* g, int64_t id) {
  if (id < g->operation_count) return true;
  int64_t count = g->operation_count ? g->operation_count * 2 : 64;
  while (count <= id) count *= 2;
  PyObject** grown = PyMem_Realloc(g->operations, (size_t)count * sizeof *grown);
  if (!grown) return PyErr_NoMemory(), false;
  memset(grown + g->operation_count, 0, (size_t)(count - g->operation_count) * sizeof *grown);
  g->operations = grown;
  g->operation_count = count;
  return true;
}

PyObject* hrpy_node_object(GraphObject* g, hr_node_t* node) {
  if (!graph_room(g, node->id)) return NULL;
  PyObject* o = g->operations[node->id];
  if (o) return Py_NewRef(o);
  PyTypeObject* type = hrpy_hooks.operation;
  OperationObject* made = type ? (OperationObject*)type->tp_alloc(type, 0) : NULL;
  if (!made) return NULL;
  made->graph = (GraphObject*)Py_NewRef((PyObject*)g);
  made->node = node;
  made->outputs = &made->first;
  if (node->output_count > 1 && !(made->outputs = PyMem_Calloc((size_t)node->output_count, sizeof(PyObject*)))) {
    made->outputs = &made->first;
    Py_DECREF(made);
    return PyErr_NoMemory();
  }
  g->operations[node->id] = Py_NewRef((PyObject*)made);
  return (PyObject*)made;
}

static void graph_describe(hr_node_desc_t* desc, PyObject* name) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  desc->name = (hr_str_t){text ? text : "", text ? (size_t)size : 0};
}

/* Asks Graph._decorate for device, control inputs and more attrs: (device str, [Operation], {name: value}). */
static PyObject* graph_add_decorated(GraphObject* g, hr_node_desc_t* desc, PyObject* name, uint64_t refs) {
  PyObject* inputs = PyTuple_New(desc->input_count);
  for (int i = 0; inputs && i < desc->input_count; ++i) {
    PyObject* t = hrpy_value_object(g, desc->inputs[i]);
    if (!t)
      Py_CLEAR(inputs);
    else
      PyTuple_SET_ITEM(inputs, i, t);
  }
  if (!inputs) return NULL;
  PyObject *out = NULL, *controls = NULL, *extras = NULL, *device = NULL;
  PyObject* said = PyObject_CallMethod((PyObject*)g, "_decorate", "s#OOK", desc->op.data, (Py_ssize_t)desc->op.size, name, inputs,
                                       (unsigned long long)refs);
  Py_DECREF(inputs);
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_arena_init(&arena);
  if (!said || !PyArg_ParseTuple(said, "UO!O!", &device, &PyList_Type, &controls, &PyDict_Type, &extras)) goto done;
  int control_count = (int)PyList_GET_SIZE(controls), attr_count = desc->attr_count;
  hr_node_t** nodes = hr_arena_array(&arena, (size_t)control_count + 1, sizeof *nodes);
  hr_named_attr_t* attrs = hr_arena_array(&arena, (size_t)attr_count + (size_t)PyDict_GET_SIZE(extras) + 1, sizeof *attrs);
  if (!nodes || !attrs) {
    PyErr_NoMemory();
    goto done;
  }
  for (int i = 0; i < control_count; ++i) nodes[i] = ((OperationObject*)PyList_GET_ITEM(controls, i))->node;
  if (attr_count) memcpy(attrs, desc->attrs, (size_t)attr_count * sizeof *attrs);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(extras, &at, &key, &value);) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(key, &size);
    if (!text || !hrpy_attr_any(value, &arena, &keeper, &attrs[attr_count].value)) goto done;
    attrs[attr_count++].name = (hr_str_t){text, (size_t)size};
  }
  hr_node_desc_t more = *desc;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(device, &size);
  if (!text) goto done;
  more.device = (hr_str_t){text, (size_t)size};
  hr_transport_prepare(more.device);
  more.controls = nodes;
  more.control_count = control_count;
  more.attrs = attrs;
  more.attr_count = attr_count;
  int decorated = g->decorated;
  g->decorated = -1; /* no more questions about this one */
  out = hrpy_add(g, &more, name);
  g->decorated = decorated;
  PyObject* done = out ? PyObject_CallMethod((PyObject*)g, "_created", "O", out) : NULL;
  if (!done) Py_CLEAR(out);
  Py_XDECREF(done);
done:
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
  Py_XDECREF(said);
  return out;
}

PyObject* hrpy_add(GraphObject* g, hr_node_desc_t* desc, PyObject* name) { return hrpy_add_at(g, desc, name, 0); }

PyObject* hrpy_add_at(GraphObject* g, hr_node_desc_t* desc, PyObject* name, uint64_t refs) {
  if (g->finalized) return PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified."), NULL;
  if ((g->decorated || refs) && g->decorated >= 0) return graph_add_decorated(g, desc, name, refs);
  graph_describe(desc, name);
  if (PyErr_Occurred()) return NULL;
  bool in_step = g->named == g->graph->nodes.count; /* the name is entered already */
  hr_node_t* node = NULL;
  hrpy_lock(g);
  hr_status_t status = hr_graph_add(g->graph, desc, &node);
  hrpy_unlock(g);
  if (status) return hrpy_fail_build(status, g);
  if (in_step) g->named = g->graph->nodes.count;
  return hrpy_node_object(g, node);
}

PyObject* hrpy_captured(GraphObject* g, PyObject* tensor) {
  if (!g->captures || hrpy_graph_of(tensor) == g) return tensor;
  PyObject* argument = PyObject_CallMethod((PyObject*)g, "_capture", "O", tensor);
  Py_XDECREF(argument); /* the graph's dictionary has it */
  return argument;
}

/* _create(type, inputs, attrs, name): name is full. */
static PyObject* graph_create(PyObject* self, PyObject* args) {
  GraphObject* g = (GraphObject*)self;
  const char* type;
  PyObject *inputs, *attrs, *name, *out = NULL, *key, *value;
  if (!PyArg_ParseTuple(args, "sOO!U", &type, &inputs, &PyDict_Type, &attrs, &name)) return NULL;
  PyObject* seq = PySequence_Fast(inputs, "inputs must be a sequence of tensors");
  if (!seq) return NULL;
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_arena_init(&arena);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
  hr_value_t* values = hr_arena_array(&arena, (size_t)n + 1, sizeof *values);
  hr_named_attr_t* named = hr_arena_array(&arena, (size_t)PyDict_GET_SIZE(attrs) + 1, sizeof *named);
  const hr_op_def_t* def;
  hrpy_lock(g);
  hr_status_t status = hr_function_or_op(g->graph, hr_str(type), &def);
  hrpy_unlock(g);
  if (status) {
    hrpy_fail(status, g);
    goto done;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(seq, i);
    if (!hrpy_is_tensor(t)) {
      PyErr_Format(PyExc_TypeError, "input %zd of %s is no tensor: %R", i, type, t);
      goto done;
    }
    if (!(t = hrpy_captured(g, t))) goto done;
    values[i] = hrpy_value(t);
  }
  int count = 0;
  for (Py_ssize_t at = 0; PyDict_Next(attrs, &at, &key, &value);) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(key, &size);
    if (!text) goto done;
    named[count].name = (hr_str_t){text, (size_t)size};
    int a = hr_sig_find_attr(def, named[count].name);
    if (a >= 0 ? !hrpy_attr(&def->attrs[a], value, &arena, &keeper, &named[count].value)
               : !hrpy_attr_any(value, &arena, &keeper, &named[count].value))
      goto done;
    ++count;
  }
  hr_node_desc_t desc = {.op = def->name, .inputs = values, .input_count = (int32_t)n, .attrs = named, .attr_count = count};
  out = hrpy_add(g, &desc, name);
done:
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
  Py_DECREF(seq);
  return out;
}

static PyObject* graph_find(PyObject* self, PyObject* name) {
  GraphObject* g = (GraphObject*)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) return NULL;
  hrpy_lock(g);
  hr_node_t* node = hr_graph_find(g->graph, (hr_str_t){text, (size_t)size});
  hrpy_unlock(g);
  if (!node) Py_RETURN_NONE;
  return hrpy_node_object(g, node);
}

static PyObject* graph_operations(PyObject* self, PyObject* unused) {
  (void)unused;
  GraphObject* g = (GraphObject*)self;
  int64_t n = g->graph->nodes.count;
  PyObject* list = PyList_New(n);
  for (int64_t i = 0; list && i < n; ++i) {
    PyObject* o = hrpy_node_object(g, g->graph->nodes.data[i]);
    if (!o)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, o);
  }
  return list;
}

static PyObject* graph_node_count(PyObject* self, PyObject* unused) {
  (void)unused;
  return PyLong_FromLongLong(((GraphObject*)self)->graph->nodes.count);
}

static PyObject* graph_export(PyObject* self, PyObject* first) {
  GraphObject* g = (GraphObject*)self;
  long from = PyLong_AsLong(first);
  if (from == -1 && PyErr_Occurred()) return NULL;
  char* data = NULL;
  size_t size = 0;
  hrpy_lock(g);
  hr_status_t status = hr_export_graph_def(g->graph, (int32_t)from, &data, &size);
  hrpy_unlock(g);
  if (status) return hrpy_fail(status, g);
  PyObject* out = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
  hr_free(data);
  return out;
}

/* _refine(tensor, dims or None) */
static PyObject* graph_refine(PyObject* self, PyObject* args) {
  GraphObject* g = (GraphObject*)self;
  PyObject *tensor, *dims;
  if (!PyArg_ParseTuple(args, "O!O", &hrpy_tensor_type, &tensor, &dims)) return NULL;
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hr_pshape_t* shape;
  bool fine = hrpy_dims(dims, &arena, &shape);
  if (fine) {
    hrpy_lock(g);
    hr_status_t status = hr_graph_refine_shape(g->graph, hrpy_value(tensor), shape);
    hrpy_unlock(g);
    fine = !status;
    if (status) hrpy_fail_build(status, g);
  }
  hr_arena_deinit(&arena);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}

/* --- the type --- */
static PyObject* graph_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)args;
  (void)kwargs;
  GraphObject* g = (GraphObject*)type->tp_alloc(type, 0);
  if (!g) return NULL;
  hr_status_t status = hr_graph_create(&g->graph);
  g->name_stack = PyUnicode_FromString("");
  g->names = PyDict_New();
  if (!status && g->name_stack && g->names) return (PyObject*)g;
  Py_DECREF(g);
  return status ? hrpy_fail(status, NULL) : NULL;
}

static int graph_traverse(PyObject* self, visitproc visit, void* arg) {
  GraphObject* g = (GraphObject*)self;
  Py_VISIT(g->names);
  for (int64_t i = 0; i < g->operation_count; ++i) Py_VISIT(g->operations[i]);
  return 0;
}

static int graph_clear(PyObject* self) {
  GraphObject* g = (GraphObject*)self;
  for (int64_t i = 0; i < g->operation_count; ++i) Py_CLEAR(g->operations[i]);
  return 0;
}

static void graph_dealloc(PyObject* self) {
  GraphObject* g = (GraphObject*)self;
  PyObject_GC_UnTrack(self);
  graph_clear(self);
  PyMem_Free(g->operations);
  Py_XDECREF(g->names);
  Py_XDECREF(g->name_stack);
  hr_graph_release(g->graph);
  Py_TYPE(self)->tp_free(self);
}

static int graph_set_stack(PyObject* self, PyObject* value, void* closure) {
  (void)closure;
  if (!value || !PyUnicode_Check(value)) return PyErr_SetString(PyExc_TypeError, "a scope is a str"), -1;
  Py_INCREF(value);
  Py_SETREF(((GraphObject*)self)->name_stack, value);
  return 0;
}
static PyObject* graph_get_stack(PyObject* self, void* closure) {
  (void)closure;
  return Py_NewRef(((GraphObject*)self)->name_stack);
}
static PyObject* graph_get_version(PyObject* self, void* closure) {
  (void)closure;
  GraphObject* g = (GraphObject*)self;
  return Py_BuildValue("iii", g->graph->producer, g->graph->min_consumer, 0);
}

static PyGetSetDef graph_getset[] = {{"_name_stack", graph_get_stack, graph_set_stack, "The current scope.", NULL},
                                     {"_versions", graph_get_version, NULL, "(producer, min_consumer, 0)", NULL},
                                     {0}};
static PyMemberDef graph_members[] = {
    {"_decorated", T_INT, offsetof(GraphObject, decorated), 0, "Scopes that decorate new operations."},
    {"_captures", T_BOOL, offsetof(GraphObject, captures), 0, "A function's body: tensors of other graphs become arguments."},
    {"_restricted", T_BOOL, offsetof(GraphObject, restricted), 0, "Some tensors may not be fed or fetched."},
    {"_finalized", T_BOOL, offsetof(GraphObject, finalized), 0, "No more operations."},
    {"_names_in_use", T_OBJECT, offsetof(GraphObject, names), READONLY, "Lower-case names."},
    {0}};
static PyMethodDef graph_methods[] = {{"unique_name", (PyCFunction)(void (*)(void))graph_unique_name, METH_VARARGS | METH_KEYWORDS,
                                       "A name of the current scope that nothing has."},
                                      {"_mark_name", graph_mark_name, METH_O, "Takes a name out of use."},
                                      {"_create", graph_create, METH_VARARGS, "_create(type, inputs, attrs, name): adds an operation."},
                                      {"_find", graph_find, METH_O, "The operation of a name, or None."},
                                      {"_operations", graph_operations, METH_NOARGS, "All operations."},
                                      {"node_count", graph_node_count, METH_NOARGS, "How many operations there are."},
                                      {"_export", graph_export, METH_O, "The serialized GraphDef of the nodes from an id on."},
                                      {"_refine", graph_refine, METH_VARARGS, "Narrows the shape of a tensor."},
                                      {0}};

PyTypeObject hrpy_graph_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.Graph",
                                .tp_basicsize = sizeof(GraphObject),
                                .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                .tp_new = graph_new,
                                .tp_dealloc = graph_dealloc,
                                .tp_traverse = graph_traverse,
                                .tp_clear = graph_clear,
                                .tp_methods = graph_methods,
                                .tp_members = graph_members,
                                .tp_getset = graph_getset};
