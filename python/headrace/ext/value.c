/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy arrays as tensors and back. A fed array is borrowed (read only) while anything holds its buffer; a fetched buffer that nobody
 * else holds becomes an array's memory, any other is copied, since the script may write what it fetched. */
#include "ext.h"

static const signed char value_numpy_types[HR_DTYPE_COUNT] = {[HR_F32] = NPY_FLOAT32,
                                                              [HR_F64] = NPY_FLOAT64,
                                                              [HR_I32] = NPY_INT32,
                                                              [HR_U8] = NPY_UINT8,
                                                              [HR_I16] = NPY_INT16,
                                                              [HR_I8] = NPY_INT8,
                                                              [HR_STRING] = NPY_OBJECT,
                                                              [HR_C64] = NPY_COMPLEX64,
                                                              [HR_I64] = NPY_INT64,
                                                              [HR_BOOL] = NPY_BOOL,
                                                              [HR_QI8] = NPY_INT8,
                                                              [HR_QU8] = NPY_UINT8,
                                                              [HR_QI32] = NPY_INT32,
                                                              [HR_BF16] = NPY_UINT16,
                                                              [HR_QI16] = NPY_INT16,
                                                              [HR_QU16] = NPY_UINT16,
                                                              [HR_U16] = NPY_UINT16,
                                                              [HR_C128] = NPY_COMPLEX128,
                                                              [HR_F16] = NPY_FLOAT16,
                                                              [HR_U32] = NPY_UINT32,
                                                              [HR_U64] = NPY_UINT64,
                                                              [HR_F8_E5M2] = NPY_UINT8,
                                                              [HR_F8_E4M3FN] = NPY_UINT8,
                                                              [HR_F8_E4M3FNUZ] = NPY_UINT8,
                                                              [HR_F8_E4M3B11FNUZ] = NPY_UINT8,
                                                              [HR_F8_E5M2FNUZ] = NPY_UINT8,
                                                              [HR_I4] = NPY_INT8,
                                                              [HR_U4] = NPY_UINT8,
                                                              [HR_I2] = NPY_INT8,
                                                              [HR_U2] = NPY_UINT8,
                                                              [HR_F4_E2M1FN] = NPY_UINT8};

int hrpy_numpy_type(int dtype) {
  if (dtype <= 0 || dtype >= HR_DTYPE_COUNT || dtype == HR_RESOURCE || dtype == HR_VARIANT) return -1;
  return value_numpy_types[dtype];
}

int hrpy_dtype_of_numpy(PyArray_Descr* d) {
  switch (d->type_num) {
    case NPY_FLOAT32: return HR_F32;
    case NPY_FLOAT64: return HR_F64;
    case NPY_FLOAT16: return HR_F16;
    case NPY_BOOL: return HR_BOOL;
    case NPY_COMPLEX64: return HR_C64;
    case NPY_COMPLEX128: return HR_C128;
    case NPY_OBJECT:
    case NPY_STRING:
    case NPY_UNICODE: return HR_STRING;
    default: break;
  }
  if (PyTypeNum_ISINTEGER(d->type_num)) {
    bool sign = PyTypeNum_ISSIGNED(d->type_num);
    switch ((int)PyDataType_ELSIZE(d)) {
      case 1: return sign ? HR_I8 : HR_U8;
      case 2: return sign ? HR_I16 : HR_U16;
      case 4: return sign ? HR_I32 : HR_U32;
      case 8: return sign ? HR_I64 : HR_U64;
      default: break;
    }
  }
  return 0;
}

/* Types that NumPy lacks (bfloat16, float8...) come as Python's DType says: an extension type where one is installed. */
PyArray_Descr* hrpy_descr(int dtype) {
  int n = hrpy_numpy_type(dtype);
  if (n < 0) return PyErr_Format(PyExc_TypeError, "values of type %s have no NumPy form", hr_dtype_name(dtype)), NULL;
  bool plain = dtype < HR_QI8 || dtype == HR_U16 || dtype == HR_C128 || dtype == HR_F16 || dtype == HR_U32 || dtype == HR_U64;
  if (plain) return PyArray_DescrFromType(n);
  PyObject* d = hrpy_dtype(dtype);
  PyObject* type = d ? PyObject_GetAttrString(d, "as_numpy_dtype") : NULL;
  PyArray_Descr* out = NULL;
  if (type) PyArray_DescrConverter(type, &out);
  Py_XDECREF(d);
  Py_XDECREF(type);
  return out;
}

static void value_drop_array(void* data, size_t bytes, void* array) {
  (void)data;
  (void)bytes;
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject*)array);
  PyGILState_Release(state);
}

