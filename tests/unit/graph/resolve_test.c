/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions resolved against signatures: how inputs divide among arguments, which attrs follow from them, each refusal in its words. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/resolve.h"
#include "op/infer_fns.h"
#include "unit/graph/graph_fixture.h"

#define TEST_OP(op_name, signature, more) \
  { .name = op_name, .sig = signature, .attrs = more, .doc = "", HR_HERE, .shape = hr_infer_any }
static const hr_op_t test_ops[] = {
    TEST_OP("RListOne", "a: N * T; b: T -> y: N * T; z: T", "N: int; T: type"),
    TEST_OP("RSame", "a: N * float; b: N * int32 -> y: N * int32", "N: int >= 1"),
    TEST_OP("RTwo", "a: N * float; b: M * float ->", "N: int; M: int"),
    TEST_OP("RTypes", "x: Ts -> y: Ts; n: int32", "Ts: list(type) >= 1"),
    TEST_OP("RMixed", "a: float; b: N * int32; c: Ts; d: bool ->", "N: int; Ts: list(type)"),
    TEST_OP("RDefault", "x: T; i: Ti -> y: T", "T: type; Ti: type{int32,int64} = int32; k: int = 5; names: list(string) = []; f: float"),
    TEST_OP("RRef", "r: Ref(T); v: T -> o: Ref(T); p: float", "T: type"),
    TEST_OP("RRefs", "r: Ref(float) -> o: Ref(int32)", ""),
    TEST_OP("ROut", "-> y: N * float; z: M * float", "N: int; M: int = 0"),
    TEST_OP("RNone", "->", ""),
};

static hr_graph_t* g;
static hr_node_t *f, *i, *b, *v; /* a float, an int32, a bool, a reference */

static void open_graph(void) {
  static bool registered;
  for (size_t k = 0; k < sizeof test_ops / sizeof *test_ops && !registered; ++k) HR_CHECK_OK(hr_registry_add(&test_ops[k]));
  registered = true;
  g = fixture_graph();
  f = fixture_placeholder(g, "f", HR_F32, 0, NULL);
  i = fixture_placeholder(g, "i", HR_I32, 0, NULL);
  b = fixture_placeholder(g, "b", HR_BOOL, 0, NULL);
  v = fixture_add(g, "VariableV2", "v", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_shape("shape", &hr_pshape_scalar)));
}

/* "lengths of arguments | attrs | input types | output types | names of inputs", or the refusal. `inputs`: a letter each, '-' a missing
 * one. */
static void resolved_text(const char* op, const char* inputs, const int32_t* lists, int attr_count, const hr_named_attr_t* attrs,
                          hr_strbuf_t* out) {
  hr_value_t in[64];
  hr_resolve_t r;
  const hr_op_def_t* def = NULL;
  int32_t types[128];
  int count = (int)strlen(inputs);
  for (int k = 0; k < count; ++k) {
    char c = inputs[k];
    in[k] = fixture_out(c == 'f' ? f : c == 'i' ? i : c == 'b' ? b : c == 'v' ? v : NULL, 0);
  }
  hr_node_desc_t desc = {.op = hr_str(op),
                         .name = HR_STR("n"),
                         .inputs = count ? in : NULL,
                         .input_count = count,
                         .input_lists = lists,
                         .attrs = attrs,
                         .attr_count = attr_count,
                         .allow_missing_inputs = true};
  HR_CHECK_OK(hr_registry_find(desc.op, &def));
  memset(&r, 0x55, sizeof r); /* nothing is taken from what was there before */
  hr_status_t status = hr_resolve_run(&r, &g->arena, def, &desc);
  if (status) {
    hr_strbuf_format(out, "%s", hr_status_message(status));
    hr_status_release(status);
    return;
  }
  for (int a = 0; a < def->input_count; ++a) hr_strbuf_format(out, "%s%d", a ? "," : "", (int)r.lengths[a]);
  hr_strbuf_format(out, "|");
  for (int a = 0; a < def->attr_count; ++a) {
    hr_strbuf_format(out, "%s%.*s=", a ? "," : "", HR_STR_ARG(def->attrs[a].name));
    hr_attr_print(&r.values[a], out);
    HR_CHECK(r.origins[a] == HR_RESOLVE_GIVEN || r.origins[a] == HR_RESOLVE_KEPT);
  }
  hr_strbuf_format(out, "|");
  memset(types, 0, sizeof types);
  hr_resolve_input_types(&r, types);
  for (int k = 0; types[k]; ++k) hr_strbuf_format(out, "%s%s", k ? "," : "", hr_dtype_name(types[k]));
  hr_strbuf_format(out, "|");
  memset(types, 0, sizeof types);
  hr_resolve_output_types(&r, types);
  for (int k = 0; types[k]; ++k) hr_strbuf_format(out, "%s%s", k ? "," : "", hr_dtype_name(types[k]));
  hr_strbuf_format(out, "|%d|", (int)r.output_count);
  for (int k = 0; k < count; ++k) hr_strbuf_format(out, "%s%.*s", k ? "," : "", HR_STR_ARG(hr_resolve_input_name(&r, k)));
  HR_CHECK_EQ_I64(hr_resolve_input_name(&r, count).size, 0);
}

