/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizers' rules against their formulas in complex double, for every type and instruction set, around the widths of vectors:
 * flags both ways, elements past the end stay. */
#include "ops/train/update.h"
#include <complex.h>
#include "base/half.h"
#include "test.h"

typedef double complex number_t;
typedef struct {
  number_t x, a, b, c; /* the variable and its slots */
} state_t;
enum { HYPER = HR_UPDATE_HYPER, SLOTS = 3, MOST = 700 };

static const char* const rule_names[RULE_COUNT] = {
#define RULE(Name, ...) [RULE_##Name] = #Name,
#define REAL_RULE(Name, ...) RULE(Name, )
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
};

static double sign_of(double v) { return (v > 0) - (v < 0); }
static number_t shrunk(number_t v, double by, double over) {
  const double x = creal(v);
  return (by > 0 ? sign_of(x) * fmax(fabs(x) - by, 0) : x) / over;
}

static state_t ftrl(state_t s, number_t g, number_t given, const double* h, double lr_power, bool by_lr) { /* the same in rows */
  const double lr = h[0], l1 = h[1], l2 = h[2], power = -lr_power;
  const double next = creal(s.a + g * g), grown = pow(next, power), change = grown - pow(creal(s.a), power);
  s.b += by_lr ? given * lr - change * s.x : given - change / lr * s.x;
  const double limit = by_lr ? l1 * lr : l1, pull = by_lr ? grown + 2 * l2 * lr : grown / lr + 2 * l2, b = creal(s.b);
  s.x = fabs(b) > limit ? (sign_of(b) * limit - b) / pull : 0;
  s.a = next;
  return s;
}

static state_t stepped_real(int rule, state_t s, number_t g, const double* h, bool flag) {
  switch (rule) {
    case RULE_AdaMax:
      s.a += (g - s.a) * (1 - h[2]);
      s.b = fmax(creal(s.b) * h[3], fabs(creal(g)));
      s.x -= h[1] / (1 - h[0]) * s.a / (s.b + h[4]);
      break;
    case RULE_AddSign:
      s.a = s.a * h[3] + g * (1 - h[3]);
      s.x -= h[0] * (h[1] + h[2] * sign_of(creal(g)) * sign_of(creal(s.a))) * g;
      break;
    case RULE_PowerSign:
      s.a = s.a * h[3] + g * (1 - h[3]);
      s.x -= h[0] * exp(h[1] * h[2] * sign_of(creal(g)) * sign_of(creal(s.a))) * g;
      break;
    case RULE_ProximalGradientDescent: s.x = shrunk(s.x - h[0] * g, h[0] * h[1], 1 + h[2] * h[0]); break;
    case RULE_ProximalAdagrad: {
      s.a += g * g;
      const double rate = h[0] / sqrt(creal(s.a));
      s.x = shrunk(s.x - rate * g, rate * h[1], 1 + h[2] * rate);
      break;
    }
    case RULE_AdagradDA:
      s.a += g;
      s.b += g * g;
      s.x = -h[0] * shrunk(s.a, h[1] * h[3], h[2] * h[3] * h[0] + sqrt(creal(s.b)));
      break;
    case RULE_Ftrl: return ftrl(s, g, g, h, h[3], flag);
    default: return ftrl(s, g, g + 2 * h[3] * s.x, h, h[4], flag);
  }
  return s;
}

