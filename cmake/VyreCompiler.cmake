# The compiler plug-in of the cpu backend: plugins/vyre-compiler-llvm.so, from src/compilers/llvm, src/emit/llvm and the parts of libvyre they need.
#
# LLVM is linked statically: an opened libLLVM.so takes thirty milliseconds to relocate, what is left of it in the plug-in two; and no other LLVM of the
# process, as a graphics driver brings it, shares our state. libvyre itself knows nothing of LLVM. Without LLVM there is no plug-in, and the cpu backend says so.
#
#   vyre-compiler-parts  the sources but for the door, also for tests that look inside
#   vyre-plugins         what `make build` asks for
add_custom_target(vyre-plugins)
set(vyre_llvm_version 19)

function(vyre_llvm_config result)
    execute_process(COMMAND "${VYRE_LLVM_CONFIG}" ${ARGN} OUTPUT_VARIABLE output RESULT_VARIABLE code ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(code)
        set(output "")
    endif()
    set(${result} "${output}" PARENT_SCOPE)
endfunction()

file(GLOB compiler_sources CONFIGURE_DEPENDS "src/compilers/llvm/*.c" "src/emit/llvm/*.c")
set(compiler_missing "")
if(NOT VYRE_COMPILER)
    set(compiler_missing "-DVYRE_COMPILER=OFF")
else()
    find_program(VYRE_LLVM_CONFIG NAMES llvm-config-${vyre_llvm_version} llvm-config${vyre_llvm_version}
        /usr/lib/llvm-${vyre_llvm_version}/bin/llvm-config)
    find_library(VYRE_ZSTD NAMES libzstd.a zstd)
    find_library(VYRE_COMPILER_ZLIB NAMES libz.a z)
    mark_as_advanced(VYRE_LLVM_CONFIG VYRE_ZSTD VYRE_COMPILER_ZLIB)
    if(VYRE_LLVM_CONFIG)
        vyre_llvm_config(llvm_libraries --link-static --libfiles core passes analysis target nativecodegen)
        vyre_llvm_config(llvm_include --includedir)
    endif()
    if(NOT VYRE_LLVM_CONFIG OR NOT llvm_libraries)
        set(compiler_missing "LLVM ${vyre_llvm_version} is missing. Fix: run tools/setup, or install llvm-${vyre_llvm_version}-dev")
    elseif(NOT VYRE_ZSTD OR NOT VYRE_COMPILER_ZLIB)
        set(compiler_missing "libzstd or zlib, which LLVM needs, is missing. Fix: run tools/setup, or install libzstd-dev and zlib1g-dev")
    endif()
endif()
if(compiler_missing)
    message(STATUS "The compiler plug-in is not built: ${compiler_missing}")
    return()
endif()
message(STATUS "The compiler plug-in is built with LLVM from ${VYRE_LLVM_CONFIG}")

string(REGEX REPLACE "[ \n]+" ";" llvm_libraries "${llvm_libraries}")
add_library(vyre-llvm INTERFACE)
target_include_directories(vyre-llvm SYSTEM INTERFACE "${llvm_include}")
target_link_libraries(vyre-llvm INTERFACE ${llvm_libraries} -l:libstdc++.a ${VYRE_COMPILER_ZLIB} ${VYRE_ZSTD}
    Threads::Threads ${CMAKE_DL_LIBS} m)

# Everything but the door, as an archive: a test that needs no LLVM gets none.
list(FILTER compiler_sources EXCLUDE REGEX "/src/compilers/llvm/plugin\\.c$")
add_library(vyre-compiler-parts STATIC ${compiler_sources})
set_target_properties(vyre-compiler-parts PROPERTIES C_VISIBILITY_PRESET hidden)
target_include_directories(vyre-compiler-parts PRIVATE src)
target_link_libraries(vyre-compiler-parts PUBLIC vyre-static PRIVATE vyre-flags PUBLIC vyre-llvm)

add_library(vyre-compiler-llvm MODULE src/compilers/llvm/plugin.c)
set_target_properties(vyre-compiler-llvm PROPERTIES PREFIX "" SUFFIX ".so" C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins"
    LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/compiler.map")
target_link_options(vyre-compiler-llvm PRIVATE -static-libgcc -Wl,--gc-sections -Wl,--exclude-libs,ALL
    "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/compiler.map")
target_include_directories(vyre-compiler-llvm PRIVATE src)
target_link_libraries(vyre-compiler-llvm PRIVATE vyre-compiler-parts vyre-flags)
add_dependencies(vyre-plugins vyre-compiler-llvm)
install(TARGETS vyre-compiler-llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vyre)
