/* SPDX-License-Identifier: Apache-2.0 */
/* The op registry. A hash table over the manifest is made at the first look-up and never changes; each entry's signature is parsed at
 * its op's first look-up, under the lock, and read without it afterwards. What is added at run time (ops, kernels, gradients) lies in
 * maps under the lock; counters say when there is none, so that look-ups of the manifest's ops do not pay for them. */
#include "op/registry.h"
#include <stdlib.h>
#include "base/map.h"
#include "base/sync.h"
#include "base/vec.h"
#include "op/node_class.h"

typedef struct {
  const hr_op_t* op; /* NULL: a free place */
  uint64_t hash;
  _Atomic(const hr_op_def_t*) def; /* NULL until first asked for; release/acquire publishes what it points to */
} manifest_entry_t;

typedef struct {
  manifest_entry_t* entries;
  uint64_t mask;
} manifest_table_t;

typedef struct added_kernel {
  hr_kernel_t kernel;
  struct added_kernel* next; /* in order of addition */
} added_kernel_t;

static struct {
  const hr_op_t* const* manifest; /* set once before any look-up */
  int manifest_count;
  _Atomic(const manifest_table_t*) table;
  atomic_int op_count, kernel_count, grad_count; /* added at run time */
  hr_mutex_t mu;      /* guards all below, and writing of the above */
  hr_arena_t arena;   /* parsed signatures; lives as long as the process */
  hr_map_t ops;       /* name -> hr_op_def_t */
  hr_map_t kernels;   /* op name -> added_kernel_t */
  hr_map_t grads;     /* op name -> hr_grad_fn_t */
} the_registry = {.mu = HR_MUTEX_INIT};

void hr_grad_none(hr_grad_ctx_t* g) { (void)g; }

void hr_registry_set_manifest(const hr_op_t* const* sorted, int count) {
  the_registry.manifest = sorted;
  the_registry.manifest_count = count;
}

