/* SPDX-License-Identifier: Apache-2.0 */
/* Links to near peers, without gRPC beside them: calls, pieces, limits; and a caller that sends nonsense, lies, does not read, stops, or is
 * of another user. The suite that all transports share is transport_test's. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/near_channel.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "dist/message_builder.h"
#include "dist/near_link.h"
#include "dist/near_listener.h"
#include "test.h"

static void sleep_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }
static int64_t soon(void) { return hr_clock_now_ns() + INT64_C(200000000); }

/* --- a server: "echo" gives the request back, "work" does so on an errand, "hold" answers when cancelled, others are refused ------- */

static atomic_int held, cancelled, odd;

static void held_cancelled(hr_request_t* r) {
  atomic_fetch_add(&cancelled, 1);
  hr_near_listener_reply(r, HR_ERROR(CANCELLED, "given up"), NULL);
}

typedef struct {
  hr_errand_t base;
  hr_request_t* request;
} work_t;
static atomic_int blocked; /* steps that wait for it to become 0 */
static void work(hr_errand_t* self) {
  work_t* w = (work_t*)self;
  hr_request_t* r = w->request;
  const bool blocks = hr_message_size(&r->message) == 5;
  hr_free(w);
  if (blocks) atomic_fetch_add(&held, 1);
  while (blocks && atomic_load(&blocked)) sleep_ms(2);
  hr_message_t m = r->message;
  r->message = (hr_message_t){0};
  hr_near_listener_reply(r, NULL, &m);
}
static void start_work(hr_request_t* r) {
  work_t* w = hr_alloc_zero(sizeof *w);
  *w = (work_t){.base.run = work, .request = r};
  HR_CHECK_OK(hr_errand_start(&w->base));
}

static void serve(void* arg, hr_request_t* r) {
  (void)arg;
  hr_message_t m = r->message;
  HR_CHECK(hr_str_has_prefix(r->peer, HR_STR("near:")));
  if (hr_str_is(r->method, "echo")) {
    r->message = (hr_message_t){0};
    hr_near_listener_reply(r, NULL, &m);
  } else if (hr_str_is(r->method, "work")) {
    start_work(r);
  } else if (hr_str_is(r->method, "hold")) {
    r->cancelled = held_cancelled;
    atomic_fetch_add(&held, 1);
  } else {
    atomic_fetch_add(&odd, 1);
    hr_near_listener_reply(r, HR_ERROR(UNIMPLEMENTED, "no method of %zu bytes", r->method.size), NULL);
  }
}

static int port = 70000; /* above what any other server has */
static hr_near_listener_t* listen_near(const hr_listener_limits_t* limits) {
  hr_near_listener_t* l = NULL;
  atomic_store(&held, 0);
  atomic_store(&cancelled, 0);
  atomic_store(&odd, 0);
  port = 70000 + (int)getpid() % 100000;
  HR_CHECK_OK(hr_near_listener_open(port, limits, serve, NULL, &l));
  return l;
}
static void stop_near(hr_near_listener_t* l) {
  hr_near_listener_refuse(l);
  hr_near_listener_close(l, soon());
}

static bool wait_count(atomic_int* count, int want, int ms) {
  for (int i = 0; i < ms / 5 && atomic_load(count) < want; ++i) sleep_ms(5);
  return HR_CHECK_EQ_I64(atomic_load(count), want);
}

