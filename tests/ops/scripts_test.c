/* SPDX-License-Identifier: Apache-2.0 */
/* Ops with a memory - queues, tables, variables, files - step by step: scripts.txt says what each step gives.
 *
 *   # title                        begins a script: a new graph and session
 *   name = Op :: inputs :: attrs   adds a node
 *   Op :: inputs :: attrs          adds one and runs it; "wait" before it: for a hundredth of a second at most; "shown": what it writes to
 *                                  the standard streams belongs to the outcome
 *   > outcome                      its outputs, or "done", or "!code message"
 *
 * inputs: as tests/ops/text.h reads them, and "@name" or "@name:1" for a node's output, split by ';', those of a list by '|' (a list of one
 * ends with it). In strings \n, \t and \r are what they are in C, \_ a space, \e nothing, \x and two digits a byte, and %d a folder.
 * attrs: as there, and <*>; (float|int32) and (<2>|<-1,3>|<*>) are lists of types and of shapes.
 * HEADRACE_SCRIPTS=FILE writes the scripts with the outcomes that there are. */
#include <dirent.h>
#include <unistd.h>
#include "ops/outcome_text.h"
#include "test.h"

enum { LINE = 9000, MOST_NODES = 400, MOST_PARTS = 16 };
typedef struct {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
  struct {
    char name[64];
    TF_Operation* node;
  } named[MOST_NODES];
  int named_count, made;
  char folder[64];
} script_t;

/* --- a script's session --------------------------------------------------------------------------------------------------------------- */

static void script_begin(script_t* s) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  s->graph = TF_NewGraph();
  s->status = TF_NewStatus();
  s->session = TF_NewSession(s->graph, options, s->status);
  s->named_count = s->made = 0;
  TF_DeleteSessionOptions(options);
}

static void script_end(script_t* s) {
  if (!s->graph) return;
  TF_DeleteSession(s->session, s->status);
  TF_DeleteGraph(s->graph);
  TF_DeleteStatus(s->status);
  s->graph = NULL;
}

/* --- inputs --------------------------------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static size_t script_unescape(const script_t* s, const char* text, size_t size, char* out) {
  static const char names[] = "ntr_", values[] = "\n\t\r ";
  size_t n = 0;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] == '%' && i + 1 < size && text[i + 1] == 'd') {
      n += (size_t)sprintf(out + n, "%s", s->folder);
      ++i;
    } else if (text[i] == '\\' && i + 3 < size && text[i + 1] == 'x') {
      out[n++] = (char)(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
      i += 3;
    } else if (text[i] == '\\' && i + 1 < size) {
      const char* name = strchr(names, text[++i]);
      if (name) out[n++] = values[name - names];
    } else {
      out[n++] = text[i];
    }
  }
  return n;
}

static TF_Operation* script_find(const script_t* s, const char* name, size_t size) {
  for (int i = 0; i < s->named_count; ++i)
    if (strlen(s->named[i].name) == size && !strncmp(s->named[i].name, name, size)) return s->named[i].node;
  return NULL;
}

static TF_OperationDescription* script_node(script_t* s, const char* op) {
  char name[32];
  snprintf(name, sizeof name, "n%d", s->made++);
  return TF_NewOperation(s->graph, op, name);
}

static TF_Output script_const(script_t* s, const char* at) {
  char plain[LINE];
  TF_Tensor* t = text_tensor(at, NULL);
  if (!t) {
    TF_SetStatus(s->status, TF_UNKNOWN, "a value that cannot be read");
    return (TF_Output){NULL, 0};
  }
  for (int64_t i = 0; TF_TensorType(t) == TF_STRING && i < TF_TensorElementCount(t); ++i) {
    TF_TString* text = (TF_TString*)TF_TensorData(t) + i;
    const size_t size = script_unescape(s, TF_StringGetDataPointer(text), TF_StringGetSize(text), plain);
    TF_StringCopy(text, plain, size);
  }
  TF_OperationDescription* d = script_node(s, "Const");
  TF_SetAttrTensor(d, "value", t, s->status);
  TF_SetAttrType(d, "dtype", TF_TensorType(t));
  TF_DeleteTensor(t);
  return (TF_Output){TF_FinishOperation(d, s->status), 0};
}

static TF_Output script_input(script_t* s, const char* at) {
  if (*at != '@') return script_const(s, at);
  const size_t size = strcspn(at + 1, ":;| ");
  TF_Operation* node = script_find(s, at + 1, size);
  if (!node) TF_SetStatus(s->status, TF_UNKNOWN, "no node of that name");
  return (TF_Output){node, at[size + 1] == ':' ? atoi(at + size + 2) : 0};
}

static void script_inputs(script_t* s, TF_OperationDescription* d, const char* at) {
  while (*at && TF_GetCode(s->status) == TF_OK) {
    TF_Output parts[MOST_PARTS];
    int count = 0;
    bool is_list = false;
    for (;;) {
      if (*at && *at != ';') parts[count++] = script_input(s, at);
      if (TF_GetCode(s->status) != TF_OK) return;
      at += strcspn(at, ";|");
      if (*at != '|') break;
      is_list = true;
      at += 1 + strspn(at + 1, " ");
    }
    if (is_list) TF_AddInputList(d, parts, count);
    else TF_AddInput(d, parts[0]);
    at += *at == ';';
    at += strspn(at, " ");
  }
}

/* --- attrs ---------------------------------------------------------------------------------------------------------------------------- */