typedef struct {
  const char *op, *inputs;
  const int32_t* lists;
  int attr_count;
  hr_named_attr_t attrs[3];
  const char* want;
} row_t;

static void check_rows(const row_t* rows, size_t count) {
  open_graph();
  for (size_t k = 0; k < count; ++k) {
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    resolved_text(rows[k].op, rows[k].inputs, rows[k].lists, rows[k].attr_count, rows[k].attrs, &text);
    if (!HR_CHECK_VIEW(hr_strbuf_view(&text), rows[k].want)) printf("in row %d\n", (int)k);
    hr_strbuf_deinit(&text);
  }
  hr_graph_destroy(g);
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))
#define NO_ATTR          hr_at_int("", 0) /* fills the row; attr_count is 0 */
#define LISTS(...) \
  (const int32_t[]) { __VA_ARGS__ }

HR_TEST(inputs_divide_among_arguments) {
  const row_t rows[] = {
      {"RListOne", "fff", NULL, 0, {NO_ATTR}, "2,1|N=2,T=float|float,float,float|float,float,float|3|a,a,b"},
      {"RListOne", "f", NULL, 0, {NO_ATTR}, "0,1|N=0,T=float|float|float|1|b"},
      {"RListOne", "", NULL, 0, {NO_ATTR}, "0 inputs given but 1 wanted by RListOne(a: N * T, b: T) -> y: N * T, z: T; N: int; T: type"},
      {"RListOne", "ii", LISTS(1, 1), 0, {NO_ATTR}, "1,1|N=1,T=int32|int32,int32|int32,int32|2|a,b"},
      {"RListOne",
       "ii",
       LISTS(2, 1),
       0,
       {NO_ATTR},
       "2 inputs given but 3 wanted by RListOne(a: N * T, b: T) -> y: N * T, z: T; N: int; T: type"},
      {"RListOne",
       "ii",
       LISTS(0, 1),
       0,
       {NO_ATTR},
       "2 inputs given but 1 wanted by RListOne(a: N * T, b: T) -> y: N * T, z: T; N: int; T: type"},
      {"RListOne", "ii", LISTS(-1, 1), 0, {NO_ATTR}, "argument 'a' was given -1 inputs but has -1 by its attr"},
      {"RListOne", "ii", LISTS(0, 2), 0, {NO_ATTR}, "argument 'b' was given 2 inputs but has 1 by its attr"},
      {"RListOne", "ii", LISTS(1, 1), 1, {hr_at_int("N", 2)}, "argument 'a' was given 1 inputs but has 2 by its attr"},
      {"RListOne", "i", LISTS(0, 1), 1, {hr_at_int("N", 0)}, "0,1|N=0,T=int32|int32|int32|1|b"},
      {"RListOne", "iii", NULL, 1, {hr_at_int("N", 2)}, "2,1|N=2,T=int32|int32,int32,int32|int32,int32,int32|3|a,a,b"},
      {"RListOne",
       "iii",
       NULL,
       1,
       {hr_at_int("N", 3)},
       "3 inputs given but 4 wanted by RListOne(a: N * T, b: T) -> y: N * T, z: T; N: int; T: type"},
      {"RListOne",
       "iii",
       NULL,
       1,
       {hr_at_int("N", 4)},
       "3 inputs given but 4 wanted by RListOne(a: N * T, b: T) -> y: N * T, z: T; N: int; T: type"},
      {"RListOne",
       "iii",
       NULL,
       1,
       {hr_at_int("N", 1)},
       "3 inputs given but 2 wanted by RListOne(a: N * T, b: T) -> y: N * T, z: T; N: int; T: type"},
      {"RSame", "ffii", NULL, 0, {NO_ATTR}, "2,2|N=2|float,float,int32,int32|int32,int32|2|a,a,b,b"},
      {"RSame", "fi", NULL, 0, {NO_ATTR}, "1,1|N=1|float,int32|int32|1|a,b"},
      {"RSame", "ffi", NULL, 0, {NO_ATTR}, "3 inputs given but 0 wanted by RSame(a: N * float, b: N * int32) -> y: N * int32; N: int >= 1"},
      {"RSame", "ffi", LISTS(2, 1), 0, {NO_ATTR}, "attr 'N' is 2 but a list of 1 inputs was given"},
      {"RSame", "", NULL, 0, {NO_ATTR}, "value for attr 'N' of 0 must be at least minimum 1; op 'RSame'"},
      {"RTwo", "ff", NULL, 0, {NO_ATTR}, "cannot tell how the inputs divide among arguments: give attr 'N' or 'M'"},
      {"RTwo", "ff", NULL, 1, {hr_at_int("M", 2)}, "0,2|N=0,M=2|float,float||0|b,b"},
      {"RTwo", "ff", NULL, 1, {hr_at_int("N", 0)}, "0,2|N=0,M=2|float,float||0|b,b"},
      {"RTwo", "fff", LISTS(1, 2), 0, {NO_ATTR}, "1,2|N=1,M=2|float,float,float||0|a,b,b"},
      {"RMixed", "fiifbb", NULL, 1, {hr_at_int("N", 2)}, "1,2,2,1|N=2,Ts=[float, bool]|float,int32,int32,float,bool,bool||0|a,b,b,c,c,d"},
      {"RMixed", "fb", LISTS(1, 0, 0, 1), 0, {NO_ATTR}, "1,0,0,1|N=0,Ts=[]|float,bool||0|a,d"},
      {"RNone", "", NULL, 0, {NO_ATTR}, "||||0|"},
      {"RNone", "f", NULL, 0, {NO_ATTR}, "1 inputs given but 0 wanted by RNone() ->"},
  };
  CHECK_ROWS(rows);
}

