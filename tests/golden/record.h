/* SPDX-License-Identifier: Apache-2.0 */
/* A golden file: TFRecord frames, each one serialized GraphDef whose node `case` says what to run and what must come out.
 *
 * The attrs are read from the bytes, not through the library under test: a case whose import must fail has no graph to ask. */
#ifndef GOLDEN_RECORD_H
#define GOLDEN_RECORD_H
#include <stddef.h>
#include <stdint.h>

enum { GOLDEN_MAX_NAMES = 64 };
typedef struct {
  int count;
  char* name[GOLDEN_MAX_NAMES];
} golden_names_t;

typedef struct {
  const uint8_t* graph; /* into the file's bytes */
  size_t size;
  char *op, *note, *match, *error, *error_at;
  float rtol, atol;
  golden_names_t init, fetch, grad;
} golden_case_t;

typedef struct {
  uint8_t* bytes;
  size_t size;
} golden_file_t;

int golden_file_read(const char* path, golden_file_t* out); /* 1, or 0 with a line printed */
void golden_file_free(golden_file_t* file);
/* The next case from *at (0 at first): 1; 0 at the end; -1 for bytes that are no case. Free each. */
int golden_case_next(const golden_file_t* file, size_t* at, golden_case_t* out);
void golden_case_free(golden_case_t* c);
#endif
