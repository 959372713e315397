/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that make queues and hand them out: as a resource handle (V2), or as the older reference to a string vector [container, name].
 * A queue without shared_name is named after its node. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/data/queue_input.h"
#include "rt/variable.h"

extern const hr_op_t hr_op_FIFOQueue, hr_op_FIFOQueueV2, hr_op_RandomShuffleQueue, hr_op_RandomShuffleQueueV2, hr_op_PaddingFIFOQueue,
    hr_op_PaddingFIFOQueueV2, hr_op_PriorityQueue, hr_op_PriorityQueueV2, hr_op_FakeQueue;

/* 1. shapes */
static hr_status_t infer_reference(hr_infer_t* s) { return hr_infer_set_vector(s, 0, 2); }
static hr_status_t infer_handle(hr_infer_t* s) { /* what a handle can say: the one component of a queue */
  const hr_attr_t* shapes = hr_attrs_find(hr_infer_attrs(s), "shapes");
  int count;
  const int32_t* types = hr_attrs_types(hr_infer_attrs(s), "component_types", &count);
  hr_infer_set(s, 0, &hr_pshape_scalar);
  const bool is_listed = hr_infer_attrs(s)->def->op->kernels->arg != (const void*)(intptr_t)HR_QUEUE_PRIORITY;
  if (count == 1 && is_listed) hr_infer_set_handle(s, 0, hr_dtype_base(types[0]), shapes->count == 1 ? shapes->u.shapes[0] : NULL);
  return NULL;
}

/* 2. state: the queue, and the tensor that names it */
typedef struct {
  hr_queue_t* queue;
  hr_tensor_t handle;
  hr_variable_t* reference;
} maker_t;

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

static hr_status_t find_queue(hr_prepare_ctx_t* p, maker_t* state) {
  const hr_str_t shared = hr_attrs_str(p->attrs, "shared_name");
  make_t m = {(hr_queue_kind_t)(intptr_t)p->kernel->arg, p->attrs, shared.size ? shared : hr_str(p->node_name)};
  hr_resource_t* r = NULL;
  HR_TRY(hr_resources_find_or_create(p->resources, hr_attrs_str(p->attrs, "container"), m.name, &hr_queue_type, make_queue, &m, &r));
  state->queue = (hr_queue_t*)r;
  return hr_queue_check_shared(state->queue, m.kind, p->attrs);
}

static void maker_drop(void* state) {
  maker_t* m = state;
  hr_tensor_release(&m->handle);
  if (m->reference) hr_resource_release(&m->reference->base);
  if (m->queue) hr_resource_release(&m->queue->base);
  *m = (maker_t){0};
}

static void release_object(void* object) { hr_resource_release(object); }
static hr_status_t make_handle(hr_prepare_ctx_t* p, maker_t* m) {
  const hr_str_t container = hr_attrs_str(p->attrs, "container");
  const hr_shape_t scalar = hr_shape_scalar();
  hr_handle_t* h = hr_handle_create(HR_STR("/job:localhost/replica:0/task:0/device:CPU:0"),
                                    container.size ? container : HR_STR("localhost"), hr_str(m->queue->name), hr_str(hr_queue_type.name));
  if (!h) return hr_status_out_of_memory();
  h->object = hr_resource_retain(&m->queue->base);
  h->release_object = release_object;
  hr_status_t status = hr_tensor_create(HR_RESOURCE, &scalar, &m->handle);
  if (status)
    hr_handle_release(h);
  else
    *(hr_handle_t**)m->handle.data = h;
  return status;
}

static hr_status_t make_reference(hr_prepare_ctx_t* p, maker_t* m) {
  const hr_str_t container = hr_attrs_str(p->attrs, "container");
  const hr_shape_t pair = hr_shape_vector(2);
  hr_tensor_t names = {0};
  HR_TRY(hr_variable_create(HR_STRING, hr_str(m->queue->name), &m->reference));
  hr_status_t status = hr_tensor_create(HR_STRING, &pair, &names);
  if (!status) status = hr_tstring_set(names.data, container.size ? container : HR_STR("localhost"));
  if (!status) status = hr_tstring_set((hr_tstring_t*)names.data + 1, hr_str(m->queue->name));
  if (!status) status = hr_variable_assign(m->reference, &names);
  hr_tensor_release(&names);
  return status;
}

