/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: sums of products along labelled axes. Labels of one input that neither the other nor the output has are summed first; then
 * each input is brought into the order [in both and kept, its own, in both and summed], unless it lies so already, for one batched
 * product, whose axes go to their places in the output. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "ops/math/einsum/equation.h"
#include "ops/math/matmul/product.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Einsum;

/* 1. shape */
typedef struct {
  hr_einsum_t equation;
  int64_t size[EINSUM_LABELS]; /* -1: unknown so far */
} sizes_t;

/* Letters agree; axes of ellipses broadcast. */
static hr_status_t merge_size(sizes_t* s, int label, int64_t dim, int input, int axis) {
  int64_t* size = &s->size[label];
  if (dim < 0 || *size == dim) return NULL;
  if (*size < 0 || (label >= EINSUM_LETTERS && *size == 1)) *size = dim;
  else if (label < EINSUM_LETTERS)
    return HR_ERROR(INVALID_ARGUMENT, "axis %d of input %d has the size %lld, but '%c' has the size %lld", axis, input, (long long)dim,
                    hr_einsum_letter(label), (long long)*size);
  else if (dim != 1)
    return HR_ERROR(INVALID_ARGUMENT, "axis %d of input %d has the size %lld, which does not broadcast with %lld", axis, input,
                    (long long)dim, (long long)*size);
  return NULL;
}

static hr_status_t merge_sizes(sizes_t* s, int input, int rank, const int64_t* dims, int* out_wide) {
  uint8_t labels[HR_MAX_RANK];
  HR_TRY(hr_status_note(hr_einsum_wide(&s->equation.in[input], rank, out_wide), "input %d: ", input));
  hr_einsum_labels(&s->equation.in[input], *out_wide, labels);
  for (int i = 0; i < rank; ++i) HR_TRY(merge_size(s, labels[i], dims[i], input, i));
  return NULL;
}

static hr_status_t too_wide(int rank) {
  return HR_ERROR(UNIMPLEMENTED, "rank %d is above %d", rank, (int)HR_MAX_RANK);
}

static hr_status_t start_sizes(const hr_node_attrs_t* attrs, int inputs, sizes_t* s) {
  for (int i = 0; i < EINSUM_LABELS; ++i) s->size[i] = -1;
  return hr_einsum_parse(hr_attrs_str(attrs, "equation"), inputs, &s->equation);
}

static hr_status_t infer(hr_infer_t* f) {
  sizes_t s;
  int wide = 0;
  bool is_open = false; /* an ellipsis of unknown width */
  HR_TRY(start_sizes(hr_infer_attrs(f), hr_infer_input_count(f), &s));
  for (int i = 0; i < s.equation.inputs; ++i) {
    const hr_pshape_t* shape = hr_infer_input(f, i);
    int w = 0;
    if (shape->rank > HR_MAX_RANK) return too_wide(shape->rank);
    if (shape->rank >= 0) HR_TRY(merge_sizes(&s, i, shape->rank, shape->dims, &w));
    else is_open = is_open || s.equation.in[i].before >= 0;
    if (w > wide) wide = w;
  }
  if (is_open) return NULL;
  if (s.equation.out.count + wide > HR_MAX_RANK) return too_wide(s.equation.out.count + wide);
  uint8_t labels[HR_MAX_RANK];
  int64_t dims[HR_MAX_RANK];
  const int rank = hr_einsum_labels(&s.equation.out, wide, labels);
  for (int i = 0; i < rank; ++i) dims[i] = s.size[labels[i]];
  return hr_infer_set_dims(f, 0, rank, dims);
}

/* 2. kernel */
typedef struct {
  int count;
  uint8_t of[HR_MAX_RANK]; /* distinct */
} labels_t;

typedef struct {
  const hr_tensor_t* from;       /* the input, or own */
  hr_tensor_t own;
  labels_t labels;               /* in the order of the axes */
  bool has[EINSUM_LABELS];
  int64_t stride[EINSUM_LABELS]; /* in elements: a label's axes together; 0 where one row stands for all */
} operand_t;

