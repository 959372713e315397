/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup table: keys (int32, int64 or string) to values of one type and shape. Rows lie densely in two tensors, keys and values, in the
 * order they came; an index of row numbers, open addressing, finds them.
 *
 * A fixed table (HashTable) is filled once and then read without a lock; a mutable one is read and written under its mutex. Filling makes
 * new rows and swaps them in whole: a failure on the way leaves the table as it was. */
#ifndef HR_OPS_LOOKUP_TABLE_H
#define HR_OPS_LOOKUP_TABLE_H
#include "op/kernel_ctx.h"
#include "rt/resource.h"

#define HR_TABLE_KEYS   (HR_M(I32) | HR_M(I64) | HR_M(STRING))
#define HR_TABLE_VALUES (HR_M(BOOL) | HR_M(F64) | HR_M(F32) | HR_M(I32) | HR_M(I64) | HR_M(STRING))

typedef struct {
  hr_tensor_t keys, values; /* [capacity] and [capacity * width]; dtype INVALID while capacity is 0 */
  uint64_t* hashes;         /* of the keys */
  int64_t* index;           /* row + 1, 0: free; twice the capacity, a power of two */
  int64_t count, capacity;
} hr_table_rows_t;

typedef enum { HR_TABLE_FIXED, HR_TABLE_MUTABLE, HR_TABLE_OF_TENSORS } hr_table_kind_t;

typedef struct {
  hr_resource_t base;
  hr_mutex_t mu;
  hr_table_kind_t kind; /* from here to width: immutable */
  hr_dtype_t key_dtype, value_dtype;
  hr_shape_t value_shape;
  int64_t width;        /* elements of a value */
  atomic_bool is_ready; /* a fixed table is filled: its rows change no more */
  hr_table_rows_t rows; /* guarded by mu unless is_ready */
  char name[];
} hr_table_t;
extern const hr_resource_type_t hr_table_type;

HR_MUST_USE hr_status_t hr_table_create(hr_table_kind_t kind, hr_dtype_t key, hr_dtype_t value, const hr_shape_t* value_shape,
                                        hr_str_t name, hr_table_t** out);
/* The row of element i of `keys` (of the table's key type), or -1. The caller holds mu, or the table is ready. */
int64_t hr_table_find(const hr_table_t* t, const hr_tensor_t* keys, int64_t i);

/* Rows on their own, to be filled and swapped in. */
void hr_table_rows_deinit(hr_table_rows_t* rows);
/* Adds element i of `keys` with value i of `values`. A key that is there: its value is replaced, or, unless `replace`, must be the same
 * (FAILED_PRECONDITION). */
HR_MUST_USE hr_status_t hr_table_rows_put(const hr_table_t* t, hr_table_rows_t* rows, const hr_tensor_t* keys, const hr_tensor_t* values,
                                          int64_t i, bool replace);
void hr_table_rows_remove(const hr_table_t* t, hr_table_rows_t* rows, const hr_tensor_t* keys, int64_t i);
/* A fixed table takes the rows over and is ready; when it was already, FAILED_PRECONDITION unless there are as many of them. */
HR_MUST_USE hr_status_t hr_table_fill(hr_table_t* t, hr_table_rows_t* take_rows);

/* The table that input 0 names, by handle or by reference; a reference of the caller's. INVALID_ARGUMENT, NOT_FOUND. */
HR_MUST_USE hr_status_t hr_table_input(const hr_kernel_ctx_t* k, hr_table_t** out);
/* The types of the tensors at hand against the table's; either may be INVALID: not asked. */
HR_MUST_USE hr_status_t hr_table_check_types(const hr_table_t* t, hr_dtype_t key, hr_dtype_t value);
#endif