typedef struct {
  hr_call_t base;
  hr_mutex_t mu;
  hr_cond_t ended;
  bool is_done;
  hr_status_t status;
  hr_message_t response;
} call_t;
static void call_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  call_t* c = (call_t*)self;
  hr_mutex_lock(&c->mu);
  c->status = take_status;
  if (take_response) {
    c->response = *take_response;
    *take_response = (hr_message_t){0};
  }
  c->is_done = true;
  hr_cond_wake_all(&c->ended);
  hr_mutex_unlock(&c->mu);
}
static bool call_start(call_t* c, hr_near_channel_t* channel, const char* method, hr_message_t* take, int64_t deadline_ms) {
  *c = (call_t){.base.done = call_done};
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->ended);
  const bool is_begun = hr_near_channel_call(channel, method, take, deadline_ms, &c->base);
  hr_message_deinit(take);
  return HR_CHECK(is_begun);
}
static hr_status_t call_wait(call_t* c) {
  hr_mutex_lock(&c->mu);
  while (!c->is_done) hr_cond_wait(&c->ended, &c->mu);
  hr_mutex_unlock(&c->mu);
  hr_cond_deinit(&c->ended);
  hr_mutex_deinit(&c->mu);
  return c->status;
}
static hr_message_t text_message(const char* text) {
  hr_message_t m;
  HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(text, strlen(text)), strlen(text), &m));
  return m;
}
/* Who connects does not wait: those that came before may still fill the listener's queue, for a while. */
static hr_near_channel_t* open_patiently(void) {
  const int64_t until = hr_clock_now_ns() + INT64_C(10000000000);
  hr_near_channel_t* channel = NULL;
  while (!(channel = hr_near_channel_open(port)) && hr_clock_now_ns() < until) usleep(1000);
  return channel;
}
static bool still_serves(void) {
  call_t c;
  hr_near_channel_t* channel = open_patiently();
  if (!HR_CHECK(channel)) return false;
  hr_message_t m = text_message("hello");
  bool good = call_start(&c, channel, "echo", &m, 5000) && HR_CHECK_OK(call_wait(&c)) && HR_CHECK_EQ_I64(hr_message_size(&c.response), 5);
  hr_message_deinit(&c.response);
  hr_near_channel_close(channel);
  return good;
}

/* --- calls ------------------------------------------------------------------------------------------------------------------------ */

/* Slices of all sizes, in an order that a seed makes: the bytes come back as they were, large ones in memory of a buffer's own. */
HR_TEST(pieces) {
  hr_near_listener_t* l = listen_near(NULL);
  hr_near_channel_t* channel = hr_near_channel_open(port);
  HR_REQUIRE(channel);
  static const size_t sizes[] = {0, 1, 7, 300, 4095, 4096, 4097, 70000, 1 << 20, 3 << 20};
  uint64_t seed = 12345;
  for (int round = 0; round < 60; ++round) {
    hr_message_t m = {0};
    size_t total = 0, large = 0;
    const int count = round == 59 ? 3000 : round % 12; /* the last has more slices than a frame has pieces */
    for (int i = 0; i < count; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const size_t size = round == 59 ? 5000 : sizes[(seed >> 33) % 10];
      hr_buffer_t* b = hr_buffer_create(size, HR_DTYPE_INVALID);
      for (size_t j = 0; j < size; ++j) ((uint8_t*)b->data)[j] = (uint8_t)(j * 31 + (size_t)i + total);
      HR_CHECK_OK(hr_message_add(&m, hr_message_slice_of_buffer(b)));
      total += size;
      large += size > 4096;
    }
    char *want, *got;
    size_t want_size, got_size;
    HR_REQUIRE_OK(hr_message_join(&m, &want, &want_size));
    call_t c;
    HR_REQUIRE(call_start(&c, channel, "echo", &m, 0));
    HR_REQUIRE_OK(call_wait(&c));
    size_t shared = 0;
    for (int32_t i = 0; i < c.response.count; ++i) shared += hr_message_buffer_of_slice(&c.response.slices[i]) != NULL;
    HR_CHECK_EQ_I64(shared, round == 59 ? 1 : (int64_t)large);
    HR_REQUIRE_OK(hr_message_join(&c.response, &got, &got_size));
    HR_CHECK(got_size == want_size && !memcmp(got, want, want_size));
    hr_free(want);
    hr_free(got);
    hr_message_deinit(&c.response);
  }
  hr_near_channel_close(channel);
  stop_near(l);
}

