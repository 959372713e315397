/* SPDX-License-Identifier: Apache-2.0 */
/* What fused products and convolutions do at their end, against the plain formula: scale, bias, addend and activation each there or not, in
 * both layouts, of float and double, on every instruction set; batch norm as a scale and a bias; narrow floats of every length. */
#include "ops/math/matmul/epilogue.h"
#include <math.h>
#include "base/isa.h"
#include "test.h"

enum { CHANNELS = 5, MOST = 400 };
static const hr_dnn_act_t activations[] = {HR_DNN_NONE, HR_DNN_RELU, HR_DNN_RELU6,  HR_DNN_LEAKY_RELU,
                                           HR_DNN_ELU,  HR_DNN_TANH, HR_DNN_SIGMOID};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static double activated(hr_dnn_act_t act, double x, double alpha) {
  switch (act) {
    case HR_DNN_RELU: return fmax(x, 0);
    case HR_DNN_RELU6: return fmin(fmax(x, 0), 6);
    case HR_DNN_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case HR_DNN_ELU: return x < 0 ? expm1(x) : x;
    case HR_DNN_TANH: return tanh(x);
    case HR_DNN_SIGMOID: return 1 / (1 + exp(-x));
    default: return x;
  }
}

static double get(hr_dtype_t t, const void* p, int64_t i) { return t == HR_F64 ? ((const double*)p)[i] : (double)((const float*)p)[i]; }
static void put(hr_dtype_t t, void* p, int64_t i, double v) {
  if (t == HR_F64) ((double*)p)[i] = v;
  else ((float*)p)[i] = (float)v;
}

/* form: bits for scale, bias, addend. */
static void check_apply(hr_dtype_t t, int form, int64_t inner, hr_dnn_act_t act) {
  static double y[MOST], scale[CHANNELS], bias[CHANNELS], add[MOST], want[MOST];
  const int64_t rows = inner ? 2 * CHANNELS : 6, width = inner ? inner : CHANNELS, count = rows * width;
  for (int64_t i = 0; i < count; ++i) put(t, y, i, (double)(i * 7 % 19) - 9), put(t, add, i, (double)(i * 5 % 11) / 4 - 1);
  for (int c = 0; c < CHANNELS; ++c) put(t, scale, c, 0.5 + c % 3), put(t, bias, c, 0.75 * c - 1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t c = inner ? i / inner % CHANNELS : i % CHANNELS;
    double v = get(t, y, i);
    if (form & 1) v *= get(t, scale, c);
    if (form & 2) v += get(t, bias, c);
    if (form & 4) v += get(t, add, i);
    want[i] = activated(act, v, 0.25);
  }
  const hr_epilogue_run_t run = {.y = y,
                                 .scale = form & 1 ? scale : NULL,
                                 .bias = form & 2 ? bias : NULL,
                                 .add = form & 4 ? add : NULL,
                                 .rows = rows,
                                 .n = CHANNELS,
                                 .inner = inner,
                                 .activation = act,
                                 .alpha = 0.25f};
  hr_kernel_ctx_t k = {.threads = 1};
  HR_CHECK_OK(hr_epilogue_apply(&k, t, &run));
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) worst = fmax(worst, fabs(get(t, y, i) - want[i]) / fmax(1, fabs(want[i])));
  if (!(worst <= (t == HR_F64 ? 1e-15 : 1e-6)))
    hr_test_fail(__FILE__, __LINE__, "%s, form %d, inner %d, activation %d: differs by %g", hr_dtype_name((int)t), form, (int)inner,
                 (int)act, worst);
}

HR_TEST(all_that_may_follow) {
  static const int64_t inners[] = {0, 1, 7, 33};
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (int form = 0; form < 8; ++form)
      for (int i = 0; i < 4; ++i)
        for (int a = 0; a < ACTIVATIONS; ++a) {
          check_apply(HR_F32, form, inners[i], activations[a]);
          check_apply(HR_F64, form, inners[i], activations[a]);
        }
  }
  hr_isa_force(hr_isa_best());
}

static void check_fold(hr_dtype_t t) {
  static double vectors[4][CHANNELS], scale[CHANNELS], bias[CHANNELS];
  const void* const args[4] = {vectors[0], vectors[1], vectors[2], vectors[3]};
  for (int v = 0; v < 4; ++v)
    for (int c = 0; c < CHANNELS; ++c) put(t, vectors[v], c, 1 + (v + 2) * (c + 1) % 7);
  hr_epilogue_fold_norm(t, args, CHANNELS, 0.25f, scale, bias);
  for (int c = 0; c < CHANNELS; ++c) {
    const double s = get(t, vectors[0], c) / sqrt(get(t, vectors[3], c) + 0.25), close = t == HR_F64 ? 1e-15 : 1e-6;
    HR_CHECK_NEAR(get(t, scale, c), s, 4 * close);
    HR_CHECK_NEAR(get(t, bias, c), get(t, vectors[1], c) - get(t, vectors[2], c) * s, 16 * close);
  }
}
HR_TEST(batch_norm_as_a_scale_and_a_bias) {
  check_fold(HR_F32);
  check_fold(HR_F64);
}

static void check_narrow(hr_dtype_t t, int64_t n) {
  const hr_shape_t shape = hr_shape_vector(n);
  hr_tensor_t narrow, wide, back;
  HR_REQUIRE(hr_tensor_create(t, &shape, &narrow) == NULL && hr_tensor_create(t, &shape, &back) == NULL);
  hr_kernel_ctx_t k = {.threads = 1};
  for (int64_t i = 0; i < n; ++i) {
    const float v = (float)(i % 200) - 100;
    ((uint16_t*)narrow.data)[i] = t == HR_BF16 ? hr_bf16_from_f32(v).bits : hr_f16_from_f32(v).bits;
  }
  HR_CHECK_OK(hr_epilogue_widen(&k, &narrow, &wide));
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i) wrong += ((float*)wide.data)[i] != (float)(i % 200) - 100;
  HR_CHECK_OK(hr_epilogue_narrow(&k, wide.data, &back));
  HR_CHECK_EQ_I64(wrong, 0);
  HR_CHECK(memcmp(back.data, narrow.data, (size_t)n * 2) == 0);
  hr_tensor_t* const all[] = {&narrow, &wide, &back};
  for (int i = 0; i < 3; ++i) hr_tensor_release(all[i]);
}
HR_TEST(narrow_floats_of_every_length) {
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (int64_t n = 1; n < 40; ++n) check_narrow(HR_F16, n), check_narrow(HR_BF16, n);
  }
  hr_isa_force(hr_isa_best());
}

HR_TEST_MAIN()
