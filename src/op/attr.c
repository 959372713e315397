/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values: equality, hash, deep copy into an arena, text for people. One switch on the kind per question; lists are walked
 * element by element. Floats compare by bits, so that an attr equals its own copy whatever it holds. */
#include "op/attr.h"
#include "base/hash.h"
#include "base/vec.h"
#include "op/attr_element.h"

/* --- the element kinds ------------------------------------------------------------------------------------------------------------ */
size_t hr_attr_element_size(hr_attr_kind_t kind) {
  switch (kind) {
    case HR_ATTR_STRING: return sizeof(hr_str_t);
    case HR_ATTR_INT: return sizeof(int64_t);
    case HR_ATTR_FLOAT: return sizeof(float);
    case HR_ATTR_BOOL: return sizeof(bool);
    case HR_ATTR_TYPE: return sizeof(int32_t);
    case HR_ATTR_SHAPE: return sizeof(const hr_pshape_t*);
    case HR_ATTR_TENSOR: return sizeof(const hr_tensor_t*);
    case HR_ATTR_FUNC: return sizeof(hr_func_attr_t);
    default: return 0;
  }
}

/* Element i of a list, as an attr of its own. */
static hr_attr_t attr_element(const hr_attr_t* list, int32_t i) {
  hr_attr_t e = {.kind = list->kind};
  switch (list->kind) {
    case HR_ATTR_STRING: e.u.s = list->u.ss[i]; break;
    case HR_ATTR_INT: e.u.i = list->u.is[i]; break;
    case HR_ATTR_FLOAT: e.u.f = list->u.fs[i]; break;
    case HR_ATTR_BOOL: e.u.b = list->u.bs[i]; break;
    case HR_ATTR_TYPE: e.u.type = list->u.types[i]; break;
    case HR_ATTR_SHAPE: e.u.shape = list->u.shapes[i]; break;
    case HR_ATTR_TENSOR: e.u.tensor = list->u.tensors[i]; break;
    case HR_ATTR_FUNC: e.u.func = &list->u.funcs[i]; break;
    default: break;
  }
  return e;
}

const char* hr_attr_kind_name(hr_attr_kind_t kind, bool is_list) {
  static const char* const names[][2] = {
      [HR_ATTR_NONE] = {"nothing", "list"},
      [HR_ATTR_STRING] = {"string", "list(string)"},
      [HR_ATTR_INT] = {"int", "list(int)"},
      [HR_ATTR_FLOAT] = {"float", "list(float)"},
      [HR_ATTR_BOOL] = {"bool", "list(bool)"},
      [HR_ATTR_TYPE] = {"type", "list(type)"},
      [HR_ATTR_SHAPE] = {"shape", "list(shape)"},
      [HR_ATTR_TENSOR] = {"tensor", "list(tensor)"},
      [HR_ATTR_FUNC] = {"func", "list(func)"},
      [HR_ATTR_PLACEHOLDER] = {"placeholder", "list(placeholder)"},
  };
  return (unsigned)kind <= HR_ATTR_PLACEHOLDER ? names[kind][is_list] : "unknown";
}

/* --- equality --------------------------------------------------------------------------------------------------------------------- */
static bool func_equal(const hr_func_attr_t* a, const hr_func_attr_t* b) {
  if (!hr_str_equal(a->name, b->name) || a->attr_count != b->attr_count) return false;
  for (int32_t i = 0; i < a->attr_count; ++i)
    if (!hr_str_equal(a->attrs[i].name, b->attrs[i].name) || !hr_attr_equal(&a->attrs[i].value, &b->attrs[i].value)) return false;
  return true;
}

static bool scalar_attr_equal(const hr_attr_t* a, const hr_attr_t* b) {
  switch (a->kind) {
    case HR_ATTR_STRING:
    case HR_ATTR_PLACEHOLDER: return hr_str_equal(a->u.s, b->u.s);
    case HR_ATTR_INT: return a->u.i == b->u.i;
    case HR_ATTR_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof(float)) == 0;
    case HR_ATTR_BOOL: return a->u.b == b->u.b;
    case HR_ATTR_TYPE: return a->u.type == b->u.type;
    case HR_ATTR_SHAPE: return hr_pshape_equal(a->u.shape, b->u.shape);
    case HR_ATTR_TENSOR: return hr_tensor_equal(a->u.tensor, b->u.tensor);
    case HR_ATTR_FUNC: return func_equal(a->u.func, b->u.func);
    default: return true;
  }
}

bool hr_attr_equal(const hr_attr_t* a, const hr_attr_t* b) {
  if (a->is_list != b->is_list) return false;
  if (!a->is_list) return a->kind == b->kind && scalar_attr_equal(a, b);
  if (a->count != b->count) return false;
  if (a->count == 0) return true; /* an empty list has no kind on the wire */
  if (a->kind != b->kind) return false;
  for (int32_t i = 0; i < a->count; ++i) {
    hr_attr_t x = attr_element(a, i), y = attr_element(b, i);
    if (!scalar_attr_equal(&x, &y)) return false;
  }
  return true;
}

