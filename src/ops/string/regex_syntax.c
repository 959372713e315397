/* SPDX-License-Identifier: Apache-2.0 */
/* RE2's syntax, checked and written again in PCRE2's words. What only PCRE2 knows (look-around, back-references, possessive and atomic
 * groups, verbs, comments...) is refused; what both spell alike and mean differently (\v, \s, {,n}, scripts) is spelled out. Literals that
 * are not letters or digits are written as code points, assertions in groups (RE2 lets them be repeated), and groups capture nothing: only
 * whether the whole text matches is asked, so greediness is dropped too. */
#include "base/vec.h"
#include "ops/string/regex.h"

enum { REPEAT_MOST = 1000, RUNE_MOST = 0x10ffff, DEPTH_MOST = 200 };
#define GROUP SIZE_MAX
typedef enum { LAST_NOTHING, LAST_ATOM, LAST_REPEAT } last_t; /* what a repetition operator would apply to */

typedef struct {
  hr_str_t text;
  size_t at;
  hr_strbuf_t* out;
  last_t last;
  size_t mark, atom; /* where in `out` the item at hand begins, and the last atom; GROUP: that is a group */
  int64_t size;      /* the last atom's repetitions, multiplied along its nesting */
  int depth;
  int64_t worst[DEPTH_MOST + 1]; /* of each open group: the largest size in it */
  HR_VEC(hr_str_t) names;
} scan_t;

/* --- small things --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t syntax_error(const scan_t* s, const char* why, size_t from) {
  const hr_str_t part = hr_str_slice(s->text, from, s->at > from ? s->at : from + 1);
  return HR_ERROR(INVALID_ARGUMENT, "Invalid pattern: %.*s, error: %s: %.*s", HR_STR_ARG(s->text), why, HR_STR_ARG(part));
}
static int peek(const scan_t* s, size_t ahead) { return s->at + ahead < s->text.size ? (unsigned char)s->text.data[s->at + ahead] : -1; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_word(int c) { return is_letter(c) || is_digit(c) || c == '_'; }
static int hex_value(int c) {
  return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void write_rune(scan_t* s, int32_t rune) { hr_strbuf_format(s->out, "\\x{%x}", (unsigned)rune); }
static void add_atom(scan_t* s) {
  s->last = LAST_ATOM;
  s->atom = s->mark;
  s->size = 1;
  if (s->worst[s->depth] < 1) s->worst[s->depth] = 1;
}

/* The code point here; -1 when the bytes are no UTF-8. */
static int32_t take_rune(scan_t* s) {
  const int c = peek(s, 0);
  const int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
  int32_t rune = more <= 0 ? c : c & (0x3f >> more);
  if (more < 0) return -1;
  for (int i = 1; i <= more; ++i) {
    const int d = peek(s, (size_t)i);
    if (d < 0x80 || d > 0xbf) return -1;
    rune = rune << 6 | (d & 0x3f);
  }
  static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (rune < least[more] || rune > RUNE_MOST || (rune >= 0xd800 && rune < 0xe000)) return -1;
  s->at += (size_t)more + 1;
  return rune;
}

static hr_status_t take_literal(scan_t* s, int32_t* out) {
  const size_t from = s->at;
  *out = take_rune(s);
  return *out < 0 ? syntax_error(s, "invalid UTF-8", from) : NULL;
}

/* --- escapes -------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t take_hex(scan_t* s, size_t from, int32_t* out) { /* after \x */
  int64_t rune = 0;
  const bool braced = peek(s, 0) == '{';
  size_t digits = 0;
  if (braced) ++s->at;
  while (hex_value(peek(s, 0)) >= 0 && (braced || digits < 2) && rune <= RUNE_MOST) {
    rune = rune * 16 + hex_value(peek(s, 0));
    ++s->at;
    ++digits;
  }
  const bool good = braced ? digits > 0 && peek(s, 0) == '}' : digits == 2;
  if (braced && good) ++s->at;
  *out = (int32_t)rune;
  return good && rune <= RUNE_MOST ? NULL : syntax_error(s, "invalid escape sequence", from);
}

