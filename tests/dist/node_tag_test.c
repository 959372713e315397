/* SPDX-License-Identifier: Apache-2.0 */
/* The mark that tells TensorFlow's clients which node failed. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "dist/node_tag.h"

#include <string.h>

static bool becomes(const char* from, const char* to) {
  hr_status_t s = hr_node_tag_add(hr_status_create(HR_OUT_OF_RANGE, "here.c", 7, "%s", from));
  int line;
  const bool same = strcmp(hr_status_message(s), to) == 0 && hr_status_code(s) == HR_OUT_OF_RANGE &&
                    strcmp(hr_status_origin(s, &line), "here.c") == 0 && line == 7;
  hr_status_release(s);
  return same;
}

HR_TEST(the_first_node_named_is_marked) {
  HR_CHECK(becomes("From /job:a: node 'x/y' (Add): no", "From /job:a: node 'x/y' (Add): no.\n\t [[{{node x/y}}]]"));
  HR_CHECK(becomes("node 'a' (If): node 'b' (Add): no", "node 'a' (If): node 'b' (Add): no.\n\t [[{{node a}}]]"));
}

HR_TEST(the_text_before_the_mark_ends_in_one_full_stop) {
  HR_CHECK(becomes("node 'x' (Add): no", "node 'x' (Add): no.\n\t [[{{node x}}]]"));
  HR_CHECK(becomes("node 'x' (Add): no.", "node 'x' (Add): no.\n\t [[{{node x}}]]"));
}

HR_TEST(what_names_no_node_or_has_a_mark_stays) {
  static const char* const kept[] = {"", "no", "node 'x", "node ''", "node 'a}b' (X): no", "node 'a' (X): no [[{{node b}}]]"};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i) HR_CHECK(becomes(kept[i], kept[i]));
  HR_CHECK(hr_node_tag_add(NULL) == NULL);
  hr_status_t none = hr_node_tag_add(hr_status_out_of_memory());
  HR_CHECK(hr_status_code(none) == HR_RESOURCE_EXHAUSTED);
  hr_status_release(none);
}

HR_TEST_MAIN()
