/* SPDX-License-Identifier: Apache-2.0 */
/* RE2's syntax in PCRE2's words, to the letter: what each construct becomes, and which part of a pattern an error names. What patterns
 * match is tested in regex_test.c. HEADRACE_REGEX=FILE writes the outcomes of the table below. */
#include "ops/string/regex.h"
#include "test.h"

#define BEGIN "(*LF)(?:"
#define END   ")\\z"

typedef struct {
  const char *pattern, *want; /* between BEGIN and END; "!" and the error after the pattern */
} row_t;
static const row_t rows[] = {
    {"a", "\\x{61}"}, {"ab", "\\x{61}\\x{62}"}, {"A9_", "\\x{41}\\x{39}\\x{5f}"}, {" ", "\\x{20}"}, {"\xc3\xa9", "\\x{e9}"},
    {"\xce\xb1", "\\x{3b1}"}, {"\xe2\x82\xac", "\\x{20ac}"}, {"\xf0\x9f\x98\x80", "\\x{1f600}"}, {"-", "\\x{2d}"}, {".", "."},
    {"a.b", "\\x{61}.\\x{62}"}, {"^", "(?:^)"}, {"$", "(?:$)"}, {"^a$", "(?:^)\\x{61}(?:$)"}, {"|", "|"}, {"a|b", "\\x{61}|\\x{62}"},
    {"()", "(?:)"}, {"(a)", "(?:\\x{61})"}, {"(a|b)c", "(?:\\x{61}|\\x{62})\\x{63}"}, {"((a))", "(?:(?:\\x{61}))"},
    {"(?:a)", "(?:\\x{61})"}, {"(?i)a", "(?i)\\x{61}"}, {"(?i:a)", "(?i:\\x{61})"}, {"(?m)^", "(?m)(?:^)"}, {"(?s).", "(?s)."},
    {"(?U)a", "\\x{61}"}, {"(?U:a)", "(?:\\x{61})"}, {"(?iU)a", "(?i)\\x{61}"}, {"(?ims)a", "(?ims)\\x{61}"},
    {"(?ims:a)", "(?ims:\\x{61})"}, {"(?i-s)a", "(?i-s)\\x{61}"}, {"(?i-s:a)", "(?i-s:\\x{61})"}, {"(?-i)a", "(?-i)\\x{61}"},
    {"(?-:a)", "!invalid perl operator: (?-:"}, {"(?U-:a)", "!invalid perl operator: (?U-:"},
    {"(?i-:a)", "!invalid perl operator: (?i-:"}, {"(?-U)a", "\\x{61}"}, {"(?-U:a)", "(?:\\x{61})"},
    {"(?)", "!invalid perl operator: (?)"}, {"(?:)", "(?:)"}, {"(?-)", "!invalid perl operator: (?-)"},
    {"(?i-)", "!invalid perl operator: (?i-)"}, {"(?--i)", "!invalid perl operator: (?--"},
    {"(?i--s:a)", "!invalid perl operator: (?i--"}, {"(?x)", "!invalid perl operator: (?x"}, {"(?", "!missing ): (?"},
    {"(?i", "!missing ): (?i"}, {"(?:a", "!missing ): (?:a"},
    {"(?iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii)",
     "(?iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii)"},
    {"(?iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii)",
     "!invalid perl operator: (?iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"},
    {"(?P<x>a)", "(?:\\x{61})"}, {"(?P<ab_9>a)", "(?:\\x{61})"}, {"(?P<x>a)(?P<y>b)", "(?:\\x{61})(?:\\x{62})"},
    {"(?P<x>a)(?P<y>b)(?P<x>c)", "!duplicate capture group name: x>"}, {"(?P<x>a)(?P<x>b)", "!duplicate capture group name: x>"},
    {"(?P<>a)", "!invalid named capture group: (?P<"}, {"(?P<x", "!invalid named capture group: (?P<x"},
    {"(?P<x-y>a)", "!invalid named capture group: (?P<x"}, {"(?P<a", "!invalid named capture group: (?P<a"},
    {"(?P=x)", "!invalid perl operator: (?P"}, {"(?Px)", "!invalid perl operator: (?P"}, {"(?<x>a)", "!invalid perl operator: (?<"},
    {"(?=a)", "!invalid perl operator: (?="}, {"(?!a)", "!invalid perl operator: (?!"}, {"(", "!missing ): ("}, {"(a", "!missing ): (a"},
    {")", "!unexpected ): )"}, {"a)", "!unexpected ): )"}, {"(a))", "!unexpected ): )"}, {"((a)", "!missing ): ((a)"}, {"a*", "\\x{61}*"},
    {"a+", "(?:\\x{61})+"}, {"a?", "\\x{61}?"}, {"a*?", "\\x{61}*"}, {"a+?", "(?:\\x{61})+"}, {"a??", "\\x{61}?"},
    {"a**", "!bad repetition operator: *"}, {"a*+", "!bad repetition operator: +"}, {"a+*", "!bad repetition operator: *"},
    {"a???", "!bad repetition operator: ?"}, {"*", "!no argument for repetition operator: *"},
    {"+", "!no argument for repetition operator: +"}, {"?", "!no argument for repetition operator: ?"},
    {"a|*", "!no argument for repetition operator: *"}, {"(*a)", "!no argument for repetition operator: *"},
    {"(?:*)", "!no argument for repetition operator: *"}, {"(?i)*", "!no argument for repetition operator: *"}, {"^*", "(?:^)*"},
    {"$+", "(?:(?:$))+"}, {"\\b+", "(?:(?:\\b))+"}, {"\\A?", "(?:\\A)?"}, {"a{2}", "\\x{61}{2}"}, {"a{2}?", "\\x{61}{2}"},
    {"a{2,}", "\\x{61}{2,}"}, {"a{2,}?", "\\x{61}{2,}"}, {"a{2,3}", "\\x{61}{2,3}"}, {"a{2,3}?", "\\x{61}{2,3}"}, {"a{0}", "\\x{61}{0}"},
    {"a{0,0}", "\\x{61}{0,0}"}, {"a{0,1}", "\\x{61}{0,1}"}, {"a{,3}", "\\x{61}\\x{7b}\\x{2c}\\x{33}\\x{7d}"}, {"a{", "\\x{61}\\x{7b}"},
    {"a{2", "\\x{61}\\x{7b}\\x{32}"}, {"a{2,", "\\x{61}\\x{7b}\\x{32}\\x{2c}"}, {"a{2,3", "\\x{61}\\x{7b}\\x{32}\\x{2c}\\x{33}"},
    {"a{2,x}", "\\x{61}\\x{7b}\\x{32}\\x{2c}\\x{78}\\x{7d}"}, {"a{x}", "\\x{61}\\x{7b}\\x{78}\\x{7d}"},
    {"a{01}", "\\x{61}\\x{7b}\\x{30}\\x{31}\\x{7d}"}, {"a{2,03}", "\\x{61}\\x{7b}\\x{32}\\x{2c}\\x{30}\\x{33}\\x{7d}"},
    {"a{00}", "\\x{61}\\x{7b}\\x{30}\\x{30}\\x{7d}"}, {"a{10}", "\\x{61}{10}"}, {"a{1000}", "\\x{61}{1000}"},
    {"a{1001}", "!invalid repetition size: {1001}"}, {"a{1000,}", "\\x{61}{1000,}"}, {"a{1001,}", "!invalid repetition size: {1001,}"},
    {"a{1,1000}", "\\x{61}{1,1000}"}, {"a{1,1001}", "!invalid repetition size: {1,1001}"}, {"a{2,1}", "!invalid repetition size: {2,1}"},
    {"a{2,2}", "\\x{61}{2,2}"}, {"a{99999999999999999999}", "!invalid repetition size: {99999999999999999999}"}, {"{", "\\x{7b}"},
    {"{2}", "!no argument for repetition operator: {2}"}, {"{a", "\\x{7b}\\x{61}"}, {"a{2}{3}", "!bad repetition operator: {3}"},
    {"a{2}*", "!bad repetition operator: *"}, {"(a{2}){3}", "(?:\\x{61}{2}){3}"}, {"(?:a{10}){100}", "(?:\\x{61}{10}){100}"},
    {"(?:a{10}){101}", "!invalid repetition size: {101}"}, {"(?:a{10}b{20}){50}", "(?:\\x{61}{10}\\x{62}{20}){50}"},
    {"(?:a{10}b{20}){51}", "!invalid repetition size: {51}"}, {"(?:a{20}b{10}){50}", "(?:\\x{61}{20}\\x{62}{10}){50}"},
    {"(?:a{20}b{10}){51}", "!invalid repetition size: {51}"}, {"(?:(?:a{10}){10}){10}", "(?:(?:\\x{61}{10}){10}){10}"},
    {"(?:(?:a{10}){10}){11}", "!invalid repetition size: {11}"}, {"(?:(?:a{10}){10}b){10}", "(?:(?:\\x{61}{10}){10}\\x{62}){10}"},
    {"(?:a{500}|b){2}", "(?:\\x{61}{500}|\\x{62}){2}"}, {"(?:a{501}|b){2}", "!invalid repetition size: {2}"},
    {"(?:a{2}){0}", "(?:\\x{61}{2}){0}"}, {"(?:a{1000}){0}", "(?:\\x{61}{1000}){0}"}, {"(?:a{1000}){1}", "(?:\\x{61}{1000}){1}"},
    {"(?:a{1000}){1}{1}", "!bad repetition operator: {1}"}, {"(?:(?:a{1000}){0}){1}", "(?:(?:\\x{61}{1000}){0}){1}"},
    {"(?:(?:){1000}){1}", "(?:(?:){1000}){1}"}, {"(?:){1000}", "(?:){1000}"}, {"(?:(?:){1000}){2}", "!invalid repetition size: {2}"},
    {"(?:a{100})*", "(?:\\x{61}{100})*"}, {"(?:(?:a{100})*){10}", "(?:(?:\\x{61}{100})*){10}"},
    {"(?:(?:a{100})*){11}", "!invalid repetition size: {11}"}, {"a{100}(?:b{10}){10}", "\\x{61}{100}(?:\\x{62}{10}){10}"},
    {"(?:a{100}(?:b{10}){10}){10}", "(?:\\x{61}{100}(?:\\x{62}{10}){10}){10}"},
    {"(?:a{100}(?:b{10}){11}){10}", "!invalid repetition size: {10}"}, {"(?:(?:b{10}){10}a{101}){10}", "!invalid repetition size: {10}"},
    {"ab{2}", "\\x{61}\\x{62}{2}"}, {"ab+", "\\x{61}(?:\\x{62})+"}, {"ab+c+", "\\x{61}(?:\\x{62})+(?:\\x{63})+"},
    {"[ab]+", "(?:[\\x{61}\\x{62}])+"}, {"(ab)+", "(?:\\x{61}\\x{62})+"}, {"(a+)+", "(?:(?:\\x{61})+)+"}, {"\\d+", "(?:\\d)+"},
    {"\\x{41}+", "(?:\\x{41})+"}, {"\\Qab\\E+", "\\x{61}(?:\\x{62})+"}, {"\\Qab\\E*", "\\x{61}\\x{62}*"}, {"\\Q\\E", ""}, {"\\Q", ""},
    {"\\Qa", "\\x{61}"}, {"\\Q\\", "\\x{5c}"}, {"\\Qa\\b\\E", "\\x{61}\\x{5c}\\x{62}"}, {"\\Q[(*\\Ex", "\\x{5b}\\x{28}\\x{2a}\\x{78}"},
    {"\\Q\\E*", "!no argument for repetition operator: *"}, {"a\\Q\\E*", "\\x{61}*"}, {"\\a", "\\x{7}"}, {"\\f", "\\x{c}"},
    {"\\n", "\\x{a}"}, {"\\r", "\\x{d}"}, {"\\t", "\\x{9}"}, {"\\v", "\\x{b}"}, {"\\0", "\\x{0}"}, {"\\07", "\\x{7}"},
    {"\\012", "\\x{a}"}, {"\\0123", "\\x{a}\\x{33}"}, {"\\08", "\\x{0}\\x{38}"}, {"\\1", "!invalid escape sequence: \\1"},
    {"\\12", "\\x{a}"}, {"\\123", "\\x{53}"}, {"\\1234", "\\x{53}\\x{34}"}, {"\\18", "!invalid escape sequence: \\1"},
    {"\\7", "!invalid escape sequence: \\7"}, {"\\77", "\\x{3f}"}, {"\\8", "!invalid escape sequence: \\8"},
    {"\\9", "!invalid escape sequence: \\9"}, {"\\x41", "\\x{41}"}, {"\\x4", "!invalid escape sequence: \\x4"},
    {"\\x", "!invalid escape sequence: \\x"}, {"\\xg1", "!invalid escape sequence: \\x"}, {"\\x4g", "!invalid escape sequence: \\x4"},
    {"\\x411", "\\x{41}\\x{31}"}, {"\\x{41}", "\\x{41}"}, {"\\x{041}", "\\x{41}"}, {"\\x{10ffff}", "\\x{10ffff}"},
    {"\\x{110000}", "!invalid escape sequence: \\x{110000}"}, {"\\x{}", "!invalid escape sequence: \\x{"},
    {"\\x{41", "!invalid escape sequence: \\x{41"}, {"\\x{g}", "!invalid escape sequence: \\x{"},
    {"\\x{4g}", "!invalid escape sequence: \\x{4"}, {"\\x{ffffffffffffffffffff}", "!invalid escape sequence: \\x{ffffff"},
    {"\\xAf", "\\x{af}"}, {"\\xfA", "\\x{fa}"}, {"\\x9F", "\\x{9f}"}, {"\\xa0", "\\x{a0}"}, {"\\xG0", "!invalid escape sequence: \\x"},
    {"\\x0G", "!invalid escape sequence: \\x0"}, {"\\x0`", "!invalid escape sequence: \\x0"}, {"\\x0@", "!invalid escape sequence: \\x0"},
    {"\\x/0", "!invalid escape sequence: \\x"}, {"\\x:0", "!invalid escape sequence: \\x"}, {"\\-", "\\x{2d}"}, {"\\_", "\\x{5f}"},
    {"\\.", "\\x{2e}"}, {"\\\\", "\\x{5c}"}, {"\\/", "\\x{2f}"}, {"\\@", "\\x{40}"}, {"\\[", "\\x{5b}"}, {"\\`", "\\x{60}"},
    {"\\{", "\\x{7b}"}, {"\\~", "\\x{7e}"}, {"\\:", "\\x{3a}"}, {"\\", "!trailing \\: \\"}, {"a\\", "!trailing \\: \\"},
    {"\\\xc3\xa9", "!invalid escape sequence: \\\xc3"}, {"\\c", "!invalid escape sequence: \\c"},
    {"\\e", "!invalid escape sequence: \\e"}, {"\\z", "(?:\\z)"}, {"\\Z", "!invalid escape sequence: \\Z"}, {"\\A", "(?:\\A)"},
    {"\\b", "(?:\\b)"}, {"\\B", "(?:\\B)"}, {"\\C", "!!\\C, one byte, in pattern '\\C'"},
    {"a\\Cb", "!!\\C, one byte, in pattern 'a\\Cb'"}, {"\\E", "!invalid escape sequence: \\E"}, {"\\G", "!invalid escape sequence: \\G"},
    {"\\K", "!invalid escape sequence: \\K"}, {"\\N", "!invalid escape sequence: \\N"}, {"\\R", "!invalid escape sequence: \\R"},
    {"\\X", "!invalid escape sequence: \\X"}, {"\\d", "\\d"}, {"\\D", "\\D"}, {"\\s", "[\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}]"},
    {"\\S", "[\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}]"}, {"\\w", "\\w"}, {"\\W", "\\W"}, {"\\pN", "\\p{N}"},
    {"\\pL", "\\p{L}"}, {"\\pC", "\\p{C}"}, {"\\pM", "\\p{M}"}, {"\\pP", "\\p{P}"}, {"\\pS", "\\p{S}"}, {"\\pZ", "\\p{Z}"},
    {"\\pA", "!invalid character class range: \\pA"}, {"\\pl", "!invalid character class range: \\pl"},
    {"\\p", "!invalid character class range: \\p"}, {"\\p{", "!invalid character class range: \\p{"},
    {"\\p{}", "!invalid character class range: \\p{}"}, {"\\p{L}", "\\p{L}"}, {"\\p{Lu}", "\\p{Lu}"}, {"\\p{Ll}", "\\p{Ll}"},
    {"\\p{LU}", "!invalid character class range: \\p{LU}"}, {"\\p{lu}", "!invalid character class range: \\p{lu}"},
    {"\\p{A}", "!invalid character class range: \\p{A}"}, {"\\p{Any}", "\\p{Any}"}, {"\\p{Greek}", "\\p{sc:Greek}"},
    {"\\p{greek}", "!invalid character class range: \\p{greek}"}, {"\\p{Old_Italic}", "\\p{sc:Old_Italic}"}, {"\\p{^Lu}", "\\P{Lu}"},
    {"\\p{^Greek}", "\\P{sc:Greek}"}, {"\\p{^}", "!invalid character class range: \\p{^}"}, {"\\p{^L}", "\\P{L}"}, {"\\P{Lu}", "\\P{Lu}"},
    {"\\P{^Lu}", "\\p{Lu}"}, {"\\PN", "\\P{N}"}, {"\\P", "!invalid character class range: \\P"},
    {"\\p\xc3\xa9", "!invalid character class range: \\p\xc3"}, {"\\p{Lu", "!invalid character class range: \\p{Lu"},
    {"\\p{L u}", "!invalid character class range: \\p{L "}, {"\\p{L1}", "!invalid character class range: \\p{L1"},
    {"\\p^L", "!invalid character class range: \\p^"}, {"\\p{_L}", "!invalid character class range: \\p{_L}"}, {"\\p{Z}", "\\p{Z}"},
    {"\\p{Zs}", "\\p{Zs}"}, {"\\p{[}", "!invalid character class range: \\p{["}, {"\\p@", "!invalid character class range: \\p@"},
    {"\\p[", "!invalid character class range: \\p["}, {"[a]", "[\\x{61}]"}, {"[^a]", "[^\\x{61}]"}, {"[ab]", "[\\x{61}\\x{62}]"},
    {"[a-c]", "[\\x{61}-\\x{63}]"}, {"[a-a]", "[\\x{61}]"}, {"[c-a]", "!invalid character class range: c-a"},
    {"[-a]", "[\\x{2d}\\x{61}]"}, {"[a-]", "[\\x{61}\\x{2d}]"}, {"[a-c-e]", "[\\x{61}-\\x{63}\\x{2d}\\x{65}]"},
    {"[--a]", "[\\x{2d}-\\x{61}]"}, {"[]", "!missing ]: []"}, {"[]a]", "[\\x{5d}\\x{61}]"}, {"[^]a]", "[^\\x{5d}\\x{61}]"},
    {"[^]", "!missing ]: [^]"}, {"[", "!missing ]: ["}, {"[a", "!missing ]: [a"}, {"[a-", "!missing ]: [a-"},
    {"[a-c", "!missing ]: [a-c"}, {"[^", "!missing ]: [^"}, {"[[]", "[\\x{5b}]"}, {"[[a]", "[\\x{5b}\\x{61}]"},
    {"[[:alpha:]]", "[[:alpha:]]"}, {"[[:^alpha:]]", "[[:^alpha:]]"}, {"[[:alnum:]]", "[[:alnum:]]"}, {"[[:ascii:]]", "[[:ascii:]]"},
    {"[[:blank:]]", "[[:blank:]]"}, {"[[:cntrl:]]", "[[:cntrl:]]"}, {"[[:digit:]]", "[[:digit:]]"}, {"[[:graph:]]", "[[:graph:]]"},
    {"[[:lower:]]", "[[:lower:]]"}, {"[[:print:]]", "[[:print:]]"}, {"[[:punct:]]", "[[:punct:]]"}, {"[[:space:]]", "[[:space:]]"},
    {"[[:upper:]]", "[[:upper:]]"}, {"[[:word:]]", "[[:word:]]"}, {"[[:xdigit:]]", "[[:xdigit:]]"},
    {"[[:foo:]]", "!invalid character class range: [:foo:]"}, {"[[::]]", "!invalid character class range: [::]"},
    {"[[:^:]]", "!invalid character class range: [:^:]"}, {"[[:^foo:]]", "!invalid character class range: [:^foo:]"},
    {"[[:alpha:]a]", "[[:alpha:]\\x{61}]"}, {"[a[:alpha:]]", "[\\x{61}[:alpha:]]"},
    {"[[:alpha]", "[\\x{5b}\\x{3a}\\x{61}\\x{6c}\\x{70}\\x{68}\\x{61}]"}, {"[[:", "!missing ]: [[:"}, {"[[:]", "[\\x{5b}\\x{3a}]"},
    {"[[::", "!missing ]: [[::"}, {"[[:a:]", "!invalid character class range: [:a:]"}, {"[[:alpha:]-z]", "[[:alpha:]\\x{2d}\\x{7a}]"},
    {"[\\d]", "[\\d]"}, {"[\\D\\w]", "[\\D\\w]"}, {"[\\s]", "[\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}]"},
    {"[^\\s]", "[^\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}]"}, {"[\\S]", "[\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}]"},
    {"[\\pN]", "[\\p{N}]"}, {"[\\p{Greek}a]", "[\\p{sc:Greek}\\x{61}]"}, {"[\\P{L}]", "[\\P{L}]"},
    {"[\\p{Foo_Bar9}]", "!invalid character class range: \\p{Foo_Bar9"}, {"[\\d-z]", "[\\d\\x{2d}\\x{7a}]"},
    {"[a-\\d]", "!invalid escape sequence: \\d"}, {"[\\n]", "[\\x{a}]"}, {"[\\x41-\\x{5a}]", "[\\x{41}-\\x{5a}]"},
    {"[\\101-\\132]", "[\\x{41}-\\x{5a}]"}, {"[\\]]", "[\\x{5d}]"}, {"[\\\\]", "[\\x{5c}]"}, {"[\\^]", "[\\x{5e}]"},
    {"[\\-a]", "[\\x{2d}\\x{61}]"}, {"[\\b]", "!invalid escape sequence: \\b"}, {"[\\q]", "!invalid escape sequence: \\q"},
    {"[\\", "!trailing \\: \\"}, {"[\\a\\f]", "[\\x{7}\\x{c}]"}, {"[\xc3\xa9-\xc3\xbc]", "[\\x{e9}-\\x{fc}]"}, {"[.]", "[\\x{2e}]"},
    {"[|]", "[\\x{7c}]"}, {"[(]", "[\\x{28}]"}, {"[$^]", "[\\x{24}\\x{5e}]"}, {"[*+?]", "[\\x{2a}\\x{2b}\\x{3f}]"},
    {"[{}]", "[\\x{7b}\\x{7d}]"}, {"[ab]*", "[\\x{61}\\x{62}]*"}, {"[a][b]+", "[\\x{61}](?:[\\x{62}])+"}, {"[a:]", "[\\x{61}\\x{3a}]"},
    {"\\p{Xx}", "\\p{Xx}"}, {"\\p{XX}", "!invalid character class range: \\p{XX}"}, {"\\pX", "!invalid character class range: \\pX"},
    {"\\p{X}", "!invalid character class range: \\p{X}"}, {"\\P{^X_}", "!invalid character class range: \\P{^X_}"},
    {"\\p{X^}", "!invalid character class range: \\p{X^}"}, {"[a:b:]", "[\\x{61}\\x{3a}\\x{62}\\x{3a}]"},
    {"[[b:]", "[\\x{5b}\\x{62}\\x{3a}]"}, {"[[b:]]", "[\\x{5b}\\x{62}\\x{3a}]\\x{5d}"}, {"[:]", "[\\x{3a}]"},
    {"[:a:]", "[\\x{3a}\\x{61}\\x{3a}]"}, {"[[:a-:]\\pN", "!invalid character class range: [:a-:]"}, {"\\pN+", "(?:\\p{N})+"},
    {"[\\pN\\d]+", "(?:[\\p{N}\\d])+"}, {"(?P<a>a)+", "(?:\\x{61})+"}, {"(?i)+", "!no argument for repetition operator: +"},
    {"(?i:a)+", "(?i:\\x{61})+"}, {"a|b+", "\\x{61}|(?:\\x{62})+"}, {"(a|b)+", "(?:\\x{61}|\\x{62})+"}, {".+", "(?:.)+"},
    {".{2}+", "!bad repetition operator: +"}, {"^+", "(?:(?:^))+"}, {"[a]{2}+", "!bad repetition operator: +"},
    {"\\Q\\E+", "!no argument for repetition operator: +"}, {"\\x41+", "(?:\\x{41})+"}, {"\\012+", "(?:\\x{a})+"},
    {"\\101{2}", "\\x{41}{2}"}, {"ab{2}c{3}", "\\x{61}\\x{62}{2}\\x{63}{3}"}, {"(a{3}b){2}", "(?:\\x{61}{3}\\x{62}){2}"},
    {"(a{30}(b{30}){30}){2}", "!invalid repetition size: {2}"}, {"((a{10}){10}b{1}){11}", "!invalid repetition size: {11}"},
    {"\xff", "!invalid UTF-8: \xff"}, {"a\xff", "!invalid UTF-8: \xff"}, {"\xc3", "!invalid UTF-8: \xc3"},
    {"\xc3" "a", "!invalid UTF-8: \xc3"}, {"\xc1\x80", "!invalid UTF-8: \xc1"}, {"\xc2\x80", "\\x{80}"},
    {"\xc2\x7f", "!invalid UTF-8: \xc2"}, {"\xc2\xc0", "!invalid UTF-8: \xc2"}, {"\xdf\xbf", "\\x{7ff}"},
    {"\xe0\x80\x80", "!invalid UTF-8: \xe0"}, {"\xe0\x9f\xbf", "!invalid UTF-8: \xe0"}, {"\xe0\xa0\x80", "\\x{800}"},
    {"\xed\x9f\xbf", "\\x{d7ff}"}, {"\xed\xa0\x80", "!invalid UTF-8: \xed"}, {"\xed\xbf\xbf", "!invalid UTF-8: \xed"},
    {"\xee\x80\x80", "\\x{e000}"}, {"\xef\xbf\xbf", "\\x{ffff}"}, {"\xf0\x80\x80\x80", "!invalid UTF-8: \xf0"},
    {"\xf0\x8f\xbf\xbf", "!invalid UTF-8: \xf0"}, {"\xf0\x90\x80\x80", "\\x{10000}"}, {"\xf4\x8f\xbf\xbf", "\\x{10ffff}"},
    {"\xf4\x90\x80\x80", "!invalid UTF-8: \xf4"}, {"\xf5\x80\x80\x80", "!invalid UTF-8: \xf5"}, {"\x80", "!invalid UTF-8: \x80"},
    {"\xbf", "!invalid UTF-8: \xbf"}, {"\x7f", "\\x{7f}"}, {"\x01", "\\x{1}"}, {"[\xff]", "!invalid UTF-8: \xff"},
    {"[a-\xff]", "!invalid UTF-8: \xff"}, {"\\Q\xff", "!invalid UTF-8: \xff"}, {"\xe2\x82", "!invalid UTF-8: \xe2"},
    {"\xf0\x9f\x98", "!invalid UTF-8: \xf0"}, {"[\xc3\xa9]", "[\\x{e9}]"}, {"(?P<\xc3\xa9>a)", "!invalid named capture group: (?P<"},
    {"/", "\\x{2f}"}, {":", "\\x{3a}"}, {"@", "\\x{40}"}, {"[[]]", "[\\x{5b}]\\x{5d}"}, {"`", "\\x{60}"},
    {"\\p{`}", "!invalid character class range: \\p{`"}, {"\\p{Z[}", "!invalid character class range: \\p{Z["},
    {"\\p{a}", "!invalid character class range: \\p{a}"}
};

