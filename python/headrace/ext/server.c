/* SPDX-License-Identifier: Apache-2.0 */
/* `Server`: a task of a cluster in this process, made from a serialized ServerDef. Python's class (train/cluster.py) makes that message. */
#include "ext.h"

typedef struct {
  PyObject_HEAD TF_Server* server;
} ServerObject;

static PyObject* server_report(TF_Status* take_status) {
  bool fine = TF_GetCode(take_status) == TF_OK;
  hrpy_raise(take_status, NULL);
  TF_DeleteStatus(take_status);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}

static PyObject* server_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  const char* def;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "y#", &def, &size)) return NULL;
  ServerObject* s = (ServerObject*)type->tp_alloc(type, 0);
  TF_Status* status = TF_NewStatus();
  if (!s || !status) {
    TF_DeleteStatus(status);
    Py_XDECREF(s);
    return PyErr_NoMemory();
  }
  TF_Server* made;
  Py_BEGIN_ALLOW_THREADS made = TF_NewServer(def, (size_t)size, status);
  Py_END_ALLOW_THREADS s->server = made;
  PyObject* done = server_report(status);
  if (!done) Py_CLEAR(s);
  Py_XDECREF(done);
  return (PyObject*)s;
}

static PyObject* server_call(PyObject* self, void (*call)(TF_Server*, TF_Status*)) {
  TF_Status* status = TF_NewStatus();
  if (!status) return PyErr_NoMemory();
  TF_Server* server = ((ServerObject*)self)->server;
  Py_INCREF(self); /* a thread that joins keeps it */
  Py_BEGIN_ALLOW_THREADS call(server, status);
  Py_END_ALLOW_THREADS Py_DECREF(self);
  return server_report(status);
}
static PyObject* server_start(PyObject* self, PyObject* unused) { return (void)unused, server_call(self, TF_ServerStart); }
static PyObject* server_stop(PyObject* self, PyObject* unused) { return (void)unused, server_call(self, TF_ServerStop); }
static PyObject* server_join(PyObject* self, PyObject* unused) { return (void)unused, server_call(self, TF_ServerJoin); }

static PyObject* server_target(PyObject* self, void* closure) {
  (void)closure;
  const char* target = TF_ServerTarget(((ServerObject*)self)->server);
  return PyUnicode_FromString(target ? target : "");
}

static void server_dealloc(PyObject* self) {
  TF_Server* server = ((ServerObject*)self)->server;
  if (server) {
    Py_BEGIN_ALLOW_THREADS TF_DeleteServer(server);
    Py_END_ALLOW_THREADS
  }
  Py_TYPE(self)->tp_free(self);
}

static PyMethodDef server_methods[] = {{"start", server_start, METH_NOARGS, "Serves."},
                                       {"stop", server_stop, METH_NOARGS, "Ends running steps and serves no more."},
                                       {"join", server_join, METH_NOARGS, "Waits until it is stopped."},
                                       {0}};
static PyGetSetDef server_getset[] = {{"target", server_target, NULL, "What a session names: grpc://host:port", NULL}, {0}};

PyTypeObject hrpy_server_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.Server",
                                 .tp_basicsize = sizeof(ServerObject),
                                 .tp_flags = Py_TPFLAGS_DEFAULT,
                                 .tp_new = server_new,
                                 .tp_dealloc = server_dealloc,
                                 .tp_methods = server_methods,
                                 .tp_getset = server_getset};