HR_TEST(attrs_follow_from_inputs_or_have_defaults) {
  static const int32_t two_types[] = {HR_I32, HR_F32};
  const hr_named_attr_t empty = hr_at("names", (hr_attr_t){.kind = HR_ATTR_NONE, .is_list = true});
  const row_t rows[] = {
      {"RDefault", "fi", NULL, 1, {hr_at_float("f", 1)}, "1,1|T=float,Ti=int32,k=5,names=[],f=1|float,int32|float|1|x,i"},
      {"RDefault",
       "ff",
       NULL,
       1,
       {hr_at_float("f", 1)},
       "value for attr 'Ti' of float is not in the list of allowed values: int32, int64; op 'RDefault'"},
      {"RDefault", "fi", NULL, 0, {NO_ATTR}, "attr 'f' (float) is missing"},
      {"RDefault", "f-", NULL, 1, {hr_at_float("f", 1)}, "1,1|T=float,Ti=int32,k=5,names=[],f=1|float,int32|float|1|x,i"},
      {"RDefault", "-i", NULL, 1, {hr_at_float("f", 1)}, "attr 'T' (type) is missing"},
      {"RDefault",
       "-i",
       NULL,
       2,
       {hr_at_float("f", 1), hr_at_type("T", HR_BOOL)},
       "1,1|T=bool,Ti=int32,k=5,names=[],f=1|bool,int32|bool|1|x,i"},
      {"RDefault",
       "fi",
       NULL,
       2,
       {hr_at_float("f", 1), hr_at_type("Ti", HR_I64)},
       "1,1|T=float,Ti=int64,k=5,names=[],f=1|float,int64|float|1|x,i"},
      {"RDefault",
       "fi",
       NULL,
       2,
       {hr_at_float("f", 1), hr_at_type("T", HR_I32)},
       "1,1|T=int32,Ti=int32,k=5,names=[],f=1|int32,int32|int32|1|x,i"},
      {"RDefault", "fi", NULL, 2, {hr_at_float("f", 1), empty}, "1,1|T=float,Ti=int32,k=5,names=[],f=1|float,int32|float|1|x,i"},
      {"RDefault",
       "fi",
       NULL,
       2,
       {hr_at_float("f", 1), hr_at("names", (hr_attr_t){.kind = HR_ATTR_NONE})},
       "attr 'names' of op 'RDefault' is a nothing where list(string) is wanted"},
      {"RDefault",
       "fi",
       NULL,
       1,
       {hr_at("k", (hr_attr_t){.kind = HR_ATTR_NONE, .is_list = true})},
       "attr 'k' of op 'RDefault' is a list(int) where int is wanted"},
      {"RDefault",
       "fi",
       NULL,
       2,
       {hr_at_float("f", 1), hr_at_int("_private", 1)},
       "1,1|T=float,Ti=int32,k=5,names=[],f=1|float,int32|float|1|x,i"},
      {"RDefault", "fi", NULL, 2, {hr_at_float("f", 1), hr_at_int("q", 1)}, "the op has no attr 'q'"},
      {"RDefault", "fi", NULL, 2, {hr_at_float("f", 1), hr_at_int("", 1)}, "the op has no attr ''"},
      {"RDefault", "fi", NULL, 1, {hr_at_int("f", 1)}, "attr 'f' of op 'RDefault' is a int where float is wanted"},
      {"RDefault", "fi", NULL, 1, {hr_at_str("k", "1")}, "attr 'k' of op 'RDefault' is a string where int is wanted"},
      {"RListOne", "--f", NULL, 0, {NO_ATTR}, "2,1|N=2,T=float|float,float,float|float,float,float|3|a,a,b"},
      {"RListOne", "-fi", NULL, 0, {NO_ATTR}, "2,1|N=2,T=float|float,float,float|float,float,float|3|a,a,b"},
      {"RTypes", "ifb", NULL, 0, {NO_ATTR}, "3|Ts=[int32, float, bool]|int32,float,bool|int32,float,bool,int32|4|x,x,x"},
      {"RTypes", "v", NULL, 0, {NO_ATTR}, "1|Ts=[float]|float|float,int32|2|x"},
      {"RTypes", "", NULL, 0, {NO_ATTR}, "length for attr 'Ts' of 0 must be at least minimum 1; op 'RTypes'"},
      {"RTypes", "i-", NULL, 0, {NO_ATTR}, "attr 'Ts' is needed while an input is missing"},
      {"RTypes", "-i", NULL, 0, {NO_ATTR}, "attr 'Ts' is needed while an input is missing"},
      {"RTypes", "i-", NULL, 1, {hr_at_types("Ts", two_types, 2)}, "2|Ts=[int32, float]|int32,float|int32,float,int32|3|x,x"},
      {"RTypes",
       "i",
       NULL,
       1,
       {hr_at_types("Ts", two_types, 2)},
       "1 inputs given but 2 wanted by RTypes(x: Ts) -> y: Ts, n: int32; Ts: list(type) >= 1"},
      {"RRef", "vf", NULL, 0, {NO_ATTR}, "1,1|T=float|float_ref,float|float_ref,float|2|r,v"},
      {"RRefs", "v", NULL, 0, {NO_ATTR}, "1||float_ref|int32_ref|1|r"},
  };
  CHECK_ROWS(rows);
}

