/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf messages through protobuf-c's generated code and descriptors: for configuration, metadata and text, never for graphs or
 * tensors (graph/import.h and wire/tensor_proto.h read those without recursion or copies).
 *
 *   Tensorflow__ConfigProto* config = NULL;
 *   HR_TRY(hr_messages_unpack(&tensorflow__config_proto__descriptor, data, size, (ProtobufCMessage**)&config));
 *   ... read fields; strings are never NULL, sub-messages are NULL when absent ...
 *   hr_messages_free((ProtobufCMessage*)config);
 *
 * To make one: a struct on the stack initialised with TENSORFLOW__..._INIT, filled in, then hr_messages_pack. protobuf-c itself
 * recurses and trusts; unpack therefore checks nesting and structure with the bounded cursor first, and bounds what may be allocated. */
#ifndef HR_WIRE_MESSAGES_H
#define HR_WIRE_MESSAGES_H
#include <protobuf-c/protobuf-c.h>
#include "wire/cursor.h"
#include "wire/writer.h"

enum { HR_MESSAGES_DEPTH = 100 }; /* protobuf's usual limit */

/* The types of text files and configuration by full or short name ("tensorflow.GraphDef", "GraphDef"); NULL: none such. */
const ProtobufCMessageDescriptor* hr_messages_find(hr_str_t name);
/* INVALID_ARGUMENT when the bytes are not such a message or nest deeper than HR_MESSAGES_DEPTH. */
HR_MUST_USE hr_status_t hr_messages_check(const ProtobufCMessageDescriptor* type, const void* data, size_t size);
/* Checks, then unpacks; RESOURCE_EXHAUSTED when the structs take more than 64 bytes a byte of data (and 1 MiB). Freed with
 * hr_messages_free. */
HR_MUST_USE hr_status_t hr_messages_unpack(const ProtobufCMessageDescriptor* type, const void* data, size_t size, ProtobufCMessage** out);
void hr_messages_free(ProtobufCMessage* message); /* accepts NULL */
HR_MUST_USE hr_status_t hr_messages_pack(const ProtobufCMessage* message, hr_writer_t* w);
/* The field with that number; NULL: unknown. */
const ProtobufCFieldDescriptor* hr_messages_field(const ProtobufCMessageDescriptor* type, uint32_t number);
#endif
