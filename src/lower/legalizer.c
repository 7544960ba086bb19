/* A phase (legalizer.h), from what is declared to the finished program. */
#include "lower/legalizer.h"

#include "base/status.h"
#include "lower/legalizer_stmts.h"

uint32_t vy_legalizer_refuse(vy_legalizer *rw, const char *what, vyre_type type) {
    if (rw->status == VYRE_OK)
        rw->status = vy_fail(rw->error, VYRE_UNSUPPORTED,
                             "choose another backend: `vyre backends` lists them, and `reference` computes everything",
                             "the program uses %s (%s), which the device does not compute exactly and which is not "
                             "made from other operations",
                             what, vyre_type_name(type));
    return VY_NONE;
}

static vyre_status write_program(vy_legalizer *rw, vyre_program **out) {
    rw->copy.keeps_names = !rw->phase->declare;
    vyre_status status = vy_cloner_start(&rw->copy, rw->from, vy_symbol_name(rw->from, rw->from->name), rw->error);
    if (status != VYRE_OK)
        return status;
    rw->copy.draft.skip_verify = 1;
    if (rw->phase->declare) {
        rw->phase->declare(rw);
    } else {
        vy_cloner_params(&rw->copy);
        vy_cloner_buffers(&rw->copy, 0);
        vy_cloner_arrays(&rw->copy);
        vy_cloner_grid(&rw->copy);
    }
    vy_legalizer_block(rw, rw->copy.entry->first_stmt, rw->copy.entry->end_stmt);
    if (rw->status != VYRE_OK)
        return rw->status;
    return vy_cloner_finish(&rw->copy, out, rw->error);
}

/* A program of which every statement is written as it is stays itself. */
static vyre_status rewrite(vy_legalizer *rw, vyre_program **out) {
    rw->copy.entry = vy_program_entry(rw->from);
    if (!rw->phase->declare && !vy_legalizer_find_others(rw))
        return vy_fail_memory(rw->error, "a legal program");
    if (rw->phase->declare || rw->others.count)
        return write_program(rw, out);
    *out = vyre_program_retain((vyre_program *)rw->from);
    return VYRE_OK;
}

vyre_status vy_legalizer_run(const vyre_program *program, const vy_legalizer_phase *phase, vy_softlib *library,
                             uint64_t exact, vyre_program **out, vyre_error *error) {
    vy_legalizer rw = {.from = program, .phase = phase, .library = library, .exact = exact, .error = error};
    uint32_t variables = program->variables.count, memories = program->memories.count;
    size_t size = vy_array_size((size_t)variables + memories + 1, sizeof(uint32_t));
    uint32_t *maps = vy_allocate(size);
    *out = NULL;
    if (!maps)
        return vy_fail_memory(error, "a legal program");
    memset(maps, 0xff, size);
    rw.copy.variables = maps;
    rw.copy.memories = maps + variables;
    if (phase->start)
        phase->start(&rw);
    vyre_status status = rewrite(&rw, out);
    vy_cloner_discard(&rw.copy);
    VY_VECTOR_FREE(&rw.trees);
    VY_VECTOR_FREE(&rw.depths);
    VY_VECTOR_FREE(&rw.others);
    vy_release(maps, size);
    return status;
}
