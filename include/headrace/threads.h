/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads kernels use inside one operation, process-wide. Results do not depend on it. */
#ifndef HEADRACE_THREADS_H_
#define HEADRACE_THREADS_H_
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif
TF_CAPI_EXPORT int HR_Threads(void);            /* in use; at first HEADRACE_NUM_THREADS, or the cores the process may use */
TF_CAPI_EXPORT void HR_SetThreads(int threads); /* from the next step on; 0: the cores again */
#ifdef __cplusplus
}
#endif
#endif
