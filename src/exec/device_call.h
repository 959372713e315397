/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a node on a device with memory of its own, whoever's kernel it is: inputs that lie in host memory are copied in, the kernel
 * works on slots of the call's own, and when the launch and all copies have told that they are done, on whatever thread tells last, the
 * outputs are set and the node has ended. The step's own slots are not touched before, so the executor's thread is not raced. */
#ifndef HR_EXEC_DEVICE_CALL_H
#define HR_EXEC_DEVICE_CALL_H
#include "base/arena.h"
#include "op/kernel_ctx.h"
#include "rt/async.h"
#include "rt/device_table.h"

typedef struct {
  hr_site_t inner;             /* over a call's own slots: inputs, outputs, spare */
  hr_device_unit_t* unit;
  void* stream;
} hr_device_site_t;

typedef struct hr_device_call {
  hr_kernel_ctx_t* k;
  hr_async_t* done;
  const hr_device_site_t* site;
  hr_tensor_t* device_inputs;  /* shares of inputs on the device, or copies that this call made; empty: the host's value is used */
  hr_tensor_t* outputs;        /* what the kernel gave */
  hr_slot_t* slots;
  atomic_int left;             /* ends still to come */
  _Atomic(hr_status_t) failure; /* the first */
  void (*before_end)(struct hr_device_call* c); /* gives back what a kind of call keeps besides; may be NULL */
} hr_device_call_t;

/* Fills a site of the device's from a node's: prepared memory and kernel stay in `inner`. node_id chooses the stream. */
HR_MUST_USE hr_status_t hr_device_site_init(hr_arena_t* arena, hr_device_unit_t* unit, int64_t node_id, const hr_site_t* site,
                                            hr_device_site_t* out);
void hr_device_site_unprepare(void* site); /* a kernel row's `unprepare`: the inner kernel's */

/* A call of `bytes` in all, which begin with hr_device_call_t; it has one end to come, the caller's. NULL: out of memory. */
hr_device_call_t* hr_device_call_create(size_t bytes, const hr_device_site_t* site, hr_kernel_ctx_t* k, hr_async_t* done);
/* Input i on the device: a share, or a copy that begins now and has an end of its own; *io_copies is then set. */
HR_MUST_USE hr_status_t hr_device_call_bring(hr_device_call_t* c, int32_t i, bool* io_copies);
/* The context in which the kernel works. */
hr_kernel_ctx_t hr_device_call_context(hr_device_call_t* c);
void hr_device_call_expect(hr_device_call_t* c);                         /* one more end to come */
void hr_device_call_fail(hr_device_call_t* c, hr_status_t take_status);  /* NULL is fine */
void hr_device_call_end_one(hr_device_call_t* c);                        /* the last one frees the call */
void hr_device_call_ran(void* call, int code, const char* message);      /* HR_DeviceDone of the kernel: fail and end_one */
#endif
