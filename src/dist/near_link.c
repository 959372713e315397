/* SPDX-License-Identifier: Apache-2.0 */
/* What comes is read into one buffer, and from there as frames; what of a message is not in the buffer yet is read straight into its place.
 *
 * A message travels as pieces: small slices that stand together are one, a large slice is one of its own. Both ends are of one program, but
 * another program of the same user may speak here: every number is checked before it is used. */
#include "dist/near_link.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/message_builder.h"

enum {
  BUFFER_BYTES = 1 << 16,
  HEAD_MOST = sizeof(hr_near_head_t) + HR_NEAR_TEXT_MOST + 8 * HR_NEAR_PIECES_MOST,
  OWN_BYTES = 4096,   /* a piece above it is received into memory of its own */
  VECTORS = 32,       /* handed to the system at a time */
  ROUNDS = 32,        /* reads of one link before others have their turn */
  QUEUED_MOST = 64 << 20, /* bytes of answers that an end which serves keeps for a caller that does not read, before it reads no more */
};
_Static_assert(HEAD_MOST < BUFFER_BYTES / 2, "a whole head fits after what has been read is closed up");

/* --- sending -------------------------------------------------------------------------------------------------------------------------- */

typedef struct hr_near_sending { /* what the socket had no room for */
  struct hr_near_sending* next;
  hr_message_t message;
  int32_t slice;
  size_t size;                   /* of all that was queued */
  size_t at;                     /* of the head, then of the slice */
  size_t head_size;              /* 0: it is gone */
  char head[];
} sending_t;

/* The sizes of the pieces; their number. All in one when they are too many. */
static uint32_t split_pieces(const hr_message_t* m, uint64_t* out_sizes, uint64_t* out_bytes) {
  uint32_t count = 0;
  *out_bytes = hr_message_size(m);
  for (int32_t i = 0; i < m->count; ++i) {
    const size_t size = m->slices[i].size;
    if (size == 0) continue;
    if (count && out_sizes[count - 1] + size <= OWN_BYTES) {
      out_sizes[count - 1] += size;
      continue;
    }
    if (count == HR_NEAR_PIECES_MOST) {
      out_sizes[0] = *out_bytes;
      return 1;
    }
    out_sizes[count++] = size;
  }
  return count;
}

static int fill_vectors(struct iovec* v, const char* head, size_t head_at, size_t head_size, const hr_message_t* m, int32_t slice,
                        size_t at) {
  int count = 0;
  if (head_at < head_size) v[count++] = (struct iovec){(void*)(uintptr_t)(head + head_at), head_size - head_at};
  for (int32_t i = slice; i < m->count && count < VECTORS; ++i, at = 0)
    if (m->slices[i].size > at) v[count++] = (struct iovec){(char*)(uintptr_t)m->slices[i].data + at, m->slices[i].size - at};
  return count;
}

/* Bytes that the socket took; 0: it is full; -1: broken. */
static ssize_t write_some(int fd, struct iovec* v, int count) {
  const struct msghdr h = {.msg_iov = v, .msg_iovlen = (size_t)count};
  for (;;) {
    const ssize_t n = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) return -1;
  }
}

static void skip_slices(const hr_message_t* m, int32_t* slice, size_t* at, size_t n) {
  while (*slice < m->count && n >= m->slices[*slice].size - *at) {
    n -= m->slices[*slice].size - *at;
    ++*slice;
    *at = 0;
  }
  *at += n;
}

/* Writes until all is gone (1), the socket is full (0) or broken (-1). */
static int write_sending(int fd, sending_t* s) {
  for (;;) {
    struct iovec v[VECTORS];
    const int count = fill_vectors(v, s->head, s->at, s->head_size, &s->message, s->slice, s->head_size ? 0 : s->at);
    if (count == 0) return 1;
    const ssize_t n = write_some(fd, v, count);
    if (n <= 0) return (int)n;
    size_t taken = (size_t)n;
    if (s->head_size) {
      const size_t left = s->head_size - s->at;
      if (taken < left) {
        s->at += taken;
        continue;
      }
      taken -= left;
      s->head_size = s->at = 0;
    }
    skip_slices(&s->message, &s->slice, &s->at, taken);
  }
}

