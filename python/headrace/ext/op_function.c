/* SPDX-License-Identifier: Apache-2.0 */
/* `OpFunction`: a callable for one registered op. Arguments are its inputs, then the attrs that no input fixes (those without a default
 * first), then `name`. A call converts what is no tensor, names the operation by TensorFlow's rule and adds it: all in C, because
 * building a large graph must take moments.
 *
 * Surprises, all TensorFlow's: the graph is that of the first tensor among the arguments; constants made of arguments lie in the scope
 * named like the operation (`MatMul/b`); the first argument of a type attr fixes it for those after it. */
#include "ext.h"

typedef struct {
  PyObject* name; /* of the keyword */
  int16_t input;  /* index of the input argument; -1 for an attr */
  int16_t attr;   /* index of the attr; -1 */
} op_param_t;

typedef struct {
  PyObject_HEAD vectorcallfunc call;
  const hr_op_def_t* def;
  op_param_t* params; /* the last one is `name`: both indices -1 */
  int param_count;
  bool keywords_only;
  PyObject* op_name;
  PyObject* result; /* the namedtuple's class; NULL until needed */
  PyObject* dict;
} OpFunctionObject;

enum { OP_PARAMS = 40, OP_ATTRS = 48 };

/* One call under way. */
typedef struct {
  OpFunctionObject* f;
  GraphObject* graph;
  PyObject* name;         /* full */
  PyObject* scope;        /* the scope to go back to; NULL: not entered */
  PyObject* thread_graph; /* to go back to */
  HR_VEC(hr_value_t) inputs;
  HR_VEC(PyObject*) held; /* converted values */
  int32_t lists[OP_PARAMS];
  int32_t types[OP_ATTRS];                /* fixed so far, by attr; 0: not */
  const hr_arg_def_t* fixed_by[OP_ATTRS]; /* the argument that did */
  hr_arena_t arena;
  hr_attr_keeper_t keeper;
  hr_named_attr_t* attrs;
  int attr_count;
} op_call_t;

