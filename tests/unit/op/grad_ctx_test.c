/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient helpers on a recorder: each call's result is read back as a formula, so a test states exactly which nodes a helper
 * emits for which static knowledge. */
#include "op/grad_ctx.h"
#include "op/grad_state.h"
#include "test.h"

typedef struct record { /* stands for a node */
  char text[256];
  hr_dtype_t dtype;
  const hr_pshape_t* shape;
  hr_tensor_t constant;
} record_t;

typedef struct {
  hr_grad_ctx_t base;
  hr_arena_t arena;
  record_t* records[128];
  int count, given;
  hr_value_t gift;
  bool fail_next;
} recorder_t;

static record_t* record_of(hr_value_t v) { return (record_t*)(void*)v.node; }
static recorder_t* recorder_of(hr_grad_ctx_t* g) { return (recorder_t*)(void*)g; }

static hr_value_t record_add(recorder_t* r, hr_dtype_t dtype, const hr_pshape_t* shape) {
  record_t* n = calloc(1, sizeof *n);
  n->dtype = dtype;
  n->shape = shape;
  r->records[r->count++] = n;
  return (hr_value_t){(struct hr_node*)(void*)n, 0};
}

static hr_value_t named(recorder_t* r, const char* name, hr_dtype_t dtype, int rank, const int64_t* dims) {
  const hr_pshape_t* shape = NULL;
  if (!HR_CHECK_OK(hr_pshape_make(&r->arena, rank, dims, &shape))) abort();
  hr_value_t v = record_add(r, dtype, shape);
  snprintf(record_of(v)->text, sizeof record_of(v)->text, "%s", name);
  return v;
}
#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }

static void write_const(record_t* n) { /* integers as a list, others as a number */
  hr_tensor_t* t = &n->constant;
  size_t at = (size_t)snprintf(n->text, sizeof n->text, t->shape.rank ? "[" : "");
  for (int64_t i = 0; i < t->count; ++i) {
    int64_t value = 0;
    if (hr_dtype_in(t->dtype, HR_M_INTEGER) && !HR_CHECK_OK(hr_tensor_i64_at(t, i, &value))) return;
    double d = t->dtype == HR_F32 ? (double)*(float*)t->data : t->dtype == HR_F64 ? *(double*)t->data : (double)value;
    at += (size_t)snprintf(n->text + at, sizeof n->text - at, "%s%g", i ? "," : "", d);
  }
  snprintf(n->text + at, sizeof n->text - at, t->shape.rank ? "]" : "");
}

static hr_status_t rec_emit(hr_grad_ctx_t* g, const char* op, int input_count, const hr_value_t* inputs, int attr_count,
                            const hr_named_attr_t* attrs, hr_value_t* out) {
  recorder_t* r = recorder_of(g);
  if (r->fail_next) return HR_ERROR(ABORTED, "told to fail at %s", op);
  *out = record_add(r, input_count ? record_of(inputs[0])->dtype : HR_F32, &hr_pshape_unknown);
  record_t* n = record_of(*out);
  if (strcmp(op, "Const") == 0) {
    hr_tensor_share(attrs[0].value.u.tensor, &n->constant);
    n->dtype = (hr_dtype_t)attrs[1].value.u.type;
    write_const(n);
    return hr_pshape_from_shape(&r->arena, &n->constant.shape, &n->shape);
  }
  if (strcmp(op, "Shape") == 0) n->dtype = HR_I32;
  size_t at = (size_t)snprintf(n->text, sizeof n->text, "%s(", op);
  for (int i = 0; i < input_count; ++i)
    at += (size_t)snprintf(n->text + at, sizeof n->text - at, "%s%s", i ? "," : "", record_of(inputs[i])->text);
  for (int i = 0; i < attr_count; ++i) {
    if (attrs[i].value.kind == HR_ATTR_TYPE) n->dtype = (hr_dtype_t)attrs[i].value.u.type;
    if (attrs[i].value.kind == HR_ATTR_BOOL && attrs[i].value.u.b)
      at += (size_t)snprintf(n->text + at, sizeof n->text - at, ",%s", attrs[i].name.data);
  }
  snprintf(n->text + at, sizeof n->text - at, ")");
  return NULL;
}
static hr_dtype_t rec_dtype(hr_grad_ctx_t* g, hr_value_t v) { return (void)g, record_of(v)->dtype; }
static const hr_pshape_t* rec_shape(hr_grad_ctx_t* g, hr_value_t v) { return (void)g, record_of(v)->shape; }
static hr_status_t rec_constant(hr_grad_ctx_t* g, hr_value_t v, const hr_tensor_t** out) {
  (void)g;
  *out = record_of(v)->constant.dtype ? &record_of(v)->constant : NULL;
  return NULL;
}
static hr_status_t rec_give(hr_grad_ctx_t* g, int input, hr_value_t v) {
  recorder_of(g)->given = input;
  recorder_of(g)->gift = v;
  return NULL;
}