/* An escape that stands for one character; s is at the backslash. */
static hr_status_t take_escaped_rune(scan_t* s, int32_t* out) {
  static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  const size_t from = s->at;
  const int c = peek(s, 1);
  if (c < 0) return syntax_error(s, "trailing \\", from);
  s->at += 2;
  const char* name = c ? strchr(names, c) : NULL;
  if (name) {
    *out = values[name - names];
    return NULL;
  }
  if (c == 'x') return take_hex(s, from, out);
  if (c == '0' || (c >= '1' && c <= '7' && peek(s, 0) >= '0' && peek(s, 0) <= '7')) { /* octal; one digit alone would refer back */
    *out = c - '0';
    for (int i = 0; i < 2 && peek(s, 0) >= '0' && peek(s, 0) <= '7'; ++i) *out = *out * 8 + (s->text.data[s->at++] - '0');
    return NULL;
  }
  *out = c;
  return c < 0x80 && !is_letter(c) && !is_digit(c) ? NULL : syntax_error(s, "invalid escape sequence", from);
}

/* As RE2 spells them: L, Lu, Greek; PCRE2 is not so strict. */
static bool is_property_name(hr_str_t name) {
  if (!name.size || !is_letter((unsigned char)name.data[0])) return false;
  const bool upper = name.data[0] < 'a', second_lower = name.size != 2 || name.data[1] >= 'a';
  return upper && second_lower && (name.size > 1 || strchr("CLMNPSZ", name.data[0]));
}

/* \pN, \p{Greek}, \P{^Lu}; written as a script unless it is a category's one or two letters. */
static hr_status_t take_property(scan_t* s) {
  const size_t from = s->at;
  bool negated = peek(s, 1) == 'P';
  s->at += 2;
  size_t begin = s->at, end = begin + 1;
  if (peek(s, 0) == '{') {
    begin = ++s->at;
    while (is_letter(peek(s, 0)) || peek(s, 0) == '_' || peek(s, 0) == '^') ++s->at;
    end = s->at++;
    if (end >= s->text.size || s->text.data[end] != '}') return syntax_error(s, "invalid character class range", from);
  } else {
    ++s->at;
  }
  hr_str_t name = hr_str_slice(s->text, begin, end);
  if (name.size && name.data[0] == '^') {
    negated = !negated;
    name = hr_str_slice(name, 1, name.size);
  }
  if (!is_property_name(name)) return syntax_error(s, "invalid character class range", from);
  hr_strbuf_format(s->out, "\\%c{%s%.*s}", negated ? 'P' : 'p', name.size > 2 && !hr_str_is(name, "Any") ? "sc:" : "", HR_STR_ARG(name));
  return NULL;
}

/* \d, \s, \w, \p and their complements; false when the escape is another. `inside`: in brackets already. */
static hr_status_t take_class_escape(scan_t* s, bool inside, bool* out_taken) {
  const int c = peek(s, 1);
  *out_taken = true;
  if (c == 'p' || c == 'P') return take_property(s);
  if (c == 's' || c == 'S') {
    const char* text = c == 's' ? "\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}" : "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}";
    hr_strbuf_format(s->out, inside ? "%s" : "[%s]", text);
  } else if (c == 'd' || c == 'D' || c == 'w' || c == 'W') {
    hr_strbuf_format(s->out, "\\%c", c);
  } else {
    *out_taken = false;
    return NULL;
  }
  s->at += 2;
  return NULL;
}

