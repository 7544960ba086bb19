# What `cmake --install` places: headers, libraries, the command, pkg-config and CMake package files, man pages, completions.
if(library_sources)
    install(DIRECTORY include/vyre DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    install(TARGETS vyre-static vyre-shared-installed EXPORT vyre-targets)
    install(EXPORT vyre-targets NAMESPACE vyre:: FILE vyre-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vyre)
    configure_package_config_file(cmake/vyre-config.cmake.in vyre-config.cmake
        INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vyre)
    write_basic_package_version_file(vyre-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES "${CMAKE_BINARY_DIR}/vyre-config.cmake" "${CMAKE_BINARY_DIR}/vyre-config-version.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vyre)
    # Relative to itself, so that an installation can be placed, or moved, anywhere.
    file(RELATIVE_PATH VYRE_PC_TO_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    configure_file(cmake/vyre.pc.in vyre.pc @ONLY)
    install(FILES "${CMAKE_BINARY_DIR}/vyre.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(TARGET vyre-command-installed)
    install(TARGETS vyre-command-installed RUNTIME)
endif()
install(CODE "
    if(NOT CMAKE_INSTALL_PREFIX STREQUAL \"${CMAKE_INSTALL_PREFIX}\")
        message(WARNING \"the library goes to \${CMAKE_INSTALL_PREFIX} but looks for plug-ins in ${CMAKE_INSTALL_FULL_LIBDIR}/vyre and for its compiler in ${CMAKE_INSTALL_FULL_LIBEXECDIR}/vyre. \"
            \"Fix: make install PREFIX=\${CMAKE_INSTALL_PREFIX}, or configure with -DCMAKE_INSTALL_PREFIX=\${CMAKE_INSTALL_PREFIX}\")
    endif()")

file(GLOB manual_pages CONFIGURE_DEPENDS "docs/man/*.1")
if(manual_pages)
    install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
# tools/completion/vyre.bash, _vyre (zsh) and vyre.fish, each where its shell looks.
if(EXISTS "${CMAKE_SOURCE_DIR}/tools/completion/vyre.bash")
    install(FILES tools/completion/vyre.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vyre)
endif()
if(EXISTS "${CMAKE_SOURCE_DIR}/tools/completion/_vyre")
    install(FILES tools/completion/_vyre DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
if(EXISTS "${CMAKE_SOURCE_DIR}/tools/completion/vyre.fish")
    install(FILES tools/completion/vyre.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