static const hr_grad_table_t rec_table = {
    .emit = rec_emit, .dtype = rec_dtype, .shape = rec_shape, .constant = rec_constant, .give = rec_give};
static const hr_op_def_t rec_def = {.name = {"Tested", 6}};
static const hr_node_attrs_t rec_attrs = {.def = &rec_def};

static void rec_begin(recorder_t* r) {
  *r = (recorder_t){.base = {.table = &rec_table, .attrs = &rec_attrs, .input_count = 2, .output_count = 1}};
  hr_arena_init(&r->arena);
}
static void rec_end(recorder_t* r) {
  hr_status_release(r->base.failure);
  for (int i = 0; i < r->count; ++i) {
    hr_tensor_release(&r->records[i]->constant);
    free(r->records[i]);
  }
  hr_arena_deinit(&r->arena);
}
#define CHECK_FORMULA(v, wanted) HR_CHECK_STR((v).node ? record_of(v)->text : "nothing", wanted)
#define RECORDER \
  recorder_t r;  \
  rec_begin(&r); \
  hr_grad_ctx_t* g = &r.base

HR_TEST(scale_and_friends) {
  RECORDER;
  hr_value_t a = named(&r, "a", HR_F32, DIMS(2)), c = named(&r, "c", HR_C64, DIMS(2)), d = named(&r, "d", HR_F64, DIMS(2));
  CHECK_FORMULA(hr_emit_scale(g, a, 1), "a");
  CHECK_FORMULA(hr_emit_scale(g, a, -1), "Neg(a)");
  CHECK_FORMULA(hr_emit_scale(g, a, 0.5), "Mul(a,0.5)");
  CHECK_FORMULA(hr_emit_scale(g, d, 0.25), "Mul(d,0.25)");
  CHECK_FORMULA(hr_emit_one_minus(g, a), "Sub(1,a)");
  CHECK_FORMULA(hr_emit_conj(g, a), "a");
  CHECK_FORMULA(hr_emit_conj(g, c), "Conj(c)");
  CHECK_FORMULA(hr_emit_cast(g, a, HR_F32), "a");
  CHECK_FORMULA(hr_emit_cast(g, a, HR_F64), "Cast(a)");
  CHECK_FORMULA(hr_emit_shape(g, a), "[2]");
  CHECK_FORMULA(hr_emit_reshape_like(g, a, a), "a");
  CHECK_FORMULA(hr_emit_reshape_like(g, a, d), "a");
  rec_end(&r);
}

HR_TEST(constants_have_the_type_of_their_like) {
  RECORDER;
  static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_F16, HR_BF16, HR_C64, HR_C128, HR_I8,
                                     HR_I16, HR_I32, HR_I64, HR_U8,   HR_U16, HR_U32,  HR_U64};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    hr_value_t like = named(&r, "x", types[i], DIMS(1)), v = hr_emit_const_like(g, like, 3);
    HR_REQUIRE(v.node);
    HR_CHECK_EQ_I64(record_of(v)->dtype, types[i]);
    HR_CHECK_EQ_I64(record_of(v)->constant.shape.rank, 0);
  }
  hr_value_t v = hr_emit_const_like(g, named(&r, "h", HR_F16, DIMS(1)), 3);
  HR_CHECK_EQ_F64(hr_f16_to_f32(*(hr_f16_t*)record_of(v)->constant.data), 3);
  v = hr_emit_const_like(g, named(&r, "c", HR_C128, DIMS(1)), 3);
  HR_CHECK(((hr_c128_t*)record_of(v)->constant.data)->re == 3 && ((hr_c128_t*)record_of(v)->constant.data)->im == 0);
  HR_CHECK(!hr_emit_const_like(g, named(&r, "s", HR_STRING, DIMS(1)), 3).node);
  HR_CHECK_EQ_I64(hr_status_code(g->failure), HR_INTERNAL);
  rec_end(&r);
}

