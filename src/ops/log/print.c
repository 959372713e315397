/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: Assert (fails with its data's text unless the condition holds), Print (writes a line to standard error and passes its
 * input on), PrintV2 (writes a string to a stream, the log or the end of a file). */
#include <stdatomic.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/io/path.h"
#include "ops/log/text.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Assert, hr_op_Print, hr_op_PrintV2;

/* 1. shapes */
static hr_status_t infer_assert(hr_infer_t* s) { return hr_infer_want_rank(s, 0, 0, NULL); }
static hr_status_t infer_print_v2(hr_infer_t* s) { return hr_infer_want_rank(s, 0, 0, NULL); }
static hr_status_t infer_print(hr_infer_t* s) {
  hr_infer_set(s, 0, hr_infer_input(s, 0));
  return NULL;
}

/* 2. kernels */
static hr_status_t assert_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "summarize");
  return NULL;
}

static hr_status_t assert_true(hr_kernel_ctx_t* k) {
  hr_strbuf_t text;
  HR_TRY(hr_want_scalar(k, 0, "In[0] should be a scalar: "));
  if (*(const bool*)hr_input(k, 0)->data) return NULL;
  hr_strbuf_init(&text);
  for (int i = 1; i < hr_input_count(k); ++i) {
    hr_strbuf_add(&text, " [", 2);
    hr_log_text(hr_input(k, i), *(int64_t*)hr_prepared(k), &text);
    hr_strbuf_add(&text, "]", 1);
  }
  hr_status_t status =
      text.failed ? hr_status_out_of_memory() : HR_ERROR(INVALID_ARGUMENT, "assertion failed:%.*s", HR_STR_ARG(hr_strbuf_view(&text)));
  hr_strbuf_deinit(&text);
  return status;
}

typedef struct { hr_str_t message; int64_t first_n, summarize; } print_t;
static hr_status_t print_prepare(hr_prepare_ctx_t* p, void* prepared) {
  print_t* m = prepared;
  m->message = hr_attrs_str(p->attrs, "message");
  m->first_n = hr_attrs_int(p->attrs, "first_n");
  m->summarize = hr_attrs_int(p->attrs, "summarize");
  return NULL;
}

static hr_status_t write_line(const hr_strbuf_t* text) {
  if (text->failed) return hr_status_out_of_memory();
  fwrite(text->data, 1, text->size, stderr);
  return NULL;
}

static hr_status_t print(hr_kernel_ctx_t* k) { /* state: how many lines were written */
  const print_t* m = hr_prepared(k);
  atomic_llong* calls = hr_state(k);
  hr_output_share(k, 0, hr_input(k, 0));
  if (m->first_n >= 0 && atomic_fetch_add(calls, 1) >= m->first_n) return NULL;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, m->message);
  for (int i = 1; i < hr_input_count(k); ++i) {
    hr_strbuf_add(&text, "[", 1);
    hr_log_text(hr_input(k, i), m->summarize, &text);
    hr_strbuf_add(&text, "]", 1);
  }
  hr_strbuf_add(&text, "\n", 1);
  hr_status_t status = write_line(&text);
  hr_strbuf_deinit(&text);
  return status;
}

typedef enum { TO_STDERR, TO_STDOUT, TO_INFO, TO_WARNING, TO_ERROR, TO_FILE } stream_t;
typedef struct { stream_t to; hr_str_t path, end; } print_v2_t;
static hr_status_t print_v2_prepare(hr_prepare_ctx_t* p, void* prepared) {
  static const char* const names[] = {"stderr", "stdout", "log(info)", "log(warning)", "log(error)"};
  print_v2_t* m = prepared;
  const hr_str_t stream = hr_attrs_str(p->attrs, "output_stream"), file = HR_STR("file://");
  m->end = hr_attrs_str(p->attrs, "end");
  m->path = hr_str_slice(stream, file.size, stream.size);
  for (m->to = TO_STDERR; m->to < TO_FILE; ++m->to)
    if (hr_str_is(stream, names[m->to])) return NULL;
  if (hr_str_has_prefix(stream, file)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "output_stream '%.*s'; stderr, stdout, log(info), log(warning), log(error) or file://path was expected",
                  HR_STR_ARG(stream));
}

static hr_status_t append_to_file(const hr_kernel_ctx_t* k, const print_v2_t* m, hr_str_t text) {
  hr_file_t* f = NULL;
  char* path = NULL;
  HR_TRY(hr_path_copy(k, m->path, "output_stream", &path));
  hr_status_t status = hr_file_append(path, &f);
  if (!status) status = hr_file_write(f, text.data, text.size);
  if (!status) status = hr_file_write(f, m->end.data, m->end.size);
  hr_status_merge(&status, hr_file_close(f));
  hr_free(path);
  return status;
}

static hr_status_t print_v2(hr_kernel_ctx_t* k) {
  static const hr_log_level_t levels[] = {[TO_INFO] = HR_LOG_INFO, [TO_WARNING] = HR_LOG_WARNING, [TO_ERROR] = HR_LOG_ERROR};
  const print_v2_t* m = hr_prepared(k);
  HR_TRY(hr_want_scalar(k, 0, "input"));
  const hr_str_t text = hr_tstring_get(hr_input(k, 0)->data);
  if (m->to == TO_FILE) return append_to_file(k, m, text);
  if (m->to >= TO_INFO) {
    hr_log(levels[m->to], "%.*s%.*s", HR_STR_ARG(text), HR_STR_ARG(m->end));
    return NULL;
  }
  FILE* to = m->to == TO_STDOUT ? stdout : stderr;
  flockfile(to);
  if (text.size) fwrite(text.data, 1, text.size, to);
  if (m->end.size) fwrite(m->end.data, 1, m->end.size, to);
  fflush(to);
  funlockfile(to);
  return NULL;
}

/* 3. gradient: the input's alone */
static void grad_print(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_grad_upstream(g, 0)); }

/* 4. definitions */
const hr_op_t hr_op_Assert = {
    .name = "Assert", .sig = "condition: bool; data: T ->", .attrs = "T: list(type) >= 1; summarize: int = 3", .flags = HR_OP_STATEFUL,
    .shape = infer_assert, .grad = hr_grad_none,
    HR_KERNELS({.host_inputs = UINT32_MAX, .prepared_bytes = sizeof(int64_t), .prepare = assert_prepare, .compute = assert_true}),
    .doc = "fails unless the condition is true", HR_HERE};

const hr_op_t hr_op_Print = {.name = "Print",
                             .sig = "input: T; data: U -> output: T",
                             .attrs = "T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: int = 3",
                             .flags = HR_OP_STATEFUL,
                             .shape = infer_print,
                             .grad = grad_print,
                             HR_KERNELS({.host_inputs = ~UINT32_C(1),
                                         .prepared_bytes = sizeof(print_t),
                                         .prepare = print_prepare,
                                         .state_bytes = sizeof(atomic_llong),
                                         .compute = print}),
                             .doc = "the input; writes the data to standard error",
                             HR_HERE};

const hr_op_t hr_op_PrintV2 = {
    .name = "PrintV2",
    .sig = "input: string ->",
    .attrs = "output_stream: string = 'stderr'; end: string = '\\n'",
    .flags = HR_OP_STATEFUL,
    .shape = infer_print_v2,
    HR_KERNELS({.host_inputs = 1, .prepared_bytes = sizeof(print_v2_t), .prepare = print_v2_prepare, .compute = print_v2}),
    .doc = "writes a string to a stream",
    HR_HERE};