HR_TEST(outputs_are_counted_up_to_a_million) {
  static const struct {
    int64_t n, m;
    const char* want;
  } rows[] = {
      {0, 0, ""},
      {3, 2, ""},
      {1000000, 0, ""},
      {600000, 400000, ""},
      {1000001, 0, "output 'y' would be 1000001 tensors; 0 to 1000000 are supported"},
      {600000, 400001, "output 'z' would be 400001 tensors; 0 to 1000000 are supported"},
      {-1, 0, "output 'y' would be -1 tensors; 0 to 1000000 are supported"},
      {1, -1, "output 'z' would be -1 tensors; 0 to 1000000 are supported"},
  };
  open_graph();
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    const hr_named_attr_t attrs[] = {hr_at_int("N", rows[k].n), hr_at_int("M", rows[k].m)};
    hr_node_desc_t desc = {.op = HR_STR("ROut"), .attrs = attrs, .attr_count = 2};
    const hr_op_def_t* def = NULL;
    hr_resolve_t r;
    HR_CHECK_OK(hr_registry_find(desc.op, &def));
    hr_status_t status = hr_resolve_run(&r, &g->arena, def, &desc);
    HR_CHECK_STR(status ? hr_status_message(status) : "", rows[k].want);
    if (!status) HR_CHECK(r.output_count == rows[k].n + rows[k].m && r.origins[0] == HR_RESOLVE_GIVEN);
    hr_status_release(status);
  }
  hr_graph_destroy(g);
}

