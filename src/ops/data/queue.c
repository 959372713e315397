/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: a ring of elements and two lines of attempts. All moves happen in `move_lines`, under the mutex. */
#include "ops/data/queue.h"
#include "base/alloc.h"
#include "rt/step.h"

struct hr_queue_attempt {
  hr_step_wait_t wait;          /* deferred ones only */
  hr_queue_attempt_t* next;     /* in its line */
  hr_queue_t* queue;            /* one reference of deferred ones */
  hr_element_t* elements;       /* to give (NULL once given), or taken */
  int64_t at, count;            /* done so far, and wanted */
  bool takes, up_to;
  bool done;
  hr_status_t status;
  hr_cancel_t* cancel;
  hr_cancel_entry_t entry;
  bool registered;
};

/* --- elements ------------------------------------------------------------------------------------------------------------------------ */
hr_element_t hr_element_create(int components) { return hr_alloc_array((size_t)components, sizeof(hr_tensor_t)); }

void hr_element_destroy(hr_element_t e, int components) {
  for (int i = 0; e && i < components; ++i) hr_tensor_release(&e[i]);
  hr_free(e);
}

/* --- the ring ------------------------------------------------------------------------------------------------------------------------ */
static hr_element_t* ring_place(hr_queue_t* q, int64_t i) { return &q->items[(q->head + i) & (q->room - 1)]; }

static bool ring_make_room(hr_queue_t* q) {
  if (q->count < q->room) return true;
  const int64_t room = q->room ? q->room * 2 : 16;
  hr_element_t* items = hr_alloc_array((size_t)room, sizeof *items);
  if (!items) return false;
  for (int64_t i = 0; i < q->count; ++i) items[i] = *ring_place(q, i);
  hr_free(q->items);
  q->items = items;
  q->room = room;
  q->head = 0;
  return true;
}

static int64_t priority_of(hr_element_t e) { return *(const int64_t*)e[0].data; }

/* By priority: behind those as urgent. What comes in order costs one comparison. */
static void ring_insert(hr_queue_t* q, hr_element_t e) {
  int64_t at = q->count++;
  for (; at > 0 && priority_of(*ring_place(q, at - 1)) > priority_of(e); --at) *ring_place(q, at) = *ring_place(q, at - 1);
  *ring_place(q, at) = e;
}

static void ring_push(hr_queue_t* q, hr_element_t e) {
  if (q->kind == HR_QUEUE_PRIORITY) ring_insert(q, e);
  else *ring_place(q, q->count++) = e;
}

static hr_element_t ring_pop(hr_queue_t* q) {
  hr_element_t e;
  if (q->kind == HR_QUEUE_SHUFFLE) { /* the last element takes the place of the chosen one */
    hr_element_t* chosen = ring_place(q, (int64_t)(hr_words_next(&q->words) % (uint64_t)q->count));
    e = *chosen;
    *chosen = *ring_place(q, q->count - 1);
  } else {
    e = *ring_place(q, 0);
    q->head = (q->head + 1) & (q->room - 1);
  }
  q->count--;
  return e;
}

static void ring_push_front(hr_queue_t* q, hr_element_t e) {
  if (q->kind == HR_QUEUE_SHUFFLE) {
    ring_push(q, e);
    return;
  }
  q->head = (q->head - 1) & (q->room - 1);
  q->count++;
  int64_t at = 0; /* by priority: before those as urgent, since it was there before them */
  for (; q->kind == HR_QUEUE_PRIORITY && at + 1 < q->count && priority_of(*ring_place(q, at + 1)) < priority_of(e); ++at)
    *ring_place(q, at) = *ring_place(q, at + 1);
  *ring_place(q, at) = e;
}

/* --- the lines ----------------------------------------------------------------------------------------------------------------------- */
static hr_queue_attempt_t** line_of(hr_queue_attempt_t* a) { return a->takes ? &a->queue->takers : &a->queue->givers; }

