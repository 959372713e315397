/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction set in use: the machine's best unless HEADRACE_ISA or a test says less. */
#include "base/isa.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include "base/log.h"
#include "base/options.h"

enum { ISA_NOT_CHOSEN = -1 };
static atomic_int isa_chosen = ISA_NOT_CHOSEN;

static const char* const isa_names[HR_ISA_COUNT] = {"sse2", "avx2", "avx512"};

#if defined(__x86_64__)
hr_isa_t hr_isa_best(void) {
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
  return avx512 ? HR_ISA_AVX512 : avx2 ? HR_ISA_AVX2 : HR_ISA_SSE2;
}
#else
hr_isa_t hr_isa_best(void) { return HR_ISA_SSE2; } /* the baseline table is plain C */
#endif

const char* hr_isa_name(hr_isa_t isa) { return (unsigned)isa < HR_ISA_COUNT ? isa_names[isa] : "unknown"; }

static hr_isa_t isa_at_most_best(hr_isa_t isa) {
  hr_isa_t best = hr_isa_best();
  return isa < best ? isa : best;
}

static hr_isa_t isa_from_options(void) {
  const char* wanted = hr_options()->isa;
  if (!*wanted) return hr_isa_best();
  for (int i = 0; i < HR_ISA_COUNT; ++i) {
    if (strcmp(wanted, isa_names[i]) != 0) continue;
    hr_isa_t isa = isa_at_most_best((hr_isa_t)i);
    if (isa != (hr_isa_t)i) hr_log(HR_LOG_WARNING, "HEADRACE_ISA is '%s', but this machine has only %s", wanted, hr_isa_name(isa));
    return isa;
  }
  hr_log(HR_LOG_WARNING, "HEADRACE_ISA is '%s', should be sse2, avx2 or avx512; using %s", wanted, hr_isa_name(hr_isa_best()));
  return hr_isa_best();
}

hr_isa_t hr_isa(void) {
  int isa = atomic_load_explicit(&isa_chosen, memory_order_relaxed);
  if (isa == ISA_NOT_CHOSEN) {
    isa = (int)isa_from_options();
    int expected = ISA_NOT_CHOSEN;
    if (!atomic_compare_exchange_strong(&isa_chosen, &expected, isa)) isa = expected;
  }
  return (hr_isa_t)isa;
}

void hr_isa_force(hr_isa_t isa) { atomic_store(&isa_chosen, (int)isa_at_most_best(isa)); }
