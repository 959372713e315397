/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: what makes two the same, literally and in any order; what is no signature. */
#define HR_TEST_LEAKS_CHECKED
#include "session/signature.h"
#include "unit/exec/maker.h"

enum { VALUES = 6 };
typedef struct {
  hr_graph_t* g;
  hr_value_t v[VALUES]; /* two outputs each of three nodes */
  hr_node_t* n[3];
} ends_t;

static ends_t make_ends(void) {
  ends_t e = {.g = maker_graph()};
  hr_value_t x = maker_placeholder(e.g, "x", HR_F32, NULL);
  for (int i = 0; i < 3; ++i) {
    e.v[2 * i] = maker_1(e.g, "Unique", (const char*[]){"a", "b", "c"}[i], x);
    e.v[2 * i + 1] = hr_emit_nth(e.v[2 * i], 1);
    e.n[i] = e.v[2 * i].node;
  }
  return e;
}

/* Digits choose values, letters nodes: "024" and "abc". */
typedef struct {
  hr_value_t feeds[8], fetches[8];
  hr_node_t* targets[8];
  hr_signature_t s;
} made_t;

static void make_signature(const ends_t* e, const char* feeds, const char* fetches, const char* targets, made_t* m) {
  *m = (made_t){.s = {m->feeds, m->fetches, m->targets, (int32_t)strlen(feeds), (int32_t)strlen(fetches), (int32_t)strlen(targets), 0}};
  for (int i = 0; feeds[i]; ++i) m->feeds[i] = e->v[feeds[i] - '0'];
  for (int i = 0; fetches[i]; ++i) m->fetches[i] = e->v[fetches[i] - '0'];
  for (int i = 0; targets[i]; ++i) m->targets[i] = e->n[targets[i] - 'a'];
  m->s.hash = hr_signature_hash(&m->s);
}

HR_TEST(literal_signatures_differ_in_anything) {
  static const char* const all[][3] = {{"0", "2", "a"}, {"1", "2", "a"}, {"2", "2", "a"}, {"0", "3", "a"}, {"0", "4", "a"}, {"0", "2", "b"},
                                       {"02", "2", "a"}, {"0", "22", "a"}, {"0", "2", "aa"}, {"", "02", "a"}, {"02", "", "a"},
                                       {"0", "2", ""}, {"20", "2", "a"}, {"0", "24", "a"}, {"0", "42", "a"},
                                       {"0", "2", "ab"}, {"0", "2", "ba"}};
  enum { COUNT = sizeof all / sizeof *all };
  static made_t m[COUNT], again;
  ends_t e = make_ends();
  for (int i = 0; i < COUNT; ++i) make_signature(&e, all[i][0], all[i][1], all[i][2], &m[i]);
  for (int i = 0; i < COUNT; ++i) {
    make_signature(&e, all[i][0], all[i][1], all[i][2], &again);
    HR_CHECK(hr_signature_equal(&m[i].s, &again.s) && m[i].s.hash == again.s.hash);
    for (int j = 0; j < COUNT; ++j) {
      if (i == j) continue;
      if (!HR_CHECK(!hr_signature_equal(&m[i].s, &m[j].s)) || !HR_CHECK(m[i].s.hash != m[j].s.hash)) printf("  %d and %d\n", i, j);
    }
  }
  hr_graph_destroy(e.g);
}

static void check_normal(const ends_t* e, const char* const literal[3], const char* const wanted[3]) {
  made_t m, w;
  hr_signature_normal_t n = {0};
  make_signature(e, literal[0], literal[1], literal[2], &m);
  make_signature(e, wanted[0], wanted[1], wanted[2], &w);
  HR_REQUIRE_OK(hr_signature_normalise(&m.s, &n));
  bool good = hr_signature_equal(&n.normal, &w.s) && n.normal.hash == w.s.hash;
  for (int32_t i = 0; good && i < n.normal.feed_count; ++i) {
    const hr_value_t from = m.feeds[n.feed_from[i]];
    good = from.node == n.normal.feeds[i].node && from.index == n.normal.feeds[i].index;
  }
  for (int32_t j = 0; good && j < m.s.fetch_count; ++j) {
    const hr_value_t of = n.normal.fetches[n.fetch_of[j]];
    good = of.node == m.fetches[j].node && of.index == m.fetches[j].index;
  }
  if (!HR_CHECK(good)) printf("  %s/%s/%s\n", literal[0], literal[1], literal[2]);
  hr_free(n.block);
}

