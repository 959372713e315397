/* SPDX-License-Identifier: Apache-2.0 */
/* One suite for all transports (within the process, gRPC, gRPC with near peers):
 * answers, statuses, bodies without copies, deadlines, cancellation, absent and dead peers, stopping. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/transport.h"
#include <pthread.h>
#include <time.h>
#include "base/clock.h"
#include "base/sync.h"
#include "test.h"

static const hr_transport_t* transport;
static void sleep_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

/* --- a server: /echo gives the request back, /fail a status, /hold answers when told or cancelled, /stuck never ------------------- */

typedef struct {
  hr_listener_t* listener;
  int port;
  atomic_int held, cancelled;
  hr_request_t* stuck;
} echo_server_t;
static hr_mutex_t held_mu = HR_MUTEX_INIT;

static void held_cancelled(hr_request_t* r) {
  echo_server_t* s = r->arg;
  atomic_fetch_add(&s->cancelled, 1);
  transport->reply(r, HR_ERROR(CANCELLED, "given up"), NULL);
}

static void count_cancelled(hr_request_t* r) { atomic_fetch_add(&((echo_server_t*)r->arg)->cancelled, 1); }

static void serve_echo(void* arg, hr_request_t* r) {
  echo_server_t* s = arg;
  r->arg = s;
  if (hr_str_is(r->method, "/test/echo")) {
    hr_message_t m = r->message;
    r->message = (hr_message_t){0};
    transport->reply(r, NULL, &m);
  } else if (hr_str_is(r->method, "/test/fail")) {
    transport->reply(r, HR_ERROR(FAILED_PRECONDITION, "no %% and \xc3\xa4, line\nbreak"), NULL);
  } else if (hr_str_is(r->method, "/test/say")) { /* what was sent, as a failure */
    char* text = NULL;
    size_t size = 0;
    HR_CHECK_OK(hr_message_join(&r->message, &text, &size));
    transport->reply(r, HR_ERROR(OUT_OF_RANGE, "%s", text), NULL);
    hr_free(text);
  } else if (hr_str_is(r->method, "/test/hold")) {
    r->cancelled = held_cancelled;
    atomic_fetch_add(&s->held, 1);
  } else if (hr_str_is(r->method, "/test/stuck")) {
    r->cancelled = count_cancelled;
    hr_mutex_lock(&held_mu);
    s->stuck = r;
    hr_mutex_unlock(&held_mu);
    atomic_fetch_add(&s->held, 1);
  } else
    transport->reply(r, HR_ERROR(UNIMPLEMENTED, "no method %.*s", HR_STR_ARG(r->method)), NULL);
}

static bool start_server(echo_server_t* s, int port, const hr_listener_limits_t* limits) {
  memset(s, 0, sizeof *s);
  return HR_CHECK_OK(transport->listen(HR_STR("127.0.0.1"), port, NULL, limits, serve_echo, s, &s->listener, &s->port));
}

static hr_channel_t* connect_to(int port) {
  char address[64];
  hr_channel_t* c = NULL;
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  HR_CHECK_OK(transport->connect(hr_str(address), NULL, &c));
  return c;
}

static hr_message_t message_of(const char* text) {
  hr_message_t m;
  HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(text, strlen(text)), strlen(text), &m));
  return m;
}

static hr_status_t call_text(hr_channel_t* c, const char* method, const char* text, int64_t deadline_ms, bool wait, char** out) {
  hr_message_t request = message_of(text), response = {0};
  size_t size;
  hr_status_t status = hr_transport_call_sync(transport, c, method, &request, deadline_ms, wait, &response);
  if (!status && out) status = hr_message_join(&response, out, &size);
  hr_message_deinit(&response);
  return status;
}

