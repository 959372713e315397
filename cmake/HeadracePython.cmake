# SPDX-License-Identifier: Apache-2.0
# The Python package as it is imported from the build tree and as it is installed: <build>/python/headrace holds the extension,
# links to the package's .py files, the shared objects and the message descriptors. Off unless HEADRACE_PYTHON names a python.
set(HR_PYTHON_DIR ${PROJECT_BINARY_DIR}/python/headrace)
file(GLOB HR_PYTHON_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/python/headrace/_headrace*.c ${PROJECT_SOURCE_DIR}/python/headrace/ext/*.c)
if(NOT HEADRACE_PYTHON OR NOT HR_PYTHON_SOURCES)
  return()
endif()
execute_process(COMMAND ${HEADRACE_PYTHON} -c
  "import sysconfig as s, numpy; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'), numpy.get_include(), sep=';')"
  OUTPUT_VARIABLE HR_PYTHON_FACTS OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET HR_PYTHON_FACTS 0 HR_PYTHON_INCLUDE)
list(GET HR_PYTHON_FACTS 1 HR_PYTHON_SUFFIX)
list(GET HR_PYTHON_FACTS 2 HR_NUMPY_INCLUDE)
if(NOT EXISTS ${HR_PYTHON_INCLUDE}/Python.h)
  message(FATAL_ERROR "${HEADRACE_PYTHON} has no headers (${HR_PYTHON_INCLUDE}/Python.h): install its -dev package or give another python")
endif()

add_library(headrace_python MODULE ${HR_PYTHON_SOURCES})
set_target_properties(headrace_python PROPERTIES OUTPUT_NAME _headrace PREFIX "" SUFFIX ${HR_PYTHON_SUFFIX}
  LIBRARY_OUTPUT_DIRECTORY ${HR_PYTHON_DIR} BUILD_RPATH "${HR_LIB_DIR}" INSTALL_RPATH "$ORIGIN")
target_include_directories(headrace_python SYSTEM PRIVATE ${HR_PYTHON_INCLUDE} ${HR_NUMPY_INCLUDE})
target_include_directories(headrace_python PRIVATE ${PROJECT_SOURCE_DIR}/python/headrace)
target_link_libraries(headrace_python PRIVATE headrace_flags headrace m) # the interpreter's functions come from the process

# Every file of the package that is not C appears in the build tree as a link, made anew when one is added.
file(GLOB_RECURSE HR_PYTHON_FILES CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/headrace
  ${PROJECT_SOURCE_DIR}/python/headrace/*.py ${PROJECT_SOURCE_DIR}/python/headrace/*.pyi ${PROJECT_SOURCE_DIR}/python/headrace/py.typed)
foreach(name IN LISTS HR_PYTHON_FILES)
  get_filename_component(folder ${name} DIRECTORY)
  file(MAKE_DIRECTORY ${HR_PYTHON_DIR}/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/headrace/${name} ${HR_PYTHON_DIR}/${name} SYMBOLIC)
endforeach()
# Compiled here, since an interpreter that may not write there (PYTHONDONTWRITEBYTECODE, another user) would compile them at each start.
list(TRANSFORM HR_PYTHON_FILES PREPEND ${PROJECT_SOURCE_DIR}/python/headrace/ OUTPUT_VARIABLE HR_PYTHON_PATHS)
list(FILTER HR_PYTHON_PATHS INCLUDE REGEX "\\.py$")
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/python/bytecode.stamp DEPENDS ${HR_PYTHON_PATHS}
  COMMAND ${HEADRACE_PYTHON} -m compileall -q ${HR_PYTHON_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/python/bytecode.stamp
  COMMENT "Compiling the Python package" VERBATIM)
add_custom_target(headrace_bytecode ALL DEPENDS ${PROJECT_BINARY_DIR}/python/bytecode.stamp)
if(TARGET headrace_descriptors)
  add_custom_command(TARGET headrace_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${HR_DESCRIPTORS} ${HR_PYTHON_DIR}/descriptors.pb VERBATIM)
  add_dependencies(headrace_python headrace_descriptors)
endif()

set(HR_PYTHON_DEST "." CACHE STRING "where component 'python' is installed, below the prefix")
install(TARGETS headrace_python COMPONENT python EXCLUDE_FROM_ALL LIBRARY DESTINATION ${HR_PYTHON_DEST}/headrace)
install(TARGETS headrace COMPONENT python EXCLUDE_FROM_ALL
  LIBRARY DESTINATION ${HR_PYTHON_DEST}/headrace NAMELINK_SKIP)
get_property(parts GLOBAL PROPERTY HR_PARTS)
get_property(shims GLOBAL PROPERTY HR_SHIMS) # what an op library of a user's was linked against
if(parts OR shims)
  install(TARGETS ${parts} ${shims} COMPONENT python EXCLUDE_FROM_ALL
    LIBRARY DESTINATION ${HR_PYTHON_DEST}/headrace NAMELINK_SKIP)
endif()
if(TARGET headrace_command) # python -m headrace server
  install(TARGETS headrace_command COMPONENT python EXCLUDE_FROM_ALL RUNTIME DESTINATION ${HR_PYTHON_DEST}/headrace)
  add_custom_command(TARGET headrace_command POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:headrace_command> ${HR_PYTHON_DIR}/headrace VERBATIM)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/ COMPONENT python EXCLUDE_FROM_ALL DESTINATION ${HR_PYTHON_DEST}
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
if(TARGET headrace_descriptors)
  install(FILES ${HR_DESCRIPTORS} COMPONENT python EXCLUDE_FROM_ALL DESTINATION ${HR_PYTHON_DEST}/headrace)
endif()
