/* SPDX-License-Identifier: Apache-2.0 */
/* Reading FunctionDefs as far as callers of functions need, and keeping them. All memory is the graph's arena; on failure nothing is kept.
 */
#include "graph/function.h"

#include "graph/call_shapes.h"
#include "op/node_class.h"
#include "op/op_def.h"
#include "wire/cursor.h"

enum { FUNCTION_SIGNATURE = 1, FUNCTION_NODE = 3, FUNCTION_RET = 4 };
enum { OPDEF_NAME = 1, OPDEF_INPUT = 2, OPDEF_OUTPUT = 3, OPDEF_STATEFUL = 17 };
enum { ARGDEF_NAME = 1, ARGDEF_TYPE = 3 };
enum { LIBRARY_FUNCTION = 1, LIBRARY_GRADIENT = 2 };
enum { GRADIENT_FUNCTION = 1, GRADIENT_NAME = 2 };

void hr_functions_deinit(hr_graph_t* g) { hr_vec_deinit(&g->functions); }

static hr_function_t* function_find_own(const hr_graph_t* g, hr_str_t name) {
  uintptr_t found;
  return hr_map_find(&g->functions_by_name, name, &found) ? (hr_function_t*)found : NULL;
}

hr_function_t* hr_function_find(const hr_graph_t* g, hr_str_t name) {
  hr_function_t* f = function_find_own(g, name);
  if (f || !g->library) return f;
  if (g->sketch_depth) return hr_function_find(g->library, name);
  hr_mutex_lock(&g->library->mu);
  f = function_find_own(g->library, name);
  hr_mutex_unlock(&g->library->mu);
  return f;
}

hr_status_t hr_function_or_op(const hr_graph_t* g, hr_str_t name, const hr_op_def_t** out) {
  hr_status_t status = hr_registry_find(name, out);
  if (!status) return NULL;
  const hr_function_t* f = hr_status_code(status) == HR_NOT_FOUND ? hr_function_find(g, name) : NULL;
  if (!f) return status;
  hr_status_release(status);
  *out = f->def;
  return NULL;
}

bool hr_function_is_def(const hr_op_def_t* def) {
  return !def->op->file && !def->op->kernel_count && def->node_class == HR_NODE_ORDINARY;
}

const hr_function_t* hr_function_of_node(const hr_graph_t* g, const hr_node_t* node) {
  const hr_op_def_t* def = node->attrs.def;
  if (!hr_function_is_def(def)) return NULL;
  const hr_function_t* f = hr_function_find(g, def->name);
  return f && f->def == def ? f : NULL;
}

