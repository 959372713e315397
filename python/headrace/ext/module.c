/* SPDX-License-Identifier: Apache-2.0 */
/* The module `_headrace`: its types, what Python hands over at import, the default graph of a thread, statuses as exceptions. */
#define HRPY_MODULE
#include "ext.h"
#include "base/log.h"
#include "graph/import.h"
#include "op/op_def.h"

hrpy_hooks_t hrpy_hooks;

/* --- the default graph ---------------------------------------------------------------------------------------------------------------- */
static _Thread_local PyObject* module_thread_graph; /* one reference; NULL: the process's */
static PyObject* module_global_graph;

GraphObject* hrpy_default_graph(void) {
  if (module_thread_graph) return (GraphObject*)module_thread_graph;
  if (!module_global_graph) {
    if (!hrpy_hooks.make_graph) return PyErr_SetString(PyExc_RuntimeError, "headrace is not set up"), NULL;
    module_global_graph = PyObject_CallNoArgs(hrpy_hooks.make_graph);
  }
  return (GraphObject*)module_global_graph;
}

static PyObject* module_default_graph(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  GraphObject* g = hrpy_default_graph();
  Py_XINCREF(g);
  return (PyObject*)g;
}

/* Sets this thread's graph (None: the process's) and gives the one before, or None. */
static PyObject* module_swap_graph(PyObject* self, PyObject* graph) {
  (void)self;
  PyObject* old = module_thread_graph;
  if (graph != Py_None && !hrpy_graph(graph)) return NULL;
  module_thread_graph = graph == Py_None ? NULL : Py_NewRef(graph);
  return old ? old : Py_NewRef(Py_None);
}

static PyObject* module_reset_graph(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  Py_CLEAR(module_global_graph);
  Py_RETURN_NONE;
}

/* --- hooks --- */
static bool module_take(PyObject* hooks, const char* name, PyObject** out) {
  PyObject* o = PyDict_GetItemString(hooks, name);
  if (!o) return PyErr_Format(PyExc_KeyError, "hook %s is missing", name), false;
  Py_XSETREF(*out, Py_NewRef(o));
  return true;
}

static PyObject* module_install(PyObject* self, PyObject* hooks) {
  (void)self;
  if (!PyDict_Check(hooks)) return PyErr_SetString(PyExc_TypeError, "hooks come as a dict"), NULL;
  if (!module_take(hooks, "operation", (PyObject**)&hrpy_hooks.operation) ||
      !module_take(hooks, "tensor", (PyObject**)&hrpy_hooks.tensor) || !module_take(hooks, "make_graph", &hrpy_hooks.make_graph) ||
      !module_take(hooks, "convert", &hrpy_hooks.convert) || !module_take(hooks, "make_result", &hrpy_hooks.make_result) ||
      !module_take(hooks, "error", &hrpy_hooks.error) || !module_take(hooks, "make_shape", &hrpy_hooks.make_shape) ||
      !module_take(hooks, "make_slices", &hrpy_hooks.make_slices))
    return NULL;
  PyObject *numbers = PyDict_GetItemString(hooks, "dtypes"), *number, *dtype;
  if (!numbers || !PyDict_Check(numbers)) return PyErr_SetString(PyExc_KeyError, "hook dtypes is missing"), NULL;
  for (Py_ssize_t at = 0; PyDict_Next(numbers, &at, &number, &dtype);) {
    long n = PyLong_AsLong(number);
    if (n >= 0 && n < HR_DTYPE_REF + HR_DTYPE_COUNT) Py_XSETREF(hrpy_hooks.dtypes[n], Py_NewRef(dtype));
  }
  if (!PyType_IsSubtype(hrpy_hooks.operation, &hrpy_operation_type) || !PyType_IsSubtype(hrpy_hooks.tensor, &hrpy_tensor_type))
    return PyErr_SetString(PyExc_TypeError, "the classes must derive from the extension's"), NULL;
  Py_RETURN_NONE;
}

PyObject* hrpy_dtype(int number) {
  PyObject* o = number >= 0 && number < HR_DTYPE_REF + HR_DTYPE_COUNT ? hrpy_hooks.dtypes[number] : NULL;
  if (!o) return PyErr_Format(PyExc_TypeError, "there is no data type %d", number);
  return Py_NewRef(o);
}

int hrpy_dtype_number(PyObject* dtype) {
  if (PyLong_Check(dtype)) return (int)PyLong_AsLong(dtype);
  PyObject* number = PyObject_GetAttrString(dtype, "as_datatype_enum");
  if (!number) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "Cannot convert value %R to a TensorFlow DType.", dtype);
    return -1;
  }
  int n = (int)PyLong_AsLong(number);
  Py_DECREF(number);
  return n;
}

/* --- failures --- */
static PyObject* module_raise(int code, const char* message, GraphObject* graph) {
  PyObject* text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject* e =
      text && hrpy_hooks.error ? PyObject_CallFunction(hrpy_hooks.error, "iOO", code, text, graph ? (PyObject*)graph : Py_None) : NULL;
  Py_XDECREF(text);
  if (e)
    PyErr_SetObject((PyObject*)Py_TYPE(e), e);
  else if (!PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, message);
  Py_XDECREF(e);
  return NULL;
}

PyObject* hrpy_fail(hr_status_t take_status, GraphObject* graph) {
  module_raise((int)hr_status_code(take_status), hr_status_message(take_status), graph);
  hr_status_release(take_status);
  return NULL;
}

