# The standard library inside libvyre: every file of lib/ as bytes, so that nothing is looked for on disk at run time.
#
# Included, it makes vyre_standard.inc a file that depends on lib/. Run with `cmake -P`, it writes that file from a list of paths.
if(NOT CMAKE_SCRIPT_MODE_FILE)
    file(GLOB standard_files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "lib/*.toml" "lib/*.vyre")
    list(SORT standard_files)
    set(standard_bytes "${CMAKE_BINARY_DIR}/generated/vyre_standard.inc")
    # Written only when it differs: the list is an input of the command below.
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/generated/vyre_standard.list" CONTENT "${standard_files}")
    list(TRANSFORM standard_files PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE standard_inputs)
    add_custom_command(OUTPUT "${standard_bytes}"
        COMMAND "${CMAKE_COMMAND}" "-DROOT=${CMAKE_SOURCE_DIR}" "-DLIST=${CMAKE_BINARY_DIR}/generated/vyre_standard.list"
            "-DOUT=${standard_bytes}" -P "${CMAKE_CURRENT_LIST_FILE}"
        DEPENDS ${standard_inputs} "${CMAKE_BINARY_DIR}/generated/vyre_standard.list" "${CMAKE_CURRENT_LIST_FILE}"
        COMMENT "Embedding the standard library" VERBATIM)
    target_sources(vyre-objects PRIVATE "${standard_bytes}")
    # For the one file that asks, as in VyreBuild.
    set_source_files_properties(src/dialect/load.c PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated")
    return()
endif()

file(READ "${LIST}" files)
set(text "/* Made by the build from lib/: VY_STANDARD_LIBRARY_FILE(identifier, name, bytes). */\n")
foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME)
    file(READ "${ROOT}/${file}" bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(MAKE_C_IDENTIFIER "${name}" identifier)
    string(APPEND text "VY_STANDARD_LIBRARY_FILE(${identifier}, \"${name}\",\n${bytes})\n")
endforeach()
file(WRITE "${OUT}" "${text}")
