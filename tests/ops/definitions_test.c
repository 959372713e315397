/* SPDX-License-Identifier: Apache-2.0 */
/* Every registered op is defined as TensorFlow defines it, to the byte of its OpDef; has a gradient where TensorFlow has one, and kernels
 * for the types that TensorFlow's CPU kernels take. The facts are tests/ops/definitions.tsv: op, inputs, outputs, attrs, S for stateful,
 * deprecated@VERSION, algebra, gradient (yes, none, -), types by attr. */
#include "op/op_def.h"
#include "op/registry.h"
#include "test.h"

enum { OP, INPUTS, OUTPUTS, ATTRS, STATEFUL, DEPRECATED, ALGEBRA, GRADIENT, TYPES, COLUMNS };

static bool split_row(char* line, char** cells) {
  int n = 0;
  for (char* at = line; at && n < COLUMNS;) {
    cells[n++] = at;
    at = strpbrk(at, "\t\n");
    if (!at || *at == '\n') {
      if (at) *at = 0;
      break;
    }
    *at++ = 0;
  }
  return n == COLUMNS;
}

/* The op as the facts have it, in our own signature language, which is theirs. */
static void op_of_row(char** cells, char* sig, size_t size, hr_op_t* out) {
  snprintf(sig, size, "%s -> %s", cells[INPUTS], cells[OUTPUTS]);
  *out = (hr_op_t){.name = cells[OP], .sig = sig, .attrs = cells[ATTRS]};
  if (*cells[STATEFUL]) out->flags |= HR_OP_STATEFUL;
  if (strstr(cells[ALGEBRA], "commutative")) out->flags |= HR_OP_COMMUTATIVE;
  if (*cells[DEPRECATED]) out->deprecated = atoi(strchr(cells[DEPRECATED], '@') + 1);
}

static void print_def(const char* whose, const hr_op_def_t* def) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_sig_print(def, &text);
  printf("  %s: flags %x, deprecated %d, %.*s\n", whose, (unsigned)def->op->flags & 7, (int)def->op->deprecated,
         HR_STR_ARG(hr_strbuf_view(&text)));
  hr_strbuf_deinit(&text);
}

/* Without what only people read. */
static void encode_bare(const hr_op_def_t* def, hr_writer_t* w) {
  hr_op_t op = *def->op;
  hr_op_def_t bare = *def;
  op.doc = NULL;
  op.deprecated_why = NULL;
  op.flags &= HR_OP_STATEFUL | HR_OP_COMMUTATIVE;
  bare.op = &op;
  HR_CHECK_OK(hr_op_def_encode(&bare, w));
}

static void check_definition(char** cells, const hr_op_def_t* ours) {
  char sig[4096];
  hr_op_t op;
  hr_op_def_t theirs;
  hr_arena_t arena;
  hr_writer_t a, b;
  op_of_row(cells, sig, sizeof sig, &op);
  hr_arena_init(&arena);
  hr_strbuf_init(&a);
  hr_strbuf_init(&b);
  if (HR_CHECK_OK(hr_sig_parse(&arena, &op, &theirs))) {
    encode_bare(ours, &a);
    encode_bare(&theirs, &b);
    if (!HR_CHECK(hr_str_equal(hr_strbuf_view(&a), hr_strbuf_view(&b)))) {
      printf("%s is defined otherwise:\n", cells[OP]);
      print_def("ours", ours);
      print_def("TensorFlow's", &theirs);
    }
    hr_sig_release(&theirs);
  }
  hr_strbuf_deinit(&b);
  hr_strbuf_deinit(&a);
  hr_arena_deinit(&arena);
}

/* Their gradients are built where graphs are, from the shape of the loop or the functions they call (graph/grad_*.c). */
static const char* const graph_gradients[] = {"Case",         "If",          "LoopCond",       "StatelessCase",
                                              "StatelessIf", "StatelessWhile", "While"};

static bool graph_has_gradient(const char* op) {
  for (size_t i = 0; i < sizeof graph_gradients / sizeof *graph_gradients; ++i)
    if (strcmp(graph_gradients[i], op) == 0) return true;
  return false;
}

static void check_gradient(char** cells, const hr_op_def_t* ours) {
  const hr_grad_fn_t grad = ours->op->grad;
  const bool has = (grad && grad != hr_grad_none) || graph_has_gradient(cells[OP]);
  const bool right = *cells[GRADIENT] == 'y' ? has : *cells[GRADIENT] == 'n' ? grad == hr_grad_none : true;
  if (!HR_CHECK(right)) printf("  %s: TensorFlow's gradient: %s\n", cells[OP], cells[GRADIENT]);
}

/* --- kernels -------------------------------------------------------------------------------------------------------------------------- */

static bool row_takes(const hr_kernel_t* k, hr_str_t attr, hr_dtype_t type) {
  for (int w = 0; w < 3 && k->where[w].attr; ++w)
    if (hr_str_is(attr, k->where[w].attr)) return hr_dtype_in(type, k->where[w].types);
  return true;
}

static bool some_row_takes(const hr_op_def_t* def, hr_str_t attr, hr_dtype_t type) {
  for (int k = 0; k < def->op->kernel_count; ++k)
    if (row_takes(&def->op->kernels[k], attr, type)) return true;
  return false;
}