static state_t stepped(int rule, state_t s, number_t g, const double* h, bool flag) {
  switch (rule) {
    case RULE_GradientDescent: s.x -= h[0] * g; break;
    case RULE_Momentum:
      s.a = s.a * h[1] + g;
      s.x -= flag ? g * h[0] + s.a * h[1] * h[0] : s.a * h[0];
      break;
    case RULE_KerasMomentum:
      s.a = s.a * h[1] - g * h[0];
      s.x += flag ? s.a * h[1] - g * h[0] : s.a;
      break;
    case RULE_Adagrad:
      if (flag) s.a += g * g;
      s.x -= g * h[0] / csqrt(s.a);
      break;
    case RULE_AdagradV2:
      if (flag) s.a += g * g;
      s.x -= g * h[0] / (csqrt(s.a) + h[1]);
      break;
    case RULE_Adadelta: {
      s.a = s.a * h[1] + g * g * (1 - h[1]);
      const number_t update = csqrt(s.b + h[2]) / csqrt(s.a + h[2]) * g;
      s.x -= update * h[0];
      s.b = s.b * h[1] + update * update * (1 - h[1]);
      break;
    }
    case RULE_RMSProp:
      s.a += (g * g - s.a) * (1 - h[1]);
      s.b = s.b * h[2] + g * h[0] / csqrt(s.a + h[3]);
      s.x -= s.b;
      break;
    case RULE_CenteredRMSProp:
      s.b += (g * g - s.b) * (1 - h[1]);
      s.a += (g - s.a) * (1 - h[1]);
      s.c = s.c * h[2] + g * h[0] / csqrt(s.b - s.a * s.a + h[3]);
      s.x -= s.c;
      break;
    case RULE_Adam: case RULE_AdamWithAmsgrad: {
      const double rate = h[2] * sqrt(1 - h[1]) / (1 - h[0]);
      s.a += (g - s.a) * (1 - h[3]);
      s.b += (g * g - s.b) * (1 - h[4]);
      if (rule == RULE_AdamWithAmsgrad) s.c = fmax(creal(s.c), creal(s.b));
      const number_t towards = rule == RULE_Adam && flag ? g * (1 - h[3]) + s.a * h[3] : s.a;
      s.x -= towards * rate / (csqrt(rule == RULE_Adam ? s.b : s.c) + h[5]);
      break;
    }
    default: return stepped_real(rule, s, g, h, flag);
  }
  return s;
}

/* --- elements ------------------------------------------------------------------------------------------------------------------------ */

static bool is_complex(hr_dtype_t t) { return t == HR_C64 || t == HR_C128; }
static bool is_ftrl(int rule) { return rule == RULE_Ftrl || rule == RULE_FtrlV2; }

static number_t element(hr_dtype_t t, const void* p, int64_t i) {
  switch (t) {
    case HR_F32: return (double)((const float*)p)[i];
    case HR_F64: return ((const double*)p)[i];
    case HR_F16: return (double)hr_f16_to_f32(((const hr_f16_t*)p)[i]);
    case HR_BF16: return (double)hr_bf16_to_f32(((const hr_bf16_t*)p)[i]);
    case HR_C64: return ((const float complex*)p)[i];
    default: return ((const double complex*)p)[i];
  }
}
static void put(hr_dtype_t t, void* p, int64_t i, number_t v) {
  switch (t) {
    case HR_F32: ((float*)p)[i] = (float)creal(v); break;
    case HR_F64: ((double*)p)[i] = creal(v); break;
    case HR_F16: ((hr_f16_t*)p)[i] = hr_f16_from_f32((float)creal(v)); break;
    case HR_BF16: ((hr_bf16_t*)p)[i] = hr_bf16_from_f32((float)creal(v)); break;
    case HR_C64: ((float complex*)p)[i] = (float complex)v; break;
    default: ((double complex*)p)[i] = v; break;
  }
}

static double some(int64_t i, int which, double low, double high) {
  return low + (high - low) * (double)((i * 37 + which * 61 + i / 5 * which) % 101) / 100;
}

typedef struct {
  _Alignas(64) char at[1 + SLOTS][(MOST + 1) * 16];
  char grad[(MOST + 1) * 16];
  void* places[1 + SLOTS];
} bench_t;
static bench_t bench;

