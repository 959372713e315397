/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs with nested loops and conditionals, as graphs of Switch, Merge, Enter, Exit and NextIteration, against an evaluator that
 * runs the same program step by step. Values also go around through a rendezvous, through kernels that answer later from another thread,
 * and through kernels that wait. Every third program runs in a session of several devices, its nodes spread over them at random. Some steps
 * are cancelled or fail on purpose: then they must end, and the next one must be right again.
 *
 * Arguments: how many programs (200), the first seed (1). */
#include <time.h>
#include "base/clock.h"
#include "base/errand.h"
#include "base/thread.h"
#include "exec/plan.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "rt/async.h"
#include "rt/rendezvous.h"
#include "session/session.h"
#include "unit/exec/flow_maker.h"

/* --- chance --------------------------------------------------------------------------------------------------------------------------- */

static uint64_t state;
static uint32_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 16);
}
static int below(int n) { return (int)(next_random() % (uint32_t)n); }

/* --- kernels that take their time ----------------------------------------------------------------------------------------------------- */

static void pause_us(int us) {
  struct timespec t = {0, us * 1000L};
  if (us) nanosleep(&t, NULL);
}
static int delay_of(const hr_kernel_ctx_t* k) { /* from what it works on, so that it differs from run to run of one node */
  const int32_t v = *(const int32_t*)hr_input(k, 0)->data;
  return (int)((uint32_t)v * 2654435761u >> 24) % 60;
}

typedef struct {
  hr_errand_t errand;
  hr_kernel_ctx_t* k;
  hr_async_t* done;
} later_t;
static void answer_later(hr_errand_t* self) {
  later_t* l = (later_t*)self;
  hr_kernel_ctx_t* k = l->k;
  hr_async_t* done = l->done;
  hr_free(l);
  pause_us(delay_of(k));
  hr_output_share(k, 0, hr_input(k, 0));
  done->finish(done, NULL);
}
static void later_start(hr_kernel_ctx_t* k, hr_async_t* done) {
  if (delay_of(k) % 2) { /* at once, from within */
    hr_output_share(k, 0, hr_input(k, 0));
    done->finish(done, NULL);
    return;
  }
  later_t* l = hr_alloc(sizeof *l);
  if (!l) {
    done->finish(done, hr_status_out_of_memory());
    return;
  }
  *l = (later_t){.errand.run = answer_later, .k = k, .done = done};
  hr_status_t status = hr_errand_start(&l->errand);
  if (!status) return;
  hr_free(l);
  done->finish(done, status);
}
static hr_status_t wait_compute(hr_kernel_ctx_t* k) {
  pause_us(delay_of(k));
  if (hr_is_cancelled(k)) return hr_status_cancelled();
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}
static hr_status_t fail_compute(hr_kernel_ctx_t* k) { /* fails at one value */
  const int32_t v = *(const int32_t*)hr_input(k, 0)->data;
  if (v == 5) return HR_ERROR(DATA_LOSS, "five");
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}
#define STRESS_OP(variable, Name, more_flags, ...)                    \
  static const hr_op_t variable = {.name = Name,                      \
                                   .sig = "x: int32 -> y: int32",     \
                                   .attrs = "",                       \
                                   .flags = more_flags,               \
                                   .shape = hr_infer_same,            \
                                   HR_KERNELS(__VA_ARGS__),           \
                                   .doc = "the input, after a while", \
                                   HR_HERE}
STRESS_OP(later_op, "StressLater", HR_OP_SIDE_EFFECT, {.start = later_start});
STRESS_OP(wait_op, "StressWait", HR_OP_SIDE_EFFECT | HR_OP_BLOCKING, {.compute = wait_compute});
STRESS_OP(fail_op, "StressFail", HR_OP_SIDE_EFFECT, {.compute = fail_compute});

/* --- programs ------------------------------------------------------------------------------------------------------------------------- */

enum { VARIABLES = 4, BLOCK_MOST = 5, DEPTH_MOST = 3, STATEMENTS_MOST = 60, TIMES_MOST = 40, SLOW_TIMES_MOST = 12 };
typedef enum { SET_CONST, ADD, SUB, LARGER, VIA_RENDEZVOUS, LATER, WAIT, FAIL, IF, LOOP } kind_t;

typedef struct statement {
  kind_t kind;
  int to, a, b;  /* variables */
  int32_t value; /* SET_CONST; LOOP: how often; IF: a < value */
  int parallel;
  bool constant_enters;
  struct statement *body, *other, *next; /* IF: both sides */
} statement_t;

