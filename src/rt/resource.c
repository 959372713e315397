/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of named objects: container name -> ("type" NUL "name") -> object, under one mutex.
 *
 * No object is destroyed while the mutex is held: removal takes references out under the lock and drops them after, because a destructor
 * (a queue's, a variable's) may be long or come back here. A handle remembers the object it named; `removed` tells it to look again. */
#include "rt/resource.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/file.h"
#include "rt/variable.h"

typedef struct {
  hr_resource_t* object; /* one reference */
  hr_str_t name;         /* inside `key` */
  size_t key_size;
  char key[];            /* "type" NUL "name" */
} resource_entry_t;

typedef struct {
  hr_str_t name;         /* own bytes, after the struct */
  hr_map_t entries;      /* key -> resource_entry_t* */
} container_t;

struct hr_resources {
  atomic_int refs;
  hr_mutex_t mu;
  hr_map_t containers;   /* name -> container_t*; guarded by mu, as are the containers */
  char* root;            /* resolved; malloc's; NULL: not confined, or to nothing */
  bool is_confined;
};

static hr_str_t container_or_default(hr_str_t container) { return container.size ? container : HR_STR("localhost"); }

hr_resource_t* hr_resource_retain(hr_resource_t* r) {
  atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
  return r;
}

void hr_resource_release(hr_resource_t* r) {
  if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) r->type->destroy(r);
}

hr_resources_t* hr_resources_create(void) {
  hr_resources_t* rs = hr_alloc_zero(sizeof *rs);
  if (!rs) return NULL;
  atomic_init(&rs->refs, 1);
  hr_mutex_init(&rs->mu);
  hr_map_init(&rs->containers);
  return rs;
}

hr_resources_t* hr_resources_retain(hr_resources_t* rs) {
  atomic_fetch_add_explicit(&rs->refs, 1, memory_order_relaxed);
  return rs;
}

static void entry_drop(resource_entry_t* e) {
  atomic_store_explicit(&e->object->removed, true, memory_order_release);
  hr_resource_release(e->object);
  hr_free(e);
}

static void container_destroy(container_t* c) {
  const hr_map_entry_t* m;
  for (int64_t i = 0; (m = hr_map_next(&c->entries, &i));) entry_drop((resource_entry_t*)m->value);
  hr_map_deinit(&c->entries);
  hr_free(c);
}

void hr_resources_release(hr_resources_t* rs) {
  if (!rs || atomic_fetch_sub_explicit(&rs->refs, 1, memory_order_acq_rel) != 1) return;
  const hr_map_entry_t* m;
  for (int64_t i = 0; (m = hr_map_next(&rs->containers, &i));) container_destroy((container_t*)m->value);
  hr_map_deinit(&rs->containers);
  hr_mutex_deinit(&rs->mu);
  free(rs->root);
  hr_free(rs);
}

/* --- confinement -------------------------------------------------------------------------------------------------------------------- */

hr_status_t hr_resources_confine(hr_resources_t* rs, hr_str_t root) {
  rs->is_confined = true;
  if (root.size == 0) return NULL;
  char* text = hr_alloc_copy(root.data, root.size);
  if (!text) return hr_status_out_of_memory();
  rs->root = realpath(text, NULL);
  hr_status_t status = rs->root ? NULL : hr_file_error(errno, "root folder", text);
  hr_free(text);
  return status;
}

static bool is_below(const char* root, const char* path) {
  const size_t size = strlen(root);
  if (!strcmp(root, "/")) return true;
  return !strncmp(root, path, size) && (path[size] == 0 || path[size] == '/');
}

/* Cuts the last name off; false when there is none left. What is cut must not lead elsewhere: upwards, or by a link to what is not there
 * yet, which a writer would follow. */
static bool cut_name(char* path, bool* out_climbs) {
  struct stat there;
  char* slash = strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  *out_climbs |= !strcmp(name, "..") || lstat(path, &there) == 0;
  if (slash) slash[slash == path && slash[1] ? 1 : 0] = 0;
  else path[0] = 0;
  return path[0] != 0;
}

