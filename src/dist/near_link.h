/* SPDX-License-Identifier: Apache-2.0 */
/* A connection between two processes of one user on one machine: a Unix socket that carries frames. A frame is a head, a text, and a
 * message whose large pieces keep their borders, so that each is received into memory of its own, ready to be a tensor's, without another
 * copy.
 *
 * Any thread sends: what the socket takes at once is gone when the sender returns, the rest follows from the loop. Only a turn of the
 * loop's (near_loop.h) receives. Both ends are the same machine, so numbers lie in frames as in memory. */
#ifndef HR_DIST_NEAR_LINK_H
#define HR_DIST_NEAR_LINK_H
#include "base/sync.h"
#include "dist/near_loop.h"
#include "dist/transport.h"

typedef enum { HR_NEAR_CALL = 1, HR_NEAR_ANSWER, HR_NEAR_CANCEL, HR_NEAR_PING, HR_NEAR_PONG } hr_near_kind_t;

typedef struct {   /* followed by the text, `pieces` sizes of 8 bytes each, the message's bytes */
  uint32_t number; /* of the call, chosen by who calls: hr_near_number */
  uint8_t kind;
  uint8_t code;    /* ANSWER: hr_code_t */
  uint16_t number_high;
  uint32_t text;   /* bytes: CALL: the method; ANSWER: of a failure what it says */
  uint32_t pieces;
  uint64_t bytes;  /* of the message: the sum of the sizes */
} hr_near_head_t;
static inline uint64_t hr_near_number(const hr_near_head_t* h) { return (uint64_t)h->number_high << 32 | h->number; }
static inline hr_near_head_t hr_near_head(uint64_t number, hr_near_kind_t kind) { /* of 48 bits */
  return (hr_near_head_t){.number = (uint32_t)number, .kind = (uint8_t)kind, .number_high = (uint16_t)(number >> 32)};
}
enum { HR_NEAR_TEXT_MOST = 16384, HR_NEAR_PIECES_MOST = 1024 };

typedef struct hr_near_link hr_near_link_t;
typedef struct { /* what an end of a link does; all on a turn of the loop's */
  /* A CALL, ANSWER or CANCEL. The text is there until it returns. */
  void (*frame)(hr_near_link_t* self, const hr_near_head_t* head, hr_str_t text, hr_message_t* take_message);
  /* A CALL or ANSWER whose message is above `most_bytes`; its bytes are thrown away. Set by an end that serves, which reads no more calls
   * while too much of its answers is not read. */
  void (*refused)(hr_near_link_t* self, const hr_near_head_t* head);
  void (*closed)(hr_near_link_t* self);                  /* once: nothing comes or goes any more */
  int64_t (*tick)(hr_near_link_t* self, int64_t now_ns); /* when to tick again; INT64_MAX: not before hr_near_loop_wake_by */
  void (*destroy)(hr_near_link_t* self);                 /* the last reference is gone */
} hr_near_role_t;

struct hr_near_link {
  hr_near_source_t source;
  const hr_near_role_t* role;
  _Atomic int refs;
  int64_t most_bytes;    /* of a message that comes in */
  int64_t heard_ns;      /* the loop's, like below until `mu`: when something last came, or went that had waited */
  char* buffer;
  size_t start, end;     /* what of it is not read yet */
  hr_near_head_t head;   /* of the frame whose message comes in */
  char* text;
  hr_message_t message;
  int32_t piece;         /* which of it comes in, and from where on; == count: no message comes in */
  size_t at;
  uint64_t skipped;      /* bytes to throw away */
  hr_mutex_t mu;         /* guards what follows */
  int fd;                /* -1: closed */
  bool is_broken;        /* nothing is sent any more */
  uint32_t watched;      /* what the loop looks for: epoll's events */
  struct hr_near_sending *first, *last; /* what waits for room */
  size_t queued;         /* bytes of it */
};

/* Takes the descriptor, on failure too; the caller holds one reference, the loop another until `closed` has returned. */
HR_MUST_USE hr_status_t hr_near_link_init(hr_near_link_t* link, int take_fd, const hr_near_role_t* role, int64_t most_bytes);
/* Room for what ready links need; then it may be called back. */
HR_MUST_USE hr_status_t hr_near_link_begin(hr_near_link_t* link);
void hr_near_link_deinit(hr_near_link_t* link);
hr_near_link_t* hr_near_link_retain(hr_near_link_t* link);
void hr_near_link_release(hr_near_link_t* link);
/* False: broken, nothing has been sent. The message is taken in either case (NULL: none). */
bool hr_near_link_send(hr_near_link_t* link, hr_near_head_t head, hr_str_t text, hr_message_t* take_message);
bool hr_near_link_is_broken(hr_near_link_t* link);
void hr_near_link_cut(hr_near_link_t* link); /* any thread: `closed` follows */
#endif
