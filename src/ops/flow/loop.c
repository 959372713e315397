/* SPDX-License-Identifier: Apache-2.0 */
/* Functions called again and again: While, its stateless and older forms, and For. Sessions turn While into Enter, Merge, Switch,
 * NextIteration and Exit around the bodies (session/pass_lower.c); the kernels serve where that cannot be, one iteration after another. */
#include "base/alloc.h"
#include "op/infer_fns.h"
#include "ops/flow/call_inputs.h"
#include "rt/step.h"

extern const hr_op_t hr_op_While, hr_op_StatelessWhile, hr_op__While, hr_op_For;

typedef struct {
  hr_call_site_t cond, body;
} while_t;

/* What two shapes have in common. */
static hr_status_t common_shape(hr_infer_t* s, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out) {
  *out = &hr_pshape_unknown;
  if (a->rank < 0 || a->rank != b->rank) return NULL;
  int64_t* dims = hr_arena_array(hr_infer_arena(s), (size_t)a->rank + 1, sizeof *dims);
  if (!dims) return hr_status_out_of_memory();
  for (int d = 0; d < a->rank; ++d) dims[d] = a->dims[d] == b->dims[d] ? a->dims[d] : -1;
  return hr_pshape_make(hr_infer_arena(s), a->rank, dims, out);
}

/* One iteration: `shapes` of its inputs become what these and its outputs have in common. */
static hr_status_t widen_shapes(hr_infer_t* s, const hr_pshape_t** shapes, const hr_pshape_t** after, bool* out_changed) {
  *out_changed = false;
  HR_TRY(hr_infer_called(s, hr_attrs_find(hr_infer_attrs(s), "body")->u.func, shapes, after));
  for (int i = 0; i < hr_infer_output_count(s); ++i) {
    if (hr_pshape_equal(shapes[i], after[i])) continue;
    HR_TRY(common_shape(s, shapes[i], after[i], &after[i]));
    *out_changed = *out_changed || !hr_pshape_equal(shapes[i], after[i]);
    shapes[i] = after[i];
  }
  return NULL;
}

/* The shapes of the inputs, as far as no iteration changes them; TensorFlow, where output_shapes says nothing, believes that none does. */
static hr_status_t while_shapes(hr_infer_t* s) {
  enum { MOST_ROUNDS = 4 };
  const int count = hr_infer_output_count(s);
  const hr_attr_t* given = hr_attrs_find(hr_infer_attrs(s), "output_shapes");
  HR_TRY(hr_call_inputs_shapes(s));
  if ((given && given->count > 0) || count == 0) return NULL;
  const hr_pshape_t** shapes = hr_arena_array(hr_infer_arena(s), 2 * (size_t)count, sizeof *shapes);
  bool changed = true;
  if (!shapes) return hr_status_out_of_memory();
  for (int i = 0; i < count; ++i) shapes[i] = hr_infer_input(s, i);
  for (int round = 0; changed && round < MOST_ROUNDS; ++round) HR_TRY(widen_shapes(s, shapes, shapes + count, &changed));
  for (int i = 0; i < count && !changed; ++i)
    if (hr_infer_output(s, i)->rank < 0) hr_infer_set(s, i, shapes[i]);
  return NULL;
}

static hr_status_t while_prepare(hr_prepare_ctx_t* c, void* prepared) {
  while_t* p = prepared;
  p->cond = (hr_call_site_t){.function = hr_attrs_find(c->attrs, "cond")->u.func, .role = "While loop condition"};
  p->body = (hr_call_site_t){.function = hr_attrs_find(c->attrs, "body")->u.func, .role = "While loop body"};
  return NULL;
}

/* The values now: `in` lent at first, owned after an iteration. */
typedef struct {
  hr_call_inputs_t values;
  bool owned;
} loop_t;

static void loop_take_outputs(loop_t* l) {
  for (int i = 0; i < l->values.out_count; ++i) {
    if (l->owned) hr_tensor_release(&l->values.in[i]);
    hr_tensor_move(&l->values.out[i], &l->values.in[i]);
  }
  l->owned = true;
}

static void loop_end(loop_t* l, hr_kernel_ctx_t* k, bool failed) {
  for (int i = 0; i < l->values.out_count && l->values.in; ++i) {
    if (l->owned && failed)
      hr_tensor_release(&l->values.in[i]);
    else if (l->owned)
      hr_tensor_move(&l->values.in[i], &l->values.out[i]);
    else if (!failed)
      hr_tensor_share(&l->values.in[i], &l->values.out[i]);
  }
  hr_call_inputs_end(&l->values, k, failed);
}

static hr_status_t while_goes_on(while_t* p, hr_kernel_ctx_t* k, const loop_t* l, bool* out) {
  hr_tensor_t verdict = {0};
  if (hr_is_cancelled(k)) return hr_cancel_why(k->step->cancel);
  HR_TRY(hr_caller_run(&p->cond, k, l->values.in, l->values.in_count, &verdict, 1));
  hr_status_t status = hr_call_inputs_is_true(&verdict, out);
  hr_tensor_release(&verdict);
  return status;
}

