/* SPDX-License-Identifier: Apache-2.0 */
/* Steps. What a script feeds and fetches most (one tensor or a flat list, a dict of tensors) is handled here from end to end; anything
 * else goes to Session._run_any in Python, which flattens it and comes back through _run_flat.
 *
 * A session keeps one prepared step for each list of endpoints fed and fetched, so that the second run of it looks up one hash entry.
 * An entry in use is counted: the table may be emptied while other threads run its steps. */
#include "ext.h"
#include "base/hash.h"

enum { RUN_FEW = 8, RUN_ENTRIES_MOST = 1024 };

struct hrpy_prepared {
  int users; /* the table, and running steps; under the interpreter's lock */
  uint64_t hash;
  int feed_count, fetch_count, target_count; /* fetch_count: tensors only */
  int item_count;                            /* what the script fetches, tensors and operations in its order */
  hr_callable_t* callable;                   /* NULL: nothing needs to run */
  int32_t* sources;                          /* of each item: which fetched tensor, or one of the values below; lies behind the key */
  hr_value_t key[];                          /* feeds, then fetched items; an operation has index -1 */
};
enum { SOURCE_NONE = -1, SOURCE_FEED = -2 }; /* an operation; SOURCE_FEED - k: what is fed as feed k is fetched */

typedef struct {
  PyObject_HEAD vectorcallfunc call;
  SessionObject* session;
  hrpy_prepared_t* prepared;
  int kind; /* 0: one item, 1: list, 2: tuple */
} CallableObject;

/* --- prepared steps --- */
static void run_drop(hrpy_prepared_t* p) {
  if (!p || --p->users) return;
  if (p->callable) hr_callable_destroy(p->callable);
  PyMem_Free(p);
}

void hrpy_session_forget(SessionObject* s) {
  hrpy_prepared_t** table = s->prepared;
  int capacity = s->prepared_capacity;
  s->prepared = NULL;
  s->prepared_capacity = s->prepared_count = 0;
  for (int i = 0; i < capacity; ++i) run_drop(table[i]);
  PyMem_Free(table);
}

static uint64_t run_hash(const hr_value_t* key, int count, int feeds) {
  uint64_t h = (uint64_t)feeds * 0x9E3779B97F4A7C15u;
  for (int i = 0; i < count; ++i)
    h = (h ^ ((uint64_t)(uintptr_t)key[i].node >> 4) ^ ((uint64_t)(uint32_t)key[i].index << 56)) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
  return h;
}

static bool run_same(const hrpy_prepared_t* p, const hr_value_t* key, int count) {
  for (int i = 0; i < count; ++i)
    if (p->key[i].node != key[i].node || p->key[i].index != key[i].index) return false;
  return true;
}

static hrpy_prepared_t** run_slot(hrpy_prepared_t** table, int capacity, uint64_t hash, const hr_value_t* key, int feeds, int items) {
  for (int i = (int)(hash & (uint64_t)(capacity - 1));; i = (i + 1) & (capacity - 1)) {
    hrpy_prepared_t* p = table[i];
    if (!p || (p->hash == hash && p->feed_count == feeds && p->item_count == items && run_same(p, key, feeds + items))) return &table[i];
  }
}

static bool run_grow(SessionObject* s) {
  if (s->prepared_count * 2 < s->prepared_capacity) return true;
  if (s->prepared_count >= RUN_ENTRIES_MOST) hrpy_session_forget(s);
  int capacity = s->prepared_capacity ? s->prepared_capacity * 2 : 16;
  hrpy_prepared_t** table = PyMem_Calloc((size_t)capacity, sizeof *table);
  if (!table) return PyErr_NoMemory(), false;
  for (int i = 0; i < s->prepared_capacity; ++i)
    if (s->prepared[i])
      *run_slot(table, capacity, s->prepared[i]->hash, s->prepared[i]->key, s->prepared[i]->feed_count, s->prepared[i]->item_count) =
          s->prepared[i];
  PyMem_Free(s->prepared);
  s->prepared = table;
  s->prepared_capacity = capacity;
  return true;
}

