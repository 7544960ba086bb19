/* Kernels without barriers (VY_OPENCL_ERRATUM_POCL): one invocation is launched for each workgroup, and runs the
 * invocations of the program's workgroup sequentially, from barrier to barrier (emit/c_family/barriers.c).
 *
 * The structs of the invocations are in local memory, which drivers for processors allocate, if they and the workgroup
 * arrays fit. Otherwise they are private: on the stack of a thread of the driver, so their size has a limit. */
#include "emit/opencl/emitter.h"

#include "base/diagnostics.h"
#include "base/status.h"

#include <inttypes.h>

enum { LOCAL_ALIGNMENT = 128 }; /* of arrays in local memory, by PoCL */

static uint32_t invocations_of(const vy_c *c) {
    const uint32_t *size = c->program->workgroup;
    return size[0] * size[1] * size[2];
}

/* The arrays of a space; of private ones, those that are fields of the invocation. */
static uint64_t array_bytes(const vy_c *c, vy_space space, uint64_t alignment) {
    uint64_t bytes = 0;
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        if (m->space == space && c->is_kept_array[i] == (space == VY_SPACE_PRIVATE))
            bytes +=
                ((uint64_t)m->elements * vyre_type_size((vyre_type)m->type) + alignment - 1) / alignment * alignment;
    }
    return bytes;
}

/* An upper bound of the size of all structs, before the body is written: this may add two fields for each `for`, its
 * end and its step. */
static uint64_t state_bytes(const vy_c *c) {
    const uint64_t arrays = array_bytes(c, VY_SPACE_PRIVATE, 16);
    uint64_t at = sizeof(uint32_t), most = at;
    for (uint32_t i = 0; i < c->fields.count; i++) {
        const uint8_t type = c->fields.items[i].type;
        const uint64_t size = type == VYRE_TYPE_BOOL ? 1 : vyre_type_size((vyre_type)type);
        at = (at + size - 1) / size * size + size;
        most = size > most ? size : most;
    }
    for (uint32_t i = c->entry->first_stmt; i < c->entry->end_stmt; i++)
        if (vy_c_stmt(c, i)->kind == VY_STMT_FOR && c->is_kept[vy_c_stmt(c, i)->variable])
            at += 2 * sizeof(uint64_t);
    most = arrays ? 16 : most;
    return ((at + most - 1) / most * most + arrays) * invocations_of(c);
}

int vy_opencl_overflows(vy_opencl *o) {
    vy_c *c = &o->c;
    if (c->status != VYRE_OK)
        return 0;
    vy_c_scan(c);
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++)
        c->is_kept_array[i] = vy_c_memory_at(c, i)->space == VY_SPACE_PRIVATE;
    const int overflows = c->barriers && state_bytes(c) > o->device->stack_bytes;
    memset(c->is_kept, 0, c->program->variables.count + 1);
    memset(c->is_kept_array, 0, c->program->memories.count + 1);
    c->fields.count = 0;
    c->barriers = c->grid_barriers = c->reports = c->polls = 0;
    return overflows;
}

/* The body can only be written when the address space of the structs is known. */
void vy_opencl_start_sequential(vy_opencl *o, vy_opencl_code *code) {
    vy_c *c = &o->c;
    vy_c_scan(c);
    const uint64_t bytes = state_bytes(c);
    const uint64_t others = array_bytes(c, VY_SPACE_WORKGROUP, LOCAL_ALIGNMENT) + LOCAL_ALIGNMENT;
    const int is_local = bytes + others <= o->device->local_bytes;
    if (!is_local && bytes > o->device->stack_bytes && c->status == VYRE_OK)
        c->status = vy_fail(
            c->error, VYRE_LIMIT, "use smaller private arrays or a smaller workgroup, or choose another backend",
            "the invocations of a workgroup of `%s` keep %" PRIu64 " bytes across barriers, over the limit of the "
            "device's local memory (%" PRIu64 ") and of the stack of its thread (%" PRIu64 ")",
            vyre_program_name(c->program), bytes, o->device->local_bytes, o->device->stack_bytes);
    o->states = is_local ? "__local " : "";
    *(is_local ? &code->local_bytes : &code->private_bytes) += (uint32_t)bytes;
    for (unsigned axis = 0; axis < 3; axis++)
        code->block[axis] = 1;
}

void vy_opencl_write_sequential(vy_opencl *o, const vy_string *body) {
    vy_c *c = &o->c;
    const char *name = vyre_program_name(c->program);
    const uint32_t count = invocations_of(c);
    vy_string_format(c->out,
                     "    %sstruct %s_invocation invocations[%" PRIu32 "];\n"
                     "    for (uint i = 0u; i < %" PRIu32 "u; i++)\n"
                     "        invocations[i].at = 0u;\n"
                     "    for (bool waits = true; waits;) {\n"
                     "        waits = false;\n"
                     "        for (uint local_index = 0u; local_index < %" PRIu32 "u; local_index++) {\n"
                     "            %sstruct %s_invocation *const self = &invocations[local_index];\n",
                     o->states, name, count, count, count, o->states, name);
    vy_string_append(c->out, body->text ? body->text : "", body->length);
    vy_string_add(c->out, "        waiting:\n"
                          "            waits = true;\n"
                          "        next:;\n"
                          "        }\n"
                          "    }\n");
}