typedef struct {
  hr_call_t base;
  hr_mutex_t mu;
  hr_cond_t ended;
  int done;
  hr_code_t code;
} async_call_t;
static void async_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  async_call_t* c = (async_call_t*)self;
  if (take_response) hr_message_deinit(take_response);
  hr_mutex_lock(&c->mu);
  c->code = hr_status_code(take_status);
  c->done++;
  hr_cond_wake_all(&c->ended);
  hr_mutex_unlock(&c->mu);
  hr_status_release(take_status);
}
static void async_start(async_call_t* c, hr_channel_t* channel, const char* method, bool wait) {
  memset(c, 0, sizeof *c);
  c->base.done = async_done;
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->ended);
  hr_message_t m = message_of("x");
  transport->call(channel, method, &m, 0, wait, &c->base);
}
static hr_code_t async_wait(async_call_t* c) {
  hr_mutex_lock(&c->mu);
  while (!c->done && HR_CHECK(hr_cond_wait_until(&c->ended, &c->mu, hr_clock_now_ns() + 20000000000))) continue;
  hr_code_t code = c->code;
  HR_CHECK_EQ_I64(c->done, 1);
  hr_mutex_unlock(&c->mu);
  hr_cond_deinit(&c->ended);
  hr_mutex_deinit(&c->mu);
  return code;
}
static void wait_held(echo_server_t* s, int count) {
  for (int i = 0; atomic_load(&s->held) < count && i < 2000; ++i) sleep_ms(5);
  HR_CHECK_EQ_I64(atomic_load(&s->held), count);
}

/* --- the suite -------------------------------------------------------------------------------------------------------------------- */

static void check_answers(void) {
  echo_server_t s;
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  char* text = NULL;
  HR_CHECK_OK(call_text(c, "/test/echo", "hello", 5000, false, &text));
  HR_CHECK_STR(text, "hello");
  hr_free(text);
  HR_CHECK_OK(call_text(c, "/test/echo", "", 5000, false, &text)); /* an empty message is a message */
  HR_CHECK_STR(text, "");
  hr_free(text);
  HR_CHECK_CODE(call_text(c, "/test/fail", "x", 5000, false, NULL), HR_FAILED_PRECONDITION, "no % and \xc3\xa4, line\nbreak");
  HR_CHECK_CODE(call_text(c, "/test/none", "x", 5000, false, NULL), HR_UNIMPLEMENTED, "/test/none");
  transport->disconnect(c);
  transport->stop(s.listener, 100);
}

static atomic_int bodies;
static void free_body(void* owner) {
  free(owner);
  atomic_fetch_sub(&bodies, 1);
}
static void check_large(void) {
  enum { BYTES = 20 << 20 };
  echo_server_t s;
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  for (int round = 0; round < 2; ++round) {
    uint8_t* body = malloc(BYTES);
    for (size_t i = 0; i < BYTES; ++i) body[i] = (uint8_t)(i * 7 + i / 255);
    hr_message_t m = message_of("head"), r = {0};
    atomic_fetch_add(&bodies, 1);
    HR_CHECK_OK(hr_message_add(&m, (hr_slice_t){body, BYTES, free_body, body}));
    HR_CHECK_OK(hr_transport_call_sync(transport, c, "/test/echo", &m, 20000, false, &r));
    char* all;
    size_t size;
    HR_REQUIRE_OK(hr_message_join(&r, &all, &size));
    HR_CHECK_EQ_I64(size, BYTES + 4);
    size_t wrong = 0;
    for (size_t i = 0; size == BYTES + 4 && i < BYTES; ++i) wrong += (uint8_t)all[i + 4] != (uint8_t)(i * 7 + i / 255);
    HR_CHECK_EQ_I64(wrong, 0);
    hr_free(all);
    hr_message_deinit(&r);
  }
  transport->disconnect(c);
  transport->stop(s.listener, 100);
  for (int i = 0; i < 400 && atomic_load(&bodies); ++i) sleep_ms(5);
  HR_CHECK_EQ_I64(atomic_load(&bodies), 0); /* each was released, once */
}

static void check_deadline(void) {
  echo_server_t s;
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  int64_t start = hr_clock_now_ns();
  HR_CHECK_CODE(call_text(c, "/test/hold", "x", 200, false, NULL), HR_DEADLINE_EXCEEDED, "");
  HR_CHECK(hr_clock_now_ns() - start < 5000000000);
  for (int i = 0; i < 400 && !atomic_load(&s.cancelled); ++i) sleep_ms(5);
  HR_CHECK_EQ_I64(atomic_load(&s.cancelled), 1); /* the server knows */
  transport->disconnect(c);
  transport->stop(s.listener, 100);
}

