/* SPDX-License-Identifier: Apache-2.0 */
/* The command: `headrace server` serves one task of a cluster until SIGINT or SIGTERM. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cluster_file.h"
#include "headrace/server.h"
#include "headrace/version.h"

static const char usage[] =
    "usage: headrace server [options]    serves one task of a cluster\n"
    "       headrace --version\n"
    "\n"
    "  --cluster FILE      the cluster's jobs and addresses as JSON: {\"ps\": [\"host:2222\"], \"worker\": [\"host:2223\"]};\n"
    "                      without it one task alone, job \"local\"\n"
    "  --job NAME          this task's job\n"
    "  --task N            its index in the job (0)\n"
    "  --port N            the port to listen on (that of the cluster's entry; of one task alone: any free one)\n"
    "  --cpu-devices N     CPU devices of the task (1)\n"
    "\n"
    "Whoever reaches the port may run graphs in this process. By default that is this machine only, and graphs touch no files:\n"
    "  --bind HOST         the address to listen on (127.0.0.1); another than loopback needs TLS or --insecure\n"
    "  --insecure          allow it without TLS\n"
    "  --tls-cert FILE     PEM certificate of this task, with --tls-key FILE\n"
    "  --tls-ca FILE       PEM authority that the other side's certificates must come from; clients must then show one\n"
    "  --root FOLDER       graphs may read and write files below it (none)\n"
    "\n"
    "Limits, each at least 1:\n"
    "  --max-message-bytes N (2147483647)  --max-peer-bytes N (8589934592)  --max-graph-nodes N (16777216)\n"
    "  --max-sessions N (1024)  --max-steps N (1024)  --max-connections N (1024)\n"
    "  --heartbeat-ms N (10000)  --control-ms N (5000)\n"
    "\n"
    "HEADRACE_TLS_CERT, HEADRACE_TLS_KEY and HEADRACE_TLS_CA say the same to clients; docs/cluster.md has examples.\n"
    "It says on standard output what it serves, and ends within a second of SIGINT or SIGTERM.\n";

typedef struct {
  cluster_file_t cluster;
  const char *bind, *root, *certificate, *key, *ca;
  int insecure;
  long long limits[HR_SERVER_CONTROL_MS + 1]; /* 0: not given */
} arguments_t;

/* --- arguments ------------------------------------------------------------------------------------------------------------------------ */

static const char* const limit_names[] = {[HR_SERVER_MESSAGE_BYTES] = "--max-message-bytes", [HR_SERVER_PEER_BYTES] = "--max-peer-bytes",
                                          [HR_SERVER_GRAPH_NODES] = "--max-graph-nodes",     [HR_SERVER_SESSIONS] = "--max-sessions",
                                          [HR_SERVER_STEPS] = "--max-steps",                 [HR_SERVER_CONNECTIONS] = "--max-connections",
                                          [HR_SERVER_HEARTBEAT_MS] = "--heartbeat-ms",       [HR_SERVER_CONTROL_MS] = "--control-ms"};

static int complain(const char* what, const char* about) {
  fprintf(stderr, "headrace: %s%s%s; see headrace --help\n", what, *about ? " " : "", about);
  return 0;
}

static int read_number(const char* name, const char* text, long long least, long long most, long long* out) {
  char* end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  if (*text && !*end && !errno && *out >= least && *out <= most) return 1;
  fprintf(stderr, "headrace: %s %s: a number from %lld to %lld was expected\n", name, text, least, most);
  return 0;
}

static int read_int(const char* name, const char* text, int least, int most, int* out) {
  long long v;
  if (!read_number(name, text, least, most, &v)) return 0;
  *out = (int)v;
  return 1;
}

/* An option with a value; -1: there is none of this name. */
static int read_valued(arguments_t* a, const char* name, const char* value) {
  const struct { const char* name; const char** place; } texts[] = {
      {"--cluster", &a->cluster.cluster_path}, {"--job", &a->cluster.job}, {"--bind", &a->bind}, {"--root", &a->root},
      {"--tls-cert", &a->certificate},         {"--tls-key", &a->key},     {"--tls-ca", &a->ca}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
    if (!strcmp(name, texts[i].name)) return (*texts[i].place = value) != NULL;
  if (!strcmp(name, "--task")) return read_int(name, value, 0, 1000000, &a->cluster.task);
  if (!strcmp(name, "--port")) return read_int(name, value, 0, 65535, &a->cluster.port);
  if (!strcmp(name, "--cpu-devices")) return read_int(name, value, 1, 1024, &a->cluster.cpu_devices);
  for (size_t i = 0; i < sizeof limit_names / sizeof *limit_names; ++i)
    if (!strcmp(name, limit_names[i])) return read_number(name, value, 1, INT64_MAX, &a->limits[i]);
  return -1;
}

static int read_arguments(int count, char** words, arguments_t* a) {
  for (int i = 0; i < count; ++i) {
    char name[64];
    const char* equals = strchr(words[i], '=');
    if (!strcmp(words[i], "--insecure")) {
      a->insecure = 1;
      continue;
    }
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - words[i]) : 60, words[i]);
    const char* value = equals ? equals + 1 : i + 1 < count ? words[i + 1] : NULL;
    const int read = read_valued(a, name, value ? value : "");
    if (read < 0) return complain("unknown option", words[i]);
    if (!value) return complain("a value is missing after", words[i]);
    if (!read) return 0;
    i += !equals;
  }
  if (a->cluster.cluster_path && !a->cluster.job) return complain("a cluster needs --job: which of its tasks this is", "");
  const int is_any = !a->bind || !strcmp(a->bind, "0.0.0.0") || !strcmp(a->bind, "::") || !strcmp(a->bind, "[::]");
  if (!is_any) a->cluster.host = a->bind;
  if (!a->cluster.cluster_path && (a->cluster.job || a->cluster.task)) return complain("--job and --task need --cluster", "");
  return 1;
}

