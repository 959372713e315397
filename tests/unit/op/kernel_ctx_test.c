/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of a kernel: new, in an input's place, shared, moved, aliased, unwanted; and the input checks' words. */
#define HR_TEST_LEAKS_CHECKED
#include "op/kernel_ctx.h"
#include "rt/step.h"
#include "test.h"

typedef struct {
  hr_slot_t slots[8]; /* inputs 0 to 3, outputs 4 to 6, the spare 7 */
  int32_t in[4], out[3];
  uint8_t flags[4], types[3];
  hr_site_t site;
  hr_cancel_t cancel;
  hr_step_t step;
  hr_kernel_ctx_t k;
} bench_t;

static void bench_begin(bench_t* b) {
  memset(b, 0, sizeof *b);
  for (int i = 0; i < 4; ++i) b->in[i] = i;
  for (int i = 0; i < 3; ++i) b->out[i] = 4 + i;
  for (int i = 0; i < 3; ++i) b->types[i] = HR_F32;
  b->site = (hr_site_t){.in = b->in, .in_flags = b->flags, .out = b->out, .out_types = b->types, .in_count = 4, .out_count = 3};
  hr_cancel_init(&b->cancel);
  b->step = (hr_step_t){.cancel = &b->cancel, .threads = 1};
  b->k = (hr_kernel_ctx_t){.site = &b->site, .slots = b->slots, .step = &b->step, .threads = 1, .spare = &b->slots[7]};
}
static void bench_end(bench_t* b) {
  for (int i = 0; i < 8; ++i) hr_tensor_release(&b->slots[i].value);
  hr_cancel_deinit(&b->cancel);
}
static hr_tensor_t* put(bench_t* b, int input, hr_dtype_t dtype, hr_shape_t shape) {
  if (!HR_CHECK_OK(hr_tensor_create(dtype, &shape, &b->slots[input].value))) abort();
  return &b->slots[input].value;
}
#define BENCH \
  bench_t b;  \
  bench_begin(&b)

HR_TEST(a_new_output_has_type_shape_and_memory) {
  BENCH;
  hr_tensor_t* t = NULL;
  hr_shape_t shape = hr_shape_matrix(3, 5);
  b.types[0] = HR_F64;
  HR_REQUIRE_OK(hr_output(&b.k, 0, &shape, &t));
  HR_CHECK(t == &b.slots[4].value && t->dtype == HR_F64 && t->count == 15 && hr_shape_equal(&t->shape, &shape));
  HR_CHECK(t->buffer->bytes == 120 && (uintptr_t)t->data % 64 == 0 && hr_buffer_is_alone(t->buffer));
  hr_shape_t other = hr_shape_vector(2);
  HR_REQUIRE_OK(hr_output(&b.k, 0, &other, &t)); /* again: the last holds, nothing leaks */
  HR_CHECK_EQ_I64(t->count, 2);
  b.types[1] = HR_STRING;
  HR_REQUIRE_OK(hr_output(&b.k, 1, &other, &t));
  HR_CHECK(t->buffer->element == HR_STRING && hr_tstring_get(t->data).size == 0);
  bench_end(&b);
}

HR_TEST(a_size_that_overflows_is_refused) {
  BENCH;
  hr_tensor_t* t = NULL;
  hr_shape_t huge = hr_shape_vector(INT64_C(1) << 62);
  hr_status_t status = hr_output(&b.k, 0, &huge, &t);
  HR_CHECK(status && !b.slots[4].value.buffer);
  hr_status_release(status);
  bench_end(&b);
}

