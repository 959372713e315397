/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and units. A table is copied, so that one compiled with a shorter struct reads as if its newer functions were NULL. */
#include "rt/device_table.h"
#include "base/alloc.h"
#include "base/sync.h"

struct hr_device_unit {
  hr_device_unit_t* next;       /* of the same table */
  int32_t ordinal;
  hr_device_queues_t queues;
  const char* type;
};

typedef struct device_kind {
  struct device_kind* next;
  HR_DeviceTable table;
  hr_device_unit_t* units;
} device_kind_t;

static hr_mutex_t kinds_mu = HR_MUTEX_INIT;
static device_kind_t *kinds, **last_kind = &kinds; /* guarded by kinds_mu; nothing is ever taken out */

/* --- tables --------------------------------------------------------------------------------------------------------------------------- */

static const char* missing_function(const HR_DeviceTable* t) {
  if (!t->open) return "open";
  if (!t->allocate || !t->deallocate) return "allocate and deallocate";
  if (!t->stream_create || !t->stream_destroy) return "stream_create and stream_destroy";
  if (!t->event_create || !t->event_destroy || !t->event_record || !t->stream_wait) return "the four functions of events";
  if (!t->copy_to_device || !t->copy_to_host) return "the two copies";
  if (!t->launch_host != !t->translate) return "one of launch_host and translate";
  if (!t->launch_host && !t->stream_notify)
    return "a way to run kernels: stream_notify for its own, launch_host and translate for the host's";
  return NULL;
}

