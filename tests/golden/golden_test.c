/* SPDX-License-Identifier: Apache-2.0 */
/* Runs golden cases on a library that exports TensorFlow's C API; ends with "N passed, N failed".
 *
 *   golden_test [options] LIBRARY...      several are opened in order, functions come from the last
 *     --cases DIR      folder of <Op>.tfrecord files (default: ops)
 *     --op NAME        only these ops (may be repeated)
 *     --case N         only the N-th case of each op
 *     --known FILE     documented deviations (known.h)
 *     --summary FILE   writes op, case, outcome, note, separated by tabs
 *     --isa NAME       sets HEADRACE_ISA
 *     --config FILE    a serialized ConfigProto for every session
 *     --target TEXT    where sessions run: grpc://host:port of a server
 *     --device LIST    devices that nodes ask for, in turn, separated by commas (two CPUs are there, and those of --device-library)
 *     --device-library FILE   a library that brings devices
 *     --no-gradients   values and errors alone
 *     --fork           each op in a process of its own: a crash or a hang costs one case, not the run
 *     -j N             with --fork: N ops at a time
 *     --timeout N      with --fork: seconds a case may take (default 60)
 *     --quiet          failures alone, no line per op
 *
 * The parent never opens the library: a process that has threads cannot be forked. */
#include <dirent.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "golden/api.h"
#include "golden/case_run.h"
#include "golden/devices.h"
#include "golden/known.h"
#include "golden/record.h"

enum { MAX_OPS = 2048, MAX_JOBS = 64 };
typedef enum { PASSED, FAILED, KNOWN } outcome_t;

typedef struct {
  char* op;
  int passed, failed, known;
} tally_t;

static struct {
  const char *cases, *known_path, *summary_path, *config_path, *device_library;
  char* chosen[MAX_OPS];
  int chosen_count, only_case, fork, jobs, timeout, quiet;
  golden_options_t run;
  golden_known_t known;
  char** libraries;
  int library_count;
  FILE* summary;
} opt = {.cases = "ops", .only_case = -1, .jobs = 1, .timeout = 60, .run = {.gradients = 1}};

/* ---- one op, in whatever process */

static int open_library(void) {
  return golden_api_open(opt.libraries, opt.library_count) && (!opt.device_library || golden_devices_load(opt.device_library));
}

static void add_count(tally_t* tally, outcome_t outcome) {
  tally->passed += outcome == PASSED;
  tally->failed += outcome == FAILED;
  tally->known += outcome == KNOWN;
}

static outcome_t judge(const golden_case_t* c, const char* op, int number, int good, const char* why) {
  golden_known_row_t* row = golden_known_find(&opt.known, op, c->note);
  if (good && !row) return PASSED;
  if (!good && row) return KNOWN;
  printf("%s case %d (%s):\n%s", op, number, c->note, good ? "  passes, though listed as a known difference\n" : why);
  return FAILED;
}

typedef void (*report_fn_t)(void* arg, int number, int begins, outcome_t outcome, const char* note);

/* Runs the cases from number `first` on; `report` hears of each case's begin and end. */
static void run_cases(const char* op, int first, report_fn_t report, void* arg) {
  char path[4096], why[4000];
  golden_file_t file;
  golden_case_t c;
  size_t at = 0;
  int state = 1;
  snprintf(path, sizeof path, "%s/%s.tfrecord", opt.cases, op);
  if (!golden_file_read(path, &file)) {
    report(arg, 0, 0, FAILED, "no such file");
    return;
  }
  for (int number = 0; (state = golden_case_next(&file, &at, &c)) > 0; number++) {
    if (number >= first && (opt.only_case < 0 || number == opt.only_case)) {
      report(arg, number, 1, PASSED, c.note);
      int good = golden_case_run(&c, &opt.run, why, sizeof why);
      report(arg, number, 0, judge(&c, op, number, good, why), c.note);
    }
    golden_case_free(&c);
  }
  if (state < 0) {
    golden_case_free(&c);
    printf("%s: the file is damaged\n", op);
    report(arg, -1, 0, FAILED, "damaged file");
  }
  golden_file_free(&file);
}

static const char* outcome_name(outcome_t o) { return o == PASSED ? "pass" : o == KNOWN ? "known" : "fail"; }

static void record_outcome(tally_t* tally, int number, outcome_t outcome, const char* note) {
  add_count(tally, outcome);
  if (opt.summary) fprintf(opt.summary, "%s\t%d\t%s\t%s\n", tally->op, number, outcome_name(outcome), note);
}

static void print_op(const tally_t* t) {
  if (opt.quiet) return;
  printf("%s: %d/%d", t->op, t->passed, t->passed + t->failed);
  if (t->known) printf(" (%d known differences)", t->known);
  printf("\n");
  fflush(stdout);
}

