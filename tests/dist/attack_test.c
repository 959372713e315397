/* SPDX-License-Identifier: Apache-2.0 */
/* A server on a real port against peers that do not speak its language, never speak, or speak too much: it answers others meanwhile, and
 * stops within a second with all of them still connected. */
#define HR_TEST_LEAKS_CHECKED
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "dist/server.h"
#include "test.h"

/* ServerDef { cluster { job { name: "local" tasks { 0: "localhost:0" } } } job_name: "local" protocol: "grpc" } */
static const char local_def[] = "\x0a\x1a\x0a\x18\x0a\x05local\x12\x0f\x08\x00\x12\x0blocalhost:0\x12\x05local\x2a\x04grpc";
static const hr_transport_t* grpc;

static hr_server_t* start(int* out_port) {
  hr_server_t* s = NULL;
  hr_server_options_t o;
  hr_server_options_init(&o);
  o.max_message_bytes = 1 << 20;
  o.max_peer_bytes = 4 << 20;
  if (!HR_CHECK_OK(hr_transport_find(HR_STR("grpc"), &grpc))) return NULL;
  if (!HR_CHECK_OK(hr_server_create(local_def, sizeof local_def - 1, &o, &s)) || !HR_CHECK_OK(hr_server_start(s))) return NULL;
  *out_port = atoi(strrchr(hr_server_target(s), ':') + 1);
  return s;
}

static void stop(hr_server_t* s) {
  const int64_t begin = hr_clock_now_ns();
  HR_CHECK_OK(hr_server_stop(s));
  HR_CHECK((hr_clock_now_ns() - begin) / 1000000 < 1000);
  hr_server_destroy(s);
}

static hr_status_t call(hr_channel_t* c, const char* method, size_t size) {
  hr_message_t m, r = {0};
  HR_TRY(hr_message_of_bytes(hr_alloc_zero(size + 1), size, &m));
  hr_status_t status = hr_transport_call_sync(grpc, c, method, &m, 10000, false, &r);
  hr_message_deinit(&r);
  return status;
}

static hr_channel_t* connect_well(int port) {
  char address[32];
  hr_channel_t* c = NULL;
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  HR_CHECK_OK(grpc->connect(hr_str(address), NULL, &c));
  return c;
}

static int connect_raw(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  HR_CHECK(fd >= 0 && connect(fd, (const struct sockaddr*)&to, sizeof to) == 0);
  return fd;
}

static uint64_t seed = 88172645463325252u;
static uint64_t next_random(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static void send_noise(int fd, bool with_preface) {
  static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
  char noise[256];
  for (size_t i = 0; i < sizeof noise; ++i) noise[i] = (char)next_random();
  if (with_preface) (void)!send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL);
  (void)!send(fd, noise, 1 + next_random() % sizeof noise, MSG_NOSIGNAL);
}

HR_TEST(noise_and_silence) {
  enum { RAW = 150 };
  int port, raw[RAW];
  hr_server_t* s = start(&port);
  HR_REQUIRE(s != NULL);
  for (int i = 0; i < RAW; ++i) {
    raw[i] = connect_raw(port);
    if (i % 3) send_noise(raw[i], i % 3 == 1); /* the others say nothing */
  }
  hr_channel_t* c = connect_well(port);
  HR_CHECK_OK(call(c, "/tensorflow.WorkerService/GetStatus", 0));
  for (int i = 0; i < RAW; i += 2) close(raw[i]);
  HR_CHECK_OK(call(c, "/tensorflow.WorkerService/GetStatus", 0));
  stop(s);
  HR_CHECK_CODE(call(c, "/tensorflow.WorkerService/GetStatus", 0), HR_UNAVAILABLE, "");
  grpc->disconnect(c);
  for (int i = 1; i < RAW; i += 2) close(raw[i]);
}

HR_TEST(what_is_too_large_or_unknown) {
  int port;
  hr_server_t* s = start(&port);
  HR_REQUIRE(s != NULL);
  hr_channel_t* c = connect_well(port);
  HR_CHECK_CODE(call(c, "/tensorflow.WorkerService/RunGraph", 2 << 20), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_CODE(call(c, "/tensorflow.MasterService/RunStep", 2 << 20), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_CODE(call(c, "/tensorflow.WorkerService/Nothing", 1), HR_UNIMPLEMENTED, "Nothing");
  HR_CHECK_CODE(call(c, "/tensorflow.eager.EagerService/CreateContext", 1), HR_UNIMPLEMENTED, "Eager");
  HR_CHECK_CODE(call(c, "/", 1), HR_UNIMPLEMENTED, "");
  HR_CHECK_CODE(call(c, "/tensorflow.MasterService/RunStep", 100), HR_INVALID_ARGUMENT, "");
  HR_CHECK_OK(call(c, "/tensorflow.WorkerService/GetStatus", 0));
  grpc->disconnect(c);
  stop(s);
}

/* --- a flood of calls that wait --------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_call_t base;
  atomic_int* left;
} flood_call_t;
static void flood_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  if (take_response) hr_message_deinit(take_response);
  hr_status_release(take_status);
  atomic_fetch_sub(((flood_call_t*)self)->left, 1);
}

HR_TEST(a_flood_of_waiting_calls) {
  enum { CALLS = 3000 };
  static flood_call_t calls[CALLS];
  atomic_int left = CALLS;
  int port;
  hr_server_t* s = start(&port);
  HR_REQUIRE(s != NULL);
  hr_channel_t *c = connect_well(port), *d = connect_well(port);
  for (int i = 0; i < CALLS; ++i) { /* RecvTensor of steps that nobody runs: step i, a client's own device */
    char request[160];
    const int key = snprintf(request + 5, sizeof request - 5,
                             "/job:x/replica:0/task:0/device:CPU:0;%016x;/job:y/replica:0/task:0/device:CPU:0;e;0:0", i);
    request[0] = 8;
    request[1] = (char)((i & 127) | 128);
    request[2] = (char)(i >> 7);
    request[3] = 18;
    request[4] = (char)key;
    hr_message_t m;
    HR_REQUIRE_OK(hr_message_of_bytes(hr_alloc_copy(request, (size_t)key + 5), (size_t)key + 5, &m));
    calls[i] = (flood_call_t){{.done = flood_done}, &left};
    grpc->call(c, "/tensorflow.WorkerService/RecvTensor", &m, 0, false, &calls[i].base);
  }
  HR_CHECK_OK(call(d, "/tensorflow.WorkerService/GetStatus", 0)); /* others are served */
  stop(s);
  grpc->disconnect(c);
  grpc->disconnect(d);
  HR_CHECK_EQ_I64(atomic_load(&left), 0); /* each ended */
}

int __lsan_is_turned_off(void); /* the leak checker dies of threads that an object opened at run time has started */
int __lsan_is_turned_off(void) { return 1; }
__attribute__((constructor)) static void name_part(void) { setenv("HEADRACE_GRPC", HR_TEST_BUILD_DIR "/lib/libheadrace_grpc.so", 0); }
#ifdef __SANITIZE_THREAD__ /* gRPC's object is not instrumented: its synchronisation looks like races */
int main(void) { return puts("0 passed, 0 failed: not under the thread sanitizer") < 0; }
#else
HR_TEST_MAIN()
#endif