/* --- options -------------------------------------------------------------------------------------------------------------------------- */

enum { PEM_BYTES = 1 << 20 };

static char* read_file(const char* path) {
  FILE* f = fopen(path, "rb");
  char* text = f ? calloc(1, PEM_BYTES) : NULL;
  if (!f) fprintf(stderr, "headrace: cannot read '%s': %s\n", path, strerror(errno));
  if (text && fread(text, 1, PEM_BYTES - 1, f) == 0) {
    fprintf(stderr, "headrace: '%s' is empty\n", path);
    free(text);
    text = NULL;
  }
  if (f) fclose(f);
  return text;
}

static int is_good(TF_Status* s) {
  if (TF_GetCode(s) == TF_OK) return 1;
  fprintf(stderr, "headrace: %s\n", TF_Message(s));
  return 0;
}

static int set_tls(HR_ServerOptions* o, const arguments_t* a, TF_Status* s) {
  if (!a->certificate && !a->key && !a->ca) return 1;
  if (!a->certificate || !a->key) return complain("--tls-cert and --tls-key belong together", "");
  char* certificate = read_file(a->certificate);
  char* key = read_file(a->key);
  char* ca = a->ca ? read_file(a->ca) : NULL;
  const int good = certificate && key && (ca || !a->ca);
  if (good) HR_ServerSetTls(o, certificate, key, ca, s);
  free(certificate);
  free(key);
  free(ca);
  return good && is_good(s);
}

static int set_options(HR_ServerOptions* o, const arguments_t* a, TF_Status* s) {
  if (a->bind || a->insecure) HR_ServerSetBind(o, a->bind ? a->bind : "127.0.0.1", (unsigned char)a->insecure, s);
  if (a->root && is_good(s)) HR_ServerSetRoot(o, a->root, s);
  for (int i = 0; i <= (int)HR_SERVER_CONTROL_MS; ++i)
    if (a->limits[i] && TF_GetCode(s) == TF_OK) HR_ServerSetLimit(o, (HR_ServerLimit)i, a->limits[i], s);
  return is_good(s) && set_tls(o, a, s);
}

/* --- serving -------------------------------------------------------------------------------------------------------------------------- */

static void tell_what(TF_Server* server, const arguments_t* a) {
  printf("headrace %s serves /job:%s/task:%d as %s, listening on %s%s; files: %s\n", HR_Version(),
         a->cluster.cluster_path ? a->cluster.job : "local", a->cluster.task, TF_ServerTarget(server), a->bind ? a->bind : "127.0.0.1",
         a->certificate ? a->ca ? " (TLS, clients show certificates)" : " (TLS)" : "", a->root ? a->root : "none");
  fflush(stdout);
}

static void* end_hard(void* set) { /* a second signal, or a stop that does not end */
  int signal_number;
  alarm(5);
  sigwait(set, &signal_number);
  _exit(1);
}

/* Signals are blocked in every thread and waited for here. */
static int serve_until_signal(TF_Server* server, const arguments_t* a, sigset_t* set, TF_Status* s) {
  siginfo_t got;
  pthread_t thread;
  TF_ServerStart(server, s);
  if (!is_good(s)) return 0;
  tell_what(server, a);
  while (sigwaitinfo(set, &got) < 0) continue;
  printf("headrace: %s by process %ld, stopping\n", got.si_signo == SIGINT ? "interrupted" : "told to end", (long)got.si_pid);
  fflush(stdout);
  if (pthread_create(&thread, NULL, end_hard, set) == 0) pthread_detach(thread);
  TF_ServerStop(server, s);
  return is_good(s);
}

static int run_server(const arguments_t* a) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN); /* whoever read our output may be gone */
  TF_Status* s = TF_NewStatus();
  HR_ServerOptions* o = HR_NewServerOptions();
  size_t size = 0;
  unsigned char* def = s && o && set_options(o, a, s) ? hr_cluster_file_server_def(&a->cluster, &size) : NULL;
  TF_Server* server = def ? HR_NewServer(def, size, o, s) : NULL;
  const int good = server ? serve_until_signal(server, a, &set, s) : def && is_good(s);
  TF_DeleteServer(server);
  free(def);
  HR_DeleteServerOptions(o);
  TF_DeleteStatus(s);
  return good ? 0 : 1;
}

int main(int argc, char** argv) {
  arguments_t a = {0};
  for (int i = 1; i < argc; ++i)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return fputs(usage, stdout) == EOF;
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    printf("headrace %s\n", HR_Version());
    return fflush(stdout) == EOF;
  }
  if (argc < 2 || strcmp(argv[1], "server") != 0) {
    fputs(usage, stderr);
    return 2;
  }
  if (!read_arguments(argc - 2, argv + 2, &a)) return 2;
  return run_server(&a);
}
