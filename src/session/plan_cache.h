/* SPDX-License-Identifier: Apache-2.0 */
/* From a signature to what runs it. Looking a literal signature up takes no lock: entries are immutable once published and live until
 * the session closes. Nodes never change once added, so neither does what was prepared from them, however the graph grows. */
#ifndef HR_SESSION_PLAN_CACHE_H
#define HR_SESSION_PLAN_CACHE_H
#include "session/backend.h"
#include "session/place.h"
#include "session/runner.h"
#include "session/signature.h"

typedef struct {
  hr_value_t endpoint;
  int32_t dtype;
  const hr_pshape_t* shape;   /* as inferred when this was prepared */
} hr_feed_check_t;

typedef struct {              /* one literal signature; immutable */
  hr_signature_t literal;
  void* literal_block;
  hr_feed_check_t* checks;    /* in the caller's order of feeds */
  hr_runner_t* runner;        /* shared by all orders of a normal signature; the cache owns it */
  hr_runner_binding_t* binding;
} hr_prepared_t;

typedef struct hr_prepared_table hr_prepared_table_t;
typedef struct {
  _Atomic(hr_prepared_table_t*) table;
  hr_mutex_t mu;              /* held while preparing: outermost of all locks */
  HR_VEC(hr_prepared_table_t*) tables; /* all that ever were, since readers may still look into an old one */
  HR_VEC(hr_prepared_t*) prepared;
  HR_VEC(struct hr_normal_entry { hr_signature_normal_t key; hr_runner_t* runner; }) normals;
} hr_plan_cache_t;

/* How the cache makes a runner for a normal signature. */
typedef struct {
  hr_graph_t* graph;
  const hr_session_options_t* options;
  hr_state_table_t* states;
  hr_resources_t* resources;
  hr_placing_t placing;
  hr_session_backend_t* backend; /* NULL: local runners */
} hr_plan_source_t;

void hr_plan_cache_init(hr_plan_cache_t* c);
void hr_plan_cache_deinit(hr_plan_cache_t* c);
/* NULL: not prepared yet. key->hash must be set. */
const hr_prepared_t* hr_plan_cache_find(hr_plan_cache_t* c, const hr_signature_t* key);
/* Finds or prepares; checks the signature. */
HR_MUST_USE hr_status_t hr_plan_cache_get(hr_plan_cache_t* c, const hr_plan_source_t* source, const hr_signature_t* key,
                                          const hr_prepared_t** out);
#endif