/* --- hash ------------------------------------------------------------------------------------------------------------------------- */
static uint64_t text_hash(hr_str_t s) { return hr_hash(s.data, s.size, 1); }

static uint64_t tensor_hash(const hr_tensor_t* t) {
  uint64_t h = hr_hash_mix((uint64_t)t->dtype, (uint64_t)t->count);
  for (int i = 0; i < t->shape.rank; ++i) h = hr_hash_mix(h, (uint64_t)t->shape.dims[i]);
  if (hr_dtype_is_plain(t->dtype)) return hr_hash(t->data, hr_tensor_bytes(t), h);
  if (t->dtype != HR_STRING) return h; /* handles: equal tensors still hash alike */
  for (int64_t i = 0; i < t->count; ++i) h = hr_hash_mix(h, text_hash(hr_tstring_get((const hr_tstring_t*)t->data + i)));
  return h;
}

static uint64_t func_hash(const hr_func_attr_t* f) {
  uint64_t h = text_hash(f->name);
  for (int32_t i = 0; i < f->attr_count; ++i) {
    h = hr_hash_mix(h, text_hash(f->attrs[i].name));
    h = hr_hash_mix(h, hr_attr_hash(&f->attrs[i].value));
  }
  return h;
}

static uint64_t shape_hash(const hr_pshape_t* s) {
  return s->rank < 0 ? 7 : hr_hash(s->dims, (size_t)s->rank * sizeof(int64_t), (uint64_t)s->rank + 11);
}

static uint64_t scalar_attr_hash(const hr_attr_t* a) {
  switch (a->kind) {
    case HR_ATTR_STRING:
    case HR_ATTR_PLACEHOLDER: return text_hash(a->u.s);
    case HR_ATTR_INT: return (uint64_t)a->u.i;
    case HR_ATTR_FLOAT: return hr_hash(&a->u.f, sizeof a->u.f, 2);
    case HR_ATTR_BOOL: return a->u.b;
    case HR_ATTR_TYPE: return (uint64_t)a->u.type;
    case HR_ATTR_SHAPE: return shape_hash(a->u.shape);
    case HR_ATTR_TENSOR: return tensor_hash(a->u.tensor);
    case HR_ATTR_FUNC: return func_hash(a->u.func);
    default: return 0;
  }
}

uint64_t hr_attr_hash(const hr_attr_t* a) {
  if (!a->is_list) return hr_hash_mix(a->kind, scalar_attr_hash(a));
  uint64_t h = hr_hash_mix(101, (uint64_t)a->count);
  for (int32_t i = 0; i < a->count; ++i) {
    hr_attr_t e = attr_element(a, i);
    h = hr_hash_mix(h, scalar_attr_hash(&e));
  }
  return h;
}

/* --- deep copy -------------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_attr_keep_tensor(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_tensor_t* take_tensor, const hr_tensor_t** out) {
  hr_tensor_t* kept = hr_arena_alloc(arena, sizeof *kept);
  if (!kept || (keeper && keeper->count == keeper->capacity &&
                !hr_vec_grow_one((void**)&keeper->data, &keeper->capacity, keeper->count, sizeof *keeper->data))) {
    hr_tensor_release(take_tensor);
    return hr_status_out_of_memory();
  }
  hr_tensor_move(take_tensor, kept);
  if (keeper) keeper->data[keeper->count++] = kept;
  *out = kept;
  return NULL;
}

void hr_attr_keeper_deinit(hr_attr_keeper_t* k) {
  for (int64_t i = 0; i < k->count; ++i) hr_tensor_release(k->data[i]);
  hr_free(k->data);
  *k = (hr_attr_keeper_t){0};
}

static hr_status_t text_copy(hr_arena_t* arena, hr_str_t from, hr_str_t* out) {
  return hr_arena_str(arena, from, out) ? NULL : hr_status_out_of_memory();
}

static hr_status_t func_copy(hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_func_attr_t* from, hr_func_attr_t* out) {
  HR_TRY(text_copy(arena, from->name, &out->name));
  hr_named_attr_t* attrs = hr_arena_array(arena, (size_t)from->attr_count, sizeof *attrs);
  if (!attrs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < from->attr_count; ++i) {
    HR_TRY(text_copy(arena, from->attrs[i].name, &attrs[i].name));
    HR_TRY(hr_attr_copy(arena, keeper, &from->attrs[i].value, &attrs[i].value));
  }
  out->attrs = attrs;
  out->attr_count = from->attr_count;
  return NULL;
}

/* A tensor attr that shares the bytes of `from`. */
static hr_status_t tensor_attr_copy(hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_tensor_t* from, const hr_tensor_t** out) {
  hr_tensor_t t = {0};
  hr_tensor_share(from, &t);
  return hr_attr_keep_tensor(arena, keeper, &t, out);
}