typedef struct {
  hr_kernel_ctx_t* k;
  sizes_t sizes;
  operand_t x[2];
  hr_tensor_t* out;
  labels_t kept;                 /* the output's */
  bool is_kept[EINSUM_LABELS], is_diagonal;
  int64_t out_stride[EINSUM_LABELS];
} run_t;

static void add_label(labels_t* l, int label) { l->of[l->count++] = (uint8_t)label; }

static hr_status_t shape_of(const run_t* r, const labels_t* l, hr_shape_t* out) {
  int64_t dims[HR_MAX_RANK];
  for (int i = 0; i < l->count; ++i) dims[i] = r->sizes.size[l->of[i]];
  return hr_shape_make(l->count, dims, out);
}

static void join(labels_t* out, const labels_t* a, const labels_t* b, const labels_t* c) {
  const labels_t* parts[] = {a, b, c};
  out->count = 0;
  for (int p = 0; p < 3; ++p)
    for (int i = 0; i < parts[p]->count; ++i) add_label(out, parts[p]->of[i]);
}

/* These labels lie one inside the other without gaps. */
static bool lies_so(const run_t* r, const int64_t* stride, const labels_t* l) {
  int64_t step = 1;
  for (int i = l->count - 1; i >= 0; --i) {
    const int64_t size = r->sizes.size[l->of[i]];
    if (size != 1 && stride[l->of[i]] != step) return false;
    step *= size;
  }
  return true;
}

static void set_strides(const run_t* r, const labels_t* l, int64_t* stride) {
  int64_t step = 1;
  for (int i = l->count - 1; i >= 0; --i) {
    stride[l->of[i]] = r->sizes.size[l->of[i]] == 1 ? 0 : step;
    step *= r->sizes.size[l->of[i]];
  }
}

static hr_status_t move_labels(const run_t* r, const labels_t* l, hr_tensor_t* to, const int64_t* to_stride, const hr_tensor_t* from,
                               const int64_t* from_stride) {
  hr_move_t m = {.rank = 0};
  for (int i = 0; i < l->count; ++i) {
    const int64_t size = r->sizes.size[l->of[i]];
    if (size == 0) return NULL;
    HR_TRY(hr_move_axis(&m, size, to_stride[l->of[i]], from_stride[l->of[i]]));
  }
  return hr_move_run(r->k, &m, to, from);
}

static void read_operand(run_t* r, int i) {
  operand_t* x = &r->x[i];
  const hr_tensor_t* t = x->from = hr_input(r->k, i);
  const hr_einsum_term_t* term = &r->sizes.equation.in[i];
  uint8_t labels[HR_MAX_RANK];
  int64_t strides[HR_MAX_RANK];
  hr_einsum_labels(term, t->shape.rank - term->count, labels);
  hr_iterate_strides(&t->shape, strides);
  for (int d = 0; d < t->shape.rank; ++d) {
    if (!x->has[labels[d]]) add_label(&x->labels, labels[d]);
    x->has[labels[d]] = true;
    if (t->shape.dims[d] != 1) x->stride[labels[d]] += strides[d];
  }
}

static hr_status_t make_output(run_t* r, int wide) {
  uint8_t labels[HR_MAX_RANK];
  int64_t dims[HR_MAX_RANK], strides[HR_MAX_RANK];
  hr_shape_t shape;
  if (r->sizes.equation.out.count + wide > HR_MAX_RANK) return too_wide(r->sizes.equation.out.count + wide);
  const int rank = hr_einsum_labels(&r->sizes.equation.out, wide, labels);
  for (int i = 0; i < rank; ++i) dims[i] = r->sizes.size[labels[i]];
  HR_TRY(hr_shape_make(rank, dims, &shape));
  hr_iterate_strides(&shape, strides);
  for (int i = 0; i < rank; ++i) {
    if (r->is_kept[labels[i]]) r->is_diagonal = true;
    else add_label(&r->kept, labels[i]);
    r->is_kept[labels[i]] = true;
    r->out_stride[labels[i]] += strides[i];
  }
  return hr_output(r->k, 0, &shape, &r->out);
}

