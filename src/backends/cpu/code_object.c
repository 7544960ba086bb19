/* Loading objects (code_object.h). */
#include "backends/cpu/code_object.h"

#include "backends/cpu/jit_debug.h"
#include "base/cpu_features.h"
#include "base/memory.h"
#include "base/status.h"
#include "ir/limits.h"
#include "vyre/op.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- checks ---- */

static vyre_status corrupt(vyre_error *error, const char *what, uint64_t given, uint64_t limit) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                   "compiled code is damaged: %s (%" PRIu64 ", %" PRIu64 " is expected)", what, given, limit);
}

static vyre_status check_features(uint64_t needed, uint64_t features, vyre_error *error) {
    uint64_t missing = needed & ~features;
    if (!missing)
        return VYRE_OK;
    unsigned bit = (unsigned)__builtin_ctzll(missing);
    const char *name = vy_cpu_feature_name(bit);
    return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this machine",
                   "compiled code needs something this processor does not have (%s, feature %u)",
                   name && *name ? name : "another architecture or a newer one", bit);
}

static vyre_status check(const vy_cpu_header *header, size_t size, uint64_t features, vyre_error *error) {
    uint64_t behind = size - sizeof *header;
    if (memcmp(header->magic, VY_CPU_MAGIC, sizeof header->magic) != 0)
        return vy_fail(error, VYRE_CORRUPT, NULL, "the bytes are not compiled code: they do not start with \"%s\"",
                       VY_CPU_MAGIC);
    if (header->format != VY_CPU_FORMAT)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with the library that is to run it",
                       "compiled code is of format %" PRIu32 ", this library loads %d", header->format, VY_CPU_FORMAT);
    if (!header->width || header->width > VY_CPU_WIDTH_MAX || (header->width & (header->width - 1)))
        return corrupt(error, "its lanes are not a power of two up to the limit", header->width, VY_CPU_WIDTH_MAX);
    if (header->code_bytes > behind || header->file_bytes != behind - header->code_bytes)
        return corrupt(error, "its code has another size than it says", header->code_bytes, behind);
    if (!header->code_bytes || header->code_bytes > VY_CPU_CODE_LIMIT)
        return corrupt(error, "its code is empty or over the limit", header->code_bytes, VY_CPU_CODE_LIMIT);
    if (header->entry >= header->code_bytes)
        return corrupt(error, "it starts behind its end", header->entry, header->code_bytes);
    if (header->workgroup_bytes > VY_CPU_FRAME_LIMIT)
        return corrupt(error, "its workgroups need more memory than the limit", header->workgroup_bytes,
                       VY_CPU_FRAME_LIMIT);
    if (header->spill_bytes > VY_CPU_FRAME_LIMIT)
        return corrupt(error, "it spills more memory than the limit", header->spill_bytes, VY_CPU_FRAME_LIMIT);
    if (header->stack_bytes > VY_CPU_STACK_LIMIT)
        return corrupt(error, "it needs more stack than the limit", header->stack_bytes, VY_CPU_STACK_LIMIT);
    if (!header->parts || header->parts > VY_LIMIT_WORKGROUP)
        return corrupt(error, "its workgroups have no parts or more than the limit", header->parts, VY_LIMIT_WORKGROUP);
    if (header->narrow_parts > VY_LIMIT_WORKGROUP)
        return corrupt(error, "its workgroups have more parts than the limit", header->narrow_parts,
                       VY_LIMIT_WORKGROUP);
    if (header->private_count > VY_CPU_PRIVATE_BUFFERS)
        return corrupt(error, "it lists more buffers to have of one's own than the limit", header->private_count,
                       VY_CPU_PRIVATE_BUFFERS);
    for (uint32_t i = 0; i < header->private_count; i++) {
        const vy_cpu_private_buffer *p = &header->privates[i];
        if (p->op < VYRE_ATOMIC_ADD || p->op > VYRE_ATOMIC_MAX || p->type < VYRE_TYPE_I32 || p->type > VYRE_TYPE_U64)
            return corrupt(error, "what it combines in a buffer is no atomic of integers", p->op, VYRE_ATOMIC_ADD);
    }
    return check_features(header->features, features, error);
}

/* ---- memory ---- */

static vyre_status fail_executable(vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED,
                   "allow the process executable memory (SELinux: execmem; systemd: MemoryDenyWriteExecute=no), or run "
                   "with `--backend reference`",
                   "the system refuses memory for compiled code (error %d)", errno);
}

/* Written first, executable afterwards, never both. */
static vyre_status map(vy_cpu_code_object *object, const void *code, size_t size, vyre_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    object->map_size = (size + page - 1) / page * page;
    void *memory = mmap(NULL, object->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return vy_fail_memory(error, "loading compiled code");
    memcpy(memory, code, size);
    if (mprotect(memory, object->map_size, PROT_READ | PROT_EXEC) != 0) {
        vyre_status status = errno == ENOMEM ? vy_fail_memory(error, "loading compiled code") : fail_executable(error);
        munmap(memory, object->map_size);
        return status;
    }
    __builtin___clear_cache(memory, (char *)memory + size);
    object->map = memory;
    return VYRE_OK;
}

vyre_status vy_cpu_code_object_load(vyre_span bytes, uint64_t features, const char *name, vy_cpu_code_object *out,
                                    vyre_error *error) {
    *out = (vy_cpu_code_object){.map = NULL};
    if (bytes.size < sizeof out->header)
        return corrupt(error, "it is shorter than its header", bytes.size, sizeof out->header);
    vy_cpu_code_object object = {.map = NULL};
    memcpy(&object.header, bytes.data, sizeof object.header);
    vyre_status status = check(&object.header, bytes.size, features, error);
    if (status == VYRE_OK)
        status = map(&object, (const char *)bytes.data + sizeof object.header, (size_t)object.header.code_bytes, error);
    if (status != VYRE_OK)
        return status;
    object.entry = (vy_cpu_entry *)(uintptr_t)((char *)object.map + object.header.entry);
    size_t code = (size_t)object.header.code_bytes;
    vy_jit_debug_write_perf_map(object.map, code, name);
    object.registration =
        vy_jit_debug_register(object.map, (vyre_span){(const char *)bytes.data + sizeof object.header + code,
                                                      (size_t)object.header.file_bytes});
    object.header.file_bytes = 0;
    *out = object;
    return VYRE_OK;
}

void vy_cpu_code_object_unload(vy_cpu_code_object *object) {
    vy_jit_debug_unregister(object->registration);
    if (object->map)
        munmap(object->map, object->map_size);
    *object = (vy_cpu_code_object){.map = NULL};
}

vyre_status vy_cpu_code_object_save(const vy_cpu_code_object *object, vyre_bytes *out, vyre_error *error) {
    size_t code = (size_t)object->header.code_bytes;
    vyre_status status = vyre_bytes_resize(out, sizeof object->header + code, error);
    if (status == VYRE_OK) {
        memcpy(out->data, &object->header, sizeof object->header);
        memcpy((char *)out->data + sizeof object->header, object->map, code);
    }
    return status;
}