/* "(float|int32)" or "(<2>|<*>)" */
static void script_list_attr(TF_OperationDescription* d, const char* name, const char* at) {
  TF_DataType types[MOST_PARTS];
  int64_t dims[MOST_PARTS][TEXT_MAX];
  const int64_t* shapes[MOST_PARTS];
  int ranks[MOST_PARTS], count = 0;
  const bool of_shapes = at[1] == '<';
  for (++at; *at && *at != ')' && count < MOST_PARTS; at += *at == '|') {
    if (of_shapes) {
      ranks[count] = at[1] == '*' ? -1 : 0;
      shapes[count] = dims[count];
      if (at[1] == '*') ++at;
      for (++at; *at && *at != '>'; at += *at == ',') {
        char* end;
        dims[count][ranks[count]++] = strtoll(at, &end, 10);
        at = end;
      }
      at += *at == '>';
      ++count;
    } else {
      const size_t size = strcspn(at, "|)");
      const int type = text_type(at, size);
      types[count++] = type < 0 ? TF_FLOAT : text_types[type].type;
      at += size;
    }
  }
  if (of_shapes) TF_SetAttrShapeList(d, name, shapes, ranks, count);
  else TF_SetAttrTypeList(d, name, types, count);
}

static void script_attrs(const script_t* s, TF_OperationDescription* d, const char* at) {
  for (; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64], plain[LINE];
    const size_t size = strcspn(at, "=");
    const char* value = at + size + 1;
    snprintf(name, sizeof name, "%.*s", (int)size, at);
    if (*value == '(') {
      script_list_attr(d, name, value);
    } else if (!strncmp(value, "<*>", 3)) {
      TF_SetAttrShape(d, name, NULL, -1);
    } else if (*value == '\'') {
      const size_t n = script_unescape(s, value + 1, strcspn(value + 1, "'"), plain);
      TF_SetAttrString(d, name, plain, n);
    } else {
      text_attr(d, name, value);
    }
  }
}

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */

/* "Op :: inputs :: attrs", which is cut up. */
static TF_Operation* script_add(script_t* s, char* line) {
  char *inputs = strstr(line, " ::"), *attrs = NULL;
  if (inputs) {
    *inputs = 0;
    inputs += 3 + strspn(inputs + 3, " ");
    attrs = strstr(inputs, "::");
    if (attrs) {
      *attrs = 0;
      attrs += 2 + strspn(attrs + 2, " ");
      for (size_t n = strlen(inputs); n && inputs[n - 1] == ' ';) inputs[--n] = 0;
    }
  }
  TF_OperationDescription* d = script_node(s, line);
  if (inputs) script_inputs(s, d, inputs);
  if (attrs) script_attrs(s, d, attrs);
  TF_Status* finished = TF_NewStatus();
  TF_Operation* node = TF_FinishOperation(d, finished);
  if (TF_GetCode(s->status) == TF_OK && !node) TF_SetStatus(s->status, TF_GetCode(finished), TF_Message(finished));
  TF_DeleteStatus(finished);
  return TF_GetCode(s->status) == TF_OK ? node : NULL;
}

/* Without "node 'n7' (Op): "; the folder is %d again, and numbers that count what a process made are left out: "_7_queue". */
static void script_scrub(const script_t* s, outcome_t* o) {
  static const char node[] = "node 'n";
  outcome_t plain = {.used = 0};
  for (const char* at = o->text; *at;) {
    const char* end = strncmp(at, node, strlen(node)) ? NULL : strstr(at, "): ");
    if (end) at = end + 3;
    if (!strncmp(at, s->folder, strlen(s->folder))) {
      outcome_add(&plain, "%%d");
      at += strlen(s->folder);
    } else {
      outcome_add(&plain, "%c", *at);
      if (*at++ == '_') at += strspn(at, "0123456789");
    }
  }
  *o = plain;
}

