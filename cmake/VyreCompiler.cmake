# The compiler of the cpu backend, from src/compilers/llvm, src/emit/llvm and the parts of libvyre they need: libexec/vyre-compiler-llvm, an
# executable that libvyre runs. With VYRE_COMPILER_IN_PROCESS it is plugins/vyre-compiler-llvm.so instead, which libvyre opens.
#
# LLVM is linked statically: a libLLVM.so takes thirty milliseconds to relocate, what is left of it here two; and a plug-in shares no state with another LLVM
# of the process, as a graphics driver brings it. libvyre itself knows nothing of LLVM. Without LLVM there is no compiler, and the cpu backend says so.
#
#   vyre-compiler-parts   the sources but for `main` and for what a plug-in exports, also for tests of the parts
#   vyre-compiler-llvm    the executable, or the plug-in
#   vyre-compiler-plugin  the plug-in in any build, if it is asked for (bench/compile)
#   vyre-plugins          what `make build` asks for
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
    message(STATUS "The compiler is not built: ${compiler_missing}")
    return()
endif()
message(STATUS "The compiler is built with LLVM from ${VYRE_LLVM_CONFIG}")

string(REGEX REPLACE "[ \n]+" ";" llvm_libraries "${llvm_libraries}")
add_library(vyre-llvm INTERFACE)
target_include_directories(vyre-llvm SYSTEM INTERFACE "${llvm_include}")
target_link_libraries(vyre-llvm INTERFACE ${llvm_libraries} -l:libstdc++.a ${VYRE_COMPILER_ZLIB} ${VYRE_ZSTD}
    Threads::Threads ${CMAKE_DL_LIBS} m)

# An archive: a test that needs no LLVM gets none.
list(FILTER compiler_sources EXCLUDE REGEX "/src/compilers/llvm/(plugin|server)\\.c$")
add_library(vyre-compiler-parts STATIC ${compiler_sources})
set_target_properties(vyre-compiler-parts PROPERTIES C_VISIBILITY_PRESET hidden)
target_include_directories(vyre-compiler-parts PRIVATE src)
target_link_libraries(vyre-compiler-parts PUBLIC vyre-static PRIVATE vyre-flags vyre-hardening PUBLIC vyre-llvm)

function(vyre_add_plugin target)
    add_library(${target} MODULE ${ARGN} src/compilers/llvm/plugin.c)
    set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME vyre-compiler-llvm C_VISIBILITY_PRESET hidden
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins" LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/compiler.map")
    target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/compiler.map")
endfunction()

if(VYRE_COMPILER_IN_PROCESS)
    vyre_add_plugin(vyre-compiler-llvm)
    install(TARGETS vyre-compiler-llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vyre)
else()
    add_executable(vyre-compiler-llvm src/compilers/llvm/server.c)
    set_target_properties(vyre-compiler-llvm PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/libexec")
    install(TARGETS vyre-compiler-llvm RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/vyre)
    vyre_add_plugin(vyre-compiler-plugin EXCLUDE_FROM_ALL)
endif()
foreach(target vyre-compiler-llvm vyre-compiler-plugin)
    if(TARGET ${target})
        target_include_directories(${target} PRIVATE src)
        target_link_options(${target} PRIVATE -static-libgcc -Wl,--gc-sections)
        target_link_libraries(${target} PRIVATE vyre-compiler-parts vyre-flags vyre-hardening)
    endif()
endforeach()
add_dependencies(vyre-plugins vyre-compiler-llvm)
