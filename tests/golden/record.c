/* SPDX-License-Identifier: Apache-2.0 */
/* Reads golden files: frames, then as much of the GraphDef's wire format as finding node `case` and its attrs takes; see record.h. */
#include "golden/record.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const uint8_t *at, *end;
} span_t;

typedef struct {
  int number, type;
  uint64_t value; /* of types 0, 1 and 5 */
  span_t bytes;   /* of type 2 */
} field_t;

int golden_file_read(const char* path, golden_file_t* out) {
  FILE* f = fopen(path, "rb");
  long size = -1;
  out->bytes = NULL;
  if (f && !fseek(f, 0, SEEK_END)) size = ftell(f);
  if (size >= 0) {
    rewind(f);
    out->size = (size_t)size;
    out->bytes = malloc(out->size + 1);
    if (out->bytes && fread(out->bytes, 1, out->size, f) != out->size) golden_file_free(out);
  }
  if (f) fclose(f);
  if (!out->bytes) printf("golden: cannot read %s\n", path);
  return out->bytes != NULL;
}

void golden_file_free(golden_file_t* file) {
  free(file->bytes);
  file->bytes = NULL;
}

static uint64_t little_endian(const uint8_t* p, int bytes) {
  uint64_t v = 0;
  for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
  return v;
}

static int read_varint(span_t* s, uint64_t* out) {
  *out = 0;
  for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
    uint8_t b = *s->at++;
    *out |= (uint64_t)(b & 127) << shift;
    if (b < 128) return 1;
  }
  return 0;
}

/* 1, or 0 at the end (also a broken one: what was read till then is judged by the caller). */
static int next_field(span_t* s, field_t* out) {
  uint64_t key, size;
  if (s->at >= s->end || !read_varint(s, &key)) return 0;
  out->number = (int)(key >> 3);
  out->type = (int)(key & 7);
  if (out->type == 0) return read_varint(s, &out->value);
  if (out->type == 2) {
    if (!read_varint(s, &size) || size > (uint64_t)(s->end - s->at)) return 0;
    out->bytes = (span_t){s->at, s->at + size};
    s->at += size;
    return 1;
  }
  int width = out->type == 1 ? 8 : 4;
  if ((out->type != 1 && out->type != 5) || s->end - s->at < width) return 0;
  out->value = little_endian(s->at, width);
  s->at += width;
  return 1;
}

static char* text_of(span_t s) {
  size_t n = (size_t)(s.end - s.at);
  char* text = malloc(n + 1);
  if (!text) abort();
  memcpy(text, s.at, n);
  text[n] = 0;
  return text;
}

static void names_of(span_t list, golden_names_t* out) {
  field_t f;
  while (next_field(&list, &f))
    if (f.number == 2 && out->count < GOLDEN_MAX_NAMES) out->name[out->count++] = text_of(f.bytes);
}

/* AttrValue: list = 1, s = 2, f = 4. */
static void read_attr(golden_case_t* c, const char* name, span_t value) {
  struct { const char* name; char** text; float* number; golden_names_t* names; } rows[] = {
      {"_op", &c->op, NULL, NULL},         {"_note", &c->note, NULL, NULL},   {"_match", &c->match, NULL, NULL},
      {"_error", &c->error, NULL, NULL},   {"_rtol", NULL, &c->rtol, NULL},   {"_atol", NULL, &c->atol, NULL},
      {"_init", NULL, NULL, &c->init},     {"_fetch", NULL, NULL, &c->fetch}, {"_grad", NULL, NULL, &c->grad},
      {"_error_at", &c->error_at, NULL, NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(name, rows[i].name)) continue;
    field_t f;
    while (next_field(&value, &f)) {
      uint32_t bits = (uint32_t)f.value;
      if (rows[i].text && f.number == 2 && !*rows[i].text) *rows[i].text = text_of(f.bytes);
      if (rows[i].number && f.number == 4) memcpy(rows[i].number, &bits, 4);
      if (rows[i].names && f.number == 1) names_of(f.bytes, rows[i].names);
    }
  }
}

/* NodeDef: name = 1, attr = 5 (a map: key = 1, value = 2). Reads the attrs if this is the node `case`. */
static int read_node(golden_case_t* c, span_t node) {
  field_t f, e;
  int is_case = 0;
  span_t all = node;
  while (next_field(&node, &f)) is_case |= f.number == 1 && f.bytes.end - f.bytes.at == 4 && !memcmp(f.bytes.at, "case", 4);
  if (!is_case) return 0;
  while (next_field(&all, &f)) {
    span_t key = {0}, value = {0};
    if (f.number != 5) continue;
    while (next_field(&f.bytes, &e)) *(e.number == 1 ? &key : &value) = e.bytes;
    char* name = text_of(key);
    read_attr(c, name, value);
    free(name);
  }
  return 1;
}

int golden_case_next(const golden_file_t* file, size_t* at, golden_case_t* out) {
  memset(out, 0, sizeof *out);
  if (*at == file->size) return 0;
  if (file->size - *at < 16) return -1;
  uint64_t size = little_endian(file->bytes + *at, 8);
  if (size > file->size - *at - 16) return -1;
  out->graph = file->bytes + *at + 12;
  out->size = size;
  *at += size + 16;
  span_t graph = {out->graph, out->graph + size};
  field_t f;
  int found = 0;
  while (next_field(&graph, &f))
    if (f.number == 1) found |= read_node(out, f.bytes);
  return found && out->op && out->note && out->match && out->error && out->error_at ? 1 : -1;
}

static void free_names(golden_names_t* n) {
  for (int i = 0; i < n->count; i++) free(n->name[i]);
}

void golden_case_free(golden_case_t* c) {
  char* texts[] = {c->op, c->note, c->match, c->error, c->error_at};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
  free_names(&c->init);
  free_names(&c->fetch);
  free_names(&c->grad);
}
