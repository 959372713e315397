/* SPDX-License-Identifier: Apache-2.0 */
/* Updates by gradients of a few rows. Rows that occur twice are summed first, except for gradient descent, where the scatter sums them.
 * Adam has no sparse op: it is composed, and as in TensorFlow its moments fade in all rows. */
#include "client/optimizer.h"

static hr_value_t first_element(hr_build_t* b, hr_value_t vector) {
  const int64_t zero = 0, one = 1;
  hr_value_t from = hr_build_i32s(b, "strided_slice/stack", &zero, 1), to = hr_build_i32s(b, "strided_slice/stack_1", &one, 1);
  hr_value_t by = hr_build_i32s(b, "strided_slice/stack_2", &one, 1);
  return hr_build(b, "StridedSlice", "strided_slice", HR_VALUES(vector, from, to, by), HR_ATTRS(hr_at_int("shrink_axis_mask", 1)));
}

static void sum_duplicates(hr_build_t* b, hr_optimizer_update_t* u) {
  hr_value_t unique = hr_build1(b, "Unique", NULL, u->indices);
  hr_value_t count = first_element(b, hr_build1(b, "Shape", NULL, unique));
  u->grad = hr_build(b, "UnsortedSegmentSum", NULL, HR_VALUES(u->grad, hr_emit_nth(unique, 1), count), HR_NO_ATTRS);
  u->indices = unique;
}

static hr_node_t* scatter_update(hr_build_t* b, hr_optimizer_update_t* u) {
  hr_value_t var = hr_capi_value(u->variable->handle), rate = hr_optimizer_hyper_value(b, u, "learning_rate");
  if (u->variable->is_resource) {
    hr_value_t by = hr_build2(b, "Mul", "mul", hr_build1(b, "Neg", NULL, u->grad), rate);
    return hr_build(b, "ResourceScatterAdd", NULL, HR_VALUES(var, u->indices, by), HR_NO_ATTRS).node;
  }
  return hr_build(b, "ScatterSub", NULL, HR_VALUES(var, u->indices, hr_build2(b, "Mul", "mul", u->grad, rate)), HR_NO_ATTRS).node;
}

static hr_value_t one_minus(hr_build_t* b, const char* name, const char* x_name, hr_value_t y) {
  if (b->status) return HR_NO_VALUE;
  return hr_build2(b, "Sub", name, hr_build_number(b, x_name, (hr_dtype_t)hr_value_type(y), 1), y);
}

static hr_value_t power_of(hr_build_t* b, const hr_optimizer_update_t* u, const char* name) {
  const hr_dtype_t dtype = (hr_dtype_t)u->variable->dtype;
  hr_value_t power = hr_client_read(b, hr_optimizer_find(u->optimizer, name, NULL), NULL);
  if (b->status || (hr_dtype_t)hr_value_type(power) == dtype) return power;
  return hr_build(b, "Cast", NULL, HR_VALUES(power), HR_ATTRS(hr_at_type("DstT", (int)dtype)));
}

/* slot = slot * beta, then slot[indices] += fresh; gives the slot's value afterwards. */
static hr_value_t fade_and_add(hr_build_t* b, const hr_optimizer_update_t* u, const HR_Variable* slot, hr_value_t beta, hr_value_t fresh) {
  hr_value_t handle = hr_capi_value(slot->handle);
  hr_value_t faded = hr_build2(b, "Mul", "mul", hr_client_read(b, slot, NULL), beta);
  if (b->status) return HR_NO_VALUE;
  hr_node_t* before[] = {hr_client_assign(b, slot, faded), NULL};
  if (b->status) return HR_NO_VALUE;
  b->after = before;
  b->after_count = 1;
  if (slot->is_resource) hr_client_read(b, slot, NULL); /* as TensorFlow's client */
  hr_value_t added =
      hr_build(b, slot->is_resource ? "ResourceScatterAdd" : "ScatterAdd", NULL, HR_VALUES(handle, u->indices, fresh), HR_NO_ATTRS);
  before[1] = added.node;
  b->after_count = 2;
  if (slot->is_resource && !b->status) added = hr_client_read(b, slot, NULL);
  b->after_count = 0;
  return added;
}

static hr_node_t* composed_update(hr_build_t* b, hr_optimizer_update_t* u) {
  const HR_Variable *m = hr_optimizer_find(u->optimizer, "m", u->variable), *v = hr_optimizer_find(u->optimizer, "v", u->variable);
  hr_value_t lr = hr_optimizer_hyper_value(b, u, "learning_rate"), beta1 = hr_optimizer_hyper_value(b, u, "beta1");
  hr_value_t beta2 = hr_optimizer_hyper_value(b, u, "beta2"), epsilon = hr_optimizer_hyper_value(b, u, "epsilon");
  hr_value_t root = hr_build1(b, "Sqrt", NULL, one_minus(b, "sub", "sub/x", power_of(b, u, "beta2_power")));
  hr_value_t scaled = hr_build2(b, "Mul", "mul", lr, root);
  hr_value_t rate = hr_build2(b, "RealDiv", "truediv", scaled, one_minus(b, "sub_1", "sub_1/x", power_of(b, u, "beta1_power")));
  hr_value_t m_next = fade_and_add(b, u, m, beta1, hr_build2(b, "Mul", "mul", u->grad, one_minus(b, "sub_2", "sub_2/x", beta1)));
  hr_value_t squares = hr_build2(b, "Mul", "mul", u->grad, u->grad);
  hr_value_t v_next = fade_and_add(b, u, v, beta2, hr_build2(b, "Mul", "mul", squares, one_minus(b, "sub_3", "sub_3/x", beta2)));
  hr_value_t below = hr_build1(b, "Sqrt", NULL, v_next), above = hr_build2(b, "Mul", "mul", rate, m_next);
  hr_value_t step = hr_build2(b, "RealDiv", "truediv", above, hr_build2(b, "AddV2", "add", below, epsilon));
  hr_value_t done =
      hr_build2(b, u->variable->is_resource ? "AssignSubVariableOp" : "AssignSub", NULL, hr_capi_value(u->variable->handle), step);
  hr_node_t* all[] = {done.node, m_next.node, v_next.node};
  if (b->status) return NULL;
  b->after = all;
  b->after_count = 1;
  if (u->variable->is_resource) hr_client_read(b, u->variable, NULL);
  b->after_count = 3;
  hr_node_t* group = b->status ? NULL : hr_build_group(b, "group_deps");
  b->after_count = 0;
  return group;
}

hr_node_t* hr_optimizer_update_sparse(hr_build_t* b, hr_optimizer_update_t* u) {
  const hr_sparse_way_t way = u->optimizer->row->sparse;
  if (way == SCATTER) return scatter_update(b, u);
  sum_duplicates(b, u);
  if (b->status) return NULL;
  return way == COMPOSED ? composed_update(b, u) : hr_optimizer_update_op(b, u);
}
