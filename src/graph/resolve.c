/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving a description against a signature. Order matters: given attrs first, then lengths, then types from inputs, then defaults, so
 * that an input's type wins over a default (Tidx of an int64 index) but never over what was given. */
#include "graph/resolve.h"

static hr_str_t attr_name(const hr_resolve_t* r, int attr) { return r->def->attrs[attr].name; }

static hr_status_t attr_check(const hr_resolve_t* r, int attr) { return hr_sig_check_attr(r->def, attr, &r->values[attr]); }

static hr_status_t attrs_take_given(hr_resolve_t* r) {
  for (int32_t i = 0; i < r->desc->attr_count; ++i) {
    const hr_named_attr_t* given = &r->desc->attrs[i];
    int at = hr_sig_find_attr(r->def, given->name);
    if (at < 0) {
      if (given->name.size == 0 || given->name.data[0] != '_')
        return HR_ERROR(INVALID_ARGUMENT, "the op has no attr '%.*s'", HR_STR_ARG(given->name));
      ++r->extra_count;
      continue;
    }
    r->values[at] = given->value;
    if (given->value.is_list && given->value.count == 0 && given->value.kind == HR_ATTR_NONE) r->values[at].kind = r->def->attrs[at].kind;
    HR_TRY(attr_check(r, at));
    r->origins[at] = r->desc->attrs_kept ? HR_RESOLVE_KEPT : HR_RESOLVE_GIVEN;
  }
  return NULL;
}

/* --- how many inputs each argument has ------------------------------------------------------------------------------------------- */
static int length_attr(const hr_arg_def_t* arg) { return arg->list_attr >= 0 ? arg->list_attr : arg->number_attr; }

/* Length by attrs alone; -1 while its attr is unset. */
static int64_t length_known(const hr_resolve_t* r, const hr_arg_def_t* arg) {
  int attr = length_attr(arg);
  if (attr < 0) return 1;
  if (r->origins[attr] == HR_RESOLVE_UNSET) return -1;
  return arg->list_attr >= 0 ? r->values[attr].count : r->values[attr].u.i;
}

static hr_status_t length_mismatch(const hr_resolve_t* r, int64_t wanted) {
  hr_strbuf_t sig;
  hr_strbuf_init(&sig);
  hr_sig_print(r->def, &sig);
  hr_str_t text = hr_strbuf_view(&sig);
  hr_status_t status =
      HR_ERROR(INVALID_ARGUMENT, "%d inputs given but %lld wanted by %.*s", (int)r->desc->input_count, (long long)wanted, HR_STR_ARG(text));
  hr_strbuf_deinit(&sig);
  return status;
}

static hr_status_t lengths_from_lists(hr_resolve_t* r) {
  int64_t sum = 0;
  for (int a = 0; a < r->def->input_count; ++a) {
    const hr_arg_def_t* arg = &r->def->inputs[a];
    int64_t n = r->desc->input_lists[a], known = length_known(r, arg);
    if (n < 0 || (known >= 0 && known != n))
      return HR_ERROR(INVALID_ARGUMENT, "argument '%.*s' was given %lld inputs but has %lld by its attr", HR_STR_ARG(arg->name),
                      (long long)n, (long long)known);
    r->lengths[a] = (int32_t)n;
    sum += n;
  }
  return sum == r->desc->input_count ? NULL : length_mismatch(r, sum);
}