/* ---- in this process */

static void report_here(void* arg, int number, int begins, outcome_t outcome, const char* note) {
  if (!begins) record_outcome(arg, number, outcome, note);
}

/* ---- in a child: lines on a pipe; those that begin with \001 are reports, the rest is text to show */

typedef struct {
  pid_t pid;
  int pipe;
  tally_t* tally;
  int running;     /* number of the case that has begun and not ended, or -1 */
  char note[1024]; /* its note */
  size_t used;     /* of text: the beginning of a line that has not ended */
  char text[16384];
} job_t;

static void report_up(void* arg, int number, int begins, outcome_t outcome, const char* note) {
  (void)arg;
  printf("\001%d %d %d %s\n", number, begins, (int)outcome, note);
  fflush(stdout);
  alarm(begins ? (unsigned)opt.timeout : 0);
}

/* In a library and program built with ASan: what the child leaked fails it (its exit handlers do not run). */
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

static int start_job(job_t* job, tally_t* tally, int first) {
  int ends[2];
  fflush(NULL);
  if (pipe(ends)) return 0;
  pid_t pid = fork();
  if (pid < 0) return 0;
  if (pid == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    signal(SIGALRM, SIG_DFL);
    if (open_library()) run_cases(tally->op, first, report_up, NULL);
    else report_up(NULL, -1, 0, FAILED, "library");
    fflush(stdout);
    int leaked = __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check();
    _exit(leaked ? 23 : 0); /* exit handlers of a library under test must not decide */
  }
  close(ends[1]);
  job->pid = pid;
  job->pipe = ends[0];
  job->tally = tally;
  job->running = -1;
  job->used = 0;
  return 1;
}

static void hear_line(job_t* job, char* line) {
  int number, begins, outcome, used = 0;
  if (*line != 1) {
    puts(line);
    return;
  }
  if (sscanf(line + 1, "%d %d %d %n", &number, &begins, &outcome, &used) < 3) return;
  job->running = begins ? number : -1;
  snprintf(job->note, sizeof job->note, "%s", line + 1 + used);
  if (!begins) record_outcome(job->tally, number, (outcome_t)outcome, job->note);
}

/* The child has closed its pipe: a case that it was at has crashed or hung, and another child takes the cases after it. */
static int end_job(job_t* job) {
  int how = 0, crashed = job->running;
  close(job->pipe);
  waitpid(job->pid, &how, 0);
  if (crashed < 0 && WIFEXITED(how) && !WEXITSTATUS(how)) return print_op(job->tally), 0;
  if (crashed < 0) snprintf(job->note, sizeof job->note, "between cases");
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM)
    printf("%s case %d (%s):\n  no end after %d s\n", job->tally->op, crashed, job->note, opt.timeout);
  else if (WIFSIGNALED(how))
    printf("%s case %d (%s):\n  ended by signal %d (%s)\n", job->tally->op, crashed, job->note, WTERMSIG(how), strsignal(WTERMSIG(how)));
  else printf("%s case %d (%s):\n  the process exited with %d\n", job->tally->op, crashed, job->note, WEXITSTATUS(how));
  record_outcome(job->tally, crashed, FAILED, job->note);
  if (crashed >= 0 && start_job(job, job->tally, crashed + 1)) return 1;
  print_op(job->tally);
  return 0;
}

/* Hears the whole lines that have come; 0 when the child has ended and no other took its place. */
static int pump_job(job_t* job) {
  ssize_t n = read(job->pipe, job->text + job->used, sizeof job->text - 1 - job->used);
  if (n <= 0) return end_job(job);
  job->used += (size_t)n;
  job->text[job->used] = 0;
  char *line = job->text, *end;
  while ((end = strchr(line, '\n'))) {
    *end = 0;
    hear_line(job, line);
    line = end + 1;
  }
  job->used -= (size_t)(line - job->text);
  memmove(job->text, line, job->used);
  if (job->used == sizeof job->text - 1) job->used = 0; /* a line of 16 KB is noise of the library's */
  return 1;
}

static void run_forked(tally_t* tallies, int ops) {
  static job_t jobs[MAX_JOBS];
  struct pollfd fds[MAX_JOBS];
  int live = 0, next = 0;
  while (next < ops || live) {
    while (live < opt.jobs && next < ops) {
      if (start_job(&jobs[live], &tallies[next], 0)) live++;
      else record_outcome(&tallies[next], -1, FAILED, "fork");
      next++;
    }
    for (int i = 0; i < live; i++) fds[i] = (struct pollfd){.fd = jobs[i].pipe, .events = POLLIN};
    poll(fds, (nfds_t)live, -1);
    for (int i = live; i-- > 0;)
      if (fds[i].revents && !pump_job(&jobs[i])) jobs[i] = jobs[--live];
  }
}

