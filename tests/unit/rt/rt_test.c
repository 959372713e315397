/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation, containers, variables. */
#define HR_TEST_LEAKS_CHECKED
#include "rt/cancel.h"
#include "rt/variable.h"
#include "test.h"

static void count_call(void* arg) { ++*(int*)arg; }

HR_TEST(cancellation_runs_callbacks_once_and_keeps_the_first_reason) {
  hr_cancel_t c;
  int calls = 0, gone = 0;
  hr_cancel_entry_t a = {.callback = count_call, .arg = &calls}, b = {.callback = count_call, .arg = &gone};
  hr_cancel_init(&c);
  HR_CHECK(hr_cancel_register(&c, &a) && hr_cancel_register(&c, &b));
  hr_cancel_deregister(&c, &b);
  hr_cancel_start(&c, HR_ERROR(ABORTED, "first"));
  hr_cancel_start(&c, HR_ERROR(INTERNAL, "second"));
  HR_CHECK(calls == 1 && gone == 0 && hr_cancel_is_set(&c));
  HR_CHECK_CODE(hr_cancel_why(&c), HR_ABORTED, "first");
  HR_CHECK(!hr_cancel_register(&c, &b));
  hr_cancel_deregister(&c, &a);
  hr_cancel_deinit(&c);
}

static hr_status_t make_variable(void* arg, hr_resource_t** out) {
  hr_variable_t* v = NULL;
  ++*(int*)arg;
  HR_TRY(hr_variable_create(HR_F32, HR_STR("v"), &v));
  *out = &v->base;
  return NULL;
}
static const hr_resource_type_t other_type = {"Other", NULL};

HR_TEST(a_linked_token_follows_its_parent_until_it_is_unlinked) {
  hr_cancel_t parent, own, late, free;
  hr_cancel_link_t link, late_link, none;
  hr_cancel_init(&parent), hr_cancel_init(&own), hr_cancel_init(&late), hr_cancel_init(&free);
  hr_cancel_link(&link, &parent, &own);
  hr_cancel_link(&none, NULL, &free);
  HR_CHECK(!hr_cancel_is_set(&own));
  hr_cancel_start(&parent, hr_status_create(HR_ABORTED, __FILE__, __LINE__, "enough"));
  HR_CHECK_CODE(hr_cancel_why(&own), HR_ABORTED, "enough");
  hr_cancel_link(&late_link, &parent, &late); /* what is linked to a token that was started starts */
  HR_CHECK_CODE(hr_cancel_why(&late), HR_ABORTED, "enough");
  hr_cancel_unlink(&link), hr_cancel_unlink(&late_link), hr_cancel_unlink(&none);
  HR_CHECK(!hr_cancel_is_set(&free));
  hr_cancel_deinit(&parent), hr_cancel_deinit(&own), hr_cancel_deinit(&late), hr_cancel_deinit(&free);
}

HR_TEST(containers_find_by_container_type_and_name) {
  hr_resources_t* rs = hr_resources_create();
  hr_resource_t *a = NULL, *b = NULL;
  int made = 0;
  HR_CHECK_CODE(hr_resources_find(rs, HR_STR(""), HR_STR("v"), &hr_variable_type, &a), HR_NOT_FOUND, "localhost/v");
  HR_REQUIRE_OK(hr_resources_find_or_create(rs, HR_STR(""), HR_STR("v"), &hr_variable_type, make_variable, &made, &a));
  HR_REQUIRE_OK(hr_resources_find_or_create(rs, HR_STR("localhost"), HR_STR("v"), &hr_variable_type, make_variable, &made, &b));
  HR_CHECK(a == b && made == 1);
  hr_resource_release(b);
  HR_CHECK_CODE(hr_resources_find(rs, HR_STR(""), HR_STR("v"), &other_type, &b), HR_INVALID_ARGUMENT, "is a Variable, not a Other");
  HR_CHECK_CODE(hr_resources_find(rs, HR_STR("c"), HR_STR("v"), &hr_variable_type, &b), HR_NOT_FOUND, "c/v");
  hr_resources_clear(rs, HR_STR(""));
  HR_CHECK(atomic_load(&a->removed));
  HR_CHECK_CODE(hr_resources_remove(rs, HR_STR(""), HR_STR("v"), &hr_variable_type), HR_NOT_FOUND, "v");
  hr_resource_release(a);
  hr_resources_release(rs);
}