/* The longest part of the path that exists, resolved, lies below the root, and the rest is names only. */
static bool stays_inside(const char* root, char* path) {
  bool climbs = false;
  char* there = realpath(path, NULL);
  while (!there && cut_name(path, &climbs)) there = realpath(path, NULL);
  if (!there) there = realpath(".", NULL);
  const bool inside = there && !climbs && is_below(root, there);
  free(there);
  return inside;
}

hr_status_t hr_resources_check_path(const hr_resources_t* rs, const char* path) {
  if (!rs || !rs->is_confined) return NULL;
  if (!rs->root)
    return HR_ERROR(PERMISSION_DENIED,
                    "'%s': graphs of remote sessions may touch no files: the server has no root folder (--root or HEADRACE_SERVER_ROOT "
                    "names one)",
                    path);
  char* copy = hr_alloc_copy(path, strlen(path));
  if (!copy) return hr_status_out_of_memory();
  const bool inside = stays_inside(rs->root, copy);
  hr_free(copy);
  return inside ? NULL : HR_ERROR(PERMISSION_DENIED, "'%s': graphs of remote sessions may touch files below '%s' only", path, rs->root);
}

/* --- look-up; the caller holds the lock -------------------------------------------------------------------------------------------- */

static container_t* container_find(hr_resources_t* rs, hr_str_t name) {
  uintptr_t value;
  return hr_map_find(&rs->containers, container_or_default(name), &value) ? (container_t*)value : NULL;
}

static hr_status_t container_get(hr_resources_t* rs, hr_str_t name, container_t** out) {
  if ((*out = container_find(rs, name))) return NULL;
  name = container_or_default(name);
  container_t* c = hr_alloc(sizeof *c + name.size);
  if (!c) return hr_status_out_of_memory();
  char* text = (char*)(c + 1);
  memcpy(text, name.data, name.size);
  c->name = (hr_str_t){text, name.size};
  hr_map_init(&c->entries);
  hr_status_t status = hr_map_set(&rs->containers, c->name, (uintptr_t)c);
  if (status) container_destroy(c);
  else *out = c;
  return status;
}

/* An entry without its object, whose key also serves to look up. */
static resource_entry_t* entry_create(const hr_resource_type_t* type, hr_str_t name) {
  size_t type_size = strlen(type->name) + 1;
  resource_entry_t* e = hr_alloc(sizeof *e + type_size + name.size);
  if (!e) return NULL;
  memcpy(e->key, type->name, type_size);
  if (name.size) memcpy(e->key + type_size, name.data, name.size);
  e->key_size = type_size + name.size;
  e->name = (hr_str_t){e->key + type_size, name.size};
  e->object = NULL;
  return e;
}

static resource_entry_t* entry_find(container_t* c, const resource_entry_t* wanted) {
  uintptr_t value;
  return c && hr_map_find(&c->entries, (hr_str_t){wanted->key, wanted->key_size}, &value) ? (resource_entry_t*)value : NULL;
}

static hr_status_t missing_error(container_t* c, hr_str_t container, hr_str_t name, const hr_resource_type_t* type) {
  const hr_map_entry_t* m;
  for (int64_t i = 0; c && (m = hr_map_next(&c->entries, &i));) {
    const resource_entry_t* e = (const resource_entry_t*)m->value;
    if (hr_str_equal(e->name, name))
      return HR_ERROR(INVALID_ARGUMENT, "resource %.*s/%.*s is a %s, not a %s", HR_STR_ARG(container_or_default(container)),
                      HR_STR_ARG(name), e->object->type->name, type->name);
  }
  return HR_ERROR(NOT_FOUND, "resource %.*s/%.*s (%s) does not exist", HR_STR_ARG(container_or_default(container)), HR_STR_ARG(name),
                  type->name);
}

/* --- the table's functions ---------------------------------------------------------------------------------------------------------- */

hr_status_t hr_resources_find(hr_resources_t* rs, hr_str_t container, hr_str_t name, const hr_resource_type_t* type, hr_resource_t** out) {
  resource_entry_t* wanted = entry_create(type, name);
  if (!wanted) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  hr_mutex_lock(&rs->mu);
  container_t* c = container_find(rs, container);
  resource_entry_t* found = entry_find(c, wanted);
  if (found) *out = hr_resource_retain(found->object);
  else status = missing_error(c, container, name, type);
  hr_mutex_unlock(&rs->mu);
  hr_free(wanted);
  return status;
}

