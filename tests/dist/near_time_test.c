/* SPDX-License-Identifier: Apache-2.0 */
/* Near calls frame by frame, with time told here: the channel against a server that is a plain socket, the listener against a caller that
 * is one. Which numbers calls have, what ends them and with which words, when silence is asked about and when it is enough. */
#define HR_TEST_LEAKS_CHECKED
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/clock.h"
#include "dist/near_channel.h"
#include "dist/near_link.h"
#include "dist/near_listener.h"
#include "test.h"

#define MS INT64_C(1000000)

static int port_of_test(void) { return 200000 + (int)getpid() % 100000; } /* above what any server has */

/* --- turns ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_errand_t base;
  hr_near_source_t* source;
  int64_t now_ns, next_ns;
  hr_mutex_t mu;
  hr_cond_t ended;
  bool is_done;
} tick_t;
static void tick_on_turn(hr_errand_t* self) {
  tick_t* t = (tick_t*)self;
  HR_CHECK(hr_near_loop_has_turn());
  if (t->source) t->next_ns = t->source->tick(t->source, t->now_ns);
  hr_mutex_lock(&t->mu);
  t->is_done = true;
  hr_cond_wake_all(&t->ended);
  hr_mutex_unlock(&t->mu);
}
/* As if it were `now_ns`; when it wants the next tick. NULL: a turn goes by. */
static int64_t tick_at(void* source, int64_t now_ns) {
  tick_t t = {.base.run = tick_on_turn, .source = source, .now_ns = now_ns};
  hr_mutex_init(&t.mu);
  hr_cond_init(&t.ended);
  hr_near_loop_post(&t.base);
  hr_mutex_lock(&t.mu);
  while (!t.is_done) hr_cond_wait(&t.ended, &t.mu);
  hr_mutex_unlock(&t.mu);
  hr_cond_deinit(&t.ended);
  hr_mutex_deinit(&t.mu);
  return t.next_ns;
}

/* --- plain sockets -------------------------------------------------------------------------------------------------------------------- */

static void set_patience(int fd) {
  const struct timeval patience = {10, 0};
  HR_CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
}

static void put(int fd, hr_near_head_t head, const char* text, size_t bytes) { /* a message of that many x, in one piece */
  static char body[5000];
  const uint64_t size = bytes;
  memset(body, 'x', sizeof body);
  head.text = (uint32_t)strlen(text);
  head.bytes = bytes;
  head.pieces = bytes > 0;
  HR_CHECK_EQ_I64(send(fd, &head, sizeof head, MSG_NOSIGNAL), sizeof head);
  HR_CHECK_EQ_I64(send(fd, text, head.text, MSG_NOSIGNAL), head.text);
  if (bytes) HR_CHECK_EQ_I64(send(fd, &size, 8, MSG_NOSIGNAL), 8);
  if (bytes && bytes <= sizeof body) HR_CHECK_EQ_I64(send(fd, body, bytes, MSG_NOSIGNAL), bytes);
}

/* The next frame; what it must be. */
static bool get(int fd, uint64_t number, hr_near_kind_t kind, hr_code_t code, const char* text, size_t bytes) {
  hr_near_head_t h = {0};
  char got[600] = {0}, body[600];
  uint64_t size = 0;
  if (!HR_CHECK_EQ_I64(recv(fd, &h, sizeof h, MSG_WAITALL), sizeof h) || !HR_CHECK(h.text < sizeof got && h.pieces <= 1)) return false;
  if (h.text) HR_CHECK_EQ_I64(recv(fd, got, h.text, MSG_WAITALL), h.text);
  if (h.pieces) HR_CHECK(recv(fd, &size, 8, MSG_WAITALL) == 8 && size == h.bytes && size <= sizeof body);
  if (h.pieces) HR_CHECK_EQ_I64(recv(fd, body, size, MSG_WAITALL), size);
  bool good = HR_CHECK_EQ_U64(hr_near_number(&h), number) && HR_CHECK_EQ_I64(h.kind, kind) && HR_CHECK_EQ_I64(h.code, code);
  good = HR_CHECK_STR(got, text) && good;
  return HR_CHECK_EQ_U64(size, bytes) && good;
}
static bool is_at_end(int fd) {
  char byte;
  return recv(fd, &byte, 1, 0) == 0;
}
static bool is_silent(int fd) { /* nothing has come, after a turn has gone by */
  char byte;
  (void)tick_at(NULL, 0);
  return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
}

