/* SPDX-License-Identifier: Apache-2.0 */
/* A table from key to a place, where either values wait for receivers or receivers for values, never both. A place that is empty goes to
 * a short list for the next key, since a loop's keys are all different. Callbacks run after the lock is let go. */
#include "rt/rendezvous.h"
#include <stdatomic.h>
#include "base/alloc.h"
#include "base/map.h"
#include "base/sync.h"

enum { SPARE_MOST = 64 };

typedef struct parked {
  struct parked* next;
  hr_tensor_t value; /* one share; no buffer when dead */
  bool is_dead;
} parked_t;

typedef struct place {
  struct place* next;            /* among the spare ones */
  parked_t *values, *last_value; /* oldest first */
  hr_rendezvous_waiter_t *waiters, *last_waiter;
  size_t room;
  parked_t first; /* memory of the first value: most keys see one */
  bool first_is_used;
  char key[]; /* room bytes; the map's key */
} place_t;

struct hr_rendezvous {
  atomic_int refs;
  hr_rendezvous_remote_t* remote;
  hr_mutex_t mu;
  hr_map_t places; /* guarded by mu, like all below */
  place_t* spare;
  int spare_count;
  hr_status_t why; /* NULL: not aborted */
};

hr_status_t hr_rendezvous_create(hr_rendezvous_remote_t* take_remote, hr_rendezvous_t** out) {
  hr_rendezvous_t* r = hr_alloc_zero(sizeof *r);
  if (!r) {
    if (take_remote) take_remote->destroy(take_remote);
    return hr_status_out_of_memory();
  }
  atomic_init(&r->refs, 1);
  r->remote = take_remote;
  hr_mutex_init(&r->mu);
  hr_map_init(&r->places);
  *out = r;
  return NULL;
}

hr_rendezvous_t* hr_rendezvous_retain(hr_rendezvous_t* r) {
  atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
  return r;
}

/* --- places; the lock is held ------------------------------------------------------------------------------------------------------- */

static place_t* find_place(const hr_rendezvous_t* r, hr_str_t key) {
  uintptr_t found;
  return hr_map_find(&r->places, key, &found) ? (place_t*)found : NULL;
}

static place_t* new_place(hr_rendezvous_t* r, size_t size) {
  place_t* p = r->spare;
  if (p && p->room >= size) {
    r->spare = p->next;
    r->spare_count--;
  } else {
    const size_t room = size < 128 ? 128 : size;
    p = hr_alloc(sizeof *p + room);
    if (!p) return NULL;
    p->room = room;
  }
  p->values = p->last_value = NULL;
  p->waiters = p->last_waiter = NULL;
  p->first_is_used = false;
  return p;
}

static void drop_place(hr_rendezvous_t* r, place_t* p) {
  if (r->spare_count == SPARE_MOST) {
    hr_free(p);
    return;
  }
  p->next = r->spare;
  r->spare = p;
  r->spare_count++;
}

static place_t* find_or_make_place(hr_rendezvous_t* r, hr_str_t key) {
  place_t* p = find_place(r, key);
  if (p) return p;
  p = new_place(r, key.size);
  if (!p) return NULL;
  if (key.size) memcpy(p->key, key.data, key.size);
  hr_status_t status = hr_map_set(&r->places, (hr_str_t){p->key, key.size}, (uintptr_t)p);
  if (!status) return p;
  hr_status_release(status);
  drop_place(r, p);
  return NULL;
}

static void close_if_empty(hr_rendezvous_t* r, place_t* p, hr_str_t key) {
  if (p->values || p->waiters) return;
  hr_map_remove(&r->places, key);
  drop_place(r, p);
}

static bool park_value(hr_rendezvous_t* r, hr_str_t key, const hr_tensor_t* value, bool is_dead) {
  place_t* p = find_or_make_place(r, key);
  if (!p) return false;
  parked_t* v = p->first_is_used ? hr_alloc(sizeof *v) : &p->first;
  if (!v) return false; /* the place has a value already, and stays */
  p->first_is_used = true;
  v->next = NULL;
  v->is_dead = is_dead;
  v->value = (hr_tensor_t){0};
  if (value && value->buffer && !is_dead) hr_tensor_share(value, &v->value);
  if (p->last_value)
    p->last_value->next = v;
  else
    p->values = v;
  p->last_value = v;
  return true;
}

/* The oldest value moves to *out. */
static void unpark_value(place_t* p, hr_tensor_t* out, bool* out_dead) {
  parked_t* v = p->values;
  *out_dead = v->is_dead;
  *out = v->value;
  p->values = v->next;
  if (!p->values) p->last_value = NULL;
  if (v == &p->first)
    p->first_is_used = false;
  else
    hr_free(v);
}

static void add_waiter(place_t* p, hr_rendezvous_waiter_t* w) {
  w->next = NULL;
  if (p->last_waiter)
    p->last_waiter->next = w;
  else
    p->waiters = w;
  p->last_waiter = w;
}

/* --- sending and receiving ---------------------------------------------------------------------------------------------------------- */

static void end_waiter(hr_rendezvous_waiter_t* w, hr_status_t take_status) {
  hr_tensor_t none = {0};
  w->done(w, take_status, &none, false);
}