static int32_t run_source_of_feed(const hr_value_t* key, int feeds, hr_value_t v) {
  for (int k = 0; k < feeds; ++k)
    if (key[k].node == v.node && key[k].index == v.index) return SOURCE_FEED - k;
  return SOURCE_NONE;
}

/* Splits the items of a key into the tensors and the operations among them, and says where each one's value comes from; the three
 * arrays have `items` entries. */
static hr_run_t run_signature(const hr_value_t* key, int feeds, int items, hr_value_t* fetches, hr_node_t** targets, int32_t* sources) {
  hr_run_t run = {.feeds = key, .feed_count = feeds, .fetches = fetches, .targets = targets};
  for (int i = 0; i < items; ++i) {
    hr_value_t v = key[feeds + i];
    sources[i] = v.index < 0 ? SOURCE_NONE : run_source_of_feed(key, feeds, v);
    if (v.index < 0) {
      targets[run.target_count++] = v.node;
    } else if (sources[i] == SOURCE_NONE) {
      sources[i] = run.fetch_count;
      fetches[run.fetch_count++] = v;
    }
  }
  return run;
}

/* A key of feeds and items with room for sources. */
static hrpy_prepared_t* run_new_prepared(const hr_value_t* key, int feeds, int items) {
  size_t values = (size_t)(feeds + items) * sizeof(hr_value_t);
  hrpy_prepared_t* p = PyMem_Calloc(1, sizeof *p + values + (size_t)items * sizeof(int32_t));
  if (!p) return NULL;
  memcpy(p->key, key, values);
  p->sources = (int32_t*)(p->key + feeds + items);
  p->feed_count = feeds;
  p->item_count = items;
  p->users = 1;
  return p;
}

static hrpy_prepared_t* run_prepare(SessionObject* s, const hr_value_t* key, int feeds, int items, uint64_t hash) {
  hrpy_prepared_t* p = run_new_prepared(key, feeds, items);
  hr_value_t* fetches = PyMem_Malloc((size_t)items * sizeof *fetches + 1);
  hr_node_t** targets = PyMem_Malloc((size_t)items * sizeof *targets + 1);
  hr_status_t status = NULL;
  if (p && fetches && targets) {
    hr_run_t run = run_signature(key, feeds, items, fetches, targets, p->sources);
    p->hash = hash;
    p->fetch_count = run.fetch_count;
    p->target_count = run.target_count;
    if (run.fetch_count || run.target_count) {
      hr_callable_t* callable = NULL;
      Py_BEGIN_ALLOW_THREADS status = hr_session_make_callable(s->session, &run, &callable);
      Py_END_ALLOW_THREADS p->callable = callable;
    }
  } else {
    PyErr_NoMemory();
  }
  PyMem_Free(fetches);
  PyMem_Free(targets);
  if (status) hrpy_fail(status, s->graph);
  if (PyErr_Occurred()) {
    PyMem_Free(p);
    return NULL;
  }
  return p;
}

static bool run_ready(SessionObject* s) {
  if (s->closed || !s->session) return PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session."), false;
  if (s->graph->graph->nodes.count) return true;
  PyErr_SetString(PyExc_RuntimeError, "The Session graph is empty. Add operations to the graph before calling run().");
  return false;
}

/* The caller drops it. */
static hrpy_prepared_t* run_find(SessionObject* s, const hr_value_t* key, int feeds, int items) {
  if (!run_ready(s)) return NULL;
  uint64_t hash = run_hash(key, feeds + items, feeds);
  if (s->prepared) {
    hrpy_prepared_t* p = *run_slot(s->prepared, s->prepared_capacity, hash, key, feeds, items);
    if (p) return ++p->users, p;
  }
  hrpy_prepared_t* p = run_prepare(s, key, feeds, items, hash);
  if (!p || !run_grow(s)) return run_drop(p), NULL;
  hrpy_prepared_t** slot = run_slot(s->prepared, s->prepared_capacity, hash, key, feeds, items);
  if (!*slot) { /* else another thread was faster */
    *slot = p;
    ++p->users;
    ++s->prepared_count;
  }
  return p;
}

