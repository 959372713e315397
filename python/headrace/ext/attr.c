/* SPDX-License-Identifier: Apache-2.0 */
/* Attr values from Python values. Texts borrow from the Python object (which the caller keeps) or lie in the arena. */
#include "ext.h"
#include "op/attr_value.h"

static bool attr_text(PyObject* o, hr_arena_t* arena, hr_str_t* out) {
  Py_ssize_t size;
  (void)arena;
  if (PyBytes_Check(o)) {
    *out = (hr_str_t){PyBytes_AS_STRING(o), (size_t)PyBytes_GET_SIZE(o)};
    return true;
  }
  if (!PyUnicode_Check(o)) return PyErr_Format(PyExc_TypeError, "expected a string, got %R", o), false;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  *out = (hr_str_t){text, text ? (size_t)size : 0};
  return text != NULL;
}

static bool attr_int(PyObject* o, int64_t* out) {
  PyObject* n = PyNumber_Index(o);
  if (!n && PyErr_ExceptionMatches(PyExc_TypeError)) { /* TensorFlow takes a float without a fraction, and Dimension */
    PyErr_Clear();
    n = PyNumber_Long(o);
    double back = n ? PyLong_AsDouble(n) : 0, was = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : back;
    if (!n || PyUnicode_Check(o) || back != was) {
      Py_XDECREF(n);
      PyErr_Format(PyExc_TypeError, "expected an int, got %R", o);
      return false;
    }
  }
  if (!n) return false;
  *out = PyLong_AsLongLong(n);
  Py_DECREF(n);
  return !(*out == -1 && PyErr_Occurred());
}

static bool attr_float(PyObject* o, float* out) {
  if (PyUnicode_Check(o)) return PyErr_Format(PyExc_TypeError, "expected a float, got %R", o), false;
  double d = PyFloat_AsDouble(o);
  if (d == -1.0 && PyErr_Occurred()) return false;
  *out = (float)d;
  return true;
}

static bool attr_bool(PyObject* o, bool* out) {
  if (!PyBool_Check(o) && !PyArray_IsScalar(o, Bool) && !PyLong_Check(o))
    return PyErr_Format(PyExc_TypeError, "expected a bool, got %R", o), false;
  *out = PyObject_IsTrue(o) == 1;
  return true;
}

static PyObject* attr_as_dtype; /* dtypes.as_dtype */
static bool attr_type(PyObject* o, int32_t* out) {
  if (PyObject_HasAttrString(o, "as_datatype_enum")) return (*out = hrpy_dtype_number(o)) >= 0;
  if (!attr_as_dtype) {
    PyObject* m = PyImport_ImportModule("headrace.dtypes");
    attr_as_dtype = m ? PyObject_GetAttrString(m, "as_dtype") : NULL;
    Py_XDECREF(m);
    if (!attr_as_dtype) return false;
  }
  PyObject* d = PyObject_CallOneArg(attr_as_dtype, o);
  if (!d) return false;
  *out = hrpy_dtype_number(d);
  Py_DECREF(d);
  return *out >= 0;
}

static bool attr_dim(PyObject* o, int64_t* out) {
  *out = -1;
  if (o == Py_None) return true;
  if (PyLong_Check(o)) {
    *out = PyLong_AsLongLong(o);
  } else {
    PyObject* value = PyObject_HasAttrString(o, "value") ? PyObject_GetAttrString(o, "value")
                      : PyObject_HasAttrString(o, "size") && !PyArray_Check(o) && !PyArray_CheckScalar(o)
                          ? PyObject_GetAttrString(o, "size")
                          : NULL;
    if (value) {
      bool fine = attr_dim(value, out);
      Py_DECREF(value);
      return fine;
    }
    if (!attr_int(o, out)) return false;
  }
  if (*out == -1 && PyErr_Occurred()) return false;
  if (*out < -1) return PyErr_Format(PyExc_ValueError, "Dimension %R must be >= 0", o), false;
  return true;
}

