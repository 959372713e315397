/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum equations: "ij,jk->ik". A letter names an axis; "..." stands for the axes that have no letter, and those of two inputs are
 * aligned on the right and broadcast; the output has them too. Once ranks are known every axis has a label: a letter's, or one counted
 * from the ellipsis's end. */
#ifndef HR_OPS_MATH_EINSUM_EQUATION_H
#define HR_OPS_MATH_EINSUM_EQUATION_H
#include "base/str.h"
#include "tensor/shape.h"

enum { EINSUM_LETTERS = 52, EINSUM_LABELS = EINSUM_LETTERS + HR_MAX_RANK };

typedef struct {
  int count;                      /* letters */
  int before;                     /* letters before the ellipsis; -1: no ellipsis */
  uint8_t letters[HR_MAX_RANK];   /* 0..51: a-z, A-Z */
} hr_einsum_term_t;

typedef struct {
  int inputs;                     /* 1 or 2 */
  hr_einsum_term_t in[2], out;
} hr_einsum_t;

/* INVALID_ARGUMENT says what is wrong with the equation. `inputs`: how many the node has. */
HR_MUST_USE hr_status_t hr_einsum_parse(hr_str_t equation, int inputs, hr_einsum_t* out);

/* Labels of a term's axes, `wide` of them for the ellipsis. Returns how many. */
int hr_einsum_labels(const hr_einsum_term_t* t, int wide, uint8_t labels[HR_MAX_RANK]);
/* How many axes the ellipsis of a term stands for when there are `rank`; INVALID_ARGUMENT if the rank does not fit. */
HR_MUST_USE hr_status_t hr_einsum_wide(const hr_einsum_term_t* t, int rank, int* out);

static inline char hr_einsum_letter(int label) { return (char)(label < 26 ? 'a' + label : 'A' + label - 26); }
static inline bool hr_einsum_has(const hr_einsum_term_t* t, int letter) {
  for (int i = 0; i < t->count; ++i)
    if (t->letters[i] == letter) return true;
  return false;
}
#endif
