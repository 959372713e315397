/* SPDX-License-Identifier: Apache-2.0 */
/* The short forms: operations, constants, placeholders and initial values, one public call each. */
#include "client/build.h"

static TF_Output finish(hr_build_t* b, hr_value_t v, TF_Status* status) {
  const TF_Output out = hr_capi_to_output(b->status ? HR_NO_VALUE : v);
  hr_build_end(b, status);
  return out;
}

/* Dims of the caller's as a checked shape. */
static bool shape_of(hr_build_t* b, const int64_t* dims, int rank, hr_shape_t* out) {
  if (!b->status) hr_build_fail(b, hr_capi_check_count(rank, dims, "dims"));
  if (!b->status) hr_build_fail(b, hr_shape_make(rank, dims, out));
  return !b->status;
}

TF_Output HR_Op(TF_Graph* graph, const char* op, const char* name, const TF_Output* inputs, int input_count, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  if (!b.status && !op) hr_build_fail(&b, hr_capi_null("the op"));
  if (!b.status) hr_build_fail(&b, hr_capi_check_count(input_count, inputs, "inputs"));
  for (int i = 0; i < input_count && !b.status; ++i) hr_build_owns(&b, inputs[i], "an input");
  return finish(&b,
                b.status ? HR_NO_VALUE : hr_build(&b, op, name && *name ? name : op, input_count, (const hr_value_t*)inputs, HR_NO_ATTRS),
                status);
}

TF_Output HR_Const(TF_Graph* graph, const char* name, TF_Tensor* value, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  hr_tensor_t copy = {0};
  if (!b.status && !value) hr_build_fail(&b, hr_capi_null("the value"));
  if (!b.status) hr_build_fail(&b, hr_tensor_clone(&value->value, &copy)); /* the caller may write its tensor afterwards */
  hr_value_t v = b.status ? HR_NO_VALUE : hr_build_const(&b, name ? name : "Const", &copy);
  hr_tensor_release(&copy);
  return finish(&b, v, status);
}

TF_Output HR_ConstFloat(TF_Graph* graph, const char* name, float value, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  return finish(&b, hr_build_number(&b, name ? name : "Const", HR_F32, value), status);
}

TF_Output HR_ConstInt32s(TF_Graph* graph, const char* name, const int32_t* values, int count, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  hr_tensor_t t = {0};
  if (!b.status) hr_build_fail(&b, hr_capi_check_count(count, values, "values"));
  const hr_shape_t shape = hr_shape_vector(b.status ? 0 : count);
  if (!b.status) hr_build_fail(&b, hr_tensor_create(HR_I32, &shape, &t));
  if (!b.status && count) memcpy(t.data, values, (size_t)count * sizeof *values);
  hr_value_t v = b.status ? HR_NO_VALUE : hr_build_const(&b, name ? name : "Const", &t);
  hr_tensor_release(&t);
  return finish(&b, v, status);
}

TF_Output HR_Placeholder(TF_Graph* graph, const char* name, TF_DataType dtype, const int64_t* dims, int rank, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  const hr_pshape_t* shape = &hr_pshape_unknown;
  if (!b.status && rank >= 0) {
    hr_build_fail(&b, hr_capi_check_count(rank, dims, "dims"));
    if (!b.status) hr_build_fail(&b, hr_pshape_make(&b.graph->arena, rank, dims, &shape));
  }
  return finish(&b, hr_build(&b, "Placeholder", name, 0, NULL, HR_ATTRS(hr_at_type("dtype", (int)dtype), hr_at_shape("shape", shape))),
                status);
}

/* op(shape) * scale + offset, below `name`. */
typedef struct { const char *op, *scale, *offset; } random_t;
static TF_Output random_values(const random_t* r, TF_Graph* graph, const char* name, const int64_t* dims, int rank, float a, float c,
                               int64_t seed, int64_t seed2, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  hr_shape_t shape;
  hr_value_t v = HR_NO_VALUE;
  if (shape_of(&b, dims, rank, &shape)) {
    const hr_str_t scope = hr_build_unique(&b, "", name ? name : "random");
    b.scope = scope;
    const bool uniform = !strcmp(r->op, "RandomUniform");
    hr_value_t sizes = hr_build_i32s(&b, "shape", shape.dims, shape.rank);
    hr_value_t offset = hr_build_number(&b, r->offset, HR_F32, a), scale = hr_build_number(&b, r->scale, HR_F32, c);
    hr_value_t x = hr_build(&b, r->op, NULL, HR_VALUES(sizes),
                            HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_int("seed", seed), hr_at_int("seed2", seed2)));
    if (uniform) scale = hr_build2(&b, "Sub", "sub", scale, offset);
    x = hr_build2(&b, "Mul", "mul", x, scale);
    b.scope = HR_STR("");
    v = b.status ? HR_NO_VALUE : hr_build2(&b, "AddV2", scope.data, x, offset);
  }
  return finish(&b, v, status);
}

TF_Output HR_TruncatedNormal(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float mean, float stddev, int64_t seed,
                             int64_t seed2, TF_Status* status) {
  static const random_t r = {"TruncatedNormal", "stddev", "mean"};
  return random_values(&r, graph, name ? name : "truncated_normal", dims, rank, mean, stddev, seed, seed2, status);
}
TF_Output HR_RandomNormal(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float mean, float stddev, int64_t seed,
                          int64_t seed2, TF_Status* status) {
  static const random_t r = {"RandomStandardNormal", "stddev", "mean"};
  return random_values(&r, graph, name ? name : "random_normal", dims, rank, mean, stddev, seed, seed2, status);
}
TF_Output HR_RandomUniform(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float low, float high, int64_t seed,
                           int64_t seed2, TF_Status* status) {
  static const random_t r = {"RandomUniform", "max", "min"};
  return random_values(&r, graph, name ? name : "random_uniform", dims, rank, low, high, seed, seed2, status);
}

TF_Output HR_Filled(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float value, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  hr_shape_t shape;
  return finish(&b, shape_of(&b, dims, rank, &shape) ? hr_build_filled(&b, name ? name : "Const", HR_F32, &shape, value) : HR_NO_VALUE,
                status);
}