/* --- arguments --- */
static bool op_bind_keyword(OpFunctionObject* f, PyObject* key, PyObject* value, PyObject** slots) {
  for (int i = 0; i < f->param_count; ++i) {
    if (f->params[i].name != key && PyUnicode_Compare(f->params[i].name, key)) continue;
    if (slots[i]) return PyErr_Format(PyExc_TypeError, "%U() got multiple values for argument '%U'", f->op_name, key), false;
    slots[i] = value;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'", f->op_name, key);
  return false;
}

static bool op_bind(OpFunctionObject* f, PyObject* const* args, Py_ssize_t n, PyObject* keys, PyObject** slots) {
  if (n > f->param_count || (n && f->keywords_only))
    return PyErr_Format(PyExc_TypeError, "%U() takes %d positional arguments but %zd were given", f->op_name,
                        f->keywords_only ? 0 : f->param_count, n),
           false;
  for (int i = 0; i < f->param_count; ++i) slots[i] = i < n ? args[i] : NULL;
  for (Py_ssize_t k = 0; keys && k < PyTuple_GET_SIZE(keys); ++k)
    if (!op_bind_keyword(f, PyTuple_GET_ITEM(keys, k), args[n + k], slots)) return false;
  for (int i = 0; i < f->param_count; ++i) {
    const op_param_t* p = &f->params[i];
    bool needed = p->input >= 0 || (p->attr >= 0 && !f->def->attrs[p->attr].has_default);
    if (needed && !slots[i]) return PyErr_Format(PyExc_TypeError, "%U() missing required argument: '%U'", f->op_name, p->name), false;
  }
  return true;
}

static PyObject* op_first_tensor(PyObject* o) { /* borrowed */
  if (hrpy_is_tensor(o)) return o;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (hrpy_is_tensor(PySequence_Fast_GET_ITEM(o, i))) return PySequence_Fast_GET_ITEM(o, i);
  return NULL;
}

static GraphObject* op_find_graph(OpFunctionObject* f, PyObject* const* slots) {
  GraphObject* current = hrpy_default_graph();
  if (!current || current->captures) return current;
  for (int i = 0; i < f->param_count && f->params[i].input >= 0; ++i) {
    PyObject* t = op_first_tensor(slots[i]);
    if (t) return hrpy_graph_of(t);
  }
  return current;
}

/* --- inputs --- */
static PyObject* op_swap_graph(PyObject* graph) { /* through the module, which owns the thread's */
  PyObject* m = PyImport_ImportModule("headrace._headrace");
  PyObject* old = m ? PyObject_CallMethod(m, "swap_graph", "O", graph) : NULL;
  Py_XDECREF(m);
  return old;
}

static bool op_enter_scope(op_call_t* c) {
  if (c->scope) return true;
  if (c->graph != hrpy_default_graph() && !(c->thread_graph = op_swap_graph((PyObject*)c->graph))) return false;
  c->scope = c->graph->name_stack;
  c->graph->name_stack = Py_NewRef(c->name);
  return true;
}

static void op_leave_scope(op_call_t* c) {
  if (!c->scope) return;
  Py_SETREF(c->graph->name_stack, c->scope);
  c->scope = NULL;
  if (!c->thread_graph) return;
  PyObject* error = hrpy_take_error();
  PyObject* old = op_swap_graph(c->thread_graph);
  Py_XDECREF(old);
  Py_CLEAR(c->thread_graph);
  hrpy_put_error(error);
}

static bool op_plain_number(PyObject* o, int dtype) {
  if (PyFloat_CheckExact(o)) return dtype == HR_F32;
  return PyLong_CheckExact(o) && (dtype == HR_F32 || dtype == HR_I32);
}

/* dtype 0: whatever the value is; `preferred` 0: none. New reference. */
static PyObject* op_convert(op_call_t* c, PyObject* value, int dtype, int preferred, PyObject* name, bool as_ref) {
  if (!op_enter_scope(c)) return NULL;
  int as = dtype ? dtype : PyFloat_CheckExact(value) ? HR_F32 : preferred ? preferred : HR_I32;
  if (op_plain_number(value, as)) {
    int overflow = 0;
    long n = PyLong_CheckExact(value) ? PyLong_AsLongAndOverflow(value, &overflow) : 0;
    hr_tensor_t t = {0};
    if (!overflow && n == (int32_t)n) {
      hr_status_t status = as == HR_F32 ? hr_tensor_from_f32(PyFloat_CheckExact(value) ? (float)PyFloat_AS_DOUBLE(value) : (float)n, &t)
                                        : hr_tensor_from_i32((int32_t)n, &t);
      PyObject* out = status ? hrpy_fail(status, c->graph) : hrpy_make_const(c->graph, &t, name);
      hr_tensor_release(&t);
      return out;
    }
  }
  PyObject* d = dtype ? hrpy_dtype(dtype) : Py_NewRef(Py_None);
  PyObject* p = preferred ? hrpy_dtype(preferred) : Py_NewRef(Py_None);
  PyObject* out = d && p ? PyObject_CallFunction(hrpy_hooks.convert, "OOOOO", value, d, name, as_ref ? Py_True : Py_False, p) : NULL;
  Py_XDECREF(d);
  Py_XDECREF(p);
  if (out && !hrpy_is_tensor(out)) {
    PyErr_Format(PyExc_TypeError, "%R was converted to %R, which is no tensor", value, out);
    Py_CLEAR(out);
  }
  return out;
}

static bool op_push(op_call_t* c, PyObject* tensor) {
  hr_status_t status = hr_vec_push(&c->inputs, hrpy_value(tensor));
  if (status) hrpy_fail(status, c->graph);
  return !status;
}

static int op_tensor_type(PyObject* tensor) { return (int)hr_dtype_base(hr_value_type(hrpy_value(tensor))); }

static bool op_wrong_type(op_call_t* c, const hr_arg_def_t* arg, int got, int want) {
  const hr_arg_def_t* by = arg->type_attr >= 0 ? c->fixed_by[arg->type_attr] : NULL;
  if (by)
    PyErr_Format(PyExc_TypeError, "Input '%s' of '%U' Op has type %s that does not match type %s of argument '%s'.", arg->name.data,
                 c->f->op_name, hr_dtype_name(got), hr_dtype_name(want), by->name.data);
  else
    PyErr_Format(PyExc_TypeError, "Input '%s' of '%U' Op has type %s that does not match expected type of %s.", arg->name.data,
                 c->f->op_name, hr_dtype_name(got), hr_dtype_name(want));
  return false;
}

static bool op_allowed(op_call_t* c, const hr_arg_def_t* arg, int type) {
  const hr_attr_def_t* attr = &c->f->def->attrs[arg->type_attr];
  if (!attr->types || hr_dtype_in((hr_dtype_t)type, attr->types)) return true;
  hr_strbuf_t list;
  hr_strbuf_init(&list);
  for (int t = 1; t < HR_DTYPE_COUNT; ++t)
    if (hr_dtype_in((hr_dtype_t)t, attr->types)) hr_strbuf_format(&list, "%s%s", list.size ? ", " : "", hr_dtype_name(t));
  PyErr_Format(PyExc_TypeError, "Value passed to parameter '%s' has DataType %s not in list of allowed values: %s", arg->name.data,
               hr_dtype_name(type), list.data ? list.data : "");
  hr_strbuf_deinit(&list);
  return false;
}

/* One value of an argument; suffix < 0: it is no list. */
static bool op_input(op_call_t* c, const hr_arg_def_t* arg, PyObject* value, int suffix, int* want) {
  PyObject* made = NULL;
  if (!hrpy_is_tensor(value)) {
    int preferred = 0;
    if (!*want && arg->type_attr >= 0 && c->f->def->attrs[arg->type_attr].has_default)
      preferred = c->f->def->attrs[arg->type_attr].value.u.type;
    PyObject* name = suffix < 0 ? PyUnicode_FromStringAndSize(arg->name.data, (Py_ssize_t)arg->name.size)
                                : PyUnicode_FromFormat("%s_%d", arg->name.data, suffix);
    made = name ? op_convert(c, value, *want, preferred, name, arg->is_ref) : NULL;
    Py_XDECREF(name);
    if (!made) return false;
    value = made;
    hr_status_t status = hr_vec_push(&c->held, made);
    if (status) return Py_DECREF(made), hrpy_fail(status, c->graph), false;
  }
  if (!(value = hrpy_captured(c->graph, value))) return false;
  if (hrpy_graph_of(value) != c->graph)
    return PyErr_Format(PyExc_ValueError, "Tensor %R must be from the same graph as the other inputs of '%U'.", value, c->f->op_name),
           false;
  int type = op_tensor_type(value);
  if (*want && type != *want) return op_wrong_type(c, arg, type, *want);
  if (!*want && arg->type_attr >= 0) {
    if (!op_allowed(c, arg, type)) return false;
    c->types[arg->type_attr] = type;
    c->fixed_by[arg->type_attr] = arg;
    *want = type;
  }
  return op_push(c, value);
}

static bool op_input_list(op_call_t* c, int index, PyObject* value) {
  const hr_arg_def_t* arg = &c->f->def->inputs[index];
  if (!PyList_Check(value) && !PyTuple_Check(value))
    return PyErr_Format(PyExc_TypeError, "Expected list for '%s' argument to '%U' Op, not %R.", arg->name.data, c->f->op_name, value),
           false;
  PyObject* seq = PySequence_Fast(value, "a list");
  if (!seq) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);
  int want = arg->type != HR_DTYPE_INVALID ? arg->type : arg->type_attr >= 0 ? c->types[arg->type_attr] : 0;
  for (Py_ssize_t i = 0; arg->list_attr < 0 && !want && i < n; ++i) /* a tensor among them says the type of all */
    if (hrpy_is_tensor(PySequence_Fast_GET_ITEM(seq, i))) want = op_tensor_type(PySequence_Fast_GET_ITEM(seq, i));
  if (arg->type_attr >= 0 && want && !c->types[arg->type_attr]) c->types[arg->type_attr] = want;
  bool fine = true;
  for (Py_ssize_t i = 0; fine && i < n; ++i) {
    int own = 0;
    fine = op_input(c, arg, PySequence_Fast_GET_ITEM(seq, i), (int)i, arg->list_attr >= 0 ? &own : &want);
  }
  c->lists[index] = (int32_t)n;
  Py_DECREF(seq);
  return fine;
}