static hr_status_t scalar_attr_copy(hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_attr_t* from, hr_attr_t* out) {
  *out = *from;
  switch (from->kind) {
    case HR_ATTR_STRING:
    case HR_ATTR_PLACEHOLDER: return text_copy(arena, from->u.s, &out->u.s);
    case HR_ATTR_SHAPE: return hr_pshape_make(arena, from->u.shape->rank, from->u.shape->dims, &out->u.shape);
    case HR_ATTR_TENSOR: return tensor_attr_copy(arena, keeper, from->u.tensor, &out->u.tensor);
    case HR_ATTR_FUNC: {
      hr_func_attr_t* f = hr_arena_array(arena, 1, sizeof *f);
      if (!f) return hr_status_out_of_memory();
      out->u.func = f;
      return func_copy(arena, keeper, from->u.func, f);
    }
    default: return NULL;
  }
}

/* `block` holds raw copies of the elements; those that own memory are replaced by copies. */
static hr_status_t list_elements_copy(hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_attr_t* from, void* block) {
  for (int32_t i = 0; i < from->count; ++i) {
    hr_attr_t e = attr_element(from, i), copy;
    if (from->kind == HR_ATTR_FUNC) {
      HR_TRY(func_copy(arena, keeper, e.u.func, (hr_func_attr_t*)block + i));
      continue;
    }
    HR_TRY(scalar_attr_copy(arena, keeper, &e, &copy));
    if (from->kind == HR_ATTR_STRING) ((hr_str_t*)block)[i] = copy.u.s;
    if (from->kind == HR_ATTR_SHAPE) ((const hr_pshape_t**)block)[i] = copy.u.shape;
    if (from->kind == HR_ATTR_TENSOR) ((const hr_tensor_t**)block)[i] = copy.u.tensor;
  }
  return NULL;
}

static bool kind_owns_memory(uint8_t kind) {
  return kind == HR_ATTR_STRING || kind == HR_ATTR_SHAPE || kind == HR_ATTR_TENSOR || kind == HR_ATTR_FUNC;
}

hr_status_t hr_attr_copy(hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_attr_t* from, hr_attr_t* out) {
  if (!from->is_list) return scalar_attr_copy(arena, keeper, from, out);
  *out = *from;
  if (from->count == 0) return NULL;
  size_t size = hr_attr_element_size((hr_attr_kind_t)from->kind);
  void* block = hr_arena_array(arena, (size_t)from->count, size);
  if (!block) return hr_status_out_of_memory();
  memcpy(block, from->u.is, (size_t)from->count * size);
  out->u.is = block;
  return kind_owns_memory(from->kind) ? list_elements_copy(arena, keeper, from, block) : NULL;
}

/* --- text for people -------------------------------------------------------------------------------------------------------------- */
static void func_print(const hr_func_attr_t* f, hr_strbuf_t* out) {
  hr_strbuf_add_str(out, f->name);
  if (f->attr_count == 0) return;
  hr_strbuf_format(out, "[");
  for (int32_t i = 0; i < f->attr_count; ++i) {
    hr_strbuf_format(out, "%s%.*s=", i ? ", " : "", HR_STR_ARG(f->attrs[i].name));
    hr_attr_print(&f->attrs[i].value, out);
  }
  hr_strbuf_format(out, "]");
}

static void scalar_attr_print(const hr_attr_t* a, hr_strbuf_t* out) {
  char text[HR_SHAPE_TEXT];
  switch (a->kind) {
    case HR_ATTR_STRING: hr_strbuf_format(out, "\"%.*s\"", HR_STR_ARG(a->u.s)); break;
    case HR_ATTR_INT: hr_strbuf_format(out, "%lld", (long long)a->u.i); break;
    case HR_ATTR_FLOAT: hr_strbuf_format(out, "%g", (double)a->u.f); break;
    case HR_ATTR_BOOL: hr_strbuf_format(out, "%s", a->u.b ? "true" : "false"); break;
    case HR_ATTR_TYPE: hr_strbuf_format(out, "%s", hr_dtype_name(a->u.type)); break;
    case HR_ATTR_SHAPE: hr_strbuf_format(out, "%s", hr_pshape_format(a->u.shape, text)); break;
    case HR_ATTR_TENSOR: hr_tensor_print(a->u.tensor, 8, out); break;
    case HR_ATTR_FUNC: func_print(a->u.func, out); break;
    case HR_ATTR_PLACEHOLDER: hr_strbuf_format(out, "$%.*s", HR_STR_ARG(a->u.s)); break;
    default: hr_strbuf_format(out, "nothing"); break;
  }
}

void hr_attr_print(const hr_attr_t* a, hr_strbuf_t* out) {
  if (!a->is_list) {
    scalar_attr_print(a, out);
    return;
  }
  hr_strbuf_format(out, "[");
  for (int32_t i = 0; i < a->count; ++i) {
    hr_attr_t e = attr_element(a, i);
    if (i) hr_strbuf_format(out, ", ");
    scalar_attr_print(&e, out);
  }
  hr_strbuf_format(out, "]");
}