HR_TEST(what_is_kept_and_what_is_given) {
  open_graph();
  for (int kept = 0; kept < 2; ++kept) {
    const hr_named_attr_t attrs[] = {hr_at_float("f", 1), hr_at_int("_a", 1), hr_at_int("_b", 2)};
    hr_value_t in[] = {fixture_out(f, 0), fixture_out(i, 0)};
    hr_node_desc_t desc = {.op = HR_STR("RDefault"), .inputs = in, .input_count = 2, .attrs = attrs, .attr_count = 3, .attrs_kept = kept};
    const hr_op_def_t* def = NULL;
    hr_resolve_t r;
    HR_CHECK_OK(hr_registry_find(desc.op, &def));
    HR_CHECK_OK(hr_resolve_run(&r, &g->arena, def, &desc));
    HR_CHECK_EQ_I64(r.extra_count, 2);
    HR_CHECK(r.origins[0] == HR_RESOLVE_KEPT && r.origins[2] == HR_RESOLVE_KEPT &&
             r.origins[4] == (kept ? HR_RESOLVE_KEPT : HR_RESOLVE_GIVEN));
  }
  hr_graph_destroy(g);
}

/* As many attrs and arguments as the spaces hold, and one more. */
HR_TEST(ops_of_many_attrs_and_arguments) {
  open_graph();
  for (int count = 32; count <= 33; ++count) {
    static char names[2][16], sigs[2][512], attrs[2][1024];
    static hr_op_t ops[2];
    static bool registered[2];
    int at = 0, k = count - 32;
    hr_value_t in[33];
    snprintf(names[k], sizeof names[k], "RMany%d", count);
    sigs[k][0] = attrs[k][0] = 0;
    for (int a = 0; a < count; ++a) {
      at += snprintf(attrs[k] + at, sizeof attrs[k] - (size_t)at, "%st%d: type%s", a ? "; " : "", a, a & 1 ? " = bool" : "");
      in[a] = fixture_out(a % 3 ? f : i, 0);
    }
    at = 0;
    for (int a = 0; a < count; ++a) at += snprintf(sigs[k] + at, sizeof sigs[k] - (size_t)at, "%sx%d: t%d", a ? "; " : "", a, a);
    snprintf(sigs[k] + at, sizeof sigs[k] - (size_t)at, " -> y: t%d", count - 1);
    ops[k] = (hr_op_t){.name = names[k], .sig = sigs[k], .attrs = attrs[k], .doc = "", HR_HERE, .shape = hr_infer_any};
    if (!registered[k]) HR_CHECK_OK(hr_registry_add(&ops[k]));
    registered[k] = true;
    hr_node_desc_t desc = {.op = hr_str(names[k]), .name = hr_str(names[k]), .inputs = in, .input_count = count};
    const hr_op_def_t* def = NULL;
    hr_resolve_t r;
    HR_CHECK_OK(hr_registry_find(desc.op, &def));
    memset(&r, 0x55, sizeof r);
    HR_REQUIRE_OK(hr_resolve_run(&r, &g->arena, def, &desc));
    for (int a = 0; a < count; ++a)
      HR_CHECK(r.lengths[a] == 1 && r.values[a].u.type == (a % 3 ? HR_F32 : HR_I32) && r.origins[a] == HR_RESOLVE_KEPT);
    HR_CHECK((r.values == r.value_space) == (count == 32) && (r.lengths == r.length_space) == (count == 32));
    HR_CHECK_VIEW(hr_resolve_input_name(&r, 31), "x31");
    hr_node_t* n = NULL;
    HR_CHECK_OK(hr_graph_add(g, &desc, &n));
    if (n) HR_CHECK(n->input_count == count && n->output_types[0] == ((count - 1) % 3 ? HR_F32 : HR_I32));
  }
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
