/* Softlib: lookup and decoding of the functions that the build has embedded (softlib.h). */
#include "lower/softlib.h"

#include "base/status.h"
#include "base/string.h"
#include "ir/build/builder_internal.h"

#include "vyre_softlib.inc"

#define FILES(name, ...)                                                                                               \
    static const uint8_t name##_files[] = {__VA_ARGS__};                                                               \
    const vy_softlib_files vy_softlib_##name = {name##_files, sizeof name##_files}
FILES(narrow, FILE_narrow, FILE_f16, FILE_bf16);
FILES(numerics, FILE_integer, FILE_f32, FILE_f64);
FILES(int64, FILE_pair);
const vy_softlib_files vy_softlib_none = {NULL, 0};

/* The mark of an op without replacement. */
static const vy_softlib_function none;

void vy_softlib_open(vy_softlib *library, vy_softlib_files of_phase, uint64_t exact) {
    *library = (vy_softlib){.files = of_phase, .exact = exact};
}

/* One more than the variables, so that it is never 0. */
static size_t bound_size(const vyre_program *program) {
    return vy_array_size(program ? program->variables.count + 1u : 0, sizeof(uint32_t));
}

void vy_softlib_close(vy_softlib *library) {
    for (uint32_t i = 0; i < library->units.count; i++) {
        vy_softlib_unit *unit = &library->units.items[i];
        vy_release(unit->bound, bound_size(unit->program));
        vyre_program_release(unit->program);
    }
    VY_VECTOR_FREE(&library->units);
}

/* ---- lookup ---- */

static int is_used(const vy_softlib_function *f, uint64_t exact) {
    return (!f->lacks || (f->lacks & ~exact)) && (f->has & exact) == f->has;
}

/* The first function of that name whose condition is met. */
static const vy_softlib_function *find_in(const vy_softlib_file *file, const char *name, uint64_t exact) {
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(file->functions[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < file->count && strcmp(file->functions[low].name, name) == 0; low++)
        if (is_used(&file->functions[low], exact))
            return &file->functions[low];
    return NULL;
}

const vy_softlib_function *vy_softlib_find(const vy_softlib *library, const char *name) {
    const vy_softlib_function *found = NULL;
    for (uint32_t i = 0; i < library->files.count && !found; i++)
        found = find_in(&files[library->files.files[i]], name, library->exact);
    return found;
}

/* The buffer has room: names of ops and types are short. Returns the position of the NUL. */
static char *append(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length + 1);
    return at + length;
}

const vy_softlib_function *vy_softlib_replacement(vy_softlib *library, vyre_op op, vyre_type result,
                                                  vyre_type operand) {
    int is_cast = op == VYRE_OP_CAST || op == VYRE_OP_BITCAST;
    const vy_softlib_function **slot =
        is_cast ? &library->casts[op == VYRE_OP_BITCAST][result][operand] : &library->ops[op][operand];
    if (!*slot) {
        char name[64];
        char *end = append(name, vyre_op_get(op)->name);
        if (is_cast)
            end = append(append(end, "_"), vyre_type_name(result));
        append(append(end, "_"), vyre_type_name(operand));
        const vy_softlib_function *found = vy_softlib_find(library, name);
        *slot = found ? found : &none;
    }
    return *slot == &none ? NULL : *slot;
}

const vy_softlib_function *vy_softlib_callee(const vy_softlib *library, const char *name) {
    const char *file = strchr(name, '.') + 1, *dot = strchr(file, '.');
    size_t length = (size_t)(dot - file);
    for (size_t i = 0; i < FILE_COUNT; i++)
        if (strlen(files[i].name) == length && memcmp(files[i].name, file, length) == 0)
            return find_in(&files[i], dot + 1, library->exact);
    return NULL;
}

/* ---- decoding ---- */

vyre_status vy_softlib_decode(vy_softlib *library, const vy_softlib_function *function, vy_softlib_unit *unit,
                              vyre_error *error) {
    for (uint32_t i = 0; i < library->units.count; i++)
        if (library->units.items[i].function == function) {
            *unit = library->units.items[i];
            return VYRE_OK;
        }
    vy_softlib_unit *made = VY_PUSH(&library->units);
    if (!made)
        return vy_fail_memory(error, "the softlib");
    made->function = function;
    vyre_status status = vy_wire_decode_unverified(function->wire, function->wire_size, &made->program, error);
    if (status != VYRE_OK)
        return status;
    made->bound = vy_allocate(bound_size(made->program));
    if (!made->bound)
        return vy_fail_memory(error, "the softlib");
    memset(made->bound, 0xff, bound_size(made->program)); /* VY_NONE */
    *unit = *made;
    return VYRE_OK;
}
