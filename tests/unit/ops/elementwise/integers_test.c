/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of integers, for all eight types at the ends of their ranges and around zero, against arithmetic in 128 bits cut
 * to the type's width; each operand staying too, and the comparisons. */
#include "ops/elementwise/binary.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/pair.h"
#include "ops/elementwise/unary.h"
#include "test.h"

__extension__ typedef __int128 whole_t;
__extension__ typedef unsigned __int128 unsigned_whole_t;
static const hr_dtype_t types[] = {HR_I8, HR_U8, HR_I16, HR_U16, HR_I32, HR_U32, HR_I64, HR_U64};
enum { TYPES = sizeof types / sizeof *types, MOST = 40 };

static bool is_signed(hr_dtype_t t) { return t == HR_I8 || t == HR_I16 || t == HR_I32 || t == HR_I64; }
static int bits_of(hr_dtype_t t) { return (int)hr_dtype_size(t) * 8; }

static whole_t cut(hr_dtype_t t, whole_t v) { /* to the type's bits */
  const int drop = 64 - bits_of(t);
  const uint64_t low = (uint64_t)v << drop;
  return is_signed(t) ? (whole_t)((int64_t)low >> drop) : (whole_t)(low >> drop);
}
static whole_t read_at(hr_dtype_t t, const void* p, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char*)p + (size_t)i * hr_dtype_size(t), hr_dtype_size(t));
  return cut(t, (whole_t)bits);
}
static void write_at(hr_dtype_t t, void* p, int64_t i, whole_t v) {
  const uint64_t bits = (uint64_t)v;
  memcpy((char*)p + (size_t)i * hr_dtype_size(t), &bits, hr_dtype_size(t));
}

/* The ends of the range, zero, and what is next to them. */
static int edges_of(hr_dtype_t t, whole_t* out) {
  const whole_t top = ((whole_t)1 << (bits_of(t) - is_signed(t))) - 1, low = is_signed(t) ? -top - 1 : 0;
  int n = 0;
  for (int i = 0; i < 10; ++i) out[n++] = i;
  for (int i = 1; i < 10 && is_signed(t); ++i) out[n++] = -i;
  for (int i = 0; i < 3; ++i) out[n++] = top - i, out[n++] = low + i;
  out[n++] = bits_of(t) - 1;
  out[n++] = bits_of(t);
  out[n++] = top / 2;
  out[n++] = top / 2 + 1;
  out[n++] = top / 3;
  return n;
}

/* --- what is right */

static whole_t floor_quotient(whole_t x, whole_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
/* The low 64 bits. */
static whole_t times(whole_t x, whole_t y) { return cut(HR_U64, (whole_t)((unsigned_whole_t)x * (unsigned_whole_t)y)); }

static whole_t power(hr_dtype_t t, whole_t x, whole_t n) { /* by squaring, cut at each step */
  whole_t r = 1;
  for (; n > 0; n /= 2, x = times(x, x))
    if (n % 2) r = times(r, x);
  return cut(t, r);
}
static int shift_count(hr_dtype_t t, whole_t y) { return y < 0 ? 0 : y >= bits_of(t) ? bits_of(t) - 1 : (int)y; }

static whole_t binary_of(int op, hr_dtype_t t, whole_t x, whole_t y) {
  switch (op) {
    case BINARY_Add: case BINARY_AddV2: return x + y;
    case BINARY_Sub: return x - y;
    case BINARY_Mul: return times(x, y);
    case BINARY_Maximum: return x > y ? x : y;
    case BINARY_Minimum: return x < y ? x : y;
    case BINARY_BitwiseAnd: return x & y;
    case BINARY_BitwiseOr: return x | y;
    case BINARY_BitwiseXor: return x ^ y;
    case BINARY_Div: case BINARY_TruncateDiv: return x / y;
    case BINARY_FloorDiv: return floor_quotient(x, y);
    case BINARY_FloorMod: return x - floor_quotient(x, y) * y;
    case BINARY_Mod: case BINARY_TruncateMod: return x % y;
    case BINARY_LeftShift: return x * ((whole_t)1 << shift_count(t, y));
    case BINARY_RightShift: return x >> shift_count(t, y);
    case BINARY_SquaredDifference: return times(x - y, x - y);
    default: return power(t, x, y); /* Pow */
  }
}
static bool divides(int op) {
  return op == BINARY_Div || op == BINARY_TruncateDiv || op == BINARY_FloorDiv || op == BINARY_FloorMod || op == BINARY_Mod ||
         op == BINARY_TruncateMod;
}

static whole_t unary_of(int op, whole_t x) {
  switch (op) {
    case UNARY_Abs: return x < 0 ? -x : x;
    case UNARY_Inv: case UNARY_Reciprocal: return x == 1 || x == -1 ? x : 0;
    case UNARY_Invert: return ~x;
    case UNARY_Neg: return -x;
    case UNARY_Relu: return x > 0 ? x : 0;
    case UNARY_Relu6: return x < 0 ? 0 : x > 6 ? 6 : x;
    case UNARY_Sign: return (x > 0) - (x < 0);
    case UNARY_Square: return times(x, x);
    default: return x; /* Round */
  }
}

/* --- loops */

static int loops_seen;

typedef whole_t (*want_fn)(int op, hr_dtype_t t, whole_t x, whole_t y);
static void check_loop(const char* what, int op, hr_dtype_t t, hr_loop2_t loop, int form, want_fn want) {
  const bool avoids_zero = want == binary_of && divides(op), avoids_negative = want == binary_of && op == BINARY_Pow;
  whole_t edges[MOST];
  uint64_t x[MOST], y[MOST], z[MOST];
  const int n = edges_of(t, edges);
  if (!loop) return;
  ++loops_seen;
  for (int turn = 0; turn < n; ++turn) {
    for (int i = 0; i < n; ++i) { /* pairs of all with all, or one of them that stays */
      whole_t second = edges[form == LOOP_Y_STAYS ? turn : (i + turn) % n];
      if ((avoids_zero && second == 0) || (avoids_negative && second < 0)) second = 3;
      write_at(t, x, i, edges[form == LOOP_X_STAYS ? turn : i]);
      write_at(t, y, i, second);
    }
    loop(x, y, z, n);
    for (int i = 0; i < n; ++i) {
      const whole_t a = read_at(t, x, i), b = read_at(t, y, i), right = cut(t, want(op, t, a, b)), got = read_at(t, z, i);
      if (got != right)
        hr_test_fail(__FILE__, __LINE__, "%s %d of %s, form %d: %lld and %lld give %lld, not %lld", what, op, hr_dtype_name((int)t), form,
                     (long long)a, (long long)b, (long long)got, (long long)right);
    }
  }
}

HR_TEST(functions_of_two) {
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (int op = 0; op < BINARY_COUNT; ++op)
      for (int t = 0; t < TYPES; ++t)
        for (int form = 0; form < LOOP_FORMS; ++form)
          check_loop("function", op, types[t], (*HR_ISA_PICK(hr_binary_vec))[op][types[t]][form], form, binary_of);
  }
  hr_isa_force(hr_isa_best());
  HR_CHECK(loops_seen > 400);
}

