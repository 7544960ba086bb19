# Tests, fuzz targets and benchmarks. Names follow the path: tests/base/test_number.c is the test base.number, built as
# tests/base.number; fuzz/fuzz_text.c is fuzz.text; bench/bench_parse.c is bench/parse.
#
# Labels: slow (test_*_slow.c), thread (thread in the file name), fuzz (replays of corpora).
set(VYRE_TEST_TIMEOUT 600)

set(vyre_test_definitions VYRE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" VYRE_BINARY_DIR="${CMAKE_BINARY_DIR}"
    VYRE_VECTORS_DEFAULT="${CMAKE_SOURCE_DIR}/../shared/vectors" VYRE_COMMAND="${CMAKE_BINARY_DIR}/vyre")

file(GLOB support_sources CONFIGURE_DEPENDS "tests/support/*.c")
add_library(vyre-test-support INTERFACE)
target_include_directories(vyre-test-support INTERFACE src tests)
target_compile_definitions(vyre-test-support INTERFACE ${vyre_test_definitions})
target_link_libraries(vyre-test-support INTERFACE vyre-static vyre-flags vyre-test-libraries)
if(support_sources)
    add_library(vyre-test-support-objects STATIC ${support_sources})
    target_link_libraries(vyre-test-support-objects PRIVATE vyre-test-support)
    set(support vyre-test-support-objects vyre-test-support)
else()
    set(support vyre-test-support)
endif()

function(vyre_add_program kind source name directory)
    set(target "${kind}.${name}")
    add_executable(${target} ${source} ${ARGN})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${directory}"
        BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN/../lib")
    target_link_libraries(${target} PRIVATE ${support})
endfunction()

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "tests/test_*.c")
add_custom_target(vyre-thread-tests)
foreach(source ${test_sources})
    file(RELATIVE_PATH name "${CMAKE_SOURCE_DIR}/tests" "${source}")
    string(REGEX REPLACE "test_([^/]*)\\.c$" "\\1" name "${name}")
    string(REPLACE "/" "." name "${name}")
    vyre_add_program(test ${source} ${name} tests)
    add_test(NAME ${name} COMMAND test.${name})
    set(labels "")
    if(source MATCHES "_slow\\.c$")
        list(APPEND labels slow)
    endif()
    if(source MATCHES "/test_[^/]*thread[^/]*\\.c$")
        list(APPEND labels thread)
        add_dependencies(vyre-thread-tests test.${name})
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${VYRE_TEST_TIMEOUT} LABELS "${labels}"
        WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
endforeach()

# Plug-ins for tests: tests/**/plugin_NAME.c becomes plugins/NAME.so, from the public headers alone.
file(GLOB_RECURSE plugin_sources CONFIGURE_DEPENDS "tests/plugin_*.c")
foreach(source ${plugin_sources})
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "^plugin_" "" name "${name}")
    add_library(plugin.${name} MODULE ${source})
    set_target_properties(plugin.${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME ${name} C_VISIBILITY_PRESET hidden
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins")
    target_include_directories(plugin.${name} PRIVATE include)
    target_link_libraries(plugin.${name} PRIVATE vyre-flags)
    add_dependencies(vyre-thread-tests plugin.${name})
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

file(GLOB bench_sources CONFIGURE_DEPENDS "bench/bench_*.c")
file(GLOB bench_support CONFIGURE_DEPENDS "bench/support/*.c")
foreach(source ${bench_sources})
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "^bench_" "" name "${name}")
    add_executable(bench.${name} ${source} ${bench_support})
    set_target_properties(bench.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
    target_include_directories(bench.${name} PRIVATE src bench)
    target_compile_definitions(bench.${name} PRIVATE ${vyre_test_definitions})
    target_link_libraries(bench.${name} PRIVATE vyre-static vyre-flags)
endforeach()

# The programs the examples folder shows are built too, so that none of them rots.
file(GLOB example_sources CONFIGURE_DEPENDS "examples/*.c")
foreach(source ${example_sources})
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example.${name} ${source})
    set_target_properties(example.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/examples")
    target_link_libraries(example.${name} PRIVATE vyre-static vyre-flags)
endforeach()
