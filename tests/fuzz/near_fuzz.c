/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a process sends to a server's Unix socket: the input, then the end. The server answers, or closes the connection, and serves the
 * next one. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "dist/near_channel.h"
#include "dist/near_listener.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void give_up(hr_request_t* r) { hr_near_listener_reply(r, HR_ERROR(CANCELLED, "given up"), NULL); }

static void serve(void* arg, hr_request_t* r) {
  (void)arg;
  if (hr_str_is(r->method, "hold")) {
    r->cancelled = give_up;
    return;
  }
  hr_message_t m = r->message;
  r->message = (hr_message_t){0};
  hr_near_listener_reply(r, hr_str_is(r->method, "echo") ? NULL : HR_ERROR(UNIMPLEMENTED, "no such method"), &m);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static hr_near_listener_t* listener;
  const int port = 70000 + (int)getpid();
  const hr_listener_limits_t limits = {.max_message_bytes = 1 << 20};
  if (!listener && hr_near_listener_open(port, &limits, serve, NULL, &listener)) abort();
  struct sockaddr_un name;
  const socklen_t name_size = (socklen_t)hr_near_channel_name(port, &name);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct timeval patience = {20, 0};
  if (fd < 0 || connect(fd, (const struct sockaddr*)&name, name_size)) abort();
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) abort();
  for (size_t sent = 0; sent < size;) {
    const ssize_t n = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue; /* the fuzzer's clock ticks */
    if (n <= 0) break;
    sent += (size_t)n;
  }
  (void)shutdown(fd, SHUT_WR);
  char answer[4096];
  ssize_t n;
  do n = recv(fd, answer, sizeof answer, 0);
  while (n > 0 || (n < 0 && errno == EINTR));
  if (n < 0 && errno != ECONNRESET) abort(); /* neither answers nor closes */
  (void)close(fd);
  return 0;
}
