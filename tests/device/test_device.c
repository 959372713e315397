/* SPDX-License-Identifier: Apache-2.0 */
/* A device for tests, of type TEST, that keeps the rules of include/headrace/device.h as a GPU does and so finds who breaks them.
 *
 * Its memory is one file mapped twice: the addresses that the host gets lie in a view without any access (whoever reads or writes there
 * dies of it), the device's own threads use another view. Every stream is a thread; work begins and ends after random small delays, so
 * streams overtake each other. HEADRACE_TEST_DEVICE_SEED makes the delays others. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "headrace/device.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 2, CLASSES = 40, ALIGNMENT = 64 };
static const size_t memory_bytes = (size_t)4 << 30; /* of addresses; pages come when touched */

typedef struct block {
  struct block* next;
  size_t offset;
} block_t;

typedef struct {
  pthread_mutex_t mu;
  char *host_view, *own_view;
  size_t used;
  block_t* free_blocks[CLASSES]; /* of 2^class bytes; the blocks are the host's memory, only offsets lie there */
  unsigned char* class_of;       /* by unit of ALIGNMENT bytes, of each block's first */
  atomic_uint random;
} device_t;

typedef struct { /* shared by the event and the marks and waits that are under way */
  atomic_int refs;
  pthread_mutex_t mu;
  pthread_cond_t passed;
  bool is_passed;
} mark_t;
typedef struct {
  mark_t* mark; /* of the last record; NULL: never recorded, which nobody waits for */
} event_t;

typedef enum { COPY, LAUNCH, MARK, WAIT, QUIT } kind_t;
typedef struct work {
  struct work* next;
  kind_t kind;
  void* to;
  const void* from;
  size_t bytes;
  void (*kernel)(void* arg);
  void* arg;
  mark_t* mark;
  HR_DeviceDone done;
  void* done_arg;
} work_t;

typedef struct {
  device_t* device;
  pthread_t thread;
  pthread_mutex_t mu;
  pthread_cond_t given;
  work_t *first, **last; /* guarded by mu */
} stream_t;

/* --- memory --------------------------------------------------------------------------------------------------------------------------- */

static void* translate(void* device, const void* address) {
  device_t* d = device;
  const size_t offset = (size_t)((const char*)address - d->host_view);
  return offset < memory_bytes ? d->own_view + offset : NULL;
}

static int class_for(size_t bytes) {
  int class = 6;
  while (((size_t)1 << class) < bytes) ++class;
  return class;
}

static void* allocate(void* device, size_t bytes, const HR_AllocatorAttributes* attributes) {
  device_t* d = device;
  const int class = class_for(bytes ? bytes : 1);
  void* address = NULL;
  (void)attributes;
  if (class >= CLASSES) return NULL;
  pthread_mutex_lock(&d->mu);
  block_t* b = d->free_blocks[class];
  if (b) {
    d->free_blocks[class] = b->next;
    address = d->host_view + b->offset;
    free(b);
  } else if (d->used + ((size_t)1 << class) <= memory_bytes) {
    address = d->host_view + d->used;
    d->class_of[d->used / ALIGNMENT] = (unsigned char)class;
    d->used += (size_t)1 << class;
  }
  pthread_mutex_unlock(&d->mu);
  if (address) memset(translate(d, address), 0xa5, bytes < 64 ? bytes : 64); /* nobody finds zeroes by luck */
  return address;
}

static void deallocate(void* device, void* address) {
  device_t* d = device;
  block_t* b = malloc(sizeof *b);
  if (!b) return; /* lost to the device */
  pthread_mutex_lock(&d->mu);
  b->offset = (size_t)((char*)address - d->host_view);
  const int class = d->class_of[b->offset / ALIGNMENT];
  b->next = d->free_blocks[class];
  d->free_blocks[class] = b;
  pthread_mutex_unlock(&d->mu);
}

static int64_t memory_limit(void* device) {
  (void)device;
  return (int64_t)memory_bytes;
}

/* --- streams -------------------------------------------------------------------------------------------------------------------------- */