static bool value_shape(PyArrayObject* a, hr_shape_t* out) {
  int64_t dims[NPY_MAXDIMS > 64 ? NPY_MAXDIMS : 64];
  int rank = PyArray_NDIM(a);
  for (int i = 0; i < rank; ++i) dims[i] = PyArray_DIM(a, i);
  hr_status_t status = hr_shape_make(rank, dims, out);
  if (status) return hrpy_fail(status, NULL), false;
  return true;
}

static bool value_borrow(PyArrayObject* a, int dtype, hr_tensor_t* out) { /* takes a reference on success */
  hr_shape_t shape;
  if (!value_shape(a, &shape)) return false;
  hr_status_t status =
      hr_tensor_borrow((hr_dtype_t)dtype, &shape, PyArray_DATA(a), (size_t)PyArray_NBYTES(a), true, value_drop_array, a, out);
  if (status) return hrpy_fail(status, NULL), false;
  Py_INCREF(a);
  return true;
}

static bool value_scalar(PyObject* o, int dtype, hr_tensor_t* out, bool* done) {
  hr_status_t status = NULL;
  *done = true;
  if (PyFloat_CheckExact(o) && dtype == HR_F32) {
    status = hr_tensor_from_f32((float)PyFloat_AS_DOUBLE(o), out);
  } else if (PyLong_CheckExact(o) && (dtype == HR_I32 || dtype == HR_F32)) {
    int overflow;
    long v = PyLong_AsLongAndOverflow(o, &overflow);
    *done = !overflow && (dtype == HR_F32 ? v >= -(1 << 24) && v <= 1 << 24 : v == (int32_t)v);
    if (*done) status = dtype == HR_F32 ? hr_tensor_from_f32((float)v, out) : hr_tensor_from_i32((int32_t)v, out);
  } else {
    *done = false;
  }
  if (status) return hrpy_fail(status, NULL), false;
  return true;
}

/* Ordinary numbers as elements that NumPy has no type for, which it would take the bits of: DType says how. A new reference; NULL where the
 * array machinery can do it. */
static PyObject* value_of_small_numbers(PyObject* o, int dtype, PyArray_Descr* descr) {
  if (!PyDataType_HASFIELDS(descr) || (PyArray_Check(o) && PyArray_EquivTypes(PyArray_DESCR((PyArrayObject*)o), descr))) return NULL;
  PyObject* d = hrpy_dtype(dtype);
  PyObject* array = d ? PyObject_CallMethod(d, "_array_of", "O", o) : NULL;
  Py_XDECREF(d);
  return array;
}

bool hrpy_to_tensor(PyObject* o, int dtype, hr_tensor_t* out) {
  bool done, fine;
  if (!PyArray_Check(o)) {
    if (!value_scalar(o, dtype, out, &done)) return false;
    if (done) return true;
  }
  if (dtype == HR_STRING) {
    PyArrayObject* a = (PyArrayObject*)PyArray_FROMANY(o, NPY_OBJECT, 0, 0, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_FORCECAST);
    fine = a && hrpy_strings_to_tensor(a, out);
    Py_XDECREF(a);
    return fine;
  }
  if (PyArray_Check(o) && PyArray_TYPE((PyArrayObject*)o) == hrpy_numpy_type(dtype) && PyArray_ISCARRAY_RO((PyArrayObject*)o))
    return value_borrow((PyArrayObject*)o, dtype, out);
  PyArray_Descr* descr = hrpy_descr(dtype);
  if (!descr) return false;
  PyObject* small = value_of_small_numbers(o, dtype, descr);
  if (!small && PyErr_Occurred()) return Py_DECREF(descr), false;
  PyArrayObject* a = (PyArrayObject*)PyArray_FromAny(small ? small : o, descr, 0, 0,
                                                     NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | NPY_ARRAY_NOTSWAPPED, NULL);
  Py_XDECREF(small);
  fine = a && value_borrow(a, dtype, out);
  Py_XDECREF(a);
  return fine;
}

/* --- back --- */
static void value_free_capsule(PyObject* capsule) { hr_buffer_release(PyCapsule_GetPointer(capsule, "hr_buffer")); }

static PyObject* value_scalar_object(hr_tensor_t* t) {
  PyArray_Descr* descr = hrpy_descr((int)t->dtype);
  PyObject* o = descr ? PyArray_Scalar(t->data, descr, NULL) : NULL;
  Py_XDECREF(descr);
  return o;
}