/* The operand in this order: where it lies, if it lies so, else in *copy. */
static hr_status_t bring(const run_t* r, const operand_t* x, const labels_t* order, hr_tensor_t* copy, const void** out) {
  int64_t stride[EINSUM_LABELS] = {0};
  hr_shape_t shape;
  *out = x->from->data;
  if (lies_so(r, x->stride, order)) return NULL;
  HR_TRY(shape_of(r, order, &shape));
  HR_TRY(hr_temp(r->k, x->from->dtype, &shape, copy));
  set_strides(r, order, stride);
  *out = copy->data;
  return move_labels(r, order, copy, stride, x->from, x->stride);
}

static hr_product_t product_of(const run_t* r, int64_t batch, int64_t m, int64_t n, int64_t k) {
  const hr_dtype_t t = r->x[0].from->dtype;
  return (hr_product_t){.batch = batch, .m = m, .n = n, .k = k, .a_type = t, .b_type = t, .c_type = t};
}

static hr_status_t make_ones(const run_t* r, int64_t count, hr_tensor_t* out) {
  const hr_shape_t shape = hr_shape_matrix(count, 1);
  hr_tensor_t one = {0};
  const hr_dtype_t t = r->x[0].from->dtype;
  hr_status_t status = hr_temp(r->k, t, &shape, out);
  if (!status) status = hr_tensor_from_number(t, 1, &one);
  if (!status) status = hr_move_fill(r->k, out, &one);
  hr_tensor_release(&one);
  return status;
}

/* own = the sums over `summed`, as a product with ones: half and bfloat16 are summed in float there. */
static hr_status_t sum_labels(run_t* r, operand_t* x, const labels_t* rest, const labels_t* summed) {
  static const labels_t none = {0};
  hr_tensor_t copy = {0}, ones = {0};
  hr_shape_t kept_shape, summed_shape;
  labels_t order;
  HR_TRY(shape_of(r, rest, &kept_shape));
  HR_TRY(shape_of(r, summed, &summed_shape));
  join(&order, rest, summed, &none);
  hr_product_t p = product_of(r, 1, hr_shape_count(&kept_shape), 1, hr_shape_count(&summed_shape));
  hr_status_t status = bring(r, x, &order, &copy, &p.a);
  if (!status) status = make_ones(r, p.k, &ones);
  if (!status) status = hr_temp(r->k, x->from->dtype, &kept_shape, &x->own);
  p.b = ones.data;
  p.c = x->own.data;
  if (!status) status = hr_product_run(r->k, &p);
  hr_tensor_release(&ones);
  hr_tensor_release(&copy);
  return status;
}

static hr_status_t sum_alone(run_t* r, int i) {
  operand_t* x = &r->x[i];
  const operand_t* other = r->sizes.equation.inputs == 2 ? &r->x[1 - i] : NULL;
  labels_t rest = {0}, summed = {0};
  for (int j = 0; j < x->labels.count; ++j) {
    const int label = x->labels.of[j];
    add_label(r->is_kept[label] || (other && other->has[label]) ? &rest : &summed, label);
  }
  if (!summed.count) return NULL;
  HR_TRY(sum_labels(r, x, &rest, &summed));
  for (int j = 0; j < summed.count; ++j) x->has[summed.of[j]] = false;
  x->from = &x->own;
  x->labels = rest;
  set_strides(r, &rest, x->stride);
  return NULL;
}

static hr_status_t place(const run_t* r, const labels_t* l, const hr_tensor_t* from, const int64_t* stride) {
  if (r->is_diagonal) memset(r->out->data, 0, hr_tensor_bytes(r->out)); /* beside the diagonal */
  return move_labels(r, l, r->out, r->out_stride, from, stride);
}

static hr_status_t multiply_into(run_t* r, const labels_t* order, hr_product_t* p) {
  int64_t stride[EINSUM_LABELS] = {0};
  hr_tensor_t result = {0};
  hr_shape_t shape;
  if (!r->is_diagonal && lies_so(r, r->out_stride, order)) {
    p->c = r->out->data;
    return hr_product_run(r->k, p);
  }
  HR_TRY(shape_of(r, order, &shape));
  HR_TRY(hr_temp(r->k, r->out->dtype, &shape, &result));
  p->c = result.data;
  set_strides(r, order, stride);
  hr_status_t status = hr_product_run(r->k, p);
  if (!status) status = place(r, order, &result, stride);
  hr_tensor_release(&result);
  return status;
}

