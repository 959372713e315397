/* SPDX-License-Identifier: Apache-2.0 */
/* One lent call: copies in, an event, the launch. It ends when the launch and all copies have told that they are done, on whatever thread
 * tells last; only then are the outputs set. The context's own slots are not touched before, so the executor's thread is not raced. */
#include "exec/lend.h"
#include "base/alloc.h"
#include "op/node_class.h"
#include "rt/async.h"
#include "rt/device_table.h"

typedef struct {
  hr_site_t inner;           /* over a call's own slots: inputs, outputs, spare */
  hr_device_unit_t* unit;
  void* stream;
} lent_t;

typedef struct {
  hr_kernel_ctx_t* k;
  hr_async_t* done;
  const lent_t* lent;
  hr_tensor_t* device_inputs; /* shares of inputs on the device, or copies that this call made; empty: the host's value is used */
  hr_tensor_t* outputs;       /* what the kernel gave, in device memory */
  hr_slot_t* slots;
  atomic_int left;            /* ends still to come */
  _Atomic(hr_status_t) failure; /* the first */
} lent_call_t;

static void note_failure(lent_call_t* c, hr_status_t take_status) {
  hr_status_t none = NULL;
  if (take_status && !atomic_compare_exchange_strong(&c->failure, &none, take_status)) hr_status_release(take_status);
}

static void end_call(lent_call_t* c) {
  hr_async_t* done = c->done;
  hr_kernel_ctx_t* k = c->k;
  const hr_site_t* s = &c->lent->inner;
  hr_status_t status = atomic_load(&c->failure);
  for (int32_t i = 0; i < s->in_count; ++i) hr_tensor_release(&c->device_inputs[i]);
  for (int32_t i = 0; i < s->out_count; ++i) {
    if (!status && c->outputs[i].buffer) hr_output_move(k, i, &c->outputs[i]);
    else hr_tensor_release(&c->outputs[i]);
  }
  hr_free(c);
  done->finish(done, status);
}

static void drop_share(lent_call_t* c) {
  if (atomic_fetch_sub(&c->left, 1) == 1) end_call(c);
}

static void copied_in(void* arg, int code, const char* message) {
  lent_call_t* c = arg;
  note_failure(c, hr_device_failure(c->lent->unit, "copying an input", code, message));
  drop_share(c);
}

static void launched(void* arg, int code, const char* message) {
  lent_call_t* c = arg;
  note_failure(c, hr_device_failure(c->lent->unit, "running a kernel", code, message));
  drop_share(c);
}

/* --- on the device's thread ----------------------------------------------------------------------------------------------------------- */

static hr_status_t lend_input(const lent_call_t* c, int32_t i) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->lent->unit);
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

static hr_status_t keep_output(lent_call_t* c, int32_t i) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->lent->unit);
  hr_tensor_t* from = &c->slots[c->lent->inner.in_count + i].value;
  const size_t bytes = hr_tensor_bytes(from);
  if (!from->buffer) return NULL;
  if (bytes == 0) {
    hr_tensor_move(from, &c->outputs[i]);
    return NULL;
  }
  HR_TRY(hr_device_unit_tensor(c->lent->unit, from, &c->outputs[i]));
  void* to = q->table->translate(q->device, c->outputs[i].data);
  if (!to) return HR_ERROR(INTERNAL, "the device does not know its own memory");
  memcpy(to, from->data, bytes);
  return NULL;
}

static void run_lent(void* arg) {
  lent_call_t* c = arg;
  const hr_site_t* s = &c->lent->inner;
  const int32_t spare = s->in_count + s->out_count;
  hr_kernel_ctx_t k = *c->k;
  hr_status_t status = atomic_load(&c->failure) ? hr_status_retain(atomic_load(&c->failure)) : NULL;
  k.site = s;
  k.slots = c->slots;
  k.spare = &c->slots[spare];
  k.threads = 1; /* only this one sees the device's memory */
  for (int32_t i = 0; i < s->in_count && !status; ++i) status = lend_input(c, i);
  if (!status) status = s->compute(&k);
  for (int32_t i = 0; i < s->out_count && !status; ++i)
    if (s->out[i] >= 0) status = keep_output(c, i);
  for (int32_t i = 0; i <= spare; ++i) hr_tensor_release(&c->slots[i].value);
  note_failure(c, status);
}

/* --- on the executor's thread --------------------------------------------------------------------------------------------------------- */

/* A copy begins, and with it one more end to come. */
static hr_status_t bring_input(lent_call_t* c, int32_t i, bool* io_copies) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->lent->unit);
  const hr_tensor_t* in = hr_input(c->k, i);
  const size_t bytes = hr_tensor_bytes(in);
  if (bytes == 0) return NULL;
  if (hr_device_unit_owns(c->lent->unit, in)) {
    hr_tensor_share(in, &c->device_inputs[i]);
    return NULL;
  }
  HR_TRY(hr_device_unit_tensor(c->lent->unit, in, &c->device_inputs[i]));
  atomic_fetch_add(&c->left, 1);
  *io_copies = true;
  q->table->copy_to_device(q->device, q->in, c->device_inputs[i].data, in->data, bytes, copied_in, c);
  return NULL;
}

