/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: manifest and run-time ops, node classes, threads that look up the same op at once, choice of kernels and its messages. */
#include "op/registry.h"
#include "base/thread.h"
#include "op/node_class.h"
#include "op/kernel_ctx.h"
#include "op/op_def.h"
#include "op/op_list.h"
#include "test.h"

static hr_status_t run_float(hr_kernel_ctx_t* k) { return (void)k, NULL; }
static hr_status_t run_any(hr_kernel_ctx_t* k) { return (void)k, NULL; }
static hr_status_t run_fast(hr_kernel_ctx_t* k) { return (void)k, NULL; }
static hr_status_t run_late(hr_kernel_ctx_t* k) { return (void)k, NULL; }
static void some_grad(hr_grad_ctx_t* g) { (void)g; }

static const hr_op_t op_add = {.name = "Add",
                               .sig = "x: T; y: T -> z: T",
                               .attrs = "T: type{half,float,double,int32}",
                               .grad = some_grad,
                               HR_KERNELS({.where = {{"T", HR_M(F32) | HR_M(F64)}}, .compute = run_float},
                                          {.where = {{"T", HR_M(F64)}}, .priority = 1, .compute = run_fast})};
static const hr_op_t op_bad = {.name = "Bad", .sig = "x: what -> z: T", .attrs = ""};
static const hr_op_t op_const = {
    .name = "Const", .sig = "-> output: dtype", .attrs = "value: tensor; dtype: type", HR_KERNELS(HR_CPU_ANY(run_any))};
static const hr_op_t op_list = {.name = "Lists",
                                .sig = "x: L -> y: T",
                                .attrs = "L: list(type); T: type",
                                HR_KERNELS({.where = {{"L", HR_M(F32)}, {"T", HR_M(I32)}}, .compute = run_any})};
static const hr_op_t op_merge = {.name = "Merge", .sig = "inputs: N * T -> output: T; value_index: int32", .attrs = "T: type; N: int >= 1"};

__attribute__((constructor)) static void install_ops(void) {
  static const hr_op_t* const ops[] = {&op_add, &op_bad, &op_const, &op_list, &op_merge};
  hr_registry_set_manifest(ops, 5);
}

static const hr_op_def_t* must_find(const char* name) {
  const hr_op_def_t* def = NULL;
  if (!HR_CHECK_OK(hr_registry_find(hr_str(name), &def))) abort();
  return def;
}

static void look_up(void* arg) {
  const hr_op_def_t* def = NULL;
  hr_status_release(hr_registry_find(HR_STR("Add"), &def));
  *(const hr_op_def_t**)arg = def;
}

HR_TEST(many_threads_find_one_definition) {
  enum { THREADS = 8 };
  hr_thread_t threads[THREADS];
  const hr_op_def_t* found[THREADS] = {0};
  for (int i = 0; i < THREADS; ++i) HR_REQUIRE_OK(hr_thread_start(&threads[i], "look-up", look_up, &found[i]));
  for (int i = 0; i < THREADS; ++i) hr_thread_join(&threads[i]);
  for (int i = 0; i < THREADS; ++i) HR_CHECK(found[i] && found[i] == found[0]);
  HR_CHECK(found[0]->op == &op_add && found[0]->input_count == 2);
}

HR_TEST(unknown_and_malformed_ops) {
  const hr_op_def_t* def = &(hr_op_def_t){0};
  HR_CHECK_CODE(hr_registry_find(HR_STR("Ad"), &def), HR_NOT_FOUND, "'Ad'");
  HR_CHECK(def == NULL);
  HR_CHECK_CODE(hr_registry_find(HR_STR("Bad"), &def), HR_INTERNAL, "op 'Bad'");
  HR_CHECK_CODE(hr_registry_find(HR_STR("Bad"), &def), HR_INTERNAL, "op 'Bad'");
}

HR_TEST(node_classes_come_from_names) {
  HR_CHECK_EQ_I64(must_find("Const")->node_class, HR_NODE_CONST);
  HR_CHECK_EQ_I64(must_find("Merge")->node_class, HR_NODE_MERGE);
  HR_CHECK_EQ_I64(must_find("Add")->node_class, HR_NODE_ORDINARY);
}

HR_TEST(kernels_by_type_priority_and_order) {
  const hr_kernel_t* k = NULL;
  hr_attr_t t = hr_at_type("T", HR_F32).value;
  HR_REQUIRE_OK(hr_registry_kernel(must_find("Add"), &t, &k));
  HR_CHECK(k->compute == run_float);
  t.u.type = HR_F64;
  HR_REQUIRE_OK(hr_registry_kernel(must_find("Add"), &t, &k));
  HR_CHECK(k->compute == run_fast); /* later, but of higher priority */
  t.u.type = HR_I32;
  HR_CHECK_CODE(hr_registry_kernel(must_find("Add"), &t, &k), HR_INVALID_ARGUMENT,
                "No OpKernel was registered to support Op 'Add' with T=int32; supported: T in {float, double}; T in {double}");
  HR_CHECK_CODE(hr_registry_kernel(must_find("Merge"), &t, &k), HR_UNIMPLEMENTED, "op 'Merge' has no kernel");
}

