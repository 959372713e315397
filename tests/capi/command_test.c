/* SPDX-License-Identifier: Apache-2.0 */
/* The command `headrace server` as a process: what it says, that it serves, how it ends, and what it refuses. */
#include "help.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char command[] = HR_TEST_BUILD_DIR "/bin/headrace";

typedef struct {
  pid_t pid;
  FILE* out; /* its standard output and error */
} process_t;

static bool start(process_t* p, const char* const* arguments) {
  int ends[2];
  if (!CHECK(pipe(ends) == 0)) return false;
  p->pid = fork();
  if (p->pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* the leak checker dies of threads that an object opened at run time has started */
    execv(command, (char* const*)(uintptr_t)arguments);
    _exit(127);
  }
  close(ends[1]);
  p->out = fdopen(ends[0], "r");
  return CHECK(p->pid > 0 && p->out);
}

/* The exit status; 1000 and more: by a signal. */
static int end(process_t* p) {
  int status = 0;
  fclose(p->out);
  waitpid(p->pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The word of the line that begins so; "" : none. */
static void find_word(const char* line, const char* begin, char* out, size_t size) {
  const char* at = strstr(line, begin);
  const size_t n = at ? strcspn(at, " ,\n") : 0;
  snprintf(out, size, "%.*s", (int)n, at ? at : "");
}

static void serves_and_ends(const char* const* arguments, int signal_number, const char* what) {
  process_t p;
  char line[512] = "", target[128];
  REQUIRE(start(&p, arguments));
  CHECK(fgets(line, sizeof line, p.out) != NULL);
  CHECK_HAS(line, what);
  find_word(line, "grpc://", target, sizeof target);
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output c = help_const(g, "c", help_float(7), s), none = {NULL, 0};
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_SetTarget(o, target);
  TF_Session* session = TF_NewSession(g, o, s);
  if (CHECK_TF_OK(s)) {
    CHECK_NEAR(help_run(session, none, NULL, c, s), 7, 0);
    CHECK_TF_OK(s);
    TF_CloseSession(session, s);
    TF_DeleteSession(session, s);
  }
  const double begin = now();
  kill(p.pid, signal_number);
  CHECK_INT(end(&p), 0);
  CHECK(now() - begin < 1);
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(one_task_alone) {
  const char* const arguments[] = {"headrace", "server", NULL};
  serves_and_ends(arguments, SIGINT, "/job:local/task:0");
}

static char* write_cluster(const char* text) {
  static char path[64];
  strcpy(path, "/tmp/headrace-cluster-XXXXXX");
  const int fd = mkstemp(path);
  CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
  return path;
}

TEST(a_task_of_a_cluster) {
  char* path = write_cluster("{\"cluster\": {\"worker\": [\"localhost:0\"]}}");
  const char* const arguments[] = {"headrace", "server", "--cluster", path, "--job=worker", "--task", "0", "--cpu-devices", "2", NULL};
  serves_and_ends(arguments, SIGTERM, "/job:worker/task:0");
  remove(path);
}

static void refuses(const char* const* arguments, int want, const char* what) {
  process_t p;
  char text[4096] = "";
  REQUIRE(start(&p, arguments));
  text[fread(text, 1, sizeof text - 1, p.out)] = 0;
  CHECK_INT(end(&p), want);
  CHECK_HAS(text, what);
}

TEST(what_it_refuses) {
  refuses((const char* const[]){"headrace", NULL}, 2, "usage");
  refuses((const char* const[]){"headrace", "server", "--nothing", "1", NULL}, 2, "--nothing");
  refuses((const char* const[]){"headrace", "server", "--port", "99999", NULL}, 2, "65535");
  refuses((const char* const[]){"headrace", "server", "--port", NULL}, 2, "--port");
  refuses((const char* const[]){"headrace", "server", "--job", "a", NULL}, 2, "--cluster");
  refuses((const char* const[]){"headrace", "server", "--bind", "0.0.0.0", NULL}, 1, "--insecure");
  refuses((const char* const[]){"headrace", "server", "--root", "/nowhere/at/all", NULL}, 1, "/nowhere");
  refuses((const char* const[]){"headrace", "server", "--tls-cert", "/nowhere", NULL}, 1, "--tls-key");
  refuses((const char* const[]){"headrace", "server", "--cluster", "/nowhere", "--job", "a", NULL}, 1, "/nowhere");
  refuses((const char* const[]){"headrace", "server", "--help", NULL}, 0, "--tls-ca");
  refuses((const char* const[]){"headrace", "--version", NULL}, 0, "headrace");
  const char* const bad[] = {"",
                             "[]",
                             "{\"a\": 1}",
                             "{\"a\": [1]}",
                             "{\"a\": {\"x\": \"b:1\"}}",
                             "{\"a\": [\"b:1\"]",
                             "{\"a\": [\"no port\"]}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    char* path = write_cluster(bad[i]);
    refuses((const char* const[]){"headrace", "server", "--cluster", path, "--job", "a", NULL}, 1, "headrace: ");
    remove(path);
  }
}

TEST(a_large_cluster_is_read_to_its_end) { /* lengths and indices beyond 127; what is wrong with its last task is said */
  char text[8192] = "{\"worker\": [\"localhost:0\"";
  for (int i = 1; i < 300; ++i) strcat(text, ", \"localhost:1\"");
  strcat(text, ", \"no port\"]}");
  char* path = write_cluster(text);
  refuses((const char* const[]){"headrace", "server", "--cluster", path, "--job", "worker", "--task", "300", NULL}, 1, "no port");
  refuses((const char* const[]){"headrace", "server", "--cluster", path, "--job", "worker", "--task", "301", NULL}, 1, "301");
  remove(path);
}

int __lsan_is_turned_off(void); /* the leak checker dies of threads that an object opened at run time has started */
int __lsan_is_turned_off(void) { return 1; }
#ifdef __SANITIZE_THREAD__ /* gRPC's object is not instrumented: its synchronisation looks like races */
int main(void) { return puts("0 passed, 0 failed: not under the thread sanitizer") < 0; }
#else
TEST_MAIN()
#endif
