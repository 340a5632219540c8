# What `make install` installs for other programs: the header, both libraries, pt2onnx.pc and the CMake package.
# Included by CMakeLists.txt. All of it can be moved: paths begin at the file that names them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(FILES ${PROJECT_SOURCE_DIR}/include/pt2onnx.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS pt2onnx_static pt2onnx_shared EXPORT pt2onnxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# --strip leaves static libraries alone: without this nine tenths of it would be debug information.
install(CODE "
  if(CMAKE_INSTALL_DO_STRIP)
    set(folder \"${CMAKE_INSTALL_LIBDIR}\")
    if(NOT IS_ABSOLUTE \"\${folder}\")
      set(folder \"\${CMAKE_INSTALL_PREFIX}/\${folder}\")
    endif()
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\$ENV{DESTDIR}\${folder}/libpt2onnx.a\")
  endif()")

# pkg-config: ${pcfiledir} is the folder that pt2onnx.pc is found in. Folders outside the prefix are named as they are.
set(PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  set(PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(PC_PREFIX "\${pcfiledir}/${up}")
  set(PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
string(STRIP "-lz -lm ${CMAKE_THREAD_LIBS_INIT}" PC_PRIVATE)   # what the static library needs; threads lie in newer C libraries
configure_file(${CMAKE_CURRENT_LIST_DIR}/pt2onnx.pc.in ${PROJECT_BINARY_DIR}/install/pt2onnx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/pt2onnx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(pt2onnx): a program that was built for 1.0 runs with any later 1.x, since options carry their size.
set(PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/pt2onnx)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/pt2onnxConfig.cmake.in ${PROJECT_BINARY_DIR}/install/pt2onnxConfig.cmake
  INSTALL_DESTINATION ${PACKAGE} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/pt2onnxConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/pt2onnxConfig.cmake ${PROJECT_BINARY_DIR}/install/pt2onnxConfigVersion.cmake DESTINATION ${PACKAGE})
install(EXPORT pt2onnxTargets NAMESPACE pt2onnx:: DESTINATION ${PACKAGE})
