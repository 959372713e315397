/* SPDX-License-Identifier: Apache-2.0 */
/* What every header of the C API needs: the export mark, TF_Bool, and the size of a struct up to a member.
 *
 * TF_CAPI_WEAK, defined before inclusion, makes the declarations weak, so that a plugin may test whether a function is there. */
#ifndef TENSORFLOW_C_C_API_MACROS_H_
#define TENSORFLOW_C_C_API_MACROS_H_
#include <stddef.h>

#ifndef TF_CAPI_EXPORT
#if defined(SWIG)
#define TF_CAPI_EXPORT
#elif defined(_WIN32) && defined(TF_COMPILE_LIBRARY)
#define TF_CAPI_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#define TF_CAPI_EXPORT __declspec(dllimport)
#elif defined(TF_CAPI_WEAK)
#define TF_CAPI_EXPORT __attribute__((visibility("default"), weak))
#else
#define TF_CAPI_EXPORT __attribute__((visibility("default")))
#endif
#endif

#ifndef TF_Bool
#define TF_Bool unsigned char
#endif

/* Bytes of TYPE up to and including MEMBER: what a struct_size field is compared with. */
#ifndef TF_OFFSET_OF_END
#define TF_OFFSET_OF_END(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE*)0)->MEMBER))
#endif

#endif
