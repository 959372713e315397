/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a parsed signature: which attr, how many arguments of which types, may this value stand here; and its text for people.
 * Reading the text is in op/sig_parse.c. */
#include "op/sig.h"

/* An op with more arguments than this is a hostile graph, not a model. */
enum { MOST_ARGUMENTS = 1 << 22 };

int hr_sig_find_attr(const hr_op_def_t* def, hr_str_t name) {
  for (int i = 0; i < def->attr_count; ++i)
    if (hr_str_equal(def->attrs[i].name, name)) return i;
  return -1;
}

/* --- arguments -------------------------------------------------------------------------------------------------------------------- */
static hr_status_t absent_attr_error(const hr_op_def_t* def, int attr) {
  return HR_ERROR(INVALID_ARGUMENT, "op '%.*s': attr '%.*s' has no value", HR_STR_ARG(def->name), HR_STR_ARG(def->attrs[attr].name));
}

hr_status_t hr_sig_arg_length(const hr_op_def_t* def, const hr_attr_t* attrs, bool outputs, int arg, int* out_length) {
  const hr_arg_def_t* a = outputs ? &def->outputs[arg] : &def->inputs[arg];
  int64_t length = 1;
  if (a->number_attr >= 0) {
    if (attrs[a->number_attr].kind != HR_ATTR_INT || attrs[a->number_attr].is_list) return absent_attr_error(def, a->number_attr);
    length = attrs[a->number_attr].u.i;
  } else if (a->list_attr >= 0) {
    if (!attrs[a->list_attr].is_list) return absent_attr_error(def, a->list_attr);
    length = attrs[a->list_attr].count;
  }
  if (length < 0 || length > MOST_ARGUMENTS)
    return HR_ERROR(INVALID_ARGUMENT, "op '%.*s': argument '%.*s' cannot stand for %lld values", HR_STR_ARG(def->name), HR_STR_ARG(a->name),
                    (long long)length);
  *out_length = (int)length;
  return NULL;
}

static hr_status_t arg_element_type(const hr_op_def_t* def, const hr_attr_t* attrs, const hr_arg_def_t* a, int i, int32_t* out) {
  int32_t type = a->type;
  if (a->type_attr >= 0) {
    if (attrs[a->type_attr].kind != HR_ATTR_TYPE || attrs[a->type_attr].is_list) return absent_attr_error(def, a->type_attr);
    type = attrs[a->type_attr].u.type;
  } else if (a->list_attr >= 0) {
    type = attrs[a->list_attr].u.types[i];
  }
  *out = a->is_ref ? (int32_t)hr_dtype_base(type) + HR_DTYPE_REF : type;
  return NULL;
}

hr_status_t hr_sig_arg_types(hr_arena_t* arena, const hr_op_def_t* def, const hr_attr_t* attrs, bool outputs, int32_t** out_types,
                             int* out_count) {
  int arg_count = outputs ? def->output_count : def->input_count, total = 0;
  for (int arg = 0; arg < arg_count; ++arg) {
    int length;
    HR_TRY(hr_sig_arg_length(def, attrs, outputs, arg, &length));
    total += length;
    if (total > MOST_ARGUMENTS) return HR_ERROR(INVALID_ARGUMENT, "op '%.*s' has too many arguments", HR_STR_ARG(def->name));
  }
  int32_t* types = hr_arena_array(arena, (size_t)total, sizeof *types);
  if (!types) return hr_status_out_of_memory();
  int at = 0;
  for (int arg = 0; arg < arg_count; ++arg) {
    const hr_arg_def_t* a = outputs ? &def->outputs[arg] : &def->inputs[arg];
    int length;
    HR_TRY(hr_sig_arg_length(def, attrs, outputs, arg, &length));
    for (int i = 0; i < length; ++i) HR_TRY(arg_element_type(def, attrs, a, i, &types[at++]));
  }
  *out_types = types;
  *out_count = total;
  return NULL;
}

/* --- may this value stand here ---------------------------------------------------------------------------------------------------- */
static void print_allowed(const hr_attr_def_t* a, hr_strbuf_t* out) {
  const char* between = "";
  for (int t = 1; t < HR_DTYPE_COUNT; ++t) {
    if (!hr_dtype_in((hr_dtype_t)t, a->types)) continue;
    hr_strbuf_format(out, "%s%s", between, hr_dtype_name(t));
    between = ", ";
  }
  for (int32_t i = 0; i < a->string_count; ++i) {
    hr_strbuf_format(out, "%s\"%.*s\"", between, HR_STR_ARG(a->strings[i]));
    between = ", ";
  }
}

static hr_status_t refused_value(const hr_op_def_t* def, const hr_attr_def_t* a, hr_attr_t value) {
  hr_strbuf_t text, allowed;
  hr_strbuf_init(&text);
  hr_strbuf_init(&allowed);
  hr_attr_print(&value, &text);
  print_allowed(a, &allowed);
  hr_status_t status = HR_ERROR(INVALID_ARGUMENT, "value for attr '%.*s' of %.*s is not in the list of allowed values: %.*s; op '%.*s'",
                                HR_STR_ARG(a->name), HR_STR_ARG(hr_strbuf_view(&text)), HR_STR_ARG(hr_strbuf_view(&allowed)),
                                HR_STR_ARG(def->name));
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&allowed);
  return status;
}

