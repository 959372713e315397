/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a step, on which a loop leaves what its gradient needs: pushed iteration by iteration, popped in the reverse order. Values are
 * shared, never copied. swap_memory asks for a move to host memory, where everything lies already. */
#include <inttypes.h>
#include "base/alloc.h"
#include "base/vec.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/flow/step_object.h"

extern const hr_op_t hr_op_Stack, hr_op_StackV2, hr_op_StackPush, hr_op_StackPushV2, hr_op_StackPop, hr_op_StackPopV2, hr_op_StackClose,
    hr_op_StackCloseV2;

/* 1. the object */
typedef struct {
  hr_flow_object_t object; /* first */
  hr_mutex_t mu;
  hr_dtype_t dtype; /* immutable, as is most */
  int64_t most;     /* elements; -1: any number */
  bool is_closed;   /* guarded by mu, as are the values */
  HR_VEC(hr_tensor_t) values;
} steps_stack_t;

static void stack_empty(steps_stack_t* s) {
  for (int64_t i = 0; i < s->values.count; ++i) hr_tensor_release(&s->values.data[i]);
  hr_vec_deinit(&s->values);
  s->is_closed = true;
}

static void stack_clear(hr_step_object_t* o) {
  steps_stack_t* s = (steps_stack_t*)o;
  hr_mutex_lock(&s->mu);
  stack_empty(s);
  hr_mutex_unlock(&s->mu);
}

static void stack_destroy(hr_resource_t* r) {
  steps_stack_t* s = (steps_stack_t*)r;
  stack_empty(s);
  hr_mutex_deinit(&s->mu);
  hr_flow_object_deinit(&s->object);
  hr_free(s);
}
static const hr_resource_type_t stack_type = {"Stack", stack_destroy};

static steps_stack_t* stack_create(hr_dtype_t dtype, int64_t most) { /* NULL: out of memory */
  steps_stack_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return NULL;
  hr_resource_init(&s->object.step.base, &stack_type);
  s->object.step.clear = stack_clear;
  hr_mutex_init(&s->mu);
  s->dtype = dtype;
  s->most = most;
  return s;
}

static hr_status_t closed_error(const steps_stack_t* s) {
  return HR_ERROR(INVALID_ARGUMENT, "Stack[%s] has already been closed", s->object.name);
}

static hr_status_t push_value(steps_stack_t* s, const hr_tensor_t* t) {
  if (s->is_closed) return closed_error(s);
  if (t->dtype != s->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "Must have type %s to be pushed on Stack[%s], not %s", hr_dtype_name((int)s->dtype), s->object.name,
                    hr_dtype_name((int)t->dtype));
  if (s->most >= 0 && s->values.count >= s->most)
    return HR_ERROR(INVALID_ARGUMENT, "Stack[%s] overflowed its max_size (%" PRId64 ")", s->object.name, s->most);
  HR_TRY(hr_vec_reserve(&s->values, 1));
  hr_tensor_share(t, &s->values.data[s->values.count++]);
  return NULL;
}

static hr_status_t pop_value(steps_stack_t* s, hr_dtype_t wanted, hr_tensor_t* out) {
  if (s->is_closed) return closed_error(s);
  if (s->values.count == 0) return HR_ERROR(INVALID_ARGUMENT, "Stack[%s] is empty when calling Pop()", s->object.name);
  hr_tensor_t* top = &s->values.data[s->values.count - 1];
  if (top->dtype != wanted)
    return HR_ERROR(INTERNAL, "a stack of %s is popped as %s", hr_dtype_name((int)top->dtype), hr_dtype_name((int)wanted));
  hr_tensor_move(top, out);
  --s->values.count;
  return NULL;
}

/* 2. kernels */
typedef struct {
  hr_dtype_t dtype;
  hr_str_t stem;
} maker_t;
static hr_status_t stack_prepare(hr_prepare_ctx_t* p, void* prepared) {
  maker_t* m = prepared;
  const hr_str_t name = hr_attrs_str(p->attrs, "stack_name");
  m->dtype = hr_attrs_type(p->attrs, "elem_type");
  m->stem = name.size ? name : hr_str(p->node_name);
  return NULL;
}

static hr_status_t make_stack(hr_kernel_ctx_t* k) {
  const maker_t* m = hr_prepared(k);
  int64_t most = -1;
  if (hr_input_count(k) > 0) {
    HR_TRY(hr_want_rank(k, 0, "max_size", 0));
    HR_TRY(hr_tensor_scalar_i64(hr_input(k, 0), "max_size", &most));
  }
  steps_stack_t* s = stack_create(m->dtype, most);
  if (!s) return hr_status_out_of_memory();
  hr_status_t status =
      hr_flow_object_add(k, &s->object, HR_STR("_stacks"), m->stem, hr_input_count(k) > 0 ? HR_NAMED_BY_HANDLE : HR_NAMED_BY_REF);
  hr_resource_release(&s->object.step.base);
  return status;
}

