/* SPDX-License-Identifier: Apache-2.0 */
/* What an op is: its signature as text, and the small functions that give it meaning. The core never includes an op; an op file
 * includes only this header's family (op.h, infer.h, kernel_ctx.h, grad_ctx.h) and below.
 *
 * An op file reads top to bottom: what it computes, shape function, kernels, gradient, definition. See docs/adding-an-op.md. */
#ifndef HR_OP_OP_H
#define HR_OP_OP_H
#include "tensor/dtype.h"

typedef struct hr_infer hr_infer_t;     /* op/infer.h */
typedef struct hr_prepare_ctx hr_prepare_ctx_t; /* op/kernel_ctx.h */
typedef struct hr_kernel_ctx hr_kernel_ctx_t;   /* op/kernel_ctx.h */
typedef struct hr_grad_ctx hr_grad_ctx_t;       /* op/grad_ctx.h */

typedef hr_status_t (*hr_shape_fn_t)(hr_infer_t*);
typedef hr_status_t (*hr_prepare_fn_t)(hr_prepare_ctx_t*, void* prepared);
typedef hr_status_t (*hr_compute_fn_t)(hr_kernel_ctx_t*);
struct hr_async; /* rt/async.h */
typedef void (*hr_start_fn_t)(hr_kernel_ctx_t*, struct hr_async* done);
typedef void (*hr_grad_fn_t)(hr_grad_ctx_t*);

/* One kernel: for which attrs, and the functions of its three life times (state: one per session and node name; prepared: one per
 * plan and node, immutable while steps run; scratch: per step, from kernel_ctx). First row that matches, by priority then order. */
typedef struct {
  struct {
    const char* attr;   /* a type attr; NULL ends the list */
    hr_dtypes_t types;
  } where[3];
  int priority;                 /* higher is tried first; default 0 */
  const char* device;           /* NULL: the host's. Else a type of device whose own kernel it is; such rows are added at run time */
  uint32_t host_inputs, host_outputs; /* arguments (bits) that lie in host memory also on a device with its own */
  size_t prepared_bytes;        /* zeroed memory for `prepare` */
  hr_prepare_fn_t prepare;      /* may be NULL */
  void (*unprepare)(void* prepared);
  size_t state_bytes;           /* session life; 0: none. Zeroed; create_state may be NULL */
  hr_prepare_fn_t create_state; /* its second argument is the state */
  void (*destroy_state)(void* state);
  hr_compute_fn_t compute;
  hr_start_fn_t start;          /* instead of compute: an asynchronous kernel, which begins here and ends with done->finish (rt/async.h) */
  const void* arg;              /* a row's own constant, read by hr_kernel_arg */
} hr_kernel_t;

enum {
  HR_OP_STATEFUL = 1,        /* not folded, merged or shared; kernel state lives in the session */
  HR_OP_COMMUTATIVE = 2,
  HR_OP_AGGREGATE = 4,
  HR_OP_UNINITIALIZED = 8,   /* accepts reference inputs to variables that have no value yet */
  HR_OP_BLOCKING = 16,       /* compute may wait for another step (queues); ordered last, registers for cancellation */
  HR_OP_SIDE_EFFECT = 32,    /* stateless by signature but must run when asked for (files, summaries) and is never folded */
  /* Any of these: what a node computes is not a value that follows from its inputs; it is neither folded nor merged nor moved. */
  HR_OP_IMPURE = HR_OP_STATEFUL | HR_OP_BLOCKING | HR_OP_SIDE_EFFECT
};

typedef struct hr_op {
  const char* name;          /* TensorFlow's */
  const char* sig;           /* "x: T; y: T -> z: T"; grammar in op/sig.h */
  const char* attrs;         /* "T: type{half,float}; N: int >= 1; axis: int = 0" */
  uint32_t flags;
  hr_shape_fn_t shape;       /* NULL: outputs unknown (never for ops of ours) */
  hr_grad_fn_t grad;         /* NULL: none registered; hr_grad_none: registered as not differentiable */
  const hr_kernel_t* kernels;
  int kernel_count;
  int deprecated;            /* GraphDef version from which it is refused; 0: never */
  const char* deprecated_why;
  const char* doc;           /* one sentence with the formula */
  const char* file;
  int line;
} hr_op_t;

#define HR_HERE .file = __FILE__, .line = __LINE__
#define HR_KERNELS(...) \
  .kernels = (const hr_kernel_t[]){__VA_ARGS__}, .kernel_count = sizeof((const hr_kernel_t[]){__VA_ARGS__}) / sizeof(hr_kernel_t)
/* Common rows: one type attr, one function for a set of types. */
#define HR_CPU(attr_name, type_set, fn) {.where = {{attr_name, type_set}}, .compute = fn}
#define HR_CPU_ANY(fn) {.compute = fn}

void hr_grad_none(hr_grad_ctx_t*); /* the mark "registered as not differentiable"; never called */
#endif
