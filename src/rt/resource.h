/* SPDX-License-Identifier: Apache-2.0 */
/* Named shared state: containers of objects found by (container, type, name). One hr_resources_t a session (sessions may share one).
 * Objects are refcounted; the table holds one reference. */
#ifndef HR_RT_RESOURCE_H
#define HR_RT_RESOURCE_H
#include <stdatomic.h>
#include "base/map.h"
#include "base/sync.h"
#include "tensor/handle.h"

typedef struct hr_resource hr_resource_t;
typedef struct {
  const char* name;                   /* "Variable", "FIFOQueue"; also the type name in handles */
  void (*destroy)(hr_resource_t* r);
} hr_resource_type_t;
struct hr_resource {                  /* first member of every object */
  const hr_resource_type_t* type;
  atomic_int refs;
  atomic_bool removed;                /* no longer in its container: handles that remember it look the name up again */
};
static inline void hr_resource_init(hr_resource_t* r, const hr_resource_type_t* type) {
  r->type = type;
  atomic_init(&r->refs, 1);
  atomic_init(&r->removed, false);
}
hr_resource_t* hr_resource_retain(hr_resource_t* r);
void hr_resource_release(hr_resource_t* r); /* accepts NULL */

typedef struct hr_resources hr_resources_t;
hr_resources_t* hr_resources_create(void); /* NULL: out of memory */
hr_resources_t* hr_resources_retain(hr_resources_t* rs);
void hr_resources_release(hr_resources_t* rs);
/* Each of these gives a reference of the caller's own. "" is the default container, "localhost". */
/* NOT_FOUND names container and name; INVALID_ARGUMENT when the name belongs to another type. */
HR_MUST_USE hr_status_t hr_resources_find(hr_resources_t* rs, hr_str_t container, hr_str_t name, const hr_resource_type_t* type,
                                          hr_resource_t** out);
/* Finds, or makes with `create` under the table's lock. */
HR_MUST_USE hr_status_t hr_resources_find_or_create(hr_resources_t* rs, hr_str_t container, hr_str_t name, const hr_resource_type_t* type,
                                                    hr_status_t (*create)(void* arg, hr_resource_t** out), void* arg, hr_resource_t** out);
HR_MUST_USE hr_status_t hr_resources_remove(hr_resources_t* rs, hr_str_t container, hr_str_t name,
                                            const hr_resource_type_t* type); /* NOT_FOUND */
void hr_resources_clear(hr_resources_t* rs, hr_str_t container);

/* Graphs that come over a network: their kernels may touch files below `root` only; "" : none. Before rs is shared. INVALID_ARGUMENT when
 * there is no such folder. */
HR_MUST_USE hr_status_t hr_resources_confine(hr_resources_t* rs, hr_str_t root);
/* PERMISSION_DENIED for a path outside; links are followed. Every kernel that opens a file asks first (ops/io/path.h). */
HR_MUST_USE hr_status_t hr_resources_check_path(const hr_resources_t* rs, const char* path);

/* The object behind a handle: cached in the handle, looked up at first. FAILED_PRECONDITION/NOT_FOUND as TensorFlow for one that is not
 * there. */
HR_MUST_USE hr_status_t hr_resources_of_handle(hr_resources_t* rs, const hr_handle_t* h, const hr_resource_type_t* type,
                                               hr_resource_t** out);
#endif