/* --- feeds --- */
static bool run_bad_shape(hr_value_t v, const hr_tensor_t* t) {
  PyObject* want = hrpy_shape_object(hr_value_shape(v));
  PyObject* got = PyTuple_New(t->shape.rank);
  for (int i = 0; got && i < t->shape.rank; ++i) PyTuple_SET_ITEM(got, i, PyLong_FromLongLong(t->shape.dims[i]));
  if (want && got)
    PyErr_Format(PyExc_ValueError, "Cannot feed value of shape %R for Tensor '%s:%d', which has shape '%S'", got, v.node->name.data,
                 v.index, want);
  Py_XDECREF(want);
  Py_XDECREF(got);
  return false;
}

static bool run_feed(hr_value_t v, PyObject* value, hr_tensor_t* out) {
  int dtype = (int)hr_dtype_base(hr_value_type(v));
  if (hrpy_is_tensor(value))
    return PyErr_SetString(PyExc_TypeError,
                           "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
                           "lists, numpy ndarrays, or TensorHandles."),
           false;
  if (PyFloat_Check(value) && (hr_dtype_in((hr_dtype_t)dtype, HR_M_INTEGER)) &&
      PyFloat_AS_DOUBLE(value) != (double)(int64_t)PyFloat_AS_DOUBLE(value))
    return PyErr_Format(PyExc_TypeError,
                        "Type of feed value %R with type %s is not compatible with Tensor type %s. Try explicitly setting the type of the "
                        "feed tensor to a larger type (e.g. int64).",
                        value, Py_TYPE(value)->tp_name, hr_dtype_name(dtype)),
           false;
  if (!hrpy_to_tensor(value, dtype, out)) return false;
  if (hr_pshape_accepts(hr_value_shape(v), &out->shape)) return true;
  run_bad_shape(v, out);
  hr_tensor_release(out);
  return false;
}

/* --- one step --- */
typedef struct {
  const char* options; /* serialized RunOptions; NULL */
  size_t options_size;
  char* metadata; /* out, when wanted */
  size_t metadata_size;
  bool want_metadata;
} run_extra_t;

static hr_status_t run_step(hrpy_prepared_t* p, const hr_tensor_t* feeds, hr_tensor_t* fetches, run_extra_t* extra) {
  hr_run_options_t options = {0};
  if (!p->callable) return NULL;
  if (extra && extra->options) HR_TRY(hr_run_options_decode(&options, extra->options, extra->options_size));
  hr_cancel_t* cancel = hrpy_interrupt_begin();
  options.cancel = cancel;
  hr_status_t status;
  Py_BEGIN_ALLOW_THREADS status = hr_callable_run(p->callable, cancel || (extra && extra->options) ? &options : NULL, feeds, fetches,
                                                  extra && extra->want_metadata ? &extra->metadata : NULL,
                                                  extra && extra->want_metadata ? &extra->metadata_size : NULL);
  Py_END_ALLOW_THREADS hrpy_interrupt_end(cancel);
  return status;
}

static PyObject* run_result(const hrpy_prepared_t* p, int item, const hr_tensor_t* feeds, hr_tensor_t* fetches) {
  int32_t source = p->sources[item];
  if (source == SOURCE_NONE) return Py_NewRef(Py_None);
  if (source >= 0) return hrpy_from_tensor(&fetches[source]);
  hr_tensor_t fed;
  hr_tensor_share(&feeds[SOURCE_FEED - source], &fed);
  return hrpy_from_tensor(&fed);
}

