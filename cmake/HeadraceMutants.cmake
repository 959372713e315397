# SPDX-License-Identifier: Apache-2.0
# The build of tools/mutants.py: the objects are one shared library, libheadrace_core.so, that libheadrace.so and all test programs use, so
# that a changed file costs one compilation and one link; everything of src/ tells which blocks of it ran (tools/mutation/trace.c).
# target headrace_traced: how what is measured is compiled; HR_TRACE: an object that each linked file with measured code holds.
add_library(headrace_traced INTERFACE)
set(HR_TRACE "")
if(HEADRACE_MUTANTS)
  add_library(headrace_trace OBJECT ${PROJECT_SOURCE_DIR}/tools/mutation/trace.c)
  target_link_libraries(headrace_trace PRIVATE headrace_flags)
  target_compile_options(headrace_traced INTERFACE -fsanitize-coverage=trace-pc)
  set(HR_TRACE $<TARGET_OBJECTS:headrace_trace>)
  set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
  add_link_options(-Wl,--enable-new-dtags -Wl,--no-as-needed) # LD_LIBRARY_PATH comes first; a program needs the manifest unasked
endif()
