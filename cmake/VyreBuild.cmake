# The identity of a build, part of every key of the pipeline cache: a digest of all that the library is made from. Another emitter is another
# identity, and an entry an older one wrote is not found; the same sources give the same identity on every machine and in every folder.
#
# Included, it makes vyre_build.h a file that depends on those sources: after a change one small file is compiled again. Run with
# `cmake -P`, it writes that file from a list of paths.
if(NOT CMAKE_SCRIPT_MODE_FILE)
    file(GLOB_RECURSE build_sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}"
        "src/*.c" "src/*.h" "src/*.def" "src/*.inc" "include/*.h" "lib/*.toml" "lib/*.vyre")
    list(FILTER build_sources EXCLUDE REGEX "^src/(tool|generate|development/build_tree)")
    list(SORT build_sources)
    set(build_header "${CMAKE_BINARY_DIR}/generated/vyre_build.h")
    # Written only when it differs: the list is an input of the command below.
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/generated/vyre_build.list" CONTENT "${build_sources}")
    list(TRANSFORM build_sources PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE build_inputs)
    add_custom_command(OUTPUT "${build_header}"
        COMMAND "${CMAKE_COMMAND}" "-DROOT=${CMAKE_SOURCE_DIR}" "-DLIST=${CMAKE_BINARY_DIR}/generated/vyre_build.list"
            "-DHEADER=${build_header}" -P "${CMAKE_CURRENT_LIST_FILE}"
        DEPENDS ${build_inputs} "${CMAKE_BINARY_DIR}/generated/vyre_build.list" "${CMAKE_CURRENT_LIST_FILE}"
        COMMENT "Digesting the sources" VERBATIM)
    target_sources(vyre-objects PRIVATE "${build_header}")
    # For the one file that asks: the path of the build folder stays out of every other command line.
    set_source_files_properties(src/driver/cache_entry.c PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated")
    return()
endif()

file(READ "${LIST}" sources)
set(digests "")
foreach(source IN LISTS sources)
    file(SHA256 "${ROOT}/${source}" digest)
    string(APPEND digests "${digest} ${source}\n")
endforeach()
string(SHA256 identity "${digests}")
file(WRITE "${HEADER}" "/* Made by the build: a digest of the library's sources. */\n#define VYRE_BUILD \"${identity}\"\n")
