/* SPDX-License-Identifier: Apache-2.0 */
/* TemporaryVariable: a variable that lives until DestroyTemporaryVariable takes its value, or to the end of the step. Its name belongs to
 * the iteration that made it, so each iteration of a loop has its own. A destroyed one stays empty in the step: who still holds the
 * reference finds it without a value. */
#include <inttypes.h>
#include "base/alloc.h"
#include "op/infer_fns.h"
#include "ops/flow/step_object.h"

extern const hr_op_t hr_op_TemporaryVariable, hr_op_DestroyTemporaryVariable;

/* 1. the object that keeps the variable for the step */
typedef struct {
  hr_step_object_t step; /* first */
  hr_variable_t* variable;
} temporary_t;

static void temporary_clear(hr_step_object_t* o) { hr_variable_clear(((temporary_t*)o)->variable); }
static void temporary_destroy(hr_resource_t* r) {
  temporary_t* t = (temporary_t*)r;
  hr_resource_release(&t->variable->base);
  hr_free(t);
}
static const hr_resource_type_t temporary_type = {"TemporaryVariable", temporary_destroy};

typedef struct {
  hr_dtype_t dtype;
  hr_shape_t shape;
  hr_str_t name;
} maker_t;

/* An uninitialised value has some bytes; ours are zeros. */
static hr_status_t make_variable(const maker_t* m, hr_variable_t** out) {
  hr_tensor_t zeros;
  HR_TRY(hr_variable_create(m->dtype, m->name, out));
  hr_status_t status = hr_tensor_create_zero(m->dtype, &m->shape, &zeros);
  if (!status) {
    status = hr_variable_assign(*out, &zeros);
    hr_tensor_release(&zeros);
  }
  if (status) hr_resource_release(&(*out)->base);
  return status;
}

static hr_status_t make_temporary(const maker_t* m, temporary_t** out) {
  temporary_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  hr_resource_init(&t->step.base, &temporary_type);
  t->step.clear = temporary_clear;
  hr_status_t status = make_variable(m, &t->variable);
  if (status)
    hr_free(t);
  else
    *out = t;
  return status;
}

/* 2. names: "<var_name>/<frame>:<iteration>" */
static hr_status_t full_name(const hr_kernel_ctx_t* k, hr_str_t name, hr_strbuf_t* out) {
  hr_strbuf_init(out);
  hr_strbuf_format(out, "%.*s/%" PRIu64 ":%" PRId64, HR_STR_ARG(name), k->frame_id, k->iteration);
  if (!out->failed) return NULL;
  hr_strbuf_deinit(out);
  return hr_status_out_of_memory();
}

typedef struct {
  temporary_t* mine;
  bool taken;
} entering_t;
static hr_status_t hand_over(void* arg, hr_resource_t** out) {
  entering_t* e = arg;
  e->taken = true;
  *out = hr_resource_retain(&e->mine->step.base);
  return NULL;
}

static hr_status_t enter_name(hr_kernel_ctx_t* k, hr_step_locals_t* l, hr_str_t name, temporary_t* t) {
  hr_resources_t* table = hr_step_locals_get(l);
  hr_strbuf_t full;
  entering_t e = {t, false};
  hr_resource_t* found = NULL;
  if (!table) return hr_status_out_of_memory();
  HR_TRY(full_name(k, name, &full));
  hr_status_t status =
      hr_resources_find_or_create(table, HR_STR("_temporary_variables"), hr_strbuf_view(&full), &temporary_type, hand_over, &e, &found);
  hr_strbuf_deinit(&full);
  hr_resource_release(found);
  if (!status && !e.taken) status = HR_ERROR(ALREADY_EXISTS, "the step has a temporary variable '%.*s' already", HR_STR_ARG(name));
  return status;
}

/* 3. kernels */
static hr_status_t temporary_prepare(hr_prepare_ctx_t* p, void* prepared) {
  maker_t* m = prepared;
  const hr_str_t name = hr_attrs_str(p->attrs, "var_name");
  char text[HR_SHAPE_TEXT];
  const hr_pshape_t* shape = hr_attrs_shape(p->attrs, "shape");
  m->dtype = hr_attrs_type(p->attrs, "dtype");
  m->name = name.size ? name : hr_str(p->node_name);
  m->shape = hr_shape_scalar(); /* where nothing is said, not even the rank */
  if (shape->rank < 0 || hr_pshape_to_shape(shape, &m->shape)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "shape must be fully known, it is %s", hr_pshape_format(shape, text));
}

static hr_status_t temporary(hr_kernel_ctx_t* k) {
  const maker_t* m = hr_prepared(k);
  hr_step_locals_t* l;
  temporary_t* t = NULL;
  HR_TRY(hr_flow_locals(k, &l));
  HR_TRY(make_temporary(m, &t));
  hr_status_t status = enter_name(k, l, m->name, t);
  if (!status) {
    hr_step_locals_add(l, &t->step);
    hr_output_ref(k, 0, t->variable);
  }
  hr_resource_release(&t->step.base);
  return status;
}

static hr_status_t destroy_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(hr_str_t*)prepared = hr_attrs_str(p->attrs, "var_name");
  if (((hr_str_t*)prepared)->size == 0)
    return HR_ERROR(INVALID_ARGUMENT, "Missing var_name attribute: it must name the temporary variable that is to end");
  return NULL;
}

static hr_status_t destroy_temporary(hr_kernel_ctx_t* k) {
  hr_step_locals_t* l;
  hr_strbuf_t full;
  hr_tensor_t value;
  hr_variable_t* v = hr_input_ref(k, 0);
  HR_TRY(hr_flow_locals(k, &l));
  hr_resources_t* table = hr_step_locals_get(l);
  if (!table) return hr_status_out_of_memory();
  if (!v) return HR_ERROR(INVALID_ARGUMENT, "input 0 is not a reference to a temporary variable");
  HR_TRY(full_name(k, *(hr_str_t*)hr_prepared(k), &full));
  hr_status_t status = hr_resources_remove(table, HR_STR("_temporary_variables"), hr_strbuf_view(&full), &temporary_type);
  hr_strbuf_deinit(&full);
  if (!status) status = hr_variable_read(v, &value);
  if (status) return status;
  hr_variable_clear(v);
  hr_output_move(k, 0, &value);
  return NULL;
}

/* 4. definitions */
const hr_op_t hr_op_TemporaryVariable = {
    .name = "TemporaryVariable",
    .sig = "-> ref: Ref(dtype)",
    .attrs = "shape: shape; dtype: type; var_name: string = ''",
    .flags = HR_OP_STATEFUL,
    .shape = hr_infer_from_attr,
    HR_KERNELS({.prepared_bytes = sizeof(maker_t), .prepare = temporary_prepare, .compute = temporary}),
    .doc = "a variable that lives until DestroyTemporaryVariable or the step's end",
    HR_HERE};
const hr_op_t hr_op_DestroyTemporaryVariable = {
    .name = "DestroyTemporaryVariable",
    .sig = "ref: Ref(T) -> value: T",
    .attrs = "T: type; var_name: string",
    .flags = HR_OP_SIDE_EFFECT,
    .shape = hr_infer_same,
    HR_KERNELS({.prepared_bytes = sizeof(hr_str_t), .prepare = destroy_prepare, .compute = destroy_temporary}),
    .doc = "takes the value out of a temporary variable, which is no more then",
    HR_HERE};
