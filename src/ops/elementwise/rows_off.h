/* SPDX-License-Identifier: Apache-2.0 */
/* Takes back the row macros; each .def ends with it. */
#undef UNARY
#undef UNARY_AS
#undef PAIR
#undef BINARY
#undef BINARY_AS
#undef BINARY_WITH
#undef COMPARE
#undef ARITH
#undef FLOAT
#undef SCALAR
#undef NEXT
#undef INTEGER
#undef COMPLEX
