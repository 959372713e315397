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

HR_TEST(nesting_to_the_last_level) {
  const ProtobufCMessageDescriptor* type = hr_messages_find(HR_STR("AttrValue"));
  for (int levels = 100; levels <= 101; ++levels) { /* AttrValue.func (10), NameAttrList.attr (2), value (2), AttrValue ... */
    static const uint32_t road[] = {10, 2, 2};
    hr_writer_t w = {0};
    hr_writer_mark_t marks[100];
    for (int n = 0; n < levels - 1; ++n) marks[n] = hr_writer_begin(&w, road[n % 3], 0);
    for (int n = levels - 1; n-- > 0;) hr_writer_end(&w, marks[n], 0);
    if (levels == 100) HR_CHECK_OK(hr_messages_check(type, w.data, w.size));
    else
      HR_CHECK_CODE(hr_messages_check(type, w.data, w.size), HR_INVALID_ARGUMENT,
                    "tensorflow.AttrValue: message nests more than 100 deep at byte ");
    hr_strbuf_deinit(&w);
  }
}

HR_TEST(only_messages_are_looked_into) {
  ProtobufCMessage* back = NULL;
  const ProtobufCMessageDescriptor* type = hr_messages_find(HR_STR("AttrValue"));
  HR_CHECK_OK(hr_messages_check(type, "\x12\x01\xff", 3)); /* s: bytes, which are no message */
  HR_CHECK_OK(hr_messages_check(type, "\xfa\x7f\x01\xff", 4)); /* a field that there is not */
  HR_CHECK_CODE(hr_messages_check(type, "\x52\x01\xff", 3), HR_INVALID_ARGUMENT, "at byte 2");
  HR_CHECK_OK(hr_messages_check(type, "\x50\x01", 2)); /* func as a number: structure alone is checked */
  HR_CHECK_CODE(hr_messages_unpack(type, "\x50\x01", 2, &back), HR_INVALID_ARGUMENT, "2 bytes are not a tensorflow.AttrValue");
}

/* 64 times the bytes and a MiB. An empty NodeExecStats is 2 bytes and takes some 200; what the reader takes for its own lists counts. */
HR_TEST(memory_is_in_proportion_to_the_bytes) {
  for (int count = 8000; count <= 8400; count += 400) {
    hr_writer_t w = {0};
    ProtobufCMessage* back = NULL;
    hr_writer_mark_t device = hr_writer_begin(&w, 1, 0);
    for (int i = 0; i < count; ++i) hr_writer_bytes(&w, 2, NULL, 0);
    hr_writer_end(&w, device, 0);
    hr_status_t status = hr_messages_unpack(hr_messages_find(HR_STR("StepStats")), w.data, w.size, &back);
    if (count == 8400) HR_CHECK_CODE(status, HR_RESOURCE_EXHAUSTED, "takes more memory than its size allows");
    else if (HR_CHECK_OK(status)) hr_messages_free(back);
    hr_strbuf_deinit(&w);
  }
}

HR_TEST(an_empty_message_is_packed_as_nothing) {
  Tensorflow__ConfigProto config = TENSORFLOW__CONFIG_PROTO__INIT;
  hr_writer_t w = {0};
  HR_CHECK_OK(hr_messages_pack(&config.base, &w));
  HR_CHECK_EQ_U64(w.size, 0);
  config.allow_soft_placement = 1;
  HR_CHECK_OK(hr_messages_pack(&config.base, &w));
  HR_CHECK(w.size == 2 && !memcmp(w.data, "\x38\x01", 2));
  hr_messages_free(NULL);
  hr_strbuf_deinit(&w);
}

HR_TEST_MAIN()
