/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as TensorFlow writes them, frame ids as it computes them, and the meeting of senders and receivers on many threads. */
#define HR_TEST_LEAKS_CHECKED
#include "rt/rendezvous.h"
#include "base/thread.h"
#include "test.h"

#define KEY                                                                                                             \
  "/job:ps/replica:0/task:0/device:CPU:0;a198b42c73d571ca;/job:worker/replica:0/task:0/device:CPU:0;edge_24_while/Add;" \
  "18186195969791715286:3"

HR_TEST(a_recorded_key_is_read_and_written) {
  hr_rendezvous_key_t key;
  hr_strbuf_t text;
  HR_REQUIRE_OK(hr_rendezvous_key_parse(HR_STR(KEY), &key));
  HR_CHECK_VIEW(key.source, "/job:ps/replica:0/task:0/device:CPU:0");
  HR_CHECK_VIEW(key.destination, "/job:worker/replica:0/task:0/device:CPU:0");
  HR_CHECK_VIEW(key.edge, "edge_24_while/Add");
  HR_CHECK_EQ_U64(key.incarnation, UINT64_C(0xa198b42c73d571ca));
  HR_CHECK_EQ_U64(key.frame_id, UINT64_C(18186195969791715286));
  HR_CHECK_EQ_I64(key.iteration, 3);
  hr_strbuf_init(&text);
  hr_rendezvous_key_format(&key, &text);
  HR_CHECK_VIEW(hr_strbuf_view(&text), KEY);
  hr_strbuf_deinit(&text);
}

HR_TEST(a_frames_id_is_tensorflows) { /* the loop of the recorded exchange, whose frame is named while/while_context */
  HR_CHECK_EQ_U64(hr_rendezvous_frame_id(0, 0, HR_STR("while/while_context")), UINT64_C(18186195969791715286));
  HR_CHECK(hr_rendezvous_frame_id(0, 1, HR_STR("while/while_context")) != hr_rendezvous_frame_id(0, 0, HR_STR("while/while_context")));
  HR_CHECK(hr_rendezvous_frame_id(1, 0, HR_STR("a")) != hr_rendezvous_frame_id(0, 0, HR_STR("a")));
}

HR_TEST(malformed_keys_are_refused) {
  static const char* const bad[] = {
      "",
      ";;;;",
      "a;0000000000000001;b;e;0:0",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;e",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;;0:0",
      "/job:a/replica:0/task:0/device:CPU:0;000000000000000G;/job:a/replica:0/task:0/device:CPU:0;e;0:0",
      "/job:a/replica:0/task:0/device:CPU:0;01;/job:a/replica:0/task:0/device:CPU:0;e;0:0",
      "/job:a/replica:0/task:0/device:CPU:*;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;e;0:0",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/task:0/device:CPU:0;e;0:0",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;e;0",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;e;0:-1",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;e;99999999999999999999:0",
      "/job:a/replica:0/task:0/device:CPU:0;0000000000000001;/job:a/replica:0/task:0/device:CPU:0;e;0:0;x"};
  hr_rendezvous_key_t key;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    HR_CHECK_CODE(hr_rendezvous_key_parse(hr_str(bad[i]), &key), HR_INVALID_ARGUMENT, "malformed rendezvous key");
}

/* --- meeting ------------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  hr_rendezvous_waiter_t waiter; /* first */
  int calls;
  hr_status_t status;
  float value;
  bool is_dead;
} catch_t;

static void caught(hr_rendezvous_waiter_t* self, hr_status_t take_status, hr_tensor_t* take_value, bool is_dead) {
  catch_t* c = (catch_t*)self;
  c->calls++;
  c->status = take_status;
  c->is_dead = is_dead;
  c->value = take_value->buffer ? *(float*)take_value->data : -1;
  hr_tensor_release(take_value);
}

static catch_t catcher(void) { return (catch_t){.waiter.done = caught}; }

static hr_status_t send_number(hr_rendezvous_t* r, const char* key, float number, bool is_dead) {
  hr_tensor_t t = {0};
  HR_TRY(hr_tensor_from_f32(number, &t));
  hr_status_t status = hr_rendezvous_send(r, hr_str(key), is_dead ? NULL : &t, is_dead);
  hr_tensor_release(&t);
  return status;
}