HR_TEST(in_place_only_when_all_conditions_hold) {
  BENCH;
  hr_tensor_t* t = NULL;
  hr_shape_t six = hr_shape_vector(6), grid = hr_shape_matrix(2, 3);
  hr_tensor_t* in = put(&b, 0, HR_F32, six);
  void* data = in->data;
  HR_REQUIRE_OK(hr_output_take(&b.k, 0, 0, &grid, &t)); /* not at its last use */
  HR_CHECK(t->data != data);
  b.flags[0] = HR_IN_TAKE | HR_IN_RELEASE;
  hr_tensor_t other = {0};
  hr_tensor_share(in, &other);
  HR_REQUIRE_OK(hr_output_take(&b.k, 0, 0, &grid, &t)); /* somebody else has it */
  HR_CHECK(t->data != data);
  hr_tensor_release(&other);
  b.types[0] = HR_F64;
  HR_REQUIRE_OK(hr_output_take(&b.k, 0, 0, &grid, &t)); /* another element size */
  HR_CHECK(t->data != data);
  b.types[0] = HR_I32; /* the same size: takes over */
  HR_REQUIRE_OK(hr_output_take(&b.k, 0, 0, &grid, &t));
  HR_CHECK(t->data == data && t->dtype == HR_I32 && hr_shape_equal(&t->shape, &grid) && !in->buffer && in->data == data);
  in = put(&b, 1, HR_F32, six);
  data = in->data;
  b.flags[1] = HR_IN_TAKE;
  hr_shape_t five = hr_shape_vector(5);
  HR_REQUIRE_OK(hr_output_take(&b.k, 1, 1, &five, &t)); /* another count */
  HR_CHECK(t->data != data && t->count == 5);
  hr_tensor_t rows = {0};
  HR_REQUIRE_OK(hr_tensor_rows(in, 1, 6, &rows));
  hr_tensor_release(in);
  *in = rows;
  HR_REQUIRE_OK(hr_output_take(&b.k, 1, 1, &five, &t)); /* not the whole buffer */
  HR_CHECK(t->data != in->data);
  put(&b, 2, HR_I64, six);
  b.flags[2] = HR_IN_TAKE;
  b.types[2] = HR_RESOURCE; /* the same size, but elements that own memory */
  HR_REQUIRE_OK(hr_output_take(&b.k, 2, 2, &six, &t));
  HR_CHECK(b.slots[2].value.buffer != NULL && t->buffer->element == HR_RESOURCE);
  bench_end(&b);
}

HR_TEST(borrowed_read_only_memory_is_never_written) {
  BENCH;
  float values[4] = {0};
  hr_tensor_t* t = NULL;
  hr_shape_t four = hr_shape_vector(4);
  HR_REQUIRE_OK(hr_tensor_borrow(HR_F32, &four, values, sizeof values, true, NULL, NULL, &b.slots[0].value));
  b.flags[0] = HR_IN_TAKE;
  HR_REQUIRE_OK(hr_output_take(&b.k, 0, 0, &four, &t));
  HR_CHECK(t->data != values);
  bench_end(&b);
}

HR_TEST(an_alias_moves_at_the_last_use_and_shares_otherwise) {
  BENCH;
  hr_shape_t six = hr_shape_vector(6), grid = hr_shape_matrix(2, 3), five = hr_shape_vector(5);
  hr_tensor_t* in = put(&b, 0, HR_F32, six);
  HR_REQUIRE_OK(hr_output_alias(&b.k, 0, 0, &grid));
  HR_CHECK(b.slots[4].value.data == in->data && in->buffer && !hr_buffer_is_alone(in->buffer));
  HR_CHECK(hr_shape_equal(&b.slots[4].value.shape, &grid));
  b.flags[0] = HR_IN_TAKE;
  HR_REQUIRE_OK(hr_output_alias(&b.k, 1, 0, &grid));
  HR_CHECK(b.slots[5].value.data == in->data && !in->buffer);
  HR_CHECK_CODE(hr_output_alias(&b.k, 2, 0, &five), HR_INVALID_ARGUMENT, "[6] has 6 elements, which do not make up shape [5]");
  bench_end(&b);
}

HR_TEST(sharing_moving_and_references) {
  BENCH;
  hr_tensor_t* in = put(&b, 0, HR_F32, hr_shape_vector(2));
  hr_output_share(&b.k, 0, in);
  HR_CHECK(b.slots[4].value.data == in->data && !hr_buffer_is_alone(in->buffer));
  hr_output_move(&b.k, 1, in);
  HR_CHECK(!in->buffer && b.slots[5].value.data == b.slots[4].value.data);
  hr_variable_t* v = (hr_variable_t*)&b;
  hr_output_ref(&b.k, 0, v);
  HR_CHECK(b.slots[4].ref == v && !b.slots[4].value.buffer);
  hr_tensor_t* t = NULL;
  hr_shape_t one = hr_shape_scalar();
  HR_REQUIRE_OK(hr_output(&b.k, 0, &one, &t));
  HR_CHECK(b.slots[4].ref == NULL && t->count == 1);
  bench_end(&b);
}