HR_TEST(the_normal_form_is_sorted_without_what_stands_twice) {
  static const char* const rows[][2][3] = {
      {{"", "0", ""}, {"", "0", ""}},           {{"", "", "a"}, {"", "", "a"}},         {{"0", "2", "b"}, {"0", "2", "b"}},
      {{"20", "4", ""}, {"02", "4", ""}},       {{"310", "45", "c"}, {"013", "45", "c"}}, {{"", "5430", ""}, {"", "0345", ""}},
      {{"", "00", ""}, {"", "0", ""}},          {{"", "0202", ""}, {"", "02", ""}},     {{"", "55454", "cabac"}, {"", "45", "abc"}},
      {{"1", "10", "bb"}, {"1", "01", "b"}},    {{"", "", "cba"}, {"", "", "abc"}},     {{"00", "2", ""}, {"00", "2", ""}},
      {{"543210", "012345", "abc"}, {"012345", "012345", "abc"}},
  };
  ends_t e = make_ends();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) check_normal(&e, rows[i][0], rows[i][1]);
  hr_graph_destroy(e.g);
}

HR_TEST(copies_stand_alone) {
  ends_t e = make_ends();
  made_t m, again;
  hr_signature_t copy;
  void* block = NULL;
  make_signature(&e, "053", "42", "cb", &m);
  again = m;
  HR_REQUIRE_OK(hr_signature_copy(&m.s, &copy, &block));
  m = (made_t){0};
  again.s.feeds = again.feeds, again.s.fetches = again.fetches, again.s.targets = again.targets;
  HR_CHECK(hr_signature_equal(&copy, &again.s) && copy.hash == again.s.hash);
  hr_free(block);
  hr_graph_destroy(e.g);
}

HR_TEST(ends_must_be_of_the_graph) {
  ends_t e = make_ends(), other = make_ends();
  made_t m;
  static const struct { const char *feeds, *fetches, *targets; } rows[] = {{"012", "345", "abc"}, {"0", "1", ""}, {"0", "", "a"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    make_signature(&e, rows[i].feeds, rows[i].fetches, rows[i].targets, &m);
    HR_CHECK_OK(hr_signature_check(&m.s, e.g));
    HR_CHECK_CODE(hr_signature_check(&m.s, other.g), HR_INVALID_ARGUMENT, "feed 0 is not an endpoint of the session's graph");
    hr_value_t* const arrays[] = {m.feeds, m.fetches};
    for (int a = 0; a < 2; ++a) {
      const int last = (int)strlen(a ? rows[i].fetches : rows[i].feeds) - 1;
      if (last < 0) continue;
      const hr_value_t kept = arrays[a][last], bad[] = {{kept.node, -1}, {kept.node, 2}, {NULL, 0}, other.v[0]};
      for (int b = 0; b < 4; ++b) {
        arrays[a][last] = bad[b];
        HR_CHECK_CODE(hr_signature_check(&m.s, e.g), HR_INVALID_ARGUMENT, a ? "fetch" : "feed");
        HR_CHECK_CODE(hr_signature_check_ends(&m.s, e.g), HR_INVALID_ARGUMENT, b < 2 ? "has 2 outputs" : "is not an endpoint");
      }
      arrays[a][last] = kept;
    }
    if (m.s.target_count == 0) continue;
    m.targets[m.s.target_count - 1] = other.n[0];
    HR_CHECK_CODE(hr_signature_check(&m.s, e.g), HR_INVALID_ARGUMENT, "is not a node of the session's graph");
    m.targets[m.s.target_count - 1] = NULL;
    HR_CHECK_CODE(hr_signature_check_ends(&m.s, e.g), HR_INVALID_ARGUMENT, "is not a node of the session's graph");
  }
  make_signature(&e, "0", "", "", &m);
  HR_CHECK_CODE(hr_signature_check(&m.s, e.g), HR_INVALID_ARGUMENT, "nothing to run");
  HR_CHECK_OK(hr_signature_check_ends(&m.s, e.g));
  hr_graph_destroy(e.g);
  hr_graph_destroy(other.g);
}
HR_TEST_MAIN()
