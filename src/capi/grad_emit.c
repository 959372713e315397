/* SPDX-License-Identifier: Apache-2.0 */
/* headrace/op.h: the gradient emitter for functions outside the library. One to one on op/grad_ctx.h. */
#include "capi/handles.h"
#include "headrace/op.h"
#include "op/grad_ctx.h"

enum { EMIT_ATTRS = 32 };

/* --- registering --------------------------------------------------------------------------------------------------------------------- */
void HR_RegisterGradient(const char* op_name, HR_GradFunction function, TF_Status* status) {
  hr_capi_report(status, op_name ? hr_registry_set_grad(op_name, function ? function : hr_grad_none) : hr_capi_null("the op's name"));
}

/* --- the operation ------------------------------------------------------------------------------------------------------------------- */
static bool grad_is_index(HR_GradContext* ctx, int i, int count, const char* what) {
  if (i >= 0 && i < count) return true;
  hr_grad_fail(ctx, HR_ERROR(INVALID_ARGUMENT, "there is no %s %d of %d", what, i, count));
  return false;
}

int HR_GradNumInputs(const HR_GradContext* ctx) { return hr_grad_input_count(ctx); }
int HR_GradNumOutputs(const HR_GradContext* ctx) { return hr_grad_output_count(ctx); }
TF_Output HR_GradInput(HR_GradContext* ctx, int i) {
  return hr_capi_to_output(grad_is_index(ctx, i, hr_grad_input_count(ctx), "input") ? hr_grad_input(ctx, i) : HR_NO_VALUE);
}
TF_Output HR_GradOutput(HR_GradContext* ctx, int i) {
  return hr_capi_to_output(grad_is_index(ctx, i, hr_grad_output_count(ctx), "output") ? hr_grad_output(ctx, i) : HR_NO_VALUE);
}
TF_Bool HR_GradHasUpstream(const HR_GradContext* ctx, int i) { return i >= 0 && i < hr_grad_output_count(ctx) && hr_grad_has_upstream(ctx,
                           i); }
TF_Output HR_GradUpstream(HR_GradContext* ctx, int i) {
  return hr_capi_to_output(grad_is_index(ctx, i, hr_grad_output_count(ctx), "output") ? hr_grad_upstream(ctx, i) : HR_NO_VALUE);
}
TF_Bool HR_GradWanted(const HR_GradContext* ctx, int input) {
  return input >= 0 && input < hr_grad_input_count(ctx) && hr_grad_wanted(ctx, input);
}

TF_Bool HR_GradUpstreamSlices(HR_GradContext* ctx, int i, TF_Output* indices, TF_Output* values, TF_Output* dense_shape) {
  hr_value_t at, rows, shape;
  if (!grad_is_index(ctx, i, hr_grad_output_count(ctx), "output") || !hr_grad_upstream_slices(ctx, i, &at, &rows, &shape)) return 0;
  *indices = hr_capi_to_output(at);
  *values = hr_capi_to_output(rows);
  *dense_shape = hr_capi_to_output(shape);
  return 1;
}

void HR_GradGive(HR_GradContext* ctx, int input, TF_Output gradient) {
  if (grad_is_index(ctx, input, hr_grad_input_count(ctx), "input")) hr_grad_give(ctx, input, hr_capi_value(gradient));
}
void HR_GradGiveSlices(HR_GradContext* ctx, int input, TF_Output indices, TF_Output values, TF_Output dense_shape) {
  if (grad_is_index(ctx, input, hr_grad_input_count(ctx), "input"))
    hr_grad_give_slices(ctx, input, hr_capi_value(indices), hr_capi_value(values), hr_capi_value(dense_shape));
}

void HR_GradFail(HR_GradContext* ctx, TF_Code code, const char* message) {
  TF_Status s = {NULL};
  TF_SetStatus(&s, code == TF_OK ? TF_UNKNOWN : code, message);
  hr_grad_fail(ctx, s.status);
}

/* --- attrs and knowledge ------------------------------------------------------------------------------------------------------------- */
static const hr_attr_t* grad_find(const HR_GradContext* ctx, const char* name, hr_attr_kind_t kind, bool is_list) {
  const hr_attr_t* a = NULL;
  hr_status_t status = hr_capi_find_attr(hr_grad_attrs(ctx), name, kind, is_list, &a);
  hr_status_release(status);
  return status ? NULL : a;
}