HR_TEST(values_meet_their_receivers_in_order) {
  hr_rendezvous_t* r = NULL;
  catch_t a = catcher(), b = catcher(), c = catcher();
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  hr_rendezvous_receive(r, HR_STR("k"), &a.waiter); /* first the receivers */
  hr_rendezvous_receive(r, HR_STR("k"), &b.waiter);
  HR_CHECK(a.calls == 0 && b.calls == 0);
  HR_CHECK_OK(send_number(r, "k", 1, false));
  HR_CHECK(a.calls == 1 && a.value == 1 && b.calls == 0);
  HR_CHECK_OK(send_number(r, "k", 2, true));
  HR_CHECK(b.calls == 1 && b.is_dead && b.value == -1);
  for (int i = 3; i < 6; ++i) HR_CHECK_OK(send_number(r, "k", (float)i, false)); /* then the values: they queue */
  for (int i = 3; i < 6; ++i) {
    hr_rendezvous_receive(r, HR_STR("k"), &c.waiter);
    HR_CHECK(c.value == (float)i);
  }
  HR_CHECK_EQ_I64(c.calls, 3);
  HR_CHECK_OK(send_number(r, "left over", 1, false));
  hr_rendezvous_release(r);
}

HR_TEST(a_waiter_may_be_taken_back) {
  hr_rendezvous_t* r = NULL;
  catch_t a = catcher(), b = catcher();
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  hr_rendezvous_receive(r, HR_STR("k"), &a.waiter);
  hr_rendezvous_receive(r, HR_STR("k"), &b.waiter);
  HR_CHECK(hr_rendezvous_forget(r, HR_STR("k"), &b.waiter));
  HR_CHECK(hr_rendezvous_forget(r, HR_STR("k"), &a.waiter));
  HR_CHECK(!hr_rendezvous_forget(r, HR_STR("k"), &a.waiter));
  HR_CHECK_OK(send_number(r, "k", 1, false));
  HR_CHECK(a.calls == 0 && b.calls == 0);
  hr_rendezvous_release(r);
}

HR_TEST(an_abort_ends_whoever_waits_and_all_that_come_later) {
  hr_rendezvous_t* r = NULL;
  catch_t a = catcher(), b = catcher();
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  hr_rendezvous_receive(r, HR_STR("k"), &a.waiter);
  hr_rendezvous_abort(r, HR_ERROR(DATA_LOSS, "first"));
  hr_rendezvous_abort(r, HR_ERROR(INTERNAL, "second"));
  HR_CHECK_EQ_I64(a.calls, 1);
  HR_CHECK_CODE(a.status, HR_DATA_LOSS, "first");
  hr_rendezvous_receive(r, HR_STR("k"), &b.waiter);
  HR_CHECK_CODE(b.status, HR_DATA_LOSS, "first");
  HR_CHECK_CODE(send_number(r, "k", 1, false), HR_DATA_LOSS, "first");
  hr_rendezvous_release(r);
  catch_t c = catcher();
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  hr_rendezvous_receive(r, HR_STR("k"), &c.waiter);
  hr_rendezvous_release(r);
  HR_CHECK_EQ_I64(c.calls, 1);
  HR_CHECK_CODE(c.status, HR_CANCELLED, "");
}

typedef struct {
  hr_rendezvous_remote_t remote; /* first */
  int received, aborted, destroyed;
  hr_rendezvous_waiter_t* waiter;
} away_t;
static bool is_away(hr_rendezvous_remote_t* self, const hr_rendezvous_key_t* key) {
  (void)self;
  return hr_str_has_prefix(key->source, HR_STR("/job:ps"));
}
static void away_receive(hr_rendezvous_remote_t* self, const hr_rendezvous_key_t* key, hr_str_t text, hr_rendezvous_waiter_t* w) {
  (void)key;
  HR_CHECK_VIEW(text, KEY);
  ((away_t*)self)->received++;
  ((away_t*)self)->waiter = w;
}
static void away_abort(hr_rendezvous_remote_t* self, hr_status_t take_why) {
  hr_tensor_t none = {0};
  away_t* a = (away_t*)self;
  a->aborted++;
  if (a->waiter)
    a->waiter->done(a->waiter, take_why, &none, false);
  else
    hr_status_release(take_why);
}
static void away_destroy(hr_rendezvous_remote_t* self) { ((away_t*)self)->destroyed++; }

