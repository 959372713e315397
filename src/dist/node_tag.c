/* SPDX-License-Identifier: Apache-2.0 */
/* See node_tag.h. The name is cut out of the text: by then a failure may have come from another task, as text only. */
#include "dist/node_tag.h"

#include <string.h>

enum { NAME_BYTES_MOST = 1000 };

hr_status_t hr_node_tag_add(hr_status_t take_status) {
  static const char before[] = "node '";
  const char* message = hr_status_message(take_status);
  const char* name = take_status ? strstr(message, before) : NULL;
  if (!name || strstr(message, "{{node ")) return take_status;
  name += sizeof before - 1;
  const size_t size = strcspn(name, "' \n}");
  if (!size || size > NAME_BYTES_MOST || name[size] != '\'') return take_status;
  int line;
  const char* file = hr_status_origin(take_status, &line);
  const char* stop = message[strlen(message) - 1] == '.' ? "" : ".";
  hr_status_t marked =
      hr_status_create(hr_status_code(take_status), file, line, "%s%s\n\t [[{{node %.*s}}]]", message, stop, (int)size, name);
  hr_status_release(take_status);
  return marked;
}
