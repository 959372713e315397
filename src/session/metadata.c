/* SPDX-License-Identifier: Apache-2.0 */
/* RunMetadata = 1 step_stats (StepStats = 1 dev_stats), 3 partition_graphs. DeviceStepStats = 1 device, 2 node_stats. NodeExecStats = 1
 * name, 2 start (microseconds of wall time), 3 and 4 operation start and end, 5 end (relative), 7 outputs, 8 label, 9 scheduled, 10 thread;
 * 13 to 17 the same times in nanoseconds. */
#include "session/metadata.h"
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/alloc.h"
#include "graph/import.h"
#include "op/kernel_ctx.h"
#include "wire/shape_proto.h"

struct hr_metadata_part {
  hr_observer_t observer; /* first */
  hr_metadata_t* all;
  hr_metadata_part_t* next;
  const char* device;
  hr_writer_t nodes;      /* its DeviceStepStats */
};

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
  hr_metadata_part_t* part = (hr_metadata_part_t*)self;
  hr_writer_t* w = &part->nodes;
  int64_t start = start_ns + part->all->wall_offset_ns, span = end_ns - start_ns;
  hr_mutex_lock(&part->all->mu);
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
  hr_writer_i64(w, 10, (int64_t)syscall(SYS_gettid)); /* where it ended, which is where it ran but for kernels that wait */
  hr_writer_i64(w, 13, start);
  hr_writer_i64(w, 14, 0);
  hr_writer_i64(w, 15, span);
  hr_writer_i64(w, 16, span);
  hr_writer_i64(w, 17, start);
  hr_writer_end(w, node, 160);
  hr_mutex_unlock(&part->all->mu);
}

/* --- parts ---------------------------------------------------------------------------------------------------------------------------- */

static hr_metadata_part_t* part_create(hr_metadata_t* m, const char* device) {
  hr_metadata_part_t* part = hr_alloc_zero(sizeof *part);
  if (!part) return NULL;
  *part = (hr_metadata_part_t){.observer.node_done = node_done, .all = m, .next = m->parts, .device = device};
  hr_strbuf_init(&part->nodes);
  hr_writer_str(&part->nodes, 1, hr_str(device));
  return m->parts = part;
}

static hr_observer_t* get_part(hr_observer_t* self, const char* device) {
  hr_metadata_t* m = (hr_metadata_t*)self;
  hr_mutex_lock(&m->mu);
  hr_metadata_part_t* part = m->parts;
  while (part && strcmp(part->device, device) != 0) part = part->next;
  if (!part) part = part_create(m, device);
  hr_mutex_unlock(&m->mu);
  return part ? &part->observer : NULL;
}

static void add_stats(hr_observer_t* self, const void* data, size_t size) {
  hr_metadata_t* m = (hr_metadata_t*)self;
  hr_mutex_lock(&m->mu);
  hr_strbuf_add(&m->stats, data, size);
  hr_mutex_unlock(&m->mu);
}

static void add_graph(hr_observer_t* self, const void* data, size_t size) {
  hr_metadata_t* m = (hr_metadata_t*)self;
  hr_mutex_lock(&m->mu);
  hr_writer_bytes(&m->graphs, 3, data, size);
  hr_mutex_unlock(&m->mu);
}

void hr_metadata_init(hr_metadata_t* m) {
  *m = (hr_metadata_t){.observer = {.part = get_part, .add_stats = add_stats, .add_graph = add_graph}};
  hr_mutex_init(&m->mu);
  hr_strbuf_init(&m->stats);
  hr_strbuf_init(&m->graphs);
  m->wall_offset_ns = hr_clock_wall_ns() - hr_clock_now_ns();
}

void hr_metadata_deinit(hr_metadata_t* m) {
  for (hr_metadata_part_t *part = m->parts, *next; part; part = next) {
    next = part->next;
    hr_strbuf_deinit(&part->nodes);
    hr_free(part);
  }
  hr_strbuf_deinit(&m->stats);
  hr_strbuf_deinit(&m->graphs);
  hr_mutex_deinit(&m->mu);
}

/* --- the message ---------------------------------------------------------------------------------------------------------------------- */

hr_status_t hr_metadata_write_graph(hr_writer_t* w, const hr_graph_t* graph, hr_node_t* const* nodes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    char* data = NULL;
    size_t size = 0;
    HR_TRY(hr_export_node_def(nodes[i], &data, &size));
    hr_writer_bytes(w, 1, data, size);
    hr_free(data);
  }
  hr_writer_mark_t versions = hr_writer_begin(w, 4, 8);
  hr_writer_i64(w, 1, graph->producer);
  hr_writer_i64(w, 2, graph->min_consumer);
  hr_writer_end(w, versions, 8);
  return w->failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t write_part(hr_writer_t* w, const hr_graph_t* graph, hr_node_t* const* nodes, int64_t count) {
  const size_t expected = 128 * (size_t)count;
  hr_writer_mark_t mark = hr_writer_begin(w, 3, expected);
  HR_TRY(hr_metadata_write_graph(w, graph, nodes, count));
  hr_writer_end(w, mark, expected);
  return NULL;
}

static hr_status_t write_graphs(hr_writer_t* w, const hr_metadata_t* m, const hr_runner_t* runner) {
  const hr_program_t* p = &runner->program;
  const hr_partition_t* parts = &runner->partition;
  hr_strbuf_add(w, m->graphs.data, m->graphs.size);
  if (m->graphs.size > 0) return m->graphs.failed ? hr_status_out_of_memory() : NULL;
  if (parts->count == 0) return write_part(w, p->graph, p->live, p->live_count);
  for (int32_t i = 0; i < parts->count; ++i) HR_TRY(write_part(w, p->graph, parts->parts[i].nodes, parts->parts[i].node_count));
  return NULL;
}

hr_status_t hr_metadata_write_stats(hr_metadata_t* m, hr_writer_t* w) {
  bool failed = m->stats.failed;
  for (const hr_metadata_part_t* part = m->parts; part; part = part->next) {
    failed |= part->nodes.failed;
    hr_writer_bytes(w, 1, part->nodes.data, part->nodes.size);
  }
  hr_strbuf_add(w, m->stats.data, m->stats.size);
  return failed || w->failed ? hr_status_out_of_memory() : NULL;
}

hr_status_t hr_metadata_take(hr_metadata_t* m, const hr_runner_t* runner, char** out_data, size_t* out_size) {
  hr_writer_t w;
  hr_status_t status = NULL;
  hr_strbuf_init(&w);
  if (m->parts || m->stats.size > 0) {
    size_t expected = m->stats.size + 8;
    for (const hr_metadata_part_t* part = m->parts; part; part = part->next) expected += part->nodes.size + 8;
    hr_writer_mark_t stats = hr_writer_begin(&w, 1, expected);
    status = hr_metadata_write_stats(m, &w);
    hr_writer_end(&w, stats, expected);
  }
  if (!status && runner) status = write_graphs(&w, m, runner);
  if (!status) status = hr_strbuf_take(&w, out_data, out_size);
  hr_strbuf_deinit(&w);
  return status;
}