/* None: unknown rank. A TensorShape has `_dims` (a tuple, or None); a TensorShapeProto has unknown_rank and dim. */
bool hrpy_dims(PyObject* value, hr_arena_t* arena, const hr_pshape_t** out) {
  PyObject* held = NULL;
  if (value != Py_None && !PyTuple_Check(value) && !PyList_Check(value)) {
    if (PyObject_HasAttrString(value, "_dims")) {
      held = PyObject_GetAttrString(value, "_dims");
    } else if (PyObject_HasAttrString(value, "unknown_rank")) {
      PyObject* unknown = PyObject_GetAttrString(value, "unknown_rank");
      held = unknown && PyObject_IsTrue(unknown) ? Py_NewRef(Py_None) : PyObject_GetAttrString(value, "dim");
      Py_XDECREF(unknown);
    } else if (PyLong_Check(value)) {
      held = PyTuple_Pack(1, value);
    } else {
      held = Py_NewRef(value);
    }
    if (!held) return false;
    value = held;
  }
  bool fine = false;
  if (value == Py_None) {
    *out = &hr_pshape_unknown;
    fine = true;
  } else {
    PyObject* seq = PySequence_Fast(value, "a shape is None or a sequence of dims");
    if (seq && PySequence_Fast_GET_SIZE(seq) > 254)
      PyErr_SetString(PyExc_ValueError, "a shape has at most 254 dims");
    else if (seq) {
      int64_t dims[254];
      Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
      fine = true;
      for (Py_ssize_t i = 0; fine && i < n; ++i) fine = attr_dim(PySequence_Fast_GET_ITEM(seq, i), &dims[i]);
      hr_status_t status = fine ? hr_pshape_make(arena, n, dims, out) : NULL;
      if (status) fine = (hrpy_fail_build(status, NULL), false);
    }
    Py_XDECREF(seq);
  }
  Py_XDECREF(held);
  return fine;
}

/* An array, or a TensorProto (anything that serializes). */
static bool attr_tensor(PyObject* o, hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_tensor_t** out) {
  hr_tensor_t t = {0};
  PyObject* array = NULL;
  bool fine = false;
  if (!PyArray_Check(o) && PyObject_HasAttrString(o, "SerializeToString")) {
    PyObject* m = PyImport_ImportModule("headrace.tensor_util");
    array = m ? PyObject_CallMethod(m, "make_ndarray", "O", o) : NULL;
    Py_XDECREF(m);
  } else {
    array = PyArray_FROM_O(o);
  }
  if (array) {
    int dtype = hrpy_dtype_of_numpy(PyArray_DESCR((PyArrayObject*)array));
    if (!dtype)
      PyErr_Format(PyExc_TypeError, "no tensor can be made of %R", o);
    else
      fine = hrpy_to_tensor(array, dtype, &t);
  }
  Py_XDECREF(array);
  if (!fine) return false;
  hr_tensor_t own = {0};
  hr_status_t status = hr_tensor_clone(&t, &own);
  if (!status) status = hr_attr_keep_tensor(arena, keeper, &own, out);
  hr_tensor_release(&own);
  hr_tensor_release(&t);
  if (status) hrpy_fail(status, NULL);
  return !status;
}

/* A name, something with a name, or a NameAttrList. */
static bool attr_func(PyObject* o, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_func_attr_t* out) {
  *out = (hr_func_attr_t){0};
  if (PyUnicode_Check(o)) return attr_text(o, arena, &out->name);
  PyObject* bytes = PyObject_CallMethod(o, "SerializeToString", NULL);
  if (!bytes) return false;
  hr_str_t copy;
  bool fine = hr_arena_str(arena, (hr_str_t){PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)}, &copy);
  Py_DECREF(bytes);
  if (!fine) return PyErr_NoMemory(), false;
  hr_status_t status = hr_attr_value_decode_func(arena, keeper, hr_cursor_make(copy.data, copy.size), out);
  if (status) hrpy_fail(status, NULL);
  return !status;
}

