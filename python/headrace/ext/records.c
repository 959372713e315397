/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord files for Python (io/record.h). A reader or a writer is a capsule that closes when it goes; a closed one has a mark in its
 * pointer's place, so that later calls say so. Calls from several threads take turns: none lets the interpreter's lock go. */
#include "ext.h"
#include "io/record.h"

static const char records_reader[] = "headrace.record_reader", records_writer[] = "headrace.record_writer";
static char records_closed;

static void* records_get(PyObject* capsule, const char* kind) {
  void* p = PyCapsule_GetPointer(capsule, kind);
  if (p == &records_closed) return PyErr_SetString(PyExc_ValueError, "the record file is closed"), NULL;
  return p;
}

/* What is there, once: the capsule is closed from then on. */
static void* records_take(PyObject* capsule, const char* kind) {
  void* p = records_get(capsule, kind);
  return !p || PyCapsule_SetPointer(capsule, &records_closed) ? NULL : p;
}

static PyObject* records_done(hr_status_t status) {
  if (status) return hrpy_fail(status, NULL);
  Py_RETURN_NONE;
}

/* (path, coding) */
static bool records_parse(PyObject* args, PyObject** out_path, hr_stream_coding_t* out_coding) {
  const char* coding;
  if (!PyArg_ParseTuple(args, "O&s", PyUnicode_FSConverter, out_path, &coding)) return false;
  if (hr_stream_parse_coding(hr_str(coding), out_coding)) return true;
  PyErr_Format(PyExc_ValueError, "compression '%s' is none of '', 'ZLIB', 'GZIP'", coding);
  Py_CLEAR(*out_path);
  return false;
}

/* --- reading -------------------------------------------------------------------------------------------------------------------------- */

static void records_free_reader(PyObject* capsule) {
  void* r = PyCapsule_GetPointer(capsule, records_reader);
  if (r != &records_closed) hr_record_reader_close(r);
}

static PyObject* records_open_reader(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* path = NULL;
  hr_stream_coding_t coding;
  hr_record_reader_t* r = NULL;
  if (!records_parse(args, &path, &coding)) return NULL;
  hr_status_t status = hr_record_reader_open(PyBytes_AS_STRING(path), coding, &r);
  Py_DECREF(path);
  if (status) return hrpy_fail(status, NULL);
  PyObject* capsule = PyCapsule_New(r, records_reader, records_free_reader);
  if (!capsule) hr_record_reader_close(r);
  return capsule;
}

static PyObject* records_next(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_record_reader_t* r = records_get(capsule, records_reader);
  hr_str_t data;
  if (!r) return NULL;
  hr_status_t status = hr_record_reader_next(r, &data);
  if (!status) return PyBytes_FromStringAndSize(data.data, (Py_ssize_t)data.size);
  if (hr_status_code(status) != HR_OUT_OF_RANGE) return hrpy_fail(status, NULL);
  hr_status_release(status);
  Py_RETURN_NONE;
}

/* --- writing -------------------------------------------------------------------------------------------------------------------------- */

static void records_free_writer(PyObject* capsule) {
  void* w = PyCapsule_GetPointer(capsule, records_writer);
  if (w != &records_closed) hr_status_release(hr_record_writer_close(w));
}

static PyObject* records_open_writer(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* path = NULL;
  hr_stream_coding_t coding;
  hr_record_writer_t* w = NULL;
  if (!records_parse(args, &path, &coding)) return NULL;
  hr_status_t status = hr_record_writer_create(PyBytes_AS_STRING(path), coding, &w);
  Py_DECREF(path);
  if (status) return hrpy_fail(status, NULL);
  PyObject* capsule = PyCapsule_New(w, records_writer, records_free_writer);
  if (!capsule) hr_status_release(hr_record_writer_close(w));
  return capsule;
}

static PyObject* records_add(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* capsule;
  const char* data;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "Oy#", &capsule, &data, &size)) return NULL;
  hr_record_writer_t* w = records_get(capsule, records_writer);
  return w ? records_done(hr_record_writer_add(w, (hr_str_t){data, (size_t)size})) : NULL;
}

static PyObject* records_flush(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_record_writer_t* w = records_get(capsule, records_writer);
  return w ? records_done(hr_record_writer_flush(w)) : NULL;
}

static PyObject* records_close(PyObject* self, PyObject* capsule) {
  (void)self;
  hr_record_writer_t* w = records_take(capsule, records_writer);
  return w ? records_done(hr_record_writer_close(w)) : NULL;
}

PyMethodDef hrpy_record_methods[] = {
    {"open_record_reader", records_open_reader, METH_VARARGS, "A TFRecord file to read: (path, compression)."},
    {"record_next", records_next, METH_O, "The next record's bytes, None at the end."},
    {"open_record_writer", records_open_writer, METH_VARARGS, "A new TFRecord file: (path, compression)."},
    {"record_add", records_add, METH_VARARGS, "Adds a record."},
    {"record_flush", records_flush, METH_O, "Brings what was added to the file."},
    {"record_close", records_close, METH_O, "Flushes and closes."},
    {0}};