static whole_t pair_of(int op, hr_dtype_t t, whole_t x, whole_t y) {
  (void)t;
  return op == PAIR_Relu6Grad ? (y > 0 && y < 6 ? x : 0) : y > 0 ? x : 0;
}
static whole_t first_of(int op, hr_dtype_t t, whole_t x, whole_t y) {
  (void)t;
  (void)y;
  return unary_of(op, x);
}
static hr_loop1_t unary_loop;
static void as_pair(const void* x, const void* y, void* z, int64_t n) {
  (void)y;
  unary_loop(x, z, n);
}

HR_TEST(functions_of_one_and_gradients) {
  loops_seen = 0;
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (int t = 0; t < TYPES; ++t) {
      for (int op = 0; op < PAIR_COUNT; ++op)
        check_loop("gradient", op, types[t], (*HR_ISA_PICK(hr_pair_vec))[op][types[t]], LOOP_BOTH, pair_of);
      for (int op = 0; op < UNARY_COUNT; ++op) {
        unary_loop = (*HR_ISA_PICK(hr_unary_vec))[op][types[t]];
        if (unary_loop) check_loop("function of one", op, types[t], as_pair, LOOP_BOTH, first_of);
      }
    }
  }
  hr_isa_force(hr_isa_best());
  HR_CHECK(loops_seen > 80);
}

static bool compared(int op, whole_t x, whole_t y) {
  switch (op) {
    case COMPARE_Equal: return x == y;
    case COMPARE_NotEqual: return x != y;
    case COMPARE_Less: return x < y;
    case COMPARE_LessEqual: return x <= y;
    case COMPARE_Greater: return x > y;
    default: return x >= y;
  }
}

HR_TEST(comparisons) {
  static const int ops[] = {COMPARE_Equal, COMPARE_NotEqual, COMPARE_Less, COMPARE_LessEqual, COMPARE_Greater, COMPARE_GreaterEqual};
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (int k = 0; k < 6 * TYPES; ++k) {
      const hr_dtype_t t = types[k / 6];
      const int op = ops[k % 6];
      whole_t edges[MOST];
      uint64_t x[MOST], y[MOST];
      bool z[MOST];
      const int n = edges_of(t, edges);
      for (int turn = 0; turn < n; ++turn) {
        for (int i = 0; i < n; ++i) write_at(t, x, i, edges[i]), write_at(t, y, i, edges[(i + turn) % n]);
        for (int form = 0; form < LOOP_FORMS; ++form) {
          (*HR_ISA_PICK(hr_compare_vec))[op][t][form](x, y, z, n);
          for (int i = 0; i < n; ++i)
            HR_CHECK(z[i] == compared(op, edges[form == LOOP_X_STAYS ? 0 : i], edges[((form == LOOP_Y_STAYS ? 0 : i) + turn) % n]));
        }
      }
    }
  }
  hr_isa_force(hr_isa_best());
}

HR_TEST_MAIN()
