/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel sees. prepare: attrs, types, static shapes; fills the node's prepared memory once per plan. compute: inputs, outputs,
 * scratch and services of one step. The structs are open so that the accessors inline; kernels use the accessors only.
 *
 * Rules: an input is borrowed for the call. Every output must be set before OK is returned (unless it is optional by the op's meaning).
 * hr_output_take works in place: read the input's data pointer before or after, it stays readable, but it may be the output's. */
#ifndef HR_OP_KERNEL_CTX_H
#define HR_OP_KERNEL_CTX_H
#include "base/pool.h"
#include "op/attrs_of.h"
#include "op/op.h"
#include "tensor/tensor.h"

typedef struct hr_variable hr_variable_t;   /* rt/variable.h */
typedef struct hr_step hr_step_t;           /* rt/step.h */

/* --- prepare and create_state ----------------------------------------------------------------------------------------------------- */
struct hr_prepare_ctx {
  const hr_node_attrs_t* attrs;
  const char* node_name;
  const char* op_name;
  int input_count, output_count;
  const int32_t* input_types;   /* without refs */
  const int32_t* output_types;
  const hr_pshape_t* const* input_shapes; /* what is known statically */
  const hr_pshape_t* const* output_shapes;
  const hr_tensor_t* const* constants;    /* values of inputs that are constants in this plan; NULL elsewhere */
  const hr_kernel_t* kernel;
  struct hr_resources* resources;         /* rt/resource.h: the session's; for create_state */
};

/* --- one node of a plan ----------------------------------------------------------------------------------------------------------- */
enum { HR_IN_TAKE = 1, HR_IN_RELEASE = 2 }; /* last use: may be taken over in place / is released after the call */

typedef struct hr_slot {
  hr_tensor_t value;
  hr_variable_t* ref; /* of a reference output: the variable; value is then empty */
} hr_slot_t;

typedef struct hr_site { /* immutable after the plan is built */
  hr_compute_fn_t compute;
  void* prepared;
  void* state;
  const hr_kernel_t* kernel;
  const char* node_name;
  const char* op_name;
  const int32_t* in;        /* slots of the inputs */
  const uint8_t* in_flags;
  const int32_t* out;       /* slots of the outputs; -1: nobody wants it */
  const uint8_t* out_types; /* hr_dtype_t without ref */
  int32_t in_count, out_count;
  bool may_defer; /* a blocking node without outputs: its plan has blocking nodes with outputs after it (rt/step.h, hr_step_wait_t) */
} hr_site_t;

struct hr_kernel_ctx {
  const hr_site_t* site;
  hr_slot_t* slots;  /* the step's frame */
  hr_step_t* step;
  int threads;       /* this step's share of the pool */
  uint64_t frame_id; /* of the loop frame that this run of the node belongs to (rt/rendezvous_key.h), and its iteration; outside loops 0 */
  int64_t iteration;
  bool is_dead;      /* _Send: an input is dead, and that is what is sent; _Recv sets it when what came is dead */
  struct hr_own_call* own; /* of a device's own kernel at work (exec/own.h); NULL on the host */
  hr_slot_t* spare;  /* where unwanted outputs go, several of one call chained (kernel_ctx.c); released by the executor after each call */
};

/* --- inputs ----------------------------------------------------------------------------------------------------------------------- */
static inline int hr_input_count(const hr_kernel_ctx_t* k) { return k->site->in_count; }
static inline int hr_output_count(const hr_kernel_ctx_t* k) { return k->site->out_count; }
static inline const hr_tensor_t* hr_input(const hr_kernel_ctx_t* k, int i) { return &k->slots[k->site->in[i]].value; }
static inline hr_variable_t* hr_input_ref(const hr_kernel_ctx_t* k, int i) { return k->slots[k->site->in[i]].ref; }
static inline void* hr_prepared(const hr_kernel_ctx_t* k) { return k->site->prepared; }
static inline void* hr_state(const hr_kernel_ctx_t* k) { return k->site->state; }
static inline const void* hr_kernel_arg(const hr_kernel_ctx_t* k) { return k->site->kernel->arg; }

/* --- outputs ---------------------------------------------------------------------------------------------------------------------- */
static inline bool hr_output_wanted(const hr_kernel_ctx_t* k, int i) { return k->site->out[i] >= 0; }
static inline hr_dtype_t hr_output_dtype(const hr_kernel_ctx_t* k, int i) { return (hr_dtype_t)k->site->out_types[i]; }
static inline hr_slot_t* hr_output_slot(const hr_kernel_ctx_t* k, int i) {
  return k->site->out[i] >= 0 ? &k->slots[k->site->out[i]] : k->spare;
}
/* A new output tensor, uninitialised; *out is borrowed and stays valid during the call. An unwanted output still gets memory. */
HR_MUST_USE hr_status_t hr_output(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, hr_tensor_t** out);
/* In place when the input is at its last use here, owned by nobody else, of the output's type and of as many elements; else new. */
HR_MUST_USE hr_status_t hr_output_take(hr_kernel_ctx_t* k, int index, int input, const hr_shape_t* shape, hr_tensor_t** out);
/* The output is an existing tensor (Identity, Reshape): shared, or moved out of `take`. */
void hr_output_share(hr_kernel_ctx_t* k, int index, const hr_tensor_t* t);
void hr_output_move(hr_kernel_ctx_t* k, int index, hr_tensor_t* take);
/* Input `input`'s bytes under another shape of as many elements. */
HR_MUST_USE hr_status_t hr_output_alias(hr_kernel_ctx_t* k, int index, int input, const hr_shape_t* shape);
void hr_output_ref(hr_kernel_ctx_t* k, int index, hr_variable_t* v); /* a reference output; borrowed: the session keeps variables */
/* Scratch for this call; release with hr_tensor_release. */
HR_MUST_USE hr_status_t hr_temp(hr_kernel_ctx_t* k, hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out);

/* --- services --------------------------------------------------------------------------------------------------------------------- */
/* Splits [0, count) over this step's share of the cores; cost_ns: nanoseconds an item takes, so small work stays on this thread. */
static inline HR_MUST_USE hr_status_t hr_parallel(hr_kernel_ctx_t* k, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg) {
  return hr_pool_share(k->threads, count, cost_ns, fn, arg);
}
/* Failures name the node and op by themselves (the executor adds the note); say what was wrong and what would be right. */

/* Blocks of code for a node that waits (queues): true once the step is cancelled. rt/step.h has the registration. */
bool hr_is_cancelled(const hr_kernel_ctx_t* k);
struct hr_resources* hr_resources_of(const hr_kernel_ctx_t* k); /* rt/resource.h */

/* Input checks shared by kernels; INVALID_ARGUMENT names the input's index and shape. `what` is the input's name, or, ending in a blank,
    the
 * whole demand in the words that TensorFlow's clients look for: "k must be scalar, got shape ". */
HR_MUST_USE hr_status_t hr_want_scalar(const hr_kernel_ctx_t* k, int input, const char* what);
HR_MUST_USE hr_status_t hr_want_vector(const hr_kernel_ctx_t* k, int input, const char* what);
HR_MUST_USE hr_status_t hr_want_rank(const hr_kernel_ctx_t* k, int input, const char* what, int rank);
HR_MUST_USE hr_status_t hr_want_rank_at_least(const hr_kernel_ctx_t* k, int input, const char* what, int rank);
HR_MUST_USE hr_status_t hr_want_same_shape(const hr_kernel_ctx_t* k, int a, int b);
#endif
