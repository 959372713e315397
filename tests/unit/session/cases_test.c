/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs and what is decided for each, side by side in tests/golden/cases.txt: a pass's conditions are each met and each just
 * missed. A case is "== name", nodes (unit/session/graph_text.h), what is asked for, and commands:
 *
 *   like NAME                     the nodes of an earlier case; lines that follow replace some or add others
 *   feed a b, fetch a b:1, target a   what is asked for; unsaid: all placeholders, what nobody reads
 *   devices NAME...               the first one's task is ours
 *   on a=1 b=2                    devices by number, for the passes
 *   ! narrow                      a pass, or: pipeline, place, parts, plan; then what changed
 *   > ...                         what came of it, written by the test
 *
 * Who changes a decision on purpose records anew, with HEADRACE_RECORD_CASES=FILE in the environment, and reads what changed. */
#define HR_TEST_LEAKS_CHECKED
#include <stdlib.h>
#include "base/file.h"
#include "session/partition.h"
#include "session/pipeline.h"
#include "unit/session/graph_text.h"
#include "unit/session/plan_text.h"
#include "unit/session/program_maker.h"

enum { MOST_CASES = 400, MOST_ASKED = 32 };

typedef struct {
  hr_str_t name;
  text_nodes_t nodes;
  hr_str_t feeds, fetches, targets, devices, on; /* the lines' rests */
} case_t;

static case_t* cases;
static int case_count;

typedef struct {
  hr_graph_t* g;
  hr_value_t feeds[MOST_ASKED], fetches[MOST_ASKED];
  hr_node_t* targets[MOST_ASKED];
  hr_prune_request_t q;
  hr_program_t p;
  hr_device_set_t* set;
  hr_session_options_t o;
} asked_t;

/* --- what is asked for ---------------------------------------------------------------------------------------------------------------- */

static void ask_default(asked_t* a, const case_t* c) { /* whatever the case does not say */
  for (int64_t i = 0; i < a->g->nodes.count; ++i) {
    hr_node_t* n = a->g->nodes.data[i];
    if (n->attrs.def->node_class == HR_NODE_PLACEHOLDER) {
      if (!c->feeds.data) a->feeds[a->q.feed_count++] = (hr_value_t){n, 0};
      continue;
    }
    if (c->fetches.data || c->targets.data || n->consumers.count || n->control_consumers.count) continue;
    if (n->output_count && hr_dtype_is_plain(hr_dtype_base(n->output_types[0]))) a->fetches[a->q.fetch_count++] = (hr_value_t){n, 0};
    else a->targets[a->q.target_count++] = n;
  }
}

static void ask(asked_t* a, const case_t* c) {
  hr_str_t feeds = c->feeds, fetches = c->fetches, targets = c->targets, word;
  *a = (asked_t){.g = text_graph(&c->nodes)};
  a->q = (hr_prune_request_t){.feeds = a->feeds, .fetches = a->fetches, .targets = a->targets};
  while ((word = text_word(&feeds)).size) a->feeds[a->q.feed_count++] = text_value(a->g, word);
  while ((word = text_word(&fetches)).size) a->fetches[a->q.fetch_count++] = text_value(a->g, word);
  while ((word = text_word(&targets)).size) a->targets[a->q.target_count++] = text_value(a->g, word).node;
  ask_default(a, c);
  hr_session_options_init(&a->o);
}

static void ask_devices(asked_t* a, hr_str_t names) {
  hr_device_name_t first, other;
  hr_str_t name;
  if (!names.data) return;
  maker_must(hr_device_set_create(&a->set), "a set");
  for (int i = 0; (name = text_word(&names)).size; ++i) {
    maker_must(hr_device_name_parse(name, &other), "a device's name");
    if (i == 0) first = other;
    const bool ours = hr_str_equal(first.job, other.job) && first.replica == other.replica && first.task == other.task;
    maker_must(hr_device_set_add(a->set, name, (uint64_t)(100 + i), 0, !ours), "a device");
  }
}

static void answer(asked_t* a) {
  if (a->p.graph) hr_program_deinit(&a->p);
  hr_graph_destroy(a->g);
  hr_device_set_release(a->set);
}

static void make_program(asked_t* a, const case_t* c) {
  hr_str_t on = c->on, word;
  hr_mutex_lock(&a->g->mu);
  maker_must(hr_program_create(a->g, &a->q, &a->p), "a program");
  hr_mutex_unlock(&a->g->mu);
  while ((word = text_word(&on)).size) {
    const size_t equals = (size_t)hr_str_find(word, '=');
    const hr_value_t v = text_value(a->p.graph, hr_str_slice(word, 0, equals));
    a->p.device_of.data[v.node->id] = (int32_t)text_int(hr_str_slice(word, equals + 1, word.size));
  }
}