static bool op_inputs(op_call_t* c, PyObject* const* slots) {
  for (int i = 0; i < c->f->def->input_count; ++i) {
    const hr_arg_def_t* arg = &c->f->def->inputs[i];
    c->lists[i] = 1;
    if (arg->number_attr >= 0 || arg->list_attr >= 0) {
      if (!op_input_list(c, i, slots[i])) return false;
      continue;
    }
    int want = arg->type != HR_DTYPE_INVALID ? arg->type : arg->type_attr >= 0 ? c->types[arg->type_attr] : 0;
    if (!op_input(c, arg, slots[i], -1, &want)) return false;
  }
  return true;
}

/* --- the rest of a call --- */
static bool op_attrs(op_call_t* c, PyObject* const* slots) {
  OpFunctionObject* f = c->f;
  for (int i = f->def->input_count; i < f->param_count; ++i) {
    int a = f->params[i].attr;
    if (a < 0 || !slots[i] || (slots[i] == Py_None && (f->def->attrs[a].has_default || f->def->attrs[a].kind != HR_ATTR_SHAPE))) {
      if (a >= 0 && slots[i] && !f->def->attrs[a].has_default)
        return PyErr_Format(PyExc_TypeError, "%U() needs a value for attr '%U'", f->op_name, f->params[i].name), false;
      continue;
    }
    if (!c->attrs && !(c->attrs = hr_arena_array(&c->arena, (size_t)f->def->attr_count, sizeof *c->attrs))) return PyErr_NoMemory(), false;
    c->attrs[c->attr_count].name = f->def->attrs[a].name;
    if (!hrpy_attr(&f->def->attrs[a], slots[i], &c->arena, &c->keeper, &c->attrs[c->attr_count].value)) return false;
    ++c->attr_count;
  }
  /* the type of an empty list, or one that a default fixes, follows from nothing else */
  for (int i = 0; i < f->def->input_count; ++i) {
    int t = f->def->inputs[i].type_attr;
    if (f->def->inputs[i].number_attr < 0 || c->lists[i] || t < 0 || c->types[t]) continue;
    return PyErr_Format(PyExc_ValueError, "%U: an empty list for '%s' says no type", f->op_name, f->def->inputs[i].name.data), false;
  }
  return true;
}