static hr_arena_t arena;
static int statements;

/* times: how often it will run at most, so that a program ends soon */
static statement_t* make_block(int depth, int times, bool may_fail) {
  statement_t *first = NULL, **end = &first;
  for (int n = 1 + below(BLOCK_MOST); n > 0; --n) {
    statement_t* s = hr_arena_array(&arena, 1, sizeof *s);
    const int dice = below(100);
    s->kind = dice < 10               ? SET_CONST
              : dice < 35             ? ADD
              : dice < 50             ? SUB
              : dice < 58             ? LARGER
              : dice < 64             ? VIA_RENDEZVOUS
              : dice < 68             ? LATER
              : dice < 70             ? WAIT
              : dice < 71 && may_fail ? FAIL
              : dice < 86             ? IF
                                      : LOOP;
    if (s->kind >= IF && (depth == DEPTH_MOST || statements > STATEMENTS_MOST)) s->kind = ADD;
    if ((s->kind == LATER || s->kind == WAIT) && times > SLOW_TIMES_MOST) s->kind = VIA_RENDEZVOUS;
    s->to = below(VARIABLES);
    s->a = below(VARIABLES);
    s->b = below(VARIABLES);
    s->value = s->kind == LOOP ? below(5) : below(60) - 20;
    if (s->kind == LOOP && times * s->value > TIMES_MOST) s->value = 1;
    s->parallel = 1 + below(4);
    s->constant_enters = below(2);
    statements++;
    if (s->kind >= IF) s->body = make_block(depth + 1, s->kind == LOOP && s->value ? times * s->value : times, may_fail);
    if (s->kind == IF && below(3)) s->other = make_block(depth + 1, times, may_fail);
    *end = s;
    end = &s->next;
  }
  return first;
}

/* --- the evaluator -------------------------------------------------------------------------------------------------------------------- */

static int32_t small(int32_t v) { return (v % 97 + 97) % 97 - 40; }

/* False: a StressFail met its five. */
static bool evaluate(const statement_t* s, int32_t v[VARIABLES]) {
  for (; s; s = s->next) {
    switch (s->kind) {
      case SET_CONST: v[s->to] = s->value; break;
      case ADD: v[s->to] = small(v[s->a] + v[s->b]); break;
      case SUB: v[s->to] = small(v[s->a] - v[s->b]); break;
      case LARGER: v[s->to] = v[s->a] > v[s->b] ? v[s->a] : v[s->b]; break;
      case FAIL:
        if (v[s->a] == 5) return false;
        v[s->to] = v[s->a];
        break;
      case IF:
        if (!evaluate(v[s->a] < s->value ? s->body : s->other, v)) return false;
        break;
      case LOOP:
        for (int32_t i = 0; i < s->value; ++i)
          if (!evaluate(s->body, v)) return false;
        break;
      default: v[s->to] = v[s->a]; break;
    }
  }
  return true;
}

/* --- the same as a graph -------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_value_t v[VARIABLES], pivot;
} scope_t; /* pivot: a node of the frame and branch; node NULL at the top */

static hr_graph_t* g;
static int names;
static bool in_session; /* which has its own rendezvous */

static const char* new_name(char text[32]) {
  snprintf(text, 32, "n%d", names++);
  return text;
}
static hr_value_t node1(const char* op, hr_value_t a) {
  char n[32];
  return maker_1(g, op, new_name(n), a);
}
static hr_value_t node2(const char* op, hr_value_t a, hr_value_t b) {
  char n[32];
  return maker_2(g, op, new_name(n), a, b);
}
static hr_value_t constant(const scope_t* s, int32_t v) {
  char n[32];
  hr_value_t c = maker_i32(g, new_name(n), v);
  if (s->pivot.node) maker_wait(g, c, s->pivot);
  return c;
}
static hr_value_t small_node(const scope_t* s, hr_value_t v) {
  return node2("Sub", node2("FloorMod", v, constant(s, 97)), constant(s, 40));
}

