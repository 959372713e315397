/* SPDX-License-Identifier: Apache-2.0 */
/* Reading SavedModels, field by field from the bytes: models of any size, and nothing is decoded that is not needed. */
#include "session/saved_model.h"

#include "base/file.h"
#include "wire/text.h"

enum { MODEL_META_GRAPH = 2 };
enum { META_INFO = 1, META_GRAPH_DEF = 2, META_SAVER = 3, META_COLLECTION = 4, META_SIGNATURE = 5, META_ASSET = 6, INFO_TAG = 4 };
enum { SAVER_FILENAME = 1, SAVER_RESTORE = 3 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, SIGNATURE_OUTPUT = 2, TENSOR_NAME = 1, ASSET_TENSOR = 1, ASSET_FILE = 2 };
enum { COLLECTION_NODES = 1, COLLECTION_ANYS = 5, LIST_VALUE = 1, ANY_VALUE = 2 };

/* --- fields -------------------------------------------------------------------------------------------------------------------------- */
static const hr_cursor_t nothing = {NULL, NULL, NULL};

/* The last span with that number; empty when there is none. */
static hr_status_t model_span(hr_cursor_t message, uint32_t number, hr_cursor_t* out) {
  hr_field_t field;
  *out = nothing;
  while (!hr_cursor_is_done(&message)) {
    HR_TRY(hr_cursor_next(&message, &field));
    if (field.key == HR_KEY_SPAN(number)) *out = field.span;
  }
  return NULL;
}

/* The value of a map's entry; empty when there is none. */
static hr_status_t model_entry(hr_cursor_t message, uint32_t number, const char* key, hr_cursor_t* out) {
  hr_field_t field;
  hr_cursor_t name;
  *out = nothing;
  while (!hr_cursor_is_done(&message)) {
    HR_TRY(hr_cursor_next(&message, &field));
    if (field.key != HR_KEY_SPAN(number)) continue;
    HR_TRY(model_span(field.span, ENTRY_KEY, &name));
    if (hr_str_is(hr_cursor_str(name), key)) return model_span(field.span, ENTRY_VALUE, out);
  }
  return NULL;
}

