/* SPDX-License-Identifier: Apache-2.0 */
/* A shape of which rank or dims may be unknown. Immutable; made in an arena and shared by pointer (outputs like inputs share). */
#ifndef HR_TENSOR_PARTIAL_SHAPE_H
#define HR_TENSOR_PARTIAL_SHAPE_H
#include "base/arena.h"
#include "tensor/shape.h"

typedef struct {
  int32_t rank;    /* -1: unknown */
  int64_t dims[];  /* -1: unknown */
} hr_pshape_t;

extern const hr_pshape_t hr_pshape_unknown; /* unknown rank */
extern const hr_pshape_t hr_pshape_scalar;

/* rank -1: unknown. dims may hold -1. Rank up to 254 here (graphs may state any shape). INVALID_ARGUMENT for dims < -1, overflow of known
 * dims. */
HR_MUST_USE hr_status_t hr_pshape_make(hr_arena_t* arena, int64_t rank, const int64_t* dims, const hr_pshape_t** out);
HR_MUST_USE hr_status_t hr_pshape_from_shape(hr_arena_t* arena, const hr_shape_t* s, const hr_pshape_t** out);
bool hr_pshape_is_known(const hr_pshape_t* s);                               /* rank and all dims */
bool hr_pshape_to_shape(const hr_pshape_t* s, hr_shape_t* out);              /* false unless known and rank <= HR_MAX_RANK */
bool hr_pshape_equal(const hr_pshape_t* a, const hr_pshape_t* b);            /* the same knowledge */
bool hr_pshape_accepts(const hr_pshape_t* p, const hr_shape_t* s);           /* a tensor of shape s may stand where p is promised */
/* All that both know; INVALID_ARGUMENT when they contradict. */
HR_MUST_USE hr_status_t hr_pshape_merge(hr_arena_t* arena, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out);
const char* hr_pshape_format(const hr_pshape_t* s, char text[HR_SHAPE_TEXT]); /* "[?,3]", "<unknown>" */
#endif