/* Squares that roots are taken of are above zero; what may be of either sign is. */
static void fill(hr_dtype_t t, int rule, int64_t n) {
  const bool first_signed = rule == RULE_Momentum || rule == RULE_KerasMomentum || rule == RULE_Adam || rule == RULE_AdamWithAmsgrad ||
                            rule == RULE_AdaMax || rule == RULE_AddSign || rule == RULE_PowerSign || rule == RULE_AdagradDA;
  for (int64_t i = 0; i <= n; ++i) {
    const number_t turn = is_complex(t) ? 1 + 0.25 * I : 1;
    put(t, bench.at[0], i, some(i, 1, -2, 2) * turn);
    put(t, bench.at[1], i, rule == RULE_CenteredRMSProp ? some(i, 2, -0.3, 0.3) : some(i, 2, first_signed ? -1 : 0.25, 2) * turn);
    put(t, bench.at[2], i, is_ftrl(rule) ? some(i, 3, -2, 2) : some(i, 3, 0.5, 2) * turn);
    put(t, bench.at[3], i, some(i, 4, 0.5, 3) * turn);
    put(t, bench.grad, i, i % 7 == 3 ? 0 : some(i, 5, -1.5, 1.5) * turn);
  }
  for (int v = 0; v < 1 + SLOTS; ++v) bench.places[v] = bench.at[v];
}

static double difference(number_t a, number_t b) { return cabs(a - b) / fmax(1, cabs(b)); }

static void check_step(int rule, hr_dtype_t t, int64_t n, const double* h, hr_update_how_t how, hr_update_t loop, double tolerance) {
  static state_t want[MOST];
  double complex hyper[HYPER]; /* room for any type */
  const hr_dtype_t narrowest = t == HR_F16 || t == HR_BF16 ? HR_F32 : t;
  fill(t, rule, n);
  for (int i = 0; i < HYPER; ++i) put(narrowest, hyper, i, h[i]);
  for (int64_t i = 0; i < n; ++i) {
    const state_t s = {element(t, bench.at[0], i), element(t, bench.at[1], i), element(t, bench.at[2], i), element(t, bench.at[3], i)};
    want[i] = stepped(rule, s, element(t, bench.grad, i), h, how.flag);
  }
  number_t kept[1 + SLOTS];
  for (int v = 0; v < 1 + SLOTS; ++v) kept[v] = element(t, bench.at[v], n);
  if (narrowest == t) loop(bench.places, bench.grad, hyper, how, n);
  else if (is_ftrl(rule)) hr_update_ftrl_narrow(t == HR_BF16, rule == RULE_FtrlV2, bench.places, bench.grad, hyper, how, n);
  else hr_update_narrow(loop, t == HR_BF16, 1 + SLOTS, bench.places, bench.grad, hyper, how, n);
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    const number_t wanted[1 + SLOTS] = {want[i].x, want[i].a, want[i].b, want[i].c};
    for (int v = 0; v < 1 + SLOTS; ++v) worst = fmax(worst, difference(element(t, bench.at[v], i), wanted[v]));
  }
  for (int v = 0; v < 1 + SLOTS; ++v) HR_CHECK(kept[v] == element(t, bench.at[v], n));
  if (!(worst <= tolerance))
    hr_test_fail(__FILE__, __LINE__, "%s of %s, %d elements, flag %d: differs by %g", rule_names[rule], hr_dtype_name((int)t), (int)n,
                 how.flag, worst);
}

/* --- rules ---------------------------------------------------------------------------------------------------------------------------- */

/* Different for each place; of Ftrl the power is the fourth or fifth. */
static void choose_hyper(int rule, int form, double h[HYPER]) {
  static const double usual[HYPER] = {0.4, 0.3, 0.7, 0.613, 0.8, 0.05};
  memcpy(h, usual, sizeof usual);
  if (rule == RULE_Ftrl) h[3] = form & 1 ? -0.5 : -0.75;
  if (rule == RULE_FtrlV2) h[4] = form & 1 ? -0.5 : -0.75;
  const bool shrinks = is_ftrl(rule) || rule == RULE_ProximalGradientDescent || rule == RULE_ProximalAdagrad || rule == RULE_AdagradDA;
  if (form & 2 && shrinks) h[1] = 0;
}

/* The formulas of rows are others, and the same in plain cases. */
static hr_update_how_t how_of(int form) { return (hr_update_how_t){form & 4, form & 8, form & 8}; }