/* --- node classes ----------------------------------------------------------------------------------------------------------------- */
static uint8_t node_class_of(hr_str_t name) {
  static const struct { hr_str_t name; uint8_t node_class; } rows[] = {
#define HR_NODE_CLASS(CLASS, op) {{#op, sizeof(#op) - 1}, HR_NODE_##CLASS},
#include "op/node_class.def"
#undef HR_NODE_CLASS
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (hr_str_equal(rows[i].name, name)) return rows[i].node_class;
  return HR_NODE_ORDINARY;
}

/* Parses into the registry's memory; the lock is held. */
static hr_status_t parse_op(const hr_op_t* op, hr_op_def_t** out) {
  hr_op_def_t* def = hr_arena_array(&the_registry.arena, 1, sizeof *def);
  if (!def) return hr_status_out_of_memory();
  HR_TRY(hr_sig_parse(&the_registry.arena, op, def));
  def->node_class = node_class_of(def->name);
  *out = def;
  return NULL;
}

/* --- the manifest's table --------------------------------------------------------------------------------------------------------- */
static uint64_t op_name_hash(hr_str_t name) { return hr_hash(name.data, name.size, 0); }

static void table_insert(manifest_table_t* t, const hr_op_t* op) {
  uint64_t hash = op_name_hash(hr_str(op->name));
  uint64_t at = hash & t->mask;
  while (t->entries[at].op) at = (at + 1) & t->mask;
  t->entries[at].op = op;
  t->entries[at].hash = hash;
}

static hr_status_t make_table(void) { /* the lock is held */
  uint64_t capacity = 16;
  while (capacity < 2 * (uint64_t)the_registry.manifest_count) capacity *= 2;
  manifest_table_t* t = hr_arena_array(&the_registry.arena, 1, sizeof *t);
  if (!t || !(t->entries = hr_arena_array(&the_registry.arena, capacity, sizeof *t->entries))) return hr_status_out_of_memory();
  t->mask = capacity - 1;
  for (int i = 0; i < the_registry.manifest_count; ++i) table_insert(t, the_registry.manifest[i]);
  atomic_store_explicit(&the_registry.table, t, memory_order_release); /* pairs with the acquire in manifest_table */
  return NULL;
}

static hr_status_t manifest_table(const manifest_table_t** out) {
  *out = atomic_load_explicit(&the_registry.table, memory_order_acquire);
  if (*out) return NULL;
  hr_status_t status = NULL;
  hr_mutex_lock(&the_registry.mu);
  if (!atomic_load_explicit(&the_registry.table, memory_order_relaxed)) status = make_table();
  *out = atomic_load_explicit(&the_registry.table, memory_order_relaxed);
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

static manifest_entry_t* manifest_find(const manifest_table_t* t, hr_str_t name) {
  uint64_t hash = op_name_hash(name);
  for (uint64_t at = hash & t->mask; t->entries[at].op; at = (at + 1) & t->mask)
    if (t->entries[at].hash == hash && hr_str_is(name, t->entries[at].op->name)) return &t->entries[at];
  return NULL;
}

static hr_status_t entry_def(manifest_entry_t* e, const hr_op_def_t** out) {
  *out = atomic_load_explicit(&e->def, memory_order_acquire);
  if (*out) return NULL;
  hr_status_t status = NULL;
  hr_mutex_lock(&the_registry.mu);
  *out = atomic_load_explicit(&e->def, memory_order_relaxed);
  if (!*out) {
    hr_op_def_t* def = NULL;
    status = parse_op(e->op, &def);
    if (!status) atomic_store_explicit(&e->def, def, memory_order_release);
    *out = def;
  }
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

/* --- look-up ---------------------------------------------------------------------------------------------------------------------- */
static const hr_op_def_t* added_op(hr_str_t name) {
  uintptr_t found = 0;
  if (atomic_load_explicit(&the_registry.op_count, memory_order_acquire) == 0) return NULL;
  hr_mutex_lock(&the_registry.mu);
  bool is_there = hr_map_find(&the_registry.ops, name, &found);
  hr_mutex_unlock(&the_registry.mu);
  return is_there ? (const hr_op_def_t*)found : NULL;
}

hr_status_t hr_registry_find(hr_str_t name, const hr_op_def_t** out) {
  const manifest_table_t* table = NULL;
  *out = NULL;
  HR_TRY(manifest_table(&table));
  manifest_entry_t* e = manifest_find(table, name);
  if (e) return entry_def(e, out);
  *out = added_op(name);
  return *out ? NULL : HR_ERROR(NOT_FOUND, "op type not registered '%.*s'", HR_STR_ARG(name));
}

/* --- additions at run time -------------------------------------------------------------------------------------------------------- */
hr_status_t hr_registry_add(const hr_op_t* op) {
  const manifest_table_t* table = NULL;
  HR_TRY(manifest_table(&table));
  if (manifest_find(table, hr_str(op->name))) return HR_ERROR(ALREADY_EXISTS, "op with name %s is already registered", op->name);
  hr_op_def_t* def = NULL;
  bool added = false;
  hr_mutex_lock(&the_registry.mu);
  hr_status_t status = parse_op(op, &def);
  if (!status) status = hr_map_add(&the_registry.ops, def->name, (uintptr_t)def, &added);
  if (!status && !added) status = HR_ERROR(ALREADY_EXISTS, "op with name %s is already registered", op->name);
  if (!status) atomic_fetch_add_explicit(&the_registry.op_count, 1, memory_order_release);
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

/* A copy whose texts lie in the registry's memory; the lock is held. */
static hr_status_t copy_kernel(const hr_kernel_t* from, added_kernel_t** out) {
  added_kernel_t* copy = hr_arena_array(&the_registry.arena, 1, sizeof *copy);
  if (!copy) return hr_status_out_of_memory();
  copy->kernel = *from;
  for (int i = 0; i < 3 && from->where[i].attr; ++i) {
    hr_str_t text;
    if (!hr_arena_str(&the_registry.arena, hr_str(from->where[i].attr), &text)) return hr_status_out_of_memory();
    copy->kernel.where[i].attr = text.data;
  }
  hr_str_t device;
  if (from->device) {
    if (!hr_arena_str(&the_registry.arena, hr_str(from->device), &device)) return hr_status_out_of_memory();
    copy->kernel.device = device.data;
  }
  *out = copy;
  return NULL;
}

static hr_status_t link_kernel(const char* op_name, added_kernel_t* added) { /* the lock is held */
  uintptr_t first = 0;
  if (hr_map_find(&the_registry.kernels, hr_str(op_name), &first)) {
    added_kernel_t* last = (added_kernel_t*)first;
    while (last->next) last = last->next;
    last->next = added;
    return NULL;
  }
  hr_str_t key;
  if (!hr_arena_str(&the_registry.arena, hr_str(op_name), &key)) return hr_status_out_of_memory();
  return hr_map_set(&the_registry.kernels, key, (uintptr_t)added);
}

hr_status_t hr_registry_add_kernel(const char* op_name, const hr_kernel_t* kernel) {
  added_kernel_t* added = NULL;
  hr_mutex_lock(&the_registry.mu);
  hr_status_t status = copy_kernel(kernel, &added);
  if (!status) status = link_kernel(op_name, added);
  if (!status) atomic_fetch_add_explicit(&the_registry.kernel_count, 1, memory_order_release);
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

hr_status_t hr_registry_set_grad(const char* op_name, hr_grad_fn_t grad) {
  const hr_op_def_t* def = NULL;
  bool added = false;
  HR_TRY(hr_registry_find(hr_str(op_name), &def));
  if (def->op->grad) return HR_ERROR(ALREADY_EXISTS, "op '%s' has a gradient already", op_name);
  hr_mutex_lock(&the_registry.mu);
  hr_status_t status = hr_map_add(&the_registry.grads, def->name, (uintptr_t)grad, &added);
  if (!status && !added) status = HR_ERROR(ALREADY_EXISTS, "op '%s' has a gradient already", op_name);
  if (!status) atomic_fetch_add_explicit(&the_registry.grad_count, 1, memory_order_release);
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

hr_grad_fn_t hr_registry_grad(const hr_op_def_t* def) {
  uintptr_t found = 0;
  if (def->op->grad || atomic_load_explicit(&the_registry.grad_count, memory_order_acquire) == 0) return def->op->grad;
  hr_mutex_lock(&the_registry.mu);
  if (!hr_map_find(&the_registry.grads, def->name, &found)) found = 0;
  hr_mutex_unlock(&the_registry.mu);
  return (hr_grad_fn_t)found;
}

/* --- all ops in name order -------------------------------------------------------------------------------------------------------- */
typedef HR_VEC(const hr_op_def_t*) op_defs_t;

static int compare_defs(const void* a, const void* b) {
  return hr_str_compare((*(const hr_op_def_t* const*)a)->name, (*(const hr_op_def_t* const*)b)->name);
}

static hr_status_t collect_manifest(op_defs_t* all) {
  const manifest_table_t* table = NULL;
  HR_TRY(manifest_table(&table));
  for (int i = 0; i < the_registry.manifest_count; ++i) {
    const hr_op_def_t* def = NULL;
    hr_status_t status = entry_def(manifest_find(table, hr_str(the_registry.manifest[i]->name)), &def);
    hr_status_release(status); /* a malformed signature shows at its own look-up; the other ops are still visited */
    if (!status) HR_TRY(hr_vec_push(all, def));
  }
  return NULL;
}

static hr_status_t collect_added(op_defs_t* all) {
  hr_status_t status = NULL;
  const hr_map_entry_t* e;
  hr_mutex_lock(&the_registry.mu);
  for (int64_t i = 0; !status && (e = hr_map_next(&the_registry.ops, &i));) status = hr_vec_push(all, (const hr_op_def_t*)e->value);
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

void hr_registry_each(bool (*visit)(const hr_op_def_t* def, void* arg), void* arg) {
  op_defs_t all = {0};
  hr_status_t status = collect_manifest(&all);
  if (!status) status = collect_added(&all);
  hr_status_release(status); /* out of memory: what was collected is still visited */
  if (all.count) qsort(all.data, (size_t)all.count, sizeof *all.data, compare_defs);
  for (int64_t i = 0; i < all.count; ++i)
    if (!visit(all.data[i], arg)) break;
  hr_vec_deinit(&all);
}

/* --- choosing a kernel ------------------------------------------------------------------------------------------------------------ */
static bool type_attr_matches(const hr_attr_t* value, hr_dtypes_t types) {
  if (!value->is_list) return value->kind == HR_ATTR_TYPE && hr_dtype_in(hr_dtype_base(value->u.type), types);
  for (int32_t i = 0; i < value->count; ++i)
    if (!hr_dtype_in(hr_dtype_base(value->u.types[i]), types)) return false;
  return true;
}

static bool kernel_matches(const hr_kernel_t* k, const hr_op_def_t* def, const hr_attr_t* attrs) {
  for (int i = 0; i < 3 && k->where[i].attr; ++i) {
    int attr = hr_sig_find_attr(def, hr_str(k->where[i].attr));
    if (attr < 0 || !type_attr_matches(&attrs[attr], k->where[i].types)) return false;
  }
  return true;
}

static added_kernel_t* added_kernels(const hr_op_def_t* def) { /* the lock is held */
  uintptr_t first = 0;
  return hr_map_find(&the_registry.kernels, def->name, &first) ? (added_kernel_t*)first : NULL;
}

const hr_kernel_t* hr_registry_added_kernel(const hr_op_def_t* def, int index) {
  hr_mutex_lock(&the_registry.mu);
  const added_kernel_t* k = added_kernels(def);
  for (; k && index > 0; --index) k = k->next;
  hr_mutex_unlock(&the_registry.mu);
  return k ? &k->kernel : NULL;
}

/* `device` is NULL for the host. */
static bool kernel_is_for(const hr_kernel_t* k, const char* device) {
  return device && k->device ? strcmp(k->device, device) == 0 : device == k->device;
}

static const hr_kernel_t* better_kernel(const hr_kernel_t* best, const hr_kernel_t* k, const hr_op_def_t* def, const hr_attr_t* attrs) {
  if (best && k->priority <= best->priority) return best;
  return kernel_matches(k, def, attrs) ? k : best;
}

static void print_kernel_types(const hr_kernel_t* k, hr_strbuf_t* out) {
  for (int i = 0; i < 3 && k->where[i].attr; ++i) {
    hr_strbuf_format(out, "%s%s in {", i ? ", " : "", k->where[i].attr);
    const char* between = "";
    for (int t = 1; t < HR_DTYPE_COUNT; ++t) {
      if (!hr_dtype_in((hr_dtype_t)t, k->where[i].types)) continue;
      hr_strbuf_format(out, "%s%s", between, hr_dtype_name(t));
      between = ", ";
    }
    hr_strbuf_format(out, "}");
  }
}

static void print_type_attrs(const hr_op_def_t* def, const hr_attr_t* attrs, hr_strbuf_t* out) {
  const char* between = "";
  for (int i = 0; i < def->attr_count; ++i) {
    if (def->attrs[i].kind != HR_ATTR_TYPE) continue;
    hr_strbuf_format(out, "%s%.*s=", between, HR_STR_ARG(def->attrs[i].name));
    hr_attr_print(&attrs[i], out);
    between = ", ";
  }
}

static hr_status_t no_kernel_error(const hr_op_def_t* def, const hr_attr_t* attrs, const added_kernel_t* added) {
  if (def->op->kernel_count == 0 && !added) return HR_ERROR(UNIMPLEMENTED, "op '%.*s' has no kernel", HR_STR_ARG(def->name));
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "No OpKernel was registered to support Op '%.*s' with ", HR_STR_ARG(def->name));
  print_type_attrs(def, attrs, &text);
  hr_strbuf_format(&text, "; supported: ");
  for (int i = 0; i < def->op->kernel_count; ++i) {
    if (i) hr_strbuf_format(&text, "; ");
    print_kernel_types(&def->op->kernels[i], &text);
  }
  for (const added_kernel_t* k = added; k; k = k->next) {
    hr_strbuf_format(&text, "%s", k == added && def->op->kernel_count == 0 ? "" : "; ");
    print_kernel_types(&k->kernel, &text);
    if (k->kernel.device) hr_strbuf_format(&text, " on %s", k->kernel.device);
  }
  hr_status_t status = HR_ERROR(INVALID_ARGUMENT, "%.*s", HR_STR_ARG(hr_strbuf_view(&text)));
  hr_strbuf_deinit(&text);
  return status;
}

/* The lock is held when kernels were added at run time. */
static hr_status_t choose_kernel(const hr_op_def_t* def, const hr_attr_t* attrs, const added_kernel_t* added, const hr_kernel_t** out) {
  const hr_kernel_t* best = NULL;
  for (int i = 0; i < def->op->kernel_count; ++i) best = better_kernel(best, &def->op->kernels[i], def, attrs);
  for (const added_kernel_t* k = added; k; k = k->next)
    if (kernel_is_for(&k->kernel, NULL)) best = better_kernel(best, &k->kernel, def, attrs);
  *out = best;
  return best ? NULL : no_kernel_error(def, attrs, added);
}

hr_status_t hr_registry_kernel(const hr_op_def_t* def, const hr_attr_t* attrs, const hr_kernel_t** out) {
  if (atomic_load_explicit(&the_registry.kernel_count, memory_order_acquire) == 0) return choose_kernel(def, attrs, NULL, out);
  hr_mutex_lock(&the_registry.mu);
  hr_status_t status = choose_kernel(def, attrs, added_kernels(def), out);
  hr_mutex_unlock(&the_registry.mu);
  return status;
}

const hr_kernel_t* hr_registry_device_kernel(const hr_op_def_t* def, const hr_attr_t* attrs, const char* device_type) {
  const hr_kernel_t* best = NULL;
  if (atomic_load_explicit(&the_registry.kernel_count, memory_order_acquire) == 0) return NULL;
  hr_mutex_lock(&the_registry.mu);
  for (const added_kernel_t* k = added_kernels(def); k; k = k->next)
    if (kernel_is_for(&k->kernel, device_type)) best = better_kernel(best, &k->kernel, def, attrs);
  hr_mutex_unlock(&the_registry.mu);
  return best;
}
