/* SPDX-License-Identifier: Apache-2.0 */
/* The op list: enough kinds of argument, attr and control flow to exercise the graph layer; two kernels for constant evaluation. */
#include "unit/graph/graph_fixture.h"
#include "op/attr_value.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "test.h"

static hr_status_t infer_const(hr_infer_t* s) {
  const hr_tensor_t* value = hr_attrs_tensor(hr_infer_attrs(s), "value");
  return hr_infer_set_dims(s, 0, value->shape.rank, value->shape.dims);
}

static hr_status_t infer_shape(hr_infer_t* s) {
  for (int i = 0; i < hr_infer_output_count(s); ++i) HR_TRY(hr_infer_set_vector(s, i, hr_infer_input(s, i)->rank));
  return NULL;
}

static hr_status_t infer_pack(hr_infer_t* s) { return hr_infer_set_vector(s, 0, hr_infer_input_count(s)); }

static hr_status_t infer_reshape(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_const_as_shape(s, 1, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

static hr_status_t infer_concat(hr_infer_t* s) {
  int64_t n = 0;
  for (int i = 0; i + 1 < hr_infer_input_count(s); ++i) {
    int64_t d = hr_infer_dim(hr_infer_input(s, i), 0);
    n = n < 0 || d < 0 ? -1 : n + d;
  }
  return hr_infer_set_vector(s, 0, n);
}

static hr_status_t infer_handle(hr_infer_t* s) {
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(hr_infer_attrs(s), "dtype"), hr_attrs_shape(hr_infer_attrs(s), "shape"));
  return NULL;
}

static hr_status_t infer_read(hr_infer_t* s) {
  hr_dtype_t type;
  const hr_pshape_t* shape;
  hr_infer_handle(s, 0, &type, &shape);
  if (shape) hr_infer_set(s, 0, shape);
  return NULL;
}

/* int32 x + y, shapes equal */
static hr_status_t add_i32(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &hr_input(k, 0)->shape, &out));
  for (int64_t i = 0; i < out->count; ++i)
    ((int32_t*)out->data)[i] = ((const int32_t*)hr_input(k, 0)->data)[i] + ((const int32_t*)hr_input(k, 1)->data)[i];
  return NULL;
}

static hr_status_t always_fails(hr_kernel_ctx_t* k) {
  (void)k;
  return HR_ERROR(INVALID_ARGUMENT, "it always fails");
}

#define OP(op_name, signature, op_attrs, ...) \
  static const hr_op_t op_##op_name = {.name = #op_name, .sig = signature, .attrs = op_attrs, .doc = "", HR_HERE, __VA_ARGS__}
OP(Add, "x: T; y: T -> z: T", "T: type{half,float,double,int32,int64}", .shape = hr_infer_broadcasted,
   HR_KERNELS(HR_CPU("T", HR_M(I32), add_i32)));
OP(Assign, "ref: Ref(T); value: T -> output_ref: Ref(T)", "T: type; use_locking: bool = true", .shape = hr_infer_same,
   .flags = HR_OP_STATEFUL);
OP(ConcatV2, "values: N * T; axis: Tidx -> output: T", "N: int >= 2; T: type; Tidx: type{int32,int64} = int32", .shape = infer_concat);
OP(Const, "-> output: dtype", "value: tensor; dtype: type", .shape = infer_const);
OP(Enter, "data: T -> output: T", "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10",
   .shape = hr_infer_same);
OP(Exit, "data: T -> output: T", "T: type", .shape = hr_infer_same);
OP(Fails, "x: T -> y: T", "T: type", .shape = hr_infer_same, HR_KERNELS(HR_CPU_ANY(always_fails)));
OP(IdentityN, "input: T -> output: T", "T: list(type) >= 1", .shape = hr_infer_any);
OP(Identity, "input: T -> output: T", "T: type", .shape = hr_infer_same);
OP(LoopCond, "input: bool -> output: bool", "", .shape = hr_infer_same);
OP(Merge, "inputs: N * T -> output: T; value_index: int32", "T: type; N: int >= 1", .shape = hr_infer_any);
OP(NextIteration, "data: T -> output: T", "T: type", .shape = hr_infer_same);
OP(NoOp, "->", "", .shape = hr_infer_none);
OP(Old, "->", "", .shape = hr_infer_none, .deprecated = 20, .deprecated_why = "use NoOp");
OP(Pack, "values: N * T -> output: T", "N: int >= 1; T: type; axis: int = 0", .shape = infer_pack);
OP(Placeholder, "-> output: dtype", "dtype: type; shape: shape = ?", .shape = hr_infer_from_attr);
OP(ReadVariableOp, "resource: resource -> value: dtype", "dtype: type", .shape = infer_read, .flags = HR_OP_STATEFUL);
OP(Reshape, "tensor: T; shape: Tshape -> output: T", "T: type; Tshape: type{int32,int64} = int32", .shape = infer_reshape);
OP(Shape, "input: T -> output: out_type", "T: type; out_type: type{int32,int64} = int32", .shape = infer_shape);
OP(Split, "split_dim: int32; value: T -> output: num_split * T", "num_split: int >= 1; T: type", .shape = hr_infer_any);
OP(StridedSlice, "input: T; begin: Index; end: Index; strides: Index -> output: T",
   "T: type; Index: type{int32,int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; "
   "shrink_axis_mask: int = 0",
   .shape = hr_infer_any);