/* From a block of the pattern's size, with nothing after it. */
static hr_status_t translate(const char* pattern, hr_strbuf_t* out) {
  const size_t size = strlen(pattern);
  char* exact = malloc(size ? size : 1);
  memcpy(exact, pattern, size);
  hr_status_t status = hr_regex_translate((hr_str_t){exact, size}, out);
  free(exact);
  return status;
}

HR_TEST(patterns_are_translated) {
  const char* to = getenv("HEADRACE_REGEX");
  FILE* f = to ? fopen(to, "w") : NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char got[6000], head[3000];
    hr_strbuf_t out;
    hr_strbuf_init(&out);
    hr_status_t status = translate(rows[i].pattern, &out);
    snprintf(head, sizeof head, "Invalid pattern: %s, error: ", rows[i].pattern);
    const hr_str_t message = status ? hr_str(hr_status_message(status)) : hr_strbuf_view(&out);
    if (status && !strncmp(message.data, head, strlen(head))) snprintf(got, sizeof got, "!%s", message.data + strlen(head));
    else if (status) snprintf(got, sizeof got, "!!%.*s", HR_STR_ARG(message));
    else snprintf(got, sizeof got, "%.*s", (int)(message.size - strlen(BEGIN END)), message.data + strlen(BEGIN));
    if (!status) HR_CHECK(hr_str_has_prefix(message, HR_STR(BEGIN)) && hr_str_has_suffix(message, HR_STR(END)));
    if (f) fprintf(f, "%s%c", got, 0);
    else if (strcmp(got, rows[i].want)) hr_test_fail(__FILE__, __LINE__, "%s becomes %s, not %s", rows[i].pattern, got, rows[i].want);
    hr_status_release(status);
    hr_strbuf_deinit(&out);
  }
  if (f) fclose(f);
}

HR_TEST(groups_nest_two_hundred_deep) {
  for (int depth = 199; depth <= 201; ++depth) {
    char pattern[500];
    hr_strbuf_t out;
    hr_strbuf_init(&out);
    memset(pattern, '(', (size_t)depth);
    memset(pattern + depth, ')', (size_t)depth);
    pattern[2 * depth] = 0;
    hr_status_t status = translate(pattern, &out);
    if (depth <= 200) HR_CHECK_OK(status);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "groups are nested too deep: (");
    hr_strbuf_deinit(&out);
  }
}
HR_TEST_MAIN()
