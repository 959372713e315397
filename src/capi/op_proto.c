/* SPDX-License-Identifier: Apache-2.0 */
/* Ops and kernels as OpDef and KernelDef: what clients generate their wrappers from. */
#include "capi/handles.h"

#include "graph/attr_value.h"

enum { OP_NAME = 1, OP_INPUT = 2, OP_OUTPUT = 3, OP_ATTR = 4, OP_SUMMARY = 5, OP_DEPRECATION = 8, OP_AGGREGATE = 16, OP_STATEFUL = 17, OP_COMMUTATIVE = 18,
       OP_UNINITIALIZED = 19 };
enum { ARG_NAME = 1, ARG_TYPE = 3, ARG_TYPE_ATTR = 4, ARG_NUMBER_ATTR = 5, ARG_LIST_ATTR = 6, ARG_IS_REF = 16 };
enum { ATTR_NAME = 1, ATTR_TYPE = 2, ATTR_DEFAULT = 3, ATTR_HAS_MINIMUM = 5, ATTR_MINIMUM = 6, ATTR_ALLOWED = 7 };
enum { DEPRECATION_VERSION = 1, DEPRECATION_WHY = 2 };
enum { KERNEL_OP = 1, KERNEL_DEVICE = 2, KERNEL_CONSTRAINT = 3, KERNEL_PRIORITY = 6, CONSTRAINT_NAME = 1, CONSTRAINT_ALLOWED = 2 };
enum { LIST_OP = 1, LIST_KERNEL = 1, MESSAGE_EXPECTED = 100 };

static void op_encode_arg(uint32_t number, const hr_op_def_t* def, const hr_arg_def_t* a, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, MESSAGE_EXPECTED);
  hr_writer_str(w, ARG_NAME, a->name);
  if (a->type) hr_writer_i64(w, ARG_TYPE, a->type);
  if (a->type_attr >= 0) hr_writer_str(w, ARG_TYPE_ATTR, def->attrs[a->type_attr].name);
  if (a->number_attr >= 0) hr_writer_str(w, ARG_NUMBER_ATTR, def->attrs[a->number_attr].name);
  if (a->list_attr >= 0) hr_writer_str(w, ARG_LIST_ATTR, def->attrs[a->list_attr].name);
  if (a->is_ref) hr_writer_bool(w, ARG_IS_REF, true);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
}

/* An AttrValue with a list of types. */
static hr_status_t op_encode_types(uint32_t number, hr_dtypes_t set, hr_writer_t* w) {
  int32_t types[HR_DTYPE_COUNT];
  int32_t count = 0;
  for (int t = 1; t < HR_DTYPE_COUNT; ++t)
    if (hr_dtype_in((hr_dtype_t)t, set)) types[count++] = t;
  hr_attr_t value = {HR_ATTR_TYPE, true, count, {.types = types}};
  hr_writer_mark_t mark = hr_writer_begin(w, number, MESSAGE_EXPECTED);
  hr_status_t status = hr_attr_value_encode(&value, w);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
  return status;
}

static hr_status_t op_encode_allowed(const hr_attr_def_t* a, hr_writer_t* w) {
  if (a->types) return op_encode_types(ATTR_ALLOWED, a->types, w);
  if (!a->string_count) return NULL;
  hr_attr_t value = {HR_ATTR_STRING, true, a->string_count, {.ss = a->strings}};
  hr_writer_mark_t mark = hr_writer_begin(w, ATTR_ALLOWED, MESSAGE_EXPECTED);
  hr_status_t status = hr_attr_value_encode(&value, w);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
  return status;
}

static hr_status_t op_encode_attr(const hr_attr_def_t* a, hr_writer_t* w) {
  hr_status_t status = NULL;
  hr_writer_mark_t mark = hr_writer_begin(w, OP_ATTR, MESSAGE_EXPECTED);
  hr_writer_str(w, ATTR_NAME, a->name);
  hr_writer_str(w, ATTR_TYPE, hr_str(hr_attr_kind_name((hr_attr_kind_t)a->kind, a->is_list)));
  if (a->has_default) {
    hr_writer_mark_t value = hr_writer_begin(w, ATTR_DEFAULT, MESSAGE_EXPECTED);
    status = hr_attr_value_encode(&a->value, w);
    hr_writer_end(w, value, MESSAGE_EXPECTED);
  }
  if (a->has_minimum) {
    hr_writer_bool(w, ATTR_HAS_MINIMUM, true);
    if (a->minimum) hr_writer_i64(w, ATTR_MINIMUM, a->minimum);
  }
  if (!status) status = op_encode_allowed(a, w);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
  return status;
}

