/* SPDX-License-Identifier: Apache-2.0 */
/* What a node costs, in time and memory, from a GraphDef to the end of the first step, at growing sizes over four CPU devices.
 *
 *   cc -O2 -Iinclude bench/scale.c -o scale -Lbuild/release/lib -lheadrace && ./scale NODES RUN [warm|cold|both]
 *
 * Each node adds the two before it; RUN nodes in a row lie on one device (1: every edge crosses). Prints a line a measurement: nodes, run,
 * then nanoseconds (in all, and of them in the kernel, all threads together: mostly getting memory) and bytes of peak resident memory a
 * node. One size a process, since memory is measured as the process's.
 *
 * A virtual machine that has been idle has given its free memory back to its host, and whoever then touches it first waits for the host,
 * longer than all that is measured here takes. So (warm, the default) a child process first writes to 2 kB a node, which is the most that
 * a node may take, and ends. cold: without that, memory as it is found. both: a child measures cold, then warm is measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tensorflow/c/c_api.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double peak_bytes(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)u.ru_maxrss * 1024;
}

static double kernel_time(void) { /* of all threads */
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)u.ru_stime.tv_sec * 1e9 + (double)u.ru_stime.tv_usec * 1e3;
}

static void must(TF_Status* s, const char* what) {
  if (TF_GetCode(s) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(s));
  exit(1);
}

static unsigned char *bytes, *end;

static void field(unsigned char* to, int number, const void* data, size_t size) { /* sizes below 128 */
  *to++ = (unsigned char)(number << 3 | 2);
  *to++ = (unsigned char)size;
  memcpy(to, data, size);
}

static size_t add_text(unsigned char* to, int number, const char* text) {
  field(to, number, text, strlen(text));
  return strlen(text) + 2;
}

static void add_node(long i, long run) {
  static const unsigned char type[] = {0x0a, 1, 'T', 0x12, 2, 0x30, 1}; /* T: float */
  static const unsigned char placeholder[] = {0x0a, 5, 'd', 't', 'y', 'p', 'e', 0x12, 2, 0x30, 1};
  unsigned char node[128];
  char text[64];
  size_t size = 0;
  snprintf(text, sizeof text, "node_%ld", i);
  size += add_text(node + size, 1, text);
  size += add_text(node + size, 2, i ? "AddV2" : "Placeholder");
  for (int k = 0; i && k < 2; ++k) {
    snprintf(text, sizeof text, "node_%ld", k ? (i > 1 ? i - 2 : 0) : i - 1);
    size += add_text(node + size, 3, text);
  }
  snprintf(text, sizeof text, "/device:CPU:%ld", i / run % 4);
  size += add_text(node + size, 4, text);
  field(node + size, 5, i ? type : placeholder, i ? sizeof type : sizeof placeholder);
  size += 2 + (i ? sizeof type : sizeof placeholder);
  field(end, 1, node, size);
  end += size + 2;
}

static void in_child(void (*work)(long nodes, long run), long nodes, long run) {
  fflush(stdout);
  const pid_t child = fork();
  int status = 1;
  if (child == 0) {
    work(nodes, run);
    fflush(stdout);
    _exit(0);
  }
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return;
  fprintf(stderr, "a child process failed\n");
  exit(1);
}

static void touch(long nodes, long run) {
  const size_t size = (size_t)nodes * 2048;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)run;
  if (memory == MAP_FAILED) _exit(1);
  madvise(memory, size, MADV_HUGEPAGE);
  const double start = now();
  for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
  printf("%.0f MB written to first, in %.0f ns a node; ", (double)size / 1e6, (now() - start) / (double)nodes);
}

static void measure(long nodes, long run) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Buffer def = {bytes, (size_t)(end - bytes), NULL};
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  TF_SessionOptions* so = TF_NewSessionOptions();
  TF_SetConfig(so, "\x0a\x07\x0a\x03\x43PU\x10\x04", 9, s);
  const double memory = peak_bytes(), kernel = kernel_time(), start = now();
  TF_GraphImportGraphDef(g, &def, o, s);
  must(s, "import");
  const double imported = now();
  TF_Session* session = TF_NewSession(g, so, s);
  must(s, "a session");
  char last[32];
  snprintf(last, sizeof last, "node_%ld", nodes - 1);
  TF_Output in = {TF_GraphOperationByName(g, "node_0"), 0}, out = {TF_GraphOperationByName(g, last), 0};
  const float zero = 0;
  TF_Tensor *value = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4), *result = NULL;
  memcpy(TF_TensorData(value), &zero, 4);
  TF_SessionRun(session, NULL, &in, &value, 1, &out, &result, 1, NULL, 0, NULL, s);
  must(s, "the first step");
  const double first = now(), kernel_first = kernel_time();
  TF_DeleteTensor(result);
  TF_SessionRun(session, NULL, &in, &value, 1, &out, &result, 1, NULL, 0, NULL, s);
  must(s, "the second step");
  const double second = now(), n = (double)nodes;
  printf("%ld nodes, %ld in a row: import %.0f, first step %.0f, second %.0f, import and first step %.0f ns a node, in the kernel %.0f; "
         "%.0f bytes a node\n",
         nodes, run, (imported - start) / n, (first - imported) / n, (second - first) / n, (first - start) / n, (kernel_first - kernel) / n,
         (peak_bytes() - memory) / n);
  TF_DeleteTensor(result);
  TF_DeleteTensor(value);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(so);
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

int main(int argc, char** argv) {
  const long nodes = argc > 1 ? atol(argv[1]) : 10000, run = argc > 2 ? atol(argv[2]) : 1000;
  const char* how = argc > 3 ? argv[3] : "warm";
  bytes = end = malloc((size_t)nodes * 128);
  if (!bytes || nodes < 2 || run < 1) return 1;
  for (long i = 0; i < nodes; ++i) add_node(i, run);
  if (strcmp(how, "both") == 0) {
    printf("cold: ");
    in_child(measure, nodes, run);
  }
  printf(strcmp(how, "cold") == 0 ? "cold: " : "warm: ");
  if (strcmp(how, "cold") != 0) in_child(touch, nodes, run);
  measure(nodes, run);
  free(bytes);
  return 0;
}
