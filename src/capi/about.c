/* SPDX-License-Identifier: Apache-2.0 */
/* Version and threads. */
#include "base/pool.h"
#include "capi/handles.h"
#include "headrace/threads.h"
#include "headrace/version.h"

const char* TF_Version(void) { return "2.21.0-headrace-" HR_VERSION_STRING; }
const char* HR_Version(void) { return HR_VERSION_STRING; }
int HR_GraphVersion(void) { return HR_GRAPH_VERSION; }
int HR_Threads(void) { return hr_pool_threads(); }
void HR_SetThreads(int threads) { hr_pool_set_threads(threads); }