int64_t HR_GradAttrInt(const HR_GradContext* ctx, const char* name) {
  const hr_attr_t* a = grad_find(ctx, name, HR_ATTR_INT, false);
  return a ? a->u.i : 0;
}
float HR_GradAttrFloat(const HR_GradContext* ctx, const char* name) {
  const hr_attr_t* a = grad_find(ctx, name, HR_ATTR_FLOAT, false);
  return a ? a->u.f : 0;
}
TF_Bool HR_GradAttrBool(const HR_GradContext* ctx, const char* name) {
  const hr_attr_t* a = grad_find(ctx, name, HR_ATTR_BOOL, false);
  return a && a->u.b;
}
TF_DataType HR_GradAttrType(const HR_GradContext* ctx, const char* name) {
  const hr_attr_t* a = grad_find(ctx, name, HR_ATTR_TYPE, false);
  return a ? (TF_DataType)a->u.type : (TF_DataType)0;
}
TF_StringView HR_GradAttrString(const HR_GradContext* ctx, const char* name) {
  const hr_attr_t* a = grad_find(ctx, name, HR_ATTR_STRING, false);
  return a ? (TF_StringView){a->u.s.data, a->u.s.size} : (TF_StringView){"", 0};
}
int HR_GradAttrInts(const HR_GradContext* ctx, const char* name, const int64_t** out) {
  const hr_attr_t* a = grad_find(ctx, name, HR_ATTR_INT, true);
  if (out) *out = a ? a->u.is : NULL;
  return a ? a->count : -1;
}

TF_DataType HR_GradDataType(HR_GradContext* ctx, TF_Output value) {
  return value.oper ? (TF_DataType)hr_grad_dtype(ctx, hr_capi_value(value)) : (TF_DataType)0;
}
int HR_GradNumDims(HR_GradContext* ctx, TF_Output value) { return value.oper ? hr_grad_shape(ctx, hr_capi_value(value))->rank : -1; }
int64_t HR_GradDim(HR_GradContext* ctx, TF_Output value, int axis) {
  const hr_pshape_t* s = value.oper ? hr_grad_shape(ctx, hr_capi_value(value)) : NULL;
  return s && axis >= 0 && axis < s->rank ? s->dims[axis] : -1;
}