HR_TEST(long_texts) {
  hr_near_listener_t* l = listen_near(NULL);
  hr_near_channel_t* channel = hr_near_channel_open(port);
  HR_REQUIRE(channel);
  static const int sizes[] = {1, 255, 256, 257, 16384, 20000};
  for (int i = 0; i < 6; ++i) {
    char method[20001], want[64];
    memset(method, 'm', (size_t)sizes[i]);
    method[sizes[i]] = 0;
    hr_message_t none = {0};
    call_t c;
    HR_REQUIRE(call_start(&c, channel, method, &none, 0));
    snprintf(want, sizeof want, "no method of %d bytes", sizes[i] < HR_NEAR_TEXT_MOST ? sizes[i] : HR_NEAR_TEXT_MOST);
    HR_CHECK_CODE(call_wait(&c), HR_UNIMPLEMENTED, want);
  }
  hr_near_channel_close(channel);
  stop_near(l);
}

/* Cancelled, timed out, answered late and closed calls from several threads at once: each ends once. */
typedef struct {
  hr_near_channel_t* channel;
  int seed;
} mixed_t;
static void* mix_calls(void* arg) {
  mixed_t* x = arg;
  for (int i = 0; i < 300; ++i) {
    const int kind = (i * 7 + x->seed) % 4;
    hr_message_t m = text_message("x");
    call_t c;
    if (!call_start(&c, x->channel, kind >= 2 ? "hold" : i & 8 ? "work" : "echo", &m, kind == 2 ? 1 + i % 3 : 0)) return NULL;
    hr_mutex_lock(&c.mu); /* until `done` has it may be cancelled */
    if (kind % 2 && !c.is_done) hr_near_channel_cancel(&c.base);
    hr_mutex_unlock(&c.mu);
    const hr_code_t code = hr_status_code(call_wait(&c));
    HR_CHECK(code == HR_OK ? kind < 2 : code == (kind == 2 ? HR_DEADLINE_EXCEEDED : HR_CANCELLED));
    hr_status_release(c.status);
    hr_message_deinit(&c.response);
  }
  return NULL;
}
HR_TEST(mixed_ends) {
  hr_near_listener_t* l = listen_near(NULL);
  mixed_t x[4];
  pthread_t threads[4];
  hr_near_channel_t* channel = hr_near_channel_open(port);
  HR_REQUIRE(channel);
  for (int i = 0; i < 4; ++i) {
    x[i] = (mixed_t){channel, i};
    HR_REQUIRE(!pthread_create(&threads[i], NULL, mix_calls, &x[i]));
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 400 && atomic_load(&held) > atomic_load(&cancelled); ++i) sleep_ms(5);
  HR_CHECK_EQ_I64(atomic_load(&cancelled), atomic_load(&held)); /* the server heard of each that it held */
  hr_near_channel_close(channel);
  stop_near(l);
}

/* Steps run on the threads that hear them; when as many block as there are such threads, and more, others are still heard. */
HR_TEST(steps) {
  enum { BLOCKING = 8 };
  hr_near_listener_t* l = listen_near(NULL);
  hr_near_channel_t* channel = hr_near_channel_open(port);
  call_t c[BLOCKING];
  HR_REQUIRE(channel);
  atomic_store(&blocked, 1);
  for (int i = 0; i < BLOCKING; ++i) {
    hr_message_t m = text_message("block");
    HR_REQUIRE(call_start(&c[i], channel, "work", &m, 0));
  }
  wait_count(&held, BLOCKING, 10000);
  for (int i = 0; i < 500; ++i) {
    hr_message_t m = text_message("go");
    call_t go;
    HR_REQUIRE(call_start(&go, channel, "work", &m, 10000) && HR_CHECK_OK(call_wait(&go)));
    hr_message_deinit(&go.response);
  }
  atomic_store(&blocked, 0);
  for (int i = 0; i < BLOCKING; ++i) {
    HR_CHECK_OK(call_wait(&c[i]));
    hr_message_deinit(&c[i].response);
  }
  hr_near_channel_close(channel);
  stop_near(l);
}

