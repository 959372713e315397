/* SPDX-License-Identifier: Apache-2.0 */
/* `Session` in C: owns the runtime's session and the steps prepared for it. Closing and running are in run.c's hands. */
#include "ext.h"

/* Session(graph, target, config bytes) : the Python class gives these to _start. */
static PyObject* session_start(PyObject* self, PyObject* args) {
  SessionObject* s = (SessionObject*)self;
  PyObject* graph;
  const char *target, *config;
  Py_ssize_t target_size, config_size;
  PyObject* share = Py_None;
  if (!PyArg_ParseTuple(args, "O!s#y#|O", &hrpy_graph_type, &graph, &target, &target_size, &config, &config_size, &share)) return NULL;
  if (s->session) return PyErr_SetString(PyExc_RuntimeError, "the session is started already"), NULL;
  hr_session_options_t options;
  hr_session_options_init(&options);
  options.config = (hr_str_t){config, (size_t)config_size};
  hr_status_t status = hr_session_options_decode(&options, config, (size_t)config_size);
  if (status) return hrpy_fail(status, NULL);
  options.target = (hr_str_t){target, (size_t)target_size};
  if (share != Py_None && PyObject_TypeCheck(share, &hrpy_session_type))
    options.resources = hr_session_share_resources(((SessionObject*)share)->session);
  GraphObject* g = (GraphObject*)graph;
  Py_BEGIN_ALLOW_THREADS status = hr_session_create(g->graph, &options, &s->session);
  hr_resources_release(options.resources);
  Py_END_ALLOW_THREADS if (status) return hrpy_fail(status, g);
  s->graph = (GraphObject*)Py_NewRef(graph);
  hrpy_interrupt_watch();
  Py_RETURN_NONE;
}

static PyObject* session_close(PyObject* self, PyObject* unused) {
  (void)unused;
  SessionObject* s = (SessionObject*)self;
  if (!s->session || s->closed) Py_RETURN_NONE;
  s->closed = true;
  hr_status_t status;
  Py_BEGIN_ALLOW_THREADS status = hr_session_close(s->session);
  Py_END_ALLOW_THREADS if (status) return hrpy_fail(status, s->graph);
  Py_RETURN_NONE;
}

static int session_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(((SessionObject*)self)->graph);
  return 0;
}
static int session_clear(PyObject* self) {
  (void)self;
  return 0;
}
static void session_dealloc(PyObject* self) {
  SessionObject* s = (SessionObject*)self;
  PyObject_GC_UnTrack(self);
  hrpy_session_forget(s);
  hr_session_t* session = s->session;
  s->session = NULL;
  if (session) {
    Py_BEGIN_ALLOW_THREADS hr_session_destroy(session);
    Py_END_ALLOW_THREADS
  }
  Py_CLEAR(s->graph);
  Py_TYPE(self)->tp_free(self);
}

static PyObject* session_graph(PyObject* self, void* c) {
  (void)c;
  SessionObject* s = (SessionObject*)self;
  return Py_NewRef(s->graph ? (PyObject*)s->graph : Py_None);
}
static PyObject* session_clear_container(PyObject* self, PyObject* name) {
  SessionObject* s = (SessionObject*)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) return NULL;
  hr_resources_t* shared = hr_session_share_resources(s->session);
  if (shared) hr_resources_clear(shared, (hr_str_t){text, (size_t)size});
  hr_resources_release(shared);
  Py_RETURN_NONE;
}

/* [(name, type, memory in bytes, incarnation)] */
static PyObject* session_list_devices(PyObject* self, PyObject* unused) {
  (void)unused;
  SessionObject* s = (SessionObject*)self;
  if (!s->session || s->closed) return PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session."), NULL;
  hr_device_set_t* devices = NULL;
  hr_status_t status;
  Py_BEGIN_ALLOW_THREADS status = hr_session_list_devices(s->session, &devices);
  Py_END_ALLOW_THREADS if (status) return hrpy_fail(status, s->graph);
  PyObject* list = PyList_New(devices->count);
  for (int i = 0; list && i < devices->count; ++i) {
    const hr_device_t* d = devices->devices[i];
    PyObject* row = Py_BuildValue("ssLK", d->name, d->type, (long long)d->memory_limit, (unsigned long long)d->incarnation);
    if (!row)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, row);
  }
  hr_device_set_release(devices);
  return list;
}

/* _reset(target, containers) -> whether a master elsewhere was asked */
static PyObject* session_reset(PyObject* unused, PyObject* args) {
  (void)unused;
  const char* target;
  Py_ssize_t size;
  PyObject* names;
  if (!PyArg_ParseTuple(args, "s#O!", &target, &size, &PyList_Type, &names)) return NULL;
  Py_ssize_t n = PyList_GET_SIZE(names);
  hr_str_t* containers = PyMem_Calloc((size_t)n + 1, sizeof *containers);
  if (!containers) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n; ++i) {
    Py_ssize_t length;
    const char* text = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(names, i), &length);
    if (!text) return PyMem_Free(containers), NULL;
    containers[i] = (hr_str_t){text, (size_t)length};
  }
  bool done = false;
  hr_status_t status;
  Py_BEGIN_ALLOW_THREADS status = hr_session_reset((hr_str_t){target, (size_t)size}, containers, (int)n, &done);
  Py_END_ALLOW_THREADS PyMem_Free(containers);
  if (status) return hrpy_fail(status, NULL);
  return PyBool_FromLong(done);
}

static PyGetSetDef session_getset[] = {{"graph", session_graph, NULL, "The graph that it runs.", NULL}, {0}};
static PyMemberDef session_members[] = {{"_closed", T_BOOL, offsetof(SessionObject, closed), READONLY, NULL}, {0}};
static PyMethodDef session_methods[] = {
    {"_start", session_start, METH_VARARGS, "_start(graph, target, config)"},
    {"_close", session_close, METH_NOARGS, "Ends running steps and the session."},
    {"_clear_container", session_clear_container, METH_O, "Forgets a container's resources."},
    {"_list_devices", session_list_devices, METH_NOARGS, "[(name, type, memory, incarnation)]"},
    {"_reset", session_reset, METH_VARARGS | METH_STATIC, "_reset(target, containers): whether the target's master did it"},
    {"run", (PyCFunction)(void (*)(void))hrpy_session_run, METH_FASTCALL | METH_KEYWORDS,
     "run(fetches, feed_dict=None, options=None, run_metadata=None)"},
    {"_run_flat", hrpy_session_run_flat, METH_VARARGS, "_run_flat(fetches, feeds, values, options, want_metadata)"},
    {"_make_callable", hrpy_session_make_callable, METH_VARARGS, "_make_callable(fetches, feeds, kind)"},
    {"_partial", hrpy_session_partial, METH_VARARGS, "_partial(fetches, feeds)"},
    {0}};

PyTypeObject hrpy_session_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.Session",
                                  .tp_basicsize = sizeof(SessionObject),
                                  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                  .tp_new = PyType_GenericNew,
                                  .tp_dealloc = session_dealloc,
                                  .tp_traverse = session_traverse,
                                  .tp_clear = session_clear,
                                  .tp_methods = session_methods,
                                  .tp_members = session_members,
                                  .tp_getset = session_getset};
