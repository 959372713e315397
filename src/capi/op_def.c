/* SPDX-License-Identifier: Apache-2.0 */
/* Defining ops at run time: op/op_builder.h under TensorFlow's names, with the client's shape function behind ours. */
#include "capi/op_def.h"

#include "op/op_builder.h"

/* The client's function, for the process's life once the op is registered. */
typedef struct {
  hr_capi_shape_fn_t run;
} shape_box_t;

struct TF_OpDefinitionBuilder {
  hr_op_builder_t* builder;
  shape_box_t* shape; /* NULL: none */
  char* name;
  hr_status_t failure; /* sticky */
};

static _Thread_local hr_capi_op_recorder_t* op_recorder;

hr_capi_op_recorder_t* hr_capi_record_ops(hr_capi_op_recorder_t* recorder) {
  hr_capi_op_recorder_t* before = op_recorder;
  op_recorder = recorder;
  return before;
}

/* The shape function of every such op: calls the client's. */
static hr_status_t run_shape_fn(hr_infer_t* in) {
  const shape_box_t* box = hr_op_builder_arg(hr_infer_attrs(in)->def->op);
  TF_ShapeInferenceContext ctx = {in};
  TF_Status status = {NULL};
  box->run(&ctx, &status);
  return status.status;
}

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name) {
  TF_OpDefinitionBuilder* b = hr_alloc_zero(sizeof *b);
  if (!b) return NULL;
  b->builder = hr_op_builder_create(op_name ? op_name : "");
  b->name = hr_alloc_copy(hr_capi_str(op_name).data, hr_capi_str(op_name).size);
  if (b->builder && b->name) return b;
  TF_DeleteOpDefinitionBuilder(b);
  return NULL;
}

void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder* builder) {
  if (!builder) return;
  hr_op_builder_destroy(builder->builder);
  hr_free(builder->shape);
  hr_free(builder->name);
  hr_status_release(builder->failure);
  hr_free(builder);
}

void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* attr_spec) {
  if (builder) hr_op_builder_add_attr(builder->builder, attr_spec ? attr_spec : "");
}
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input_spec) {
  if (builder) hr_op_builder_add_input(builder->builder, input_spec ? input_spec : "");
}
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* output_spec) {
  if (builder) hr_op_builder_add_output(builder->builder, output_spec ? output_spec : "");
}
void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder* builder, bool is_commutative) {
  if (builder) hr_op_builder_set_flags(builder->builder, HR_OP_COMMUTATIVE, is_commutative);
}
void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder* builder, bool is_aggregate) {
  if (builder) hr_op_builder_set_flags(builder->builder, HR_OP_AGGREGATE, is_aggregate);
}
void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder, bool is_stateful) {
  if (builder) hr_op_builder_set_flags(builder->builder, HR_OP_STATEFUL, is_stateful);
}
void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder* builder, bool allows_uninitialized_input) {
  if (builder) hr_op_builder_set_flags(builder->builder, HR_OP_UNINITIALIZED, allows_uninitialized_input);
}
void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder* builder, int version, const char* explanation) {
  if (builder) hr_op_builder_set_deprecated(builder->builder, version, explanation ? explanation : "");
}

void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder,
                                                     void (*shape_inference_func)(TF_ShapeInferenceContext* ctx, TF_Status* status)) {
  if (!builder) return;
  if (!builder->shape && shape_inference_func && !(builder->shape = hr_alloc(sizeof *builder->shape)))
    hr_status_merge(&builder->failure, hr_status_out_of_memory());
  if (builder->shape) builder->shape->run = shape_inference_func;
}

static hr_status_t op_register(TF_OpDefinitionBuilder* b) {
  if (!b) return hr_status_out_of_memory(); /* the only way to have none */
  if (b->failure) return hr_status_retain(b->failure);
  if (b->shape && b->shape->run) hr_op_builder_set_shape(b->builder, run_shape_fn, b->shape);
  hr_op_builder_t* builder = b->builder;
  b->builder = NULL;
  HR_TRY(hr_op_builder_register(builder));
  b->shape = NULL; /* the op's now */
  if (op_recorder) {
    hr_status_t status = hr_vec_push(&op_recorder->names, b->name);
    if (!status) b->name = NULL;
    hr_status_merge(&op_recorder->failure, status);
  }
  return NULL;
}

void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status) {
  hr_status_t outcome = op_register(builder);
  TF_DeleteOpDefinitionBuilder(builder);
  hr_capi_report(status, outcome);
}
