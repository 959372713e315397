/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sanitizer watches memory: it must see every block, so nothing is kept for reuse or taken past malloc then. */
#ifndef HR_BASE_SANITIZED_H
#define HR_BASE_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HR_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HR_SANITIZED 1
#endif
#ifndef HR_SANITIZED
#define HR_SANITIZED 0
#endif
#endif
