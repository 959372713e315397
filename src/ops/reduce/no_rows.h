/* SPDX-License-Identifier: Apache-2.0 */
/* Row macros of reduce.def that the includer did not define expand to nothing. */
#ifndef REDUCE
#define REDUCE(...)
#endif
#ifndef QUESTION
#define QUESTION(...)
#endif
#ifndef STEP
#define STEP(...)
#endif
#ifndef COMPLEX
#define COMPLEX(...)
#endif