/* --- a channel, and its server -------------------------------------------------------------------------------------------------------- */

typedef struct {
  int listening, fd;
  hr_near_channel_t* channel;
} pair_t;

static bool open_pair(pair_t* p) {
  struct sockaddr_un name;
  const socklen_t size = (socklen_t)hr_near_channel_name(port_of_test(), &name);
  p->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!HR_CHECK(!bind(p->listening, (const struct sockaddr*)&name, size) && !listen(p->listening, 5))) return false;
  p->channel = hr_near_channel_open(port_of_test());
  p->fd = accept(p->listening, NULL, NULL);
  set_patience(p->fd);
  return HR_CHECK(p->channel && p->fd >= 0);
}
static void close_pair(pair_t* p) {
  if (p->channel) hr_near_channel_close(p->channel);
  if (p->fd >= 0) (void)close(p->fd);
  (void)close(p->listening);
}

typedef struct {
  hr_call_t base;
  hr_mutex_t mu;
  hr_cond_t ended;
  int done;
  hr_status_t status;
  hr_message_t response;
  bool has_response;
} call_t;
static void call_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  call_t* c = (call_t*)self;
  hr_mutex_lock(&c->mu);
  c->status = take_status;
  c->has_response = take_response != NULL;
  if (take_response) {
    c->response = *take_response;
    *take_response = (hr_message_t){0};
  }
  ++c->done;
  hr_cond_wake_all(&c->ended);
  hr_mutex_unlock(&c->mu);
}
static bool begin(pair_t* p, call_t* c, const char* method, size_t bytes, int64_t deadline_ms) {
  *c = (call_t){.base.done = call_done};
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->ended);
  hr_message_t m = {0};
  if (bytes) HR_CHECK_OK(hr_message_of_bytes(hr_alloc_zero(bytes), bytes, &m));
  const bool begun = hr_near_channel_call(p->channel, method, &m, deadline_ms, &c->base);
  hr_message_deinit(&m);
  return begun;
}
/* The status is the caller's. */
static hr_status_t end(call_t* c, int64_t size) {
  hr_mutex_lock(&c->mu);
  while (!c->done) hr_cond_wait(&c->ended, &c->mu);
  hr_mutex_unlock(&c->mu);
  HR_CHECK(c->done == 1 && c->has_response == !c->status);
  HR_CHECK_EQ_I64(hr_message_size(&c->response), size);
  hr_message_deinit(&c->response);
  hr_cond_deinit(&c->ended);
  hr_mutex_deinit(&c->mu);
  return c->status;
}
static uint64_t number_of(int uses, int place) { return (uint64_t)uses << 20 | (uint64_t)place; }

HR_TEST(names_of_sockets) {
  struct sockaddr_un name;
  char text[64];
  const size_t size = hr_near_channel_name(2222, &name);
  snprintf(text, sizeof text, "headrace-1-%u-2222", (unsigned)geteuid());
  HR_CHECK(name.sun_family == AF_UNIX && name.sun_path[0] == 0);
  HR_CHECK_STR(name.sun_path + 1, text);
  HR_CHECK_EQ_U64(size, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text));
  HR_CHECK(hr_near_channel_open(port_of_test()) == NULL);
}

