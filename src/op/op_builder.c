/* SPDX-License-Identifier: Apache-2.0 */
/* Builder texts to mini-language. Arguments are the same in both (blanks aside); attrs differ in sets of types ("numbertype", a bare
 * set in braces), in quotes and in how defaults are written (a fragment of protobuf text). What is built lies in an arena that lives
 * on with the registered op. */
#include "op/op_builder.h"
#include "base/alloc.h"

typedef struct {
  hr_op_t op; /* first: hr_op_builder_arg goes from it to here */
  void* arg;
} built_op_t;

struct hr_op_builder {
  hr_arena_t arena;
  built_op_t* built;
  hr_strbuf_t inputs, outputs, attrs; /* mini-language so far */
  hr_status_t failure;                /* sticky */
};

/* --- life ----------------------------------------------------------------------------------------------------------------------- */
static bool is_legal_op_name(const char* name) {
  const char* p = name + (*name == '_');
  if (!(*p >= 'A' && *p <= 'Z')) return false;
  for (; *p; ++p)
    if (!((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_' || *p == '>')) return false;
  return true;
}

static const char* keep_text(hr_op_builder_t* b, const char* text) {
  hr_str_t copy = {"", 0};
  if (text && !hr_arena_str(&b->arena, hr_str(text), &copy)) hr_status_merge(&b->failure, hr_status_out_of_memory());
  return copy.data ? copy.data : "";
}

void hr_op_builder_destroy(hr_op_builder_t* b) {
  if (!b) return;
  hr_strbuf_deinit(&b->inputs);
  hr_strbuf_deinit(&b->outputs);
  hr_strbuf_deinit(&b->attrs);
  hr_status_release(b->failure);
  hr_arena_deinit(&b->arena);
  hr_free(b);
}

hr_op_builder_t* hr_op_builder_create(const char* name) {
  hr_op_builder_t* b = hr_alloc_zero(sizeof *b);
  if (!b) return NULL;
  hr_arena_init(&b->arena);
  hr_strbuf_init(&b->inputs);
  hr_strbuf_init(&b->outputs);
  hr_strbuf_init(&b->attrs);
  b->built = hr_arena_array(&b->arena, 1, sizeof *b->built);
  if (!b->built) {
    hr_op_builder_destroy(b);
    return NULL;
  }
  b->built->op.name = keep_text(b, name);
  if (!b->failure && !is_legal_op_name(b->built->op.name))
    b->failure = HR_ERROR(INVALID_ARGUMENT, "'%s' is no name for an op: a capital letter, then letters and digits", b->built->op.name);
  return b;
}

/* --- flags and functions ----------------------------------------------------------------------------------------------------------- */
void hr_op_builder_set_flags(hr_op_builder_t* b, uint32_t flags, bool on) {
  if (on) b->built->op.flags |= flags;
  else b->built->op.flags &= ~flags;
}

void hr_op_builder_set_deprecated(hr_op_builder_t* b, int version, const char* why) {
  b->built->op.deprecated = version;
  b->built->op.deprecated_why = keep_text(b, why);
}

void hr_op_builder_set_doc(hr_op_builder_t* b, const char* doc) { b->built->op.doc = keep_text(b, doc); }

void hr_op_builder_set_shape(hr_op_builder_t* b, hr_shape_fn_t shape, void* arg) {
  b->built->op.shape = shape;
  b->built->arg = arg;
}

void* hr_op_builder_arg(const hr_op_t* built) { return ((const built_op_t*)(const void*)built)->arg; }

/* --- arguments ---------------------------------------------------------------------------------------------------------------------- */
static void refuse_spec(hr_op_builder_t* b, const char* what, const char* spec, const char* wanted) {
  if (b->failure) return;
  b->failure = HR_ERROR(INVALID_ARGUMENT, "op '%s': %s \"%s\": %s expected", b->built->op.name, what, spec, wanted);
}

/* The same words in the mini-language; characters that could end the argument there are refused. */
static void add_arg(hr_op_builder_t* b, const char* what, hr_strbuf_t* to, const char* spec) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:*() \t\n";
  if (!spec || spec[strspn(spec, allowed)] || !strchr(spec, ':')) {
    refuse_spec(b, what, spec ? spec : "", "\"name: type\"");
    return;
  }
  hr_strbuf_format(to, "%s%s", to->size ? "; " : "", spec);
}

void hr_op_builder_add_input(hr_op_builder_t* b, const char* spec) { add_arg(b, "input", &b->inputs, spec); }
void hr_op_builder_add_output(hr_op_builder_t* b, const char* spec) { add_arg(b, "output", &b->outputs, spec); }

/* --- attrs -------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  const char* at;
  hr_strbuf_t* out;
  const char* wanted; /* what was missing, once something was; the reading stops then */
} spec_reader_t;

static void spec_blanks(spec_reader_t* r) { r->at += strspn(r->at, " \t\n"); }

static bool spec_take(spec_reader_t* r, const char* token) {
  spec_blanks(r);
  size_t n = strlen(token);
  if (r->wanted || strncmp(r->at, token, n) != 0) return false;
  r->at += n;
  return true;
}

static void spec_need(spec_reader_t* r, const char* token) {
  if (!spec_take(r, token) && !r->wanted) r->wanted = token;
}

static hr_str_t spec_word(spec_reader_t* r) {
  spec_blanks(r);
  const char* begin = r->at;
  r->at += strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.");
  return (hr_str_t){begin, (size_t)(r->at - begin)};
}

static void spec_copy_word(spec_reader_t* r, const char* wanted) {
  hr_str_t word = spec_word(r);
  if (word.size == 0 && !r->wanted) r->wanted = wanted;
  hr_strbuf_add_str(r->out, word);
}

/* "text" or 'text', with escapes kept, to 'text'. */
static void spec_quoted(spec_reader_t* r) {
  spec_blanks(r);
  char quote = *r->at;
  if (quote != '"' && quote != '\'') {
    if (!r->wanted) r->wanted = "a quoted string";
    return;
  }
  hr_strbuf_format(r->out, "'");
  for (++r->at; *r->at && *r->at != quote; ++r->at) {
    if (*r->at == '\\' && r->at[1]) hr_strbuf_add(r->out, r->at++, 1);
    else if (*r->at == '\'') hr_strbuf_format(r->out, "\\");
    hr_strbuf_add(r->out, r->at, 1);
  }
  if (*r->at) ++r->at;
  else if (!r->wanted) r->wanted = "a closing quote";
  hr_strbuf_format(r->out, "'");
}

static void spec_each(spec_reader_t* r, const char* end, void (*one)(spec_reader_t* r)) { /* one, one ... end */
  if (spec_take(r, end)) return;
  do {
    one(r);
    if (spec_take(r, end)) return;
    hr_strbuf_format(r->out, ",");
    spec_need(r, ",");
  } while (!r->wanted);
}

static void spec_type(spec_reader_t* r) { spec_copy_word(r, "an element type"); }

/* Named sets, as the type lists of op/sig.h. */
static const struct { const char *name, *alias, *types; } type_sets[] = {
    {"numbertype", "numerictype",
     "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,"
     "uint64"},
    {"realnumbertype", "realnumerictype", "float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64"},
    {"quantizedtype", "quantizedtype", "qint8,quint8,qint32,qint16,quint16"},
};

static const char* named_type_set(hr_str_t word) {
  for (size_t i = 0; i < sizeof type_sets / sizeof *type_sets; ++i)
    if (hr_str_is(word, type_sets[i].name) || hr_str_is(word, type_sets[i].alias)) return type_sets[i].types;
  return NULL;
}

typedef enum { LITERAL_WORD, LITERAL_STRING, LITERAL_SHAPE, LITERAL_NONE } literal_form_t;

/* The kind, with its set put behind: "{a, b}" becomes "type{a,b}". In a list the set follows the parenthesis. */
static literal_form_t spec_kind(spec_reader_t* r, hr_strbuf_t* set) {
  hr_strbuf_t* out = r->out;
  if (spec_take(r, "{")) {
    spec_blanks(r);
    bool strings = *r->at == '"' || *r->at == '\'';
    hr_strbuf_format(out, strings ? "string" : "type");
    r->out = set;
    hr_strbuf_format(set, "{");
    spec_each(r, "}", strings ? spec_quoted : spec_type);
    hr_strbuf_format(set, "}");
    r->out = out;
    return strings ? LITERAL_STRING : LITERAL_WORD;
  }
  hr_str_t word = spec_word(r);
  const char* types = named_type_set(word);
  if (types) hr_strbuf_format(set, "{%s}", types);
  if (types) word = HR_STR("type");
  hr_strbuf_add_str(out, word);
  if (word.size == 0 && !r->wanted) r->wanted = "a type";
  if (hr_str_is(word, "tensor") || hr_str_is(word, "func")) return LITERAL_NONE;
  return hr_str_is(word, "string") ? LITERAL_STRING : hr_str_is(word, "shape") ? LITERAL_SHAPE : LITERAL_WORD;
}

/* { unknown_rank: true } to ?, { dim { size: 2 } dim { size: -1 } } to [2,?]. */
static void spec_shape(spec_reader_t* r) {
  spec_need(r, "{");
  if (spec_take(r, "unknown_rank")) {
    spec_need(r, ":");
    spec_need(r, "true");
    spec_need(r, "}");
    hr_strbuf_format(r->out, "?");
    return;
  }
  hr_strbuf_format(r->out, "[");
  for (bool first = true; spec_take(r, "dim"); first = false) {
    (void)spec_take(r, ":");
    spec_need(r, "{");
    spec_need(r, "size");
    spec_need(r, ":");
    hr_str_t size = spec_word(r);
    if (!first) hr_strbuf_format(r->out, ",");
    hr_strbuf_add_str(r->out, hr_str_is(size, "-1") ? HR_STR("?") : size);
    spec_need(r, "}");
  }
  spec_need(r, "}");
  hr_strbuf_format(r->out, "]");
}

static void spec_number(spec_reader_t* r) { spec_copy_word(r, "a value"); }

static void spec_default(spec_reader_t* r, literal_form_t form, bool is_list) {
  static void (*const readers[])(spec_reader_t*) = {
      [LITERAL_WORD] = spec_number, [LITERAL_STRING] = spec_quoted, [LITERAL_SHAPE] = spec_shape};
  if (form == LITERAL_NONE) {
    r->wanted = "no default, which tensors and functions cannot have here,";
    return;
  }
  if (is_list) {
    spec_need(r, "[");
    hr_strbuf_format(r->out, "[");
    spec_each(r, "]", readers[form]);
    hr_strbuf_format(r->out, "]");
    return;
  }
  readers[form](r);
}

static void spec_attr(spec_reader_t* r, hr_strbuf_t* set) {
  spec_copy_word(r, "a name");
  spec_need(r, ":");
  hr_strbuf_format(r->out, ":");
  bool is_list = spec_take(r, "list(");
  if (is_list) hr_strbuf_format(r->out, "list(");
  literal_form_t form = spec_kind(r, set);
  if (is_list) spec_need(r, ")");
  if (is_list) hr_strbuf_format(r->out, ")");
  hr_strbuf_add_str(r->out, hr_strbuf_view(set));
  if (spec_take(r, ">=")) {
    hr_strbuf_format(r->out, ">=");
    spec_copy_word(r, "a minimum");
  }
  if (spec_take(r, "=")) {
    hr_strbuf_format(r->out, "=");
    spec_default(r, form, is_list);
  }
  spec_blanks(r);
  if (*r->at && !r->wanted) r->wanted = "the end";
}

void hr_op_builder_add_attr(hr_op_builder_t* b, const char* spec) {
  hr_strbuf_t set;
  hr_strbuf_init(&set);
  if (b->attrs.size) hr_strbuf_format(&b->attrs, "; ");
  spec_reader_t r = {.at = spec ? spec : "", .out = &b->attrs};
  spec_attr(&r, &set);
  if (set.failed) hr_status_merge(&b->failure, hr_status_out_of_memory());
  if (r.wanted) refuse_spec(b, "attr", spec ? spec : "", r.wanted);
  hr_strbuf_deinit(&set);
}

/* --- registering -------------------------------------------------------------------------------------------------------------------- */
static bool has_duplicate(const hr_arg_def_t* args, int count, hr_str_t* out_name) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < i; ++j)
      if (hr_str_equal(args[i].name, args[j].name)) {
        *out_name = args[i].name;
        return true;
      }
  return false;
}

