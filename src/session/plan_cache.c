/* SPDX-License-Identifier: Apache-2.0 */
/* The cache: an open-addressed table of pointers that readers probe without a lock. Writers hold the mutex, publish an entry with one
 * release store, and replace a table that is half full by one twice its size, keeping the old one for readers that are still in it. */
#include "session/plan_cache.h"
#include "base/alloc.h"
#include "session/pipeline.h"

struct hr_prepared_table {
  uint64_t mask;
  _Atomic(hr_prepared_t*) slots[];
};

void hr_plan_cache_init(hr_plan_cache_t* c) {
  memset(c, 0, sizeof *c);
  atomic_init(&c->table, NULL);
  hr_mutex_init(&c->mu);
}

static void prepared_destroy(hr_prepared_t* e) {
  if (e->binding) e->runner->table->unbind(e->runner, e->binding);
  hr_free(e->literal_block);
  hr_free(e->checks);
  hr_free(e);
}

void hr_plan_cache_deinit(hr_plan_cache_t* c) {
  for (int64_t i = 0; i < c->prepared.count; ++i) prepared_destroy(c->prepared.data[i]);
  for (int64_t i = 0; i < c->normals.count; ++i) {
    c->normals.data[i].runner->table->destroy(c->normals.data[i].runner);
    hr_free(c->normals.data[i].key.block);
  }
  for (int64_t i = 0; i < c->tables.count; ++i) hr_free(c->tables.data[i]);
  hr_vec_deinit(&c->prepared);
  hr_vec_deinit(&c->normals);
  hr_vec_deinit(&c->tables);
  hr_mutex_deinit(&c->mu);
}

const hr_prepared_t* hr_plan_cache_find(hr_plan_cache_t* c, const hr_signature_t* key) {
  const hr_prepared_table_t* t = atomic_load_explicit(&c->table, memory_order_acquire);
  if (!t) return NULL;
  for (uint64_t i = key->hash & t->mask;; i = (i + 1) & t->mask) {
    const hr_prepared_t* e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
    if (!e || (e->literal.hash == key->hash && hr_signature_equal(&e->literal, key))) return e;
  }
}

/* --- publishing; under the mutex ------------------------------------------------------------------------------------------------------ */

static void table_put(hr_prepared_table_t* t, hr_prepared_t* e) {
  uint64_t i = e->literal.hash & t->mask;
  while (atomic_load_explicit(&t->slots[i], memory_order_relaxed)) i = (i + 1) & t->mask;
  atomic_store_explicit(&t->slots[i], e, memory_order_release);
}

static hr_status_t table_grow(hr_plan_cache_t* c) {
  const hr_prepared_table_t* old = atomic_load_explicit(&c->table, memory_order_relaxed);
  size_t size = old ? 2 * ((size_t)old->mask + 1) : 16;
  HR_TRY(hr_vec_reserve(&c->tables, 1));
  hr_prepared_table_t* t = hr_alloc_zero(sizeof *t + size * sizeof t->slots[0]);
  if (!t) return hr_status_out_of_memory();
  t->mask = size - 1;
  for (int64_t i = 0; i < c->prepared.count; ++i) table_put(t, c->prepared.data[i]);
  c->tables.data[c->tables.count++] = t;
  atomic_store_explicit(&c->table, t, memory_order_release);
  return NULL;
}

static hr_status_t publish(hr_plan_cache_t* c, hr_prepared_t* e) {
  hr_prepared_table_t* t = atomic_load_explicit(&c->table, memory_order_relaxed);
  HR_TRY(hr_vec_reserve(&c->prepared, 1));
  if (!t || 2 * (uint64_t)(c->prepared.count + 1) > t->mask + 1) HR_TRY(table_grow(c));
  c->prepared.data[c->prepared.count++] = e;
  table_put(atomic_load_explicit(&c->table, memory_order_relaxed), e);
  return NULL;
}

