/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one golden case through the public C API in every way it must work: as it is (folding may see the inputs), with each input
 * fed in a fresh session, its gradients both ways; or, for a case of bad input, that it ends with the right code. */
#ifndef GOLDEN_CASE_RUN_H
#define GOLDEN_CASE_RUN_H
#include <stddef.h>
#include "golden/record.h"

typedef struct {
  const char* config; /* a serialized ConfigProto for every session, or NULL */
  size_t config_size;
  const char* target; /* where sessions run, or NULL: this process */
  const char* devices; /* a list that nodes get devices from (devices.h), with soft placement; NULL: they ask for none */
  int gradients; /* 0: values and errors alone */
} golden_options_t;

/* 1 if all is right; else 0, and `why` says what was expected and what came, a line for each thing that is wrong. */
int golden_case_run(const golden_case_t* c, const golden_options_t* options, char* why, size_t why_size);
#endif
