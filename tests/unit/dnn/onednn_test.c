/* SPDX-License-Identifier: Apache-2.0 */
/* The dense library against our own code: matrix products, the three convolutions over many geometries, packed filters, fused ends, and
 * many threads on one primitive. Where libheadrace_dnn.so was not built, the tests say so and check that its absence is orderly. */
#include <pthread.h>
#include <unistd.h>
#include "dnn/dnn.h"
#include "ops/math/matmul/gemm.h"
#include "ops/nn/conv2d/conv2d.h"
#include "test.h"

static const char dnn_path[] = HR_TEST_BUILD_DIR "/lib/libheadrace_dnn.so";
__attribute__((constructor)) static void choose_dnn(void) { setenv("HEADRACE_DNN", dnn_path, 0); }

static const hr_dnn_t* dnn_or_note(void) {
  const hr_dnn_t* dnn = hr_dnn();
  HR_CHECK(dnn != NULL || access(getenv("HEADRACE_DNN"), R_OK) != 0); /* what is there opens */
  if (!dnn) printf("no dense library at %s\n", getenv("HEADRACE_DNN"));
  return dnn;
}

static float* random_floats(int64_t count) {
  float* p = hr_alloc_array((size_t)count + 1, sizeof *p);
  for (int64_t i = 0; p && i < count; ++i) p[i] = (float)(rand() % 2001 - 1000) / 1000.0f;
  return p;
}

static double worst_difference(const float* a, const float* b, int64_t count) {
  double worst = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = fabs((double)a[i] - (double)b[i]);
    if (!(d <= worst)) worst = d; /* NaN too */
  }
  return worst;
}

static void check_matmul(const hr_dnn_t* dnn, hr_dnn_matmul_t d) {
  float *a = random_floats(d.batch * d.m * d.k), *b = random_floats(d.batch * d.k * d.n), *bias = random_floats(d.n);
  float *c = random_floats(d.batch * d.m * d.n), *want = random_floats(d.batch * d.m * d.n);
  d.stride_a = d.m * d.k;
  d.stride_b = d.k * d.n;
  d.stride_c = d.m * d.n;
  hr_dnn_prim_t* prim = NULL;
  HR_CHECK(dnn->matmul(&d, 2, &prim) == NULL);
  HR_CHECK(prim && dnn->run(prim, a, b, d.bias ? bias : NULL, c, 2) == NULL);
  for (int64_t i = 0; i < d.batch; ++i) {
    const hr_gemm_t g = {.m = d.m,
                         .n = d.n,
                         .k = d.k,
                         .a = a + i * d.stride_a,
                         .b = b + i * d.stride_b,
                         .c = want + i * d.stride_c,
                         .a_row = d.transpose_a ? 1 : d.k,
                         .a_col = d.transpose_a ? d.m : 1,
                         .b_row = d.transpose_b ? 1 : d.n,
                         .b_col = d.transpose_b ? d.k : 1,
                         .c_row = d.n,
                         .a_type = HR_F32,
                         .b_type = HR_F32,
                         .c_type = HR_F32};
    HR_CHECK(hr_gemm_run(&g, 1) == NULL);
  }
  for (int64_t i = 0; i < d.batch * d.stride_c; ++i) {
    if (d.bias) want[i] += bias[i % d.n];
    if (d.activation == HR_DNN_RELU && want[i] < 0.0f) want[i] = 0.0f;
  }
  HR_CHECK(worst_difference(c, want, d.batch * d.stride_c) < 1e-4);
  dnn->release(prim);
  float* const all[] = {a, b, bias, c, want};
  for (int i = 0; i < 5; ++i) hr_free(all[i]);
}

HR_TEST(matmul_agrees_with_ours) {
  const hr_dnn_t* dnn = dnn_or_note();
  for (int mode = 0; dnn && mode < 16; ++mode)
    check_matmul(dnn, (hr_dnn_matmul_t){.batch = mode & 4 ? 3 : 1,
                                        .m = 17,
                                        .n = 33,
                                        .k = 29,
                                        .transpose_a = mode & 1,
                                        .transpose_b = (mode & 2) != 0,
                                        .bias = (mode & 8) != 0,
                                        .activation = mode & 8 ? HR_DNN_RELU : HR_DNN_NONE});
}

typedef struct {
  int64_t a, b, c; /* elements of the operands */
} conv_sizes_t;

static conv_sizes_t sizes_of(const hr_dnn_conv_t* d) {
  const int64_t in = d->batch * d->in_h * d->in_w * d->in_c, out = d->batch * d->out_h * d->out_w * d->out_c;
  const int64_t filter = d->k_h * d->k_w * (d->in_c / d->groups) * d->out_c;
  if (d->kind == HR_DNN_CONV_FORWARD) return (conv_sizes_t){in, filter, out};
  return d->kind == HR_DNN_CONV_DATA ? (conv_sizes_t){out, filter, in} : (conv_sizes_t){in, out, filter};
}

