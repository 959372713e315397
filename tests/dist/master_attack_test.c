/* SPDX-License-Identifier: Apache-2.0 */
/* A master that is sent damaged requests: recorded ones with bytes changed, cut off or doubled. Whatever it answers, it answers, and a
 * session that was open before still works. */
#define HR_TEST_LEAKS_CHECKED
#include "base/rng.h"
#include "dist/compare.h"
#include "dist/task_cluster.h"

static const char* const jobs[] = {"worker", "ps"};
enum { ROUNDS = 2000 };

typedef struct {
  task_cluster_t c;
  hr_exchanges_t record;
  char handle[17], recorded[17];
  hr_rng_t rng;
} attack_t;

static uint32_t draw(attack_t* a, uint32_t below) {
  uint32_t words[4];
  hr_rng_next(&a->rng, words);
  return words[0] % below;
}

static int method_of(const hr_exchange_t* e) { /* -1: not a master's */
  if (!strstr(e->method.data, "MasterService")) return -1;
  for (int i = 0; i < HR_MASTER_METHOD_COUNT; ++i)
    if (strcmp(strrchr(e->method.data, '/') + 1, hr_master_method_names[i]) == 0) return i;
  return -1;
}

/* With our session's handle in place of the recorded one. */
static char* own_request(const attack_t* a, const hr_exchange_t* e) {
  char* request = hr_alloc_copy(e->request.data, e->request.size);
  char* at = a->recorded[0] && e->request.size ? memmem(request, e->request.size, a->recorded, 16) : NULL;
  if (at) memcpy(at, a->handle, 16);
  return request;
}

static bool open_attack(attack_t* a, const char* name) {
  char path[600];
  memset(a, 0, sizeof *a);
  hr_rng_init(&a->rng, 7, 0);
  snprintf(path, sizeof path, "%s/tests/golden/wire/%s.tfrecord", HR_TEST_SOURCE_DIR, name);
  if (!HR_CHECK(hr_exchange_load(path, &a->record)) || !HR_CHECK(task_cluster_start(&a->c, jobs, 2, 10000))) return false;
  hr_strbuf_t response;
  hr_strbuf_init(&response);
  const hr_exchange_t* e = &a->record.calls[0];
  const bool good = HR_CHECK_OK(task_cluster_call(&a->c, HR_MASTER_CreateSession, e->request, &response));
  snprintf(a->handle, sizeof a->handle, "%.*s", HR_STR_ARG(compare_field(hr_strbuf_view(&response), HR_KEY_SPAN(1))));
  snprintf(a->recorded, sizeof a->recorded, "%.*s", HR_STR_ARG(compare_field(e->response, HR_KEY_SPAN(1))));
  hr_strbuf_deinit(&response);
  return good;
}

static void damage(attack_t* a, char* bytes, size_t* size) {
  for (uint32_t i = 0, n = 1 + draw(a, 2); i < n && *size; ++i) {
    const size_t at = draw(a, (uint32_t)*size);
    switch (draw(a, 4)) {
      case 0: bytes[at] = (char)draw(a, 256); break;
      case 1: bytes[at] = (char)(bytes[at] ^ 1 << draw(a, 8)); break;
      case 2: *size = at; break;
      case 3: memset(bytes + at, (int)draw(a, 256), *size - at < 4 ? *size - at : 4); break;
    }
  }
}

/* What would wait for ever, or closes the session, is left out. */
static bool is_sent(int method) { return method >= 0 && method != HR_MASTER_CloseSession && method != HR_MASTER_Reset; }

static void attack_scenario(const char* name) {
  attack_t a;
  if (open_attack(&a, name)) {
    int refused = 0, sent = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      const hr_exchange_t* e = &a.record.calls[draw(&a, (uint32_t)a.record.count)];
      const int method = method_of(e);
      if (!is_sent(method)) continue;
      char* request = own_request(&a, e);
      size_t size = e->request.size;
      damage(&a, request, &size);
      hr_strbuf_t response;
      hr_strbuf_init(&response);
      hr_status_t status = task_cluster_call(&a.c, (hr_master_method_t)method, (hr_str_t){request, size}, &response);
      refused += status != NULL || (method == HR_MASTER_RunStep && compare_number(hr_strbuf_view(&response), HR_KEY_VARINT(3)) != 0);
      ++sent;
      hr_status_release(status);
      hr_strbuf_deinit(&response);
      hr_free(request);
    }
    HR_CHECK(sent > ROUNDS / 20);
    HR_CHECK(refused > sent / 4);
    for (int i = 1; i < a.record.count; ++i) { /* the session is as it was */
      if (method_of(&a.record.calls[i]) != HR_MASTER_RunStep) continue;
      char* request = own_request(&a, &a.record.calls[i]);
      hr_strbuf_t response;
      hr_strbuf_init(&response);
      HR_CHECK_OK(task_cluster_call(&a.c, HR_MASTER_RunStep, (hr_str_t){request, a.record.calls[i].request.size}, &response));
      hr_strbuf_deinit(&response);
      hr_free(request);
    }
  }
  task_cluster_stop(&a.c);
  hr_exchange_free(&a.record);
}

HR_TEST(damaged_steps) { attack_scenario("classic"); }
HR_TEST(damaged_pieces) { attack_scenario("partial"); }
HR_TEST(damaged_loops) { attack_scenario("loop_across_devices"); }

HR_TEST_MAIN()
