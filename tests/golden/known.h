/* SPDX-License-Identifier: Apache-2.0 */
/* The documented deviations: cases where TensorFlow's answer is wrong or unsafe and ours differs on purpose (known_differences.txt:
 * op, note, reason, separated by tabs; a note that ends in '*' stands for all that begin so). Nothing else may fail. */
#ifndef GOLDEN_KNOWN_H
#define GOLDEN_KNOWN_H

typedef struct {
  char *op, *note, *reason;
  int used;
} golden_known_row_t;

typedef struct {
  golden_known_row_t* rows;
  int count;
  char* text;
} golden_known_t;

int golden_known_read(const char* path, golden_known_t* out); /* 1, or 0 with a line printed */
golden_known_row_t* golden_known_find(golden_known_t* known, const char* op, const char* note); /* NULL: must pass */
void golden_known_free(golden_known_t* known);
#endif
