/* SPDX-License-Identifier: Apache-2.0 */
/* A ServerDef's bytes from a cluster file:  {"ps": ["host:2222"], "worker": ["host:2223", "host:2224"]}
 * A job may also be an object of index and address; the whole may stand under "cluster", as in TF_CONFIG. */
#ifndef HR_CLI_CLUSTER_FILE_H
#define HR_CLI_CLUSTER_FILE_H
#include <stddef.h>

typedef struct {
  const char* cluster_path; /* NULL: one task alone, job "local" */
  const char* job;
  const char* host;         /* of one task alone: how others reach it; NULL: localhost */
  int task, port;           /* port 0: as the cluster says; of one task alone: any */
  int cpu_devices;          /* 0: one */
} cluster_file_t;

/* malloc'ed; NULL after having told why on standard error. */
unsigned char* hr_cluster_file_server_def(const cluster_file_t* file, size_t* out_size);
#endif
