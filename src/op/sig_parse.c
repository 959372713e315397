/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the signature mini-language (grammar in op/sig.h) into an hr_op_def_t: attrs first, then arguments, whose types are names of
 * attrs or of element types. A recursive-descent reader over one text; its place in the text goes into every complaint. */
#include "op/sig.h"
#include "base/vec.h"
#include "op/attr_element.h"

typedef struct {
  hr_arena_t* arena;
  const hr_op_t* op;
  const char* text; /* start, for messages */
  const char* at;
  hr_op_def_t* def;
} sig_reader_t;

static hr_status_t sig_complaint(const sig_reader_t* r, const char* wanted) {
  return HR_ERROR(INTERNAL, "op '%s': malformed signature \"%s\" at column %d (\"%.20s\"): %s expected", r->op->name, r->text,
                  (int)(r->at - r->text) + 1, r->at, wanted);
}

/* --- tokens ----------------------------------------------------------------------------------------------------------------------- */
static void skip_blanks(sig_reader_t* r) {
  while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t') ++r->at;
}

static bool take_token(sig_reader_t* r, const char* token) {
  skip_blanks(r);
  size_t n = strlen(token);
  if (strncmp(r->at, token, n) != 0) return false;
  r->at += n;
  return true;
}

static hr_status_t need_token(sig_reader_t* r, const char* token) {
  return take_token(r, token) ? NULL : sig_complaint(r, token);
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static hr_str_t take_word(sig_reader_t* r) { /* empty when there is none */
  skip_blanks(r);
  const char* begin = r->at;
  while (is_word_char(*r->at)) ++r->at;
  return (hr_str_t){begin, (size_t)(r->at - begin)};
}

static hr_status_t need_name(sig_reader_t* r, hr_str_t* out) {
  skip_blanks(r);
  if (*r->at >= '0' && *r->at <= '9') return sig_complaint(r, "a name");
  hr_str_t word = take_word(r);
  if (word.size == 0) return sig_complaint(r, "a name");
  return hr_arena_str(r->arena, word, out) ? NULL : hr_status_out_of_memory();
}

static hr_str_t take_number_text(sig_reader_t* r) { /* digits, signs, "inf", "1e-05" */
  skip_blanks(r);
  const char* begin = r->at;
  while (is_word_char(*r->at) || *r->at == '-' || *r->at == '+' || *r->at == '.') ++r->at;
  return (hr_str_t){begin, (size_t)(r->at - begin)};
}

static char unescaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return c;
  }
}

/* 'text' with \n, \t, \r, \\ and \' as in C. */
static hr_status_t need_quoted(sig_reader_t* r, hr_str_t* out) {
  HR_TRY(need_token(r, "'"));
  const char* end = r->at;
  while (*end && *end != '\'') end += *end == '\\' && end[1] ? 2 : 1;
  if (!*end) return sig_complaint(r, "a closing quote");
  char* text = hr_arena_alloc(r->arena, (size_t)(end - r->at) + 1);
  if (!text) return hr_status_out_of_memory();
  size_t n = 0;
  for (; r->at < end; ++r->at) text[n++] = *r->at == '\\' ? unescaped(*++r->at) : *r->at;
  text[n] = 0;
  ++r->at;
  *out = (hr_str_t){text, n};
  return NULL;
}

static hr_status_t need_int(sig_reader_t* r, int64_t* out) {
  const char* begin = r->at;
  if (hr_str_parse_i64(take_number_text(r), out)) return NULL;
  r->at = begin;
  return sig_complaint(r, "a whole number");
}

static hr_status_t need_type(sig_reader_t* r, int32_t* out) {
  const char* begin = r->at;
  int type;
  if (hr_dtype_parse(take_word(r), &type)) {
    *out = type;
    return NULL;
  }
  r->at = begin;
  return sig_complaint(r, "an element type");
}

/* --- literals: one per kind ------------------------------------------------------------------------------------------------------- */
static hr_status_t read_dim(sig_reader_t* r, int64_t* out) {
  if (take_token(r, "?")) {
    *out = -1;
    return NULL;
  }
  return need_int(r, out);
}

