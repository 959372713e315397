/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer ops: a rule of train.def applied to a variable and its slots, in place, over all elements or over the rows that `indices`
 * names. Variables are locked in the order of their addresses, so two ops over the same ones cannot wait for each other.
 *
 * Differs from TensorFlow: the same variable given twice to one op is INVALID_ARGUMENT (there: undefined). Duplicate indices are applied
 * one after the other in their order, however many threads there are. */
#include "base/half.h"
#include "op/infer_fns.h"
#include "op/op.h"
#include "ops/state/variable.h"
#include "ops/train/update.h"

/* 1. the rules' facts */
typedef struct { int rule, slots, grad_at; const char* flag; } rule_t;
#define RULE(Name, slots, grad_at, flag, ...) [RULE_##Name] = {RULE_##Name, slots, grad_at, flag},
#define REAL_RULE(...) RULE(__VA_ARGS__)
static const rule_t rules[RULE_COUNT] = {
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
};
/* What TensorFlow asks of a rule's hyperparameters, in their order ("": nothing), and whether a row must have elements. Ftrl's are asked in
 * sparse forms alone. */
typedef enum { ANY, ABOVE_ZERO, ABOVE_ZERO_OR_BY_LR, NOT_BELOW_ZERO, NOT_ABOVE_ZERO } range_t;
typedef struct { const char* name; range_t range; } limit_t;
typedef struct { bool row_has_elements, if_dense; limit_t limits[HR_UPDATE_HYPER]; } demands_t;
#define L1 {"l1 regularization strength", NOT_BELOW_ZERO}
#define L2 {"l2 regularization strength", NOT_BELOW_ZERO}
#define SHRINKAGE {"l2 shrinkage regularization strength", NOT_BELOW_ZERO}
static const demands_t demands[RULE_COUNT] = {
    [RULE_Adagrad] = {true, false, {{0}}},
    [RULE_AdagradV2] = {true, false, {{0}}},
    [RULE_AdagradDA] = {true, false, {{0}}},
    [RULE_ProximalGradientDescent] = {true, false, {{0}}},
    [RULE_ProximalAdagrad] = {true, true, {{"lr", ABOVE_ZERO}, L1, L2}},
    [RULE_Ftrl] = {true, false, {{"lr", ABOVE_ZERO_OR_BY_LR}, L1, L2, {"lr_power", NOT_ABOVE_ZERO}}},
    [RULE_FtrlV2] = {true, false, {{"lr", ABOVE_ZERO_OR_BY_LR}, L1, L2, SHRINKAGE, {"lr_power", NOT_ABOVE_ZERO}}},
};
/* What a kernel row knows: the rule, whether `indices` follow the gradient, whether the variables are handles. */
typedef struct { const rule_t* rule; bool sparse, handles; } form_t;
static int scalars_of(const form_t* f, int inputs) { return inputs - f->rule->slots - (f->sparse ? 3 : 2); } /* hyperparameters */
static int place_of_grad(const form_t* f) { return 1 + f->rule->slots + f->rule->grad_at; }
static int input_of_scalar(const form_t* f, int i) {
  return 1 + f->rule->slots + i + (i < f->rule->grad_at ? 0 : f->sparse ? 2 : 1);
}

/* 2. shapes */
static hr_status_t merge_variable(hr_infer_t* s, const form_t* f, int input, const hr_pshape_t** shape) {
  hr_dtype_t held;
  const hr_pshape_t* of_input = hr_infer_input(s, input);
  if (f->handles) {
    HR_TRY(hr_infer_want_rank(s, input, 0, NULL));
    hr_infer_handle(s, input, &held, &of_input);
    if (!of_input) return NULL;
  }
  return hr_infer_merge(s, *shape, of_input, shape);
}