static void script_run(script_t* s, char* line, outcome_t* o) {
  static const char wait[] = "wait ", hundredth[] = {0x10, 10}; /* RunOptions: timeout_in_ms */
  const TF_Buffer patience = {hundredth, sizeof hundredth, NULL};
  const bool waits = !strncmp(line, wait, strlen(wait));
  TF_Output outs[MOST_PARTS];
  TF_Tensor* got[MOST_PARTS] = {0};
  TF_SetStatus(s->status, TF_OK, "");
  const TF_Operation* node = script_add(s, line + (waits ? strlen(wait) : 0));
  int count = node ? TF_OperationNumOutputs((TF_Operation*)(uintptr_t)node) : 0;
  if (count && TF_OperationOutputType((TF_Output){(TF_Operation*)(uintptr_t)node, 0}) == TF_RESOURCE) count = 0;
  for (int i = 0; i < count; ++i) outs[i] = (TF_Output){(TF_Operation*)(uintptr_t)node, i};
  if (node)
    TF_SessionRun(s->session, waits ? &patience : NULL, NULL, NULL, 0, outs, got, count, &node, count ? 0 : 1, NULL, s->status);
  if (TF_GetCode(s->status) != TF_OK) outcome_add_error(o, s->status);
  else if (!count) outcome_add(o, "done");
  for (int i = 0; i < count; ++i) {
    if (TF_GetCode(s->status) == TF_OK) outcome_add(o, i ? "; " : ""), outcome_add_tensor(o, got[i]);
    TF_DeleteTensor(got[i]);
  }
  script_scrub(s, o);
}

static void script_run_shown(script_t* s, char* line, outcome_t* o) {
  int kept[2];
  FILE* shown = tmpfile();
  fflush(stdout);
  for (int i = 0; i < 2; ++i) kept[i] = dup(i + 1), dup2(fileno(shown), i + 1);
  script_run(s, line, o);
  fflush(stdout);
  for (int i = 0; i < 2; ++i) dup2(kept[i], i + 1), close(kept[i]);
  rewind(shown);
  outcome_add(o, "; shown '");
  for (int c; (c = fgetc(shown)) != EOF;) outcome_add(o, c >= ' ' ? "%c" : "<%02x>", c);
  outcome_add(o, "'");
  fclose(shown);
}

static void script_name(script_t* s, char* line, outcome_t* o) {
  char* op = strstr(line, " = ");
  *op = 0;
  TF_SetStatus(s->status, TF_OK, "");
  TF_Operation* node = script_add(s, op + 3);
  if (!node) {
    outcome_add_error(o, s->status);
    script_scrub(s, o);
    return;
  }
  snprintf(s->named[s->named_count].name, sizeof s->named->name, "%.60s", line);
  s->named[s->named_count++].node = node;
}

static void remove_folder(const char* folder) {
  DIR* dir = opendir(folder);
  char path[400];
  for (struct dirent* e; dir && (e = readdir(dir));) {
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && unlink(path)) remove_folder(path);
  }
  if (dir) closedir(dir);
  rmdir(folder);
}

/* A line of the file: what it gives goes to `o` and is compared with the line after it. */
static bool script_line(script_t* s, const char* line, outcome_t* o) {
  char own[LINE];
  *o = (outcome_t){.used = 0};
  strcpy(own, line);
  if (*line == '#') {
    script_end(s);
    script_begin(s);
    return false;
  }
  const char *is = strstr(own, " = "), *colons = strstr(own, "::");
  if (is && (!colons || is < colons)) {
    script_name(s, own, o);
    return o->used > 0;
  }
  if (!strncmp(own, "shown ", 6)) script_run_shown(s, own + 6, o);
  else script_run(s, own, o);
  return true;
}

HR_TEST(scripts_give_what_they_say) {
  const char* to = getenv("HEADRACE_SCRIPTS");
  static char lines[2000][LINE];
  int count = 0;
  script_t s = {.folder = "/tmp/headrace-scripts-XXXXXX"};
  outcome_t o;
  FILE *f = fopen(HR_TEST_SOURCE_DIR "/tests/ops/scripts.txt", "r"), *out = to ? fopen(to, "w") : NULL;
  HR_REQUIRE(f && mkdtemp(s.folder));
  while (count < 2000 && fgets(lines[count], LINE, f)) lines[count][strcspn(lines[count], "\n")] = 0, ++count;
  fclose(f);
  for (int i = 0; i < count; ++i) {
    const char* line = lines[i];
    if (*line == '>' || !*line || (*line == '#' && !s.graph && i == 0 && line[1] == '!')) {
      if (out && *line != '>') fprintf(out, "%s\n", line);
      continue;
    }
    const bool gives = script_line(&s, line, &o), wants = i + 1 < count && lines[i + 1][0] == '>';
    if (out) {
      fprintf(out, gives ? "%s\n> %s\n" : "%s\n", line, o.text);
    } else if (gives != wants || (wants && strcmp(o.text, lines[i + 1] + 2))) {
      hr_test_fail("tests/ops/scripts.txt", i + 1, "%s: \"%s\", wanted \"%s\"", line, gives ? o.text : "", wants ? lines[i + 1] + 2 : "");
    }
  }
  script_end(&s);
  if (out) fclose(out);
  remove_folder(s.folder);
}
HR_TEST_MAIN()