HR_TEST(shapes_beyond_int32_are_int64) {
  RECORDER;
  hr_value_t big = named(&r, "b", HR_F32, DIMS(INT64_C(3000000000), 2)), s = hr_emit_shape(g, big);
  HR_CHECK_EQ_I64(record_of(s)->dtype, HR_I64);
  rec_end(&r);
}

HR_TEST(reduce_to_with_static_shapes) {
  RECORDER;
  hr_value_t dy = named(&r, "dy", HR_F32, DIMS(4, 2, 3)), same = named(&r, "same", HR_F32, DIMS(4, 2, 3)),
             bias = named(&r, "bias", HR_F32, DIMS(3));
  hr_value_t ones = named(&r, "ones", HR_F32, DIMS(4, 1, 3)), both = named(&r, "both", HR_F32, DIMS(1, 3));
  hr_value_t scalar = named(&r, "scalar", HR_F32, 0, NULL);
  CHECK_FORMULA(hr_emit_reduce_to(g, dy, same, bias), "dy");
  CHECK_FORMULA(hr_emit_reduce_to(g, dy, bias, same), "Sum(dy,[0,1])");
  CHECK_FORMULA(hr_emit_reduce_to(g, dy, ones, same), "Sum(dy,[1],keep_dims)");
  CHECK_FORMULA(hr_emit_reduce_to(g, dy, both, same), "Reshape(Sum(dy,[0,1]),[1,3])");
  CHECK_FORMULA(hr_emit_reduce_to(g, dy, scalar, same), "Sum(dy,[0,1,2])");
  CHECK_FORMULA(hr_emit_reduce_to(g, dy, same, scalar), "dy");
  hr_value_t thin = named(&r, "thin", HR_F32, DIMS(1, 1, 3));
  CHECK_FORMULA(hr_emit_reduce_to(g, thin, bias, thin), "Reshape(thin,[3])"); /* nothing to add up */
  CHECK_FORMULA(hr_emit_reduce_to(g, thin, both, thin), "Reshape(thin,[1,3])");
  rec_end(&r);
}

HR_TEST(reduce_to_with_partly_known_shapes) {
  RECORDER;
  hr_value_t any = named(&r, "any", HR_F32, -1, NULL), batch = named(&r, "batch", HR_F32, DIMS(-1, 3)),
             other = named(&r, "other", HR_F32, DIMS(-1, 3));
  hr_value_t bias = named(&r, "bias", HR_F32, DIMS(3)), row = named(&r, "row", HR_F32, DIMS(1, 3)),
             scalar = named(&r, "scalar", HR_F32, 0, NULL);
  CHECK_FORMULA(hr_emit_reduce_to(g, batch, batch, bias), "batch");
  CHECK_FORMULA(hr_emit_reduce_to(g, batch, bias, other), "Sum(batch,[0])");
  CHECK_FORMULA(hr_emit_reduce_to(g, batch, other, bias), "batch"); /* only a leading 1 could differ, and bias has no such axis */
  CHECK_FORMULA(hr_emit_reduce_to(g, batch, other, row), "batch");
  CHECK_FORMULA(hr_emit_reduce_to(g, any, bias, other), "Sum(any,[0])");
  CHECK_FORMULA(hr_emit_reduce_to(g, any, any, scalar), "any");
  CHECK_FORMULA(hr_emit_reduce_to(g, batch, other, batch),
                "Reshape(Sum(batch,BroadcastGradientArgs(Shape(other),Shape(batch))),Shape(other))");
  hr_value_t unknown = named(&r, "unknown", HR_F32, -1, NULL);
  CHECK_FORMULA(hr_emit_reduce_to(g, any, unknown, bias), "Reshape(Sum(any,BroadcastGradientArgs(Shape(unknown),[3])),Shape(unknown))");
  CHECK_FORMULA(hr_emit_reduce_to(g, any, unknown, unknown), "any"); /* x * x */
  rec_end(&r);
}