PyObject* hrpy_fail_build(hr_status_t take_status, GraphObject* graph) {
  if (hr_status_code(take_status) != HR_INVALID_ARGUMENT) return hrpy_fail(take_status, graph);
  PyObject* text = PyUnicode_DecodeUTF8(hr_status_message(take_status), (Py_ssize_t)strlen(hr_status_message(take_status)), "replace");
  hr_status_release(take_status);
  if (text) PyErr_SetObject(PyExc_ValueError, text);
  Py_XDECREF(text);
  return NULL;
}

void hrpy_raise(TF_Status* status, GraphObject* graph) {
  if (TF_GetCode(status) != TF_OK) module_raise((int)TF_GetCode(status), TF_Message(status), graph);
}

/* --- the rest --- */
static PyObject* module_load_library(PyObject* self, PyObject* path) {
  (void)self;
  PyObject* bytes = NULL;
  if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Library* library = TF_LoadLibrary(PyBytes_AS_STRING(bytes), status);
  Py_DECREF(bytes);
  PyObject* list = NULL;
  hrpy_raise(status, NULL);
  if (library) {
    TF_Buffer ops = TF_GetOpList(library);
    list = PyBytes_FromStringAndSize(ops.data, (Py_ssize_t)ops.length);
    TF_DeleteLibraryHandle(library); /* the code stays loaded */
  }
  TF_DeleteStatus(status);
  return list;
}

static bool module_add_name(const hr_op_def_t* def, void* arg) {
  PyObject* name = PyUnicode_FromStringAndSize(def->name.data, (Py_ssize_t)def->name.size);
  bool fine = name && PyList_Append(arg, name) == 0;
  Py_XDECREF(name);
  return fine;
}

static PyObject* module_op_names(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  PyObject* list = PyList_New(0);
  if (list) hr_registry_each(module_add_name, list);
  if (PyErr_Occurred()) Py_CLEAR(list);
  return list;
}

static PyObject* module_has_op(PyObject* self, PyObject* name) {
  (void)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  const hr_op_def_t* def;
  if (!text) return NULL;
  hr_status_t status = hr_registry_find((hr_str_t){text, (size_t)size}, &def);
  bool known = !status;
  hr_status_release(status);
  return PyBool_FromLong(known);
}

static PyObject* module_op_def(PyObject* self, PyObject* name) {
  (void)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  const hr_op_def_t* def;
  if (!text) return NULL;
  hr_status_t status = hr_registry_find((hr_str_t){text, (size_t)size}, &def);
  hr_writer_t w;
  hr_strbuf_init(&w);
  if (!status) status = hr_op_def_encode(def, &w);
  PyObject* out = status ? hrpy_fail(status, NULL) : PyBytes_FromStringAndSize(w.data ? w.data : "", (Py_ssize_t)w.size);
  hr_strbuf_deinit(&w);
  return out;
}

static PyMethodDef module_methods[] = {{"default_graph", module_default_graph, METH_NOARGS, "The graph that new operations go to."},
                                       {"swap_graph", module_swap_graph, METH_O, "Sets this thread's default graph; gives the one before."},
                                       {"reset_graph", module_reset_graph, METH_NOARGS, "Forgets the process's default graph."},
                                       {"install", module_install, METH_O, "Takes the classes and functions that Python provides."},
                                       {"load_library", module_load_library, METH_O, "Loads a shared library of ops; gives its OpList."},
                                       {"op_names", module_op_names, METH_NOARGS, "Names of all registered ops."},
                                       {"op_def", module_op_def, METH_O, "The serialized OpDef of a registered op."},
                                       {"has_op", module_has_op, METH_O, "Whether an op is registered."},
                                       {0}};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "_headrace", .m_size = -1, .m_methods = module_methods};

static bool module_add_type(PyObject* m, const char* name, PyTypeObject* type) {
  if (PyType_Ready(type) < 0) return false;
  return PyModule_AddObject(m, name, Py_NewRef((PyObject*)type)) == 0;
}

PyMODINIT_FUNC PyInit__headrace(void) {
  import_array();
  PyObject* m = PyModule_Create(&module_def);
  if (!m) return NULL;
  bool fine = module_add_type(m, "Graph", &hrpy_graph_type) && module_add_type(m, "Operation", &hrpy_operation_type) &&
              module_add_type(m, "Tensor", &hrpy_tensor_type) && module_add_type(m, "Session", &hrpy_session_type) &&
              module_add_type(m, "Callable", &hrpy_callable_type) && module_add_type(m, "OpFunction", &hrpy_op_function_type) &&
              module_add_type(m, "PartialRun", &hrpy_partial_type) && module_add_type(m, "Server", &hrpy_server_type);
  PyMethodDef* const more[] = {hrpy_gradient_methods, hrpy_import_methods, hrpy_value_methods, hrpy_op_methods, hrpy_client_methods,
                               hrpy_function_methods, hrpy_record_methods};
  for (size_t i = 0; fine && i < sizeof more / sizeof *more; ++i) fine = PyModule_AddFunctions(m, more[i]) == 0;
  fine = fine && PyModule_AddIntConstant(m, "GRAPH_VERSION", HR_GRAPH_VERSION) == 0;
  if (!fine) Py_CLEAR(m);
  return m;
}