static hr_status_t infer_sparse_grad(hr_infer_t* s, const form_t* f, const hr_pshape_t* var) {
  const int at = place_of_grad(f);
  const hr_pshape_t *grad = hr_infer_input(s, at), *indices;
  int64_t dim;
  HR_TRY(hr_infer_want_rank(s, at + 1, 1, &indices));
  HR_TRY(hr_infer_want_rank_at_least(s, at, 1, NULL));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(grad, 0), hr_infer_dim(indices, 0), &dim));
  if (var->rank < 0 || grad->rank < 0) return NULL;
  if (var->rank != grad->rank)
    return HR_ERROR(INVALID_ARGUMENT, "the gradient must have rank %d as the variable, it has rank %d", (int)var->rank, (int)grad->rank);
  for (int i = 1; i < var->rank; ++i) HR_TRY(hr_infer_merge_dim(var->dims[i], grad->dims[i], &dim));
  return NULL;
}

static hr_status_t infer_update(hr_infer_t* s, const form_t* f) {
  const hr_pshape_t* shape = &hr_pshape_unknown;
  for (int i = 0; i <= f->rule->slots; ++i) HR_TRY(merge_variable(s, f, i, &shape));
  for (int i = 0; i < scalars_of(f, hr_infer_input_count(s)); ++i) HR_TRY(hr_infer_want_rank(s, input_of_scalar(f, i), 0, NULL));
  if (f->sparse) HR_TRY(infer_sparse_grad(s, f, shape));
  else HR_TRY(hr_infer_merge(s, shape, hr_infer_input(s, place_of_grad(f)), &shape));
  if (!f->handles) hr_infer_set(s, 0, shape);
  return NULL;
}

/* 3. kernels */
typedef struct {
  form_t form;
  hr_update_t loop;
  hr_dtype_t type;
  int scalars;
  bool flag;
} update_t;

static hr_status_t update_prepare(hr_prepare_ctx_t* p, void* prepared) {
  update_t* u = prepared;
  u->form = *(const form_t*)p->kernel->arg;
  u->type = (hr_dtype_t)p->input_types[place_of_grad(&u->form)];
  u->scalars = scalars_of(&u->form, p->input_count);
  u->flag = *u->form.rule->flag && hr_attrs_bool(p->attrs, u->form.rule->flag);
  const bool wide = u->type == HR_F64 || u->type == HR_C128;
  const hr_update_table_t* table = hr_dtype_in(u->type, HR_M_COMPLEX) ? &hr_update_complex : HR_ISA_PICK(hr_update_vec);
  u->loop = (*table)[u->form.rule->rule][wide];
  return u->loop ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)u->type));
}

typedef struct {
  const update_t* u;
  int count;                             /* variable and slots */
  hr_variable_t* variables[HR_UPDATE_VARIABLES];
  hr_variable_t* order[HR_UPDATE_VARIABLES]; /* by address */
  char* at[HR_UPDATE_VARIABLES];
  const char* grad;
  const hr_tensor_t* indices;
  int64_t row;                           /* elements of a row, in sparse forms */
  size_t size;
  double hyper[HR_UPDATE_HYPER * 2];     /* elements of the type that the loop computes in */
} step_t;

static hr_status_t read_hyper(const hr_kernel_ctx_t* k, const update_t* u, void* hyper) {
  for (int i = 0; i < u->scalars; ++i) {
    const int input = input_of_scalar(&u->form, i);
    const hr_tensor_t* t = hr_input(k, input);
    HR_TRY(hr_want_scalar(k, input, "a hyperparameter"));
    if (t->dtype == HR_F16) ((float*)hyper)[i] = hr_f16_to_f32(*(hr_f16_t*)t->data);
    else if (t->dtype == HR_BF16) ((float*)hyper)[i] = hr_bf16_to_f32(*(hr_bf16_t*)t->data);
    else if (t->dtype != HR_I64) memcpy((char*)hyper + (size_t)i * hr_dtype_size(t->dtype), t->data, hr_dtype_size(t->dtype));
    else if (u->type == HR_F64) ((double*)hyper)[i] = (double)*(int64_t*)t->data;
    else ((float*)hyper)[i] = (float)*(int64_t*)t->data;
  }
  return NULL;
}

/* TensorFlow's code for a handle whose variable has no value. */
static hr_status_t as_handle_error(hr_status_t status, const hr_variable_t* v) {
  if (hr_status_code(status) != HR_FAILED_PRECONDITION) return status;
  hr_status_release(status);
  return HR_ERROR(INTERNAL, "Attempting to use uninitialized value %.*s", HR_STR_ARG(v->name));
}

