/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a link, without the loop: events are given to it here, one by one, and the other end is a plain socket that reads and writes
 * bytes. What frames are made of, what is kept while the socket is full, how frames come together again, what is no frame. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/near_link.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "dist/message_builder.h"
#include "test.h"

enum { MOST = 80 };
typedef struct {
  hr_near_head_t head;
  char* text;           /* own bytes */
  char* bytes;
  size_t size;
  int pieces, shared;   /* shared: pieces in memory of a buffer's own */
} came_t;
typedef struct {
  hr_near_link_t link;  /* first */
  int other;
  came_t came[MOST];
  int count, refused, closed, destroyed, ticks;
  hr_near_head_t refused_head;
} end_t;

static void frame_came(hr_near_link_t* self, const hr_near_head_t* head, hr_str_t text, hr_message_t* take_message) {
  end_t* e = (end_t*)self;
  if (!HR_CHECK(e->count < MOST)) return;
  came_t* c = &e->came[e->count++];
  *c = (came_t){.head = *head, .text = hr_alloc_copy(text.data, text.size), .pieces = take_message->count};
  HR_CHECK_EQ_U64(text.size, head->text);
  for (int32_t i = 0; i < take_message->count; ++i) c->shared += hr_message_buffer_of_slice(&take_message->slices[i]) != NULL;
  HR_CHECK_OK(hr_message_join(take_message, &c->bytes, &c->size));
}
static void frame_refused(hr_near_link_t* self, const hr_near_head_t* head) {
  end_t* e = (end_t*)self;
  ++e->refused;
  e->refused_head = *head;
}
static void end_closed(hr_near_link_t* self) { ++((end_t*)self)->closed; }
static int64_t end_tick(hr_near_link_t* self, int64_t now_ns) {
  ++((end_t*)self)->ticks;
  return now_ns + 7;
}
static void end_destroyed(hr_near_link_t* self) { ++((end_t*)self)->destroyed; }
static const hr_near_role_t serves = {frame_came, frame_refused, end_closed, end_tick, end_destroyed};
static const hr_near_role_t calls = {frame_came, NULL, end_closed, end_tick, end_destroyed};

static bool open_end(end_t* e, const hr_near_role_t* role, int64_t most_bytes) {
  int fds[2];
  *e = (end_t){0};
  if (!HR_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))) return false;
  e->other = fds[1];
  if (!HR_CHECK_OK(hr_near_link_init(&e->link, fds[0], role, most_bytes))) return false;
  hr_near_link_retain(&e->link); /* the loop's reference */
  return true;
}

static void forget(end_t* e) {
  for (int i = 0; i < e->count; ++i) {
    hr_free(e->came[i].text);
    hr_free(e->came[i].bytes);
  }
  e->count = 0;
}

static void ready(end_t* e, uint32_t events) { e->link.source.ready(&e->link.source, events); }

static void close_end(end_t* e) {
  forget(e);
  if (e->other >= 0) (void)close(e->other);
  if (!e->closed) ready(e, EPOLLRDHUP); /* finds the end */
  HR_CHECK(e->closed == 1 && e->link.fd == -1 && hr_near_link_is_broken(&e->link));
  HR_CHECK(!e->link.first && !e->link.last && e->destroyed == 0);
  hr_near_link_release(&e->link);
  HR_CHECK_EQ_I64(e->destroyed, 1);
  forget(e); /* the last of what had been sent */
  hr_near_link_deinit(&e->link);
}

/* --- what goes out -------------------------------------------------------------------------------------------------------------------- */

static size_t drain(end_t* e, hr_strbuf_t* out, size_t most) { /* what lies in the socket */
  static char bytes[1 << 16];
  const size_t before = out->size;
  for (;;) {
    const size_t left = most - (out->size - before);
    const ssize_t n = left ? recv(e->other, bytes, left < sizeof bytes ? left : sizeof bytes, 0) : 0;
    if (n <= 0) return out->size - before;
    hr_strbuf_add(out, bytes, (size_t)n);
  }
}

static void drain_all(end_t* e, hr_strbuf_t* out) { /* and what waits for room */
  for (size_t before = SIZE_MAX; before != out->size;) {
    before = out->size;
    ready(e, EPOLLOUT);
    (void)drain(e, out, SIZE_MAX);
  }
}

static char pattern[70000];
static void fill_pattern(void) {
  for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (char)(i * 7 + i / 256);
}

static hr_message_t message_of(const size_t* sizes, int count) {
  hr_message_t m = {0};
  for (int i = 0; i < count; ++i) HR_CHECK_OK(hr_message_add(&m, (hr_slice_t){pattern + i % 5, sizes[i], NULL, NULL}));
  return m;
}

