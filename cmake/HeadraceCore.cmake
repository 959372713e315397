# SPDX-License-Identifier: Apache-2.0
# The objects of libheadrace.so: target headrace_objects; headrace_core is the same objects as an archive, for unit tests.
set(HR_CORE_FOLDERS base tensor wire io rt op ops dnn graph exec session dist capi client)
set(HR_SOURCES)
foreach(folder IN LISTS HR_CORE_FOLDERS)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
  list(APPEND HR_SOURCES ${found})
endforeach()
set(HR_VEC_SOURCES ${HR_SOURCES})
list(FILTER HR_VEC_SOURCES INCLUDE REGEX "\\.vec\\.c$")
list(FILTER HR_SOURCES EXCLUDE REGEX "\\.vec\\.c$")
list(FILTER HR_SOURCES EXCLUDE REGEX "/src/dnn/onednn[^/]*\\.c$")  # libheadrace_dnn.so
list(FILTER HR_SOURCES EXCLUDE REGEX "/src/dist/transport_grpc[^/]*\\.c$") # libheadrace_grpc.so
list(FILTER HR_SOURCES EXCLUDE REGEX "/src/capi/shim[^/]*\\.c$")   # libtensorflow*.so.2
if(HEADRACE_POOL STREQUAL "team") # twins of one contract, base/pool.h
  list(FILTER HR_SOURCES EXCLUDE REGEX "/src/base/pool_pthread\\.c$")
else()
  list(FILTER HR_SOURCES EXCLUDE REGEX "/src/base/pool\\.c$")
endif()

add_library(headrace_objects OBJECT ${HR_SOURCES})
target_link_libraries(headrace_objects PRIVATE headrace_flags headrace_deps headrace_traced)
target_compile_definitions(headrace_objects PRIVATE HEADRACE_VERSION="${PROJECT_VERSION}")
add_dependencies(headrace_objects headrace_protos)
set(HR_OBJECTS $<TARGET_OBJECTS:headrace_objects>)
# The manifest installs itself when loaded; nothing refers to it, so an archive would lose it: programs name its objects.
file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/manifest/*.c)
add_library(headrace_manifest OBJECT ${found})
target_link_libraries(headrace_manifest PRIVATE headrace_flags)
if(TARGET headrace_proto)
  list(APPEND HR_OBJECTS $<TARGET_OBJECTS:headrace_proto>)
endif()
# Integer sums and products wrap, by TensorFlow's example; the rows of reduce.def are written once for all types.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/ops/reduce/reduce.vec.c PROPERTIES COMPILE_OPTIONS -fwrapv)
if(HR_VEC_SOURCES)
  foreach(isa sse2 avx2 avx512)
    add_library(headrace_vec_${isa} OBJECT ${HR_VEC_SOURCES})
    target_link_libraries(headrace_vec_${isa} PRIVATE headrace_flags headrace_deps headrace_traced)
    target_compile_definitions(headrace_vec_${isa} PRIVATE HR_ISA_SUFFIX=${isa})
    target_compile_options(headrace_vec_${isa} PRIVATE ${HEADRACE_ISA_${isa}} $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
    list(APPEND HR_OBJECTS $<TARGET_OBJECTS:headrace_vec_${isa}>)
  endforeach()
endif()

if(HEADRACE_MUTANTS)
  add_library(headrace_core SHARED ${HR_OBJECTS} ${HR_TRACE} ${PROJECT_SOURCE_DIR}/tools/mutation/no_manifest.c)
  set_target_properties(headrace_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(HR_OBJECTS "") # of libheadrace.so: only the manifest
else()
  add_library(headrace_core STATIC EXCLUDE_FROM_ALL ${HR_OBJECTS})
endif()
set_target_properties(headrace_core PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(headrace_core PUBLIC headrace_flags headrace_deps)

add_executable(ops_matrix EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tools/ops_matrix.c $<TARGET_OBJECTS:headrace_manifest>)
target_link_libraries(ops_matrix PRIVATE headrace_core)
