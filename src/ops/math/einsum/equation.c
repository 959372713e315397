/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/math/einsum/equation.h"
#include "base/status.h"

static int letter_of(char c) { return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1; }

/* "ab...c" */
static hr_status_t parse_term(hr_str_t text, hr_str_t equation, hr_einsum_term_t* t) {
  *t = (hr_einsum_term_t){.before = -1};
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    const int letter = letter_of(c);
    if (c == '.' && text.size - i >= 3 && text.data[i + 1] == '.' && text.data[i + 2] == '.') {
      if (t->before >= 0) return HR_ERROR(INVALID_ARGUMENT, "equation '%.*s' has two ellipses in one term", HR_STR_ARG(equation));
      t->before = t->count;
      i += 2;
      continue;
    }
    if (letter < 0) return HR_ERROR(INVALID_ARGUMENT, "equation '%.*s' has '%c', which is no letter", HR_STR_ARG(equation), c);
    if (t->count == HR_MAX_RANK)
      return HR_ERROR(UNIMPLEMENTED, "equation '%.*s' has a term of more than %d letters", HR_STR_ARG(equation), (int)HR_MAX_RANK);
    t->letters[t->count++] = (uint8_t)letter;
  }
  return NULL;
}

static int64_t find_arrow(hr_str_t equation, size_t from) {
  for (size_t i = from; i + 1 < equation.size; ++i)
    if (equation.data[i] == '-' && equation.data[i + 1] == '>') return (int64_t)i;
  return -1;
}

static hr_status_t check_output(const hr_einsum_t* e, hr_str_t equation) {
  for (int i = 0; i < e->out.count; ++i) {
    const int letter = e->out.letters[i];
    if (!hr_einsum_has(&e->in[0], letter) && (e->inputs == 1 || !hr_einsum_has(&e->in[1], letter)))
      return HR_ERROR(INVALID_ARGUMENT, "equation '%.*s' has '%c' in its output, but in no input", HR_STR_ARG(equation),
                      hr_einsum_letter(letter));
  }
  if (e->out.before < 0 && (e->in[0].before >= 0 || (e->inputs == 2 && e->in[1].before >= 0)))
    return HR_ERROR(INVALID_ARGUMENT, "equation '%.*s' has an ellipsis in an input, but none in its output", HR_STR_ARG(equation));
  return NULL;
}

hr_status_t hr_einsum_parse(hr_str_t equation, int inputs, hr_einsum_t* out) {
  const int64_t arrow = find_arrow(equation, 0);
  if (arrow < 0 || find_arrow(equation, (size_t)arrow + 2) >= 0)
    return HR_ERROR(INVALID_ARGUMENT, "Expecting exactly one '->' in einsum equation: '%.*s'", HR_STR_ARG(equation));
  hr_str_t rest = hr_str_slice(equation, 0, (size_t)arrow);
  int terms = 1;
  for (size_t i = 0; i < rest.size; ++i) terms += rest.data[i] == ',';
  if (terms > 2)
    return HR_ERROR(INVALID_ARGUMENT, "Expecting 1 or 2 input subscripts in equation '%.*s' but got: %d", HR_STR_ARG(equation), terms);
  if (terms != inputs)
    return HR_ERROR(INVALID_ARGUMENT, "equation '%.*s' is for %d inputs, there are %d", HR_STR_ARG(equation), terms, inputs);
  *out = (hr_einsum_t){.inputs = inputs};
  const int64_t comma = inputs == 2 ? hr_str_find(rest, ',') : (int64_t)rest.size;
  HR_TRY(parse_term(hr_str_slice(rest, 0, (size_t)comma), equation, &out->in[0]));
  if (inputs == 2) HR_TRY(parse_term(hr_str_slice(rest, (size_t)comma + 1, rest.size), equation, &out->in[1]));
  HR_TRY(parse_term(hr_str_slice(equation, (size_t)arrow + 2, equation.size), equation, &out->out));
  return check_output(out, equation);
}

int hr_einsum_labels(const hr_einsum_term_t* t, int wide, uint8_t labels[HR_MAX_RANK]) {
  int n = 0;
  for (int i = 0; i <= t->count; ++i) {
    for (int d = wide; i == t->before && d > 0; --d) labels[n++] = (uint8_t)(EINSUM_LETTERS + d - 1); /* counted from the end */
    if (i < t->count) labels[n++] = t->letters[i];
  }
  return n;
}

hr_status_t hr_einsum_wide(const hr_einsum_term_t* t, int rank, int* out) {
  *out = rank - t->count;
  if (*out < 0 || (*out > 0 && t->before < 0))
    return HR_ERROR(INVALID_ARGUMENT, "the equation gives it %s%d axes, its rank is %d", t->before < 0 ? "" : "at least ", t->count, rank);
  return NULL;
}