/* --- what came of it ------------------------------------------------------------------------------------------------------------------ */

static void put_shape(hr_strbuf_t* b, const hr_pshape_t* s) {
  const hr_attr_t a = HR_AT_SCALAR(HR_ATTR_SHAPE, shape, s);
  hr_attr_print(&a, b);
}

static void put_made(hr_strbuf_t* b, const hr_program_t* p, const hr_node_t* n) { /* of a node that a pass made */
  for (int32_t i = 0; i < n->attrs.def->attr_count; ++i) {
    hr_strbuf_format(b, "    %.*s ", HR_STR_ARG(n->attrs.def->attrs[i].name));
    hr_attr_print(&n->attrs.values[i], b);
    hr_strbuf_format(b, "\n");
  }
  hr_strbuf_format(b, "    rank %d device %d", (int)p->ranks.data[n->id], (int)p->device_of.data[n->id]);
  for (int32_t i = 0; i < n->output_count; ++i) {
    hr_strbuf_format(b, " ");
    put_shape(b, n->shapes[i]);
  }
  hr_strbuf_format(b, "\n");
}

static void put_program(hr_strbuf_t* b, const hr_program_t* p, int64_t before) {
  for (int64_t i = 0; i < p->live_count; ++i) {
    put_node(b, p->live[i]);
    if (p->live[i]->id >= before) put_made(b, p, p->live[i]);
  }
  hr_strbuf_format(b, "  asked:");
  for (int32_t i = 0; i < p->fetch_count; ++i)
    hr_strbuf_format(b, p->fetches[i].index ? " %s:%d" : " %s", p->fetches[i].node->name.data, (int)p->fetches[i].index);
  for (int32_t i = 0; i < p->target_count; ++i) hr_strbuf_format(b, " ^%s", p->targets[i]->name.data);
  hr_strbuf_format(b, "\n");
}

static void put_status(hr_strbuf_t* b, hr_status_t take_status) {
  hr_strbuf_format(b, "  %s: %s\n", hr_status_code_name(hr_status_code(take_status)), hr_status_message(take_status));
  hr_status_release(take_status);
}

/* --- commands ------------------------------------------------------------------------------------------------------------------------- */

typedef struct { /* the words after a command, "name=number" */
  int64_t bytes, lanes, threads, soft, keep, number;
} given_t;

static given_t read_given(hr_str_t words) {
  given_t g = {.bytes = -1, .lanes = 1, .threads = 1};
  const struct { const char* name; int64_t* at; } rows[] = {{"bytes", &g.bytes}, {"lanes", &g.lanes}, {"threads", &g.threads},
                                                            {"soft", &g.soft}, {"keep", &g.keep}, {"number", &g.number}};
  for (hr_str_t word; (word = text_word(&words)).size;)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      const int64_t equals = hr_str_find(word, '=');
      if (equals > 0 && hr_str_is(hr_str_slice(word, 0, (size_t)equals), rows[i].name))
        *rows[i].at = text_int(hr_str_slice(word, (size_t)equals + 1, word.size));
    }
  return g;
}

static const struct { const char* name; hr_status_t (*run)(hr_program_t*, const hr_session_options_t*); } passes[] = {
    {"inline", hr_pass_inline}, {"reread", hr_pass_reread}, {"identity", hr_pass_identity}, {"narrow", hr_pass_narrow},
    {"cse", hr_pass_cse},       {"fold", hr_pass_fold},     {"fuse", hr_pass_fuse},         {"sum", hr_pass_sum}};

static bool do_pass(hr_strbuf_t* b, const case_t* c, hr_str_t name, hr_str_t words) {
  const given_t given = read_given(words);
  for (size_t i = 0; i < sizeof passes / sizeof *passes; ++i) {
    asked_t a;
    if (!hr_str_is(name, passes[i].name)) continue;
    ask(&a, c);
    if (given.bytes >= 0) a.o.max_folded_bytes = given.bytes;
    a.q.in_parts = given.keep != 0;
    make_program(&a, c);
    const int64_t before = a.p.graph->nodes.count;
    hr_status_t status = passes[i].run(&a.p, &a.o);
    if (!status) maker_must(hr_graph_validate(a.p.graph), "a valid program");
    if (!status) status = hr_program_finish(&a.p);
    if (status) put_status(b, status);
    else put_program(b, &a.p, before);
    answer(&a);
    return true;
  }
  return false;
}