/* The order [both, rows, columns], or with rows and columns exchanged where the operand lies so: then the product reads it transposed. */
static bool choose_order(const run_t* r, const operand_t* x, const labels_t* both, const labels_t* rows, const labels_t* columns,
                         labels_t* out) {
  join(out, both, rows, columns);
  if (lies_so(r, x->stride, out)) return false;
  join(out, both, columns, rows);
  if (lies_so(r, x->stride, out)) return true;
  join(out, both, rows, columns);
  return false;
}

static int64_t count_of(const run_t* r, const labels_t* l) { /* of labels that an operand or the output has: checked there */
  int64_t n = 1;
  for (int i = 0; i < l->count; ++i) n *= r->sizes.size[l->of[i]];
  return n;
}

static hr_status_t multiply(run_t* r) {
  const operand_t *a = &r->x[0], *b = &r->x[1];
  labels_t both = {0}, left = {0}, right = {0}, summed = {0}, order;
  hr_tensor_t copies[2] = {{0}};
  for (int i = 0; i < r->kept.count; ++i) {
    const int label = r->kept.of[i];
    add_label(a->has[label] && b->has[label] ? &both : a->has[label] ? &left : &right, label);
  }
  for (int i = 0; i < a->labels.count; ++i)
    if (!r->is_kept[a->labels.of[i]]) add_label(&summed, a->labels.of[i]);
  hr_product_t p = product_of(r, count_of(r, &both), count_of(r, &left), count_of(r, &right), count_of(r, &summed));
  p.transpose_a = choose_order(r, a, &both, &left, &summed, &order);
  hr_status_t status = bring(r, a, &order, &copies[0], &p.a);
  p.transpose_b = choose_order(r, b, &both, &summed, &right, &order);
  if (!status) status = bring(r, b, &order, &copies[1], &p.b);
  join(&order, &both, &left, &right);
  if (!status) status = multiply_into(r, &order, &p);
  for (int i = 0; i < 2; ++i) hr_tensor_release(&copies[i]);
  return status;
}

static hr_status_t evaluate(run_t* r) {
  int wide = 0;
  for (int i = 0; i < r->sizes.equation.inputs; ++i) {
    const hr_shape_t* shape = &hr_input(r->k, i)->shape;
    int w;
    HR_TRY(merge_sizes(&r->sizes, i, shape->rank, shape->dims, &w));
    if (w > wide) wide = w;
  }
  HR_TRY(make_output(r, wide));
  if (r->out->count == 0) return NULL;
  for (int i = 0; i < r->sizes.equation.inputs; ++i) read_operand(r, i);
  for (int i = 0; i < r->sizes.equation.inputs; ++i) HR_TRY(sum_alone(r, i));
  return r->sizes.equation.inputs == 2 ? multiply(r) : place(r, &r->kept, r->x[0].from, r->x[0].stride);
}

static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  return start_sizes(p->attrs, (int)hr_attrs_int(p->attrs, "N"), prepared);
}

static hr_status_t compute(hr_kernel_ctx_t* k) {
  run_t r = {.k = k, .sizes = *(const sizes_t*)hr_prepared(k)};
  hr_status_t status = evaluate(&r);
  for (int i = 0; i < 2; ++i) hr_tensor_release(&r.x[i].own);
  return status;
}

/* 3. gradient */
enum { EQUATION_TEXT = 4 * HR_MAX_RANK + 16 };

static void add_text(char* text, const char* more) { strcat(text, more); }

/* A term as text; `only`: the letters to keep, NULL: all. */
static void add_term(char* text, const hr_einsum_term_t* t, const bool* only) {
  for (int i = 0; i <= t->count; ++i) {
    if (i == t->before) add_text(text, "...");
    if (i < t->count && (!only || only[t->letters[i]])) add_text(text, (char[]){hr_einsum_letter(t->letters[i]), 0});
  }
}

