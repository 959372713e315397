/* SPDX-License-Identifier: Apache-2.0 */
/* RunMetadata, field by field, as TensorFlow's tools read it. */
#define HR_TEST_LEAKS_CHECKED
#include "base/clock.h"
#include "dist/compare.h"
#include "session/metadata.h"
#include "unit/exec/maker.h"

/* The n-th span of that number in a message; "" when there are fewer. */
static hr_str_t field_at(hr_str_t message, uint32_t number, int n) {
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) break;
    if (f.key == HR_KEY_SPAN(number) && n-- == 0) return hr_cursor_str(f.span);
  }
  return HR_STR("");
}
static int count_of(hr_str_t message, uint32_t number) {
  int count = 0;
  while (field_at(message, number, count).size) ++count;
  return count;
}

/* What a step of these fetches tells, as bytes to be freed. */
static hr_str_t told(hr_graph_t* g, bool graphs, int fetches, const hr_value_t* fetch, hr_value_t x, const hr_tensor_t* value) {
  hr_session_options_t so;
  hr_session_t* s = NULL;
  hr_tensor_t out[4];
  char* data = NULL;
  size_t size = 0;
  hr_session_options_init(&so);
  maker_must(hr_session_create(g, &so, &s), "a session");
  const hr_run_t run = {.feeds = &x, .feed_values = value, .feed_count = 1, .fetches = fetch, .fetch_count = fetches};
  const hr_run_options_t o = {.trace_level = graphs ? 0 : 3, .output_partition_graphs = graphs};
  maker_must(hr_session_run(s, &o, &run, out, &data, &size), "a step");
  for (int i = 0; i < fetches; ++i) hr_tensor_release(&out[i]);
  hr_session_destroy(s);
  return (hr_str_t){data, size};
}

static hr_str_t node_named(hr_str_t device, const char* name) {
  for (int i = 0; i < count_of(device, 2); ++i)
    if (hr_str_is(field_at(field_at(device, 2, i), 1, 0), name)) return field_at(device, 2, i);
  hr_test_fail(__FILE__, __LINE__, "no stats of node %s", name);
  return HR_STR("");
}

static void check_times(hr_str_t node) { /* relative ones, and the same in nanoseconds */
  const int64_t start = compare_number(node, HR_KEY_VARINT(13)), span = compare_number(node, HR_KEY_VARINT(16));
  HR_CHECK(start > INT64_C(1600000000) * 1000000000 && span >= 0); /* wall time, after 2020 */
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(2)), start / 1000);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(3)), 0);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(4)), span / 1000);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(5)), span / 1000);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(9)), start / 1000);
  HR_CHECK(compare_number(node, HR_KEY_VARINT(10)) > 0); /* a thread */
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(14)), 0);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(15)), span);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(17)), start);
}

static void check_output(hr_str_t output, int slot, int dtype, int64_t dim, int64_t bytes) {
  const hr_str_t description = field_at(output, 3, 0), allocation = field_at(description, 4, 0);
  HR_CHECK_EQ_I64(compare_number(output, HR_KEY_VARINT(1)), slot);
  HR_CHECK_EQ_I64(compare_number(description, HR_KEY_VARINT(1)), dtype);
  HR_CHECK_EQ_I64(compare_number(field_at(field_at(description, 2, 0), 2, 0), HR_KEY_VARINT(1)), dim);
  HR_CHECK_EQ_I64(compare_number(allocation, HR_KEY_VARINT(1)), bytes);
  HR_CHECK_EQ_I64(compare_number(allocation, HR_KEY_VARINT(2)), bytes);
  HR_CHECK_VIEW(field_at(allocation, 3, 0), "cpu");
}

