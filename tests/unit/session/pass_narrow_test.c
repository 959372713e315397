/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: a product of which one part of the columns is read becomes the product with those rows, with the same values; what is
 * read otherwise stays as it is. */
#define HR_TEST_LEAKS_CHECKED
#include <math.h>
#include "unit/session/program_maker.h"

enum { ROWS = 5, INNER = 7, COLUMNS = 9 };

static hr_tensor_t ramp(int64_t rows, int64_t columns) {
  const hr_shape_t s = hr_shape_matrix(rows, columns);
  hr_tensor_t t = {0};
  maker_must(hr_tensor_create(HR_F32, &s, &t), "a matrix");
  for (int64_t i = 0; i < t.count; ++i) ((float*)t.data)[i] = (float)(i % 11) - 4.0f; /* products of small integers are exact */
  return t;
}

static hr_value_t listed(hr_graph_t* g, const char* name, int rank, int64_t count, const int32_t* values) {
  const hr_shape_t s = rank ? hr_shape_vector(count) : (hr_shape_t){0};
  hr_tensor_t t = {0};
  maker_must(hr_tensor_create(HR_I32, &s, &t), "numbers");
  for (int64_t i = 0; i < count; ++i) ((int32_t*)t.data)[i] = values[i];
  hr_value_t v = maker_const_of(g, name, &t);
  hr_tensor_release(&t);
  return v;
}

typedef struct {
  hr_graph_t* g;
  hr_value_t x, product, split;
} cut_t;

static cut_t cut_product(bool transpose_b, int32_t axis, int32_t first, int32_t second) {
  cut_t c = {.g = maker_graph()};
  const hr_shape_t shape = hr_shape_matrix(ROWS, INNER);
  const hr_pshape_t* known = NULL;
  hr_tensor_t w = transpose_b ? ramp(COLUMNS, INNER) : ramp(INNER, COLUMNS);
  maker_must(hr_pshape_from_shape(&c.g->arena, &shape, &known), "a shape");
  c.x = maker_placeholder(c.g, "x", HR_F32, known);
  hr_value_t in[] = {c.x, maker_const_of(c.g, "w", &w)};
  hr_named_attr_t at[] = {hr_at_bool("transpose_b", transpose_b)};
  c.product = maker_node(c.g, "MatMul", "product", 2, in, 1, at);
  hr_value_t cut[] = {c.product, listed(c.g, "sizes", 1, 2, (int32_t[]){first, second}), listed(c.g, "axis", 0, 1, &axis)};
  hr_named_attr_t parts[] = {hr_at_int("num_split", 2)};
  c.split = maker_node(c.g, "SplitV", "split", 3, cut, 1, parts);
  hr_tensor_release(&w);
  return c;
}

static hr_value_t part_of(const cut_t* c, int32_t part) { return (hr_value_t){c->split.node, part}; }

static int64_t slices_after(const cut_t* c, int fetches, const hr_value_t* fetch) {
  hr_program_t p = maker_program(c->g, 1, &c->x, fetches, fetch, NULL);
  maker_pass(&p, hr_pass_narrow);
  const int64_t slices = maker_live_of(&p, "Slice");
  HR_CHECK_EQ_I64(maker_live_of(&p, "SplitV"), slices ? 0 : 1);
  HR_CHECK_EQ_I64(maker_live_of(&p, "MatMul"), 1);
  hr_program_deinit(&p);
  return slices;
}