/* The sizes of an input's axes that have these letters, one each, as a vector. */
static hr_value_t emit_sizes(hr_grad_ctx_t* g, hr_value_t x, const hr_einsum_term_t* t, const labels_t* letters) {
  const hr_value_t shape = hr_emit_shape(g, x);
  hr_value_t sizes[HR_MAX_RANK];
  for (int n = 0; n < letters->count; ++n) {
    int i = 0;
    while (t->letters[i] != letters->of[n]) ++i;
    const bool from_end = t->before >= 0 && i >= t->before;
    const int64_t at = from_end ? i - t->count : i, next = at + 1, one = 1;
    const hr_value_t from = hr_emit_const_i32s(g, &at, 1), to = hr_emit_const_i32s(g, &next, 1), step = hr_emit_const_i32s(g, &one, 1);
    sizes[n] = hr_emit(g, "StridedSlice", HR_VALUES(shape, from, to, step), HR_ATTRS(hr_at_int("shrink_axis_mask", 1)));
  }
  return hr_emit(g, "Pack", letters->count, sizes, HR_NO_ATTRS);
}

static hr_value_t emit_einsum(hr_grad_ctx_t* g, int count, const hr_value_t* inputs, const char* equation) {
  return hr_emit(g, "Einsum", count, inputs, HR_ATTRS(hr_at_str("equation", equation)));
}

/* What was summed alone: each of its places has the same gradient. */
static hr_value_t spread_summed(hr_grad_ctx_t* g, const hr_einsum_term_t* t, hr_value_t x, hr_value_t d, const bool* kept) {
  labels_t summed = {0};
  bool seen[EINSUM_LETTERS] = {false};
  char equation[2 * EQUATION_TEXT] = "";
  for (int i = 0; i < t->count; ++i) {
    if (!kept[t->letters[i]] && !seen[t->letters[i]]) add_label(&summed, t->letters[i]);
    seen[t->letters[i]] = true;
  }
  if (!summed.count) return d;
  add_term(equation, t, kept);
  add_text(equation, ",");
  for (int i = 0; i < summed.count; ++i) add_text(equation, (char[]){hr_einsum_letter(summed.of[i]), 0});
  add_text(equation, "->");
  add_term(equation, t, NULL);
  const hr_value_t one = hr_emit_const_like(g, d, 1), sizes = emit_sizes(g, x, t, &summed);
  const hr_value_t ones = hr_emit2(g, "Fill", sizes, one), inputs[] = {d, ones};
  return emit_einsum(g, 2, inputs, equation);
}

/* The part of a shape that an ellipsis stands for. */
static hr_value_t emit_open_part(hr_grad_ctx_t* g, hr_value_t x, const hr_einsum_term_t* t) {
  const int64_t begin = t->before, end = t->before - t->count, one = 1;
  const hr_value_t shape = hr_emit_shape(g, x), from = hr_emit_const_i32s(g, &begin, 1), to = hr_emit_const_i32s(g, &end, 1);
  const hr_value_t step = hr_emit_const_i32s(g, &one, 1);
  return hr_emit(g, "StridedSlice", HR_VALUES(shape, from, to, step), HR_ATTRS(hr_at_int("end_mask", end == 0)));
}

static bool same_open_part(const hr_pshape_t* a, const hr_einsum_term_t* ta, const hr_pshape_t* b, const hr_einsum_term_t* tb) {
  if (a->rank < 0 || b->rank < 0 || a->rank - ta->count != b->rank - tb->count) return false;
  for (int i = 0; i < a->rank - ta->count; ++i)
    if (a->dims[ta->before + i] < 0 || a->dims[ta->before + i] != b->dims[tb->before + i]) return false;
  return true;
}