static void unlock_first(step_t* s, int count) {
  while (count-- > 0) hr_variable_end_write(s->order[count]);
}

static hr_status_t lock_all(step_t* s) {
  for (int i = 0; i < s->count; ++i) {
    hr_status_t status = hr_variable_begin_write(s->order[i]);
    if (!status) continue;
    unlock_first(s, i);
    return s->u->form.handles ? as_handle_error(status, s->order[i]) : status;
  }
  return NULL;
}

static hr_status_t find_variables(hr_kernel_ctx_t* k, step_t* s) {
  for (int i = 0; i < s->count; ++i) {
    hr_variable_t* v;
    HR_TRY(hr_variable_input(k, i, &v));
    int at = i;
    for (; at > 0 && (uintptr_t)s->order[at - 1] >= (uintptr_t)v; --at) {
      if (s->order[at - 1] == v)
        return HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' is given twice; the variable and its slots must differ", HR_STR_ARG(v->name));
      s->order[at] = s->order[at - 1];
    }
    s->order[at] = s->variables[i] = v;
  }
  return NULL;
}

static hr_status_t shapes_differ(const char* what, const hr_shape_t* want, const hr_shape_t* got) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "var and %s do not have the same shape: %s and %s", what, hr_shape_format(want, a),
                  hr_shape_format(got, b));
}

static hr_status_t check_variables(step_t* s) { /* with all locked */
  const hr_shape_t* want = &s->variables[0]->value.shape;
  for (int i = 0; i < s->count; ++i) {
    const hr_tensor_t* t = &s->variables[i]->value;
    if (t->dtype != s->u->type)
      return HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' is of type %s, the gradient of %s", HR_STR_ARG(s->variables[i]->name),
                      hr_dtype_name((int)t->dtype), hr_dtype_name((int)s->u->type));
    if (!hr_shape_equal(want, &t->shape)) return shapes_differ("slot", want, &t->shape);
    s->at[i] = t->data;
  }
  return NULL;
}

static void run_elements(const step_t* s, int64_t from, int64_t grad_from, int64_t n) {
  void* at[HR_UPDATE_VARIABLES];
  const update_t* u = s->u;
  const char* grad = s->grad + (size_t)grad_from * s->size;
  const hr_update_how_t how = {u->flag, u->form.sparse, u->form.sparse && s->row > 1};
  for (int i = 0; i < s->count; ++i) at[i] = s->at[i] + (size_t)from * s->size;
  if (s->size == 2 && (u->form.rule->rule == RULE_Ftrl || u->form.rule->rule == RULE_FtrlV2))
    hr_update_ftrl_narrow(u->type == HR_BF16, u->form.rule->rule == RULE_FtrlV2, at, grad, s->hyper, how, n);
  else if (s->size == 2) hr_update_narrow(u->loop, u->type == HR_BF16, s->count, at, grad, s->hyper, how, n);
  else u->loop(at, grad, s->hyper, how, n);
}

static hr_status_t dense_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  run_elements(arg, begin, begin, end - begin);
  return NULL;
}

/* Each chunk owns rows [begin, end) of the variable and applies the indices that fall there, in order. */
static hr_status_t sparse_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const step_t* s = arg;
  (void)chunk;
  for (int64_t i = 0; i < s->indices->count; ++i) {
    const int64_t row = hr_tensor_index_at(s->indices, i);
    if (row >= begin && row < end) run_elements(s, row * s->row, i * s->row, s->row);
  }
  return NULL;
}

static double cost_of_element(const step_t* s) { return s->size == 2 ? 8.0 : 0.15 * (double)(s->size / 4) * (s->count + 1); }

static hr_status_t run_dense(hr_kernel_ctx_t* k, step_t* s, const hr_tensor_t* grad) {
  const hr_tensor_t* var = &s->variables[0]->value;
  if (!hr_shape_equal(&var->shape, &grad->shape)) return shapes_differ("gradient", &var->shape, &grad->shape);
  return hr_parallel(k, grad->count, cost_of_element(s), dense_chunk, s);
}

