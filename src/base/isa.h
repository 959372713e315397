/* SPDX-License-Identifier: Apache-2.0 */
/* Which vector code runs. Vector bodies are compiled once per instruction set from the same text (files named *.vec.c; each gives
 * a table of functions); the choice is made when the library is loaded, or by HEADRACE_ISA. */
#ifndef HR_BASE_ISA_H
#define HR_BASE_ISA_H
typedef enum { HR_ISA_SSE2, HR_ISA_AVX2, HR_ISA_AVX512, HR_ISA_COUNT } hr_isa_t;
hr_isa_t hr_isa(void);                /* the one in use */
hr_isa_t hr_isa_best(void);           /* the best that this machine has */
const char* hr_isa_name(hr_isa_t isa); /* "sse2" */
void hr_isa_force(hr_isa_t isa);      /* tests: kernels prepared from now on use it (at most hr_isa_best()) */
/* Declares the tables `stem_sse2`, `stem_avx2`, `stem_avx512` of type T, and picks one: HR_ISA_TABLES(vec_t, hr_unary_vec); ...
 * HR_ISA_PICK(hr_unary_vec) */
#define HR_ISA_TABLES(T, stem) extern const T stem##_sse2, stem##_avx2, stem##_avx512
#define HR_ISA_PICK(stem) (hr_isa() == HR_ISA_AVX512 ? &stem##_avx512 : hr_isa() == HR_ISA_AVX2 ? &stem##_avx2 : &stem##_sse2)
#endif
