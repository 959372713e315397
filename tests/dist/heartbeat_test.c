/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told of a task that is gone, with which words; and that any answer is a sign of life. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/heartbeat.h"
#include "dist/stage.h"

static const char* const methods[] = {"/tensorflow.WorkerService/GetStatus"};

typedef struct {
  hr_heartbeat_watch_t base; /* first */
  int32_t tasks[3];
  atomic_int told[5];        /* by task */
  hr_code_t code;
  char text[300];
} watcher_t;
static hr_mutex_t mu = HR_MUTEX_INIT;
static hr_cond_t heard;

static void task_is_dead(hr_heartbeat_watch_t* self, int32_t task, hr_status_t take_why) {
  watcher_t* w = (watcher_t*)self;
  hr_mutex_lock(&mu);
  ++w->told[task];
  w->code = hr_status_code(take_why);
  snprintf(w->text, sizeof w->text, "%s", hr_status_message(take_why));
  hr_cond_wake_all(&heard);
  hr_mutex_unlock(&mu);
  hr_status_release(take_why);
}
static void watch(hr_heartbeat_t* h, watcher_t* w, int count, int a, int b, int c) {
  *w = (watcher_t){.tasks = {a, b, c}};
  w->base = (hr_heartbeat_watch_t){.tasks = w->tasks, .count = count, .dead = task_is_dead};
  HR_CHECK_OK(hr_heartbeat_add(h, &w->base));
}
static int told(watcher_t* w, int task) {
  hr_mutex_lock(&mu);
  const int n = w->told[task];
  hr_mutex_unlock(&mu);
  return n;
}
static void check_words(watcher_t* w, const char* begin) { /* the last ones */
  hr_mutex_lock(&mu);
  HR_CHECK_EQ_I64(w->code, HR_UNAVAILABLE);
  HR_CHECK_VIEW(hr_str_slice(hr_str(w->text), 0, strlen(begin)), begin);
  hr_mutex_unlock(&mu);
}
static bool wait_told(watcher_t* w, int task, int times) {
  const int64_t until = hr_clock_now_ns() + INT64_C(10000000000);
  hr_mutex_lock(&mu);
  while (w->told[task] < times && hr_cond_wait_until(&heard, &mu, until)) continue;
  const bool good = w->told[task] >= times;
  hr_mutex_unlock(&mu);
  return HR_CHECK(good);
}

/* Jobs a: answers; b: this one; c: nobody is there; d: says that it is away; e: refuses. */
static bool open_tasks(stage_t stages[3], hr_cluster_t** out) {
  static const stage_line_t lines[] = {{.answer = BYTES("")}, {.code = HR_DEADLINE_EXCEEDED, .says = "too late"},
                                       {.code = HR_UNIMPLEMENTED, .says = "what"}};
  hr_writer_t def = stage_writer();
  for (int i = 0; i < 3; ++i)
    if (!stage_open(&stages[i], methods, 1, &lines[i])) return false;
  hr_writer_mark_t cluster = hr_writer_begin(&def, 1, 400);
  stage_write_job(&def, "a", stages[0].address);
  stage_write_job(&def, "b", "here:1");
  stage_write_job(&def, "c", "nowhere:1");
  stage_write_job(&def, "d", stages[1].address);
  stage_write_job(&def, "e", stages[2].address);
  hr_writer_end(&def, cluster, 400);
  hr_writer_str(&def, 2, HR_STR("b"));
  hr_status_t status = hr_cluster_create(def.data, def.size, stages[0].transport, NULL, HR_STR(""), out);
  hr_strbuf_deinit(&def);
  return HR_CHECK_OK(status);
}

HR_TEST(who_watches_a_task_is_told_that_it_is_gone) {
  stage_t stages[3];
  hr_cluster_t* cluster = NULL;
  hr_heartbeat_t* h = NULL;
  watcher_t all[3], none, late;
  hr_cond_init(&heard);
  if (open_tasks(stages, &cluster) && HR_CHECK_OK(hr_heartbeat_create(cluster, 60, &h))) {
    watch(h, &all[0], 3, 1, 0, 4); /* this one, and those that answer */
    watch(h, &all[1], 2, 2, 0, 0);
    watch(h, &none, 0, 2, 3, 2);
    watch(h, &all[2], 3, 4, 0, 3);
    wait_told(&all[1], 2, 2);
    wait_told(&all[2], 3, 2);
    HR_CHECK_EQ_U64(stage_request(&stages[0], 0).size, 0);
    HR_CHECK_EQ_U64(stage_request(&stages[2], 0).size, 0);
    char text[300];
    snprintf(text, sizeof text, "task /job:d/replica:0/task:0 at %s is gone: it does not answer within a heartbeat of 60 ms (too late)",
             stages[1].address);
    check_words(&all[2], text);
    check_words(&all[1], "task /job:c/replica:0/task:0 at nowhere:1 is gone: ");
    for (int i = 0; i < 3; ++i) /* of others nobody hears */
      for (int task = 0; task < 5; ++task) HR_CHECK(!told(&all[i], task) || (i == 1 && task == 2) || (i == 2 && task == 3));
    hr_heartbeat_remove(h, &none.base);
    hr_heartbeat_remove(h, &all[2].base); /* the last in, the first, one in the middle */
    const int before = told(&all[2], 3);
    watch(h, &late, 1, 3, 0, 0);
    wait_told(&late, 3, 1);
    hr_heartbeat_remove(h, &all[0].base);
    wait_told(&all[1], 2, told(&all[1], 2) + 1);
    HR_CHECK_EQ_I64(told(&all[2], 3), before);
    hr_heartbeat_remove(h, &all[1].base);
    hr_heartbeat_remove(h, &late.base);
    for (int task = 0; task < 5; ++task) HR_CHECK_EQ_I64(told(&none, task), 0);
    watch(h, &late, 2, 0, 2, 0); /* it slept, and wakes again */
    wait_told(&late, 2, 1);
    HR_CHECK_EQ_I64(told(&late, 0), 0);
    hr_heartbeat_remove(h, &late.base);
    watch(h, &late, 1, 2, 0, 0); /* who is watched no more is asked no more, but for a question that is on its way */
    wait_told(&late, 2, 1);
    const int asked = stage_count(&stages[0], 0);
    wait_told(&late, 2, 4);
    HR_CHECK(stage_count(&stages[0], 0) <= asked + 1);
    hr_heartbeat_remove(h, &late.base);
  }
  hr_heartbeat_destroy(h);
  hr_heartbeat_destroy(NULL);
  hr_cluster_release(cluster);
  for (int i = 0; i < 3; ++i) stage_close(&stages[i]);
  hr_cond_deinit(&heard);
}
HR_TEST_MAIN()
