# SPDX-License-Identifier: Apache-2.0
# Message code from proto/*.proto: C through protoc-c (target headrace_proto) and one FileDescriptorSet for the Python package.
find_program(PROTOC_C protoc-c REQUIRED)
find_program(PROTOC protoc REQUIRED)
set(HR_PROTO_DIR ${PROJECT_SOURCE_DIR}/proto)
file(GLOB_RECURSE HR_PROTOS CONFIGURE_DEPENDS RELATIVE ${HR_PROTO_DIR} ${HR_PROTO_DIR}/*.proto)
set(HR_GEN ${PROJECT_BINARY_DIR}/gen)
file(MAKE_DIRECTORY ${HR_GEN})
set(HR_DESCRIPTORS ${HR_GEN}/descriptors.pb)
set(HR_PROTO_PATHS)
set(HR_PROTO_SOURCES)
foreach(proto IN LISTS HR_PROTOS)
  string(REGEX REPLACE "\\.proto$" "" stem ${proto})
  add_custom_command(OUTPUT ${HR_GEN}/${stem}.pb-c.c ${HR_GEN}/${stem}.pb-c.h
    COMMAND ${PROTOC_C} -I ${HR_PROTO_DIR} --c_out=${HR_GEN} ${HR_PROTO_DIR}/${proto}
    DEPENDS ${HR_PROTO_DIR}/${proto} VERBATIM)
  list(APPEND HR_PROTO_SOURCES ${HR_GEN}/${stem}.pb-c.c)
  list(APPEND HR_PROTO_HEADERS ${HR_GEN}/${stem}.pb-c.h)
  list(APPEND HR_PROTO_PATHS ${HR_PROTO_DIR}/${proto})
endforeach()
add_custom_target(headrace_protos DEPENDS ${HR_PROTO_HEADERS})
if(HR_PROTO_SOURCES)
  add_custom_command(OUTPUT ${HR_DESCRIPTORS}
    COMMAND ${PROTOC} -I ${HR_PROTO_DIR} --include_imports --descriptor_set_out=${HR_DESCRIPTORS} ${HR_PROTO_PATHS}
    DEPENDS ${HR_PROTO_PATHS} VERBATIM)
  add_library(headrace_proto OBJECT ${HR_PROTO_SOURCES})
  target_link_libraries(headrace_proto PRIVATE headrace_flags headrace_deps)
  target_compile_options(headrace_proto PRIVATE -w) # generated text
  add_custom_target(headrace_descriptors ALL DEPENDS ${HR_DESCRIPTORS})
endif()