/* A server that goes ends what waits for it, and a port without one is nobody's. */
HR_TEST(server_goes) {
  hr_near_listener_t* l = listen_near(NULL);
  hr_near_channel_t* channel = hr_near_channel_open(port);
  HR_REQUIRE(channel);
  call_t c;
  hr_message_t m = text_message("x");
  HR_REQUIRE(call_start(&c, channel, "hold", &m, 0));
  wait_count(&held, 1, 10000);
  const int64_t begin = hr_clock_now_ns();
  stop_near(l);
  HR_CHECK(hr_clock_now_ns() - begin < 3000000000);
  const hr_code_t code = hr_status_code(call_wait(&c));
  HR_CHECK(code == HR_CANCELLED || code == HR_UNAVAILABLE);
  hr_status_release(c.status);
  for (int i = 0; i < 400 && hr_near_channel_is_open(channel); ++i) sleep_ms(5);
  HR_CHECK(!hr_near_channel_is_open(channel) && hr_near_channel_is_idle(channel));
  hr_message_t none = {0};
  c = (call_t){.base.done = call_done};
  HR_CHECK(!hr_near_channel_open(port));
  sleep_ms(20);
  HR_CHECK(!hr_near_channel_call(channel, "echo", &none, 0, &c.base));
  hr_near_channel_close(channel);
}

/* --- attacks ---------------------------------------------------------------------------------------------------------------------- */

