/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libheadrace_dnn.so: what a compiled primitive is, and the contract between the cache (onednn.c), the runs (onednn_run.c) and the
 * two files that speak oneDNN's version 2 and 3 (onednn_v2.c, onednn_v3.c; one of them is empty in any build). */
#ifndef HR_DNN_ONEDNN_H
#define HR_DNN_ONEDNN_H
#include <dnnl.h>
#include <stdatomic.h>
#include "dnn/dnn.h"

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t hr_onednn_md_t; /* a pointer, owned */
typedef const_dnnl_memory_desc_t hr_onednn_mdp_t;
#else
typedef dnnl_memory_desc_t hr_onednn_md_t; /* a struct */
typedef const dnnl_memory_desc_t* hr_onednn_mdp_t;
#endif

/* Roles of a primitive's four memories. `b` is the operand that may be wanted in another layout (filters); `out` is where oneDNN writes,
 * which differs from the caller's layout only for filter gradients. */
enum { HR_ONEDNN_A, HR_ONEDNN_B, HR_ONEDNN_BIAS, HR_ONEDNN_C, HR_ONEDNN_ROLES };

enum { HR_ONEDNN_KEY_WORDS = 26, HR_ONEDNN_SPARES = 4 };
typedef struct {
  int64_t words[HR_ONEDNN_KEY_WORDS];
} hr_onednn_key_t;

typedef struct hr_onednn_run hr_onednn_run_t; /* memories, stream and scratch of one execution; reused */

struct hr_dnn_prim {
  atomic_int refs;
  hr_onednn_key_t key;
  atomic_llong used; /* tick of the last use, for eviction */
  dnnl_primitive_t primitive;
  dnnl_primitive_t reorder;             /* b (or c) between the caller's layout and the wanted one; NULL: the same */
  bool reorder_out;                     /* the reorder is of c, after the run; else of b, before it */
  int args[HR_ONEDNN_ROLES];            /* DNNL_ARG_* of each role; 0: no such memory */
  hr_onednn_md_t user[HR_ONEDNN_ROLES]; /* the caller's layouts */
  hr_onednn_md_t wanted;                /* of the reordered operand */
  size_t wanted_bytes;
  hr_onednn_md_t scratch;
  size_t scratch_bytes;
  _Atomic(hr_onednn_run_t*) spares[HR_ONEDNN_SPARES]; /* taken and put back by exchange, so a run never waits for another */
};

struct hr_dnn_pack {
  hr_dnn_prim_t* prim; /* one reference */
  void* data;          /* wanted_bytes */
};

extern const hr_dnn_host_t* hr_onednn_host;
extern dnnl_engine_t hr_onednn_engine;
#define HR_ONEDNN_TRY(expr)                                    \
  do {                                                         \
    dnnl_status_t onednn_status_ = (expr);                     \
    if (onednn_status_ != dnnl_success) return onednn_status_; \
  } while (0)

/* Failure of oneDNN as a status: UNIMPLEMENTED stays so (the caller turns to the plain kernel). */
hr_status_t hr_onednn_status(dnnl_status_t status, const char* what);

/* Version files: fill primitive, reorder, args, layouts and sizes of a zeroed prim. On failure what was made is destroyed by
 * hr_onednn_clear. */
dnnl_status_t hr_onednn_make_matmul(const hr_dnn_matmul_t* d, hr_dnn_prim_t* p);
dnnl_status_t hr_onednn_make_conv(const hr_dnn_conv_t* d, hr_dnn_prim_t* p);
void hr_onednn_clear(hr_dnn_prim_t* p);
dnnl_status_t hr_onednn_memory(dnnl_memory_t* out, const hr_onednn_md_t* md); /* without data */

/* Layouts shared by the versions: dims and strides of the caller's operands. */
typedef struct {
  int rank;
  dnnl_dims_t dims, strides;
} hr_onednn_layout_t;
void hr_onednn_data_layout(const hr_dnn_conv_t* d, bool out, hr_onednn_layout_t* layout);
void hr_onednn_filter_layout(const hr_dnn_conv_t* d, hr_onednn_layout_t* layout);
void hr_onednn_matmul_layout(const hr_dnn_matmul_t* d, int role, hr_onednn_layout_t* layout);
typedef struct {
  dnnl_alg_kind_t kind;
  float alpha, beta;
} hr_onednn_act_t;
hr_onednn_act_t hr_onednn_activation(hr_dnn_act_t act, float alpha);

hr_status_t hr_onednn_run(hr_dnn_prim_t* p, const float* a, const float* b, const float* bias, float* c, int threads);
hr_status_t hr_onednn_run_packed(hr_dnn_prim_t* p, const float* a, const hr_dnn_pack_t* b, const float* bias, float* c, int threads);
hr_status_t hr_onednn_pack(hr_dnn_prim_t* p, const float* b, int threads, hr_dnn_pack_t** out);
void hr_onednn_drop_spares(hr_dnn_prim_t* p);
void hr_onednn_release(hr_dnn_prim_t* p);
int hr_onednn_threads_begin(int threads); /* how many threads oneDNN sees, for making and running; gives the old one back */
void hr_onednn_threads_end(int old);
#endif