HR_TEST(a_handle_follows_its_name_to_a_new_object) {
  hr_resources_t* rs = hr_resources_create();
  hr_handle_t* h = hr_handle_create(HR_STR("d"), HR_STR(""), HR_STR("v"), HR_STR("t"));
  hr_resource_t *first = NULL, *again = NULL;
  int made = 0;
  HR_CHECK_CODE(hr_resources_of_handle(rs, h, &hr_variable_type, &first), HR_FAILED_PRECONDITION, "could not find variable v");
  HR_REQUIRE_OK(hr_resources_find_or_create(rs, HR_STR(""), HR_STR("v"), &hr_variable_type, make_variable, &made, &first));
  hr_resource_release(first);
  HR_REQUIRE_OK(hr_resources_of_handle(rs, h, &hr_variable_type, &again));
  HR_CHECK(again == first);
  hr_resource_release(again);
  HR_REQUIRE_OK(hr_resources_remove(rs, HR_STR(""), HR_STR("v"), &hr_variable_type));
  HR_CHECK_CODE(hr_resources_of_handle(rs, h, &hr_variable_type, &again), HR_FAILED_PRECONDITION, "deleted");
  HR_REQUIRE_OK(hr_resources_find_or_create(rs, HR_STR(""), HR_STR("v"), &hr_variable_type, make_variable, &made, &first));
  HR_REQUIRE_OK(hr_resources_of_handle(rs, h, &hr_variable_type, &again));
  HR_CHECK(again == first && made == 2);
  hr_resource_release(again);
  hr_resource_release(first);
  hr_handle_release(h);
  hr_resources_release(rs);
}

HR_TEST(a_value_once_read_never_changes) {
  hr_variable_t* v = NULL;
  hr_tensor_t t = {0}, read = {0};
  HR_REQUIRE_OK(hr_variable_create(HR_F32, HR_STR("w"), &v));
  HR_CHECK_CODE(hr_variable_read(v, &read), HR_FAILED_PRECONDITION, "Attempting to use uninitialized value w");
  HR_CHECK_CODE(hr_variable_begin_write(v), HR_FAILED_PRECONDITION, "w");
  HR_REQUIRE_OK(hr_tensor_from_i32(1, &t));
  HR_CHECK_CODE(hr_variable_assign(v, &t), HR_INVALID_ARGUMENT, "int32");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_from_f32(1, &t));
  HR_REQUIRE_OK(hr_variable_assign(v, &t));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_variable_read(v, &read));
  HR_REQUIRE_OK(hr_variable_begin_write(v));
  ((float*)v->value.data)[0] = 2;
  const void* written = v->value.data;
  hr_variable_end_write(v);
  HR_CHECK_EQ_F64(((float*)read.data)[0], 1);
  hr_tensor_release(&read);
  HR_REQUIRE_OK(hr_variable_begin_write(v)); /* alone: in place */
  HR_CHECK(v->value.data == written);
  hr_variable_end_write(v);
  hr_resource_release(&v->base);
}

HR_TEST(borrowed_memory_is_not_adopted) {
  hr_variable_t* v = NULL;
  hr_tensor_t t = {0}, read = {0};
  float memory[2] = {1, 2};
  hr_shape_t shape = hr_shape_vector(2);
  HR_REQUIRE_OK(hr_variable_create(HR_F32, HR_STR("w"), &v));
  HR_REQUIRE_OK(hr_tensor_borrow(HR_F32, &shape, memory, sizeof memory, true, NULL, NULL, &t));
  HR_REQUIRE_OK(hr_variable_assign(v, &t));
  hr_tensor_release(&t);
  memory[0] = 9;
  HR_REQUIRE_OK(hr_variable_read(v, &read));
  HR_CHECK_EQ_F64(((float*)read.data)[0], 1);
  hr_tensor_release(&read);
  hr_resource_release(&v->base);
}

HR_TEST_MAIN()
