/* SPDX-License-Identifier: Apache-2.0 */
/* Environment options, read once. The list, with defaults and meanings, is options.def. */
#ifndef HR_BASE_OPTIONS_H
#define HR_BASE_OPTIONS_H
#include <stdint.h>
typedef struct {
#define INT int64_t
#define TEXT const char*
#define HR_OPTION(field, name, type, value, meaning) type field;
#include "base/options.def"
#undef HR_OPTION
#undef INT
#undef TEXT
} hr_options_t;
const hr_options_t* hr_options(void);
#endif