HR_TEST(remote_keys_go_to_the_remote_side) {
  away_t away = {.remote = {is_away, away_receive, away_abort, away_destroy}};
  hr_rendezvous_t* r = NULL;
  catch_t a = catcher(), b = catcher(), c = catcher();
  HR_REQUIRE_OK(hr_rendezvous_create(&away.remote, &r));
  hr_rendezvous_receive(r, HR_STR(KEY), &a.waiter);
  HR_CHECK(away.received == 1 && a.calls == 0);
  hr_rendezvous_receive(r, HR_STR("no key"), &b.waiter);
  HR_CHECK_CODE(b.status, HR_INVALID_ARGUMENT, "malformed");
  hr_rendezvous_receive_local(r, HR_STR(KEY), &c.waiter); /* for another task that asks us */
  HR_CHECK_OK(send_number(r, KEY, 7, false));
  HR_CHECK(c.calls == 1 && c.value == 7);
  hr_rendezvous_release(hr_rendezvous_retain(r));
  HR_CHECK(away.aborted == 0);
  hr_rendezvous_release(r);
  HR_CHECK(away.aborted == 1 && away.destroyed == 1 && a.calls == 1);
  HR_CHECK_CODE(a.status, HR_CANCELLED, "");
}

/* --- threads ------------------------------------------------------------------------------------------------------------------------ */

enum { KEYS = 200, PAIRS = 3 };
typedef struct {
  hr_rendezvous_t* r;
  catch_t catches[PAIRS][KEYS];
  atomic_int sent, refused;
} crowd_t;
typedef struct {
  crowd_t* crowd;
  int number;
  bool sends;
} member_t;

static void member_main(void* arg) {
  member_t* m = arg;
  char key[32];
  for (int i = 0; i < KEYS; ++i) {
    snprintf(key, sizeof key, "%d:%d", m->number, m->sends ? i : KEYS - 1 - i);
    if (!m->sends) {
      hr_rendezvous_receive(m->crowd->r, hr_str(key), &m->crowd->catches[m->number][KEYS - 1 - i].waiter);
      continue;
    }
    hr_status_t status = send_number(m->crowd->r, key, (float)i, false);
    atomic_fetch_add(status ? &m->crowd->refused : &m->crowd->sent, 1);
    hr_status_release(status);
  }
}

static void run_crowd(crowd_t* c, int abort_after) {
  member_t members[2 * PAIRS];
  hr_thread_t threads[2 * PAIRS];
  for (int i = 0; i < 2 * PAIRS; ++i) {
    for (int k = 0; k < KEYS; ++k) c->catches[i / 2][k] = catcher();
    members[i] = (member_t){c, i / 2, i % 2 == 0};
  }
  for (int i = 0; i < 2 * PAIRS; ++i) HR_REQUIRE_OK(hr_thread_start(&threads[i], "member", member_main, &members[i]));
  while (abort_after && atomic_load(&c->sent) + atomic_load(&c->refused) < abort_after) sched_yield();
  if (abort_after) hr_rendezvous_abort(c->r, HR_ERROR(ABORTED, "enough"));
  for (int i = 0; i < 2 * PAIRS; ++i) hr_thread_join(&threads[i]);
}

HR_TEST(many_threads_meet) {
  static crowd_t c;
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &c.r));
  run_crowd(&c, 0);
  for (int p = 0; p < PAIRS; ++p)
    for (int k = 0; k < KEYS; ++k) HR_CHECK(c.catches[p][k].calls == 1 && !c.catches[p][k].status && c.catches[p][k].value == (float)k);
  hr_rendezvous_release(c.r);
}

HR_TEST(an_abort_races_with_many_threads) {
  for (int round = 1; round < 20; ++round) {
    static crowd_t c;
    c = (crowd_t){0};
    HR_REQUIRE_OK(hr_rendezvous_create(NULL, &c.r));
    run_crowd(&c, round * 20);
    hr_rendezvous_release(c.r);
    for (int p = 0; p < PAIRS; ++p) {
      for (int k = 0; k < KEYS; ++k) {
        HR_CHECK_EQ_I64(c.catches[p][k].calls, 1);
        hr_status_release(c.catches[p][k].status);
      }
    }
  }
}

static hr_status_t meet(void) {
  hr_rendezvous_t* r = NULL;
  catch_t a = catcher(), b = catcher();
  HR_TRY(hr_rendezvous_create(NULL, &r));
  hr_rendezvous_receive(r, HR_STR("a"), &a.waiter);
  hr_status_t status = a.status ? hr_status_retain(a.status) : send_number(r, "a", 1, false);
  for (int i = 0; i < 3 && !status; ++i) status = send_number(r, "b", 2, false);
  if (!status) hr_rendezvous_receive(r, HR_STR("b"), &b.waiter);
  hr_rendezvous_release(r);
  hr_status_release(a.status);
  hr_status_merge(&status, b.status);
  return status;
}
HR_TEST(every_allocation_may_fail) { HR_TEST_EVERY_ALLOCATION_FAILS(meet); }