HR_TEST(a_node_tells_when_it_ran_and_what_it_made) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), square = maker_1(g, "Square", "square", x);
  hr_value_t unique = maker_1(g, "Unique", "unique", square), fetch[] = {unique, hr_emit_nth(unique, 1)};
  hr_tensor_t value = maker_vec(300, 1);
  for (int i = 200; i < 300; ++i) ((float*)value.data)[i] = 1;
  const int64_t before = hr_clock_wall_ns();
  const hr_str_t all = told(g, false, 2, fetch, x, &value), device = field_at(field_at(all, 1, 0), 1, 0);
  const int64_t after = hr_clock_wall_ns();
  HR_CHECK_EQ_I64(count_of(all, 1), 1);
  HR_CHECK_EQ_I64(count_of(all, 3), 0);
  HR_CHECK_EQ_I64(count_of(field_at(all, 1, 0), 1), 1);
  HR_CHECK_VIEW(field_at(device, 1, 0), "/job:localhost/replica:0/task:0/device:CPU:0");
  const hr_str_t first = node_named(device, "square"), second = node_named(device, "unique");
  check_times(first);
  check_times(second);
  const int64_t start = compare_number(first, HR_KEY_VARINT(13)), end = start + compare_number(first, HR_KEY_VARINT(16));
  HR_CHECK(start >= before && end <= after && compare_number(second, HR_KEY_VARINT(13)) >= end);
  HR_CHECK_VIEW(field_at(first, 8, 0), "square = Square()");
  HR_CHECK_VIEW(field_at(second, 8, 0), "unique = Unique()");
  HR_CHECK_EQ_I64(count_of(first, 7), 1);
  HR_CHECK_EQ_I64(count_of(second, 7), 2);
  check_output(field_at(first, 7, 0), 0, HR_F32, 300, 1200);
  check_output(field_at(second, 7, 0), 0, HR_F32, 200, 800);
  check_output(field_at(second, 7, 1), 1, HR_I32, 300, 1200);
  hr_free((char*)(uintptr_t)all.data);
  hr_tensor_release(&value);
  hr_graph_destroy(g);
}

HR_TEST(an_output_that_nobody_wants_is_not_told) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), unique = maker_1(g, "Unique", "unique", x), y = hr_emit_nth(unique, 1);
  hr_tensor_t value = maker_vec(3, 1);
  const hr_str_t all = told(g, false, 1, &y, x, &value), node = node_named(field_at(field_at(all, 1, 0), 1, 0), "unique");
  HR_CHECK_EQ_I64(count_of(node, 7), 1);
  check_output(field_at(node, 7, 0), 1, HR_I32, 3, 12);
  hr_free((char*)(uintptr_t)all.data);
  hr_tensor_release(&value);
  hr_graph_destroy(g);
}

HR_TEST(a_partition_graph_is_a_graph_def) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Exp", "y", x), z = maker_1(g, "Neg", "z", y);
  hr_tensor_t value = maker_vec(3, 1);
  g->producer = 1234, g->min_consumer = 12;
  const hr_str_t all = told(g, true, 1, &z, x, &value), graph = field_at(all, 3, 0), versions = field_at(graph, 4, 0);
  HR_CHECK_EQ_I64(count_of(all, 1), 0);
  HR_CHECK_EQ_I64(count_of(all, 3), 1);
  HR_CHECK_EQ_I64(count_of(graph, 1), 3); /* the feed's node, too */
  HR_CHECK_EQ_I64(compare_number(versions, HR_KEY_VARINT(1)), 1234);
  HR_CHECK_EQ_I64(compare_number(versions, HR_KEY_VARINT(2)), 12);
  bool seen = false;
  for (int i = 0; i < 3; ++i)
    if (hr_str_is(field_at(field_at(graph, 1, i), 1, 0), "z")) seen = hr_str_is(field_at(field_at(graph, 1, i), 3, 0), "y");
  HR_CHECK(seen);
  hr_free((char*)(uintptr_t)all.data);
  hr_tensor_release(&value);
  hr_graph_destroy(g);
}

HR_TEST(each_part_is_told_as_a_graph) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Exp", "y", x), z = maker_1(g, "Neg", "z", y);
  hr_session_options_t so;
  hr_session_t* s = NULL;
  hr_tensor_t value = maker_f32(1), out;
  char* data = NULL;
  size_t size = 0;
  y.node->device = HR_STR("/cpu:1");
  hr_session_options_init(&so);
  so.cpu_devices = 2;
  HR_REQUIRE_OK(hr_session_create(g, &so, &s));
  const hr_run_t run = {.feeds = &x, .feed_values = &value, .feed_count = 1, .fetches = &z, .fetch_count = 1};
  const hr_run_options_t o = {.trace_level = 3, .output_partition_graphs = true};
  HR_REQUIRE_OK(hr_session_run(s, &o, &run, &out, &data, &size));
  const hr_str_t all = {data, size}, stats = field_at(all, 1, 0);
  HR_CHECK_EQ_I64(count_of(all, 3), 2);
  HR_CHECK_EQ_I64(count_of(field_at(all, 3, 0), 1), 4); /* x, its send, what receives y, z */
  HR_CHECK_EQ_I64(count_of(field_at(all, 3, 1), 1), 3);
  HR_CHECK_EQ_I64(count_of(stats, 1), 2);
  for (int i = 0; i < 2; ++i) {
    const hr_str_t device = field_at(stats, 1, i);
    const bool second = hr_str_is(field_at(device, 1, 0), "/job:localhost/replica:0/task:0/device:CPU:1");
    node_named(device, second ? "y" : "z");
  }
  hr_free(data);
  hr_tensor_release(&out);
  hr_session_destroy(s);
  hr_tensor_release(&value);
  hr_graph_destroy(g);
}