static hr_status_t create(hr_prepare_ctx_t* p, maker_t* m, hr_status_t (*name_it)(hr_prepare_ctx_t*, maker_t*)) {
  hr_status_t status = find_queue(p, m);
  if (!status) status = name_it(p, m);
  if (status) maker_drop(m);
  return status;
}
static hr_status_t create_handle(hr_prepare_ctx_t* p, void* state) { return create(p, state, make_handle); }
static hr_status_t create_reference(hr_prepare_ctx_t* p, void* state) { return create(p, state, make_reference); }

static hr_status_t give_handle(hr_kernel_ctx_t* k) {
  hr_output_share(k, 0, &((maker_t*)hr_state(k))->handle);
  return NULL;
}
static hr_status_t give_reference(hr_kernel_ctx_t* k) {
  hr_output_ref(k, 0, ((maker_t*)hr_state(k))->reference);
  return NULL;
}

/* A reference that names the queue of a handle, for ops of the older kind. */
static hr_status_t create_fake(hr_prepare_ctx_t* p, void* state) { return hr_variable_create(HR_STRING, hr_str(p->node_name), state); }
static void drop_fake(void* state) { hr_resource_release(*(hr_resource_t**)state); }

static hr_status_t give_fake(hr_kernel_ctx_t* k) {
  hr_variable_t* v = *(hr_variable_t**)hr_state(k);
  const hr_tensor_t* t = hr_input(k, 0);
  const hr_handle_t* h = t->dtype == HR_RESOURCE && t->count == 1 ? *(hr_handle_t**)t->data : NULL;
  const hr_shape_t pair = hr_shape_vector(2);
  hr_tensor_t names;
  if (!h) return HR_ERROR(INVALID_ARGUMENT, "input 0 is not a handle of a queue");
  HR_TRY(hr_tensor_create(HR_STRING, &pair, &names));
  hr_status_t status = hr_tstring_set(names.data, h->container);
  if (!status) status = hr_tstring_set((hr_tstring_t*)names.data + 1, h->name);
  if (!status) status = hr_variable_assign(v, &names);
  hr_tensor_release(&names);
  if (!status) hr_output_ref(k, 0, v);
  return status;
}

/* 3. the queue behind an input */
static hr_status_t queue_of_reference(const hr_kernel_ctx_t* k, hr_variable_t* v, hr_resource_t** out) {
  hr_tensor_t names;
  HR_TRY(hr_variable_read(v, &names));
  hr_status_t status = NULL;
  if (names.dtype != HR_STRING || names.count != 2) status = HR_ERROR(INVALID_ARGUMENT, "input 0 is a reference, but not to a queue");
  if (!status)
    status = hr_resources_find(hr_resources_of(k), hr_tstring_get(names.data), hr_tstring_get((hr_tstring_t*)names.data + 1),
                               &hr_queue_type, out);
  hr_tensor_release(&names);
  return status;
}

hr_status_t hr_queue_input(const hr_kernel_ctx_t* k, hr_queue_t** out) {
  hr_variable_t* v = hr_input_ref(k, 0);
  hr_resource_t* r = NULL;
  if (v) {
    HR_TRY(queue_of_reference(k, v, &r));
  } else {
    const hr_tensor_t* t = hr_input(k, 0);
    if (t->dtype != HR_RESOURCE || t->count < 1) return HR_ERROR(INVALID_ARGUMENT, "input 0 is not a handle of a queue");
    HR_TRY(hr_resources_of_handle(hr_resources_of(k), *(hr_handle_t**)t->data, &hr_queue_type, &r));
  }
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
                                .shape = infer_reference,                              \
                                HR_KERNELS({.state_bytes = sizeof(maker_t),            \
                                            .create_state = create_reference,          \
                                            .destroy_state = maker_drop,               \
                                            .compute = give_reference,                 \
                                            .arg = (const void*)(intptr_t)which}),     \
                                .doc = text,                                           \
                                HR_HERE};                                              \
  const hr_op_t hr_op_##Name##V2 = {.name = #Name "V2",                                \
                                    .sig = "-> handle: resource",                      \
                                    .attrs = attrs_text,                               \
                                    .flags = HR_OP_STATEFUL,                           \
                                    .shape = infer_handle,                             \
                                    HR_KERNELS({.host_outputs = 1,                     \
                                                .state_bytes = sizeof(maker_t),        \
                                                .create_state = create_handle,         \
                                                .destroy_state = maker_drop,           \
                                                .compute = give_handle,                \
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
                                 .shape = infer_reference,
                                 HR_KERNELS({.host_inputs = 1,
                                             .state_bytes = sizeof(hr_variable_t*),
                                             .create_state = create_fake,
                                             .destroy_state = drop_fake,
                                             .compute = give_fake}),
                                 .doc = "the queue of a handle, for ops that take references",
                                 HR_HERE};
