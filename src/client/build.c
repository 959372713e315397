/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes one after another, straight into the graph. */
#include "client/build.h"
#include <stdio.h>
#include "base/half.h"

enum { MOST_ATTRS = 8, CONST_ELEMENTS = 1000 };

hr_build_t hr_build_begin(TF_Graph* graph) {
  hr_build_t b = {.graph = hr_capi_graph(graph)};
  if (graph) hr_mutex_lock(&b.graph->mu);
  else b.status = hr_capi_null("the graph");
  return b;
}

void hr_build_end(hr_build_t* b, TF_Status* status) {
  if (b->graph) hr_mutex_unlock(&b->graph->mu);
  hr_capi_report(status, b->status);
  b->status = NULL;
}

void hr_build_fail(hr_build_t* b, hr_status_t take_status) { hr_status_merge(&b->status, take_status); }

bool hr_build_owns(hr_build_t* b, TF_Output v, const char* what) {
  if (b->status) return false;
  hr_status_t status = hr_capi_check_value(b->graph, hr_capi_value(v));
  if (status) hr_build_fail(b, hr_status_note(status, "%s: ", what));
  return !status;
}

hr_str_t hr_build_unique(hr_build_t* b, const char* first, const char* second) {
  hr_str_t name = HR_STR("");
  hr_strbuf_t text;
  if (b->status) return name;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, *first ? "%s/%s" : "%s%s", first, second);
  hr_build_fail(b, text.failed ? hr_status_out_of_memory() : hr_graph_unique_name(b->graph, hr_strbuf_view(&text), &name));
  hr_strbuf_deinit(&text);
  return name;
}

/* "loc:@name" in `text`, which the attr points into. */
static hr_attr_t colocation(const hr_node_t* beside, hr_strbuf_t* text, hr_str_t* list) {
  hr_strbuf_format(text, "loc:@%.*s", HR_STR_ARG(beside->name));
  *list = hr_strbuf_view(text);
  return HR_AT_LIST(HR_ATTR_STRING, ss, list, 1);
}

static hr_node_t* add_node(hr_build_t* b, const char* op, hr_str_t name, int input_count, const hr_value_t* inputs, int attr_count,
                           const hr_named_attr_t* attrs) {
  hr_named_attr_t all[MOST_ATTRS + 1];
  hr_node_t* node = NULL;
  hr_strbuf_t text;
  hr_str_t list;
  hr_strbuf_init(&text);
  for (int i = 0; i < attr_count; ++i) all[i] = attrs[i];
  if (b->beside) all[attr_count++] = hr_at("_class", colocation(b->beside, &text, &list));
  const hr_node_desc_t desc = {.op = hr_str(op), .name = name, .inputs = inputs, .input_count = input_count, .controls = b->after,
                               .control_count = b->after_count, .attrs = all, .attr_count = attr_count};
  hr_build_fail(b, text.failed ? hr_status_out_of_memory() : hr_graph_add(b->graph, &desc, &node));
  hr_strbuf_deinit(&text);
  return b->status ? NULL : node;
}

hr_value_t hr_build(hr_build_t* b, const char* op, const char* name, int input_count, const hr_value_t* inputs, int attr_count,
                    const hr_named_attr_t* attrs) {
  for (int i = 0; i < input_count; ++i)
    if (!inputs[i].node && !b->status) hr_build_fail(b, HR_ERROR(INVALID_ARGUMENT, "input %d of a new %s is missing", i, op));
  if (b->status) return HR_NO_VALUE;
  hr_str_t unique = hr_build_unique(b, b->scope.size ? b->scope.data : "", name ? name : op);
  if (b->status) return HR_NO_VALUE;
  return (hr_value_t){add_node(b, op, unique, input_count, inputs, attr_count, attrs), 0};
}

hr_value_t hr_build1(hr_build_t* b, const char* op, const char* name, hr_value_t x) {
  return hr_build(b, op, name, HR_VALUES(x), HR_NO_ATTRS);
}
hr_value_t hr_build2(hr_build_t* b, const char* op, const char* name, hr_value_t x, hr_value_t y) {
  return hr_build(b, op, name, HR_VALUES(x, y), HR_NO_ATTRS);
}

