/* SPDX-License-Identifier: Apache-2.0 */
/* The element of a TF_STRING tensor: 24 bytes that hold a short text themselves or say where a long one lies.
 *
 * The low two bits of the first byte are the form: small (up to 22 bytes inside), large (a block from malloc that the string owns),
 * offset (bytes at a distance from this struct, in the same block), view (bytes of somebody else, perhaps counted by an owner).
 * All zero is the empty string. The functions are inline: clients carry the layout. Whoever writes a string must be alone with it.
 * When malloc fails a string stays as it was, and functions that return a pointer give NULL. Little-endian machines only. */
#ifndef TENSORFLOW_C_TF_TSTRING_H_
#define TENSORFLOW_C_TF_TSTRING_H_
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_tensor.h"

#if defined(__BYTE_ORDER__) && defined(__ORDER_LITTLE_ENDIAN__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "TF_TString is laid out for little-endian machines here"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TF_TString_Type {
  TF_TSTR_SMALL = 0,
  TF_TSTR_LARGE = 1,
  TF_TSTR_OFFSET = 2,
  TF_TSTR_VIEW = 3,
  TF_TSTR_TYPE_MASK = 3
} TF_TString_Type;

/* Who keeps a view's bytes alive; unref says whether that was the last reference. */
struct TStringOwnerCApi;
typedef void (*tstring_owner_ref_t)(struct TStringOwnerCApi* self);
typedef bool (*tstring_owner_unref_t)(struct TStringOwnerCApi* self);
typedef struct TStringOwnerCApi {
  tstring_owner_ref_t ref;
  tstring_owner_unref_t unref;
  void* obj; /* the owner's own */
} TStringOwnerCApi;

typedef struct TF_TString_Large { size_t size, cap; char* ptr; } TF_TString_Large;
typedef struct TF_TString_Offset { uint32_t size, offset, count; } TF_TString_Offset;
typedef struct TF_TString_View { size_t size; const char* ptr; TStringOwnerCApi* owner_ref; } TF_TString_View;
typedef struct TF_TString_Raw { uint8_t raw[24]; } TF_TString_Raw;
typedef union TF_TString_Union {
  TF_TString_Large large;
  TF_TString_Offset offset;
  TF_TString_View view;
  TF_TString_Raw raw;
} TF_TString_Union;
enum { TF_TString_SmallCapacity = sizeof(TF_TString_Union) - 2 };
typedef struct TF_TString_Small { uint8_t size; char str[TF_TString_SmallCapacity + 1]; } TF_TString_Small;

typedef struct TF_TString {
  union {
    TF_TString_Small smll;
    TF_TString_Large large;
    TF_TString_Offset offset;
    TF_TString_View view;
    TF_TString_Raw raw;
  } u;
} TF_TString;

/* --- inline access ------------------------------------------------------------------------------------------------------------ */
static inline size_t TF_TString_ToActualSizeT(size_t word) { return word >> 2; }
static inline size_t TF_TString_ToInternalSizeT(size_t size, TF_TString_Type type) { return size << 2 | (size_t)type; }

static inline TF_TString_Type TF_TString_GetType(const TF_TString* s) { return (TF_TString_Type)(s->u.raw.raw[0] & TF_TSTR_TYPE_MASK); }

static inline size_t TF_TString_GetSize(const TF_TString* s) {
  switch (TF_TString_GetType(s)) {
    case TF_TSTR_SMALL: return s->u.smll.size >> 2;
    case TF_TSTR_OFFSET: return s->u.offset.size >> 2;
    default: return TF_TString_ToActualSizeT(s->u.large.size); /* large and view begin alike */
  }
}

/* What fits without a new block; 0 for bytes that are not the string's own. */
static inline size_t TF_TString_GetCapacity(const TF_TString* s) {
  TF_TString_Type type = TF_TString_GetType(s);
  return type == TF_TSTR_SMALL ? (size_t)TF_TString_SmallCapacity : type == TF_TSTR_LARGE ? s->u.large.cap : 0;
}