/* The arguments of unknown length share what the others leave; they must hang on one attr, else the split is anybody's guess. */
static hr_status_t lengths_from_rest(hr_resolve_t* r) {
  int64_t known_sum = 0, open = 0;
  int open_attr = -1;
  for (int a = 0; a < r->def->input_count; ++a) {
    int64_t n = length_known(r, &r->def->inputs[a]);
    if (n > r->desc->input_count) return length_mismatch(r, n);
    r->lengths[a] = (int32_t)n;
    if (n >= 0) {
      known_sum += n;
      continue;
    }
    int attr = length_attr(&r->def->inputs[a]);
    if (open && attr != open_attr)
      return HR_ERROR(INVALID_ARGUMENT, "cannot tell how the inputs divide among arguments: give attr '%.*s' or '%.*s'",
                      HR_STR_ARG(attr_name(r, open_attr)), HR_STR_ARG(attr_name(r, attr)));
    open_attr = attr;
    ++open;
  }
  int64_t rest = r->desc->input_count - known_sum;
  if (rest < 0 || (open ? rest % open != 0 : rest != 0)) return length_mismatch(r, known_sum);
  for (int a = 0; open && a < r->def->input_count; ++a)
    if (r->lengths[a] < 0) r->lengths[a] = (int32_t)(rest / open);
  return NULL;
}

/* --- attrs from inputs ----------------------------------------------------------------------------------------------------------- */
static hr_status_t attr_infer_number(hr_resolve_t* r, int attr, int64_t n) {
  if (r->origins[attr] == HR_RESOLVE_UNSET) {
    r->values[attr] = (hr_attr_t){.kind = HR_ATTR_INT, .u.i = n};
    r->origins[attr] = HR_RESOLVE_KEPT;
    return attr_check(r, attr);
  }
  if (r->values[attr].u.i == n) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' is %lld but a list of %lld inputs was given", HR_STR_ARG(attr_name(r, attr)),
                  (long long)r->values[attr].u.i, (long long)n);
}

static hr_status_t attr_infer_type(hr_resolve_t* r, int attr, const hr_value_t* inputs, int32_t n) {
  if (r->origins[attr] != HR_RESOLVE_UNSET) return NULL;
  for (int32_t i = 0; i < n; ++i) {
    if (!inputs[i].node) continue;
    r->values[attr] = (hr_attr_t){.kind = HR_ATTR_TYPE, .u.type = hr_dtype_base(hr_value_type(inputs[i]))};
    r->origins[attr] = HR_RESOLVE_KEPT;
    return attr_check(r, attr);
  }
  return NULL;
}

static hr_status_t attr_infer_types(hr_resolve_t* r, int attr, const hr_value_t* inputs, int32_t n) {
  if (r->origins[attr] != HR_RESOLVE_UNSET) return NULL;
  int32_t* types = hr_arena_alloc(r->arena, (size_t)n * sizeof *types);
  if (!types) return hr_status_out_of_memory();
  for (int32_t i = 0; i < n; ++i) {
    if (!inputs[i].node)
      return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' is needed while an input is missing", HR_STR_ARG(attr_name(r, attr)));
    types[i] = hr_dtype_base(hr_value_type(inputs[i]));
  }
  r->values[attr] = (hr_attr_t){.kind = HR_ATTR_TYPE, .is_list = true, .count = n, .u.types = types};
  r->origins[attr] = HR_RESOLVE_KEPT;
  return attr_check(r, attr);
}

static hr_status_t attrs_infer(hr_resolve_t* r) {
  const hr_value_t none = {0}; /* even adding 0 to a null pointer is undefined */
  const hr_value_t* inputs = r->desc->inputs ? r->desc->inputs : &none;
  for (int a = 0; a < r->def->input_count; ++a) {
    const hr_arg_def_t* arg = &r->def->inputs[a];
    if (arg->number_attr >= 0) HR_TRY(attr_infer_number(r, arg->number_attr, r->lengths[a]));
    if (arg->list_attr >= 0)
      HR_TRY(attr_infer_types(r, arg->list_attr, inputs, r->lengths[a]));
    else if (arg->type_attr >= 0)
      HR_TRY(attr_infer_type(r, arg->type_attr, inputs, r->lengths[a]));
    inputs += r->lengths[a];
  }
  return NULL;
}