hr_value_t hr_build_const(hr_build_t* b, const char* name, const hr_tensor_t* t) {
  return hr_build(b, "Const", name, 0, NULL, HR_ATTRS(hr_at_tensor("value", t), hr_at_type("dtype", t->dtype)));
}

/* Takes the tensor; `made` is how making it went. */
static hr_value_t const_of(hr_build_t* b, const char* name, hr_status_t made, hr_tensor_t* take) {
  hr_build_fail(b, made);
  hr_value_t v = made ? HR_NO_VALUE : hr_build_const(b, name, take);
  hr_tensor_release(take);
  return v;
}

static hr_status_t set_number(hr_tensor_t* t, int64_t i, double value) {
  switch (t->dtype) {
    case HR_F32: ((float*)t->data)[i] = (float)value; return NULL;
    case HR_F64: ((double*)t->data)[i] = value; return NULL;
    case HR_F16: ((hr_f16_t*)t->data)[i] = hr_f16_from_f32((float)value); return NULL;
    case HR_BF16: ((hr_bf16_t*)t->data)[i] = hr_bf16_from_f32((float)value); return NULL;
    case HR_I32: ((int32_t*)t->data)[i] = (int32_t)value; return NULL;
    case HR_I64: ((int64_t*)t->data)[i] = (int64_t)value; return NULL;
    case HR_C64: ((float*)t->data)[2 * i] = (float)value, ((float*)t->data)[2 * i + 1] = 0; return NULL;
    case HR_C128: ((double*)t->data)[2 * i] = value, ((double*)t->data)[2 * i + 1] = 0; return NULL;
    default: return HR_ERROR(INVALID_ARGUMENT, "a constant of type %s is not made from a number", hr_dtype_name((int)t->dtype));
  }
}

static hr_value_t all_of(hr_build_t* b, const char* name, hr_dtype_t dtype, const hr_shape_t* shape, double value) {
  hr_tensor_t t = {0};
  if (b->status) return HR_NO_VALUE;
  hr_status_t status = hr_tensor_create(dtype, shape, &t);
  for (int64_t i = 0; !status && i < t.count; ++i) status = set_number(&t, i, value);
  return const_of(b, name, status, &t);
}

hr_value_t hr_build_number(hr_build_t* b, const char* name, hr_dtype_t dtype, double value) {
  const hr_shape_t scalar = hr_shape_scalar();
  return all_of(b, name, dtype, &scalar, value);
}

hr_value_t hr_build_i32s(hr_build_t* b, const char* name, const int64_t* values, int count) {
  hr_tensor_t t = {0};
  return b->status ? HR_NO_VALUE : const_of(b, name, hr_tensor_from_i64_vec(HR_I32, values, count, &t), &t);
}

hr_value_t hr_build_strings(hr_build_t* b, const char* name, const char* const* values, int count) {
  hr_tensor_t t = {0};
  const hr_shape_t shape = hr_shape_vector(count);
  if (b->status) return HR_NO_VALUE;
  hr_status_t status = hr_tensor_create(HR_STRING, &shape, &t);
  for (int i = 0; !status && i < count; ++i) status = hr_tstring_set((hr_tstring_t*)t.data + i, hr_str(values[i]));
  return const_of(b, name, status, &t);
}

hr_value_t hr_build_filled(hr_build_t* b, const char* name, hr_dtype_t dtype, const hr_shape_t* shape, double value) {
  if (hr_shape_count(shape) <= CONST_ELEMENTS) return all_of(b, name, dtype, shape, value);
  char dims[256], scalar[256];
  snprintf(dims, sizeof dims, "%s/shape_as_tensor", name);
  snprintf(scalar, sizeof scalar, "%s/Const", name);
  const hr_value_t number = hr_build_number(b, scalar, dtype, value); /* arguments are made in no order of their own */
  return hr_build2(b, "Fill", name, hr_build_i32s(b, dims, shape->dims, shape->rank), number);
}

hr_node_t* hr_build_group(hr_build_t* b, const char* name) { return hr_build(b, "NoOp", name, 0, NULL, HR_NO_ATTRS).node; }