/* --- opening ------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t model_path(const char* dir, const char* rest, char** out) {
  hr_strbuf_t text;
  size_t size;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s/%s", dir, rest);
  hr_status_t status = hr_strbuf_take(&text, out, &size);
  hr_strbuf_deinit(&text);
  return status;
}

static hr_status_t model_read_text(const char* path, hr_saved_model_t* m) {
  hr_writer_t w;
  char* text = NULL;
  size_t size = 0;
  hr_strbuf_init(&w);
  hr_status_t status = hr_file_read(path, &text, &size);
  if (!status) status = hr_text_parse(hr_messages_find(HR_STR("SavedModel")), (hr_str_t){text, size}, &w);
  if (!status) status = hr_strbuf_take(&w, &m->bytes, &m->size);
  hr_strbuf_deinit(&w);
  hr_free(text);
  return status;
}

static hr_status_t model_read(hr_saved_model_t* m) {
  char *binary = NULL, *text = NULL;
  hr_status_t status = model_path(m->dir, "saved_model.pb", &binary);
  if (!status) status = model_path(m->dir, "saved_model.pbtxt", &text);
  if (!status && hr_file_exists(binary))
    status = hr_file_read(binary, &m->bytes, &m->size);
  else if (!status && hr_file_exists(text))
    status = model_read_text(text, m);
  else if (!status)
    status = HR_ERROR(NOT_FOUND, "there is no saved_model.pb or saved_model.pbtxt in '%s'", m->dir);
  hr_free(binary);
  hr_free(text);
  return status;
}

static int model_distinct_tags(const char* const* tags, int tag_count) {
  int count = 0;
  for (int i = 0; i < tag_count; ++i) {
    int j = 0;
    while (strcmp(tags[j], tags[i])) ++j;
    count += j == i;
  }
  return count;
}

static hr_status_t model_tags_agree(hr_cursor_t meta_graph, const char* const* tags, int tag_count, bool* out) {
  hr_cursor_t info;
  hr_field_t field;
  uint64_t met = 0;
  int count = 0;
  *out = false;
  HR_TRY(model_span(meta_graph, META_INFO, &info));
  while (!hr_cursor_is_done(&info)) {
    HR_TRY(hr_cursor_next(&info, &field));
    if (field.key != HR_KEY_SPAN(INFO_TAG)) continue;
    int i = 0;
    while (i < tag_count && !hr_str_is(hr_cursor_str(field.span), tags[i])) ++i;
    if (i == tag_count) return NULL;
    if (!(met >> i & 1)) ++count;
    met |= UINT64_C(1) << i;
  }
  *out = count == model_distinct_tags(tags, tag_count);
  return NULL;
}

static hr_status_t model_no_match(const hr_saved_model_t* m, const char* const* tags, int tag_count) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; i < tag_count; ++i) hr_strbuf_format(&text, "%s%s", i ? ", " : "", tags[i]);
  hr_status_t status =
      HR_ERROR(NOT_FOUND, "no MetaGraphDef in '%s' has exactly the tags { %.*s }", m->dir, HR_STR_ARG(hr_strbuf_view(&text)));
  hr_strbuf_deinit(&text);
  return status;
}

static hr_status_t model_find(hr_saved_model_t* m, const char* const* tags, int tag_count) {
  hr_cursor_t c = hr_cursor_make(m->bytes, m->size);
  hr_field_t field;
  bool agree;
  if (tag_count > 64) return HR_ERROR(INVALID_ARGUMENT, "%d tags are given, 64 can be", tag_count);
  for (int i = 0; i < tag_count; ++i)
    if (!tags[i]) return HR_ERROR(INVALID_ARGUMENT, "tag %d is NULL", i);
  while (!hr_cursor_is_done(&c)) {
    HR_TRY(hr_cursor_next(&c, &field));
    if (field.key != HR_KEY_SPAN(MODEL_META_GRAPH)) continue;
    HR_TRY(model_tags_agree(field.span, tags, tag_count, &agree));
    if (!agree) continue;
    m->meta_graph = field.span;
    HR_TRY(model_span(m->meta_graph, META_GRAPH_DEF, &m->graph_def));
    return model_span(m->meta_graph, META_SAVER, &m->saver_def);
  }
  return model_no_match(m, tags, tag_count);
}

hr_status_t hr_saved_model_open(const char* dir, const char* const* tags, int tag_count, hr_saved_model_t* out) {
  *out = (hr_saved_model_t){0};
  out->dir = hr_alloc_copy(dir, strlen(dir));
  hr_status_t status = out->dir ? model_read(out) : hr_status_out_of_memory();
  if (!status) status = model_find(out, tags, tag_count);
  if (status) hr_saved_model_deinit(out);
  return status;
}

void hr_saved_model_deinit(hr_saved_model_t* m) {
  hr_free(m->dir);
  hr_free(m->bytes);
  *m = (hr_saved_model_t){0};
}

/* --- restoring ----------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  const hr_saved_model_t* m;
  hr_session_t* s;
  const hr_run_options_t* options;
  HR_VEC(hr_value_t) feeds;
  HR_VEC(hr_tensor_t) values;
} restore_t;

static hr_status_t restore_find_node(restore_t* r, hr_str_t name, hr_node_t** out) {
  hr_graph_t* g = hr_session_graph(r->s);
  int64_t colon = hr_str_find(name, ':');
  if (colon >= 0) name = hr_str_slice(name, 0, (size_t)colon);
  hr_mutex_lock(&g->mu);
  *out = hr_graph_find(g, name);
  hr_mutex_unlock(&g->mu);
  return *out ? NULL : HR_ERROR(NOT_FOUND, "the saved model names the node '%.*s', which its graph has not", HR_STR_ARG(name));
}

static hr_status_t restore_feed(restore_t* r, hr_str_t tensor, const char* text) {
  hr_value_t v = HR_NO_VALUE;
  hr_tensor_t value;
  int64_t index = 0, colon = hr_str_find(tensor, ':');
  HR_TRY(restore_find_node(r, tensor, &v.node));
  if (colon >= 0 && !hr_str_parse_i64(hr_str_slice(tensor, (size_t)colon + 1, tensor.size), &index)) index = -1;
  if (index < 0 || index >= v.node->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "the saved model names no endpoint: '%.*s'", HR_STR_ARG(tensor));
  v.index = (int32_t)index;
  HR_TRY(hr_vec_push(&r->feeds, v));
  HR_TRY(hr_tensor_from_str(hr_str(text), &value));
  hr_status_t status = hr_vec_push(&r->values, value);
  if (status) hr_tensor_release(&value);
  return status;
}

static hr_status_t restore_add_asset(restore_t* r, hr_cursor_t asset) {
  hr_cursor_t tensor, name, file;
  hr_strbuf_t path;
  HR_TRY(model_span(asset, ASSET_TENSOR, &tensor));
  HR_TRY(model_span(tensor, TENSOR_NAME, &name));
  HR_TRY(model_span(asset, ASSET_FILE, &file));
  hr_strbuf_init(&path);
  hr_strbuf_format(&path, "%s/assets/%.*s", r->m->dir, HR_STR_ARG(hr_cursor_str(file)));
  hr_status_t status = path.failed ? hr_status_out_of_memory() : restore_feed(r, hr_cursor_str(name), path.data);
  hr_strbuf_deinit(&path);
  return status;
}

/* asset_file_def, else the collection that older writers used. */
static hr_status_t restore_add_assets(restore_t* r) {
  hr_cursor_t c = r->m->meta_graph, collection, anys, value;
  hr_field_t field;
  int found = 0;
  while (!hr_cursor_is_done(&c)) {
    HR_TRY(hr_cursor_next(&c, &field));
    if (field.key != HR_KEY_SPAN(META_ASSET)) continue;
    HR_TRY(restore_add_asset(r, field.span));
    ++found;
  }
  if (found) return NULL;
  HR_TRY(model_entry(r->m->meta_graph, META_COLLECTION, "saved_model_assets", &collection));
  HR_TRY(model_span(collection, COLLECTION_ANYS, &anys));
  while (!hr_cursor_is_done(&anys)) {
    HR_TRY(hr_cursor_next(&anys, &field));
    if (field.key != HR_KEY_SPAN(LIST_VALUE)) continue;
    HR_TRY(model_span(field.span, ANY_VALUE, &value));
    HR_TRY(restore_add_asset(r, value));
  }
  return NULL;
}

