/* SPDX-License-Identifier: Apache-2.0 */
/* A guard in front of protobuf-c: structure and depth are checked with our cursor, allocation is counted against a budget.
 * The names that can be asked for are rows. */
#include "wire/messages.h"
#include <stdlib.h>
#include "base/alloc.h"
#include "checkpoint_state.pb-c.h"
#include "config.pb-c.h"
#include "cost_graph.pb-c.h"
#include "event.pb-c.h"
#include "example.pb-c.h"
#include "fingerprint.pb-c.h"
#include "kernel_def.pb-c.h"
#include "saved_model.pb-c.h"
#include "saved_tensor_slice.pb-c.h"
#include "step_stats.pb-c.h"
#include "tensor_bundle.pb-c.h"
#include "tensorflow_server.pb-c.h"
#include "variable.pb-c.h"

static const ProtobufCMessageDescriptor* const message_types[] = {
  &tensorflow__attr_value__descriptor,
  &tensorflow__bundle_entry_proto__descriptor,
  &tensorflow__bundle_header_proto__descriptor,
  &tensorflow__checkpoint_state__descriptor,
  &tensorflow__cluster_def__descriptor,
  &tensorflow__config_proto__descriptor,
  &tensorflow__cost_graph_def__descriptor,
  &tensorflow__event__descriptor,
  &tensorflow__example__descriptor,
  &tensorflow__fingerprint_def__descriptor,
  &tensorflow__function_def__descriptor,
  &tensorflow__function_def_library__descriptor,
  &tensorflow__graph_def__descriptor,
  &tensorflow__kernel_list__descriptor,
  &tensorflow__meta_graph_def__descriptor,
  &tensorflow__node_def__descriptor,
  &tensorflow__op_def__descriptor,
  &tensorflow__op_list__descriptor,
  &tensorflow__run_metadata__descriptor,
  &tensorflow__run_options__descriptor,
  &tensorflow__saved_model__descriptor,
  &tensorflow__saved_tensor_slices__descriptor,
  &tensorflow__saver_def__descriptor,
  &tensorflow__sequence_example__descriptor,
  &tensorflow__server_def__descriptor,
  &tensorflow__signature_def__descriptor,
  &tensorflow__step_stats__descriptor,
  &tensorflow__summary__descriptor,
  &tensorflow__tensor_proto__descriptor,
  &tensorflow__tensor_shape_proto__descriptor,
  &tensorflow__variable_def__descriptor,
};

const ProtobufCMessageDescriptor* hr_messages_find(hr_str_t name) {
  for (size_t i = 0; i < sizeof message_types / sizeof *message_types; ++i)
    if (hr_str_is(name, message_types[i]->name) || hr_str_is(name, message_types[i]->short_name)) return message_types[i];
  return NULL;
}

const ProtobufCFieldDescriptor* hr_messages_field(const ProtobufCMessageDescriptor* type, uint32_t number) {
  return protobuf_c_message_descriptor_get_field(type, number);
}

/* Recursion is bounded by HR_MESSAGES_DEPTH small frames. */
static hr_status_t message_check_depth(const ProtobufCMessageDescriptor* type, hr_cursor_t span, int depth) {
  if (depth > HR_MESSAGES_DEPTH)
    return HR_ERROR(INVALID_ARGUMENT, "message nests more than %d deep at byte %zu", HR_MESSAGES_DEPTH, hr_cursor_offset(&span));
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    const ProtobufCFieldDescriptor* field = hr_messages_field(type, f.key >> 3);
    if (field && field->type == PROTOBUF_C_TYPE_MESSAGE && (f.key & 7) == HR_WIRE_SPAN) HR_TRY(message_check_depth(field->descriptor,
        f.span, depth + 1));
  }
  return NULL;
}

hr_status_t hr_messages_check(const ProtobufCMessageDescriptor* type, const void* data, size_t size) {
  hr_status_t status = message_check_depth(type, hr_cursor_make(data, size), 1);
  return status ? hr_status_note(status, "%s: ", type->name) : NULL;
}

typedef struct { size_t left; bool is_spent, is_out_of_memory; } message_budget_t;

static void* message_alloc(void* arg, size_t size) {
  message_budget_t* b = arg;
  if (size > b->left) {
    b->is_spent = true;
    return NULL;
  }
  b->left -= size;
  void* block = hr_alloc(size ? size : 1);
  if (!block) b->is_out_of_memory = true;
  return block;
}
static void message_release(void* arg, void* block) {
  (void)arg;
  hr_free(block);
}

hr_status_t hr_messages_unpack(const ProtobufCMessageDescriptor* type, const void* data, size_t size, ProtobufCMessage** out) {
  static const uint8_t empty[1];
  HR_TRY(hr_messages_check(type, data, size));
  message_budget_t budget = {size * 64 + (1 << 20), false, false};
  ProtobufCAllocator allocator = {message_alloc, message_release, &budget};
  *out = protobuf_c_message_unpack(type, &allocator, size, size ? data : empty);
  if (*out) return NULL;
  if (budget.is_out_of_memory) return hr_status_out_of_memory();
  if (budget.is_spent) return HR_ERROR(RESOURCE_EXHAUSTED, "%s of %zu bytes takes more memory than its size allows", type->name, size);
  return HR_ERROR(INVALID_ARGUMENT, "%zu bytes are not a %s", size, type->name);
}

void hr_messages_free(ProtobufCMessage* message) {
  ProtobufCAllocator allocator = {message_alloc, message_release, NULL};
  if (message) protobuf_c_message_free_unpacked(message, &allocator);
}

hr_status_t hr_messages_pack(const ProtobufCMessage* message, hr_writer_t* w) {
  size_t size = protobuf_c_message_get_packed_size(message);
  uint8_t* bytes = hr_writer_room(w, size);
  if (w->failed) return hr_status_out_of_memory();
  if (size) protobuf_c_message_pack(message, bytes);
  return NULL;
}
