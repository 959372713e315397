/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer: every file given as it is, then changed copies of them, the same ones every time.
 *
 *   driver [-n COUNT] [-s SEED] FILE...
 *
 * A crash names the file and the change before it happens only with -v; sanitizers say the rest. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { DRIVER_MOST = 1 << 20 };
typedef struct { uint8_t* data; size_t size; } driver_seed_t;

static uint64_t driver_state;
static uint64_t driver_random(void) { /* xorshift64* */
  driver_state ^= driver_state >> 12;
  driver_state ^= driver_state << 25;
  driver_state ^= driver_state >> 27;
  return driver_state * UINT64_C(2685821657736338717);
}

static int driver_load(const char* path, driver_seed_t* out) {
  FILE* f = fopen(path, "rb");
  out->data = malloc(DRIVER_MOST);
  out->size = f && out->data ? fread(out->data, 1, DRIVER_MOST, f) : 0;
  if (!f || !out->data) fprintf(stderr, "cannot read %s\n", path);
  if (f) fclose(f);
  return f && out->data;
}

/* One of: a bit, a byte, a run of one byte, a cut, a doubled piece. Exact-size heap copies let the address sanitizer see a read too far. */
static uint8_t* driver_change(const driver_seed_t* s, size_t* size) {
  uint8_t* p = malloc(s->size * 2 + 1);
  if (!p) return NULL;
  if (s->size) memcpy(p, s->data, s->size);
  *size = s->size;
  for (uint64_t changes = 1 + driver_random() % 4; changes > 0 && *size > 0; --changes) {
    size_t at = driver_random() % *size, n = 1 + driver_random() % 8;
    if (n > *size - at) n = *size - at;
    switch (driver_random() % 5) {
      case 0: p[at] ^= (uint8_t)(1 << driver_random() % 8); break;
      case 1: p[at] = (uint8_t)driver_random(); break;
      case 2: memset(p + at, driver_random() % 2 ? 0xff : 0, n); break;
      case 3: memmove(p + at, p + at + n, *size - at - n), *size -= n; break;
      case 4:
        if (*size + n > s->size * 2) break;
        memmove(p + at + n, p + at, *size - at);
        *size += n;
        break;
    }
  }
  uint8_t* exact = malloc(*size ? *size : 1);
  if (exact) memcpy(exact, p, *size);
  free(p);
  return exact;
}

int main(int argc, char** argv) {
  long count = 0;
  int seeds = 0;
  driver_seed_t* all = calloc((size_t)argc, sizeof *all);
  driver_state = 1;
  if (!all) return 1;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "-n") && i + 1 < argc) count = atol(argv[++i]);
    else if (!strcmp(argv[i], "-s") && i + 1 < argc) driver_state = strtoull(argv[++i], NULL, 10) | 1;
    else if (!driver_load(argv[i], &all[seeds++])) return 1;
  }
  for (int i = 0; i < seeds; ++i) LLVMFuzzerTestOneInput(all[i].data, all[i].size);
  for (long n = 0; n < count && seeds > 0; ++n) {
    size_t size = 0;
    uint8_t* data = driver_change(&all[driver_random() % (uint64_t)seeds], &size);
    if (data) LLVMFuzzerTestOneInput(data, size);
    free(data);
  }
  for (int i = 0; i < seeds; ++i) free(all[i].data);
  free(all);
  printf("%d files, %ld changed copies\n", seeds, count);
  return seeds == 0;
}
