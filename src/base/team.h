/* SPDX-License-Identifier: Apache-2.0 */
/* Teams: a function run by several threads at once, the caller among them. Our own loops (pool.c) and oneDNN's parallel regions
 * (dnn/onednn_omp.c) run on the same threads. Who waits does so as wait.h says. */
#ifndef HR_BASE_TEAM_H
#define HR_BASE_TEAM_H
#include <stdbool.h>

typedef void (*hr_team_fn_t)(void* arg, int member);
/* Members 0 (the caller) to threads - 1 call fn. `optional`: a member that has not begun when the caller's fn returns is called off.
 * Else all of them run, fewer only if threads cannot be started. Inside a team the caller runs alone. */
void hr_team_run(int threads, bool optional, hr_team_fn_t fn, void* arg);
/* The same for work that goes its own way: each of exactly `threads` members is in no team, so it may run teams of its own. The caller,
 * done with its own part, runs that of a thread that has not begun. False, and nothing was called: inside a team, or not so many threads
 * can be had. */
bool hr_team_fork(int threads, hr_team_fn_t fn, void* arg);
/* Of the team this thread is in now; outside: 1 and 0. */
int hr_team_size(void);
int hr_team_member(void);
bool hr_team_is_inside(void);
void hr_team_barrier(void); /* all members of a team that is not optional */
#endif