static PyObject* value_array(hr_tensor_t* t) {
  PyArray_Descr* descr = hrpy_descr((int)t->dtype);
  if (!descr) return NULL;
  npy_intp dims[HR_MAX_RANK];
  for (int i = 0; i < t->shape.rank; ++i) dims[i] = t->shape.dims[i];
  size_t bytes = hr_tensor_bytes(t);
  if (!hr_buffer_is_alone(t->buffer) || t->buffer->free_fn || bytes <= 512) { /* shared, borrowed, or so small that a copy is cheaper */
    PyObject* copy = PyArray_NewFromDescr(&PyArray_Type, descr, t->shape.rank, dims, NULL, NULL, 0, NULL);
    if (copy && bytes) memcpy(PyArray_DATA((PyArrayObject*)copy), t->data, bytes);
    return copy;
  }
  PyObject* a = PyArray_NewFromDescr(&PyArray_Type, descr, t->shape.rank, dims, NULL, t->data, NPY_ARRAY_CARRAY, NULL);
  PyObject* capsule = a ? PyCapsule_New(t->buffer, "hr_buffer", value_free_capsule) : NULL;
  if (!capsule) return Py_XDECREF(a), NULL;
  t->buffer->read_only = true; /* when fed back it is not adopted: the script may still write it */
  t->buffer = NULL;            /* the capsule's now */
  if (PyArray_SetBaseObject((PyArrayObject*)a, capsule) < 0) Py_CLEAR(a);
  return a;
}

PyObject* hrpy_from_tensor(hr_tensor_t* take) {
  PyObject* o;
  if (take->dtype == HR_STRING)
    o = hrpy_strings_from_tensor(take);
  else if (take->dtype == HR_RESOURCE || take->dtype == HR_VARIANT)
    o = PyErr_Format(PyExc_TypeError, "a %s cannot be fetched as an array", hr_dtype_name((int)take->dtype));
  else
    o = take->shape.rank == 0 ? value_scalar_object(take) : value_array(take);
  hr_tensor_release(take);
  return o;
}

/* --- constants --- */
PyObject* hrpy_make_const(GraphObject* g, const hr_tensor_t* value, PyObject* wanted_name) {
  PyObject* name = hrpy_pick_name(g, wanted_name);
  if (!name) return NULL;
  hr_named_attr_t attrs[2] = {hr_at_tensor("value", value), hr_at_type("dtype", (int)value->dtype)};
  hr_node_desc_t desc = {.op = HR_STR("Const"), .attrs = attrs, .attr_count = 2};
  PyObject* op = hrpy_add(g, &desc, name);
  Py_DECREF(name);
  if (!op) return NULL;
  PyObject* t = hrpy_node_output((OperationObject*)op, 0);
  Py_DECREF(op);
  return t;
}

/* constant(value, dtype number, name[, dims]): a Const of the default graph; its memory is a copy. */
static PyObject* value_constant(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *value, *name, *dims = Py_None, *graph = Py_None;
  int dtype;
  if (!PyArg_ParseTuple(args, "OiU|OO", &value, &dtype, &name, &dims, &graph)) return NULL;
  GraphObject* g = graph == Py_None ? hrpy_default_graph() : hrpy_graph(graph);
  hr_tensor_t t = {0}, own = {0};
  if (!g || !hrpy_to_tensor(value, dtype, &t)) return NULL;
  hr_status_t status = NULL;
  if (t.buffer->free_fn)
    status = hr_tensor_clone(&t, &own);
  else
    hr_tensor_share(&t, &own);
  hr_tensor_release(&t);
  if (!status && dims != Py_None) {
    hr_shape_t shape = {0};
    PyObject* seq = PySequence_Fast(dims, "dims must be a sequence");
    if (!seq) return hr_tensor_release(&own), NULL;
    for (Py_ssize_t i = 0; !status && i < PySequence_Fast_GET_SIZE(seq); ++i)
      status = hr_shape_append(&shape, PyLong_AsLongLong(PySequence_Fast_GET_ITEM(seq, i)));
    Py_DECREF(seq);
    hr_tensor_t shaped = {0};
    if (!status) status = hr_tensor_reshape(&own, &shape, &shaped);
    if (!status) {
      hr_tensor_release(&own);
      own = shaped;
    }
  }
  PyObject* out = status ? hrpy_fail_build(status, g) : hrpy_make_const(g, &own, name);
  hr_tensor_release(&own);
  return out;
}

PyMethodDef hrpy_value_methods[] = {{"constant", value_constant, METH_VARARGS, "constant(value, dtype, name, dims=None, graph=None)"}, {0}};
