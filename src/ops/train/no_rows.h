/* SPDX-License-Identifier: Apache-2.0 */
/* Row macros of train.def that the includer did not define expand to nothing (train.def takes all of them back). */
#ifndef RULE
#define RULE(...)
#endif
#ifndef REAL_RULE
#define REAL_RULE(...)
#endif
#ifndef OPS
#define OPS(...)
#endif
#ifndef OPS_DENSE
#define OPS_DENSE(...)
#endif
#ifndef OPS_RESOURCE
#define OPS_RESOURCE(...)
#endif
#ifndef OPS_RESOURCE_DENSE
#define OPS_RESOURCE_DENSE(...)
#endif