HR_TEST(unwanted_outputs_have_memory_of_their_own_and_go_together) {
  BENCH;
  hr_tensor_t* t[3] = {0};
  hr_shape_t shape = hr_shape_vector(1000);
  for (int i = 0; i < 3; ++i) b.out[i] = -1;
  HR_CHECK(!hr_output_wanted(&b.k, 0));
  for (int i = 0; i < 3; ++i) HR_REQUIRE_OK(hr_output(&b.k, i, &shape, &t[i]));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 1000; ++j) ((float*)t[i]->data)[j] = (float)i;
  for (int i = 0; i < 3; ++i) HR_CHECK(((float*)t[i]->data)[0] == (float)i && ((float*)t[i]->data)[999] == (float)i);
  hr_tensor_t own = {0};
  HR_REQUIRE_OK(hr_tensor_from_i32(1, &own));
  hr_output_share(&b.k, 1, &own);
  hr_output_move(&b.k, 2, &own);
  HR_CHECK(!own.buffer && ((float*)t[0]->data)[0] == 0);
  hr_tensor_release(&b.slots[7].value); /* what the executor does; the leak check counts */
  bench_end(&b);
}

HR_TEST(input_checks_name_input_and_shape) {
  BENCH;
  put(&b, 0, HR_F32, hr_shape_matrix(2, 3));
  put(&b, 1, HR_F32, hr_shape_scalar());
  HR_CHECK_OK(hr_want_scalar(&b.k, 1, "rate"));
  HR_CHECK_CODE(hr_want_scalar(&b.k, 0, "rate"), HR_INVALID_ARGUMENT, "rate must be a scalar, not shape [2,3] (input 0)");
  HR_CHECK_CODE(hr_want_vector(&b.k, 0, "axes"), HR_INVALID_ARGUMENT, "axes must be 1-D (a vector), not shape [2,3]");
  HR_CHECK_CODE(hr_want_vector(&b.k, 0, "x should be a vector, got "), HR_INVALID_ARGUMENT, "x should be a vector, got [2,3] (input 0)");
  HR_CHECK_CODE(hr_want_rank(&b.k, 0, "filter", 4), HR_INVALID_ARGUMENT, "filter must be 4-dimensional, not shape [2,3] (input 0)");
  HR_CHECK_OK(hr_want_rank(&b.k, 0, "filter", 2));
  HR_CHECK_CODE(hr_want_rank_at_least(&b.k, 1, "x", 1), HR_INVALID_ARGUMENT, "at least 1-dimensional");
  HR_CHECK_OK(hr_want_rank_at_least(&b.k, 0, "x", 2));
  HR_CHECK_CODE(hr_want_same_shape(&b.k, 0, 1), HR_INVALID_ARGUMENT,
      "must have the same size and shape.  Input 0: [2,3] != input 1: []");
  HR_CHECK_OK(hr_want_same_shape(&b.k, 0, 0));
  bench_end(&b);
}

HR_TEST(cancellation_is_seen) {
  BENCH;
  HR_CHECK(!hr_is_cancelled(&b.k));
  hr_cancel_start(&b.cancel, hr_status_cancelled());
  HR_CHECK(hr_is_cancelled(&b.k));
  HR_CHECK(hr_resources_of(&b.k) == NULL);
  bench_end(&b);
}

HR_TEST(ranks_in_the_words_that_clients_match) {
  static const struct { const char* what; int rank; bool at_least; const char* says; } rows[] = {
      {"x", 0, false, "x must be 0-D, not shape [2,3] (input 0)"},
      {"x", 1, false, "x must be 1-D, not shape [2,3] (input 0)"},
      {"x", 3, false, "x must be 3-dimensional, not shape [2,3] (input 0)"},
      {"x", 3, true, "x must be at least 3-dimensional, not shape [2,3] (input 0)"},
      {"", 1, false, " must be 1-D, not shape [2,3] (input 0)"},
      {" ", 1, false, " [2,3] (input 0)"},
      {"got ", 5, true, "got [2,3] (input 0)"},
  };
  BENCH;
  put(&b, 0, HR_F32, hr_shape_matrix(2, 3));
  put(&b, 1, HR_F32, hr_shape_vector(4));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_status_t status =
        rows[i].at_least ? hr_want_rank_at_least(&b.k, 0, rows[i].what, rows[i].rank) : hr_want_rank(&b.k, 0, rows[i].what, rows[i].rank);
    HR_CHECK_STR(hr_status_message(status), rows[i].says);
    hr_status_release(status);
  }
  HR_CHECK_CODE(hr_want_rank(&b.k, 1, "x", 2), HR_INVALID_ARGUMENT, "x must be 2-D, not shape [4] (input 1)");
  HR_CHECK_OK(hr_want_rank_at_least(&b.k, 1, "x", 1));
  HR_CHECK_OK(hr_want_vector(&b.k, 1, "x"));
  HR_CHECK_CODE(hr_want_scalar(&b.k, 1, "x"), HR_INVALID_ARGUMENT, "x must be a scalar, not shape [4] (input 1)");
  bench_end(&b);
}

HR_TEST_MAIN()
