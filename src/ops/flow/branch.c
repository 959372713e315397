/* SPDX-License-Identifier: Apache-2.0 */
/* One of several functions, chosen by a value: If, Case and their stateless forms. Only the chosen one runs. Sessions turn them into Switch
 * and Merge around the branches' bodies (session/pass_lower.c); the kernels serve where that cannot be. An index out of range takes the
 * last branch. */
#include "base/alloc.h"
#include "op/infer_fns.h"
#include "ops/flow/call_inputs.h"

extern const hr_op_t hr_op_If, hr_op_StatelessIf, hr_op__If, hr_op_Case, hr_op_StatelessCase;

typedef struct {
  hr_call_site_t branches[2];
} if_t;

static hr_status_t if_prepare(hr_prepare_ctx_t* c, void* prepared) {
  if_t* p = prepared;
  p->branches[0].function = hr_attrs_find(c->attrs, "else_branch")->u.func;
  p->branches[1].function = hr_attrs_find(c->attrs, "then_branch")->u.func;
  return NULL;
}

static hr_status_t branch_call(hr_kernel_ctx_t* k, hr_call_site_t* site) {
  hr_call_inputs_t c;
  HR_TRY(hr_call_inputs_begin(&c, k, 1));
  hr_status_t status = hr_caller_run(site, k, c.in, c.in_count, c.out, c.out_count);
  hr_call_inputs_end(&c, k, status != NULL);
  return status;
}

static hr_status_t if_compute(hr_kernel_ctx_t* k) {
  if_t* p = hr_prepared(k);
  bool taken = false;
  HR_TRY(hr_call_inputs_is_true(hr_input(k, 0), &taken));
  return branch_call(k, &p->branches[taken]);
}

typedef struct {
  hr_call_site_t* branches;
  int count;
} case_t;

static hr_status_t case_prepare(hr_prepare_ctx_t* c, void* prepared) {
  case_t* p = prepared;
  const hr_attr_t* branches = hr_attrs_find(c->attrs, "branches");
  p->branches = hr_alloc_zero((size_t)branches->count * sizeof *p->branches);
  if (!p->branches) return hr_status_out_of_memory();
  p->count = branches->count;
  for (int i = 0; i < p->count; ++i) p->branches[i].function = &branches->u.funcs[i];
  return NULL;
}

static void case_unprepare(void* prepared) { hr_free(((case_t*)prepared)->branches); }

static hr_status_t case_compute(hr_kernel_ctx_t* k) {
  const case_t* p = hr_prepared(k);
  int64_t index = 0;
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 0), "branch_index", &index));
  return branch_call(k, &p->branches[index < 0 || index >= p->count ? p->count - 1 : index]);
}

#define IF_ATTRS \
  "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: func; output_shapes: list(shape) = []"
#define CASE_ATTRS "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []"
#define IF_KERNEL  HR_KERNELS({.prepared_bytes = sizeof(if_t), .prepare = if_prepare, .compute = if_compute})
#define CASE_KERNEL \
  HR_KERNELS({.prepared_bytes = sizeof(case_t), .prepare = case_prepare, .unprepare = case_unprepare, .compute = case_compute})

const hr_op_t hr_op_If = {.name = "If",
                          .sig = "cond: Tcond; input: Tin -> output: Tout",
                          .attrs = IF_ATTRS,
                          .flags = HR_OP_STATEFUL,
                          .shape = hr_call_inputs_shapes,
                          IF_KERNEL,
                          .doc = "output = cond ? then_branch(input) : else_branch(input).",
                          HR_HERE};

const hr_op_t hr_op_StatelessIf = {.name = "StatelessIf",
                                   .sig = "cond: Tcond; input: Tin -> output: Tout",
                                   .attrs = IF_ATTRS,
                                   .flags = HR_OP_SIDE_EFFECT,
                                   .shape = hr_call_inputs_shapes,
                                   IF_KERNEL,
                                   .doc = "output = cond ? then_branch(input) : else_branch(input), without state.",
                                   HR_HERE};

const hr_op_t hr_op__If = {.name = "_If",
                           .sig = "cond: Tcond; input: Tin -> output: Tout",
                           .attrs = "Tcond: type; Tin: list(type) >= 1; Tout: list(type) >= 1; then_branch: func; else_branch: func",
                           .flags = HR_OP_STATEFUL,
                           .shape = hr_call_inputs_shapes,
                           IF_KERNEL,
                           .doc = "output = cond ? then_branch(input) : else_branch(input); the older form of If.",
                           HR_HERE};

const hr_op_t hr_op_Case = {.name = "Case",
                            .sig = "branch_index: int32; input: Tin -> output: Tout",
                            .attrs = CASE_ATTRS,
                            .flags = HR_OP_STATEFUL,
                            .shape = hr_call_inputs_shapes,
                            CASE_KERNEL,
                            .doc = "output = branches[branch_index](input); the last branch for an index out of range.",
                            HR_HERE};

const hr_op_t hr_op_StatelessCase = {.name = "StatelessCase",
                                     .sig = "branch_index: int32; input: Tin -> output: Tout",
                                     .attrs = CASE_ATTRS,
                                     .flags = HR_OP_SIDE_EFFECT,
                                     .shape = hr_call_inputs_shapes,
                                     CASE_KERNEL,
                                     .doc = "output = branches[branch_index](input), without state.",
                                     HR_HERE};
