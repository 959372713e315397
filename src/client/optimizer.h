/* SPDX-License-Identifier: Apache-2.0 */
/* An optimizer between its parts: the rule's row and what was set (optimizer.c), its slots (optimizer_slots.c), the updates
 * (optimizer_apply.c), those of sparse gradients (optimizer_sparse.c). */
#ifndef HR_CLIENT_OPTIMIZER_H
#define HR_CLIENT_OPTIMIZER_H
#include "base/vec.h"
#include "client/variable.h"

enum { OPTIMIZER_HYPERS = 6, OPTIMIZER_SLOTS = 3, OPTIMIZER_INPUTS = 12 };
typedef enum { HYPER_NONE, HYPER_NODE, HYPER_REQUIRED, HYPER_NUMBER } hr_hyper_kind_t;
typedef struct { const char *name, *node; double value; hr_hyper_kind_t kind; } hr_hyper_t;
typedef struct {
  const char *name, *initial;
  double value;
  const char* number;
} hr_slot_fact_t; /* number: hyperparameter with the value, or "" */
typedef enum { ROWS, SCATTER, COMPOSED } hr_sparse_way_t;

typedef struct {
  const char *rule, *op, *inputs;
  hr_sparse_way_t sparse;
  const char *flag, *variant; /* a bool attr; the hyperparameter that chooses the rule's second row; "": none */
  hr_hyper_t hypers[OPTIMIZER_HYPERS];
  hr_slot_fact_t slots[OPTIMIZER_SLOTS];
} hr_optimizer_row_t;

typedef struct {
  HR_Variable variable;
  const char* name;     /* of the row */
  TF_Output of;         /* the variable it belongs to; oper NULL: to none */
} hr_optimizer_slot_t;

struct HR_Optimizer {
  hr_graph_t* graph;    /* one reference */
  const hr_optimizer_row_t* row;
  char* name;
  char *slot_scope, *scope; /* as HR_OptimizerSetScope got them, without the last slash; NULL: "" */
  struct { double number; hr_value_t tensor; bool is_set; } set[OPTIMIZER_HYPERS];
  HR_VEC(hr_optimizer_slot_t*) slots;
};

int hr_optimizer_hyper(const hr_optimizer_row_t* row, const char* name, size_t size); /* -1 */
double hr_optimizer_number(const HR_Optimizer* o, const char* name);                  /* as set, else the default */

/* The slot of a variable (v NULL: of none), NULL when there is none yet. */
const HR_Variable* hr_optimizer_find(const HR_Optimizer* o, const char* slot, const HR_Variable* v);
void hr_optimizer_make_slots(hr_build_t* b, HR_Optimizer* o, const HR_Variable* v);
void hr_optimizer_make_powers(hr_build_t* b, HR_Optimizer* o, const HR_Variable* beside);

/* The hyperparameters as nodes, in the order of the row; and the update's scope. */
typedef struct {
  HR_Optimizer* optimizer;
  hr_value_t hypers[OPTIMIZER_HYPERS];
  const HR_Variable* variable;
  hr_value_t grad, indices;      /* indices.node NULL: dense */
} hr_optimizer_update_t;
/* An input of the update by its word in the row, of the variable's type. */
hr_value_t hr_optimizer_hyper_value(hr_build_t* b, const hr_optimizer_update_t* u, const char* name);
/* The update op itself, dense or by rows. */
hr_node_t* hr_optimizer_update_op(hr_build_t* b, const hr_optimizer_update_t* u);
hr_node_t* hr_optimizer_update_sparse(hr_build_t* b, hr_optimizer_update_t* u);
#endif
