/* SPDX-License-Identifier: Apache-2.0 */
/* LoggingRequest = 1 enable_rpc_logging, 2 clear, 3 fetch_step_id, 4 disable_rpc_logging. LoggingResponse = 1 step (LabeledStepStats = 1
 * step_id, 2 step_stats). StepStats = 1 dev_stats; DeviceStepStats = 1 device, 2 node_stats; NodeExecStats = 1 node_name, 2
 * all_start_micros, 3 op_start_rel_micros, 4 op_end_rel_micros, 5 all_end_rel_micros, 7 output, 8 timeline_label, 9 scheduled_micros. */
#include "dist/worker_log.h"
#include "base/alloc.h"
#include "dist/worker_state.h"

enum { NOTES_BYTES = 16 << 20 };

typedef struct {
  hr_writer_t notes; /* dev_stats, one for each note */
} log_step_t;

void hr_worker_log_init(hr_worker_log_t* log) {
  atomic_init(&log->is_on, false);
  hr_mutex_init(&log->mu);
  hr_map_init(&log->steps);
  log->bytes = 0;
}

static void clear_log(hr_worker_log_t* log) { /* mu is held, or nobody else is there */
  const hr_map_entry_t* e;
  for (int64_t i = 0; (e = hr_map_next(&log->steps, &i));) {
    log_step_t* s = (log_step_t*)e->value;
    hr_strbuf_deinit(&s->notes);
    hr_free(s);
  }
  hr_map_deinit(&log->steps);
  hr_map_init(&log->steps);
  log->bytes = 0;
}

void hr_worker_log_deinit(hr_worker_log_t* log) {
  clear_log(log);
  hr_map_deinit(&log->steps);
  hr_mutex_deinit(&log->mu);
}

static hr_status_t find_step(hr_worker_log_t* log, int64_t id, log_step_t** out) {
  uintptr_t found;
  if (hr_map_find_ptr(&log->steps, (const void*)(uintptr_t)id, &found)) {
    *out = (log_step_t*)found;
    return NULL;
  }
  log_step_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  hr_strbuf_init(&s->notes);
  hr_status_t status = hr_map_set_ptr(&log->steps, (const void*)(uintptr_t)id, (uintptr_t)s);
  if (status) hr_free(s);
  else *out = s;
  return status;
}

static void write_size(hr_writer_t* w, int64_t bytes) { /* NodeOutput = 3 tensor_description; its 4 allocation_description; its 1, 2 */
  hr_writer_mark_t output = hr_writer_begin(w, 7, 32);
  hr_writer_mark_t description = hr_writer_begin(w, 3, 32);
  hr_writer_mark_t allocation = hr_writer_begin(w, 4, 16);
  hr_writer_i64(w, 1, bytes);
  hr_writer_i64(w, 2, bytes);
  hr_writer_end(w, allocation, 16);
  hr_writer_end(w, description, 32);
  hr_writer_end(w, output, 32);
}

static void write_note(hr_writer_t* w, const hr_rendezvous_key_t* key, int64_t bytes, int64_t start_us, int64_t end_us) {
  hr_strbuf_t label;
  hr_strbuf_init(&label);
  hr_strbuf_format(&label, "[%lldB] %.*s from %.*s to %.*s", (long long)bytes, HR_STR_ARG(key->edge), HR_STR_ARG(key->source),
                   HR_STR_ARG(key->destination));
  hr_writer_mark_t device = hr_writer_begin(w, 1, 300);
  hr_writer_str(w, 1, key->destination);
  hr_writer_mark_t node = hr_writer_begin(w, 2, 200);
  hr_writer_str(w, 1, HR_STR("RecvTensor"));
  hr_writer_i64(w, 2, start_us);
  hr_writer_i64(w, 3, 0);
  hr_writer_i64(w, 4, end_us - start_us);
  hr_writer_i64(w, 5, end_us - start_us);
  write_size(w, bytes);
  hr_writer_str(w, 8, hr_strbuf_view(&label));
  hr_writer_i64(w, 9, start_us);
  hr_writer_end(w, node, 200);
  hr_writer_end(w, device, 300);
  hr_strbuf_deinit(&label);
}

