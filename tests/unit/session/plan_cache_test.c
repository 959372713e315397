/* SPDX-License-Identifier: Apache-2.0 */
/* The plan cache: every signature is found again, whatever its hash, however often the table grew; orders of one share a runner. */
#define HR_TEST_LEAKS_CHECKED
#include "session/plan_cache.h"
#include "unit/exec/maker.h"

enum { NODES = 8, MOST = 70 };

typedef struct {
  hr_graph_t* g;
  hr_value_t x, v[NODES];
  hr_session_options_t o;
  hr_plan_source_t source;
  hr_plan_cache_t cache;
} rig_t;

static void rig_init(rig_t* r) {
  char name[8];
  r->g = maker_graph();
  r->x = maker_placeholder(r->g, "x", HR_F32, &hr_pshape_scalar);
  for (int i = 0; i < NODES; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    r->v[i] = maker_1(r->g, "Neg", name, r->x);
  }
  hr_session_options_init(&r->o);
  r->source = (hr_plan_source_t){.graph = r->g, .options = &r->o, .resources = hr_resources_create()};
  maker_must(hr_state_table_create(&r->source.states), "states");
  maker_must(hr_device_set_create(&r->source.placing.devices), "a set");
  maker_must(hr_device_set_add_cpus(r->source.placing.devices, HR_STR(HR_DEVICE_LOCAL_TASK), 1, 1), "a CPU");
  hr_plan_cache_init(&r->cache);
}

static void rig_deinit(rig_t* r) {
  hr_plan_cache_deinit(&r->cache);
  hr_state_table_destroy(r->source.states);
  hr_resources_release(r->source.resources);
  hr_device_set_release(r->source.placing.devices);
  hr_graph_destroy(r->g);
}

/* Signature number i: each has another pair of fetches. */
static hr_signature_t signature(const rig_t* r, int i, hr_value_t fetches[2], uint64_t hash) {
  fetches[0] = r->v[i % NODES];
  fetches[1] = r->v[i / NODES % NODES];
  return (hr_signature_t){.feeds = &r->x, .feed_count = 1, .fetches = fetches, .fetch_count = 1 + (i / NODES > 0), .hash = hash};
}

static void check_many(uint64_t first, uint64_t step) {
  static const int sizes[] = {8, 16, 32, 64, 128}; /* the signatures that a first, second... table has room for */
  static const hr_prepared_t* got[MOST];
  rig_t r;
  hr_value_t fetches[2];
  rig_init(&r);
  for (int i = 0; i < MOST; ++i) {
    hr_signature_t key = signature(&r, i, fetches, first + step * (uint64_t)i);
    HR_CHECK(hr_plan_cache_find(&r.cache, &key) == NULL);
    HR_REQUIRE_OK(hr_plan_cache_get(&r.cache, &r.source, &key, &got[i]));
    HR_CHECK(hr_signature_equal(&got[i]->literal, &key));
    int tables = 1;
    while (sizes[tables - 1] < i + 1) ++tables;
    if (!HR_CHECK_EQ_I64(r.cache.tables.count, tables)) printf("  after %d\n", i + 1);
  }
  for (int i = MOST - 1; i >= 0; --i) {
    const hr_signature_t key = signature(&r, i, fetches, first + step * (uint64_t)i);
    const hr_prepared_t* again = NULL;
    HR_CHECK(hr_plan_cache_find(&r.cache, &key) == got[i]);
    HR_CHECK_OK(hr_plan_cache_get(&r.cache, &r.source, &key, &again));
    HR_CHECK(again == got[i]);
    hr_signature_t other = key;
    other.hash += 1000000;
    HR_CHECK(hr_plan_cache_find(&r.cache, &other) == NULL); /* whoever made it counts another hash */
  }
  HR_CHECK_EQ_I64(r.cache.prepared.count, MOST);
  rig_deinit(&r);
}

HR_TEST(signatures_are_found_again) {
  check_many(0, 1);
  check_many(14, 0);   /* all in one place, at the end of the first table */
  check_many(127, 16); /* in few places */
}

HR_TEST(orders_share_a_runner) {
  rig_t r;
  rig_init(&r);
  static const int rows[][3] = {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}, {1, 1, 2}, {2, 1, 3}, {1, 2, 3}, {2, 0, 4}, {0, 2, 4}, {2, 2, 5}};
  hr_runner_t* runners[6] = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_value_t fetches[] = {r.v[rows[i][0]], r.v[rows[i][1]]};
    hr_signature_t key = {.feeds = &r.x, .feed_count = 1, .fetches = fetches, .fetch_count = 2};
    const hr_prepared_t* e = NULL;
    key.hash = hr_signature_hash(&key);
    HR_REQUIRE_OK(hr_plan_cache_get(&r.cache, &r.source, &key, &e));
    HR_CHECK(e->checks[0].endpoint.node == r.x.node && e->checks[0].dtype == HR_F32 && e->checks[0].shape->rank == 0);
    if (!runners[rows[i][2]]) runners[rows[i][2]] = e->runner;
    for (int k = 0; k < 6; ++k) HR_CHECK_EQ_I64(e->runner == runners[k], k == rows[i][2]);
  }
  HR_CHECK_EQ_I64(r.cache.normals.count, 6);
  rig_deinit(&r);
}

HR_TEST(what_cannot_be_prepared_is_not_kept) {
  rig_t r;
  const hr_prepared_t* e = NULL;
  rig_init(&r);
  const hr_value_t none = {r.v[0].node, 1};
  const hr_signature_t bad = {.fetches = &none, .fetch_count = 1}, unfed = {.fetches = r.v, .fetch_count = 1},
                       doubled = {.feeds = (hr_value_t[]){r.x, r.x}, .feed_count = 2, .fetches = r.v, .fetch_count = 1};
  HR_CHECK_CODE(hr_plan_cache_get(&r.cache, &r.source, &bad, &e), HR_INVALID_ARGUMENT, "fetch 0");
  HR_CHECK_CODE(hr_plan_cache_get(&r.cache, &r.source, &doubled, &e), HR_INVALID_ARGUMENT, "fed");
  hr_status_release(hr_plan_cache_get(&r.cache, &r.source, &unfed, &e));
  HR_CHECK(hr_plan_cache_find(&r.cache, &bad) == NULL && hr_plan_cache_find(&r.cache, &doubled) == NULL);
  rig_deinit(&r);
}
HR_TEST_MAIN()
