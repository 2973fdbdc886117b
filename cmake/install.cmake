# cmake --install: the program, one shared library with the facade and the C ABI, its headers, oneDNN beside it, and
# the package files for find_package(Tenon). docs/install.md.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(tenon tenon_shared PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
install(TARGETS tenon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tenon_shared EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${ONEDNN_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tenon_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon)  # loaded at the first compile
foreach(header IN ITEMS api/model.h api/c_api.h base/tensor.h base/dtype.h base/error.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/tenon/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon/${folder})
endforeach()
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TenonConfig.cmake.in ${PROJECT_BINARY_DIR}/TenonConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