/* --- [...] ---------------------------------------------------------------------------------------------------------------------------- */
/* [:alpha:], [:^alpha:]; not taken when no ":]" follows: then the bracket is a literal. */
static hr_status_t take_named_class(scan_t* s, bool* out_taken) {
  static const char* const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                      "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
  const size_t from = s->at;
  size_t end = s->at + 2;
  while (end + 1 < s->text.size && !(s->text.data[end] == ':' && s->text.data[end + 1] == ']')) ++end;
  *out_taken = end + 1 < s->text.size;
  if (!*out_taken) return NULL;
  hr_str_t name = hr_str_slice(s->text, from + 2, end);
  s->at = end + 2;
  hr_str_t bare = name.size && name.data[0] == '^' ? hr_str_slice(name, 1, name.size) : name;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (hr_str_is(bare, names[i])) {
      hr_strbuf_format(s->out, "[:%.*s:]", HR_STR_ARG(name));
      return NULL;
    }
  return syntax_error(s, "invalid character class range", from);
}

static hr_status_t take_class_rune(scan_t* s, int32_t* out) {
  return peek(s, 0) == '\\' ? take_escaped_rune(s, out) : take_literal(s, out);
}

static hr_status_t take_class_item(scan_t* s) {
  const size_t from = s->at;
  bool taken = false;
  int32_t low, high;
  if (peek(s, 0) == '[' && peek(s, 1) == ':') HR_TRY(take_named_class(s, &taken));
  if (!taken && peek(s, 0) == '\\') HR_TRY(take_class_escape(s, true, &taken));
  if (taken) return NULL;
  HR_TRY(take_class_rune(s, &low));
  high = low;
  if (peek(s, 0) == '-' && peek(s, 1) >= 0 && peek(s, 1) != ']') {
    ++s->at;
    HR_TRY(take_class_rune(s, &high));
  }
  if (high < low) return syntax_error(s, "invalid character class range", from);
  write_rune(s, low);
  if (high == low) return NULL;
  hr_strbuf_add_str(s->out, HR_STR("-"));
  write_rune(s, high);
  return NULL;
}

static hr_status_t take_class(scan_t* s) {
  const size_t from = s->at++;
  hr_strbuf_add_str(s->out, HR_STR("["));
  if (peek(s, 0) == '^') {
    ++s->at;
    hr_strbuf_add_str(s->out, HR_STR("^"));
  }
  for (bool first = true; first || peek(s, 0) != ']'; first = false) {
    if (peek(s, 0) < 0) return syntax_error(s, "missing ]", from);
    HR_TRY(take_class_item(s));
  }
  ++s->at;
  hr_strbuf_add_str(s->out, HR_STR("]"));
  add_atom(s);
  return NULL;
}

/* --- groups --------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t open_group(scan_t* s, size_t from, const char* flags, size_t flag_count) {
  if (s->depth == DEPTH_MOST) return syntax_error(s, "groups are nested too deep", from);
  s->worst[++s->depth] = 0;
  s->last = LAST_NOTHING;
  hr_strbuf_format(s->out, "(?%.*s:", (int)flag_count, flags);
  return NULL;
}

static hr_status_t take_group_name(scan_t* s, size_t from) { /* after "(?P<" */
  const size_t begin = s->at;
  while (is_word(peek(s, 0))) ++s->at;
  const hr_str_t name = hr_str_slice(s->text, begin, s->at);
  if (!name.size || peek(s, 0) != '>') return syntax_error(s, "invalid named capture group", from);
  ++s->at;
  for (int64_t i = 0; i < s->names.count; ++i)
    if (hr_str_equal(s->names.data[i], name)) return syntax_error(s, "duplicate capture group name", begin);
  HR_TRY(hr_vec_push(&s->names, name));
  return open_group(s, from, "", 0);
}