/* The value of each item in order: None for operations. kind 0: the one item itself. */
static PyObject* run_results(const hrpy_prepared_t* p, const hr_tensor_t* feeds, hr_tensor_t* fetches, int kind) {
  if (kind == 0) return run_result(p, 0, feeds, fetches);
  PyObject* list = kind == 1 ? PyList_New(p->item_count) : PyTuple_New(p->item_count);
  for (int i = 0; list && i < p->item_count; ++i) {
    PyObject* o = run_result(p, i, feeds, fetches);
    if (!o)
      Py_CLEAR(list);
    else if (kind == 1)
      PyList_SET_ITEM(list, i, o);
    else
      PyTuple_SET_ITEM(list, i, o);
  }
  return list;
}

/* Feeds are released here, also on failure; drops p. */
static PyObject* run_finish(SessionObject* s, hrpy_prepared_t* p, hr_tensor_t* feeds, int kind, run_extra_t* extra) {
  hr_tensor_t few[RUN_FEW], *fetches = few;
  PyObject* out = NULL;
  int feed_count = p->feed_count, fetch_count = p->fetch_count;
  if (fetch_count > RUN_FEW && !(fetches = PyMem_Malloc((size_t)fetch_count * sizeof *fetches))) PyErr_NoMemory();
  if (fetches) {
    for (int i = 0; i < fetch_count; ++i) fetches[i].buffer = NULL;
    hr_status_t status = run_step(p, feeds, fetches, extra);
    if (!status)
      out = run_results(p, feeds, fetches, kind);
    else if (PyErr_CheckSignals())
      hr_status_release(status); /* KeyboardInterrupt comes before what it caused */
    else
      hrpy_fail(status, s->graph);
    for (int i = 0; i < fetch_count; ++i) hr_tensor_release(&fetches[i]);
  }
  if (fetches != few) PyMem_Free(fetches);
  for (int i = 0; i < feed_count; ++i) hr_tensor_release(&feeds[i]);
  run_drop(p);
  return out;
}

/* --- Session.run --- */
static bool run_item(SessionObject* s, PyObject* o, hr_value_t* out) { /* false without an exception: not for here */
  if (hrpy_is_tensor(o))
    *out = hrpy_value(o);
  else if (hrpy_is_operation(o))
    *out = (hr_value_t){((OperationObject*)o)->node, -1};
  else
    return false;
  return out->node->graph == s->graph->graph;
}

static int run_items(SessionObject* s, PyObject* fetches, hr_value_t* key) { /* how many; -1: not for here */
  if (run_item(s, fetches, key)) return 1;
  if (!PyList_CheckExact(fetches) || PyList_GET_SIZE(fetches) > RUN_FEW) return -1;
  int n = (int)PyList_GET_SIZE(fetches);
  for (int i = 0; i < n; ++i)
    if (!run_item(s, PyList_GET_ITEM(fetches, i), &key[i])) return -1;
  return n;
}

static PyObject* run_any(PyObject* self, PyObject* const* slots) {
  return PyObject_CallMethod(self, "_run_any", "OOOO", slots[0], slots[1] ? slots[1] : Py_None, slots[2] ? slots[2] : Py_None,
                             slots[3] ? slots[3] : Py_None);
}

static bool run_arguments(PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject** slots) {
  static const char* const known[] = {"fetches", "feed_dict", "options", "run_metadata"};
  if (n > 4) return PyErr_SetString(PyExc_TypeError, "run() takes at most 4 arguments"), false;
  for (int i = 0; i < 4; ++i) slots[i] = i < n ? args[i] : NULL;
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
    int i = 0;
    while (i < 4 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), known[i])) ++i;
    if (i == 4 || slots[i])
      return PyErr_Format(PyExc_TypeError, "run() got an unexpected or repeated argument %R", PyTuple_GET_ITEM(names, k)), false;
    slots[i] = args[n + k];
  }
  if (!slots[0]) return PyErr_SetString(PyExc_TypeError, "run() misses what to fetch"), false;
  return true;
}

