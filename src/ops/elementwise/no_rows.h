/* SPDX-License-Identifier: Apache-2.0 */
/* Row macros that the includer did not define expand to nothing: define the ones you want, include this, then the .def (which takes all of
 * them back). */
#ifndef UNARY
#define UNARY(...)
#endif
#ifndef UNARY_AS
#define UNARY_AS(Name, sig, ...) UNARY(Name, __VA_ARGS__)
#endif
#ifndef PAIR
#define PAIR(...)
#endif
#ifndef BINARY
#define BINARY(...)
#endif
#ifndef BINARY_AS
#define BINARY_AS(Name, sig, ...) BINARY(Name, __VA_ARGS__)
#endif
#ifndef BINARY_WITH
#define BINARY_WITH(Name, sig, ...) BINARY(Name, __VA_ARGS__)
#endif
#ifndef COMPARE
#define COMPARE(...)
#endif
#ifndef ARITH
#define ARITH(...)
#endif
#ifndef FLOAT
#define FLOAT(...)
#endif
#ifndef SCALAR
#define SCALAR(...)
#endif
#ifndef NEXT
#define NEXT(...)
#endif
#ifndef INTEGER
#define INTEGER(...)
#endif
#ifndef COMPLEX
#define COMPLEX(...)
#endif
