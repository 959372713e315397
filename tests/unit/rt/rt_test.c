/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation, containers, variables. */
#define HR_TEST_LEAKS_CHECKED
#include "rt/cancel.h"
#include "rt/device_name.h"
#include "rt/variable.h"
#include "rt/device.h"
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

/* --- names of devices ----------------------------------------------------------------------------------------------------------------- */

HR_TEST(device_names_are_parts) {
  static const struct { const char *text, *job, *type; int64_t replica, task, id; bool full; } rows[] = {
      {"", "", "", -1, -1, -1, false},
      {"/job:a", "a", "", -1, -1, -1, false},
      {"job:a/task:3", "a", "", -1, 3, -1, false},
      {"/job:*/replica:*/task:*/device:*:*", "", "", -1, -1, -1, false},
      {"/device:GPU", "", "GPU", -1, -1, -1, false},
      {"/device:*:2", "", "", -1, -1, 2, false},
      {"/gpu:0", "", "gpu", -1, -1, 0, false},
      {"TPU_2x9:*", "", "TPU_2x9", -1, -1, -1, false},
      {"/job:a/replica:0/task:0/device:CPU:0", "a", "CPU", 0, 0, 0, true},
      {"/replica:0/task:0/device:CPU:0", "", "CPU", 0, 0, 0, false},
      {"/job:a/task:0/device:CPU:0", "a", "CPU", -1, 0, 0, false},
      {"/job:a/replica:0/device:CPU:0", "a", "CPU", 0, -1, 0, false},
      {"/job:a/replica:0/task:0/device:*:0", "a", "", 0, 0, 0, false},
      {"/job:a/replica:0/task:0/device:CPU", "a", "CPU", 0, 0, -1, false},
      {"/job:b/job:a", "a", "", -1, -1, -1, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_device_name_t n;
    if (!HR_CHECK_OK(hr_device_name_parse(hr_str(rows[i].text), &n))) continue;
    const bool good = n.replica == rows[i].replica && n.task == rows[i].task && n.id == rows[i].id;
    if (!HR_CHECK(good) || !HR_CHECK_EQ_I64(hr_device_name_is_full(&n), rows[i].full)) printf("  %s\n", rows[i].text);
    HR_CHECK_VIEW(n.job, rows[i].job);
    HR_CHECK_VIEW(n.type, rows[i].type);
  }
  static const char* const bad[] = {"//",        "/job:",     "/job",      "/task:",    "/task:-1",    "/task:x",
                                    "/replica:-1",
                                    "/replica",  "/device:", "/device",   "/device::", "/cpu",      "/cpu:-1",     "/cpu:x",     "/:0",
                                    "/gp u:0",   "/gpu/:0",  "/device:a@:0", "/device:a[:0", "/device:-:0", "/device:a`:0", "x"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    hr_device_name_t n;
    hr_status_t status = hr_device_name_parse(hr_str(bad[i]), &n);
    if (!HR_CHECK(hr_status_code(status) == HR_INVALID_ARGUMENT)) printf("  %s\n", bad[i]);
    hr_status_release(status);
  }
}

HR_TEST(a_wish_accepts_the_devices_that_it_does_not_exclude) {
  static const char device[] = "/job:a/replica:1/task:2/device:CPU:3";
  static const struct { const char* wish; bool accepts; } rows[] = {
      {"", true},           {device, true},       {"/job:b", false},  {"/job:ab", false},   {"/job:A", false},  {"/replica:1", true},
      {"/replica:0", false}, {"/replica:2", false}, {"/task:2", true},  {"/task:0", false},   {"/cpu:3", true},   {"/cpu:2", false},
      {"/cpu:*", true},     {"/gpu:3", false},    {"/device:CP:3", false}, {"/device:CPUS:3", false},
      {"/device:*:3", true}, {"/device:*:0", false},
  };
  hr_device_name_t d, w;
  HR_REQUIRE_OK(hr_device_name_parse(hr_str(device), &d));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HR_REQUIRE_OK(hr_device_name_parse(hr_str(rows[i].wish), &w));
    if (!HR_CHECK_EQ_I64(hr_device_name_accepts(&w, &d), rows[i].accepts)) printf("  %s\n", rows[i].wish);
  }
  static const struct { const char* other; bool same; } tasks[] = {{"/job:a/replica:1/task:2/device:GPU:0", true},
                                                                   {"/job:b/replica:1/task:2/device:CPU:3", false},
                                                                   {"/job:a/replica:0/task:2/device:CPU:3", false},
                                                                   {"/job:a/replica:1/task:0/device:CPU:3", false}};
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; ++i) {
    HR_REQUIRE_OK(hr_device_name_parse(hr_str(tasks[i].other), &w));
    HR_CHECK_EQ_I64(hr_device_name_same_task(&d, &w), tasks[i].same);
  }
}