static bool type_is_legal(const char* type) {
  if (!type || !*type) return false;
  for (const char* c = type; *c; ++c)
    if (!(*c == '_' || (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z'))) return false;
  return strcmp(type, "CPU") != 0 && strcmp(type, "cpu") != 0;
}

static hr_status_t check_table(const HR_DeviceTable* t) {
  if (!type_is_legal(t->type))
    return HR_ERROR(INVALID_ARGUMENT, "'%s' is not a device type: letters, digits and underscores, and not CPU", t->type ? t->type : "");
  if (t->count < 0 || t->count > 1024) return HR_ERROR(INVALID_ARGUMENT, "device type %s has %d devices", t->type, (int)t->count);
  const char* missing = missing_function(t);
  return missing ? HR_ERROR(INVALID_ARGUMENT, "device type %s lacks %s", t->type, missing) : NULL;
}

static device_kind_t* find_kind(const char* type) {
  device_kind_t* k = kinds;
  while (k && strcmp(k->table.type, type) != 0) k = k->next;
  return k;
}

hr_status_t hr_device_table_register(const HR_DeviceTable* table) {
  if (!table || table->struct_size < offsetof(HR_DeviceTable, open))
    return HR_ERROR(INVALID_ARGUMENT, "the device table is missing or its struct_size is not set");
  device_kind_t* k = hr_alloc_zero(sizeof *k);
  if (!k) return hr_status_out_of_memory();
  memcpy(&k->table, table, table->struct_size < sizeof k->table ? table->struct_size : sizeof k->table);
  hr_status_t status = check_table(&k->table);
  hr_mutex_lock(&kinds_mu);
  if (!status && find_kind(k->table.type)) status = HR_ERROR(ALREADY_EXISTS, "device type %s is registered already", k->table.type);
  if (!status) {
    *last_kind = k;
    last_kind = &k->next;
  }
  hr_mutex_unlock(&kinds_mu);
  if (status) hr_free(k);
  return status;
}

/* --- units ---------------------------------------------------------------------------------------------------------------------------- */

hr_status_t hr_device_failure(const hr_device_unit_t* u, const char* what, int code, const char* message) {
  if (code == 0) return NULL;
  const hr_code_t known = code > 0 && code <= 16 ? (hr_code_t)code : HR_INTERNAL;
  return hr_status_create(known, __FILE__, __LINE__, "device %s:%d: %s: %s", u->type, (int)u->ordinal, what,
                          message ? message : "no reason given");
}

static hr_status_t open_stream(hr_device_unit_t* u, void** out) {
  const char* message = NULL;
  const hr_device_queues_t* q = &u->queues;
  const int code = q->table->stream_create(q->device, out, &message);
  return hr_device_failure(u, "making a stream", code, message);
}

static hr_status_t open_unit(hr_device_unit_t* u) {
  hr_device_queues_t* q = &u->queues;
  const char* message = NULL;
  const int code = q->table->open(q->table->ext, u->ordinal, &q->device, &message);
  HR_TRY(hr_device_failure(u, "opening it", code, message));
  HR_TRY(open_stream(u, &q->in));
  HR_TRY(open_stream(u, &q->out));
  for (int i = 0; i < HR_DEVICE_STREAMS; ++i) HR_TRY(open_stream(u, &q->streams[i]));
  return NULL;
}

/* With kinds_mu held. A device that cannot be opened is tried again by the next session; what it had made is then the device's. */
static hr_status_t get_unit(device_kind_t* k, int32_t ordinal, hr_device_unit_t** out) {
  for (*out = k->units; *out; *out = (*out)->next)
    if ((*out)->ordinal == ordinal) return NULL;
  hr_device_unit_t* u = hr_alloc_zero(sizeof *u);
  if (!u) return hr_status_out_of_memory();
  u->ordinal = ordinal;
  u->type = k->table.type;
  u->queues.table = &k->table;
  hr_status_t status = open_unit(u);
  if (status) {
    hr_free(u);
    return status;
  }
  u->next = k->units;
  *out = k->units = u;
  return NULL;
}

static hr_status_t add_unit(hr_device_set_t* s, hr_str_t task, device_kind_t* k, int32_t ordinal) {
  hr_device_unit_t* u;
  hr_strbuf_t name;
  HR_TRY(get_unit(k, ordinal, &u));
  hr_strbuf_init(&name);
  hr_strbuf_format(&name, "%.*s/device:%s:%d", HR_STR_ARG(task), k->table.type, (int)ordinal);
  const int64_t limit = k->table.memory_limit ? k->table.memory_limit(u->queues.device) : 0;
  hr_status_t status = name.failed ? hr_status_out_of_memory() : hr_device_set_add(s, hr_strbuf_view(&name), 1, limit, false);
  hr_strbuf_deinit(&name);
  if (status) return status;
  s->devices[s->count - 1]->table = &k->table;
  s->devices[s->count - 1]->state = u;
  return NULL;
}

hr_status_t hr_device_table_add_all(hr_device_set_t* s, hr_str_t task) {
  hr_status_t status = NULL;
  hr_mutex_lock(&kinds_mu);
  for (device_kind_t* k = kinds; k && !status; k = k->next)
    for (int32_t i = 0; i < k->table.count && !status; ++i) status = add_unit(s, task, k, i);
  hr_mutex_unlock(&kinds_mu);
  return status;
}

const hr_device_queues_t* hr_device_unit_queues(const hr_device_unit_t* u) { return &u->queues; }

hr_status_t hr_device_unit_order(const hr_device_unit_t* u, void* stream, void* before) {
  const hr_device_queues_t* q = &u->queues;
  const char* message = NULL;
  void* event = NULL;
  int code = q->table->event_create(q->device, &event, &message);
  HR_TRY(hr_device_failure(u, "making an event", code, message));
  code = q->table->event_record(q->device, before, event, &message);
  hr_status_t status = hr_device_failure(u, "recording an event", code, message);
  if (!status) {
    code = q->table->stream_wait(q->device, stream, event, &message);
    status = hr_device_failure(u, "waiting for an event", code, message);
  }
  q->table->event_destroy(q->device, event);
  return status;
}

/* --- memory --------------------------------------------------------------------------------------------------------------------------- */

static void free_device_memory(void* data, size_t bytes, void* arg) {
  const hr_device_unit_t* u = arg;
  (void)bytes;
  u->queues.table->deallocate(u->queues.device, data);
}

bool hr_device_unit_owns(const hr_device_unit_t* u, const hr_tensor_t* t) {
  return t->buffer && t->buffer->free_fn == free_device_memory && t->buffer->free_arg == u;
}

hr_status_t hr_device_unit_tensor(hr_device_unit_t* u, const hr_tensor_t* like, hr_tensor_t* out) {
  const size_t bytes = hr_tensor_bytes(like);
  void* address = u->queues.table->allocate(u->queues.device, bytes, NULL);
  if (!address)
    return HR_ERROR(RESOURCE_EXHAUSTED, "device %s:%d has no %lld bytes left", u->type, (int)u->ordinal, (long long)bytes);
  hr_status_t status = hr_tensor_borrow(like->dtype, &like->shape, address, bytes, true, free_device_memory, u, out);
  if (status) u->queues.table->deallocate(u->queues.device, address);
  return status;
}
