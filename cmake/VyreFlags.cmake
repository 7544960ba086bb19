# Compiler flags, as one interface target that everything of ours links.
#
# -ffp-contract=off: a fused multiply-add the program did not ask for changes bits (gcc contracts by default). No -march flag: the
# library runs on every machine of the architecture it is built for.
add_library(vyre-flags INTERFACE)
target_compile_definitions(vyre-flags INTERFACE _GNU_SOURCE)
target_compile_options(vyre-flags INTERFACE -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Werror=implicit-function-declaration -ffp-contract=off)
if(VYRE_WERROR)
    target_compile_options(vyre-flags INTERFACE -Werror)
endif()

if(VYRE_SANITIZE)
    # Lines are all that a report shows of what debuggers know.
    set(sanitizers -fsanitize=${VYRE_SANITIZE} -fno-omit-frame-pointer -g1)
    if(VYRE_SANITIZE MATCHES "undefined")
        list(APPEND sanitizers -fno-sanitize-recover=undefined)
    endif()
    # Compiling takes longer than the few tests of threads that run: a quarter less with -O1.
    if(VYRE_SANITIZE STREQUAL "thread")
        list(APPEND sanitizers -O1)
    endif()
    target_compile_options(vyre-flags INTERFACE ${sanitizers})
    target_link_options(vyre-flags INTERFACE ${sanitizers})
endif()

if(VYRE_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "VYRE_FUZZ needs clang (the compiler is ${CMAKE_C_COMPILER_ID}). Fix: CC=clang cmake …")
    endif()
    target_compile_options(vyre-flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Hardening, as one interface target that the libraries, the command and the compiler link; tests/build/test_hardening_slow.c checks the files.
# Executables are position independent where the compiler can link them so. Not with sanitizers, which bring their own checks.
#
# The level of _FORTIFY_SOURCE is left alone where the compiler or CFLAGS choose one, and it needs optimisation.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
add_library(vyre-hardening INTERFACE)
target_link_options(vyre-hardening INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
if(NOT VYRE_SANITIZE AND NOT VYRE_FUZZ)
    foreach(flag -fstack-protector-strong -fcf-protection=full)
        string(MAKE_C_IDENTIFIER "VYRE_HAS${flag}" variable)
        check_c_compiler_flag(${flag} ${variable})
        if(${variable})
            target_compile_options(vyre-hardening INTERFACE ${flag})
        endif()
    endforeach()
    string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
    set(CMAKE_REQUIRED_FLAGS "${CMAKE_C_FLAGS_${build_type}}")
    check_c_source_compiles("#if !defined(__OPTIMIZE__) || defined(_FORTIFY_SOURCE)\n#error\n#endif\nint main(void) { return 0; }"
        VYRE_FORTIFY_${build_type})
    unset(CMAKE_REQUIRED_FLAGS)
    if(VYRE_FORTIFY_${build_type})
        target_compile_definitions(vyre-hardening INTERFACE _FORTIFY_SOURCE=2)
    endif()
endif()
