/* SPDX-License-Identifier: Apache-2.0 */
/* OpDef both ways. Encoding writes fields in number order and leaves defaults out, as protobuf does. Decoding reads attrs before
 * arguments, since an argument names attrs that may come later in the bytes. */
#include "op/op_def.h"
#include "op/attr_value.h"

enum { OP_NAME = 1, OP_INPUT = 2, OP_OUTPUT = 3, OP_ATTR = 4, OP_SUMMARY = 5, OP_DEPRECATION = 8, OP_AGGREGATE = 16, OP_STATEFUL = 17,
       OP_COMMUTATIVE = 18, OP_UNINITIALIZED = 19, ARG_NAME = 1, ARG_TYPE = 3, ARG_TYPE_ATTR = 4, ARG_NUMBER_ATTR = 5, ARG_LIST_ATTR = 6,
       ARG_IS_REF = 16, ATTR_NAME = 1, ATTR_TYPE = 2, ATTR_DEFAULT = 3, ATTR_HAS_MINIMUM = 5, ATTR_MINIMUM = 6, ATTR_ALLOWED = 7,
       DEPRECATION_VERSION = 1, DEPRECATION_WHY = 2 };

/* --- encoding ------------------------------------------------------------------------------------------------------------------- */
static void write_text(hr_writer_t* w, uint32_t number, hr_str_t text) {
  if (text.size) hr_writer_str(w, number, text);
}

static void write_flag(hr_writer_t* w, uint32_t number, bool flag) {
  if (flag) hr_writer_bool(w, number, true);
}

static void write_attr_name(hr_writer_t* w, uint32_t number, const hr_op_def_t* def, int attr) {
  if (attr >= 0) hr_writer_str(w, number, def->attrs[attr].name);
}

static void write_arg(hr_writer_t* w, uint32_t number, const hr_op_def_t* def, const hr_arg_def_t* a) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 32);
  write_text(w, ARG_NAME, a->name);
  if (a->type) hr_writer_i64(w, ARG_TYPE, a->type);
  write_attr_name(w, ARG_TYPE_ATTR, def, a->type_attr);
  write_attr_name(w, ARG_NUMBER_ATTR, def, a->number_attr);
  write_attr_name(w, ARG_LIST_ATTR, def, a->list_attr);
  write_flag(w, ARG_IS_REF, a->is_ref);
  hr_writer_end(w, mark, 32);
}

static hr_status_t write_attr_value(hr_writer_t* w, uint32_t number, const hr_attr_t* value) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 32);
  hr_status_t status = hr_attr_value_encode(value, w);
  hr_writer_end(w, mark, 32);
  return status;
}

static hr_status_t write_allowed(hr_writer_t* w, const hr_attr_def_t* a) {
  int32_t types[HR_DTYPE_COUNT];
  hr_attr_t value = {.kind = a->kind, .is_list = true};
  if (a->types) {
    for (int t = 1; t < HR_DTYPE_COUNT; ++t)
      if (hr_dtype_in((hr_dtype_t)t, a->types)) types[value.count++] = t;
    value.u.types = types;
  } else if (a->string_count) {
    value.count = a->string_count;
    value.u.ss = a->strings;
  } else {
    return NULL;
  }
  return write_attr_value(w, ATTR_ALLOWED, &value);
}

static hr_status_t write_attr(hr_writer_t* w, const hr_attr_def_t* a) {
  hr_writer_mark_t mark = hr_writer_begin(w, OP_ATTR, 64);
  write_text(w, ATTR_NAME, a->name);
  write_text(w, ATTR_TYPE, hr_str(hr_attr_kind_name((hr_attr_kind_t)a->kind, a->is_list)));
  hr_status_t status = a->has_default ? write_attr_value(w, ATTR_DEFAULT, &a->value) : NULL;
  write_flag(w, ATTR_HAS_MINIMUM, a->has_minimum);
  if (a->has_minimum && a->minimum) hr_writer_i64(w, ATTR_MINIMUM, a->minimum);
  if (!status) status = write_allowed(w, a);
  hr_writer_end(w, mark, 64);
  return status;
}