static void check_type(hr_dtype_t t, const hr_update_table_t* table, bool wide, double tolerance) {
  static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
  for (int rule = 0; rule < RULE_COUNT; ++rule)
    for (int form = 0; form < 16 && (*table)[rule][wide]; ++form)
      for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l) {
        double h[HYPER];
        choose_hyper(rule, form, h);
        check_step(rule, t, lengths[l], h, how_of(form), (*table)[rule][wide], tolerance);
      }
}

static const hr_update_table_t* table_of(int isa) {
  return isa == HR_ISA_AVX512 ? &hr_update_vec_avx512 : isa == HR_ISA_AVX2 ? &hr_update_vec_avx2 : &hr_update_vec_sse2;
}

HR_TEST(rules_are_their_formulas) {
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    for (int rule = 0; rule < RULE_COUNT; ++rule) HR_CHECK((*table_of(isa))[rule][0] && (*table_of(isa))[rule][1]);
    check_type(HR_F32, table_of(isa), false, 4e-6);
    check_type(HR_F64, table_of(isa), true, 1e-14);
  }
}

HR_TEST(rules_of_complex_numbers) {
  int real = 0;
  for (int rule = 0; rule < RULE_COUNT; ++rule) real += !hr_update_complex[rule][0] && !hr_update_complex[rule][1];
  HR_CHECK_EQ_I64(real, 9);
  check_type(HR_C64, &hr_update_complex, false, 4e-6);
  check_type(HR_C128, &hr_update_complex, true, 1e-14);
}

HR_TEST(rules_of_narrow_floats) {
  static const int64_t lengths[] = {1, 255, 256, 257, 512, 513, 700};
  for (int bf16 = 0; bf16 < 2; ++bf16)
    for (int rule = 0; rule < RULE_COUNT; ++rule)
      for (int form = 0; form < 16; ++form)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l += is_ftrl(rule) ? 4 : 1) {
          double h[HYPER];
          choose_hyper(rule, form, h);
          check_step(rule, bf16 ? HR_BF16 : HR_F16, lengths[l], h, how_of(form), (*table_of((int)hr_isa_best()))[rule][0],
                     (bf16 ? 8e-3 : 1e-3) * (is_ftrl(rule) ? 10 : 1));
        }
}

/* What a rule makes of one element, which is dense, of a row of one element, or of a longer row. */
static double one_step(int rule, int form, double x, double a, double b, double g, const double* h) {
  double variable = x, first = a, second = b, hyper[HYPER];
  void* const places[1 + SLOTS] = {&variable, &first, &second, NULL};
  memcpy(hyper, h, sizeof hyper);
  hr_update_vec_sse2[rule][true](places, &g, hyper, (hr_update_how_t){false, form > 0, form > 1}, 1);
  return variable;
}

HR_TEST(rows_have_formulas_of_their_own) { /* TensorFlow's answers */
  const double no_step[HYPER] = {1, 0.5, 1, 0}, back[HYPER] = {1, 0.5, 1, -1}, endless[HYPER] = {1, 0, 0, -INFINITY};
  HR_CHECK(fabs(one_step(RULE_AdagradDA, 0, 1, 0.5, 1, 0.5, no_step) + 0.8944271909999159) < 1e-12);
  HR_CHECK(fabs(one_step(RULE_AdagradDA, 1, 1, 0.5, 1, 0.5, no_step) + 0.8944271909999159) < 1e-12);
  HR_CHECK(isnan(one_step(RULE_AdagradDA, 2, 1, 0.5, 1, 0.5, no_step)));
  HR_CHECK(one_step(RULE_AdagradDA, 2, 1, 0.5, 1, 0.5, back) == 0);
  HR_CHECK(one_step(RULE_AdagradDA, 1, 1, 0.5, 1, 0.5, back) != 0);
  HR_CHECK(one_step(RULE_Ftrl, 0, 1, 3, 1, 1, endless) == 0);
  HR_CHECK(isnan(one_step(RULE_Ftrl, 1, 1, 3, 1, 1, endless)));
  HR_CHECK(isnan(one_step(RULE_Ftrl, 2, 1, 3, 1, 1, endless)));
}

HR_TEST_MAIN()
