/* SPDX-License-Identifier: Apache-2.0 */
/* The seam to PCRE2: its library is opened once, at the first pattern, and never closed. See regex.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "ops/string/regex.h"

#include <dlfcn.h>
#include <pcre2.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/sync.h"

#define LIBRARY "libpcre2-8.so.0"
enum { WORKSPACE_FIRST = 1 << 11, WORKSPACE_MOST = 1 << 22, MATCH_LIMIT = 1000000, DEPTH_LIMIT = 10000, WORK_LIMIT = 5000000 };

struct hr_regex {
  pcre2_code* code;
};

/* The functions in use: X(name), each found under its name with PCRE2's suffix for bytes. */
#define PCRE2_FUNCTIONS(X)                                                                                                             \
  X(compile)                                                                                                                           \
  X(code_free) X(dfa_match) X(get_error_message) X(match_data_create) X(match_data_free) X(match_context_create) X(match_context_free) \
      X(set_match_limit) X(set_depth_limit) X(set_callout)
static struct {
#define X(name) __typeof__(pcre2_##name##_8)* name;
  PCRE2_FUNCTIONS(X)
#undef X
} pcre2;
static hr_once_t pcre2_once = HR_ONCE_INIT;
static bool pcre2_is_there;

static bool find_function(void* library, const char* name, void* out) {
  void* symbol = dlsym(library, name);
  memcpy(out, &symbol, sizeof symbol);
  return symbol != NULL;
}

static void open_pcre2(void) {
  void* library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  bool all = true;
#define X(name) all &= find_function(library, "pcre2_" #name "_8", &pcre2.name);
  PCRE2_FUNCTIONS(X)
#undef X
  pcre2_is_there = all;
}

static hr_status_t compile_error(hr_str_t pattern, int error) {
  char text[256];
  if (pcre2.get_error_message(error, (PCRE2_UCHAR8*)text, sizeof text) < 0) snprintf(text, sizeof text, "error %d", error);
  return HR_ERROR(INVALID_ARGUMENT, "Invalid pattern: %.*s, error: %s", HR_STR_ARG(pattern), text);
}

static hr_status_t compile(hr_str_t pattern, hr_str_t translated, hr_regex_t* r) {
  int error;
  PCRE2_SIZE at;
  r->code =
      pcre2.compile((PCRE2_SPTR8)translated.data, translated.size,
                    PCRE2_UTF | PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX | PCRE2_NO_AUTO_POSSESS | PCRE2_AUTO_CALLOUT,
                    &error, &at, NULL);
  return r->code ? NULL : compile_error(pattern, error);
}

hr_status_t hr_regex_create(hr_str_t pattern, hr_regex_t** out) {
  hr_strbuf_t translated;
  hr_regex_t* r = NULL;
  hr_once_run(&pcre2_once, open_pcre2);
  if (!pcre2_is_there) return HR_ERROR(UNIMPLEMENTED, "regular expressions need " LIBRARY ", which could not be opened");
  hr_strbuf_init(&translated);
  hr_status_t status = hr_regex_translate(pattern, &translated);
  if (!status && !(r = hr_alloc_zero(sizeof *r))) status = hr_status_out_of_memory();
  if (!status) status = compile(pattern, hr_strbuf_view(&translated), r);
  hr_strbuf_deinit(&translated);
  if (status)
    hr_free(r);
  else
    *out = r;
  return status;
}

void hr_regex_destroy(hr_regex_t* r) {
  if (!r) return;
  pcre2.code_free(r->code);
  hr_free(r);
}

typedef struct {
  const hr_regex_t* regex;
  hr_str_t text;
  pcre2_match_data* data; /* what the engine allocates comes from malloc: it is no memory of ours */
  pcre2_match_context* limits;
} match_t;

/* Called at each step of each state: what bounds the time that a pattern of many states takes on a long text. */
static int count_work(pcre2_callout_block* block, void* left) {
  (void)block;
  return --*(int*)left < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

static int match_in(const match_t* m, int* workspace, int room) {
  return pcre2.dfa_match(m->regex->code, (PCRE2_SPTR8)(m->text.data ? m->text.data : ""), m->text.size, 0, PCRE2_DFA_SHORTEST, m->data,
                         m->limits, workspace, (size_t)room);
}

/* With room for few states on the stack, then for more. */
static hr_status_t match_with_room(const match_t* m, int* result) {
  int first[WORKSPACE_FIRST];
  *result = match_in(m, first, WORKSPACE_FIRST);
  for (int room = 4 * WORKSPACE_FIRST; *result == PCRE2_ERROR_DFA_WSSIZE && room <= WORKSPACE_MOST; room *= 4) {
    int* more = hr_alloc((size_t)room * sizeof *more);
    if (!more) return hr_status_out_of_memory();
    *result = match_in(m, more, room);
    hr_free(more);
  }
  return NULL;
}

static hr_status_t match_result(int result, bool* out) {
  *out = result >= 0;
  if (result >= PCRE2_ERROR_NOMATCH || (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21)) return NULL;
  if (result == PCRE2_ERROR_NOMEMORY) return hr_status_out_of_memory();
  return HR_ERROR(RESOURCE_EXHAUSTED, "matching a regular expression met the engine's limits (error %d)", result);
}

hr_status_t hr_regex_match(const hr_regex_t* r, hr_str_t text, bool* out) {
  match_t m = {r, text, pcre2.match_data_create(1, NULL), pcre2.match_context_create(NULL)};
  hr_status_t status = m.data && m.limits ? NULL : hr_status_out_of_memory();
  int result = 0, work = WORK_LIMIT;
  if (!status) {
    pcre2.set_callout(m.limits, count_work, &work);
    pcre2.set_match_limit(m.limits, MATCH_LIMIT);
    pcre2.set_depth_limit(m.limits, DEPTH_LIMIT);
    status = match_with_room(&m, &result);
  }
  if (!status) status = match_result(result, out);
  pcre2.match_data_free(m.data);
  pcre2.match_context_free(m.limits);
  return status;
}