static hr_status_t attrs_take_defaults(hr_resolve_t* r) {
  for (int i = 0; i < r->def->attr_count; ++i) {
    if (r->origins[i] != HR_RESOLVE_UNSET) continue;
    if (!r->def->attrs[i].has_default)
      return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' (%s) is missing", HR_STR_ARG(attr_name(r, i)),
                      hr_attr_kind_name((hr_attr_kind_t)r->def->attrs[i].kind, r->def->attrs[i].is_list));
    r->values[i] = r->def->attrs[i].value;
    r->origins[i] = HR_RESOLVE_KEPT;
  }
  return NULL;
}

static hr_status_t outputs_count(hr_resolve_t* r) {
  int64_t sum = 0;
  for (int a = 0; a < r->def->output_count; ++a) {
    int64_t n = length_known(r, &r->def->outputs[a]);
    if (n < 0 || n > HR_RESOLVE_MOST_OUTPUTS || (sum += n) > HR_RESOLVE_MOST_OUTPUTS)
      return HR_ERROR(INVALID_ARGUMENT, "output '%.*s' would be %lld tensors; 0 to %d are supported", HR_STR_ARG(r->def->outputs[a].name),
                      (long long)n, HR_RESOLVE_MOST_OUTPUTS);
  }
  r->output_count = (int32_t)sum;
  return NULL;
}

static bool resolve_make_room(hr_resolve_t* r) {
  r->values = r->value_space;
  r->origins = r->origin_space;
  r->lengths = r->length_space;
  if (r->def->attr_count > HR_RESOLVE_ATTRS) {
    r->values = hr_arena_array(r->arena, (size_t)r->def->attr_count, sizeof *r->values);
    r->origins = hr_arena_array(r->arena, (size_t)r->def->attr_count, 1);
  } else {
    memset(r->origins, 0, (size_t)r->def->attr_count);
  }
  if (r->def->input_count > HR_RESOLVE_ARGS) r->lengths = hr_arena_array(r->arena, (size_t)r->def->input_count, sizeof *r->lengths);
  return r->values && r->origins && r->lengths;
}

hr_status_t hr_resolve_run(hr_resolve_t* r, hr_arena_t* arena, const hr_op_def_t* def, const hr_node_desc_t* desc) {
  r->desc = desc;
  r->def = def;
  r->arena = arena;
  r->extra_count = 0;
  if (!resolve_make_room(r)) return hr_status_out_of_memory();
  HR_TRY(attrs_take_given(r));
  HR_TRY(desc->input_lists ? lengths_from_lists(r) : lengths_from_rest(r));
  HR_TRY(attrs_infer(r));
  HR_TRY(attrs_take_defaults(r));
  return outputs_count(r);
}

static int32_t arg_type(const hr_resolve_t* r, const hr_arg_def_t* arg, int64_t i) {
  int32_t type = arg->type;
  if (arg->list_attr >= 0)
    type = r->values[arg->list_attr].u.types[i];
  else if (arg->type_attr >= 0)
    type = r->values[arg->type_attr].u.type;
  return arg->is_ref && !hr_dtype_is_ref(type) ? type + HR_DTYPE_REF : type;
}

void hr_resolve_input_types(const hr_resolve_t* r, int32_t* out_types) {
  for (int a = 0; a < r->def->input_count; ++a)
    for (int32_t i = 0; i < r->lengths[a]; ++i) *out_types++ = arg_type(r, &r->def->inputs[a], i);
}

void hr_resolve_output_types(const hr_resolve_t* r, int32_t* out_types) {
  for (int a = 0; a < r->def->output_count; ++a) {
    int64_t n = length_known(r, &r->def->outputs[a]);
    for (int64_t i = 0; i < n; ++i) *out_types++ = arg_type(r, &r->def->outputs[a], i);
  }
}

hr_str_t hr_resolve_input_name(const hr_resolve_t* r, int input) {
  for (int a = 0; a < r->def->input_count; ++a) {
    if (input < r->lengths[a]) return r->def->inputs[a].name;
    input -= r->lengths[a];
  }
  return HR_STR("");
}