static void free_sending(sending_t* s) {
  hr_message_deinit(&s->message);
  hr_free(s);
}

/* mu is held. The loop finds the socket shut and closes it. */
static void break_link(hr_near_link_t* link) {
  if (link->is_broken) return;
  link->is_broken = true;
  if (!hr_near_loop_is_lost()) (void)shutdown(link->fd, SHUT_RDWR);
}

static bool is_choked(const hr_near_link_t* link) { return link->role->refused && link->queued > QUEUED_MOST; }

/* mu is held. What the loop looks for. */
static void settle_watch(hr_near_link_t* link) {
  uint32_t wanted = 0;
  if (!is_choked(link)) wanted |= EPOLLIN;
  if (link->first) wanted |= EPOLLOUT;
  if (wanted != link->watched) hr_near_loop_watch(&link->source, link->fd, wanted);
  link->watched = wanted;
}

/* mu is held. What is left of a frame of which `taken` bytes are gone waits for room. */
static bool keep_sending(hr_near_link_t* link, const char* head, size_t head_size, size_t taken, hr_message_t* take_message) {
  sending_t* s = hr_alloc(sizeof *s + head_size);
  if (!s) return false;
  *s = (sending_t){.message = *take_message, .head_size = head_size, .at = taken};
  s->size = head_size + hr_message_size(take_message);
  *take_message = (hr_message_t){0};
  memcpy(s->head, head, head_size);
  if (taken >= head_size) {
    s->head_size = s->at = 0;
    skip_slices(&s->message, &s->slice, &s->at, taken - head_size);
  }
  if (link->last) link->last->next = s;
  else link->first = s;
  link->last = s;
  link->queued += s->size;
  settle_watch(link);
  return true;
}

static bool send_frame(hr_near_link_t* link, const char* head, size_t head_size, hr_message_t* take_message) {
  size_t taken = 0;
  hr_mutex_lock(&link->mu);
  bool is_sent = !link->is_broken;
  if (is_sent && !link->first) {
    struct iovec v[VECTORS];
    const ssize_t n = write_some(link->fd, v, fill_vectors(v, head, 0, head_size, take_message, 0, 0));
    if (n < 0) is_sent = false;
    else taken = (size_t)n;
  }
  if (is_sent && taken < head_size + hr_message_size(take_message))
    is_sent = keep_sending(link, head, head_size, taken, take_message);
  if (!is_sent) break_link(link);
  hr_mutex_unlock(&link->mu);
  hr_message_deinit(take_message);
  return is_sent;
}

bool hr_near_link_send(hr_near_link_t* link, hr_near_head_t head, hr_str_t text, hr_message_t* take_message) {
  enum { FEW = 16, SHORT = 256 };
  hr_message_t none = {0};
  uint64_t few_sizes[FEW];
  char few_bytes[sizeof head + SHORT + sizeof few_sizes];
  if (!take_message) take_message = &none;
  text.size = text.size < HR_NEAR_TEXT_MOST ? text.size : HR_NEAR_TEXT_MOST;
  const bool is_few = take_message->count <= FEW && text.size <= SHORT;
  char* bytes = is_few ? few_bytes : hr_alloc(HEAD_MOST);
  uint64_t* sizes = is_few ? few_sizes : hr_alloc(sizeof *sizes * HR_NEAR_PIECES_MOST);
  bool is_sent = false;
  if (bytes && sizes) {
    head.text = (uint32_t)text.size;
    head.pieces = split_pieces(take_message, sizes, &head.bytes);
    memcpy(bytes, &head, sizeof head);
    if (text.size) memcpy(bytes + sizeof head, text.data, text.size);
    if (head.pieces) memcpy(bytes + sizeof head + text.size, sizes, sizeof *sizes * head.pieces);
    is_sent = send_frame(link, bytes, sizeof head + text.size + sizeof *sizes * head.pieces, take_message);
  } else {
    hr_message_deinit(take_message);
    hr_near_link_cut(link);
  }
  if (!is_few) {
    hr_free(bytes);
    hr_free(sizes);
  }
  return is_sent;
}