/* The frame's bytes, from the sizes of the pieces that are expected. */
static void add_frame(hr_strbuf_t* out, hr_near_head_t head, hr_str_t text, const size_t* slices, int slice_count, const size_t* pieces,
                      int piece_count) {
  head.text = (uint32_t)text.size;
  head.pieces = (uint32_t)piece_count;
  for (int i = 0; i < piece_count; ++i) head.bytes += pieces[i];
  hr_strbuf_add(out, &head, sizeof head);
  hr_strbuf_add_str(out, text);
  for (int i = 0; i < piece_count; ++i) {
    const uint64_t size = pieces[i];
    hr_strbuf_add(out, &size, sizeof size);
  }
  for (int i = 0; i < slice_count; ++i) hr_strbuf_add(out, pattern + i % 5, slices[i]);
}

static void check_sent(hr_str_t text, const size_t* slices, int slice_count, const size_t* pieces, int piece_count) {
  end_t e;
  hr_strbuf_t wanted, got;
  if (!open_end(&e, &calls, 1 << 20)) return;
  hr_strbuf_init(&wanted);
  hr_strbuf_init(&got);
  const hr_near_head_t head = {.number = 0x01020304, .kind = HR_NEAR_ANSWER, .code = 3, .number_high = 0x0506};
  hr_message_t m = message_of(slices, slice_count);
  HR_CHECK(hr_near_link_send(&e.link, head, text, slices ? &m : NULL));
  HR_CHECK(m.count == 0 && m.slices == NULL);
  const hr_str_t sent_text = {text.data, text.size < HR_NEAR_TEXT_MOST ? text.size : HR_NEAR_TEXT_MOST};
  add_frame(&wanted, head, sent_text, slices, slice_count, pieces, piece_count);
  if (wanted.size < 60000) HR_CHECK(!e.link.first && e.link.watched == EPOLLIN); /* it went at once */
  drain_all(&e, &got);
  HR_CHECK(hr_str_equal(hr_strbuf_view(&got), hr_strbuf_view(&wanted)));
  HR_CHECK(!e.link.first && !e.link.last && e.link.queued == 0 && e.link.watched == EPOLLIN);
  hr_strbuf_deinit(&wanted);
  hr_strbuf_deinit(&got);
  close_end(&e);
}

HR_TEST(small_slices_that_stand_together_are_one_piece) {
  static const struct { size_t slices[5]; int slice_count; size_t pieces[5]; int piece_count; } rows[] = {
      {{0}, 0, {0}, 0},
      {{0}, 1, {0}, 0},
      {{0, 0}, 2, {0}, 0},
      {{1}, 1, {1}, 1},
      {{1, 2}, 2, {3}, 1},
      {{0, 5, 0, 6}, 4, {11}, 1},
      {{4095}, 1, {4095}, 1},
      {{4096}, 1, {4096}, 1},
      {{4095, 1}, 2, {4096}, 1},
      {{4096, 1}, 2, {4096, 1}, 2},
      {{1, 4096}, 2, {1, 4096}, 2},
      {{4095, 1, 1}, 3, {4096, 1}, 2},
      {{4097}, 1, {4097}, 1},
      {{4097, 1}, 2, {4097, 1}, 2},
      {{1, 4097}, 2, {1, 4097}, 2},
      {{4097, 4097}, 2, {4097, 4097}, 2},
      {{1, 4097, 2, 3}, 4, {1, 4097, 5}, 3},
      {{1, 0, 69000, 0, 3}, 5, {1, 69000, 3}, 3},
      {{2000, 2000, 97, 4000, 96}, 5, {4000, 4097, 96}, 0},
  };
  fill_pattern();
  for (size_t i = 0; i + 1 < sizeof rows / sizeof *rows; ++i)
    check_sent(HR_STR("method"), rows[i].slices, rows[i].slice_count, rows[i].pieces, rows[i].piece_count);
  check_sent(HR_STR("m"), (size_t[]){2000, 2000, 97, 3999, 1}, 5, (size_t[]){4000, 4096, 1}, 3);
  check_sent(HR_STR(""), NULL, 0, NULL, 0);
}

HR_TEST(as_many_pieces_as_a_frame_may_have) {
  static size_t sizes[1030];
  fill_pattern();
  for (int i = 0; i < 1030; ++i) sizes[i] = 2049; /* no two of them are one */
  static const int counts[] = {2, 15, 16, 17, 18, 31, 32, 33, 64, HR_NEAR_PIECES_MOST - 1, HR_NEAR_PIECES_MOST};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) check_sent(HR_STR("many"), sizes, counts[i], sizes, counts[i]);
  for (int more = 1; more < 3; ++more) {
    const int count = HR_NEAR_PIECES_MOST + more;
    check_sent(HR_STR("many"), sizes, count, (size_t[]){2049 * (size_t)count}, 1);
  }
}