/* Whether this run was prepared before: what Python had to allow it has. */
static bool run_is_known(SessionObject* s, const hr_value_t* key, int feeds, int items) {
  return s->prepared_capacity && *run_slot(s->prepared, s->prepared_capacity, run_hash(key, feeds + items, feeds), key, feeds, items);
}

PyObject* hrpy_session_run(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  SessionObject* s = (SessionObject*)self;
  PyObject *slots[4], *feed_key, *feed_value;
  if (!run_arguments(args, n, names, slots)) return NULL;
  PyObject* dict = slots[1] && slots[1] != Py_None ? slots[1] : NULL;
  if (!s->graph || (slots[2] && slots[2] != Py_None) || (slots[3] && slots[3] != Py_None) ||
      (dict && (!PyDict_CheckExact(dict) || PyDict_GET_SIZE(dict) > RUN_FEW)))
    return run_any(self, slots);
  hr_value_t key[2 * RUN_FEW];
  int feeds = 0;
  for (Py_ssize_t at = 0; dict && PyDict_Next(dict, &at, &feed_key, &feed_value); ++feeds)
    if (!hrpy_is_tensor(feed_key) || !run_item(s, feed_key, &key[feeds]) || strcmp(Py_TYPE(feed_value)->tp_name, "SparseTensorValue") == 0)
      return run_any(self, slots);
  int items = run_items(s, slots[0], key + feeds);
  if (items < 0 || (s->graph->restricted && !run_is_known(s, key, feeds, items))) return run_any(self, slots);
  hr_tensor_t values[RUN_FEW];
  int made = 0;
  for (Py_ssize_t at = 0; dict && made < feeds && PyDict_Next(dict, &at, &feed_key, &feed_value); ++made)
    if (!run_feed(key[made], feed_value, &values[made])) break;
  hrpy_prepared_t* p = made == feeds ? run_find(s, key, feeds, items) : NULL;
  if (p) return run_finish(s, p, values, hrpy_is_tensor(slots[0]) || hrpy_is_operation(slots[0]) ? 0 : 1, NULL);
  for (int i = 0; i < made; ++i) hr_tensor_release(&values[i]);
  return NULL;
}

/* --- the general road --- */
typedef struct {
  hr_value_t* key;
  int feeds, items;
} run_key_t;

static bool run_read_key(SessionObject* s, PyObject* fetches, PyObject* feeds, run_key_t* out) {
  Py_ssize_t n = PyList_GET_SIZE(fetches), m = PyList_GET_SIZE(feeds);
  out->key = PyMem_Malloc((size_t)(n + m + 1) * sizeof *out->key);
  if (!out->key) return PyErr_NoMemory(), false;
  out->feeds = (int)m;
  out->items = (int)n;
  for (Py_ssize_t i = 0; i < n + m; ++i) {
    PyObject* o = i < m ? PyList_GET_ITEM(feeds, i) : PyList_GET_ITEM(fetches, i - m);
    if (run_item(s, o, &out->key[i])) continue;
    PyMem_Free(out->key);
    PyErr_Format(PyExc_ValueError, "Tensor %R is not an element of this graph.", o);
    return false;
  }
  return true;
}

/* Values for p's feeds in a block of their own; NULL with an exception. */
static hr_tensor_t* run_read_values(const hr_value_t* key, PyObject* const* values, int n) {
  hr_tensor_t* out = PyMem_Calloc((size_t)n + 1, sizeof *out);
  if (!out) return PyErr_NoMemory(), NULL;
  for (int i = 0; i < n; ++i) {
    if (run_feed(key[i], values[i], &out[i])) continue;
    while (i-- > 0) hr_tensor_release(&out[i]);
    PyMem_Free(out);
    return NULL;
  }
  return out;
}

