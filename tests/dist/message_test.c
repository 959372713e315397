/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of slices, without a transport: what builders write byte by byte and which memory it lies in; what readers make of the same
 * bytes however they are cut into slices; the messages of RecvTensor. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/message_builder.h"
#include "dist/message_reader.h"
#include "dist/recv_tensor.h"
#include "test.h"
#include "wire/shape_proto.h"
#include "wire/tensor_proto.h"

#define BYTES(text) ((hr_str_t){text, sizeof(text) - 1})

static hr_str_t joined(const hr_message_t* m) { /* hr_free its data */
  char* bytes = NULL;
  size_t size = 0;
  if (HR_CHECK_OK(hr_message_join(m, &bytes, &size))) HR_CHECK(bytes[size] == 0);
  return (hr_str_t){bytes, size};
}

static bool holds(const hr_message_t* m, hr_str_t wanted) {
  const hr_str_t got = joined(m);
  const bool same = hr_str_equal(got, wanted) && got.size == hr_message_size(m);
  hr_free((void*)(uintptr_t)got.data);
  return HR_CHECK(same);
}

static int released;
static void count_release(void* owner) {
  ++released;
  hr_free(owner);
}

/* Memory of exactly that size, so that a sanitizer sees every step beyond it. */
static hr_slice_t exact_slice(const char* bytes, size_t size) {
  char* copy = hr_alloc(size);
  if (size) memcpy(copy, bytes, size);
  return (hr_slice_t){copy, size, count_release, copy};
}

/* The bytes in as many slices as there are cuts, and one; equal cuts make empty ones. */
static hr_message_t cut_message(hr_str_t bytes, const size_t* cuts, int count) {
  hr_message_t m = {0};
  size_t at = 0;
  for (int i = 0; i <= count; ++i) {
    const size_t end = i < count ? cuts[i] : bytes.size;
    HR_CHECK_OK(hr_message_add(&m, exact_slice(bytes.data + at, end - at)));
    at = end;
  }
  return m;
}

HR_TEST(slices_are_released_once) {
  static const char* const wanted[] = {"", "", "b", "bcd", "bcd", "bcde", "bcdefg", "bcdefg", "bcdefgh", "bcdefghij"};
  for (int count = 0; count < 10; ++count) {
    char text[32];
    hr_message_t m = {0};
    released = 0;
    for (int i = 0; i < count; ++i) HR_CHECK_OK(hr_message_add(&m, exact_slice(&"abcdefghij"[i], (size_t)(i % 3))));
    HR_CHECK_OK(hr_message_add(&m, (hr_slice_t){"static", 6, NULL, NULL}));
    HR_CHECK_EQ_I64(m.count, count + 1);
    snprintf(text, sizeof text, "%sstatic", wanted[count]);
    HR_CHECK(holds(&m, hr_str(text)));
    HR_CHECK_EQ_I64(released, 0);
    hr_message_deinit(&m);
    HR_CHECK_EQ_I64(released, count);
    HR_CHECK(m.count == 0 && m.slices == NULL);
  }
}

/* --- builders ------------------------------------------------------------------------------------------------------------------------- */

/* bytes 1, 2, 3... whatever the type; strings of lengths `row, 2 row, ...`. */
static hr_tensor_t counted(hr_dtype_t dtype, int rank, int64_t a, int64_t b) {
  hr_tensor_t t = {0};
  const hr_shape_t shape = rank == 0 ? hr_shape_scalar() : rank == 1 ? hr_shape_vector(a) : hr_shape_matrix(a, b);
  HR_CHECK_OK(hr_tensor_create_zero(dtype, &shape, &t));
  for (size_t i = 0; dtype == HR_BOOL && i < hr_tensor_bytes(&t); ++i) ((char*)t.data)[i] = i % 3 == 0;
  for (size_t i = 0; dtype != HR_BOOL && dtype != HR_STRING && i < hr_tensor_bytes(&t); ++i) ((char*)t.data)[i] = (char)(i + 1);
  return t;
}

static hr_tensor_t texts(int64_t count, const size_t* sizes) {
  static const char letters[300] = "the quick brown fox jumps over the lazy dog";
  hr_tensor_t t = counted(HR_STRING, 1, count, 0);
  for (int64_t i = 0; i < count; ++i) HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data + i, (hr_str_t){letters + i, sizes[i]}));
  return t;
}

static void add_varint(hr_strbuf_t* out, uint64_t v) {
  for (; v >= 128; v >>= 7) hr_strbuf_add(out, &(char){(char)(v | 128)}, 1);
  hr_strbuf_add(out, &(char){(char)v}, 1);
}
static void add_span(hr_strbuf_t* out, uint32_t number, hr_str_t bytes) {
  add_varint(out, number << 3 | 2);
  add_varint(out, bytes.size);
  hr_strbuf_add_str(out, bytes);
}

