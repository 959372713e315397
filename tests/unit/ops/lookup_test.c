/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup tables against a plain list: many inserts, replacements and removals (LookupTableRemoveV2's work), growth, strings, memory that
 * runs out; and a table used by several threads. */
#include "base/thread.h"
#include "ops/lookup/table.h"
#include "session/session.h"
#include "unit/exec/maker.h"

enum { KEYS = 500, STEPS = 20000 };
static hr_tensor_t one_key(hr_dtype_t dtype, int64_t key) {
  hr_tensor_t t = {0};
  const hr_shape_t shape = hr_shape_vector(1);
  char text[64];
  maker_must(hr_tensor_create(dtype, &shape, &t), "a key");
  if (dtype == HR_I64)
    *(int64_t*)t.data = key;
  else if (dtype == HR_I32)
    *(int32_t*)t.data = (int32_t)key;
  else {
    const int size = snprintf(text, sizeof text, "a key whose text is long enough to be on the heap %" PRId64, key);
    maker_must(hr_tstring_set(t.data, (hr_str_t){text, (size_t)size}), "a key");
  }
  return t;
}

static void walk(hr_dtype_t dtype, int width) {
  const hr_shape_t value_shape = width == 1 ? hr_shape_scalar() : hr_shape_vector(width);
  hr_table_t* t = NULL;
  int64_t held[KEYS], count = 0;
  uint32_t random = 11;
  maker_must(hr_table_create(HR_TABLE_OF_TENSORS, dtype, HR_F32, &value_shape, HR_STR("t"), &t), "a table");
  for (int i = 0; i < KEYS; ++i) held[i] = -1;
  for (int i = 0; i < STEPS; ++i) {
    random = random * 1664525u + 1013904223u;
    const int64_t key = (random >> 8) % KEYS;
    hr_tensor_t k = one_key(dtype, key - KEYS / 2), v = maker_vec(width, (float)i);
    if (random >> 24 & 1) {
      HR_CHECK_OK(hr_table_rows_put(t, &t->rows, &k, &v, 0, true));
      count += held[key] < 0;
      held[key] = i;
    } else {
      hr_table_rows_remove(t, &t->rows, &k, 0);
      count -= held[key] >= 0;
      held[key] = -1;
    }
    hr_tensor_release(&k);
    hr_tensor_release(&v);
  }
  HR_CHECK_EQ_I64(t->rows.count, count);
  for (int i = 0; i < KEYS; ++i) {
    hr_tensor_t k = one_key(dtype, i - KEYS / 2);
    const int64_t row = hr_table_find(t, &k, 0);
    HR_CHECK((row >= 0) == (held[i] >= 0));
    for (int j = 0; row >= 0 && j < width; ++j) HR_CHECK_EQ_F64(((float*)t->rows.values.data)[row * width + j], (float)held[i] + (float)j);
    hr_tensor_release(&k);
  }
  hr_resource_release(&t->base);
}
HR_TEST(a_table_holds_what_a_list_would) {
  walk(HR_I64, 1);
  walk(HR_I32, 3);
  walk(HR_STRING, 1);
  walk(HR_STRING, 2);
}

static hr_status_t fill_and_remove(void) {
  const hr_shape_t scalar = hr_shape_scalar(), many = hr_shape_vector(40);
  hr_table_t* t = NULL;
  hr_tensor_t keys = {0}, values = {0};
  char text[64];
  hr_status_t status = hr_table_create(HR_TABLE_MUTABLE, HR_STRING, HR_I64, &scalar, HR_STR("t"), &t);
  if (!status) status = hr_tensor_create(HR_STRING, &many, &keys);
  if (!status) status = hr_tensor_create_zero(HR_I64, &many, &values);
  for (int i = 0; !status && i < 40; ++i) {
    snprintf(text, sizeof text, "a key whose text is long enough to be on the heap %d", i);
    status = hr_tstring_set((hr_tstring_t*)keys.data + i, hr_str(text));
    if (!status) status = hr_table_rows_put(t, &t->rows, &keys, &values, i, false);
  }
  for (int i = 0; !status && i < 40; i += 3) hr_table_rows_remove(t, &t->rows, &keys, i);
  hr_tensor_release(&keys);
  hr_tensor_release(&values);
  if (t) hr_resource_release(&t->base);
  return status;
}
HR_TEST(memory_may_run_out) { HR_TEST_EVERY_ALLOCATION_FAILS(fill_and_remove); }

/* Inserts, finds and removes at once: a key's value is always the one that belongs to it. */
typedef struct {
  hr_session_t* s;
  hr_value_t keys, values, found;
  hr_node_t *insert, *remove;
  int number;
} user_t;
static void* use_table(void* arg) {
  const user_t* u = arg;
  for (int i = 0; i < 200; ++i) {
    const int64_t key[] = {(i * 7 + u->number) % 50}, value[] = {key[0] * 10};
    hr_tensor_t feeds[2] = {{0}, {0}}, out = {0};
    maker_must(hr_tensor_from_i64_vec(HR_I64, key, 1, &feeds[0]), "keys");
    maker_must(hr_tensor_from_i64_vec(HR_I64, value, 1, &feeds[1]), "values");
    hr_value_t at[] = {u->keys, u->values}, fetch = u->found;
    hr_node_t* target = u->number == 0 && i % 3 ? u->remove : u->insert;
    hr_run_t write = {.feeds = at, .feed_values = feeds, .feed_count = target == u->insert ? 2 : 1, .targets = &target, .target_count = 1};
    hr_run_t read = {.feeds = at, .feed_values = feeds, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
    HR_CHECK_OK(hr_session_run(u->s, NULL, &write, NULL, NULL, NULL));
    if (HR_CHECK_OK(hr_session_run(u->s, NULL, &read, &out, NULL, NULL)))
      HR_CHECK(*(int64_t*)out.data == value[0] || *(int64_t*)out.data == -1);
    hr_tensor_release(&out);
    for (int j = 0; j < 2; ++j) hr_tensor_release(&feeds[j]);
  }
  return NULL;
}
HR_TEST(threads_share_a_table) {
  hr_graph_t* g = maker_graph();
  hr_named_attr_t types[] = {hr_at_type("key_dtype", HR_I64), hr_at_type("value_dtype", HR_I64)};
  hr_tensor_t missing = {0};
  const int64_t none[] = {-1};
  maker_must(hr_tensor_from_i64_vec(HR_I64, none, 1, &missing), "the default");
  missing.shape = hr_shape_scalar();
  const hr_value_t table = maker_node(g, "MutableHashTableV2", "table", 0, NULL, 2, types);
  user_t u = {.keys = maker_placeholder(g, "keys", HR_I64, NULL), .values = maker_placeholder(g, "values", HR_I64, NULL)};
  const hr_value_t put[] = {table, u.keys, u.values}, get[] = {table, u.keys, maker_const_of(g, "default", &missing)};
  u.insert = maker_node(g, "LookupTableInsertV2", "insert", 3, put, 0, NULL).node;
  u.remove = maker_node(g, "LookupTableRemoveV2", "remove", 2, put, 0, NULL).node;
  u.found = maker_node(g, "LookupTableFindV2", "find", 3, get, 0, NULL);
  maker_must(hr_session_create(g, NULL, &u.s), "a session");
  user_t users[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    users[i] = u;
    users[i].number = i;
    HR_CHECK(pthread_create(&threads[i], NULL, use_table, &users[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  hr_session_destroy(u.s);
  hr_tensor_release(&missing);
  hr_graph_destroy(g);
}
HR_TEST_MAIN()