static void check_cancel(void) {
  echo_server_t s;
  async_call_t a, b;
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  async_start(&a, c, "/test/hold", false);
  wait_held(&s, 1);
  transport->cancel(&a.base);
  HR_CHECK_EQ_I64(async_wait(&a), HR_CANCELLED);
  for (int i = 0; i < 400 && !atomic_load(&s.cancelled); ++i) sleep_ms(5);
  HR_CHECK_EQ_I64(atomic_load(&s.cancelled), 1);
  async_start(&b, c, "/test/hold", false);
  wait_held(&s, 2);
  transport->disconnect(c); /* ends what is in flight first */
  HR_CHECK_EQ_I64(async_wait(&b), HR_CANCELLED);
  transport->stop(s.listener, 100);
}

static void check_absent(void) {
  echo_server_t s;
  HR_REQUIRE(start_server(&s, 0, NULL));
  const int port = s.port;
  transport->stop(s.listener, 0);
  hr_channel_t* c = connect_to(port);
  HR_CHECK_CODE(call_text(c, "/test/echo", "x", 5000, false, NULL), HR_UNAVAILABLE, "");
  HR_CHECK_CODE(call_text(c, "/test/echo", "x", 300, true, NULL), HR_DEADLINE_EXCEEDED, "");
  async_call_t a;
  async_start(&a, c, "/test/echo", true); /* waits for the peer */
  sleep_ms(50);
  HR_REQUIRE(start_server(&s, port, NULL));
  HR_CHECK_EQ_I64(async_wait(&a), HR_OK);
  HR_CHECK_OK(call_text(c, "/test/echo", "x", 5000, false, NULL)); /* connected again by itself */
  transport->disconnect(c);
  transport->stop(s.listener, 0);
}

static void check_stop(void) {
  echo_server_t s;
  async_call_t a, b;
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  async_start(&a, c, "/test/hold", false);  /* answers when told */
  async_start(&b, c, "/test/stuck", false); /* does not */
  wait_held(&s, 2);
  int64_t start = hr_clock_now_ns();
  transport->stop(s.listener, 200);
  HR_CHECK(hr_clock_now_ns() - start < 1000000000);
  HR_CHECK_EQ_I64(atomic_load(&s.cancelled), 2); /* both were told */
  hr_code_t held = async_wait(&a), stuck = async_wait(&b);
  HR_CHECK(held == HR_CANCELLED || held == HR_UNAVAILABLE);
  HR_CHECK(stuck == HR_CANCELLED || stuck == HR_UNAVAILABLE);
  transport->reply(s.stuck, NULL, NULL); /* to nobody */
  HR_CHECK_CODE(call_text(c, "/test/echo", "x", 5000, false, NULL), HR_UNAVAILABLE, "");
  transport->disconnect(c);
}

static void check_limits(void) {
  echo_server_t s;
  HR_REQUIRE(start_server(&s, 0, &(hr_listener_limits_t){.max_message_bytes = 1000, .max_connections = 1}));
  hr_channel_t *c = connect_to(s.port), *d = connect_to(s.port);
  char large[2001] = "";
  memset(large, 'x', 2000);
  HR_CHECK_CODE(call_text(c, "/test/echo", large, 5000, false, NULL), HR_RESOURCE_EXHAUSTED, "2000");
  async_call_t a;
  async_start(&a, c, "/test/hold", false);
  wait_held(&s, 1);
  HR_CHECK_CODE(call_text(d, "/test/echo", "x", 5000, false, NULL), HR_RESOURCE_EXHAUSTED, "the limit is 1");
  HR_CHECK_OK(call_text(c, "/test/echo", "x", 5000, false, NULL));
  transport->cancel(&a.base);
  HR_CHECK_EQ_I64(async_wait(&a), HR_CANCELLED);
  transport->disconnect(c);
  transport->disconnect(d);
  transport->stop(s.listener, 100);
}