static inline const char* TF_TString_GetDataPointer(const TF_TString* s) {
  switch (TF_TString_GetType(s)) {
    case TF_TSTR_SMALL: return s->u.smll.str;
    case TF_TSTR_LARGE: return s->u.large.ptr;
    case TF_TSTR_OFFSET: return (const char*)s + s->u.offset.offset;
    default: return s->u.view.ptr;
  }
}

/* --- inline life -------------------------------------------------------------------------------------------------------------- */
static inline void TF_TString_Init(TF_TString* s) { memset(s, 0, sizeof *s); } /* raw memory becomes the empty string */

/* Frees what the string owns; it is empty afterwards. */
static inline void TF_TString_Dealloc(TF_TString* s) {
  TF_TString_Type type = TF_TString_GetType(s);
  if (type == TF_TSTR_LARGE) free(s->u.large.ptr);
  if (type == TF_TSTR_VIEW && s->u.view.owner_ref) s->u.view.owner_ref->unref(s->u.view.owner_ref);
  TF_TString_Init(s);
}

/* Room for `capacity` bytes in a block or in place, keeping the first `keep`; sets the form, not the size. False: out of memory. */
static inline bool TF_TString_HrOwn(TF_TString* s, size_t capacity, size_t keep) {
  TF_TString old = *s;
  const char* from = TF_TString_GetDataPointer(s);
  TF_TString_Type type = TF_TString_GetType(s);
  if (type == TF_TSTR_LARGE && capacity <= s->u.large.cap) return true;
  if (type == TF_TSTR_SMALL && capacity <= (size_t)TF_TString_SmallCapacity) return true;
  if (capacity >= SIZE_MAX / 4 - 16) return false;
  if (type != TF_TSTR_LARGE && capacity <= (size_t)TF_TString_SmallCapacity) {
    TF_TString fresh;
    TF_TString_Init(&fresh);
    memcpy(fresh.u.smll.str, from, keep);
    fresh.u.smll.size = (uint8_t)(keep << 2);
    *s = fresh;
  } else {
    size_t block = (capacity + 1 + 15) & ~(size_t)15;
    char* p = (char*)malloc(block);
    if (!p) return false;
    if (keep) memcpy(p, from, keep);
    p[keep] = 0;
    s->u.large.size = TF_TString_ToInternalSizeT(keep, TF_TSTR_LARGE);
    s->u.large.cap = block - 1;
    s->u.large.ptr = p;
  }
  if (type == TF_TSTR_LARGE || type == TF_TSTR_VIEW) TF_TString_Dealloc(&old);
  return true;
}

/* Another size; what is new is undefined. Returns the bytes, NULL when out of memory. */
static inline char* TF_TString_ResizeUninitialized(TF_TString* s, size_t size) {
  size_t old = TF_TString_GetSize(s);
  if (!TF_TString_HrOwn(s, size, old < size ? old : size)) return NULL;
  if (TF_TString_GetType(s) == TF_TSTR_SMALL) {
    s->u.smll.size = (uint8_t)(size << 2);
    s->u.smll.str[size] = 0;
    return s->u.smll.str;
  }
  s->u.large.size = TF_TString_ToInternalSizeT(size, TF_TSTR_LARGE);
  s->u.large.ptr[size] = 0;
  return s->u.large.ptr;
}

/* Bytes that may be written: an offset or view becomes a string of its own first. */
static inline char* TF_TString_GetMutableDataPointer(TF_TString* s) { return TF_TString_ResizeUninitialized(s, TF_TString_GetSize(s)); }

/* Another size; what is new is filled with c. */
static inline char* TF_TString_Resize(TF_TString* s, size_t size, char c) {
  size_t old = TF_TString_GetSize(s);
  char* p = TF_TString_ResizeUninitialized(s, size);
  if (p && size > old) memset(p + old, c, size - old);
  return p;
}

