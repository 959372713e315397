/* SPDX-License-Identifier: Apache-2.0 */
/* A typed growable array: HR_VEC(int) v = {0}; HR_TRY(hr_vec_push(&v, 3)); ... hr_vec_deinit(&v); */
#ifndef HR_BASE_VEC_H
#define HR_BASE_VEC_H
#include "base/alloc.h"
#include "base/status.h"

#define HR_VEC(T) struct { T* data; int64_t count, capacity; }
#define hr_vec_deinit(v) (hr_free((v)->data), (v)->data = NULL, (v)->count = (v)->capacity = 0)
/* Makes room for `extra` more; a status. The array is unchanged on failure. */
#define hr_vec_reserve(v, extra) hr_vec_grow((void**)&(v)->data, &(v)->capacity, (v)->count, (extra), sizeof *(v)->data)
/* Appends a copy of x; a status. */
#define hr_vec_push(v, x) \
  (((v)->count < (v)->capacity || hr_vec_grow_one((void**)&(v)->data, &(v)->capacity, (v)->count, sizeof *(v)->data)) \
       ? ((v)->data[(v)->count++] = (x), (hr_status_t)NULL) \
       : hr_status_out_of_memory())
HR_MUST_USE hr_status_t hr_vec_grow(void** data, int64_t* capacity, int64_t count, int64_t extra, size_t size);
bool hr_vec_grow_one(void** data, int64_t* capacity, int64_t count, size_t size);
#endif