static bool attr_scalar(int kind, PyObject* o, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out) {
  hr_func_attr_t* func;
  switch (kind) {
    case HR_ATTR_STRING: return attr_text(o, arena, &out->u.s);
    case HR_ATTR_INT: return attr_int(o, &out->u.i);
    case HR_ATTR_FLOAT: return attr_float(o, &out->u.f);
    case HR_ATTR_BOOL: return attr_bool(o, &out->u.b);
    case HR_ATTR_TYPE: return attr_type(o, &out->u.type);
    case HR_ATTR_SHAPE: return hrpy_dims(o, arena, &out->u.shape);
    case HR_ATTR_TENSOR: return attr_tensor(o, arena, keeper, &out->u.tensor);
    case HR_ATTR_FUNC:
      if (!(func = hr_arena_alloc(arena, sizeof *func))) return PyErr_NoMemory(), false;
      out->u.func = func;
      return attr_func(o, arena, keeper, func);
    default: return PyErr_SetString(PyExc_TypeError, "an attr of no kind"), false;
  }
}

static bool attr_list_item(int kind, PyObject* o, hr_arena_t* arena, hr_attr_keeper_t* keeper, void* items, Py_ssize_t i) {
  switch (kind) {
    case HR_ATTR_STRING: return attr_text(o, arena, (hr_str_t*)items + i);
    case HR_ATTR_INT: return attr_int(o, (int64_t*)items + i);
    case HR_ATTR_FLOAT: return attr_float(o, (float*)items + i);
    case HR_ATTR_BOOL: return attr_bool(o, (bool*)items + i);
    case HR_ATTR_TYPE: return attr_type(o, (int32_t*)items + i);
    case HR_ATTR_SHAPE: return hrpy_dims(o, arena, (const hr_pshape_t**)items + i);
    case HR_ATTR_TENSOR: return attr_tensor(o, arena, keeper, (const hr_tensor_t**)items + i);
    case HR_ATTR_FUNC: return attr_func(o, arena, keeper, (hr_func_attr_t*)items + i);
    default: return PyErr_SetString(PyExc_TypeError, "an attr of no kind"), false;
  }
}

static bool attr_list(int kind, PyObject* o, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out) {
  if (PyUnicode_Check(o) || PyBytes_Check(o)) return PyErr_Format(PyExc_TypeError, "expected a list, got %R", o), false;
  PyObject* seq = PySequence_Fast(o, "expected a list");
  if (!seq) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
  void* items = hr_arena_array(arena, (size_t)n + 1, sizeof(hr_func_attr_t)); /* the largest item */
  bool fine = items != NULL;
  if (!fine) PyErr_NoMemory();
  for (Py_ssize_t i = 0; fine && i < n; ++i) fine = attr_list_item(kind, PySequence_Fast_GET_ITEM(seq, i), arena, keeper, items, i);
  out->count = (int32_t)n;
  out->u.is = items;
  Py_DECREF(seq);
  return fine;
}

/* An AttrValue message, in place of a Python value. */
static bool attr_message(PyObject* o, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out) {
  PyObject* bytes = PyObject_CallMethod(o, "SerializeToString", NULL);
  if (!bytes) return false;
  hr_status_t status = hr_attr_value_decode(arena, keeper, hr_cursor_make(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)), out);
  Py_DECREF(bytes);
  if (status) hrpy_fail(status, NULL);
  return !status;
}

static bool attr_is_message(PyObject* o) { return strcmp(Py_TYPE(o)->tp_name, "AttrValue") == 0; }

bool hrpy_attr(const hr_attr_def_t* def, PyObject* value, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out) {
  memset(out, 0, sizeof *out);
  if (attr_is_message(value)) return attr_message(value, arena, keeper, out);
  out->kind = def->kind;
  out->is_list = def->is_list;
  bool fine = def->is_list ? attr_list(def->kind, value, arena, keeper, out) : attr_scalar(def->kind, value, arena, keeper, out);
  if (!fine && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyObject* why = hrpy_take_error();
    PyErr_Format(PyExc_TypeError, "attr '%s': %S", def->name.data, why ? why : Py_None);
    Py_XDECREF(why);
  }
  return fine;
}