OP(Switch, "data: T; pred: bool -> output_false: T; output_true: T", "T: type", .shape = hr_infer_any);
OP(TwoLists, "a: Ta; b: Tb ->", "Ta: list(type); Tb: list(type)", .shape = hr_infer_none);
OP(VarHandleOp, "-> resource: resource", "dtype: type; shape: shape", .shape = infer_handle, .flags = HR_OP_STATEFUL);
OP(VariableV2, "-> ref: Ref(dtype)", "shape: shape; dtype: type", .shape = hr_infer_from_attr, .flags = HR_OP_STATEFUL);

static const hr_op_t* const fixture_ops[] = {
    &op_Add,      &op_Assign,      &op_ConcatV2,       &op_Const,      &op_Enter,         &op_Exit,  &op_Fails,
    &op_Identity, &op_IdentityN,   &op_LoopCond,       &op_Merge,      &op_NextIteration, &op_NoOp,  &op_Old,
    &op_Pack,     &op_Placeholder, &op_ReadVariableOp, &op_Reshape,    &op_Shape,         &op_Split, &op_StridedSlice,
    &op_Switch,   &op_TwoLists,    &op_VarHandleOp,    &op_VariableV2,
};

/* Before main, all signatures parsed, so that no test is charged for what the registry keeps. */
__attribute__((constructor)) static void fixture_install(void) {
  enum { COUNT = sizeof fixture_ops / sizeof *fixture_ops };
  const hr_op_def_t* def;
  hr_registry_set_manifest(fixture_ops, COUNT);
  for (int i = 0; i < COUNT; ++i) hr_status_release(hr_registry_find(hr_str(fixture_ops[i]->name), &def));
}

hr_graph_t* fixture_graph(void) {
  hr_graph_t* g = NULL;
  HR_CHECK_OK(hr_graph_create(&g));
  return g;
}

hr_node_t* fixture_add(hr_graph_t* g, const char* op, const char* name, int input_count, const hr_value_t* inputs, int attr_count,
                       const hr_named_attr_t* attrs) {
  hr_node_t* n = NULL;
  hr_node_desc_t desc = {
      .op = hr_str(op), .name = hr_str(name), .inputs = inputs, .input_count = input_count, .attrs = attrs, .attr_count = attr_count};
  return HR_CHECK_OK(hr_graph_add(g, &desc, &n)) ? n : NULL;
}

hr_node_t* fixture_placeholder(hr_graph_t* g, const char* name, hr_dtype_t type, int rank, const int64_t* dims) {
  hr_arena_t arena;
  const hr_pshape_t* shape = NULL;
  hr_arena_init(&arena);
  HR_CHECK_OK(hr_pshape_make(&arena, rank, dims, &shape));
  hr_node_t* n = fixture_add(g, "Placeholder", name, 0, NULL, HR_ATTRS(hr_at_type("dtype", type), hr_at_shape("shape", shape)));
  hr_arena_deinit(&arena);
  return n;
}

hr_node_t* fixture_const_i32(hr_graph_t* g, const char* name, int count, const int64_t* values) {
  hr_tensor_t t = {0};
  HR_CHECK_OK(count < 0 ? hr_tensor_from_i32((int32_t)values[0], &t) : hr_tensor_from_i64_vec(HR_I32, values, count, &t));
  hr_node_t* n = fixture_add(g, "Const", name, 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_I32), hr_at_tensor("value", &t)));
  hr_tensor_release(&t);
  return n;
}

hr_node_t* fixture_add1(hr_graph_t* g, const char* op, const char* name, hr_node_t* x) {
  return fixture_add(g, op, name, HR_VALUES(fixture_out(x, 0)), HR_NO_ATTRS);
}

hr_node_t* fixture_add2(hr_graph_t* g, const char* op, const char* name, hr_node_t* x, hr_node_t* y) {
  return fixture_add(g, op, name, HR_VALUES(fixture_out(x, 0), fixture_out(y, 0)), HR_NO_ATTRS);
}

void fixture_def_node(hr_writer_t* w, const char* op, const char* name, const char* inputs, const char* type_attr, int type) {
  hr_writer_mark_t node = hr_writer_begin(w, 1, 64);
  hr_str_t rest = hr_str(inputs), part;
  hr_writer_str(w, 1, hr_str(name));
  hr_writer_str(w, 2, hr_str(op));
  while (rest.size && hr_str_split(&rest, ' ', &part)) hr_writer_str(w, 3, part);
  if (type_attr) {
    hr_named_attr_t attr = hr_at_type(type_attr, type);
    HR_CHECK_OK(hr_attr_value_encode_entry(5, &attr, w));
  }
  if (!strcmp(op, "Enter")) {
    hr_named_attr_t frame = hr_at_str("frame_name", "loop");
    HR_CHECK_OK(hr_attr_value_encode_entry(5, &frame, w));
  }
  if (!strcmp(op, "Merge")) {
    hr_named_attr_t n = hr_at_int("N", 2);
    HR_CHECK_OK(hr_attr_value_encode_entry(5, &n, w));
  }
  hr_writer_end(w, node, 64);
}

void fixture_def_versions(hr_writer_t* w, int producer, int min_consumer, int bad_consumer) {
  hr_writer_mark_t versions = hr_writer_begin(w, 4, 16);
  hr_writer_i64(w, 1, producer);
  hr_writer_i64(w, 2, min_consumer);
  if (bad_consumer) hr_writer_i64(w, 3, bad_consumer);
  hr_writer_end(w, versions, 16);
}

hr_status_t fixture_import(hr_graph_t* g, const hr_writer_t* w, const hr_import_options_t* options, hr_import_results_t* out) {
  return hr_import_graph_def(g, w->data, w->size, options, out);
}
