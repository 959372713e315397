/* SPDX-License-Identifier: Apache-2.0 */
/* Savers: the save and restore parts of a V2 checkpoint, named and wired as TensorFlow's Saver has them, with the keys in the order of
 * their names. A sharded one writes a part in a temporary place and merges it: readers see the old checkpoint or the new one. */
#include <stdlib.h>
#include "client/variable.h"

typedef struct { const char* key; const HR_Variable* variable; } entry_t;
typedef struct {
  entry_t* entries;          /* by key */
  int count;
  const char** keys;
  const char** slices;       /* all "" : whole tensors */
  int32_t* types;
  hr_value_t* values;        /* prefix, names, slices, then the tensors */
  hr_node_t** done;
} saver_t;

static int by_key(const void* a, const void* b) { return strcmp(((const entry_t*)a)->key, ((const entry_t*)b)->key); }

static void deinit_saver(saver_t* s) {
  hr_free(s->entries);
  hr_free(s->keys);
  hr_free(s->slices);
  hr_free(s->types);
  hr_free(s->values);
  hr_free(s->done);
}

static void init_saver(hr_build_t* b, saver_t* s, const HR_Variable* variables, const char* const* names, int count) {
  const size_t n = (size_t)count;
  *s = (saver_t){.count = count};
  s->entries = hr_alloc_array(n, sizeof *s->entries);
  s->keys = hr_alloc_array(n, sizeof *s->keys);
  s->slices = hr_alloc_array(n, sizeof *s->slices);
  s->types = hr_alloc_array(n, sizeof *s->types);
  s->values = hr_alloc_array(n + 3, sizeof *s->values);
  s->done = hr_alloc_array(n, sizeof *s->done);
  if (!s->entries || !s->keys || !s->slices || !s->types || !s->values || !s->done) hr_build_fail(b, hr_status_out_of_memory());
  for (int i = 0; i < count && hr_client_check(b, &variables[i], "a variable"); ++i)
    s->entries[i] = (entry_t){names && names[i] ? names[i] : hr_capi_node(variables[i].handle.oper)->name.data, &variables[i]};
  if (b->status) return;
  qsort(s->entries, n, sizeof *s->entries, by_key);
  for (int i = 0; i < count; ++i) {
    s->keys[i] = s->entries[i].key;
    s->slices[i] = "";
    s->types[i] = (int32_t)s->entries[i].variable->dtype;
    if (i && !strcmp(s->keys[i - 1], s->keys[i]))
      hr_build_fail(b, HR_ERROR(INVALID_ARGUMENT, "two variables are to be saved as '%s'", s->keys[i]));
  }
}

static hr_value_t filename_input(hr_build_t* b) {
  static const char* const model = "model";
  hr_tensor_t t = {0};
  const hr_named_attr_t shape = hr_at_shape("shape", &hr_pshape_scalar);
  if (b->status) return HR_NO_VALUE;
  hr_build_fail(b, hr_tensor_from_str(hr_str(model), &t));
  hr_value_t name = b->status ? HR_NO_VALUE : hr_build_const(b, "filename/input", &t);
  hr_tensor_release(&t);
  name = hr_build(b, "PlaceholderWithDefault", "filename", HR_VALUES(name), 1, &shape);
  return hr_build(b, "PlaceholderWithDefault", "Const", HR_VALUES(name), 1, &shape);
}

static hr_node_t* save_to(hr_build_t* b, saver_t* s, hr_value_t prefix) {
  s->values[0] = prefix;
  s->values[1] = hr_build_strings(b, "SaveV2/tensor_names", s->keys, s->count);
  s->values[2] = hr_build_strings(b, "SaveV2/shape_and_slices", s->slices, s->count);
  for (int i = 0; i < s->count; ++i) {
    const HR_Variable* v = s->entries[i].variable;
    s->values[3 + i] = hr_capi_value(v->is_resource ? v->read : v->handle);
  }
  return hr_build(b, "SaveV2", NULL, s->count + 3, s->values, HR_ATTRS(hr_at_types("dtypes", s->types, s->count))).node;
}

/* `x` as the outcome of what `waits_for` does. */
static hr_value_t after(hr_build_t* b, const char* name, hr_value_t x, hr_node_t* const* waits_for, int count) {
  if (b->status) return HR_NO_VALUE;
  b->after = waits_for;
  b->after_count = count;
  hr_value_t v = hr_build1(b, "Identity", name, x);
  b->after_count = 0;
  return v;
}

static hr_value_t save_whole(hr_build_t* b, saver_t* s, hr_value_t prefix) {
  hr_node_t* saved = save_to(b, s, prefix);
  b->beside = prefix.node;
  hr_value_t v = after(b, "control_dependency", prefix, &saved, 1);
  b->beside = NULL;
  return v;
}

static hr_value_t temporary_prefix(hr_build_t* b, hr_value_t prefix) {
  static const char* const part = "_temp/part";
  hr_tensor_t t = {0};
  if (b->status) return HR_NO_VALUE;
  hr_build_fail(b, hr_tensor_from_str(hr_str(part), &t));
  hr_value_t suffix = b->status ? HR_NO_VALUE : hr_build_const(b, "Const_1", &t);
  hr_tensor_release(&t);
  hr_value_t both[] = {prefix, suffix};
  return hr_build(b, "StringJoin", NULL, 2, both, HR_ATTRS(hr_at_int("N", 2)));
}

