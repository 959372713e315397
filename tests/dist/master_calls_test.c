/* SPDX-License-Identifier: Apache-2.0 */
/* The master's methods one by one, with requests made here: what TensorFlow's Python client never sends, and what is refused. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/master_calls.h"

/* --- callables ------------------------------------------------------------------------------------------------------------------------ */

static int64_t make_callable(calls_t* k) {
  hr_writer_t w = request_of(k->handle);
  hr_writer_mark_t m = hr_writer_begin(&w, 2, 16);
  add_field(&w, 1, "x:0");
  add_field(&w, 2, "y:0");
  hr_writer_end(&w, m, 16);
  HR_CHECK_OK(call(k, HR_MASTER_MakeCallable, &w));
  return compare_number(hr_strbuf_view(&k->out), HR_KEY_VARINT(1));
}

static hr_writer_t callable_request(const calls_t* k, int64_t handle) {
  hr_writer_t w = request_of(k->handle);
  hr_writer_i64(&w, 2, handle);
  return w;
}

HR_TEST(callables) {
  calls_t k;
  if (open_calls(&k)) {
    const int64_t one = make_callable(&k), two = make_callable(&k);
    HR_CHECK(one != two);
    for (int i = 0; i < 3; ++i) {
      hr_writer_t w = callable_request(&k, one);
      write_scalar(&w, 3, (float)i);
      if (HR_CHECK_OK(call(&k, HR_MASTER_RunCallable, &w)))
        HR_CHECK_EQ_F64(scalar_of(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1))), 2 * i);
    }
    hr_writer_t w = callable_request(&k, one);
    HR_CHECK_CODE(call(&k, HR_MASTER_RunCallable, &w), HR_INVALID_ARGUMENT, "takes 1 values");
    w = callable_request(&k, one);
    HR_CHECK_OK(call(&k, HR_MASTER_ReleaseCallable, &w));
    w = callable_request(&k, one);
    HR_CHECK_CODE(call(&k, HR_MASTER_RunCallable, &w), HR_INVALID_ARGUMENT, "no callable");
  }
  close_calls(&k);
}

/* --- extending ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t extend(calls_t* k, const char* handle, const char* suffix, int64_t version) {
  hr_writer_t w = request_of(handle);
  write_graph(&w, 2, suffix);
  hr_writer_i64(&w, 3, version);
  return call(k, HR_MASTER_ExtendSession, &w);
}

HR_TEST(extending) {
  calls_t k;
  if (open_calls(&k)) {
    check_step(&k, "x:0", "y:0", 3, 6);
    HR_CHECK_OK(extend(&k, k.handle, "2", 0));
    HR_CHECK_EQ_I64(compare_number(hr_strbuf_view(&k.out), HR_KEY_VARINT(4)), 1);
    HR_CHECK_CODE(extend(&k, k.handle, "3", 0), HR_ABORTED, "version 1");
    HR_CHECK_CODE(extend(&k, k.handle, "2", 1), HR_INVALID_ARGUMENT, "x2");
    HR_CHECK_CODE(extend(&k, "0123456789abcdef", "3", 0), HR_ABORTED, "not found");
    HR_CHECK_OK(extend(&k, k.handle, "3", 1));
    check_step(&k, "x3:0", "y3:0", 4, 8);
    check_step(&k, "x:0", "y:0", 5, 10);
  }
  close_calls(&k);
}

/* s: a scalar; bad = s x s, which shape functions refuse. */
static void write_refused_graph(hr_writer_t* w, uint32_t number) {
  hr_graph_t* g = NULL;
  hr_node_t *s = NULL, *bad = NULL;
  char* def = NULL;
  size_t size = 0;
  HR_CHECK_OK(hr_graph_create(&g));
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32), hr_at_shape("shape", &hr_pshape_scalar)};
  const hr_node_desc_t sd = {.op = HR_STR("Placeholder"), .name = HR_STR("s"), .attrs = attrs, .attr_count = 2};
  HR_CHECK_OK(hr_graph_add(g, &sd, &s));
  const hr_value_t in[] = {{s, 0}, {s, 0}};
  hr_node_desc_t d = {.op = HR_STR("MatMul"), .name = HR_STR("bad"), .inputs = in, .input_count = 2};
  HR_CHECK_CODE(hr_graph_add(g, &d, &bad), HR_INVALID_ARGUMENT, "rank");
  d.try_shapes = true;
  HR_CHECK_OK(hr_graph_add(g, &d, &bad));
  HR_CHECK_OK(hr_export_graph_def(g, 0, &def, &size));
  hr_writer_bytes(w, number, def, size);
  hr_free(def);
  hr_graph_destroy(g);
}

