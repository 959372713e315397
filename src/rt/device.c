/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of devices: made whole, then shared. Names are parsed once, here. */
#include "rt/device.h"
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"

hr_status_t hr_device_set_create(hr_device_set_t** out) {
  hr_device_set_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  atomic_init(&s->refs, 1);
  *out = s;
  return NULL;
}

hr_device_set_t* hr_device_set_retain(hr_device_set_t* s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

static void device_destroy(hr_device_t* d) {
  if (!d) return;
  hr_free(d->name);
  hr_free(d->type);
  hr_free(d);
}

void hr_device_set_release(hr_device_set_t* s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  for (int32_t i = 0; i < s->count; ++i) device_destroy(s->devices[i]);
  hr_free(s->devices);
  hr_free(s);
}

static hr_status_t device_create(hr_str_t full_name, hr_device_t** out) {
  hr_device_t* d = hr_alloc_zero(sizeof *d);
  if (!d || !(d->name = hr_alloc_copy(full_name.data, full_name.size))) {
    device_destroy(d);
    return hr_status_out_of_memory();
  }
  hr_status_t status = hr_device_name_parse(hr_str(d->name), &d->parts);
  if (!status && !hr_device_name_is_full(&d->parts))
    status = HR_ERROR(INVALID_ARGUMENT, "'%s' is not a full device name, as /job:NAME/replica:N/task:N/device:TYPE:N is", d->name);
  if (!status && !(d->type = hr_alloc_copy(d->parts.type.data, d->parts.type.size))) status = hr_status_out_of_memory();
  if (status) device_destroy(d);
  else *out = d;
  return status;
}

hr_status_t hr_device_set_add(hr_device_set_t* s, hr_str_t full_name, uint64_t incarnation, int64_t memory_limit, bool is_remote) {
  hr_device_t** grown = hr_alloc_resize(s->devices, ((size_t)s->count + 1) * sizeof *grown);
  if (!grown) return hr_status_out_of_memory();
  s->devices = grown;
  hr_device_t* d = NULL;
  HR_TRY(device_create(full_name, &d));
  d->incarnation = incarnation;
  d->memory_limit = memory_limit;
  d->is_remote = is_remote;
  s->devices[s->count++] = d;
  return NULL;
}

hr_status_t hr_device_set_add_cpus(hr_device_set_t* s, hr_str_t task, int32_t count, uint64_t incarnation) {
  if (count < 0 || count > HR_DEVICE_MOST_CPUS)
    return HR_ERROR(INVALID_ARGUMENT, "%d CPU devices are asked for; there may be 1 to %d", (int)count, HR_DEVICE_MOST_CPUS);
  for (int32_t i = 0; i < (count ? count : 1); ++i) {
    hr_strbuf_t name;
    hr_strbuf_init(&name);
    hr_strbuf_format(&name, "%.*s/device:CPU:%d", HR_STR_ARG(task), (int)i);
    hr_status_t status = name.failed ? hr_status_out_of_memory() : NULL;
    if (!status)
      status = hr_device_set_add(s, hr_strbuf_view(&name), incarnation ? incarnation : hr_device_new_incarnation(), HR_DEVICE_CPU_MEMORY,
                                 false);
    hr_strbuf_deinit(&name);
    HR_TRY(status);
  }
  return NULL;
}

int32_t hr_device_set_find(const hr_device_set_t* s, hr_str_t full_name) {
  for (int32_t i = 0; i < s->count; ++i)
    if (hr_str_equal(hr_str(s->devices[i]->name), full_name)) return i;
  return -1;
}

bool hr_device_same_task(const hr_device_t* a, const hr_device_t* b) {
  return hr_device_name_same_task(&a->parts, &b->parts);
}

/* Unique in this process by the counter, between processes by id, clock and the address space's layout. */
uint64_t hr_device_new_incarnation(void) {
  static _Atomic uint64_t counter;
  uint64_t h = hr_hash_mix((uint64_t)getpid(), (uint64_t)hr_clock_wall_ns());
  h = hr_hash_mix(h, (uint64_t)(uintptr_t)&counter);
  h = hr_hash_mix(h, atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed));
  return h ? h : 1;
}