PyObject* hrpy_session_run_flat(PyObject* self, PyObject* args) {
  SessionObject* s = (SessionObject*)self;
  PyObject *fetches, *feeds, *values, *options, *out = NULL;
  run_extra_t extra = {0};
  int want;
  if (!PyArg_ParseTuple(args, "O!O!O!Op", &PyList_Type, &fetches, &PyList_Type, &feeds, &PyList_Type, &values, &options, &want))
    return NULL;
  if (options != Py_None) {
    if (!PyBytes_Check(options)) return PyErr_SetString(PyExc_TypeError, "options come as bytes"), NULL;
    extra.options = PyBytes_AS_STRING(options);
    extra.options_size = (size_t)PyBytes_GET_SIZE(options);
  }
  extra.want_metadata = want;
  run_key_t k;
  if (!run_ready(s) || !run_read_key(s, fetches, feeds, &k)) return NULL;
  hr_tensor_t* tensors = PyList_GET_SIZE(values) == k.feeds ? run_read_values(k.key, PySequence_Fast_ITEMS(values), k.feeds) : NULL;
  hrpy_prepared_t* p = tensors ? run_find(s, k.key, k.feeds, k.items) : NULL;
  if (p)
    out = run_finish(s, p, tensors, 1, &extra);
  else
    for (int i = 0; tensors && i < k.feeds; ++i) hr_tensor_release(&tensors[i]);
  PyMem_Free(tensors);
  PyMem_Free(k.key);
  if (out && want) out = Py_BuildValue("Ny#", out, extra.metadata ? extra.metadata : "", (Py_ssize_t)extra.metadata_size);
  hr_free(extra.metadata);
  return out;
}

/* --- callables --- */
static PyObject* callable_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  CallableObject* c = (CallableObject*)self;
  hrpy_prepared_t* p = c->prepared;
  Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  if (names && PyTuple_GET_SIZE(names)) return PyErr_SetString(PyExc_TypeError, "a callable takes its feeds by position"), NULL;
  if (n != p->feed_count) return PyErr_Format(PyExc_ValueError, "the callable takes %d values, %zd were given", p->feed_count, n);
  if (!run_ready(c->session)) return NULL;
  hr_tensor_t few[RUN_FEW], *many = NULL;
  if (n > RUN_FEW && !(many = run_read_values(p->key, args, (int)n))) return NULL;
  for (Py_ssize_t i = 0; !many && i < n; ++i) {
    if (run_feed(p->key[i], args[i], &few[i])) continue;
    while (i-- > 0) hr_tensor_release(&few[i]);
    return NULL;
  }
  ++p->users;
  PyObject* out = run_finish(c->session, p, many ? many : few, c->kind, NULL);
  PyMem_Free(many);
  return out;
}

PyObject* hrpy_session_make_callable(PyObject* self, PyObject* args) {
  SessionObject* s = (SessionObject*)self;
  PyObject *fetches, *feeds;
  int kind;
  if (!PyArg_ParseTuple(args, "O!O!i", &PyList_Type, &fetches, &PyList_Type, &feeds, &kind)) return NULL;
  run_key_t k;
  if (!run_ready(s) || !run_read_key(s, fetches, feeds, &k)) return NULL;
  hrpy_prepared_t* p = run_find(s, k.key, k.feeds, k.items);
  PyMem_Free(k.key);
  CallableObject* c = p ? (CallableObject*)hrpy_callable_type.tp_alloc(&hrpy_callable_type, 0) : NULL;
  if (!c) return run_drop(p), NULL;
  c->call = callable_call;
  c->session = (SessionObject*)Py_NewRef(self);
  c->prepared = p;
  c->kind = kind;
  return (PyObject*)c;
}

static void callable_dealloc(PyObject* self) {
  CallableObject* c = (CallableObject*)self;
  run_drop(c->prepared);
  Py_XDECREF(c->session);
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject hrpy_callable_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.Callable",
                                   .tp_basicsize = sizeof(CallableObject),
                                   .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                                   .tp_vectorcall_offset = offsetof(CallableObject, call),
                                   .tp_call = PyVectorcall_Call,
                                   .tp_dealloc = callable_dealloc};

/* --- partial runs --- */
typedef struct {
  PyObject_HEAD SessionObject* session;
  hr_partial_run_t* partial;
} PartialObject;

