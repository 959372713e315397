/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a device's own kernel. First inputs go where they are wanted: to the device in stream order, so that the kernel need not wait;
 * to the host by copies that must have ended before the kernel can read them, so then it is the last copy that runs it. Then the kernel,
 * which only gives work to the stream; then a note from the stream that the work has ended. */
#include "exec/own.h"
#include "base/alloc.h"
#include "base/vec.h"
#include "exec/device_call.h"
#include "op/node_class.h"
#include "op/registry.h"
#include "op/sig.h"

typedef struct {
  hr_device_site_t device;
  const char* name;
  int32_t ordinal;
  uint8_t *host_in, *host_out; /* by input and output: lies on the host */
} own_site_t;

struct hr_own_call {
  hr_device_call_t call;
  atomic_int to_host;          /* copies to the host that must end before the kernel runs, and one for beginning them */
  HR_VEC(hr_tensor_t*) scratch;
};

static const own_site_t* site_of(const hr_own_call_t* c) { return (const own_site_t*)(const void*)c->call.site; }

/* --- what the kernel asks for --------------------------------------------------------------------------------------------------------- */

void* hr_own_stream(const hr_own_call_t* c) { return c->call.site->stream; }
const char* hr_own_device(const hr_own_call_t* c, int32_t* out_ordinal) {
  *out_ordinal = site_of(c)->ordinal;
  return site_of(c)->name;
}
bool hr_own_input_is_host(const hr_own_call_t* c, int32_t i) { return site_of(c)->host_in[i]; }
bool hr_own_output_is_host(const hr_own_call_t* c, int32_t i) { return site_of(c)->host_out[i]; }

static hr_status_t device_tensor(hr_own_call_t* c, hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  hr_tensor_t like = {.dtype = dtype, .count = hr_shape_count(shape)};
  size_t bytes;
  HR_TRY(hr_shape_check(shape));
  if (!hr_size_mul((size_t)like.count, hr_dtype_size(dtype), &bytes) || !hr_dtype_is_plain(dtype))
    return HR_ERROR(INVALID_ARGUMENT, "%s of this shape cannot lie on a device", hr_dtype_name((int)dtype));
  hr_shape_copy(&like.shape, shape);
  return hr_device_unit_tensor(c->call.site->unit, &like, out);
}

hr_status_t hr_own_output(hr_own_call_t* c, hr_kernel_ctx_t* k, int32_t i, const hr_shape_t* shape, hr_tensor_t** out) {
  if (hr_own_output_is_host(c, i) || hr_shape_count(shape) == 0) return hr_output(k, i, shape, out);
  if (!hr_output_wanted(k, i)) return hr_own_temp(c, hr_output_dtype(k, i), shape, false, out);
  hr_tensor_t made;
  HR_TRY(device_tensor(c, hr_output_dtype(k, i), shape, &made));
  hr_output_move(k, i, &made);
  *out = &hr_output_slot(k, i)->value;
  return NULL;
}

hr_status_t hr_own_temp(hr_own_call_t* c, hr_dtype_t dtype, const hr_shape_t* shape, bool on_host, hr_tensor_t** out) {
  hr_tensor_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  hr_status_t status = on_host || hr_shape_count(shape) == 0 ? hr_tensor_create(dtype, shape, t) : device_tensor(c, dtype, shape, t);
  if (!status && (status = hr_vec_push(&c->scratch, t))) hr_tensor_release(t);
  if (status) hr_free(t);
  *out = t;
  return status;
}

/* --- running -------------------------------------------------------------------------------------------------------------------------- */

static void release_slots(hr_device_call_t* c) {
  hr_own_call_t* own = (hr_own_call_t*)(void*)c;
  for (int64_t i = 0; i < own->scratch.count; ++i) {
    hr_tensor_release(own->scratch.data[i]);
    hr_free(own->scratch.data[i]);
  }
  hr_vec_deinit(&own->scratch);
  for (int32_t i = 0; i <= c->site->inner.in_count + c->site->inner.out_count; ++i) hr_tensor_release(&c->slots[i].value);
}

static void fill_inputs(hr_device_call_t* c) {
  for (int32_t i = 0; i < c->site->inner.in_count; ++i) {
    const hr_tensor_t* there = c->device_inputs[i].buffer ? &c->device_inputs[i] : hr_input(c->k, i);
    if (there->buffer) hr_tensor_share(there, &c->slots[i].value);
  }
}

/* The kernel's outputs are the call's: they hold until the stream has written them. */
static void run_kernel(hr_own_call_t* own) {
  hr_device_call_t* c = &own->call;
  const hr_device_queues_t* q = hr_device_unit_queues(c->site->unit);
  const hr_site_t* s = &c->site->inner;
  hr_kernel_ctx_t k = hr_device_call_context(c);
  k.own = own;
  if (!atomic_load(&c->failure)) {
    fill_inputs(c);
    hr_device_call_fail(c, s->compute(&k));
    for (int32_t i = 0; i < s->out_count; ++i)
      if (s->out[i] >= 0) hr_tensor_move(&c->slots[s->in_count + i].value, &c->outputs[i]);
    hr_device_call_expect(c);
    q->table->stream_notify(q->device, c->site->stream, hr_device_call_ran, c);
  }
  hr_device_call_end_one(c);
}

