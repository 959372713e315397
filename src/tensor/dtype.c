/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about element types, spread out of dtype.def. */
#include "tensor/dtype.h"
#include "tensor/handle.h"
#include "tensor/tstring.h"

typedef struct {
  const char* name;     /* "float" */
  const char* ref_name; /* "float_ref" */
  uint8_t size;
  bool plain;
} dtype_row_t;

static const dtype_row_t rows[HR_DTYPE_COUNT] = {
#define HR_DTYPE(ID, number, bytes, name, ctype, class) [number] = {name, name "_ref", sizeof(ctype), bytes != 0},
#include "tensor/dtype.def"
#undef HR_DTYPE
};

static bool is_known(int t) { return (unsigned)t < HR_DTYPE_COUNT && rows[t].name; }

bool hr_dtype_is_valid(int t) { return is_known(hr_dtype_base(t)); }
size_t hr_dtype_size(hr_dtype_t t) { return is_known((int)t) ? rows[t].size : 0; }
bool hr_dtype_is_plain(hr_dtype_t t) { return is_known((int)t) && rows[t].plain; }

const char* hr_dtype_name(int t) {
  if (!hr_dtype_is_valid(t)) return "invalid";
  return hr_dtype_is_ref(t) ? rows[t - HR_DTYPE_REF].ref_name : rows[t].name;
}

/* DT_ names are the upper-case names, so a comparison without regard to case does. */
static bool equals_upper(hr_str_t upper, hr_str_t name) {
  if (upper.size != name.size) return false;
  for (size_t i = 0; i < name.size; ++i) {
    char c = name.data[i];
    if (upper.data[i] != (c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c)) return false;
  }
  return true;
}

/* Names that TensorFlow accepts besides its own. */
static const struct { hr_str_t name; int dtype; } aliases[] = {
  {{"float32", 7}, HR_F32}, {{"float64", 7}, HR_F64}, {{"float16", 7}, HR_F16},
};

bool hr_dtype_parse(hr_str_t name, int* out) {
  bool is_enum = hr_str_has_prefix(name, HR_STR("DT_"));
  hr_str_t suffix = is_enum ? HR_STR("_REF") : HR_STR("_ref");
  bool ref = hr_str_has_suffix(name, suffix);
  hr_str_t stem = hr_str_slice(name, is_enum ? 3 : 0, name.size - (ref ? suffix.size : 0));
  for (int t = 1; t < HR_DTYPE_COUNT; ++t) {
    if (!is_known(t)) continue;
    if (is_enum ? equals_upper(stem, hr_str(rows[t].name)) : hr_str_is(stem, rows[t].name)) {
      *out = ref ? t + HR_DTYPE_REF : t;
      return true;
    }
  }
  for (size_t i = 0; !is_enum && i < sizeof aliases / sizeof *aliases; ++i) {
    if (!hr_str_equal(stem, aliases[i].name)) continue;
    *out = ref ? aliases[i].dtype + HR_DTYPE_REF : aliases[i].dtype;
    return true;
  }
  return false;
}
