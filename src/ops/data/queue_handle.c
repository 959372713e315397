/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that make queues and hand them out: as a resource handle (V2), or as the older reference to a string vector [container, name].
 * A queue without shared_name is its session's alone. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/data/queue_input.h"
#include "ops/state/named.h"
#include "rt/variable.h"

extern const hr_op_t hr_op_FIFOQueue, hr_op_FIFOQueueV2, hr_op_RandomShuffleQueue, hr_op_RandomShuffleQueueV2, hr_op_PaddingFIFOQueue,
    hr_op_PaddingFIFOQueueV2, hr_op_PriorityQueue, hr_op_PriorityQueueV2, hr_op_FakeQueue;

/* 1. shapes */
static hr_status_t infer_handle(hr_infer_t* s) { /* what a handle can say: the one component of a queue */
  const hr_attr_t* shapes = hr_attrs_find(hr_infer_attrs(s), "shapes");
  int count;
  const int32_t* types = hr_attrs_types(hr_infer_attrs(s), "component_types", &count);
  hr_infer_set(s, 0, &hr_pshape_scalar);
  const bool is_listed = hr_infer_attrs(s)->def->op->kernels->arg != (const void*)(intptr_t)HR_QUEUE_PRIORITY;
  if (count == 1 && is_listed) hr_infer_set_handle(s, 0, hr_dtype_base(types[0]), shapes->count == 1 ? shapes->u.shapes[0] : NULL);
  return NULL;
}

/* 2. state: the queue, and what names it */
typedef struct {
  hr_queue_kind_t kind;
  const hr_node_attrs_t* attrs;
  hr_str_t name;
} make_t;
static hr_status_t make_queue(void* arg, hr_resource_t** out) {
  const make_t* m = arg;
  hr_queue_t* q;
  HR_TRY(hr_queue_create(m->kind, m->attrs, m->name, &q));
  *out = &q->base;
  return NULL;
}

static hr_status_t find_queue(hr_prepare_ctx_t* p, hr_str_t name, hr_resource_t** out) {
  make_t m = {(hr_queue_kind_t)(intptr_t)p->kernel->arg, p->attrs, name};
  HR_TRY(hr_resources_find_or_create(p->resources, hr_attrs_str(p->attrs, "container"), name, &hr_queue_type, make_queue, &m, out));
  hr_status_t status = hr_queue_check_shared((hr_queue_t*)*out, m.kind, p->attrs);
  if (status) hr_resource_release(*out), *out = NULL;
  return status;
}

static hr_status_t create_handle(hr_prepare_ctx_t* p, void* state) {
  return hr_named_create(state, p, false, find_queue, HR_NAMED_HANDLE);
}
static hr_status_t create_reference(hr_prepare_ctx_t* p, void* state) {
  return hr_named_create(state, p, false, find_queue, HR_NAMED_REFERENCE);
}

/* A reference that names the queue of a handle, for ops of the older kind. */
static hr_status_t create_fake(hr_prepare_ctx_t* p, void* state) { return hr_variable_create(HR_STRING, hr_str(p->node_name), state); }
static void drop_fake(void* state) { hr_resource_release(*(hr_resource_t**)state); }

static hr_status_t give_fake(hr_kernel_ctx_t* k) {
  hr_variable_t* v = *(hr_variable_t**)hr_state(k);
  const hr_tensor_t* t = hr_input(k, 0);
  const hr_handle_t* h = t->dtype == HR_RESOURCE && t->count == 1 ? *(hr_handle_t**)t->data : NULL;
  if (!h) return HR_ERROR(INVALID_ARGUMENT, "input 0 is not a handle of a queue");
  hr_status_t status = hr_named_refer(v, h->container, h->name);
  if (!status) hr_output_ref(k, 0, v);
  return status;
}

/* 3. the queue behind an input */
hr_status_t hr_queue_input(const hr_kernel_ctx_t* k, hr_queue_t** out) {
  hr_resource_t* r = NULL;
  HR_TRY(hr_named_input(k, "queue", &hr_queue_type, &r));
  *out = (hr_queue_t*)r;
  return NULL;
}

/* 4. definitions */
#define COMMON                         "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
#define PLACE                          "container: string = ''; shared_name: string = ''"
#define QUEUE(Name, which, more, text) QUEUE_OF(Name, which, COMMON more PLACE, text)
#define QUEUE_OF(Name, which, attrs_text, text)                                        \
  const hr_op_t hr_op_##Name = {.name = #Name,                                         \
                                .sig = "-> handle: Ref(string)",                       \
                                .attrs = attrs_text,                                   \
                                .flags = HR_OP_STATEFUL,                               \
                                .shape = hr_named_infer_reference,                              \
                                HR_KERNELS({.state_bytes = sizeof(hr_named_t),            \
                                            .create_state = create_reference,          \
                                            .destroy_state = hr_named_drop,               \
                                            .compute = hr_named_give_reference,                 \
                                            .arg = (const void*)(intptr_t)which}),     \
                                .doc = text,                                           \
                                HR_HERE};                                              \
  const hr_op_t hr_op_##Name##V2 = {.name = #Name "V2",                                \
                                    .sig = "-> handle: resource",                      \
                                    .attrs = attrs_text,                               \
                                    .flags = HR_OP_STATEFUL,                           \
                                    .shape = infer_handle,                             \
                                    HR_KERNELS({.host_outputs = 1,                     \
                                                .state_bytes = sizeof(hr_named_t),        \
                                                .create_state = create_handle,         \
                                                .destroy_state = hr_named_drop,           \
                                                .compute = hr_named_give_handle,                \
                                                .arg = (const void*)(intptr_t)which}), \
                                    .doc = text,                                       \
                                    HR_HERE}
QUEUE(FIFOQueue, HR_QUEUE_FIFO, "", "a queue: first in, first out");
QUEUE(RandomShuffleQueue, HR_QUEUE_SHUFFLE, "min_after_dequeue: int = 0; " HR_SEED_ATTRS "; ",
      "a queue that gives its elements in random order");
QUEUE(PaddingFIFOQueue, HR_QUEUE_PADDING, "", "a queue that pads the elements of a batch to one shape");
QUEUE_OF(PriorityQueue, HR_QUEUE_PRIORITY, "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; " PLACE,
         "a queue that gives the element of the lowest priority, its first component, first");
const hr_op_t hr_op_FakeQueue = {.name = "FakeQueue",
                                 .sig = "resource: resource -> handle: Ref(string)",
                                 .attrs = "",
                                 .flags = HR_OP_STATEFUL,
                                 .shape = hr_named_infer_reference,
                                 HR_KERNELS({.host_inputs = 1,
                                             .state_bytes = sizeof(hr_variable_t*),
                                             .create_state = create_fake,
                                             .destroy_state = drop_fake,
                                             .compute = give_fake}),
                                 .doc = "the queue of a handle, for ops that take references",
                                 HR_HERE};