static void do_place(hr_strbuf_t* b, const case_t* c, hr_str_t words) {
  asked_t a;
  ask(&a, c);
  ask_devices(&a, c->devices);
  make_program(&a, c);
  const hr_placing_t how = {.devices = a.set, .soft = read_given(words).soft != 0};
  hr_status_t status = hr_place_program(&a.p, &how);
  if (status) put_status(b, status);
  for (int64_t i = 0; !status && i < a.p.graph->nodes.count; ++i)
    hr_strbuf_format(b, "  %s %d\n", a.p.graph->nodes.data[i]->name.data, (int)a.p.device_of.data[i]);
  answer(&a);
}

static void put_parts(hr_strbuf_t* b, const hr_program_t* p, const hr_partition_t* parts, int64_t before) {
  for (int32_t i = 0; i < parts->count; ++i) {
    hr_strbuf_format(b, "  part on %d\n", (int)parts->parts[i].device);
    for (int64_t n = 0; n < parts->parts[i].node_count; ++n) {
      const hr_node_t* node = parts->parts[i].nodes[n];
      put_node(b, node);
      if (node->id >= before) put_made(b, p, node);
      if (parts->part_of[node->id] != i) hr_strbuf_format(b, "    (elsewhere)\n");
    }
  }
}

static void do_parts(hr_strbuf_t* b, const case_t* c, hr_str_t words, hr_partition_by_t by) {
  asked_t a;
  hr_partition_t parts = {0};
  const given_t given = read_given(words);
  int64_t number = given.number;
  ask(&a, c);
  ask_devices(&a, c->devices);
  make_program(&a, c);
  const hr_placing_t how = {.devices = a.set};
  hr_status_t status = hr_place_program(&a.p, &how);
  if (!status) status = hr_program_finish(&a.p);
  const int64_t before = a.p.graph->nodes.count;
  if (!status) status = hr_partition_program(&a.p, a.set, by, "_S", number ? &number : NULL, &parts);
  if (!status) maker_must(hr_graph_validate(a.p.graph), "valid parts");
  if (status) put_status(b, status);
  else put_parts(b, &a.p, &parts, before);
  if (number) hr_strbuf_format(b, "  next number %d\n", (int)number);
  answer(&a);
}

static void do_plan(hr_strbuf_t* b, const case_t* c, hr_str_t words, bool pipeline) {
  asked_t a;
  hr_plan_t* plan = NULL;
  hr_state_table_t* states = NULL;
  hr_resources_t* resources = hr_resources_create();
  const given_t given = read_given(words);
  ask(&a, c);
  a.q.in_parts = given.keep != 0;
  maker_must(hr_state_table_create(&states), "states");
  hr_status_t status = NULL;
  if (pipeline) status = hr_pipeline_run(a.g, &a.q, &a.o, NULL, &a.p);
  else make_program(&a, c);
  if (!status && !pipeline) status = hr_program_finish(&a.p);
  if (!status && pipeline) put_program(b, &a.p, INT64_MAX);
  const hr_plan_desc_t d = {.nodes = a.p.live, .node_count = a.p.live_count, .feeds = a.p.feeds, .feed_count = a.p.feed_count,
                            .fetches = a.p.fetches, .fetch_count = a.p.fetch_count, .states = states, .resources = resources,
                            .lanes = (int32_t)given.lanes, .threads = (int32_t)given.threads, .keep_values = given.keep != 0};
  if (!status) status = hr_plan_create(&d, &plan);
  if (status) put_status(b, status);
  else put_plan(b, plan);
  hr_plan_destroy(plan);
  answer(&a);
  hr_state_table_destroy(states);
  hr_resources_release(resources);
}

static void do_command(hr_strbuf_t* b, const case_t* c, hr_str_t words) {
  const hr_str_t name = text_word(&words);
  if (do_pass(b, c, name, words)) return;
  if (hr_str_is(name, "place")) do_place(b, c, words);
  else if (hr_str_is(name, "tasks")) do_parts(b, c, words, HR_PARTITION_BY_TASK);
  else if (hr_str_is(name, "devices")) do_parts(b, c, words, HR_PARTITION_BY_DEVICE);
  else if (hr_str_is(name, "plan") || hr_str_is(name, "pipeline")) do_plan(b, c, words, hr_str_is(name, "pipeline"));
  else text_must(false, "a command", name);
}