static hr_status_t read_shape(sig_reader_t* r, const hr_pshape_t** out) {
  if (take_token(r, "?") || take_token(r, "unknown")) {
    *out = &hr_pshape_unknown;
    return NULL;
  }
  int64_t dims[HR_MAX_RANK];
  int rank = 0;
  HR_TRY(need_token(r, "["));
  while (!take_token(r, "]")) {
    if (rank == HR_MAX_RANK) return sig_complaint(r, "a shape of lower rank");
    if (rank) HR_TRY(need_token(r, ","));
    HR_TRY(read_dim(r, &dims[rank++]));
  }
  return hr_pshape_make(r->arena, rank, dims, out);
}

static hr_status_t read_bool(sig_reader_t* r, bool* out) {
  *out = take_token(r, "true");
  return *out || take_token(r, "false") ? NULL : sig_complaint(r, "true or false");
}

static hr_status_t read_float(sig_reader_t* r, float* out) {
  const char* begin = r->at;
  double d;
  if (!hr_str_parse_double(take_number_text(r), &d)) {
    r->at = begin;
    return sig_complaint(r, "a number");
  }
  *out = (float)d;
  return NULL;
}

static hr_status_t read_func(sig_reader_t* r, hr_func_attr_t* out) {
  skip_blanks(r);
  *out = (hr_func_attr_t){0};
  return *r->at == '\'' ? need_quoted(r, &out->name) : need_name(r, &out->name);
}

/* type[v, v...]: a vector of whole numbers of an unsigned or signed byte, int32 or int64. */
static hr_status_t read_tensor(sig_reader_t* r, const hr_tensor_t** out) {
  enum { MOST = 64 };
  int32_t type = 0;
  int64_t values[MOST];
  int64_t count = 0;
  HR_TRY(need_type(r, &type));
  HR_TRY(need_token(r, "["));
  while (!take_token(r, "]")) {
    if (count == MOST) return sig_complaint(r, "fewer values");
    if (count) HR_TRY(need_token(r, ","));
    HR_TRY(need_int(r, &values[count++]));
  }
  hr_tensor_t t = {0};
  if (type == HR_I32 || type == HR_I64) {
    HR_TRY(hr_tensor_from_i64_vec((hr_dtype_t)type, values, count, &t));
  } else if (type == HR_U8 || type == HR_I8) {
    hr_shape_t shape = hr_shape_vector(count);
    HR_TRY(hr_tensor_create((hr_dtype_t)type, &shape, &t));
    for (int64_t i = 0; i < count; ++i) ((uint8_t*)t.data)[i] = (uint8_t)values[i];
  } else {
    return sig_complaint(r, "a tensor of uint8, int8, int32 or int64");
  }
  return hr_attr_keep_tensor(r->arena, NULL, &t, out); /* lives as long as the op: for ever */
}

typedef union {
  hr_str_t s;
  int64_t i;
  float f;
  bool b;
  int32_t type;
  const hr_pshape_t* shape;
  const hr_tensor_t* tensor;
  hr_func_attr_t func;
} literal_t;

static hr_status_t read_literal(sig_reader_t* r, uint8_t kind, literal_t* out) {
  switch (kind) {
    case HR_ATTR_STRING: return need_quoted(r, &out->s);
    case HR_ATTR_INT: return need_int(r, &out->i);
    case HR_ATTR_FLOAT: return read_float(r, &out->f);
    case HR_ATTR_BOOL: return read_bool(r, &out->b);
    case HR_ATTR_TYPE: return need_type(r, &out->type);
    case HR_ATTR_SHAPE: return read_shape(r, &out->shape);
    case HR_ATTR_TENSOR: return read_tensor(r, &out->tensor);
    default: return read_func(r, &out->func);
  }
}

static hr_status_t read_list(sig_reader_t* r, hr_attr_t* out) {
  enum { MOST = 64 };
  size_t size = hr_attr_element_size((hr_attr_kind_t)out->kind);
  char* block = hr_arena_array(r->arena, MOST, size);
  if (!block) return hr_status_out_of_memory();
  HR_TRY(need_token(r, "["));
  for (out->count = 0; !take_token(r, "]"); ++out->count) {
    literal_t value;
    if (out->count == MOST) return sig_complaint(r, "a shorter list");
    if (out->count) HR_TRY(need_token(r, ","));
    HR_TRY(read_literal(r, out->kind, &value));
    memcpy(block + (size_t)out->count * size, &value, size);
  }
  out->u.is = (const int64_t*)(void*)block;
  return NULL;
}

