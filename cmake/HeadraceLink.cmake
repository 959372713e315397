# SPDX-License-Identifier: Apache-2.0
# What the libraries stand on: target headrace_deps. Each is a Debian package of tools/packages.txt.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

# hr_find(VAR library header package): both, or a message that says what to install.
function(hr_find var library header package)
  find_library(${var}_LIBRARY ${library})
  find_path(${var}_INCLUDE ${header})
  if(NOT ${var}_LIBRARY OR NOT ${var}_INCLUDE)
    message(FATAL_ERROR "${library} (${header}) is not there: install ${package}, or run 'make setup'")
  endif()
endfunction()
hr_find(SLEEF sleef sleef.h libsleef-dev)
hr_find(PROTOBUF_C protobuf-c protobuf-c/protobuf-c.h libprotobuf-c-dev)
hr_find(PCRE2 pcre2-8 pcre2.h libpcre2-dev) # the header only: the library is opened when a regular expression is met

add_library(headrace_deps INTERFACE)
target_include_directories(headrace_deps SYSTEM INTERFACE
  ${SLEEF_INCLUDE} ${PROTOBUF_C_INCLUDE} ${PCRE2_INCLUDE} ${ZLIB_INCLUDE_DIRS} ${PNG_INCLUDE_DIRS})
target_link_libraries(headrace_deps INTERFACE
  ${SLEEF_LIBRARY} ${PROTOBUF_C_LIBRARY} ZLIB::ZLIB PNG::PNG Threads::Threads m ${CMAKE_DL_LIBS})