static hr_status_t begin_call(lent_call_t* c) {
  const hr_device_queues_t* q = hr_device_unit_queues(c->lent->unit);
  bool copies = false;
  for (int32_t i = 0; i < c->lent->inner.in_count; ++i) HR_TRY(bring_input(c, i, &copies));
  if (copies) HR_TRY(hr_device_unit_order(c->lent->unit, c->lent->stream, q->in));
  atomic_fetch_add(&c->left, 1);
  q->table->launch_host(q->device, c->lent->stream, run_lent, c, launched, c);
  return NULL;
}

static lent_call_t* make_call(hr_kernel_ctx_t* k, hr_async_t* done) {
  const lent_t* l = hr_prepared(k);
  const size_t in = (size_t)l->inner.in_count, out = (size_t)l->inner.out_count;
  lent_call_t* c = hr_alloc_zero(sizeof *c + (in + out) * sizeof(hr_tensor_t) + (in + out + 1) * sizeof(hr_slot_t));
  if (!c) return NULL;
  c->k = k;
  c->done = done;
  c->lent = l;
  c->device_inputs = (hr_tensor_t*)(void*)(c + 1);
  c->outputs = c->device_inputs + in;
  c->slots = (hr_slot_t*)(void*)(c->outputs + out);
  atomic_init(&c->left, 1);
  return c;
}

static void lend_start(hr_kernel_ctx_t* k, hr_async_t* done) {
  lent_call_t* c = make_call(k, done);
  if (!c) {
    done->finish(done, hr_status_out_of_memory());
    return;
  }
  note_failure(c, begin_call(c));
  drop_share(c);
}

/* --- sends ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_kernel_ctx_t* k;
  hr_async_t* done;
  const lent_t* lent;
  hr_slot_t slots[2]; /* the value on the host, and a spare */
} lent_send_t;

static void send_now(lent_send_t* s, hr_status_t take_failure) {
  hr_async_t* done = s->done;
  hr_kernel_ctx_t k = *s->k;
  k.site = &s->lent->inner;
  k.slots = s->slots;
  k.spare = &s->slots[1];
  hr_status_t status = take_failure ? take_failure : s->lent->inner.compute(&k);
  hr_tensor_release(&s->slots[0].value);
  hr_free(s);
  done->finish(done, status);
}

static void copied_out(void* arg, int code, const char* message) {
  lent_send_t* s = arg;
  send_now(s, hr_device_failure(s->lent->unit, "copying a value to the host", code, message));
}

static void lend_send(hr_kernel_ctx_t* k, hr_async_t* done) {
  const lent_t* l = hr_prepared(k);
  lent_send_t* s = hr_alloc_zero(sizeof *s);
  if (!s) {
    done->finish(done, hr_status_out_of_memory());
    return;
  }
  *s = (lent_send_t){.k = k, .done = done, .lent = l};
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

static void lend_unprepare(void* prepared) {
  lent_t* l = prepared;
  if (l->inner.prepared && l->inner.kernel->unprepare) l->inner.kernel->unprepare(l->inner.prepared);
}

static const hr_kernel_t lent_kernel = {.start = lend_start, .prepared_bytes = sizeof(lent_t), .unprepare = lend_unprepare};
static const hr_kernel_t lent_sender = {.start = lend_send, .prepared_bytes = sizeof(lent_t), .unprepare = lend_unprepare};

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

hr_status_t hr_lend_site(hr_arena_t* arena, const hr_device_t* device, hr_site_t* site, const hr_node_t* n) {
  const int class = n->attrs.def->node_class;
  const bool is_send = class == HR_NODE_SEND || class == HR_NODE_HOST_SEND;
  if (class == HR_NODE_RECV || class == HR_NODE_HOST_RECV || hr_node_class_is_control_flow(class)) return NULL;
  if (!is_send && site->in_count + site->out_count == 0) return NULL;
  if (site->kernel->start)
    return HR_ERROR(UNIMPLEMENTED, "its kernel is asynchronous and cannot be lent to %s; place it on a CPU", device->name);
  lent_t* l = hr_arena_array(arena, 1, sizeof *l);
  if (!l) return hr_status_out_of_memory();
  HR_TRY(number_slots(arena, site, &l->inner));
  l->unit = device->state;
  l->stream = hr_device_unit_queues(l->unit)->streams[(uint32_t)n->id % HR_DEVICE_STREAMS];
  site->kernel = is_send ? &lent_sender : &lent_kernel;
  site->prepared = l;
  return NULL;
}
