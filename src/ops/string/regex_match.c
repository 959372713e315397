/* SPDX-License-Identifier: Apache-2.0 */
/* RegexFullMatch: whether each string as a whole matches a pattern, given as an input or (Static...) as an attr. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/string/regex.h"

extern const hr_op_t hr_op_RegexFullMatch, hr_op_StaticRegexFullMatch;

static hr_status_t infer_with_pattern(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  hr_infer_set(s, 0, hr_infer_input(s, 0));
  return NULL;
}

typedef struct {
  const hr_regex_t* regex;
  const hr_tstring_t* in;
  bool* out;
} match_t;
static hr_status_t match_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const match_t* m = arg;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) HR_TRY(hr_regex_match(m->regex, hr_tstring_get(m->in + i), m->out + i));
  return NULL;
}

static hr_status_t match_all(hr_kernel_ctx_t* k, const hr_regex_t* regex) {
  const hr_tensor_t* in = hr_input(k, 0);
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &in->shape, &out));
  match_t m = {regex, in->data, out->data};
  return hr_parallel(k, in->count, 1000.0, match_chunk, &m);
}

static hr_status_t match_input(hr_kernel_ctx_t* k) {
  hr_regex_t* regex;
  HR_TRY(hr_want_scalar(k, 1, "pattern"));
  HR_TRY(hr_regex_create(hr_tstring_get(hr_input(k, 1)->data), &regex));
  hr_status_t status = match_all(k, regex);
  hr_regex_destroy(regex);
  return status;
}

static hr_status_t compile_attr(hr_prepare_ctx_t* p, void* prepared) {
  return hr_regex_create(hr_attrs_str(p->attrs, "pattern"), prepared);
}
static void drop_regex(void* prepared) { hr_regex_destroy(*(hr_regex_t**)prepared); }
static hr_status_t match_attr(hr_kernel_ctx_t* k) { return match_all(k, *(hr_regex_t**)hr_prepared(k)); }

const hr_op_t hr_op_RegexFullMatch = {.name = "RegexFullMatch",
                                      .sig = "input: string; pattern: string -> output: bool",
                                      .attrs = "",
                                      .shape = infer_with_pattern,
                                      HR_KERNELS({.host_inputs = 3, .host_outputs = 1, .compute = match_input}),
                                      .doc = "whether each string as a whole matches the pattern",
                                      HR_HERE};

const hr_op_t hr_op_StaticRegexFullMatch = {.name = "StaticRegexFullMatch",
                                            .sig = "input: string -> output: bool",
                                            .attrs = "pattern: string",
                                            .shape = hr_infer_same,
                                            HR_KERNELS({.host_inputs = 1,
                                                        .host_outputs = 1,
                                                        .prepared_bytes = sizeof(hr_regex_t*),
                                                        .prepare = compile_attr,
                                                        .unprepare = drop_regex,
                                                        .compute = match_attr}),
                                            .doc = "whether each string as a whole matches the pattern",
                                            HR_HERE};
