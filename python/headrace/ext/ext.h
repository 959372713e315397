/* SPDX-License-Identifier: Apache-2.0 */
/* The extension's objects and what its files share. All of it runs with the interpreter's lock held, except steps (run.c) and the
 * closing of sessions.
 *
 * Ownership: a graph holds its operations' objects, an operation its outputs' objects, and each of them its owner: cycles that the
 * collector knows. So one node has one object for the graph's life: `is`, hashing and attributes set by scripts work. */
#ifndef HRPY_EXT_H
#define HRPY_EXT_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API  NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION     NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL hrpy_numpy_api
#ifndef HRPY_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include "base/arena.h"
#include "base/vec.h"
#include "graph/graph.h"
#include "session/session.h"
#include "tensorflow/c/c_api.h"

/* --- what differs between versions of Python and NumPy */
#if PY_VERSION_HEX < 0x030A0000
static inline PyObject* Py_NewRef(PyObject* o) { return Py_INCREF(o), o; }
#endif
#if NPY_ABI_VERSION < 0x02000000
#define PyDataType_ELSIZE(descr) ((descr)->elsize)
#endif
/* The exception under way, cleared; NULL: none. hrpy_put_error raises it again and takes it over. */
static inline PyObject* hrpy_take_error(void) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
#endif
}
static inline void hrpy_put_error(PyObject* take) {
  if (!take) return;
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(take);
#else
  PyErr_SetObject((PyObject*)Py_TYPE(take), take);
  Py_DECREF(take);
#endif
}

typedef struct {
  PyObject_HEAD hr_graph_t* graph;
  PyObject** operations;   /* by node id; NULL where nobody asked yet */
  int64_t operation_count; /* entries of `operations` */
  PyObject* name_stack;    /* str: the current scope without its last slash; "" at the top */
  PyObject* names;         /* dict: lower-case name -> how often it was asked for */
  int64_t named;           /* nodes below this id are in `names` */
  int decorated;           /* some scope wants a say in new operations: call Graph._decorate */
  bool finalized;
  bool captures;        /* a function's body: tensors of other graphs become arguments (Graph._capture) */
  bool restricted;      /* some tensors may not be fed or fetched: Python checks */
  int held;             /* this file's caller holds graph->mu (gradient overrides) */
  unsigned long holder; /* its thread */
} GraphObject;

typedef struct {
  PyObject_HEAD GraphObject* graph;
  hr_node_t* node;
  PyObject** outputs; /* NULL entries until asked for; points to `first` for a single output */
  PyObject* first;
} OperationObject;

typedef struct {
  PyObject_HEAD OperationObject* operation;
  int32_t index;
} TensorObject;

typedef struct hrpy_prepared hrpy_prepared_t;
typedef struct {
  PyObject_HEAD hr_session_t* session; /* NULL once closed */
  GraphObject* graph;
  hrpy_prepared_t** prepared; /* hash table by what is fed and fetched */
  int prepared_capacity, prepared_count;
  bool closed;
} SessionObject;

extern PyTypeObject hrpy_graph_type, hrpy_operation_type, hrpy_tensor_type, hrpy_session_type, hrpy_callable_type, hrpy_op_function_type,
    hrpy_partial_type, hrpy_server_type;

/* What Python hands over at import (module.c). */
typedef struct {
  PyTypeObject *operation, *tensor;                /* the classes to make */
  PyObject* dtypes[HR_DTYPE_REF + HR_DTYPE_COUNT]; /* DType by number */
  PyObject *make_graph, *convert, *make_result, *error, *make_shape, *make_slices;
} hrpy_hooks_t;
extern hrpy_hooks_t hrpy_hooks;

/* --- module.c */
GraphObject* hrpy_default_graph(void);                            /* borrowed; NULL with an exception */
PyObject* hrpy_fail(hr_status_t take_status, GraphObject* graph); /* raises the class of the code; returns NULL */
PyObject* hrpy_fail_build(hr_status_t take_status,
                          GraphObject* graph);          /* ValueError for INVALID_ARGUMENT, as TensorFlow when graphs are built */
void hrpy_raise(TF_Status* status, GraphObject* graph); /* of the C API; does nothing for OK */
PyObject* hrpy_dtype(int number);                       /* new reference to the DType */
int hrpy_dtype_number(PyObject* dtype);                 /* of a DType or a number; -1 with an exception */

