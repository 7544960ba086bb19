# Tests, fuzz targets and benchmarks. Names follow the path: tests/base/test_number.c is the test base.number, built as
# tests/base.number; fuzz/fuzz_text.c is fuzz.text; bench/bench_parse.c is bench/parse.
#
# Labels: slow (test_*_slow.c), thread (thread in the file name), fuzz (replays of corpora).
set(VYRE_TEST_TIMEOUT 600 CACHE STRING "seconds a test may take; more in an emulator")

set(vyre_test_definitions VYRE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" VYRE_BINARY_DIR="${CMAKE_BINARY_DIR}"
    VYRE_VECTORS_DEFAULT="${CMAKE_SOURCE_DIR}/../shared/vectors" VYRE_COMMAND="${CMAKE_BINARY_DIR}/vyre")

file(GLOB support_sources CONFIGURE_DEPENDS "tests/support/*.c")
add_library(vyre-test-support INTERFACE)
target_include_directories(vyre-test-support INTERFACE src tests)
target_compile_definitions(vyre-test-support INTERFACE ${vyre_test_definitions})
target_link_libraries(vyre-test-support INTERFACE vyre-generate vyre-static vyre-flags vyre-test-libraries)
if(support_sources)
    add_library(vyre-test-support-objects STATIC ${support_sources})
    target_link_libraries(vyre-test-support-objects PRIVATE vyre-test-support)
    set(support vyre-test-support-objects vyre-test-support)
else()
    set(support vyre-test-support)
endif()

# A test is compiled more often than it is run: what it calls is optimised, it itself hardly. Under sanitizers clang takes as long for a test as for the room that it
# tests; those that compute little are not optimised at all.
set(vyre_computing_tests "/tests/opt/test_algebraic_rules\\.c$")
set(vyre_light_tests "/tests/(backends|build|builder|campaign|compile|compilers|driver|emit|examples|targets|text|tool|analysis|opt|lower|split|validate|wire)/")
function(vyre_set_test_options target source)
    if(VYRE_SANITIZE AND source MATCHES "${vyre_light_tests}" AND NOT source MATCHES "${vyre_computing_tests}")
        target_compile_options(${target} PRIVATE -O0 -g1)
    else()
        target_compile_options(${target} PRIVATE -O1 -g1)
    endif()
endfunction()

# Those that take long start first, so that no core waits for a last one: a fresh build has no times to go by.
set(vyre_long_tests "(_slow|/tests/compilers/.*|/tests/backends/cpu/test_(conform_.*|thread_stack)|/test_fault_plugin|/test_thread_deadline|/test_watch_writers|/tests/hostile/.*|/tests/opt/test_library|/tests/lower/test_stack|/tests/lib/test_sort|/tests/text/test_limits|/test_docs|/test_doctor|/test_tool|/test_bind|/test_cache_processes)\\.c$")

# Hundreds of programs, some with LLVM inside: a faster linker is felt. A cross compiler does not find it.
if(NOT CMAKE_CROSSCOMPILING)
    find_program(VYRE_LLD ld.lld)
endif()
mark_as_advanced(VYRE_LLD)

function(vyre_add_program kind source name directory)
    set(target "${kind}.${name}")
    add_executable(${target} ${source} ${ARGN})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${directory}"
        BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN/../lib")
    target_link_libraries(${target} PRIVATE ${support} vyre-build-tree)
    if(VYRE_LLD)
        target_link_options(${target} PRIVATE -fuse-ld=lld)
    endif()
endfunction()

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "tests/test_*.c")
add_custom_target(vyre-thread-tests)
if(NOT TARGET vyre-compiler-parts)
    list(FILTER test_sources EXCLUDE REGEX "/tests/compilers/")
endif()
foreach(source ${test_sources})
    file(RELATIVE_PATH name "${CMAKE_SOURCE_DIR}/tests" "${source}")
    string(REGEX REPLACE "test_([^/]*)\\.c$" "\\1" name "${name}")
    string(REPLACE "/" "." name "${name}")
    vyre_add_program(test ${source} ${name} tests)
    vyre_set_test_options(test.${name} ${source})
    if(source MATCHES "/tests/compilers/")
        target_link_libraries(test.${name} PRIVATE vyre-compiler-parts)
        target_link_options(test.${name} PRIVATE -Wl,--gc-sections)
    endif()
    if(source MATCHES "/tests/(backends/cpu/|compilers/|driver/|tool/|lib/test_math_f64)" AND TARGET vyre-compiler-llvm)
        add_dependencies(test.${name} vyre-compiler-llvm vyre-test-servers)
    endif()
    if(name STREQUAL "compile.validations")
        target_link_options(test.${name} PRIVATE -Wl,--wrap=vy_validate -Wl,--wrap=vy_validate_declarations)
    endif()
    add_test(NAME ${name} COMMAND test.${name})
    set(labels "")
    if(source MATCHES "_slow\\.c$")
        list(APPEND labels slow)
    endif()
    if(source MATCHES "/test_[^/]*thread[^/]*\\.c$")
        list(APPEND labels thread)
        add_dependencies(vyre-thread-tests test.${name})
    endif()
    # A compile that falls back to fewer lanes would hide that LLVM failed with more.
    set(environment VYRE_COMPILER_FALLBACK=0)
    # LeakSanitizer sees the caller of an allocation of PoCL, but not its callers, because they have no frame pointers. In these tests only PoCL calls libstdc++.
    if(source MATCHES "/opencl/")
        list(APPEND environment "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/opencl_leaks.txt:print_suppressions=0")
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${VYRE_TEST_TIMEOUT} LABELS "${labels}"
        WORKING_DIRECTORY "${CMAKE_BINARY_DIR}" ENVIRONMENT "${environment}")
    if(source MATCHES "${vyre_long_tests}")
        set_tests_properties(${name} PROPERTIES COST 10)
    endif()
