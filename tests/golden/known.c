/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and searches the list of documented deviations; see known.h. Lines that are empty or begin with '#' are comments. */
#include "golden/known.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/record.h"

static int add_row(golden_known_t* out, char* line) {
  golden_known_row_t row = {line, strchr(line, '\t'), NULL, 0};
  if (row.note) row.reason = strchr(row.note + 1, '\t');
  if (!row.reason) {
    printf("golden: a known difference is 'op TAB note TAB reason', not '%s'\n", line);
    return 0;
  }
  *row.note++ = 0;
  *row.reason++ = 0;
  golden_known_row_t* rows = realloc(out->rows, sizeof row * (size_t)(out->count + 1));
  if (!rows) return 0;
  out->rows = rows;
  out->rows[out->count++] = row;
  return 1;
}

int golden_known_read(const char* path, golden_known_t* out) {
  golden_file_t file;
  memset(out, 0, sizeof *out);
  if (!golden_file_read(path, &file)) return 0;
  file.bytes[file.size] = 0;
  out->text = (char*)file.bytes;
  int good = 1;
  char* rest = out->text;
  for (char* line; good && (line = strsep(&rest, "\n"));)
    if (*line && *line != '#') good = add_row(out, line);
  return good;
}

static int is_note(const char* pattern, const char* note) {
  size_t n = strlen(pattern);
  return n && pattern[n - 1] == '*' ? !strncmp(pattern, note, n - 1) : !strcmp(pattern, note);
}

golden_known_row_t* golden_known_find(golden_known_t* known, const char* op, const char* note) {
  for (int i = 0; i < known->count; i++)
    if (!strcmp(known->rows[i].op, op) && is_note(known->rows[i].note, note)) return &known->rows[i];
  return NULL;
}

void golden_known_free(golden_known_t* known) {
  free(known->rows);
  free(known->text);
  memset(known, 0, sizeof *known);
}
