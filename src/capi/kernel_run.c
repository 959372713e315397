/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's compute function works with: inputs shared, outputs made in place. */
#include "capi/kernel.h"
#include "exec/own.h"
#include "wire/handle_proto.h"

void TF_OpKernelContext_Failure(TF_OpKernelContext* ctx, TF_Status* status) {
  hr_status_t failure = status ? hr_status_retain(status->status) : NULL;
  hr_status_merge(&ctx->failure, failure ? failure : HR_ERROR(UNKNOWN, "the kernel failed without saying why"));
}

int TF_NumInputs(TF_OpKernelContext* ctx) { return hr_input_count(ctx->ctx); }
int TF_NumOutputs(TF_OpKernelContext* ctx) { return hr_output_count(ctx->ctx); }

static hr_status_t kernel_check_input(const TF_OpKernelContext* c, int i) {
  if (i >= 0 && i < hr_input_count(c->ctx)) return NULL;
  return HR_ERROR(OUT_OF_RANGE, "there is no input %d of %d", i, hr_input_count(c->ctx));
}
static hr_status_t kernel_check_output(const TF_OpKernelContext* c, int i) {
  if (i >= 0 && i < hr_output_count(c->ctx)) return NULL;
  return HR_ERROR(OUT_OF_RANGE, "there is no output %d of %d", i, hr_output_count(c->ctx));
}

void TF_GetInput(TF_OpKernelContext* ctx, int i, TF_Tensor** tensor, TF_Status* status) {
  hr_status_t outcome = tensor ? kernel_check_input(ctx, i) : hr_capi_null("the place for the input");
  if (tensor) *tensor = NULL;
  if (!outcome && hr_input_ref(ctx->ctx, i))
    outcome = HR_ERROR(UNIMPLEMENTED, "input %d is a reference to a variable, which kernels of this interface cannot read yet", i);
  if (!outcome) outcome = hr_capi_share_tensor(hr_input(ctx->ctx, i), tensor);
  hr_capi_report(status, outcome);
}

TF_DataType TF_InputDatatype(TF_OpKernelContext* ctx, int index) {
  hr_status_t bad = kernel_check_input(ctx, index);
  if (!bad) return (TF_DataType)hr_input(ctx->ctx, index)->dtype;
  hr_status_release(bad);
  return (TF_DataType)0;
}

void TF_InputRange(TF_OpKernelContext* ctx, const char* name, TF_InputRange_Args* args) {
  if (!args) return;
  const hr_op_def_t* def = ctx->kernel->def;
  for (int i = 0; name && i < def->input_count; ++i) {
    if (!hr_str_is(def->inputs[i].name, name)) continue;
    args->start = ctx->kernel->starts[i];
    args->stop = ctx->kernel->starts[i + 1];
    hr_capi_report(args->status, NULL);
    return;
  }
  args->start = args->stop = -1;
  hr_capi_report(args->status, HR_ERROR(INVALID_ARGUMENT, "op '%.*s' has no input '%s'", HR_STR_ARG(def->name), name ? name : ""));
}

/* --- outputs ------------------------------------------------------------------------------------------------------------------------- */
TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext* ctx, int i) {
  return i >= 0 && i < hr_output_count(ctx->ctx) ? (TF_DataType)hr_output_dtype(ctx->ctx, i) : (TF_DataType)0;
}

void TF_SetOutput(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor, TF_Status* status) {
  hr_status_t outcome = tensor ? kernel_check_output(ctx, i) : hr_capi_null("the output's tensor");
  if (!outcome && tensor->value.dtype != hr_output_dtype(ctx->ctx, i))
    outcome = HR_ERROR(INVALID_ARGUMENT, "output %d is of type %s, the tensor of type %s", i, hr_dtype_name((int)hr_output_dtype(ctx->ctx,
                       i)),
                       hr_dtype_name((int)tensor->value.dtype));
  if (!outcome) hr_output_share(ctx->ctx, i, &tensor->value);
  hr_capi_report(status, outcome);
}

TF_Tensor* TF_GetMutableOutput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  TF_Tensor* t = NULL;
  hr_status_t outcome = kernel_check_output(ctx, i);
  const hr_tensor_t* value = outcome ? NULL : &hr_output_slot(ctx->ctx, i)->value;
  if (!outcome && !value->buffer) outcome = HR_ERROR(FAILED_PRECONDITION, "output %d was not allocated yet", i);
  if (!outcome) outcome = hr_capi_share_tensor(value, &t);
  hr_capi_report(status, outcome);
  return t;
}

/* In the memory of the device that the kernel runs on. */
static hr_status_t kernel_new_output(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, hr_tensor_t** out) {
  return k->own ? hr_own_output(k->own, k, index, shape, out) : hr_output(k, index, shape, out);
}