hr_status_t hr_rendezvous_send(hr_rendezvous_t* r, hr_str_t key, const hr_tensor_t* value, bool is_dead) {
  hr_rendezvous_waiter_t* w = NULL;
  hr_mutex_lock(&r->mu);
  hr_status_t status = hr_status_retain(r->why);
  place_t* p = status ? NULL : find_place(r, key);
  if (p && p->waiters) {
    w = p->waiters;
    p->waiters = w->next;
    if (!p->waiters) p->last_waiter = NULL;
    close_if_empty(r, p, key);
  } else if (!status && !park_value(r, key, value, is_dead)) {
    status = hr_status_out_of_memory();
  }
  hr_mutex_unlock(&r->mu);
  if (!w) return status;
  hr_tensor_t share = {0};
  if (value && value->buffer && !is_dead) hr_tensor_share(value, &share);
  w->done(w, NULL, &share, is_dead);
  return NULL;
}

void hr_rendezvous_receive_local(hr_rendezvous_t* r, hr_str_t key, hr_rendezvous_waiter_t* w) {
  hr_tensor_t value = {0};
  bool is_dead = false, parked = false;
  hr_mutex_lock(&r->mu);
  hr_status_t status = hr_status_retain(r->why);
  place_t* p = status ? NULL : find_or_make_place(r, key);
  if (p && p->values) {
    unpark_value(p, &value, &is_dead);
    close_if_empty(r, p, key);
  } else if (p) {
    add_waiter(p, w);
    parked = true;
  } else if (!status) {
    status = hr_status_out_of_memory();
  }
  hr_mutex_unlock(&r->mu);
  if (!parked) w->done(w, status, &value, is_dead);
}

static bool is_aborted(hr_rendezvous_t* r, hr_status_t* out_why) {
  hr_mutex_lock(&r->mu);
  *out_why = hr_status_retain(r->why);
  hr_mutex_unlock(&r->mu);
  return *out_why != NULL;
}

void hr_rendezvous_receive(hr_rendezvous_t* r, hr_str_t key, hr_rendezvous_waiter_t* w) {
  hr_rendezvous_key_t parts;
  hr_status_t status;
  if (!r->remote) {
    hr_rendezvous_receive_local(r, key, w);
    return;
  }
  if (is_aborted(r, &status) || (status = hr_rendezvous_key_parse(key, &parts)))
    end_waiter(w, status);
  else if (r->remote->is_remote(r->remote, &parts))
    r->remote->receive(r->remote, &parts, key, w);
  else
    hr_rendezvous_receive_local(r, key, w);
}

bool hr_rendezvous_forget(hr_rendezvous_t* r, hr_str_t key, hr_rendezvous_waiter_t* w) {
  bool found = false;
  hr_mutex_lock(&r->mu);
  place_t* p = find_place(r, key);
  hr_rendezvous_waiter_t* before = NULL;
  for (hr_rendezvous_waiter_t* at = p ? p->waiters : NULL; at && !found; before = at, at = at->next) {
    if (at != w) continue;
    found = true;
    if (before)
      before->next = w->next;
    else
      p->waiters = w->next;
    if (p->last_waiter == w) p->last_waiter = before;
    close_if_empty(r, p, key);
    break;
  }
  hr_mutex_unlock(&r->mu);
  return found;
}

/* --- the end ------------------------------------------------------------------------------------------------------------------------ */

/* Takes every waiter out and drops every value. The lock is held. */
static hr_rendezvous_waiter_t* clear_places(hr_rendezvous_t* r) {
  hr_rendezvous_waiter_t* all = NULL;
  const hr_map_entry_t* e;
  for (int64_t i = 0; (e = hr_map_next(&r->places, &i));) {
    place_t* p = (place_t*)e->value;
    for (hr_rendezvous_waiter_t *w = p->waiters, *next; w; w = next) {
      next = w->next;
      w->next = all;
      all = w;
    }
    while (p->values) {
      hr_tensor_t value;
      bool is_dead;
      unpark_value(p, &value, &is_dead);
      hr_tensor_release(&value);
    }
    hr_free(p);
  }
  hr_map_deinit(&r->places);
  hr_map_init(&r->places);
  return all;
}

bool hr_rendezvous_is_empty(hr_rendezvous_t* r) {
  hr_mutex_lock(&r->mu);
  const bool is_empty = r->places.count == 0;
  hr_mutex_unlock(&r->mu);
  return is_empty;
}

void hr_rendezvous_abort(hr_rendezvous_t* r, hr_status_t take_why) {
  hr_rendezvous_waiter_t* all = NULL;
  hr_mutex_lock(&r->mu);
  const bool first = !r->why;
  if (first) {
    r->why = take_why ? take_why : hr_status_cancelled();
    all = clear_places(r);
  } else {
    hr_status_release(take_why);
  }
  hr_mutex_unlock(&r->mu);
  if (!first) return;
  for (hr_rendezvous_waiter_t* next; all; all = next) {
    next = all->next; /* its memory is the receiver's once it is called */
    end_waiter(all, hr_status_retain(r->why));
  }
  if (r->remote) r->remote->abort(r->remote, hr_status_retain(r->why));
}

void hr_rendezvous_release(hr_rendezvous_t* r) {
  if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
  hr_rendezvous_abort(r, NULL);
  if (r->remote) r->remote->destroy(r->remote);
  while (r->spare) {
    place_t* p = r->spare;
    r->spare = p->next;
    hr_free(p);
  }
  hr_map_deinit(&r->places);
  hr_status_release(r->why);
  hr_mutex_deinit(&r->mu);
  hr_free(r);
}