static void check_conv(const hr_dnn_t* dnn, const hr_dnn_conv_t* d) {
  const conv_sizes_t s = sizes_of(d);
  float *a = random_floats(s.a), *b = random_floats(s.b), *c = random_floats(s.c), *packed = random_floats(s.c), *want = random_floats(s.c);
  hr_kernel_ctx_t k = {.threads = 2};
  hr_dnn_prim_t* prim = NULL;
  hr_dnn_pack_t* pack = NULL;
  HR_CHECK(hr_conv2d_plain(&k, d, HR_F32, a, b, want) == NULL);
  HR_CHECK(dnn->conv(d, 2, &prim) == NULL);
  HR_CHECK(prim && dnn->run(prim, a, b, NULL, c, 2) == NULL);
  double worst = worst_difference(c, want, s.c);
  HR_CHECK(prim && dnn->pack(prim, b, 2, &pack) == NULL);
  if (pack) {
    HR_CHECK(dnn->pack_fits(pack, prim));
    HR_CHECK(dnn->run_packed(prim, a, pack, NULL, packed, 2) == NULL);
    if (worst_difference(packed, want, s.c) > worst) worst = worst_difference(packed, want, s.c);
  }
  if (!(worst < 2e-4))
    hr_test_fail(__FILE__, __LINE__, "kind %d nchw %d groups %d stride %d dilation %d: differs by %g", (int)d->kind, d->nchw,
                 (int)d->groups, (int)d->stride_h, (int)d->dilation_h, worst);
  dnn->unpack(pack);
  dnn->release(prim);
  float* const all[] = {a, b, c, packed, want};
  for (int i = 0; i < 5; ++i) hr_free(all[i]);
}

HR_TEST(convolutions_agree_with_ours) {
  const hr_dnn_t* dnn = dnn_or_note();
  static const int64_t rows[][4] = {{1, 1, 1, 3}, {2, 1, 1, 3}, {1, 2, 1, 3},
                                    {1, 1, 2, 3}, {2, 1, 4, 1}, {3, 1, 1, 2}}; /* stride, dilation, groups, k */
  for (size_t i = 0; dnn && i < sizeof rows / sizeof *rows; ++i) {
    for (int mode = 0; mode < 6; ++mode) {
      const int64_t stride = rows[i][0], dilation = rows[i][1], k = rows[i][3], seen = (k - 1) * dilation + 1;
      hr_dnn_conv_t d = {.kind = (hr_dnn_conv_kind_t)(mode / 2),
                         .nchw = mode % 2,
                         .batch = 3,
                         .in_c = 8,
                         .in_h = 11,
                         .in_w = 9,
                         .out_c = 12,
                         .k_h = k,
                         .k_w = k,
                         .groups = rows[i][2],
                         .stride_h = stride,
                         .stride_w = stride,
                         .dilation_h = dilation,
                         .dilation_w = dilation,
                         .pad_top = k > 1,
                         .pad_left = k > 1,
                         .pad_right = k > 2};
      d.out_h = (d.in_h + d.pad_top + d.pad_bottom - seen) / stride + 1;
      d.out_w = (d.in_w + d.pad_left + d.pad_right - seen) / stride + 1;
      check_conv(dnn, &d);
    }
  }
}

typedef struct {
  const hr_dnn_t* dnn;
  const hr_dnn_conv_t* d;
  const float *a, *b, *want;
  int64_t count;
  bool same;
} racer_t;

static void* race(void* arg) {
  racer_t* r = arg;
  float* c = random_floats(r->count);
  r->same = c != NULL;
  for (int i = 0; i < 50 && r->same; ++i) {
    hr_dnn_prim_t* prim = NULL;
    r->same = r->dnn->conv(r->d, 1, &prim) == NULL && r->dnn->run(prim, r->a, r->b, NULL, c, 1) == NULL &&
              !memcmp(c, r->want, (size_t)r->count * 4);
    r->dnn->release(prim);
  }
  hr_free(c);
  return NULL;
}