endforeach()

# The calls of driver.null, made from the public headers as the preprocessor gives them.
find_program(VYRE_AWK awk REQUIRED)
mark_as_advanced(VYRE_AWK)
file(GLOB public_headers CONFIGURE_DEPENDS "include/vyre/*.h")
set(null_calls "${CMAKE_BINARY_DIR}/generated/null_calls.inc")
set(null_sources "${CMAKE_SOURCE_DIR}/tools/null-calls.awk" "${CMAKE_SOURCE_DIR}/tests/driver/null_values.def")
add_custom_command(OUTPUT "${null_calls}"
    COMMAND "${CMAKE_C_COMPILER}" -E -I "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}/include/vyre/vyre.h"
        -o "${null_calls}.i"
    COMMAND "${VYRE_AWK}" -f ${null_sources} "${null_calls}.i" > "${null_calls}"
    DEPENDS ${public_headers} ${null_sources} COMMENT "Generating the calls of driver.null" VERBATIM)
target_sources(test.driver.null PRIVATE "${null_calls}")
target_include_directories(test.driver.null PRIVATE "${CMAKE_BINARY_DIR}/generated")

# Plug-ins for tests: tests/**/plugin_NAME.c becomes plugins/NAME.so, from the public headers alone; so does examples/plugin/NAME.c.
file(GLOB_RECURSE plugin_sources CONFIGURE_DEPENDS "tests/plugin_*.c")
file(GLOB example_plugin_sources CONFIGURE_DEPENDS "examples/plugin/*.c")
foreach(source ${plugin_sources} ${example_plugin_sources})
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "^plugin_" "" name "${name}")
    add_library(plugin.${name} MODULE ${source})
    set_target_properties(plugin.${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME ${name} C_VISIBILITY_PRESET hidden
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins")
    target_include_directories(plugin.${name} PRIVATE include)
    target_link_libraries(plugin.${name} PRIVATE vyre-flags)
    add_dependencies(vyre-thread-tests plugin.${name})
endforeach()

# Compile servers for tests: tests/**/server_NAME.c becomes libexec/NAME.
file(GLOB_RECURSE server_sources CONFIGURE_DEPENDS "tests/server_*.c")
add_custom_target(vyre-test-servers)
foreach(source ${server_sources})
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "^server_" "" name "${name}")
    add_executable(server.${name} ${source})
    set_target_properties(server.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/libexec")
    target_include_directories(server.${name} PRIVATE src include)
    target_link_libraries(server.${name} PRIVATE vyre-flags)
    add_dependencies(vyre-test-servers server.${name})
endforeach()

file(GLOB fuzz_sources CONFIGURE_DEPENDS "fuzz/fuzz_*.c")
foreach(source ${fuzz_sources})
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name "${name}")
    if(VYRE_FUZZ)
        vyre_add_program(fuzz ${source} ${name} fuzz)
        target_link_options(fuzz.${name} PRIVATE -fsanitize=fuzzer)
    else()
        vyre_add_program(fuzz ${source} ${name} fuzz fuzz/replay.c)
        add_test(NAME fuzz.${name} COMMAND fuzz.${name} "${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}")
        set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT ${VYRE_TEST_TIMEOUT} LABELS fuzz)
    endif()
    # LLVMFuzzerTestOneInput is called by name; no header declares it.
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-missing-prototypes)
endforeach()

# With sanitizers nobody runs them, so they are built only if asked for.
file(GLOB bench_sources CONFIGURE_DEPENDS "bench/bench_*.c")
file(GLOB bench_support CONFIGURE_DEPENDS "bench/support/*.c")
foreach(source ${bench_sources})
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "^bench_" "" name "${name}")
    add_executable(bench.${name} ${source} ${bench_support})
    set_target_properties(bench.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
    if(VYRE_SANITIZE)
        set_target_properties(bench.${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    target_include_directories(bench.${name} PRIVATE src bench)
    target_compile_definitions(bench.${name} PRIVATE ${vyre_test_definitions})
    target_link_libraries(bench.${name} PRIVATE vyre-generate vyre-static vyre-build-tree vyre-flags)
endforeach()
# MPFR judges, and libsodium makes the digest.
target_include_directories(bench.math_accuracy PRIVATE tests)
target_link_libraries(bench.math_accuracy PRIVATE vyre-test-libraries vyre-sodium)
target_include_directories(bench.math_f64 PRIVATE tests)
target_link_libraries(bench.math_f64 PRIVATE vyre-test-libraries)
target_link_libraries(bench.math_speed PRIVATE m)

include(VyreSuite)

# The programs the examples folder shows are built too, so that none of them rots.
file(GLOB example_sources CONFIGURE_DEPENDS "examples/*.c" "examples/hotswap/*.c")
foreach(source ${example_sources})
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example.${name} ${source})
    set_target_properties(example.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/examples")
    target_link_libraries(example.${name} PRIVATE vyre-static vyre-build-tree vyre-flags)
endforeach()
if(TARGET example.hotswap AND TARGET test.dialect.hotswap)
    add_dependencies(test.dialect.hotswap example.hotswap)
endif()