static hr_status_t restore_run(restore_t* r, hr_str_t op) {
  hr_node_t* target;
  HR_TRY(restore_find_node(r, op, &target));
  hr_run_t run = {
      .feeds = r->feeds.data, .feed_values = r->values.data, .feed_count = (int32_t)r->feeds.count, .targets = &target, .target_count = 1};
  return hr_session_run(r->s, r->options, &run, NULL, NULL, NULL);
}

static hr_status_t restore_variables(restore_t* r) {
  hr_cursor_t filename, op;
  char *index = NULL, *prefix = NULL;
  HR_TRY(model_span(r->m->saver_def, SAVER_FILENAME, &filename));
  HR_TRY(model_span(r->m->saver_def, SAVER_RESTORE, &op));
  if (hr_cursor_is_done(&op)) return NULL;
  hr_status_t status = model_path(r->m->dir, "variables/variables.index", &index);
  if (!status) status = model_path(r->m->dir, "variables/variables", &prefix);
  if (!status && hr_file_exists(index)) { /* without one the model has no variables */
    status = restore_feed(r, hr_cursor_str(filename), prefix);
    if (!status) status = restore_run(r, hr_cursor_str(op));
    if (!status) hr_tensor_release(&r->values.data[--r->values.count]);
    if (!status) --r->feeds.count;
  }
  hr_free(index);
  hr_free(prefix);
  return status;
}

static hr_status_t restore_find_init(const restore_t* r, hr_str_t* out) {
  static const char* const collections[] = {"saved_model_main_op", "legacy_init_op"};
  hr_cursor_t found, nodes, name;
  hr_field_t field;
  *out = HR_STR("");
  HR_TRY(model_entry(r->m->meta_graph, META_SIGNATURE, "__saved_model_init_op", &found));
  HR_TRY(model_entry(found, SIGNATURE_OUTPUT, "__saved_model_init_op", &found));
  HR_TRY(model_span(found, TENSOR_NAME, &name));
  *out = hr_cursor_str(name);
  for (int i = 0; i < 2 && !out->size; ++i) {
    int count = 0;
    HR_TRY(model_entry(r->m->meta_graph, META_COLLECTION, collections[i], &found));
    HR_TRY(model_span(found, COLLECTION_NODES, &nodes));
    while (!hr_cursor_is_done(&nodes)) {
      HR_TRY(hr_cursor_next(&nodes, &field));
      if (field.key != HR_KEY_SPAN(LIST_VALUE)) continue;
      *out = hr_cursor_str(field.span);
      ++count;
    }
    if (count > 1) return HR_ERROR(FAILED_PRECONDITION, "collection '%s' names %d operations, it should name one", collections[i], count);
  }
  return NULL;
}

hr_status_t hr_saved_model_restore(const hr_saved_model_t* m, hr_session_t* s, const hr_run_options_t* options) {
  restore_t r = {.m = m, .s = s, .options = options};
  hr_str_t init = HR_STR("");
  hr_status_t status = restore_add_assets(&r);
  if (!status) status = restore_variables(&r);
  if (!status) status = restore_find_init(&r, &init);
  if (!status && init.size) status = restore_run(&r, init);
  for (int64_t i = 0; i < r.values.count; ++i) hr_tensor_release(&r.values.data[i]);
  hr_vec_deinit(&r.values);
  hr_vec_deinit(&r.feeds);
  return status;
}