void hr_worker_log_add(hr_worker_log_t* log, int64_t step_id, const char* key, int64_t bytes, int64_t start_us, int64_t end_us) {
  if (!atomic_load_explicit(&log->is_on, memory_order_relaxed)) return;
  hr_rendezvous_key_t parsed;
  log_step_t* s = NULL;
  hr_status_t status = hr_rendezvous_key_parse(hr_str(key), &parsed);
  hr_mutex_lock(&log->mu);
  if (!status && log->bytes < NOTES_BYTES) status = find_step(log, step_id, &s);
  else if (!status) status = hr_status_out_of_memory();
  if (!status) {
    const size_t before = s->notes.size;
    write_note(&s->notes, &parsed, bytes, start_us, end_us);
    log->bytes += s->notes.size - before;
  }
  hr_mutex_unlock(&log->mu);
  hr_status_release(status); /* a note less */
}

/* --- the method ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  bool enable, disable, clear;
  HR_VEC(int64_t) steps;
} logging_request_t;

static hr_status_t read_steps(hr_cursor_t packed, logging_request_t* q) {
  while (!hr_cursor_is_done(&packed)) {
    uint64_t id;
    HR_TRY(hr_cursor_varint(&packed, &id));
    HR_TRY(hr_vec_push(&q->steps, (int64_t)id));
  }
  return NULL;
}

static hr_status_t read_logging(hr_cursor_t c, logging_request_t* q) {
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_VARINT(1): q->enable = f.value != 0; break;
      case HR_KEY_VARINT(2): q->clear = f.value != 0; break;
      case HR_KEY_VARINT(3): HR_TRY(hr_vec_push(&q->steps, (int64_t)f.value)); break;
      case HR_KEY_SPAN(3): HR_TRY(read_steps(f.span, q)); break;
      case HR_KEY_VARINT(4): q->disable = f.value != 0; break;
    }
  }
  return NULL;
}

/* A step that is asked for is told and let go, as often as it is named: the answer is never larger than the notes. */
static void tell_step(hr_worker_log_t* log, int64_t id, hr_writer_t* w) {
  uintptr_t found;
  if (!hr_map_find_ptr(&log->steps, (const void*)(uintptr_t)id, &found)) return;
  log_step_t* s = (log_step_t*)found;
  hr_map_remove_ptr(&log->steps, (const void*)(uintptr_t)id);
  log->bytes -= s->notes.size;
  hr_writer_mark_t step = hr_writer_begin(w, 1, s->notes.size + 32);
  hr_writer_i64(w, 1, id);
  hr_writer_str(w, 2, hr_strbuf_view(&s->notes));
  hr_writer_end(w, step, s->notes.size + 32);
  hr_strbuf_deinit(&s->notes);
  hr_free(s);
}

void hr_worker_logging(hr_worker_op_t* op) {
  hr_worker_log_t* log = &op->w->log;
  logging_request_t q = {0};
  hr_strbuf_t scratch;
  hr_writer_t answer;
  hr_cursor_t c;
  hr_strbuf_init(&scratch);
  hr_strbuf_init(&answer);
  hr_status_t status = hr_message_reader_flat(hr_message_reader_make(&op->call->request), &scratch, &c);
  if (!status) status = read_logging(c, &q);
  if (!status) {
    hr_mutex_lock(&log->mu);
    if (q.enable) atomic_store(&log->is_on, true);
    if (q.disable) atomic_store(&log->is_on, false);
    for (int64_t i = 0; i < q.steps.count; ++i) tell_step(log, q.steps.data[i], &answer);
    if (q.clear) clear_log(log);
    hr_mutex_unlock(&log->mu);
  }
  hr_vec_deinit(&q.steps);
  hr_strbuf_deinit(&scratch);
  if (!status) hr_worker_finish_bytes(op, &answer);
  else {
    hr_strbuf_deinit(&answer);
    hr_worker_finish(op, status, NULL);
  }
}
