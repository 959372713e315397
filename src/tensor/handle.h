/* SPDX-License-Identifier: Apache-2.0 */
/* The element of a resource (or variant) tensor: a refcounted description of a named object in a container, with what is known
 * of the values it holds and, once looked up, the object itself. */
#ifndef HR_TENSOR_HANDLE_H
#define HR_TENSOR_HANDLE_H
#include <stdatomic.h>
#include "tensor/partial_shape.h"
#include "tensor/dtype.h"

typedef struct hr_handle {
  atomic_int refs;
  hr_str_t device, container, name, type_name; /* own bytes, NUL-terminated */
  uint64_t type_hash;
  hr_dtype_t dtype;          /* of the values held; INVALID when not known */
  const hr_pshape_t* shape;  /* of the values held; own memory; NULL when not known */
  void* object;              /* what it names (rt/resource.h), one reference held; NULL until known */
  void (*release_object)(void* object);
} hr_handle_t;

hr_handle_t* hr_handle_create(hr_str_t device, hr_str_t container, hr_str_t name, hr_str_t type_name); /* NULL: out of memory */
HR_MUST_USE hr_status_t hr_handle_set_value(hr_handle_t* h, hr_dtype_t dtype, const hr_pshape_t* shape); /* copies the shape */
hr_handle_t* hr_handle_retain(hr_handle_t* h);
void hr_handle_release(hr_handle_t* h); /* accepts NULL */
#endif