static void write_deprecation(hr_writer_t* w, const hr_op_t* op) {
  if (op->deprecated == 0) return;
  hr_writer_mark_t mark = hr_writer_begin(w, OP_DEPRECATION, 48);
  hr_writer_i64(w, DEPRECATION_VERSION, op->deprecated);
  if (op->deprecated_why) write_text(w, DEPRECATION_WHY, hr_str(op->deprecated_why));
  hr_writer_end(w, mark, 48);
}

hr_status_t hr_op_def_encode(const hr_op_def_t* def, hr_writer_t* w) {
  const hr_op_t* op = def->op;
  write_text(w, OP_NAME, def->name);
  for (int i = 0; i < def->input_count; ++i) write_arg(w, OP_INPUT, def, &def->inputs[i]);
  for (int i = 0; i < def->output_count; ++i) write_arg(w, OP_OUTPUT, def, &def->outputs[i]);
  for (int i = 0; i < def->attr_count; ++i) HR_TRY(write_attr(w, &def->attrs[i]));
  if (op->doc) write_text(w, OP_SUMMARY, hr_str(op->doc));
  write_deprecation(w, op);
  write_flag(w, OP_AGGREGATE, op->flags & HR_OP_AGGREGATE);
  write_flag(w, OP_STATEFUL, op->flags & HR_OP_STATEFUL);
  write_flag(w, OP_COMMUTATIVE, op->flags & HR_OP_COMMUTATIVE);
  write_flag(w, OP_UNINITIALIZED, op->flags & HR_OP_UNINITIALIZED);
  return NULL;
}

/* --- decoding ------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_arena_t* arena;
  hr_attr_keeper_t* keeper;
  hr_op_def_t* def;
  hr_op_t* op;
} def_reader_t;

static hr_status_t read_text(def_reader_t* r, hr_cursor_t span, hr_str_t* out) {
  return hr_arena_str(r->arena, hr_cursor_str(span), out) ? NULL : hr_status_out_of_memory();
}

static hr_status_t read_attr_kind(hr_str_t text, hr_attr_def_t* out) {
  for (int kind = HR_ATTR_STRING; kind <= HR_ATTR_FUNC; ++kind)
    for (int is_list = 0; is_list < 2; ++is_list) {
      if (!hr_str_is(text, hr_attr_kind_name((hr_attr_kind_t)kind, is_list))) continue;
      out->kind = (uint8_t)kind;
      out->is_list = is_list;
      return NULL;
    }
  return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' has the unknown type '%.*s'", HR_STR_ARG(out->name), HR_STR_ARG(text));
}

static void set_allowed(const hr_attr_t* value, hr_attr_def_t* out) {
  if (!value->is_list) return;
  if (value->kind == HR_ATTR_TYPE)
    for (int32_t i = 0; i < value->count; ++i)
      if (hr_dtype_is_valid(value->u.types[i])) out->types |= UINT64_C(1) << hr_dtype_base(value->u.types[i]);
  if (value->kind == HR_ATTR_STRING) {
    out->strings = value->u.ss;
    out->string_count = value->count;
  }
}

static hr_status_t read_attr_field(def_reader_t* r, const hr_field_t* f, hr_attr_def_t* out, hr_str_t* out_kind) {
  hr_attr_t allowed;
  switch (f->key) {
    case HR_KEY_SPAN(ATTR_NAME): return read_text(r, f->span, &out->name);
    case HR_KEY_SPAN(ATTR_TYPE): *out_kind = hr_cursor_str(f->span); return NULL;
    case HR_KEY_SPAN(ATTR_DEFAULT):
      out->has_default = true;
      return hr_attr_value_decode(r->arena, r->keeper, f->span, &out->value);
    case HR_KEY_VARINT(ATTR_HAS_MINIMUM): out->has_minimum = f->value != 0; return NULL;
    case HR_KEY_VARINT(ATTR_MINIMUM): out->minimum = (int64_t)f->value; return NULL;
    case HR_KEY_SPAN(ATTR_ALLOWED):
      HR_TRY(hr_attr_value_decode(r->arena, r->keeper, f->span, &allowed));
      set_allowed(&allowed, out);
      return NULL;
    default: return NULL;
  }
}

static hr_status_t read_attr_def(def_reader_t* r, hr_cursor_t span, hr_attr_def_t* out) {
  hr_str_t kind = HR_STR("");
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    HR_TRY(read_attr_field(r, &f, out, &kind));
  }
  HR_TRY(read_attr_kind(kind, out));
  if (!out->has_default) return NULL;
  if (out->value.is_list && out->value.count == 0) out->value.kind = out->kind;
  bool fits = out->value.kind == out->kind && out->value.is_list == out->is_list;
  if (fits) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' of type %.*s has a default that is a %s", HR_STR_ARG(out->name), HR_STR_ARG(kind),
                  hr_attr_kind_name((hr_attr_kind_t)out->value.kind, out->value.is_list));
}

/* The attr an argument refers to: it must be there and of this kind. */
static hr_status_t find_arg_attr(def_reader_t* r, hr_cursor_t span, hr_attr_kind_t kind, bool is_list, int16_t* out) {
  hr_str_t name = hr_cursor_str(span);
  if (name.size == 0) return NULL;
  int attr = hr_sig_find_attr(r->def, name);
  if (attr >= 0 && r->def->attrs[attr].kind == kind && r->def->attrs[attr].is_list == is_list) {
    *out = (int16_t)attr;
    return NULL;
  }
  return HR_ERROR(INVALID_ARGUMENT, "an argument names attr '%.*s', which is no attr of type %s", HR_STR_ARG(name),
                  hr_attr_kind_name(kind, is_list));
}

