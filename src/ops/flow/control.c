/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow as nodes. Switch hands its data to one of its outputs, the others are dead: who reads a dead value does not run, and its
 * outputs are dead in turn. Merge waits for the first of its inputs that is alive. Enter, NextIteration and Exit carry a value into a
 * loop's frame, on to its next iteration, and out of it. The forms with Ref do the same with references to variables.
 *
 * Which values are alive and where they go is the executor's own business (exec/activate.c), so these ops have no work of their own; what
 * an executor without frames would call says that it cannot. RefSelect chooses among references that are all alive: an ordinary kernel.
 *
 * Differs from TensorFlow: Abort fails the step with ABORTED, where TensorFlow ends the process; a library does not end its host. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "rt/variable.h"

extern const hr_op_t hr_op_Switch, hr_op_RefSwitch, hr_op__SwitchN, hr_op_Merge, hr_op_RefMerge, hr_op_Enter, hr_op_RefEnter, hr_op_Exit,
    hr_op_RefExit, hr_op_NextIteration, hr_op_RefNextIteration, hr_op_LoopCond, hr_op_ControlTrigger, hr_op_RefSelect, hr_op_RefIdentity,
    hr_op_Abort;

/* 1. shapes */
static hr_status_t infer_switch(hr_infer_t* s) { /* input 1: which output */
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  return hr_infer_same(s);
}

/* A loop's variable may change its shape from iteration to iteration, so an Enter promises one only where nothing changes. */
static hr_status_t infer_enter(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t* shape;
  hr_infer_handle(s, 0, &held, &shape);
  if (held != HR_DTYPE_INVALID) hr_infer_set_handle(s, 0, held, shape);
  bool keeps = held == HR_DTYPE_INVALID && hr_attrs_bool(hr_infer_attrs(s), "is_constant");
  hr_infer_set(s, 0, keeps ? hr_infer_input(s, 0) : &hr_pshape_unknown);
  return NULL;
}

/* What all inputs have in common: rank, and dims where they agree. */
static hr_status_t common_shape(hr_infer_t* s, const hr_pshape_t** out) {
  const hr_pshape_t* first = hr_infer_input(s, 0);
  const int count = hr_infer_input_count(s);
  *out = &hr_pshape_unknown;
  if (first->rank < 0) return NULL;
  int64_t* dims = hr_arena_array(hr_infer_arena(s), (size_t)first->rank, sizeof *dims);
  if (!dims) return hr_status_out_of_memory();
  for (int64_t d = 0; d < first->rank; ++d) dims[d] = first->dims[d];
  for (int i = 1; i < count; ++i) {
    const hr_pshape_t* other = hr_infer_input(s, i);
    if (other->rank != first->rank) return NULL;
    for (int64_t d = 0; d < first->rank; ++d)
      if (other->dims[d] != dims[d]) dims[d] = -1;
  }
  return hr_pshape_make(hr_infer_arena(s), first->rank, dims, out);
}

static hr_status_t infer_merge(hr_infer_t* s) {
  const hr_pshape_t *common, *held_shape;
  hr_dtype_t held;
  HR_TRY(common_shape(s, &common));
  hr_infer_set(s, 0, common);
  hr_infer_set(s, 1, &hr_pshape_scalar);
  hr_infer_handle(s, 0, &held, &held_shape);
  for (int i = 1; held != HR_DTYPE_INVALID && i < hr_infer_input_count(s); ++i) {
    hr_dtype_t other;
    const hr_pshape_t* other_shape;
    hr_infer_handle(s, i, &other, &other_shape);
    if (other != held)
      held = HR_DTYPE_INVALID;
    else if (!held_shape || !other_shape || !hr_pshape_equal(held_shape, other_shape))
      held_shape = &hr_pshape_unknown;
  }
  if (held != HR_DTYPE_INVALID) hr_infer_set_handle(s, 0, held, held_shape);
  return NULL;
}

static hr_status_t infer_loop_cond(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, 0, 0, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

static hr_status_t infer_ref_select(hr_infer_t* s) { /* known only when all are known and equal */
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  const hr_pshape_t* first = hr_infer_input(s, 1);
  bool same = hr_pshape_is_known(first);
  for (int i = 2; same && i < hr_infer_input_count(s); ++i) same = hr_pshape_equal(first, hr_infer_input(s, i));
  hr_infer_set(s, 0, same ? first : &hr_pshape_unknown);
  return NULL;
}

/* 2. kernels */
static hr_status_t by_the_executor(hr_kernel_ctx_t* k) {
  return HR_ERROR(INTERNAL, "a %s has a meaning only inside a graph that is run as a whole", k->site->op_name);
}

static hr_status_t no_work(hr_kernel_ctx_t* k) {
  (void)k;
  return NULL;
}

static hr_status_t loop_cond(hr_kernel_ctx_t* k) {
  HR_TRY(hr_want_scalar(k, 0, "a loop's condition"));
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}

static hr_status_t hand_reference_on(hr_kernel_ctx_t* k, int input) {
  hr_variable_t* v = hr_input_ref(k, input);
  if (!v) return HR_ERROR(INTERNAL, "input %d was not set to a reference by its producer", input);
  hr_output_ref(k, 0, v);
  return NULL;
}

static hr_status_t ref_identity(hr_kernel_ctx_t* k) { return hand_reference_on(k, 0); }

static hr_status_t ref_select(hr_kernel_ctx_t* k) {
  HR_TRY(hr_want_scalar(k, 0, "index"));
  const int32_t index = *(const int32_t*)hr_input(k, 0)->data, count = hr_input_count(k) - 1;
  if (index < 0 || index >= count)
    return HR_ERROR(INVALID_ARGUMENT, "index %d is out of range; it must be in [0, %d)", (int)index, (int)count);
  return hand_reference_on(k, 1 + index);
}

typedef struct {
  hr_str_t message;
} abort_t;
static hr_status_t abort_prepare(hr_prepare_ctx_t* p, void* prepared) {
  ((abort_t*)prepared)->message = hr_attrs_str(p->attrs, "error_msg");
  return NULL;
}
static hr_status_t abort_compute(hr_kernel_ctx_t* k) {
  const abort_t* a = hr_prepared(k);
  return HR_ERROR(ABORTED, "%.*s", HR_STR_ARG(a->message.size ? a->message : HR_STR("the graph asks to abort")));
}

/* The walk knows these ops and builds their gradients itself (graph/grad_cond.c, grad_while.c). */
static void grad_by_the_walk(hr_grad_ctx_t* g) {
  hr_grad_fail(g, HR_ERROR(INVALID_ARGUMENT, "this is no part of a whole loop or conditional"));
}

static void grad_hand_on(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_grad_upstream(g, 0)); }

