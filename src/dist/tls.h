/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates from files: those that HEADRACE_TLS_CERT, HEADRACE_TLS_KEY and HEADRACE_TLS_CA name are this process's, for its servers and
 * for its sessions with masters elsewhere. */
#ifndef HR_DIST_TLS_H
#define HR_DIST_TLS_H
#include "dist/transport.h"

/* Reads the files that are not ""; the texts are freed by hr_tls_deinit. */
HR_MUST_USE hr_status_t hr_tls_load(hr_str_t certificate_path, hr_str_t key_path, hr_str_t ca_path, hr_tls_t* out);
void hr_tls_deinit(hr_tls_t* tls);
/* The environment's, read once; borrowed. All empty where it names none. */
HR_MUST_USE hr_status_t hr_tls_of_environment(const hr_tls_t** out);
#endif