HR_TEST(failures_stick) {
  RECORDER;
  hr_value_t a = named(&r, "a", HR_F32, DIMS(2));
  r.fail_next = true;
  HR_CHECK(!hr_emit_neg(g, a).node);
  r.fail_next = false;
  int before = r.count;
  HR_CHECK(!hr_emit_neg(g, a).node && !hr_emit_scale(g, a, 3).node && !hr_emit_const_i32(g, 1).node);
  hr_grad_give(g, 0, a);
  HR_CHECK(!r.gift.node);
  HR_CHECK_EQ_I64(r.count, before);
  HR_CHECK_EQ_I64(hr_status_code(g->failure), HR_ABORTED);
  rec_end(&r);
}

HR_TEST(wrong_use_is_internal) {
  RECORDER;
  HR_CHECK(!hr_grad_input(g, 2).node);
  HR_CHECK_EQ_I64(hr_status_code(g->failure), HR_INTERNAL);
  HR_CHECK(strstr(hr_status_message(g->failure), "Tested") != NULL);
  rec_end(&r);
  rec_begin(&r);
  hr_grad_give(g, 0, HR_NO_VALUE);
  HR_CHECK(strstr(hr_status_message(g->failure), "null value") != NULL);
  rec_end(&r);
  rec_begin(&r);
  HR_CHECK(!hr_emit_neg(g, HR_NO_VALUE).node);
  HR_CHECK(strstr(hr_status_message(g->failure), "null input") != NULL);
  rec_end(&r);
  rec_begin(&r);
  hr_value_t a = named(&r, "a", HR_F32, DIMS(2));
  hr_grad_give(g, 1, a);
  HR_CHECK(r.given == 1 && r.gift.node == a.node && !g->failure);
  rec_end(&r);
}