static hr_value_t save_sharded(hr_build_t* b, saver_t* s, hr_value_t prefix) {
  hr_value_t base = temporary_prefix(b, prefix);
  hr_value_t shards = hr_build_number(b, "num_shards", HR_I32, 1), shard = hr_build_number(b, "ShardedFilename/shard", HR_I32, 0);
  hr_value_t name = hr_build(b, "ShardedFilename", NULL, HR_VALUES(base, shard, shards), HR_NO_ATTRS);
  hr_value_t part = save_whole(b, s, name);
  if (b->status) return HR_NO_VALUE;
  b->after = &part.node;
  b->after_count = 1;
  hr_value_t all = hr_build(b, "Pack", "MergeV2Checkpoints/checkpoint_prefixes", HR_VALUES(name), HR_ATTRS(hr_at_int("N", 1)));
  b->after_count = 0;
  hr_node_t* waits_for[] = {hr_build2(b, "MergeV2Checkpoints", NULL, all, prefix).node, part.node};
  return after(b, "Identity", prefix, waits_for, 2);
}

static void restore_one(hr_build_t* b, saver_t* s, int i, hr_value_t value) {
  const HR_Variable* v = s->entries[i].variable;
  if (v->is_resource) {
    s->done[i] = hr_client_assign(b, v, hr_build1(b, "Identity", NULL, value));
  } else {
    b->beside = hr_capi_node(v->handle.oper);
    s->done[i] = hr_client_assign(b, v, value);
    b->beside = NULL;
  }
}

static hr_node_t* restore_from(hr_build_t* b, saver_t* s, hr_value_t prefix, bool sharded) {
  hr_value_t names = hr_build_strings(b, "RestoreV2/tensor_names", s->keys, s->count);
  hr_value_t slices = hr_build_strings(b, "RestoreV2/shape_and_slices", s->slices, s->count);
  hr_value_t values = hr_build(b, "RestoreV2", NULL, HR_VALUES(prefix, names, slices), HR_ATTRS(hr_at_types("dtypes", s->types, s->count)));
  for (int i = 0; i < s->count && !b->status; ++i) restore_one(b, s, i, hr_emit_nth(values, i));
  if (b->status) return NULL;
  b->after = s->done;
  b->after_count = s->count;
  hr_node_t* all = hr_build_group(b, sharded ? "restore_shard" : "restore_all");
  b->after = &all;
  b->after_count = 1;
  if (sharded && !b->status) all = hr_build_group(b, "restore_all");
  b->after_count = 0;
  return all;
}

/* name, name_1... such that none of its nodes exists. */
static hr_str_t free_scope(hr_build_t* b, const char* name) {
  hr_str_t scope = HR_STR("");
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; !b->status && !scope.size; ++i) {
    text.size = 0;
    hr_strbuf_format(&text, i ? "%s_%d/Const" : "%s/Const", name, i);
    if (text.failed) hr_build_fail(b, hr_status_out_of_memory());
    else if (hr_graph_find(b->graph, hr_strbuf_view(&text))) continue;
    else if (!hr_arena_str(&b->graph->arena, hr_str_slice(hr_strbuf_view(&text), 0, text.size - strlen("/Const")), &scope))
      hr_build_fail(b, hr_status_out_of_memory());
  }
  hr_strbuf_deinit(&text);
  return scope;
}

void HR_BuildSaver(TF_Graph* graph, const char* name, const HR_Variable* variables, const char* const* names, int count, TF_Bool sharded,
                   HR_SaverNodes* out, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  saver_t s = {0};
  if (!b.status && !out) hr_build_fail(&b, hr_capi_null("the saver"));
  if (!b.status) hr_build_fail(&b, hr_capi_check_count(count, variables, "variables"));
  if (!b.status && !count) hr_build_fail(&b, HR_ERROR(INVALID_ARGUMENT, "a saver needs at least one variable"));
  if (!b.status) init_saver(&b, &s, variables, names, count);
  if (!b.status) b.scope = free_scope(&b, name && *name ? name : "save");
  if (!b.status) {
    hr_value_t prefix = filename_input(&b);
    hr_value_t save = b.status ? HR_NO_VALUE : (sharded ? save_sharded : save_whole)(&b, &s, prefix);
    hr_node_t* restore = b.status ? NULL : restore_from(&b, &s, prefix, sharded != 0);
    if (!b.status) *out = (HR_SaverNodes){hr_capi_to_output(prefix), hr_capi_to_output(save), hr_capi_to_operation(restore)};
  }
  deinit_saver(&s);
  hr_build_end(&b, status);
}

static hr_status_t run_saver(TF_Session* session, const HR_SaverNodes* saver, const char* prefix, bool saves) {
  if (!session) return hr_capi_null("the session");
  if (!saver || !saver->filename.oper || !saver->save.oper || !saver->restore) return hr_capi_null("the saver");
  if (!prefix) return hr_capi_null("the prefix");
  hr_tensor_t name = {0}, saved = {0};
  const hr_value_t feed = hr_capi_value(saver->filename), fetch = hr_capi_value(saver->save);
  hr_node_t* restore = hr_capi_node(saver->restore);
  hr_status_t status = hr_tensor_from_str(hr_str(prefix), &name);
  const hr_run_t run = {.feeds = &feed,
                        .feed_values = &name,
                        .feed_count = 1,
                        .fetches = &fetch,
                        .fetch_count = saves,
                        .targets = &restore,
                        .target_count = !saves};
  if (!status) status = hr_session_run(session->session, NULL, &run, &saved, NULL, NULL);
  hr_tensor_release(&saved);
  hr_tensor_release(&name);
  return status;
}

void HR_SaverSave(TF_Session* session, const HR_SaverNodes* saver, const char* prefix, TF_Status* status) {
  hr_capi_report(status, run_saver(session, saver, prefix, true));
}
void HR_SaverRestore(TF_Session* session, const HR_SaverNodes* saver, const char* prefix, TF_Status* status) {
  hr_capi_report(status, run_saver(session, saver, prefix, false));
}
