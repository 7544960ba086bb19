/* Launch facts (launch_facts.h): the work estimate, computing the facts, and checking those of a stored object.
 * Invariant: facts from outside are used only after they were checked against the program. */
#include "analysis/launch_facts.h"

#include "analysis/elementwise.h"
#include "analysis/host_access.h"
#include "analysis/trip_count.h"
#include "base/memory.h"
#include "base/status.h"

#include <inttypes.h>

_Static_assert(sizeof(vy_full_write_value) == 16 && sizeof(vy_full_write) == 16 + 7 * 16, "no padding");
_Static_assert(sizeof(vy_launch_facts_buffer) == 8 && sizeof(vy_launch_facts) == 40, "no padding");

static uint32_t size_of(const vyre_program *program) {
    return (uint32_t)(sizeof(vy_launch_facts) +
                      program->buffer_count * (sizeof(vy_launch_facts_buffer) + sizeof(vy_full_write)));
}

/* ---- work estimate: one walk over the statements, which multiplies by the trip counts of loops ---- */

enum { UNKNOWN_TRIPS = 8 };
#define MOST_TRIPS (UINT64_C(1) << 20) /* the product over all loops around a statement */

/* The iterations of a loop; 0: unknown. */
static uint64_t trips_of(const vyre_program *p, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(p, index);
    vy_trips trips;
    if (vy_loop_runs_once(p, index))
        return 1;
    if (s->kind != VY_STMT_FOR || !vy_trips_of(p, s, &trips))
        return 0;
    uint64_t count = vy_trips_count(&trips);
    return count > MOST_TRIPS ? MOST_TRIPS : count ? count : 1;
}

/* Counts statements, weighted by their executions. Recursion is bounded by VY_LIMIT_NESTING. */
static uint64_t count(const vyre_program *p, uint32_t first, uint32_t end, uint64_t trips, uint8_t *varies) {
    const vy_stmt *stmts = p->stmts.items;
    uint64_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        uint64_t inside = 1;
        if (vy_stmt_is_loop(stmts[i].kind)) {
            inside = trips_of(p, i);
            *varies |= !inside;
            inside = inside ? inside : UNKNOWN_TRIPS;
        }
        inside = trips * inside < MOST_TRIPS ? trips * inside : MOST_TRIPS;
        all += inside + count(p, i + 1, stmts[i].end, inside, varies);
    }
    return all;
}

vy_work_estimate vy_work_estimate_of(const vyre_program *program) {
    vy_work_estimate made = {.varies = 0};
    uint32_t stmts = program->stmts.count;
    uint64_t executed = count(program, 0, stmts, 1, &made.varies);
    uint64_t nodes = executed * (1 + program->exprs.count / (stmts ? stmts : 1)) + 1;
    made.nodes = nodes * vy_workgroup_invocations(program);
    return made;
}

/* ---- computing ---- */

/* The facts that follow from the declarations. */
static vy_launch_facts *declare(const vyre_program *program) {
    vy_launch_facts *facts = vy_allocate_zero(size_of(program));
    if (!facts)
        return NULL;
    facts->format = VY_LAUNCH_FACTS_FORMAT;
    facts->bytes = size_of(program);
    facts->buffer_count = program->buffer_count;
    memcpy(facts->workgroup, program->workgroup, sizeof facts->workgroup);
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_memory *m = vy_memory_at(program, vy_program_entry(program)->first_memory + i);
        facts->buffers[i].element_bytes = (uint8_t)vyre_type_size((vyre_type)m->type);
        facts->buffers[i].access = m->access;
        facts->output_count += (uint32_t)vy_access_is_output(m->access);
    }
    return facts;
}

static vyre_status analyse_access(const vyre_program *plain, vy_launch_facts *facts, vyre_error *error) {
    uint8_t requests[VY_LIMIT_BUFFERS], is_elementwise[VY_LIMIT_BUFFERS];
    int is_divisible;
    vyre_status status = vy_host_access_find(plain, requests, error);
    if (status == VYRE_OK)
        status = vy_elementwise_find(plain, is_elementwise, &is_divisible, error);
    if (status != VYRE_OK)
        return status;
    facts->is_divisible = is_divisible && facts->workgroup[1] == 1 && facts->workgroup[2] == 1;
    for (uint32_t i = 0; i < facts->buffer_count; i++) {
        facts->buffers[i].host_requests = requests[i];
        facts->buffers[i].is_elementwise = is_elementwise[i];
    }
    return VYRE_OK;
}