hr_status_t hr_capi_encode_op_def(const hr_op_def_t* def, hr_writer_t* w) {
  const hr_op_t* op = def->op;
  hr_writer_str(w, OP_NAME, def->name);
  for (int i = 0; i < def->input_count; ++i) op_encode_arg(OP_INPUT, def, &def->inputs[i], w);
  for (int i = 0; i < def->output_count; ++i) op_encode_arg(OP_OUTPUT, def, &def->outputs[i], w);
  for (int i = 0; i < def->attr_count; ++i) HR_TRY(op_encode_attr(&def->attrs[i], w));
  if (op->doc) hr_writer_str(w, OP_SUMMARY, hr_str(op->doc));
  if (op->deprecated) {
    hr_writer_mark_t mark = hr_writer_begin(w, OP_DEPRECATION, MESSAGE_EXPECTED);
    hr_writer_i64(w, DEPRECATION_VERSION, op->deprecated);
    if (op->deprecated_why) hr_writer_str(w, DEPRECATION_WHY, hr_str(op->deprecated_why));
    hr_writer_end(w, mark, MESSAGE_EXPECTED);
  }
  if (op->flags & HR_OP_AGGREGATE) hr_writer_bool(w, OP_AGGREGATE, true);
  if (op->flags & HR_OP_STATEFUL) hr_writer_bool(w, OP_STATEFUL, true);
  if (op->flags & HR_OP_COMMUTATIVE) hr_writer_bool(w, OP_COMMUTATIVE, true);
  if (op->flags & HR_OP_UNINITIALIZED) hr_writer_bool(w, OP_UNINITIALIZED, true);
  return NULL;
}

/* --- lists ----------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_writer_t w;
  hr_status_t status;
} op_list_t;

static bool op_list_add(const hr_op_def_t* def, void* arg) {
  op_list_t* list = arg;
  if (def->name.size && def->name.data[0] == '_') return true; /* internal, as TensorFlow leaves them out */
  hr_writer_mark_t mark = hr_writer_begin(&list->w, LIST_OP, 4 * MESSAGE_EXPECTED);
  list->status = hr_capi_encode_op_def(def, &list->w);
  hr_writer_end(&list->w, mark, 4 * MESSAGE_EXPECTED);
  return !list->status;
}

static hr_status_t kernel_encode(const hr_op_def_t* def, const hr_kernel_t* k, hr_writer_t* w) {
  hr_status_t status = NULL;
  hr_writer_mark_t mark = hr_writer_begin(w, LIST_KERNEL, MESSAGE_EXPECTED);
  hr_writer_str(w, KERNEL_OP, def->name);
  hr_writer_str(w, KERNEL_DEVICE, HR_STR("CPU"));
  for (int i = 0; i < 3 && k->where[i].attr && !status; ++i) {
    hr_writer_mark_t constraint = hr_writer_begin(w, KERNEL_CONSTRAINT, MESSAGE_EXPECTED);
    hr_writer_str(w, CONSTRAINT_NAME, hr_str(k->where[i].attr));
    status = op_encode_types(CONSTRAINT_ALLOWED, k->where[i].types, w);
    hr_writer_end(w, constraint, MESSAGE_EXPECTED);
  }
  if (k->priority) hr_writer_i64(w, KERNEL_PRIORITY, k->priority);
  hr_writer_end(w, mark, MESSAGE_EXPECTED);
  return status;
}

static bool kernel_list_add(const hr_op_def_t* def, void* arg) {
  op_list_t* list = arg;
  for (int i = 0; i < def->op->kernel_count && !list->status; ++i) list->status = kernel_encode(def, &def->op->kernels[i], &list->w);
  return !list->status;
}

/* Takes the bytes written; the status goes to the caller's. */
static TF_Buffer* op_list_finish(op_list_t* list, TF_Status* status) {
  TF_Buffer* b = list->status ? NULL : TF_NewBuffer();
  if (!list->status) list->status = b ? hr_capi_fill_buffer_from(b, &list->w) : hr_status_out_of_memory();
  if (list->status) {
    TF_DeleteBuffer(b);
    b = NULL;
  }
  hr_strbuf_deinit(&list->w);
  hr_capi_report(status, list->status);
  return b;
}

TF_Buffer* TF_GetAllOpList(void) {
  op_list_t list = {0};
  hr_strbuf_init(&list.w);
  hr_registry_each(op_list_add, &list);
  return op_list_finish(&list, NULL);
}

TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status) {
  op_list_t list = {0};
  hr_strbuf_init(&list.w);
  hr_registry_each(kernel_list_add, &list);
  return op_list_finish(&list, status);
}

TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status) {
  op_list_t list = {0};
  const hr_op_def_t* def = NULL;
  hr_strbuf_init(&list.w);
  list.status = name ? hr_registry_find(hr_str(name), &def) : hr_capi_null("the op's name");
  if (hr_status_code(list.status) == HR_NOT_FOUND) { /* TensorFlow answers with an empty list */
    hr_status_release(list.status);
    list.status = NULL;
  }
  if (def) kernel_list_add(def, &list);
  return op_list_finish(&list, status);
}
