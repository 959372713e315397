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
  char line[512] = "", target[128], last[128];
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
  snprintf(last, sizeof last, "%s by process %ld, stopping", signal_number == SIGINT ? "interrupted" : "told to end", (long)getpid());
  CHECK(fgets(line, sizeof line, p.out) != NULL);
  CHECK_HAS(line, last);
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

/* Everything that follows "headrace server" in one text, separated by spaces. */
static void says(const char* words, int want, const char* what) {
  char text[512];
  const char* arguments[24] = {"headrace", "server"};
  int count = 2;
  snprintf(text, sizeof text, "%s", words);
  for (char* at = strtok(text, " "); at; at = strtok(NULL, " ")) arguments[count++] = at;
  refuses(arguments, want, what);
}

TEST(numbers_have_their_limits) { /* what is within them is not what is complained of */
  static const struct { const char *words, *what; } rows[] = {
      {"--port 65536", "--port 65536: a number from 0 to 65535"}, {"--port -1", "--port -1: a number"},
      {"--port 65535 --no", "unknown option --no"},               {"--port 0 --no", "unknown option --no"},
      {"--port 1x", "--port 1x: a number"},                       {"--port=", "--port : a number"},
      {"--port 99999999999999999999", "to 65535"},                {"--task 1000001", "from 0 to 1000000"},
      {"--task 1000000 --no", "unknown option --no"},             {"--task -1", "--task -1: a number"},
      {"--cpu-devices 0", "from 1 to 1024"},                      {"--cpu-devices 1025", "from 1 to 1024"},
      {"--cpu-devices 1 --no", "unknown option --no"},            {"--cpu-devices=1024 --no", "unknown option --no"},
      {"--max-message-bytes 0", "from 1 to 9223372036854775807"}, {"--max-message-bytes 1 --no", "unknown option --no"},
      {"--max-peer-bytes 0", "from 1 to"},                        {"--max-graph-nodes 0", "from 1 to"},
      {"--max-sessions 0", "from 1 to"},                          {"--max-steps 0", "from 1 to"},
      {"--max-connections 0", "from 1 to"},                       {"--heartbeat-ms 0", "from 1 to"},
      {"--control-ms 0", "from 1 to"},                            {"--control-ms=9223372036854775807 --no", "unknown option --no"},
      {"--task 1", "--job and --task need --cluster"},            {"--cluster f", "a cluster needs --job"},
      {"--bind", "a value is missing after --bind"},              {"--insecure --no", "unknown option --no"},
      {"-x", "unknown option -x"},                                {"--no=5", "unknown option --no=5"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) says(rows[i].words, 2, rows[i].what);
  says("--tls-key k", 1, "belong together");
  says("--tls-ca c", 1, "belong together");
  says("-h", 0, "usage: headrace server");
  refuses((const char* const[]){"headrace", "--version", "more", NULL}, 2, "usage");
  refuses((const char* const[]){"headrace", "serve", NULL}, 2, "usage");
}

#define TLS_FILES HR_TEST_SOURCE_DIR "/tests/dist/tls/"

/* Starts, says this in its first line, and ends. */
static void starts(const char* words, const char* const* what) {
  process_t p;
  char text[1024], line[1024] = "";
  const char* arguments[24] = {"headrace", "server"};
  int count = 2;
  snprintf(text, sizeof text, "%s", words);
  for (char* at = strtok(text, " "); at; at = strtok(NULL, " ")) arguments[count++] = at;
  REQUIRE(start(&p, arguments));
  CHECK(fgets(line, sizeof line, p.out) != NULL);
  for (; *what; ++what) CHECK_HAS(line, *what);
  kill(p.pid, SIGTERM);
  CHECK_INT(end(&p), 0);
}

TEST(the_first_line_says_who_may_come_and_what_graphs_may_touch) {
  static const char tls[] = "--tls-cert " TLS_FILES "task.pem --tls-key " TLS_FILES "task.key";
  char with_ca[512];
  snprintf(with_ca, sizeof with_ca, "%s --tls-ca " TLS_FILES "ca.pem", tls);
  starts("", (const char* const[]){"/job:local/task:0 as grpc://localhost:", "listening on 127.0.0.1; files: none", NULL});
  starts("--root /tmp", (const char* const[]){"listening on 127.0.0.1; files: /tmp", NULL});
  starts("--bind 127.0.0.1", (const char* const[]){"as grpc://127.0.0.1:", "listening on 127.0.0.1; files", NULL});
  starts("--bind 0.0.0.0 --insecure", (const char* const[]){"as grpc://localhost:", "listening on 0.0.0.0; files", NULL});
  starts("--insecure", (const char* const[]){"listening on 127.0.0.1; files", NULL});
  starts(tls, (const char* const[]){"127.0.0.1 (TLS); files", NULL});
  starts(with_ca, (const char* const[]){"127.0.0.1 (TLS, clients show certificates); files", NULL});
}

TEST(tls_files_must_be_there_and_hold_something) {
  static const char pair[] = "--tls-cert " TLS_FILES "task.pem --tls-key " TLS_FILES "task.key";
  char words[512];
  says("--tls-cert " TLS_FILES "task.pem --tls-key /nowhere", 1, "cannot read '/nowhere'");
  says("--tls-cert /nowhere --tls-key " TLS_FILES "task.key", 1, "cannot read '/nowhere'");
  says("--tls-cert " TLS_FILES "task.pem --tls-key /dev/null", 1, "'/dev/null' is empty");
  snprintf(words, sizeof words, "%s --tls-ca /nowhere", pair);
  says(words, 1, "cannot read '/nowhere'");
}

/* A file of a cluster, and what is complained of when task `task` of job `a` is to be served. */
static void cluster_says(const char* text, const char* task, const char* what) {
  char words[256], *path = write_cluster(text);
  snprintf(words, sizeof words, "--cluster %s --job a --task %s", path, task);
  says(words, 1, what);
  remove(path);
}

TEST(cluster_files_with_indices) {
  cluster_says("{\"a\": {\"1000001\": \"b:1\"}}", "0", "a task's index is a number, 0 or more");
  cluster_says("{\"a\": {\"-1\": \"b:1\"}}", "0", "a task's index is a number");
  cluster_says("{\"a\": {\"\": \"b:1\"}}", "0", "a task's index is a number");
  cluster_says("{\"a\": {\"1x\": \"b:1\"}}", "0", "a task's index is a number");
  cluster_says("{\"a\": {\"7\": 1}}", "7", "an address is a text");
  cluster_says("{\"a\": {\"7\": \"no port\"}}", "7", "no port");       /* the task is found */
  cluster_says("{\"a\": {\"1000000\": \"no port\"}}", "1000000", "no port");
  cluster_says("{\"a\": {\"7\": \"localhost:0\"}}", "6", "6");
  cluster_says("{\"a\": [\"localhost:0\"], \"a\": [\"localhost:0\"]}", "0", "line 1");
  cluster_says("{\"b\": 1, \"a\": [\"localhost:0\"]}", "0", "cluster job 'b'"); /* one bad job is enough, wherever it stands */
  cluster_says("{\"a\": [\"localhost:0\"], \"b\": 1}", "0", "cluster job 'b'");
  cluster_says("{}", "0", "an object of jobs was expected");
  cluster_says("{\"cluster\": {}}", "0", "an object of jobs was expected");
}

TEST(a_cluster_file_has_less_than_a_mebibyte) {
  enum { MIB = 1 << 20 };
  static char text[MIB + 1];
  for (int too_large = 0; too_large < 2; ++too_large) {
    memset(text, ' ', MIB);
    memcpy(text, "{\"a\": [\"no port\"]}", 18);
    text[MIB - !too_large] = 0;
    cluster_says(text, "0", too_large ? "is too large for a cluster file" : "no port");
  }
}

static int devices_of(const char* words) {
  process_t p;
  char line[512] = "", target[128], text[256];
  const char* arguments[24] = {"headrace", "server"};
  int count = 2, devices = -1;
  snprintf(text, sizeof text, "%s", words);
  for (char* at = strtok(text, " "); at; at = strtok(NULL, " ")) arguments[count++] = at;
  if (!start(&p, arguments)) return -1;
  CHECK(fgets(line, sizeof line, p.out) != NULL);
  find_word(line, "grpc://", target, sizeof target);
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_SetTarget(o, target);
  TF_Session *session = TF_NewSession(g, o, s), *second = CHECK_TF_OK(s) ? TF_NewSession(g, o, s) : NULL;
  if (session) {
    TF_DeviceList* list = TF_SessionListDevices(session, s);
    if (list) devices = TF_DeviceListCount(list);
    TF_DeleteDeviceList(list);
  }
  if (second) TF_DeleteSession(second, s);
  if (session) TF_DeleteSession(session, s);
  kill(p.pid, SIGTERM);
  CHECK_INT(end(&p), 0);
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return devices;
}

TEST(devices_as_many_as_were_asked_for) {
  CHECK_INT(devices_of(""), 1);
  CHECK_INT(devices_of("--cpu-devices 3"), 3);
  CHECK_INT(devices_of("--cpu-devices=130"), 130); /* a varint of two bytes */
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