/* A TensorProto as TensorFlow writes it, by the rules in message_builder.c's head. */
static void add_proto(hr_strbuf_t* out, const hr_tensor_t* t, bool is_received) {
  hr_strbuf_t shape, body;
  hr_strbuf_init(&shape);
  hr_strbuf_init(&body);
  for (int i = 0; i < t->shape.rank; ++i) {
    hr_strbuf_t dim;
    hr_strbuf_init(&dim);
    if (t->shape.dims[i]) add_varint(&dim, 8); /* a size of 0 goes without saying */
    if (t->shape.dims[i]) add_varint(&dim, (uint64_t)t->shape.dims[i]);
    add_span(&shape, 2, hr_strbuf_view(&dim));
    hr_strbuf_deinit(&dim);
  }
  add_varint(out, 8);
  add_varint(out, (uint64_t)t->dtype);
  if (!is_received || t->shape.rank) add_span(out, 2, hr_strbuf_view(&shape));
  const hr_tstring_t* s = t->data;
  for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; ++i) add_varint(&body, hr_tstring_get(s + i).size);
  for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; ++i) hr_strbuf_add_str(&body, hr_tstring_get(s + i));
  if (t->dtype != HR_STRING && t->count) hr_strbuf_add(&body, t->data, hr_tensor_bytes(t));
  if (is_received || body.size) add_span(out, 4, hr_strbuf_view(&body));
  hr_strbuf_deinit(&shape);
  hr_strbuf_deinit(&body);
}

/* A small field, the tensor as field `number`, with or without a name, and a small field. `own_slice`: the body shares its memory. */
static void check_built(const hr_tensor_t* t, uint32_t number, const char* name, bool own_slice) {
  hr_message_builder_t b;
  hr_message_t m = {0};
  hr_strbuf_t wanted, tensor, named;
  hr_strbuf_init(&wanted);
  hr_strbuf_init(&tensor);
  hr_strbuf_init(&named);
  add_proto(&tensor, t, false);
  if (name) {
    add_span(&named, 1, hr_str(name));
    add_span(&named, 2, hr_strbuf_view(&tensor));
  }
  hr_strbuf_add(&wanted, "\x08\x05", 2);
  add_span(&wanted, number, hr_strbuf_view(name ? &named : &tensor));
  hr_strbuf_add(&wanted, "\x08\x06", 2);
  hr_message_builder_init(&b);
  hr_writer_i64(&b.bytes, 1, 5);
  if (name) hr_message_builder_named_tensor(&b, number, hr_str(name), t);
  else hr_message_builder_tensor(&b, number, t);
  hr_writer_i64(&b.bytes, 1, 6);
  if (HR_CHECK_OK(hr_message_builder_take(&b, &m))) {
    HR_CHECK(holds(&m, hr_strbuf_view(&wanted)));
    HR_CHECK_EQ_I64(m.count, own_slice ? 3 : 1);
    HR_CHECK(hr_message_buffer_of_slice(&m.slices[0]) == NULL);
    if (own_slice && m.count == 3) HR_CHECK(hr_message_buffer_of_slice(&m.slices[1]) == t->buffer && m.slices[1].data == t->data);
  }
  HR_CHECK_EQ_U64(b.bytes.size, 0);
  hr_message_deinit(&m);
  hr_strbuf_deinit(&wanted);
  hr_strbuf_deinit(&tensor);
  hr_strbuf_deinit(&named);
}

HR_TEST(tensors_in_messages) {
  static const struct { hr_dtype_t dtype; int rank; int64_t a, b; bool own_slice; } rows[] = {
      {HR_F32, 0, 0, 0, false},  {HR_F32, 1, 0, 0, false},    {HR_F32, 1, 1, 0, false},   {HR_F32, 2, 2, 3, false},
      {HR_F32, 2, 0, 300, false}, {HR_U8, 1, 100, 0, false},  {HR_U8, 1, 117, 0, false},  {HR_U8, 1, 118, 0, false},
      {HR_U8, 1, 119, 0, false}, {HR_U8, 1, 120, 0, false},   {HR_U8, 1, 121, 0, false},  {HR_U8, 1, 122, 0, false},
      {HR_U8, 1, 1024, 0, false}, {HR_U8, 1, 1025, 0, true},  {HR_F32, 1, 256, 0, false}, {HR_F32, 1, 257, 0, true},
      {HR_U8, 1, 16360, 0, true}, {HR_U8, 1, 16370, 0, true}, {HR_U8, 1, 16371, 0, true}, {HR_U8, 1, 16372, 0, true},
      {HR_U8, 1, 16383, 0, true}, {HR_U8, 1, 16384, 0, true}, {HR_BOOL, 2, 40, 50, true}, {HR_C128, 1, 70, 0, true},
      {HR_BOOL, 1, 3, 0, false}, {HR_STRING, 1, 0, 0, false}, {HR_STRING, 0, 0, 0, false}, {HR_I64, 2, 1, 3, false}};
  char long_name[200];
  memset(long_name, 'n', sizeof long_name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_tensor_t t = counted(rows[i].dtype, rows[i].rank, rows[i].a, rows[i].b);
    check_built(&t, 2, NULL, rows[i].own_slice);
    check_built(&t, 3, "", rows[i].own_slice);
    check_built(&t, 3, "edge", rows[i].own_slice);
    for (int size = 125; size < 130; ++size) {
      long_name[size] = 0;
      check_built(&t, 15, long_name, rows[i].own_slice);
      long_name[size] = 'n';
    }
    hr_tensor_release(&t);
  }
  static const size_t sizes[] = {0, 1, 127, 128, 3, 299};
  for (int64_t count = 1; count <= 5; ++count) {
    hr_tensor_t t = texts(count, sizes);
    check_built(&t, 1, count % 2 ? "text" : NULL, false);
    hr_tensor_release(&t);
  }
}

