/* Kernels without barriers (VY_OPENCL_ERRATUM_POCL): one invocation is launched for each workgroup, and runs the
 * invocations of the program's workgroup sequentially, from barrier to barrier (emit/c_family/barriers.c).
 *
 * The structs of the invocations are in local memory, which drivers for processors allocate, if they and the workgroup
 * arrays fit. Otherwise they are private: on the stack of a thread of the driver, so their size has a limit. */
#include "emit/opencl/emitter.h"

#include "base/diagnostics.h"
#include "base/status.h"

#include <inttypes.h>

/* LOCAL_ALIGNMENT: PoCL's alignment of arrays in local memory. STACK_BYTES: half of the default stack of a thread. */
enum { LOCAL_ALIGNMENT = 128, STACK_BYTES = 4 << 20 };

static uint32_t invocations_of(const vy_c *c) {
    const uint32_t *size = c->program->workgroup;
    return size[0] * size[1] * size[2];
}

static uint64_t array_bytes(const vy_c *c, vy_space space, uint64_t alignment) {
    uint64_t bytes = 0;
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        if (m->space == space)
            bytes +=
                ((uint64_t)m->elements * vyre_type_size((vyre_type)m->type) + alignment - 1) / alignment * alignment;
    }
    return bytes;
}

/* The size of all structs, with each field counted `times` times. */
static uint64_t state_bytes(const vy_c *c, uint64_t times) {
    const uint64_t arrays = array_bytes(c, VY_SPACE_PRIVATE, 16);
    uint64_t at = sizeof(uint32_t), most = at;
    for (uint32_t i = 0; i < c->fields.count; i++) {
        const uint8_t type = c->fields.items[i].type;
        const uint64_t size = type == VYRE_TYPE_BOOL ? 1 : vyre_type_size((vyre_type)type);
        at = (at + size - 1) / size * size + times * size;
        most = size > most ? size : most;
    }
    most = arrays ? 16 : most;
    return ((at + most - 1) / most * most + arrays) * invocations_of(c);
}

/* The body can only be written when the address space of the structs is known, but a `for` in it may add two fields to
 * the one of its variable: end and step. Each field is therefore counted three times. */
void vy_opencl_start_sequential(vy_opencl *o, vy_opencl_code *code) {
    vy_c *c = &o->c;
    vy_c_scan(c);
    const uint64_t bytes = state_bytes(c, 3);
    const uint64_t others = array_bytes(c, VY_SPACE_WORKGROUP, LOCAL_ALIGNMENT) + LOCAL_ALIGNMENT;
    const int is_local = bytes + others <= o->device->local_bytes;
    if (!is_local && bytes > STACK_BYTES && c->status == VYRE_OK)
        c->status = vy_fail(
            c->error, VYRE_LIMIT, "use smaller private arrays or a smaller workgroup, or choose another backend",
            "the invocations of a workgroup of `%s` keep %" PRIu64 " bytes, over the limit of its thread (%d)",
            vyre_program_name(c->program), bytes, STACK_BYTES);
    o->states = is_local ? "__local " : "";
    c->prefixes[VY_SPACE_PRIVATE] = "self->";
    for (unsigned axis = 0; axis < 3; axis++)
        code->block[axis] = 1;
}

void vy_opencl_write_sequential(vy_opencl *o, const vy_string *body, vy_opencl_code *code) {
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
    *(*o->states ? &code->local_bytes : &code->private_bytes) += (uint32_t)state_bytes(c, 1);
}