/* Frame ids go from task to task, so other releases must compute the same: what its published recipe gives (MurmurHash64A of the name,
 * Hash64Combine of parent, iteration and that), for names around the eight bytes that it reads at once. */
HR_TEST(frame_ids_of_nested_frames_and_names_of_every_length) {
  static const struct { uint64_t parent; int64_t iteration; const char* name; uint64_t id; } rows[] = {
      {0, 1, "while/while_context", UINT64_C(18186195969791716311)},
      {UINT64_C(18186195969791715286), 3, "inner/while_context", UINT64_C(9633465833068743696)},
      {UINT64_C(18186195969791715286), INT64_C(1) << 40, "f", UINT64_C(13244846018837018433)},
      {0, 0, "", UINT64_C(13683492112966127163)},
      {0, 0, "a", UINT64_C(7351318470308379132)},
      {1, 2, "seven77", UINT64_C(3766616791136380575)},
      {1, 2, "eight888", UINT64_C(17796022135534329691)},
      {1, 2, "nine99999", UINT64_C(5749410776060621539)},
      {UINT64_C(12345678901234567890), 1000, "while/body/while/while_context", UINT64_C(17898314885321219114)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    HR_CHECK_EQ_U64(hr_rendezvous_frame_id(rows[i].parent, rows[i].iteration, hr_str(rows[i].name)), rows[i].id);
}

/* One part of a good key at a time is another. */
static hr_status_t parse_with(const char* source, const char* incarnation, const char* destination, const char* frame,
                              hr_rendezvous_key_t* out) {
  char text[512];
  snprintf(text, sizeof text, "%s;%s;%s;e;%s", source, incarnation, destination, frame);
  return hr_rendezvous_key_parse(hr_str(text), out);
}

HR_TEST(each_part_of_a_key_has_its_form) {
  static const char device[] = "/job:a/replica:0/task:0/device:CPU:0", zero[] = "0000000000000000";
  static const char* const devices[] = {"", "/replica:0/task:0/device:CPU:0", "/job:a/task:0/device:CPU:0", "/job:a/replica:0/device:CPU:0",
                                        "/job:a/replica:0/task:0", "/job:a/replica:0/task:0/device:CPU", "/job:*/replica:0/task:0/cpu:0",
                                        "/job:a/replica:*/task:0/cpu:0", "/job:a/replica:0/task:*/cpu:0", "/job:a/replica:0/task:0/cpu:x"};
  static const char* const numbers[] = {"000000000000000", "00000000000000000", "000000000000000/", "000000000000000:", "000000000000000`",
                                        "000000000000000g", "000000000000000A"};
  static const char* const frames[] = {":0", "0:", "0", "x:0", "0:x", "0:-1", "/:0", "::0", "18446744073709551616:0",
                                       "0:9223372036854775808"};
  hr_rendezvous_key_t key;
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
    HR_CHECK_CODE(parse_with(devices[i], zero, device, "0:0", &key), HR_INVALID_ARGUMENT, "malformed");
    HR_CHECK_CODE(parse_with(device, zero, devices[i], "0:0", &key), HR_INVALID_ARGUMENT, "malformed");
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    HR_CHECK_CODE(parse_with(device, numbers[i], device, "0:0", &key), HR_INVALID_ARGUMENT, "malformed");
  for (size_t i = 0; i < sizeof frames / sizeof *frames; ++i)
    HR_CHECK_CODE(parse_with(device, zero, device, frames[i], &key), HR_INVALID_ARGUMENT, "malformed");
  HR_CHECK_OK(parse_with(device, "0123456789abcdef", device, "18446744073709551615:9223372036854775807", &key));
  HR_CHECK_EQ_U64(key.incarnation, UINT64_C(0x0123456789abcdef));
  HR_CHECK_EQ_U64(key.frame_id, UINT64_MAX);
  HR_CHECK_EQ_I64(key.iteration, INT64_MAX);
  HR_CHECK_OK(parse_with("/job:b/replica:1/task:2/device:GPU:3", zero, device, "1234567890:10", &key));
  HR_CHECK(key.frame_id == 1234567890 && key.iteration == 10);
}

HR_TEST_MAIN()
