/* SPDX-License-Identifier: Apache-2.0 */
/* One lent call: copies in, an event, the launch of the host's kernel on a thread of the device's (device_call.h). */
#include "exec/lend.h"
#include "base/alloc.h"
#include "exec/device_call.h"
#include "exec/own.h"
#include "op/node_class.h"

/* --- on the device's thread ----------------------------------------------------------------------------------------------------------- */

static hr_status_t lend_input(const hr_device_call_t* c, int32_t i) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->site->unit);
  const hr_tensor_t* in = &c->device_inputs[i];
  hr_tensor_t* to = &c->slots[i].value;
  if (!in->buffer) { /* no bytes */
    hr_tensor_share(hr_input(c->k, i), to);
    return NULL;
  }
  void* seen = q->table->translate(q->device, in->data);
  if (!seen) return HR_ERROR(INTERNAL, "the device does not know the address of input %d", (int)i);
  return hr_tensor_borrow(in->dtype, &in->shape, seen, hr_tensor_bytes(in), true, NULL, NULL, to);
}

static hr_status_t keep_output(hr_device_call_t* c, int32_t i) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->site->unit);
  hr_tensor_t* from = &c->slots[c->site->inner.in_count + i].value;
  const size_t bytes = hr_tensor_bytes(from);
  if (!from->buffer) return NULL;
  if (bytes == 0) {
    hr_tensor_move(from, &c->outputs[i]);
    return NULL;
  }
  HR_TRY(hr_device_unit_tensor(c->site->unit, from, &c->outputs[i]));
  void* to = q->table->translate(q->device, c->outputs[i].data);
  if (!to) return HR_ERROR(INTERNAL, "the device does not know its own memory");
  memcpy(to, from->data, bytes);
  return NULL;
}

static void run_lent(void* arg) {
  hr_device_call_t* c = arg;
  const hr_site_t* s = &c->site->inner;
  hr_kernel_ctx_t k = hr_device_call_context(c);
  hr_status_t status = atomic_load(&c->failure) ? hr_status_retain(atomic_load(&c->failure)) : NULL;
  k.threads = 1; /* only this one sees the device's memory */
  for (int32_t i = 0; i < s->in_count && !status; ++i) status = lend_input(c, i);
  if (!status) status = s->compute(&k);
  for (int32_t i = 0; i < s->out_count && !status; ++i)
    if (s->out[i] >= 0) status = keep_output(c, i);
  for (int32_t i = 0; i <= s->in_count + s->out_count; ++i) hr_tensor_release(&c->slots[i].value);
  hr_device_call_fail(c, status);
}

/* --- on the executor's thread --------------------------------------------------------------------------------------------------------- */

static hr_status_t begin_call(hr_device_call_t* c) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->site->unit);
  bool copies = false;
  for (int32_t i = 0; i < c->site->inner.in_count; ++i) HR_TRY(hr_device_call_bring(c, i, &copies));
  if (copies) HR_TRY(hr_device_unit_order(c->site->unit, c->site->stream, q->in));
  hr_device_call_expect(c);
  q->table->launch_host(q->device, c->site->stream, run_lent, c, hr_device_call_ran, c);
  return NULL;
}

static void lend_start(hr_kernel_ctx_t* k, hr_async_t* done) {
  hr_device_call_t* c = hr_device_call_create(sizeof *c, hr_prepared(k), k, done);
  if (!c) {
    done->finish(done, hr_status_out_of_memory());
    return;
  }
  hr_device_call_fail(c, begin_call(c));
  hr_device_call_end_one(c);
}

/* --- sends ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_kernel_ctx_t* k;
  hr_async_t* done;
  const hr_device_site_t* site;
  hr_slot_t slots[2]; /* the value on the host, and a spare */
} lent_send_t;

static void send_now(lent_send_t* s, hr_status_t take_failure) {
  hr_async_t* done = s->done;
  hr_kernel_ctx_t k = *s->k;
  k.site = &s->site->inner;
  k.slots = s->slots;
  k.spare = &s->slots[1];
  hr_status_t status = take_failure ? take_failure : s->site->inner.compute(&k);
  hr_tensor_release(&s->slots[0].value);
  hr_free(s);
  done->finish(done, status);
}

static void copied_out(void* arg, int code, const char* message) {
  lent_send_t* s = arg;
  send_now(s, hr_device_failure(s->site->unit, "copying a value to the host", code, message));
}

static void lend_send(hr_kernel_ctx_t* k, hr_async_t* done) {
  const hr_device_site_t* l = hr_prepared(k);
  lent_send_t* s = hr_alloc_zero(sizeof *s);
  if (!s) {
    done->finish(done, hr_status_out_of_memory());
    return;
  }
  *s = (lent_send_t){.k = k, .done = done, .site = l};
  const hr_tensor_t* in = hr_input(k, 0);
  if (k->is_dead || !hr_device_unit_owns(l->unit, in)) {
    if (!k->is_dead) hr_tensor_share(in, &s->slots[0].value);
    send_now(s, NULL);
    return;
  }
  const hr_device_queues_t* q = hr_device_unit_queues(l->unit);
  hr_status_t status = hr_tensor_create(in->dtype, &in->shape, &s->slots[0].value);
  if (status) send_now(s, status);
  else q->table->copy_to_host(q->device, q->out, s->slots[0].value.data, in->data, hr_tensor_bytes(in), copied_out, s);
}

/* --- sites ---------------------------------------------------------------------------------------------------------------------------- */

static const hr_kernel_t lent_kernel = {
    .start = lend_start, .prepared_bytes = sizeof(hr_device_site_t), .unprepare = hr_device_site_unprepare};
static const hr_kernel_t lent_sender = {
    .start = lend_send, .prepared_bytes = sizeof(hr_device_site_t), .unprepare = hr_device_site_unprepare};

static hr_status_t lend_to(hr_arena_t* arena, const hr_device_t* device, const hr_kernel_t* how, hr_site_t* site, const hr_node_t* n) {
  if (site->kernel->start)
    return HR_ERROR(UNIMPLEMENTED, "its kernel is asynchronous and cannot be lent to %s; place it on a CPU", device->name);
  hr_device_site_t* l = hr_arena_array(arena, 1, sizeof *l);
  if (!l) return hr_status_out_of_memory();
  HR_TRY(hr_device_site_init(arena, device->state, n->id, site, l));
  site->kernel = how;
  site->prepared = l;
  return NULL;
}

hr_status_t hr_lend_site(hr_arena_t* arena, const hr_device_t* device, hr_site_t* site, const hr_node_t* n) {
  const int class = n->attrs.def->node_class;
  if (site->kernel->device) return hr_own_site(arena, device, site, n);
  if (class == HR_NODE_RECV || class == HR_NODE_HOST_RECV || hr_node_class_is_control_flow(class)) return NULL;
  if (class == HR_NODE_SEND || class == HR_NODE_HOST_SEND) return lend_to(arena, device, &lent_sender, site, n);
  if (site->in_count + site->out_count == 0) return NULL;
  if (device->table->launch_host) return lend_to(arena, device, &lent_kernel, site, n);
  if (hr_own_passes_on(n)) return NULL;
  return HR_ERROR(UNIMPLEMENTED, "%s has no kernel of its own for it and does not run the host's; place it on a CPU", device->name);
}