/* NaN is in no range. */
static bool in_range(range_t range, double v, bool by_lr) {
  switch (range) {
    case ANY: return true;
    case ABOVE_ZERO: return v > 0;
    case ABOVE_ZERO_OR_BY_LR: return v > 0 || (by_lr && v == 0);
    case NOT_BELOW_ZERO: return v >= 0;
    default: return v <= 0;
  }
}

static const char* range_text(range_t range) {
  static const char* const texts[] = {[ABOVE_ZERO] = "positive scalar", [NOT_BELOW_ZERO] = "non-negative scalar",
                                      [ABOVE_ZERO_OR_BY_LR] = "positive scalar (or zero if multiply_linear_by_lr is set)",
                                      [NOT_ABOVE_ZERO] = "non-positive scalar"};
  return texts[range];
}

static hr_status_t check_hyper(const step_t* s) {
  const demands_t* d = &demands[s->u->form.rule->rule];
  if (!s->u->form.sparse && !d->if_dense) return NULL;
  for (int i = 0; i < s->u->scalars; ++i) {
    const limit_t* limit = &d->limits[i];
    const double v = s->u->type == HR_F64 ? s->hyper[i] : (double)((const float*)s->hyper)[i];
    if (limit->range != ANY && !in_range(limit->range, v, s->u->flag))
      return HR_ERROR(INVALID_ARGUMENT, "%s is not a %s: it is %g", limit->name, range_text(limit->range), v);
  }
  return NULL;
}

static hr_status_t check_sparse(const step_t* s, const hr_tensor_t* grad) {
  const hr_tensor_t *var = &s->variables[0]->value, *indices = s->indices;
  if (var->shape.rank < 1) return HR_ERROR(INVALID_ARGUMENT, "a sparse update needs a variable of at least one dimension, not a scalar");
  if (indices->shape.rank != 1) return HR_ERROR(INVALID_ARGUMENT, "indices must be one-dimensional, they have rank %d",
                                                indices->shape.rank);
  bool fits = grad->shape.rank >= var->shape.rank; /* dimensions of one may follow */
  for (int i = 1; fits && i < var->shape.rank; ++i) fits = grad->shape.dims[i] == var->shape.dims[i];
  if (fits) fits = grad->count == grad->shape.dims[0] * hr_shape_count_range(&var->shape, 1, var->shape.rank);
  if (!fits) return shapes_differ("gradient", &var->shape, &grad->shape);
  if (grad->shape.dims[0] != indices->count)
    return HR_ERROR(INVALID_ARGUMENT, "the gradient has %lld rows for %lld indices", (long long)grad->shape.dims[0],
                    (long long)indices->count);
  if (demands[s->u->form.rule->rule].row_has_elements && hr_shape_count_range(&var->shape, 1, var->shape.rank) == 0)
    return HR_ERROR(INVALID_ARGUMENT, "Inner dimension should be greater than zero.");
  for (int64_t i = 0; i < indices->count; ++i) {
    const int64_t row = hr_tensor_index_at(indices, i);
    if (row < 0 || row >= var->shape.dims[0])
      return HR_ERROR(INVALID_ARGUMENT, "Index %lld at offset %lld in indices is out of range [0, %lld)", (long long)row, (long long)i,
                      (long long)var->shape.dims[0]);
  }
  return NULL;
}

static hr_status_t run_sparse(hr_kernel_ctx_t* k, step_t* s, const hr_tensor_t* grad) {
  const hr_tensor_t* var = &s->variables[0]->value;
  HR_TRY(check_sparse(s, grad));
  if (grad->count == 0) return NULL;
  const int64_t rows = var->shape.dims[0];
  s->row = var->count / rows;
  const double each = 10.0 + cost_of_element(s) * (double)s->row;
  return hr_parallel(k, rows, each * (double)s->indices->count / (double)rows, sparse_chunk, s);
}