static hr_status_t container_add(container_t* c, resource_entry_t* e, hr_status_t (*create)(void*, hr_resource_t**), void* arg) {
  HR_TRY(create(arg, &e->object));
  return hr_map_set(&c->entries, (hr_str_t){e->key, e->key_size}, (uintptr_t)e);
}

hr_status_t hr_resources_find_or_create(hr_resources_t* rs, hr_str_t container, hr_str_t name, const hr_resource_type_t* type,
                                        hr_status_t (*create)(void* arg, hr_resource_t** out), void* arg, hr_resource_t** out) {
  resource_entry_t* e = entry_create(type, name);
  if (!e) return hr_status_out_of_memory();
  container_t* c = NULL;
  hr_mutex_lock(&rs->mu);
  hr_status_t status = container_get(rs, container, &c);
  resource_entry_t* found = status ? NULL : entry_find(c, e);
  if (!status && !found && !(status = container_add(c, e, create, arg))) {
    found = e;
    e = NULL;
  }
  if (found) *out = hr_resource_retain(found->object);
  hr_mutex_unlock(&rs->mu);
  if (e) hr_resource_release(e->object);
  hr_free(e);
  return status;
}

hr_status_t hr_resources_remove(hr_resources_t* rs, hr_str_t container, hr_str_t name, const hr_resource_type_t* type) {
  resource_entry_t* wanted = entry_create(type, name);
  if (!wanted) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  hr_mutex_lock(&rs->mu);
  container_t* c = container_find(rs, container);
  resource_entry_t* found = entry_find(c, wanted);
  if (found) hr_map_remove(&c->entries, (hr_str_t){wanted->key, wanted->key_size});
  else status = missing_error(c, container, name, type);
  hr_mutex_unlock(&rs->mu);
  if (found) entry_drop(found);
  hr_free(wanted);
  return status;
}

void hr_resources_clear(hr_resources_t* rs, hr_str_t container) {
  hr_mutex_lock(&rs->mu);
  container_t* c = container_find(rs, container);
  if (c) hr_map_remove(&rs->containers, c->name);
  hr_mutex_unlock(&rs->mu);
  if (c) container_destroy(c);
}

/* --- handles ------------------------------------------------------------------------------------------------------------------------ */

static void release_handle_object(void* object) { hr_resource_release(object); }

/* Several threads may look one handle up at once: the first to publish wins; the object is all that changes in a handle. */
static void handle_remember(hr_handle_t* h, hr_resource_t* r) {
  void* none = NULL;
  __atomic_store_n(&h->release_object, release_handle_object, __ATOMIC_RELAXED);
  hr_resource_retain(r);
  if (!__atomic_compare_exchange_n(&h->object, &none, (void*)r, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) hr_resource_release(r);
}

static hr_status_t handle_error(const hr_handle_t* h, const hr_resource_type_t* type, hr_status_t take_status) {
  if (type != &hr_variable_type || hr_status_code(take_status) != HR_NOT_FOUND) return take_status;
  hr_status_release(take_status);
  return HR_ERROR(FAILED_PRECONDITION, "could not find variable %.*s in container %.*s: it is uninitialized or has been deleted",
                  HR_STR_ARG(h->name), HR_STR_ARG(container_or_default(h->container)));
}

hr_status_t hr_resources_of_handle(hr_resources_t* rs, const hr_handle_t* h, const hr_resource_type_t* type, hr_resource_t** out) {
  if (!h) return HR_ERROR(INVALID_ARGUMENT, "the resource handle is empty; a handle to a %s was expected", type->name);
  hr_resource_t* r = __atomic_load_n((void**)&h->object, __ATOMIC_ACQUIRE);
  if (r && !atomic_load_explicit(&r->removed, memory_order_acquire)) {
    if (r->type != type)
      return HR_ERROR(INVALID_ARGUMENT, "resource handle %.*s names a %s, not a %s", HR_STR_ARG(h->name), r->type->name, type->name);
    *out = hr_resource_retain(r);
    return NULL;
  }
  hr_status_t status = hr_resources_find(rs, h->container, h->name, type, out);
  if (status) return handle_error(h, type, status);
  if (!r) handle_remember((hr_handle_t*)h, *out);
  return NULL;
}
