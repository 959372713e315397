/* SPDX-License-Identifier: Apache-2.0 */
/* Functions as clients hold them: the bytes of a FunctionDef and its name. A graph's library copies them. */
#include "capi/function.h"

#include "op/attr_value.h"

enum { FUNCTION_ATTR = 5, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

hr_status_t hr_capi_function_create(char* take_bytes, size_t size, TF_Function** out) {
  TF_Function* f = hr_alloc_zero(sizeof *f);
  hr_graph_t* scratch = NULL; /* reads and checks what a library would */
  hr_function_t* read = NULL;
  hr_status_t status = f ? hr_graph_create(&scratch) : hr_status_out_of_memory();
  if (!status) status = hr_function_add(scratch, take_bytes, size, &read);
  if (!status && !(f->name = hr_alloc_copy(read->name.data, read->name.size))) status = hr_status_out_of_memory();
  hr_graph_release(scratch);
  if (status) {
    hr_free(take_bytes);
    hr_free(f);
    return status;
  }
  f->bytes = take_bytes;
  f->size = size;
  *out = f;
  return NULL;
}

const char* TF_FunctionName(TF_Function* func) { return func ? func->name : ""; }

void TF_DeleteFunction(TF_Function* func) {
  if (!func) return;
  hr_free(func->name);
  hr_free(func->bytes);
  hr_free(func);
}

static hr_status_t function_copy_bytes(const void* data, size_t size, TF_Function** out) {
  char* copy = hr_alloc_copy(data ? data : "", data ? size : 0);
  return copy ? hr_capi_function_create(copy, data ? size : 0, out) : hr_status_out_of_memory();
}

TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t proto_len, TF_Status* status) {
  TF_Function* f = NULL;
  hr_capi_report(status, function_copy_bytes(proto, proto_len, &f));
  return f;
}

void TF_FunctionToFunctionDef(TF_Function* func, TF_Buffer* output_func_def, TF_Status* status) {
  hr_status_t outcome = func ? hr_capi_check_buffer(output_func_def) : hr_capi_null("the function");
  char* copy = outcome ? NULL : hr_alloc_copy(func->bytes, func->size);
  if (!outcome) outcome = copy ? hr_capi_fill_buffer(output_func_def, copy, func->size) : hr_status_out_of_memory();
  hr_capi_report(status, outcome);
}

/* --- attrs ------------------------------------------------------------------------------------------------------------------------- */
/* Everything but the entry of that name, then (with a value) a new one. */
static hr_status_t function_rewrite(const TF_Function* f, hr_str_t name, hr_str_t value, hr_writer_t* w) {
  hr_cursor_t c = hr_cursor_make(f->bytes, f->size), span;
  hr_field_t field;
  hr_str_t key;
  while (!hr_cursor_is_done(&c)) {
    const uint8_t* start = c.at;
    HR_TRY(hr_cursor_next(&c, &field));
    if (field.key == HR_KEY_SPAN(FUNCTION_ATTR)) {
      HR_TRY(hr_cursor_map_entry(field.span, &key, &span));
      if (hr_str_equal(key, name)) continue;
    }
    hr_strbuf_add(w, start, (size_t)(c.at - start));
  }
  hr_writer_mark_t mark = hr_writer_begin(w, FUNCTION_ATTR, name.size + value.size + 8);
  hr_writer_str(w, ENTRY_KEY, name);
  hr_writer_str(w, ENTRY_VALUE, value);
  hr_writer_end(w, mark, name.size + value.size + 8);
  return NULL;
}

static hr_status_t function_set_attr(TF_Function* f, const char* name, const void* proto, size_t size) {
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_attr_t value;
  hr_writer_t w;
  char* bytes = NULL;
  size_t total = 0;
  if (!f || !name) return hr_capi_null(f ? "the attr's name" : "the function");
  hr_arena_init(&arena);
  hr_strbuf_init(&w);
  hr_status_t status = hr_attr_value_decode(&arena, &keeper, hr_cursor_make(proto, proto ? size : 0), &value);
  if (!status) status = function_rewrite(f, hr_str(name), (hr_str_t){proto ? proto : "", proto ? size : 0}, &w);
  if (!status) status = hr_strbuf_take(&w, &bytes, &total);
  if (!status) {
    hr_free(f->bytes);
    f->bytes = bytes;
    f->size = total;
  }
  hr_strbuf_deinit(&w);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
  return status;
}