static hr_value_t via_rendezvous(const scope_t* s, hr_value_t v) {
  if (in_session) return node1("Snapshot", v);
  static const char device[] = "/job:localhost/replica:0/task:0/device:CPU:0";
  char edge[32], n[32];
  new_name(edge);
  for (int sends = 1; sends >= 0; --sends) {
    hr_named_attr_t at[] = {hr_at_type(sends ? "T" : "tensor_type", HR_I32), hr_at_str("tensor_name", edge),
                            hr_at_str("send_device", device), hr_at_int("send_device_incarnation", 1), hr_at_str("recv_device", device)};
    hr_node_desc_t d = {.op = hr_str(sends ? "_Send" : "_Recv"),
                        .name = hr_str(new_name(n)),
                        .inputs = &v,
                        .input_count = sends,
                        .attrs = at,
                        .attr_count = 5,
                        .skip_shapes = true};
    hr_node_t* made = NULL;
    maker_must(hr_graph_add(g, &d, &made), n);
    if (sends) continue;
    if (s->pivot.node) maker_wait(g, (hr_value_t){made, 0}, s->pivot);
    v = (hr_value_t){made, 0};
  }
  return v;
}

static void add_block(const statement_t* s, scope_t* in);

static void add_if(const statement_t* s, scope_t* in) {
  scope_t yes = {0}, no = {0};
  hr_value_t p = node2("Less", in->v[s->a], constant(in, s->value)), pivots = node2("Switch", p, p);
  yes.pivot = node1("Identity", hr_emit_nth(pivots, 1));
  no.pivot = node1("Identity", pivots);
  for (int i = 0; i < VARIABLES; ++i) {
    hr_value_t w = node2("Switch", in->v[i], p);
    yes.v[i] = hr_emit_nth(w, 1);
    no.v[i] = w;
  }
  add_block(s->body, &yes);
  add_block(s->other, &no);
  for (int i = 0; i < VARIABLES; ++i) in->v[i] = below(2) ? node2("Merge", no.v[i], yes.v[i]) : node2("Merge", yes.v[i], no.v[i]);
}

static hr_value_t enter(hr_value_t v, const char* frame, bool is_constant, int parallel) {
  char n[32];
  return maker_enter_of(g, new_name(n), v, frame, is_constant, parallel);
}

static bool block_sets(const statement_t* s, int variable) {
  for (; s; s = s->next)
    if ((s->kind < IF && s->to == variable) || (s->kind >= IF && (block_sets(s->body, variable) || block_sets(s->other, variable))))
      return true;
  return false;
}

static void add_loop(const statement_t* s, scope_t* in) {
  char frame[32];
  scope_t body = {0};
  hr_value_t merges[VARIABLES], switches[VARIABLES];
  bool invariant[VARIABLES];
  new_name(frame);
  hr_value_t count = enter(constant(in, 0), frame, false, s->parallel), merge = node2("Merge", count, count);
  hr_value_t cond = node1("LoopCond", node2("Less", merge, enter(constant(in, s->value), frame, true, s->parallel)));
  hr_value_t counter = node2("Switch", merge, cond);
  body.pivot = node1("Identity", hr_emit_nth(counter, 1));
  for (int i = 0; i < VARIABLES; ++i) {
    invariant[i] = s->constant_enters && !block_sets(s->body, i);
    hr_value_t e = enter(in->v[i], frame, invariant[i], s->parallel);
    if (invariant[i]) { /* what is computed from it alone must not go on when the loop does not */
      body.v[i] = node1("Identity", e);
      maker_wait(g, body.v[i], body.pivot);
      continue;
    }
    merges[i] = node2("Merge", e, e);
    switches[i] = node2("Switch", merges[i], cond);
    body.v[i] = hr_emit_nth(switches[i], 1);
  }
  add_block(s->body, &body);
  maker_close(g, merge, node1("NextIteration", node2("AddV2", hr_emit_nth(counter, 1), constant(&body, 1))));
  for (int i = 0; i < VARIABLES; ++i) {
    if (invariant[i]) continue;
    maker_close(g, merges[i], node1("NextIteration", body.v[i]));
    in->v[i] = node1("Exit", switches[i]);
  }
}

static void add_block(const statement_t* s, scope_t* in) {
  for (; s; s = s->next) {
    const hr_value_t a = in->v[s->a], b = in->v[s->b];
    switch (s->kind) {
      case SET_CONST: in->v[s->to] = constant(in, s->value); break;
      case ADD: in->v[s->to] = small_node(in, node2("AddV2", a, b)); break;
      case SUB: in->v[s->to] = small_node(in, node2("Sub", a, b)); break;
      case LARGER: in->v[s->to] = node2("Maximum", a, b); break;
      case VIA_RENDEZVOUS: in->v[s->to] = via_rendezvous(in, a); break;
      case LATER: in->v[s->to] = node1("StressLater", a); break;
      case WAIT: in->v[s->to] = node1("StressWait", a); break;
      case FAIL: in->v[s->to] = node1("StressFail", a); break;
      case IF: add_if(s, in); break;
      case LOOP: add_loop(s, in); break;
    }
  }
}