static hr_status_t read_default(sig_reader_t* r, hr_attr_def_t* attr) {
  attr->value = (hr_attr_t){.kind = attr->kind, .is_list = attr->is_list};
  if (attr->is_list) return read_list(r, &attr->value);
  if (attr->kind == HR_ATTR_FUNC) {
    hr_func_attr_t* f = hr_arena_array(r->arena, 1, sizeof *f);
    if (!f) return hr_status_out_of_memory();
    attr->value.u.func = f;
    return read_func(r, f);
  }
  literal_t value;
  HR_TRY(read_literal(r, attr->kind, &value));
  memcpy(&attr->value.u, &value, hr_attr_element_size((hr_attr_kind_t)attr->kind));
  return NULL;
}

/* --- attrs ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t read_kind(sig_reader_t* r, hr_attr_def_t* attr) {
  attr->is_list = take_token(r, "list(");
  const char* begin = r->at;
  hr_str_t word = take_word(r);
  for (int kind = HR_ATTR_STRING; kind <= HR_ATTR_FUNC; ++kind)
    if (hr_str_is(word, hr_attr_kind_name((hr_attr_kind_t)kind, false))) attr->kind = (uint8_t)kind;
  if (attr->kind == HR_ATTR_NONE) {
    r->at = begin;
    return sig_complaint(r, "a kind of attr");
  }
  return attr->is_list ? need_token(r, ")") : NULL;
}

static hr_status_t read_allowed_types(sig_reader_t* r, hr_attr_def_t* attr) {
  do {
    int32_t type = 0;
    HR_TRY(need_type(r, &type));
    attr->types |= UINT64_C(1) << hr_dtype_base(type);
  } while (take_token(r, ","));
  return need_token(r, "}");
}

static hr_status_t read_allowed_strings(sig_reader_t* r, hr_attr_def_t* attr) {
  enum { MOST = 16 };
  hr_str_t* strings = hr_arena_array(r->arena, MOST, sizeof *strings);
  if (!strings) return hr_status_out_of_memory();
  do {
    if (attr->string_count == MOST) return sig_complaint(r, "fewer allowed strings");
    HR_TRY(need_quoted(r, &strings[attr->string_count++]));
  } while (take_token(r, ","));
  attr->strings = strings;
  return need_token(r, "}");
}

static hr_status_t read_attr(sig_reader_t* r, hr_attr_def_t* attr) {
  HR_TRY(need_name(r, &attr->name));
  if (hr_sig_find_attr(r->def, attr->name) >= 0) return sig_complaint(r, "an attr that is not there yet");
  HR_TRY(need_token(r, ":"));
  HR_TRY(read_kind(r, attr));
  if (take_token(r, "{")) {
    if (attr->kind == HR_ATTR_TYPE) HR_TRY(read_allowed_types(r, attr));
    else if (attr->kind == HR_ATTR_STRING) HR_TRY(read_allowed_strings(r, attr));
    else return sig_complaint(r, "no set of allowed values, which only types and strings have,");
  }
  if (take_token(r, ">=")) {
    if (!attr->is_list && attr->kind != HR_ATTR_INT) return sig_complaint(r, "no minimum, which only ints and lists have,");
    attr->has_minimum = true;
    HR_TRY(need_int(r, &attr->minimum));
  }
  if (take_token(r, "=")) {
    attr->has_default = true;
    HR_TRY(read_default(r, attr));
  }
  return NULL;
}

/* How many items a text with separators can have at most. */
static size_t item_limit(const char* text) {
  size_t n = 1;
  for (; *text; ++text) n += *text == ';';
  return n;
}

static hr_status_t read_attrs(sig_reader_t* r) {
  hr_attr_def_t* attrs = hr_arena_array(r->arena, item_limit(r->text), sizeof *attrs);
  if (!attrs) return hr_status_out_of_memory();
  r->def->attrs = attrs;
  skip_blanks(r);
  while (*r->at) {
    if (r->def->attr_count == INT16_MAX) return sig_complaint(r, "fewer attrs");
    HR_TRY(read_attr(r, &attrs[r->def->attr_count]));
    ++r->def->attr_count;
    if (!take_token(r, ";")) break;
    skip_blanks(r);
  }
  skip_blanks(r);
  return *r->at ? sig_complaint(r, "';' or the end") : NULL;
}

