/* SPDX-License-Identifier: Apache-2.0 */
/* The seam to the dense library (oneDNN): a table of functions that libheadrace_dnn.so gives, opened when the first kernel asks.
 * Absent (not installed, HEADRACE_DNN=none, or a machine it does not serve): hr_dnn() is NULL and the plain kernels serve. float32
 * row-major. That object links nothing of ours: what it needs (statuses) reaches it through hr_dnn_host_t. */
#ifndef HR_DNN_DNN_H
#define HR_DNN_DNN_H
#include <stdbool.h>
#include "base/status.h"

typedef struct hr_dnn_prim hr_dnn_prim_t; /* a compiled primitive for one geometry; immutable, concurrent use is fine */
typedef struct hr_dnn_pack hr_dnn_pack_t; /* one filter in the layout one primitive wants; immutable, holds its primitive */

typedef enum { HR_DNN_NONE, HR_DNN_RELU, HR_DNN_RELU6, HR_DNN_ELU, HR_DNN_TANH, HR_DNN_SIGMOID, HR_DNN_LEAKY_RELU } hr_dnn_act_t;
typedef enum { HR_DNN_CONV_FORWARD, HR_DNN_CONV_DATA, HR_DNN_CONV_FILTER } hr_dnn_conv_kind_t;

typedef struct {                 /* C[m,n] (+)= op(A) op(B) [+ bias[n]] [activation], `batch` times with the strides given (elements) */
  int64_t batch, m, n, k;        /* all at least 1 */
  bool transpose_a, transpose_b; /* A is stored [k,m], B is stored [n,k] */
  int64_t stride_a, stride_b, stride_c;
  bool bias; /* a vector of n added to each row */
  bool sum;  /* adds to what C holds before the activation */
  hr_dnn_act_t activation;
  float alpha; /* slope of LEAKY_RELU */
} hr_dnn_matmul_t;

typedef struct { /* NHWC or NCHW data, HWIO filter */
  hr_dnn_conv_kind_t kind;
  bool nchw;
  int64_t batch, in_c, in_h, in_w, out_c, out_h, out_w, k_h, k_w; /* all at least 1 */
  int64_t groups;                                                 /* 0 and 1: none; else the filter is [h, w, in_c / groups, out_c] */
  int64_t stride_h, stride_w, dilation_h, dilation_w;             /* dilation 1: none */
  int64_t pad_top, pad_bottom, pad_left, pad_right;
  bool bias; /* forward only; likewise below */
  bool sum;  /* adds to what dst holds before the activation (residual) */
  hr_dnn_act_t activation;
  float alpha;
} hr_dnn_conv_t;

typedef struct {
  int abi; /* HR_DNN_ABI */
  /* Primitives are cached inside by geometry: asking again is cheap. Each answer is one reference, to be released. UNIMPLEMENTED: use the
   * plain kernel. */
  hr_status_t (*matmul)(const hr_dnn_matmul_t* desc, int threads, hr_dnn_prim_t** out);
  hr_status_t (*conv)(const hr_dnn_conv_t* desc, int threads, hr_dnn_prim_t** out);
  /* matmul: a = A, b = B, bias or NULL, c = C. conv forward: a = data, b = filter, c = out; data gradient: a = d_out, b = filter, c = d_in;
   * filter gradient: a = data, b = d_out, c = d_filter. */
  hr_status_t (*run)(hr_dnn_prim_t* p, const float* a, const float* b, const float* bias, float* c, int threads);
  void (*release)(hr_dnn_prim_t* p);
  /* For filters that do not change: reorders b once. *out NULL: the primitive takes b as it lies, nothing is gained. */
  hr_status_t (*pack)(hr_dnn_prim_t* p, const float* b, int threads, hr_dnn_pack_t** out);
  hr_status_t (*run_packed)(hr_dnn_prim_t* p, const float* a, const hr_dnn_pack_t* b, const float* bias, float* c, int threads);
  bool (*pack_fits)(const hr_dnn_pack_t* pack, const hr_dnn_prim_t* p); /* the pack was made for this primitive */
  void (*unpack)(hr_dnn_pack_t* pack);                                  /* releases; accepts NULL */
} hr_dnn_t;
enum { HR_DNN_ABI = 4 };
const hr_dnn_t* hr_dnn(void);

/* What the object needs of us, and the one symbol it exports (HR_DNN_OPEN). */
typedef struct {
  int abi;
  hr_status_t (*error)(hr_code_t code, const char* file, int line, const char* format, ...) HR_PRINTF(4, 5);
  hr_status_t (*out_of_memory)(void);
  void* (*alloc)(size_t bytes, size_t alignment);
  void (*release)(void* block);
  void (*team_run)(int threads, bool optional, void (*fn)(void* arg, int member), void* arg); /* base/team.h */
  int (*team_size)(void);
  int (*team_member)(void);
  bool (*team_is_inside)(void);
  void (*team_barrier)(void);
} hr_dnn_host_t;
typedef const hr_dnn_t* (*hr_dnn_open_fn)(const hr_dnn_host_t* host); /* NULL: another abi, or no engine on this machine */
#define HR_DNN_OPEN "hr_dnn_open"
#endif
