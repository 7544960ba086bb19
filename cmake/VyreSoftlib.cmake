# The softlib inside libvyre: every function of lib/softlib/*.vyre in wire form (src/development/embed_softlib.c).
#
# The program that encodes them is linked from the front end of the library itself, so the language has one parser. A cross build runs
# it in the emulator of the tool chain (CMAKE_CROSSCOMPILING_EMULATOR). Without an emulator, name the file that a build on another
# machine has made: it does not depend on the machine.
set(VYRE_SOFTLIB "" CACHE FILEPATH "generated/vyre_softlib.inc of another build of the same sources; empty: made by this build")
set(softlib_bytes "${VYRE_SOFTLIB}")
if(NOT softlib_bytes)
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
        message(FATAL_ERROR "a cross build without CMAKE_CROSSCOMPILING_EMULATOR cannot encode lib/softlib. Fix: pass "
            "-DVYRE_SOFTLIB=FOLDER/generated/vyre_softlib.inc, where FOLDER is a build of the same sources for this machine")
    endif()
    set(softlib_bytes "${CMAKE_BINARY_DIR}/generated/vyre_softlib.inc")
    file(GLOB softlib_inputs CONFIGURE_DEPENDS "lib/softlib/*.vyre")
    list(SORT softlib_inputs)
    add_executable(vyre-embed-softlib src/development/embed_softlib.c $<TARGET_OBJECTS:vyre-front>)
    target_include_directories(vyre-embed-softlib PRIVATE include src)
    target_link_libraries(vyre-embed-softlib PRIVATE vyre-flags vyre-sodium Threads::Threads ${CMAKE_DL_LIBS} m)
    add_custom_command(OUTPUT "${softlib_bytes}"
        COMMAND vyre-embed-softlib "${softlib_bytes}" ${softlib_inputs}
        DEPENDS ${softlib_inputs} vyre-embed-softlib
        COMMENT "Embedding the softlib" VERBATIM)
    target_sources(vyre-objects PRIVATE "${softlib_bytes}")
endif()
get_filename_component(softlib_folder "${softlib_bytes}" DIRECTORY)
# For the one file that asks, as in VyreBuild.
set_source_files_properties(src/lower/softlib.c PROPERTIES INCLUDE_DIRECTORIES "${softlib_folder}")
set_property(SOURCE src/lower/softlib.c APPEND PROPERTY OBJECT_DEPENDS "${softlib_bytes}")