static void attempt_end(hr_queue_attempt_t* a, hr_status_t take_status) { /* leaves the line */
  for (hr_queue_attempt_t** p = line_of(a); *p; p = &(*p)->next) {
    if (*p != a) continue;
    *p = a->next;
    break;
  }
  a->status = take_status;
  a->done = true;
  hr_cond_wake_all(&a->queue->changed);
}

/* Gives back what was taken, in its old order. The ring has room unless givers filled it meanwhile. */
static void attempt_undo(hr_queue_attempt_t* a) {
  for (; a->takes && a->at > 0; a->at--) {
    hr_element_t e = a->elements[a->at - 1];
    a->elements[a->at - 1] = NULL;
    if (ring_make_room(a->queue)) ring_push_front(a->queue, e);
    else hr_element_destroy(e, a->queue->components);
  }
}

static bool move_giver(hr_queue_t* q, hr_queue_attempt_t* a) {
  const int64_t before = a->at;
  while (a->at < a->count && q->count < q->capacity) {
    if (!ring_make_room(q)) {
      attempt_end(a, hr_status_out_of_memory());
      return true;
    }
    ring_push(q, a->elements[a->at]);
    a->elements[a->at++] = NULL;
  }
  if (a->at == a->count) attempt_end(a, NULL);
  return a->at > before || a->done;
}

static bool move_taker(hr_queue_t* q, hr_queue_attempt_t* a) {
  const int64_t before = a->at;
  const bool closed = q->closed && !q->givers;
  while (a->at < a->count && q->count > (closed ? 0 : q->min_after)) a->elements[a->at++] = ring_pop(q);
  if (a->at < a->count && closed) {
    if (a->up_to && a->at > 0 && q->kind != HR_QUEUE_PRIORITY) {
      a->count = a->at;
    } else {
      const int64_t wanted = a->count, had = a->at;
      attempt_undo(a);
      attempt_end(a, HR_ERROR(OUT_OF_RANGE, "queue '%s' is closed and has insufficient elements (requested %lld, current size %lld)",
                              q->name, (long long)wanted, (long long)had));
      return true;
    }
  }
  if (a->at == a->count) attempt_end(a, NULL);
  return a->at > before || a->done;
}

static void move_lines(hr_queue_t* q) {
  bool moved = true;
  while (moved) {
    moved = q->takers && move_taker(q, q->takers);
    if (q->givers && move_giver(q, q->givers)) moved = true;
  }
}

/* --- attempts ------------------------------------------------------------------------------------------------------------------------ */
static void attempt_join(hr_queue_attempt_t* a) { /* at the end of its line; the lock is held */
  hr_queue_attempt_t** p = line_of(a);
  while (*p) p = &(*p)->next;
  *p = a;
  move_lines(a->queue);
}

static void attempt_give_up(hr_queue_attempt_t* a) {
  hr_mutex_lock(&a->queue->mu);
  if (!a->done) {
    attempt_undo(a);
    attempt_end(a, hr_status_cancelled());
    move_lines(a->queue);
  }
  hr_mutex_unlock(&a->queue->mu);
}
static void attempt_cancelled(void* arg) { attempt_give_up(arg); }

/* Called with the lock held, for an attempt that is not done; the lock is let go meanwhile. */
static void attempt_register(hr_queue_attempt_t* a) {
  hr_mutex_unlock(&a->queue->mu);
  a->entry = (hr_cancel_entry_t){.callback = attempt_cancelled, .arg = a};
  a->registered = hr_cancel_register(a->cancel, &a->entry);
  if (!a->registered) attempt_give_up(a);
  hr_mutex_lock(&a->queue->mu);
}

static hr_status_t attempt_wait(hr_queue_attempt_t* a) { /* the lock is held, and not after */
  hr_queue_t* q = a->queue;
  if (!a->done && !a->registered) attempt_register(a);
  while (!a->done) hr_cond_wait(&q->changed, &q->mu);
  hr_mutex_unlock(&q->mu);
  if (a->registered) hr_cancel_deregister(a->cancel, &a->entry);
  a->registered = false;
  return a->status;
}