static hr_tensor_t value_of(const cut_t* c, bool fusion, hr_value_t fetch) {
  hr_session_options_t o;
  hr_session_t* s = NULL;
  hr_tensor_t x = ramp(ROWS, INNER), out = {0};
  hr_session_options_init(&o);
  o.fusion = fusion;
  maker_must(hr_session_create(c->g, &o, &s), "a session");
  hr_run_t run = {.feeds = &c->x, .feed_values = &x, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
  maker_must(hr_session_run(s, NULL, &run, &out, NULL, NULL), "a run");
  hr_session_destroy(s);
  hr_tensor_release(&x);
  return out;
}

static void check_part(int32_t part, int32_t axis) {
  cut_t c = cut_product(true, axis, 2, COLUMNS - 2);
  hr_value_t y = maker_1(c.g, "Neg", "y", part_of(&c, part));
  HR_CHECK_EQ_I64(slices_after(&c, 1, &y), 1);
  hr_tensor_t a = value_of(&c, false, y), b = value_of(&c, true, y);
  HR_REQUIRE(hr_shape_equal(&a.shape, &b.shape));
  HR_CHECK_EQ_I64(a.count, ROWS * (part ? COLUMNS - 2 : 2));
  for (int64_t i = 0; i < a.count; ++i) HR_CHECK(((float*)a.data)[i] == ((float*)b.data)[i]);
  hr_tensor_release(&a);
  hr_tensor_release(&b);
  hr_graph_destroy(c.g);
}

HR_TEST(one_part_read_is_the_product_with_its_rows) {
  check_part(0, 1);
  check_part(1, 1);
  check_part(1, -1);
}

HR_TEST(two_parts_read_stay) {
  cut_t c = cut_product(true, 1, 2, COLUMNS - 2);
  hr_value_t y[] = {maker_1(c.g, "Neg", "a", part_of(&c, 0)), maker_1(c.g, "Neg", "b", part_of(&c, 1))};
  HR_CHECK_EQ_I64(slices_after(&c, 2, y), 0);
  hr_graph_destroy(c.g);
}

HR_TEST(a_product_or_split_that_is_fetched_stays) {
  cut_t c = cut_product(true, 1, 2, COLUMNS - 2);
  hr_value_t y = maker_1(c.g, "Neg", "y", part_of(&c, 1)), both[] = {y, c.product}, part = part_of(&c, 1);
  HR_CHECK_EQ_I64(slices_after(&c, 2, both), 0);
  HR_CHECK_EQ_I64(slices_after(&c, 1, &part), 0);
  hr_graph_destroy(c.g);
}

HR_TEST(a_product_read_elsewhere_stays) {
  cut_t c = cut_product(true, 1, 2, COLUMNS - 2);
  hr_value_t y[] = {maker_1(c.g, "Neg", "a", part_of(&c, 1)), maker_1(c.g, "Shape", "b", c.product)};
  HR_CHECK_EQ_I64(slices_after(&c, 2, y), 0);
  hr_graph_destroy(c.g);
}

HR_TEST(rows_cut_or_a_size_left_open_or_columns_that_are_no_block_stay) {
  cut_t rows = cut_product(true, 0, 2, ROWS - 2), open = cut_product(true, 1, 2, -1), plain = cut_product(false, 1, 2, COLUMNS - 2);
  cut_t* all[] = {&rows, &open, &plain};
  for (int i = 0; i < 3; ++i) {
    hr_value_t y = maker_1(all[i]->g, "Neg", "y", part_of(all[i], 1));
    HR_CHECK_EQ_I64(slices_after(all[i], 1, &y), 0);
    hr_graph_destroy(all[i]->g);
  }
}

/* Splits of the same columns in other ways: sizes, and whether part `read` is a product of its own. */
HR_TEST(sizes_say_which_columns) {
  static const struct { int32_t count, sizes[3], read; bool narrow; } rows[] = {
      {3, {2, 3, 4}, 0, true},  {3, {2, 3, 4}, 1, true},  {3, {2, 3, 4}, 2, true}, {2, {0, 9}, 0, false},
      {2, {0, 9}, 1, false},    {2, {9, 0}, 0, false},    {3, {0, 8, 1}, 1, true}, {3, {8, 0, 1}, 2, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    cut_t c = cut_product(true, 1, 2, COLUMNS - 2);
    hr_value_t cut[] = {c.product, listed(c.g, "more_sizes", 1, rows[i].count, rows[i].sizes), listed(c.g, "one", 0, 1, (int32_t[]){1})};
    hr_named_attr_t parts[] = {hr_at_int("num_split", rows[i].count)};
    c.split = maker_node(c.g, "SplitV", "other", 3, cut, 1, parts);
    hr_value_t y = maker_1(c.g, "Neg", "y", part_of(&c, rows[i].read));
    if (!HR_CHECK_EQ_I64(slices_after(&c, 1, &y), rows[i].narrow)) printf("  row %d\n", (int)i);
    hr_tensor_t a = value_of(&c, false, y), b = value_of(&c, true, y);
    if (HR_CHECK(hr_tensor_equal(&a, &b))) HR_CHECK_EQ_I64(a.count, ROWS * rows[i].sizes[rows[i].read]);
    hr_tensor_release(&a);
    hr_tensor_release(&b);
    hr_graph_destroy(c.g);
  }
}

/* Whatever else sees the product or the split keeps both: `how` names it. */
static int64_t slices_when(const char* how) {
  cut_t c = cut_product(true, 1, 2, COLUMNS - 2);
  hr_value_t y = maker_1(c.g, "Neg", "y", part_of(&c, 1)), other = maker_1(c.g, "Neg", "other", c.x), fetch[] = {y, other};
  hr_node_t* target = NULL;
  if (!strcmp(how, "product waits")) maker_wait(c.g, c.product, other);
  if (!strcmp(how, "split waits")) maker_wait(c.g, c.split, other);
  if (!strcmp(how, "product is awaited")) maker_wait(c.g, other, c.product);
  if (!strcmp(how, "split is awaited")) maker_wait(c.g, other, c.split);
  if (!strcmp(how, "product is a target")) target = c.product.node;
  if (!strcmp(how, "split is a target")) target = c.split.node;
  const int64_t count = maker_left(c.g, c.x, 2, fetch, target, hr_pass_narrow, "Slice");
  hr_graph_destroy(c.g);
  return count;
}

HR_TEST(what_others_wait_for_stays) {
  static const char* const hows[] = {"product waits",     "split waits",         "product is awaited",
                                     "split is awaited",  "product is a target", "split is a target"};
  HR_CHECK_EQ_I64(slices_when("nothing"), 1);
  for (size_t i = 0; i < sizeof hows / sizeof *hows; ++i)
    if (!HR_CHECK_EQ_I64(slices_when(hows[i]), 0)) printf("  %s\n", hows[i]);
}

HR_TEST(a_reader_that_is_gone_does_not_count) { /* an earlier pass has put another node in its place */
  cut_t c = cut_product(true, 1, 2, COLUMNS - 2);
  hr_value_t y = maker_1(c.g, "Neg", "y", part_of(&c, 1)), other = maker_1(c.g, "Abs", "other", c.x), gone = maker_1(c.g, "Neg", "gone",
             part_of(&c, 0)), waiting = maker_1(c.g, "Sin", "waiting", c.x), fetch[] = {y, gone, waiting, other};
  maker_wait(c.g, waiting, c.product);
  hr_program_t p = maker_program(c.g, 1, &c.x, 4, fetch, NULL);
  HR_CHECK_OK(hr_program_replace(&p, p.fetches[1], p.fetches[3]));
  HR_CHECK_OK(hr_program_replace(&p, p.fetches[2], p.fetches[3]));
  maker_pass(&p, hr_pass_narrow);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Slice"), 1);
  hr_program_deinit(&p);
  hr_graph_destroy(c.g);
}

HR_TEST_MAIN()
