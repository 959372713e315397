/* SPDX-License-Identifier: Apache-2.0 */
/* RunMetadata = 1 step_stats (StepStats = 1 dev_stats), 3 partition_graphs. DeviceStepStats = 1 device, 2 node_stats. NodeExecStats = 1
 * name, 2 start (microseconds of wall time), 3 and 4 operation start and end, 5 end (relative), 7 outputs, 8 label, 9 scheduled, 10 thread;
 * 13 to 17 the same times in nanoseconds. */
#include "session/metadata.h"
#include "base/clock.h"
#include "base/alloc.h"
#include "graph/import.h"
#include "op/kernel_ctx.h"
#include "wire/shape_proto.h"

static const char device_name[] = "/job:localhost/replica:0/task:0/device:CPU:0";

static void write_output(hr_writer_t* w, int32_t slot, const hr_tensor_t* t) {
  hr_writer_mark_t output = hr_writer_begin(w, 7, 32);
  hr_writer_i64(w, 1, slot);
  hr_writer_mark_t description = hr_writer_begin(w, 3, 32);
  hr_writer_i64(w, 1, (int64_t)t->dtype);
  hr_writer_mark_t shape = hr_writer_begin(w, 2, 16);
  hr_shape_proto_encode(&t->shape, w);
  hr_writer_end(w, shape, 16);
  hr_writer_mark_t allocation = hr_writer_begin(w, 4, 16);
  hr_writer_i64(w, 1, (int64_t)hr_tensor_bytes(t));
  hr_writer_i64(w, 2, (int64_t)hr_tensor_bytes(t));
  hr_writer_str(w, 3, HR_STR("cpu"));
  hr_writer_end(w, allocation, 16);
  hr_writer_end(w, description, 32);
  hr_writer_end(w, output, 32);
}

static void node_done(hr_observer_t* self, const hr_site_t* site, const hr_slot_t* slots, int64_t start_ns, int64_t end_ns,
                      hr_status_t status) {
  hr_metadata_t* m = (hr_metadata_t*)self;
  hr_writer_t* w = &m->nodes;
  int64_t start = start_ns + m->wall_offset_ns, span = end_ns - start_ns;
  hr_writer_mark_t node = hr_writer_begin(w, 2, 160);
  hr_writer_str(w, 1, hr_str(site->node_name));
  hr_writer_i64(w, 2, start / 1000);
  hr_writer_i64(w, 3, 0);
  hr_writer_i64(w, 4, span / 1000);
  hr_writer_i64(w, 5, span / 1000);
  for (int32_t i = 0; !status && i < site->out_count; ++i)
    if (site->out[i] >= 0 && slots[site->out[i]].value.buffer) write_output(w, i, &slots[site->out[i]].value);
  hr_strbuf_t label;
  hr_strbuf_init(&label);
  hr_strbuf_format(&label, "%s = %s()", site->node_name, site->op_name);
  hr_writer_str(w, 8, hr_strbuf_view(&label));
  hr_strbuf_deinit(&label);
  hr_writer_i64(w, 9, start / 1000);
  hr_writer_i64(w, 13, start);
  hr_writer_i64(w, 14, 0);
  hr_writer_i64(w, 15, span);
  hr_writer_i64(w, 16, span);
  hr_writer_i64(w, 17, start);
  hr_writer_end(w, node, 160);
  m->watched = true;
}

void hr_metadata_init(hr_metadata_t* m) {
  m->observer.node_done = node_done;
  hr_strbuf_init(&m->nodes);
  hr_writer_str(&m->nodes, 1, HR_STR(device_name));
  m->wall_offset_ns = hr_clock_wall_ns() - hr_clock_now_ns();
  m->watched = false;
}

void hr_metadata_deinit(hr_metadata_t* m) { hr_strbuf_deinit(&m->nodes); }

static hr_status_t write_graph(hr_writer_t* w, const hr_program_t* p) {
  size_t expected = 128 * (size_t)p->live_count;
  hr_writer_mark_t graph = hr_writer_begin(w, 3, expected);
  for (int64_t i = 0; i < p->live_count; ++i) {
    char* data = NULL;
    size_t size = 0;
    HR_TRY(hr_export_node_def(p->live[i], &data, &size));
    hr_writer_bytes(w, 1, data, size);
    hr_free(data);
  }
  hr_writer_mark_t versions = hr_writer_begin(w, 4, 8);
  hr_writer_i64(w, 1, p->graph->producer);
  hr_writer_i64(w, 2, p->graph->min_consumer);
  hr_writer_end(w, versions, 8);
  hr_writer_end(w, graph, expected);
  return NULL;
}

hr_status_t hr_metadata_take(hr_metadata_t* m, const hr_program_t* p, bool partition_graphs, char** out_data, size_t* out_size) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_status_t status = m->nodes.failed ? hr_status_out_of_memory() : NULL;
  if (m->watched) {
    size_t size = m->nodes.size;
    hr_writer_mark_t stats = hr_writer_begin(&w, 1, size + 8);
    hr_writer_bytes(&w, 1, m->nodes.data, size);
    hr_writer_end(&w, stats, size + 8);
  }
  if (!status && partition_graphs) status = write_graph(&w, p);
  if (!status) status = hr_strbuf_take(&w, out_data, out_size);
  hr_strbuf_deinit(&w);
  return status;
}
