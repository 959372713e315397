/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sanitizer watches memory: it must see every block, so nothing is kept for reuse or taken past malloc then. AddressSanitizer is
 * also told which bytes of a block that we cut up ourselves are nobody's. */
#ifndef HR_BASE_SANITIZED_H
#define HR_BASE_SANITIZED_H
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HR_SANITIZED_ADDRESSES 1
#endif
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HR_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HR_SANITIZED_ADDRESSES 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HR_SANITIZED 1
#endif
#ifndef HR_SANITIZED_ADDRESSES
#define HR_SANITIZED_ADDRESSES 0
#endif
#ifndef HR_SANITIZED
#define HR_SANITIZED HR_SANITIZED_ADDRESSES
#endif

#if HR_SANITIZED_ADDRESSES
#include <sanitizer/asan_interface.h>
static inline void hr_sanitized_forbid(const void* at, size_t bytes) { ASAN_POISON_MEMORY_REGION(at, bytes); }
static inline void hr_sanitized_allow(const void* at, size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(at, bytes); }
#else
static inline void hr_sanitized_forbid(const void* at, size_t bytes) { (void)at, (void)bytes; }
static inline void hr_sanitized_allow(const void* at, size_t bytes) { (void)at, (void)bytes; }
#endif
#endif