/* --- reading --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t function_read_arg(hr_cursor_t span, hr_str_t* out_name, int32_t* out_type) {
  hr_field_t field;
  *out_name = HR_STR("");
  *out_type = HR_DTYPE_INVALID;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(ARGDEF_NAME)) *out_name = hr_cursor_str(field.span);
    if (field.key == HR_KEY_VARINT(ARGDEF_TYPE)) *out_type = (int32_t)field.value;
  }
  return *out_type == HR_DTYPE_INVALID || hr_dtype_is_valid(*out_type)
             ? NULL
             : HR_ERROR(INVALID_ARGUMENT, "argument '%.*s' has the unknown type %d", HR_STR_ARG(*out_name), (int)*out_type);
}

static hr_status_t function_count_args(hr_cursor_t span, hr_function_t* f) {
  hr_field_t field;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(OPDEF_NAME)) f->name = hr_cursor_str(field.span);
    if (field.key == HR_KEY_SPAN(OPDEF_INPUT)) ++f->input_count;
    if (field.key == HR_KEY_SPAN(OPDEF_OUTPUT)) ++f->output_count;
    if (field.key == HR_KEY_VARINT(OPDEF_STATEFUL)) f->is_stateful = field.value != 0;
  }
  return NULL;
}

static hr_status_t function_read_signature(hr_arena_t* arena, hr_function_t* f) {
  hr_field_t field;
  hr_cursor_t span = hr_cursor_make(f->signature.data, f->signature.size);
  HR_TRY(function_count_args(span, f));
  size_t ins = (size_t)f->input_count, outs = (size_t)f->output_count;
  hr_str_t* names = hr_arena_array(arena, ins + outs, sizeof *names);
  int32_t* types = hr_arena_array(arena, ins + outs, sizeof *types);
  if (!names || !types) return hr_status_out_of_memory();
  size_t in = 0, out = ins;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key != HR_KEY_SPAN(OPDEF_INPUT) && field.key != HR_KEY_SPAN(OPDEF_OUTPUT)) continue;
    size_t at = field.key == HR_KEY_SPAN(OPDEF_INPUT) ? in++ : out++;
    HR_TRY(function_read_arg(field.span, &names[at], &types[at]));
  }
  f->input_names = names;
  f->input_types = types;
  f->output_names = names + ins;
  f->output_types = types + ins;
  return NULL;
}

/* A node that calls the function is not folded, merged or dropped as if it were an ordinary op. */
static hr_status_t function_decode_def(hr_graph_t* g, hr_function_t* f) {
  hr_op_def_t* def = NULL;
  HR_TRY(hr_op_def_decode(&g->arena, &g->tensors, hr_cursor_make(f->signature.data, f->signature.size), &def));
  ((hr_op_t*)def->op)->flags |= HR_OP_SIDE_EFFECT;
  f->def = def;
  return NULL;
}

static hr_status_t function_read(hr_arena_t* arena, hr_function_t* f) {
  hr_field_t field;
  hr_cursor_t span = hr_cursor_make(f->bytes.data, f->bytes.size);
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(FUNCTION_SIGNATURE)) f->signature = hr_cursor_str(field.span);
    if (field.key == HR_KEY_SPAN(FUNCTION_NODE)) ++f->node_count;
  }
  HR_TRY(function_read_signature(arena, f));
  return f->name.size ? NULL : HR_ERROR(INVALID_ARGUMENT, "the function's signature has no name");
}

