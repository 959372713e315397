/* SPDX-License-Identifier: Apache-2.0 */
/* Op definitions made at run time from TensorFlow's builder texts ("x: N * T", "T: {float, double} = DT_FLOAT", "n: int >= 1",
 * "T: realnumbertype", "padding: {'SAME', 'VALID'}", "s: shape = { dim { size: 2 } }"), turned into the mini-language of op/sig.h and
 * registered. Adding never fails: the first failure sticks and comes out of hr_op_builder_register. One thread at a time. */
#ifndef HR_OP_OP_BUILDER_H
#define HR_OP_OP_BUILDER_H
#include "op/registry.h"

typedef struct hr_op_builder hr_op_builder_t;
hr_op_builder_t* hr_op_builder_create(const char* name); /* NULL: out of memory */
void hr_op_builder_destroy(hr_op_builder_t* b);          /* one that was not registered; accepts NULL */
void hr_op_builder_add_input(hr_op_builder_t* b, const char* spec);
void hr_op_builder_add_output(hr_op_builder_t* b, const char* spec);
void hr_op_builder_add_attr(hr_op_builder_t* b, const char* spec);
void hr_op_builder_set_flags(hr_op_builder_t* b, uint32_t flags, bool on); /* HR_OP_* of op/op.h */
void hr_op_builder_set_deprecated(hr_op_builder_t* b, int version, const char* why);
void hr_op_builder_set_doc(hr_op_builder_t* b, const char* doc);
/* `arg`: for the shape function, which finds it with hr_op_builder_arg(hr_infer_attrs(s)->def->op). */
void hr_op_builder_set_shape(hr_op_builder_t* b, hr_shape_fn_t shape, void* arg);
void* hr_op_builder_arg(const hr_op_t* built);           /* of an op that a builder made, no other */
/* Registers the op for the process's life and consumes the builder, also on failure. INVALID_ARGUMENT names the text; ALREADY_EXISTS. */
HR_MUST_USE hr_status_t hr_op_builder_register(hr_op_builder_t* take_b);
#endif