static hr_status_t stack_input(const hr_kernel_ctx_t* k, steps_stack_t** out) {
  hr_flow_object_t* o = NULL;
  HR_TRY(hr_flow_object_input(k, &stack_type, &o));
  *out = (steps_stack_t*)o;
  return NULL;
}

static hr_status_t push_on_stack(hr_kernel_ctx_t* k) {
  steps_stack_t* s;
  HR_TRY(stack_input(k, &s));
  hr_mutex_lock(&s->mu);
  hr_status_t status = push_value(s, hr_input(k, 1));
  hr_mutex_unlock(&s->mu);
  hr_resource_release(&s->object.step.base);
  if (!status) hr_output_share(k, 0, hr_input(k, 1));
  return status;
}

static hr_status_t pop_from_stack(hr_kernel_ctx_t* k) {
  steps_stack_t* s;
  hr_tensor_t value;
  HR_TRY(stack_input(k, &s));
  hr_mutex_lock(&s->mu);
  hr_status_t status = pop_value(s, hr_output_dtype(k, 0), &value);
  hr_mutex_unlock(&s->mu);
  hr_resource_release(&s->object.step.base);
  if (!status) hr_output_move(k, 0, &value);
  return status;
}

static hr_status_t close_stack(hr_kernel_ctx_t* k) {
  steps_stack_t* s;
  HR_TRY(stack_input(k, &s));
  stack_clear(&s->object.step);
  hr_resource_release(&s->object.step.base);
  return NULL;
}

/* 3. shapes and definitions */
static hr_status_t infer_stack(hr_infer_t* s) {
  if (hr_infer_input_count(s) == 0) return hr_infer_set_vector(s, 0, 2);
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  return hr_infer_scalars(s);
}
static hr_status_t infer_push(hr_infer_t* s) {
  hr_infer_set(s, 0, hr_infer_input(s, 1));
  return NULL;
}

#define STACK(suffix, handle, Flags, gradient, before)                                                                                \
  const hr_op_t hr_op_Stack##suffix = {                                                                                               \
      .name = "Stack" #suffix,                                                                                                        \
      .sig = before "-> handle: " handle,                                                                                             \
      .attrs = "elem_type: type; stack_name: string = ''",                                                                            \
      .flags = HR_OP_STATEFUL,                                                                                                        \
      .shape = infer_stack,                                                                                                           \
      .grad = gradient,                                                                                                               \
      HR_KERNELS(                                                                                                                     \
          {.host_inputs = 1, .host_outputs = 1, .prepared_bytes = sizeof(maker_t), .prepare = stack_prepare, .compute = make_stack}), \
      .doc = "a stack of tensors that lives as long as the step",                                                                     \
      HR_HERE};                                                                                                                       \
  const hr_op_t hr_op_StackPush##suffix = {.name = "StackPush" #suffix,                                                               \
                                           .sig = "handle: " handle "; elem: T -> output: T",                                         \
                                           .attrs = "T: type; swap_memory: bool = false",                                             \
                                           .flags = Flags,                                                                            \
                                           .shape = infer_push,                                                                       \
                                           .grad = gradient,                                                                          \
                                           HR_KERNELS({.host_inputs = 1, .compute = push_on_stack}),                                  \
                                           .doc = "pushes elem and gives it on",                                                      \
                                           HR_HERE};                                                                                  \
  const hr_op_t hr_op_StackPop##suffix = {.name = "StackPop" #suffix,                                                                 \
                                          .sig = "handle: " handle " -> elem: elem_type",                                             \
                                          .attrs = "elem_type: type",                                                                 \
                                          .flags = Flags,                                                                             \
                                          .shape = hr_infer_any,                                                                      \
                                          .grad = gradient,                                                                           \
                                          HR_KERNELS({.host_inputs = 1, .compute = pop_from_stack}),                                  \
                                          .doc = "takes the element pushed last",                                                     \
                                          HR_HERE};                                                                                   \
  const hr_op_t hr_op_StackClose##suffix = {.name = "StackClose" #suffix,                                                             \
                                            .sig = "handle: " handle " ->",                                                           \
                                            .attrs = "",                                                                              \
                                            .flags = Flags,                                                                           \
                                            .shape = hr_infer_none,                                                                   \
                                            .grad = gradient,                                                                         \
                                            HR_KERNELS({.host_inputs = 1, .compute = close_stack}),                                   \
                                            .doc = "lets the elements go; later uses are refused",                                    \
                                            HR_HERE}
STACK(, "Ref(string)", HR_OP_SIDE_EFFECT, hr_grad_none, "");
STACK(V2, "resource", HR_OP_STATEFUL, NULL, "max_size: int32 ");