static void drop_elements(hr_queue_t* q, hr_element_t* elements, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    hr_element_destroy(elements[i], q->components);
    elements[i] = NULL;
  }
}

static hr_status_t closed_error(const hr_queue_t* q) { return HR_ERROR(CANCELLED, "queue '%s' is closed", q->name); }

/* The end of a step that left an enqueue behind. */
static hr_status_t deferred_finish(hr_step_wait_t* take_self, bool give_up) {
  hr_queue_attempt_t* a = (hr_queue_attempt_t*)take_self;
  hr_queue_t* q = a->queue;
  if (give_up) attempt_give_up(a);
  hr_mutex_lock(&q->mu);
  hr_status_t status = attempt_wait(a);
  drop_elements(q, a->elements, a->count);
  hr_free(a->elements);
  hr_free(a);
  hr_resource_release(&q->base);
  return status;
}

/* Moves what is left of attempt `a` into one that the step owns. The lock is held; `a` is in line. NULL: out of memory, nothing has
 * changed. */
static hr_queue_attempt_t* attempt_defer(const hr_queue_attempt_t* a) {
  hr_queue_attempt_t* own = hr_alloc(sizeof *own);
  hr_element_t* elements = hr_alloc_array((size_t)(a->count - a->at), sizeof *elements);
  if (!own || !elements) {
    hr_free(own);
    hr_free(elements);
    return NULL;
  }
  *own = *a;
  own->elements = elements;
  own->count = a->count - a->at;
  own->at = 0;
  own->wait.finish = deferred_finish;
  memcpy(elements, a->elements + a->at, (size_t)own->count * sizeof *elements);
  memset(a->elements + a->at, 0, (size_t)own->count * sizeof *elements);
  for (hr_queue_attempt_t** p = &a->queue->givers; *p; p = &(*p)->next)
    if (*p == a) {
      *p = own;
      break;
    }
  hr_resource_retain(&a->queue->base);
  return own;
}

hr_status_t hr_queue_give(hr_queue_t* q, hr_step_t* step, hr_element_t* take_elements, int64_t count, bool defer) {
  hr_queue_attempt_t a = {.queue = q, .elements = take_elements, .count = count, .cancel = step->cancel};
  hr_status_t status = NULL;
  hr_mutex_lock(&q->mu);
  if (q->closed) {
    hr_mutex_unlock(&q->mu);
    status = closed_error(q);
  } else {
    attempt_join(&a);
    hr_queue_attempt_t* own = !a.done && defer ? attempt_defer(&a) : NULL;
    if (own) {
      own->wait.next = step->waits;
      step->waits = &own->wait;
      attempt_register(own);
      hr_mutex_unlock(&q->mu);
    } else {
      status = attempt_wait(&a);
    }
  }
  drop_elements(q, take_elements, count);
  return status;
}

hr_status_t hr_queue_take(hr_queue_t* q, hr_step_t* step, int64_t count, bool up_to, hr_element_t* out, int64_t* out_count) {
  hr_queue_attempt_t a = {.queue = q, .elements = out, .count = count, .takes = true, .up_to = up_to, .cancel = step->cancel};
  hr_mutex_lock(&q->mu);
  attempt_join(&a);
  hr_status_t status = attempt_wait(&a);
  *out_count = status ? 0 : a.count;
  return status;
}

hr_status_t hr_queue_close(hr_queue_t* q, bool cancel_givers) {
  hr_mutex_lock(&q->mu);
  const bool before = q->closed;
  q->closed = true;
  while (cancel_givers && q->givers) attempt_end(q->givers, closed_error(q));
  move_lines(q);
  hr_mutex_unlock(&q->mu);
  return before && !cancel_givers ? HR_ERROR(CANCELLED, "queue '%s' is already closed", q->name) : NULL;
}