HR_TEST(calls_are_numbered_by_place_and_use) {
  pair_t p;
  call_t c[40];
  if (open_pair(&p)) {
    HR_CHECK(hr_near_channel_is_open(p.channel) && hr_near_channel_is_idle(p.channel));
    for (int i = 0; i < 40; ++i) { /* the table grows at 16 and at 32 */
      HR_REQUIRE(begin(&p, &c[i], "/a/B", i % 3 ? 5 : 0, 0));
      get(p.fd, number_of(1, i), HR_NEAR_CALL, HR_OK, "/a/B", i % 3 ? 5 : 0);
    }
    HR_CHECK(!hr_near_channel_is_idle(p.channel));
    for (int i = 0; i < 40; ++i) {
      const int at = (i * 7 + 3) % 40;
      put(p.fd, hr_near_head(number_of(1, at), HR_NEAR_ANSWER), "", (size_t)at);
      HR_CHECK_OK(end(&c[at], at));
    }
    (void)tick_at(NULL, 0); /* until the last `done` has been counted */
    HR_CHECK(hr_near_channel_is_idle(p.channel));
    static const int places[] = {(39 * 7 + 3) % 40, (38 * 7 + 3) % 40, (37 * 7 + 3) % 40}; /* the last one free is the first used */
    for (int i = 0; i < 3; ++i) {
      HR_REQUIRE(begin(&p, &c[i], "m", 0, 0));
      get(p.fd, number_of(2, places[i]), HR_NEAR_CALL, HR_OK, "m", 0);
    }
    for (int i = 0; i < 3; ++i) {
      put(p.fd, hr_near_head(number_of(2, places[i]), HR_NEAR_ANSWER), "", 1);
      HR_CHECK_OK(end(&c[i], 1));
    }
  }
  close_pair(&p);
}

HR_TEST(answers_find_their_calls) {
  pair_t p;
  call_t c, d;
  if (open_pair(&p)) {
    HR_REQUIRE(begin(&p, &c, "first", 0, 0) && begin(&p, &d, "second", 0, 0));
    get(p.fd, number_of(1, 0), HR_NEAR_CALL, HR_OK, "first", 0);
    get(p.fd, number_of(1, 1), HR_NEAR_CALL, HR_OK, "second", 0);
    static const uint64_t nobodys[] = {0, 1, (uint64_t)2 << 20, (uint64_t)1 << 20 | 2, (uint64_t)1 << 20 | 17, ((uint64_t)1 << 48) - 1,
                                       (uint64_t)1 << 20 | 0xfffff, (uint64_t)1 << 40 | (uint64_t)1 << 20};
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; ++i) put(p.fd, hr_near_head(nobodys[i], HR_NEAR_ANSWER), "late", 3);
    put(p.fd, hr_near_head(number_of(1, 0), HR_NEAR_CALL), "a call to a caller", 3);
    put(p.fd, hr_near_head(number_of(1, 0), HR_NEAR_CANCEL), "", 0);
    put(p.fd, (hr_near_head_t){.kind = HR_NEAR_PING}, "", 0);
    get(p.fd, 0, HR_NEAR_PONG, HR_OK, "", 0);
    HR_CHECK(c.done == 0 && d.done == 0);
    hr_near_head_t no = hr_near_head(number_of(1, 1), HR_NEAR_ANSWER);
    no.code = HR_NOT_FOUND;
    put(p.fd, no, "there is none", 4);
    HR_CHECK_CODE(end(&d, 0), HR_NOT_FOUND, "there is none");
    put(p.fd, hr_near_head(number_of(1, 0), HR_NEAR_ANSWER), "not read", 4999);
    HR_CHECK_OK(end(&c, 4999));
    put(p.fd, hr_near_head(number_of(1, 0), HR_NEAR_ANSWER), "", 1); /* once more: nobody's */
    HR_REQUIRE(begin(&p, &c, "again", 0, 0));
    get(p.fd, number_of(2, 0), HR_NEAR_CALL, HR_OK, "again", 0);
    put(p.fd, hr_near_head(number_of(1, 0), HR_NEAR_ANSWER), "", 1); /* to the one before */
    put(p.fd, hr_near_head(number_of(2, 0), HR_NEAR_ANSWER), "", 2);
    HR_CHECK_OK(end(&c, 2));
  }
  close_pair(&p);
}