HR_TEST(what_owns_memory_is_written_by_the_general_encoder) {
  hr_tensor_t t = {0};
  const hr_shape_t none = hr_shape_vector(0);
  hr_message_t m = {0};
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_VARIANT, &none, &t));
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  hr_message_builder_tensor(&b, 1, &t);
  HR_CHECK_OK(hr_message_builder_take(&b, &m));
  hr_strbuf_t wanted, body;
  hr_strbuf_init(&wanted);
  hr_strbuf_init(&body);
  HR_CHECK_OK(hr_tensor_proto_encode(&t, &body));
  add_span(&wanted, 1, hr_strbuf_view(&body));
  HR_CHECK(holds(&m, hr_strbuf_view(&wanted)));
  hr_message_deinit(&m);
  hr_strbuf_deinit(&wanted);
  hr_strbuf_deinit(&body);
  hr_tensor_release(&t);
}

HR_TEST(memory_without_a_buffer_is_copied) {
  static float numbers[300];
  const hr_tensor_t t = {.data = numbers, .count = 300, .dtype = HR_F32, .shape = hr_shape_vector(300)};
  check_built(&t, 2, NULL, false);
}

HR_TEST(spans_become_slices) {
  hr_message_builder_t b;
  hr_message_t m = {0};
  hr_message_builder_init(&b);
  hr_message_builder_span(&b, 1, hr_alloc_copy("first", 5), 5);
  hr_message_builder_span(&b, 16, hr_alloc_copy("", 0), 0);
  hr_writer_i64(&b.bytes, 3, 1);
  hr_message_builder_span(&b, 2, hr_alloc_copy("last", 4), 4);
  HR_REQUIRE_OK(hr_message_builder_take(&b, &m));
  HR_CHECK(holds(&m, BYTES("\x0a\x05" "first" "\x82\x01\x00" "\x18\x01\x12\x04" "last")));
  HR_CHECK_EQ_I64(m.count, 6);
  static const size_t sizes[] = {2, 5, 3, 0, 4, 4};
  for (int i = 0; i < 6 && m.count == 6; ++i) HR_CHECK_EQ_U64(m.slices[i].size, sizes[i]);
  hr_message_deinit(&m);
  hr_message_builder_init(&b);
  HR_CHECK_OK(hr_message_builder_take(&b, &m));
  HR_CHECK(m.count == 0 && m.slices == NULL);
}

/* A variant with an element has no bytes: the first failure stays, and nothing of the message is left. */
HR_TEST(failures_stick) {
  hr_tensor_t odd = {0}, large = counted(HR_F32, 1, 400, 0);
  const hr_shape_t one = hr_shape_vector(1);
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_VARIANT, &one, &odd));
  for (int first = 0; first < 2; ++first) {
    hr_message_builder_t b;
    hr_message_t m = {.count = 7};
    hr_message_builder_init(&b);
    hr_message_builder_tensor(&b, 1, first ? &odd : &large);
    hr_message_builder_tensor(&b, 1, first ? &large : &odd);
    hr_message_builder_span(&b, 2, hr_alloc_copy("x", 1), 1);
    hr_message_builder_tensor(&b, 1, &odd);
    HR_CHECK_EQ_I64(hr_status_code(b.status), HR_UNIMPLEMENTED);
    HR_CHECK_CODE(hr_message_builder_take(&b, &m), HR_UNIMPLEMENTED, "");
    HR_CHECK(m.count == 0 && m.slices == NULL && b.message.count == 0 && !b.status);
    hr_message_builder_init(&b);
    hr_message_builder_tensor(&b, 1, &large);
    hr_message_builder_tensor(&b, 1, &odd);
    hr_message_builder_deinit(&b);
    HR_CHECK(!b.status && b.message.count == 0);
  }
  hr_tensor_release(&odd);
  hr_tensor_release(&large);
}

static hr_status_t build_all(void) {
  static hr_tensor_t large, small, text;
  static const size_t sizes[] = {3, 200};
  if (!large.buffer) {
    large = counted(HR_F32, 1, 400, 0);
    small = counted(HR_F32, 1, 4, 0);
    text = texts(2, sizes);
  }
  hr_message_builder_t b;
  hr_message_t m = {0};
  hr_message_builder_init(&b);
  hr_message_builder_tensor(&b, 1, &small);
  hr_message_builder_named_tensor(&b, 2, HR_STR("text"), &text);
  hr_message_builder_tensor(&b, 3, &large);
  char* more = hr_alloc_copy("more", 4);
  if (!more) {
    hr_message_builder_deinit(&b);
    return hr_status_out_of_memory();
  }
  hr_message_builder_span(&b, 4, more, 4);
  HR_TRY(hr_message_builder_take(&b, &m));
  char* bytes = NULL;
  size_t size;
  hr_status_t status = hr_message_join(&m, &bytes, &size);
  hr_free(bytes);
  hr_message_deinit(&m);
  HR_TRY(status);
  HR_TRY(hr_recv_tensor_answer(&large, false, 1, &m));
  hr_message_deinit(&m);
  HR_TRY(hr_recv_tensor_answer(&text, false, 1, &m));
  hr_message_deinit(&m);
  return NULL;
}
HR_TEST(memory_may_run_out) { HR_TEST_EVERY_ALLOCATION_FAILS(build_all); }