bool hr_queue_is_closed(hr_queue_t* q) {
  hr_mutex_lock(&q->mu);
  const bool closed = q->closed;
  hr_mutex_unlock(&q->mu);
  return closed;
}

int64_t hr_queue_size(hr_queue_t* q) {
  hr_mutex_lock(&q->mu);
  const int64_t count = q->count;
  hr_mutex_unlock(&q->mu);
  return count;
}

/* --- making -------------------------------------------------------------------------------------------------------------------------- */
static void queue_destroy(hr_resource_t* r) {
  hr_queue_t* q = (hr_queue_t*)r;
  for (int64_t i = 0; i < q->count; ++i) hr_element_destroy(*ring_place(q, i), q->components);
  hr_free(q->items);
  hr_free(q->name);
  hr_arena_deinit(&q->arena);
  hr_cond_deinit(&q->changed);
  hr_mutex_deinit(&q->mu);
  hr_free(q);
}
const hr_resource_type_t hr_queue_type = {"tensorflow::QueueInterface", queue_destroy};

/* A queue's attrs, checked. */
typedef struct {
  int64_t capacity, min_after;
  int lead;                     /* components before those of the attrs: the priority */
  int components, shape_count;  /* of the attrs */
  const int32_t* types;
  const hr_pshape_t* const* shapes;
} queue_attrs_t;

static int32_t attrs_type(const queue_attrs_t* a, int i) { return i < a->lead ? HR_I64 : a->types[i - a->lead]; }
static const hr_pshape_t* attrs_shape(const queue_attrs_t* a, int i) { return i < a->lead ? &hr_pshape_scalar : a->shapes[i - a->lead]; }
static bool has_shapes(const queue_attrs_t* a) { return a->lead > 0 || a->shape_count > 0; }

static hr_status_t check_shapes(hr_queue_kind_t kind, const queue_attrs_t* a) {
  char text[HR_SHAPE_TEXT];
  if (a->shape_count != a->components && (a->shape_count != 0 || kind == HR_QUEUE_PADDING || kind == HR_QUEUE_PRIORITY))
    return HR_ERROR(INVALID_ARGUMENT, "%d shapes for %d components; a shape for each was expected", a->shape_count, a->components);
  for (int i = 0; i < a->shape_count; ++i) {
    if (a->shapes[i]->rank < 0 || (kind != HR_QUEUE_PADDING && !hr_pshape_is_known(a->shapes[i])))
      return HR_ERROR(INVALID_ARGUMENT, "shape %s of component %d is not known well enough for this kind of queue",
                      hr_pshape_format(a->shapes[i], text), i);
  }
  return NULL;
}

static hr_status_t read_attrs(hr_queue_kind_t kind, const hr_node_attrs_t* attrs, queue_attrs_t* a) {
  const hr_attr_t* shapes = hr_attrs_find(attrs, "shapes");
  a->capacity = hr_attrs_int(attrs, "capacity");
  if (a->capacity < 0) a->capacity = INT64_MAX;
  a->min_after = kind == HR_QUEUE_SHUFFLE ? hr_attrs_int(attrs, "min_after_dequeue") : 0;
  a->lead = kind == HR_QUEUE_PRIORITY ? 1 : 0;
  a->types = hr_attrs_types(attrs, "component_types", &a->components);
  a->shapes = shapes->u.shapes;
  a->shape_count = shapes->count;
  if (a->min_after < 0) return HR_ERROR(INVALID_ARGUMENT, "min_after_dequeue is %lld; 0 or more was expected", (long long)a->min_after);
  if (kind == HR_QUEUE_SHUFFLE && a->min_after >= a->capacity)
    return HR_ERROR(INVALID_ARGUMENT, "min_after_dequeue %lld is not below capacity %lld", (long long)a->min_after, (long long)a->capacity);
  return check_shapes(kind, a);
}

