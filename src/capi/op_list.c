/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ops and of kernels (OpList, KernelList): what clients generate their wrappers from. */
#include "op/op_list.h"

#include "capi/handles.h"
#include "op/attr_value.h"

enum { KERNEL_OP = 1, KERNEL_DEVICE = 2, KERNEL_CONSTRAINT = 3, KERNEL_PRIORITY = 6, CONSTRAINT_NAME = 1, CONSTRAINT_ALLOWED = 2 };
enum { LIST_KERNEL = 1, MESSAGE_EXPECTED = 100 };

TF_Buffer* TF_GetAllOpList(void) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  return hr_capi_hand_over(&w, hr_op_list_encode(&w), NULL);
}

/* --- kernels ------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_writer_t w;
  hr_status_t status;
} kernel_list_t;

/* An AttrValue with a list of types. */
static hr_status_t kernel_encode_types(hr_dtypes_t set, hr_writer_t* w) {
  int32_t types[HR_DTYPE_COUNT];
  int32_t count = 0;
  for (int t = 1; t < HR_DTYPE_COUNT; ++t)
    if (hr_dtype_in((hr_dtype_t)t, set)) types[count++] = t;
  hr_attr_t value = {HR_ATTR_TYPE, true, count, {.types = types}};
  hr_writer_mark_t mark = hr_writer_begin(w, CONSTRAINT_ALLOWED, MESSAGE_EXPECTED);
  hr_status_t status = hr_attr_value_encode(&value, w);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
  return status;
}

static hr_status_t kernel_encode(const hr_op_def_t* def, const hr_kernel_t* k, hr_writer_t* w) {
  hr_status_t status = NULL;
  hr_writer_mark_t mark = hr_writer_begin(w, LIST_KERNEL, MESSAGE_EXPECTED);
  hr_writer_str(w, KERNEL_OP, def->name);
  hr_writer_str(w, KERNEL_DEVICE, k->device ? hr_str(k->device) : HR_STR("CPU"));
  for (int i = 0; i < 3 && k->where[i].attr && !status; ++i) {
    hr_writer_mark_t constraint = hr_writer_begin(w, KERNEL_CONSTRAINT, MESSAGE_EXPECTED);
    hr_writer_str(w, CONSTRAINT_NAME, hr_str(k->where[i].attr));
    status = kernel_encode_types(k->where[i].types, w);
    hr_writer_end(w, constraint, MESSAGE_EXPECTED);
  }
  if (k->priority) hr_writer_i64(w, KERNEL_PRIORITY, k->priority);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
  return status;
}

static bool kernel_list_add(const hr_op_def_t* def, void* arg) {
  kernel_list_t* list = arg;
  const hr_kernel_t* added;
  for (int i = 0; i < def->op->kernel_count && !list->status; ++i) list->status = kernel_encode(def, &def->op->kernels[i], &list->w);
  for (int i = 0; !list->status && (added = hr_registry_added_kernel(def, i)); ++i) list->status = kernel_encode(def, added, &list->w);
  return !list->status;
}

TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status) {
  kernel_list_t list = {0};
  hr_strbuf_init(&list.w);
  hr_registry_each(kernel_list_add, &list);
  return hr_capi_hand_over(&list.w, list.status, status);
}

TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status) {
  kernel_list_t list = {0};
  const hr_op_def_t* def = NULL;
  hr_strbuf_init(&list.w);
  list.status = name ? hr_registry_find(hr_str(name), &def) : hr_capi_null("the op's name");
  if (hr_status_code(list.status) == HR_NOT_FOUND) { /* TensorFlow answers with an empty list */
    hr_status_release(list.status);
    list.status = NULL;
  }
  if (def) kernel_list_add(def, &list);
  return hr_capi_hand_over(&list.w, list.status, status);
}