static hr_status_t read_arg_field(def_reader_t* r, const hr_field_t* f, hr_arg_def_t* out) {
  switch (f->key) {
    case HR_KEY_SPAN(ARG_NAME): return read_text(r, f->span, &out->name);
    case HR_KEY_VARINT(ARG_TYPE): out->type = (int32_t)f->value; return NULL;
    case HR_KEY_SPAN(ARG_TYPE_ATTR): return find_arg_attr(r, f->span, HR_ATTR_TYPE, false, &out->type_attr);
    case HR_KEY_SPAN(ARG_NUMBER_ATTR): return find_arg_attr(r, f->span, HR_ATTR_INT, false, &out->number_attr);
    case HR_KEY_SPAN(ARG_LIST_ATTR): return find_arg_attr(r, f->span, HR_ATTR_TYPE, true, &out->list_attr);
    case HR_KEY_VARINT(ARG_IS_REF): out->is_ref = f->value != 0; return NULL;
    default: return NULL;
  }
}

static hr_status_t read_arg_def(def_reader_t* r, hr_cursor_t span, hr_arg_def_t* out) {
  *out = (hr_arg_def_t){.type_attr = -1, .number_attr = -1, .list_attr = -1};
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    HR_TRY(read_arg_field(r, &f, out));
  }
  if (hr_dtype_is_ref(out->type)) {
    out->is_ref = true;
    out->type = (int32_t)hr_dtype_base(out->type);
  }
  bool has_attr = out->type_attr >= 0 || out->list_attr >= 0;
  if (has_attr) out->type = HR_DTYPE_INVALID;
  if (has_attr || hr_dtype_is_valid(out->type)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "argument '%.*s' has no type", HR_STR_ARG(out->name));
}