vyre_status vy_launch_facts_make(const vyre_program *program, const vyre_program *plain, vy_launch_facts **out,
                                 vyre_error *error) {
    vy_launch_facts *facts = *out = declare(program);
    if (!facts)
        return vy_fail_memory(error, "the launch facts of a program");
    const vy_work_estimate work = vy_work_estimate_of(program);
    facts->nodes = work.nodes, facts->varies = work.varies;
    vyre_status status = vy_full_write_find(program, vy_launch_full_writes(facts), error);
    if (status == VYRE_OK && plain)
        status = analyse_access(plain, facts, error);
    if (status != VYRE_OK) {
        vy_launch_facts_free(facts);
        *out = NULL;
    }
    return status;
}

void vy_launch_facts_free(vy_launch_facts *facts) {
    if (facts)
        vy_release(facts, facts->bytes);
}

/* ---- checking ---- */

static vyre_status corrupt(vyre_error *error, const char *what) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again after `vyre cache clear`",
                   "compiled code is damaged: its launch facts %s", what);
}

static int is_value_valid(const vyre_program *program, const vy_full_write_value *value) {
    switch (value->kind) {
    case VY_FULL_WRITE_LITERAL:
        return value->axis < 2;
    case VY_FULL_WRITE_PARAM:
        return value->axis < 2 && value->index < program->param_count;
    case VY_FULL_WRITE_LEN:
        return value->axis < 2 && value->index < program->buffer_count;
    default:
        return 0;
    }
}

static int is_full_write_valid(const vyre_program *program, const vy_full_write *cover) {
    int is_valid = cover->is_covered <= 1 && cover->is_rows <= 1 && cover->bound_count <= VY_FULL_WRITE_BOUNDS;
    if (!is_valid || !cover->is_covered)
        return is_valid;
    for (unsigned i = 0; i < cover->bound_count; i++)
        is_valid &= is_value_valid(program, &cover->bounds[i]);
    return is_valid && is_value_valid(program, &cover->width) && cover->group[0] == program->workgroup[0] &&
           cover->group[1] == program->workgroup[1];
}

/* declared: the facts that follow from the declarations of the program. */
static vyre_status check(const vyre_program *program, const vy_launch_facts *facts, const vy_launch_facts *declared,
                         vyre_error *error) {
    if (facts->bytes != declared->bytes || facts->buffer_count != declared->buffer_count ||
        facts->output_count != declared->output_count ||
        memcmp(facts->workgroup, declared->workgroup, sizeof facts->workgroup) != 0)
        return corrupt(error, "are those of another program");
    if (facts->is_divisible > 1 || facts->varies > 1 || !facts->nodes ||
        (facts->is_divisible && (facts->workgroup[1] != 1 || facts->workgroup[2] != 1)))
        return corrupt(error, "have an impossible value");
    for (uint32_t i = 0; i < facts->buffer_count; i++) {
        const vy_launch_facts_buffer *b = &facts->buffers[i];
        if (b->element_bytes != declared->buffers[i].element_bytes || b->access != declared->buffers[i].access)
            return corrupt(error, "describe another buffer than the program declares");
        if (b->is_elementwise > 1 || !is_full_write_valid(program, &vy_launch_full_writes(facts)[i]) ||
            (facts->is_divisible && vy_access_is_output(b->access) && !b->is_elementwise))
            return corrupt(error, "have an impossible value for a buffer");
    }
    return VYRE_OK;
}

vyre_status vy_launch_facts_load(vyre_span bytes, const vyre_program *program, vy_launch_facts **out,
                                 vyre_error *error) {
    uint32_t format, size = size_of(program);
    *out = NULL;
    if (bytes.size < sizeof format)
        return corrupt(error, "are cut short");
    memcpy(&format, bytes.data, sizeof format);
    if (format != VY_LAUNCH_FACTS_FORMAT)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with the library that is to run it",
                       "the launch facts of compiled code have format %" PRIu32 ", this library reads %d", format,
                       VY_LAUNCH_FACTS_FORMAT);
    if (bytes.size < size)
        return corrupt(error, "are cut short");
    vy_launch_facts *declared = declare(program), *facts = vy_allocate(size);
    vyre_status status = declared && facts ? (vyre_status)VYRE_OK : vy_fail_memory(error, "loading compiled code");
    if (status == VYRE_OK) {
        memcpy(facts, bytes.data, size);
        status = check(program, facts, declared, error);
    }
    vy_launch_facts_free(declared);
    if (status == VYRE_OK)
        *out = facts;
    else
        vy_release(facts, size);
    return status;
}