/* (?flags) and (?flags:...); U, greediness, is dropped. */
static hr_status_t take_flags(scan_t* s, size_t from) {
  char flags[64];
  size_t count = 0;
  bool negative = false, wanted = false; /* a '-' wants a flag after it */
  for (;; ++s->at) {
    const int c = peek(s, 0);
    if (c < 0) return syntax_error(s, "missing )", from);
    if (c == ')' || c == ':') break;
    const bool good = c == '-' ? !negative : c == 'i' || c == 'm' || c == 's' || c == 'U';
    wanted = c == '-';
    negative |= c == '-';
    if (!good || count == sizeof flags) return ++s->at, syntax_error(s, "invalid perl operator", from);
    if (c != 'U') flags[count++] = (char)c;
  }
  const bool is_group = s->text.data[s->at++] == ':';
  if (wanted || (!is_group && s->at - from == 3)) return syntax_error(s, "invalid perl operator", from);
  if (count && flags[count - 1] == '-') --count;
  if (is_group) return open_group(s, from, flags, count);
  if (count) hr_strbuf_format(s->out, "(?%.*s)", (int)count, flags);
  return NULL;
}

static hr_status_t take_group(scan_t* s) {
  const size_t from = s->at++;
  if (peek(s, 0) != '?') return open_group(s, from, "", 0);
  ++s->at;
  if (peek(s, 0) == 'P' && peek(s, 1) == '<') {
    s->at += 2;
    return take_group_name(s, from);
  }
  return take_flags(s, from);
}

static hr_status_t close_group(scan_t* s) {
  const size_t from = s->at++;
  if (s->depth == 0) return syntax_error(s, "unexpected )", from);
  const int64_t inner = s->worst[s->depth--];
  hr_strbuf_add_str(s->out, HR_STR(")"));
  add_atom(s);
  s->atom = GROUP;
  if (inner > 1) s->size = inner;
  if (s->worst[s->depth] < s->size) s->worst[s->depth] = s->size;
  return NULL;
}

/* --- repetition ----------------------------------------------------------------------------------------------------------------------- */
static bool take_count(const scan_t* s, size_t* at, int64_t* out) {
  const size_t from = *at;
  int64_t n = 0;
  for (; *at < s->text.size && is_digit((unsigned char)s->text.data[*at]); ++*at)
    if (n <= REPEAT_MOST) n = n * 10 + (s->text.data[*at] - '0');
  *out = n;
  return *at > from && !(s->text.data[from] == '0' && *at - from > 1);
}

/* {n}, {n,}, {n,m}; false when the brace is a literal. most -1: no end. */
static bool parse_braces(const scan_t* s, size_t* end, int64_t* least, int64_t* most) {
  size_t at = s->at + 1;
  if (!take_count(s, &at, least)) return false;
  *most = *least;
  if (at < s->text.size && s->text.data[at] == ',') {
    ++at;
    if (at < s->text.size && s->text.data[at] == '}')
      *most = -1;
    else if (!take_count(s, &at, most))
      return false;
  }
  *end = at + 1;
  return at < s->text.size && s->text.data[at] == '}';
}

/* Puts the last atom into a group: the engine counts a single character's +, each count a state of its own, but not a group's. */
static hr_status_t wrap_atom(scan_t* s) {
  hr_strbuf_t* out = s->out;
  if (s->atom == GROUP || out->failed) return NULL;
  char* atom = hr_alloc_copy(out->data + s->atom, out->size - s->atom);
  if (!atom) return hr_status_out_of_memory();
  const size_t size = out->size - s->atom;
  out->size = s->atom;
  hr_strbuf_add_str(out, HR_STR("(?:"));
  hr_strbuf_add(out, atom, size);
  hr_strbuf_add_str(out, HR_STR(")"));
  hr_free(atom);
  return NULL;
}

static hr_status_t add_repeat(scan_t* s, size_t end) { /* checks the operator in [at, end), and takes it */
  const size_t from = s->at;
  s->at = end;
  if (peek(s, 0) == '?') ++s->at;
  if (s->last == LAST_NOTHING) return syntax_error(s, "no argument for repetition operator", from);
  if (s->last == LAST_REPEAT) return syntax_error(s, "bad repetition operator", from);
  s->last = LAST_REPEAT;
  if (s->text.data[from] == '+') HR_TRY(wrap_atom(s));
  hr_strbuf_add_str(s->out, hr_str_slice(s->text, from, end));
  return NULL;
}

