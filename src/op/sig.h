/* SPDX-License-Identifier: Apache-2.0 */
/* The signature mini-language, parsed once per op at first use into hr_op_def_t.
 *
 *   sig    := [args] "->" [args]           args := arg (";" arg)*         arg := name ":" argtype
 *   argtype:= type | attr | N "*" type | N "*" attr | list_attr | "Ref(" type-or-attr ")"
 *   attrs  := attr (";" attr)*             attr := name ":" kind ["{" allowed "}"] [">=" minimum] ["=" default]
 *   kind   := string | int | float | bool | type | shape | tensor | func | list(kind)
 *   allowed:= types (half,float...) or quoted strings ('SAME','VALID')
 *   default:= literal of the kind; lists in []; strings quoted; types by name; shapes as [2,?] or ? (unknown rank)
 * Blanks are free. A list(type) attr named as an argument's type stands for as many arguments as it has types. */
#ifndef HR_OP_SIG_H
#define HR_OP_SIG_H
#include "op/attr.h"
#include "op/op.h"

typedef struct {
  hr_str_t name;
  int32_t type;        /* fixed type (without ref); INVALID when an attr says it */
  int16_t type_attr;   /* index of the attr that says the type; -1 */
  int16_t number_attr; /* index of the int attr that says how many; -1 */
  int16_t list_attr;   /* index of the list(type) attr; -1 */
  bool is_ref;
} hr_arg_def_t;

typedef struct {
  hr_str_t name;
  uint8_t kind;        /* hr_attr_kind_t */
  bool is_list;
  bool has_default;
  bool has_minimum;
  int64_t minimum;     /* of an int, or of a list's length */
  hr_dtypes_t types;   /* allowed types; 0: any */
  const hr_str_t* strings; /* allowed strings */
  int32_t string_count;
  hr_attr_t value;     /* the default */
} hr_attr_def_t;

typedef struct hr_op_def {
  const hr_op_t* op;   /* facts and functions; for ops registered at run time too */
  hr_str_t name;
  const hr_arg_def_t* inputs;
  const hr_arg_def_t* outputs;
  const hr_attr_def_t* attrs;
  int16_t input_count, output_count, attr_count;
  uint8_t node_class;  /* op/node_class.h; set by the registry from the name */
} hr_op_def_t;

/* Memory from the arena, but for defaults that are tensors; INTERNAL names op and place for a malformed text. */
HR_MUST_USE hr_status_t hr_sig_parse(hr_arena_t* arena, const hr_op_t* op, hr_op_def_t* out);
void hr_sig_release(const hr_op_def_t* def); /* of a def that does not stay for ever: before its arena goes */
int hr_sig_find_attr(const hr_op_def_t* def, hr_str_t name); /* -1: no such attr */
void hr_sig_print(const hr_op_def_t* def, hr_strbuf_t* out); /* for people: "Add(x: T, y: T) -> z: T; T in half, float" */

/* Checks a value against an attr's kind, allowed set and minimum; INVALID_ARGUMENT names op, attr, value and what is allowed. */
HR_MUST_USE hr_status_t hr_sig_check_attr(const hr_op_def_t* def, int attr, const hr_attr_t* value);
/* Element types of all inputs or outputs, flattened, from a node's attrs (attrs[i] for def->attrs[i]); refs have HR_DTYPE_REF added.
 * *out_types lies in the arena. */
HR_MUST_USE hr_status_t hr_sig_arg_types(hr_arena_t* arena, const hr_op_def_t* def, const hr_attr_t* attrs, bool outputs,
                                         int32_t** out_types, int* out_count);
/* How many flattened arguments argument `arg` stands for. INVALID_ARGUMENT when its attr is absent. */
HR_MUST_USE hr_status_t hr_sig_arg_length(const hr_op_def_t* def, const hr_attr_t* attrs, bool outputs, int arg, int* out_length);
#endif
