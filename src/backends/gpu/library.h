/* The driver's library, loaded at run time, and the meanings of its results. */
#ifndef VY_BACKENDS_GPU_LIBRARY_H
#define VY_BACKENDS_GPU_LIBRARY_H

#include "vyre/base.h"

typedef struct vy_gpu_symbol {
    const char *symbol;
    size_t offset; /* of its address, in the struct that receives them */
    int is_required;
} vy_gpu_symbol;

typedef struct vy_gpu_library {
    const char *variable, *file;        /* the environment variable that names the library; the default */
    const char *setting;                /* the variable as a sentence names it */
    const char *wrong_fix, *absent_fix; /* if the library is missing: with the variable, and without */
    const char *old_fix, *kind;         /* if a symbol is missing: "…, or not KIND" */
    const vy_gpu_symbol *symbols;
    size_t count;
} vy_gpu_library;

/* The file to open: the value of the variable, or the default. */
const char *vy_gpu_library_file(const vy_gpu_library *library);
/* Loads the library for good and fills `out`, which is zero, with the addresses of the symbols.
 *
 * VYRE_NOT_FOUND    it cannot be opened
 * VYRE_UNSUPPORTED  it lacks a required symbol */
vyre_status vy_gpu_library_open(const vy_gpu_library *library, const char *file, void *out, vyre_error *error);

/* A result of the driver. The last row of a table has the result 0: it describes every result without a row. */
typedef struct vy_gpu_result {
    int32_t result;
    const char *name;
    vyre_status status;
    int is_loss;
    const char *fix; /* NULL: that of the status */
} vy_gpu_result;
const vy_gpu_result *vy_gpu_result_find(const vy_gpu_result *results, int32_t result);

#endif