static int attr_guess(PyObject* o) {
  if (PyBool_Check(o)) return HR_ATTR_BOOL;
  if (PyLong_Check(o)) return HR_ATTR_INT;
  if (PyFloat_Check(o)) return HR_ATTR_FLOAT;
  if (PyUnicode_Check(o) || PyBytes_Check(o)) return HR_ATTR_STRING;
  if (PyObject_HasAttrString(o, "as_datatype_enum")) return HR_ATTR_TYPE;
  if (PyObject_HasAttrString(o, "_dims")) return HR_ATTR_SHAPE;
  return PyArray_Check(o) ? HR_ATTR_TENSOR : HR_ATTR_NONE;
}

bool hrpy_attr_any(PyObject* value, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out) {
  memset(out, 0, sizeof *out);
  if (attr_is_message(value)) return attr_message(value, arena, keeper, out);
  out->is_list = PyList_Check(value) || PyTuple_Check(value);
  PyObject* first = out->is_list ? PySequence_GetItem(value, 0) : Py_NewRef(value);
  if (!first) PyErr_Clear();
  out->kind = (uint8_t)(first ? attr_guess(first) : HR_ATTR_INT);
  Py_XDECREF(first);
  if (out->kind == HR_ATTR_NONE) return PyErr_Format(PyExc_TypeError, "no attr can be made of %R", value), false;
  return out->is_list ? attr_list(out->kind, value, arena, keeper, out) : attr_scalar(out->kind, value, arena, keeper, out);
}

/* --- back --- */
static PyObject* attr_message_object(const hr_attr_t* a, const char* field) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_status_t status = hr_attr_value_encode(a, &w);
  PyObject* m = status ? hrpy_fail(status, NULL) : PyImport_ImportModule("headrace.protos");
  PyObject* out = m ? PyObject_CallMethod(m, "attr_field", "y#s", w.data ? w.data : "", (Py_ssize_t)w.size, field) : NULL;
  Py_XDECREF(m);
  hr_strbuf_deinit(&w);
  return out;
}

static PyObject* attr_scalar_object(const hr_attr_t* a, int i) {
  bool list = a->is_list;
  hr_str_t s;
  switch (a->kind) {
    case HR_ATTR_STRING: s = list ? a->u.ss[i] : a->u.s; return PyBytes_FromStringAndSize(s.data, (Py_ssize_t)s.size);
    case HR_ATTR_INT: return PyLong_FromLongLong(list ? a->u.is[i] : a->u.i);
    case HR_ATTR_FLOAT: return PyFloat_FromDouble((double)(list ? a->u.fs[i] : a->u.f));
    case HR_ATTR_BOOL: return PyBool_FromLong(list ? a->u.bs[i] : a->u.b);
    case HR_ATTR_TYPE: return hrpy_dtype(list ? a->u.types[i] : a->u.type);
    case HR_ATTR_SHAPE: return hrpy_shape_object(list ? a->u.shapes[i] : a->u.shape);
    default: return PyErr_Format(PyExc_TypeError, "lists of %s attrs are read from node_def", hr_attr_kind_name(a->kind, list));
  }
}

PyObject* hrpy_attr_object(const hr_attr_t* a) {
  if (!a->is_list) {
    if (a->kind == HR_ATTR_TENSOR) return attr_message_object(a, "tensor");
    if (a->kind == HR_ATTR_FUNC) return attr_message_object(a, "func");
    return attr_scalar_object(a, 0);
  }
  PyObject* list = PyList_New(a->count);
  for (int i = 0; list && i < a->count; ++i) {
    PyObject* o = attr_scalar_object(a, i);
    if (!o)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, o);
  }
  return list;
}
