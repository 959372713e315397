/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker notes of received tensors while its log is on, and the method Logging: TensorFlow's messages, read field by field. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/compare.h"
#include "dist/exchange.h"
#include "dist/worker_state.h"
#include "test.h"

#define DEVICE "/job:worker/replica:0/task:0/device:CPU:0"
static const char key[] = "/job:ps/replica:0/task:0/device:CPU:0;000000000000007b;" DEVICE ";edge_1_x;0:0";

typedef struct {
  hr_cluster_t* cluster;
  hr_worker_t* w;
} logged_t;

static bool logged_start(logged_t* l) { return HR_CHECK(hr_exchange_worker("ps", NULL, &l->cluster, &l->w)); }
static void logged_stop(logged_t* l) {
  hr_worker_release(l->w);
  hr_cluster_release(l->cluster);
}
static hr_str_t logged_ask(logged_t* l, hr_str_t request, hr_strbuf_t* answer) {
  hr_strbuf_deinit(answer);
  hr_strbuf_init(answer);
  HR_CHECK_OK(hr_exchange_run(l->w, HR_WORKER_Logging, request, answer));
  return hr_strbuf_view(answer);
}

#define REQUEST(bytes) ((hr_str_t){bytes, sizeof(bytes) - 1})
#define ENABLE  "\x08\x01"
#define CLEAR   "\x10\x01"
#define DISABLE "\x20\x01"

static void check_node(hr_str_t node) { /* 8 bytes, from 1000 to 1300 us */
  HR_CHECK_VIEW(compare_field(node, HR_KEY_SPAN(1)), "RecvTensor");
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(2)), 1000);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(3)), 0);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(4)), 300);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(5)), 300);
  HR_CHECK_EQ_I64(compare_number(node, HR_KEY_VARINT(9)), 1000);
  const hr_str_t label = compare_field(node, HR_KEY_SPAN(8));
  HR_CHECK_VIEW(label, "[8B] edge_1_x from /job:ps/replica:0/task:0/device:CPU:0 to " DEVICE);
  const hr_str_t allocation = compare_field(compare_field(compare_field(node, HR_KEY_SPAN(7)), HR_KEY_SPAN(3)), HR_KEY_SPAN(4));
  HR_CHECK_EQ_I64(compare_number(allocation, HR_KEY_VARINT(1)), 8);
  HR_CHECK_EQ_I64(compare_number(allocation, HR_KEY_VARINT(2)), 8);
}

HR_TEST(nothing_is_noted_while_it_is_off) {
  logged_t l;
  hr_strbuf_t answer = {0};
  HR_REQUIRE(logged_start(&l));
  hr_worker_log_add(&l.w->log, 5, key, 8, 1000, 1300);
  HR_CHECK_EQ_U64(l.w->log.bytes, 0);
  logged_ask(&l, REQUEST("\x08\x00\x18\x05"), &answer); /* enable_rpc_logging: false */
  HR_CHECK_EQ_U64(answer.size, 0);
  HR_CHECK(!atomic_load(&l.w->log.is_on));
  logged_ask(&l, REQUEST(ENABLE), &answer);
  HR_CHECK(atomic_load(&l.w->log.is_on));
  logged_ask(&l, REQUEST("\x20\x00"), &answer); /* disable_rpc_logging: false */
  HR_CHECK(atomic_load(&l.w->log.is_on));
  logged_ask(&l, REQUEST(DISABLE), &answer);
  HR_CHECK(!atomic_load(&l.w->log.is_on));
  hr_strbuf_deinit(&answer);
  logged_stop(&l);
}

HR_TEST(a_step_is_told_once) {
  logged_t l;
  hr_strbuf_t answer = {0};
  HR_REQUIRE(logged_start(&l));
  logged_ask(&l, REQUEST(ENABLE), &answer);
  hr_worker_log_add(&l.w->log, 5, key, 8, 1000, 1300);
  hr_worker_log_add(&l.w->log, 6, key, 16, 1000, 1300);
  hr_worker_log_add(&l.w->log, 6, "no key", 16, 1000, 1300); /* is not noted */
  hr_str_t step = compare_field(logged_ask(&l, REQUEST("\x18\x05\x18\x05"), &answer), HR_KEY_SPAN(1));
  HR_CHECK_EQ_I64(compare_number(step, HR_KEY_VARINT(1)), 5);
  const hr_str_t device = compare_field(compare_field(step, HR_KEY_SPAN(2)), HR_KEY_SPAN(1));
  HR_CHECK_VIEW(compare_field(device, HR_KEY_SPAN(1)), DEVICE);
  check_node(compare_field(device, HR_KEY_SPAN(2)));
  logged_ask(&l, REQUEST("\x18\x05"), &answer);
  HR_CHECK_EQ_U64(answer.size, 0);
  step = compare_field(logged_ask(&l, REQUEST("\x1a\x02\x07\x06"), &answer), HR_KEY_SPAN(1)); /* packed: 7, which is not there, and 6 */
  HR_CHECK_EQ_I64(compare_number(step, HR_KEY_VARINT(1)), 6);
  HR_CHECK_EQ_U64(l.w->log.bytes, 0);
  hr_strbuf_deinit(&answer);
  logged_stop(&l);
}

HR_TEST(clearing_forgets_all) {
  logged_t l;
  hr_strbuf_t answer = {0};
  HR_REQUIRE(logged_start(&l));
  logged_ask(&l, REQUEST(ENABLE), &answer);
  hr_worker_log_add(&l.w->log, 5, key, 8, 1000, 1300);
  logged_ask(&l, REQUEST("\x10\x00"), &answer); /* clear: false */
  HR_CHECK(l.w->log.bytes > 0);
  logged_ask(&l, REQUEST(CLEAR), &answer);
  HR_CHECK_EQ_U64(l.w->log.bytes, 0);
  HR_CHECK_EQ_I64(l.w->log.steps.count, 0);
  logged_ask(&l, REQUEST("\x18\x05"), &answer);
  HR_CHECK_EQ_U64(answer.size, 0);
  HR_CHECK_CODE(hr_exchange_run(l.w, HR_WORKER_Logging, REQUEST("\x18"), NULL), HR_INVALID_ARGUMENT, "");
  hr_strbuf_deinit(&answer);
  logged_stop(&l);
}

HR_TEST(notes_are_bounded) { /* 16 MiB: then nothing more is noted */
  logged_t l;
  hr_strbuf_t answer = {0};
  HR_REQUIRE(logged_start(&l));
  logged_ask(&l, REQUEST(ENABLE), &answer);
  size_t before = 1;
  for (int i = 0; i < 200000 && l.w->log.bytes != before; ++i) {
    before = l.w->log.bytes;
    hr_worker_log_add(&l.w->log, 5, key, 8, 1000, 1300);
  }
  HR_CHECK(l.w->log.bytes >= 16 << 20 && l.w->log.bytes < (16 << 20) + 400);
  hr_worker_log_add(&l.w->log, 6, key, 8, 1000, 1300);
  HR_CHECK_EQ_I64(l.w->log.steps.count, 1);
  hr_strbuf_deinit(&answer);
  logged_stop(&l);
}
HR_TEST_MAIN()
