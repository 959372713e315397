/* SPDX-License-Identifier: Apache-2.0 */
/* The state table: node name -> kernel state. State is made under the lock, so that two plans of one node share it. */
#include "exec/state.h"
#include "base/alloc.h"

typedef struct {
  const hr_kernel_t* kernel;
  void* state;
  char name[]; /* the map's key */
} state_entry_t;

struct hr_state_table {
  hr_mutex_t mu;
  hr_map_t entries; /* guarded by mu */
};

hr_status_t hr_state_table_create(hr_state_table_t** out) {
  hr_state_table_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  hr_mutex_init(&t->mu);
  hr_map_init(&t->entries);
  *out = t;
  return NULL;
}

static void state_entry_destroy(state_entry_t* e, bool made) {
  if (made && e->kernel->destroy_state) e->kernel->destroy_state(e->state);
  hr_free(e->state);
  hr_free(e);
}

void hr_state_table_destroy(hr_state_table_t* t) {
  if (!t) return;
  const hr_map_entry_t* m;
  for (int64_t i = 0; (m = hr_map_next(&t->entries, &i));) state_entry_destroy((state_entry_t*)m->value, true);
  hr_map_deinit(&t->entries);
  hr_mutex_deinit(&t->mu);
  hr_free(t);
}

static hr_status_t state_entry_create(hr_prepare_ctx_t* ctx, state_entry_t** out) {
  size_t size = strlen(ctx->node_name) + 1;
  state_entry_t* e = hr_alloc_zero(sizeof *e + size);
  if (!e) return hr_status_out_of_memory();
  memcpy(e->name, ctx->node_name, size);
  e->kernel = ctx->kernel;
  e->state = hr_alloc_zero(ctx->kernel->state_bytes);
  hr_status_t status = e->state ? NULL : hr_status_out_of_memory();
  if (!status && ctx->kernel->create_state) status = ctx->kernel->create_state(ctx, e->state);
  if (status) state_entry_destroy(e, false);
  else *out = e;
  return status;
}

static hr_status_t state_find_or_create(hr_state_table_t* t, hr_prepare_ctx_t* ctx, void** out) {
  uintptr_t value;
  if (hr_map_find(&t->entries, hr_str(ctx->node_name), &value)) {
    const state_entry_t* e = (const state_entry_t*)value;
    if (e->kernel != ctx->kernel)
      return HR_ERROR(FAILED_PRECONDITION, "the state of node '%s' in this session was made by another kernel than %s's", ctx->node_name,
                      ctx->op_name);
    *out = e->state;
    return NULL;
  }
  state_entry_t* e = NULL;
  HR_TRY(state_entry_create(ctx, &e));
  hr_status_t status = hr_map_set(&t->entries, hr_str(e->name), (uintptr_t)e);
  if (status) state_entry_destroy(e, true);
  else *out = e->state;
  return status;
}

hr_status_t hr_state_get(hr_state_table_t* t, hr_prepare_ctx_t* ctx, void** out) {
  hr_mutex_lock(&t->mu);
  hr_status_t status = state_find_or_create(t, ctx, out);
  hr_mutex_unlock(&t->mu);
  return status;
}