/* --- one program ---------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_value_t feeds[VARIABLES], fetches[VARIABLES];
  hr_plan_t* plan; /* or a session */
  hr_session_t* session;
  hr_state_table_t* states;
  hr_resources_t* resources;
  const statement_t* program;
  uint64_t seed;
} case_t;

static hr_status_t plan_step(case_t* c, hr_cancel_t* cancel, const hr_tensor_t* values, hr_tensor_t* got) {
  hr_rendezvous_t* r = NULL;
  maker_must(hr_rendezvous_create(NULL, &r), "a rendezvous");
  hr_step_t step = {.id = 1, .cancel = cancel, .resources = c->resources, .rendezvous = r, .threads = 1};
  hr_status_t status = hr_plan_run(c->plan, &step, values, got);
  hr_rendezvous_release(r);
  return status;
}

static hr_status_t case_step(case_t* c, hr_cancel_t* cancel, const int32_t in[VARIABLES], int32_t out[VARIABLES]) {
  hr_tensor_t values[VARIABLES] = {0}, got[VARIABLES] = {0};
  for (int i = 0; i < VARIABLES; ++i) maker_must(hr_tensor_from_i32(in[i], &values[i]), "a value");
  hr_run_t run = {.feeds = c->feeds, .feed_values = values, .feed_count = VARIABLES, .fetches = c->fetches, .fetch_count = VARIABLES};
  hr_run_options_t options = {.cancel = cancel};
  hr_status_t status = c->plan ? plan_step(c, cancel, values, got) : hr_session_run(c->session, &options, &run, got, NULL, NULL);
  for (int i = 0; i < VARIABLES; ++i) {
    out[i] = status ? 0 : *(int32_t*)got[i].data;
    hr_tensor_release(&got[i]);
    hr_tensor_release(&values[i]);
  }
  return status;
}

static void case_check(case_t* c, const int32_t in[VARIABLES]) {
  int32_t want[VARIABLES], got[VARIABLES];
  hr_cancel_t cancel;
  memcpy(want, in, sizeof want);
  const bool good = evaluate(c->program, want);
  hr_cancel_init(&cancel);
  hr_status_t status = case_step(c, &cancel, in, got);
  hr_cancel_deinit(&cancel);
  const char* said = hr_status_message(status);
  if (!good ? hr_status_code(status) != HR_DATA_LOSS : status || memcmp(want, got, sizeof want))
    hr_test_fail(__FILE__, __LINE__, "seed %llu: wanted %s %d %d %d %d, got %d %d %d %d '%s'", (unsigned long long)c->seed,
                 good ? "values" : "a failure", want[0], want[1], want[2], want[3], got[0], got[1], got[2], got[3], said);
  hr_status_release(status);
}

typedef struct {
  hr_cancel_t* cancel;
  int us;
} cancel_later_t;
static void cancel_later(void* arg) {
  const cancel_later_t* c = arg;
  pause_us(c->us);
  hr_cancel_start(c->cancel, HR_ERROR(DEADLINE_EXCEEDED, "cancelled"));
}

static void case_cancel(case_t* c, const int32_t in[VARIABLES]) {
  int32_t got[VARIABLES];
  hr_cancel_t cancel;
  hr_thread_t thread;
  hr_cancel_init(&cancel);
  cancel_later_t later = {&cancel, below(300)};
  HR_REQUIRE_OK(hr_thread_start(&thread, "canceller", cancel_later, &later));
  hr_status_t status = case_step(c, &cancel, in, got);
  hr_thread_join(&thread);
  hr_cancel_deinit(&cancel);
  const hr_code_t code = hr_status_code(status);
  if (status && code != HR_DEADLINE_EXCEEDED && code != HR_DATA_LOSS)
    hr_test_fail(__FILE__, __LINE__, "seed %llu: cancelled with %s", (unsigned long long)c->seed, hr_status_message(status));
  hr_status_release(status);
}