/* --- keeping --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t function_check_name(const hr_function_t* f) {
  const hr_op_def_t* def = NULL;
  hr_status_t status = hr_registry_find(f->name, &def);
  hr_code_t code = hr_status_code(status);
  if (!status) return HR_ERROR(INVALID_ARGUMENT, "function '%.*s' has the name of an op", HR_STR_ARG(f->name));
  if (code != HR_NOT_FOUND) return status;
  hr_status_release(status);
  return NULL;
}

static hr_status_t function_keep(hr_graph_t* g, hr_function_t* f) {
  HR_TRY(hr_vec_reserve(&g->functions, 1));
  HR_TRY(hr_map_set(&g->functions_by_name, f->name, (uintptr_t)f));
  g->functions.data[g->functions.count++] = f;
  return NULL;
}

hr_status_t hr_function_add(hr_graph_t* g, const void* data, size_t size, hr_function_t** out) {
  hr_function_t* f = hr_arena_array(&g->arena, 1, sizeof *f);
  if (!f || !hr_arena_str(&g->arena, (hr_str_t){data, size}, &f->bytes)) return hr_status_out_of_memory();
  f->gradient = HR_STR("");
  hr_status_t status = function_read(&g->arena, f);
  if (!status) status = function_decode_def(g, f);
  if (status) return hr_status_note(status, "function definition: ");
  hr_function_t* known = hr_function_find(g, f->name);
  if (known && !hr_function_same(known->bytes, f->bytes))
    return HR_ERROR(INVALID_ARGUMENT, "cannot add function '%.*s': another definition of that name is in the library", HR_STR_ARG(f->name));
  if (!known) {
    HR_TRY(function_check_name(f));
    HR_TRY(function_keep(g, f));
  }
  if (out) *out = known ? known : f;
  return NULL;
}

hr_status_t hr_function_set_gradient(hr_graph_t* g, hr_str_t function, hr_str_t gradient) {
  hr_function_t* f = hr_function_find(g, function);
  hr_function_t* gradient_function = hr_function_find(g, gradient);
  if (!f || !gradient_function)
    return HR_ERROR(INVALID_ARGUMENT, "gradient '%.*s' of function '%.*s': the library has no function '%.*s'", HR_STR_ARG(gradient),
                    HR_STR_ARG(function), HR_STR_ARG(f ? gradient : function));
  if (f->gradient.size && !hr_str_equal(f->gradient, gradient))
    return HR_ERROR(INVALID_ARGUMENT, "function '%.*s' has the gradient '%.*s' already and cannot have '%.*s'", HR_STR_ARG(function),
                    HR_STR_ARG(f->gradient), HR_STR_ARG(gradient));
  f->gradient = gradient_function->name;
  return NULL;
}

hr_status_t hr_function_copy(hr_graph_t* to, const hr_function_t* function, const hr_function_t* gradient) {
  int64_t mark = to->functions.count;
  hr_status_t status = hr_function_add(to, function->bytes.data, function->bytes.size, NULL);
  if (!status && gradient) status = hr_function_add(to, gradient->bytes.data, gradient->bytes.size, NULL);
  if (!status && gradient) status = hr_function_set_gradient(to, function->name, gradient->name);
  if (status) hr_functions_truncate(to, mark);
  return status;
}

void hr_functions_truncate(hr_graph_t* g, int64_t count) {
  if (g->functions.count > count) hr_call_shapes_forget(g);
  while (g->functions.count > count) hr_map_remove(&g->functions_by_name, g->functions.data[--g->functions.count]->name);
}

bool hr_function_hands_through(const hr_function_t* f, int output, int argument) {
  hr_cursor_t span = hr_cursor_make(f->bytes.data, f->bytes.size), value;
  hr_field_t field;
  hr_str_t key;
  hr_status_t status = NULL;
  bool same = false;
  if (output >= f->output_count || argument >= f->input_count) return false;
  while (!hr_cursor_is_done(&span) && !(status = hr_cursor_next(&span, &field))) {
    if (field.key != HR_KEY_SPAN(FUNCTION_RET)) continue;
    if ((status = hr_cursor_map_entry(field.span, &key, &value))) break;
    if (hr_str_equal(key, f->output_names[output])) same = hr_str_equal(hr_cursor_str(value), f->input_names[argument]);
  }
  hr_status_release(status); /* bytes that do not parse hand nothing through; using them says why */
  return same;
}

/* --- libraries ------------------------------------------------------------------------------------------------------------------- */
static hr_status_t library_read_gradient(hr_cursor_t span, hr_str_t* out_function, hr_str_t* out_gradient) {
  hr_field_t field;
  *out_function = *out_gradient = HR_STR("");
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(GRADIENT_FUNCTION)) *out_function = hr_cursor_str(field.span);
    if (field.key == HR_KEY_SPAN(GRADIENT_NAME)) *out_gradient = hr_cursor_str(field.span);
  }
  return NULL;
}

static hr_status_t library_add(hr_graph_t* g, hr_cursor_t span, bool gradients) {
  hr_field_t field;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (!gradients && field.key == HR_KEY_SPAN(LIBRARY_FUNCTION))
      HR_TRY(hr_function_add(g, field.span.at, hr_cursor_left(&field.span), NULL));
    if (!gradients || field.key != HR_KEY_SPAN(LIBRARY_GRADIENT)) continue;
    hr_str_t function, gradient;
    HR_TRY(library_read_gradient(field.span, &function, &gradient));
    HR_TRY(hr_function_set_gradient(g, function, gradient));
  }
  return NULL;
}

hr_status_t hr_function_add_library(hr_graph_t* g, const void* data, size_t size) {
  hr_cursor_t span = hr_cursor_make(data, size);
  int64_t mark = g->functions.count;
  hr_status_t status = library_add(g, span, false);
  if (!status) status = library_add(g, span, true);
  if (status) hr_functions_truncate(g, mark);
  return status;
}
