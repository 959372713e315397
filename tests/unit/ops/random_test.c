/* SPDX-License-Identifier: Apache-2.0 */
/* Random streams: block generation against the plain generator, on each instruction set and across sizes; streams that go on. */
#include "ops/random/philox.h"
#include "session/session.h"
#include "unit/exec/maker.h"

static const int64_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256};

static float unit(uint32_t word) {
  const uint32_t bits = 127u << 23 | (word & 0x7fffffu);
  float f;
  memcpy(&f, &bits, 4);
  return f - 1;
}

static void check_words(const hr_philox_vec_t* vec, const hr_rng_t* from, int64_t calls) {
  uint64_t offsets[HR_PHILOX_BLOCK] = {0};
  uint32_t words[4 * HR_PHILOX_BLOCK], want[4];
  for (int64_t i = 0; i < calls; ++i) offsets[i] = (uint64_t)i * 7919;
  vec->words(from, offsets, calls, words);
  for (int64_t i = 0; i < calls; ++i) {
    hr_rng_t at = *from;
    hr_rng_skip(&at, offsets[i]);
    hr_rng_next(&at, want);
    for (int w = 0; w < 4; ++w) HR_CHECK_EQ_U64(words[4 * i + w], want[w]);
  }
}

HR_TEST(words_are_the_plain_generators) {
  hr_rng_t from, edge = {{0xfffffff0u, 0xffffffffu, 0xffffffffu, 3}, {1, 2}}; /* both carries */
  hr_rng_init(&from, 87654321, UINT64_MAX - 4);
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      check_words(HR_ISA_PICK(hr_philox_vec), &from, sizes[i]);
      check_words(HR_ISA_PICK(hr_philox_vec), &edge, sizes[i]);
    }
  }
  hr_isa_force(hr_isa_best());
}

static hr_value_t random_node(hr_graph_t* g, const char* op, const char* name, int64_t n, int64_t seed, int64_t seed2) {
  hr_tensor_t shape;
  maker_must(hr_tensor_from_i64_vec(HR_I32, &n, 1, &shape), "a shape");
  char shape_name[64];
  snprintf(shape_name, sizeof shape_name, "%s_shape", name);
  hr_value_t in = maker_const_of(g, shape_name, &shape);
  hr_tensor_release(&shape);
  hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32), hr_at_type("T", HR_I32), hr_at_int("seed", seed), hr_at_int("seed2", seed2)};
  return maker_node(g, op, name, 1, &in, 4, at);
}

static hr_session_t* open_session(hr_graph_t* g) {
  hr_session_t* s = NULL;
  maker_must(hr_session_create(g, NULL, &s), "a session");
  return s;
}
static void fetch(hr_session_t* s, hr_value_t v, hr_tensor_t* out) {
  hr_run_t run = {.fetches = &v, .fetch_count = 1};
  maker_must(hr_session_run(s, NULL, &run, out, NULL, NULL), "a value");
}

HR_TEST(uniform_of_any_size_goes_on_from_run_to_run) {
  static const int64_t counts[] = {1, 3, 4, 1023, 1024, 1025, 100003};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
    hr_graph_t* g = maker_graph();
    hr_value_t v = random_node(g, "RandomUniform", "r", counts[c], 12, 34);
    hr_session_t* s = open_session(g);
    hr_rng_t rng;
    hr_rng_init(&rng, 12, 34);
    for (int run = 0; run < 2; ++run) {
      hr_tensor_t out;
      hr_rng_t at = rng;
      uint32_t words[4];
      fetch(s, v, &out);
      HR_REQUIRE(out.count == counts[c]);
      bool same = true;
      for (int64_t i = 0; i < out.count; ++i) {
        if (i % 4 == 0) hr_rng_next(&at, words);
        same = same && ((float*)out.data)[i] == unit(words[i % 4]);
      }
      HR_CHECK(same);
      hr_rng_skip(&rng, (uint64_t)counts[c] * 256);
      hr_tensor_release(&out);
    }
    hr_session_destroy(s);
    hr_graph_destroy(g);
  }
}

static void truncated_group(const hr_rng_t* from, int64_t group, float out[4]) { /* the definition, in words one by one */
  hr_rng_t at = *from;
  uint32_t words[4];
  hr_rng_skip(&at, (uint64_t)group * 256);
  for (int n = 0; n < 4;) {
    hr_rng_next(&at, words);
    for (int pair = 0; pair < 2; ++pair) {
      const float x = unit(words[2 * pair]), u = x < 1e-7f ? 1e-7f : x;
      const double angle = 6.283185307179586 * (double)unit(words[2 * pair + 1]), r = sqrt(-2 * log((double)u));
      const float both[] = {(float)(r * sin(angle)), (float)(r * cos(angle))};
      for (int j = 0; j < 2 && n < 4; ++j)
        if (fabsf(both[j]) < 2) out[n++] = both[j];
    }
  }
}

HR_TEST(truncated_normal_fills_groups_of_four) {
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    hr_graph_t* g = maker_graph();
    hr_value_t v = random_node(g, "TruncatedNormal", "r", 100003, 5, 6);
    hr_session_t* s = open_session(g);
    hr_rng_t from;
    hr_tensor_t out;
    hr_rng_init(&from, 5, 6);
    fetch(s, v, &out);
    double worst = 0;
    for (int64_t i = 0; i < out.count; ++i) {
      float want[4];
      truncated_group(&from, i / 4, want);
      const double off = fabs((double)((float*)out.data)[i] - (double)want[i % 4]);
      if (!(off <= worst)) worst = off;
    }
    HR_CHECK_NEAR(worst, 0, 1e-5);
    hr_tensor_release(&out);
    hr_session_destroy(s);
    hr_graph_destroy(g);
  }
  hr_isa_force(hr_isa_best());
}

HR_TEST(values_depend_on_the_seeds_alone) { /* another node before it, another session: the same; both seeds 0: another stream each time */
  float got[4];
  for (int round = 0; round < 4; ++round) {
    hr_graph_t* g = maker_graph();
    if (round == 1) random_node(g, "RandomUniform", "extra", 3, 1, 1);
    hr_value_t v = random_node(g, "RandomUniform", "r", 8, 0, round < 2 ? 42 : 0);
    hr_session_t* s = open_session(g);
    hr_tensor_t out;
    fetch(s, v, &out);
    got[round] = maker_get(&out);
    hr_tensor_release(&out);
    hr_session_destroy(s);
    hr_graph_destroy(g);
  }
  HR_CHECK_EQ_F64(got[0], got[1]);
  HR_CHECK(got[2] != got[3]);
}

HR_TEST_MAIN()