HR_TEST(deadlines) {
  static const int64_t orders[][3] = {{60000, 70000, 80000}, {80000, 70000, 60000}, {70000, 60000, 80000}, {0, 60000, 0}, {-1, 0, 60000}};
  char says[100];
  snprintf(says, sizeof says, "deadline exceeded: no answer from the server at 127.0.0.1:%d", port_of_test());
  for (size_t o = 0; o < sizeof orders / sizeof *orders; ++o) {
    pair_t p;
    call_t c[3];
    if (!open_pair(&p)) return;
    HR_CHECK_EQ_I64(tick_at(p.channel, 1), INT64_MAX);
    const int64_t before = hr_clock_now_ns();
    int left = 0;
    for (int i = 0; i < 3; ++i) {
      HR_REQUIRE(begin(&p, &c[i], "m", 0, orders[o][i]));
      get(p.fd, number_of(1, i), HR_NEAR_CALL, HR_OK, "m", 0);
      left += orders[o][i] > 0;
    }
    const int64_t after = hr_clock_now_ns();
    for (int n = 0; left > 0; --left, ++n) {
      const int64_t at = tick_at(p.channel, 0), ms = 60000 + 10000 * n;
      HR_CHECK(at >= before + ms * MS && at <= after + ms * MS);
      HR_CHECK_EQ_I64(tick_at(p.channel, at - 1), at);
      HR_CHECK(is_silent(p.fd));
      const int64_t next = tick_at(p.channel, at);
      HR_CHECK(left > 1 ? next > at && next < INT64_MAX : next == INT64_MAX);
      int late = 0;
      while (orders[o][late] != ms) ++late;
      get(p.fd, number_of(1, late), HR_NEAR_CANCEL, HR_OK, "", 0);
      HR_CHECK_CODE(end(&c[late], 0), HR_DEADLINE_EXCEEDED, says);
    }
    close_pair(&p); /* ends those without a deadline */
    for (int i = 0; i < 3; ++i)
      if (orders[o][i] <= 0) HR_CHECK_CODE(end(&c[i], 0), HR_CANCELLED, "the channel was closed");
  }
}

HR_TEST(calls_that_are_given_up) {
  pair_t p;
  call_t c, d;
  if (open_pair(&p)) {
    HR_REQUIRE(begin(&p, &c, "m", 0, 0) && begin(&p, &d, "n", 0, 0));
    get(p.fd, number_of(1, 0), HR_NEAR_CALL, HR_OK, "m", 0);
    get(p.fd, number_of(1, 1), HR_NEAR_CALL, HR_OK, "n", 0);
    hr_near_channel_cancel(&c.base);
    get(p.fd, number_of(1, 0), HR_NEAR_CANCEL, HR_OK, "", 0);
    HR_CHECK_CODE(end(&c, 0), HR_CANCELLED, "cancelled by its caller");
    put(p.fd, hr_near_head(number_of(1, 0), HR_NEAR_ANSWER), "", 3);
    HR_CHECK(is_silent(p.fd) && !hr_near_channel_is_idle(p.channel) && d.done == 0);
  }
  close_pair(&p);
  HR_CHECK_CODE(end(&d, 0), HR_CANCELLED, "the channel was closed");
}

HR_TEST(servers_that_go) {
  pair_t p;
  call_t c[3];
  char says[100];
  snprintf(says, sizeof says, "the server at 127.0.0.1:%d has closed the connection", port_of_test());
  if (open_pair(&p)) {
    for (int i = 0; i < 3; ++i) HR_REQUIRE(begin(&p, &c[i], "m", 0, 0));
    (void)close(p.fd);
    p.fd = -1;
    for (int i = 0; i < 3; ++i) HR_CHECK_CODE(end(&c[i], 0), HR_UNAVAILABLE, says);
    (void)tick_at(NULL, 0);
    HR_CHECK(!hr_near_channel_is_open(p.channel) && hr_near_channel_is_idle(p.channel));
    HR_CHECK(!begin(&p, &c[0], "m", 5, 0));
  }
  close_pair(&p);
}