/* Room for `capacity` bytes, the text kept. */
static inline void TF_TString_Reserve(TF_TString* s, size_t capacity) {
  size_t size = TF_TString_GetSize(s);
  (void)TF_TString_HrOwn(s, capacity < size ? size : capacity, size);
}
static inline void TF_TString_ReserveAmortized(TF_TString* s, size_t capacity) { /* like Reserve, at least doubling */
  size_t now = TF_TString_GetCapacity(s);
  TF_TString_Reserve(s, capacity > now && capacity < 2 * now ? 2 * now : capacity);
}

/* Borrows bytes, which must outlive the string; with an owner, one reference is taken. What the string held is freed. */
static inline void TF_TString_AssignViewWithOwner(TF_TString* s, const char* src, size_t size, TStringOwnerCApi* owner) {
  if (owner) owner->ref(owner);
  TF_TString_Dealloc(s);
  s->u.view.size = TF_TString_ToInternalSizeT(size, TF_TSTR_VIEW);
  s->u.view.ptr = src;
  s->u.view.owner_ref = owner;
}
static inline void TF_TString_AssignView(TF_TString* s, const char* src, size_t size) { TF_TString_AssignViewWithOwner(s, src, size,
                                         NULL); }

/* Copies bytes in, which may be the string's own. */
static inline void TF_TString_Copy(TF_TString* s, const char* src, size_t size) {
  TF_TString fresh;
  char* p;
  TF_TString_Init(&fresh);
  p = TF_TString_ResizeUninitialized(&fresh, size);
  if (!p) return;
  if (size) memcpy(p, src, size);
  TF_TString_Dealloc(s);
  *s = fresh;
}
static inline void TF_TString_AppendN(TF_TString* s, const char* src, size_t size) {
  size_t old = TF_TString_GetSize(s);
  const char* own = TF_TString_GetDataPointer(s);
  size_t at = src >= own && src <= own + old ? (size_t)(src - own) : SIZE_MAX; /* its own text moves with it */
  char* p;
  if (!size) return;
  TF_TString_ReserveAmortized(s, old + size);
  p = TF_TString_ResizeUninitialized(s, old + size);
  if (p) memmove(p + old, at != SIZE_MAX ? p + at : src, size);
}
static inline void TF_TString_Append(TF_TString* s, const TF_TString* src) {
  TF_TString_AppendN(s, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
}
/* Views stay views (of the same bytes and owner); everything else is copied. */
static inline void TF_TString_Assign(TF_TString* dst, const TF_TString* src) {
  if (dst == src) return;
  if (TF_TString_GetType(src) == TF_TSTR_VIEW) TF_TString_AssignViewWithOwner(dst, src->u.view.ptr, TF_TString_GetSize(src),
      src->u.view.owner_ref);
  else TF_TString_Copy(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
}
/* src is empty afterwards. */
static inline void TF_TString_Move(TF_TString* dst, TF_TString* src) {
  if (dst == src) return;
  if (TF_TString_GetType(src) == TF_TSTR_OFFSET) {
    TF_TString_Copy(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
  } else {
    TF_TString_Dealloc(dst);
    *dst = *src;
  }
  TF_TString_Init(src);
}

/* --- the same as functions of the library, for languages without access to inline ones ------------------------------------------ */
TF_CAPI_EXPORT void TF_StringInit(TF_TString* t);                                            /* empty; t's old bytes are ignored */
TF_CAPI_EXPORT void TF_StringCopy(TF_TString* dst, const char* src, size_t size);            /* copies in */
TF_CAPI_EXPORT void TF_StringAssignView(TF_TString* dst, const char* src, size_t size);      /* borrows */
TF_CAPI_EXPORT const char* TF_StringGetDataPointer(const TF_TString* tstr);                  /* not NUL-terminated in general */
TF_CAPI_EXPORT TF_TString_Type TF_StringGetType(const TF_TString* str);                      /* the form */
TF_CAPI_EXPORT size_t TF_StringGetSize(const TF_TString* tstr);                              /* bytes */
TF_CAPI_EXPORT size_t TF_StringGetCapacity(const TF_TString* str);                           /* see TF_TString_GetCapacity */
TF_CAPI_EXPORT void TF_StringDealloc(TF_TString* tstr);                                      /* frees; empty afterwards */

#ifdef __cplusplus
}
#endif
#endif
