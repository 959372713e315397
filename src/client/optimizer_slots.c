/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: variables beside a variable, `<variable>/<optimizer>`, with zeros, ones or a constant to begin with; and Adam's powers. */
#include <stdio.h>
#include "client/optimizer.h"

const HR_Variable* hr_optimizer_find(const HR_Optimizer* o, const char* slot, const HR_Variable* v) {
  for (int64_t i = 0; i < o->slots.count; ++i) {
    const hr_optimizer_slot_t* s = o->slots.data[i];
    if (s->of.oper == (v ? v->handle.oper : NULL) && !strcmp(s->name, slot)) return &s->variable;
  }
  return NULL;
}

static void keep_slot(hr_build_t* b, HR_Optimizer* o, const char* name, const HR_Variable* of, const HR_Variable* made) {
  hr_optimizer_slot_t* s = b->status ? NULL : hr_alloc_zero(sizeof *s);
  if (b->status) return;
  if (!s) {
    hr_build_fail(b, hr_status_out_of_memory());
    return;
  }
  *s = (hr_optimizer_slot_t){*made, name, of ? of->handle : (TF_Output){NULL, -1}};
  hr_build_fail(b, hr_vec_push(&o->slots, s));
  if (b->status) hr_free(s);
}

static void make_slot(hr_build_t* b, HR_Optimizer* o, const hr_slot_fact_t* fact, const HR_Variable* v, const hr_shape_t* shape) {
  HR_Variable made;
  char initial[32];
  const hr_node_t* var = hr_capi_node(v->handle.oper);
  hr_strbuf_t below;
  hr_strbuf_init(&below);
  hr_strbuf_format(&below, o->slot_scope ? "%s/%s" : "%s%s", o->slot_scope ? o->slot_scope : "", var->name.data);
  if (below.failed) hr_build_fail(b, hr_status_out_of_memory());
  const hr_str_t name = hr_build_unique(b, hr_strbuf_view(&below).data, o->name);
  hr_strbuf_deinit(&below);
  b->beside = var;
  b->scope = name;
  snprintf(initial, sizeof initial, "Initializer/%s", fact->initial);
  const double value = *fact->number ? hr_optimizer_number(o, fact->number) : fact->value;
  hr_client_make_variable(b, name, hr_build_filled(b, initial, (hr_dtype_t)v->dtype, shape, value), v->is_resource, &made);
  keep_slot(b, o, fact->name, v, &made);
  b->scope = HR_STR("");
  b->beside = NULL;
}

void hr_optimizer_make_slots(hr_build_t* b, HR_Optimizer* o, const HR_Variable* v) {
  hr_shape_t shape;
  for (int i = 0; i < OPTIMIZER_SLOTS && o->row->slots[i].name; ++i) {
    if (hr_optimizer_find(o, o->row->slots[i].name, v)) continue;
    if (!hr_client_shape_of(b, v, &shape)) return;
    make_slot(b, o, &o->row->slots[i], v, &shape);
  }
}

static void make_power(hr_build_t* b, HR_Optimizer* o, const char* name, const char* beta, const HR_Variable* beside) {
  HR_Variable made;
  if (b->status || hr_optimizer_find(o, name, NULL)) return;
  const hr_str_t unique = hr_build_unique(b, o->scope ? o->scope : "", name);
  b->beside = hr_capi_node(beside->handle.oper);
  b->scope = unique;
  const char* initial = beside->is_resource ? "Initializer/initial_value" : "initial_value";
  const int at = hr_optimizer_hyper(o->row, beta, strlen(beta));
  hr_value_t value = o->set[at].tensor; /* when it was set as one */
  if (!value.node) value = hr_build_number(b, initial, HR_F32, hr_optimizer_number(o, beta));
  hr_client_make_variable(b, unique, value, beside->is_resource, &made);
  keep_slot(b, o, name, NULL, &made);
  b->scope = HR_STR("");
  b->beside = NULL;
}

void hr_optimizer_make_powers(hr_build_t* b, HR_Optimizer* o, const HR_Variable* beside) {
  if (o->row->sparse != COMPOSED) return;
  make_power(b, o, "beta1_power", "beta1", beside);
  make_power(b, o, "beta2_power", "beta2", beside);
}
