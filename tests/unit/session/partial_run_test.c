/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental runs: feeds in parts, fetches as soon as they can be, each once. */
#define HR_TEST_LEAKS_CHECKED
#include "session/session.h"
#include "unit/exec/flow_maker.h"

typedef struct {
  hr_graph_t* g;
  hr_session_t* s;
  hr_value_t x, y, twice, sum, add, v;
  hr_partial_run_t* p;
} rig_t;

static void rig_init(rig_t* r) {
  r->g = maker_graph();
  r->x = maker_placeholder(r->g, "x", HR_F32, NULL);
  r->y = maker_placeholder(r->g, "y", HR_F32, NULL);
  r->twice = maker_2(r->g, "AddV2", "twice", r->x, r->x);
  r->sum = maker_2(r->g, "AddV2", "sum", r->twice, r->y);
  r->v = maker_variable(r->g, "v", &hr_pshape_scalar);
  hr_value_t init = maker_2(r->g, "Assign", "init", r->v, maker_const(r->g, "zero", 0));
  r->add = maker_2(r->g, "AssignAdd", "add", r->v, r->twice);
  maker_must(hr_session_create(r->g, NULL, &r->s), "a session");
  hr_run_t run = {.targets = &init.node, .target_count = 1};
  maker_must(hr_session_run(r->s, NULL, &run, NULL, NULL, NULL), "initial values");
  hr_value_t feeds[] = {r->x, r->y}, fetches[] = {r->sum, r->twice};
  hr_run_t all = {.feeds = feeds, .feed_count = 2, .fetches = fetches, .fetch_count = 2, .targets = &r->add.node, .target_count = 1};
  maker_must(hr_session_partial_setup(r->s, &all, &r->p), "a partial run");
}

static void rig_deinit(rig_t* r) {
  hr_partial_run_destroy(r->p);
  hr_session_destroy(r->s);
  hr_graph_destroy(r->g);
}

static hr_status_t part(rig_t* r, hr_value_t* feed, float value, hr_value_t* fetch, float* out) {
  hr_tensor_t in = maker_f32(value), got = {0};
  hr_run_t run = {.feeds = feed, .feed_values = &in, .feed_count = feed ? 1 : 0, .fetches = fetch, .fetch_count = fetch ? 1 : 0};
  hr_status_t status = hr_partial_run_step(r->p, &run, &got);
  if (!status && fetch) {
    *out = maker_get(&got);
    hr_tensor_release(&got);
  }
  hr_tensor_release(&in);
  return status;
}

HR_TEST(feeds_in_parts_and_everything_runs_once) {
  rig_t r;
  float out = 0;
  rig_init(&r);
  HR_CHECK_CODE(part(&r, NULL, 0, &r.sum, &out), HR_INVALID_ARGUMENT, "'sum:0' cannot be fetched yet");
  HR_REQUIRE_OK(part(&r, &r.x, 4, &r.twice, &out));
  HR_CHECK_EQ_F64(out, 8);
  HR_CHECK_CODE(part(&r, &r.x, 4, NULL, &out), HR_INVALID_ARGUMENT, "'x:0' has already been fed");
  HR_CHECK_CODE(part(&r, NULL, 0, &r.twice, &out), HR_INVALID_ARGUMENT, "'twice:0' has already been fetched");
  HR_CHECK_CODE(part(&r, &r.twice, 4, NULL, &out), HR_INVALID_ARGUMENT, "was not specified in partial_run_setup");
  HR_REQUIRE_OK(part(&r, &r.y, 1, &r.sum, &out));
  HR_CHECK_EQ_F64(out, 9);
  HR_CHECK_CODE(part(&r, NULL, 0, &r.sum, &out), HR_INVALID_ARGUMENT, "complete");
  hr_run_t read = {.fetches = &r.v, .fetch_count = 1};
  hr_tensor_t v = {0};
  HR_REQUIRE_OK(hr_session_run(r.s, NULL, &read, &v, NULL, NULL));
  HR_CHECK_EQ_F64(maker_get(&v), 8); /* the target ran once */
  hr_tensor_release(&v);
  rig_deinit(&r);
}