/* --- preparing; under the mutex ------------------------------------------------------------------------------------------------------- */

static hr_runner_t* find_runner(const hr_plan_cache_t* c, const hr_signature_t* normal) {
  for (int64_t i = 0; i < c->normals.count; ++i) {
    const hr_signature_t* key = &c->normals.data[i].key.normal;
    if (key->hash == normal->hash && hr_signature_equal(key, normal)) return c->normals.data[i].runner;
  }
  return NULL;
}

static hr_status_t make_runner(const hr_plan_source_t* source, const hr_signature_t* normal, hr_runner_t** out) {
  hr_prune_request_t request = {normal->feeds,       normal->feed_count, normal->fetches,
                                normal->fetch_count, normal->targets,    normal->target_count, false};
  hr_program_t program = {0};
  HR_TRY(hr_pipeline_run(source->graph, &request, source->options, &source->placing, &program));
  hr_session_backend_t* b = source->backend;
  if (b) return b->create_runner(b, &program, out);
  return hr_runner_local_create(&program, source->placing.devices, source->states, source->resources, out);
}

static hr_status_t get_runner(hr_plan_cache_t* c, const hr_plan_source_t* source, hr_signature_normal_t* normal, hr_runner_t** out) {
  if ((*out = find_runner(c, &normal->normal))) return NULL;
  HR_TRY(hr_vec_reserve(&c->normals, 1));
  HR_TRY(make_runner(source, &normal->normal, out));
  c->normals.data[c->normals.count++] = (struct hr_normal_entry){*normal, *out};
  normal->block = NULL; /* the cache has it now; the arrays stay where they are */
  return NULL;
}

static hr_status_t fill_checks(hr_prepared_t* e, hr_graph_t* g) {
  e->checks = hr_alloc_array((size_t)e->literal.feed_count + 1, sizeof *e->checks);
  if (!e->checks) return hr_status_out_of_memory();
  hr_mutex_lock(&g->mu);
  for (int32_t i = 0; i < e->literal.feed_count; ++i) {
    hr_value_t v = e->literal.feeds[i];
    e->checks[i] = (hr_feed_check_t){v, (int32_t)hr_dtype_base(hr_value_type(v)), hr_value_shape(v)};
  }
  hr_mutex_unlock(&g->mu);
  return NULL;
}

static hr_status_t prepare_entry(hr_plan_cache_t* c, const hr_plan_source_t* source, hr_signature_normal_t* normal, hr_prepared_t* e) {
  HR_TRY(get_runner(c, source, normal, &e->runner));
  HR_TRY(e->runner->table->bind(e->runner, normal->feed_from, normal->fetch_of, e->literal.fetch_count, &e->binding));
  HR_TRY(fill_checks(e, source->graph));
  return publish(c, e);
}

static hr_status_t prepare(hr_plan_cache_t* c, const hr_plan_source_t* source, const hr_signature_t* key, const hr_prepared_t** out) {
  HR_TRY(hr_signature_check(key, source->graph));
  hr_signature_normal_t normal = {0};
  hr_prepared_t* e = hr_alloc_zero(sizeof *e);
  hr_status_t status = e ? hr_signature_copy(key, &e->literal, &e->literal_block) : hr_status_out_of_memory();
  if (status || (status = hr_signature_normalise(key, &normal))) goto done;
  if ((status = prepare_entry(c, source, &normal, e))) goto done;
  *out = e;
  e = NULL;
done:
  hr_free(normal.block);
  if (e) prepared_destroy(e);
  return status;
}

hr_status_t hr_plan_cache_get(hr_plan_cache_t* c, const hr_plan_source_t* source, const hr_signature_t* key, const hr_prepared_t** out) {
  hr_mutex_lock(&c->mu);
  hr_status_t status = NULL;
  if (!(*out = hr_plan_cache_find(c, key))) status = prepare(c, source, key, out);
  hr_mutex_unlock(&c->mu);
  return status;
}
