/* SPDX-License-Identifier: Apache-2.0 */
/* One loop over all elements, split over the cores. */
#include "ops/elementwise/map_run.h"

typedef struct { hr_loop1_t loop; const char* x; char* y; size_t x_size, y_size; } map_chunk_t;
static hr_status_t map_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const map_chunk_t* c = arg;
  (void)chunk;
  c->loop(c->x + (size_t)begin * c->x_size, c->y + (size_t)begin * c->y_size, end - begin);
  return NULL;
}

hr_status_t hr_map_compute(hr_kernel_ctx_t* k) {
  const hr_map_t* map = hr_kernel_arg(k);
  const hr_tensor_t* x = hr_input(k, 0);
  const size_t x_size = hr_dtype_size(x->dtype);
  hr_tensor_t* y;
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  map_chunk_t c = {map->loop, x->data, y->data, x_size, hr_dtype_size(y->dtype)};
  return hr_parallel(k, y->count, map->cost_ns, map_chunk, &c);
}