static PyObject* op_output_list(OperationObject* op, int from, int count) {
  PyObject* list = PyList_New(count);
  for (int i = 0; list && i < count; ++i) {
    PyObject* t = hrpy_node_output(op, from + i);
    if (!t)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, t);
  }
  return list;
}

static PyObject* op_output(OperationObject* op, const hr_arg_def_t* arg, int from, int count) {
  return arg->number_attr >= 0 || arg->list_attr >= 0 ? op_output_list(op, from, count) : hrpy_node_output(op, from);
}

static PyObject* op_result_class(OpFunctionObject* f) {
  if (f->result) return f->result;
  PyObject* fields = PyTuple_New(f->def->output_count);
  for (int i = 0; fields && i < f->def->output_count; ++i)
    PyTuple_SET_ITEM(fields, i, PyUnicode_FromStringAndSize(f->def->outputs[i].name.data, (Py_ssize_t)f->def->outputs[i].name.size));
  if (fields) f->result = PyObject_CallFunction(hrpy_hooks.make_result, "OO", f->op_name, fields);
  Py_XDECREF(fields);
  return f->result;
}

static PyObject* op_results(OpFunctionObject* f, PyObject* made) { /* takes made */
  OperationObject* op = (OperationObject*)made;
  int n = f->def->output_count, from = 0;
  PyObject *out = NULL, *tuple = NULL;
  if (n == 0) return made;
  if (n == 1) {
    out = op_output(op, f->def->outputs, 0, op->node->output_count);
    Py_DECREF(made);
    return out;
  }
  tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; ++i) {
    int count = 1;
    hr_status_t status = hr_sig_arg_length(f->def, op->node->attrs.values, true, i, &count);
    PyObject* o = status ? hrpy_fail(status, op->graph) : op_output(op, &f->def->outputs[i], from, count);
    from += count;
    if (!o)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, i, o);
  }
  PyObject* type = tuple ? op_result_class(f) : NULL;
  if (type) out = PyObject_Call(type, tuple, NULL);
  Py_XDECREF(tuple);
  Py_DECREF(made);
  return out;
}

/* The inputs that are references, as bits. */
static uint64_t op_refs(const op_call_t* c) {
  uint64_t refs = 0;
  for (int i = 0, at = 0; i < c->f->def->input_count; at += c->lists[i++])
    for (int k = 0; c->f->def->inputs[i].is_ref && k < c->lists[i] && at + k < 64; ++k) refs |= (uint64_t)1 << (at + k);
  return refs;
}

