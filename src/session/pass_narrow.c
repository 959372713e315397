/* SPDX-License-Identifier: Apache-2.0 */
/* Computes no columns of a product that nobody reads. The gradient of MatMul(Concat(x, h), w) is MatMul(dy, w, transpose_b) and a SplitV of
 * its columns; where x wants no gradient (the input of a recurrent cell) only one part is read, and that is the product with those rows of
 * w, which lie in one block: the Slice of them copies nothing. Only where shapes are known, so that no error is hidden; before common
 * subexpressions, which makes one Slice of a loop's many. */
#include "session/fuse.h"
#include "session/passes.h"

typedef struct {
  hr_node_t *split, *product;
  int32_t part;         /* the one output read */
  int64_t start, width; /* its columns */
} narrow_t;

static bool node_is_free(const hr_fuse_t* f, const hr_node_t* n) {
  if (n->control_count || hr_program_is_fetched(f->p, n) || hr_program_is_target(f->p, n) || hr_program_is_fixed(n)) return false;
  for (int64_t i = 0; i < n->control_consumers.count; ++i)
    if (hr_fuse_is_live(f, n->control_consumers.data[i])) return false;
  return true;
}

static int32_t sole_part(const hr_fuse_t* f, const hr_node_t* split) { /* -1: several, or none */
  int32_t part = -1;
  for (int64_t i = 0; i < split->consumers.count; ++i) {
    if (!hr_fuse_is_live(f, split->consumers.data[i].node)) continue;
    const int32_t output = split->consumers.data[i].output;
    if (part >= 0 && part != output) return -1;
    part = output;
  }
  return part;
}

static hr_status_t find_columns(narrow_t* n, int64_t columns, bool* out_found) { /* the part's place; sizes that add up to `columns` */
  const hr_tensor_t *sizes = hr_program_constant(n->split->inputs[1]), *axis = hr_program_constant(n->split->inputs[2]);
  int64_t at, size;
  *out_found = false;
  if (!sizes || !axis || axis->count != 1 || sizes->count != n->split->output_count) return NULL;
  HR_TRY(hr_tensor_i64_at(axis, 0, &at));
  if (at != 1 && at != -1) return NULL;
  at = 0;
  for (int32_t i = 0; i < n->split->output_count; ++i) {
    HR_TRY(hr_tensor_i64_at(sizes, i, &size));
    if (size < 0 || size > columns - at) return NULL;
    if (i == n->part) n->start = at, n->width = size;
    at += size;
  }
  *out_found = at == columns && n->width > 0 && n->width < columns;
  return NULL;
}

static hr_status_t find_narrow(const hr_fuse_t* f, hr_node_t* split, narrow_t* out, bool* out_found) {
  int32_t input, oldest_shape = INT32_MAX;
  *out_found = false;
  *out = (narrow_t){.split = split, .product = split->inputs[0].node};
  const hr_node_t* m = out->product;
  if (!hr_str_is(m->attrs.def->name, "MatMul") || !hr_attrs_bool(&m->attrs, "transpose_b")) return NULL;
  if (!node_is_free(f, m) || !node_is_free(f, split)) return NULL;
  if (hr_fuse_reader(f, split->inputs[0], &input, &oldest_shape) != split || oldest_shape != INT32_MAX) return NULL;
  const hr_pshape_t *y = m->shapes[0], *b = hr_value_shape(m->inputs[1]);
  out->part = sole_part(f, split);
  if (out->part < 0 || !hr_pshape_is_known(b) || y->rank != 2) return NULL;
  return find_columns(out, b->dims[0], out_found);
}

static hr_status_t add_pair(hr_program_t* p, const narrow_t* n, const int64_t pair[2], hr_value_t* out) {
  const hr_shape_t shape = hr_shape_vector(2);
  hr_tensor_t t;
  hr_node_t* node;
  HR_TRY(hr_tensor_create(HR_I64, &shape, &t));
  ((int64_t*)t.data)[0] = pair[0];
  ((int64_t*)t.data)[1] = pair[1];
  hr_status_t status = hr_program_add_const(p, &t, n->product, &node);
  hr_tensor_release(&t);
  if (!status) *out = (hr_value_t){node, 0};
  return status;
}

static hr_status_t add_rows(hr_program_t* p, const narrow_t* n, hr_value_t* out) {
  const hr_value_t b = n->product->inputs[1];
  const int64_t begin[] = {n->start, 0}, size[] = {n->width, hr_value_shape(b)->dims[1]};
  const hr_named_attr_t attrs[] = {hr_at_type("T", n->product->output_types[0]), hr_at_type("Index", HR_I64)};
  hr_value_t inputs[3] = {b};
  hr_node_t* node;
  HR_TRY(add_pair(p, n, begin, &inputs[1]));
  HR_TRY(add_pair(p, n, size, &inputs[2]));
  const hr_node_desc_t d = {.op = HR_STR("Slice"),
                            .name = n->product->name,
                            .device = n->product->device,
                            .inputs = inputs,
                            .input_count = 3,
                            .attrs = attrs,
                            .attr_count = 2};
  HR_TRY(hr_program_add(p, &d, n->product, &node));
  *out = (hr_value_t){node, 0};
  return hr_pshape_make(&p->graph->arena, 2, size, &node->shapes[0]);
}

static hr_status_t add_product(hr_program_t* p, const narrow_t* n, hr_value_t rows, hr_value_t* out) {
  static const char* const names[] = {"T", "transpose_a", "transpose_b"};
  const hr_value_t inputs[] = {n->product->inputs[0], rows};
  hr_named_attr_t attrs[3];
  hr_node_t* node;
  for (int i = 0; i < 3; ++i) attrs[i] = hr_at(names[i], *hr_attrs_find(&n->product->attrs, names[i]));
  const hr_node_desc_t d = {.op = HR_STR("MatMul"),
                            .name = n->product->name,
                            .device = n->product->device,
                            .inputs = inputs,
                            .input_count = 2,
                            .attrs = attrs,
                            .attr_count = 3};
  HR_TRY(hr_program_add(p, &d, n->product, &node));
  *out = (hr_value_t){node, 0};
  const int64_t dims[] = {n->product->shapes[0]->dims[0], n->width};
  return hr_pshape_make(&p->graph->arena, 2, dims, &node->shapes[0]);
}

static hr_status_t narrow_split(hr_fuse_t* f, hr_node_t* split) {
  narrow_t n;
  bool found;
  hr_value_t rows, product;
  HR_TRY(find_narrow(f, split, &n, &found));
  if (!found) return NULL;
  HR_TRY(add_rows(f->p, &n, &rows));
  HR_TRY(add_product(f->p, &n, rows, &product));
  return hr_program_replace(f->p, (hr_value_t){split, n.part}, product);
}

hr_status_t hr_pass_narrow(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  hr_fuse_t f;
  if (!hr_graph_may_have(p->graph, "SplitV")) return NULL;
  HR_TRY(hr_fuse_init(p, &f));
  hr_status_t status = NULL;
  for (int64_t i = 0; i < f.limit && !status; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    if (f.live[i] && hr_str_is(n->attrs.def->name, "SplitV")) status = narrow_split(&f, n);
  }
  hr_fuse_deinit(&f);
  return status;
}