/* The loop's. */
static void send_on(hr_near_link_t* link) {
  sending_t* gone = NULL;
  hr_mutex_lock(&link->mu);
  while (link->first && !link->is_broken) {
    sending_t* s = link->first;
    const int went = write_sending(link->fd, s);
    if (went < 0) break_link(link);
    if (went <= 0) break;
    link->first = s->next;
    link->queued -= s->size;
    s->next = gone;
    gone = s;
  }
  if (!link->first) link->last = NULL;
  if (!link->is_broken) settle_watch(link);
  hr_mutex_unlock(&link->mu);
  for (sending_t* after; gone; gone = after) {
    after = gone->next;
    free_sending(gone);
  }
}

/* --- receiving ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t add_piece(hr_message_t* m, uint64_t size) {
  if (size <= OWN_BYTES) {
    char* bytes = hr_alloc((size_t)size);
    return bytes ? hr_message_add(m, (hr_slice_t){bytes, (size_t)size, hr_free, bytes}) : hr_status_out_of_memory();
  }
  hr_buffer_t* b = size < SIZE_MAX / 2 ? hr_buffer_create((size_t)size, HR_DTYPE_INVALID) : NULL;
  return b ? hr_message_add(m, hr_message_slice_of_buffer(b)) : hr_status_out_of_memory();
}

/* Where the message of link->head will lie. */
static bool make_pieces(hr_near_link_t* link, const char* sizes) {
  hr_message_t m = {0};
  hr_status_t status = NULL;
  for (uint32_t i = 0; i < link->head.pieces && !status; ++i) {
    uint64_t size;
    memcpy(&size, sizes + 8 * (size_t)i, sizeof size);
    status = add_piece(&m, size);
  }
  if (status) hr_message_deinit(&m);
  hr_status_release(status);
  link->message = m;
  link->piece = 0;
  link->at = 0;
  return !status;
}

/* As many bytes as there are, of a message that has none yet. */
static size_t fill_pieces(hr_near_link_t* link, const char* from, size_t n) {
  size_t left = n;
  while (left && link->piece < link->message.count) {
    const hr_slice_t* s = &link->message.slices[link->piece];
    const size_t step = left < s->size ? left : s->size;
    memcpy((char*)(uintptr_t)s->data, from, step);
    from += step;
    left -= step;
    skip_slices(&link->message, &link->piece, &link->at, step);
  }
  return n - left;
}

static bool head_is_good(const hr_near_head_t* h) {
  return h->kind >= HR_NEAR_CALL && h->kind <= HR_NEAR_PONG && h->text <= HR_NEAR_TEXT_MOST && h->pieces <= HR_NEAR_PIECES_MOST &&
         h->code < HR_CODE_COUNT && (h->pieces > 0) == (h->bytes > 0);
}

static bool sizes_are_good(const hr_near_head_t* h, const char* sizes) {
  uint64_t left = h->bytes;
  for (uint32_t i = 0; i < h->pieces; ++i) {
    uint64_t size;
    memcpy(&size, sizes + 8 * (size_t)i, sizeof size);
    if (size == 0 || size > left) return false;
    left -= size;
  }
  return left == 0;
}

/* Whoever does not read what he was sent is told nothing more than he has asked for. */
static bool has_queued(hr_near_link_t* link) {
  hr_mutex_lock(&link->mu);
  const bool has = link->first != NULL;
  hr_mutex_unlock(&link->mu);
  return has;
}

