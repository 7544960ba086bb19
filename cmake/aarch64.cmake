# Tool chain for AArch64 on another machine: Debian's cross compiler, libraries of a folder of Debian's packages (VYRE_ARM_ROOT, as tools/arm makes it), and QEMU, which
# ctest starts the tests in.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DVYRE_ARM_ROOT=FOLDER …
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VYRE_ARM_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT "${VYRE_ARM_ROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(VYRE_ARM_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static)
set(CMAKE_CROSSCOMPILING_EMULATOR "${VYRE_ARM_EMULATOR};-L;${VYRE_ARM_ROOT}")
