/* SPDX-License-Identifier: Apache-2.0 */
/* String tensors: object arrays of bytes in Python; texts are encoded as UTF-8 on the way in. */
#include "ext.h"

static bool string_set(PyObject* o, hr_tstring_t* at) {
  hr_str_t text;
  Py_ssize_t size;
  char* bytes;
  if (PyBytes_Check(o)) {
    PyBytes_AsStringAndSize(o, &bytes, &size);
    text = (hr_str_t){bytes, (size_t)size};
  } else if (PyUnicode_Check(o)) {
    const char* utf8 = PyUnicode_AsUTF8AndSize(o, &size);
    if (!utf8) return false;
    text = (hr_str_t){utf8, (size_t)size};
  } else {
    PyErr_Format(PyExc_TypeError, "Unsupported object type %s: a string tensor takes bytes and str", Py_TYPE(o)->tp_name);
    return false;
  }
  hr_status_t status = hr_tstring_set(at, text);
  if (status) hrpy_fail(status, NULL);
  return !status;
}

bool hrpy_strings_to_tensor(PyArrayObject* array, hr_tensor_t* out) {
  int64_t dims[64];
  for (int i = 0; i < PyArray_NDIM(array); ++i) dims[i] = PyArray_DIM(array, i);
  hr_shape_t shape;
  hr_status_t status = hr_shape_make(PyArray_NDIM(array), dims, &shape);
  if (!status) status = hr_tensor_create(HR_STRING, &shape, out);
  if (status) return hrpy_fail(status, NULL), false;
  PyObject** items = PyArray_DATA(array);
  for (int64_t i = 0; i < out->count; ++i) {
    if (!string_set(items[i] ? items[i] : Py_None, (hr_tstring_t*)out->data + i)) return hr_tensor_release(out), false;
  }
  return true;
}

static PyObject* string_bytes(const hr_tstring_t* s) {
  hr_str_t text = hr_tstring_get(s);
  return PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.size);
}

PyObject* hrpy_strings_from_tensor(const hr_tensor_t* t) {
  if (t->shape.rank == 0) return string_bytes(t->data);
  npy_intp dims[HR_MAX_RANK];
  for (int i = 0; i < t->shape.rank; ++i) dims[i] = t->shape.dims[i];
  PyObject* a = PyArray_ZEROS(t->shape.rank, dims, NPY_OBJECT, 0);
  if (!a) return NULL;
  PyObject** items = PyArray_DATA((PyArrayObject*)a);
  for (int64_t i = 0; i < t->count; ++i) {
    PyObject* o = string_bytes((const hr_tstring_t*)t->data + i);
    if (!o) return Py_DECREF(a), NULL;
    Py_XSETREF(items[i], o);
  }
  return a;
}