static hr_status_t read_deprecation(def_reader_t* r, hr_cursor_t span) {
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    hr_str_t why;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(DEPRECATION_VERSION)) r->op->deprecated = (int)f.value;
    if (f.key != HR_KEY_SPAN(DEPRECATION_WHY)) continue;
    HR_TRY(read_text(r, f.span, &why));
    r->op->deprecated_why = why.data;
  }
  return NULL;
}

static hr_status_t read_op_field(def_reader_t* r, const hr_field_t* f) {
  switch (f->key) {
    case HR_KEY_SPAN(OP_NAME):
      HR_TRY(read_text(r, f->span, &r->def->name));
      r->op->name = r->def->name.data;
      return NULL;
    case HR_KEY_SPAN(OP_DEPRECATION): return read_deprecation(r, f->span);
    case HR_KEY_VARINT(OP_AGGREGATE): r->op->flags |= f->value ? HR_OP_AGGREGATE : 0; return NULL;
    case HR_KEY_VARINT(OP_STATEFUL): r->op->flags |= f->value ? HR_OP_STATEFUL : 0; return NULL;
    case HR_KEY_VARINT(OP_COMMUTATIVE): r->op->flags |= f->value ? HR_OP_COMMUTATIVE : 0; return NULL;
    case HR_KEY_VARINT(OP_UNINITIALIZED): r->op->flags |= f->value ? HR_OP_UNINITIALIZED : 0; return NULL;
    default: return NULL;
  }
}

static hr_status_t count_parts(hr_cursor_t span, int64_t counts[OP_ATTR + 1]) {
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    uint32_t number = f.key >> 3;
    if (f.key == HR_KEY_SPAN(number) && number <= OP_ATTR && ++counts[number] > INT16_MAX)
      return HR_ERROR(INVALID_ARGUMENT, "an op with more than %d arguments or attrs", INT16_MAX);
  }
  return NULL;
}

/* One pass: attrs and the op's own fields (`args` false), or arguments, which refer to attrs. */
static hr_status_t read_parts(def_reader_t* r, hr_cursor_t span, bool args) {
  hr_op_def_t* d = r->def;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_SPAN(OP_ATTR) && !args) HR_TRY(read_attr_def(r, f.span, (hr_attr_def_t*)&d->attrs[d->attr_count++]));
    else if (f.key == HR_KEY_SPAN(OP_INPUT) && args) HR_TRY(read_arg_def(r, f.span, (hr_arg_def_t*)&d->inputs[d->input_count++]));
    else if (f.key == HR_KEY_SPAN(OP_OUTPUT) && args) HR_TRY(read_arg_def(r, f.span, (hr_arg_def_t*)&d->outputs[d->output_count++]));
    else if (!args) HR_TRY(read_op_field(r, &f));
  }
  return NULL;
}

hr_status_t hr_op_def_decode(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_op_def_t** out) {
  int64_t counts[OP_ATTR + 1] = {0};
  HR_TRY(count_parts(span, counts));
  hr_op_def_t* def = hr_arena_array(arena, 1, sizeof *def);
  hr_op_t* op = hr_arena_array(arena, 1, sizeof *op);
  if (!def || !op) return hr_status_out_of_memory();
  *def = (hr_op_def_t){.op = op, .name = HR_STR("")};
  op->name = "";
  def->attrs = hr_arena_array(arena, (size_t)counts[OP_ATTR], sizeof(hr_attr_def_t));
  def->inputs = hr_arena_array(arena, (size_t)counts[OP_INPUT], sizeof(hr_arg_def_t));
  def->outputs = hr_arena_array(arena, (size_t)counts[OP_OUTPUT], sizeof(hr_arg_def_t));
  if (!def->attrs || !def->inputs || !def->outputs) return hr_status_out_of_memory();
  def_reader_t r = {arena, keeper, def, op};
  hr_status_t status = read_parts(&r, span, false);
  if (!status) status = read_parts(&r, span, true);
  if (status) return hr_status_note(status, "op definition '%.*s': ", HR_STR_ARG(def->name));
  *out = def;
  return NULL;
}