static PyObject* op_finish(op_call_t* c, PyObject* const* slots) {
  if (!op_inputs(c, slots)) return NULL;
  op_leave_scope(c);
  if (!op_attrs(c, slots)) return NULL;
  hr_node_desc_t desc = {.op = c->f->def->name,
                         .inputs = c->inputs.data,
                         .input_count = (int32_t)c->inputs.count,
                         .input_lists = c->lists,
                         .attrs = c->attrs,
                         .attr_count = c->attr_count};
  PyObject* made = hrpy_add_at(c->graph, &desc, c->name, op_refs(c));
  return made ? op_results(c->f, made) : NULL;
}

/* `like`: a tensor whose type the first input has, whatever its own value would say; NULL. */
static PyObject* op_run(OpFunctionObject* f, PyObject* const* slots, PyObject* like) {
  GraphObject* graph = op_find_graph(f, slots);
  if (!graph) return NULL;
  PyObject* name = slots[f->param_count - 1];
  if (!name || name == Py_None) name = f->op_name;
  if (!PyUnicode_Check(name)) return PyErr_Format(PyExc_TypeError, "name for op must be a string, got %R", name);
  op_call_t c;
  c.f = f;
  c.graph = graph;
  c.scope = c.thread_graph = NULL;
  memset(&c.inputs, 0, sizeof c.inputs);
  memset(&c.held, 0, sizeof c.held);
  memset(c.types, 0, (size_t)f->def->attr_count * sizeof *c.types);
  memset(c.fixed_by, 0, (size_t)f->def->attr_count * sizeof *c.fixed_by);
  memset(&c.keeper, 0, sizeof c.keeper);
  if (like && f->def->inputs[0].type_attr >= 0) {
    c.types[f->def->inputs[0].type_attr] = op_tensor_type(like);
    c.fixed_by[f->def->inputs[0].type_attr] = &f->def->inputs[1];
  }
  c.attrs = NULL;
  c.attr_count = 0;
  Py_INCREF(graph);
  hr_arena_init(&c.arena);
  PyObject* out = NULL;
  if ((c.name = hrpy_pick_name(graph, name))) out = op_finish(&c, slots);
  op_leave_scope(&c);
  for (int64_t i = 0; i < c.held.count; ++i) Py_DECREF(c.held.data[i]);
  hr_vec_deinit(&c.held);
  hr_vec_deinit(&c.inputs);
  hr_attr_keeper_deinit(&c.keeper);
  hr_arena_deinit(&c.arena);
  Py_XDECREF(c.name);
  Py_DECREF(graph);
  return out;
}

static PyObject* op_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keys) {
  OpFunctionObject* f = (OpFunctionObject*)self;
  PyObject* slots[OP_PARAMS];
  if (!op_bind(f, args, PyVectorcall_NARGS(nargsf), keys, slots)) return NULL;
  return op_run(f, slots, NULL);
}

/* call_typed(function, x, y, name): x is no tensor and takes the type of y (operators with the tensor on the right). */
static PyObject* op_call_typed(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *f, *x, *y, *name, *slots[OP_PARAMS];
  if (!PyArg_ParseTuple(args, "O!OO!O", &hrpy_op_function_type, &f, &x, &hrpy_tensor_type, &y, &name)) return NULL;
  if (((OpFunctionObject*)f)->def->input_count != 2) return PyErr_Format(PyExc_TypeError, "%R has not two inputs", f);
  PyObject* values[] = {x, y};
  if (!op_bind((OpFunctionObject*)f, values, 2, NULL, slots)) return NULL;
  slots[((OpFunctionObject*)f)->param_count - 1] = name;
  return op_run((OpFunctionObject*)f, slots, y);
}

/* --- making one --- */
static bool op_is_inferred(const hr_op_def_t* def, int attr) {
  for (int i = 0; i < def->input_count; ++i)
    if (def->inputs[i].type_attr == attr || def->inputs[i].number_attr == attr || def->inputs[i].list_attr == attr) return true;
  return false;
}

static bool op_add_param(OpFunctionObject* f, hr_str_t name, int input, int attr, PyObject* renames) {
  PyObject* text = PyUnicode_FromStringAndSize(name.data, (Py_ssize_t)name.size);
  PyObject* other = text && renames != Py_None ? PyDict_GetItemWithError(renames, text) : NULL;
  if (other) Py_SETREF(text, Py_NewRef(other));
  if (!text) return false;
  PyUnicode_InternInPlace(&text);
  f->params[f->param_count++] = (op_param_t){text, (int16_t)input, (int16_t)attr};
  return true;
}

