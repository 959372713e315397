/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded calls between TensorFlow's processes (tests/golden/wire), and a worker of ours to send them to, on the transport within the
 * process. Recorded files: three records a call, "-> CALLEE METHOD STATUS", request, response. */
#ifndef HR_TESTS_DIST_EXCHANGE_H
#define HR_TESTS_DIST_EXCHANGE_H
#include "dist/worker.h"

typedef struct {
  hr_str_t callee, method, status; /* "ps", "/tensorflow.WorkerService/RunGraph", "OK" or "INVALID_ARGUMENT: why" */
  hr_str_t request, response;
} hr_exchange_t;
typedef struct {
  hr_exchange_t* calls;
  int count;
} hr_exchanges_t;
bool hr_exchange_load(const char* path, hr_exchanges_t* out);
void hr_exchange_free(hr_exchanges_t* e);

/* A ServerDef of two tasks, ps:1 (/job:ps/task:0) and worker:1, for the task `job`; freed with hr_free. */
char* hr_exchange_server_def(const char* job, size_t* size);
/* Our worker as a task of that cluster. */
bool hr_exchange_worker(const char* job, const hr_worker_options_t* options, hr_cluster_t** cluster, hr_worker_t** out);

/* One call of a worker's, to be waited for. */
typedef struct {
  hr_worker_call_t call;
  hr_mutex_t mu;
  hr_cond_t ended;
  int done; /* how often */
  hr_status_t status;
  hr_message_t response;
} hr_exchange_call_t;
void hr_exchange_start(hr_worker_t* w, hr_exchange_call_t* c, hr_worker_method_t method, hr_str_t request);
bool hr_exchange_wait(hr_exchange_call_t* c, int64_t ms); /* false: not in time */
void hr_exchange_end(hr_exchange_call_t* c);
/* The whole; *out_response (freed by the caller) may be NULL. */
hr_status_t hr_exchange_run(hr_worker_t* w, hr_worker_method_t method, hr_str_t request, hr_strbuf_t* out_response);
int hr_exchange_method(hr_str_t name); /* of the worker's; -1 */
#endif
