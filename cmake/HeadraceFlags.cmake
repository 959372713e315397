# SPDX-License-Identifier: Apache-2.0
# How every file of ours is compiled: target headrace_flags (an interface target) carries it.
# The warnings, C11 and the one floating-point contract setting are the same under gcc and clang.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
# Default visibility: src/capi/exports.map alone says what leaves libheadrace.so.
set(CMAKE_C_VISIBILITY_PRESET default)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

add_library(headrace_flags INTERFACE)
target_compile_definitions(headrace_flags INTERFACE _GNU_SOURCE)
target_include_directories(headrace_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/gen)
target_compile_options(headrace_flags INTERFACE
  -ffp-contract=off -fno-math-errno -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fno-semantic-interposition)
target_compile_options(headrace_flags INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${HEADRACE_WERROR}>:-Werror>)

if(HEADRACE_SANITIZE)
  target_compile_options(headrace_flags INTERFACE
    -fsanitize=${HEADRACE_SANITIZE} -fno-omit-frame-pointer -g -O1 -fno-sanitize-recover=all)
  target_link_options(headrace_flags INTERFACE -fsanitize=${HEADRACE_SANITIZE})
  set(HEADRACE_POOL pthread) # its mutexes are what sanitizers understand best
else()
  set(HR_NO_UNDEFINED -Wl,-z,defs) # of our libraries; a sanitizer's own functions come from the program
endif()
if(HEADRACE_COVERAGE)
  target_compile_options(headrace_flags INTERFACE --coverage -O0 -g)
  target_link_options(headrace_flags INTERFACE --coverage)
endif()
if(HEADRACE_POOL STREQUAL "openmp") # its name in older build folders
  set(HEADRACE_POOL team)
endif()
if(NOT HEADRACE_POOL MATCHES "^(team|pthread)$")
  message(FATAL_ERROR "HEADRACE_POOL is '${HEADRACE_POOL}'; it can be team or pthread")
endif()

# Vector files: the same text once per instruction set. No -march=native anywhere: the choice is made at load.
set(HEADRACE_ISA_sse2 "")
set(HEADRACE_ISA_avx2 -mavx2 -mfma -mf16c)
set(HEADRACE_ISA_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