static void random_nap(device_t* d) { /* mostly none, sometimes some, seldom long */
  unsigned r = atomic_fetch_add(&d->random, 0x9e3779b9u);
  r ^= r >> 15, r *= 0x85ebca6bu, r ^= r >> 13;
  const long us = r % 8 ? 0 : r % 256 == 0 ? 500 : (long)(r >> 16) % 40;
  const struct timespec t = {0, us * 1000};
  if (us) nanosleep(&t, NULL);
}

static void release_mark(mark_t* m) {
  if (!m || atomic_fetch_sub(&m->refs, 1) != 1) return;
  pthread_mutex_destroy(&m->mu);
  pthread_cond_destroy(&m->passed);
  free(m);
}

static void do_work(device_t* d, work_t* w) {
  random_nap(d);
  switch (w->kind) {
    case COPY: memcpy(w->to, w->from, w->bytes); break;
    case LAUNCH: w->kernel(w->arg); break;
    case MARK:
      pthread_mutex_lock(&w->mark->mu);
      w->mark->is_passed = true;
      pthread_cond_broadcast(&w->mark->passed);
      pthread_mutex_unlock(&w->mark->mu);
      break;
    case WAIT:
      pthread_mutex_lock(&w->mark->mu);
      while (!w->mark->is_passed) pthread_cond_wait(&w->mark->passed, &w->mark->mu);
      pthread_mutex_unlock(&w->mark->mu);
      break;
    case QUIT: break;
  }
  release_mark(w->mark);
  random_nap(d);
  if (w->done) w->done(w->done_arg, 0, NULL);
}

static work_t* take_work(stream_t* s) {
  pthread_mutex_lock(&s->mu);
  while (!s->first) pthread_cond_wait(&s->given, &s->mu);
  work_t* w = s->first;
  s->first = w->next;
  if (!s->first) s->last = &s->first;
  pthread_mutex_unlock(&s->mu);
  return w;
}

static void* serve_stream(void* arg) {
  stream_t* s = arg;
  for (bool on = true; on;) {
    work_t* w = take_work(s);
    on = w->kind != QUIT;
    do_work(s->device, w);
    free(w);
  }
  return NULL;
}

/* False: out of memory. */
static bool give_work(void* stream, work_t work) {
  stream_t* s = stream;
  work_t* w = malloc(sizeof *w);
  if (!w) return false;
  *w = work;
  w->next = NULL;
  pthread_mutex_lock(&s->mu);
  *s->last = w;
  s->last = &w->next;
  pthread_cond_signal(&s->given);
  pthread_mutex_unlock(&s->mu);
  return true;
}

enum { OUT_OF_MEMORY = 8 };
static int out_of_memory(const char** message) {
  *message = "the host is out of memory";
  return OUT_OF_MEMORY;
}

static int stream_create(void* device, void** out, const char** message) {
  stream_t* s = calloc(1, sizeof *s);
  if (!s) return out_of_memory(message);
  s->device = device;
  s->last = &s->first;
  pthread_mutex_init(&s->mu, NULL);
  pthread_cond_init(&s->given, NULL);
  if (pthread_create(&s->thread, NULL, serve_stream, s)) {
    free(s);
    *message = "no thread for a stream";
    return OUT_OF_MEMORY;
  }
  *out = s;
  return 0;
}

static void stream_destroy(void* device, void* stream) {
  stream_t* s = stream;
  (void)device;
  if (!give_work(s, (work_t){.kind = QUIT})) return;
  pthread_join(s->thread, NULL);
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->given);
  free(s);
}

/* --- events --------------------------------------------------------------------------------------------------------------------------- */

static int event_create(void* device, void** out, const char** message) {
  (void)device;
  *out = calloc(1, sizeof(event_t));
  return *out ? 0 : out_of_memory(message);
}

static void event_destroy(void* device, void* event) {
  (void)device;
  release_mark(((event_t*)event)->mark);
  free(event);
}