static hr_status_t kernel_allocate(TF_OpKernelContext* c, int index, TF_DataType dtype, const int64_t* dims, int num_dims, size_t len,
                                   TF_Tensor** out) {
  hr_shape_t shape;
  hr_tensor_t* value;
  size_t need = 0;
  HR_TRY(kernel_check_output(c, index));
  HR_TRY(hr_capi_shape(dims, num_dims, &shape));
  hr_dtype_t declared = hr_output_dtype(c->ctx, index);
  if ((int)dtype != (int)declared)
    return HR_ERROR(INVALID_ARGUMENT, "output %d is of type %s, not %s", index, hr_dtype_name((int)declared), hr_dtype_name((int)dtype));
  if (!hr_size_mul((size_t)hr_shape_count(&shape), hr_dtype_size(declared), &need) || need != len)
    return HR_ERROR(INVALID_ARGUMENT, "output %d takes %zu bytes in this shape, not %zu", index, need, len);
  HR_TRY(kernel_new_output(c->ctx, index, &shape, &value));
  return hr_capi_share_tensor(value, out);
}

TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType dtype, const int64_t* dims, int num_dims, size_t len,
                             TF_Status* status) {
  TF_Tensor* t = NULL;
  hr_capi_report(status, kernel_allocate(context, index, dtype, dims, num_dims, len, &t));
  return t;
}

static bool kernel_can_forward(const hr_kernel_ctx_t* k, int input, int output, const hr_shape_t* shape) {
  if (input < 0 || input >= hr_input_count(k) || hr_input_ref(k, input) || !(k->site->in_flags[input] & HR_IN_TAKE)) return false;
  const hr_tensor_t* t = hr_input(k, input);
  return t->dtype == hr_output_dtype(k, output) && t->count == hr_shape_count(shape) && hr_buffer_is_alone(t->buffer);
}

static hr_status_t kernel_forward(TF_OpKernelContext* c, const int* candidates, int count, int index, const int64_t* dims, int num_dims,
                                  int* out_input, TF_Tensor** out) {
  hr_shape_t shape;
  hr_tensor_t* value = NULL;
  int input = -1;
  HR_TRY(kernel_check_output(c, index));
  HR_TRY(hr_capi_check_count(count, candidates, "candidates"));
  HR_TRY(hr_capi_shape(dims, num_dims, &shape));
  for (int i = 0; i < count && input < 0; ++i)
    if (kernel_can_forward(c->ctx, candidates[i], index, &shape)) input = candidates[i];
  if (input >= 0) HR_TRY(hr_output_take(c->ctx, index, input, &shape, &value));
  else HR_TRY(kernel_new_output(c->ctx, index, &shape, &value));
  if (out_input) *out_input = input;
  return hr_capi_share_tensor(value, out);
}

TF_Tensor* TF_ForwardInputOrAllocateOutput(TF_OpKernelContext* context, const int* candidate_input_indices, int num_candidate_input_indices,
                                           int output_index, const int64_t* output_dims, int output_num_dims, int* forwarded_input,
                                           TF_Status* status) {
  TF_Tensor* t = NULL;
  hr_capi_report(status, kernel_forward(context, candidate_input_indices, num_candidate_input_indices, output_index, output_dims,
                 output_num_dims,
                                        forwarded_input, &t));
  return t;
}

static hr_status_t kernel_temp(hr_kernel_ctx_t* k, TF_DataType dtype, const int64_t* dims, int num_dims, bool on_host,
                               TF_Tensor** out) {
  hr_shape_t shape;
  hr_tensor_t value, *kept = NULL;
  HR_TRY(hr_capi_shape(dims, num_dims, &shape));
  if ((int)dtype <= 0 || (int)dtype >= HR_DTYPE_COUNT) return HR_ERROR(INVALID_ARGUMENT, "%d is no element type", (int)dtype);
  if (k->own) {
    HR_TRY(hr_own_temp(k->own, (hr_dtype_t)dtype, &shape, on_host, &kept));
    return hr_capi_share_tensor(kept, out);
  }
  HR_TRY(hr_temp(k, (hr_dtype_t)dtype, &shape, &value));
  if ((*out = hr_capi_wrap_tensor(&value))) return NULL;
  hr_tensor_release(&value);
  return hr_status_out_of_memory();
}

TF_Tensor* TF_AllocateTemp(TF_OpKernelContext* context, TF_DataType dtype, const int64_t* dims, int num_dims,
                           TF_AllocatorAttributes* alloc_attrs, TF_Status* status) {
  TF_Tensor* t = NULL;
  const bool on_host = alloc_attrs && alloc_attrs->struct_size >= TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE && alloc_attrs->on_host;
  hr_capi_report(status, kernel_temp(context->ctx, dtype, dims, num_dims, on_host, &t));
  return t;
}