HR_TEST(texts_are_cut_at_their_limit) {
  static char text[20000];
  static const size_t few[17] = {4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097, 4097};
  static const size_t sizes[] = {0, 1, 255, 256, 257, 300, HR_NEAR_TEXT_MOST - 1, HR_NEAR_TEXT_MOST, HR_NEAR_TEXT_MOST + 1, 20000};
  memset(text, 't', sizeof text);
  fill_pattern();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    check_sent((hr_str_t){text, sizes[i]}, NULL, 0, NULL, 0);
    for (int count = 15; count <= 17; ++count) check_sent((hr_str_t){text, sizes[i]}, few, count, few, count);
  }
}

/* --- what waits ----------------------------------------------------------------------------------------------------------------------- */

/* A socket that takes little: what is sent stays, in order, whatever part of a frame had gone, and follows as room comes. */
HR_TEST(what_the_socket_has_no_room_for_follows) {
  static const size_t steps[] = {1, 100, 4000, 1 << 20};
  static char text[16000];
  memset(text, 't', sizeof text);
  fill_pattern();
  for (int order = 0; order < 2; ++order) {
    for (size_t step = 2 * (size_t)order; step < 4; ++step) {
      end_t e;
      hr_strbuf_t wanted, got;
      if (!open_end(&e, &calls, 1 << 20)) return;
      hr_strbuf_init(&wanted);
      hr_strbuf_init(&got);
      (void)setsockopt(e.link.fd, SOL_SOCKET, SO_SNDBUF, &(int){4608}, sizeof(int));
      size_t queued = 0;
      for (int i = 0; i < 6; ++i) {
        const size_t sizes[] = {30, 9000, 0, 1, 50000, 7};
        const int count = (i + order) % 3 ? 6 : 0; /* a long text, a long message, or both */
        hr_message_t m = message_of(sizes, count);
        const hr_str_t t = {text, (i + order) % 3 == 1 ? 3 : sizeof text};
        const hr_near_head_t head = {.number = (uint32_t)i, .kind = HR_NEAR_CALL};
        const size_t before = wanted.size;
        add_frame(&wanted, head, t, sizes, count, (size_t[]){30, 9000, 1, 50000, 7}, count ? 5 : 0);
        HR_CHECK(hr_near_link_send(&e.link, head, t, &m));
        queued += wanted.size - before;
        HR_CHECK_EQ_U64(e.link.queued, queued); /* the socket takes less than the first */
        HR_CHECK_EQ_U64(e.link.watched, EPOLLIN | EPOLLOUT);
      }
      e.link.heard_ns = 0;
      ready(&e, EPOLLIN); /* nothing has come */
      HR_CHECK(e.link.heard_ns == 0 && e.count == 0 && e.link.queued == queued);
      while (got.size < wanted.size && drain(&e, &got, steps[step] * (step ? 1 : 997)) > 0) {
        HR_CHECK((e.link.first != NULL) == (e.link.watched == (EPOLLIN | EPOLLOUT)) && (e.link.first != NULL) == (e.link.last != NULL));
        ready(&e, EPOLLOUT);
        HR_CHECK(e.link.heard_ns > 0);
      }
      HR_CHECK(hr_str_equal(hr_strbuf_view(&got), hr_strbuf_view(&wanted)));
      HR_CHECK(!e.link.first && !e.link.last && e.link.queued == 0 && e.link.watched == EPOLLIN);
      hr_strbuf_deinit(&wanted);
      hr_strbuf_deinit(&got);
      close_end(&e);
    }
  }
}

