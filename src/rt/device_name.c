/* SPDX-License-Identifier: Apache-2.0 */
/* Device names are a row of /key:value parts; one of them is not known by its key: TYPE:ID, after "device:" or (old) alone. */
#include "rt/device_name.h"
#include <strings.h>

static hr_status_t malformed(hr_str_t text) {
  return HR_ERROR(INVALID_ARGUMENT,
                  "malformed device specification '%.*s'; right would be /job:NAME/replica:N/task:N/device:TYPE:N, or parts of it",
                  HR_STR_ARG(text));
}

static bool number_or_any(hr_str_t s, int64_t* out) {
  if (hr_str_is(s, "*")) return true;
  return hr_str_parse_i64(s, out) && *out >= 0;
}

static bool is_type(hr_str_t s) {
  for (size_t i = 0; i < s.size; ++i)
    if (!(s.data[i] == '_' || (s.data[i] >= '0' && s.data[i] <= '9') || ((s.data[i] | 32) >= 'a' && (s.data[i] | 32) <= 'z'))) return false;
  return s.size > 0;
}

/* TYPE, TYPE:N or TYPE:*; TYPE may be `*`. */
static bool parse_device(hr_str_t s, hr_device_name_t* out) {
  const int64_t colon = hr_str_find(s, ':');
  const hr_str_t type = colon < 0 ? s : hr_str_slice(s, 0, (size_t)colon);
  if (!hr_str_is(type, "*")) {
    if (!is_type(type)) return false;
    out->type = type;
  }
  return colon < 0 || number_or_any(hr_str_slice(s, (size_t)colon + 1, s.size), &out->id);
}

static bool parse_part(hr_str_t part, hr_device_name_t* out) {
  const int64_t colon = hr_str_find(part, ':');
  const hr_str_t key = colon < 0 ? part : hr_str_slice(part, 0, (size_t)colon);
  const hr_str_t value = colon < 0 ? (hr_str_t){0} : hr_str_slice(part, (size_t)colon + 1, part.size);
  if (hr_str_is(key, "job")) {
    if (!hr_str_is(value, "*")) out->job = value;
    return value.size > 0;
  }
  if (hr_str_is(key, "replica")) return number_or_any(value, &out->replica);
  if (hr_str_is(key, "task")) return number_or_any(value, &out->task);
  if (hr_str_is(key, "device")) return parse_device(value, out);
  return colon >= 0 && parse_device(part, out);
}

hr_status_t hr_device_name_parse(hr_str_t text, hr_device_name_t* out) {
  hr_device_name_t name = {.replica = -1, .task = -1, .id = -1};
  hr_str_t rest = text, part;
  if (text.size && text.data[0] == '/') rest = hr_str_slice(text, 1, text.size);
  while (hr_str_split(&rest, '/', &part))
    if (!parse_part(part, &name)) return malformed(text);
  *out = name;
  return NULL;
}

bool hr_device_name_accepts(const hr_device_name_t* wanted, const hr_device_name_t* device) {
  const bool type = wanted->type.size == 0 ||
                    (wanted->type.size == device->type.size && strncasecmp(wanted->type.data, device->type.data, device->type.size) == 0);
  const bool place = (wanted->replica < 0 || wanted->replica == device->replica) && (wanted->task < 0 || wanted->task == device->task);
  return type && place && (wanted->job.size == 0 || hr_str_equal(wanted->job, device->job)) && (wanted->id < 0 || wanted->id == device->id);
}

bool hr_device_name_is_full(const hr_device_name_t* n) {
  return n->job.size && n->type.size && n->replica >= 0 && n->task >= 0 && n->id >= 0;
}

bool hr_device_name_same_task(const hr_device_name_t* a, const hr_device_name_t* b) {
  return a->task == b->task && a->replica == b->replica && hr_str_equal(a->job, b->job);
}
