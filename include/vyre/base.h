/* The base of all other headers: statuses, errors, the allocator hook, byte ranges and digests. Every public function
 * follows the conventions below; a comment on a function states only what differs from them.
 *
 *  - Errors: a function that can fail returns a vyre_status; VYRE_OK is 0. Its last parameter is a `vyre_error *error`,
 *    which may be NULL and is filled only on failure. The library never prints, exits or aborts.
 *  - Outputs: parameters named `out` follow the inputs and precede `error`. On failure an `out` of a handle or number
 *    is NULL or 0; a `vyre_bytes` remains valid, with unspecified contents unless stated.
 *  - Ownership: a const pointer is borrowed for the call. An object returned through a double pointer belongs to the
 *    caller. A plain pointer that a function returns is borrowed, except from functions named …_new and …_retain.
 *  - NULL: allowed for `error`, for `user`, for an array or text of 0 elements, for objects to free or release, and
 *    where a comment states it ("optional", "may be NULL", "NULL: …"). For any other NULL, a function that returns a
 *    status returns VYRE_INVALID_ARGUMENT, and the error names the argument. Other functions return NULL, 0, or their
 *    documented value for "none". The same applies to the functions of vyre_host (vyre/backend.h).
 *  - Threads and blocking: stated per header or per function. */
#ifndef VYRE_BASE_H
#define VYRE_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(VYRE_STATIC) || !defined(__GNUC__)
#define VYRE_API
#else
#define VYRE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VYRE_VERSION_MAJOR 0
#define VYRE_VERSION_MINOR 1
#define VYRE_VERSION_PATCH 0

/* The version of the running library, such as "0.1.0". It may be newer than the header. */
VYRE_API const char *vyre_version(void);

/* Statuses. X(ID, code, default fix, doc line). Codes are stable: append only. */
#define VYRE_STATUS_LIST(X)                                                                                            \
    X(OK, 0, "nothing to fix", "success")                                                                              \
    X(INVALID_ARGUMENT, 1, "check the argument the message names against the header",                                  \
      "an argument is outside what the function accepts")                                                              \
    X(INVALID_PROGRAM, 2, "correct the program; `vyre check FILE` shows every mistake with its position",              \
      "the program breaks a rule of the language")                                                                     \
    X(NO_MEMORY, 3, "free host memory or raise the limit of the process", "the host allocator returned nothing")       \
    X(NO_DEVICE_MEMORY, 4, "free resident buffers or bind smaller ranges", "the device has no memory left")            \
    X(DEVICE_LOST, 5, "call recover, or restart the process", "the device stopped; the loss is sticky")                \
    X(TIMEOUT, 6, "raise the deadline, or dispatch less work", "the deadline passed; nothing was delivered")           \
    X(CANCELLED, 7, "dispatch again", "the caller cancelled; nothing was delivered")                                   \
    X(UNSUPPORTED, 8, "choose another backend or leave out the feature the message names",                             \
      "the backend or this build does not do that")                                                                    \
    X(TRAPPED, 9, "look up the trap code in the program, at the position in the error if it has one",                  \
      "an invocation executed `trap`")                                                                                 \
    X(CORRUPT, 10, "make the data again from its source", "stored bytes do not match their digest or format")          \
    X(DUPLICATE, 11, "rename one of the two the message names", "an id is taken already")                              \
    X(CONFLICT, 12, "remove one of the two the message names", "two things that may not be together")                  \
    X(NOT_FOUND, 13, "use one of the names the message lists", "no such name, file or device")                         \
    X(ABI_MISMATCH, 14, "rebuild the plug-in against the installed headers",                                           \
      "a plug-in speaks another version of the contract")                                                              \
    X(LIMIT, 15, "stay below the limit the message names", "a value exceeds a limit")                                  \
    X(IO, 16, "check that the path exists and is readable or writable",                                                \
      "the operating system refused a file operation")                                                                 \
    X(CHECK_FAILED, 17, "correct the program at the line the message names",                                           \
      "a checker of the oracle found a program error")                                                                 \
    X(BUDGET, 18, "raise the step budget, or correct a loop that does not end", "the step budget ran out")             \
    X(NOT_READY, 19, "wait again, or cancel the work", "the wait ended before the work did; nothing was delivered")

typedef enum vyre_status {
#define X(ID, code, fix, doc) VYRE_##ID = code,
    VYRE_STATUS_LIST(X)
#undef X
} vyre_status;