/* --- readers -------------------------------------------------------------------------------------------------------------------------- */

/* Each kind of field, values at the borders of what they take. */
#define FIELDS                                                                                                             \
  "\x08\x00" "\x08\x7f" "\x08\x80\x01" "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "\x19\x01\x02\x03\x04\x05\x06\x07\x08" \
  "\x1d\x0a\x0b\x0c\x0d" "\x22\x00" "\x22\x01" "a" "\x22\x05" "hello" "\xf8\xff\xff\xff\x0f\x01" "\x80\x01\x02"

/* As the reader of flat bytes reads them; false: both fail, and as they should. */
static bool same_field(hr_message_reader_t* r, hr_cursor_t* c) {
  uint32_t key;
  uint64_t value;
  hr_message_reader_t span;
  hr_cursor_t flat;
  hr_field_t f;
  hr_strbuf_t scratch;
  hr_status_t wanted = hr_cursor_next(c, &f), got = hr_message_reader_next(r, &key, &value, &span);
  const bool goes_on = !wanted && !got;
  HR_CHECK_EQ_I64(hr_status_code(got), hr_status_code(wanted));
  hr_status_release(wanted);
  hr_status_release(got);
  if (!goes_on) return false;
  HR_CHECK_EQ_U64(key, f.key);
  HR_CHECK_EQ_U64(value, f.value);
  HR_CHECK_EQ_U64(span.left, hr_cursor_left(&f.span));
  HR_CHECK_EQ_U64(r->left, hr_cursor_left(c));
  hr_strbuf_init(&scratch);
  hr_strbuf_add(&scratch, "old", 3);
  if (HR_CHECK_OK(hr_message_reader_flat(span, &scratch, &flat))) {
    const hr_slice_t* s = span.left ? &span.message->slices[span.slice] : NULL;
    const bool is_whole = !s || s->size - span.at >= span.left; /* then it is read where it lies */
    HR_CHECK(hr_str_equal(hr_cursor_str(flat), hr_cursor_str(f.span)));
    HR_CHECK(!s || (flat.at == (const uint8_t*)s->data + span.at) == is_whole);
    HR_CHECK_EQ_U64(scratch.size, is_whole ? 3 : span.left);
  }
  hr_strbuf_deinit(&scratch);
  return true;
}

static void compare_reading(hr_str_t bytes, const size_t* cuts, int count) {
  hr_message_t m = cut_message(bytes, cuts, count);
  hr_message_reader_t r = hr_message_reader_make(&m);
  hr_cursor_t c = hr_cursor_make(bytes.data, bytes.size);
  HR_CHECK_EQ_U64(r.left, bytes.size);
  bool goes_on = true;
  while (goes_on && HR_CHECK_EQ_I64(hr_message_reader_is_done(&r), hr_cursor_is_done(&c)) && !hr_cursor_is_done(&c))
    goes_on = same_field(&r, &c);
  hr_message_deinit(&m);
}

HR_TEST(fields_are_the_same_however_they_are_cut) {
  const hr_str_t all = BYTES(FIELDS);
  compare_reading(all, NULL, 0);
  for (size_t a = 0; a <= all.size; ++a)
    for (size_t b = a; b <= all.size; ++b) compare_reading(all, (size_t[]){a, b, b}, 3);
  size_t each[sizeof FIELDS];
  for (size_t i = 0; i < all.size; ++i) each[i] = i;
  compare_reading(all, each, (int)all.size);
}

HR_TEST(fields_that_end_too_soon) {
  const hr_str_t all = BYTES(FIELDS);
  for (size_t size = 0; size < all.size; ++size)
    for (size_t cut = 0; cut <= size; cut += size > 2 ? size / 2 : 1) compare_reading(hr_str_slice(all, 0, size), &cut, 1);
}

