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
    target_compile_options(vyre-flags INTERFACE ${sanitizers})
    target_link_options(vyre-flags INTERFACE ${sanitizers})
endif()

if(VYRE_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "VYRE_FUZZ needs clang (the compiler is ${CMAKE_C_COMPILER_ID}). Fix: CC=clang cmake …")
    endif()
    target_compile_options(vyre-flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
