/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of this build, from ops.def, handed to the registry when the library is loaded. An embedder trims ops.def for a smaller binary.
 */
#include "dist/remote.h"
#include "op/registry.h"
#include "session/backend.h"

#define HR_OP(Name, home) extern const hr_op_t hr_op_##Name;
#include "manifest/ops.def"
#undef HR_OP

static const hr_op_t* const manifest[] = {
#define HR_OP(Name, home) &hr_op_##Name,
#include "manifest/ops.def"
#undef HR_OP
};

/* Sessions whose master is elsewhere, by the prefix of their target. */
const hr_session_factory_t* const hr_session_factories[] = {&hr_remote_grpc, &hr_remote_inproc, NULL};

__attribute__((constructor)) static void install_manifest(void) {
  hr_registry_set_manifest(manifest, (int)(sizeof manifest / sizeof *manifest));
}