void TF_FunctionSetAttrValueProto(TF_Function* func, const char* attr_name, const void* proto, size_t proto_len, TF_Status* status) {
  hr_capi_report(status, function_set_attr(func, attr_name, proto, proto_len));
}

static hr_status_t function_get_attr(const TF_Function* f, const char* name, TF_Buffer* out) {
  hr_field_t field;
  hr_str_t key;
  hr_cursor_t value;
  if (!f || !name) return hr_capi_null(f ? "the attr's name" : "the function");
  HR_TRY(hr_capi_check_buffer(out));
  hr_cursor_t c = hr_cursor_make(f->bytes, f->size);
  while (!hr_cursor_is_done(&c)) {
    HR_TRY(hr_cursor_next(&c, &field));
    if (field.key != HR_KEY_SPAN(FUNCTION_ATTR)) continue;
    HR_TRY(hr_cursor_map_entry(field.span, &key, &value));
    if (!hr_str_is(key, name)) continue;
    char* copy = hr_alloc_copy(hr_cursor_str(value).data, hr_cursor_str(value).size);
    return copy ? hr_capi_fill_buffer(out, copy, hr_cursor_str(value).size) : hr_status_out_of_memory();
  }
  return HR_ERROR(INVALID_ARGUMENT, "function '%s' has no attr '%s'", f->name, name);
}

void TF_FunctionGetAttrValueProto(TF_Function* func, const char* attr_name, TF_Buffer* output_attr_value, TF_Status* status) {
  hr_capi_report(status, function_get_attr(func, attr_name, output_attr_value));
}

/* --- a graph's library --------------------------------------------------------------------------------------------------------------- */
static hr_function_t function_view(const TF_Function* f) {
  return (hr_function_t){.name = hr_str(f->name), .bytes = {f->bytes, f->size}, .gradient = HR_STR("")};
}

void TF_GraphCopyFunction(TF_Graph* g, const TF_Function* func, const TF_Function* grad, TF_Status* status) {
  hr_graph_t* graph = hr_capi_graph(g);
  if (!graph || !func) {
    hr_capi_report(status, hr_capi_null(graph ? "the function" : "the graph"));
    return;
  }
  hr_function_t function = function_view(func), gradient = grad ? function_view(grad) : function;
  hr_mutex_lock(&graph->mu);
  hr_status_t outcome = hr_function_copy(graph, &function, grad ? &gradient : NULL);
  hr_mutex_unlock(&graph->mu);
  hr_capi_report(status, outcome);
}

int TF_GraphNumFunctions(TF_Graph* g) {
  hr_graph_t* graph = hr_capi_graph(g);
  if (!graph) return 0;
  hr_mutex_lock(&graph->mu);
  int count = (int)graph->functions.count;
  hr_mutex_unlock(&graph->mu);
  return count;
}

int TF_GraphGetFunctions(TF_Graph* g, TF_Function** funcs, int max_func, TF_Status* status) {
  hr_graph_t* graph = hr_capi_graph(g);
  hr_status_t outcome = graph ? hr_capi_check_count(max_func, funcs, "functions") : hr_capi_null("the graph");
  int count = 0;
  if (!outcome) {
    hr_mutex_lock(&graph->mu);
    for (; !outcome && count < graph->functions.count && count < max_func; ++count)
      outcome = function_copy_bytes(graph->functions.data[count]->bytes.data, graph->functions.data[count]->bytes.size, &funcs[count]);
    hr_mutex_unlock(&graph->mu);
  }
  if (outcome) --count; /* the last one was not made */
  while (outcome && count > 0) TF_DeleteFunction(funcs[--count]);
  hr_capi_report(status, outcome);
  return outcome ? 0 : count;
}