HR_TEST(what_is_no_field) {
  static const struct { hr_str_t bytes; const char* says; } rows[] = {
      {{"\x00\x00", 2}, "field with number 0"},
      {{"\x07\x00", 2}, "field with number 0"},
      {{"\x0b\x0c", 2}, "wire type 3"},
      {{"\x0c", 1}, "wire type 4"},
      {{"\x0e\x01", 2}, "wire type 6"},
      {{"\xff\xff\xff\xff\x0f", 5}, "wire type 7"},
      {{"\x80\x80\x80\x80\x10\x01", 6}, "field with number 536870912"},
      {{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12}, "varint of more than 10 bytes"},
      {{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10}, "message ends within a field"},
      {{"\x08", 1}, "message ends within a field"},
      {{"\x80", 1}, "message ends within a field"},
      {{"\x09\x01\x02\x03\x04\x05\x06\x07", 8}, "message ends within a field"},
      {{"\x0d\x01\x02\x03", 4}, "message ends within a field"},
      {{"\x0a\x02" "a", 3}, "message ends within a field"},
      {{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "a", 12}, "message ends within a field"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (size_t cut = 0; cut <= rows[i].bytes.size; ++cut) {
      hr_message_t m = cut_message(rows[i].bytes, &cut, 1);
      hr_message_reader_t r = hr_message_reader_make(&m), span;
      uint32_t key;
      uint64_t value;
      HR_CHECK_CODE(hr_message_reader_next(&r, &key, &value, &span), HR_INVALID_ARGUMENT, rows[i].says);
      hr_message_deinit(&m);
    }
  }
}

HR_TEST(texts_of_an_arena) {
  const hr_str_t bytes = BYTES("\x0a\x05" "hello" "\x0a\x00");
  for (size_t cut = 0; cut <= bytes.size; ++cut) {
    hr_message_t m = cut_message(bytes, &cut, 1);
    hr_message_reader_t r = hr_message_reader_make(&m), span;
    hr_arena_t arena;
    uint32_t key;
    uint64_t value;
    hr_str_t text;
    hr_arena_init(&arena);
    for (int i = 0; i < 2; ++i) {
      HR_CHECK_OK(hr_message_reader_next(&r, &key, &value, &span));
      HR_CHECK_OK(hr_message_reader_text(span, &arena, &text));
      HR_CHECK_VIEW(text, i ? "" : "hello");
      HR_CHECK(text.data[text.size] == 0);
    }
    hr_arena_deinit(&arena);
    hr_message_deinit(&m);
  }
}

HR_TEST(named_tensors) {
  static const struct { hr_str_t bytes; const char *name, *fails; uint64_t tensor; } rows[] = {
      {{"\x0a\x03" "key" "\x12\x02\x08\x01", 9}, "key", NULL, 2},
      {{"\x12\x02\x08\x01\x0a\x03" "key", 9}, "key", NULL, 2},
      {{"\x12\x02\x08\x01", 4}, "", NULL, 2},
      {{"\x0a\x01" "a" "\x0a\x02" "bc" "\x12\x00", 9}, "bc", NULL, 0},
      {{"\x12\x00\x12\x02\x08\x01" "\x18\x01\x08\x01\x10\x01\x22\x01" "x", 15}, "", NULL, 2},
      {{"\x0a\x03" "key", 5}, "", "'key' comes without a value", 0},
      {{"", 0}, "", "'' comes without a value", 0},
      {{"\x12\x02\x08", 3}, "", "message ends within a field", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (size_t cut = 0; cut <= rows[i].bytes.size; ++cut) {
      hr_message_t m = cut_message(rows[i].bytes, &cut, 1);
      hr_message_reader_t tensor;
      hr_strbuf_t scratch;
      hr_str_t name;
      hr_strbuf_init(&scratch);
      hr_status_t status = hr_message_reader_named(hr_message_reader_make(&m), &scratch, &name, &tensor);
      if (rows[i].fails) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].fails);
      else if (HR_CHECK_OK(status)) {
        HR_CHECK_VIEW(name, rows[i].name);
        HR_CHECK_EQ_U64(tensor.left, rows[i].tensor);
      }
      hr_strbuf_deinit(&scratch);
      hr_message_deinit(&m);
    }
  }
}

/* --- tensors that are read ------------------------------------------------------------------------------------------------------------ */

/* What is read from slices is what the decoder makes of the same bytes in one piece: the value, or the failure's code. */
static void compare_decoding(hr_str_t bytes, const size_t* cuts, int count, bool share) {
  hr_message_t m = cut_message(bytes, cuts, count);
  hr_tensor_t want = {0}, got = {0};
  hr_status_t wanted = hr_tensor_proto_decode(hr_cursor_make(bytes.data, bytes.size), 1 << 28, &want);
  hr_status_t status = hr_message_reader_tensor(hr_message_reader_make(&m), share, &got);
  HR_CHECK_EQ_I64(hr_status_code(status), hr_status_code(wanted));
  if (!wanted && !status) HR_CHECK(hr_tensor_equal(&want, &got) && got.count == want.count);
  hr_status_release(wanted);
  hr_status_release(status);
  hr_tensor_release(&want);
  hr_tensor_release(&got);
  hr_message_deinit(&m);
}

static void compare_with_content(hr_str_t head, size_t content, hr_str_t tail) {
  static char filled[8000];
  memset(filled, 5, sizeof filled);
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  hr_strbuf_add_str(&b, head);
  const size_t before = b.size;
  if (content) add_span(&b, 4, (hr_str_t){filled, content});
  hr_strbuf_add_str(&b, tail);
  const hr_str_t all = hr_strbuf_view(&b);
  compare_decoding(all, NULL, 0, true);
  for (size_t cut = 1; cut < all.size; cut += cut < 20 ? 1 : 97)
    for (int share = 0; share < 2; ++share) compare_decoding(all, (size_t[]){cut, cut + (all.size - cut) / 2}, 2, share);
  if (content) compare_decoding(all, (size_t[]){before + 3, before + 3 + content}, 2, true); /* where the body has a slice of its own */
  hr_strbuf_deinit(&b);
}