/* --- graph.c, node.c */
GraphObject* hrpy_graph(PyObject* o); /* borrowed; NULL with TypeError */
static inline bool hrpy_is_tensor(PyObject* o) { return PyObject_TypeCheck(o, &hrpy_tensor_type); }
static inline bool hrpy_is_operation(PyObject* o) { return PyObject_TypeCheck(o, &hrpy_operation_type); }
static inline hr_value_t hrpy_value(PyObject* tensor) {
  TensorObject* t = (TensorObject*)tensor;
  return (hr_value_t){t->operation->node, t->index};
}
static inline GraphObject* hrpy_graph_of(PyObject* tensor) { return ((TensorObject*)tensor)->operation->graph; }
PyObject* hrpy_node_object(GraphObject* g, hr_node_t* node); /* interned; new reference */
PyObject* hrpy_value_object(GraphObject* g, hr_value_t v);
PyObject* hrpy_node_output(OperationObject* op, int index);
bool hrpy_output(PyObject* o, TF_Output* out); /* false with TypeError */
PyObject* hrpy_tensor(GraphObject* g, TF_Output o);
PyObject* hrpy_operation(GraphObject* g, TF_Operation* o);
PyObject* hrpy_unique_name(GraphObject* g, PyObject* name, bool mark); /* TensorFlow's rule, in the current scope; new reference */
PyObject* hrpy_pick_name(GraphObject* g, PyObject* wanted); /* the full name of a new operation: "x/" is taken as x, else made unique */
void hrpy_lock(GraphObject* g);
void hrpy_unlock(GraphObject* g);
/* Adds a node called `name` (full) and gives its object; scopes have their say. inputs[i] may be of g only. */
PyObject* hrpy_add(GraphObject* g, hr_node_desc_t* desc, PyObject* name);
/* The same for an op that takes references: it lies where those inputs do whose bits are set in `refs`. */
PyObject* hrpy_add_at(GraphObject* g, hr_node_desc_t* desc, PyObject* name, uint64_t refs);
PyObject* hrpy_shape_object(const hr_pshape_t* shape); /* TensorShape */

/* --- value.c */
int hrpy_numpy_type(int dtype);            /* NumPy's number; NPY_OBJECT for strings; -1: none */
int hrpy_dtype_of_numpy(PyArray_Descr* d); /* 0: none */
PyArray_Descr* hrpy_descr(int dtype);      /* new reference; NULL with TypeError */
/* The value of `o` as a tensor of dtype: memory of arrays is borrowed where it can be. */
bool hrpy_to_tensor(PyObject* o, int dtype, hr_tensor_t* out);
PyObject* hrpy_from_tensor(hr_tensor_t* take); /* an array that owns the memory, a NumPy scalar for rank 0, bytes for strings */
PyObject* hrpy_make_const(GraphObject* g, const hr_tensor_t* value, PyObject* wanted_name);
/* string_value.c */
bool hrpy_strings_to_tensor(PyArrayObject* array, hr_tensor_t* out);
PyObject* hrpy_strings_from_tensor(const hr_tensor_t* t);

/* --- attr.c */
/* A Python value as attr `def` wants it. Memory from the arena, tensors from the keeper; texts borrow from `value` or the arena. */
bool hrpy_attr(const hr_attr_def_t* def, PyObject* value, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out);
bool hrpy_attr_any(PyObject* value, hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_attr_t* out); /* kind guessed from the value */
bool hrpy_dims(PyObject* value, hr_arena_t* arena, const hr_pshape_t** out);                      /* TensorShape, sequence, None */
PyObject* hrpy_attr_object(const hr_attr_t* attr);

/* --- run.c, interrupt.c */
hr_cancel_t* hrpy_interrupt_begin(void); /* NULL when not the main thread */
void hrpy_interrupt_end(hr_cancel_t* c);
void hrpy_interrupt_watch(void);
PyObject* hrpy_session_run(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names);
PyObject* hrpy_session_run_flat(PyObject* self, PyObject* args);
PyObject* hrpy_session_make_callable(PyObject* self, PyObject* args);
PyObject* hrpy_session_partial(PyObject* self, PyObject* args);
void hrpy_session_forget(SessionObject* s);

/* The tensor itself, or in a function's body the argument that stands for another graph's; borrowed, the graph keeps it. NULL: raised. */
PyObject* hrpy_captured(GraphObject* g, PyObject* tensor);
extern PyMethodDef hrpy_function_methods[], hrpy_gradient_methods[], hrpy_import_methods[], hrpy_value_methods[], hrpy_op_methods[];
extern PyMethodDef hrpy_client_methods[], hrpy_record_methods[];
#endif