HR_TEST(channels_that_close) {
  pair_t p;
  if (open_pair(&p)) {
    hr_near_channel_close(p.channel);
    p.channel = NULL;
    HR_CHECK(is_at_end(p.fd));
  }
  close_pair(&p);
}

/* --- a listener, and its callers ------------------------------------------------------------------------------------------------------ */

typedef struct {
  hr_near_listener_t* l;
  hr_mutex_t mu;
  hr_cond_t changed;
  hr_request_t* held[8];  /* in order of arrival */
  int count, cancelled;
  atomic_bool replies;    /* a cancellation is answered where it is heard */
} house_t;
static house_t house;

static void hear_cancel(hr_request_t* r) {
  hr_mutex_lock(&house.mu);
  ++house.cancelled;
  const bool replies = atomic_load(&house.replies);
  hr_cond_wake_all(&house.changed);
  hr_mutex_unlock(&house.mu);
  if (replies) hr_near_listener_reply(r, HR_ERROR(CANCELLED, "so be it"), NULL);
}
static void hold(void* arg, hr_request_t* r) {
  HR_CHECK(arg == &house && !r->cancelled);
  if (!hr_str_is(r->method, "deaf")) r->cancelled = hear_cancel;
  hr_mutex_lock(&house.mu);
  house.held[house.count++ % 8] = r;
  hr_cond_wake_all(&house.changed);
  hr_mutex_unlock(&house.mu);
}
static bool open_house(const hr_listener_limits_t* limits) {
  memset(&house, 0, sizeof house);
  hr_mutex_init(&house.mu);
  hr_cond_init(&house.changed);
  return HR_CHECK_OK(hr_near_listener_open(port_of_test(), limits, hold, &house, &house.l));
}
static void close_house(void) {
  if (house.l) {
    hr_near_listener_refuse(house.l);
    hr_near_listener_close(house.l, hr_clock_now_ns());
  }
  hr_cond_deinit(&house.changed);
  hr_mutex_deinit(&house.mu);
}
static void wait_for(const int* count, int wanted) {
  hr_mutex_lock(&house.mu);
  while (*count < wanted && hr_cond_wait_until(&house.changed, &house.mu, hr_clock_now_ns() + 10000 * MS)) continue;
  HR_CHECK_EQ_I64(*count, wanted);
  hr_mutex_unlock(&house.mu);
}
static int visit(void) {
  struct sockaddr_un name;
  const socklen_t size = (socklen_t)hr_near_channel_name(port_of_test(), &name);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  HR_CHECK(!connect(fd, (const struct sockaddr*)&name, size));
  set_patience(fd);
  return fd;
}
static void reply_bytes(hr_request_t* r, size_t bytes) {
  hr_message_t m = {0};
  HR_CHECK_OK(hr_message_of_bytes(hr_alloc_zero(bytes), bytes, &m));
  hr_near_listener_reply(r, NULL, &m);
}

