/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf-c behind its guard: good messages, nesting, memory. */
#include "wire/messages.h"
#define HR_TEST_LEAKS_CHECKED
#include "config.pb-c.h"
#include "test.h"

HR_TEST(finds_types_by_both_names) {
  HR_CHECK(hr_messages_find(HR_STR("tensorflow.GraphDef")) == hr_messages_find(HR_STR("GraphDef")));
  HR_CHECK(hr_messages_find(HR_STR("GraphDef")) != NULL);
  HR_CHECK(hr_messages_find(HR_STR("NoSuch")) == NULL);
}

HR_TEST(a_config_comes_back) {
  Tensorflow__ConfigProto config = TENSORFLOW__CONFIG_PROTO__INIT, *back = NULL;
  hr_writer_t w = {0};
  config.intra_op_parallelism_threads = 3;
  config.operation_timeout_in_ms = INT64_C(1) << 40;
  HR_REQUIRE_OK(hr_messages_pack(&config.base, &w));
  HR_REQUIRE_OK(hr_messages_unpack(&tensorflow__config_proto__descriptor, w.data, w.size, (ProtobufCMessage**)&back));
  HR_CHECK_EQ_I64(back->intra_op_parallelism_threads, 3);
  HR_CHECK_EQ_I64(back->operation_timeout_in_ms, INT64_C(1) << 40);
  HR_CHECK(back->graph_options == NULL);
  hr_messages_free(&back->base);
  hr_strbuf_deinit(&w);
}

HR_TEST(an_empty_message_is_good) {
  ProtobufCMessage* back = NULL;
  HR_REQUIRE_OK(hr_messages_unpack(&tensorflow__config_proto__descriptor, NULL, 0, &back));
  hr_messages_free(back);
}

HR_TEST(damage_is_refused) {
  ProtobufCMessage* back = NULL;
  HR_CHECK_CODE(hr_messages_unpack(&tensorflow__config_proto__descriptor, "\x10", 1, &back), HR_INVALID_ARGUMENT,
                "tensorflow.ConfigProto: malformed");
  HR_CHECK_CODE(hr_messages_unpack(&tensorflow__config_proto__descriptor, "\x52\x02\x1a\x05", 4, &back), HR_INVALID_ARGUMENT, "at byte 3");
}

/* StructuredValue.list_value (51) { values (1) { list_value { ... */
HR_TEST(nesting_is_bounded) {
  const ProtobufCMessageDescriptor* type = hr_messages_find(HR_STR("SavedModel"));
  hr_writer_t w = {0};
  hr_writer_mark_t marks[204];
  /* meta_graphs, object_graph_def, concrete_functions, value, canonicalized_input_signature */
  static const uint32_t road[] = {2, 7, 2, 2, 3};
  HR_REQUIRE(type != NULL);
  for (int depth = 50; depth <= 200; depth += 150) {
    w.size = 0;
    int n = 0;
    for (; n < 5; ++n) marks[n] = hr_writer_begin(&w, road[n], 0);
    for (; n < depth; ++n) marks[n] = hr_writer_begin(&w, n & 1 ? 51 : 1, 0);
    while (n-- > 0) hr_writer_end(&w, marks[n], 0);
    if (depth < HR_MESSAGES_DEPTH) HR_CHECK_OK(hr_messages_check(type, w.data, w.size));
    else HR_CHECK_CODE(hr_messages_check(type, w.data, w.size), HR_INVALID_ARGUMENT, "nests more than 100 deep");
  }
  hr_strbuf_deinit(&w);
}

static hr_status_t unpack_config(void) {
  ProtobufCMessage* back = NULL;
  hr_status_t status = hr_messages_unpack(&tensorflow__config_proto__descriptor, "\x22\x01" "a\x22\x01" "b\x52\x02\x28\x01", 10, &back);
  hr_messages_free(back);
  return status;
}
HR_TEST(out_of_memory_is_a_status) { HR_TEST_EVERY_ALLOCATION_FAILS(unpack_config); }

HR_TEST_MAIN()
