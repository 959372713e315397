/* SPDX-License-Identifier: Apache-2.0 */
/* A sum of matrix products (AddN, as the gradient of a matrix that a recurrent cell uses in every step) becomes a chain of products that
 * each add to the one before, in its memory. The chain goes in the order in which the products run, so that nothing lives longer; that may
 * be another order than the sum's: last bits differ. Only float products of one known shape that nothing but the sum reads.
 *
 * In a loop the sum is a loop variable: Add of what its Switch lets in and a product, which so is added into the variable's memory. */
#include <stdlib.h>
#include "base/alloc.h"
#include "op/node_class.h"
#include "session/fuse.h"
#include "session/passes.h"

typedef struct {
  hr_node_t* node;
  int32_t rank;
} term_t;

static int compare_terms(const void* a, const void* b) {
  const term_t *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return x->node->id < y->node->id ? -1 : x->node->id > y->node->id;
}

static bool shapes_agree(const hr_pshape_t* a, const hr_pshape_t* b) {
  return hr_pshape_is_known(a) && a->rank == 2 && hr_pshape_is_known(b) && b->rank == 2 && a->dims[0] == b->dims[0] &&
         a->dims[1] == b->dims[1];
}

/* A product that only the sum reads, of the shape `like`. */
static bool is_term(const hr_fuse_t* f, const hr_node_t* sum, hr_value_t v, const hr_pshape_t* like) {
  int32_t input, oldest_shape = INT32_MAX;
  const hr_node_t* n = v.node;
  if (!hr_str_is(n->attrs.def->name, "MatMul") || n->control_count || n->output_types[0] != HR_F32 || hr_program_is_fixed(n)) return false;
  if (hr_fuse_reader(f, v, &input, &oldest_shape) != sum || oldest_shape != INT32_MAX) return false;
  return shapes_agree(n->shapes[0], like);
}

static bool is_sum_of_products(const hr_fuse_t* f, const hr_node_t* n) {
  if (!hr_str_is(n->attrs.def->name, "AddN") || n->input_count < 2 || n->control_count || hr_program_is_fixed(n)) return false;
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!is_term(f, n, n->inputs[i], hr_value_shape(n->inputs[0]))) return false;
  return true;
}

/* The product's input of a loop variable's sum; -1: n is something else. */
static int32_t running_sum_term(const hr_fuse_t* f, const hr_node_t* n) {
  if (!f->has_flow || !hr_str_is(n->attrs.def->name, "AddV2") || n->control_count || hr_program_is_fixed(n)) return -1;
  for (int32_t i = 0; i < 2; ++i) {
    const hr_value_t other = n->inputs[1 - i];
    if (other.node->attrs.def->node_class == HR_NODE_SWITCH && is_term(f, n, n->inputs[i], hr_value_shape(other))) return i;
  }
  return -1;
}

static hr_status_t add_link(hr_program_t* p, const hr_node_t* product, hr_value_t* io_sum) {
  const hr_str_t add = HR_STR("Add");
  static const char* const names[] = {"T", "transpose_a", "transpose_b"};
  static const int32_t lists[] = {1, 1, 1};
  const hr_value_t inputs[] = {product->inputs[0], product->inputs[1], *io_sum};
  hr_named_attr_t attrs[5];
  hr_node_t* link;
  for (int i = 0; i < 3; ++i) attrs[i] = hr_at(names[i], *hr_attrs_find(&product->attrs, names[i]));
  attrs[3] = hr_at_int("num_args", 1);
  attrs[4] = hr_at("fused_ops", HR_AT_LIST(HR_ATTR_STRING, ss, &add, 1));
  const hr_node_desc_t d = {.op = HR_STR("_FusedMatMul"),
                            .name = product->name,
                            .device = product->device,
                            .inputs = inputs,
                            .input_count = 3,
                            .input_lists = lists,
                            .attrs = attrs,
                            .attr_count = 5};
  HR_TRY(hr_program_add(p, &d, product, &link));
  link->shapes[0] = product->shapes[0];
  *io_sum = (hr_value_t){link, 0};
  return NULL;
}

static hr_status_t replace_sum(hr_fuse_t* f, hr_node_t* sum, hr_value_t total) {
  HR_TRY(hr_program_replace(f->p, (hr_value_t){sum, 0}, total));
  return hr_program_replace_control(f->p, sum, total.node);
}

static hr_status_t add_to_variable(hr_fuse_t* f, hr_node_t* sum, int32_t term) {
  const hr_node_t* product = sum->inputs[term].node;
  hr_value_t total = sum->inputs[1 - term];
  HR_TRY(add_link(f->p, product, &total));
  return replace_sum(f, sum, total);
}

static hr_status_t chain_sum(hr_fuse_t* f, hr_node_t* sum) {
  const int32_t count = sum->input_count;
  term_t* terms = hr_alloc_array((size_t)count, sizeof *terms);
  if (!terms) return hr_status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) terms[i] = (term_t){sum->inputs[i].node, f->p->ranks.data[sum->inputs[i].node->id]};
  qsort(terms, (size_t)count, sizeof *terms, compare_terms);
  hr_value_t total = {terms[0].node, 0};
  hr_status_t status = NULL;
  for (int32_t i = 1; i < count && !status; ++i) status = add_link(f->p, terms[i].node, &total);
  if (!status) status = replace_sum(f, sum, total);
  hr_free(terms);
  return status;
}

hr_status_t hr_pass_sum(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  hr_fuse_t f;
  if (!hr_graph_may_have(p->graph, "MatMul")) return NULL;
  HR_TRY(hr_fuse_init(p, &f));
  hr_status_t status = NULL;
  for (int64_t i = 0; i < f.limit && !status; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    if (!f.live[i]) continue;
    const int32_t term = running_sum_term(&f, n);
    if (term >= 0) status = add_to_variable(&f, n, term);
    else if (is_sum_of_products(&f, n)) status = chain_sum(&f, n);
  }
  hr_fuse_deinit(&f);
  return status;
}