static int event_record(void* device, void* stream, void* event, const char** message) {
  event_t* e = event;
  mark_t* m = calloc(1, sizeof *m);
  (void)device;
  if (!m) return out_of_memory(message);
  atomic_init(&m->refs, 2); /* the event's and the work's */
  pthread_mutex_init(&m->mu, NULL);
  pthread_cond_init(&m->passed, NULL);
  release_mark(e->mark);
  e->mark = m;
  if (give_work(stream, (work_t){.kind = MARK, .mark = m})) return 0;
  m->is_passed = true;
  release_mark(m);
  return out_of_memory(message);
}

static int stream_wait(void* device, void* stream, void* event, const char** message) {
  mark_t* m = ((event_t*)event)->mark;
  (void)device;
  if (!m) return 0;
  atomic_fetch_add(&m->refs, 1);
  if (give_work(stream, (work_t){.kind = WAIT, .mark = m})) return 0;
  release_mark(m);
  return out_of_memory(message);
}

/* --- work ----------------------------------------------------------------------------------------------------------------------------- */

static void give_or_fail(void* stream, work_t w) {
  if (!give_work(stream, w)) w.done(w.done_arg, OUT_OF_MEMORY, "the host is out of memory");
}

static void copy_to_device(void* device, void* stream, void* to, const void* from, size_t bytes, HR_DeviceDone done, void* arg) {
  give_or_fail(stream, (work_t){.kind = COPY, .to = translate(device, to), .from = from, .bytes = bytes, .done = done, .done_arg = arg});
}
static void copy_to_host(void* device, void* stream, void* to, const void* from, size_t bytes, HR_DeviceDone done, void* arg) {
  give_or_fail(stream, (work_t){.kind = COPY, .to = to, .from = translate(device, from), .bytes = bytes, .done = done, .done_arg = arg});
}
static void do_nothing(void* arg) { (void)arg; }
static void stream_notify(void* device, void* stream, HR_DeviceDone done, void* arg) {
  (void)device;
  give_or_fail(stream, (work_t){.kind = LAUNCH, .kernel = do_nothing, .done = done, .done_arg = arg});
}
static void launch_host(void* device, void* stream, void (*kernel)(void* arg), void* arg, HR_DeviceDone done, void* done_arg) {
  (void)device;
  give_or_fail(stream, (work_t){.kind = LAUNCH, .kernel = kernel, .arg = arg, .done = done, .done_arg = done_arg});
}

/* --- devices -------------------------------------------------------------------------------------------------------------------------- */

static int open_device(void* ext, int32_t ordinal, void** out, const char** message) {
  const int file = memfd_create("headrace-test-device", MFD_CLOEXEC);
  const char* seed = getenv("HEADRACE_TEST_DEVICE_SEED");
  device_t* d = calloc(1, sizeof *d);
  (void)ext;
  if (d) d->class_of = calloc(memory_bytes / ALIGNMENT, 1);
  if (d && d->class_of && file >= 0 && ftruncate(file, (off_t)memory_bytes) == 0) {
    d->host_view = mmap(NULL, memory_bytes, PROT_NONE, MAP_SHARED, file, 0);
    d->own_view = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (file >= 0) close(file);
  if (!d || !d->own_view || d->own_view == MAP_FAILED || d->host_view == MAP_FAILED) {
    free(d ? d->class_of : NULL);
    free(d);
    return out_of_memory(message);
  }
  pthread_mutex_init(&d->mu, NULL);
  atomic_init(&d->random, (unsigned)(seed ? atoi(seed) : 1) * 2654435761u + (unsigned)ordinal);
  *out = d;
  return 0;
}

static const HR_DeviceTable table = {
    .struct_size = HR_DEVICE_TABLE_SIZE, .type = "TEST", .count = DEVICES, .open = open_device, .memory_limit = memory_limit,
    .allocate = allocate, .deallocate = deallocate, .stream_create = stream_create, .stream_destroy = stream_destroy,
    .event_create = event_create, .event_destroy = event_destroy, .event_record = event_record, .stream_wait = stream_wait,
    .copy_to_device = copy_to_device, .copy_to_host = copy_to_host, .stream_notify = stream_notify, .launch_host = launch_host,
    .translate = translate};

const HR_DeviceTable* HR_InitDevice(void);
const HR_DeviceTable* HR_InitDevice(void) { return &table; }
