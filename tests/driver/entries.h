/* Lists of every entry of the three tables that a backend fills, and of the result of each. An entry that is added to a
 * table and not listed here does not compile: tests that iterate over the lists then cover it, or fail. Only the public
 * header is used, so that plug-ins may include this, too. */
#ifndef VY_TESTS_DRIVER_ENTRIES_H
#define VY_TESTS_DRIVER_ENTRIES_H

#include "vyre/backend.h"

#include <stddef.h>

/* X(entry, result): STATUS alone; OUTPUTS of a dispatch; a LAUNCH without outputs; a HANDLE of a resident buffer; a
 * TABLE of a pipeline or of a dispatch in flight; BYTES; TEXT; a VALUE; NOTHING. */
#define BACKEND_ENTRIES(X)                                                                                             \
    X(id, TEXT)                                                                                                        \
    X(dispatch, OUTPUTS)                                                                                               \
    X(version, TEXT)                                                                                                   \
    X(supported_ops, TEXT)                                                                                             \
    X(dispatch_borrowed, OUTPUTS)                                                                                      \
    X(dispatch_borrowed_timed, OUTPUTS)                                                                                \
    X(dispatch_borrowed_into, OUTPUTS)                                                                                 \
    X(dispatch_async, TABLE)                                                                                           \
    X(dispatch_borrowed_async, TABLE)                                                                                  \
    X(resident_allocate, HANDLE)                                                                                       \
    X(resident_free, STATUS)                                                                                           \
    X(resident_upload, STATUS)                                                                                         \
    X(resident_download, STATUS)                                                                                       \
    X(resident_upload_batch, STATUS)                                                                                   \
    X(resident_download_batch, STATUS)                                                                                 \
    X(dispatch_resident, LAUNCH)                                                                                       \
    X(compile, TABLE)                                                                                                  \
    X(load, TABLE)                                                                                                     \
    X(cache_identity, BYTES)                                                                                           \
    X(cache_snapshot, VALUE)                                                                                           \
    X(sequence, LAUNCH)                                                                                                \
    X(capability, VALUE)                                                                                               \
    X(device_profile, TEXT)                                                                                            \
    X(prepare, STATUS)                                                                                                 \
    X(flush, STATUS)                                                                                                   \
    X(shutdown, STATUS)                                                                                                \
    X(device_lost, VALUE)                                                                                              \
    X(try_recover, STATUS)                                                                                             \
    X(destroy, NOTHING)                                                                                                \
    X(numerics, VALUE)                                                                                                 \
    X(resident_wrap, HANDLE)                                                                                           \
    X(resident_location, STATUS)                                                                                       \
    X(stream_join, STATUS)                                                                                             \
    X(grid_sync_limit, VALUE)                                                                                          \
    X(code_target, TEXT)                                                                                               \
    X(emit, BYTES)
#define PIPELINE_ENTRIES(X)                                                                                            \
    X(dispatch, OUTPUTS)                                                                                               \
    X(dispatch_borrowed, OUTPUTS)                                                                                      \
    X(dispatch_borrowed_timed, OUTPUTS)                                                                                \
    X(dispatch_borrowed_into, OUTPUTS)                                                                                 \
    X(dispatch_batched_into, OUTPUTS)                                                                                  \
    X(dispatch_persistent_into, OUTPUTS)                                                                               \
    X(dispatch_persistent_batched_into, OUTPUTS)                                                                       \
    X(dispatch_persistent_rows_into, OUTPUTS)                                                                          \
    X(dispatch_async, TABLE)                                                                                           \
    X(serialize, BYTES)                                                                                                \
    X(destroy, NOTHING)                                                                                                \
    X(serialize_later, BYTES)
#define PENDING_ENTRIES(X)                                                                                             \
    X(is_ready, VALUE)                                                                                                 \
    X(wait, OUTPUTS)                                                                                                   \
    X(cancel, NOTHING)                                                                                                 \
    X(destroy, NOTHING)                                                                                                \
    X(notify, NOTHING)

/* The lists are complete and in order: each entry starts where the previous one ends, and the last ends its table. */
#define ENTRY_SIZE sizeof(void (*)(void))
#define ENTRY_COUNT(name, gives) +1
_Static_assert(sizeof(vyre_backend_vtable) ==
                   offsetof(vyre_backend_vtable, id) + (0 BACKEND_ENTRIES(ENTRY_COUNT)) * ENTRY_SIZE,
               "BACKEND_ENTRIES does not list every entry of vyre_backend_vtable");
_Static_assert(sizeof(vyre_pipeline_vtable) ==
                   offsetof(vyre_pipeline_vtable, dispatch) + (0 PIPELINE_ENTRIES(ENTRY_COUNT)) * ENTRY_SIZE,
               "PIPELINE_ENTRIES does not list every entry of vyre_pipeline_vtable");
_Static_assert(sizeof(vyre_pending_vtable) ==
                   offsetof(vyre_pending_vtable, is_ready) + (0 PENDING_ENTRIES(ENTRY_COUNT)) * ENTRY_SIZE,
               "PENDING_ENTRIES does not list every entry of vyre_pending_vtable");
#undef ENTRY_COUNT

#endif