HR_TEST(kernels_by_lists_of_types) {
  const hr_kernel_t* k = NULL;
  int32_t types[] = {HR_F32, HR_F32};
  hr_attr_t attrs[] = {hr_at_types("L", types, 2).value, hr_at_type("T", HR_I32).value};
  HR_CHECK_OK(hr_registry_kernel(must_find("Lists"), attrs, &k));
  types[1] = HR_F64;
  HR_CHECK_CODE(hr_registry_kernel(must_find("Lists"), attrs, &k), HR_INVALID_ARGUMENT,
                "L=[float, double], T=int32; supported: L in {float}, T in {int32}");
}

HR_TEST(ops_are_added_at_run_time_once) {
  static const hr_op_t mine = {.name = "Mine", .sig = "x: T -> y: T", .attrs = "T: type"};
  static const hr_op_t broken = {.name = "Broken", .sig = "x -> y", .attrs = ""};
  HR_CHECK_OK(hr_registry_add(&mine));
  HR_CHECK(must_find("Mine")->op == &mine);
  HR_CHECK_CODE(hr_registry_add(&mine), HR_ALREADY_EXISTS, "Mine");
  HR_CHECK_CODE(hr_registry_add(&op_add), HR_ALREADY_EXISTS, "Add");
  HR_CHECK_CODE(hr_registry_add(&broken), HR_INTERNAL, "Broken");
}

HR_TEST(kernels_are_added_at_run_time) {
  const hr_kernel_t* k = NULL;
  hr_attr_t t = hr_at_type("T", HR_I32).value;
  char attr_name[] = "T";
  hr_kernel_t late = {.where = {{attr_name, HR_M(I32) | HR_M(F32)}}, .compute = run_late};
  HR_REQUIRE_OK(hr_registry_add_kernel("Add", &late));
  attr_name[0] = '!'; /* was copied */
  HR_REQUIRE_OK(hr_registry_kernel(must_find("Add"), &t, &k));
  HR_CHECK(k->compute == run_late);
  t.u.type = HR_F32;
  HR_REQUIRE_OK(hr_registry_kernel(must_find("Add"), &t, &k));
  HR_CHECK(k->compute == run_float); /* the op's own comes first */
  t.u.type = HR_F16;
  HR_CHECK_CODE(hr_registry_kernel(must_find("Add"), &t, &k), HR_INVALID_ARGUMENT, "T in {float, int32}");
  hr_kernel_t first = {.priority = 9, .compute = run_any};
  HR_REQUIRE_OK(hr_registry_add_kernel("Add", &first));
  HR_REQUIRE_OK(hr_registry_kernel(must_find("Add"), &t, &k));
  HR_CHECK(k->compute == run_any);
}

HR_TEST(gradients_are_set_once) {
  HR_CHECK(hr_registry_grad(must_find("Add")) == some_grad);
  HR_CHECK(hr_registry_grad(must_find("Merge")) == NULL);
  HR_CHECK_OK(hr_registry_set_grad("Merge", some_grad));
  HR_CHECK(hr_registry_grad(must_find("Merge")) == some_grad);
  HR_CHECK_CODE(hr_registry_set_grad("Merge", some_grad), HR_ALREADY_EXISTS, "Merge");
  HR_CHECK_CODE(hr_registry_set_grad("Add", some_grad), HR_ALREADY_EXISTS, "Add");
  HR_CHECK_CODE(hr_registry_set_grad("Nope", some_grad), HR_NOT_FOUND, "Nope");
  HR_CHECK(hr_registry_grad(must_find("Const")) == NULL);
}

HR_TEST(the_op_list_holds_every_op_in_name_order) {
  hr_writer_t w;
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_str_t last = HR_STR("");
  int seen = 0;
  hr_arena_init(&arena);
  hr_strbuf_init(&w);
  HR_REQUIRE_OK(hr_op_list_encode(&w));
  for (hr_cursor_t c = hr_cursor_make(w.data, w.size); !hr_cursor_is_done(&c); ++seen) {
    hr_field_t f;
    hr_op_def_t* def = NULL;
    HR_REQUIRE_OK(hr_cursor_next(&c, &f));
    HR_REQUIRE(f.key == HR_KEY_SPAN(1));
    HR_REQUIRE_OK(hr_op_def_decode(&arena, &keeper, f.span, &def));
    HR_CHECK(hr_str_compare(last, def->name) < 0);
    last = def->name;
  }
  HR_CHECK_EQ_I64(seen, 5); /* those above without the malformed one, and "Mine" */
  hr_strbuf_deinit(&w);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
}

HR_TEST_MAIN()
