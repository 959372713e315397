/* SPDX-License-Identifier: Apache-2.0 */
/* An edge between two partitions: _Send puts its input, or the news that it is dead, under a key of the step's rendezvous; _Recv waits for
 * it without keeping a thread. The partitioner makes the pairs; the _Host forms are the same on host memory. Both run whether or not what
 * they wait for is dead. The key names devices, edge, frame and iteration (rt/rendezvous_key.h). */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "rt/async.h"
#include "rt/rendezvous.h"
#include "rt/step.h"

extern const hr_op_t hr_op__Send, hr_op__Recv, hr_op__HostSend, hr_op__HostRecv;

/* 1. keys: all but frame and iteration is known when the plan is made */
typedef struct {
  char* start; /* "source;incarnation;destination;name;" */
  size_t size;
} edge_t;

static hr_status_t edge_prepare(hr_prepare_ctx_t* p, void* prepared) {
  edge_t* e = prepared;
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  const hr_str_t from = hr_attrs_str(p->attrs, "send_device"), to = hr_attrs_str(p->attrs, "recv_device"),
                 name = hr_attrs_str(p->attrs, "tensor_name");
  hr_strbuf_format(&b, "%.*s;%016llx;%.*s;%.*s;", HR_STR_ARG(from), (unsigned long long)hr_attrs_int(p->attrs, "send_device_incarnation"),
                   HR_STR_ARG(to), HR_STR_ARG(name));
  hr_status_t status = hr_strbuf_take(&b, &e->start, &e->size);
  hr_strbuf_deinit(&b);
  return status;
}

static void edge_unprepare(void* prepared) { hr_free(((edge_t*)prepared)->start); }

static hr_status_t edge_rendezvous(const hr_kernel_ctx_t* k, hr_rendezvous_t** out) {
  *out = k->step->rendezvous;
  return *out ? NULL : HR_ERROR(FAILED_PRECONDITION, "the step has no rendezvous, so there is nobody to exchange values with");
}

static void edge_key(const hr_kernel_ctx_t* k, hr_strbuf_t* out) {
  const edge_t* e = hr_prepared(k);
  hr_strbuf_add(out, e->start, e->size);
  hr_strbuf_format(out, "%llu:%lld", (unsigned long long)k->frame_id, (long long)k->iteration);
}

/* 2. kernels */
static hr_status_t send(hr_kernel_ctx_t* k) {
  hr_rendezvous_t* r;
  hr_strbuf_t key;
  HR_TRY(edge_rendezvous(k, &r));
  hr_strbuf_init(&key);
  edge_key(k, &key);
  hr_status_t status =
      key.failed ? hr_status_out_of_memory() : hr_rendezvous_send(r, hr_strbuf_view(&key), k->is_dead ? NULL : hr_input(k, 0), k->is_dead);
  hr_strbuf_deinit(&key);
  return status;
}

typedef struct {
  hr_rendezvous_waiter_t waiter;
  hr_kernel_ctx_t* k;
  hr_async_t* done;
} receive_t;

static void received(hr_rendezvous_waiter_t* self, hr_status_t take_status, hr_tensor_t* take_value, bool is_dead) {
  receive_t* r = (receive_t*)self;
  hr_kernel_ctx_t* k = r->k;
  hr_async_t* done = r->done;
  hr_free(r);
  if (!take_status && !is_dead && take_value->dtype != hr_output_dtype(k, 0))
    take_status = HR_ERROR(INVALID_ARGUMENT, "what was sent is of type %s, but the receiver is of type %s",
                           hr_dtype_name((int)take_value->dtype), hr_dtype_name((int)hr_output_dtype(k, 0)));
  if (take_status) {
    if (take_value) hr_tensor_release(take_value);
  } else if (is_dead)
    k->is_dead = true;
  else
    hr_output_move(k, 0, take_value);
  done->finish(done, take_status);
}

static void recv_start(hr_kernel_ctx_t* k, hr_async_t* done) {
  hr_rendezvous_t* from;
  hr_strbuf_t key;
  hr_strbuf_init(&key);
  hr_status_t status = edge_rendezvous(k, &from);
  receive_t* r = status ? NULL : hr_alloc(sizeof *r);
  if (r) edge_key(k, &key);
  if (!r || key.failed) {
    if (!status) status = hr_status_out_of_memory();
    hr_free(r);
    hr_strbuf_deinit(&key);
    done->finish(done, status);
    return;
  }
  *r = (receive_t){.waiter.done = received, .k = k, .done = done};
  hr_rendezvous_receive(from, hr_strbuf_view(&key), &r->waiter); /* k and r may be gone afterwards */
  hr_strbuf_deinit(&key);
}

/* 3. definitions */
#define EDGE_ATTRS \
  "tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; client_terminated: bool = false"
#define EDGE(Name, sig_text, type_attr, infer_fn, run, text)                                                                               \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                                             \
                                .sig = sig_text,                                                                                           \
                                .attrs = type_attr ": type; " EDGE_ATTRS,                                                                  \
                                .flags = HR_OP_STATEFUL,                                                                                   \
                                .shape = infer_fn,                                                                                         \
                                HR_KERNELS({.prepared_bytes = sizeof(edge_t), .prepare = edge_prepare, .unprepare = edge_unprepare, run}), \
                                .doc = text,                                                                                               \
                                HR_HERE}
EDGE(_Send, "tensor: T ->", "T", hr_infer_none, .compute = send, "hands the tensor to the _Recv of the same name on recv_device");
EDGE(_HostSend, "tensor: T ->", "T", hr_infer_none, .compute = send, "the same from host memory");
EDGE(_Recv, "-> tensor: tensor_type", "tensor_type", hr_infer_any, .start = recv_start, "what the _Send of the same name gave");
EDGE(_HostRecv, "-> tensor: tensor_type", "tensor_type", hr_infer_any, .start = recv_start, "the same into host memory");