/* 3. definitions */
#define CONTROL(Name, sig_text, attrs_text, infer_fn, gradient, text)    \
  const hr_op_t hr_op_##Name = {.name = #Name,                           \
                                .sig = sig_text,                         \
                                .attrs = attrs_text,                     \
                                .shape = infer_fn,                       \
                                .grad = gradient,                        \
                                HR_KERNELS(HR_CPU_ANY(by_the_executor)), \
                                .doc = text,                             \
                                HR_HERE}
#define ENTER_ATTRS "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10"
#define MERGE_ATTRS "T: type; N: int >= 1"

CONTROL(Switch, "data: T; pred: bool -> output_false: T; output_true: T", "T: type", infer_switch, grad_by_the_walk,
        "output_true is the data if pred holds, else output_false; the other is dead");
CONTROL(RefSwitch, "data: Ref(T); pred: bool -> output_false: Ref(T); output_true: Ref(T)", "T: type", infer_switch, grad_by_the_walk,
        "the same with a reference");
CONTROL(_SwitchN, "data: T; output_index: int32 -> outputs: num_outs * T", "num_outs: int >= 1; T: type", infer_switch, NULL,
        "output output_index is the data, the last one if there are fewer; the others are dead");
CONTROL(Merge, "inputs: N * T -> output: T; value_index: int32", MERGE_ATTRS, infer_merge, grad_by_the_walk,
        "the first input that is alive, and which it was");
CONTROL(RefMerge, "inputs: Ref(N * T) -> output: Ref(T); value_index: int32", MERGE_ATTRS, infer_merge, grad_by_the_walk,
        "the same with references");
CONTROL(Enter, "data: T -> output: T", ENTER_ATTRS, infer_enter, grad_by_the_walk, "the data, inside the loop frame frame_name");
CONTROL(RefEnter, "data: Ref(T) -> output: Ref(T)", ENTER_ATTRS, hr_infer_same, grad_by_the_walk, "the same with a reference");
CONTROL(Exit, "data: T -> output: T", "T: type", hr_infer_same, grad_by_the_walk, "the data, outside the loop frame");
CONTROL(RefExit, "data: Ref(T) -> output: Ref(T)", "T: type", hr_infer_same, grad_by_the_walk, "the same with a reference");
CONTROL(NextIteration, "data: T -> output: T", "T: type", hr_infer_same, grad_by_the_walk, "the data, in the loop's next iteration");
CONTROL(RefNextIteration, "data: Ref(T) -> output: Ref(T)", "T: type", hr_infer_same, grad_by_the_walk, "the same with a reference");
const hr_op_t hr_op_LoopCond = {.name = "LoopCond",
                                .sig = "input: bool -> output: bool",
                                .attrs = "",
                                .shape = infer_loop_cond,
                                .grad = hr_grad_none,
                                HR_KERNELS(HR_CPU_ANY(loop_cond)),
                                .doc = "the input; marks what decides whether a loop goes on",
                                HR_HERE};

const hr_op_t hr_op_ControlTrigger = {.name = "ControlTrigger",
                                      .sig = "->",
                                      .attrs = "",
                                      .shape = hr_infer_none,
                                      HR_KERNELS(HR_CPU_ANY(no_work)),
                                      .doc = "nothing; alive even if what it waits for is dead",
                                      HR_HERE};

const hr_op_t hr_op_RefSelect = {.name = "RefSelect",
                                 .sig = "index: int32; inputs: Ref(N * T) -> output: Ref(T)",
                                 .attrs = MERGE_ATTRS,
                                 .shape = infer_ref_select,
                                 HR_KERNELS(HR_CPU_ANY(ref_select)),
                                 .doc = "reference `index` of the inputs",
                                 HR_HERE};

const hr_op_t hr_op_RefIdentity = {.name = "RefIdentity",
                                   .sig = "input: Ref(T) -> output: Ref(T)",
                                   .attrs = "T: type",
                                   .flags = HR_OP_UNINITIALIZED,
                                   .grad = grad_hand_on,
                                    .shape = hr_infer_same,
                                   HR_KERNELS(HR_CPU_ANY(ref_identity)),
                                   .doc = "the same reference",
                                   HR_HERE};

const hr_op_t hr_op_Abort = {.name = "Abort",
                             .sig = "->",
                             .attrs = "error_msg: string = ''; exit_without_error: bool = false",
                             .flags = HR_OP_SIDE_EFFECT,
                             .shape = hr_infer_none,
                             HR_KERNELS({.prepared_bytes = sizeof(abort_t), .prepare = abort_prepare, .compute = abort_compute}),
                             .doc = "fails the step with ABORTED and error_msg",
                             HR_HERE};
