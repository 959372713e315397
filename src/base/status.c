/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses: one block per failure (record and message together), payloads in a list shared between a failure and its notes.
 *
 * The static instances are never counted and never freed. A record that cannot be allocated becomes the static out-of-memory
 * status, so every function here gives an answer. */
#include "base/status.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"

typedef struct payload {
  atomic_int refs;
  struct payload* older; /* one reference */
  char* value;           /* behind the key, in the same block */
  char key[];
} payload_t;

struct hr_status {
  atomic_int refs; /* unused in static instances */
  hr_code_t code;
  const char* file;
  int line;
  bool is_static;
  payload_t* payloads; /* newest first; one reference */
  const char* message;
};

static struct hr_status out_of_memory = {1, HR_RESOURCE_EXHAUSTED, __FILE__, __LINE__, true, NULL, "out of memory"};
static struct hr_status cancelled = {1, HR_CANCELLED, __FILE__, __LINE__, true, NULL, "the step was cancelled"};

hr_status_t hr_status_out_of_memory(void) { return &out_of_memory; }
hr_status_t hr_status_cancelled(void) { return &cancelled; }

static payload_t* payload_retain(payload_t* p) {
  if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  return p;
}

static void payload_release(payload_t* p) {
  while (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1) {
    payload_t* older = p->older;
    hr_free(p);
    p = older;
  }
}

/* A record with room for a message of `length` bytes; NULL: out of memory. */
static struct hr_status* record_create(hr_code_t code, const char* file, int line, size_t length, char** out_message) {
  struct hr_status* s = hr_alloc(sizeof *s + length + 1);
  if (!s) return NULL;
  atomic_init(&s->refs, 1);
  s->code = code;
  s->file = file;
  s->line = line;
  s->is_static = false;
  s->payloads = NULL;
  *out_message = (char*)(s + 1);
  (*out_message)[length] = 0;
  s->message = *out_message;
  return s;
}

hr_status_t hr_status_create_v(hr_code_t code, const char* file, int line, const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  char* message;
  struct hr_status* s = record_create(code, file, line, length > 0 ? (size_t)length : 0, &message);
  if (s && length > 0) vsnprintf(message, (size_t)length + 1, format, again);
  va_end(again);
  return s ? s : &out_of_memory;
}

hr_status_t hr_status_create(hr_code_t code, const char* file, int line, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hr_status_t s = hr_status_create_v(code, file, line, format, args);
  va_end(args);
  return s;
}

static hr_status_t note_before(hr_status_t old, const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  int noted = vsnprintf(NULL, 0, format, args);
  size_t note = noted > 0 ? (size_t)noted : 0, rest = strlen(old->message);
  char* text;
  struct hr_status* s = record_create(old->code, old->file, old->line, note + 2 + rest, &text);
  if (s) {
    if (note) vsnprintf(text, note + 1, format, again);
    size_t at = note;
    if (note && text[note - 1] != ' ') {
      memcpy(text + at, ": ", 2);
      at += 2;
    }
    memcpy(text + at, old->message, rest + 1);
    s->payloads = payload_retain(old->payloads);
  }
  va_end(again);
  return s ? s : &out_of_memory;
}

hr_status_t hr_status_note(hr_status_t take_status, const char* format, ...) {
  if (!take_status) return NULL;
  va_list args;
  va_start(args, format);
  hr_status_t s = note_before(take_status, format, args);
  va_end(args);
  hr_status_release(take_status);
  return s;
}

static payload_t* payload_create(const char* key, const char* value, payload_t* older) {
  size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
  payload_t* p = hr_alloc(sizeof *p + key_size + value_size);
  if (!p) return NULL;
  atomic_init(&p->refs, 1);
  p->older = payload_retain(older);
  p->value = p->key + key_size;
  memcpy(p->key, key, key_size);
  memcpy(p->value, value, value_size);
  return p;
}

hr_status_t hr_status_with_payload(hr_status_t take_status, const char* key, const char* value) {
  if (!take_status) return NULL;
  size_t length = strlen(take_status->message);
  char* text;
  struct hr_status* s = record_create(take_status->code, take_status->file, take_status->line, length, &text);
  payload_t* p = s ? payload_create(key, value, take_status->payloads) : NULL;
  if (p) {
    memcpy(text, take_status->message, length);
    s->payloads = p;
  } else {
    hr_free(s);
    s = &out_of_memory;
  }
  hr_status_release(take_status);
  return s;
}

/* Whether a newer payload replaced this one. */
static bool payload_is_replaced(const payload_t* newest, const payload_t* p) {
  for (; newest != p; newest = newest->older)
    if (strcmp(newest->key, p->key) == 0) return true;
  return false;
}

void hr_status_each_payload(hr_status_t status, void (*visit)(const char* key, const char* value, void* arg), void* arg) {
  if (!status) return;
  for (const payload_t* p = status->payloads; p; p = p->older)
    if (!payload_is_replaced(status->payloads, p)) visit(p->key, p->value, arg);
}

hr_status_t hr_status_retain(hr_status_t status) {
  if (status && !status->is_static) atomic_fetch_add_explicit(&((struct hr_status*)status)->refs, 1, memory_order_relaxed);
  return status;
}

void hr_status_release(hr_status_t status) {
  if (!status || status->is_static) return;
  struct hr_status* s = (struct hr_status*)status;
  if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  payload_release(s->payloads);
  hr_free(s);
}

hr_code_t hr_status_code(hr_status_t status) { return status ? status->code : HR_OK; }
const char* hr_status_message(hr_status_t status) { return status ? status->message : ""; }

const char* hr_status_origin(hr_status_t status, int* out_line) {
  if (out_line) *out_line = status ? status->line : 0;
  return status ? status->file : "";
}

const char* hr_status_code_name(hr_code_t code) {
  switch (code) {
#define HR_CODE(name, number) \
  case HR_##name: return #name;
#include "base/codes.def"
#undef HR_CODE
    default: return "UNKNOWN";
  }
}

void hr_status_merge(hr_status_t* first, hr_status_t take_second) {
  if (!*first)
    *first = take_second;
  else
    hr_status_release(take_second);
}