/* --- cancelling ----------------------------------------------------------------------------------------------------------------------- */

HR_TEST(entries_leave_in_any_order) {
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};
  for (size_t o = 0; o < sizeof orders / sizeof *orders; ++o) {
    hr_cancel_t c;
    int calls[3] = {0};
    hr_cancel_entry_t e[3];
    hr_cancel_init(&c);
    for (int i = 0; i < 3; ++i) {
      e[i] = (hr_cancel_entry_t){.callback = count_call, .arg = &calls[i]};
      HR_CHECK(hr_cancel_register(&c, &e[i]));
    }
    hr_cancel_deregister(&c, &e[orders[o][0]]);
    if (o % 2) hr_cancel_deregister(&c, &e[orders[o][1]]);
    hr_cancel_start(&c, NULL);
    HR_CHECK(calls[orders[o][0]] == 0 && calls[orders[o][1]] == (o % 2 == 0) && calls[orders[o][2]] == 1);
    HR_CHECK_CODE(hr_cancel_why(&c), HR_CANCELLED, "");
    hr_cancel_deregister(&c, &e[orders[o][2]]);
    hr_cancel_deinit(&c);
  }
}

/* --- devices of a task ---------------------------------------------------------------------------------------------------------------- */

HR_TEST(cpus_are_numbered_and_have_a_limit) {
  static const struct { int32_t asked, made; } rows[] = {{0, 1}, {1, 1}, {2, 2}, {HR_DEVICE_MOST_CPUS, HR_DEVICE_MOST_CPUS},
                                                         {-1, -1}, {HR_DEVICE_MOST_CPUS + 1, -1}, {INT32_MIN, -1}, {INT32_MAX, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_device_set_t* s = NULL;
    char text[100];
    HR_REQUIRE_OK(hr_device_set_create(&s));
    hr_status_t status = hr_device_set_add_cpus(s, HR_STR("/job:a/replica:0/task:1"), rows[i].asked, 7);
    if (rows[i].made < 0) {
      snprintf(text, sizeof text, "%d CPU devices are asked for; there may be 1 to %d", (int)rows[i].asked, (int)HR_DEVICE_MOST_CPUS);
      HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, text);
      HR_CHECK_EQ_I64(s->count, 0);
    } else if (HR_CHECK_OK(status) && HR_CHECK_EQ_I64(s->count, rows[i].made)) {
      for (int32_t j = 0; j < s->count; ++j) {
        const hr_device_t* d = s->devices[j];
        snprintf(text, sizeof text, "/job:a/replica:0/task:1/device:CPU:%d", (int)j);
        HR_CHECK_STR(d->name, text);
        HR_CHECK(d->incarnation == 7 && d->memory_limit == HR_DEVICE_CPU_MEMORY && !d->is_remote && d->parts.id == j);
        HR_CHECK_EQ_I64(hr_device_set_find(s, hr_str(text)), j);
      }
      HR_CHECK_EQ_I64(hr_device_set_find(s, HR_STR("/job:a/replica:0/task:1/device:CPU:")), -1);
    }
    hr_device_set_release(s);
  }
  hr_device_set_t* s = NULL; /* incarnations of one's own: each another, never 0 */
  HR_REQUIRE_OK(hr_device_set_create(&s));
  HR_CHECK_OK(hr_device_set_add_cpus(s, HR_STR("/job:a/replica:0/task:1"), 3, 0));
  const uint64_t a = s->devices[0]->incarnation, b = s->devices[1]->incarnation, c = s->devices[2]->incarnation;
  HR_CHECK(a && b && c && a != b && b != c && a != c);
  hr_device_set_release(s);
}

HR_TEST_MAIN()