/* Parsed once here, so that what is wrong is the caller's fault (INVALID_ARGUMENT) rather than ours. */
static hr_status_t check_built(hr_op_builder_t* b) {
  hr_op_def_t def;
  hr_str_t name;
  hr_status_t status = hr_sig_parse(&b->arena, &b->built->op, &def);
  if (status && hr_status_code(status) == HR_INTERNAL) {
    hr_status_t refused = HR_ERROR(INVALID_ARGUMENT, "%s", hr_status_message(status));
    hr_status_release(status);
    return refused;
  }
  if (status) return status;
  const bool twice = has_duplicate(def.inputs, def.input_count, &name) || has_duplicate(def.outputs, def.output_count, &name);
  hr_sig_release(&def);
  if (!twice) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "op '%s': duplicate name: %.*s", b->built->op.name, HR_STR_ARG(name));
}

static hr_status_t finish_texts(hr_op_builder_t* b) {
  hr_strbuf_format(&b->inputs, " -> %.*s", HR_STR_ARG(hr_strbuf_view(&b->outputs)));
  hr_strbuf_format(&b->attrs, " "); /* never empty, so that data is a string */
  if (b->inputs.failed || b->outputs.failed || b->attrs.failed) return hr_status_out_of_memory();
  b->built->op.sig = keep_text(b, b->inputs.data);
  b->built->op.attrs = keep_text(b, b->attrs.data);
  b->built->op.file = "";
  if (b->failure) return NULL;
  return check_built(b);
}

hr_status_t hr_op_builder_register(hr_op_builder_t* take_b) {
  hr_op_builder_t* b = take_b;
  if (!b->failure) hr_status_merge(&b->failure, finish_texts(b));
  hr_status_t status = b->failure;
  b->failure = NULL;
  if (!status) status = hr_registry_add(&b->built->op);
  if (!status) hr_arena_init(&b->arena); /* its blocks live on with the op */
  hr_op_builder_destroy(b);
  return status;
}
