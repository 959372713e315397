# SPDX-License-Identifier: Apache-2.0
# cmake --install: libraries, public headers, headrace.pc, and the package that find_package(headrace) reads (target headrace::headrace).
include(CMakePackageConfigHelpers)
get_property(parts GLOBAL PROPERTY HR_PARTS)
get_property(shims GLOBAL PROPERTY HR_SHIMS)
install(TARGETS headrace EXPORT headraceTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(parts OR shims)
  install(TARGETS ${parts} ${shims} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET headrace_command)
  install(TARGETS headrace_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT headraceTargets NAMESPACE headrace:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
file(WRITE ${PROJECT_BINARY_DIR}/headraceConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/headraceTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH HR_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix) # the installed tree may be moved
configure_file(${PROJECT_SOURCE_DIR}/headrace.pc.in ${PROJECT_BINARY_DIR}/headrace.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/headraceConfig.cmake ${PROJECT_BINARY_DIR}/headraceConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
install(FILES ${PROJECT_BINARY_DIR}/headrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
