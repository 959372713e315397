/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigProto and RunOptions: the fields that mean something here, read from protobuf bytes. Fields that we do not know are skipped, as
 * protobuf asks. Rows name the field numbers; what a number means stands beside it. */
#include "session/session.h"
#include "wire/cursor.h"

void hr_session_options_init(hr_session_options_t* o) {
  *o = (hr_session_options_t){
      .constant_folding = true, .common_subexpressions = true, .fusion = true, .max_folded_bytes = (int64_t)10 << 20};
}

typedef hr_status_t (*field_fn_t)(void* target, const hr_field_t* f);

static hr_status_t each_field(hr_cursor_t c, field_fn_t fn, void* target) {
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    HR_TRY(fn(target, &f));
  }
  return NULL;
}

/* A proto3 default cannot be told from "not set", and do_common_subexpression_elimination and do_constant_folding are false by default
 * though opt_level L1, the default too, turns both on. So only L0 turns them off, and then the single switches count. */
typedef struct {
  int64_t level;
  bool cse, folding;
  int64_t max_folded;
} optimizer_fields_t;

static hr_status_t optimizer_field(void* target, const hr_field_t* f) {
  optimizer_fields_t* o = target;
  switch (f->key) {
    case HR_KEY_VARINT(1): o->cse = f->value != 0; break;
    case HR_KEY_VARINT(2): o->folding = f->value != 0; break;
    case HR_KEY_VARINT(3): o->level = (int64_t)f->value; break;
    case HR_KEY_VARINT(6): o->max_folded = (int64_t)f->value; break;
  }
  return NULL;
}

static hr_status_t decode_optimizer(hr_session_options_t* s, hr_cursor_t span) {
  optimizer_fields_t o = {.max_folded = s->max_folded_bytes};
  HR_TRY(each_field(span, optimizer_field, &o));
  s->opt_level = o.level < 0 ? -1 : 0;
  s->common_subexpressions = o.level >= 0 || o.cse;
  s->constant_folding = o.level >= 0 || o.folding;
  s->fusion = o.level >= 0;
  if (o.max_folded > 0) s->max_folded_bytes = o.max_folded;
  return NULL;
}

/* RewriterConfig toggles: 0 default, 1 on, 2 off; only "off" means something to passes that are on anyway. */
static hr_status_t rewriter_field(void* target, const hr_field_t* f) {
  hr_session_options_t* o = target;
  bool off = f->value == 2;
  switch (f->key) {
    case HR_KEY_VARINT(3): if (off) o->constant_folding = false; break;       /* constant_folding */
    case HR_KEY_VARINT(14): if (off) o->fusion = false; break;                /* remapping */
    case HR_KEY_VARINT(24): if (off) o->common_subexpressions = false; break; /* common_subgraph_elimination */
    case HR_KEY_VARINT(19): /* disable_meta_optimizer */
      if (f->value) o->constant_folding = o->common_subexpressions = o->fusion = false;
      break;
  }
  return NULL;
}

static hr_status_t graph_options_field(void* target, const hr_field_t* f) {
  if (f->key == HR_KEY_SPAN(3)) return decode_optimizer(target, f->span);
  if (f->key == HR_KEY_SPAN(10)) return each_field(f->span, rewriter_field, target);
  return NULL;
}

typedef struct {
  hr_str_t type;
  int64_t count;
} device_count_t;

static hr_status_t device_count_field(void* target, const hr_field_t* f) {
  device_count_t* d = target;
  if (f->key == HR_KEY_SPAN(1)) d->type = hr_cursor_str(f->span);
  if (f->key == HR_KEY_VARINT(2)) d->count = (int32_t)f->value;
  return NULL;
}

/* An entry of the map device_count. CPU 0 means one all the same: the client device. */
static hr_status_t decode_device_count(hr_session_options_t* o, hr_cursor_t span) {
  device_count_t d = {0};
  HR_TRY(each_field(span, device_count_field, &d));
  if (!hr_str_is(d.type, "CPU")) return NULL;
  if (d.count < 0 || d.count > HR_DEVICE_MOST_CPUS)
    return HR_ERROR(INVALID_ARGUMENT, "device_count of CPU is %lld; right would be 0 to %d", (long long)d.count, HR_DEVICE_MOST_CPUS);
  o->cpu_devices = (int32_t)d.count;
  return NULL;
}

static hr_status_t config_field(void* target, const hr_field_t* f) {
  hr_session_options_t* o = target;
  switch (f->key) {
    case HR_KEY_VARINT(2): o->intra_op_threads = (int32_t)f->value; break;
    case HR_KEY_VARINT(5): o->inter_op_threads = (int32_t)f->value; break;
    case HR_KEY_VARINT(7): o->allow_soft_placement = f->value != 0; break;
    case HR_KEY_VARINT(8): o->log_device_placement = f->value != 0; break;
    case HR_KEY_VARINT(11): o->timeout_ms = (int64_t)f->value; break;
    case HR_KEY_SPAN(1): return decode_device_count(o, f->span);
    case HR_KEY_SPAN(10): return each_field(f->span, graph_options_field, o);
  }
  return NULL;
}

hr_status_t hr_session_options_decode(hr_session_options_t* o, const void* data, size_t size) {
  hr_session_options_t decoded = *o;
  hr_status_t status = each_field(hr_cursor_make(data, size), config_field, &decoded);
  if (status) return hr_status_note(status, "session config: ");
  *o = decoded;
  return NULL;
}

static hr_status_t run_options_field(void* target, const hr_field_t* f) {
  hr_run_options_t* o = target;
  switch (f->key) {
    case HR_KEY_VARINT(1): o->trace_level = (int32_t)f->value; break;
    case HR_KEY_VARINT(2): o->timeout_ms = (int64_t)f->value; break;
    case HR_KEY_VARINT(5): o->output_partition_graphs = f->value != 0; break;
  }
  return NULL;
}

hr_status_t hr_run_options_decode(hr_run_options_t* o, const void* data, size_t size) {
  hr_run_options_t decoded = *o;
  hr_status_t status = each_field(hr_cursor_make(data, size), run_options_field, &decoded);
  if (status) return hr_status_note(status, "run options: ");
  *o = decoded;
  return NULL;
}
