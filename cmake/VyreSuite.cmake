# The benchmark suite: suite/suite, its shaders beside it, and the test that its versions agree.
#
# Plain C is compiled for this very processor with the flags the suite reports. A compiler without an OpenMP library (clang, mostly) builds it for one
# thread. Peers whose headers or compiler are not there are left out, and the program says so.
include(CheckCSourceCompiles)

# Without -fno-math-errno gcc leaves every loop with a square root scalar; results are the same.
set(peer_flags -O3 -march=native -ffp-contract=off -fno-math-errno)
set(CMAKE_REQUIRED_FLAGS -fopenmp)
set(CMAKE_REQUIRED_LINK_OPTIONS -fopenmp)
check_c_source_compiles("#include <omp.h>\nint main(void) { return omp_get_max_threads() == 0; }" VYRE_HAVE_OPENMP)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)

# Before anything else from vyre-flags: sanitizers would measure themselves.
file(GLOB peer_sources CONFIGURE_DEPENDS "bench/suite/peer_c/*.c")
add_library(bench.peer_c STATIC ${peer_sources})
string(REPLACE ";" " " peer_flag_text "${peer_flags}")
target_compile_definitions(bench.peer_c PRIVATE _GNU_SOURCE PEER_FLAGS="${peer_flag_text}")
target_compile_options(bench.peer_c PRIVATE -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wvla ${peer_flags}
    $<$<BOOL:${VYRE_WERROR}>:-Werror> $<IF:$<BOOL:${VYRE_HAVE_OPENMP}>,-fopenmp,-Wno-unknown-pragmas>
    # clang says so where it leaves a loop marked `simd` alone.
    $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
if(VYRE_HAVE_OPENMP)
    target_link_options(bench.peer_c INTERFACE -fopenmp)
endif()

execute_process(COMMAND git -C "${CMAKE_SOURCE_DIR}" describe --always --dirty --abbrev=12 OUTPUT_VARIABLE suite_commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT suite_commit)
    set(suite_commit unknown)
endif()
file(GLOB suite_sources CONFIGURE_DEPENDS "bench/suite/*.c" "bench/cuda/*.c")
add_executable(bench.suite ${suite_sources})
set_target_properties(bench.suite PROPERTIES OUTPUT_NAME suite RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/suite"
    BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN/../lib")
target_compile_definitions(bench.suite PRIVATE VYRE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
set_source_files_properties(bench/cuda/compiles.c bench/cuda/handover.c bench/cuda/ptx.c bench/cuda/timeline.c PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_SOURCE_DIR}/src") # the PTX that ours makes, its way to the driver
set_source_files_properties(bench/suite/main.c PROPERTIES COMPILE_DEFINITIONS VYRE_SUITE_COMMIT="${suite_commit}")
target_link_libraries(bench.suite PRIVATE bench.peer_c vyre-static vyre-build-tree vyre-flags m)

# The compiler of the backend cpu, where there is one.
if(TARGET vyre-plugins)
    add_dependencies(bench.suite vyre-plugins)
endif()

find_path(VYRE_OPENCL_HEADERS CL/cl.h)
find_path(VYRE_VULKAN_HEADERS vulkan/vulkan.h)
if(VYRE_OPENCL_HEADERS)
    set_source_files_properties(bench/suite/opencl.c PROPERTIES COMPILE_DEFINITIONS SUITE_OPENCL)
endif()
if(VYRE_VULKAN_HEADERS)
    set_source_files_properties(bench/suite/vulkan.c PROPERTIES COMPILE_DEFINITIONS SUITE_VULKAN)
endif()

find_program(GLSLANG glslangValidator)
if(GLSLANG)
    file(GLOB shaders CONFIGURE_DEPENDS "bench/suite/shaders/*.comp")
    set(compiled_shaders "")
    foreach(shader ${shaders})
        get_filename_component(name "${shader}" NAME_WE)
        set(compiled "${CMAKE_BINARY_DIR}/suite/shaders/${name}.spv")
        add_custom_command(OUTPUT "${compiled}"
            COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_BINARY_DIR}/suite/shaders"
            COMMAND "${GLSLANG}" --quiet -V --target-env vulkan1.2 -o "${compiled}" "${shader}"
            DEPENDS "${shader}" COMMENT "Shader ${name}" VERBATIM)
        list(APPEND compiled_shaders "${compiled}")
    endforeach()
    add_custom_target(bench.suite-shaders ALL DEPENDS ${compiled_shaders})
    add_dependencies(bench.suite bench.suite-shaders)
else()
    message(STATUS "benchmark suite: glslangValidator is not there, so lavapipe is left out (make bench-peers installs it)")
endif()

# CUDA C: machine code beside the program, for the first device of the driver to load. CUB comes as a library of its own. Neither is needed for anything else.
find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
if(NVCC)
    set(VYRE_CUDA_ARCHITECTURE sm_90 CACHE STRING "the device that CUDA C of the benchmark suite is compiled for")
    set(nvcc_flags -O3 -std=c++17 -arch=${VYRE_CUDA_ARCHITECTURE} -fmad=false -prec-div=true -prec-sqrt=true -ftz=false)
    set(cuda_outputs "")
    foreach(name same hand math cub)
        set(form -cubin)
        set(flags ${nvcc_flags})
        set(output "${CMAKE_BINARY_DIR}/suite/${name}.cubin")
        if(name STREQUAL cub)
            set(form -shared -cudart static -Xcompiler -fPIC -Xcompiler -static-libstdc++ -Xcompiler -static-libgcc)
            set(output "${CMAKE_BINARY_DIR}/suite/${name}.so")
        elseif(name STREQUAL math)
            set(flags -O3 -std=c++17 -arch=${VYRE_CUDA_ARCHITECTURE}) # as most people compile
        endif()
        add_custom_command(OUTPUT "${output}"
            COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_BINARY_DIR}/suite"
            COMMAND "${NVCC}" ${flags} ${form} -o "${output}" "${CMAKE_SOURCE_DIR}/bench/cuda/${name}.cu"
            DEPENDS "${CMAKE_SOURCE_DIR}/bench/cuda/${name}.cu" "${CMAKE_SOURCE_DIR}/bench/suite/kernels.cl"
                "${CMAKE_SOURCE_DIR}/bench/cuda/math_functions.h"
            COMMENT "CUDA ${name}" VERBATIM)
        list(APPEND cuda_outputs "${output}")
    endforeach()
    add_custom_target(bench.suite-cuda DEPENDS ${cuda_outputs})
else()
    add_custom_target(bench.suite-cuda COMMAND "${CMAKE_COMMAND}" -E echo "SKIP CUDA C: nvcc is not there, so it is left out")
endif()

add_test(NAME bench.suite COMMAND bench.suite --check --peers c,ours-hand)
set_tests_properties(bench.suite PROPERTIES TIMEOUT 120 WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