/* --- where and when ------------------------------------------------------------------------------------------------------------------ */
static const char kernel_device[] = "/job:localhost/replica:0/task:0/device:CPU:0";

int64_t TF_StepId(TF_OpKernelContext* ctx) { return ctx->ctx->step ? ctx->ctx->step->id : 0; }
int64_t TF_GetStepId(TF_OpKernelContext* ctx) { return TF_StepId(ctx); }
uint64_t TF_GetFrameId(TF_OpKernelContext* ctx) {
  (void)ctx;
  return 0;
}
int64_t TF_GetIterId(TF_OpKernelContext* ctx) {
  (void)ctx;
  return 0;
}
int TF_GetDeviceId(TF_OpKernelContext* ctx) {
  int32_t ordinal = 0;
  if (ctx->ctx->own) hr_own_device(ctx->ctx->own, &ordinal);
  return (int)ordinal;
}
TF_StringView TF_GetDeviceName(TF_OpKernelContext* ctx) {
  int32_t ordinal;
  if (!ctx->ctx->own) return (TF_StringView){kernel_device, sizeof kernel_device - 1};
  const hr_str_t name = hr_str(hr_own_device(ctx->ctx->own, &ordinal));
  return (TF_StringView){name.data, name.size};
}
int TF_GetGraphDefVersion(TF_OpKernelContext* ctx) {
  (void)ctx;
  return HR_GRAPH_VERSION;
}
TF_StringView TF_GetOpKernelName(TF_OpKernelContext* ctx) {
  hr_str_t name = hr_str(ctx->ctx->site->node_name);
  return (TF_StringView){name.data, name.size};
}
TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext* ctx) {
  (void)ctx;
  return (TF_StringView){"localhost", 9};
}
TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext* ctx, size_t index) {
  (void)ctx;
  (void)index;
  return (TF_StringView){"", 0};
}
bool TF_IsHostMemoryInput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  hr_status_t outcome = kernel_check_input(ctx, i);
  bool there = !outcome && (!ctx->ctx->own || hr_own_input_is_host(ctx->ctx->own, i));
  hr_capi_report(status, outcome);
  return there;
}
bool TF_IsHostMemoryOutput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  hr_status_t outcome = kernel_check_output(ctx, i);
  bool there = !outcome && (!ctx->ctx->own || hr_own_output_is_host(ctx->ctx->own, i));
  hr_capi_report(status, outcome);
  return there;
}
void TF_IncNumDeferredOps(TF_OpKernelContext* context) { (void)context; }
void TF_DecNumDeferredOps(TF_OpKernelContext* context) { (void)context; }

SP_Stream TF_GetStream(TF_OpKernelContext* ctx, TF_Status* status) {
  const hr_own_call_t* own = ctx->ctx->own;
  hr_capi_report(status, own ? NULL : HR_ERROR(UNIMPLEMENTED, "the CPU has no streams"));
  return own ? hr_own_stream(own) : NULL;
}
void TF_GetSerializedFunctionDefLibrary(TF_OpKernelContext* ctx, TF_Buffer* serialized_function_def_library, TF_Status* status) {
  (void)ctx;
  (void)serialized_function_def_library;
  hr_capi_report(status, HR_ERROR(UNIMPLEMENTED, "kernels cannot see the function library yet"));
}
void TF_GetSerializedConfigProto(TF_OpKernelContext* ctx, TF_Buffer* serialized_config_proto, TF_Status* status) {
  (void)ctx;
  (void)serialized_config_proto;
  hr_capi_report(status, HR_ERROR(UNIMPLEMENTED, "kernels cannot see the session's configuration yet"));
}

void TF_GetSerializedResourceHandleProto(TF_OpKernelContext* ctx, int i, TF_Buffer* serialized_resource_handle_proto, TF_Status* status) {
  hr_writer_t w;
  hr_status_t outcome = kernel_check_input(ctx, i);
  const hr_tensor_t* t = outcome ? NULL : hr_input(ctx->ctx, i);
  if (!outcome && (t->dtype != HR_RESOURCE || t->count != 1)) outcome = HR_ERROR(INVALID_ARGUMENT, "input %d is no resource handle", i);
  hr_strbuf_init(&w);
  if (!outcome) {
    hr_handle_proto_encode(*(hr_handle_t* const*)t->data, &w);
    outcome = hr_capi_fill_buffer_from(serialized_resource_handle_proto, &w);
  }
  hr_strbuf_deinit(&w);
  hr_capi_report(status, outcome);
}