static hr_status_t update(hr_kernel_ctx_t* k) {
  const update_t* u = hr_prepared(k);
  const hr_tensor_t* grad = hr_input(k, place_of_grad(&u->form));
  step_t s = {.u = u, .count = 1 + u->form.rule->slots, .grad = grad->data, .size = hr_dtype_size(u->type)};
  if (u->form.sparse) s.indices = hr_input(k, place_of_grad(&u->form) + 1);
  HR_TRY(find_variables(k, &s));
  HR_TRY(lock_all(&s));
  hr_status_t status = check_variables(&s);
  if (!status) status = read_hyper(k, u, s.hyper);
  if (!status) status = check_hyper(&s);
  if (!status) status = u->form.sparse ? run_sparse(k, &s, grad) : run_dense(k, &s, grad);
  unlock_first(&s, s.count);
  if (!status && !u->form.handles) hr_output_ref(k, 0, s.variables[0]);
  return status;
}

/* 4. definitions */
#define NUMBERS \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define OP(Op, Name, is_sparse, is_handles, types, signature, attributes, op_flags)                                      \
  extern const hr_op_t hr_op_##Op##Name;                                                                                 \
  static const form_t form_##Op##Name = {&rules[RULE_##Name], is_sparse, is_handles};                                    \
  static hr_status_t infer_##Op##Name(hr_infer_t* s) { return infer_update(s, &form_##Op##Name); }                       \
  const hr_op_t hr_op_##Op##Name = {.name = #Op #Name,                                                                   \
                                    .sig = signature " ->" OUT,                                                          \
                                    .attrs = "T: type{" NUMBERS "}" INDEX_TYPE "; use_locking: bool = false" attributes, \
                                    .flags = op_flags,                                                                   \
                                    .shape = infer_##Op##Name,                                                           \
                                    HR_KERNELS({.where = {{"T", types}},                                                 \
                                                .prepared_bytes = sizeof(update_t),                                      \
                                                .prepare = update_prepare,                                               \
                                                .compute = update,                                                       \
                                                .arg = &form_##Op##Name}),                                               \
                                    .doc = "one step of " #Name ", in place",                                            \
                                    HR_HERE};

#define V "Ref(T)"
#define OUT " out: Ref(T)"
#define I ""
#define G "delta"
#define INDEX_TYPE ""
#define OPS(Name, dense, sparse, sig, attrs) OP(Apply, Name, false, false, dense, sig, attrs, HR_OP_SIDE_EFFECT)
#define OPS_DENSE(Name, dense, sig, attrs) OP(Apply, Name, false, false, dense, sig, attrs, HR_OP_SIDE_EFFECT)
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
#undef V
#undef OUT
#define V "resource"
#define OUT ""
#define OPS(Name, dense, sparse, sig, attrs) OP(ResourceApply, Name, false, true, dense, sig, attrs, HR_OP_STATEFUL)
#define OPS_DENSE(Name, dense, sig, attrs) OP(ResourceApply, Name, false, true, dense, sig, attrs, HR_OP_STATEFUL)
#define OPS_RESOURCE(Name, dense, sparse, sig, attrs) OP(ResourceApply, Name, false, true, dense, sig, attrs, HR_OP_STATEFUL)
#define OPS_RESOURCE_DENSE(Name, dense, sig, attrs) OP(ResourceApply, Name, false, true, dense, sig, attrs, HR_OP_STATEFUL)
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
#undef I
#undef G
#undef INDEX_TYPE
#define I "; indices: Tindices"
#define G "grad"
#define INDEX_TYPE "; Tindices: type{int32,int64}"
#define OPS(Name, dense, sparse, sig, attrs) OP(ResourceSparseApply, Name, true, true, sparse, sig, attrs, HR_OP_STATEFUL)
#define OPS_RESOURCE(Name, dense, sparse, sig, attrs) OP(ResourceSparseApply, Name, true, true, sparse, sig, attrs, HR_OP_STATEFUL)
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
#undef V
#undef OUT
#define V "Ref(T)"
#define OUT " out: Ref(T)"
#define OPS(Name, dense, sparse, sig, attrs) OP(SparseApply, Name, true, false, sparse, sig, attrs, HR_OP_SIDE_EFFECT)
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
