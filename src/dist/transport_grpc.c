/* SPDX-License-Identifier: Apache-2.0 */
/* libheadrace_grpc.so on gRPC's C core: the table, the queues' threads, slices both ways.
 *
 * A slice that is sent borrows its owner's memory until gRPC has written it; a slice that is received stays gRPC's until it is released.
 * Surprise: a small slice lies within the grpc_slice itself, so received slices are kept in one block that stays where it is. */
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdatomic.h>
#include "dist/transport_grpc_parts.h"

const hr_transport_grpc_host_t* hr_transport_grpc_host;

/* --- threads ------------------------------------------------------------------------------------------------------------------------- */

enum { QUEUE_THREADS = 2 };
typedef struct {
  grpc_completion_queue* queue;
  atomic_int threads;
} queue_service_t;
static _Thread_local bool is_queue_thread;

bool hr_transport_grpc_is_thread(void) { return is_queue_thread; }

static void end_service(queue_service_t* s) {
  if (atomic_fetch_sub(&s->threads, 1) != 1) return;
  grpc_completion_queue_destroy(s->queue);
  hr_transport_grpc_host->free(s);
}

static void* serve_queue(void* arg) {
  queue_service_t* s = arg;
  is_queue_thread = true;
  for (;;) {
    const grpc_event e = grpc_completion_queue_next(s->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    if (e.type == GRPC_QUEUE_SHUTDOWN) break;
    if (e.type != GRPC_OP_COMPLETE) continue;
    hr_transport_grpc_tag_t* tag = e.tag;
    tag->ended(tag, e.success != 0);
  }
  end_service(s);
  return NULL;
}

hr_status_t hr_transport_grpc_serve(grpc_completion_queue* take_queue) {
  queue_service_t* s = hr_transport_grpc_host->alloc(sizeof *s);
  if (!s) {
    grpc_completion_queue_shutdown(take_queue);
    grpc_completion_queue_destroy(take_queue);
    return hr_transport_grpc_host->out_of_memory();
  }
  s->queue = take_queue;
  atomic_init(&s->threads, QUEUE_THREADS);
  int started = 0;
  for (pthread_t thread; started < QUEUE_THREADS && pthread_create(&thread, NULL, serve_queue, s) == 0; ++started) {
    (void)pthread_setname_np(thread, "hr-grpc");
    pthread_detach(thread);
  }
  if (started == QUEUE_THREADS) return NULL;
  if (started == 0) grpc_completion_queue_shutdown(take_queue);
  for (int i = started; i < QUEUE_THREADS; ++i) end_service(s);
  return started ? NULL : GRPC_PART_ERROR(RESOURCE_EXHAUSTED, "cannot start a thread for calls between tasks");
}

/* --- slices -------------------------------------------------------------------------------------------------------------------------- */

typedef struct kept_slices kept_slices_t;
typedef struct {
  grpc_slice slice;
  kept_slices_t* block;
} kept_slice_t;
struct kept_slices {
  atomic_int refs;
  kept_slice_t slices[];
};

static void release_kept(void* owner) {
  kept_slice_t* k = owner;
  kept_slices_t* block = k->block;
  grpc_slice_unref(k->slice);
  if (atomic_fetch_sub(&block->refs, 1) == 1) hr_transport_grpc_host->free(block);
}

enum { SLICES_AT_ONCE = 16, COPIED_BYTES = 256 }; /* shorter ones are copied: cheaper than a count of references */

static grpc_slice slice_of(hr_slice_t* take) {
  if (take->size <= COPIED_BYTES || !take->release) {
    grpc_slice s = take->release ? grpc_slice_from_copied_buffer(take->data, take->size)
                                 : grpc_slice_from_static_buffer(take->data, take->size);
    if (take->release) take->release(take->owner);
    return s;
  }
  return grpc_slice_new_with_user_data((void*)(uintptr_t)take->data, take->size, take->release, take->owner);
}

grpc_byte_buffer* hr_transport_grpc_pack(hr_message_t* take_message) {
  grpc_slice few[SLICES_AT_ONCE];
  grpc_slice* slices = few;
  const size_t count = (size_t)take_message->count;
  if (count > SLICES_AT_ONCE && !(slices = hr_transport_grpc_host->alloc(count * sizeof *slices))) {
    hr_transport_grpc_host->message_deinit(take_message);
    return NULL;
  }
  for (size_t i = 0; i < count; ++i) slices[i] = slice_of(&take_message->slices[i]);
  grpc_byte_buffer* buffer = grpc_raw_byte_buffer_create(slices, count); /* counts each again */
  for (size_t i = 0; i < count; ++i) grpc_slice_unref(slices[i]);
  if (slices != few) hr_transport_grpc_host->free(slices);
  hr_transport_grpc_host->free(take_message->slices);
  *take_message = (hr_message_t){0};
  return buffer;
}

static size_t room_for(size_t count) {
  size_t room = 1;
  while (room < count) room *= 2;
  return room;
}

static hr_status_t keep_slices(const grpc_slice* slices, size_t count, hr_message_t* out) {
  kept_slices_t* block = hr_transport_grpc_host->alloc(sizeof *block + count * sizeof block->slices[0]);
  hr_slice_t* list = hr_transport_grpc_host->alloc(room_for(count) * sizeof *list);
  if (!block || !list || count > INT32_MAX / 4) {
    hr_transport_grpc_host->free(block);
    hr_transport_grpc_host->free(list);
    return hr_transport_grpc_host->out_of_memory();
  }
  atomic_init(&block->refs, (int)count);
  for (size_t i = 0; i < count; ++i) {
    kept_slice_t* k = &block->slices[i];
    k->slice = grpc_slice_ref(slices[i]);
    k->block = block;
    list[i] = (hr_slice_t){GRPC_SLICE_START_PTR(k->slice), GRPC_SLICE_LENGTH(k->slice), release_kept, k};
  }
  *out = (hr_message_t){list, (int32_t)count};
  return NULL;
}

/* A compressed message, as one slice. */
static hr_status_t unpack_compressed(grpc_byte_buffer* buffer, hr_message_t* out) {
  grpc_byte_buffer_reader reader;
  if (!grpc_byte_buffer_reader_init(&reader, buffer)) return GRPC_PART_ERROR(INTERNAL, "a compressed message that does not decompress");
  grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
  hr_status_t status = keep_slices(&all, 1, out);
  grpc_slice_unref(all);
  grpc_byte_buffer_reader_destroy(&reader);
  return status;
}

hr_status_t hr_transport_grpc_unpack(grpc_byte_buffer* take_buffer, hr_message_t* out) {
  *out = (hr_message_t){0};
  if (!take_buffer) return NULL;
  hr_status_t status = NULL;
  if (take_buffer->type == GRPC_BB_RAW && take_buffer->data.raw.compression != GRPC_COMPRESS_NONE)
    status = unpack_compressed(take_buffer, out);
  else if (take_buffer->data.raw.slice_buffer.count)
    status = keep_slices(take_buffer->data.raw.slice_buffer.slices, take_buffer->data.raw.slice_buffer.count, out);
  grpc_byte_buffer_destroy(take_buffer);
  return status;
}

char* hr_transport_grpc_text(hr_str_t s) {
  char* text = hr_transport_grpc_host->alloc(s.size + 1);
  if (text && s.size) memcpy(text, s.data, s.size);
  return text;
}

/* --- the table ----------------------------------------------------------------------------------------------------------------------- */

static const hr_transport_t grpc_transport = {"grpc",
                                              hr_transport_grpc_connect,
                                              hr_transport_grpc_disconnect,
                                              hr_transport_grpc_call,
                                              hr_transport_grpc_cancel,
                                              hr_transport_grpc_listen,
                                              hr_transport_grpc_reply,
                                              hr_transport_grpc_stop};

static void tell_log(gpr_log_func_args* a) {
  hr_transport_grpc_host->log(a->severity == GPR_LOG_SEVERITY_ERROR ? HR_LOG_INFO : HR_LOG_DEBUG, "gRPC: %s", a->message);
}

const hr_transport_t* hr_transport_grpc_open(const hr_transport_grpc_host_t* host);
const hr_transport_t* hr_transport_grpc_open(const hr_transport_grpc_host_t* host) {
  if (host->abi != HR_TRANSPORT_GRPC_ABI) return NULL;
  hr_transport_grpc_host = host;
  gpr_set_log_function(tell_log);
  grpc_init(); /* for good: calls may end on its threads until the process does */
  return &grpc_transport;
}