HR_TEST(without_a_wish_nothing_is_told) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Exp", "y", x);
  hr_session_options_t so;
  hr_session_t* s = NULL;
  hr_tensor_t value = maker_f32(1), out;
  hr_session_options_init(&so);
  HR_REQUIRE_OK(hr_session_create(g, &so, &s));
  const hr_run_t run = {.feeds = &x, .feed_values = &value, .feed_count = 1, .fetches = &y, .fetch_count = 1};
  for (int level = 0; level <= 3; ++level) {
    const hr_run_options_t o = {.trace_level = level};
    char* data = NULL;
    size_t size = 0;
    HR_REQUIRE_OK(hr_session_run(s, &o, &run, &out, &data, &size));
    HR_CHECK_EQ_I64(size > 0, level > 0);
    hr_free(data);
    hr_tensor_release(&out);
  }
  hr_session_destroy(s);
  hr_tensor_release(&value);
  hr_graph_destroy(g);
}
/* The numbers of a message's fields, in order. */
static void check_fields(hr_str_t message, const char* wanted) {
  char text[128] = "";
  size_t at = 0;
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f)) || at > 100) break;
    at += (size_t)snprintf(text + at, sizeof text - at, at ? " %d" : "%d", (int)(f.key >> 3));
  }
  HR_CHECK_STR(text, wanted);
}

/* Without a session: exact times; of four outputs one has no slot and one no value. */
HR_TEST(what_is_told_of_a_node_is_exact) {
  hr_metadata_t m;
  hr_writer_t w;
  hr_slot_t slots[4] = {0};
  const int32_t out[] = {-1, 0, 1, 2}, none[] = {-1};
  const hr_site_t site = {.node_name = "n", .op_name = "Op", .out = out, .out_count = 4}, empty = {.node_name = "e", .op_name = "Op",
                          .out = none, .out_count = 1};
  for (int i = 0; i < 3; ++i) slots[i].value = maker_vec(i + 5, 1); /* what lies before the first slot is no slot's; the last has none */
  hr_metadata_init(&m);
  m.wall_offset_ns = 2000000000;
  hr_observer_t *a = m.observer.part(&m.observer, "/a"), *b = m.observer.part(&m.observer, "/b");
  HR_REQUIRE(a && b && a != b);
  HR_CHECK(m.observer.part(&m.observer, "/a") == a && m.observer.part(&m.observer, "/b") == b);
  a->node_done(a, &site, slots + 1, 3000999, 3000999 + 7654999, NULL);
  a->node_done(a, &empty, slots + 1, 1, 2, NULL);
  hr_status_t failure = HR_ERROR(INTERNAL, "it failed");
  b->node_done(b, &site, slots + 1, 0, 999, failure);
  hr_status_release(failure);
  hr_strbuf_init(&w);
  HR_CHECK_OK(hr_metadata_write_stats(&m, &w));
  const hr_str_t all = hr_strbuf_view(&w), of_b = field_at(all, 1, 0), of_a = field_at(all, 1, 1);
  HR_CHECK_EQ_I64(count_of(all, 1), 2);
  HR_CHECK_VIEW(field_at(of_a, 1, 0), "/a");
  HR_CHECK_VIEW(field_at(of_b, 1, 0), "/b");
  const hr_str_t node = field_at(of_a, 2, 0), failed = field_at(of_b, 2, 0);
  check_fields(of_a, "1 2 2");
  check_fields(node, "1 2 3 4 5 7 7 8 9 10 13 14 15 16 17");
  check_fields(field_at(of_a, 2, 1), "1 2 3 4 5 8 9 10 13 14 15 16 17");
  check_fields(failed, "1 2 3 4 5 8 9 10 13 14 15 16 17");
  check_output(field_at(node, 7, 0), 1, HR_F32, 6, 24);
  check_output(field_at(node, 7, 1), 2, HR_F32, 7, 28);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(2)), 2003000);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(4)), 7654);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(5)), 7654);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(9)), 2003000);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(13)), 2003000999);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(15)), 7654999);
  HR_CHECK_EQ_I64(compare_number(failed, HR_KEY_VARINT(4)), 0);
  HR_CHECK_EQ_I64(compare_number(failed, HR_KEY_VARINT(16)), 999);
  hr_strbuf_deinit(&w);
  hr_metadata_deinit(&m);
  for (int i = 0; i < 4; ++i) hr_tensor_release(&slots[i].value);
}
HR_TEST_MAIN()
