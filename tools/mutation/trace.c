/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks of a linked file ran: each block calls __sanitizer_cov_trace_pc (-fsanitize-coverage=trace-pc), which marks the byte at the
 * block's offset in $HEADRACE_TRACE/<file name>.ran, a file that all processes of a test share. Nothing is marked without the variable.
 * Each shared object holds a copy of its own (hidden), so that an offset needs no search. Only tools/mutants.py uses this. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* both from the linker */
extern const char etext[] __attribute__((visibility("hidden")));

static unsigned char* trace_ran;

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
  if (trace_ran) trace_ran[(const char*)__builtin_return_address(0) - __ehdr_start] = 1;
}

__attribute__((constructor(101))) static void trace_open(void) {
  char path[4096];
  Dl_info info;
  const char* folder = getenv("HEADRACE_TRACE");
  if (!folder || !*folder || !dladdr(__ehdr_start, &info) || !info.dli_fname) return;
  const char* slash = strrchr(info.dli_fname, '/');
  if (snprintf(path, sizeof path, "%s/%s.ran", folder, slash ? slash + 1 : info.dli_fname) >= (int)sizeof path) return;
  const size_t bytes = (size_t)(etext - __ehdr_start);
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  void* bytes_of_file = ftruncate(file, (off_t)bytes) ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes_of_file != MAP_FAILED) trace_ran = bytes_of_file;
  close(file);
}
