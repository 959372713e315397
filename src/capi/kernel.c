/* SPDX-License-Identifier: Apache-2.0 */
/* Registering kernels, and calling what was registered.
 *
 * The client's object is made once a node: in the plan's prepared memory, or in the session's state when the op is stateful (it then
 * outlives plans). An asynchronous compute is waited for in the thread that runs the node. */
#include "capi/kernel.h"

struct TF_AsyncOpKernelDoneCallback {
  hr_mutex_t mu;
  hr_cond_t woken;
  bool done;
};

void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback* done) {
  hr_mutex_lock(&done->mu);
  done->done = true;
  hr_cond_wake_all(&done->woken);
  hr_mutex_unlock(&done->mu);
}

/* --- making and running -------------------------------------------------------------------------------------------------------------- */
static hr_status_t kernel_find_starts(const hr_prepare_ctx_t* p, hr_capi_kernel_t* k) {
  const hr_op_def_t* def = p->attrs->def;
  int at = 0;
  k->def = def;
  if (!(k->starts = hr_alloc_array((size_t)def->input_count + 1, sizeof *k->starts))) return hr_status_out_of_memory();
  for (int i = 0; i < def->input_count; ++i) {
    int length = 0;
    k->starts[i] = at;
    HR_TRY(hr_sig_arg_length(def, p->attrs->values, false, i, &length));
    at += length;
  }
  k->starts[def->input_count] = at;
  return NULL;
}

static hr_status_t kernel_make(hr_prepare_ctx_t* p, void* memory) {
  const TF_KernelBuilder* b = p->kernel->arg;
  hr_capi_kernel_t* k = memory;
  TF_OpKernelConstruction construction = {p, NULL};
  hr_status_t status = kernel_find_starts(p, k);
  if (!status && b->create) {
    k->object = b->create(&construction);
    status = construction.failure;
    if (!status) k->destroy = b->destroy;
    else if (k->object && b->destroy) b->destroy(k->object);
  } else if (!status) {
    k->destroy = NULL;
  }
  if (status) {
    hr_free(k->starts);
    k->starts = NULL;
    k->object = NULL;
  }
  return status;
}

static void kernel_unmake(void* memory) {
  hr_capi_kernel_t* k = memory;
  if (k->destroy) k->destroy(k->object);
  hr_free(k->starts);
  *k = (hr_capi_kernel_t){0};
}

static void kernel_wait(const TF_KernelBuilder* b, TF_OpKernelContext* ctx) {
  TF_AsyncOpKernelDoneCallback done = {.done = false};
  hr_mutex_init(&done.mu);
  hr_cond_init(&done.woken);
  b->compute_async(ctx->kernel->object, ctx, &done);
  hr_mutex_lock(&done.mu);
  while (!done.done) hr_cond_wait(&done.woken, &done.mu);
  hr_mutex_unlock(&done.mu);
  hr_cond_deinit(&done.woken);
  hr_mutex_deinit(&done.mu);
}

static hr_status_t kernel_compute(hr_kernel_ctx_t* k) {
  const TF_KernelBuilder* b = hr_kernel_arg(k);
  TF_OpKernelContext ctx = {k, hr_state(k) ? hr_state(k) : hr_prepared(k), NULL};
  if (b->compute_async) kernel_wait(b, &ctx);
  else b->compute(ctx.kernel->object, &ctx);
  return ctx.failure;
}

/* --- builders ------------------------------------------------------------------------------------------------------------------------ */
static TF_KernelBuilder* builder_make(const char* op_name, const char* device_name) {
  TF_KernelBuilder* b = hr_alloc_zero(sizeof *b);
  if (!b) return NULL;
  b->op_name = hr_alloc_copy(hr_capi_str(op_name).data, hr_capi_str(op_name).size);
  b->device = hr_alloc_copy(hr_capi_str(device_name).data, hr_capi_str(device_name).size);
  if (b->op_name && b->device) return b;
  TF_DeleteKernelBuilder(b);
  return NULL;
}

TF_KernelBuilder* TF_NewKernelBuilder(const char* op_name, const char* device_name, void* (*create_func)(TF_OpKernelConstruction*),
                                      void (*compute_func)(void*, TF_OpKernelContext*), void (*delete_func)(void*)) {
  TF_KernelBuilder* b = builder_make(op_name, device_name);
  if (!b) return NULL;
  b->create = create_func;
  b->compute = compute_func;
  b->destroy = delete_func;
  return b;
}

TF_KernelBuilder* TF_NewAsyncKernelBuilder(const char* op_name, const char* device_name, void* (*create_func)(TF_OpKernelConstruction*),
                                           void (*compute_async_func)(void*, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback* done),
                                           void (*delete_func)(void*)) {
  TF_KernelBuilder* b = builder_make(op_name, device_name);
  if (!b) return NULL;
  b->create = create_func;
  b->compute_async = compute_async_func;
  b->destroy = delete_func;
  return b;
}

void TF_DeleteKernelBuilder(TF_KernelBuilder* builder) {
  if (!builder) return;
  for (int i = 0; i < 3; ++i) hr_free((void*)(uintptr_t)builder->row.where[i].attr);
  for (int64_t i = 0; i < builder->host_args.count; ++i) hr_free(builder->host_args.data[i]);
  hr_vec_deinit(&builder->host_args);
  hr_free(builder->op_name);
  hr_free(builder->device);
  hr_free(builder->label);
  hr_status_release(builder->failure);
  hr_free(builder);
}