/* What is summed of a gradient "d" to give it the shape of "x", which met "y": rank -1 and dim -1 are unknown. */
HR_TEST(reduce_to_axis_by_axis) {
  static const char dynamic[] = "Reshape(Sum(d,BroadcastGradientArgs";
  static const struct { int rd; int64_t d[3]; int rx; int64_t x[3]; int ry; int64_t y[3]; const char* formula; } rows[] = {
      {2, {-1, 3}, 2, {1, 3}, 2, {1, 1}, "d"},                       /* a 1 that met a 1 */
      {2, {1, 3}, 2, {1, -1}, 2, {-1, 1}, "d"},                      /* or that is still one; any dim that met a 1 */
      {2, {-1, 3}, 2, {1, 3}, 2, {-1, 1}, "Sum(d,[0],keep_dims)"},
      {2, {-1, 3}, 2, {1, 3}, 2, {4, 1}, "Sum(d,[0],keep_dims)"},
      {2, {4, 3}, 2, {1, 3}, 2, {1, 1}, "Sum(d,[0],keep_dims)"},
      {2, {4, 3}, 2, {1, 1}, 2, {4, 3}, "Sum(d,[0,1],keep_dims)"},
      {2, {4, 3}, 2, {4, 1}, 2, {4, 3}, "Sum(d,[1],keep_dims)"},
      {2, {4, 3}, 2, {4, -1}, 2, {4, 3}, dynamic},                   /* it may be 1 */
      {2, {4, -1}, 2, {4, -1}, 2, {4, -1}, dynamic},
      {2, {1, 2}, 2, {-1, 2}, 2, {-1, 2}, "d"},
      {2, {-1, -1}, 2, {2, -1}, 2, {-1, 1}, "d"},
      {2, {-1, -1}, 2, {0, -1}, 2, {-1, 1}, "d"},
      {2, {0, -1}, 2, {0, -1}, 2, {1, 1}, "d"},
      {2, {-1, 2}, 2, {1, 2}, -1, {0}, "Sum(d,[0],keep_dims)"},
      {-1, {0}, 2, {1, 3}, 2, {4, 3}, "Sum(d,[0],keep_dims)"},
      {-1, {0}, 1, {3}, 2, {2, 3}, "Sum(d,[0])"},
      {-1, {0}, 2, {2, 1}, 1, {3}, "Sum(d,[1],keep_dims)"},
      {-1, {0}, 2, {2, 1}, -1, {0}, dynamic},
      {2, {2, 3}, -1, {0}, 2, {2, 3}, dynamic},
      {-1, {0}, -1, {0}, 1, {3}, dynamic},
      {-1, {0}, -1, {0}, 0, {0}, "d"},
      {1, {3}, 2, {2, 3}, 1, {1}, dynamic},                          /* these contradict each other: nothing is known */
      {1, {3}, 1, {1}, 2, {2, 3}, dynamic},
      {3, {4, 2, 3}, 2, {1, 3}, 3, {4, 2, 3}, "Reshape(Sum(d,[0,1]),[1,3])"},
      {3, {4, 2, 3}, 2, {2, 3}, 3, {4, 2, 3}, "Sum(d,[0])"},
      {3, {4, 2, 3}, 1, {1}, 3, {4, 2, 3}, "Reshape(Sum(d,[0,1,2]),[1])"},
      {2, {1, 3}, 1, {3}, 2, {1, 1}, "Reshape(d,[3])"},              /* one element each: nothing to add up */
      {3, {1, 2, 3}, 2, {1, 3}, 3, {1, 2, 3}, "Reshape(Sum(d,[0,1]),[1,3])"},
      {3, {2, 1, 3}, 1, {3}, 3, {2, 1, 3}, "Sum(d,[0,1])"},
      {0, {0}, 0, {0}, -1, {0}, "d"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    RECORDER;
    hr_value_t d = named(&r, "d", HR_F32, rows[i].rd, rows[i].d), x = named(&r, "x", HR_F32, rows[i].rx, rows[i].x),
               y = named(&r, "y", HR_F32, rows[i].ry, rows[i].y), v = hr_emit_reduce_to(g, d, x, y);
    const size_t compared = rows[i].formula == dynamic ? sizeof dynamic - 1 : sizeof record_of(v)->text;
    if (!HR_CHECK(v.node && strncmp(record_of(v)->text, rows[i].formula, compared) == 0))
      printf("  row %zu: %s\n", i, v.node ? record_of(v)->text : "");
    rec_end(&r);
  }
}

HR_TEST(numbers_that_int32_holds) {
  static const struct { int64_t values[3]; hr_dtype_t type; } rows[] = {{{INT32_MAX, INT32_MIN, 0}, HR_I32},
                                                                        {{INT64_C(2147483648), 0, 0}, HR_I64},
                                                                        {{0, 0, INT64_C(-2147483649)}, HR_I64}};
  for (int i = 0; i < 3; ++i) {
    RECORDER;
    hr_value_t v = hr_emit_const_i32s(g, rows[i].values, 3);
    HR_REQUIRE(v.node);
    HR_CHECK_EQ_I64(record_of(v)->dtype, rows[i].type);
    rec_end(&r);
  }
}

HR_TEST(what_is_not_there_is_not_asked_for) {
  static const int inputs[] = {-1, 2, 3};
  for (int i = 0; i < 3; ++i) {
    RECORDER;
    HR_CHECK(!hr_grad_input(g, inputs[i]).node && strstr(hr_status_message(g->failure), "asks for an input that is not there"));
    rec_end(&r);
    rec_begin(&r);
    HR_CHECK(!hr_grad_output(g, inputs[i] - (i > 0)).node && strstr(hr_status_message(g->failure), "asks for an output that is not there"));
    rec_end(&r);
    rec_begin(&r);
    hr_value_t a = named(&r, "a", HR_F32, DIMS(2));
    hr_grad_give(g, inputs[i], a);
    HR_CHECK(strstr(hr_status_message(g->failure), "gives for an input that is not there"));
    rec_end(&r);
    rec_begin(&r);
    a = named(&r, "a", HR_F32, DIMS(2));
    hr_grad_give_slices(g, inputs[i], a, a, a);
    HR_CHECK(strstr(hr_status_message(g->failure), "gives incomplete slices"));
    rec_end(&r);
    rec_begin(&r);
    a = named(&r, "a", HR_F32, DIMS(2));
    hr_grad_give_slices(g, 0, i == 0 ? HR_NO_VALUE : a, i == 1 ? HR_NO_VALUE : a, i == 2 ? HR_NO_VALUE : a);
    HR_CHECK(strstr(hr_status_message(g->failure), "gives incomplete slices"));
    rec_end(&r);
  }
}

HR_TEST_MAIN()