static hr_status_t take_braces(scan_t* s) {
  const size_t from = s->at;
  size_t end;
  int64_t least, most;
  if (!parse_braces(s, &end, &least, &most)) {
    ++s->at;
    write_rune(s, '{');
    add_atom(s);
    return NULL;
  }
  HR_TRY(add_repeat(s, end));
  if (most < 0) most = least;
  if (least > REPEAT_MOST || most > REPEAT_MOST || least > most) return syntax_error(s, "invalid repetition size", from);
  s->size *= most > 1 ? most : 1;
  if (s->size > REPEAT_MOST) return syntax_error(s, "invalid repetition size", from);
  if (s->worst[s->depth] < s->size) s->worst[s->depth] = s->size;
  return NULL;
}

/* --- all of it ------------------------------------------------------------------------------------------------------------------------ */
static void write_assertion(scan_t* s, size_t size) {
  hr_strbuf_format(s->out, "(?:%.*s)", (int)size, s->text.data + s->at);
  s->at += size;
  add_atom(s);
}

static hr_status_t take_quoted(scan_t* s) { /* \Q...\E */
  for (s->at += 2; peek(s, 0) >= 0;) {
    int32_t rune;
    if (peek(s, 0) == '\\' && peek(s, 1) == 'E') {
      s->at += 2;
      return NULL;
    }
    s->mark = s->out->size;
    HR_TRY(take_literal(s, &rune));
    write_rune(s, rune);
    add_atom(s);
  }
  return NULL;
}

static hr_status_t take_escape(scan_t* s) {
  const int c = peek(s, 1);
  bool taken;
  int32_t rune;
  if (c == 'Q') return take_quoted(s);
  if (c == 'C') return HR_ERROR(UNIMPLEMENTED, "\\C, one byte, in pattern '%.*s'", HR_STR_ARG(s->text));
  if (c == 'A' || c == 'z' || c == 'b' || c == 'B') {
    write_assertion(s, 2);
    return NULL;
  }
  HR_TRY(take_class_escape(s, false, &taken));
  if (!taken) {
    HR_TRY(take_escaped_rune(s, &rune));
    write_rune(s, rune);
  }
  add_atom(s);
  return NULL;
}

static hr_status_t take_plain(scan_t* s) {
  int32_t rune;
  HR_TRY(take_literal(s, &rune));
  write_rune(s, rune);
  add_atom(s);
  return NULL;
}

static hr_status_t take_one(scan_t* s) {
  s->mark = s->out->size;
  switch (peek(s, 0)) {
    case '\\': return take_escape(s);
    case '[': return take_class(s);
    case '(': return take_group(s);
    case ')': return close_group(s);
    case '{': return take_braces(s);
    case '*':
    case '+':
    case '?': return add_repeat(s, s->at + 1);
    case '^':
    case '$': write_assertion(s, 1); return NULL;
    case '|':
      ++s->at;
      s->last = LAST_NOTHING;
      hr_strbuf_add_str(s->out, HR_STR("|"));
      return NULL;
    case '.':
      ++s->at;
      hr_strbuf_add_str(s->out, HR_STR("."));
      add_atom(s);
      return NULL;
    default: return take_plain(s);
  }
}

hr_status_t hr_regex_translate(hr_str_t pattern, hr_strbuf_t* out) {
  scan_t s = {.text = pattern, .out = out};
  hr_status_t status = NULL;
  hr_strbuf_add_str(out, HR_STR("(*LF)(?:"));
  while (!status && s.at < pattern.size) status = take_one(&s);
  if (!status && s.depth) status = syntax_error(&s, "missing )", 0);
  hr_strbuf_add_str(out, HR_STR(")\\z"));
  if (!status && out->failed) status = hr_status_out_of_memory();
  hr_vec_deinit(&s.names);
  return status;
}
