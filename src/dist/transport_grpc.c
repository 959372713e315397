/* SPDX-License-Identifier: Apache-2.0 */
/* libheadrace_grpc.so on gRPC's C core: the table, the queue and its threads, slices both ways.
 *
 * A slice that is sent borrows its owner's memory until gRPC has written it; a slice that is received stays gRPC's until it is released.
 * Surprise: a small slice lies within the grpc_slice itself, so received slices are kept in one block that stays where it is. */
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "dist/transport_grpc_parts.h"

const hr_transport_grpc_host_t* hr_transport_grpc_host;

/* --- threads ------------------------------------------------------------------------------------------------------------------------- */

/* One queue for all that the process calls and serves, and one thread that takes its events: with two, gRPC wakes one at each event of the
 * other's, which costs more than most events are worth. While messages are large a helper joins, so that one is copied while the bytes of
 * another come in. */
enum { LARGE_BYTES = 1 << 17, HELPED_EVENTS = 64 };
static pthread_once_t queue_once = PTHREAD_ONCE_INIT;
static grpc_completion_queue* queue; /* lives as long as the process */
static hr_status_t queue_failure;
static pthread_mutex_t help_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t help_wanted = PTHREAD_COND_INITIALIZER;
static atomic_int helped; /* events that the helper is still to stay for */
static _Thread_local bool is_queue_thread;

bool hr_transport_grpc_is_thread(void) { return is_queue_thread; }

static void take_event(void) {
  const grpc_event e = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
  if (atomic_load_explicit(&helped, memory_order_relaxed) > 0) atomic_fetch_sub_explicit(&helped, 1, memory_order_relaxed);
  if (e.type != GRPC_OP_COMPLETE) return;
  hr_transport_grpc_tag_t* tag = e.tag;
  tag->ended(tag, e.success != 0);
}

static void* serve_queue(void* arg) {
  (void)arg;
  is_queue_thread = true;
  for (;;) take_event();
  return NULL;
}

static void* help_queue(void* arg) {
  (void)arg;
  is_queue_thread = true;
  for (;;) {
    pthread_mutex_lock(&help_mutex);
    while (atomic_load(&helped) <= 0) pthread_cond_wait(&help_wanted, &help_mutex);
    pthread_mutex_unlock(&help_mutex);
    while (atomic_load_explicit(&helped, memory_order_relaxed) > 0) take_event();
  }
  return NULL;
}

static void want_help(void) {
  if (atomic_exchange(&helped, HELPED_EVENTS) > 0) return;
  pthread_mutex_lock(&help_mutex);
  pthread_cond_signal(&help_wanted);
  pthread_mutex_unlock(&help_mutex);
}

static bool start_thread(void* (*run)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL)) return false;
  (void)pthread_setname_np(thread, "hr-grpc");
  pthread_detach(thread);
  return true;
}

static void start_queue(void) {
  queue = grpc_completion_queue_create_for_next(NULL);
  if (!start_thread(serve_queue)) queue_failure = GRPC_PART_ERROR(RESOURCE_EXHAUSTED, "cannot start a thread for calls between tasks");
  else (void)start_thread(help_queue); /* without it one does all */
}

hr_status_t hr_transport_grpc_queue(grpc_completion_queue** out) {
  pthread_once(&queue_once, start_queue);
  *out = queue;
  if (!queue_failure) return NULL;
  return GRPC_PART_ERROR(RESOURCE_EXHAUSTED, "%s", hr_transport_grpc_host->message_of(queue_failure));
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
  if (grpc_byte_buffer_length(take_buffer) >= LARGE_BYTES) want_help();
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

/* Received bytes lie in malloc's memory, a hundred megabytes now and nothing a moment later. Given back to the system each time, its pages
 * would be faulted in anew for each message. Who has set these for the process is obeyed. */
static void keep_freed_memory(void) {
  enum { KEPT_BYTES = 128 << 20, AHEAD_BYTES = 64 << 20, MAPPED_BYTES = 32 << 20 };
  if (getenv("GLIBC_TUNABLES") || getenv("MALLOC_TRIM_THRESHOLD_") || getenv("MALLOC_TOP_PAD_") || getenv("MALLOC_MMAP_THRESHOLD_")) return;
  (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
  (void)mallopt(M_TOP_PAD, AHEAD_BYTES);
  (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES); /* where malloc's own adapting ends, which setting any of these turns off */
}

static void tell_log(gpr_log_func_args* a) {
  hr_transport_grpc_host->log(a->severity == GPR_LOG_SEVERITY_ERROR ? HR_LOG_INFO : HR_LOG_DEBUG, "gRPC: %s", a->message);
}

const hr_transport_t* hr_transport_grpc_open(const hr_transport_grpc_host_t* host);
const hr_transport_t* hr_transport_grpc_open(const hr_transport_grpc_host_t* host) {
  if (host->abi != HR_TRANSPORT_GRPC_ABI) return NULL;
  hr_transport_grpc_host = host;
  keep_freed_memory();
  gpr_set_log_function(tell_log);
  grpc_init(); /* for good: calls may end on its threads until the process does */
  return &grpc_transport;
}