static hr_status_t check_type(const hr_op_def_t* def, const hr_attr_def_t* a, int32_t type) {
  if (hr_dtype_is_ref(type))
    return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' of op '%.*s' must not have the reference type %s", HR_STR_ARG(a->name),
                    HR_STR_ARG(def->name), hr_dtype_name(type));
  if (!hr_dtype_is_valid(type))
    return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' of op '%.*s' has type number %d, which is no element type", HR_STR_ARG(a->name),
                    HR_STR_ARG(def->name), (int)type);
  if (a->types == 0 || hr_dtype_in((hr_dtype_t)type, a->types)) return NULL;
  return refused_value(def, a, (hr_attr_t){.kind = HR_ATTR_TYPE, .u.type = type});
}

static hr_status_t check_string(const hr_op_def_t* def, const hr_attr_def_t* a, hr_str_t s) {
  if (a->string_count == 0) return NULL;
  for (int32_t i = 0; i < a->string_count; ++i)
    if (hr_str_equal(a->strings[i], s)) return NULL;
  return refused_value(def, a, (hr_attr_t){.kind = HR_ATTR_STRING, .u.s = s});
}

static hr_status_t check_minimum(const hr_op_def_t* def, const hr_attr_def_t* a, const char* what, int64_t value) {
  if (!a->has_minimum || value >= a->minimum) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%s for attr '%.*s' of %lld must be at least minimum %lld; op '%.*s'", what, HR_STR_ARG(a->name),
                  (long long)value, (long long)a->minimum, HR_STR_ARG(def->name));
}

static hr_status_t check_list(const hr_op_def_t* def, const hr_attr_def_t* a, const hr_attr_t* value) {
  HR_TRY(check_minimum(def, a, "length", value->count));
  for (int32_t i = 0; i < value->count; ++i) {
    if (a->kind == HR_ATTR_TYPE) HR_TRY(check_type(def, a, value->u.types[i]));
    if (a->kind == HR_ATTR_STRING) HR_TRY(check_string(def, a, value->u.ss[i]));
  }
  return NULL;
}

hr_status_t hr_sig_check_attr(const hr_op_def_t* def, int attr, const hr_attr_t* value) {
  const hr_attr_def_t* a = &def->attrs[attr];
  bool fits = value->is_list == a->is_list && (value->kind == a->kind || (value->is_list && value->count == 0));
  if (!fits)
    return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' of op '%.*s' is a %s where %s is wanted", HR_STR_ARG(a->name), HR_STR_ARG(def->name),
                    hr_attr_kind_name((hr_attr_kind_t)value->kind, value->is_list), hr_attr_kind_name((hr_attr_kind_t)a->kind, a->is_list));
  if (a->is_list) return check_list(def, a, value);
  switch (a->kind) {
    case HR_ATTR_TYPE: return check_type(def, a, value->u.type);
    case HR_ATTR_STRING: return check_string(def, a, value->u.s);
    case HR_ATTR_INT: return check_minimum(def, a, "value", value->u.i);
    default: return NULL;
  }
}

/* --- text for people -------------------------------------------------------------------------------------------------------------- */
static void print_arg(const hr_op_def_t* def, const hr_arg_def_t* a, hr_strbuf_t* out) {
  hr_strbuf_format(out, "%.*s: ", HR_STR_ARG(a->name));
  if (a->is_ref) hr_strbuf_format(out, "Ref(");
  if (a->number_attr >= 0) hr_strbuf_format(out, "%.*s * ", HR_STR_ARG(def->attrs[a->number_attr].name));
  if (a->type_attr >= 0) hr_strbuf_add_str(out, def->attrs[a->type_attr].name);
  else if (a->list_attr >= 0) hr_strbuf_add_str(out, def->attrs[a->list_attr].name);
  else hr_strbuf_format(out, "%s", hr_dtype_name(a->type));
  if (a->is_ref) hr_strbuf_format(out, ")");
}

static void print_attr(const hr_attr_def_t* a, hr_strbuf_t* out) {
  hr_strbuf_format(out, "; %.*s", HR_STR_ARG(a->name));
  if (a->types || a->string_count) {
    hr_strbuf_format(out, a->is_list ? " of " : " in ");
    print_allowed(a, out);
  } else {
    hr_strbuf_format(out, ": %s", hr_attr_kind_name((hr_attr_kind_t)a->kind, a->is_list));
  }
  if (a->has_minimum) hr_strbuf_format(out, " >= %lld", (long long)a->minimum);
  if (!a->has_default) return;
  hr_strbuf_format(out, " = ");
  hr_attr_print(&a->value, out);
}

static void print_args(const hr_op_def_t* def, const hr_arg_def_t* args, int count, hr_strbuf_t* out) {
  for (int i = 0; i < count; ++i) {
    if (i) hr_strbuf_format(out, ", ");
    print_arg(def, &args[i], out);
  }
}

void hr_sig_print(const hr_op_def_t* def, hr_strbuf_t* out) {
  hr_strbuf_format(out, "%.*s(", HR_STR_ARG(def->name));
  print_args(def, def->inputs, def->input_count, out);
  hr_strbuf_format(out, ") ->%s", def->output_count ? " " : "");
  print_args(def, def->outputs, def->output_count, out);
  for (int i = 0; i < def->attr_count; ++i) print_attr(&def->attrs[i], out);
}
