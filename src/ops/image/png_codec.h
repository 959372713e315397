/* SPDX-License-Identifier: Apache-2.0 */
/* PNG files in memory, over libpng. Bounded: sizes are checked against the file's length before memory is taken, ancillary chunks are
 * skipped. */
#ifndef HR_OPS_IMAGE_PNG_CODEC_H
#define HR_OPS_IMAGE_PNG_CODEC_H
#include "base/str.h"

typedef struct { int64_t height, width; int channels; int bits; } hr_png_size_t; /* bits: 8 or 16, in the machine's byte order */

/* Decodes to `bits` and to `channels` channels (0: as the file has them: 1 grey, 2 grey and alpha, 3 colours, 4 colours and alpha). `make`
 * gives the place for the pixels once the size is known. INVALID_ARGUMENT for anything that is not a whole PNG file. */
HR_MUST_USE hr_status_t hr_png_decode(hr_str_t file, int channels, int bits,
                                      hr_status_t (*make)(void* arg, const hr_png_size_t* size, void** out), void* arg);
/* compression: 0 to 9, or -1 for zlib's own choice. Appends the file. */
HR_MUST_USE hr_status_t hr_png_encode(const hr_png_size_t* size, const void* pixels, int compression, hr_strbuf_t* out);
#endif