static hr_status_t while_compute(hr_kernel_ctx_t* k) {
  while_t* p = hr_prepared(k);
  loop_t l = {0};
  bool goes_on = false;
  HR_TRY(hr_call_inputs_begin(&l.values, k, 0));
  hr_status_t status = while_goes_on(p, k, &l, &goes_on);
  while (!status && goes_on) {
    status = hr_caller_run(&p->body, k, l.values.in, l.values.in_count, l.values.out, l.values.out_count);
    if (status) break;
    loop_take_outputs(&l);
    status = while_goes_on(p, k, &l, &goes_on);
  }
  loop_end(&l, k, status != NULL);
  return status;
}

static hr_status_t for_prepare(hr_prepare_ctx_t* c, void* prepared) {
  *(hr_call_site_t*)prepared = (hr_call_site_t){.function = hr_attrs_find(c->attrs, "body")->u.func, .role = "For loop body"};
  return NULL;
}

/* body(i, values...) -> values */
static hr_status_t for_iteration(hr_kernel_ctx_t* k, loop_t* l, hr_tensor_t* arguments, int64_t i) {
  hr_tensor_t index = {0};
  if (hr_is_cancelled(k)) return hr_cancel_why(k->step->cancel);
  HR_TRY(hr_tensor_from_i32((int32_t)i, &index));
  hr_tensor_lend(&index, &arguments[0]);
  for (int a = 0; a < l->values.in_count; ++a) hr_tensor_lend(&l->values.in[a], &arguments[a + 1]);
  hr_status_t status = hr_caller_run(hr_prepared(k), k, arguments, l->values.in_count + 1, l->values.out, l->values.out_count);
  hr_tensor_release(&index);
  if (!status) loop_take_outputs(l);
  return status;
}

static hr_status_t for_compute(hr_kernel_ctx_t* k) {
  int64_t start = 0, limit = 0, delta = 0;
  loop_t l = {0};
  static const char* const names[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) HR_TRY(hr_want_scalar(k, i, names[i]));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 0), "start", &start));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "limit", &limit));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 2), "delta", &delta));
  if ((start < limit && delta <= 0) || (start > limit && delta >= 0))
    return HR_ERROR(INVALID_ARGUMENT, "Invalid start/limit/delta: %lld %lld %lld, a loop that never ends", (long long)start,
                    (long long)limit, (long long)delta);
  HR_TRY(hr_call_inputs_begin(&l.values, k, 3));
  hr_tensor_t* arguments = hr_alloc_array((size_t)l.values.in_count + 1, sizeof *arguments);
  hr_status_t status = arguments ? NULL : hr_status_out_of_memory();
  for (int64_t i = start; !status && (delta > 0 ? i < limit : i > limit); i += delta) status = for_iteration(k, &l, arguments, i);
  hr_free(arguments);
  loop_end(&l, k, status != NULL);
  return status;
}

#define WHILE_ATTRS  "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; parallel_iterations: int = 10"
#define WHILE_KERNEL HR_KERNELS({.prepared_bytes = sizeof(while_t), .prepare = while_prepare, .compute = while_compute})

const hr_op_t hr_op_While = {.name = "While",
                             .sig = "input: T -> output: T",
                             .attrs = WHILE_ATTRS,
                             .flags = HR_OP_STATEFUL,
                             .shape = while_shapes,
                             WHILE_KERNEL,
                             .doc = "output = input; while (cond(output)) output = body(output).",
                             HR_HERE};

const hr_op_t hr_op_StatelessWhile = {.name = "StatelessWhile",
                                      .sig = "input: T -> output: T",
                                      .attrs = WHILE_ATTRS,
                                      .flags = HR_OP_SIDE_EFFECT,
                                      .shape = while_shapes,
                                      WHILE_KERNEL,
                                      .doc = "output = input; while (cond(output)) output = body(output), without state.",
                                      HR_HERE};

const hr_op_t hr_op__While = {.name = "_While",
                              .sig = "input: T -> output: T",
                              .attrs = "T: list(type) >= 0; cond: func; body: func",
                              .flags = HR_OP_STATEFUL,
                              .shape = while_shapes,
                              WHILE_KERNEL,
                              .doc = "output = input; while (cond(output)) output = body(output); the older form of While.",
                              HR_HERE};

const hr_op_t hr_op_For = {.name = "For",
                           .sig = "start: int32; limit: int32; delta: int32; input: T -> output: T",
                           .attrs = "T: list(type) >= 0; body: func",
                           .flags = HR_OP_SIDE_EFFECT, /* stateless to TensorFlow, but its body may be anything */
                           .shape = hr_call_inputs_shapes,
                           HR_KERNELS({.prepared_bytes = sizeof(hr_call_site_t), .prepare = for_prepare, .compute = for_compute}),
                           .doc = "output = input; for (i = start; i < limit; i += delta) output = body(i, output).",
                           HR_HERE};