HR_TEST(tensors_are_the_same_however_they_are_cut) {
  static const struct { hr_str_t head; size_t content; hr_str_t tail; } rows[] = {
      {{"\x08\x01\x12\x05\x12\x03\x08\xdc\x0b", 9}, 6000, {"", 0}},                 /* float [1500] */
      {{"\x12\x05\x12\x03\x08\xdc\x0b", 7}, 6000, {"\x08\x01", 2}},                 /* the type last */
      {{"\x08\x01", 2}, 6000, {"\x12\x05\x12\x03\x08\xdc\x0b", 7}},                 /* the shape last */
      {{"\x08\x01\x12\x05\x12\x03\x08\xdc\x0b", 9}, 6000, {"\x18\x01", 2}},         /* with a version's number */
      {{"\x08\x01\x12\x05\x12\x03\x08\xdc\x0b", 9}, 5999, {"", 0}},                 /* a byte short */
      {{"\x08\x01\x12\x05\x12\x03\x08\xdc\x0b", 9}, 6001, {"", 0}},                 /* a byte more */
      {{"\x08\x0a\x12\x05\x12\x03\x08\xf0\x2e", 9}, 6000, {"", 0}},                 /* bool [6000] */
      {{"\x08\x07\x12\x05\x12\x03\x08\xe8\x07", 9}, 6000, {"", 0}},                 /* string [1000], of five bytes each */
      {{"\x08\x22\x12\x05\x12\x03\x08\xf0\x2e", 9}, 6000, {"", 0}},                 /* the first number above the types */
      {{"\x08\x00\x12\x05\x12\x03\x08\xdc\x0b", 9}, 6000, {"", 0}},                 /* no type */
      {{"\x12\x05\x12\x03\x08\xdc\x0b", 7}, 6000, {"", 0}},                         /* no type */
      {{"\x08\x7f\x12\x05\x12\x03\x08\xdc\x0b", 9}, 6000, {"", 0}},                 /* a type that is none */
      {{"\x08\x65\x12\x05\x12\x03\x08\xdc\x0b", 9}, 6000, {"", 0}},                 /* a reference type */
      {{"\x08\x81\x80\x80\x80\x10\x12\x05\x12\x03\x08\xdc\x0b", 13}, 6000, {"", 0}}, /* 2^32 + 1 */
      {{"\x08\x01\x12\x05\x12\x03\x08\xdc", 8}, 6000, {"", 0}},                     /* damaged */
      {{"\x08\x01\x12\x02\x18\x01", 6}, 6000, {"", 0}},                             /* unknown rank */
      {{"\x08\x01\x12\x04\x12\x02\x08\x00", 8}, 0, {"", 0}},                        /* float [0] */
      {{"\x08\x01\x12\x04\x12\x02\x08\x00", 8}, 0, {"\x22\x00", 2}},                /* and content of no bytes */
      {{"\x08\x01\x12\x00", 4}, 0, {"\x22\x04" "abcd", 6}},                         /* a scalar */
      {{"\x08\x01", 2}, 0, {"\x2d\x00\x00\x80\x3f", 5}},                            /* float_val, unpacked */
      {{"\x08\x01\x12\x04\x12\x02\x08\x02", 8}, 0, {"\x2a\x04\x00\x00\x80\x3f", 6}}, /* and packed, repeated */
      {{"\x08\x01\x12\x04\x12\x02\x08\x03", 8}, 0, {"\x22\x04" "abcd", 6}},         /* content of another size */
      {{"\x08\x09\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 16}, 6000, {"", 0}}, /* more than there can be */
      {{"\x08\x07\x12\x04\x12\x02\x08\x02", 8}, 0, {"\x42\x01" "a" "\x42\x00", 5}}, /* texts */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) compare_with_content(rows[i].head, rows[i].content, rows[i].tail);
}

HR_TEST(a_value_may_claim_more_than_its_message_holds_within_a_limit) {
  hr_tensor_t t = {0};
  hr_message_t m = cut_message(BYTES("\x08\x04\x12\x07\x12\x05\x08\x80\x80\x80\x08"), (size_t[]){4}, 1); /* uint8 [2^24] */
  HR_CHECK_OK(hr_message_reader_tensor(hr_message_reader_make(&m), true, &t));
  HR_CHECK_EQ_I64(t.count, 1 << 24);
  hr_tensor_release(&t);
  hr_message_deinit(&m);
  m = cut_message(BYTES("\x08\x04\x12\x08\x12\x06\x08\x81\x80\x80\x80\x01"), (size_t[]){4}, 1); /* uint8 [2^28 + 1] */
  HR_CHECK_CODE(hr_message_reader_tensor(hr_message_reader_make(&m), true, &t), HR_RESOURCE_EXHAUSTED, "");
  hr_message_deinit(&m);
}

/* Message of a tensor whose body is a slice of its own, as a builder makes it. */
static hr_message_t built(const hr_tensor_t* t) {
  hr_message_builder_t b;
  hr_message_t m = {0};
  hr_message_builder_init(&b);
  hr_message_builder_tensor(&b, 1, t);
  HR_CHECK_OK(hr_message_builder_take(&b, &m));
  return m;
}

static void read_built(const hr_message_t* m, bool share, hr_tensor_t* out) {
  hr_message_reader_t r = hr_message_reader_make(m), span;
  uint32_t key;
  uint64_t value;
  HR_CHECK_OK(hr_message_reader_next(&r, &key, &value, &span));
  HR_CHECK_OK(hr_message_reader_tensor(span, share, out));
}

HR_TEST(memory_is_shared_when_asked_or_when_nobody_else_has_it) {
  static const struct { bool share, is_kept, shares; } rows[] = {{true, true, true}, {true, false, true}, {false, true, false},
                                                                 {false, false, true}};
  static const int64_t counts[] = {257, 1024, 1025, 5000}; /* also those that a gathered message could hold */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (int j = 0; j < 4; ++j) {
      hr_tensor_t t = counted(HR_F32, 1, counts[j], 0), got = {0}, kept = {0};
      hr_message_t m = built(&t);
      const void* data = t.data;
      HR_REQUIRE_OK(hr_tensor_clone(&t, &kept));
      if (!rows[i].is_kept) hr_tensor_release(&t);
      read_built(&m, rows[i].share, &got);
      HR_CHECK_EQ_I64(got.data == data, rows[i].shares);
      HR_CHECK(hr_tensor_equal(&got, &kept) && got.count == counts[j]);
      hr_message_deinit(&m);
      HR_CHECK(hr_tensor_equal(&got, &kept)); /* it outlives its message */
      hr_tensor_release(&got);
      hr_tensor_release(&kept);
      if (rows[i].is_kept) hr_tensor_release(&t);
    }
  }
}

/* A body that is only a part of the memory behind it is copied out. */
HR_TEST(parts_of_memory_are_copied) {
  hr_tensor_t t = counted(HR_U8, 1, 6000, 0), got = {0};
  static const struct { hr_str_t head; size_t first, size; } rows[] = {
      {{"\x08\x04\x12\x05\x12\x03\x08\x88\x27\x22\x88\x27", 12}, 0, 6000},   /* [5000], and more bytes behind: an unknown field */
      {{"\x08\x04\x12\x05\x12\x03\x08\x88\x27", 9}, 2, 0},
  };
  uint8_t* bytes = t.data;
  memcpy(bytes + 5000, "\x1a\xe5\x07", 3); /* field 3: the 997 bytes left */
  hr_message_t m = {0};
  HR_CHECK_OK(hr_message_add(&m, (hr_slice_t){rows[0].head.data, rows[0].head.size, NULL, NULL}));
  HR_CHECK_OK(hr_message_add(&m, hr_message_slice_of_buffer(hr_buffer_retain(t.buffer))));
  HR_CHECK_OK(hr_message_reader_tensor(hr_message_reader_make(&m), true, &got));
  HR_CHECK(got.data != t.data && got.count == 5000 && !memcmp(got.data, bytes, 5000));
  hr_tensor_release(&got);
  hr_message_deinit(&m);
  hr_tensor_release(&t);
  t = counted(HR_U8, 1, 5003, 0);
  memcpy(t.data, "\x22\x88\x27", 3); /* the content's tag and size lie in the same memory */
  HR_CHECK_OK(hr_message_add(&m, (hr_slice_t){rows[1].head.data, rows[1].head.size, NULL, NULL}));
  HR_CHECK_OK(hr_message_add(&m, hr_message_slice_of_buffer(hr_buffer_retain(t.buffer))));
  HR_CHECK_OK(hr_message_reader_tensor(hr_message_reader_make(&m), true, &got));
  HR_CHECK(got.data != (char*)t.data + 3 && got.count == 5000 && !memcmp(got.data, (char*)t.data + 3, 5000));
  hr_tensor_release(&got);
  hr_message_deinit(&m);
  hr_tensor_release(&t);
}

/* --- RecvTensor ----------------------------------------------------------------------------------------------------------------------- */

HR_TEST(requests_for_values) {
  hr_message_t m = {0};
  hr_recv_tensor_request_t q = {.key = HR_STR("key"), .step_id = 300, .request_id = -1};
  HR_REQUIRE_OK(hr_recv_tensor_request(&q, &m));
  HR_CHECK(holds(&m, BYTES("\x08\xac\x02\x12\x03" "key" "\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
  hr_message_deinit(&m);
  const hr_str_t bytes = BYTES("\x12\x03" "old" "\x38\x07\x18\x05\x08\x09\x10\x01\x12\x03" "key" "\x3a\x01" "x");
  for (size_t cut = 0; cut <= bytes.size; ++cut) {
    hr_strbuf_t scratch;
    hr_strbuf_init(&scratch);
    m = cut_message(bytes, &cut, 1);
    HR_CHECK_OK(hr_recv_tensor_read_request(&m, &scratch, &q));
    HR_CHECK(q.step_id == 9 && q.request_id == 7);
    HR_CHECK_VIEW(q.key, "key");
    hr_message_deinit(&m);
    m = cut_message(BYTES(""), NULL, 0);
    HR_CHECK_OK(hr_recv_tensor_read_request(&m, &scratch, &q));
    HR_CHECK(q.step_id == 0 && q.request_id == 0 && q.key.size == 0);
    hr_message_deinit(&m);
    m = cut_message(BYTES("\x08"), NULL, 0);
    HR_CHECK_CODE(hr_recv_tensor_read_request(&m, &scratch, &q), HR_INVALID_ARGUMENT, "");
    hr_message_deinit(&m);
    hr_strbuf_deinit(&scratch);
  }
}

static void check_answered(const hr_tensor_t* value, bool is_dead, const hr_tensor_t* sent, bool own_slice) {
  hr_message_t m = {0};
  hr_strbuf_t wanted, tensor;
  hr_tensor_t got = {0};
  bool was_dead, ack;
  hr_strbuf_init(&wanted);
  hr_strbuf_init(&tensor);
  add_proto(&tensor, sent, sent->dtype != HR_STRING);
  if (is_dead) hr_strbuf_add(&wanted, "\x10\x01", 2);
  hr_strbuf_add(&wanted, "\x18\xac\x02", 3);
  add_span(&wanted, 1, hr_strbuf_view(&tensor));
  if (HR_CHECK_OK(hr_recv_tensor_answer(value, is_dead, 300, &m))) {
    HR_CHECK(holds(&m, hr_strbuf_view(&wanted)));
    HR_CHECK_EQ_I64(m.count, own_slice ? 2 : 1);
    if (own_slice) HR_CHECK(m.slices[1].data == sent->data);
    if (HR_CHECK_OK(hr_recv_tensor_read_answer(&m, &got, &was_dead, &ack)))
      HR_CHECK(hr_tensor_equal(&got, sent) && was_dead == is_dead && !ack && (got.data != sent->data || !sent->count)); /* its own */
  }
  hr_tensor_release(&got);
  hr_message_deinit(&m);
  hr_strbuf_deinit(&wanted);
  hr_strbuf_deinit(&tensor);
}

HR_TEST(answers_with_values) {
  static const struct { hr_dtype_t dtype; int rank; int64_t a, b; bool own_slice; } rows[] = {
      {HR_F32, 0, 0, 0, false}, {HR_F32, 1, 0, 0, false},    {HR_I64, 2, 3, 5, false},   {HR_U8, 1, 1023, 0, false},
      {HR_U8, 1, 1024, 0, false}, {HR_U8, 1, 1025, 0, true}, {HR_F32, 2, 70, 80, true}, {HR_BOOL, 1, 5, 0, false},
      {HR_STRING, 1, 2, 0, false}, {HR_STRING, 0, 0, 0, false}};
  hr_tensor_t none = counted(HR_F32, 1, 0, 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_tensor_t t = counted(rows[i].dtype, rows[i].rank, rows[i].a, rows[i].b);
    check_answered(&t, false, &t, rows[i].own_slice);
    check_answered(&t, true, &none, false);
    hr_tensor_release(&t);
  }
  static const size_t sizes[] = {2, 130, 0};
  hr_tensor_t t = texts(3, sizes), nothing = {0};
  check_answered(&t, false, &t, false);
  check_answered(NULL, false, &none, false);
  check_answered(NULL, true, &none, false);
  check_answered(&nothing, false, &none, false);
  hr_tensor_release(&t);
  hr_tensor_release(&none);
  static float numbers[300];
  t = (hr_tensor_t){.data = numbers, .count = 300, .dtype = HR_F32, .shape = hr_shape_vector(300)}; /* nobody's memory: copied */
  check_answered(&t, false, &t, false);
}

HR_TEST(answers_as_others_may_write_them) {
#define ONE "\x0a\x0a\x08\x03\x12\x00\x22\x04\x01\x00\x00\x00" /* int32 1 */
#define TWO "\x0a\x0a\x08\x03\x12\x00\x22\x04\x02\x00\x00\x00"
  static const struct { hr_str_t bytes; int value; bool is_dead, ack; hr_code_t code; const char* says; } rows[] = {
      {{ONE, 12}, 1, false, false, HR_OK, ""},
      {{ONE TWO, 24}, 2, false, false, HR_OK, ""},
      {{"\x10\x01" ONE, 14}, 1, true, false, HR_OK, ""},
      {{"\x10\x01" ONE "\x10\x00", 16}, 1, false, false, HR_OK, ""},
      {{"\x28\x01" ONE, 14}, 1, false, true, HR_OK, ""},
      {{"\x28\x02\x28\x00" ONE, 16}, 1, false, false, HR_OK, ""},
      {{"\x28\x02" ONE "\x20\x01\x32\x00\x10\x02", 20}, 1, true, true, HR_OK, ""},
      {{"\x10\x01", 2}, 0, true, false, HR_OK, ""},
      {{"", 0}, 0, false, false, HR_INTERNAL, "an answer of RecvTensor without a tensor"},
      {{"\x10\x00\x18\x01", 4}, 0, false, false, HR_INTERNAL, "an answer of RecvTensor without a tensor"},
      {{ONE "\x0a\x02\x08\x63", 16}, 0, false, false, HR_INVALID_ARGUMENT, ""},
      {{ONE "\x0a", 13}, 0, false, false, HR_INVALID_ARGUMENT, "message ends within a field"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (size_t cut = 0; cut <= rows[i].bytes.size; ++cut) {
      hr_tensor_t t;
      bool is_dead = true, ack = true;
      hr_message_t m = cut_message(rows[i].bytes, &cut, 1);
      hr_status_t status = hr_recv_tensor_read_answer(&m, &t, &is_dead, &ack);
      if (rows[i].code) HR_CHECK_CODE(status, rows[i].code, rows[i].says);
      else if (HR_CHECK_OK(status)) HR_CHECK(is_dead == rows[i].is_dead && ack == rows[i].ack);
      HR_CHECK_EQ_I64(t.buffer ? *(int32_t*)t.data : 0, rows[i].value);
      hr_tensor_release(&t);
      hr_message_deinit(&m);
    }
  }
}
HR_TEST_MAIN()