/* The name of a status, such as "NO_MEMORY"; "UNKNOWN" for a code outside the list. */
VYRE_API const char *vyre_status_name(vyre_status status);
/* The default fix and the doc line of a status. */
VYRE_API const char *vyre_status_fix(vyre_status status);
VYRE_API const char *vyre_status_doc(vyre_status status);

/* An error, in storage owned by the caller, usually on the stack. Filling it allocates no memory, so it also works when
 * memory is exhausted. A text that does not fit ends in "...". Initialise with VYRE_ERROR_INIT, or leave uninitialised:
 * it is to be read only after a failure.
 *
 * subject, first and second are the parts of the message, for programs. A part that the error does not have is "":
 *
 *     error                                   subject       first                    second
 *     DUPLICATE, an op id is taken twice      the op id     its owner                the owner that was refused
 *     DUPLICATE, CONFLICT, about a dialect    the dialect   its provider             the provider that was refused
 *     DUPLICATE, about a record of a module   its id        its owner                the owner that was refused
 *     UNSUPPORTED, by a backend               the feature   the backend              the program
 *                                             or op
 *     INVALID_PROGRAM, CHECK_FAILED           the code of   the file                 "line:column"
 *                                             the first
 *                                             diagnostic */
typedef struct vyre_error {
    vyre_status code;
    char message[512]; /* a sentence: the value given and the values allowed */
    char fix[256];     /* what to do; never empty after a failure */
    char where[256];   /* "file:line:column", an object's name, or "" */
    char subject[160], first[256], second[256];
} vyre_error;
#define VYRE_ERROR_INIT                                                                                                \
    { VYRE_OK, "", "", "", "", "", "" }

/* Formats an error as "NAME: message (where)\nFix: fix\n".
 *
 * error   NULL: VYRE_ERROR_INIT.
 * buffer  May be NULL, to measure. Always terminated if size > 0.
 *
 * Returns the length of the whole text, which may exceed size. */
VYRE_API size_t vyre_error_format(const vyre_error *error, char *buffer, size_t size);

/* The allocator of the library. Every allocation uses it.
 *
 * allocate  Returns memory aligned for any object, or NULL.
 * resize    Behaves like realloc, for a pointer of this allocator.
 * release   Receives a pointer from allocate or resize, with its size.
 *
 * Sizes:    never 0, never above PTRDIFF_MAX.
 * Threads:  called from any thread, concurrently. */
typedef struct vyre_allocator {
    void *user;
    void *(*allocate)(void *user, size_t size);
    void *(*resize)(void *user, void *memory, size_t old_size, size_t new_size);
    void (*release)(void *user, void *memory, size_t size);
} vyre_allocator;

/* Replaces the allocator of the process. The struct is copied. NULL, or a struct that lacks a function, restores the
 * allocator of the C library. Precondition: no object of the library exists, and no other thread is in a function of
 * the library. */
VYRE_API void vyre_allocator_set(const vyre_allocator *allocator);

/* Borrowed bytes. */
typedef struct vyre_span {
    const void *data;
    size_t size;
} vyre_span;

/* Owned bytes with a capacity: the output type of functions that produce bytes. Contents are replaced by each such
 * function; memory is kept if it suffices.
 *
 * Constructor:  VYRE_BYTES_INIT
 * Destructor:   vyre_bytes_free
 * Methods:      vyre_bytes_resize */
typedef struct vyre_bytes {
    void *data;
    size_t size;
    size_t capacity;
} vyre_bytes;
#define VYRE_BYTES_INIT                                                                                                \
    { NULL, 0, 0 }

/* Frees the memory and resets to VYRE_BYTES_INIT. */
VYRE_API void vyre_bytes_free(vyre_bytes *bytes);

/* Sets the size, and grows the memory if needed. Contents are kept up to the smaller size; new bytes are zero. On
 * failure nothing is changed.
 *
 * VYRE_INVALID_ARGUMENT  the capacity is not 0 and data is NULL
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_bytes_resize(vyre_bytes *bytes, size_t size, vyre_error *error);

/* A 256-bit digest (BLAKE2b). */
typedef struct vyre_digest {
    uint8_t bytes[32];
} vyre_digest;

/* Writes 64 lower-case hexadecimal digits and a NUL; "" if digest is NULL. */
VYRE_API void vyre_digest_format(const vyre_digest *digest, char text[65]);

#ifdef __cplusplus
}
#endif
#endif
