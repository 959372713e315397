/* SPDX-License-Identifier: Apache-2.0 */
/* The OpList: every registered op's OpDef, in name order. */
#include "op/op_list.h"
#include "op/op_def.h"

enum { OP_LIST_OP = 1, OP_DEF_GUESS = 200 };

typedef struct {
  hr_writer_t* writer;
  hr_status_t failure;
} list_walk_t;

static bool write_op(const hr_op_def_t* def, void* arg) {
  list_walk_t* walk = arg;
  hr_writer_mark_t mark = hr_writer_begin(walk->writer, OP_LIST_OP, OP_DEF_GUESS);
  walk->failure = hr_op_def_encode(def, walk->writer);
  hr_writer_end(walk->writer, mark, OP_DEF_GUESS);
  return walk->failure == NULL;
}

hr_status_t hr_op_list_encode(hr_writer_t* w) {
  list_walk_t walk = {.writer = w};
  hr_registry_each(write_op, &walk);
  return walk.failure;
}