static void hand_over(hr_near_link_t* link, hr_str_t text) {
  const hr_near_head_t head = link->head;
  hr_message_t m = link->message;
  link->message = (hr_message_t){0};
  link->piece = 0;
  const hr_near_head_t pong = {.kind = HR_NEAR_PONG};
  if (head.kind == HR_NEAR_PING && !has_queued(link)) (void)hr_near_link_send(link, pong, HR_STR(""), NULL);
  else if (head.kind < HR_NEAR_PING) link->role->frame(link, &head, text, &m);
  hr_message_deinit(&m);
}

/* The next frame, as far as it has come. False: what comes is no frame, or there is no memory for it. */
static bool take_frame(hr_near_link_t* link, bool* out_more) {
  const char* at = link->buffer + link->start;
  const size_t have = link->end - link->start;
  hr_near_head_t* h = &link->head;
  *out_more = false;
  if (have < sizeof *h) return true;
  memcpy(h, at, sizeof *h);
  if (!head_is_good(h)) return false;
  const size_t size = sizeof *h + h->text + 8 * (size_t)h->pieces;
  if (have < size) return true;
  const char *text = at + sizeof *h, *sizes = text + h->text;
  if (!sizes_are_good(h, sizes)) return false;
  *out_more = true;
  link->start += size;
  if (h->bytes > (uint64_t)link->most_bytes) {
    link->skipped = h->bytes;
    if (link->role->refused) link->role->refused(link, h);
    return true;
  }
  if (!make_pieces(link, sizes)) return false;
  link->start += fill_pieces(link, link->buffer + link->start, link->end - link->start);
  if (link->piece == link->message.count) hand_over(link, (hr_str_t){text, h->text});
  else if (!(link->text = hr_alloc_copy(text, h->text))) return false;
  return true;
}

static void end_message(hr_near_link_t* link) {
  char* text = link->text;
  link->text = NULL;
  hand_over(link, (hr_str_t){text, link->head.text});
  hr_free(text);
}

/* All frames that the buffer holds. */
static bool take_frames(hr_near_link_t* link) {
  bool more = true;
  while (more) {
    const uint64_t have = link->end - link->start, skip = have < link->skipped ? have : link->skipped;
    link->start += (size_t)skip;
    link->skipped -= skip;
    if (!take_frame(link, &more)) return false; /* while a message is under way, it has had all there is */
  }
  if (link->start == link->end) link->start = link->end = 0;
  else if (BUFFER_BYTES - link->end < BUFFER_BYTES / 2) {
    memmove(link->buffer, link->buffer + link->start, link->end - link->start);
    link->end -= link->start;
    link->start = 0;
  }
  return true;
}

/* Into the pieces that the message lacks, and what comes behind them into the buffer, which is empty then. */
static ssize_t read_some(hr_near_link_t* link, size_t* out_room) {
  struct iovec v[VECTORS];
  int count = 0;
  size_t at = link->at;
  *out_room = 0;
  for (int32_t i = link->piece; i < link->message.count && count < VECTORS; ++i, at = 0) {
    const hr_slice_t* s = &link->message.slices[i];
    v[count++] = (struct iovec){(char*)(uintptr_t)s->data + at, s->size - at};
    *out_room += s->size - at;
  }
  if (count < VECTORS) {
    v[count++] = (struct iovec){link->buffer + link->end, BUFFER_BYTES - link->end};
    *out_room += BUFFER_BYTES - link->end;
  }
  for (;;) {
    const ssize_t n = readv(link->fd, v, count);
    if (n >= 0 || errno != EINTR) return n;
  }
}

static bool take_bytes(hr_near_link_t* link, size_t n) {
  while (n && link->piece < link->message.count) {
    const size_t room = link->message.slices[link->piece].size - link->at, step = n < room ? n : room;
    skip_slices(&link->message, &link->piece, &link->at, step);
    n -= step;
  }
  link->end += n;
  if (link->text && link->piece == link->message.count) end_message(link);
  return take_frames(link);
}

