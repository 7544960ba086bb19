/* A phase (legal_rewrite.h), from what is declared to the finished program. */
#include "transform/legal_rewrite.h"

#include "base/status.h"
#include "transform/legal_rewrite_stmts.h"

uint32_t vy_legaliser_refuse(vy_legaliser *rw, const char *what, vyre_type type) {
    if (rw->status == VYRE_OK)
        rw->status = vy_fail(rw->error, VYRE_UNSUPPORTED,
                             "choose another backend: `vyre backends` lists them, and `reference` computes everything",
                             "the program uses %s (%s), which the device does not compute exactly and which is not "
                             "made from other operations",
                             what, vyre_type_name(type));
    return VY_NONE;
}

static vyre_status write_program(vy_legaliser *rw, vyre_program **out) {
    rw->copy.keeps_names = !rw->phase->declare;
    vyre_status status = vy_copy_start(&rw->copy, rw->from, vy_name_text(rw->from, rw->from->name), rw->error);
    if (status != VYRE_OK)
        return status;
    rw->copy.draft.is_step = 1;
    if (rw->phase->declare) {
        rw->phase->declare(rw);
    } else {
        vy_copy_params(&rw->copy);
        vy_copy_buffers(&rw->copy, 0);
        vy_copy_arrays(&rw->copy);
        vy_copy_grid(&rw->copy);
    }
    vy_legaliser_block(rw, rw->copy.entry->first_stmt, rw->copy.entry->end_stmt);
    if (rw->status != VYRE_OK)
        return rw->status;
    return vy_copy_finish(&rw->copy, out, rw->error);
}

/* A program of which every statement is written as it is stays itself. */
static vyre_status rewrite(vy_legaliser *rw, vyre_program **out) {
    rw->copy.entry = vy_program_entry(rw->from);
    if (!rw->phase->declare && !vy_legaliser_find_others(rw))
        return vy_fail_memory(rw->error, "a legal program");
    if (rw->phase->declare || rw->others.count)
        return write_program(rw, out);
    *out = vyre_program_retain((vyre_program *)rw->from);
    return VYRE_OK;
}

vyre_status vy_legaliser_run(const vyre_program *program, const vy_legaliser_phase *phase, vy_legal_library *library,
                             uint64_t exact, vyre_program **out, vyre_error *error) {
    vy_legaliser rw = {.from = program, .phase = phase, .library = library, .exact = exact, .error = error};
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
    vy_copy_discard(&rw.copy);
    VY_VECTOR_FREE(&rw.trees);
    VY_VECTOR_FREE(&rw.depths);
    VY_VECTOR_FREE(&rw.others);
    vy_release(maps, size);
    return status;
}
