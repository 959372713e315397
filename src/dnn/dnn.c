/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the dense library's object once, when the first kernel asks: HEADRACE_DNN's path, else libheadrace_dnn.so beside this library.
 * It is never closed: kernels on any thread may hold primitives until the process ends. Why it is absent is a debug log line. */
#include "dnn/dnn.h"
#include <string.h>
#include "base/alloc.h"
#include "base/log.h"
#include "base/options.h"
#include "base/part.h"
#include "base/team.h"
#include "base/sync.h"

static hr_once_t dnn_once = HR_ONCE_INIT;
static const hr_dnn_t* dnn_table;

static const hr_dnn_host_t dnn_host = {HR_DNN_ABI, hr_status_create, hr_status_out_of_memory, hr_alloc_aligned, hr_free,
                                       hr_team_run, hr_team_size, hr_team_member, hr_team_is_inside, hr_team_barrier};

static void open_dnn(void) {
  const char* path = hr_options()->dnn;
  void* symbol;
  hr_status_t status = hr_part_open("libheadrace_dnn.so", path, HR_DNN_OPEN, &symbol);
  hr_dnn_open_fn open = NULL;
  memcpy(&open, &symbol, sizeof open);
  const hr_dnn_t* table = open ? open(&dnn_host) : NULL;
  if (table && table->abi == HR_DNN_ABI) dnn_table = table;
  else if (!path || strcmp(path, "none"))
    hr_log(HR_LOG_DEBUG, "plain kernels serve: %s",
           status ? hr_status_message(status) : "libheadrace_dnn.so is of another version, or has no engine for this machine");
  hr_status_release(status);
}

const hr_dnn_t* hr_dnn(void) {
  hr_once_run(&dnn_once, open_dnn);
  return dnn_table;
}
