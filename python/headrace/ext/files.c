/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints and event files for Python. Each is a capsule that closes when it goes; a closed event file's capsule has its pointer's place
 * taken by a mark, so that later calls say so. */
#include "files.h"
#include "io/bundle.h"
#include "io/event.h"

static const char files_checkpoint[] = "headrace.checkpoint", files_events[] = "headrace.events";
static char files_closed;

/* --- checkpoints ---------------------------------------------------------------------------------------------------------------------- */
static hr_bundle_t* files_bundle(PyObject* capsule) { return PyCapsule_GetPointer(capsule, files_checkpoint); }

static void files_free_bundle(PyObject* capsule) { hr_bundle_close(files_bundle(capsule)); }

PyObject* hrpy_open_checkpoint(PyObject* self, PyObject* prefix) {
  (void)self;
  PyObject* path = NULL;
  hr_bundle_t* b = NULL;
  if (!PyUnicode_FSConverter(prefix, &path)) return NULL;
  hr_status_t status = hr_bundle_open(PyBytes_AS_STRING(path), &b);
  Py_DECREF(path);
  if (status) return hrpy_fail(status, NULL);
  PyObject* capsule = PyCapsule_New(b, files_checkpoint, files_free_bundle);
  if (!capsule) hr_bundle_close(b);
  return capsule;
}

static PyObject* files_entry_object(const hr_bundle_entry_t* e) {
  PyObject* dims = PyList_New(e->shape.rank);
  for (int32_t i = 0; dims && i < e->shape.rank; ++i) {
    PyObject* n = PyLong_FromLongLong(e->shape.dims[i]);
    if (!n) Py_CLEAR(dims);
    else PyList_SET_ITEM(dims, i, n);
  }
  PyObject* out = dims ? Py_BuildValue("s#iO", e->name.data, (Py_ssize_t)e->name.size, (int)e->dtype, dims) : NULL;
  Py_XDECREF(dims);
  return out;
}

PyObject* hrpy_checkpoint_entries(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_bundle_t* b = files_bundle(capsule);
  PyObject* list = b ? PyList_New(0) : NULL;
  for (int64_t i = 0; list && i < hr_bundle_count(b); ++i) {
    const hr_bundle_entry_t* e = hr_bundle_entry(b, i);
    if (hr_bundle_entry_is_part(e)) continue;
    PyObject* o = files_entry_object(e);
    if (!o || PyList_Append(list, o)) Py_CLEAR(list);
    Py_XDECREF(o);
  }
  return list;
}

PyObject* hrpy_checkpoint_read(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* capsule;
  const char* name;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "Os#", &capsule, &name, &size)) return NULL;
  hr_bundle_t* b = files_bundle(capsule);
  if (!b) return NULL;
  hr_tensor_t t = {0};
  hr_status_t status = hr_bundle_read(b, (hr_str_t){name, (size_t)size}, HR_STR(""), HR_DTYPE_INVALID, &t);
  return status ? hrpy_fail(status, NULL) : hrpy_from_tensor(&t);
}

/* --- event files ---------------------------------------------------------------------------------------------------------------------- */
static hr_event_writer_t* files_writer(PyObject* capsule) {
  void* w = PyCapsule_GetPointer(capsule, files_events);
  if (w == &files_closed) return PyErr_SetString(PyExc_ValueError, "the event file is closed"), NULL;
  return w;
}

static void files_free_writer(PyObject* capsule) {
  void* w = PyCapsule_GetPointer(capsule, files_events);
  if (w != &files_closed) hr_status_release(hr_event_writer_close(w));
}

PyObject* hrpy_open_events(PyObject* self, PyObject* args) {
  (void)self;
  const char *folder, *suffix;
  hr_event_writer_t* w = NULL;
  if (!PyArg_ParseTuple(args, "ss", &folder, &suffix)) return NULL;
  hr_status_t status = hr_event_writer_create(folder, suffix, &w);
  if (status) return hrpy_fail(status, NULL);
  PyObject* capsule = PyCapsule_New(w, files_events, files_free_writer);
  if (!capsule) hr_status_release(hr_event_writer_close(w));
  return capsule;
}

static PyObject* files_done(hr_status_t status) {
  if (status) return hrpy_fail(status, NULL);
  Py_RETURN_NONE;
}

PyObject* hrpy_events_add(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* capsule;
  const char* event;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "Oy#", &capsule, &event, &size)) return NULL;
  hr_event_writer_t* w = files_writer(capsule);
  return w ? files_done(hr_event_writer_add(w, (hr_str_t){event, (size_t)size})) : NULL;
}

PyObject* hrpy_events_flush(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_event_writer_t* w = files_writer(capsule);
  return w ? files_done(hr_event_writer_flush(w)) : NULL;
}

PyObject* hrpy_events_close(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_event_writer_t* w = files_writer(capsule);
  if (!w || PyCapsule_SetPointer(capsule, &files_closed)) return NULL;
  return files_done(hr_event_writer_close(w));
}

PyObject* hrpy_events_path(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_event_writer_t* w = files_writer(capsule);
  return w ? PyUnicode_FromString(hr_event_writer_path(w)) : NULL;
}
