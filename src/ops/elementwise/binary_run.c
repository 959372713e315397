/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasting for two operands: equal shapes and scalars run as one loop, everything else row by row of the collapsed nest. */
#include "ops/elementwise/binary_run.h"
#include "tensor/iterate.h"

typedef struct {
  hr_loop2_t loop;
  const char *x, *y;
  char* z;
  int64_t x_step, y_step, z_step; /* bytes an element; 0: stays */
} flat_t;
static hr_status_t flat_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const flat_t* f = arg;
  (void)chunk;
  f->loop(f->x + begin * f->x_step, f->y + begin * f->y_step, f->z + begin * f->z_step, end - begin);
  return NULL;
}

typedef struct {
  const hr_binary_run_t* run;
  const hr_iterate_t* it;
  const char *x, *y;
  char* z;
} nest_t;
static hr_status_t nest_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const nest_t* c = arg;
  const hr_iterate_t* it = c->it;
  const int last = it->rank - 1;
  const int form = it->strides[1][last] == it->strides[2][last] ? LOOP_BOTH : it->strides[1][last] == 0 ? LOOP_X_STAYS : LOOP_Y_STAYS;
  const hr_loop2_t loop = c->run->loops[form];
  int64_t index[HR_MAX_RANK], offset[HR_ITERATE_OPERANDS];
  (void)chunk;
  hr_iterate_seek(it, begin, index, offset);
  for (int64_t row = begin; row < end; ++row) {
    loop(c->x + offset[1] * c->run->in_size, c->y + offset[2] * c->run->in_size, c->z + offset[0] * c->run->out_size, it->dims[last]);
    hr_iterate_step(it, index, offset);
  }
  return NULL;
}

static hr_status_t run_nest(hr_kernel_ctx_t* k, const hr_binary_run_t* run, const hr_tensor_t* x, const hr_tensor_t* y) {
  hr_shape_t shape;
  hr_tensor_t* z;
  HR_TRY(hr_shape_broadcast(&x->shape, &y->shape, &shape));
  const int whole = x->count == hr_shape_count(&shape) ? 0 : 1; /* only an operand that is not repeated may be written over */
  HR_TRY(hr_output_take(k, 0, whole, &shape, &z));
  if (z->count == 0) return NULL;
  hr_iterate_t it;
  const hr_shape_t* operands[3] = {&shape, &x->shape, &y->shape};
  hr_iterate_broadcast(&it, &shape, 3, operands);
  nest_t c = {run, &it, x->data, y->data, z->data};
  return hr_parallel(k, hr_iterate_rows(&it), 2.0 + (double)it.dims[it.rank - 1], nest_chunk, &c);
}

static inline bool may_take(const hr_kernel_ctx_t* k, int i, const hr_tensor_t* t) {
  return (k->site->in_flags[i] & HR_IN_TAKE) && hr_buffer_is_alone(t->buffer);
}

hr_status_t hr_binary_run(hr_kernel_ctx_t* k, const hr_binary_run_t* run) {
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  int form;
  if (hr_shape_equal(&x->shape, &y->shape)) form = LOOP_BOTH;
  else if (y->count == 1 && y->shape.rank <= x->shape.rank) form = LOOP_Y_STAYS;
  else if (x->count == 1 && x->shape.rank <= y->shape.rank) form = LOOP_X_STAYS;
  else return run_nest(k, run, x, y);
  const int over = form == LOOP_X_STAYS || (form == LOOP_BOTH && !may_take(k, 0, x)) ? 1 : 0;
  hr_tensor_t* z;
  HR_TRY(hr_output_take(k, 0, over, &(over ? y : x)->shape, &z));
  flat_t f = {run->loops[form], x->data, y->data, z->data, form == LOOP_X_STAYS ? 0 : run->in_size, form == LOOP_Y_STAYS ? 0 : run->in_size,
              run->out_size};
  return hr_parallel(k, z->count, 1.0, flat_chunk, &f);
}
