/* SPDX-License-Identifier: Apache-2.0 */
/* What a gradient sees: an emitter. dL/d(outputs) come in, dL/d(inputs) go out, as new nodes. Errors stick: after the first failure
 * every call gives the null value and the caller of the gradient looks once. The emitter is a table that graph/ implements. */
#ifndef HR_OP_GRAD_CTX_H
#define HR_OP_GRAD_CTX_H
#include "op/attrs_of.h"
#include "op/op.h"

struct hr_node; /* graph/graph.h */
typedef struct {
  struct hr_node* node; /* NULL: the null value */
  int32_t index;
} hr_value_t;
#define HR_NO_VALUE ((hr_value_t){0})

/* --- the node being differentiated ------------------------------------------------------------------------------------------------ */
int hr_grad_input_count(const hr_grad_ctx_t*);
int hr_grad_output_count(const hr_grad_ctx_t*);
hr_value_t hr_grad_input(hr_grad_ctx_t*, int i);
hr_value_t hr_grad_output(hr_grad_ctx_t*, int i);
/* dL/d(output i), dense; zeros of the output's shape when no gradient reaches it (made only when asked for). */
hr_value_t hr_grad_upstream(hr_grad_ctx_t*, int i);
bool hr_grad_has_upstream(const hr_grad_ctx_t*, int i);  /* a gradient reaches output i */
bool hr_grad_wanted(const hr_grad_ctx_t*, int input);    /* somebody asks for this input's gradient: skip dear work otherwise */
const hr_node_attrs_t* hr_grad_attrs(const hr_grad_ctx_t*);
void hr_grad_give(hr_grad_ctx_t*, int input, hr_value_t gradient);  /* once per input; not giving one: no gradient flows */
/* Rows `values[j]` belong to row indices[j] of the input, whose shape is dense_shape (an int32 or int64 vector). */
void hr_grad_give_slices(hr_grad_ctx_t*, int input, hr_value_t indices, hr_value_t values, hr_value_t dense_shape);
/* The upstream gradient of output i as slices, if it came so; else false (use hr_grad_upstream). */
bool hr_grad_upstream_slices(hr_grad_ctx_t*, int i, hr_value_t* indices, hr_value_t* values, hr_value_t* dense_shape);
hr_str_t hr_grad_source(const hr_grad_ctx_t*); /* names this backward walk, apart from every other of the graph */
void hr_grad_fail(hr_grad_ctx_t*, hr_status_t take_status);          /* sticks */

/* --- static knowledge of any value ------------------------------------------------------------------------------------------------ */
hr_dtype_t hr_grad_dtype(hr_grad_ctx_t*, hr_value_t v);
const hr_pshape_t* hr_grad_shape(hr_grad_ctx_t*, hr_value_t v);   /* never NULL */
const hr_tensor_t* hr_grad_const(hr_grad_ctx_t*, hr_value_t v);   /* its value when constant, else NULL */

/* --- emitting --------------------------------------------------------------------------------------------------------------------- */
/* Adds a node; type and number attrs are inferred from the inputs. Gives output 0; the others through hr_emit_nth. */
hr_value_t hr_emit(hr_grad_ctx_t*, const char* op, int input_count, const hr_value_t* inputs, int attr_count, const hr_named_attr_t* attrs);
static inline hr_value_t hr_emit_nth(hr_value_t first, int index) { return (hr_value_t){first.node, first.node ? index : 0}; }
#define HR_VALUES(...) (int)(sizeof((const hr_value_t[]){__VA_ARGS__}) / sizeof(hr_value_t)), (const hr_value_t[]){__VA_ARGS__}
#define HR_ATTRS(...) \
  (int)(sizeof((const hr_named_attr_t[]){__VA_ARGS__}) / sizeof(hr_named_attr_t)), (const hr_named_attr_t[]){__VA_ARGS__}
#define HR_NO_ATTRS 0, NULL
/* e.g. hr_emit(g, "Sum", HR_VALUES(x, axes), HR_ATTRS(hr_at_bool("keep_dims", true))) */
void hr_emit_control(hr_grad_ctx_t*, hr_value_t from, hr_value_t to); /* `to`'s node waits for `from`'s */

hr_value_t hr_emit_const(hr_grad_ctx_t*, const hr_tensor_t* t);                                /* shares t */
hr_value_t hr_emit_const_like(hr_grad_ctx_t*, hr_value_t like, double value);                  /* a scalar of like's type */
hr_value_t hr_emit_const_i32(hr_grad_ctx_t*, int32_t value);
hr_value_t hr_emit_const_i32s(hr_grad_ctx_t*, const int64_t* values, int count);               /* an int32 vector */
static inline hr_value_t hr_emit1(hr_grad_ctx_t* g, const char* op, hr_value_t a) { return hr_emit(g, op, 1, &a, HR_NO_ATTRS); }
static inline hr_value_t hr_emit2(hr_grad_ctx_t* g, const char* op, hr_value_t a, hr_value_t b) {
  return hr_emit(g, op, HR_VALUES(a, b), HR_NO_ATTRS);
}
static inline hr_value_t hr_emit3(hr_grad_ctx_t* g, const char* op, hr_value_t a, hr_value_t b, hr_value_t c) {
  return hr_emit(g, op, HR_VALUES(a, b, c), HR_NO_ATTRS);
}
static inline hr_value_t hr_emit_mul(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit2(g, "Mul", a, b); }
static inline hr_value_t hr_emit_add(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit2(g, "AddV2", a, b); }
static inline hr_value_t hr_emit_sub(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit2(g, "Sub", a, b); }
static inline hr_value_t hr_emit_div(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit2(g, "RealDiv", a, b); }
static inline hr_value_t hr_emit_neg(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit1(g, "Neg", a); }
static inline hr_value_t hr_emit_square(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit1(g, "Square", a); }
static inline hr_value_t hr_emit_reshape(hr_grad_ctx_t* g, hr_value_t a, hr_value_t shape) { return hr_emit2(g, "Reshape", a, shape); }
hr_value_t hr_emit_scale(hr_grad_ctx_t*, hr_value_t a, double factor);                         /* a * factor */
hr_value_t hr_emit_one_minus(hr_grad_ctx_t*, hr_value_t a);
hr_value_t hr_emit_conj(hr_grad_ctx_t*, hr_value_t a);                                         /* a itself when real */
hr_value_t hr_emit_zeros_like(hr_grad_ctx_t*, hr_value_t a);
hr_value_t hr_emit_shape(hr_grad_ctx_t*, hr_value_t a);                                        /* int32 vector; a constant when static */
hr_value_t hr_emit_cast(hr_grad_ctx_t*, hr_value_t a, hr_dtype_t to);
hr_value_t hr_emit_sum(hr_grad_ctx_t*, hr_value_t a, hr_value_t axes, bool keep_dims);
hr_value_t hr_emit_reshape_like(hr_grad_ctx_t*, hr_value_t a, hr_value_t like); /* a in like's shape; a itself when they agree statically */
/* Undoes broadcasting: sums `gradient` to the shape of `like`. `other` is the other operand (both shapes decide which axes). */
hr_value_t hr_emit_reduce_to(hr_grad_ctx_t*, hr_value_t gradient, hr_value_t like, hr_value_t other);
#endif