static size_t fill_socket(end_t* e, int take) { /* with bytes that are no frames; what it took */
  char bytes[512] = {0};
  size_t size = 0;
  ssize_t n;
  (void)setsockopt(e->link.fd, SOL_SOCKET, SO_SNDBUF, &take, sizeof take);
  while ((n = send(e->link.fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) size += (size_t)n;
  return size;
}

HR_TEST(a_frame_that_finds_no_room_waits_as_a_whole) {
  static char text[16000];
  static const size_t sizes[] = {15990};
  memset(text, 't', sizeof text);
  fill_pattern();
  end_t e;
  hr_strbuf_t wanted, got;
  if (!open_end(&e, &calls, 1 << 20)) return;
  hr_strbuf_init(&wanted);
  hr_strbuf_init(&got);
  const size_t filled = fill_socket(&e, 30000);
  for (int i = 0; i < 3; ++i) { /* the second comes when there is room again, and the first has not been told */
    const hr_near_head_t head = {.number = (uint32_t)i, .kind = HR_NEAR_CALL};
    hr_message_t m = message_of(sizes, 1);
    const size_t before = wanted.size;
    add_frame(&wanted, head, (hr_str_t){text, sizeof text}, sizes, 1, sizes, 1);
    HR_CHECK(hr_near_link_send(&e.link, head, (hr_str_t){text, sizeof text}, &m));
    HR_CHECK_EQ_U64(e.link.queued, wanted.size);
    HR_CHECK(e.link.watched == (EPOLLIN | EPOLLOUT) && wanted.size > before && !hr_near_link_is_broken(&e.link));
    if (i == 0) HR_CHECK_EQ_U64(drain(&e, &got, filled), filled);
  }
  got.size = 0;
  drain_all(&e, &got);
  HR_CHECK(hr_str_equal(hr_strbuf_view(&got), hr_strbuf_view(&wanted)));
  hr_strbuf_deinit(&wanted);
  hr_strbuf_deinit(&got);
  close_end(&e);
}

/* Text and message are nearly of one size, and the socket takes something of the text only. */
HR_TEST(a_frame_that_finds_some_room_follows) {
  static char text[16000];
  static const size_t sizes[] = {15990};
  memset(text, 't', sizeof text);
  fill_pattern();
  for (int room = 4608; room < 40000; room += 3000) {
    end_t e;
    hr_strbuf_t wanted, got;
    if (!open_end(&e, &calls, 1 << 20)) return;
    hr_strbuf_init(&wanted);
    hr_strbuf_init(&got);
    (void)setsockopt(e.link.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    const hr_near_head_t head = {.number = 1, .kind = HR_NEAR_CALL};
    hr_message_t m = message_of(sizes, 1);
    add_frame(&wanted, head, (hr_str_t){text, sizeof text}, sizes, 1, sizes, 1);
    HR_CHECK(hr_near_link_send(&e.link, head, (hr_str_t){text, sizeof text}, &m));
    drain_all(&e, &got);
    HR_CHECK(hr_str_equal(hr_strbuf_view(&got), hr_strbuf_view(&wanted)));
    HR_CHECK(!e.link.first && e.link.queued == 0 && e.link.watched == EPOLLIN);
    hr_strbuf_deinit(&wanted);
    hr_strbuf_deinit(&got);
    close_end(&e);
  }
}

static char unread[64 << 20]; /* never written */
static bool send_bytes(end_t* e, size_t size) {
  hr_message_t m = {0};
  HR_CHECK_OK(hr_message_add(&m, (hr_slice_t){unread, size, NULL, NULL}));
  return hr_near_link_send(&e->link, (hr_near_head_t){.kind = HR_NEAR_ANSWER}, HR_STR(""), &m);
}
static int bytes_there(const end_t* e) {
  int n = 0;
  HR_CHECK(!ioctl(e->link.fd, FIONREAD, &n));
  return n;
}
static void send_calls(end_t* e, int count) { /* each with a text of 16000 bytes */
  char bytes[sizeof(hr_near_head_t) + 16000];
  const hr_near_head_t head = {.kind = HR_NEAR_CALL, .text = 16000};
  memset(bytes, 'c', sizeof bytes);
  memcpy(bytes, &head, sizeof head);
  for (int i = 0; i < count; ++i) HR_CHECK_EQ_I64(send(e->other, bytes, sizeof bytes, 0), sizeof bytes);
}

/* An end that serves reads no more calls above 64 MB of answers; one that calls goes on. */
HR_TEST(answers_that_nobody_reads_have_a_limit) {
  for (int is_server = 0; is_server < 2; ++is_server) {
    end_t e;
    if (!open_end(&e, is_server ? &serves : &calls, 1 << 20)) return;
    const size_t frame = sizeof(hr_near_head_t) + 8;
    HR_CHECK(send_bytes(&e, 1 << 20) && send_bytes(&e, (63 << 20) - 2 * frame));
    HR_CHECK_EQ_U64(e.link.queued, 64 << 20);
    HR_CHECK_EQ_U64(e.link.watched, EPOLLIN | EPOLLOUT);
    send_calls(&e, 6); /* more than is read at a time */
    ready(&e, EPOLLIN);
    HR_CHECK_EQ_I64(e.count, 6);
    forget(&e);
    HR_CHECK(hr_near_link_send(&e.link, (hr_near_head_t){.kind = HR_NEAR_ANSWER}, HR_STR(""), NULL));
    HR_CHECK_EQ_U64(e.link.queued, (64 << 20) + sizeof(hr_near_head_t));
    HR_CHECK_EQ_U64(e.link.watched, is_server ? EPOLLOUT : EPOLLIN | EPOLLOUT);
    send_calls(&e, 6);
    ready(&e, EPOLLIN);
    HR_CHECK_EQ_I64(e.count, is_server ? 4 : 6);
    HR_CHECK_EQ_I64(bytes_there(&e), is_server ? 6 * (int)(sizeof(hr_near_head_t) + 16000) - (1 << 16) : 0);
    ready(&e, EPOLLOUT); /* there is no room yet */
    HR_CHECK_EQ_U64(e.link.watched, is_server ? EPOLLOUT : EPOLLIN | EPOLLOUT);
    close_end(&e);
  }
}

HR_TEST(who_is_gone_gets_nothing) {
  for (int kind = 0; kind < 4; ++kind) {
    end_t e;
    if (!open_end(&e, &serves, 1 << 20)) return;
    fill_pattern();
    if (kind == 1) hr_near_link_cut(&e.link);
    if (kind >= 2) HR_CHECK(send_bytes(&e, 1 << 20));
    if (kind != 1) {
      (void)close(e.other);
      e.other = -1;
    }
    HR_CHECK_EQ_I64(hr_near_link_is_broken(&e.link), kind == 1);
    if (kind == 3) ready(&e, EPOLLOUT | EPOLLHUP); /* and the end in one */
    else if (kind == 2) ready(&e, EPOLLOUT); /* what had waited finds it out */
    else HR_CHECK(!send_bytes(&e, 5));
    HR_CHECK(hr_near_link_is_broken(&e.link) && e.closed == (kind == 3));
    HR_CHECK(!send_bytes(&e, 5) && (e.link.first != NULL) == (kind == 2));
    hr_near_link_cut(&e.link);
    close_end(&e);
  }
}

/* --- what comes in -------------------------------------------------------------------------------------------------------------------- */

static void feed(end_t* e, const void* bytes, size_t size) { HR_CHECK_EQ_I64(send(e->other, bytes, size, MSG_NOSIGNAL), size); }

static const size_t small[] = {5}, border[] = {3, 4096}, large[] = {4097, 1, 9000};
static void add_three(hr_strbuf_t* b) {
  add_frame(b, hr_near_head(0x123456789abcu, HR_NEAR_CALL), HR_STR("/a.B/C"), small, 1, small, 1);
  add_frame(b, (hr_near_head_t){.kind = HR_NEAR_PONG}, HR_STR(""), NULL, 0, NULL, 0);
  add_frame(b, (hr_near_head_t){.number = 2, .kind = HR_NEAR_CANCEL}, HR_STR(""), NULL, 0, NULL, 0);
  add_frame(b, (hr_near_head_t){.number = 3, .kind = HR_NEAR_ANSWER, .code = 5}, HR_STR("no"), border, 2, border, 2);
  add_frame(b, (hr_near_head_t){.number = 4, .kind = HR_NEAR_ANSWER}, HR_STR(""), large, 3, large, 3);
}
static void check_bytes(const came_t* c, const size_t* sizes, int count, int shared) {
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  for (int i = 0; i < count; ++i) hr_strbuf_add(&b, pattern + i % 5, sizes[i]);
  HR_CHECK(hr_str_equal((hr_str_t){c->bytes, c->size}, hr_strbuf_view(&b)));
  HR_CHECK(c->pieces == count && c->shared == shared);
  hr_strbuf_deinit(&b);
}
static bool check_three(end_t* e) {
  const came_t* c = e->came;
  if (!HR_CHECK_EQ_I64(e->count, 4)) return false;
  HR_CHECK(hr_near_number(&c[0].head) == 0x123456789abcu && c[0].head.kind == HR_NEAR_CALL);
  HR_CHECK_STR(c[0].text, "/a.B/C");
  check_bytes(&c[0], small, 1, 0);
  HR_CHECK(c[1].head.number == 2 && c[1].head.kind == HR_NEAR_CANCEL && c[1].size == 0);
  HR_CHECK(c[2].head.number == 3 && c[2].head.code == 5);
  HR_CHECK_STR(c[2].text, "no");
  check_bytes(&c[2], border, 2, 0);
  HR_CHECK_EQ_I64(c[3].head.number, 4);
  check_bytes(&c[3], large, 3, 2);
  const hr_near_link_t* l = &e->link;
  return HR_CHECK(l->start == 0 && l->end == 0 && !l->text && l->message.count == 0 && l->piece == 0 && !l->skipped && !e->closed);
}

HR_TEST(frames_come_together_however_they_were_cut) {
  end_t e;
  hr_strbuf_t b;
  fill_pattern();
  hr_strbuf_init(&b);
  add_three(&b);
  if (!open_end(&e, &calls, INT64_MAX)) return;
  for (size_t step = 1; step <= b.size; step = step < 64 ? step + 1 : step * 3) {
    for (size_t at = 0; at < b.size; at += step) {
      feed(&e, b.data + at, at + step < b.size ? step : b.size - at);
      ready(&e, EPOLLIN);
    }
    if (!check_three(&e)) printf("  by %zu\n", step);
    forget(&e);
  }
  for (size_t cut = 1; cut < b.size; cut += cut < 600 || cut + 600 > b.size ? 1 : 53) {
    feed(&e, b.data, cut);
    ready(&e, EPOLLIN);
    feed(&e, b.data + cut, b.size - cut);
    ready(&e, EPOLLIN);
    if (!check_three(&e)) printf("  cut at %zu\n", cut);
    forget(&e);
  }
  feed(&e, b.data, b.size);
  e.link.heard_ns = 0;
  ready(&e, EPOLLOUT); /* not what is looked for */
  HR_CHECK(e.count == 0 && e.link.heard_ns > 0);
  e.link.heard_ns = 0;
  ready(&e, EPOLLIN);
  HR_CHECK(check_three(&e) && e.link.heard_ns > 0);
  hr_strbuf_deinit(&b);
  close_end(&e);
}

/* Long texts fill the buffer to its end, so that what is left of a frame has to move. */
HR_TEST(the_buffer_is_used_again_and_again) {
  end_t e;
  hr_strbuf_t b;
  char text[16000];
  static const size_t steps[] = {1000, 5000, 15999, 16024, 16025, 32767, 32768, 33000, 65535, 65536, 80120, 192288};
  hr_strbuf_init(&b);
  for (int i = 0; i < 12; ++i) {
    memset(text, 'a' + i, sizeof text);
    add_frame(&b, (hr_near_head_t){.kind = HR_NEAR_CALL, .number = (uint32_t)i}, (hr_str_t){text, sizeof text}, NULL, 0, NULL, 0);
  }
  HR_CHECK_EQ_U64(b.size, 192288);
  if (!open_end(&e, &calls, INT64_MAX)) return;
  for (size_t s = 0; s < sizeof steps / sizeof *steps; ++s) {
    for (size_t at = 0; at < b.size; at += steps[s]) {
      feed(&e, b.data + at, at + steps[s] < b.size ? steps[s] : b.size - at);
      ready(&e, EPOLLIN);
      HR_CHECK(e.link.start == 0 || (1 << 16) - e.link.end >= 1 << 15); /* a whole head always fits behind */
    }
    HR_CHECK_EQ_I64(e.count, 12);
    for (int i = 0; i < e.count; ++i)
      HR_CHECK(e.came[i].head.number == (uint32_t)i && strspn(e.came[i].text, (char[]){(char)('a' + i), 0}) == sizeof text);
    HR_CHECK(e.link.start == 0 && e.link.end == 0);
    forget(&e);
  }
  hr_strbuf_deinit(&b);
  close_end(&e);
}

/* A message of many small pieces is read in many turns, and others have theirs before what is behind it. */
HR_TEST(a_link_reads_so_often_at_a_time) {
  enum { PIECES = HR_NEAR_PIECES_MOST };
  static size_t ones[PIECES];
  end_t e;
  hr_strbuf_t b;
  fill_pattern();
  hr_strbuf_init(&b);
  for (int i = 0; i < PIECES; ++i) ones[i] = 1;
  add_frame(&b, (hr_near_head_t){.kind = HR_NEAR_CALL, .number = 1}, HR_STR("x"), ones, PIECES, ones, PIECES);
  const size_t head = b.size - PIECES;
  add_frame(&b, (hr_near_head_t){.kind = HR_NEAR_CALL, .number = 2}, HR_STR(""), NULL, 0, NULL, 0);
  if (!open_end(&e, &calls, INT64_MAX)) return;
  feed(&e, b.data, head);
  ready(&e, EPOLLIN);
  HR_CHECK(e.count == 0 && e.link.message.count == PIECES && e.link.piece == 0);
  feed(&e, b.data + head, b.size - head);
  ready(&e, EPOLLIN); /* 32 times 32 pieces */
  HR_CHECK_EQ_I64(e.count, 1);
  check_bytes(&e.came[0], ones, PIECES, 0);
  HR_CHECK_EQ_I64(bytes_there(&e), sizeof(hr_near_head_t));
  ready(&e, EPOLLIN);
  HR_CHECK(e.count == 2 && e.came[1].head.number == 2);
  hr_strbuf_deinit(&b);
  close_end(&e);
}

/* A piece that has some of its bytes counts for the rest of them: what has been read is all there was, or not. */
HR_TEST(a_link_reads_on_while_there_may_be_more) {
  static size_t threes[40];
  end_t e;
  hr_strbuf_t b;
  fill_pattern();
  hr_strbuf_init(&b);
  for (int i = 0; i < 40; ++i) threes[i] = 3;
  for (uint64_t number = 1; number <= 2; ++number)
    add_frame(&b, hr_near_head(number, HR_NEAR_CALL), HR_STR("x"), threes, 40, threes, 40);
  const size_t head = b.size / 2 - 120;
  for (size_t more = 0; more < 120; ++more) {
    if (!open_end(&e, &calls, INT64_MAX)) return;
    feed(&e, b.data, head + more);
    ready(&e, EPOLLIN);
    feed(&e, b.data + head + more, b.size - head - more);
    ready(&e, EPOLLIN);
    HR_CHECK_EQ_I64(e.count, 2);
    HR_CHECK_EQ_I64(bytes_there(&e), 0);
    close_end(&e);
  }
  hr_strbuf_deinit(&b);
}

/* --- what is no frame ----------------------------------------------------------------------------------------------------------------- */

static void check_frame(hr_near_head_t head, const uint64_t* sizes, int count, bool is_good) {
  static char text[20000];
  end_t e;
  if (!open_end(&e, &calls, INT64_MAX)) return;
  feed(&e, &head, sizeof head);
  if (head.text) feed(&e, text, head.text < sizeof text ? head.text : sizeof text);
  if (count) feed(&e, sizes, 8 * (size_t)count);
  ready(&e, EPOLLIN);
  if (!HR_CHECK_EQ_I64(e.closed, !is_good)) printf("  kind %d, text %u, pieces %u, bytes %llu\n", head.kind, head.text, head.pieces,
                                                   (unsigned long long)head.bytes);
  close_end(&e);
}

HR_TEST(heads_within_their_limits) {
  static uint64_t ones[HR_NEAR_PIECES_MOST + 1];
  for (int i = 0; i <= HR_NEAR_PIECES_MOST; ++i) ones[i] = 1;
  for (int kind = 0; kind < 256; ++kind)
    check_frame((hr_near_head_t){.kind = (uint8_t)kind}, NULL, 0, kind >= HR_NEAR_CALL && kind <= HR_NEAR_PONG);
  for (int code = 0; code < 256; ++code)
    check_frame((hr_near_head_t){.kind = HR_NEAR_ANSWER, .code = (uint8_t)code}, NULL, 0, code < HR_CODE_COUNT);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .text = HR_NEAR_TEXT_MOST}, NULL, 0, true);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .text = HR_NEAR_TEXT_MOST + 1}, NULL, 0, false);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .pieces = HR_NEAR_PIECES_MOST, .bytes = HR_NEAR_PIECES_MOST}, ones,
              HR_NEAR_PIECES_MOST, true);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .pieces = HR_NEAR_PIECES_MOST + 1, .bytes = HR_NEAR_PIECES_MOST + 1}, ones,
              HR_NEAR_PIECES_MOST + 1, false);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .pieces = 1, .bytes = 1}, ones, 1, true);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .pieces = 0, .bytes = 1}, NULL, 0, false);
  check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .pieces = 1, .bytes = 0}, ones, 1, false);
}