HR_TEST(what_shape_functions_refuse_fails_only_the_steps_that_run_it) {
  calls_t k;
  if (open_calls(&k)) {
    hr_writer_t w = request_of(k.handle);
    write_refused_graph(&w, 2);
    HR_CHECK_OK(call(&k, HR_MASTER_ExtendSession, &w));
    check_step(&k, "x:0", "y:0", 3, 6);
    w = request_of(k.handle);
    write_feed(&w, "s:0", 1);
    add_field(&w, 3, "bad:0");
    HR_CHECK_CODE(call(&k, HR_MASTER_RunStep, &w), HR_INVALID_ARGUMENT, "node 'bad' (MatMul)");
    check_step(&k, "x:0", "y:0", 4, 8);
  }
  close_calls(&k);
}

/* --- refusals ------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(a_step_that_comes_twice) {
  calls_t k;
  if (open_calls(&k)) {
    for (int i = 0; i < 2; ++i) {
      hr_writer_t w = request_of(k.handle);
      write_feed(&w, "x:0", 1);
      add_field(&w, 3, "y:0");
      hr_writer_i64(&w, 8, 77);
      hr_status_t status = call(&k, HR_MASTER_RunStep, &w);
      if (i == 0) HR_CHECK_OK(status);
      else HR_CHECK_CODE(status, HR_ABORTED, "");
    }
  }
  close_calls(&k);
}

HR_TEST(names_that_are_not_there) {
  calls_t k;
  if (open_calls(&k)) {
    hr_writer_t w = request_of(k.handle);
    add_field(&w, 3, "z:0");
    HR_CHECK_CODE(call(&k, HR_MASTER_RunStep, &w), HR_NOT_FOUND, "z:0");
    w = request_of(k.handle);
    add_field(&w, 3, "y:1");
    HR_CHECK_CODE(call(&k, HR_MASTER_RunStep, &w), HR_INVALID_ARGUMENT, "1 outputs");
    w = request_of(k.handle);
    add_field(&w, 4, "z");
    HR_CHECK_CODE(call(&k, HR_MASTER_RunStep, &w), HR_NOT_FOUND, "target 'z'");
    w = request_of("0123456789abcdef");
    add_field(&w, 3, "y:0");
    HR_CHECK_CODE(call(&k, HR_MASTER_RunStep, &w), HR_ABORTED, "0123456789abcdef");
    w = request_of("0123456789abcdef"); /* the same in the body of an answer that is OK */
    add_field(&w, 3, "y:0");
    hr_writer_bool(&w, 7, true);
    HR_CHECK_OK(call(&k, HR_MASTER_RunStep, &w));
    HR_CHECK_EQ_I64(compare_number(hr_strbuf_view(&k.out), HR_KEY_VARINT(3)), HR_ABORTED);
  }
  close_calls(&k);
}

HR_TEST(sessions_and_devices) {
  calls_t k;
  if (open_calls(&k)) {
    hr_writer_t w = request_of(NULL);
    HR_CHECK_OK(call(&k, HR_MASTER_ListDevices, &w));
    const hr_str_t local = compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1));
    const hr_str_t remote = compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(2));
    HR_CHECK(hr_str_has_prefix(compare_field(local, HR_KEY_SPAN(1)), HR_STR("/job:worker/")));
    HR_CHECK(hr_str_has_prefix(compare_field(remote, HR_KEY_SPAN(1)), HR_STR("/job:ps/")));
    w = request_of("nobody");
    HR_CHECK_CODE(call(&k, HR_MASTER_ListDevices, &w), HR_INVALID_ARGUMENT, "nobody");
    w = request_of(k.handle);
    HR_CHECK_OK(call(&k, HR_MASTER_CloseSession, &w));
    w = request_of(k.handle);
    HR_CHECK_CODE(call(&k, HR_MASTER_CloseSession, &w), HR_ABORTED, "not found");
  }
  close_calls(&k);
}

HR_TEST_MAIN()