/* Several steps of one plan at once. */
typedef struct {
  case_t* c;
  int32_t in[VARIABLES];
  hr_thread_t thread;
} crowd_t;
static void crowd_main(void* arg) {
  crowd_t* m = arg;
  for (int i = 0; i < 3; ++i) case_check(m->c, m->in);
}
static void case_crowd(case_t* c) {
  enum { MEMBERS = 3 };
  crowd_t members[MEMBERS];
  for (int m = 0; m < MEMBERS; ++m) {
    members[m].c = c;
    for (int i = 0; i < VARIABLES; ++i) members[m].in[i] = below(97) - 40;
  }
  for (int m = 0; m < MEMBERS; ++m) maker_must(hr_thread_start(&members[m].thread, "member", crowd_main, &members[m]), "a thread");
  for (int m = 0; m < MEMBERS; ++m) hr_thread_join(&members[m].thread);
}

static void case_build(case_t* c) {
  scope_t top = {0};
  char n[32];
  for (int i = 0; i < VARIABLES; ++i) c->feeds[i] = top.v[i] = maker_placeholder(g, new_name(n), HR_I32, &hr_pshape_scalar);
  add_block(c->program, &top);
  for (int i = 0; i < VARIABLES; ++i) c->fetches[i] = node1("Identity", top.v[i]);
}

static hr_status_t case_plan(case_t* c) {
  hr_node_t** nodes = hr_alloc_array((size_t)g->nodes.count + 1, sizeof *nodes);
  int64_t count = 0;
  for (int64_t i = 0; i < g->nodes.count; ++i) { /* in a random order, all but what is fed */
    hr_node_t* n = g->nodes.data[i];
    if (hr_str_is(n->attrs.def->name, "Placeholder")) continue;
    const int64_t at = below((int)count + 1);
    nodes[count++] = nodes[at];
    nodes[at] = n;
  }
  hr_plan_desc_t d = {.nodes = nodes,
                      .node_count = count,
                      .feeds = c->feeds,
                      .feed_count = VARIABLES,
                      .fetches = c->fetches,
                      .fetch_count = VARIABLES,
                      .states = c->states,
                      .resources = c->resources};
  hr_status_t status = hr_plan_create(&d, &c->plan);
  hr_free(nodes);
  return status;
}

static hr_status_t case_session(case_t* c) {
  static const char* const devices[] = {"", "/cpu:0", "/cpu:1", "/cpu:2"};
  hr_session_options_t o;
  for (int64_t i = 0; i < g->nodes.count; ++i) g->nodes.data[i]->device = hr_str(devices[below(4)]);
  hr_session_options_init(&o);
  o.cpu_devices = 3;
  return hr_session_create(g, &o, &c->session);
}

static int run_case(uint64_t seed) {
  case_t c = {.seed = seed, .resources = hr_resources_create()};
  int32_t in[VARIABLES];
  state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int i = 0; i < 8; ++i) next_random();
  hr_arena_init(&arena);
  statements = names = 0;
  in_session = seed % 3 == 0;
  g = maker_graph();
  maker_must(hr_state_table_create(&c.states), "states");
  c.program = make_block(0, 1, below(4) == 0);
  case_build(&c);
  if (HR_CHECK_OK(in_session ? case_session(&c) : case_plan(&c))) {
    for (int step = 0; step < 4; ++step) {
      for (int i = 0; i < VARIABLES; ++i) in[i] = below(97) - 40;
      if (step == 2)
        case_cancel(&c, in);
      else
        case_check(&c, in);
    }
  }
  if ((c.plan || c.session) && seed % 4 == 0) case_crowd(&c);
  const int nodes = (int)g->nodes.count;
  hr_plan_destroy(c.plan);
  hr_session_destroy(c.session);
  hr_state_table_destroy(c.states);
  hr_resources_release(c.resources);
  hr_graph_destroy(g);
  hr_arena_deinit(&arena);
  return nodes;
}

static int cases = 200;
static uint64_t first_seed = 1;

HR_TEST(random_programs_give_what_they_should) {
  int64_t nodes = 0;
  HR_REQUIRE_OK(hr_registry_add(&later_op));
  HR_REQUIRE_OK(hr_registry_add(&wait_op));
  HR_REQUIRE_OK(hr_registry_add(&fail_op));
  for (int i = 0; i < cases && atomic_load(&hr_test_failures) < 5; ++i) nodes += run_case(first_seed + (uint64_t)i);
  printf("  %d programs, %lld nodes\n", cases, (long long)nodes);
}

int main(int argc, char** argv) {
  if (argc > 1 && atoi(argv[1]) > 0) cases = atoi(argv[1]);
  if (argc > 2) first_seed = (uint64_t)atoll(argv[2]);
  return hr_test_main(1, argv);
}
