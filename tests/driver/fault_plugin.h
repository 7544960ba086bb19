/* What the fault backend (plugin_fault.c) and its tests agree on: which entry strikes at which call, and how. */
#ifndef VY_TESTS_DRIVER_FAULT_PLUGIN_H
#define VY_TESTS_DRIVER_FAULT_PLUGIN_H

#include "entries.h"

#include <stdatomic.h>

#define FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)                                                                      \
    BACKEND_ENTRIES(BACKEND) PIPELINE_ENTRIES(PIPELINE) PENDING_ENTRIES(PENDING)
typedef enum fault_entry {
#define BACKEND(name, gives) FAULT_BACKEND_##name,
#define PIPELINE(name, gives) FAULT_PIPELINE_##name,
#define PENDING(name, gives) FAULT_PENDING_##name,
    FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)
#undef BACKEND
#undef PIPELINE
#undef PENDING
        FAULT_ENTRY_COUNT
} fault_entry;

enum {
    FAULT_GIVES_STATUS = 1,
    FAULT_GIVES_OUTPUTS = 2,
    FAULT_GIVES_LAUNCH = 4,
    FAULT_GIVES_HANDLE = 8,
    FAULT_GIVES_TABLE = 16,
    FAULT_GIVES_BYTES = 32,
    FAULT_GIVES_TEXT = 64,
    FAULT_GIVES_VALUE = 128,
    FAULT_GIVES_NOTHING = 256,
    FAULT_GIVES_ANY_STATUS = 63, /* all that return one */
    FAULT_GIVES_ANYTHING = 511
};

/* X(ID, entries it fits, what happens) */
#define FAULT_KINDS(X)                                                                                                 \
    X(FAIL, FAULT_GIVES_ANY_STATUS, "returns the status asked for, with an error")                                     \
    X(FAIL_SILENTLY, FAULT_GIVES_ANY_STATUS, "returns the status asked for and says nothing")                          \
    X(FAIL_WITHOUT_END, FAULT_GIVES_ANY_STATUS, "the texts of its error have no NUL")                                  \
    X(LOSE, FAULT_GIVES_ANYTHING, "the device is lost; recovery brings it back")                                       \
    X(LOSE_QUIETLY, FAULT_GIVES_ANYTHING, "the device is lost, and another reason is given")                           \
    X(LOSE_FOR_EVER, FAULT_GIVES_ANYTHING, "the device is lost, and does not come back")                               \
    X(HANG, FAULT_GIVES_ANYTHING, "comes back late")                                                                   \
    X(FEWER_OUTPUTS, FAULT_GIVES_OUTPUTS, "one output less")                                                           \
    X(MORE_OUTPUTS, FAULT_GIVES_OUTPUTS, "one output more")                                                            \
    X(COUNTLESS_OUTPUTS, FAULT_GIVES_OUTPUTS, "as many outputs as a number can say")                                   \
    X(SHORT_OUTPUT, FAULT_GIVES_OUTPUTS, "an output is a byte short")                                                  \
    X(LONG_OUTPUT, FAULT_GIVES_OUTPUTS, "an output is longer than asked")                                              \
    X(EMPTY_OUTPUT, FAULT_GIVES_OUTPUTS, "an output was not filled")                                                   \
    X(NO_MEMORY_BEHIND, FAULT_GIVES_OUTPUTS, "an output has bytes and no memory")                                      \
    X(SIZE_OVER_CAPACITY, FAULT_GIVES_OUTPUTS, "an output says it has more than its memory")                           \
    X(OTHER_LIST, FAULT_GIVES_OUTPUTS, "the list of outputs is another one")                                           \
    X(NO_LIST, FAULT_GIVES_OUTPUTS, "the list of outputs is gone")                                                     \
    X(TRAP_OUTSIDE, FAULT_GIVES_OUTPUTS | FAULT_GIVES_LAUNCH, "a trap outside the grid")                               \
    X(WRONG_ITEM, FAULT_GIVES_OUTPUTS | FAULT_GIVES_LAUNCH, "fails, and names an item that does not exist")            \
    X(HANDLE_ZERO, FAULT_GIVES_HANDLE, "the buffer's handle is 0")                                                     \
    X(HANDLE_TWICE, FAULT_GIVES_HANDLE, "the handle of a buffer that is there")                                        \
    X(HANDLE_GARBAGE, FAULT_GIVES_HANDLE, "a handle of nothing")                                                       \
    X(TABLE_ABSENT, FAULT_GIVES_TABLE, "succeeds and gives no table")                                                  \
    X(TABLE_SHORT, FAULT_GIVES_TABLE, "a table that ends before what is required")                                     \
    X(TABLE_EMPTY, FAULT_GIVES_TABLE, "a table without entries")                                                       \
    X(BYTES_GARBAGE, FAULT_GIVES_BYTES, "bytes that mean nothing")                                                     \
    X(BYTES_NONE, FAULT_GIVES_BYTES, "no bytes")                                                                       \
    X(BYTES_WITHOUT_MEMORY, FAULT_GIVES_BYTES, "an enormous size without memory")                                      \
    X(BYTES_OVER_CAPACITY, FAULT_GIVES_BYTES, "an enormous size over little memory")                                   \
    X(TEXT_NULL, FAULT_GIVES_TEXT, "texts are NULL")                                                                   \
    X(TEXT_OTHER, FAULT_GIVES_TEXT, "texts change, and counts are 0")                                                  \
    X(VALUE_ZERO, FAULT_GIVES_VALUE, "0")                                                                              \
    X(VALUE_ENORMOUS, FAULT_GIVES_VALUE, "all bits")                                                                   \
    X(TOLD_TWICE, FAULT_GIVES_NOTHING, "a notification comes twice")                                                   \
    X(NEVER_TOLD, 0, "a notification does not come; only where a test asks for it, since who waits for it waits long")
typedef enum fault_kind {
    FAULT_NONE,
#define X(ID, fits, doc) FAULT_##ID,
    FAULT_KINDS(X)
#undef X
        FAULT_KIND_COUNT
} fault_kind;

/* Set before a backend is acquired or while nothing runs on one; counts may be read at any time. */
typedef struct fault_control {
    fault_entry entry;
    fault_kind kind; /* FAULT_NONE: honest */
    unsigned at;     /* the call of the entry that strikes, from 1 */
    unsigned every;  /* and every so many calls after it; 0 = only that one */
    vyre_status status;
    unsigned hang_ms;                            /* HANG */
    unsigned async_ms;                           /* duration of a dispatch in flight */
    int can_cancel;                              /* the capability */
    uint64_t most_groups;                        /* the capability; 0 = many */
    unsigned char is_missing[FAULT_ENTRY_COUNT]; /* left out of the tables */

    atomic_uint calls[FAULT_ENTRY_COUNT];
    atomic_uint struck;
    atomic_int devices, pipelines, pendings, buffers; /* there now */
    atomic_uint strays;                               /* handles that were named and are none, or not any more */
    atomic_uint inside;                               /* calls that hang now */
} fault_control;

#define FAULT_CONTROL_SYMBOL "vyre_fault_control"
#define FAULT_BACKEND_ID "fault"

#endif