/* d's axes before those of x, which the other input's ellipsis stands for, are summed. */
static hr_value_t sum_leading(hr_grad_ctx_t* g, hr_value_t x, hr_value_t d) {
  const hr_pshape_t *own = hr_grad_shape(g, x), *wide = hr_grad_shape(g, d);
  if (own->rank >= 0 && own->rank == wide->rank) return d;
  const int64_t any = -1;
  const hr_value_t shape = hr_emit_shape(g, x), leading = hr_emit_const_i32s(g, &any, 1), zero = hr_emit_const_i32(g, 0);
  return hr_emit_sum(g, hr_emit_reshape(g, d, hr_emit3(g, "ConcatV2", leading, shape, zero)), zero, false);
}

/* Sums over the axes of ellipses along which the input was repeated. */
static hr_value_t sum_repeated(hr_grad_ctx_t* g, const hr_einsum_t* e, int input, hr_value_t d) {
  const hr_einsum_term_t *t = &e->in[input], *other = &e->in[1 - input];
  if (e->inputs < 2) return d;
  const hr_value_t x = hr_grad_input(g, input), y = hr_grad_input(g, 1 - input);
  if (t->before < 0) return e->out.before < 0 ? d : sum_leading(g, x, d);
  if (other->before < 0) return d;
  if (same_open_part(hr_grad_shape(g, x), t, hr_grad_shape(g, y), other)) return d;
  const hr_value_t own = emit_open_part(g, x, t), others = emit_open_part(g, y, other);
  const hr_value_t axes = hr_emit2(g, "BroadcastGradientArgs", own, others), before = hr_emit_const_i32(g, t->before);
  const hr_value_t sum = hr_emit_sum(g, d, hr_emit_add(g, axes, before), false);
  return hr_emit_reshape(g, sum, hr_emit_shape(g, x));
}

/* d input = einsum(d output, the other input): the labels say all but what was summed alone, and what was broadcast. */
static hr_value_t input_gradient(hr_grad_ctx_t* g, const hr_einsum_t* e, int input) {
  const hr_value_t x = hr_grad_input(g, input), dy = hr_grad_upstream(g, 0);
  char equation[2 * EQUATION_TEXT] = "";
  bool kept[EINSUM_LETTERS];
  hr_einsum_term_t t = e->in[input];
  if (t.before < 0 && e->out.before >= 0) t.before = 0; /* the axes come first, and are summed at the end */
  for (int i = 0; i < EINSUM_LETTERS; ++i) kept[i] = hr_einsum_has(&e->out, i) || (e->inputs == 2 && hr_einsum_has(&e->in[1 - input], i));
  add_term(equation, &e->out, NULL);
  if (e->inputs == 2) {
    add_text(equation, ",");
    add_term(equation, &e->in[1 - input], NULL);
  }
  add_text(equation, "->");
  add_term(equation, &t, kept);
  hr_value_t inputs[2] = {dy};
  if (e->inputs == 2) inputs[1] = hr_emit_conj(g, hr_grad_input(g, 1 - input));
  hr_value_t d = emit_einsum(g, e->inputs, inputs, equation);
  return sum_repeated(g, e, input, spread_summed(g, &t, x, d, kept));
}

static void grad_einsum(hr_grad_ctx_t* g) {
  hr_einsum_t e;
  hr_status_t status = hr_einsum_parse(hr_attrs_str(hr_grad_attrs(g), "equation"), hr_grad_input_count(g), &e);
  if (status) {
    hr_grad_fail(g, status);
    return;
  }
  for (int i = 0; i < e.inputs; ++i)
    if (hr_grad_wanted(g, i)) hr_grad_give(g, i, input_gradient(g, &e, i));
}

/* 4. definition */
#define EINSUM_TYPES (HR_M_REAL_FLOAT | HR_M(I32) | HR_M(I64) | HR_M_COMPLEX)
const hr_op_t hr_op_Einsum = {
    .name = "Einsum",
    .sig = "inputs: N*T -> output: T",
    .attrs = "equation: string; N: int >= 1; T: type",
    .shape = infer,
    .grad = grad_einsum,
    HR_KERNELS({.where = {{"T", EINSUM_TYPES}}, .prepared_bytes = sizeof(sizes_t), .prepare = prepare, .compute = compute}),
    .doc = "sums of products along axes that letters name",
    HR_HERE};
