# SPDX-License-Identifier: Apache-2.0
# The shared objects: libheadrace.so; libheadrace_dnn.so, loaded when the first kernel wants oneDNN, and libheadrace_grpc.so,
# when the first server or remote session does; TensorFlow's two names.
set(HR_LIB_DIR ${PROJECT_BINARY_DIR}/lib)
set(HR_VERSION_SCRIPT ${PROJECT_SOURCE_DIR}/src/capi/exports.map)

add_library(headrace SHARED ${HR_OBJECTS} $<TARGET_OBJECTS:headrace_manifest>)
set_target_properties(headrace PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION 0
  LIBRARY_OUTPUT_DIRECTORY ${HR_LIB_DIR})
target_link_libraries(headrace PRIVATE headrace_flags headrace_deps)
target_include_directories(headrace INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(HEADRACE_MUTANTS)
  target_link_libraries(headrace PUBLIC $<BUILD_INTERFACE:headrace_core>)
else()
  target_link_options(headrace PRIVATE ${HR_NO_UNDEFINED} -Wl,-Bsymbolic-functions -Wl,--as-needed)
endif()
if(EXISTS ${HR_VERSION_SCRIPT} AND NOT HEADRACE_MUTANTS)
  target_link_options(headrace PRIVATE -Wl,--version-script=${HR_VERSION_SCRIPT})
  set_target_properties(headrace PROPERTIES LINK_DEPENDS ${HR_VERSION_SCRIPT})
endif()
add_library(headrace::headrace ALIAS headrace)

# hr_part(name "libraries" sources...): a shared object beside libheadrace.so that it opens on first use.
function(hr_part name libraries)
  add_library(${name} SHARED ${ARGN} ${HR_TRACE})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HR_LIB_DIR} INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN")
  target_link_libraries(${name} PRIVATE headrace_flags headrace_traced ${libraries})
  target_link_options(${name} PRIVATE ${HR_NO_UNDEFINED} -Wl,-Bsymbolic-functions -Wl,--as-needed)
  set_property(GLOBAL APPEND PROPERTY HR_PARTS ${name})
endfunction()

if(HEADRACE_DNN)
  file(GLOB HR_DNN_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/dnn/onednn*.c)
  if(HR_DNN_SOURCES)
    hr_find(DNNL dnnl dnnl.h libdnnl-dev)
    hr_part(headrace_dnn "headrace;${DNNL_LIBRARY}" ${HR_DNN_SOURCES})
    target_include_directories(headrace_dnn SYSTEM PRIVATE ${DNNL_INCLUDE})
  endif()
endif()

if(HEADRACE_GRPC)
  file(GLOB HR_GRPC_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/dist/transport_grpc*.c)
  hr_find(GRPC grpc grpc/grpc.h libgrpc-dev)
  find_library(GPR_LIBRARY gpr)
  hr_part(headrace_grpc "${GRPC_LIBRARY};${GPR_LIBRARY};Threads::Threads" ${HR_GRPC_SOURCES})
  target_include_directories(headrace_grpc SYSTEM PRIVATE ${GRPC_INCLUDE})
endif()

# libtensorflow.so.2 and libtensorflow_framework.so.2: TensorFlow's names; the loader puts libheadrace.so before them (src/capi/shim.c).
foreach(shim tensorflow tensorflow_framework)
  file(GLOB HR_SHIM_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/capi/shim*.c)
  if(HR_SHIM_SOURCES)
    add_library(${shim} SHARED ${HR_SHIM_SOURCES})
    set_target_properties(${shim} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HR_LIB_DIR} VERSION 2 SOVERSION 2
      INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN" LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/capi/shim.map)
    target_link_libraries(${shim} PRIVATE headrace_flags)
    target_link_options(${shim} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/capi/shim.map -Wl,--auxiliary=libheadrace.so.0
      $<$<BOOL:${HEADRACE_MUTANTS}>:-Wl,--auxiliary=libheadrace_core.so>)
    add_dependencies(${shim} headrace)
    set_property(GLOBAL APPEND PROPERTY HR_SHIMS ${shim})
  endif()
endforeach()

# The command: bin/headrace on the public headers.
option(HEADRACE_COMMAND "build the headrace command (needs jansson)" ON)
if(HEADRACE_COMMAND)
  file(GLOB HR_CLI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
  hr_find(JANSSON jansson jansson.h libjansson-dev)
  if(HEADRACE_MUTANTS) # its main is in a library, as what may be changed is
    add_library(headrace_cli SHARED ${HR_CLI_SOURCES} ${HR_TRACE})
    set_target_properties(headrace_cli PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HR_LIB_DIR})
    target_include_directories(headrace_cli SYSTEM PRIVATE ${JANSSON_INCLUDE})
    target_link_libraries(headrace_cli PRIVATE headrace_flags headrace_traced headrace ${JANSSON_LIBRARY})
    add_executable(headrace_command ${HR_TRACE})
    set_target_properties(headrace_command PROPERTIES LINKER_LANGUAGE C)
    target_link_libraries(headrace_command PRIVATE headrace_cli)
  else()
    add_executable(headrace_command ${HR_CLI_SOURCES})
  endif()
  set_target_properties(headrace_command PROPERTIES OUTPUT_NAME headrace RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    BUILD_RPATH ${HR_LIB_DIR} INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
  target_include_directories(headrace_command SYSTEM PRIVATE ${JANSSON_INCLUDE})
  target_link_libraries(headrace_command PRIVATE headrace_flags headrace ${JANSSON_LIBRARY} Threads::Threads)
endif()