HR_TEST(requests_and_answers) {
  if (open_house(NULL)) {
    char name[32];
    const int fd = visit();
    snprintf(name, sizeof name, "near:%d", (int)getpid());
    for (int i = 0; i < 3; ++i) {
      put(fd, hr_near_head(0x123400000000u + (unsigned)i, HR_NEAR_CALL), i ? "deaf" : "", (size_t)i);
      wait_for(&house.count, i + 1);
    }
    for (int i = 0; i < 3; ++i) {
      HR_CHECK_VIEW(house.held[i]->method, i ? "deaf" : "");
      HR_CHECK(house.held[i]->method.data[house.held[i]->method.size] == 0);
      HR_CHECK_VIEW(house.held[i]->peer, name);
      HR_CHECK_EQ_U64(hr_message_size(&house.held[i]->message), i);
    }
    put(fd, hr_near_head(0x123400000001u, HR_NEAR_CANCEL), "", 0); /* does not want to know */
    put(fd, hr_near_head(1, HR_NEAR_CANCEL), "", 0);               /* no call's number */
    put(fd, hr_near_head(0x123400000000u, HR_NEAR_ANSWER), "", 3); /* an answer to a server */
    HR_CHECK(is_silent(fd) && house.cancelled == 0);
    reply_bytes(house.held[1], 7); /* the one in the middle first */
    get(fd, 0x123400000001u, HR_NEAR_ANSWER, HR_OK, "", 7);
    hr_message_t dropped = {0};
    HR_CHECK_OK(hr_message_of_bytes(hr_alloc_zero(9), 9, &dropped));
    hr_near_listener_reply(house.held[2], HR_ERROR(NOT_FOUND, "no %d", 5), &dropped);
    get(fd, 0x123400000002u, HR_NEAR_ANSWER, HR_NOT_FOUND, "no 5", 0);
    hr_near_listener_reply(house.held[0], NULL, NULL);
    get(fd, 0x123400000000u, HR_NEAR_ANSWER, HR_OK, "", 0);
    (void)close(fd);
  }
  close_house();
}

HR_TEST(cancellations_are_heard_once) {
  if (open_house(NULL)) {
    const int fd = visit();
    for (uint32_t i = 1; i <= 3; ++i) put(fd, hr_near_head(i, HR_NEAR_CALL), "hold", 0);
    wait_for(&house.count, 3);
    for (int i = 0; i < 3; ++i) put(fd, hr_near_head(2, HR_NEAR_CANCEL), "", 0);
    wait_for(&house.cancelled, 1);
    HR_CHECK(is_silent(fd) && house.cancelled == 1);
    hr_near_listener_reply(house.held[1], HR_ERROR(CANCELLED, "ended"), NULL);
    get(fd, 2, HR_NEAR_ANSWER, HR_CANCELLED, "ended", 0);
    atomic_store(&house.replies, true);
    put(fd, hr_near_head(1, HR_NEAR_CANCEL), "", 0);
    get(fd, 1, HR_NEAR_ANSWER, HR_CANCELLED, "so be it", 0);
    (void)close(fd); /* who goes cancels what is left */
    wait_for(&house.cancelled, 3);
  }
  close_house();
}

HR_TEST(callers_have_a_limit) {
  for (int most = 1; most <= 2; ++most) {
    if (open_house(&(hr_listener_limits_t){.max_connections = most})) {
      char says[100];
      int fds[3];
      snprintf(says, sizeof says, "too many callers at a time, the limit is %d", most);
      for (int i = 0; i < 3; ++i) fds[i] = visit(); /* who does not call is no caller */
      for (int i = 0; i < most; ++i) {
        put(fds[i], hr_near_head(1, HR_NEAR_CALL), "hold", 0);
        wait_for(&house.count, i + 1);
      }
      put(fds[most], hr_near_head(5, HR_NEAR_CALL), "hold", 10);
      get(fds[most], 5, HR_NEAR_ANSWER, HR_RESOURCE_EXHAUSTED, says, 0);
      put(fds[0], hr_near_head(2, HR_NEAR_CALL), "hold", 0); /* one may call twice */
      wait_for(&house.count, most + 1);
      hr_near_listener_reply(house.held[0], NULL, NULL);
      get(fds[0], 1, HR_NEAR_ANSWER, HR_OK, "", 0);
      put(fds[most], hr_near_head(6, HR_NEAR_CALL), "hold", 0); /* still one */
      get(fds[most], 6, HR_NEAR_ANSWER, HR_RESOURCE_EXHAUSTED, says, 0);
      hr_near_listener_reply(house.held[most], NULL, NULL);
      get(fds[0], 2, HR_NEAR_ANSWER, HR_OK, "", 0);
      put(fds[most], hr_near_head(7, HR_NEAR_CALL), "hold", 0);
      wait_for(&house.count, most + 2);
      atomic_store(&house.replies, true);
      for (int i = 0; i < 3; ++i) (void)close(fds[i]);
      wait_for(&house.cancelled, most);
    }
    close_house();
  }
}