HR_TEST(a_partial_run_may_outlive_its_session) {
  rig_t r;
  float out = 0;
  rig_init(&r);
  HR_REQUIRE_OK(part(&r, &r.x, 4, NULL, &out));
  hr_session_destroy(r.s);
  r.s = NULL;
  HR_CHECK_CODE(part(&r, &r.y, 1, &r.sum, &out), HR_CANCELLED, "closed");
  rig_deinit(&r);
}

static hr_status_t give(hr_partial_run_t* p, hr_value_t* feed, const hr_tensor_t* value, hr_value_t* fetch, float* out) {
  hr_tensor_t got = {0};
  hr_run_t run = {.feeds = feed, .feed_values = value, .feed_count = feed ? 1 : 0, .fetches = fetch, .fetch_count = fetch ? 1 : 0};
  hr_status_t status = hr_partial_run_step(p, &run, &got);
  if (!status && fetch) *out = maker_get(&got);
  hr_tensor_release(&got);
  return status;
}

HR_TEST(loops_and_branches_go_on_when_their_feeds_come) {
  hr_graph_t* g = maker_graph();
  hr_session_t* s = NULL;
  hr_partial_run_t* p = NULL;
  float out = 0;
  hr_value_t start = maker_placeholder(g, "start", HR_F32, NULL), unused = maker_placeholder(g, "unused", HR_F32, NULL);
  hr_value_t bias = maker_placeholder(g, "bias", HR_F32, NULL), taken = maker_bool(g, "taken");
  maker_loop_t l = maker_count_loop(g, "loop", maker_i32(g, "zero", 0), start, 5, 2, 3);
  hr_value_t w = maker_2(g, "Switch", "w", l.exit_a, taken), no = maker_1(g, "Neg", "no", w),
             sum = maker_2(g, "AddV2", "sum", hr_emit_nth(w, 1), bias);
  hr_value_t m = maker_merge(g, "m", no, sum), either = maker_merge(g, "either", bias, no);
  hr_value_t feeds[] = {start, unused, bias, taken}, fetches[] = {l.exit_a, m, no, either};
  hr_run_t all = {.feeds = feeds, .feed_count = 4, .fetches = fetches, .fetch_count = 4};
  hr_tensor_t yes = maker_truth(true), one = maker_f32(1), ten = maker_f32(10);
  maker_must(hr_session_create(g, NULL, &s), "a session");
  for (int round = 0; round < 2; ++round) {
    HR_REQUIRE_OK(hr_session_partial_setup(s, &all, &p));
    HR_CHECK_CODE(give(p, NULL, NULL, &l.exit_a, &out), HR_INVALID_ARGUMENT, "cannot be fetched yet");
    HR_CHECK_OK(give(p, &start, &one, &l.exit_a, &out));
    HR_CHECK_EQ_F64(out, 11);
    HR_CHECK_CODE(give(p, NULL, NULL, &m, &out), HR_INVALID_ARGUMENT, "cannot be fetched yet");
    HR_CHECK_OK(give(p, &taken, &yes, NULL, &out));
    if (round == 0) {
      HR_CHECK_CODE(give(p, NULL, NULL, &no, &out), HR_INVALID_ARGUMENT, "does not have value"); /* of the other branch */
      HR_CHECK_OK(give(p, &bias, &ten, &m, &out));
      HR_CHECK_EQ_F64(out, 21);
      HR_CHECK_OK(give(p, NULL, NULL, &either, &out));
      HR_CHECK_EQ_F64(out, 10);
      HR_CHECK_OK(give(p, &unused, &one, NULL, &out));
    }
    hr_partial_run_destroy(p); /* the second time in the middle */
  }
  hr_tensor_release(&yes);
  hr_tensor_release(&one);
  hr_tensor_release(&ten);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
