/* SPDX-License-Identifier: Apache-2.0 */
/* Variables: a tensor behind a mutex, copied on write.
 *
 * A reader gains its share of the buffer under the lock and keeps it without. A writer holds the lock, so no share can be gained while it
 * asks whether the buffer is its own alone: if it is, it writes in place, else it writes a copy. */
#include "rt/variable.h"
#include "base/alloc.h"

static void variable_destroy(hr_resource_t* r) {
  hr_variable_t* v = (hr_variable_t*)r;
  hr_tensor_release(&v->value);
  hr_mutex_deinit(&v->mu);
  hr_free((void*)v->name.data);
  hr_free(v);
}

const hr_resource_type_t hr_variable_type = {"Variable", variable_destroy};

hr_status_t hr_variable_create(hr_dtype_t dtype, hr_str_t name, hr_variable_t** out) {
  hr_variable_t* v = hr_alloc_zero(sizeof *v);
  char* text = v ? hr_alloc_copy(name.data, name.size) : NULL;
  if (!text) {
    hr_free(v);
    return hr_status_out_of_memory();
  }
  hr_resource_init(&v->base, &hr_variable_type);
  hr_mutex_init(&v->mu);
  v->dtype = dtype;
  v->name = (hr_str_t){text, name.size};
  *out = v;
  return NULL;
}

static bool variable_is_set(const hr_variable_t* v) { return v->value.dtype != HR_DTYPE_INVALID; }

static hr_status_t uninitialized_error(const hr_variable_t* v) {
  return HR_ERROR(FAILED_PRECONDITION, "Attempting to use uninitialized value %.*s", HR_STR_ARG(v->name));
}

bool hr_variable_has_value(hr_variable_t* v) {
  hr_mutex_lock(&v->mu);
  bool set = variable_is_set(v);
  hr_mutex_unlock(&v->mu);
  return set;
}

hr_status_t hr_variable_read(hr_variable_t* v, hr_tensor_t* out) {
  hr_mutex_lock(&v->mu);
  bool set = variable_is_set(v);
  if (set) hr_tensor_share(&v->value, out);
  hr_mutex_unlock(&v->mu);
  return set ? NULL : uninitialized_error(v);
}

static hr_status_t check_assigned_type(const hr_variable_t* v, const hr_tensor_t* t) {
  if (v->dtype == HR_DTYPE_INVALID || v->dtype == t->dtype) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' holds %s values and cannot be assigned one of type %s", HR_STR_ARG(v->name),
                  hr_dtype_name(v->dtype), hr_dtype_name(t->dtype));
}

hr_status_t hr_variable_assign(hr_variable_t* v, const hr_tensor_t* t) {
  HR_TRY(check_assigned_type(v, t));
  hr_tensor_t fresh = {0};
  if (t->buffer && t->buffer->read_only) {
    HR_TRY(hr_tensor_clone(t, &fresh));
  } else {
    hr_tensor_share(t, &fresh);
  }
  hr_mutex_lock(&v->mu);
  hr_buffer_t* old = v->value.buffer;
  hr_tensor_move(&fresh, &v->value);
  hr_mutex_unlock(&v->mu);
  hr_buffer_release(old);
  return NULL;
}

void hr_variable_clear(hr_variable_t* v) {
  hr_mutex_lock(&v->mu);
  hr_buffer_t* old = v->value.buffer;
  memset(&v->value, 0, sizeof v->value);
  hr_mutex_unlock(&v->mu);
  hr_buffer_release(old);
}

hr_status_t hr_variable_begin_write(hr_variable_t* v) {
  hr_mutex_lock(&v->mu);
  hr_status_t status = NULL;
  if (!variable_is_set(v)) {
    status = uninitialized_error(v);
  } else if (!hr_buffer_is_alone(v->value.buffer)) {
    hr_tensor_t copy = {0};
    if (!(status = hr_tensor_clone(&v->value, &copy))) {
      hr_tensor_release(&v->value);
      hr_tensor_move(&copy, &v->value);
    }
  }
  if (status) hr_mutex_unlock(&v->mu);
  return status;
}

void hr_variable_end_write(hr_variable_t* v) { hr_mutex_unlock(&v->mu); }
