/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/device_call.h"
#include "base/alloc.h"

/* --- sites ---------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t number_slots(hr_arena_t* arena, const hr_site_t* site, hr_site_t* out) {
  int32_t* slots = hr_arena_array(arena, (size_t)site->in_count + (size_t)site->out_count + 1, sizeof *slots);
  uint8_t* flags = hr_arena_array(arena, (size_t)site->in_count + 1, 1);
  if (!slots || !flags) return hr_status_out_of_memory();
  for (int32_t i = 0; i < site->in_count; ++i) slots[i] = i;
  for (int32_t i = 0; i < site->out_count; ++i) slots[site->in_count + i] = site->out[i] >= 0 ? site->in_count + i : -1;
  *out = *site;
  out->in = slots;
  out->in_flags = flags; /* nothing is taken over: inputs are the device's */
  out->out = slots + site->in_count;
  return NULL;
}

hr_status_t hr_device_site_init(hr_arena_t* arena, hr_device_unit_t* unit, int64_t node_id, const hr_site_t* site, hr_device_site_t* out) {
  out->unit = unit;
  out->stream = hr_device_unit_queues(unit)->streams[(uint64_t)node_id % HR_DEVICE_STREAMS];
  return number_slots(arena, site, &out->inner);
}

void hr_device_site_unprepare(void* site) {
  hr_device_site_t* s = site;
  if (s->inner.prepared && s->inner.kernel->unprepare) s->inner.kernel->unprepare(s->inner.prepared);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------------------- */

hr_device_call_t* hr_device_call_create(size_t bytes, const hr_device_site_t* site, hr_kernel_ctx_t* k, hr_async_t* done) {
  const size_t in = (size_t)site->inner.in_count, out = (size_t)site->inner.out_count;
  const size_t head = (bytes + 15) & ~(size_t)15;
  char* memory = hr_alloc_zero(head + (in + out) * sizeof(hr_tensor_t) + (in + out + 1) * sizeof(hr_slot_t));
  if (!memory) return NULL;
  hr_device_call_t* c = (hr_device_call_t*)(void*)memory;
  c->k = k;
  c->done = done;
  c->site = site;
  c->device_inputs = (hr_tensor_t*)(void*)(memory + head);
  c->outputs = c->device_inputs + in;
  c->slots = (hr_slot_t*)(void*)(c->outputs + out);
  atomic_init(&c->left, 1);
  return c;
}

hr_kernel_ctx_t hr_device_call_context(hr_device_call_t* c) {
  const hr_site_t* s = &c->site->inner;
  hr_kernel_ctx_t k = *c->k;
  k.site = s;
  k.slots = c->slots;
  k.spare = &c->slots[s->in_count + s->out_count];
  return k;
}

void hr_device_call_expect(hr_device_call_t* c) { atomic_fetch_add(&c->left, 1); }

void hr_device_call_fail(hr_device_call_t* c, hr_status_t take_status) {
  hr_status_t none = NULL;
  if (take_status && !atomic_compare_exchange_strong(&c->failure, &none, take_status)) hr_status_release(take_status);
}

static void end_call(hr_device_call_t* c) {
  hr_async_t* done = c->done;
  hr_kernel_ctx_t* k = c->k;
  const hr_site_t* s = &c->site->inner;
  hr_status_t status = atomic_load(&c->failure);
  if (c->before_end) c->before_end(c);
  for (int32_t i = 0; i < s->in_count; ++i) hr_tensor_release(&c->device_inputs[i]);
  for (int32_t i = 0; i < s->out_count; ++i) {
    if (!status && c->outputs[i].buffer) hr_output_move(k, i, &c->outputs[i]);
    else hr_tensor_release(&c->outputs[i]);
  }
  hr_free(c);
  done->finish(done, status);
}

void hr_device_call_end_one(hr_device_call_t* c) {
  if (atomic_fetch_sub(&c->left, 1) == 1) end_call(c);
}

static void call_told(hr_device_call_t* c, const char* what, int code, const char* message) {
  hr_device_call_fail(c, hr_device_failure(c->site->unit, what, code, message));
  hr_device_call_end_one(c);
}

static void copied_in(void* arg, int code, const char* message) { call_told(arg, "copying an input", code, message); }
void hr_device_call_ran(void* call, int code, const char* message) { call_told(call, "running a kernel", code, message); }

hr_status_t hr_device_call_bring(hr_device_call_t* c, int32_t i, bool* io_copies) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->site->unit);
  const hr_tensor_t* in = hr_input(c->k, i);
  const size_t bytes = hr_tensor_bytes(in);
  if (bytes == 0) return NULL;
  if (hr_device_unit_owns(c->site->unit, in)) {
    hr_tensor_share(in, &c->device_inputs[i]);
    return NULL;
  }
  HR_TRY(hr_device_unit_tensor(c->site->unit, in, &c->device_inputs[i]));
  hr_device_call_expect(c);
  *io_copies = true;
  q->table->copy_to_device(q->device, q->in, c->device_inputs[i].data, in->data, bytes, copied_in, c);
  return NULL;
}