HR_TEST(one_primitive_serves_many_threads) {
  const hr_dnn_t* dnn = dnn_or_note();
  if (!dnn) return;
  const hr_dnn_conv_t d = {.batch = 2,
                           .in_c = 16,
                           .in_h = 8,
                           .in_w = 8,
                           .out_c = 16,
                           .out_h = 8,
                           .out_w = 8,
                           .k_h = 3,
                           .k_w = 3,
                           .groups = 1,
                           .stride_h = 1,
                           .stride_w = 1,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .pad_top = 1,
                           .pad_bottom = 1,
                           .pad_left = 1,
                           .pad_right = 1};
  const conv_sizes_t s = sizes_of(&d);
  float *a = random_floats(s.a), *b = random_floats(s.b), *want = random_floats(s.c);
  hr_dnn_prim_t* prim = NULL;
  HR_CHECK(dnn->conv(&d, 1, &prim) == NULL && dnn->run(prim, a, b, NULL, want, 1) == NULL);
  dnn->release(prim);
  racer_t racers[8];
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    racers[i] = (racer_t){dnn, &d, a, b, want, s.c, false};
    pthread_create(&threads[i], NULL, race, &racers[i]);
  }
  for (int i = 0; i < 8; ++i) {
    pthread_join(threads[i], NULL);
    HR_CHECK(racers[i].same);
  }
  hr_free(a);
  hr_free(b);
  hr_free(want);
}

HR_TEST(cache_is_bounded) { /* more geometries than it keeps: the first still works, made again */
  const hr_dnn_t* dnn = dnn_or_note();
  float a[2000] = {1.0f}, b[2000] = {2.0f}, c[1100];
  for (int64_t n = 1; dnn && n <= 1100; ++n) {
    const hr_dnn_matmul_t d = {.batch = 1, .m = 1, .n = n, .k = 1, .stride_a = 1, .stride_b = n, .stride_c = n};
    hr_dnn_prim_t* prim = NULL;
    HR_REQUIRE(dnn->matmul(&d, 1, &prim) == NULL);
    HR_CHECK(dnn->run(prim, a, b, NULL, c, 1) == NULL && c[0] == 2.0f);
    dnn->release(prim);
  }
  if (dnn) check_matmul(dnn, (hr_dnn_matmul_t){.batch = 1, .m = 1, .n = 1, .k = 1});
}

/* --- which primitive is which --------------------------------------------------------------------------------------------------------- */

static const hr_dnn_conv_t key_conv = {.batch = 2,
                                       .in_c = 4,
                                       .in_h = 9,
                                       .in_w = 9,
                                       .out_c = 4,
                                       .out_h = 4,
                                       .out_w = 4,
                                       .k_h = 3,
                                       .k_w = 3,
                                       .groups = 1,
                                       .stride_h = 2,
                                       .stride_w = 2,
                                       .dilation_h = 1,
                                       .dilation_w = 1};

/* What no other descriptor of the list may share a primitive with; those that oneDNN refuses are left out. */
static int conv_variants(hr_dnn_conv_t* d) {
  int n = 0;
  for (int form = 0; form < 24; ++form) {
    const bool forward = form % 3 == 0;
    if (!forward && form > 5) continue;
    d[n] = key_conv;
    d[n].kind = (hr_dnn_conv_kind_t)(form % 3);
    d[n].nchw = form / 3 & 1;
    d[n].bias = forward && form / 3 & 2;
    d[n++].sum = forward && form / 3 & 4;
  }
#define VARIANT(...) d[n] = key_conv, __VA_ARGS__, ++n
  VARIANT(d[n].batch = 3);
  VARIANT(d[n].in_c = 8);
  VARIANT(d[n].in_h = 10);
  VARIANT(d[n].in_w = 10);
  VARIANT(d[n].out_c = 8);
  VARIANT(d[n].in_h = 11, d[n].out_h = 5);
  VARIANT(d[n].in_w = 11, d[n].out_w = 5);
  VARIANT(d[n].k_h = 2);
  VARIANT(d[n].k_w = 2);
  VARIANT(d[n].groups = 2);
  VARIANT(d[n].stride_h = 1, d[n].out_h = 7);
  VARIANT(d[n].stride_w = 1, d[n].out_w = 7);
  VARIANT(d[n].in_h = 11, d[n].dilation_h = 2);
  VARIANT(d[n].in_w = 11, d[n].dilation_w = 2);
  VARIANT(d[n].pad_top = 1);
  VARIANT(d[n].pad_bottom = 1);
  VARIANT(d[n].pad_left = 1);
  VARIANT(d[n].pad_right = 1);
  VARIANT(d[n].activation = HR_DNN_RELU);
  VARIANT(d[n].activation = HR_DNN_LEAKY_RELU, d[n].alpha = 0.1f);
  VARIANT(d[n].activation = HR_DNN_LEAKY_RELU, d[n].alpha = 0.2f);
#undef VARIANT
  return n;
}