static void one_to_host(hr_own_call_t* c) {
  if (atomic_fetch_sub(&c->to_host, 1) == 1) run_kernel(c);
}

static void copied_to_host(void* arg, int code, const char* message) {
  hr_own_call_t* c = arg;
  hr_device_call_fail(&c->call, hr_device_failure(c->call.site->unit, "copying a value to the host", code, message));
  one_to_host(c);
}

/* A host argument whose value lies on the device. What another of its streams writes has ended before the node could begin. */
static hr_status_t fetch_input(hr_own_call_t* own, int32_t i) {
  hr_device_call_t* c = &own->call;
  const hr_device_queues_t* q = hr_device_unit_queues(c->site->unit);
  const hr_tensor_t* in = hr_input(c->k, i);
  if (!hr_device_unit_owns(c->site->unit, in)) return NULL;
  HR_TRY(hr_tensor_create(in->dtype, &in->shape, &c->device_inputs[i]));
  atomic_fetch_add(&own->to_host, 1);
  q->table->copy_to_host(q->device, q->out, c->device_inputs[i].data, in->data, hr_tensor_bytes(in), copied_to_host, own);
  return NULL;
}

static hr_status_t begin_call(hr_own_call_t* own) {
  hr_device_call_t* c = &own->call;
  bool copies = false;
  for (int32_t i = 0; i < c->site->inner.in_count; ++i)
    HR_TRY(site_of(own)->host_in[i] ? fetch_input(own, i) : hr_device_call_bring(c, i, &copies));
  return copies ? hr_device_unit_order(c->site->unit, c->site->stream, hr_device_unit_queues(c->site->unit)->in) : NULL;
}

static void own_start(hr_kernel_ctx_t* k, hr_async_t* done) {
  hr_own_call_t* c = (hr_own_call_t*)(void*)hr_device_call_create(sizeof *c, hr_prepared(k), k, done);
  if (!c) {
    done->finish(done, hr_status_out_of_memory());
    return;
  }
  c->call.before_end = release_slots;
  atomic_init(&c->to_host, 1);
  hr_device_call_fail(&c->call, begin_call(c));
  one_to_host(c);
}

/* --- sites ---------------------------------------------------------------------------------------------------------------------------- */

/* Argument bits to bits of the single inputs or outputs. */
static hr_status_t spread_host_args(hr_arena_t* arena, const hr_node_t* n, bool is_output, uint32_t args, int32_t count, uint8_t** out) {
  const hr_op_def_t* def = n->attrs.def;
  const int arg_count = is_output ? def->output_count : def->input_count;
  *out = hr_arena_array(arena, (size_t)count + 1, 1);
  if (!*out) return hr_status_out_of_memory();
  for (int a = 0, at = 0, length = 0; a < arg_count; ++a, at += length) {
    HR_TRY(hr_sig_arg_length(def, n->attrs.values, is_output, a, &length));
    if (a < 32 && args >> a & 1) memset(*out + at, 1, (size_t)length);
  }
  return NULL;
}

const hr_kernel_t* hr_own_kernel(const hr_device_t* device, const hr_node_t* n) {
  const HR_DeviceTable* t = device->table;
  return t && t->stream_notify ? hr_registry_device_kernel(n->attrs.def, n->attrs.values, device->type) : NULL;
}

static const hr_kernel_t own_kernel = {.start = own_start, .prepared_bytes = sizeof(own_site_t), .unprepare = hr_device_site_unprepare};

hr_status_t hr_own_site(hr_arena_t* arena, const hr_device_t* device, hr_site_t* site, const hr_node_t* n) {
  hr_str_t name;
  own_site_t* own = hr_arena_array(arena, 1, sizeof *own);
  if (!own || !hr_arena_str(arena, hr_str(device->name), &name)) return hr_status_out_of_memory();
  HR_TRY(spread_host_args(arena, n, false, site->kernel->host_inputs, site->in_count, &own->host_in));
  HR_TRY(spread_host_args(arena, n, true, site->kernel->host_outputs, site->out_count, &own->host_out));
  HR_TRY(hr_device_site_init(arena, device->state, n->id, site, &own->device));
  own->name = name.data;
  own->ordinal = device->parts.id;
  site->kernel = &own_kernel;
  site->prepared = own;
  return NULL;
}

bool hr_own_passes_on(const hr_node_t* n) {
  const int class = n->attrs.def->node_class;
  return class == HR_NODE_CONST || class == HR_NODE_IDENTITY || class == HR_NODE_NO_OP;
}
