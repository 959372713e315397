/* SPDX-License-Identifier: Apache-2.0 */
/* ServerDef = 1 cluster, 2 job_name, 3 task_index, 4 default_session_config, 5 protocol, 6 port. ClusterDef = 1 job. JobDef = 1 name, 2
 * tasks (map int32, string). ConfigProto = 1 device_count (map string, int32). */
#include "cli/cluster_file.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 1 << 20 };

typedef struct {
  unsigned char* data;
  size_t size, capacity;
  int failed;
} bytes_t;

static void add_bytes(bytes_t* b, const void* data, size_t size) {
  if (b->size + size > b->capacity) {
    const size_t capacity = (b->size + size) * 2;
    unsigned char* more = b->failed ? NULL : realloc(b->data, capacity);
    if (!more) {
      b->failed = 1;
      return;
    }
    b->data = more;
    b->capacity = capacity;
  }
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void add_varint(bytes_t* b, unsigned long long v) {
  for (; v >= 128; v >>= 7) add_bytes(b, &(unsigned char){(unsigned char)(v | 128)}, 1);
  add_bytes(b, &(unsigned char){(unsigned char)v}, 1);
}
static void add_number(bytes_t* b, int field, long long v) {
  add_varint(b, (unsigned)field << 3);
  add_varint(b, (unsigned long long)v);
}
static void add_span(bytes_t* b, int field, const void* data, size_t size) {
  add_varint(b, (unsigned)field << 3 | 2);
  add_varint(b, size);
  add_bytes(b, data, size);
}
static void add_text(bytes_t* b, int field, const char* text) { add_span(b, field, text, strlen(text)); }
static void add_message(bytes_t* b, int field, bytes_t* take) {
  add_span(b, field, take->data, take->size);
  b->failed |= take->failed;
  free(take->data);
}

static void add_task(bytes_t* job, long long index, const char* address) {
  bytes_t task = {0};
  add_number(&task, 1, index);
  add_text(&task, 2, address);
  add_message(job, 2, &task);
}

static int bad_job(const char* name, const char* why) {
  fprintf(stderr, "headrace: cluster job '%s': %s\n", name, why);
  return 0;
}

static int add_listed(bytes_t* job, const char* name, json_t* tasks) {
  size_t i;
  json_t* address;
  json_array_foreach(tasks, i, address) {
    if (!json_is_string(address)) return bad_job(name, "an address is a text \"host:port\"");
    add_task(job, (long long)i, json_string_value(address));
  }
  return 1;
}

static int add_indexed(bytes_t* job, const char* name, json_t* tasks) {
  const char* key;
  json_t* address;
  json_object_foreach(tasks, key, address) {
    char* end;
    errno = 0;
    const long index = strtol(key, &end, 10);
    if (*end || end == key || errno || index < 0 || index > 1000000) return bad_job(name, "a task's index is a number, 0 or more");
    if (!json_is_string(address)) return bad_job(name, "an address is a text \"host:port\"");
    add_task(job, index, json_string_value(address));
  }
  return 1;
}

static int add_job(bytes_t* cluster, const char* name, json_t* tasks) {
  bytes_t job = {0};
  add_text(&job, 1, name);
  int good = 0;
  if (json_is_array(tasks)) good = add_listed(&job, name, tasks);
  else if (json_is_object(tasks)) good = add_indexed(&job, name, tasks);
  else bad_job(name, "a list of addresses was expected, or an object of index and address");
  add_message(cluster, 1, &job);
  return good;
}

static int add_cluster(bytes_t* def, json_t* root, const char* path) {
  json_t* jobs = json_is_object(json_object_get(root, "cluster")) ? json_object_get(root, "cluster") : root;
  const char* name;
  json_t* tasks;
  bytes_t cluster = {0};
  int good = json_is_object(jobs) && json_object_size(jobs) > 0;
  if (!good) fprintf(stderr, "headrace: '%s': an object of jobs was expected, such as {\"worker\": [\"localhost:2222\"]}\n", path);
  else json_object_foreach(jobs, name, tasks) good = good && add_job(&cluster, name, tasks);
  add_message(def, 1, &cluster);
  return good;
}

static int read_cluster(bytes_t* def, const char* path) {
  json_error_t error;
  FILE* f = fopen(path, "rb");
  char* text = malloc(FILE_BYTES);
  const size_t size = f && text ? fread(text, 1, FILE_BYTES, f) : 0;
  if (!f) fprintf(stderr, "headrace: cannot read '%s': %s\n", path, strerror(errno));
  else if (size == FILE_BYTES) fprintf(stderr, "headrace: '%s' is too large for a cluster file\n", path);
  json_t* root = f && size < FILE_BYTES ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &error) : NULL;
  if (f && size < FILE_BYTES && !root) fprintf(stderr, "headrace: '%s', line %d: %s\n", path, error.line, error.text);
  const int good = root && add_cluster(def, root, path);
  json_decref(root);
  free(text);
  if (f) fclose(f);
  return good;
}

static void add_alone(bytes_t* def, const char* host, int port) {
  char address[300];
  bytes_t job = {0}, cluster = {0};
  const char* format = strchr(host, ':') && host[0] != '[' ? "[%s]:%d" : "%s:%d";
  if (snprintf(address, sizeof address, format, host, port) >= (int)sizeof address) def->failed = 1;
  add_text(&job, 1, "local");
  add_task(&job, 0, address);
  add_message(&cluster, 1, &job);
  add_message(def, 1, &cluster);
}

static void add_config(bytes_t* def, int cpu_devices) {
  bytes_t count = {0}, config = {0};
  add_text(&count, 1, "CPU");
  add_number(&count, 2, cpu_devices);
  add_message(&config, 1, &count);
  add_message(def, 4, &config);
}

unsigned char* hr_cluster_file_server_def(const cluster_file_t* file, size_t* out_size) {
  bytes_t def = {0};
  int good = 1;
  if (file->cluster_path) good = read_cluster(&def, file->cluster_path);
  else add_alone(&def, file->host ? file->host : "localhost", file->port);
  add_text(&def, 2, file->cluster_path ? file->job : "local");
  add_number(&def, 3, file->task);
  if (file->cpu_devices) add_config(&def, file->cpu_devices);
  add_text(&def, 5, "grpc");
  if (file->port) add_number(&def, 6, file->port);
  if (good && def.failed) fprintf(stderr, "headrace: out of memory\n");
  if (good && !def.failed) {
    *out_size = def.size;
    return def.data;
  }
  free(def.data);
  return NULL;
}