static void check_apart(const hr_dnn_t* dnn, hr_dnn_prim_t** prims, int count) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < i; ++j)
      if (prims[i] && prims[i] == prims[j]) hr_test_fail(__FILE__, __LINE__, "descriptors %d and %d have one primitive", j, i);
  for (int i = 0; i < count; ++i)
    if (prims[i]) dnn->release(prims[i]);
}

HR_TEST(convolutions_that_differ_have_primitives_of_their_own) {
  const hr_dnn_t* dnn = dnn_or_note();
  enum { MOST = 64 };
  hr_dnn_conv_t d[MOST];
  hr_dnn_prim_t *prims[2 * MOST], *again = NULL;
  if (!dnn) return;
  const int n = conv_variants(d);
  for (int i = 0; i < 2 * n; ++i) {
    prims[i] = NULL;
    if (!HR_CHECK_OK(dnn->conv(&d[i / 2], 1 + i % 2, &prims[i]))) return; /* each for one thread and for two */
    HR_CHECK_OK(dnn->conv(&d[i / 2], 1 + i % 2, &again));
    HR_CHECK(again == prims[i]); /* and found again */
    dnn->release(again);
  }
  check_apart(dnn, prims, 2 * n);
}

HR_TEST(products_that_differ_have_primitives_of_their_own) {
  const hr_dnn_t* dnn = dnn_or_note();
  enum { MOST = 64 };
  const hr_dnn_matmul_t base = {.batch = 2, .m = 6, .n = 6, .k = 6, .stride_a = 36, .stride_b = 36, .stride_c = 36};
  hr_dnn_matmul_t d[MOST];
  hr_dnn_prim_t *prims[MOST], *again = NULL;
  int n = 0;
  if (!dnn) return;
  for (int form = 0; form < 16; ++form) {
    d[n] = base;
    d[n].transpose_a = form & 1;
    d[n].transpose_b = form & 2;
    d[n].bias = form & 4;
    d[n++].sum = form & 8;
  }
#define VARIANT(...) d[n] = base, __VA_ARGS__, ++n
  VARIANT(d[n].batch = 3);
  VARIANT(d[n].m = 5);
  VARIANT(d[n].n = 5);
  VARIANT(d[n].k = 5);
  VARIANT(d[n].stride_a = 40);
  VARIANT(d[n].stride_b = 40);
  VARIANT(d[n].stride_c = 40);
  VARIANT(d[n].activation = HR_DNN_RELU);
  VARIANT(d[n].activation = HR_DNN_TANH);
  VARIANT(d[n].activation = HR_DNN_LEAKY_RELU, d[n].alpha = 0.1f);
  VARIANT(d[n].activation = HR_DNN_LEAKY_RELU, d[n].alpha = 0.2f);
#undef VARIANT
  for (int i = 0; i < n; ++i) {
    prims[i] = NULL;
    if (!HR_CHECK_OK(dnn->matmul(&d[i], 1, &prims[i]))) return;
    HR_CHECK_OK(dnn->matmul(&d[i], 1, &again));
    HR_CHECK(again == prims[i]);
    dnn->release(again);
  }
  check_apart(dnn, prims, n);
}

static hr_dnn_prim_t* wide_product(const hr_dnn_t* dnn, int64_t n) {
  const hr_dnn_matmul_t d = {.batch = 1, .m = 2, .n = n, .k = 1, .stride_a = 2, .stride_b = n, .stride_c = 2 * n};
  hr_dnn_prim_t* prim = NULL;
  HR_CHECK_OK(dnn->matmul(&d, 1, &prim));
  return prim;
}

HR_TEST(the_longest_unused_primitive_leaves_first) {
  enum { LIMIT = 1024 };
  const hr_dnn_t* dnn = dnn_or_note();
  hr_dnn_prim_t* held[LIMIT];
  if (!dnn) return;
  for (int n = 0; n < LIMIT; ++n) held[n] = wide_product(dnn, n + 1); /* held, so that no other takes their place in memory */
  for (int n = 0; n < LIMIT; n += 100) {
    hr_dnn_prim_t* again = wide_product(dnn, n + 1); /* all are there */
    HR_CHECK(again == held[n]);
    dnn->release(again);
  }
  hr_dnn_prim_t *one_more = wide_product(dnn, LIMIT + 1), *used = wide_product(dnn, 1), *last = wide_product(dnn, LIMIT);
  HR_CHECK(used == held[0] && last == held[LIMIT - 1]); /* used since the second was */
  hr_dnn_prim_t* second = wide_product(dnn, 2);
  HR_CHECK(second != held[1]);
  hr_dnn_prim_t* const all[] = {one_more, used, last, second};
  for (int i = 0; i < 4; ++i) dnn->release(all[i]);
  for (int n = 0; n < LIMIT; ++n) dnn->release(held[n]);
}

HR_TEST_MAIN()