static int connect_raw(void) {
  struct sockaddr_un name;
  const socklen_t size = (socklen_t)hr_near_channel_name(port, &name);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  HR_CHECK(!connect(fd, (const struct sockaddr*)&name, size));
  const struct timeval patience = {5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return fd;
}
static void send_raw(int fd, const void* bytes, size_t size) { (void)!send(fd, bytes, size, MSG_NOSIGNAL); }
/* The other side has closed the connection, perhaps after an answer. */
static bool is_cut(int fd) {
  char waste[4096];
  ssize_t n;
  while ((n = recv(fd, waste, sizeof waste, 0)) > 0) continue;
  return n == 0 || errno == ECONNRESET;
}
static void send_head(int fd, hr_near_head_t h) { send_raw(fd, &h, sizeof h); }

HR_TEST(nonsense) {
  hr_near_listener_t* l = listen_near(&(hr_listener_limits_t){.max_message_bytes = 1 << 20});
  const uint64_t huge = UINT64_MAX / 2;
  static const hr_near_head_t heads[] = {
    {.kind = 0}, {.kind = 99}, {.kind = HR_NEAR_CALL, .text = HR_NEAR_TEXT_MOST + 1}, {.kind = HR_NEAR_CALL, .text = UINT32_MAX},
    {.kind = HR_NEAR_CALL, .pieces = HR_NEAR_PIECES_MOST + 1, .bytes = 1}, {.kind = HR_NEAR_CALL, .pieces = 1, .bytes = 0},
    {.kind = HR_NEAR_CALL, .pieces = 0, .bytes = 5}, {.kind = HR_NEAR_ANSWER, .code = 200},
  };
  for (size_t i = 0; i < sizeof heads / sizeof *heads; ++i) {
    const int fd = connect_raw();
    send_head(fd, heads[i]);
    HR_CHECK(is_cut(fd));
    close(fd);
  }
  const uint64_t lies[][2] = {{3, 3}, {0, 5}, {huge, huge}, {6, UINT64_MAX}}; /* of 5 bytes */
  for (int i = 0; i < 4; ++i) {
    const int fd = connect_raw();
    send_head(fd, (hr_near_head_t){.kind = HR_NEAR_CALL, .pieces = 2, .bytes = 5});
    send_raw(fd, lies[i], sizeof lies[i]);
    HR_CHECK(is_cut(fd));
    close(fd);
  }
  uint64_t seed = 99;
  for (int i = 0; i < 200; ++i) { /* anything, then gone; what is well formed by accident may be answered */
    char bytes[200];
    for (size_t j = 0; j < sizeof bytes; ++j) bytes[j] = (char)((seed = seed * 6364136223846793005u + 1) >> 56);
    bytes[4] = (char)(1 + i % 5);
    if (i & 1) memset(bytes + 8, 0, 16);
    const int fd = connect_raw();
    send_raw(fd, bytes, sizeof bytes);
    close(fd);
  }
  HR_CHECK(still_serves());
  stop_near(l);
}

/* A message above the limit is answered without being kept; one that stays unfinished goes with its sender. */
HR_TEST(large_lies) {
  hr_near_listener_t* l = listen_near(&(hr_listener_limits_t){.max_message_bytes = 1 << 20});
  const int fd = connect_raw();
  const uint64_t sizes[] = {(1 << 20) + 1, 1 << 20};
  send_head(fd, (hr_near_head_t){.number = 7, .kind = HR_NEAR_CALL, .text = 4, .pieces = 1, .bytes = sizes[0]});
  send_raw(fd, "echo", 4);
  send_raw(fd, sizes, 8);
  hr_near_head_t answer = {0};
  HR_CHECK_EQ_I64(recv(fd, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
  HR_CHECK(answer.number == 7 && answer.kind == HR_NEAR_ANSWER && answer.code == HR_RESOURCE_EXHAUSTED);
  close(fd);
  for (int i = 0; i < 50; ++i) {
    const int half = connect_raw();
    send_head(half, (hr_near_head_t){.kind = HR_NEAR_CALL, .text = 4, .pieces = 1, .bytes = sizes[1]});
    send_raw(half, "echo", 4);
    send_raw(half, &sizes[1], 8);
    send_raw(half, "some", 4);
    close(half);
  }
  HR_CHECK(still_serves());
  stop_near(l);
}

/* A caller that asks and asks and never reads is read no more once it has more than enough to read. */
HR_TEST(never_reads) {
  hr_near_listener_t* l = listen_near(NULL);
  const int fd = connect_raw();
  static char body[1 << 20];
  const uint64_t size = sizeof body;
  const struct timeval patience = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  int taken = 0;
  for (bool is_taken = true; is_taken && taken < 400; ++taken) { /* megabytes */
    send_head(fd, (hr_near_head_t){.number = (uint32_t)taken, .kind = HR_NEAR_CALL, .text = 4, .pieces = 1, .bytes = size});
    send_raw(fd, "echo", 4);
    send_raw(fd, &size, 8);
    is_taken = send(fd, body, sizeof body, MSG_NOSIGNAL) == (ssize_t)sizeof body;
  }
  HR_CHECK(taken < 200);
  HR_CHECK(still_serves());
  close(fd);
  stop_near(l);
}

/* The same number twice, cancels of what is not there, pings without end: nothing, or an answer. */
HR_TEST(odd_frames) {
  hr_near_listener_t* l = listen_near(NULL);
  const int fd = connect_raw();
  for (uint32_t i = 0; i < 50; ++i) send_head(fd, (hr_near_head_t){.number = i, .kind = HR_NEAR_CANCEL});
  for (int i = 0; i < 50; ++i) send_head(fd, (hr_near_head_t){.number = 1, .kind = HR_NEAR_ANSWER});
  for (int i = 0; i < 3; ++i) {
    send_head(fd, (hr_near_head_t){.number = 5, .kind = HR_NEAR_CALL, .text = 4});
    send_raw(fd, "hold", 4);
  }
  wait_count(&held, 3, 10000);
  for (int i = 0; i < 3; ++i) send_head(fd, (hr_near_head_t){.number = 5, .kind = HR_NEAR_CANCEL});
  wait_count(&cancelled, 3, 10000);
  for (int i = 0; i < 100000; ++i) send_head(fd, (hr_near_head_t){.kind = HR_NEAR_PING});
  HR_CHECK(still_serves());
  close(fd);
  stop_near(l);
}

/* A caller that is stopped is asked whether it lives, and its calls end within ten seconds; one that ends, at once. */
HR_TEST(caller_stops) {
  hr_near_listener_t* l = listen_near(NULL);
  for (int kills = 0; kills < 2; ++kills) {
    const int before = atomic_load(&held), told = atomic_load(&cancelled);
    const pid_t child = fork();
    if (child == 0) { /* only plain sockets here: it has no loop */
      const int fd = connect_raw();
      send_head(fd, (hr_near_head_t){.number = 5, .kind = HR_NEAR_CALL, .text = 4});
      send_raw(fd, "hold", 4);
      for (;;) pause();
    }
    HR_REQUIRE(child > 0);
    wait_count(&held, before + 1, 10000);
    kill(child, kills ? SIGKILL : SIGSTOP);
    const int64_t begin = hr_clock_now_ns();
    wait_count(&cancelled, told + 1, 12000);
    const double seconds = (double)(hr_clock_now_ns() - begin) / 1e9;
    HR_CHECK(kills ? seconds < 3 : seconds > 3);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
  HR_CHECK(still_serves());
  stop_near(l);
}

/* What a forked child does to a channel that it has from its parent does nothing to the parent's. */
HR_TEST(forked) {
  hr_near_listener_t* l = listen_near(NULL);
  hr_near_channel_t* channel = hr_near_channel_open(port);
  HR_REQUIRE(channel);
  call_t c;
  hr_message_t m = text_message("x");
  HR_REQUIRE(call_start(&c, channel, "hold", &m, 0));
  wait_count(&held, 1, 10000);
  const pid_t child = fork();
  if (child == 0) {
    hr_message_t none = {0};
    call_t d = {.base.done = call_done};
    const bool is_open = hr_near_channel_is_open(channel) || hr_near_channel_call(channel, "echo", &none, 0, &d.base);
    hr_near_channel_close(channel);
    stop_near(l);
    _exit(is_open);
  }
  int ended = -1;
  waitpid(child, &ended, 0);
  HR_CHECK_EQ_I64(ended, 0);
  HR_CHECK(still_serves());
  m = text_message("y");
  call_t e;
  HR_REQUIRE(call_start(&e, channel, "echo", &m, 5000) && HR_CHECK_OK(call_wait(&e)));
  hr_message_deinit(&e.response);
  hr_near_channel_close(channel); /* ends the one that is held */
  HR_CHECK_EQ_I64(hr_status_code(call_wait(&c)), HR_CANCELLED);
  hr_status_release(c.status);
  stop_near(l);
}

/* Another user's process is not let in, and finds no server of this user's under a name of its own; a child of a fork has no loop. */
HR_TEST(others) {
  hr_near_listener_t* l = listen_near(NULL);
  for (int kind = 0; kind < 3; ++kind) {
    const pid_t child = fork();
    if (child == 0) {
      char byte;
      if (kind == 2) _exit(hr_near_channel_open(port) ? 1 : 0);
      struct sockaddr_un name;
      const socklen_t size = (socklen_t)hr_near_channel_name(port, &name); /* of the server's user */
      if (geteuid() != 0 || setuid(65534)) _exit(0);                        /* nobody else to be */
      if (kind == 1) _exit(hr_near_channel_open(port) ? 1 : 0);
      const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      const bool is_refused = connect(fd, (const struct sockaddr*)&name, size) || recv(fd, &byte, 1, 0) <= 0;
      _exit(is_refused ? 0 : 1);
    }
    int ended = -1;
    waitpid(child, &ended, 0);
    HR_CHECK_EQ_I64(ended, 0);
  }
  HR_CHECK(still_serves());
  stop_near(l);
}

HR_TEST_MAIN()