static void check_taken_port(void) {
  echo_server_t s, t;
  HR_REQUIRE(start_server(&s, 0, NULL));
  memset(&t, 0, sizeof t);
  HR_CHECK_CODE(transport->listen(HR_STR("127.0.0.1"), s.port, NULL, NULL, serve_echo, &t, &t.listener, &t.port), HR_UNAVAILABLE, "listen");
  transport->stop(s.listener, 100);
}

/* Many calls at once from several threads. */
typedef struct {
  hr_channel_t* channel;
  int failures;
} flood_t;
static void* flood(void* arg) {
  flood_t* f = arg;
  for (int i = 0; i < 200; ++i) {
    char text[32], *answer = NULL;
    snprintf(text, sizeof text, "%d", i);
    hr_status_t status = call_text(f->channel, "/test/echo", text, 20000, false, &answer);
    f->failures += status || !answer || strcmp(answer, text);
    hr_status_release(status);
    hr_free(answer);
  }
  return NULL;
}
static void check_flood(void) {
  echo_server_t s;
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  pthread_t threads[4];
  flood_t f[4];
  for (int i = 0; i < 4; ++i) {
    f[i] = (flood_t){c, 0};
    HR_REQUIRE(pthread_create(&threads[i], NULL, flood, &f[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    HR_CHECK_EQ_I64(f[i].failures, 0);
  }
  transport->disconnect(c);
  transport->stop(s.listener, 100);
}

/* gRPC's own object is not instrumented, and the thread sanitizer takes its synchronisation for races. near_test is without it. */
#ifdef __SANITIZE_THREAD__
#define GRPC_SUITE(name)
#else
#define GRPC_SUITE(name)                                         \
  HR_TEST(near_##name) {                                         \
    HR_REQUIRE_OK(hr_transport_find(HR_STR("grpc"), &transport)); \
    check_##name();                                              \
  }                                                              \
  HR_TEST(far_##name) {                                          \
    HR_REQUIRE_OK(hr_transport_far(&transport));                  \
    check_##name();                                              \
  }
#endif
#define SUITE(name)                                                \
  HR_TEST(inproc_##name) {                                         \
    HR_REQUIRE_OK(hr_transport_find(HR_STR("inproc"), &transport)); \
    check_##name();                                                \
  }                                                                \
  GRPC_SUITE(name)
SUITE(answers)
SUITE(large)
SUITE(deadline)
SUITE(cancel)
SUITE(absent)
SUITE(stop)
SUITE(limits)
SUITE(taken_port)
SUITE(flood)

#ifndef __SANITIZE_THREAD__
HR_TEST(far_failures_say_so_much_at_most) { /* trailers are limited to 8 KiB */
  static const int sizes[] = {1, 1000, 3071, 3072, 3073, 8000};
  echo_server_t s;
  HR_REQUIRE_OK(hr_transport_far(&transport));
  HR_REQUIRE(start_server(&s, 0, NULL));
  hr_channel_t* c = connect_to(s.port);
  for (int i = 0; i < 6; ++i) {
    char text[8001];
    memset(text, 'm', sizeof text);
    text[sizes[i]] = 0;
    hr_status_t status = call_text(c, "/test/say", text, 10000, false, NULL);
    HR_CHECK_EQ_I64(hr_status_code(status), HR_OUT_OF_RANGE);
    HR_CHECK_EQ_U64(strspn(hr_status_message(status), "m"), sizes[i] < 3072 ? sizes[i] : 3072);
    hr_status_release(status);
  }
  transport->disconnect(c);
  transport->stop(s.listener, 100);
}
#endif

HR_TEST(unknown_protocol) {
  const hr_transport_t* t;
  HR_CHECK_CODE(hr_transport_find(HR_STR("rdma"), &t), HR_UNIMPLEMENTED, "rdma");
}

/* The leak checker dies of threads that an object opened at run time has started; blocks of ours are counted by the allocator's hooks. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }

__attribute__((constructor)) static void name_part(void) { setenv("HEADRACE_GRPC", HR_TEST_BUILD_DIR "/lib/libheadrace_grpc.so", 0); }
HR_TEST_MAIN()