HR_TEST(sizes_that_sum_up) {
  static const struct { uint64_t bytes; uint32_t pieces; uint64_t sizes[4]; bool is_good; } rows[] = {
      {5, 1, {5}, true},        {5, 2, {2, 3}, true},          {5, 3, {1, 1, 3}, true},  {5, 2, {5, 0}, false},
      {5, 2, {0, 5}, false},    {5, 1, {4}, false},            {5, 1, {6}, false},       {5, 2, {2, 2}, false},
      {5, 2, {3, 3}, false},    {5, 3, {2, 0, 3}, false},      {5, 2, {5, 1}, false},    {5, 3, {6, UINT64_MAX, 1}, false},
      {5, 2, {6, UINT64_MAX}, false}, {INT64_MAX, 1, {INT64_MAX}, false} /* no memory for it */};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    check_frame((hr_near_head_t){.kind = HR_NEAR_CALL, .text = 3, .pieces = rows[i].pieces, .bytes = rows[i].bytes}, rows[i].sizes,
                (int)rows[i].pieces, rows[i].is_good);
}

/* --- limits --------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(messages_above_the_limit_are_thrown_away) {
  static const size_t sizes[] = {100, 101, 70000};
  fill_pattern();
  for (int is_server = 0; is_server < 2; ++is_server) {
    for (int i = 0; i < 3; ++i) {
      for (size_t step = 7; step < 400000; step *= 40) {
        end_t e;
        hr_strbuf_t b;
        hr_strbuf_init(&b);
        add_frame(&b, (hr_near_head_t){.kind = HR_NEAR_CALL, .number = 8}, HR_STR("first"), &sizes[i], 1, &sizes[i], 1);
        add_frame(&b, (hr_near_head_t){.kind = HR_NEAR_CALL, .number = 9}, HR_STR("next"), small, 1, small, 1);
        if (!open_end(&e, is_server ? &serves : &calls, 100)) return;
        for (size_t at = 0; at < b.size; at += step) {
          feed(&e, b.data + at, at + step < b.size ? step : b.size - at);
          ready(&e, EPOLLIN);
        }
        HR_CHECK_EQ_I64(e.count, i ? 1 : 2);
        HR_CHECK_STR(e.came[e.count - 1].text, "next");
        check_bytes(&e.came[e.count - 1], small, 1, 0);
        HR_CHECK_EQ_I64(e.refused, i && is_server);
        if (e.refused) HR_CHECK(e.refused_head.number == 8 && e.refused_head.bytes == sizes[i]);
        HR_CHECK(e.link.skipped == 0 && e.link.start == 0 && e.link.end == 0);
        hr_strbuf_deinit(&b);
        close_end(&e);
      }
    }
  }
}

HR_TEST(pings_are_answered_unless_answers_wait) {
  for (int waits = 0; waits < 2; ++waits) {
    end_t e;
    hr_strbuf_t b;
    hr_strbuf_init(&b);
    if (!open_end(&e, &serves, 100)) return;
    if (waits) HR_CHECK(send_bytes(&e, 1 << 20));
    feed(&e, &(hr_near_head_t){.kind = HR_NEAR_PING, .number = 5}, sizeof(hr_near_head_t));
    feed(&e, &(hr_near_head_t){.kind = HR_NEAR_PONG, .number = 5}, sizeof(hr_near_head_t));
    ready(&e, EPOLLIN);
    HR_CHECK_EQ_I64(e.count, 0);
    drain_all(&e, &b);
    const hr_near_head_t pong = {.kind = HR_NEAR_PONG};
    if (waits) HR_CHECK_EQ_U64(b.size, sizeof pong + 8 + (1 << 20));
    else HR_CHECK(hr_str_equal(hr_strbuf_view(&b), (hr_str_t){(const char*)&pong, sizeof pong}));
    hr_strbuf_deinit(&b);
    close_end(&e);
  }
}

/* --- ends ----------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(what_was_sent_before_the_end_comes_before_it) {
  static const uint32_t events[] = {EPOLLIN | EPOLLRDHUP, EPOLLRDHUP, EPOLLHUP, EPOLLERR, EPOLLOUT | EPOLLRDHUP};
  fill_pattern();
  for (size_t i = 0; i < sizeof events / sizeof *events; ++i) {
    end_t e;
    hr_strbuf_t b;
    hr_strbuf_init(&b);
    add_three(&b);
    if (!open_end(&e, &calls, INT64_MAX)) return;
    feed(&e, b.data, b.size);
    (void)close(e.other);
    e.other = -1;
    ready(&e, events[i]);
    HR_CHECK(e.count == 4 && e.closed == 1 && e.link.fd == -1);
    hr_strbuf_deinit(&b);
    close_end(&e);
  }
}

HR_TEST(unfinished_frames_go_with_their_sender) {
  end_t e;
  hr_strbuf_t b;
  fill_pattern();
  hr_strbuf_init(&b);
  add_three(&b);
  for (size_t size = 0; size < b.size; size += size < 200 ? 1 : 311) {
    if (!open_end(&e, &serves, INT64_MAX)) return;
    feed(&e, b.data, size);
    ready(&e, EPOLLIN);
    HR_CHECK(!e.closed);
    close_end(&e);
  }
  hr_strbuf_deinit(&b);
}

HR_TEST(ticks_are_the_role_s) {
  end_t e;
  if (!open_end(&e, &serves, 1)) return;
  HR_CHECK_EQ_I64(e.link.source.tick(&e.link.source, 100), 107);
  HR_CHECK_EQ_I64(e.ticks, 1);
  close_end(&e);
}

/* Memory that runs out while a frame comes in, or goes, ends the link; nothing else is lost. */
HR_TEST(memory_may_run_out) {
  static const size_t sizes[] = {10, 5000, 10};
  fill_pattern();
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  add_frame(&b, (hr_near_head_t){.kind = HR_NEAR_CALL}, HR_STR("text"), sizes, 3, sizes, 3);
  for (int sends = 0; sends < 2; ++sends) {
    bool has_failed = true;
    for (int64_t n = 1; n < 50 && has_failed; ++n) {
      end_t e;
      if (!open_end(&e, &calls, INT64_MAX)) return;
      (void)setsockopt(e.link.fd, SOL_SOCKET, SO_SNDBUF, &(int){4608}, sizeof(int));
      static char text[9000];
      hr_message_t m = message_of(sizes, sends ? 3 : 0);
      hr_alloc_fail_at(n, false);
      bool is_well;
      if (sends) is_well = hr_near_link_send(&e.link, (hr_near_head_t){.kind = HR_NEAR_CALL}, (hr_str_t){text, sizeof text}, &m);
      else {
        feed(&e, b.data, b.size - 3);
        ready(&e, EPOLLIN);
        is_well = !e.closed;
      }
      has_failed = hr_alloc_has_failed();
      hr_alloc_fail_at(0, false);
      HR_CHECK_EQ_I64(is_well, !has_failed);
      HR_CHECK_EQ_I64(hr_near_link_is_broken(&e.link), has_failed);
      HR_CHECK_EQ_I64(m.count, 0);
      close_end(&e);
    }
    HR_CHECK(!has_failed);
  }
  hr_strbuf_deinit(&b);
}
HR_TEST_MAIN()
