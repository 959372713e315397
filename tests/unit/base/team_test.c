/* SPDX-License-Identifier: Apache-2.0 */
/* Teams: who runs, barriers, nesting, several callers at once, after fork. */
#include "base/team.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/wait.h"
#include "test.h"

enum { MEMBERS = 4 };
typedef struct {
  atomic_int runs[MEMBERS], sizes, wrong;
  int values[MEMBERS];
} record_t;

static void count_member(void* arg, int member) {
  record_t* r = arg;
  atomic_fetch_add(&r->runs[member], 1);
  atomic_fetch_add(&r->sizes, hr_team_size());
  if (hr_team_member() != member) atomic_fetch_add(&r->wrong, 1);
}

HR_TEST(all_members_of_an_exact_team_run_once) {
  record_t r;
  memset(&r, 0, sizeof r);
  for (int i = 0; i < 200; ++i) hr_team_run(MEMBERS, false, count_member, &r);
  for (int i = 0; i < MEMBERS; ++i) HR_CHECK_EQ_I64(atomic_load(&r.runs[i]), 200);
  HR_CHECK_EQ_I64(atomic_load(&r.sizes), 200 * MEMBERS * MEMBERS);
  HR_CHECK_EQ_I64(atomic_load(&r.wrong), 0);
  HR_CHECK(!hr_team_is_inside() && hr_team_size() == 1 && hr_team_member() == 0);
}

HR_TEST(members_of_an_optional_team_run_at_most_once) {
  record_t r;
  memset(&r, 0, sizeof r);
  for (int i = 0; i < 500; ++i) hr_team_run(MEMBERS, true, count_member, &r);
  HR_CHECK_EQ_I64(atomic_load(&r.runs[0]), 500);
  for (int i = 1; i < MEMBERS; ++i) HR_CHECK(atomic_load(&r.runs[i]) <= 500);
}

static void pass_values(void* arg, int member) { /* each reads its neighbour's value of the round before */
  record_t* r = arg;
  for (int round = 1; round <= 50; ++round) {
    const int neighbour = r->values[(member + 1) % MEMBERS];
    if (neighbour != round - 1) atomic_fetch_add(&r->wrong, 1);
    hr_team_barrier();
    r->values[member] = round;
    hr_team_barrier();
  }
}

HR_TEST(a_barrier_holds_everybody) {
  record_t r;
  memset(&r, 0, sizeof r);
  hr_team_run(MEMBERS, false, pass_values, &r);
  HR_CHECK_EQ_I64(atomic_load(&r.wrong), 0);
  for (int i = 0; i < MEMBERS; ++i) HR_CHECK_EQ_I64(r.values[i], 50);
}

static void run_inner(void* arg, int member) {
  (void)member;
  if (!hr_team_is_inside()) return;
  hr_team_run(MEMBERS, false, count_member, arg);
}

HR_TEST(inside_a_team_the_caller_runs_alone) {
  record_t r;
  memset(&r, 0, sizeof r);
  hr_team_run(MEMBERS, false, run_inner, &r);
  HR_CHECK_EQ_I64(atomic_load(&r.runs[0]), MEMBERS);
  HR_CHECK_EQ_I64(atomic_load(&r.runs[1]), 0);
  HR_CHECK_EQ_I64(atomic_load(&r.sizes), MEMBERS); /* each a team of one */
}

static void* call_often(void* arg) {
  for (int i = 0; i < 300; ++i) hr_team_run(3, i & 1, count_member, arg);
  return NULL;
}

HR_TEST(callers_do_not_disturb_each_other) {
  record_t r[3];
  pthread_t threads[3];
  memset(r, 0, sizeof r);
  for (int i = 0; i < 3; ++i) HR_REQUIRE(pthread_create(&threads[i], NULL, call_often, &r[i]) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i) {
    HR_CHECK_EQ_I64(atomic_load(&r[i].runs[0]), 300);
    HR_CHECK(atomic_load(&r[i].runs[2]) >= 150);
    HR_CHECK_EQ_I64(atomic_load(&r[i].wrong), 0);
  }
}

/* ThreadSanitizer ends a child of a threaded process that starts threads; the test is for the other builds. */
#if !defined(__SANITIZE_THREAD__)
HR_TEST(a_child_after_fork_has_workers_of_its_own) {
  record_t r;
  int code = -1;
  memset(&r, 0, sizeof r);
  hr_team_run(MEMBERS, false, count_member, &r);
  const pid_t child = fork();
  HR_REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    hr_team_run(MEMBERS, false, count_member, &r);
    _exit(atomic_load(&r.runs[MEMBERS - 1]) == 2 ? 0 : 1);
  }
  HR_REQUIRE(waitpid(child, &code, 0) == child);
  HR_CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0);
}
#endif

HR_TEST(a_spin_ends_when_the_word_changes_or_not_at_all) {
  atomic_uint word = 3;
  for (int i = 0; i < 3; ++i) {
    HR_CHECK(hr_wait_spin(&word, 2));
    HR_CHECK(!hr_wait_spin(&word, 3));
  }
}

HR_TEST_MAIN()
