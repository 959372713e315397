/* SPDX-License-Identifier: Apache-2.0 */
/* The environment, read once. A value that cannot be used leaves the default in place and is complained about once, after the
 * reading (the log itself asks the options for its level). */
#include "base/options.h"
#include <stdatomic.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/str.h"
#include "base/sync.h"

static hr_options_t options = {
#define HR_OPTION(field, name, type, value, meaning) .field = value,
#include "base/options.def"
#undef HR_OPTION
};

static char texts[8192]; /* copies of text values: the environment may change later */
static size_t texts_used;
static _Atomic(const char*) unusable; /* name of the last option with a bad value, until told */

static void read_INT(const char* name, int64_t* out) {
  const char* value = getenv(name);
  if (value && *value && !hr_str_parse_i64(hr_str(value), out)) atomic_store(&unusable, name);
}

static void read_TEXT(const char* name, const char** out) {
  const char* value = getenv(name);
  if (!value) return;
  size_t size = strlen(value) + 1;
  if (size > sizeof texts - texts_used) {
    atomic_store(&unusable, name);
    return;
  }
  *out = memcpy(texts + texts_used, value, size);
  texts_used += size;
}

static void options_read(void) {
#define HR_OPTION(field, name, type, value, meaning) read_##type(name, &options.field);
#include "base/options.def"
#undef HR_OPTION
}

const hr_options_t* hr_options(void) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_once_run(&once, options_read);
  if (atomic_load_explicit(&unusable, memory_order_relaxed)) {
    const char* name = atomic_exchange(&unusable, NULL);
    if (name) hr_log(HR_LOG_WARNING, "the value of %s in the environment cannot be used, its default stays", name);
  }
  return &options;
}