/* --- arguments -------------------------------------------------------------------------------------------------------------------- */
static hr_status_t read_type_name(sig_reader_t* r, hr_arg_def_t* arg) {
  const char* begin = r->at;
  hr_str_t word = take_word(r);
  int attr = hr_sig_find_attr(r->def, word), type;
  if (attr >= 0 && r->def->attrs[attr].kind == HR_ATTR_TYPE) {
    if (!r->def->attrs[attr].is_list) arg->type_attr = (int16_t)attr;
    else arg->list_attr = (int16_t)attr;
    return NULL;
  }
  if (!hr_dtype_parse(word, &type)) {
    r->at = begin;
    return sig_complaint(r, "an element type or a type attr");
  }
  arg->type = (int32_t)hr_dtype_base(type);
  if (hr_dtype_is_ref(type)) arg->is_ref = true;
  return NULL;
}

/* [N "*"] type, where N is an int attr. */
static hr_status_t read_counted_type(sig_reader_t* r, hr_arg_def_t* arg) {
  const char* begin = r->at;
  int attr = hr_sig_find_attr(r->def, take_word(r));
  if (!take_token(r, "*")) {
    r->at = begin;
    return read_type_name(r, arg);
  }
  if (attr < 0 || r->def->attrs[attr].kind != HR_ATTR_INT || r->def->attrs[attr].is_list) {
    r->at = begin;
    return sig_complaint(r, "an int attr");
  }
  arg->number_attr = (int16_t)attr;
  return read_type_name(r, arg);
}

static hr_status_t read_arg_type(sig_reader_t* r, hr_arg_def_t* arg) {
  bool is_wrapped = take_token(r, "Ref(");
  arg->is_ref = is_wrapped;
  HR_TRY(read_counted_type(r, arg));
  if (is_wrapped) HR_TRY(need_token(r, ")"));
  if (arg->list_attr >= 0 && arg->number_attr >= 0) return sig_complaint(r, "one type: a list attr cannot be repeated;");
  return NULL;
}

static hr_status_t read_arg(sig_reader_t* r, hr_arg_def_t* arg) {
  *arg = (hr_arg_def_t){.type_attr = -1, .number_attr = -1, .list_attr = -1};
  HR_TRY(need_name(r, &arg->name));
  HR_TRY(need_token(r, ":"));
  return read_arg_type(r, arg);
}

/* Arguments up to `end` ("->", or "" for the end of the text). */
static hr_status_t read_args(sig_reader_t* r, const char* end, const hr_arg_def_t** out, int16_t* out_count) {
  hr_arg_def_t* args = hr_arena_array(r->arena, item_limit(r->text), sizeof *args);
  if (!args) return hr_status_out_of_memory();
  *out = args;
  for (skip_blanks(r); *r->at && !(*end && r->at[0] == end[0]); skip_blanks(r)) {
    if (*out_count == INT16_MAX) return sig_complaint(r, "fewer arguments");
    HR_TRY(read_arg(r, &args[(*out_count)++]));
    if (!take_token(r, ";")) break;
  }
  return NULL;
}

static hr_status_t read_signature(sig_reader_t* r) {
  HR_TRY(read_args(r, "->", &r->def->inputs, &r->def->input_count));
  HR_TRY(need_token(r, "->"));
  HR_TRY(read_args(r, "", &r->def->outputs, &r->def->output_count));
  skip_blanks(r);
  return *r->at ? sig_complaint(r, "';' or the end") : NULL;
}

hr_status_t hr_sig_parse(hr_arena_t* arena, const hr_op_t* op, hr_op_def_t* out) {
  *out = (hr_op_def_t){.op = op, .name = hr_str(op->name)};
  const char* attrs = op->attrs ? op->attrs : "";
  sig_reader_t r = {arena, op, attrs, attrs, out};
  hr_status_t status = read_attrs(&r);
  if (!status) {
    r.text = r.at = op->sig ? op->sig : "->";
    status = read_signature(&r);
  }
  if (status) hr_sig_release(out);
  return status;
}

void hr_sig_release(const hr_op_def_t* def) {
  for (int i = 0; i < def->attr_count; ++i) {
    const hr_attr_def_t* a = &def->attrs[i];
    if (a->has_default && !a->is_list && a->kind == HR_ATTR_TENSOR) hr_tensor_release((hr_tensor_t*)(uintptr_t)a->value.u.tensor);
  }
}
