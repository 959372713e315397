/* SPDX-License-Identifier: Apache-2.0 */
/* PNG files in memory. libpng leaves by longjmp: every function between setjmp and the jump keeps what it owns in the codec struct. */
#include "ops/image/png_codec.h"
#include <png.h>
#include <zlib.h>
#include "base/alloc.h"

typedef struct {
  png_structp png;
  png_infop info;
  hr_str_t in;            /* what has not been read */
  hr_strbuf_t* out;
  png_bytep* rows;
  hr_png_size_t size;
  bool widen;             /* 8 bits in the file, 16 wanted */
  char why[96];
} codec_t;

/* --- libpng's callbacks ------------------------------------------------------------------------------------------------------------- */
static void codec_fail(png_structp png, png_const_charp message) {
  codec_t* c = png_get_error_ptr(png);
  strncpy(c->why, message, sizeof c->why - 1);
  png_longjmp(png, 1);
}
static void codec_ignore(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void codec_read(png_structp png, png_bytep to, size_t n) {
  codec_t* c = png_get_io_ptr(png);
  if (n > c->in.size) png_error(png, "the file is too short");
  memcpy(to, c->in.data, n);
  c->in = hr_str_slice(c->in, n, c->in.size);
}

static void codec_write(png_structp png, png_bytep from, size_t n) {
  codec_t* c = png_get_io_ptr(png);
  hr_strbuf_add(c->out, from, n);
}
static void codec_flush(png_structp png) { (void)png; }

/* --- decoding ----------------------------------------------------------------------------------------------------------------------- */
static void want_channels(codec_t* c, int channels) {
  const int type = png_get_color_type(c->png, c->info), depth = png_get_bit_depth(c->png, c->info);
  const bool grey = !(type & PNG_COLOR_MASK_COLOR), transparent = png_get_valid(c->png, c->info, PNG_INFO_tRNS) != 0;
  const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
  if (channels == 0) channels = type == PNG_COLOR_TYPE_PALETTE ? (transparent ? 4 : 3) : png_get_channels(c->png, c->info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(c->png);
  if (channels % 2 != 0) png_set_strip_alpha(c->png);
  else if (transparent) png_set_tRNS_to_alpha(c->png);
  else if (!alpha) png_set_add_alpha(c->png, depth > 8 ? 0xffff : 0xff, PNG_FILLER_AFTER);
  if (grey && depth < 8) png_set_expand_gray_1_2_4_to_8(c->png);
  if (channels < 3 && !grey) png_set_rgb_to_gray(c->png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  if (channels >= 3 && grey) png_set_gray_to_rgb(c->png);
  c->size.channels = channels;
}

/* Row bytes as libpng will write them, and whether a file this long can hold so many pixels: deflate makes at most 1032 bytes of one. */
static void check_size(codec_t* c, size_t file_size) {
  const uint64_t row = png_get_rowbytes(c->png, c->info),
                 wanted = (uint64_t)c->size.width * (unsigned)c->size.channels * (c->widen ? 1 : (unsigned)c->size.bits / 8);
  if (row != wanted) png_error(c->png, "its pixels have an unusual form");
  if ((uint64_t)c->size.height * (uint64_t)c->size.width / 8 > (uint64_t)file_size * 1100 + 4096)
    png_error(c->png, "the file is too short for its size");
}

static bool decode_header(codec_t* c, int channels, int bits, size_t file_size) {
  if (setjmp(png_jmpbuf(c->png))) return false;
  png_set_user_limits(c->png, 1 << 20, 1 << 20);
  png_set_chunk_malloc_max(c->png, 8 << 20);
  png_set_keep_unknown_chunks(c->png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
  png_set_read_fn(c->png, c, codec_read);
  png_read_info(c->png, c->info);
  c->size.width = png_get_image_width(c->png, c->info);
  c->size.height = png_get_image_height(c->png, c->info);
  c->size.bits = bits;
  const int depth = png_get_bit_depth(c->png, c->info);
  c->widen = depth <= 8 && bits == 16;
  want_channels(c, channels);
  if (depth == 16 && bits == 8) png_set_strip_16(c->png);
  if (depth == 16 && bits == 16) png_set_swap(c->png);
  png_set_packing(c->png);
  png_set_interlace_handling(c->png);
  png_read_update_info(c->png, c->info);
  check_size(c, file_size);
  return true;
}

static bool decode_pixels(codec_t* c) {
  if (setjmp(png_jmpbuf(c->png))) return false;
  png_read_image(c->png, c->rows);
  png_read_end(c->png, NULL);
  return true;
}

static bool make_rows(codec_t* c, void* pixels) { /* 8-bit rows that will be widened stand at the end of their place */
  const size_t row = (size_t)c->size.width * (size_t)c->size.channels * (size_t)(c->size.bits / 8);
  c->rows = hr_alloc_array((size_t)c->size.height, sizeof *c->rows);
  for (int64_t i = 0; c->rows && i < c->size.height; ++i) c->rows[i] = (png_bytep)pixels + (size_t)i * row + (c->widen ? row / 2 : 0);
  return c->rows != NULL;
}

static void widen_rows(const codec_t* c, uint16_t* pixels) {
  const int64_t n = c->size.width * c->size.channels;
  for (int64_t i = 0; c->widen && i < c->size.height; ++i)
    for (int64_t j = 0; j < n; ++j) pixels[i * n + j] = (uint16_t)(c->rows[i][j] * 257);
}

static hr_status_t decode_error(const codec_t* c) { return HR_ERROR(INVALID_ARGUMENT, "not a whole PNG file: %s", c->why); }

hr_status_t hr_png_decode(hr_str_t file, int channels, int bits, hr_status_t (*make)(void* arg, const hr_png_size_t* size, void** out),
                          void* arg) {
  codec_t c = {.in = file};
  void* pixels = NULL;
  hr_status_t status = NULL;
  c.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &c, codec_fail, codec_ignore);
  if (c.png) c.info = png_create_info_struct(c.png);
  if (!c.info) status = hr_status_out_of_memory();
  if (!status && !decode_header(&c, channels, bits, file.size)) status = decode_error(&c);
  if (!status) status = make(arg, &c.size, &pixels);
  if (!status && !make_rows(&c, pixels)) status = hr_status_out_of_memory();
  if (!status && !decode_pixels(&c)) status = decode_error(&c);
  if (!status) widen_rows(&c, pixels);
  hr_free(c.rows);
  if (c.png) png_destroy_read_struct(&c.png, c.info ? &c.info : NULL, NULL);
  return status;
}

/* --- encoding ----------------------------------------------------------------------------------------------------------------------- */
static bool encode_all(codec_t* c, const uint8_t* pixels, int compression) {
  static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  const size_t row = (size_t)c->size.width * (size_t)c->size.channels * (size_t)(c->size.bits / 8);
  if (setjmp(png_jmpbuf(c->png))) return false;
  png_set_user_limits(c->png, 0x7fffffff, 0x7fffffff);
  png_set_write_fn(c->png, c, codec_write, codec_flush);
  png_set_compression_level(c->png, compression < 0 ? Z_DEFAULT_COMPRESSION : compression);
  png_set_compression_mem_level(c->png, MAX_MEM_LEVEL);
  png_set_IHDR(c->png, c->info, (png_uint_32)c->size.width, (png_uint_32)c->size.height, c->size.bits, types[c->size.channels],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(c->png, c->info);
  if (c->size.bits == 16) png_set_swap(c->png);
  for (int64_t i = 0; i < c->size.height; ++i) png_write_row(c->png, pixels + (size_t)i * row);
  png_write_end(c->png, NULL);
  return true;
}

hr_status_t hr_png_encode(const hr_png_size_t* size, const void* pixels, int compression, hr_strbuf_t* out) {
  codec_t c = {.out = out, .size = *size};
  hr_status_t status = NULL;
  if (size->height < 1 || size->width < 1 || size->height > INT32_MAX || size->width > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "an image of %lld by %lld pixels is no PNG", (long long)size->height, (long long)size->width);
  c.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &c, codec_fail, codec_ignore);
  if (c.png) c.info = png_create_info_struct(c.png);
  if (!c.info) status = hr_status_out_of_memory();
  if (!status && !encode_all(&c, pixels, compression)) status = HR_ERROR(INVALID_ARGUMENT, "cannot write the PNG: %s", c.why);
  if (!status && out->failed) status = hr_status_out_of_memory();
  if (c.png) png_destroy_write_struct(&c.png, c.info ? &c.info : NULL);
  return status;
}