static void look_again(hr_near_link_t* link) {
  hr_mutex_lock(&link->mu);
  if (!link->is_broken) hr_near_loop_watch(&link->source, link->fd, link->watched);
  hr_mutex_unlock(&link->mu);
}

static bool reads_no_more(hr_near_link_t* link) {
  hr_mutex_lock(&link->mu);
  const bool is_full = is_choked(link);
  hr_mutex_unlock(&link->mu);
  return is_full;
}

/* Until nothing is there, or its end when that has come. False: the other side has gone, or talks nonsense. */
static bool receive(hr_near_link_t* link, bool has_ended) {
  for (int i = 0; i < ROUNDS; ++i) {
    size_t room;
    const ssize_t n = read_some(link, &room);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    link->heard_ns = hr_clock_now_ns();
    if (!take_bytes(link, (size_t)n)) return false;
    if (!has_ended && ((size_t)n < room || reads_no_more(link))) return true;
  }
  look_again(link);
  return true;
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

static void close_link(hr_near_link_t* link) {
  hr_mutex_lock(&link->mu);
  break_link(link);
  const int fd = link->fd;
  sending_t* s = link->first;
  link->fd = -1;
  link->first = link->last = NULL;
  hr_mutex_unlock(&link->mu);
  hr_near_loop_remove(&link->source, fd);
  (void)close(fd);
  for (sending_t* after; s; s = after) {
    after = s->next;
    free_sending(s);
  }
  link->role->closed(link);
  hr_near_link_release(link);
}

static hr_near_link_t* link_of(hr_near_source_t* s) { return (hr_near_link_t*)((char*)s - offsetof(hr_near_link_t, source)); }

static void link_ready(hr_near_source_t* self, uint32_t events) {
  hr_near_link_t* link = link_of(self);
  if (events & EPOLLOUT) {
    link->heard_ns = hr_clock_now_ns(); /* there is room: the other side reads */
    send_on(link);
  }
  const bool has_ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  if ((has_ended || events & EPOLLIN) && !receive(link, has_ended)) close_link(link);
}

static int64_t link_tick(hr_near_source_t* self, int64_t now_ns) {
  hr_near_link_t* link = link_of(self);
  return link->role->tick(link, now_ns);
}

hr_status_t hr_near_link_init(hr_near_link_t* link, int take_fd, const hr_near_role_t* role, int64_t most_bytes) {
  link->source = (hr_near_source_t){.ready = link_ready, .tick = link_tick};
  link->role = role;
  link->most_bytes = most_bytes;
  link->fd = take_fd;
  link->watched = EPOLLIN;
  atomic_init(&link->refs, 1);
  hr_mutex_init(&link->mu);
  link->buffer = hr_alloc(BUFFER_BYTES);
  return link->buffer ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_near_link_begin(hr_near_link_t* link) {
  hr_near_link_retain(link);
  hr_status_t status = hr_near_loop_add(&link->source, link->fd);
  if (status) atomic_fetch_sub(&link->refs, 1);
  return status;
}

void hr_near_link_deinit(hr_near_link_t* link) {
  if (link->fd >= 0) (void)close(link->fd);
  hr_message_deinit(&link->message);
  hr_free(link->text);
  hr_free(link->buffer);
  hr_mutex_deinit(&link->mu);
}

hr_near_link_t* hr_near_link_retain(hr_near_link_t* link) {
  atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
  return link;
}

void hr_near_link_release(hr_near_link_t* link) {
  if (atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) == 1) link->role->destroy(link);
}

bool hr_near_link_is_broken(hr_near_link_t* link) {
  hr_mutex_lock(&link->mu);
  const bool is_broken = link->is_broken;
  hr_mutex_unlock(&link->mu);
  return is_broken;
}

void hr_near_link_cut(hr_near_link_t* link) {
  hr_mutex_lock(&link->mu);
  break_link(link);
  hr_mutex_unlock(&link->mu);
}