PyObject* hrpy_session_partial(PyObject* self, PyObject* args) {
  SessionObject* s = (SessionObject*)self;
  PyObject *fetches, *feeds;
  if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &fetches, &PyList_Type, &feeds)) return NULL;
  run_key_t k;
  if (!run_ready(s) || !run_read_key(s, fetches, feeds, &k)) return NULL;
  hr_value_t* tensors = PyMem_Malloc((size_t)k.items * sizeof *tensors + 1);
  hr_node_t** targets = PyMem_Malloc((size_t)k.items * sizeof *targets + 1);
  int32_t* sources = PyMem_Malloc((size_t)k.items * sizeof *sources + 1);
  PartialObject* p = tensors && targets && sources ? (PartialObject*)hrpy_partial_type.tp_alloc(&hrpy_partial_type, 0) : NULL;
  if (p) {
    hr_run_t run = run_signature(k.key, k.feeds, k.items, tensors, targets, sources);
    hr_status_t status = hr_session_partial_setup(s->session, &run, &p->partial);
    p->session = (SessionObject*)Py_NewRef(self);
    if (status) {
      Py_CLEAR(p);
      hrpy_fail(status, s->graph);
    }
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  PyMem_Free(tensors);
  PyMem_Free(targets);
  PyMem_Free(sources);
  PyMem_Free(k.key);
  return (PyObject*)p;
}

static PyObject* partial_run(PyObject* self, PyObject* args) {
  PartialObject* o = (PartialObject*)self;
  SessionObject* s = o->session;
  PyObject *fetches, *feeds, *values, *out = NULL;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &fetches, &PyList_Type, &feeds, &PyList_Type, &values)) return NULL;
  run_key_t k;
  if (!run_ready(s) || !run_read_key(s, fetches, feeds, &k)) return NULL;
  hrpy_prepared_t* p = run_new_prepared(k.key, k.feeds, k.items); /* only its key and sources are used */
  hr_value_t* want = PyMem_Malloc((size_t)k.items * sizeof *want + 1);
  hr_node_t** targets = PyMem_Malloc((size_t)k.items * sizeof *targets + 1);
  hr_tensor_t* got = PyMem_Calloc((size_t)k.items + 1, sizeof *got);
  hr_tensor_t* tensors = PyList_GET_SIZE(values) == k.feeds ? run_read_values(k.key, PySequence_Fast_ITEMS(values), k.feeds) : NULL;
  if (p && want && targets && got && tensors) {
    hr_run_t run = run_signature(k.key, k.feeds, k.items, want, targets, p->sources);
    run.feed_values = tensors;
    hr_status_t status;
    Py_BEGIN_ALLOW_THREADS status = hr_partial_run_step(o->partial, &run, got);
    Py_END_ALLOW_THREADS out = status ? hrpy_fail(status, s->graph) : run_results(p, tensors, got, 1);
    for (int i = 0; i < run.fetch_count; ++i) hr_tensor_release(&got[i]);
    for (int i = 0; i < k.feeds; ++i) hr_tensor_release(&tensors[i]);
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  PyMem_Free(p);
  PyMem_Free(want);
  PyMem_Free(targets);
  PyMem_Free(got);
  PyMem_Free(tensors);
  PyMem_Free(k.key);
  return out;
}

static void partial_dealloc(PyObject* self) {
  PartialObject* p = (PartialObject*)self;
  if (p->partial) hr_partial_run_destroy(p->partial);
  Py_XDECREF(p->session);
  Py_TYPE(self)->tp_free(self);
}

static PyMethodDef partial_methods[] = {{"run", partial_run, METH_VARARGS, "run(fetches, feeds, values)"}, {0}};
PyTypeObject hrpy_partial_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.PartialRun", .tp_basicsize = sizeof(PartialObject),
                                  .tp_flags = Py_TPFLAGS_DEFAULT, .tp_dealloc = partial_dealloc, .tp_methods = partial_methods};
