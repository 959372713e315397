/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, started with the first watch. It sleeps until somebody watches, then a third of the heartbeat, then asks the tasks that are
 * watched at that moment; so a step that is short is never asked about, and a stream of short steps wakes the thread once a round. */
#include "dist/heartbeat.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

typedef struct {
  hr_call_t call;
  hr_heartbeat_t* heartbeat;
  int32_t task;
  bool is_asking, is_wanted; /* guarded by mu */
} beat_t;

struct hr_heartbeat {
  hr_cluster_t* cluster;
  int64_t heartbeat_ms, round_ns;
  hr_mutex_t mu;
  hr_cond_t wake;            /* the thread: somebody watches, or it is over */
  hr_cond_t quiet;           /* the destroyer: a question has been answered */
  hr_thread_t thread;
  bool has_thread, is_asleep, is_over;
  hr_heartbeat_watch_t* watches;
  int32_t asking;
  beat_t beats[];            /* by task */
};

static bool watch_includes(const hr_heartbeat_watch_t* w, int32_t task) {
  for (int32_t i = 0; i < w->count; ++i)
    if (w->tasks[i] == task) return true;
  return false;
}

static hr_status_t dead_status(const hr_heartbeat_t* h, int32_t task, hr_status_t why) {
  const hr_cluster_task_t* t = &h->cluster->tasks[task];
  return HR_ERROR(UNAVAILABLE, "task %s at %s is gone: it does not answer within a heartbeat of %lld ms (%s)", t->name.data,
                  t->address.data, (long long)h->heartbeat_ms, hr_status_message(why));
}

/* Any answer is one, also a refusal. */
static bool means_dead(hr_status_t status) {
  const hr_code_t code = hr_status_code(status);
  return code == HR_UNAVAILABLE || code == HR_DEADLINE_EXCEEDED;
}

static void beat_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  beat_t* b = (beat_t*)self;
  hr_heartbeat_t* h = b->heartbeat;
  if (take_response) hr_message_deinit(take_response);
  hr_mutex_lock(&h->mu);
  b->is_asking = false;
  --h->asking;
  if (!h->is_over && means_dead(take_status))
    for (hr_heartbeat_watch_t* w = h->watches; w; w = w->next)
      if (watch_includes(w, b->task)) w->dead(w, b->task, dead_status(h, b->task, take_status));
  hr_cond_wake_all(&h->quiet);
  hr_mutex_unlock(&h->mu);
  hr_status_release(take_status);
}

static void ask_task(hr_heartbeat_t* h, beat_t* b) { /* mu is held, and given up for the call */
  b->is_asking = true;
  ++h->asking;
  hr_mutex_unlock(&h->mu);
  hr_channel_t* channel = NULL;
  hr_message_t request = {0};
  hr_status_t status = hr_cluster_channel(h->cluster, b->task, &channel);
  b->call.done = beat_done;
  if (status) beat_done(&b->call, status, NULL);
  else
    h->cluster->transport->call(channel, "/tensorflow.WorkerService/GetStatus", &request, 2 * h->round_ns / 1000000, false, &b->call);
  hr_mutex_lock(&h->mu);
}

static void ask_watched(hr_heartbeat_t* h) {
  for (int32_t i = 0; i < h->cluster->count; ++i) h->beats[i].is_wanted = false;
  for (const hr_heartbeat_watch_t* w = h->watches; w; w = w->next)
    for (int32_t i = 0; i < w->count; ++i) h->beats[w->tasks[i]].is_wanted = w->tasks[i] != h->cluster->self;
  for (int32_t i = 0; i < h->cluster->count && !h->is_over; ++i)
    if (h->beats[i].is_wanted && !h->beats[i].is_asking) ask_task(h, &h->beats[i]);
}

static void beat_for_ever(void* arg) {
  hr_heartbeat_t* h = arg;
  hr_mutex_lock(&h->mu);
  while (!h->is_over) {
    h->is_asleep = true;
    while (!h->watches && !h->is_over) hr_cond_wait(&h->wake, &h->mu);
    h->is_asleep = false;
    const int64_t next = hr_clock_now_ns() + h->round_ns;
    while (!h->is_over && hr_cond_wait_until(&h->wake, &h->mu, next)) continue;
    ask_watched(h);
  }
  hr_mutex_unlock(&h->mu);
}

hr_status_t hr_heartbeat_create(hr_cluster_t* cluster, int64_t heartbeat_ms, hr_heartbeat_t** out) {
  hr_heartbeat_t* h = hr_alloc_zero(sizeof *h + (size_t)cluster->count * sizeof h->beats[0]);
  if (!h) return hr_status_out_of_memory();
  h->cluster = hr_cluster_retain(cluster);
  h->heartbeat_ms = heartbeat_ms;
  h->round_ns = heartbeat_ms * 1000000 / 3;
  for (int32_t i = 0; i < cluster->count; ++i) {
    h->beats[i].heartbeat = h;
    h->beats[i].task = i;
  }
  hr_mutex_init(&h->mu);
  hr_cond_init(&h->wake);
  hr_cond_init(&h->quiet);
  *out = h;
  return NULL;
}

void hr_heartbeat_destroy(hr_heartbeat_t* h) {
  if (!h) return;
  hr_mutex_lock(&h->mu);
  h->is_over = true;
  hr_cond_wake_all(&h->wake);
  hr_mutex_unlock(&h->mu);
  if (h->has_thread) hr_thread_join(&h->thread);
  hr_mutex_lock(&h->mu);
  for (int32_t i = 0; i < h->cluster->count; ++i)
    if (h->beats[i].is_asking) h->cluster->transport->cancel(&h->beats[i].call);
  while (h->asking) hr_cond_wait(&h->quiet, &h->mu);
  hr_mutex_unlock(&h->mu);
  hr_cond_deinit(&h->quiet);
  hr_cond_deinit(&h->wake);
  hr_mutex_deinit(&h->mu);
  hr_cluster_release(h->cluster);
  hr_free(h);
}

hr_status_t hr_heartbeat_add(hr_heartbeat_t* h, hr_heartbeat_watch_t* w) {
  hr_status_t status = NULL;
  hr_mutex_lock(&h->mu);
  if (!h->has_thread) {
    status = hr_thread_start(&h->thread, "hr-heartbeat", beat_for_ever, h);
    h->has_thread = !status;
  }
  if (!status) {
    w->previous = NULL;
    w->next = h->watches;
    if (w->next) w->next->previous = w;
    h->watches = w;
    if (h->is_asleep) hr_cond_wake_one(&h->wake);
    h->is_asleep = false;
  }
  hr_mutex_unlock(&h->mu);
  return status;
}

void hr_heartbeat_remove(hr_heartbeat_t* h, hr_heartbeat_watch_t* w) {
  hr_mutex_lock(&h->mu);
  if (w->next) w->next->previous = w->previous;
  if (w->previous) w->previous->next = w->next;
  else h->watches = w->next;
  hr_mutex_unlock(&h->mu);
}