/* ---- options */

static int is_chosen(const char* op) {
  for (int i = 0; i < opt.chosen_count; i++)
    if (!strcmp(opt.chosen[i], op)) return 1;
  return !opt.chosen_count;
}

static int by_name(const void* a, const void* b) { return strcmp(((const tally_t*)a)->op, ((const tally_t*)b)->op); }

static int list_ops(tally_t* tallies) {
  DIR* folder = opendir(opt.cases);
  int count = 0;
  for (struct dirent* e; folder && (e = readdir(folder)) && count < MAX_OPS;) {
    char* dot = strrchr(e->d_name, '.');
    if (!dot || strcmp(dot, ".tfrecord")) continue;
    *dot = 0;
    if (is_chosen(e->d_name)) tallies[count++] = (tally_t){.op = strdup(e->d_name)};
  }
  if (folder) closedir(folder);
  qsort(tallies, (size_t)count, sizeof *tallies, by_name);
  return count;
}

static int read_options(int argc, char** argv) {
  static const struct option names[] = {{"cases", 1, 0, 'c'},        {"op", 1, 0, 'o'},    {"case", 1, 0, 'n'},   {"known", 1, 0, 'k'},
                                        {"summary", 1, 0, 's'},      {"isa", 1, 0, 'i'},   {"fork", 0, 0, 'f'},   {"timeout", 1, 0, 't'},
                                        {"no-gradients", 0, 0, 'g'}, {"quiet", 0, 0, 'q'}, {"config", 1, 0, 'C'},
                                        {"target", 1, 0, 'T'},       {"device", 1, 0, 'd'}, {"device-library", 1, 0, 'D'},
                                        {0, 0, 0, 0}};
  for (int o; (o = getopt_long(argc, argv, "j:", names, NULL)) != -1;) {
    if (o == 'c') opt.cases = optarg;
    else if (o == 'o' && opt.chosen_count < MAX_OPS) opt.chosen[opt.chosen_count++] = optarg;
    else if (o == 'n') opt.only_case = atoi(optarg);
    else if (o == 'k') opt.known_path = optarg;
    else if (o == 's') opt.summary_path = optarg;
    else if (o == 'i') setenv("HEADRACE_ISA", optarg, 1);
    else if (o == 'f') opt.fork = 1;
    else if (o == 't') opt.timeout = atoi(optarg);
    else if (o == 'g') opt.run.gradients = 0;
    else if (o == 'q') opt.quiet = 1;
    else if (o == 'C') opt.config_path = optarg;
    else if (o == 'T') opt.run.target = optarg;
    else if (o == 'd') opt.run.devices = optarg;
    else if (o == 'D') opt.device_library = optarg;
    else if (o == 'j' && atoi(optarg) > 0 && atoi(optarg) <= MAX_JOBS) opt.jobs = atoi(optarg);
    else return 0;
  }
  opt.libraries = argv + optind;
  opt.library_count = argc - optind;
  return opt.library_count > 0;
}

static int open_files(golden_file_t* config) {
  if (opt.known_path && !golden_known_read(opt.known_path, &opt.known)) return 0;
  if (opt.summary_path && !(opt.summary = fopen(opt.summary_path, "w"))) return printf("golden: cannot write %s\n", opt.summary_path), 0;
  if (!opt.config_path) return 1;
  if (!golden_file_read(opt.config_path, config)) return 0;
  opt.run.config = (const char*)config->bytes;
  opt.run.config_size = config->size;
  return 1;
}

int main(int argc, char** argv) {
  static tally_t tallies[MAX_OPS];
  golden_file_t config = {0};
  int passed = 0, failed = 0, known = 0;
  if (!read_options(argc, argv) || !open_files(&config)) {
    fprintf(stderr, "golden_test [options] LIBRARY...: see the head of golden_test.c\n");
    return 2;
  }
  mkdir("golden_tmp", 0777); /* cases with files work below it */
  int ops = list_ops(tallies);
  if (opt.fork) {
    run_forked(tallies, ops);
  } else if (open_library()) {
    for (int i = 0; i < ops; i++) {
      run_cases(tallies[i].op, 0, report_here, &tallies[i]);
      print_op(&tallies[i]);
    }
  } else {
    return 1;
  }
  for (int i = 0; i < ops; i++) {
    passed += tallies[i].passed;
    failed += tallies[i].failed;
    known += tallies[i].known;
    free(tallies[i].op);
  }
  if (opt.summary) fclose(opt.summary);
  golden_known_free(&opt.known);
  golden_file_free(&config);
  printf("%d ops, %d known differences\n%d passed, %d failed\n", ops, known, passed, failed);
  return failed || !passed;
}