HR_TEST(messages_have_a_limit) {
  for (int is_set = 0; is_set < 2; ++is_set) {
    if (open_house(is_set ? &(hr_listener_limits_t){.max_message_bytes = 100} : NULL)) {
      const int fd = visit();
      char says[100];
      const size_t most = is_set ? 100 : INT32_MAX;
      snprintf(says, sizeof says, "a message of %zu bytes, the limit is %zu", most + 1, most);
      if (is_set) {
        put(fd, hr_near_head(1, HR_NEAR_CALL), "deaf", most);
        wait_for(&house.count, 1);
        hr_near_listener_reply(house.held[0], NULL, NULL);
        get(fd, 1, HR_NEAR_ANSWER, HR_OK, "", 0);
        put(fd, hr_near_head(2, HR_NEAR_ANSWER), "", most + 1); /* no call: nobody to tell */
        put(fd, hr_near_head(3, HR_NEAR_CANCEL), "", most + 1);
      }
      put(fd, hr_near_head(4, HR_NEAR_CALL), "deaf", most + 1);
      get(fd, 4, HR_NEAR_ANSWER, HR_RESOURCE_EXHAUSTED, says, 0);
      HR_CHECK(is_silent(fd) && house.count == is_set);
      (void)close(fd);
    }
    close_house();
  }
}

/* Five seconds of silence are asked about, twice, two seconds each; then the caller is cut. Whoever is heard of meanwhile starts anew. */
HR_TEST(silence) {
  static const int heard_at[] = {-1, 0, 1}; /* never; at the very time of the first question; after it */
  for (int i = 0; i < 3; ++i) {
    if (open_house(NULL)) {
      const int fd = visit();
      put(fd, hr_near_head(1, HR_NEAR_CALL), "hold", 0);
      wait_for(&house.count, 1);
      hr_near_link_t* link = house.held[0]->via;
      const int64_t heard = link->heard_ns;
      HR_CHECK(heard > 0 && heard <= hr_clock_now_ns());
      HR_CHECK_EQ_I64(tick_at(link, heard), heard + 5000 * MS);
      HR_CHECK_EQ_I64(tick_at(link, heard + 5000 * MS - 1), heard + 5000 * MS);
      HR_CHECK(is_silent(fd));
      int64_t now = heard + 5000 * MS;
      HR_CHECK_EQ_I64(tick_at(link, now), now + 2000 * MS);
      get(fd, 0, HR_NEAR_PING, HR_OK, "", 0);
      HR_CHECK_EQ_I64(tick_at(link, now + 2000 * MS - 1), now + 2000 * MS);
      HR_CHECK(is_silent(fd));
      int questions = 1;
      if (heard_at[i] >= 0) {
        link->heard_ns = now + heard_at[i];
        HR_CHECK_EQ_I64(tick_at(link, link->heard_ns + 5000 * MS - 1), link->heard_ns + 5000 * MS);
        now = link->heard_ns + 3000 * MS;
        questions = heard_at[i] ? 0 : 1;
      }
      for (; questions < 2; ++questions) {
        now += 2000 * MS;
        HR_CHECK_EQ_I64(tick_at(link, now), now + 2000 * MS);
        get(fd, 0, HR_NEAR_PING, HR_OK, "", 0);
      }
      HR_CHECK_EQ_I64(tick_at(link, now + 2000 * MS - 1), now + 2000 * MS);
      HR_CHECK(is_silent(fd) && house.cancelled == 0);
      (void)tick_at(link, now + 2000 * MS);
      HR_CHECK(is_at_end(fd));
      wait_for(&house.cancelled, 1);
      hr_near_listener_reply(house.held[0], NULL, NULL); /* to nobody */
      (void)close(fd);
    }
    close_house();
  }
}

