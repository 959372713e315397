/* SPDX-License-Identifier: Apache-2.0 */
/* The file `checkpoint` beside checkpoints: which are there and which is the latest, as a CheckpointState message in text form. It is
 * replaced whole. Paths below a relative directory are written relative to it, as TensorFlow does, so that the directory can be moved. */
#include "capi/handles.h"
#include "base/file.h"
#include "headrace/client.h"
#include "wire/text.h"

static const char message_name[] = "tensorflow.CheckpointState";
enum { LATEST = 1, ALL = 2 }; /* fields */

static void path_of_state(hr_strbuf_t* out, const char* directory) {
  const size_t size = strlen(directory);
  hr_strbuf_format(out, size && directory[size - 1] != '/' ? "%s/checkpoint" : "%scheckpoint", directory);
}

static hr_str_t relative_to(const char* directory, const char* prefix) {
  const hr_str_t folder = hr_str(directory), path = hr_str(prefix);
  size_t size = folder.size;
  if (size == 0 || *directory == '/' || !hr_str_has_prefix(path, folder)) return path;
  if (directory[size - 1] != '/' && path.data[size] != '/') return path;
  while (path.data[size] == '/') ++size;
  return size < path.size ? hr_str_slice(path, size, path.size) : path;
}

static hr_status_t write_state(const char* directory, const char* latest, const char* const* all, int count) {
  if (!directory) return hr_capi_null("the directory");
  if (!latest) return hr_capi_null("the latest prefix");
  HR_TRY(hr_capi_check_count(count, all, "prefixes"));
  hr_writer_t message;
  hr_strbuf_t text, path;
  bool has_latest = false;
  hr_strbuf_init(&message);
  hr_strbuf_init(&text);
  hr_strbuf_init(&path);
  hr_writer_str(&message, LATEST, relative_to(directory, latest));
  for (int i = 0; i < count; ++i) {
    hr_writer_str(&message, ALL, relative_to(directory, all[i]));
    has_latest |= !strcmp(all[i], latest);
  }
  if (!has_latest) hr_writer_str(&message, ALL, relative_to(directory, latest));
  path_of_state(&path, directory);
  hr_status_t status = message.failed || path.failed
                           ? hr_status_out_of_memory()
                           : hr_text_format(hr_messages_find(hr_str(message_name)), message.data, message.size, &text);
  if (!status && text.failed) status = hr_status_out_of_memory();
  if (!status) status = hr_file_replace(path.data, text.data, text.size);
  hr_strbuf_deinit(&message);
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&path);
  return status;
}

void HR_UpdateCheckpointState(const char* directory, const char* latest, const char* const* all, int count, TF_Status* status) {
  hr_capi_report(status, write_state(directory, latest, all, count));
}

/* A relative path is beside the state file. */
static hr_status_t latest_of(const char* directory, const hr_writer_t* message, hr_strbuf_t* out) {
  hr_cursor_t c = hr_cursor_make(message->data, message->size);
  hr_str_t latest = HR_STR("");
  while (!hr_cursor_is_done(&c)) {
    hr_field_t field;
    HR_TRY(hr_cursor_next(&c, &field));
    if (field.key == HR_KEY_SPAN(LATEST)) latest = hr_cursor_str(field.span);
  }
  if (!latest.size) return HR_ERROR(NOT_FOUND, "the state file in '%s' names no checkpoint", directory);
  const size_t size = strlen(directory);
  if (latest.data[0] != '/' && size) hr_strbuf_format(out, directory[size - 1] == '/' ? "%s" : "%s/", directory);
  hr_strbuf_add_str(out, latest);
  return out->failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t read_state(const char* directory, hr_strbuf_t* out) {
  if (!directory) return hr_capi_null("the directory");
  hr_strbuf_t path;
  hr_writer_t message;
  char* text = NULL;
  size_t size = 0;
  hr_strbuf_init(&path);
  hr_strbuf_init(&message);
  path_of_state(&path, directory);
  hr_status_t status = path.failed ? hr_status_out_of_memory() : hr_file_read(path.data, &text, &size);
  if (!status) status = hr_text_parse(hr_messages_find(hr_str(message_name)), (hr_str_t){text, size}, &message);
  if (!status) status = latest_of(directory, &message, out);
  hr_free(text);
  hr_strbuf_deinit(&message);
  hr_strbuf_deinit(&path);
  return status;
}

TF_Buffer* HR_LatestCheckpoint(const char* directory, TF_Status* status) {
  hr_strbuf_t prefix;
  TF_Buffer* buffer = NULL;
  hr_strbuf_init(&prefix);
  hr_status_t failed = read_state(directory, &prefix);
  if (!failed && !(buffer = TF_NewBufferFromString(prefix.data, prefix.size))) failed = hr_status_out_of_memory();
  hr_strbuf_deinit(&prefix);
  hr_capi_report(status, failed);
  return buffer;
}