static hr_status_t keep_attrs(hr_queue_t* q, const queue_attrs_t* a) {
  q->capacity = a->capacity;
  q->min_after = a->min_after;
  q->components = a->lead + a->components;
  q->types = hr_arena_array(&q->arena, (size_t)q->components, sizeof *q->types);
  if (!q->types) return hr_status_out_of_memory();
  for (int i = 0; i < q->components; ++i) q->types[i] = attrs_type(a, i);
  if (!has_shapes(a)) return NULL;
  q->shapes = hr_arena_array(&q->arena, (size_t)q->components, sizeof *q->shapes);
  if (!q->shapes) return hr_status_out_of_memory();
  for (int i = 0; i < q->components; ++i)
    HR_TRY(hr_pshape_make(&q->arena, attrs_shape(a, i)->rank, attrs_shape(a, i)->dims, &q->shapes[i]));
  return NULL;
}

static void seed_words(hr_queue_t* q, const hr_node_attrs_t* attrs) {
  hr_generator_t g;
  hr_generator_init(&g, attrs);
  q->words = hr_words_of(g.rng);
  q->seeds[0] = hr_attrs_int(attrs, "seed");
  q->seeds[1] = hr_attrs_int(attrs, "seed2");
  hr_generator_deinit(&g);
}

hr_status_t hr_queue_create(hr_queue_kind_t kind, const hr_node_attrs_t* attrs, hr_str_t name, hr_queue_t** out) {
  queue_attrs_t a;
  HR_TRY(read_attrs(kind, attrs, &a));
  hr_queue_t* q = hr_alloc_zero(sizeof *q);
  if (!q) return hr_status_out_of_memory();
  hr_resource_init(&q->base, &hr_queue_type);
  hr_mutex_init(&q->mu);
  hr_cond_init(&q->changed);
  hr_arena_init(&q->arena);
  q->kind = kind;
  q->name = hr_alloc_copy(name.data, name.size);
  if (kind == HR_QUEUE_SHUFFLE) seed_words(q, attrs);
  hr_status_t status = q->name ? keep_attrs(q, &a) : hr_status_out_of_memory();
  if (status) hr_resource_release(&q->base);
  else *out = q;
  return status;
}

static bool same_types(const hr_queue_t* q, const queue_attrs_t* a) {
  bool same = q->components == a->lead + a->components;
  for (int i = 0; same && i < q->components; ++i) same = q->types[i] == attrs_type(a, i);
  return same;
}

static bool same_shapes(const hr_queue_t* q, const queue_attrs_t* a) {
  bool same = !q->shapes == !has_shapes(a);
  for (int i = 0; same && q->shapes && i < q->components; ++i) same = hr_pshape_equal(q->shapes[i], attrs_shape(a, i));
  return same;
}

static bool same_seeds(const hr_queue_t* q, const hr_node_attrs_t* attrs) { /* who does not ask for seeds takes any */
  if (q->kind != HR_QUEUE_SHUFFLE) return true;
  const int64_t seed = hr_attrs_int(attrs, "seed"), seed2 = hr_attrs_int(attrs, "seed2");
  return (!seed && !seed2) || (seed == q->seeds[0] && seed2 == q->seeds[1]);
}

hr_status_t hr_queue_check_shared(const hr_queue_t* q, hr_queue_kind_t kind, const hr_node_attrs_t* attrs) {
  queue_attrs_t a;
  HR_TRY(read_attrs(kind, attrs, &a));
  const char* other = q->kind != kind                      ? "kind"
                      : q->capacity != a.capacity          ? "capacity"
                      : q->min_after != a.min_after        ? "min_after_dequeue"
                      : !same_types(q, &a)                 ? "component types"
                      : !same_shapes(q, &a)                ? "component shapes"
                      : !same_seeds(q, attrs)             ? "random seeds"
                                                           : NULL;
  return other ? HR_ERROR(INVALID_ARGUMENT, "shared queue '%s' has other %s than this node asks for", q->name, other) : NULL;
}