/* --- emitting ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t emit_convert(hr_arena_t* arena, const HR_Attr* a, hr_named_attr_t* out) {
  if (!a->name) return hr_capi_null("an attr's name");
  switch (a->kind) {
    case TF_ATTR_STRING: *out = hr_at_str(a->name, a->s ? a->s : ""); return NULL;
    case TF_ATTR_FLOAT: *out = hr_at_float(a->name, a->f); return NULL;
    case TF_ATTR_BOOL: *out = hr_at_bool(a->name, a->i != 0); return NULL;
    case TF_ATTR_INT: *out = a->is_list ? hr_at_ints(a->name, a->ints, a->count) : hr_at_int(a->name, a->i); return NULL;
    case TF_ATTR_TENSOR:
      if (!a->tensor) return hr_capi_null("a tensor attr's value");
      *out = hr_at_tensor(a->name, &a->tensor->value);
      return NULL;
    case TF_ATTR_TYPE: {
      if (!a->is_list) {
        *out = hr_at_type(a->name, (int)a->i);
        return NULL;
      }
      HR_TRY(hr_capi_check_count(a->count, a->ints, "types"));
      int32_t* types = hr_arena_array(arena, (size_t)a->count, sizeof *types);
      if (!types) return hr_status_out_of_memory();
      for (int i = 0; i < a->count; ++i) types[i] = (int32_t)a->ints[i];
      *out = hr_at_types(a->name, types, a->count);
      return NULL;
    }
    case TF_ATTR_SHAPE: {
      const hr_pshape_t* shape;
      HR_TRY(hr_pshape_make(arena, a->count < 0 ? -1 : a->count, a->ints, &shape));
      *out = hr_at_shape(a->name, shape);
      return NULL;
    }
    default: return HR_ERROR(UNIMPLEMENTED, "attrs of kind %d cannot be emitted yet (attr '%s')", (int)a->kind, a->name);
  }
}

TF_Output HR_Emit(HR_GradContext* ctx, const char* op, int input_count, const TF_Output* inputs, int attr_count, const HR_Attr* attrs) {
  hr_named_attr_t converted[EMIT_ATTRS];
  hr_value_t result = HR_NO_VALUE;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t status = op ? hr_capi_check_count(input_count, inputs, "inputs") : hr_capi_null("the op's name");
  if (!status) status = hr_capi_check_count(attr_count, attrs, "attrs");
  if (!status && attr_count > EMIT_ATTRS) status = HR_ERROR(INVALID_ARGUMENT, "%d attrs are given, %d can be", attr_count, EMIT_ATTRS);
  for (int i = 0; i < attr_count && !status; ++i) status = emit_convert(&arena, &attrs[i], &converted[i]);
  if (status) hr_grad_fail(ctx, status);
  else result = hr_emit(ctx, op, input_count, (const hr_value_t*)inputs, attr_count, converted);
  hr_arena_deinit(&arena);
  return hr_capi_to_output(result);
}

void HR_EmitControl(HR_GradContext* ctx, TF_Output from, TF_Output to) { hr_emit_control(ctx, hr_capi_value(from), hr_capi_value(to)); }

TF_Output HR_EmitConst(HR_GradContext* ctx, const TF_Tensor* value) {
  hr_tensor_t copy;
  hr_value_t result = HR_NO_VALUE;
  hr_status_t status = value ? hr_tensor_clone(&value->value, &copy) : hr_capi_null("the constant's value");
  if (status) {
    hr_grad_fail(ctx, status);
  } else {
    result = hr_emit_const(ctx, &copy);
    hr_tensor_release(&copy);
  }
  return hr_capi_to_output(result);
}

TF_Output HR_EmitConstInts(HR_GradContext* ctx, const int64_t* values, int count) {
  hr_status_t status = hr_capi_check_count(count, values, "values");
  if (status) hr_grad_fail(ctx, status);
  return hr_capi_to_output(status ? HR_NO_VALUE : hr_emit_const_i32s(ctx, values, count));
}
TF_Output HR_EmitConstLike(HR_GradContext* ctx, TF_Output like, double value) {
  return hr_capi_to_output(hr_emit_const_like(ctx, hr_capi_value(like), value));
}
TF_Output HR_EmitScale(HR_GradContext* ctx, TF_Output a, double factor) { return hr_capi_to_output(hr_emit_scale(ctx, hr_capi_value(a),
                       factor)); }
TF_Output HR_EmitZerosLike(HR_GradContext* ctx, TF_Output a) { return hr_capi_to_output(hr_emit_zeros_like(ctx, hr_capi_value(a))); }
TF_Output HR_EmitShape(HR_GradContext* ctx, TF_Output a) { return hr_capi_to_output(hr_emit_shape(ctx, hr_capi_value(a))); }
TF_Output HR_EmitCast(HR_GradContext* ctx, TF_Output a, TF_DataType to) {
  return hr_capi_to_output(hr_emit_cast(ctx, hr_capi_value(a), (hr_dtype_t)to));
}
TF_Output HR_EmitSum(HR_GradContext* ctx, TF_Output a, TF_Output axes, TF_Bool keep_dims) {
  return hr_capi_to_output(hr_emit_sum(ctx, hr_capi_value(a), hr_capi_value(axes), keep_dims != 0));
}
TF_Output HR_EmitReshapeLike(HR_GradContext* ctx, TF_Output a, TF_Output like) {
  return hr_capi_to_output(hr_emit_reshape_like(ctx, hr_capi_value(a), hr_capi_value(like)));
}
TF_Output HR_EmitReduceTo(HR_GradContext* ctx, TF_Output gradient, TF_Output like, TF_Output other) {
  return hr_capi_to_output(hr_emit_reduce_to(ctx, hr_capi_value(gradient), hr_capi_value(like), hr_capi_value(other)));
}