/* --- the file ------------------------------------------------------------------------------------------------------------------------- */

static void begin_like(case_t* c, hr_str_t name) {
  for (int i = 0; i < case_count - 1; ++i) {
    if (!hr_str_equal(cases[i].name, name)) continue;
    const hr_str_t own = c->name;
    *c = cases[i];
    c->name = own;
    c->feeds = c->fetches = c->targets = c->on = (hr_str_t){0};
    return;
  }
  text_must(false, "an earlier case", name);
}

static bool take_request(case_t* c, hr_str_t line) {
  const struct { const char* name; hr_str_t* at; } rows[] = {{"feed", &c->feeds}, {"fetch", &c->fetches}, {"target", &c->targets},
                                                             {"devices", &c->devices}, {"on", &c->on}};
  const hr_str_t word = text_word(&line);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!hr_str_is(word, rows[i].name)) continue;
    *rows[i].at = line.data ? line : HR_STR("");
    return true;
  }
  return false;
}

static void take_line(hr_strbuf_t* b, hr_str_t line) {
  hr_str_t rest = line;
  if (line.size == 0 || line.data[0] == '#') return;
  case_t* c = case_count ? &cases[case_count - 1] : NULL;
  const hr_str_t word = text_word(&rest);
  if (hr_str_is(word, "==")) {
    text_must(case_count < MOST_CASES, "so many cases", line);
    cases[case_count++] = (case_t){.name = rest};
  } else if (hr_str_is(word, "!")) {
    hr_strbuf_t result;
    hr_str_t part;
    hr_strbuf_init(&result);
    do_command(&result, c, rest);
    for (hr_str_t all = hr_strbuf_view(&result); hr_str_split(&all, '\n', &part);)
      if (part.size) hr_strbuf_format(b, ">%.*s\n", HR_STR_ARG(part));
    hr_strbuf_deinit(&result);
  } else if (hr_str_is(word, "like")) {
    begin_like(c, rest);
  } else if (!take_request(c, line)) {
    text_nodes_add(&c->nodes, line);
  }
}

static void compare_lines(hr_str_t want, hr_str_t got) {
  hr_str_t name = HR_STR(""), command = HR_STR(""), a, b;
  int differences = 0;
  while (differences < 10) {
    const bool has_a = hr_str_split(&want, '\n', &a), has_b = hr_str_split(&got, '\n', &b);
    if (!has_a && !has_b) return;
    if (!has_a) a = HR_STR("(nothing)");
    if (!has_b) b = HR_STR("(nothing)");
    if (hr_str_has_prefix(a, HR_STR("=="))) name = a;
    if (hr_str_has_prefix(a, HR_STR("!"))) command = a;
    if (hr_str_equal(a, b)) continue;
    ++differences;
    hr_test_fail(__FILE__, __LINE__, "%.*s %.*s: recorded\n  %.*s\nnow\n  %.*s", HR_STR_ARG(name), HR_STR_ARG(command),
                 HR_STR_ARG(hr_str_slice(a, 0, 300)), HR_STR_ARG(hr_str_slice(b, 0, 300)));
  }
}

HR_TEST(cases_are_decided_as_recorded) {
  const char* record = getenv("HEADRACE_RECORD_CASES");
  hr_strbuf_t b;
  char* text = NULL;
  size_t size = 0;
  case_count = 0; /* a test may be run twice */
  cases = hr_alloc_zero(MOST_CASES * sizeof *cases);
  HR_REQUIRE(cases != NULL);
  hr_strbuf_init(&b);
  if (HR_CHECK_OK(hr_file_read(HR_TEST_SOURCE_DIR "/tests/golden/cases.txt", &text, &size))) {
    for (hr_str_t line, rest = {text, size}; hr_str_split(&rest, '\n', &line);) {
      if (hr_str_has_prefix(line, HR_STR(">")) || (line.size == 0 && rest.size == 0)) continue;
      hr_strbuf_format(&b, "%.*s\n", HR_STR_ARG(line));
      take_line(&b, line);
    }
    FILE* f = record ? fopen(record, "wb") : NULL;
    if (f) HR_CHECK(fwrite(b.data, 1, b.size, f) == b.size && fclose(f) == 0);
    compare_lines((hr_str_t){text, size}, hr_strbuf_view(&b));
  }
  hr_free(text);
  hr_strbuf_deinit(&b);
  hr_free(cases);
}
HR_TEST_MAIN()
