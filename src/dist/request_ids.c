/* SPDX-License-Identifier: Apache-2.0 */
/* Two generations of ids. Nothing is ever taken out of a set, so linear probing needs no marks. */
#include "dist/request_ids.h"
#include "base/alloc.h"

enum { PLACES = 2 * HR_REQUEST_IDS };

void hr_request_ids_init(hr_request_ids_t* r) {
  *r = (hr_request_ids_t){0};
  hr_mutex_init(&r->mu);
}

void hr_request_ids_deinit(hr_request_ids_t* r) {
  hr_free(r->recent);
  hr_free(r->older);
  hr_mutex_deinit(&r->mu);
}

static int64_t* find_place(int64_t* table, int64_t id) { /* of the id, or a free one */
  size_t i = ((uint64_t)id * 0x9e3779b97f4a7c15u >> 40) % PLACES;
  while (table[i] && table[i] != id) i = (i + 1) % PLACES;
  return &table[i];
}

static hr_status_t turn_over(hr_request_ids_t* r) {
  int64_t* fresh = hr_alloc_array(PLACES, sizeof *fresh);
  if (!fresh) return hr_status_out_of_memory();
  hr_free(r->older);
  r->older = r->recent;
  r->recent = fresh;
  r->count = 0;
  return NULL;
}

hr_status_t hr_request_ids_add(hr_request_ids_t* r, int64_t id) {
  if (id == 0) return NULL;
  hr_mutex_lock(&r->mu);
  hr_status_t status = !r->recent || r->count == HR_REQUEST_IDS ? turn_over(r) : NULL;
  if (!status) {
    int64_t* place = find_place(r->recent, id);
    if (*place || (r->older && *find_place(r->older, id)))
      status = HR_ERROR(ABORTED, "request id %lld was used before: the call came twice, as when a broken connection is tried again",
                        (long long)id);
    else {
      *place = id;
      ++r->count;
    }
  }
  hr_mutex_unlock(&r->mu);
  return status;
}
