/* SPDX-License-Identifier: Apache-2.0 */
/* The library's version, as compiled against and as loaded. TF_Version tells the version of the C API that it follows. */
#ifndef HEADRACE_VERSION_H_
#define HEADRACE_VERSION_H_
#include "tensorflow/c/c_api_macros.h"

#define HR_VERSION_MAJOR 0
#define HR_VERSION_MINOR 1
#define HR_VERSION_PATCH 0
#define HR_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif
TF_CAPI_EXPORT const char* HR_Version(void); /* HR_VERSION_STRING of the library that is loaded; static */
TF_CAPI_EXPORT int HR_GraphVersion(void);    /* the GraphDef version that new graphs say they are of */
#ifdef __cplusplus
}
#endif
#endif
