/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation tokens. The first reason wins and is kept; callbacks run once each, one after another, without the lock.
 *
 * The two racing sides are hr_cancel_start, which unlinks an entry and then calls it, and hr_cancel_deregister, which must not return
 * while its entry is being called: an entry that is no longer linked has been called or is being called, so deregistration waits for
 * `running` to be zero. A callback therefore must not deregister itself. */
#include "rt/cancel.h"

void hr_cancel_init(hr_cancel_t* c) {
  atomic_init(&c->cancelled, false);
  hr_mutex_init(&c->mu);
  c->why = NULL;
  c->entries = NULL;
  c->running = 0;
  hr_cond_init(&c->idle);
}

void hr_cancel_deinit(hr_cancel_t* c) {
  hr_status_release(c->why);
  hr_cond_deinit(&c->idle);
  hr_mutex_deinit(&c->mu);
}

static bool entry_is_linked(const hr_cancel_t* c, const hr_cancel_entry_t* e) { return c->entries == e || e->previous != NULL; }

static void unlink_entry(hr_cancel_t* c, hr_cancel_entry_t* e) {
  if (e->previous) e->previous->next = e->next;
  else c->entries = e->next;
  if (e->next) e->next->previous = e->previous;
  e->next = e->previous = NULL;
}

void hr_cancel_start(hr_cancel_t* c, hr_status_t take_why) {
  hr_mutex_lock(&c->mu);
  if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) {
    hr_mutex_unlock(&c->mu);
    hr_status_release(take_why);
    return;
  }
  c->why = take_why ? take_why : hr_status_cancelled();
  atomic_store_explicit(&c->cancelled, true, memory_order_release);
  while (c->entries) {
    hr_cancel_entry_t* e = c->entries;
    void (*callback)(void*) = e->callback; /* the entry's memory is the waiter's: read it while it is certain to live */
    void* arg = e->arg;
    unlink_entry(c, e);
    c->running++;
    hr_mutex_unlock(&c->mu);
    callback(arg);
    hr_mutex_lock(&c->mu);
    if (--c->running == 0) hr_cond_wake_all(&c->idle);
  }
  hr_mutex_unlock(&c->mu);
}

hr_status_t hr_cancel_why(hr_cancel_t* c) {
  hr_mutex_lock(&c->mu);
  hr_status_t why = c->why ? hr_status_retain(c->why) : hr_status_cancelled();
  hr_mutex_unlock(&c->mu);
  return why;
}

bool hr_cancel_register(hr_cancel_t* c, hr_cancel_entry_t* entry) {
  hr_mutex_lock(&c->mu);
  bool open = !atomic_load_explicit(&c->cancelled, memory_order_relaxed);
  entry->previous = entry->next = NULL;
  if (open) {
    entry->next = c->entries;
    if (c->entries) c->entries->previous = entry;
    c->entries = entry;
  }
  hr_mutex_unlock(&c->mu);
  return open;
}

void hr_cancel_deregister(hr_cancel_t* c, hr_cancel_entry_t* entry) {
  hr_mutex_lock(&c->mu);
  if (entry_is_linked(c, entry)) {
    unlink_entry(c, entry);
  } else {
    while (c->running > 0) hr_cond_wait(&c->idle, &c->mu);
  }
  hr_mutex_unlock(&c->mu);
}

static void start_linked(void* arg) {
  hr_cancel_link_t* l = arg;
  hr_cancel_start(l->own, hr_cancel_why(l->parent));
}

void hr_cancel_link(hr_cancel_link_t* l, hr_cancel_t* parent, hr_cancel_t* own) {
  *l = (hr_cancel_link_t){.parent = parent, .own = own, .entry = {.callback = start_linked, .arg = l}};
  if (!parent) return;
  l->registered = hr_cancel_register(parent, &l->entry);
  if (!l->registered) start_linked(l);
}

void hr_cancel_unlink(hr_cancel_link_t* l) {
  if (l->registered) hr_cancel_deregister(l->parent, &l->entry);
}