static hr_status_t builder_constrain(TF_KernelBuilder* b, const char* attr_name, TF_DataType type) {
  if (!b || !attr_name) return hr_capi_null(b ? "the attr's name" : "the kernel builder");
  if ((int)type <= 0 || (int)type >= HR_DTYPE_COUNT) return HR_ERROR(INVALID_ARGUMENT, "%d is no element type", (int)type);
  int at = 0;
  while (at < 3 && b->row.where[at].attr && strcmp(b->row.where[at].attr, attr_name)) ++at;
  if (at == 3) return HR_ERROR(INVALID_ARGUMENT, "a kernel can be constrained in three attrs, '%s' is a fourth", attr_name);
  if (!b->row.where[at].attr && !(b->row.where[at].attr = hr_alloc_copy(attr_name, strlen(attr_name)))) return hr_status_out_of_memory();
  b->row.where[at].types |= UINT64_C(1) << (int)type;
  return NULL;
}

void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder* kernel_builder, const char* attr_name, TF_DataType type, TF_Status* status) {
  hr_capi_report(status, builder_constrain(kernel_builder, attr_name, type));
}

static hr_status_t builder_keep_host_arg(TF_KernelBuilder* b, const char* arg_name) {
  char* name = hr_alloc_copy(hr_capi_str(arg_name).data, hr_capi_str(arg_name).size);
  hr_status_t status = name ? hr_vec_push(&b->host_args, name) : hr_status_out_of_memory();
  if (status) hr_free(name);
  return status;
}

void TF_KernelBuilder_HostMemory(TF_KernelBuilder* kernel_builder, const char* arg_name) {
  if (kernel_builder) hr_status_merge(&kernel_builder->failure, builder_keep_host_arg(kernel_builder, arg_name));
}

void TF_KernelBuilder_Priority(TF_KernelBuilder* kernel_builder, int32_t priority_number) {
  if (kernel_builder) kernel_builder->row.priority = priority_number;
}

void TF_KernelBuilder_Label(TF_KernelBuilder* kernel_builder, const char* label) {
  if (!kernel_builder) return;
  hr_free(kernel_builder->label);
  kernel_builder->label = hr_alloc_copy(hr_capi_str(label).data, hr_capi_str(label).size);
  if (!kernel_builder->label) hr_status_merge(&kernel_builder->failure, hr_status_out_of_memory());
}

/* --- registering --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t builder_check(const TF_KernelBuilder* b, const hr_op_def_t** out_def) {
  if (b->failure) return hr_status_retain(b->failure);
  if (!b->compute && !b->compute_async) return hr_capi_null("the kernel's compute function");
  if (b->label && *b->label) return HR_ERROR(UNIMPLEMENTED, "kernels with a label ('%s') are not there yet", b->label);
  HR_TRY(hr_registry_find(hr_str(b->op_name), out_def));
  for (int i = 0; i < 3 && b->row.where[i].attr; ++i)
    if (hr_sig_find_attr(*out_def, hr_str(b->row.where[i].attr)) < 0)
      return HR_ERROR(INVALID_ARGUMENT, "op '%s' has no attr '%s' to constrain a kernel with", b->op_name, b->row.where[i].attr);
  return NULL;
}

static uint32_t args_named(const hr_arg_def_t* args, int count, const char* name) {
  uint32_t bits = 0;
  for (int i = 0; i < count && i < 32; ++i)
    if (hr_str_is(args[i].name, name)) bits |= UINT32_C(1) << i;
  return bits;
}

static hr_status_t builder_mark_host_args(TF_KernelBuilder* b, const hr_op_def_t* def) {
  for (int64_t i = 0; i < b->host_args.count; ++i) {
    const char* name = b->host_args.data[i];
    const uint32_t in = args_named(def->inputs, def->input_count, name), out = args_named(def->outputs, def->output_count, name);
    if (!in && !out) return HR_ERROR(INVALID_ARGUMENT, "op '%s' has no argument '%s' to lie in host memory", b->op_name, name);
    b->row.host_inputs |= in;
    b->row.host_outputs |= out;
  }
  return NULL;
}

static hr_status_t builder_register(TF_KernelBuilder* b, bool* out_kept) {
  const hr_op_def_t* def;
  if (!b) return hr_status_out_of_memory(); /* the only way to have none */
  HR_TRY(builder_check(b, &def));
  HR_TRY(builder_mark_host_args(b, def));
  hr_kernel_t* row = &b->row;
  if (strcmp(b->device, "CPU")) row->device = b->device; /* the device may come later, or never */
  row->arg = b;
  row->compute = kernel_compute;
  if (def->op->flags & HR_OP_STATEFUL) {
    row->state_bytes = sizeof(hr_capi_kernel_t);
    row->create_state = kernel_make;
    row->destroy_state = kernel_unmake;
  } else {
    row->prepared_bytes = sizeof(hr_capi_kernel_t);
    row->prepare = kernel_make;
    row->unprepare = kernel_unmake;
  }
  HR_TRY(hr_registry_add_kernel(b->op_name, row));
  *out_kept = true;
  return NULL;
}

void TF_RegisterKernelBuilder(const char* kernel_name, TF_KernelBuilder* builder, TF_Status* status) {
  bool kept = false;
  (void)kernel_name;
  hr_status_t outcome = builder_register(builder, &kept);
  if (!kept) TF_DeleteKernelBuilder(builder);
  hr_capi_report(status, outcome);
}

void TF_RegisterKernelBuilderWithKernelDef(const char* serialized_kernel_def, const char* name, TF_KernelBuilder* builder,
                                           TF_Status* status) {
  (void)serialized_kernel_def;
  (void)name;
  TF_DeleteKernelBuilder(builder);
  hr_capi_report(status, HR_ERROR(UNIMPLEMENTED, "TF_RegisterKernelBuilderWithKernelDef is not there yet; use TF_RegisterKernelBuilder"));
}
