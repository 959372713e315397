/* SPDX-License-Identifier: Apache-2.0 */
/* Devices for nodes, by the bytes of the GraphDef: each NodeDef (field 1) gets one more field 4, and the last one of a field holds. */
#include "golden/devices.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/api.h"

static int read_number(const unsigned char** at, const unsigned char* end, uint64_t* out) {
  *out = 0;
  for (int shift = 0; *at < end && shift < 64; shift += 7) {
    const unsigned char byte = *(*at)++;
    *out |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return 1;
  }
  return 0;
}

static size_t write_number(char* to, uint64_t value) {
  size_t size = 0;
  for (; value > 127; value >>= 7) to[size++] = (char)(value | 128);
  to[size++] = (char)value;
  return size;
}

static const char* next_device(const char* list, const char* last, size_t* out_size) {
  const char* at = last && last[*out_size] == ',' ? last + *out_size + 1 : list;
  *out_size = strcspn(at, ",");
  return at;
}

char* golden_devices_give(const char* graph, size_t size, const char* list, size_t* out_size) {
  const unsigned char *at = (const unsigned char*)graph, *end = at + size;
  char* out = malloc(size * (2 + strlen(list)) + 64); /* a node has more bytes than twice what a number takes */
  const char* device = NULL;
  size_t used = 0, device_size = 0;
  while (out && at < end) {
    const unsigned char* start = at;
    uint64_t key, value;
    if (!read_number(&at, end, &key) || !read_number(&at, end, &value)) break;
    if ((key & 7) == 2 && value > (uint64_t)(end - at)) break;
    const unsigned char* body = at;
    if ((key & 7) == 2) at += value;
    if (key != (1 << 3 | 2)) {
      memcpy(out + used, start, (size_t)(at - start));
      used += (size_t)(at - start);
      continue;
    }
    char field[16];
    device = next_device(list, device, &device_size);
    field[0] = 4 << 3 | 2;
    const size_t head = 1 + write_number(field + 1, device_size);
    out[used++] = 1 << 3 | 2;
    used += write_number(out + used, value + head + device_size);
    memcpy(out + used, body, value);
    memcpy(out + used + value, field, head);
    memcpy(out + used + value + head, device, device_size);
    used += value + head + device_size;
  }
  if (out && at == end) {
    *out_size = used;
    return out;
  }
  free(out);
  return NULL;
}

int golden_devices_load(const char* path) {
  void (*load)(const char* path, TF_Status* status);
  TF_Status* s = api.TF_NewStatus();
  *(void**)&load = dlsym(RTLD_DEFAULT, "HR_LoadDeviceLibrary");
  if (load) load(path, s);
  const int good = load && api.TF_GetCode(s) == TF_OK;
  if (!good) printf("golden: cannot load device library %s: %s\n", path, load ? api.TF_Message(s) : "no HR_LoadDeviceLibrary");
  api.TF_DeleteStatus(s);
  return good;
}