/* Also types that the signature forbids are among the facts. */
static bool signature_allows(const hr_op_def_t* def, hr_str_t attr, hr_dtype_t type) {
  const int at = hr_sig_find_attr(def, attr);
  return at >= 0 && (def->attrs[at].types == 0 || hr_dtype_in(type, def->attrs[at].types));
}

static void check_type(const hr_op_def_t* def, hr_str_t attr, const char* name) {
  int type = 0;
  if (!HR_CHECK(hr_dtype_parse(hr_str(name), &type)) || !signature_allows(def, attr, (hr_dtype_t)type)) return;
  if (!HR_CHECK(some_row_takes(def, attr, (hr_dtype_t)type)))
    printf("  %.*s has no kernel for %.*s = %s\n", HR_STR_ARG(def->name), HR_STR_ARG(attr), name);
}

/* "T{float,double}; U{int32}" */
static void check_types(char** cells, const hr_op_def_t* def) {
  char* rest = NULL;
  for (char* at = cells[TYPES]; *at;) {
    char *open = strchr(at, '{'), *close = strchr(at, '}');
    if (!open || !close) return; /* words: it has no kernel there */
    *close = 0;
    for (char* name = strtok_r(open + 1, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
      check_type(def, (hr_str_t){at, (size_t)(open - at)}, name);
    at = close + 1;
    at += strspn(at, "; ");
  }
}

static bool count_one(const hr_op_def_t* def, void* arg) {
  (void)def;
  ++*(int*)arg;
  return true;
}
static int count_ops(void) {
  int count = 0;
  hr_registry_each(count_one, &count);
  return count;
}

HR_TEST(ops_are_what_tensorflow_says_they_are) {
  FILE* f = fopen(HR_TEST_SOURCE_DIR "/tests/ops/definitions.tsv", "r");
  char line[8192], *cells[COLUMNS];
  int rows = 0;
  HR_REQUIRE(f);
  while (fgets(line, sizeof line, f)) {
    const hr_op_def_t* def = NULL;
    if (*line == '#') continue;
    if (!HR_CHECK(split_row(line, cells)) || !HR_CHECK_OK(hr_registry_find(hr_str(cells[OP]), &def))) continue;
    check_definition(cells, def);
    check_gradient(cells, def);
    if (strcmp(cells[OP], "_FusedConv2D")) check_types(cells, def); /* made by our own fusion, of floats alone */
    ++rows;
  }
  fclose(f);
  HR_CHECK_EQ_I64(rows, count_ops());
}

/* --- where arguments lie -------------------------------------------------------------------------------------------------------------- */

static void host_list(const hr_arg_def_t* args, int count, uint32_t mask, hr_strbuf_t* out) { /* their names, "all", or "-" */
  const char* comma = "";
  for (int i = 0; mask != UINT32_MAX && i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    if (i < count) hr_strbuf_format(out, "%s%.*s", comma, HR_STR_ARG(args[i].name));
    else hr_strbuf_format(out, "%s%d", comma, i);
    comma = ",";
  }
  if (mask == UINT32_MAX || !mask) hr_strbuf_format(out, mask ? "all" : "-");
}

static bool add_host_lines(const hr_op_def_t* def, void* arg) {
  for (int k = 0; k < def->op->kernel_count; ++k) {
    const hr_kernel_t* row = &def->op->kernels[k];
    if (!row->host_inputs && !row->host_outputs) continue;
    hr_strbuf_format(arg, "%s %d: ", def->op->name, k);
    host_list(def->inputs, def->input_count, row->host_inputs, arg);
    hr_strbuf_format(arg, " -> ");
    host_list(def->outputs, def->output_count, row->host_outputs, arg);
    hr_strbuf_format(arg, "\n");
  }
  return true;
}

/* host_args.txt says for each kernel which arguments are in host memory on any device: sizes, axes, indices that shape a result, handles,
 * strings. HEADRACE_HOST_ARGS=FILE writes it. */
HR_TEST(arguments_lie_in_host_memory_where_kernels_read_them_there) {
  const char* to = getenv("HEADRACE_HOST_ARGS");
  hr_strbuf_t text;
  char line[400];
  hr_strbuf_init(&text);
  hr_registry_each(add_host_lines, &text);
  HR_REQUIRE(!text.failed);
  FILE* f = fopen(to ? to : HR_TEST_SOURCE_DIR "/tests/ops/host_args.txt", to ? "w" : "r");
  HR_REQUIRE(f);
  if (to) fwrite(text.data, 1, text.size, f);
  hr_str_t rest = hr_strbuf_view(&text);
  while (!to && fgets(line, sizeof line, f)) {
    const int64_t end = hr_str_find(rest, '\n');
    if (!HR_CHECK(end >= 0)) break;
    line[strcspn(line, "\n")] = 0;
    HR_CHECK_VIEW(hr_str_slice(rest, 0, (size_t)end), line);
    rest = hr_str_slice(rest, (size_t)end + 1, rest.size);
  }
  HR_CHECK(to || rest.size == 0);
  fclose(f);
  hr_strbuf_deinit(&text);
}

HR_TEST_MAIN()