HR_TEST(who_waits_for_nothing_is_not_asked) {
  if (open_house(NULL)) {
    const int fd = visit();
    for (uint32_t i = 1; i <= 2; ++i) {
      put(fd, hr_near_head(i, HR_NEAR_CALL), "hold", 0);
      wait_for(&house.count, (int)i);
      hr_near_link_t* link = house.held[i - 1]->via;
      const int64_t heard = link->heard_ns;
      HR_CHECK_EQ_I64(tick_at(link, heard + MS), heard + 5000 * MS);
      put(fd, hr_near_head(9, HR_NEAR_CALL), "deaf", 0);
      wait_for(&house.count, (int)i + 1);
      hr_near_listener_reply(house.held[i], NULL, NULL);
      get(fd, 9, HR_NEAR_ANSWER, HR_OK, "", 0);
      HR_CHECK(tick_at(link, link->heard_ns + MS) == link->heard_ns + 5000 * MS); /* one is left */
      hr_near_listener_reply(house.held[i - 1], NULL, NULL);
      get(fd, i, HR_NEAR_ANSWER, HR_OK, "", 0);
      HR_CHECK_EQ_I64(tick_at(link, heard + 90000 * MS), INT64_MAX);
      HR_CHECK(is_silent(fd));
      --house.count; /* `deaf` is forgotten */
      if (i == 1) house.held[0] = NULL, house.count = 1;
    }
    (void)close(fd);
  }
  close_house();
}

HR_TEST(a_port_has_one_listener) {
  if (open_house(NULL)) {
    hr_near_listener_t* second = NULL;
    char says[100];
    snprintf(says, sizeof says, "no socket for tasks of this machine beside port %d: ", port_of_test());
    HR_CHECK_CODE(hr_near_listener_open(port_of_test(), NULL, hold, &house, &second), HR_UNAVAILABLE, says);
    HR_CHECK(second == NULL);
    const int fd = visit(); /* the first one hears on */
    put(fd, hr_near_head(1, HR_NEAR_CALL), "deaf", 0);
    wait_for(&house.count, 1);
    hr_near_listener_reply(house.held[0], NULL, NULL);
    get(fd, 1, HR_NEAR_ANSWER, HR_OK, "", 0);
    (void)close(fd);
  }
  close_house();
}

HR_TEST(a_server_that_stops) {
  if (open_house(NULL)) {
    const int fd = visit();
    put(fd, hr_near_head(1, HR_NEAR_CALL), "hold", 0);
    put(fd, hr_near_head(2, HR_NEAR_CALL), "deaf", 0);
    wait_for(&house.count, 2);
    hr_near_listener_refuse(house.l);
    HR_CHECK_EQ_I64(house.cancelled, 1);
    HR_CHECK(!hr_near_channel_open(port_of_test()));
    put(fd, hr_near_head(3, HR_NEAR_CALL), "hold", 5); /* the link is still there */
    get(fd, 3, HR_NEAR_ANSWER, HR_UNAVAILABLE, "the server has stopped", 0);
    HR_CHECK_EQ_I64(house.count, 2);
    reply_bytes(house.held[0], 3);
    get(fd, 1, HR_NEAR_ANSWER, HR_OK, "", 3);
    hr_near_listener_close(house.l, hr_clock_now_ns() - 1); /* one is not answered, and not waited for */
    house.l = NULL;
    HR_CHECK(is_at_end(fd));
    reply_bytes(house.held[1], 3); /* to nobody */
    (void)close(fd);
  }
  close_house();
}
HR_TEST_MAIN()