static bool op_make_params(OpFunctionObject* f, PyObject* renames) {
  const hr_op_def_t* def = f->def;
  if (def->input_count + def->attr_count + 1 > OP_PARAMS)
    return PyErr_Format(PyExc_ValueError, "op %U has too many arguments", f->op_name), false;
  if (!(f->params = PyMem_Calloc((size_t)def->input_count + (size_t)def->attr_count + 1, sizeof *f->params)))
    return PyErr_NoMemory(), false;
  for (int i = 0; i < def->input_count; ++i)
    if (!op_add_param(f, def->inputs[i].name, i, -1, renames)) return false;
  for (int with_default = 0; with_default < 2; ++with_default)
    for (int i = 0; i < def->attr_count; ++i)
      if (def->attrs[i].has_default == (bool)with_default && !op_is_inferred(def, i) &&
          !op_add_param(f, def->attrs[i].name, -1, i, renames))
        return false;
  return op_add_param(f, HR_STR("name"), -1, -1, Py_None);
}

/* op_function(name, renames or None, keywords_only) */
static PyObject* op_function(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *name, *renames;
  int keywords_only;
  if (!PyArg_ParseTuple(args, "UOp", &name, &renames, &keywords_only)) return NULL;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) return NULL;
  const hr_op_def_t* def;
  hr_status_t status = hr_registry_find((hr_str_t){text, (size_t)size}, &def);
  if (status) return hrpy_fail(status, NULL);
  OpFunctionObject* f = (OpFunctionObject*)hrpy_op_function_type.tp_alloc(&hrpy_op_function_type, 0);
  if (!f) return NULL;
  f->call = op_call;
  f->def = def;
  f->op_name = Py_NewRef(name);
  f->keywords_only = keywords_only;
  if (!op_make_params(f, renames)) Py_CLEAR(f);
  return (PyObject*)f;
}

static void op_dealloc(PyObject* self) {
  OpFunctionObject* f = (OpFunctionObject*)self;
  for (int i = 0; i < f->param_count; ++i) Py_XDECREF(f->params[i].name);
  PyMem_Free(f->params);
  Py_XDECREF(f->op_name);
  Py_XDECREF(f->result);
  Py_XDECREF(f->dict);
  Py_TYPE(self)->tp_free(self);
}

static PyObject* op_repr(PyObject* self) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_sig_print(((OpFunctionObject*)self)->def, &text);
  PyObject* out = PyUnicode_FromFormat("<op %s>", text.data ? text.data : "");
  hr_strbuf_deinit(&text);
  return out;
}

static PyObject* op_doc(PyObject* self, void* closure) {
  (void)closure;
  const char* doc = ((OpFunctionObject*)self)->def->op->doc;
  return PyUnicode_FromString(doc ? doc : "");
}
static PyObject* op_params(PyObject* self, void* closure) {
  (void)closure;
  OpFunctionObject* f = (OpFunctionObject*)self;
  PyObject* t = PyTuple_New(f->param_count);
  for (int i = 0; t && i < f->param_count; ++i) PyTuple_SET_ITEM(t, i, Py_NewRef(f->params[i].name));
  return t;
}

static PyGetSetDef op_getset[] = {{"__doc__", op_doc, NULL, NULL, NULL}, {"_params", op_params, NULL, NULL, NULL}, {0}};
static PyMemberDef op_members[] = {{"__name__", T_OBJECT, offsetof(OpFunctionObject, op_name), READONLY, NULL}, {0}};

PyTypeObject hrpy_op_function_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_headrace.OpFunction",
                                      .tp_basicsize = sizeof(OpFunctionObject),
                                      .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                                      .tp_vectorcall_offset = offsetof(OpFunctionObject, call),
                                      .tp_call = PyVectorcall_Call,
                                      .tp_dictoffset = offsetof(OpFunctionObject, dict),
                                      .tp_getattro = PyObject_GenericGetAttr,
                                      .tp_setattro = PyObject_GenericSetAttr,
                                      .tp_dealloc = op_dealloc,
                                      .tp_repr = op_repr,
                                      .tp_members = op_members,
                                      .tp_getset = op_getset};

PyMethodDef hrpy_op_methods[] = {
    {"op_function", op_function, METH_VARARGS, "op_function(name, renames, keywords_only): the callable of an op."},
    {"call_typed", op_call_typed, METH_VARARGS, "call_typed(function, x, y, name): x takes the type of tensor y."},
    {0}};
