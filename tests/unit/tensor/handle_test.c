/* SPDX-License-Identifier: Apache-2.0 */
/* Handles: texts, value description, the object's release. */
#define HR_TEST_LEAKS_CHECKED
#include "tensor/handle.h"
#include "base/hash.h"
#include "test.h"

static int released;
static void release_object(void* object) { released += *(int*)object; }

static hr_status_t describe(void) {
  hr_arena_t a;
  const hr_pshape_t* shape;
  int64_t dims[] = {-1, 4};
  hr_arena_init(&a);
  hr_handle_t* h = hr_handle_create(HR_STR("/cpu:0"), (hr_str_t){NULL, 0}, HR_STR("name"), HR_STR("N2hr3VarE"));
  hr_status_t status = h ? hr_pshape_make(&a, 2, dims, &shape) : hr_status_out_of_memory();
  if (!status) status = hr_handle_set_value(h, HR_F32, shape);
  if (!status) status = hr_handle_set_value(h, HR_I32, &hr_pshape_unknown);
  if (!status) status = hr_handle_set_value(h, HR_F32, shape);
  hr_arena_deinit(&a);
  if (!status) {
    HR_CHECK(h->dtype == HR_F32 && h->shape->rank == 2 && h->shape->dims[1] == 4);
    HR_CHECK(strcmp(h->device.data, "/cpu:0") == 0 && *h->container.data == 0 && strcmp(h->name.data, "name") == 0);
    status = hr_handle_set_value(h, HR_DTYPE_INVALID, NULL);
  }
  hr_handle_release(h);
  return status;
}
HR_TEST(every_allocation_fails) { HR_TEST_EVERY_ALLOCATION_FAILS(describe); }

HR_TEST(the_last_release_releases_the_object) {
  int object = 1;
  hr_handle_t* h = hr_handle_create(HR_STR(""), HR_STR(""), HR_STR(""), HR_STR(""));
  h->object = &object;
  h->release_object = release_object;
  hr_handle_retain(h);
  hr_handle_release(h);
  HR_CHECK_EQ_I64(released, 0);
  hr_handle_release(h);
  HR_CHECK_EQ_I64(released, 1);
  hr_handle_release(NULL);
}

HR_TEST(texts_and_shapes_of_each_size) {
  hr_arena_t a;
  static const int64_t dims[] = {5, 6, 7};
  hr_arena_init(&a);
  hr_handle_t* h = hr_handle_create(HR_STR("d"), HR_STR("co"), HR_STR("nam"), HR_STR("type"));
  HR_REQUIRE(h != NULL);
  HR_CHECK_VIEW(h->device, "d");
  HR_CHECK_VIEW(h->container, "co");
  HR_CHECK_VIEW(h->name, "nam");
  HR_CHECK_VIEW(h->type_name, "type");
  HR_CHECK(h->type_hash == hr_hash("type", 4, 0));
  for (int rank = -1; rank <= 3; ++rank) {
    const hr_pshape_t* shape;
    HR_CHECK_OK(hr_pshape_make(&a, rank, dims, &shape));
    HR_CHECK_OK(hr_handle_set_value(h, HR_F32, shape));
    HR_CHECK(h->shape != shape && hr_pshape_equal(h->shape, shape));
  }
  int object = 1;
  h->object = &object; /* somebody else's: nothing releases it */
  hr_handle_release(h);
  hr_arena_deinit(&a);
}

HR_TEST_MAIN()
